"""What happened to a record: its log, read.

An entry is written by the statement or the transaction that changes the record, so it stands beside the change's SQL;
the services' role may insert entries and read them, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from service_runtime.postgres import Tenant

_LIST_ACTIONS = """
SELECT seq, created_at, request_id, kind, principal, details::text AS details_json
FROM context.action
WHERE tenant_id = %s AND record_id = %s AND seq > %s
ORDER BY seq
LIMIT %s
"""

_LAST_KIND = "SELECT kind FROM context.action WHERE tenant_id = %s AND record_id = %s ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One entry of a record's log."""

    seq: int  # order of a record's entries
    created_at: datetime  # aware, UTC
    request_id: UUID | None
    kind: str  # "created", "updated", "archived", "restored", "moved" or "purged"
    principal: str
    details_json: str


class ActionLog:
    """The table `action`."""

    async def page(self, tenant: Tenant, record_id: UUID, *, behind_seq: int, count_max: int) -> Sequence[Action]:
        """Return up to `count_max` entries behind `behind_seq`, oldest first."""
        return [
            Action(
                seq=row.seq,
                created_at=row.created_at.astimezone(UTC),
                request_id=row.request_id,
                kind=row.kind,
                principal=row.principal,
                details_json=row.details_json,
            )
            for row in await tenant.query(_LIST_ACTIONS, (tenant.tenant_id, record_id, behind_seq, count_max))
        ]

    async def was_purged(self, tenant: Tenant, record_id: UUID) -> bool:
        """Tell whether a purge is the last that happened to a record."""
        rows = await tenant.query(_LAST_KIND, (tenant.tenant_id, record_id))
        return bool(rows) and rows[0].kind == "purged"
