"""The border to the Entity Service: walks come back as values for expressions.

It calls through the published client, with the caller's own credential, and never reads the entity tables. Below the
servicers only this module and `entity_history.graph` touch protobuf.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from context_service.kernel.graph_values import (
    GraphChange,
    GraphChanges,
    GraphLines,
    GraphNode,
    Origin,
    Reached,
    TreeNode,
    Walk,
    WalkPage,
    WholeNode,
)
from contextkeep.client.aio import AsyncEntityClient
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    AnswerTooLarge,
    ChangesHeldUp,
    DeadlineExceeded,
    ErasureNotFound,
    NodeNotFound,
    Unavailable,
)
from service_runtime.network.connections import Connection
from service_runtime.rpc import calls

_DEPENDENCY = "entity-service"
_CHANGES = 500  # changes of one page
_ROW_KINDS = ("nodes", "edges", "embeddings", "envelopes")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# The fields of an entity that expressions can read, and the columns of a traversal that have them.
_COLUMNS = {
    "id": pb.TRAVERSE_COLUMN_ID,
    "external_id": pb.TRAVERSE_COLUMN_EXTERNAL_ID,
    "name": pb.TRAVERSE_COLUMN_NAME,
    "type": pb.TRAVERSE_COLUMN_SPECIFIC_TYPE_NAME,
    "general_type": pb.TRAVERSE_COLUMN_GENERAL_TYPE_NAME,
    "status": pb.TRAVERSE_COLUMN_STATUS,
    "data": pb.TRAVERSE_COLUMN_DATA,
    "io": pb.TRAVERSE_COLUMN_IO,
    "created_at": pb.TRAVERSE_COLUMN_CREATED_AT,
    "modified_at": pb.TRAVERSE_COLUMN_MODIFIED_AT,
}
_TIMES = ("created_at", "modified_at")
_TREE_COLUMNS = (
    pb.TRAVERSE_COLUMN_ID,
    pb.TRAVERSE_COLUMN_CREATED_AT,
    pb.TRAVERSE_COLUMN_SEQ,
    pb.TRAVERSE_COLUMN_NAME,
    pb.TRAVERSE_COLUMN_SPECIFIC_TYPE_NAME,
    pb.TRAVERSE_COLUMN_IS_ARCHIVED,
    pb.TRAVERSE_COLUMN_DEPTH,
    pb.TRAVERSE_COLUMN_FROM_NODE_ID,
    pb.TRAVERSE_COLUMN_EDGE_TYPE,
)  # in the order of `TreeNode`


class EntityGraph:
    """Reads the entity graph as the caller."""

    def __init__(self, connection: Connection[AsyncEntityClient]) -> None:
        self._connection = connection

    async def node(self, node_id: str, *, with_io: bool) -> dict[str, Any]:
        """Return the entity of one node.

        Args:
            node_id: The id of the node.
            with_io: Also read the node's input and output, with a second call.

        Raises:
            NodeNotFound: the caller sees no such node.
        """
        response: pb.GetNodeResponse = await self.call("GetNode", pb.GetNodeRequest(node_id=node_id))
        entity = _entity(response.node)
        if with_io:
            io: pb.GetNodeIOResponse = await self.call("GetNodeIO", pb.GetNodeIORequest(node_id=node_id))
            entity["io"] = _io(io)
        return entity

    async def node_id(self, external_id: str, *, graph_name: str) -> str:
        """Return the id of the node with an external id in a graph; an empty name is the caller's default graph.

        Raises:
            NodeNotFound: the caller sees no such node.
        """
        request = pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        response: pb.GetNodeByExternalIdResponse = await self.call("GetNodeByExternalId", request)
        return response.node.id

    async def walk(
        self,
        walk: Walk,
        *,
        descending: bool = False,
        limit: int = 0,
        after: tuple[int, int] | None = None,
        page_token: str = "",
    ) -> AsyncGenerator[WalkPage, None]:
        """Yield the nodes that the walk reaches, by `created_at`, then `seq`.

        Args:
            walk: The start, direction, types and depth of the walk.
            descending: Whether the newest node comes first.
            limit: The number of nodes at most; 0 sets no limit. The last page then has the token to continue.
            after: Begin after this `created_at` (microseconds since 1970) and `seq`.
            page_token: The token of the last page of an earlier walk, which this walk continues.

        Raises:
            NodeNotFound: the node at which the walk starts does not exist.
            NodeBudgetExceeded: the walk is too large.
            Unavailable: the Entity Service does not answer.
        """
        rows = _Rows(walk)
        async with self._as_caller() as client:
            pages = client.graph.traverse_pages(
                walk.node_id,
                edge_types=walk.edge_types,
                direction=walk.direction,
                depth_max=walk.depth_max,
                node_types=walk.entity_types,
                include_start=walk.include_start,
                include_archived=walk.include_archived,
                columns=rows.columns,
                descending=descending,
                limit=limit,
                after=None if after is None else _position(*after),
                page_token=page_token,
                timeout_s=_timeout_s(),
            )
            with _from(walk.node_id):
                async with aclosing(pages):  # a reader that has enough ends the walk at once
                    async for response in pages:
                        yield WalkPage(
                            nodes=rows.nodes(orjson.loads(response.rows_json)), next_page_token=response.next_page_token
                        )

    async def tree(self, root_id: str, *, edge_types: Sequence[str], depth_max: int) -> list[TreeNode]:
        """Return a node and the nodes below it, archived ones too: by `created_at`, then `seq`, the root first.

        A node with several paths appears once, below its nearest parent.

        Raises:
            NodeNotFound: the caller sees no such node.
            NodeBudgetExceeded: the tree has too many nodes.
            Unavailable: the Entity Service does not answer.
        """
        async with self._as_caller() as client:
            pages = client.graph.traverse_pages(
                root_id,
                edge_types=edge_types,
                depth_max=depth_max,
                include_start=True,
                include_archived=True,  # else nodes below an archived one would have no parent
                columns=_TREE_COLUMNS,
                timeout_s=_timeout_s(),
            )
            with _from(root_id):
                async with aclosing(pages):
                    nodes = [TreeNode(*row) async for response in pages for row in orjson.loads(response.rows_json)]
        nodes.sort(key=lambda node: node.depth > 0)
        return nodes

    async def nodes(self, node_ids: Sequence[str]) -> list[WholeNode]:
        """Return the nodes with some ids (1,000 at most) that the caller sees, including archived ones."""
        request = pb.BatchGetNodesRequest(node_ids=node_ids)
        try:
            response: pb.BatchGetNodesResponse = await self.call("BatchGetNodes", request)
        except AnswerTooLarge:
            if len(node_ids) == 1:
                raise
            half = len(node_ids) // 2
            return [*await self.nodes(node_ids[:half]), *await self.nodes(node_ids[half:])]
        return [_whole(node) for node in response.nodes]

    async def nodes_of_type(
        self, node_type: str, *, graph_name: str, page_size: int, page_token: str
    ) -> tuple[list[WholeNode], str]:
        """Return nodes of a type, by either of its names, by `created_at`; and the token of the next page.

        Archived nodes are left out.
        """
        condition = orjson.dumps({"type": node_type}).decode()
        request = pb.SearchNodesRequest(
            filter=pb.NodeFilter(graph_name=graph_name, condition_json=condition),
            page_size=page_size,
            page_token=page_token,
        )
        response: pb.SearchNodesResponse = await self.call("SearchNodes", request)
        return [_whole(node) for node in response.nodes], response.next_page_token

    async def start_changes(self) -> None:
        """Make the Entity Service keep the tenant's changes from now on.

        Raises:
            PermissionDenied: the caller may not do this.
            ChangesHeldUp: a write that began before is still running.
            Unavailable: the Entity Service does not answer.
        """
        await self.call("StartChanges", pb.StartChangesRequest())

    async def changes(self, place: str) -> GraphChanges:
        """Return the changes after a place; an empty place returns no changes, and the current place.

        Raises:
            ChangesNotStarted: the Entity Service does not keep changes of this tenant.
            ChangesExpired: changes after the place were deleted.
        """
        request = pb.ListChangesRequest(place=place, page_size=_CHANGES)
        response: pb.ListChangesResponse = await self.call("ListChanges", request)
        changes = [
            GraphChange(
                change.node_id,
                change.kind == pb.CHANGE_KIND_REMOVED,
                change.graph_name,
                (change.general_type_name, change.specific_type_name),
                change.from_node_id,
                change.to_node_id,
            )
            for change in response.changes
        ]
        return GraphChanges(changes, response.next_place, response.has_more)

    async def names(self) -> list[str]:
        """Return the names of the caller's graphs that have nodes."""
        async with self._as_caller() as client, aclosing(client.graph.list_graphs()) as graphs:
            return [graph.graph_name async for graph in graphs]

    async def lines(self, graph_name: str, resume_token: str) -> AsyncGenerator[GraphLines, None]:
        """Yield a whole graph as lines, in pages, from its beginning or after an earlier page.

        Raises:
            InvalidPageToken: the token belongs to another graph.
        """
        request = pb.ExportGraphRequest(graph_name=graph_name, resume_token=resume_token)
        async with self._as_caller() as client, aclosing(client.stream("ExportGraph", request)) as pages:
            async for page in pages:
                counts = {kind: getattr(page, kind) for kind in _ROW_KINDS if getattr(page, kind)}
                yield GraphLines(page.lines, page.resume_token, counts)

    async def put_lines(self, graph_name: str, lines: bytes) -> dict[str, tuple[int, int]]:
        """Write lines of a graph, and return the numbers of written and of existing rows by kind.

        Raises:
            InvalidArgument: a line is malformed.
            LimitExceeded: a line exceeds a limit.
            NodeNotFound: a line names a node that no earlier line wrote.
            AlreadyExists: an external id is taken, or the id of a line belongs to a node of another graph.
            In each case the batches before the refused line are written.
        """
        async with self._as_caller() as client:
            done = await client.graph.import_lines(lines, graph_name=graph_name)
        return {kind: (getattr(done, kind).written, getattr(done, kind).existed) for kind in _ROW_KINDS}

    async def owned(self, subject: str) -> Mapping[str, int]:
        """Return how many rows of the graph a user owns, by kind.

        Raises:
            PermissionDenied: the caller may not read this.
            Unavailable: the Entity Service does not answer.
        """
        response: pb.GetOwnedResponse = await self.call("GetOwned", pb.GetOwnedRequest(subject=subject))
        return _counts(response.owned)

    async def erase_owned(self, erasure_id: UUID, subject: str) -> None:
        """Begin to erase the rows that a user owns. A repeated call does nothing.

        Raises:
            PermissionDenied: the caller may not erase users' rows.
            Unavailable: the Entity Service does not answer.
        """
        await self.call("EraseOwned", pb.EraseOwnedRequest(erasure_id=str(erasure_id), subject=subject))

    async def erased(self, erasure_id: UUID) -> tuple[Mapping[str, int], datetime | None] | None:
        """Return the counts of rows that an erasure has removed, by kind, and its end; None if it has not begun."""
        try:
            response: pb.GetOwnedResponse = await self.call("GetOwned", pb.GetOwnedRequest(erasure_id=str(erasure_id)))
        except ErasureNotFound:
            return None
        removed = response.owned
        finished_at = removed.finished_at.ToDatetime(UTC) if removed.HasField("finished_at") else None
        return _counts(removed), finished_at

    async def call(self, rpc: str, request: Message) -> Any:
        """Make a unary call as the caller and return its answer.

        Raises:
            Unavailable: the Entity Service does not answer.
            Also the errors of the RPC.
        """
        async with self._as_caller() as client:
            return await client.call(rpc, request, timeout_s=_timeout_s())

    @asynccontextmanager
    async def _as_caller(self) -> AsyncIterator[AsyncEntityClient]:
        """Lend a client of the Entity Service that calls with the credential of the current call."""
        call = calls.current_call.get()
        with _dependency():
            async with self._connection.lent() as client:
                yield client.with_credential(call.credential if call else "")


