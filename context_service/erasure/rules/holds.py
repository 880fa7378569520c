"""Legal holds: they forbid to erase a subject or a context, with a reason.

Deletes look for holds with a function of the tables' owner (`context.holds_of`), so a hold also stops callers that
do not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.erasure.store.holds import AGAINST, COUNT, COUNTING, DELETE, IS_THERE, LIST, PUT
from contextkeep.errors import ContextNotFound, HoldNotFound, InvalidArgument, LimitExceeded, PermissionDenied
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import USER_ID_CHARS_MAX, Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text
from service_runtime.values.ids import new_id

HOLDS_MAX = 1_000  # limit for each tenant
REASON_CHARS_MAX = 1_000
_LAST_ID = UUID(int=2**128 - 1)
_SHOWN = 100  # holds that an error or a plan names


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A hold: the subject or context that must not be erased, and why."""

    hold_id: UUID
    subject: str  # empty for a hold of a context
    context_id: UUID | None
    reason: str
    created_at: datetime
    created_by: str


class Holds:
    """Creates, releases and lists legal holds; each call acts for a principal without bounds.

    Args:
        database: The database that holds the legal holds.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
    """

    def __init__(self, database: Database, *, requests: Requests) -> None:
        self._database = database
        self._requests = requests

    async def put(
        self, *, subject: str, context_id: UUID | None, reason: str, principal: Principal, request: Request | None
    ) -> Hold:
        """Forbid the erasure of a subject or a context.

        Raises:
            InvalidArgument: neither or both are named, or the reason is empty.
            ContextNotFound: there is no such context.
            LimitExceeded: the tenant has too many holds.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal)
        if bool(subject) == bool(context_id):
            raise InvalidArgument("set either subject or context_id", field="subject")
        check_text("subject", subject, chars_max=USER_ID_CHARS_MAX)
        check_text("reason", reason, chars_max=REASON_CHARS_MAX, required=True)
        tenant = self._database.of(principal)
        if context_id and not await tenant.query(IS_THERE, (tenant.tenant_id, context_id)):
            raise ContextNotFound(f"context {context_id} does not exist", context_id=context_id)
        parameters = {
            "hold_id": new_id(),
            "subject": subject,
            "context_id": context_id,
            "reason": reason,
            "by": principal.subject,
        }

        async def work(transaction: Transaction) -> Hold:
            """Lock the tenant's holds, check that there is room for another, and insert the hold."""
            await transaction.query(COUNTING, (transaction.tenant_id,))
            (counted,) = await transaction.query(COUNT, (transaction.tenant_id,))
            if counted.holds >= HOLDS_MAX:
                raise LimitExceeded(
                    f"a tenant may have up to {HOLDS_MAX} holds; release some",
                    limit="holds",
                    limit_max=HOLDS_MAX,
                    value=counted.holds + 1,
                )
            (row,) = await transaction.query(PUT, parameters)
            return _hold(row)

        return await tenant.transaction(self._requests.once(request, work))

    async def release(self, hold_id: UUID, *, principal: Principal, request: Request | None) -> None:
        """Remove a hold.

        Raises:
            HoldNotFound: there is no such hold.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal)

        async def work(transaction: Transaction) -> None:
            if not await transaction.query(DELETE, (transaction.tenant_id, hold_id)):
                raise HoldNotFound(f"hold {hold_id} does not exist", hold_id=hold_id)

        await self._database.of(principal).transaction(self._requests.once(request, work))

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[Hold], str]:
        """Return a page of holds, the newest first, and the token of the next one.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
            PermissionDenied: the key is bound, for example to an app or a graph.
        """
        check_unbound(principal)
        query = ("ListHolds", principal.tenant_id)
        before_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        tenant = self._database.of(principal)
        parameters = {"before_id": before_id or _LAST_ID, "count": count + 1}
        rows = await tenant.query(LIST, parameters)
        return pages.cut(query, [_hold(row) for row in rows], count, key=lambda hold: (hold.hold_id,))


async def against(tenant: Tenant, subject: str) -> Sequence[Hold]:
    """Return the holds that forbid to erase a subject, 100 at most."""
    rows = await tenant.query(AGAINST, {"subject": subject, "count": _SHOWN})
    return [_hold(row) for row in rows]


def check_unbound(principal: Principal) -> None:
    """Refuse a key with bounds.

    Raises:
        PermissionDenied: the key has bounds.
    """
    if principal.bounds:
        raise PermissionDenied(
            "an erasure or a hold is for the whole tenant; use a key without an app, agent bundle or user"
        )


def _hold(row: Row) -> Hold:
    return Hold(**row._asdict())
