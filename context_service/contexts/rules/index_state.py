"""The indexing state of a context, and waiting for it.

Words can be found when a message is acknowledged. Vectors and texts of files follow later: each kind of pending work is
an `Owing`, which knows the contexts with pending work and the first `seq` that needs it. Waiting uses this, and the
state in `GetContext` is the sum over all kinds.

To add a kind, write a class with the two methods of `Owing`, and add an instance to the list that `contexts/room.py`
passes to `IndexStates`. Both methods are only called for contexts that the caller may see.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from context_service.contexts.rules.messages import not_found
from context_service.contexts.store.index_state import OWED_FROM, STATE
from context_service.contexts.store.log import SEQ_MAX, Log
from context_service.retrieval.model import CONTEXT
from context_service.retrieval.room import owing_topic
from contextkeep.errors import InvalidArgument, LimitExceeded
from service_runtime.postgres import Across, Database, Tenant
from service_runtime.rpc.calls import answer_s, remaining_s
from service_runtime.rpc.principal import Principal

TIMEOUT_S, TIMEOUT_S_MAX = 30, 300
WAITS_MAX = 1_000  # waiting calls of a process
WAITS_OF_TENANT_MAX = 200
POLL_S = 0.25  # between two polls; all waits for contexts of a tenant share one statement


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRecord:
    """A record that a message or an artifact points at, and whose text or file could not be read."""

    seq: int  # 0 for an artifact
    task_id: UUID | None  # the task of the artifact
    artifact_id: str
    part: int  # the number of the part, from 1
    record_id: UUID
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """The indexing state of a context: of one kind of work, or the sum of all kinds."""

    passages: int = 0
    indexed: int = 0  # passages that have a vector
    pending: int = 0
    failed: int = 0  # passages without a vector, which words still find; or unread records
    without_text: int = 0  # records whose file has no readable text
    oldest_pending_at: datetime | None = None
    error: str = ""  # the error of the last attempt at pending work
    unread: tuple[UnreadRecord, ...] = ()  # the newest

    def __add__(self, other: IndexState) -> IndexState:
        """Return the sum of two states; it has the older pending time, and the first error."""
        times = [state.oldest_pending_at for state in (self, other) if state.oldest_pending_at]
        return IndexState(
            passages=self.passages + other.passages,
            indexed=self.indexed + other.indexed,
            pending=self.pending + other.pending,
            failed=self.failed + other.failed,
            without_text=self.without_text + other.without_text,
            oldest_pending_at=min(times, default=None),
            error=self.error or other.error,
            unread=self.unread + other.unread,
        )


class Owing(Protocol):
    """One kind of background work of contexts, such as making vectors, that can be pending."""

    async def owed_from(self, tenant: Tenant, context_ids: Sequence[UUID]) -> Mapping[UUID, int]:
        """Return which of some contexts have pending work, each with the first `seq` that may need it.

        Called a few times a second while callers wait, so it should read only the pending work.
        """

    async def state(self, principal: Principal, context_id: UUID, *, seq_to: int | None) -> IndexState:
        """Return the state of a context that the principal sees, up to a `seq`; None means to the last."""


_STATE_SEEN = Across(sql=STATE, administrators=True, why="an administrator reads all of the tenant")


class VectorsOwed:
    """The making of vectors of passages, as a kind of pending work (`Owing`).

    Args:
        database: The database that holds the passages and their vectors.
        model: The name of the embedding model; empty if the service has none: then no work is ever pending.
    """

    def __init__(self, database: Database, *, model: str) -> None:
        self._database = database
        self._model = model

    async def owed_from(self, tenant: Tenant, context_ids: Sequence[UUID]) -> Mapping[UUID, int]:
        """Return the contexts with pending vectors, each with the first `seq` that needs one."""
        if not self._model:
            return {}
        parameters = {"topic": owing_topic(CONTEXT), "context_ids": list(context_ids)}
        return {row.context_id: row.seq for row in await tenant.query(OWED_FROM, parameters)}

    async def state(self, principal: Principal, context_id: UUID, *, seq_to: int | None) -> IndexState:
        """Return how many passages of a context have a vector of the model."""
        tenant = self._database.of(principal, context_id=context_id)
        parameters = {
            "context_id": context_id,
            "scope_kind": CONTEXT,
            "topic": owing_topic(CONTEXT) if self._model else "",  # without an embedder no work is pending
            "model": self._model,
            "seq_to": SEQ_MAX if seq_to is None else seq_to,
        }
        (row,) = await tenant.query(_STATE_SEEN, parameters)
        return IndexState(
            passages=row.passages,
            indexed=row.indexed,
            pending=row.pending,
            failed=row.failed,
            oldest_pending_at=row.oldest if row.pending else None,
            error=row.error if row.pending else "",
        )


@dataclass(eq=False, slots=True)
class _Wait:
    """A call that waits for the pending work of a context; `over` is done when it may return."""

    tenant_id: UUID
    context_id: UUID
    seq: int
    over: asyncio.Future[None]


class IndexStates:
    """Reads the indexing state of contexts, and waits for it.

    Args:
        database: The database that holds the contexts.
        log: The contexts whose state is read.
        owing: One `Owing` for each kind of pending work.
    """

    def __init__(self, database: Database, log: Log, owing: Sequence[Owing]) -> None:
        self._database = database
        self._log = log
        self._owing = owing
        self._waits: set[_Wait] = set()
        self._of_tenant: Counter[UUID] = Counter()
        self._poller: asyncio.Task[None] | None = None

    async def state(self, principal: Principal, context_id: UUID, *, seq_to: int | None = None) -> IndexState:
        """Return the state of a context that the principal sees, up to a `seq`."""
        states = [await kind.state(principal, context_id, seq_to=seq_to) for kind in self._owing]
        return sum(states, IndexState())

    async def pending(self, principal: Principal, context_id: UUID) -> int:
        """Count the pending work of a context that the principal sees."""
        if not await self._is_owed(self._database.tenant(principal.tenant_id), context_id, SEQ_MAX - 1):
            return 0
        return (await self.state(principal, context_id)).pending

    async def wait(
        self, context_id: UUID, *, seq: int, timeout_s: int, principal: Principal
    ) -> tuple[IndexState, bool]:
        """Wait until no work up to a `seq` is pending, or a timeout; return the state, and whether none is pending.

        Args:
            context_id: The id of the context.
            seq: Wait for the messages up to this `seq`; 0 waits for the newest message at the time of the call.
            timeout_s: Seconds to wait at most; 0 takes `TIMEOUT_S`.
            principal: The caller; its tenant and bounds limit the rows.

        Raises:
            ContextNotFound: there is no such context, or it was deleted meanwhile.
            InvalidArgument: a number is negative.
            LimitExceeded: the timeout is too long, or too many callers wait.
        """
        for name, value in (("seq", seq), ("timeout_s", timeout_s)):
            if value < 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {value})", field=name)
        if timeout_s > TIMEOUT_S_MAX:
            raise _limit("timeout_s", TIMEOUT_S_MAX, timeout_s)
        context = await self._log.read(context_id, principal=principal)
        if context is None:
            raise not_found(context_id)
        upto = min(seq or context.last_seq, context.last_seq)
        give_up_at = time.monotonic() + min(timeout_s or TIMEOUT_S, answer_s(remaining_s()))
        tenant = self._database.tenant(principal.tenant_id)
        if await self._is_owed(tenant, context_id, upto):
            await self._wait(principal.tenant_id, context_id, upto, give_up_at)
            if await self._log.read(context_id, principal=principal) is None:
                raise not_found(context_id)
        state = await self.state(principal, context_id, seq_to=upto)
        return state, not state.pending

    async def _is_owed(self, tenant: Tenant, context_id: UUID, seq: int) -> bool:
        """Return whether a context has pending work of any kind up to a `seq`."""
        return any(
            [(await wait.owed_from(tenant, [context_id])).get(context_id, SEQ_MAX) <= seq for wait in self._owing]
        )

    async def _wait(self, tenant_id: UUID, context_id: UUID, seq: int, give_up_at: float) -> None:
        """Wait until the poller finds no pending work of a context up to `seq`, or until `give_up_at` (monotonic time).

        One poller serves all waiting calls of the process; it starts with the first of them.

        Raises:
            LimitExceeded: too many calls wait, of this tenant or of all.
        """
        for name, limit, waiting in (
            ("waits_max", WAITS_MAX, len(self._waits)),
            ("waits_of_tenant_max", WAITS_OF_TENANT_MAX, self._of_tenant[tenant_id]),
        ):
            if waiting >= limit:
                raise _limit(name, limit, waiting + 1)
        wait = _Wait(tenant_id, context_id, seq, asyncio.get_running_loop().create_future())
        self._waits.add(wait)
        self._of_tenant[tenant_id] += 1
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            async with asyncio.timeout(give_up_at - time.monotonic()):
                await wait.over
        except TimeoutError:
            pass
        finally:
            self._waits.discard(wait)
            self._of_tenant[tenant_id] -= 1
            if not self._of_tenant[tenant_id]:
                del self._of_tenant[tenant_id]

    async def _poll(self) -> None:
        """Poll the pending work while callers wait, and wake those whose work is done."""
        while self._waits:
            await asyncio.sleep(POLL_S)
            for tenant_id in list(self._of_tenant):
                waits = [wait for wait in self._waits if wait.tenant_id == tenant_id]
                try:
                    owed = await self._pending(tenant_id, sorted({wait.context_id for wait in waits}))
                except Exception as error:
                    for wait in waits:
                        if not wait.over.done():
                            wait.over.set_exception(error)
                    continue
                for wait in waits:
                    if owed.get(wait.context_id, SEQ_MAX) > wait.seq and not wait.over.done():
                        wait.over.set_result(None)

    async def _pending(self, tenant_id: UUID, context_ids: Sequence[UUID]) -> dict[UUID, int]:
        """Return the contexts with pending work of any kind, each with the first `seq` that needs it."""
        first: dict[UUID, int] = {}
        for kind in self._owing:
            for context_id, seq in (await kind.owed_from(self._database.tenant(tenant_id), context_ids)).items():
                first[context_id] = min(seq, first.get(context_id, seq))
        return first


def _limit(name: str, limit: int, value: int) -> LimitExceeded:
    return LimitExceeded(f"{name} may be up to {limit} (got {value})", limit=name, limit_max=limit, value=value)
