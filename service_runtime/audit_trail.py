"""The calls of administrators as rows: who changed, or tried to change, what holds for a tenant.

Both services keep them, each call before it is answered. One whose row cannot be written is answered all the same: what
it did is done, and the line in the log says it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from contextkeep.errors import ContextKeepError
from service_runtime import audit, pages
from service_runtime.auth import Principal
from service_runtime.calls import Call, current_call
from service_runtime.documents import check_text
from service_runtime.ids import new_id
from service_runtime.pages import PageRequest
from service_runtime.postgres import Database
from service_runtime.scopes import is_administrative

_log = logging.getLogger("audit_trail")

_WRITTEN_S = 2.0  # that a caller waits for the row, at most
_CALL_ID_CHARS_MAX = 64

_KEEP = """
SELECT access.keep_call(
    %(id)s, %(call_id)s, %(method)s, %(scope)s, %(status)s, %(reason)s, %(subject)s, %(user_id)s, %(agent_id)s,
    %(peer)s, %(ids)s
)
"""

_LIST = """
SELECT id, call_id, called_at, method, scope, status, reason, subject, user_id, agent_id, peer, ids
FROM access.administrative_call
WHERE tenant_id = %(tenant_id)s AND id < %(before_id)s
ORDER BY id DESC LIMIT %(count)s
"""

_FIND = """
SELECT id, call_id, called_at, method, scope, status, reason, subject, user_id, agent_id, peer, ids
FROM access.administrative_call
WHERE tenant_id = %(tenant_id)s AND call_id = %(call_id)s AND id < %(before_id)s
ORDER BY id DESC LIMIT %(count)s
"""

_LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdministrativeCall:
    """A call that is kept."""

    call_id: str
    called_at: datetime
    method: str
    scope: str
    status: str
    reason: str  # empty: it did not fail
    subject: str
    user_id: str
    agent_id: str
    peer: str
    ids: dict[str, list[str]]


class AuditTrail:
    """The calls of administrators, of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, call: Call, error: ContextKeepError | None, *, peer: str) -> None:
        """Keep a call that is over, if it is an administrator's; again is harmless. That it fails is only logged."""
        if call.is_kept or call.principal is None or not is_administrative(call.method):
            return
        call.is_kept = True
        values: dict[str, Any] = {
            "id": new_id(),
            "call_id": call.call_id,
            "method": call.method.removeprefix("/"),
            "scope": call.scope,
            "status": error.code.name if error else "OK",
            "reason": error.reason if error else "",
            "subject": call.principal.subject,
            "user_id": call.principal.user_id,
            "agent_id": call.principal.agent_id,
            "peer": peer,
            "ids": Jsonb(audit.ids_of(call)),
        }
        under_way = current_call.set(None)  # whose deadline may have passed
        try:
            async with asyncio.timeout(_WRITTEN_S):
                await self._database.of(call.principal).query(_KEEP, values)
        except (ContextKeepError, TimeoutError) as failure:
            _log.warning("call not kept", extra={"call_id": call.call_id, "error": str(failure)})
        finally:
            current_call.reset(under_way)

    async def page(
        self, page: PageRequest, *, call_id: str, principal: Principal
    ) -> tuple[list[AdministrativeCall], str]:
        """Return a page of a tenant's, the newest first, and the token of the next one.

        Args:
            page: Which.
            call_id: Only this one. Empty: all.
            principal: Whose tenant, within whose bounds.

        Raises:
            InvalidArgument, InvalidPageToken: see the contract.
        """
        check_text("call_id", call_id, chars_max=_CALL_ID_CHARS_MAX)
        query = ("ListAdministrativeCalls", principal.tenant_id, call_id)
        before_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        parameters = {
            "tenant_id": principal.tenant_id,
            "call_id": call_id,
            "before_id": before_id or _LAST_ID,
            "count": count + 1,
        }
        rows = await self._database.of(principal).query(_FIND if call_id else _LIST, parameters)
        token = pages.encode_token(query, (rows[count - 1].id,)) if len(rows) > count else ""
        return [_call(row) for row in rows[:count]], token


def _call(row: Any) -> AdministrativeCall:
    named = row._asdict()
    del named["id"]
    return AdministrativeCall(**named)
