"""The calls of administrators as rows: changes and refused changes of settings of a tenant, with their callers.

Both services write the row of a call before they answer it. If the row cannot be written, the call is still answered,
because its change is committed; the line in the audit log records it.

A refused call changes nothing, and any key can make thousands of them. So refusals of the same kind (the same caller,
method and reason) share a row: the first one in a minute is written, and after that minute the number of the others is
added to its row. Nothing else about the others is stored, so an erasure of their user only has to change that row.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import grpc
from psycopg.types.json import Jsonb

from contextkeep.errors import ContextKeepError
from service_runtime.auth import audit
from service_runtime.background_work import background
from service_runtime.inputs import pages
from service_runtime.inputs.pages import PageRequest
from service_runtime.postgres import Database
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.methods import method_of
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import check_text
from service_runtime.values.ids import new_id

_log = logging.getLogger("audit_trail")

_WRITTEN_S = 2.0  # longest time that a caller waits for the row
_CALL_ID_CHARS_MAX = 64
MINUTE_S = 60.0  # equal refusals within it are counted together
_TOLD_S = 5.0  # seconds between two checks for minutes that are over
METHODS_MAX = 20  # methods of one caller that are counted apart in a minute; all further ones are counted together
KINDS_MAX = 10_000  # kinds of refusals, of all callers; refusals of further kinds are in the metrics only

# Errors that prove that the call changed nothing. A call with another error may have changed something, so its row is
# always written.
_REFUSED = frozenset(
    {
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)

SQL = SqlFile.of(__file__)
_KEEP = SQL["keep"]
_COUNT = SQL["count"]
_LIST = SQL["list"]
_FIND = SQL["find"]


_LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdministrativeCall:
    """A row of the audit trail: one call, or several refused calls of the same kind."""

    call_id: str
    called_at: datetime
    method: str
    scope: str
    status: str
    reason: str  # reason of the error; empty if the call did not fail
    subject: str
    user_id: str
    agent_id: str
    peer: str
    ids: dict[str, list[str]]
    count: int  # number of refused calls of the same kind; 1 for any other call


class _Kind(NamedTuple):
    """A kind of refused calls: the calls with the same caller, method and reason."""

    tenant_id: object
    bounds: str
    subject: str
    method: str  # empty if it is one of more than `METHODS_MAX` methods
    reason: str


@dataclass(slots=True)
class _Minute:
    """The number of refused calls of one kind after the first one, which has a row."""

    ends_at: float  # on the monotonic clock
    principal: Principal  # the principal of the first call
    first_id: UUID
    count: int = 0


class AuditTrail:
    """Writes and lists the rows of administrators' calls, of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refused: dict[_Kind, _Minute] = {}
        self._methods: dict[_Kind, int] = {}  # number of methods of each caller in this minute

    @asynccontextmanager
    async def telling(self) -> AsyncIterator[None]:
        """Add the counts of refused calls to their rows during the block, after each minute, and at the block's end."""
        async with background.keeping(self._keep_telling):
            yield
        await self.tell(now=math.inf)

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(_TOLD_S)
            await self.tell(now=time.monotonic())

    async def tell(self, *, now: float) -> None:
        """For each kind of refused call whose minute is over, add the number of later calls to the row of the first."""
        over = [kind for kind, minute in self._refused.items() if minute.ends_at <= now]
        for kind in over:
            minute = self._refused.pop(kind)
            self._forget(kind)
            if minute.count:
                await self._add(minute)

    def _forget(self, kind: _Kind) -> None:
        """Subtract a kind that is over from the number of its caller's methods."""
        caller = _caller(kind)
        self._methods[caller] = self._methods.get(caller, 1) - 1
        if self._methods[caller] <= 0:
            del self._methods[caller]

    def _count_refused(self, principal: Principal, method: str, reason: str, row_id: UUID) -> bool:
        """Count a refused call, and return whether that is all: False if its row must be written, with the id `row_id`.

        False is returned for the first call of a kind in a minute.
        """
        kind = _Kind(principal.tenant_id, principal.bounds, principal.subject, method, reason)
        caller = _caller(kind)
        if kind not in self._refused and self._methods.get(caller, 0) >= METHODS_MAX:
            kind = kind._replace(method="")
        minute = self._refused.get(kind)
        if minute is None:
            if len(self._refused) >= KINDS_MAX:
                return True
            self._refused[kind] = _Minute(time.monotonic() + MINUTE_S, principal, row_id)
            self._methods[caller] = self._methods.get(caller, 0) + 1
            return False
        minute.count += 1
        return True

    async def keep(self, call: Call, error: ContextKeepError | None, *, peer: str) -> None:
        """Write the row of a call that has ended, if an administrator made it. A repeat does nothing.

        A failure to write the row is only logged. Of refused calls of the same kind, only the first one in a minute is
        written; `telling` adds the number of the others.
        """
        if call.is_kept or call.principal is None or not method_of(call.method).is_administrative:
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
            "count": 1,
        }
        if (
            error is not None
            and error.code in _REFUSED
            and self._count_refused(call.principal, values["method"], error.reason, values["id"])
        ):
            return
        try:
            await self._write(call.principal, _KEEP, {**values, "ids": Jsonb(audit.ids_of(call))})
        except (ContextKeepError, TimeoutError) as failure:
            _log.warning("call not added to the audit trail", extra={"call_id": call.call_id, "error": str(failure)})

    async def _add(self, minute: _Minute) -> None:
        """Add the number of a minute's later calls to the row of the first one; a failure is only logged."""
        adding = {"first_id": minute.first_id, "count": minute.count}
        try:
            ((is_counted,),) = await self._write(minute.principal, _COUNT, adding)
            failure = "" if is_counted else "the first of them has no row"
        except (ContextKeepError, TimeoutError) as error:
            failure = str(error)
        if failure:
            _log.warning("refused calls not added to the audit trail", extra={"count": minute.count, "error": failure})

    async def _write(self, principal: Principal, statement: LiteralString, parameters: dict[str, Any]) -> list[Any]:
        """Write to the audit trail, even if the deadline of the current call has passed."""
        # A statement ends at the deadline of the current call, which may have passed. So it runs outside of the call.
        under_way = current_call.set(None)
        try:
            async with asyncio.timeout(_WRITTEN_S):
                return await self._database.of(principal).query(statement, parameters)
        finally:
            current_call.reset(under_way)

    async def page(
        self, page: PageRequest, *, call_id: str, principal: Principal
    ) -> tuple[list[AdministrativeCall], str]:
        """Return a page of a tenant's administrative calls, newest first, and the token of the next page.

        Args:
            page: Size and token of the page.
            call_id: Return only the call with this id. Empty returns all calls.
            principal: The caller; its tenant and bounds limit the rows.

        Raises:
            InvalidArgument: the call id is malformed, or the page size is negative.
            LimitExceeded: the call id is too long.
            InvalidPageToken: the token is malformed or belongs to another list.
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
        rows, token = pages.cut(query, rows, count, key=lambda row: (row.id,))
        return [_call(row) for row in rows], token


def _caller(kind: _Kind) -> _Kind:
    """Return the caller of a kind of refused calls, as a kind without method and reason."""
    return kind._replace(method="", reason="")


def _call(row: Any) -> AdministrativeCall:
    named = row._asdict()
    del named["id"]
    return AdministrativeCall(**named)
