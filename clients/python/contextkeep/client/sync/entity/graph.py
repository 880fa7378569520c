# Generated from aio/entity/graph.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The entity graph, in five modules: nodes, edges, whole graphs, messages, and searches."""

from __future__ import annotations

from contextkeep.client.sync._gen import graph as gen
from contextkeep.client.sync.entity.edges import Edges
from contextkeep.client.sync.entity.graphs import WholeGraphs
from contextkeep.client.sync.entity.messages import Messages
from contextkeep.client.sync.entity.nodes import Nodes
from contextkeep.client.sync.entity.search import NodeSearch
from contextkeep.client.sync.entity.traversal import Traversal


class Graph(gen.Graph, Nodes, Edges, WholeGraphs, Messages, NodeSearch, Traversal):
    """The entity graph: nodes and typed edges."""
