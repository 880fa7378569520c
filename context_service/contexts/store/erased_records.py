"""Removes the records of a deleted context: those that were uploaded for it, with their files.

A record was uploaded for a context if it has its `context_id`; or if a message or an artifact of the context names it,
it has the same owner, and it belongs to no node of the graph. It stays as long as anything else refers to it: a message
or an artifact of another context, or a document of a knowledge base. Records of a user who is being erased are left to
that erasure, which waits until their bytes are gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from uuid import UUID

from service_runtime.postgres import Across, Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile

Purge = Callable[[Transaction, Sequence[UUID]], Awaitable[object]]

FIRST = UUID(int=0)
_STEP_RECORDS = 100
_ALL = Across(
    sql="",
    contexts=True,
    subjects=True,
    why="background work: it removes the records of a deleted context, of any owner",
)
SQL = SqlFile.of(__file__)
_LOCK = SQL["lock"]
_UNREFERRED = SQL["unreferred"]
_FORGET = SQL["forget"]
_FIND = Across(
    sql=SQL["find"],
    contexts=True,
    subjects=True,
    why=_ALL.why,
)


async def remove_records(
    tenant: Tenant, context_id: UUID, *, purge: Purge, after: UUID = FIRST, until: float | None = None
) -> UUID | None:
    """Remove the records of a context that is marked as deleted.

    Args:
        tenant: The tenant; statements may be `Across` users.
        context_id: The id of the deleted context.
        purge: Removes records with their vectors and passages, and releases their files.
        after: The result of the previous call; the first call takes the default.
        until: Stop after this time of the monotonic clock, but remove some records before.

    Returns:
        None if all are removed, else the value of `after` for the next call.
    """
    parameters = {"context_id": context_id}
    while records := await tenant.query(_FIND, {**parameters, "after": after, "count": _STEP_RECORDS}):
        ids = [row.id for row in records]
        began = time.monotonic()
        await tenant.transaction(partial(_remove, context_id, ids, purge), across=_ALL)
        after = ids[-1]
        if until is not None and time.monotonic() >= until:
            return after
        await asyncio.sleep(time.monotonic() - began)  # leaves half of the time to calls
    return None


async def _remove(context_id: UUID, ids: Sequence[UUID], purge: Purge, transaction: Transaction) -> None:
    """Lock some records of a deleted context, and remove those that no other object refers to."""
    parameters = {"context_id": context_id}
    locked = [row.id for row in await transaction.query(_LOCK, {**parameters, "ids": list(ids)})]
    if not locked:
        return
    unreferred = [row.id for row in await transaction.query(_UNREFERRED, {**parameters, "ids": locked})]
    if unreferred:
        await transaction.query(_FORGET, {**parameters, "ids": unreferred})
        await purge(transaction, unreferred)
