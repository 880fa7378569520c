"""WriteGraph, CreateNode, CreateEdge: one statement if all goes well, and a second one only if it does not.

The statement inserts nodes, edges and the row of the request id. Any problem makes Postgres refuse all of it; then
`GraphWrites.write` reads the stored rows that the write names, and `pure.conflicts` names the problem. So an ordinary
write pays for no check but the constraints, and a race costs a second statement at most.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from contextkeep.errors import Aborted, ExternalIdTaken, NodeNotFound
from entity_service.model.edges import Edge
from entity_service.model.nodes import Node
from entity_service.model.writes import Answer, GraphWrite, NewEdge, NewNode, Written, WrittenRow, outcome
from entity_service.pure.conflicts import ends_of, misplaced, refusal
from entity_service.store.nodes import NODE, NODE_BY_EXTERNAL_ID, id_array
from entity_service.store.writes import (
    EDGE_AS_WRITTEN,
    NODE_AS_WRITTEN,
    TRANSACTION_TIME,
    WRITE,
    WRITE_NEW_EDGES,
    WRITE_NEW_NODES,
    ConstraintFailed,
    edge_columns,
    hidden_row,
    standing_rows,
    taken_unseen,
    transaction_once,
    write_new,
    write_parameters,
)
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.copying import copied

_ROWS = "the rows that this write needs"


class GraphWrites:
    """Writes nodes and edges, once per request id."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._requests = Requests("entity")

    async def write(self, principal: Principal, write: GraphWrite, request: Request | None) -> Written:
        """Write all rows or none; a row that exists is an error.

        Raises:
            NodeExists: a node with one of the ids exists.
            ExternalIdTaken: a node of the graph has one of the external ids.
            EdgeExists: an edge with one of the ids, or with the same ends and type, exists.
            NodeNotFound: an end of an edge does not exist.
            InvalidArgument: an edge leaves its graph or its context, or Postgres cannot store a value.
            RequestIdReused: the request id was used with other content.
        """
        tenant = self._database.of(principal)

        # One attempt. If a constraint fails, the error is the stored answer of an earlier call with the same request
        # id, or names the row that exists. If neither is found, another call changed the rows meanwhile: try again.
        async def written() -> Written:
            try:
                row = await write_new(tenant, write_parameters(principal, write, request, bounds=tenant.bounds))
            except ConstraintFailed as raised:
                if request:
                    await self._requests.answered(tenant, request)
                if error := refusal(write, await tenant.transaction(lambda t: standing_rows(t, write))):
                    raise error from None
                if tenant.bounds and (error := taken_unseen(raised)):
                    raise error from None
                raise RowsChanged from raised
            return outcome(write, {"first_id": write.first_made_id, "at": row.at, "seqs": row.seqs})

        return await until_written(written, what=_ROWS)

    async def write_missing(self, principal: Principal, write: GraphWrite, request: Request | None) -> Written:
        """Write the rows that do not exist yet; existing rows stay as they are.

        A node exists if its id or its external id does; an edge exists if its id, or an edge with its ends and type,
        does. If a node exists under another id, edges that name it by its id in this write join the existing node.

        Raises:
            NodeNotFound: an end of an edge does not exist.
            InvalidArgument: an edge leaves its graph or its context, or Postgres cannot store a value.
            RequestIdReused: the request id was used with other content.
        """
        once = self._requests.once(request, lambda transaction: _write_missing(transaction, principal, write))
        # If an end was deleted meanwhile, the transaction fails, and the next attempt raises the error that names it.
        answer = await until_written(partial(transaction_once, self._database.of(principal), once), what=_ROWS)
        return outcome(write, answer)

    async def add_missing(
        self, principal: Principal, write: GraphWrite, then: Callable[[Transaction, Written], Awaitable[None]]
    ) -> Written:
        """Write the rows that do not exist yet, as `write_missing` does, and run `then` in the same transaction.

        The first attempt assumes that all rows are new, which takes one statement.

        Args:
            principal: The caller; nodes that name no owner get its user.
            write: The nodes and edges to write.
            then: Gets the transaction and the outcome of the rows. If it raises an error, nothing is written.

        Raises:
            NodeNotFound, InvalidArgument: as for `write_missing`.
            The errors of `then`.
        """
        tenant = self._database.of(principal)

        async def as_new(transaction: Transaction) -> Written:
            (row,) = await transaction.query(WRITE, write_parameters(principal, write, None))
            written = outcome(write, {"first_id": write.first_made_id, "at": row.at, "seqs": row.seqs})
            await then(transaction, written)
            return written

        async def as_missing(transaction: Transaction) -> Written:
            written = outcome(write, await _write_missing(transaction, principal, write))
            await then(transaction, written)
            return written

        with suppress(RowsChanged):
            return await transaction_once(tenant, as_new)
        return await until_written(partial(transaction_once, tenant, as_missing), what=_ROWS)

    async def create_node(self, principal: Principal, write: GraphWrite, request: Request | None) -> Node:
        """Write one node, and return it.

        Raises:
            The errors of `write`.
        """
        return await self.node_of(principal, write, await self.write(principal, write, request))

    async def node_of(self, principal: Principal, write: GraphWrite, outcome: Written) -> Node:
        """Return the node of a write of one node as it was written, even if it was changed since."""
        (row,) = outcome.nodes
        return await self._node_as_written(principal, write.nodes[0], row)

    async def create_node_unless_there(
        self, principal: Principal, write: GraphWrite, request: Request | None
    ) -> tuple[Node, bool]:
        """Write one node, or find the existing one with its external id; return the node, and whether it existed.

        Raises:
            NodeExists: another node, with another external id, has the id.
            Aborted: the existing node was deleted during the call.
            RequestIdReused: the request id was used with other content.
        """
        tenant = self._database.of(principal)
        (node,) = write.nodes
        if not await self._with_external_id(tenant, node):
            with suppress(ExternalIdTaken):  # a concurrent call wrote a node with this external id
                return await self.create_node(principal, write, request), False

        async def work(transaction: Transaction) -> Node:
            there = (await standing_rows(transaction, write)).external_ids.get(
                (node.graph_name, node.external_id or "")
            )
            if there is None:
                raise hidden_row(transaction) or Aborted("the node was deleted during the call; try again")
            rows = await transaction.query(NODE, {"id": there.id}, named=False)
            if not rows:
                raise NodeNotFound("the node was deleted during the call", node_id=there.id)
            return Node._make(rows[0])

        return await tenant.transaction(self._requests.once(request, work)), True

    async def _with_external_id(self, tenant: Tenant, node: NewNode) -> bool:
        """Say whether a visible node of the graph has the external id of a new node."""
        parameters = {"graph_name": node.graph_name, "external_id": node.external_id}
        return bool(await tenant.query(NODE_BY_EXTERNAL_ID, parameters, named=False))

    async def create_edge(self, principal: Principal, write: GraphWrite, request: Request | None) -> Edge:
        """Write one edge, and return it.

        Raises:
            The errors of `write`.
        """
        return await self.edge_of(principal, write, await self.write(principal, write, request))

    async def edge_of(self, principal: Principal, write: GraphWrite, outcome: Written) -> Edge:
        """Return the edge of a write of one edge as it was written, even if it was changed since."""
        (edge,), (row,) = write.edges, outcome.edges
        tenant = self._database.of(principal)
        stored = await tenant.query(EDGE_AS_WRITTEN, {"id": row.id, "data": edge.data_json}, named=False)
        data_json, context_id = stored[0] if stored else (edge.data_json, None)
        return copied(
            Edge, edge, id=row.id, data_json=data_json, created_at=row.created_at, version=1, context_id=context_id
        )

    async def _node_as_written(self, principal: Principal, node: NewNode, row: WrittenRow) -> Node:
        """Return the node as the call that wrote it saw it, which a repeat of the call must see too."""
        tenant = self._database.of(principal)
        stored = await tenant.query(NODE_AS_WRITTEN, {"id": row.id, "data": node.data_json}, named=False)
        data_json, created_by, owner_user_id, agent_id, context_id = (
            stored[0]
            if stored  # without a row, the node was deleted since
            else (node.data_json, principal.subject, principal.user_id, principal.agent_id, None)
        )
        return copied(
            Node,
            node,
            id=row.id,
            data_json=data_json,
            is_archived=False,
            seq=row.seq,
            created_at=row.created_at,
            modified_at=row.created_at,
            version=1,
            created_by=created_by,
            owner_user_id=owner_user_id,
            agent_id=agent_id,
            context_id=context_id,
        )


