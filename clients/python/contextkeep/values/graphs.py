"""Graphs: counts, written rows, exports and imports."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import time_of


class GraphCount(NamedTuple):
    """How much is in a graph."""

    graph_name: str
    nodes: int  # archived ones, too
    edges: int

    @classmethod
    def from_proto(cls, answer: graph_pb.GraphCount) -> GraphCount:
        """Return the value of an answer."""
        return cls(answer.graph_name, answer.nodes, answer.edges)


class EdgeTypeCount(NamedTuple):
    """How many edges there are of a type."""

    edge_type: str
    edges: int

    @classmethod
    def from_proto(cls, answer: graph_pb.EdgeTypeCount) -> EdgeTypeCount:
        """Return the value of an answer."""
        return cls(answer.edge_type, answer.edges)


class Change(NamedTuple):
    """What became of a node or an edge: what to read again, not what it was."""

    kind: Literal["changed", "removed"]  # "changed": it is new, too
    node_id: str  # empty: it is an edge
    edge_id: str
    graph_name: str
    general_type_name: str  # of a node
    specific_type_name: str
    edge_type: str  # of an edge
    from_node_id: str
    to_node_id: str
    changed_at: datetime

    @classmethod
    def from_proto(cls, change: graph_pb.Change) -> Change:
        """Return the value of a message."""
        return cls(
            kind="removed" if change.kind == graph_pb.CHANGE_KIND_REMOVED else "changed",
            node_id=change.node_id,
            edge_id=change.edge_id,
            graph_name=change.graph_name,
            general_type_name=change.general_type_name,
            specific_type_name=change.specific_type_name,
            edge_type=change.edge_type,
            from_node_id=change.from_node_id,
            to_node_id=change.to_node_id,
            changed_at=time_of(change.changed_at),
        )


class ChangePage(NamedTuple):
    """Changes in their order, each node and each edge once."""

    changes: list[Change]
    next_place: str  # where to go on, now or later: to be kept once the changes are dealt with
    has_more: bool  # there is more already

    @classmethod
    def from_proto(cls, page: graph_pb.ListChangesResponse) -> ChangePage:
        """Return the value of a message."""
        return cls([Change.from_proto(change) for change in page.changes], page.next_place, page.has_more)


class WrittenRow(NamedTuple):
    """What became of one row of `graph.write`."""

    id: str
    created_at: datetime
    seq: int = 0  # of a node; 0 for an edge
    existed: bool = False  # it was there before and is unchanged

    @classmethod
    def from_proto(cls, row: graph_pb.WrittenRow) -> WrittenRow:
        """Return the value of a message."""
        return cls(row.id, time_of(row.created_at), row.seq, row.existed)


class WrittenGraph(NamedTuple):
    """What `graph.write` wrote: rows in the order of the input."""

    nodes: list[WrittenRow]
    edges: list[WrittenRow]


class AppendedMessage(NamedTuple):
    """What `graph.append_message` wrote."""

    node_id: str  # of the message
    session_id: str  # the node that it hangs below
    created_at: datetime  # of the message
    session_created: bool  # by this call

    @classmethod
    def from_proto(cls, session_id: str, written: graph_pb.WriteGraphResponse) -> AppendedMessage:
        """Return the value of a write: its last node is the message, its first the session if that has no id yet."""
        message = written.nodes[-1]
        created = not session_id and not written.nodes[0].existed
        return cls(message.id, session_id or written.nodes[0].id, time_of(message.created_at), created)


class RowCount(NamedTuple):
    """What became of the rows of a kind."""

    written: int = 0
    existed: int = 0  # were there before and are as they were

    def plus(self, count: graph_pb.RowCount) -> RowCount:
        """Return the sum with that of a message."""
        return RowCount(self.written + count.written, self.existed + count.existed)


class ImportedGraph(NamedTuple):
    """What `graph.import_lines` came to."""

    graph_name: str = ""
    lines: int = 0
    nodes: RowCount = RowCount()
    edges: RowCount = RowCount()
    embeddings: RowCount = RowCount()
    envelopes: RowCount = RowCount()

    def plus(self, answer: graph_pb.ImportGraphResponse) -> ImportedGraph:
        """Return the sum with what one call came to."""
        return ImportedGraph(
            graph_name=answer.graph_name,
            lines=answer.lines,
            nodes=self.nodes.plus(answer.nodes),
            edges=self.edges.plus(answer.edges),
            embeddings=self.embeddings.plus(answer.embeddings),
            envelopes=self.envelopes.plus(answer.envelopes),
        )


class ExportedGraph(NamedTuple):
    """What `graph.export` wrote."""

    size_bytes: int = 0
    nodes: int = 0
    edges: int = 0
    embeddings: int = 0
    envelopes: int = 0

    def plus(self, page: graph_pb.ExportGraphResponse) -> ExportedGraph:
        """Return the sum with what one message brought."""
        return ExportedGraph(
            size_bytes=self.size_bytes + len(page.lines),
            nodes=self.nodes + page.nodes,
            edges=self.edges + page.edges,
            embeddings=self.embeddings + page.embeddings,
            envelopes=self.envelopes + page.envelopes,
        )
