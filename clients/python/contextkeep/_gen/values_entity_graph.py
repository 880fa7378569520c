"""Values of contextkeep/entity/v1/entity_graph.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import EnvelopeBase, NodeBase

# The direction in which to follow edges, seen from the node.
Direction = Literal[
    "out",
    "in",
    "both",
]
DIRECTIONS: dict[int, Direction] = {
    1: "out",
    2: "in",
    3: "both",
}
# What WriteGraph does with a row that exists.
OnExisting = Literal[
    "fail",
    "skip",
]
ON_EXISTINGS: dict[int, OnExisting] = {
    1: "fail",
    2: "skip",
}
# How UpdateNodeData and UpdateEdgeData change data.
DataUpdate = Literal[
    "merge_patch",
    "replace",
]
DATA_UPDATES: dict[int, DataUpdate] = {
    1: "merge_patch",
    2: "replace",
}
# The content of an envelope.
EnvelopeType = Literal[
    "status",
    "message",
    "error",
    "bot_progress",
    "value",
    "waiting",
]
ENVELOPE_TYPES: dict[int, EnvelopeType] = {
    1: "status",
    2: "message",
    3: "error",
    4: "bot_progress",
    5: "value",
    6: "waiting",
}
# The state of the work that an envelope is about.
EnvelopeStatus = Literal[
    "started",
    "running",
    "completed",
    "failed",
    "cancelled",
]
ENVELOPE_STATUSS: dict[int, EnvelopeStatus] = {
    1: "started",
    2: "running",
    3: "completed",
    4: "failed",
    5: "cancelled",
}
# A column of a row of a walk.
TraverseColumn = Literal[
    "id",
    "external_id",
    "general_type_name",
    "specific_type_name",
    "name",
    "status",
    "data",
    "created_at",
    "modified_at",
    "seq",
    "is_archived",
    "depth",
    "edge_id",
    "edge_type",
    "from_node_id",
    "edge_data",
    "io",
    "version",
    "agent_bundle_id",
    "edge_version",
    "owner_user_id",
    "edges",
    "path",
]
TRAVERSE_COLUMNS: dict[int, TraverseColumn] = {
    1: "id",
    2: "external_id",
    3: "general_type_name",
    4: "specific_type_name",
    5: "name",
    6: "status",
    7: "data",
    8: "created_at",
    9: "modified_at",
    10: "seq",
    11: "is_archived",
    12: "depth",
    13: "edge_id",
    14: "edge_type",
    15: "from_node_id",
    16: "edge_data",
    17: "io",
    18: "version",
    19: "agent_bundle_id",
    20: "edge_version",
    21: "owner_user_id",
    22: "edges",
    23: "path",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Node(NodeBase):
    """A node of the graph."""

    id: str = ""
    # The caller's own id, unique within tenant and graph.
    external_id: str = ""
    # The graph that the node belongs to. Edges never leave it.
    graph_name: str = ""
    agent_bundle_id: str = ""
    general_type_name: str = ""
    specific_type_name: str = ""
    name: str = ""
    # "Created", "Running", "Completed", "Failed", "Cancelled", or a status of the app.
    status: str = ""
    # A JSON object, equal to the written one but not the same text: members are in Postgres's order, the last of
    # repeated members counts, and numbers are written without exponent, with all their digits.
    data_json: str = "{}"
    is_archived: bool = False
    # The order in which the server wrote.
    seq: int = 0
    created_at: datetime
    # When the node last changed. Before the first change: `created_at`.
    modified_at: datetime
    # Counts the changes, from 1.
    version: int = 0
    # The subject of the key or token that wrote the node.
    created_by: str = ""
    # The user who owns the node. Empty: none.
    owner_user_id: str = ""
    # The agent of the credential that wrote the node. Empty: none.
    agent_id: str = ""
    # The isolated context that the node belongs to. Empty: none.
    context_id: str = ""
    _data: Any = kept()

    @property
    def data(self) -> dict[str, Any]:
        """Return `data_json`, parsed."""
        return self._kept_object("_data", self.data_json)

    @classmethod
    def from_proto(cls, message: pb.Node) -> Node:
        """Return the value of a message."""
        return cls(
            id=message.id,
            external_id=message.external_id,
            graph_name=message.graph_name,
            agent_bundle_id=message.agent_bundle_id,
            general_type_name=message.general_type_name,
            specific_type_name=message.specific_type_name,
            name=message.name,
            status=message.status,
            data_json=message.data_json,
            is_archived=message.is_archived,
            seq=message.seq,
            created_at=time_of(message.created_at),
            modified_at=time_of(message.modified_at),
            version=message.version,
            created_by=message.created_by,
            owner_user_id=message.owner_user_id,
            agent_id=message.agent_id,
            context_id=message.context_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Edge(Value):
    """A directed edge between two nodes."""

    id: str = ""
    graph_name: str = ""
    from_node_id: str = ""
    to_node_id: str = ""
    # "Contains", "Calls", "InResponseTo", or any other name.
    edge_type: str = ""
    data_json: str = "{}"
    created_at: datetime
    # Counts the changes, from 1.
    version: int = 0
    context_id: str = ""
    _data: Any = kept()

    @property
    def data(self) -> dict[str, Any]:
        """Return `data_json`, parsed."""
        return self._kept_object("_data", self.data_json)

    def __str__(self) -> str:
        return f"{self.from_node_id} -{self.edge_type}-> {self.to_node_id}"

    @classmethod
    def from_proto(cls, message: pb.Edge) -> Edge:
        """Return the value of a message."""
        return cls(
            id=message.id,
            graph_name=message.graph_name,
            from_node_id=message.from_node_id,
            to_node_id=message.to_node_id,
            edge_type=message.edge_type,
            data_json=message.data_json,
            created_at=time_of(message.created_at),
            version=message.version,
            context_id=message.context_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnedNodes(Value):
    """The data of a user, or the part of it that an erasure has deleted."""

    # Number of nodes.
    nodes: int = 0
    # Number of edges of these nodes, in both directions.
    edges: int = 0
    # Number of stored answers of repeated calls.
    answers: int = 0
    # Number of rows of others in which a pseudonym replaces the user's name.
    names: int = 0
    # Only for an erasure: when it finished. Unset while it runs.
    finished_at: datetime | None = None

    @classmethod
    def from_proto(cls, message: pb.Owned) -> OwnedNodes:
        """Return the value of a message."""
        return cls(
            nodes=message.nodes,
            edges=message.edges,
            answers=message.answers,
            names=message.names,
            finished_at=time_of(message.finished_at) if message.HasField("finished_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeIO(Value):
    """The input and the output of a node."""

    # The input: as `Node.data_json`, equal to the written value but not the same text. Empty: it was never set.
    input_json: str = ""
    # The output, in the same form. Empty: it was never set, or the node was reset.
    output_json: str = ""
    # The time of the last SetNodeIO, or of the ResetNode that deleted the output. Absent: there was none.
    modified_at: datetime | None = None
    _input: Any = kept()
    _output: Any = kept()

    @property
    def input(self) -> Any:
        """Return `input_json`, parsed; None if it is empty."""
        return self._kept("_input", self.input_json)

    @property
    def output(self) -> Any:
        """Return `output_json`, parsed; None if it is empty."""
        return self._kept("_output", self.output_json)

    @classmethod
    def from_proto(cls, message: pb.GetNodeIOResponse) -> NodeIO:
        """Return the value of a message."""
        return cls(
            input_json=message.input_json,
            output_json=message.output_json,
            modified_at=time_of(message.modified_at) if message.HasField("modified_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Envelope(EnvelopeBase):
    """One entry of a timeline. It never changes."""

    # The node of the envelope. In the list of a calling node, this is the node that it called.
    node_id: str = ""
    # The order in which the server wrote; unique.
    seq: int = 0
    type: EnvelopeType | Literal["unknown"] = "unknown"
    status: EnvelopeStatus | Literal[""] = ""
    # "return" marks the result; the app defines all others.
    sub_type: str = ""
    message: str = ""
    # Any JSON, in the form of `Node.data_json`. Empty: none. A STATUS envelope of UpdateNodeStatus has {"from": the old
    # status, "to": the new status}.
    value_json: str = ""
    error_json: str = ""
    created_at: datetime
    # The subject of the key or token that wrote it.
    created_by: str = ""
    _value: Any = kept()
    _error: Any = kept()

    @property
    def value(self) -> Any:
        """Return `value_json`, parsed; None if it is empty."""
        return self._kept("_value", self.value_json)

    @property
    def error(self) -> Any:
        """Return `error_json`, parsed; None if it is empty."""
        return self._kept("_error", self.error_json)

    @classmethod
    def from_proto(cls, message: pb.Envelope) -> Envelope:
        """Return the value of a message."""
        return cls(
            node_id=message.node_id,
            seq=message.seq,
            type=ENVELOPE_TYPES.get(message.type, "unknown"),
            status=ENVELOPE_STATUSS.get(message.status, ""),
            sub_type=message.sub_type,
            message=message.message,
            value_json=message.value_json,
            error_json=message.error_json,
            created_at=time_of(message.created_at),
            created_by=message.created_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeField(Value):
    """A field that nodes have in their data."""

    # The path, as conditions and QueryFacets take it: "data.amount".
    field: str = ""
    # The kinds of its values: number, text, date (a text that begins like 2027-01-31), boolean, list, null.
    kinds: tuple[str, ...] = ()
    # The nodes that have the field, of those that were read.
    node_count: int = 0
    # Up to three of its values, cut to 60 characters.
    examples: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.NodeField) -> NodeField:
        """Return the value of a message."""
        return cls(
            field=message.field,
            kinds=tuple(message.kinds),
            node_count=message.node_count,
            examples=tuple(message.examples),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TypeFacets(Value):
    """The fields and edges of the nodes of one type."""

    type_name: str = ""
    # The nodes of the type.
    node_count: int = 0
    # The nodes that were read for `fields`. Edges are those of 20 of them.
    sampled_count: int = 0
    # The fields that most of these nodes have come first; at most 100 of them.
    fields: tuple[NodeField, ...] = ()
    # The edges, as QueryFacets takes them: "out:Placed" leads from such a node, "in:Placed" leads to it.
    edges: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.TypeFacets) -> TypeFacets:
        """Return the value of a message."""
        return cls(
            type_name=message.type_name,
            node_count=message.node_count,
            sampled_count=message.sampled_count,
            fields=tuple(map(NodeField.from_proto, message.fields)),
            edges=tuple(message.edges),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetList(Value):
    """The types of nodes of a graph, with their fields."""

    # The types with the most nodes come first.
    types: tuple[TypeFacets, ...] = ()
    # There are more than 50 types; the others are left out.
    is_cut: bool = False

    @classmethod
    def from_proto(cls, message: pb.ListFacetsResponse) -> FacetList:
        """Return the value of a message."""
        return cls(
            types=tuple(map(TypeFacets.from_proto, message.types)),
            is_cut=message.is_cut,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetValue(Value):
    """A measure of a group."""

    measure: str = ""
    # The result, as JSON. Empty: no node has a value that the measure can use.
    value_json: str = ""
    # The nodes whose values were used.
    counted: int = 0
    # The nodes that have a value which the measure cannot use, such as a text for `sum`. If it is not 0, the result
    # does not cover the whole group.
    skipped: int = 0
    # The node that has the minimum or maximum; of several nodes, the first by id.
    node_id: str = ""
    node_name: str = ""
    _value: Any = kept()

    @property
    def value(self) -> Any:
        """Return `value_json`, parsed; None if it is empty."""
        return self._kept("_value", self.value_json)

    @classmethod
    def from_proto(cls, message: pb.FacetValue) -> FacetValue:
        """Return the value of a message."""
        return cls(
            measure=message.measure,
            value_json=message.value_json,
            counted=message.counted,
            skipped=message.skipped,
            node_id=message.node_id,
            node_name=message.node_name,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetGroup(Value):
    """The nodes with one value of a field, or with an edge of one node."""

    # The value, as JSON. Texts are cut to 256 characters. Empty: the group of all nodes, or a node.
    value_json: str = ""
    # The node at the other end of the edge. Empty if nodes are grouped by a field.
    node_id: str = ""
    node_name: str = ""
    node_count: int = 0
    # In the order of the measures.
    values: tuple[FacetValue, ...] = ()
    _value: Any = kept()

    @property
    def value(self) -> Any:
        """Return `value_json`, parsed; None if it is empty."""
        return self._kept("_value", self.value_json)

    @classmethod
    def from_proto(cls, message: pb.FacetGroup) -> FacetGroup:
        """Return the value of a message."""
        return cls(
            value_json=message.value_json,
            node_id=message.node_id,
            node_name=message.node_name,
            node_count=message.node_count,
            values=tuple(map(FacetValue.from_proto, message.values)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetAnswer(Value):
    """The answer to a structured question: nodes or groups."""

    # The first nodes, if neither `group_by` nor `measures` was given.
    nodes: tuple[Node, ...] = ()
    groups: tuple[FacetGroup, ...] = ()
    # The nodes that match.
    node_count: int = 0
    group_count: int = 0
    # The nodes that are in no group: they have no such edge, or no text, number or boolean at the field.
    ungrouped_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.QueryFacetsResponse) -> FacetAnswer:
        """Return the value of a message."""
        return cls(
            nodes=tuple(map(Node.from_proto, message.nodes)),
            groups=tuple(map(FacetGroup.from_proto, message.groups)),
            node_count=message.node_count,
            group_count=message.group_count,
            ungrouped_count=message.ungrouped_count,
        )
