"""Erasing: contexts that are deleted, that are past their time, or whose user is to be forgotten.

A context goes in two parts. One statement marks its header, which every other statement looks at: from then on it is
there for nobody, its keys are ended, its one external id is free, and a receipt stands in `context.erasure`. Behind
that its rows go in steps: each is one statement that removes a bounded number and notes it on the receipt, which it
locks for as long. So a kill loses nothing, and replicas that remove at once take turns, or leave it to each other.
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
from context_service.retrieval.model import OF_USERS, Scope
from context_service.retrieval.store.passages import Passages
from contextkeep.errors import ContextNotFound, ErasureNotFound, LegalHold
from service_runtime import background
from service_runtime.auth import Principal
from service_runtime.given_keys import end_context_keys_elsewhere
from service_runtime.ids import new_id
from service_runtime.long_work import Pause
from service_runtime.postgres import Across, Database, Row, Tenant
from service_runtime.requests import ERASED, Request, Requests, answer_parameters
from service_runtime.sql_files import SqlFile
from service_runtime.tenants import Rounds

_log = logging.getLogger("erasing")

KEPT = timedelta(days=365)  # a receipt, once all is removed

STEP_ROWS = 1_000
STEP_BYTES = 16 * 2**20  # of messages; one goes, however large it is
STEP_S = 1.0  # that contexts of a tenant are erased before it is the next tenant's turn
_DUE_MAX = 100  # contexts that are marked, or looked for, at once
_LOOK_AGAIN_S = 0.2

# Every table with what is a user's. What is a context's goes with it; what may belong to none, such as memories, is
# removed by its owner behind that. Receipts are the last: they say what is still to be done.
OF_SUBJECTS = (
    "context.source_test",
    "context.memory",
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
    why="a context that is named takes those with it that were forked from it",
)
_HELD = Across(
    sql=SQL["held"],
    contexts=True,
    administrators=True,
    why="a context that is named; a principal that may not see it is told of no hold",
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
    why="a receipt knows which context it is of; those of others are not seen",
)

_WHY = "nobody called for it: what is due is removed, whose it is or was, and nothing of it comes back"


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
    """The receipt of a context that is gone: what is removed of it so far."""

    erasure_id: UUID
    context_id: UUID
    created_at: datetime  # since then it is there for nobody
    finished_at: datetime | None  # None: there is something left of it
    message_count: int
    messages_removed: int
    passages_removed: int
    vectors_removed: int
    external_ids_removed: int
    answers_removed: int  # of repeated calls
    keys_ended: int
    tasks_removed: int
    artifacts_removed: int  # versions
    windows_removed: int
    window_steps_removed: int  # what they were packed of
    requested_by: str  # the subject of who deleted it; empty: it was past its time


class Erasing:
    """Deletes contexts for callers, and shows them their receipts.

    Args:
        database: Where contexts are.
        requests: The request ids of this service.
        eraser: Removes what is left of them.
    """

    def __init__(self, database: Database, *, requests: Requests, eraser: Eraser) -> None:
        self._database = database
        self._requests = requests
        self._eraser = eraser

    async def delete(self, context_id: UUID, *, principal: Principal, now: bool, request: Request | None) -> Erasure:
        """Let a context be gone, and return its receipt: the same, however often.

        Args:
            context_id: Which; one past its time, too.
            principal: Who deletes it.
            now: Begin to remove its rows at once, and not with the next pass.
            request: Makes it happen once.

        Raises:
            ContextNotFound: there is, and was, no such context for the principal.
            LegalHold: it may not be deleted now.
            RequestIdReused: see `Requests.claim`.
        """
        door = self._database.of(principal, context_id=context_id)
        if request:
            await self._requests.answered(door, request)
        parameters = {
            "context_id": context_id,
            "erasure_id": new_id(),
            "requested_by": principal.subject,
            **answer_parameters(request, door.bounds),
            "subject": f"={principal.user_id}",
        }
        try:
            rows = await door.query(_BEGIN, parameters)
        except psycopg.errors.UniqueViolation:  # the request id was used in between: for the same, or it is refused
            if request:
                await self._requests.answered(door, request)
            rows = []
        if not rows:  # it was deleted before
            rows = await door.query(_READ_OF, (door.tenant_id, context_id))
        if not rows:
            held = await door.query(_HELD, parameters)
            if held:
                raise on_hold([row.hold_id for row in held])
            raise ContextNotFound("there is no such context", context_id=context_id)
        if now:
            self._eraser.wake(door)
        return _erasure(rows[0])

    async def receipt(self, erasure_id: UUID, *, principal: Principal) -> Erasure:
        """Return a receipt as it is now.

        Raises:
            ErasureNotFound: there is none for the principal.
        """
        door = self._database.of(principal)
        rows = await door.query(_READ, (door.tenant_id, erasure_id))
        if not rows:
            raise ErasureNotFound("there is no such erasure", erasure_id=erasure_id)
        return _erasure(rows[0])


class _StepOver(Exception):
    """A step has taken its time; the next one of the tenant goes on."""


class Eraser:
    """Removes what is left of contexts that are gone; any number of replicas may do so at once.

    Args:
        database: Where contexts are.
        passages: Their index.
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
        # By context that is removed in more than one step: how far its records are, or None if they are gone.
        self._records: dict[UUID, UUID | None] = {}

    def wake(self, tenant: Tenant) -> None:
        """Let `keep_erasing` look after a tenant at once."""
        self._woken.add(tenant.tenant_id)
        self._wake.set()

    async def keep_erasing(self, interval_s: float, *, failed: Callable[[], object]) -> None:
        """Erase what is due until cancelled; replicas that start together drift apart.

        Args:
            interval_s: Between two passes.
            failed: Called for each that breaks off.
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
            except _StepOver:
                break
            self._after[tenant.tenant_id] = after = row.context_id  # one that another replica is at is left to it
            if time.monotonic() >= until:
                break
        if not due and not are_marked:
            await tenant.query(_FORGET_RECEIPTS, (tenant.tenant_id, KEPT))
        return finished, bool(due) or are_marked

    async def erase_tenant(self, tenant: Tenant, *, on_finished: Callable[[], None] | None = None) -> int:
        """Remove what is left of the contexts of a tenant that are gone, and return how many were finished.

        Args:
            tenant: Whose.
            on_finished: Is called after each.
        """
        finished, after = 0, UUID(int=0)
        while due := await tenant.query(_UNFINISHED, {"after": after, "count": _DUE_MAX}):
            for row in due:
                for _ in range(await self._erase(tenant, row.context_id)):
                    finished += 1
                    if on_finished:
                        on_finished()
            after = due[-1].context_id  # what another replica is at is left to it
        return finished

    async def erase_scopes_of(self, tenant: Tenant, user_id: str, *, pause: Pause) -> None:
        """Remove what is left of the scopes that a user has, when the rows are gone that they were made of.

        Args:
            tenant: Whose user.
            user_id: The user.
            pause: Is awaited between bounded steps.
        """
        for kind in OF_USERS:
            scope = Scope.of_user(kind, tenant.tenant_id, user_id)
            while not (await self._passages.drop_scope(tenant.tenant_id, scope, until=time.monotonic())).is_all:
                await pause()
            while await tenant.query(_REMOVE_ANSWERS_ABOUT, (tenant.tenant_id, scope.id, STEP_ROWS)):
                await pause()

    async def _erase(self, tenant: Tenant, context_id: UUID, *, until: float | None = None) -> int:
        """Remove what is left of a context, and before of those below it, and return how many were finished.

        Raises:
            _StepOver: it is later than `until`, and something is left.
        """
        named = {"context_id": context_id}
        while await tenant.query(_MARK_BELOW, {**named, "requested_by": ""}):
            pass
        found = await tenant.query(_FIND_BELOW, named)
        for finished, one in enumerate([*(row.context_id for row in found), context_id]):
            if not await self._erase_alone(tenant, one, until):
                return finished
        return len(found) + 1

    async def _erase_alone(self, tenant: Tenant, context_id: UUID, until: float | None) -> bool:
        """Remove what is left of a context; False: another replica is at it, or has finished it."""
        named = {"context_id": context_id}
        if ended := await end_context_keys_elsewhere(tenant, context_id):
            await tenant.query(_COUNT_KEYS, {**named, "ended": ended})
        dropped = await self._passages.drop_scope(tenant.tenant_id, Scope.of_context(context_id), until=until)
        if dropped.passages or dropped.vectors:
            await tenant.query(_COUNT_PASSAGES, {**named, **dropped._asdict()})
        if not dropped.is_all:
            raise _StepOver
        after = self._records.pop(context_id, erased_records.FIRST)
        if after is not None:  # before the messages go that name them
            after = await remove_records(tenant, context_id, purge=self._purge, after=after, until=until)
            if after is not None:
                self._records[context_id] = after
                raise _StepOver
        for statement in _STEPS:
            while True:
                began = time.monotonic()
                rows = await tenant.query(statement, {**named, "rows": STEP_ROWS, "bytes": STEP_BYTES})
                if not rows:
                    return False
                if not rows[0].found:
                    break
                if until is not None and time.monotonic() >= until:
                    self._records[context_id] = None
                    raise _StepOver
                # As long again for those who wait for an answer.
                await asyncio.sleep(time.monotonic() - began)
        return bool(await tenant.query(_FINISH, named))


async def count_owned_rows(tenant: Tenant, user_id: str) -> dict[str, int]:
    """Return how many rows of each table are a user's."""
    named = {"user_id": user_id}
    return {table: (await tenant.query(statement, named))[0].owned for table, statement in _COUNT_OWNED.items()}


