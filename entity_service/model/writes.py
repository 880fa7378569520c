"""Nodes and edges to write, and the outcome of a write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

_MADE_PREFIX_CHARS = 32  # of 36: the common prefix of the ids of one write

WRITE_ROWS_MAX = 16**4  # that the rest can tell apart


class NewNode(NamedTuple):
    """A node to write, with its defaults filled in; a tuple, because an import makes a million of them."""

    id: str
    external_id: str | None
    graph_name: str
    agent_bundle_id: str
    general_type_name: str
    specific_type_name: str
    name: str
    status: str
    data_json: str
    created_at: int | None  # None takes the server's time
    owner_user_id: str | None = None  # None takes the user of the call


class NewEdge(NamedTuple):
    """An edge to write, with its defaults filled in."""

    id: str
    graph_name: str
    from_node_id: str
    to_node_id: str
    edge_type: str
    data_json: str
    created_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWrite:
    """Nodes and edges to write together."""

    nodes: Sequence[NewNode] = ()
    edges: Sequence[NewEdge] = ()
    first_made_id: str | None = None  # see `made_id`; None if every row came with an id
    single: bool = False  # of CreateNode or CreateEdge
    node_paths: Sequence[str] = ()  # of an import: where each row came from
    edge_paths: Sequence[str] = ()

    def path(self, row: str, position: int) -> str:
        """Return the path of a row in its request; `row` is "node" or "edge"."""
        if paths := self.node_paths if row == "node" else self.edge_paths:
            return paths[position]
        return row if self.single else f"{row}s[{position}]"


class WrittenRow(NamedTuple):
    """The outcome of one row of a write."""

    id: str
    created_at: int
    seq: int  # of a node; 0 for an edge
    existed: bool


class Written(NamedTuple):
    """The outcome of a write, row by row, in its order."""

    nodes: list[WrittenRow]
    edges: list[WrittenRow]


class Answer(TypedDict):
    """The stored part of the answer to a write: values that the request does not have."""

    first_id: str | None  # `GraphWrite.first_made_id` of the call that wrote
    at: int  # the time of the first row
    seqs: list[int]  # of the nodes that were written, in their order
    existed_nodes: NotRequired[dict[str, tuple[str, int, int]]]  # position: id, created_at, seq
    existed_edges: NotRequired[dict[str, tuple[str, int]]]  # position: id, created_at


def outcome(write: GraphWrite, answer: Answer) -> Written:
    """Return the outcome of the rows of `write`, from the answer to it or to the same write before."""
    seqs = iter(answer["seqs"])
    first_id = answer["first_id"]
    at = answer["at"]

    def id_of(row_id: str, position: int) -> str:
        """Return the id that a row got: its own, or that of the first call if this call repeats it."""
        server_makes_ids = first_id is not None and write.first_made_id is not None
        if (
            server_makes_ids
            and first_id != write.first_made_id
            and row_id == made_id(write.first_made_id or "", position)
        ):
            return made_id(first_id or "", position)
        return row_id

    existed_nodes = answer.get("existed_nodes", {})
    existed_edges = answer.get("existed_edges", {})
    nodes = []
    for position, node in enumerate(write.nodes):
        if existed_nodes and (there := existed_nodes.get(str(position))):
            nodes.append(WrittenRow(there[0], there[1], there[2], True))
            continue
        created_at = at + position if node.created_at is None else node.created_at
        nodes.append(WrittenRow(id_of(node.id, position), created_at, next(seqs), False))
    edges = []
    for position, edge in enumerate(write.edges):
        if existed_edges and (joined := existed_edges.get(str(position))):
            edges.append(WrittenRow(joined[0], joined[1], 0, True))
            continue
        place = len(write.nodes) + position
        created_at = at + place if edge.created_at is None else edge.created_at
        edges.append(WrittenRow(id_of(edge.id, place), created_at, 0, False))
    return Written(nodes, edges)


def made_id(first: str, position: int) -> str:
    """Return the id that the server makes for the row at `position` of a write, below `WRITE_ROWS_MAX`.

    The ids of one write are consecutive, so that the first one tells them all: an answer that is kept for a
    repeat of the call needs no list of them.
    """
    return f"{first[:_MADE_PREFIX_CHARS]}{position:04x}"
