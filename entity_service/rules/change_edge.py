"""UpdateEdgeData: the data of an edge, changed under the lock of its row."""

from __future__ import annotations

from entity_service.model.edges import Edge
from entity_service.model.nodes import DataChange
from entity_service.model.refusals import edge_not_found
from entity_service.pure.versions import check_edge_version
from entity_service.rules.data_change import changed_data
from entity_service.store.edges import LOCK, SET_DATA
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests


class EdgeChanges:
    """Changes the data of edges."""

    def __init__(self, database: Database, *, document_bytes_max: int) -> None:
        self._database = database
        self._document_bytes_max = document_bytes_max
        self._requests = Requests("entity")

    async def update_data(self, principal: Principal, change: DataChange, request: Request | None) -> Edge:
        """Merge into an edge's data, or replace it.

        Raises:
            EdgeNotFound: there is no such edge.
            VersionConflict: it has another version than expected.
            LimitExceeded: the result is too large.
            RequestIdReused: the request id was used with other content.
        """

        async def work(transaction: Transaction) -> Edge:
            parameters = {"id": change.id}
            rows = await transaction.query(LOCK, parameters, named=False)
            if not rows:
                raise edge_not_found(change.id)
            edge = Edge._make(rows[0])
            check_edge_version(edge, change.expected_version)
            data_json = await changed_data(edge.data_json, change, size_bytes_max=self._document_bytes_max)
            (row,) = await transaction.query(SET_DATA, parameters | {"data": data_json}, named=False)
            return Edge._make(row)  # all of it is the answer: nothing else remembers what it was after this change

        return await self._database.of(principal).transaction(self._requests.once(request, work))
