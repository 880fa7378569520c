"""The timeline of a node: envelopes, appended and never changed."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from entity_service.model import Node
from service_runtime.auth import Principal
from service_runtime.postgres import Transaction

_STATUSES = frozenset({"STARTED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"})

_APPEND_STATUS = """
INSERT INTO entity.progress (tenant_id, node_id, created_at, context_id, type, status, message, value, created_by)
VALUES (
    %(tenant_id)s, %(node_id)s, clock_timestamp(), %(context_id)s, 'STATUS', %(status)s, %(message)s, %(value)s,
    %(created_by)s
)
"""

_CLEAR = """
WITH gone AS (
    DELETE FROM entity.progress WHERE tenant_id = %(tenant_id)s AND node_id = %(node_id)s RETURNING seq
)
SELECT count(*) AS count FROM gone
"""


def envelope_status(status: str) -> str:
    """Return what a node's status is called in an envelope; an app's own status that none fits is empty."""
    name = status.upper()
    if name == "CREATED":
        return "STARTED"
    return name if name in _STATUSES else ""


async def append_status(
    transaction: Transaction, principal: Principal, node: Node, *, status: str, message: str
) -> None:
    """Append the envelope that says that a node changes to `status`."""
    await transaction.query(
        _APPEND_STATUS,
        {
            "tenant_id": transaction.tenant_id,
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
    (gone,) = await transaction.query(_CLEAR, {"tenant_id": transaction.tenant_id, "node_id": node_id})
    count: int = gone.count
    return count