@contextmanager
def _dependency() -> Iterator[None]:
    """Name the Entity Service as the dependency in `Unavailable` errors, without its address."""
    try:
        yield
    except ChangesHeldUp:
        raise  # the Entity Service did answer
    except Unavailable as error:
        dependency = error.metadata.get("dependency", _DEPENDENCY)
        raise Unavailable(
            "the Entity Service does not answer", dependency=dependency, retry_after_s=error.retry_after_s
        ) from error
    except DeadlineExceeded as error:
        if "dependency" not in error.metadata:
            raise  # the Entity Service did answer: the walk takes longer than the caller's deadline
        raise Unavailable("the Entity Service does not answer", dependency=_DEPENDENCY) from error


@contextmanager
def _from(node_id: str) -> Iterator[None]:
    """Replace the error for a missing start node by one with the id of the node, because it names only a field."""
    try:
        yield
    except NodeNotFound as error:
        raise NodeNotFound("no node has this id", node_id=node_id) from error


def _timeout_s() -> float | None:
    """Return the timeout for a call in seconds, a little less than the caller has; None if it has no deadline."""
    remaining_s = calls.remaining_s()
    return None if math.isinf(remaining_s) else calls.answer_s(remaining_s)


class _Rows:
    """The columns of a walk's rows: first those of the entity, then those of the walk."""

    def __init__(self, walk: Walk) -> None:
        self._keys = tuple(key for key in _COLUMNS if key == "id" or (key in walk.fields and key not in _TIMES))
        self._times = tuple(key for key in _TIMES if key in walk.fields)
        self._walk = walk
        place = (pb.TRAVERSE_COLUMN_CREATED_AT, pb.TRAVERSE_COLUMN_SEQ)
        reached = (
            pb.TRAVERSE_COLUMN_MODIFIED_AT,
            pb.TRAVERSE_COLUMN_DEPTH,
            pb.TRAVERSE_COLUMN_EDGE_ID,
            pb.TRAVERSE_COLUMN_EDGE_TYPE,
            pb.TRAVERSE_COLUMN_FROM_NODE_ID,
        )
        self._last = {
            name: column
            for name, column, is_read in (
                ("edges", pb.TRAVERSE_COLUMN_EDGES, walk.with_all_edges),
                ("path", pb.TRAVERSE_COLUMN_PATH, walk.with_path),
            )
            if is_read
        }
        self._plain = not (self._times or walk.with_edges or walk.with_reached or walk.with_origin or self._last)
        self.columns: tuple[pb.TraverseColumn, ...] = (*(_COLUMNS[key] for key in self._keys), *place)
        if not self._plain:
            self.columns += (*reached, pb.TRAVERSE_COLUMN_EDGE_DATA)
        if walk.with_origin:
            self.columns += (
                pb.TRAVERSE_COLUMN_VERSION,
                pb.TRAVERSE_COLUMN_AGENT_BUNDLE_ID,
                pb.TRAVERSE_COLUMN_IS_ARCHIVED,
                pb.TRAVERSE_COLUMN_EDGE_VERSION,
                pb.TRAVERSE_COLUMN_OWNER_USER_ID,
            )
        self.columns += tuple(self._last.values())

    def nodes(self, rows: list[list[Any]]) -> list[GraphNode]:
        """Return the nodes of some rows."""
        keys, place = self._keys, len(self._keys)
        if self._plain:
            # A history has tens of thousands of nodes, so this does no more than it must for each.
            return [
                GraphNode(row[0], row[place], row[place + 1], dict(zip(keys, row, strict=False)), {}) for row in rows
            ]
        return [self._node(row) for row in rows]

    def _node(self, row: list[Any]) -> GraphNode:
        """Return the node of a row, with the parts that the walk asked for: times, edges, and how it was reached."""
        last = dict(zip(self._last, row[len(row) - len(self._last) :], strict=True))
        entity = dict(zip(self._keys, row, strict=False))
        created_at_us, seq, modified_at_us, depth, edge_id, edge_type, from_node_id, edge_data, *origin = row[
            len(self._keys) : len(row) - len(self._last)
        ]
        is_reached = self._walk.with_reached or self._walk.with_origin
        for key, time_us in zip(_TIMES, (created_at_us, modified_at_us), strict=True):
            if key in self._times:
                entity[key] = _EPOCH + timedelta(microseconds=time_us)
        return GraphNode(
            row[0],
            created_at_us,
            seq,
            entity,
            {"type": edge_type, "depth": depth, "data": edge_data} if self._walk.with_edges else {},
            Reached(modified_at_us, depth, edge_id, edge_type, from_node_id) if is_reached else None,
            Origin(*origin) if origin else None,
            **last,
        )