async def _write_missing(transaction: Transaction, principal: Principal, write: GraphWrite) -> Answer:
    """Write the rows that do not exist yet, and return the answer to store, with the rows that existed.

    Nodes are written first. If a node exists under another id, by its external id, then edges of the write that name it
    by the id in the write join the existing node.

    Raises:
        Aborted: another call deleted a row that this write repeats.
        NodeNotFound: an end of an edge does not exist.
        InvalidArgument: the ends of an edge are in another graph or in two contexts.
    """
    (time,) = await transaction.query(TRANSACTION_TIME)
    answer: Answer = {"first_id": write.first_made_id, "at": time.at, "seqs": []}
    parameters = write_parameters(principal, write, None)
    aliases: dict[str, str] = {}
    seqs: dict[str, int] = {}
    if write.nodes:
        seqs = dict(await transaction.query(WRITE_NEW_NODES, parameters, named=False))
        answer["seqs"] = sorted(seqs.values())
        # A row that was not written exists already. If another call wrote it meanwhile, this next statement sees it.
        standing = await standing_rows(transaction, write)
        taken = set()
        for position, node in enumerate(write.nodes):
            if node.id in seqs and node.id not in taken:
                taken.add(node.id)  # the second row of one id in a request repeats the first
                continue
            there = standing.nodes.get(node.id) or standing.external_ids.get((node.graph_name, node.external_id or ""))
            if there is None:
                raise hidden_row(transaction) or Aborted(
                    "another call has deleted a row that this one repeats; try again"
                )
            answer.setdefault("existed_nodes", {})[str(position)] = (there.id, there.created_at, there.seq)
            aliases[node.id] = there.id
    if write.edges:
        write = replace(write, edges=[_with_existing_ends(edge, aliases) for edge in write.edges])
        standing = await standing_rows(transaction, write)
        for position, edge in enumerate(write.edges):
            if error := misplaced(edge, write.path("edge", position), standing.nodes):
                raise error
        written = await transaction.query(
            WRITE_NEW_EDGES,
            parameters | edge_columns(write.edges) | {"new_ids": id_array(seqs)},
            named=False,
        )
        new_ids = {row[0] for row in written}
        if len(new_ids) < len(write.edges):
            standing = await standing_rows(transaction, write)
        for position, edge in enumerate(write.edges):
            if edge.id in new_ids:
                new_ids.discard(edge.id)
                continue
            joined = standing.edges.get(edge.id) or standing.edge_ends.get(ends_of(edge))
            if joined is None:
                raise hidden_row(transaction) or Aborted(
                    "another call has deleted a row that this one repeats; try again"
                )
            answer.setdefault("existed_edges", {})[str(position)] = (joined.id, joined.created_at)
    return answer


def _with_existing_ends(edge: NewEdge, aliases: Mapping[str, str]) -> NewEdge:
    """Return an edge with each end that is an id in `aliases` replaced by the id of the existing node."""
    if edge.from_node_id not in aliases and edge.to_node_id not in aliases:
        return edge
    return edge._replace(
        from_node_id=aliases.get(edge.from_node_id, edge.from_node_id),
        to_node_id=aliases.get(edge.to_node_id, edge.to_node_id),
    )
