"""Nodes, and what went into and came out of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import Value, kept, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Node(Value):
    """A vertex of the entity graph."""

    id: str
    external_id: str = ""  # the caller's own id
    graph_name: str = ""
    agent_bundle_id: str = ""
    general_type_name: str
    specific_type_name: str = ""
    name: str = ""
    status: str = ""  # "Created", "Running", "Completed", "Failed", "Cancelled", or an app's own
    data_json: str = "{}"
    is_archived: bool = False
    seq: int = 0  # the server's order of writing
    created_at: datetime
    modified_at: datetime
    version: int = 1  # counts the changes
    created_by: str = ""
    owner_user_id: str = ""
    agent_id: str = ""
    context_id: str = ""
    _data: Any = kept()

    @property
    def data(self) -> dict[str, Any]:
        """Return the node's JSON object."""
        return self._kept_object("_data", self.data_json)

    def __str__(self) -> str:
        name = f' "{self.name}"' if self.name else ""
        return f"{self.specific_type_name or self.general_type_name}{name} ({self.id})"

    @classmethod
    def from_proto(cls, node: graph_pb.Node) -> Node:
        """Return the value of a message."""
        return cls(
            id=node.id,
            external_id=node.external_id,
            graph_name=node.graph_name,
            agent_bundle_id=node.agent_bundle_id,
            general_type_name=node.general_type_name,
            specific_type_name=node.specific_type_name,
            name=node.name,
            status=node.status,
            data_json=node.data_json,
            is_archived=node.is_archived,
            seq=node.seq,
            created_at=time_of(node.created_at),
            modified_at=time_of(node.modified_at),
            version=node.version,
            created_by=node.created_by,
            owner_user_id=node.owner_user_id,
            agent_id=node.agent_id,
            context_id=node.context_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeIO(Value):
    """What went into a node and what came out of it."""

    input_json: str = ""  # empty: it was never set; "null": it was set to null
    output_json: str = ""
    modified_at: datetime | None = None  # None: neither was ever set, or a walk brought them
    _input: Any = kept()
    _output: Any = kept()

    @property
    def input(self) -> Any:
        """Return the input, parsed; None where it was never set."""
        return self._kept("_input", self.input_json)

    @property
    def output(self) -> Any:
        """Return the output, parsed; None where it was never set."""
        return self._kept("_output", self.output_json)

    @classmethod
    def from_proto(cls, io: graph_pb.GetNodeIOResponse) -> NodeIO:
        """Return the value of a message."""
        return cls(
            input_json=io.input_json,
            output_json=io.output_json,
            modified_at=time_of(io.modified_at) if io.HasField("modified_at") else None,
        )


class NodeBatch(NamedTuple):
    """What `batch_get_nodes` found."""

    nodes: list[Node]  # in the order of the ids
    missing_ids: list[str]


class NamedNode(NamedTuple):
    """What `get_node_by_name` found."""

    node: Node  # the newest
    matches: int  # how many nodes share the name, this one included