async def erase_contexts_of(tenant: Tenant, user_id: str, *, eraser: Eraser, requested_by: str, pause: Pause) -> None:
    """Remove all contexts of a user, but those that are held. Receipts stay.

    Args:
        tenant: Whose user.
        user_id: Not empty: what is nobody's is everybody's.
        eraser: Removes contexts.
        requested_by: Stands on the receipts.
        pause: Is awaited between bounded steps.
    """
    named = {"user_id": user_id}
    while await tenant.query(_MARK_OWNED, {**named, "count": _DUE_MAX, "requested_by": requested_by}):
        await pause()
    while (await tenant.query(_COUNT_UNFINISHED, named))[0].unfinished:
        _, more = await eraser.erase_some(tenant)
        if not more:
            await asyncio.sleep(_LOOK_AGAIN_S)  # of some, another replica removes the rest
        await pause()


async def remove_from_agents(tenant: Tenant, user_id: str) -> int:
    """Take a user from the lists of who may name an agent, and return how many agents listed him."""
    (row,) = await tenant.query(_UNLIST, {"user_id": user_id})
    unlisted: int = row.unlisted
    return unlisted


def on_hold(hold_ids: Sequence[UUID]) -> LegalHold:
    """Return the error that says which holds forbid to erase something."""
    return LegalHold("a hold forbids to erase this", hold_ids=",".join(map(str, hold_ids)))


def _erasure(row: Row) -> Erasure:
    return Erasure(**{name: getattr(row, name) for name in Erasure.__slots__})
