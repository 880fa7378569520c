"""The timeline of a node: envelopes, appended and never changed."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from contextkeep.errors import InvalidPageToken, NodeBudgetExceeded
from entity_service.model.nodes import Node
from entity_service.model.progress import STATUSES, Appended, Envelope, NewEnvelope, TimelinePage, TimelineQuery
from entity_service.model.refusals import node_not_found
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request, Requests, answer_parameters
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import utf8_bytes

_SEQ_MAX = 2**63 - 1

SQL = SqlFile.of(__file__)
_APPEND_STATUS = SQL["append_status"]
_APPEND = SQL["append"]
_LIST = SQL["list"]
_LIST_DESCENDING = SQL["list_descending"]
_CLEAR = SQL["clear"]


class Timelines:
    """The timelines of all tenants' nodes; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._requests = Requests("entity")

    async def append(self, principal: Principal, envelope: NewEnvelope, request: Request | None) -> Appended:
        """Append an envelope.

        Raises:
            NodeNotFound: there is no such node.
            RequestIdReused: the request id was used with other content.
        """
        tenant = self._database.of(principal)
        parameters = {
            "node_id": envelope.node_id,
            "type": envelope.type,
            "status": envelope.status,
            "sub_type": envelope.sub_type,
            "message": envelope.message,
            "value": envelope.value_json,
            "error": envelope.error_json,
            "created_by": principal.subject,
            **answer_parameters(request, tenant.bounds),
        }

        # One attempt. A constraint fails if the request id was used, or if another call changed the rows meanwhile.
        async def appended() -> Appended:
            try:
                rows = await tenant.query(_APPEND, parameters, named=False)
            except psycopg.IntegrityError as error:
                if request:
                    await self._requests.answered(tenant, request)
                raise RowsChanged from error
            if rows:
                return Appended._make(rows[0])
            # The node may have been deleted after an earlier call with this request id wrote to it. Then the stored
            # answer of that call counts.
            if request:
                await self._requests.answered(tenant, request)
            raise node_not_found(envelope.node_id)

        return await until_written(appended, what="the node")

    async def page(self, principal: Principal, query: TimelineQuery) -> TimelinePage:
        """Return a page of the envelopes of a node and of the nodes that it calls.

        Raises:
            NodeNotFound: there is no such node.
            NodeBudgetExceeded: the node calls more than `node_budget` nodes.
            InvalidPageToken: the token is malformed or belongs to another query.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(
            _LIST_DESCENDING if query.descending else _LIST,
            {
                "node_id": query.node_id,
                "own_only": query.own_only,
                "types": list(query.types),
                "all_types": not query.types,
                "after_seq": _after(tenant, query),
                "rows": query.page_size + 1,  # one more than wanted says whether there are more
                "nodes_max": query.node_budget,
                "bytes_max": PAGE_BYTES_MAX,
            },
            named=False,
        )
        reached, count = rows[0][:2]
        if not reached:
            raise node_not_found(query.node_id)
        if reached > query.node_budget:
            raise NodeBudgetExceeded(
                f"the node calls more than {query.node_budget} nodes; set own_only to list only its own envelopes",
                node_budget=query.node_budget,
                limit="node_budget",
                limit_max=query.node_budget,
                value=reached,
            )
        envelopes: list[Envelope] = []
        size_bytes = 0
        for row in rows[: query.page_size] if count else []:
            envelope = Envelope._make(row[2:])
            size_bytes += sum(
                utf8_bytes(text) for text in (envelope.message, envelope.value_json, envelope.error_json) if text
            )
            if envelopes and size_bytes > PAGE_BYTES_MAX:
                break
            envelopes.append(envelope)
        if len(envelopes) == count:
            return TimelinePage(envelopes, "")
        return TimelinePage(envelopes, encode_token(_binding(tenant, query), [envelopes[-1].seq]))

    async def clear(self, principal: Principal, node_id: str) -> int:
        """Remove the envelopes of a node; return how many there were.

        Raises:
            NodeNotFound: there is no such node.
        """
        tenant = self._database.of(principal)
        (row,) = await tenant.query(_CLEAR, {"node_id": node_id})
        if not row.there:
            raise node_not_found(node_id)
        count: int = row.count
        return count


def envelope_status(status: str) -> str:
    """Return the status of an envelope for a node's status; empty for a status of an app's own."""
    name = status.upper()
    if name == "CREATED":
        return "STARTED"
    return name if name in STATUSES else ""


async def append_status(
    transaction: Transaction, principal: Principal, node: Node, *, status: str, message: str
) -> None:
    """Append the envelope that says that a node changes to `status`."""
    await transaction.query(
        _APPEND_STATUS,
        {
            "node_id": node.id,
            "context_id": node.context_id,
            "status": envelope_status(status),
            "message": message,
            "value": Jsonb({"from": node.status, "to": status}),
            "created_by": principal.subject,
        },
    )


async def clear_timeline(transaction: Transaction, node_id: str) -> int:
    """Remove the envelopes of a node; return how many there were."""
    (row,) = await transaction.query(_CLEAR, {"node_id": node_id})
    count: int = row.count
    return count


def _binding(tenant: Tenant, query: TimelineQuery) -> tuple[object, ...]:
    return "ListProgress", tenant.tenant_id, query.node_id, query.own_only, query.types, query.descending


def _after(tenant: Tenant, query: TimelineQuery) -> int:
    """Return the `seq` after which the page begins.

    Raises:
        InvalidPageToken: the token is malformed, or of another query.
    """
    key: list[Any] | None = decode_token(_binding(tenant, query), query.page_token, parts=1)
    if key is None:
        return _SEQ_MAX if query.descending else 0
    (seq,) = key
    if type(seq) is not int or not 0 <= seq <= _SEQ_MAX:
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return seq
