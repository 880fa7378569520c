"""Outcomes: callers record whether steps succeeded. Folds use them to choose lines, and a lesson becomes a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from uuid import UUID, uuid5

from context_service.contexts.room import Log
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.lesson import Lesson
from context_service.usage.model import Outcome, RecordedOutcome
from context_service.usage.pure.endings import Ending
from context_service.usage.store.endings import EndingRows
from context_service.windows.model import Window, window_not_found
from contextkeep.errors import InvalidArgument, PermissionDenied, WindowClosed
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_between, check_text
from service_runtime.values.ids import new_id

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp
    from context_service.windows.room import WindowRows

LESSON_CHARS_MAX = 8_000


class Lessons(Protocol):
    """Stores lessons as memories."""

    async def remember(self, lesson: Lesson, *, principal: Principal, request: Request | None) -> UUID:
        """Store a lesson for the principal's user, once for an idempotency key; return the id of the memory."""
        ...


class Outcomes:
    """Stores how steps of windows ended; each call acts for its principal.

    Args:
        rows: The store of windows.
        endings: The store of the steps' outcomes.
        log: The contexts, whose messages the windows read.
        requests: The store of idempotency keys and their answers.
        writer_locks: Lets one writer of a window run at a time in this process.
        catching_up: Reads a window's log up to its end, so that the window knows all steps.
        lessons: Stores lessons as memories.
    """

    def __init__(
        self,
        rows: WindowRows,
        endings: EndingRows,
        *,
        log: Log,
        requests: Requests,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        lessons: Lessons,
    ) -> None:
        self._rows = rows
        self._endings = endings
        self._log = log
        self._requests = requests
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._lessons = lessons

    async def record(
        self, window_id: UUID, outcome: Outcome, *, principal: Principal, request: Request | None
    ) -> RecordedOutcome:
        """Store how steps of a window ended. The window reads its log first, so that it knows all steps.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            InvalidArgument: the window has no such steps, or a number is out of range.
            LimitExceeded: the lesson is too long.
            SubjectRequired: the request has a lesson, and the call acts for no user.
            PermissionDenied: the request has a lesson, and the caller may not store memories for the user.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        _check(outcome, principal)
        principal = principal.without_admin()
        first_answer = None
        # An earlier call with the same request may have been killed after the outcome and before the lesson.
        if request and outcome.lesson:
            first_answer = await self._requests.answered(self._log.of(principal, new_id()), request)
        if first_answer:
            window = await self._rows.find(window_id, principal=principal)
            recorded = _begun_before(first_answer)
        else:
            window, recorded = await self._record(window_id, outcome, principal, request)
        if not outcome.lesson:
            return recorded
        recorded = recorded._replace(memory_id=await self._remember(window, outcome, principal, request))
        if request:
            await self._requests.complete(self._log.of(principal, window.context_id), request, recorded)
        return recorded

    async def _record(
        self, window_id: UUID, outcome: Outcome, principal: Principal, request: Request | None
    ) -> tuple[Window, RecordedOutcome]:
        """Let the window read its log, replace a 0 in the outcome by the last step, and store the outcome.

        Raises:
            InvalidArgument: the window does not have these steps.
        """

        async def recorded() -> tuple[Window, RecordedOutcome]:
            window = await self._catching_up.read(window_id, principal=principal)
            step_to = outcome.step_to or window.step_count
            step_from = outcome.step_from or step_to
            if not 1 <= step_from <= step_to <= window.step_count:
                raise InvalidArgument(
                    f"step_from and step_to must be steps of the window, 1 to {window.step_count} "
                    f"(got {step_from} to {step_to})",
                    field="step_to",
                )
            ending = Ending(step_from, step_to, outcome.score)
            return window, await self._write(window, ending, principal, request, is_whole=not outcome.lesson)

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(recorded, what="the window")

    async def _write(
        self, window: Window, ending: Ending, principal: Principal, request: Request | None, *, is_whole: bool
    ) -> RecordedOutcome:
        """Write how steps ended, and return the answer.

        Raises:
            RowsChanged: the window has another epoch meanwhile, so its steps may have other numbers.
        """

        async def work(transaction: Transaction) -> RecordedOutcome:
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if locked is None:
                raise window_not_found(window.window_id)
            if locked.closed_at:
                raise WindowClosed("the window is closed", window_id=window.window_id)
            if locked.epoch != window.epoch:
                raise RowsChanged
            endings = await self._endings.read_in(transaction, locked)
            await self._endings.write(transaction, locked, endings.with_one(ending))
            return RecordedOutcome(ending.step_from, ending.step_to, None)

        write = self._requests.once(
            request,
            work,
            about_id=window.context_id,
            values=lambda recorded: {"step_from": recorded.step_from, "step_to": recorded.step_to},
            is_whole=is_whole,
            repeated=_begun_before,
        )
        return await self._log.of(principal, window.context_id).transaction(write)

    async def _remember(self, window: Window, outcome: Outcome, principal: Principal, request: Request | None) -> UUID:
        """Store a lesson as a memory, and return its id. A repeated request stores it only once."""
        context = await self._log.read(window.context_id, principal=principal)
        if context is None:
            raise window_not_found(window.window_id)
        lesson = Lesson(
            outcome.lesson,
            window.goal,
            outcome.is_success,
            outcome.quality,
            window.context_id,
            context.app_id,
            context.agent_bundle_id,
        )
        own = None
        if request:
            own = Request(
                request_id=uuid5(request.request_id, "lesson"), rpc=request.rpc, fingerprint=request.fingerprint
            )
        return await self._lessons.remember(lesson, principal=principal, request=own)


def _begun_before(answer: Mapping[str, int]) -> RecordedOutcome:
    return RecordedOutcome(answer["step_from"], answer["step_to"], None)


def _check(outcome: Outcome, principal: Principal) -> None:
    """Check an outcome, and whether the caller may store its lesson.

    Raises:
        InvalidArgument: a number is out of range, or the lesson is blank.
        LimitExceeded: the lesson is too long.
        SubjectRequired: there is a lesson, and the call acts for no user.
        PermissionDenied: there is a lesson, and the key is bound to a context.
    """
    for name in ("step_from", "step_to"):
        if getattr(outcome, name) < 0:
            raise InvalidArgument(f"{name} must be 0 or more (got {getattr(outcome, name)})", field=name)
    if outcome.quality is not None:
        check_between("quality", outcome.quality, 0, 1)
    check_text("lesson", outcome.lesson, chars_max=LESSON_CHARS_MAX)
    if outcome.lesson:
        if not outcome.lesson.strip():
            raise InvalidArgument("lesson must not be blank", field="lesson")
        principal.acting_for_somebody("")  # the lesson becomes a memory, and each memory belongs to a user
        if principal.context_id:
            raise PermissionDenied("the key is bound to a context, and a lesson becomes a memory outside of it")
