"""Erases contexts that were deleted, have expired, or belong to a user who is erased.

It happens in two parts. One statement marks the header, which every other statement checks: from then on no caller sees
the context, its keys have ended, its unique external id is free, and `context.erasure` has a receipt. After that its
rows are removed in steps: each step is one statement that removes a bounded number and counts it on the receipt, which
it locks meanwhile. So a kill loses nothing, and replicas take turns or leave contexts to each other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import psycopg

from context_service.contexts.store import erased_records
from context_service.contexts.store.erased_records import Purge, remove_records
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.retrieval.model import OF_USERS, PassageScope
from context_service.retrieval.room import Passages
from contextkeep.errors import ContextNotFound, ErasureNotFound, LegalHold
from service_runtime.auth.derived_keys import end_context_keys_elsewhere
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.long_work import Pause
from service_runtime.postgres import Across, Database, Row, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import ERASED, Request, Requests, answer_parameters
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.ids import new_id

_log = logging.getLogger("erasing")

KEPT = timedelta(days=365)  # how long a receipt is kept after the erasure

STEP_ROWS = 1_000
STEP_BYTES = 16 * 2**20  # size of the messages that a step removes; a single message may be larger
STEP_S = 1.0  # the time for the contexts of one tenant before those of the next tenant
_DUE_MAX = 100  # the most contexts that one statement marks or reads
_POLL_S = 0.2

# Every table with rows that users own. Rows of a context are removed with it; rows that may have no context, such as
# memories, are removed by owner after that. Receipts are the last, because they name the remaining work.
OF_SUBJECTS = (
    "context.source_test",
    "context.memory",
    "context.memory_revision",
    "context.memory_refusal",
    "context.memory_user",
    "context.wiki_page",
    "context.wiki_page_name",
    "context.wiki_citation",
    "context.wiki_page_version",
    "context.message",
    "context.message_record",
    "context.passage",
    "context.passage_vector",
    "context.passage_session",
    "context.passage_scope",
    "context.context_external_id",
    "context.artifact",
    "context.task",
    "context.context_window",
    "context.window_block",
    "context.window_summary",
    "context.window_entry",
    "context.window_fold",
    "context.window_usage",
    "context.window_checkpoint",
    "context.window_fork",
    "context.context",
    "context.erasure",
)

SQL = SqlFile.of(__file__, erased=ERASED, log=LOG_SQL)
BLANK_ANSWER = SQL["blank_answer"]


_BEGIN = Across(
    sql=SQL["begin"],
    contexts=True,
    administrators=True,
    why="the caller names a context; contexts that were forked from it are deleted with it",
)
_HELD = Across(
    sql=SQL["held"],
    contexts=True,
    administrators=True,
    why="the caller names a context; a principal that does not see it learns of no hold",
)
_READ_OF = Across(
    sql=SQL["read_of"],
    administrators=True,
    why="an administrator deletes any context of the tenant",
)
_READ = Across(
    sql=SQL["read"],
    contexts=True,
    administrators=True,
    why="a receipt names its context; receipts of other owners stay hidden",
)

_WHY = "background work: it removes contexts that are due, of any owner, and returns nothing of them"


def _of_all(sql: str) -> Across:
    return Across(sql=sql, contexts=True, subjects=True, why=_WHY)


_MARK_EXPIRED = _of_all(SQL["mark_expired"])
_MARK_OWNED = _of_all(SQL["mark_owned"])
_MARK_BELOW = _of_all(SQL["mark_below"])
_FIND_BELOW = _of_all(SQL["find_below"])
_UNFINISHED = _of_all(SQL["unfinished"])
_REMOVE_MESSAGES = _of_all(SQL["remove_messages"])


def _removing(sql: str) -> Across:
    return _of_all(sql)


_REMOVE_ARTIFACTS = _removing(SQL["remove_artifacts"])
_REMOVE_TASKS = _removing(SQL["remove_tasks"])
_REMOVE_WINDOWS = _of_all(SQL["remove_windows"])
_REMOVE_BLOCKS = _removing(SQL["remove_blocks"])
_REMOVE_SUMMARIES = _removing(SQL["remove_summaries"])
_REMOVE_ENTRIES = _removing(SQL["remove_entries"])
_REMOVE_FOLDS = _removing(SQL["remove_folds"])
_REMOVE_USAGE = _removing(SQL["remove_usage"])
_REMOVE_CHECKPOINTS = _removing(SQL["remove_checkpoints"])
_REMOVE_FORKS = _removing(SQL["remove_forks"])
_REMOVE_ANSWERS = _removing(SQL["remove_answers"])
_STEPS = (
    _REMOVE_MESSAGES,
    _REMOVE_ARTIFACTS,
    _REMOVE_TASKS,
    _REMOVE_WINDOWS,
    _REMOVE_BLOCKS,
    _REMOVE_SUMMARIES,
    _REMOVE_ENTRIES,
    _REMOVE_FOLDS,
    _REMOVE_USAGE,
    _REMOVE_CHECKPOINTS,
    _REMOVE_FORKS,
    _REMOVE_ANSWERS,
)
_COUNT_PASSAGES = _of_all(SQL["count_passages"])
_COUNT_KEYS = _of_all(SQL["count_keys"])
_FINISH = _of_all(SQL["finish"])
_FORGET_RECEIPTS = _of_all(SQL["forget_receipts"])

_REMOVE_ANSWERS_ABOUT = _of_all(SQL["remove_answers_about"])

_COUNT_UNFINISHED = _of_all(SQL["count_unfinished"])
_COUNT_OWNED = {table: _of_all(SQL.filled("count_owned", table=table)) for table in OF_SUBJECTS}
_UNLIST = Across(
    sql=SQL["unlist"],
    contexts=True,
    subjects=True,
    why=_WHY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of a deleted context: the counts of its removed data."""

    erasure_id: UUID
    context_id: UUID
    created_at: datetime  # since then no caller sees the context
    finished_at: datetime | None  # None while data is left
    message_count: int
    messages_removed: int
    passages_removed: int
    vectors_removed: int
    external_ids_removed: int
    answers_removed: int  # stored answers for retries
    keys_ended: int
    tasks_removed: int
    artifacts_removed: int  # versions
    windows_removed: int
    window_steps_removed: int  # rows of the windows' steps
    requested_by: str  # the subject that deleted it; empty if it had expired


