"""What a caller says of new rows, for `write_graph`, and of where to look for nodes, for `search_nodes`.

Ids are made here, so that an edge can name a node of the same call:

    session = NodeInput("Session")
    turn = NodeInput("Turn", data={"user_input": "Hello"})
    graph.write_graph([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep.ids import new_id


@dataclass(frozen=True, slots=True)
class NodeInput:
    """A new node."""

    general_type_name: str
    _: KW_ONLY
    id: str = field(default_factory=new_id)
    external_id: str = ""  # the caller's own id, unique in the graph; up to 512 bytes
    graph_name: str = ""  # empty: "default"
    agent_bundle_id: str = ""
    specific_type_name: str = ""  # empty: the general type name
    name: str = ""
    status: str = ""  # empty: "Created"
    data: Mapping[str, Any] | None = None
    created_at: datetime | None = None  # aware; for imports and replays; None: the server's time


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """A new edge."""

    from_node_id: str
    to_node_id: str
    edge_type: str
    _: KW_ONLY
    id: str = field(default_factory=new_id)
    graph_name: str = ""  # empty: "default"; both ends are in it
    data: Mapping[str, Any] | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleNode:
    """A node to try a mapping's rules on. It need not exist."""

    data: Mapping[str, Any] | None = None
    type: str = ""
    general_type: str = ""  # empty: the type
    id: str = ""  # any text; empty: its place among the nodes
    external_id: str = ""
    name: str = ""
    status: str = ""  # empty: "Created"
    io: Mapping[str, Any] | None = None  # "input" and "output": any JSON, each only where it was ever set
    created_at: datetime | None = None  # aware; None: the start of 1970
    modified_at: datetime | None = None  # aware; None: `created_at`
    edge_type: str = ""  # how it was reached, as the next two
    depth: int = 1
    edge_data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ConnectedTo:
    """Nodes that a walk from a node reaches; the node itself is not one of them."""

    node_id: str | None = None
    _: KW_ONLY
    external_id: str = ""  # the caller's own id of the node, in the place of `node_id`; in the graph of the search
    edge_types: Iterable[str] = ()  # empty: all
    direction: Literal["out", "in", "both"] = "out"
    depth_max: int = 0  # 1 to 100; 0: 3