def _position(created_at_us: int, seq: int) -> pb.TraversePosition:
    seconds, microseconds = divmod(created_at_us, 1_000_000)
    return pb.TraversePosition(created_at=Timestamp(seconds=seconds, nanos=microseconds * 1000), seq=seq)


def _entity(node: pb.Node) -> dict[str, Any]:
    """Return the entity of a node in the form in which expressions read it."""
    return {
        "id": node.id,
        "external_id": node.external_id,
        "name": node.name,
        "type": node.specific_type_name,
        "general_type": node.general_type_name,
        "status": node.status,
        "data": orjson.loads(node.data_json),
        "created_at": _time(node.created_at),
        "modified_at": _time(node.modified_at),
    }


def _counts(owned: pb.Owned) -> Mapping[str, int]:
    """Return counts of rows by kind, without counts of 0."""
    counts = {
        "entity.node": owned.nodes,
        "entity.edge": owned.edges,
        "entity.request": owned.answers,
        "entity.names": owned.names,
    }
    return {kind: count for kind, count in counts.items() if count}


def _whole(node: pb.Node) -> WholeNode:
    """Return a node with all its fields from protobuf."""
    return WholeNode(
        node.id,
        _entity(node),
        node.graph_name,
        node.agent_bundle_id,
        node.version,
        node.is_archived,
        node.owner_user_id,
    )


def _io(io: pb.GetNodeIOResponse) -> dict[str, Any]:
    """Return the input and output of a node that were ever set; null is a value that was set."""
    sides = {"input": io.input_json, "output": io.output_json}
    return {side: orjson.loads(text) for side, text in sides.items() if text}


def _time(timestamp: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1000)