class Erasing:
    """Deletes contexts for callers, and reads receipts.

    Args:
        database: The database that holds the contexts and receipts.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        eraser: Removes the data of deleted contexts; told to begin at once if the call asks for it.
    """

    def __init__(self, database: Database, *, requests: Requests, eraser: Eraser) -> None:
        self._database = database
        self._requests = requests
        self._eraser = eraser

    async def delete(self, context_id: UUID, *, principal: Principal, now: bool, request: Request | None) -> Erasure:
        """Delete a context, and return its receipt; idempotent.

        Args:
            context_id: The context, which may have expired.
            principal: The caller; its tenant and bounds limit the rows.
            now: Begin to remove its rows at once, not with the next pass.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            ContextNotFound: the caller sees no such context and no receipt of its deletion.
            LegalHold: a legal hold forbids the erasure.
            RequestIdReused: the request id was used before, for another request.
        """
        tenant = self._database.of(principal, context_id=context_id)
        if request:
            await self._requests.answered(tenant, request)
        parameters = {
            "context_id": context_id,
            "erasure_id": new_id(),
            "requested_by": principal.subject,
            **answer_parameters(request, tenant.bounds),
            "subject": f"={principal.user_id}",
        }
        try:
            rows = await tenant.query(_BEGIN, parameters)
        except psycopg.errors.UniqueViolation:  # the request id was used meanwhile: for the same call, or it is refused
            if request:
                await self._requests.answered(tenant, request)
            rows = []
        if not rows:  # it was deleted before
            rows = await tenant.query(_READ_OF, (tenant.tenant_id, context_id))
        if not rows:
            holds = await tenant.query(_HELD, parameters)
            if holds:
                raise on_hold([row.hold_id for row in holds])
            raise ContextNotFound(f"context {context_id} does not exist", context_id=context_id)
        if now:
            self._eraser.wake(tenant)
        return _erasure(rows[0])

    async def receipt(self, erasure_id: UUID, *, principal: Principal) -> Erasure:
        """Return the current state of a receipt.

        Raises:
            ErasureNotFound: the principal sees no such receipt.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(_READ, (tenant.tenant_id, erasure_id))
        if not rows:
            raise ErasureNotFound(f"erasure {erasure_id} does not exist", erasure_id=erasure_id)
        return _erasure(rows[0])


class _StepOver(Exception):
    """The time of a step is over; the next step of the tenant continues.

    Args:
        finished: Contexts that were finished before.
    """

    def __init__(self, finished: int = 0) -> None:
        super().__init__(finished)
        self.finished = finished


class Eraser:
    """Removes the data of deleted contexts; any number of replicas may run it at once.

    Args:
        database: The database that holds the contexts and receipts.
        passages: The search index of the contexts.
        purge: Removes the records that were uploaded for them.
    """

    def __init__(self, database: Database, passages: Passages, *, purge: Purge) -> None:
        self._database = database
        self._passages = passages
        self._purge = purge
        self._woken: set[UUID] = set()
        self._wake = asyncio.Event()
        self._rounds = Rounds(database, self.erase_some)
        self._after: dict[UUID, UUID] = {}  # by tenant: the context after which its next step begins
        # By context that needs several steps: the last removed record, or None if all its records are removed.
        self._records: dict[UUID, UUID | None] = {}

    def wake(self, tenant: Tenant) -> None:
        """Make `keep_erasing` erase contexts of a tenant at once."""
        self._woken.add(tenant.tenant_id)
        self._wake.set()

    async def keep_erasing(self, interval_s: float, *, failed: Callable[[], object]) -> None:
        """Erase due contexts until cancelled, at random intervals, so that replicas drift apart.

        Args:
            interval_s: Seconds between two passes, on average.
            failed: Called, without arguments, for each pass that fails.
        """
        loop = asyncio.get_running_loop()
        pass_at = loop.time() + background.apart(interval_s, 0.5, 1.0)
        while True:
            work = self._erase_woken
            try:
                async with asyncio.timeout_at(pass_at):
                    await self._wake.wait()
            except TimeoutError:
                work = self.erase_due
                pass_at = loop.time() + background.apart(interval_s, 0.5, 1.0)
            await background.attempted(work, "erasing", otherwise=0, failed=failed)

    async def _erase_woken(self) -> int:
        return await self._rounds.run(self._take_woken)

    async def _take_woken(self) -> list[Tenant]:
        woken, self._woken = self._woken, set()
        self._wake.clear()
        return [self._database.tenant(tenant_id) for tenant_id in sorted(woken)]

    async def erase_due(self) -> int:
        """Do one pass over all tenants, and return how many contexts were finished.

        Raises:
            Unavailable: Postgres does not answer.
        """
        finished = await self._rounds.run()
        if finished:
            _log.info("erased", extra={"contexts": finished})
        return finished

    async def erase_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Erase contexts of a tenant for `STEP_S`; return how many were finished, and whether there may be more."""
        until = time.monotonic() + STEP_S
        after, finished, are_marked = self._after.pop(tenant.tenant_id, None), 0, False
        if after is None:
            after = UUID(int=0)
            expired = {"count": _DUE_MAX, "requested_by": ""}
            are_marked = bool(await tenant.query(_MARK_EXPIRED, expired))
        due = await tenant.query(_UNFINISHED, {"after": after, "count": _DUE_MAX})
        for row in due:
            self._after[tenant.tenant_id] = after
            try:
                finished += await self._erase(tenant, row.context_id, until=until)
            except _StepOver as over:
                finished += over.finished
                break
            self._after[tenant.tenant_id] = after = row.context_id  # skips contexts that another replica is erasing
            if time.monotonic() >= until:
                break
        if not due and not are_marked:
            await tenant.query(_FORGET_RECEIPTS, (tenant.tenant_id, KEPT))
        return finished, bool(due) or are_marked

    async def erase_tenant(self, tenant: Tenant, *, on_finished: Callable[[], None] | None = None) -> int:
        """Remove the data of all deleted contexts of a tenant, and return how many were finished.

        Args:
            tenant: The tenant whose contexts are removed.
            on_finished: Called after each removed context, to show progress.
        """
        finished, after = 0, UUID(int=0)
        while due := await tenant.query(_UNFINISHED, {"after": after, "count": _DUE_MAX}):
            for row in due:
                for _ in range(await self._erase(tenant, row.context_id)):
                    finished += 1
                    if on_finished:
                        on_finished()
            after = due[-1].context_id  # skips contexts that another replica is erasing
        return finished

    async def erase_scopes_of(self, tenant: Tenant, user_id: str, *, pause: Pause) -> None:
        """Remove the passages of a user's scopes, after the rows that they were made of.

        Args:
            tenant: The tenant of the user.
            user_id: The user whose passages are removed.
            pause: Awaited between bounded steps, so that other work of the process gets a turn.
        """
        for kind in OF_USERS:
            scope = PassageScope.of_user(kind, tenant.tenant_id, user_id)
            while not (await self._passages.drop_scope(tenant.tenant_id, scope, until=time.monotonic())).is_all:
                await pause()
            while await tenant.query(_REMOVE_ANSWERS_ABOUT, (tenant.tenant_id, scope.id, STEP_ROWS)):
                await pause()

    async def _erase(self, tenant: Tenant, context_id: UUID, *, until: float | None = None) -> int:
        """Remove the data of the contexts below a context, then its own, and return how many were finished.

        Raises:
            _StepOver: it is later than `until`, and data is left.
        """
        parameters = {"context_id": context_id}
        while await tenant.query(_MARK_BELOW, {**parameters, "requested_by": ""}):
            pass
        below = await tenant.query(_FIND_BELOW, parameters)
        for finished, erased_id in enumerate([*(row.context_id for row in below), context_id]):
            try:
                if not await self._erase_alone(tenant, erased_id, until):
                    return finished
            except _StepOver:
                raise _StepOver(finished) from None
        return len(below) + 1

    async def _erase_alone(self, tenant: Tenant, context_id: UUID, until: float | None) -> bool:
        """Remove the data of a context; False if another replica is removing it, or has finished."""
        parameters = {"context_id": context_id}
        if ended := await end_context_keys_elsewhere(tenant, context_id):
            await tenant.query(_COUNT_KEYS, {**parameters, "ended": ended})
        dropped = await self._passages.drop_scope(tenant.tenant_id, PassageScope.of_context(context_id), until=until)
        if dropped.passages or dropped.vectors:
            await tenant.query(_COUNT_PASSAGES, {**parameters, **dropped._asdict()})
        if not dropped.is_all:
            raise _StepOver
        after = self._records.pop(context_id, erased_records.FIRST)
        if after is not None:  # before the messages that name them
            after = await remove_records(tenant, context_id, purge=self._purge, after=after, until=until)
            if after is not None:
                self._records[context_id] = after
                raise _StepOver
        for statement in _STEPS:
            while True:
                began = time.monotonic()
                rows = await tenant.query(statement, {**parameters, "rows": STEP_ROWS, "bytes": STEP_BYTES})
                if not rows:
                    return False
                if not rows[0].found:
                    break
                if until is not None and time.monotonic() >= until:
                    self._records[context_id] = None
                    raise _StepOver
                # Leaves half of the time to calls.
                await asyncio.sleep(time.monotonic() - began)
        return bool(await tenant.query(_FINISH, parameters))


