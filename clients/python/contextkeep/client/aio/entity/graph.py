"""The entity graph, in five modules: nodes, edges, whole graphs, messages, and searches."""

from __future__ import annotations

from contextkeep.client.aio._gen import graph as gen
from contextkeep.client.aio.entity.edges import Edges
from contextkeep.client.aio.entity.graphs import WholeGraphs
from contextkeep.client.aio.entity.messages import Messages
from contextkeep.client.aio.entity.nodes import Nodes
from contextkeep.client.aio.entity.search import NodeSearch
from contextkeep.client.aio.entity.traversal import Traversal


class Graph(gen.Graph, Nodes, Edges, WholeGraphs, Messages, NodeSearch, Traversal):
    """The entity graph: nodes and typed edges."""
