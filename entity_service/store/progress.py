"""The timeline of a node: envelopes, appended and never changed."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from contextkeep.errors import InvalidPageToken, NodeBudgetExceeded
from entity_service.model.nodes import Node
from entity_service.model.progress import STATUSES, Appended, Envelope, NewEnvelope, TimelinePage, TimelineQuery
from entity_service.model.refusals import node_not_found
from service_runtime.auth import Principal
from service_runtime.checks import utf8_bytes
from service_runtime.optimistic import RowsChanged, until_written
from service_runtime.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.requests import Request, Requests, answer_parameters

_SEQ_MAX = 2**63 - 1

_APPEND_STATUS = """
INSERT INTO entity.progress (tenant_id, node_id, created_at, context_id, type, status, message, value, created_by)
VALUES (
    %(tenant_id)s, %(node_id)s, clock_timestamp(), %(context_id)s, 'STATUS', %(status)s, %(message)s, %(value)s,
    %(created_by)s
)
"""

# One statement: a request id that is there already makes Postgres refuse all of it. FOR KEY SHARE: a node that another
# call is deleting is waited for and then not found.
_APPEND = """
WITH envelope AS (
    INSERT INTO entity.progress (
        tenant_id, node_id, created_at, context_id, type, status, sub_type, message, value, error, created_by
    )
    SELECT
        n.tenant_id, n.id, clock_timestamp(), n.context_id, %(type)s, %(status)s, %(sub_type)s, %(message)s,
        %(value)s::jsonb, %(error)s::jsonb, %(created_by)s
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
    FOR KEY SHARE
    RETURNING seq, (extract(epoch FROM created_at) * 1000000)::bigint AS created_at
), answered AS (
    INSERT INTO entity.request (tenant_id, request_id, rpc, fingerprint, answer)
    SELECT
        %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s, jsonb_build_array(e.seq, e.created_at)
    FROM envelope e
    WHERE %(request_key)s::uuid IS NOT NULL
)
SELECT seq, created_at FROM envelope
"""


# A page of the envelopes of a node and of what it calls, each node once: UNION leaves out what was reached before, so
# cycles end. The context is that of the node asked for: what it calls must be in it, too. Each node's envelopes come in
# order off the primary key, no more of them than the page holds. There is one row at least, for the counts. Ends are
# compared as ranges, as in `traversal`: equalities read the whole table for each node, where most edges have one end.
def _list(way: str, behind: str) -> str:
    """Return the statement of a page: from one end of the order, or from the other."""
    return f"""
WITH RECURSIVE called (id, context_id) AS (
    SELECT n.id, n.context_id FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
    UNION
    SELECT n.id, c.context_id
    FROM called c
    CROSS JOIN LATERAL (
        SELECT e.to_node_id
        FROM entity.edge e
        WHERE NOT %(own_only)s AND e.tenant_id = %(tenant_id)s AND e.from_node_id >= c.id AND e.from_node_id <= c.id
            AND (e.from_node_id, e.edge_type) >= (c.id, 'Calls') AND (e.from_node_id, e.edge_type) <= (c.id, 'Calls')
        OFFSET 0
    ) e
    CROSS JOIN LATERAL (
        SELECT n.id
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = e.to_node_id
            AND (c.context_id IS NULL OR n.context_id = c.context_id)
        OFFSET 0
    ) n
), reached AS (
    SELECT id FROM called LIMIT %(nodes_max)s + 1
), found AS (
    SELECT p.node_id, p.seq, p.type, p.status, p.sub_type, p.message, p.value, p.error, p.created_at, p.created_by
    FROM reached r
    CROSS JOIN LATERAL (
        SELECT p.node_id, p.seq, p.type, p.status, p.sub_type, p.message, p.value, p.error, p.created_at, p.created_by
        FROM entity.progress p
        WHERE p.tenant_id = %(tenant_id)s AND p.node_id = r.id AND p.seq {behind} %(after_seq)s
            AND (%(all_types)s OR p.type = ANY (%(types)s::text[]))
        ORDER BY p.seq {way}
        LIMIT %(rows)s
    ) p
    ORDER BY p.seq {way}
    LIMIT %(rows)s
), sized AS (
    SELECT
        f.*,
        sum(
            octet_length(f.message) + coalesce(entity.document_bytes(f.value), 0)
                + coalesce(entity.document_bytes(f.error), 0)
        ) OVER (ORDER BY f.seq {way} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM found f
)
SELECT
    (SELECT count(*) FROM reached), (SELECT count(*) FROM found),
    s.node_id::text, s.seq, s.type, s.status, s.sub_type, s.message, s.value::text, s.error::text,
    (extract(epoch FROM s.created_at) * 1000000)::bigint, s.created_by
FROM (VALUES (1)) AS one
LEFT JOIN sized s ON coalesce(s.bytes_before, 0) < %(bytes_max)s
ORDER BY s.seq {way}
"""  # noqa: S608 - of constants


_LIST = _list("ASC", ">")

_LIST_DESCENDING = _list("DESC", "<")  # the same page from the other end

_CLEAR = """
WITH gone AS (
    DELETE FROM entity.progress WHERE tenant_id = %(tenant_id)s AND node_id = %(node_id)s RETURNING seq
)
SELECT
    (SELECT count(*) FROM gone) AS count,
    EXISTS (SELECT FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(node_id)s) AS there
"""


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

        async def appended() -> Appended:
            try:
                rows = await tenant.query(_APPEND, parameters, named=False)
            except psycopg.IntegrityError as error:
                if request:
                    await self._requests.answered(tenant, request)
                raise RowsChanged from error
            if rows:
                return Appended._make(rows[0])
            # The node may be gone since a twin of this call wrote to it.
            if request:
                await self._requests.answered(tenant, request)
            raise node_not_found(envelope.node_id)

        return await until_written(appended, what="the node")

    async def page(self, principal: Principal, query: TimelineQuery) -> TimelinePage:
        """Return a page of the envelopes of a node and of what it calls.

        Raises:
            NodeNotFound: there is no such node.
            NodeBudgetExceeded: it calls too many.
            InvalidPageToken: the token is of another query.
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
        reached, found = rows[0][:2]
        if not reached:
            raise node_not_found(query.node_id)
        if reached > query.node_budget:
            raise NodeBudgetExceeded(
                f"the node calls more than {query.node_budget} nodes; own_only lists its own envelopes",
                node_budget=query.node_budget,
                limit="node_budget",
                limit_max=query.node_budget,
                value=reached,
            )
        envelopes: list[Envelope] = []
        size_bytes = 0
        for row in rows[: query.page_size] if found else []:
            envelope = Envelope._make(row[2:])
            size_bytes += sum(
                utf8_bytes(text) for text in (envelope.message, envelope.value_json, envelope.error_json) if text
            )
            if envelopes and size_bytes > PAGE_BYTES_MAX:
                break
            envelopes.append(envelope)
        if len(envelopes) == found:
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
    """Return what a node's status is called in an envelope; an app's own status that none fits is empty."""
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
    """Return the `seq` behind which the page begins.

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