async def count_owned_rows(tenant: Tenant, user_id: str) -> dict[str, int]:
    """Count the rows of each table that a user owns."""
    parameters = {"user_id": user_id}
    return {table: (await tenant.query(statement, parameters))[0].owned for table, statement in _COUNT_OWNED.items()}


async def erase_contexts_of(tenant: Tenant, user_id: str, *, eraser: Eraser, requested_by: str, pause: Pause) -> None:
    """Remove all contexts of a user, except those under a hold. Receipts stay.

    Args:
        tenant: The tenant of the user.
        user_id: Must not be empty, which would mean all contexts without an owner.
        eraser: Removes the data of each context.
        requested_by: The subject that the receipts name as the requester.
        pause: Awaited between bounded steps, so that other work of the process gets a turn.
    """
    parameters = {"user_id": user_id}
    while await tenant.query(_MARK_OWNED, {**parameters, "count": _DUE_MAX, "requested_by": requested_by}):
        await pause()
    while (await tenant.query(_COUNT_UNFINISHED, parameters))[0].unfinished:
        _, more = await eraser.erase_some(tenant)
        if not more:
            await asyncio.sleep(_POLL_S)  # another replica is removing the rest
        await pause()


async def remove_from_agents(tenant: Tenant, user_id: str) -> int:
    """Remove a user from the caller lists of agents, and return how many agents listed the user."""
    (row,) = await tenant.query(_UNLIST, {"user_id": user_id})
    unlisted: int = row.unlisted
    return unlisted


def on_hold(hold_ids: Sequence[UUID]) -> LegalHold:
    """Return the error that names the holds that forbid an erasure."""
    return LegalHold("a legal hold forbids the erasure; release it first", hold_ids=",".join(map(str, hold_ids)))


def _erasure(row: Row) -> Erasure:
    return Erasure(**{name: getattr(row, name) for name in Erasure.__slots__})
