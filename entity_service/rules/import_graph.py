"""ImportGraph: lines of a graph, written in batches. A batch is written whole or not at all; existing rows stay.

So an import that broke off can start again, from its beginning or after the last batch, and ends with the same rows.
While one batch is written, the next one is read: at most two batches are in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from contextkeep.errors import ContextKeepError, ExternalIdTaken, NodeExists, NodeNotFound
from entity_service.model.transfer import ImportBatch, Imported
from entity_service.model.writes import Written
from entity_service.rules.write_graph import GraphWrites
from entity_service.store.graph_import import (
    ARCHIVE,
    ELSEWHERE,
    THERE,
    WRITE_SIDES,
    side_rows,
    write_embeddings,
    write_envelopes,
)
from entity_service.store.nodes import id_array
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal


class GraphImport:
    """Writes the batches of an import into a graph."""

    def __init__(self, writes: GraphWrites) -> None:
        self._writes = writes

    async def run(self, principal: Principal, graph_name: str, batches: AsyncIterator[ImportBatch]) -> Imported:
        """Write the batches as they arrive, and return the counts of rows.

        Raises:
            ContextKeepError: the error of a batch. `lines_done` in its metadata is the number of lines that are
                written.
        """
        done = Imported()
        writing: asyncio.Task[None] | None = None
        try:
            async for batch in batches:
                if writing is not None:
                    await writing
                writing = asyncio.create_task(self._write(principal, graph_name, batch, done))
            if writing is not None:
                await writing
        except ContextKeepError as error:
            if writing is not None and not writing.done():
                with suppress(ContextKeepError):  # the caller gets one error: the one about the later line
                    await writing
            error.metadata["lines_done"] = str(done.lines)
            raise
        finally:
            if writing is not None and not writing.done():
                writing.cancel()
                await asyncio.wait([writing])
        return done

    async def _write(self, principal: Principal, graph_name: str, batch: ImportBatch, done: Imported) -> None:
        """Write one batch with all that its lines add to nodes in one transaction, and count the rows."""
        write = batch.write
        counts: list[int] = []

        # Runs in the transaction, after the nodes and edges are written. An attempt may be repeated, so `counts` is
        # assigned and not extended.
        async def then(transaction: Transaction, outcome: Written) -> None:
            await _check_nodes(transaction, graph_name, batch, outcome)
            new_ids = {row.id for row in outcome.nodes if not row.existed}
            if archived := batch.archived_ids & new_ids:
                await transaction.query(ARCHIVE, {"ids": id_array(archived)})
            await _check_there(transaction, batch)
            if batch.sides:
                rows = side_rows(batch.sides)
                await transaction.query(WRITE_SIDES, {"rows": rows})
            counts[:] = [
                await write_embeddings(transaction, graph_name, batch.embeddings),
                await write_envelopes(transaction, principal, batch.envelopes),
            ]

        written = await self._writes.add_missing(principal, write, then)
        done.nodes.add(written=sum(not row.existed for row in written.nodes), rows=len(write.nodes))
        done.edges.add(written=sum(not row.existed for row in written.edges), rows=len(write.edges))
        done.embeddings.add(written=counts[0], rows=len(batch.embeddings))
        done.envelopes.add(written=counts[1], rows=len(batch.envelopes))
        done.lines = batch.lines


async def _check_nodes(transaction: Transaction, graph_name: str, batch: ImportBatch, outcome: Written) -> None:
    """Refuse nodes whose id or external id belongs to another node.

    Raises:
        ExternalIdTaken: another node has the external id.
        NodeExists: the node of the id is in another graph.
    """
    existed = {}
    for position, (node, row) in enumerate(zip(batch.write.nodes, outcome.nodes, strict=True)):
        if not row.existed:
            continue
        path = batch.write.path("node", position)
        if row.id != node.id:
            raise ExternalIdTaken(
                f"node {row.id} already has this external id", field=f"{path}.external_id", node_id=row.id
            )
        existed[row.id] = path
    if not existed:
        return
    parameters = {"ids": id_array(existed), "graph_name": graph_name}
    for (node_id,) in await transaction.query(ELSEWHERE, parameters, named=False):
        raise NodeExists(
            f"node {node_id} already exists in another graph", field=f"{existed[node_id]}.id", node_id=node_id
        )


async def _check_there(transaction: Transaction, batch: ImportBatch) -> None:
    """Refuse rows of a node that no earlier line wrote.

    Raises:
        NodeNotFound: there is no such node.
    """
    wanted = {side.node_id: side.path for side in batch.sides}
    wanted |= {embedding.node_id: path for path, embedding in batch.embeddings}
    wanted |= {envelope.node_id: path for path, envelope, _ in batch.envelopes}
    missing = wanted.keys() - {node.id for node in batch.write.nodes}
    if not missing:
        return
    parameters = {"ids": id_array(missing)}
    there = {row[0] for row in await transaction.query(THERE, parameters, named=False)}
    for node_id in wanted:
        if node_id in missing and node_id not in there:
            raise NodeNotFound(f"node {node_id} does not exist", field=f"{wanted[node_id]}.node_id", node_id=node_id)
