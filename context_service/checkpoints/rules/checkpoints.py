"""Checkpoints and rollbacks: stored states of a window, and the return to one of them. The log is never changed.

Each block, summary and entry of a window stores the epoch since which it has its value. So a checkpoint needs only one
row, and a rollback undoes the later changes in one transaction. After a rollback the window leaves out the messages
after the checkpoint: they stay in the log, and other windows of the context still show them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from context_service.checkpoints.model import BY_CALLER, LABEL_CHARS_MAX, Checkpoint, LeftOutMessages
from context_service.checkpoints.pure.left_out import LeftOut
from context_service.checkpoints.store import CheckpointRows
from context_service.contexts.room import Log
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.packing.model import FoldAccount, Receipt
from context_service.packing.pure.state.task_state import changes
from context_service.windows.model import Window, WindowSnapshot, window_not_found
from context_service.windows.pure.head import RENDERING
from context_service.windows.pure.pins import Pinned, render_pins
from contextkeep.errors import Aborted, CheckpointNotFound, InvalidArgument, LimitExceeded, LogMoved, WindowClosed
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text
from service_runtime.values.ids import new_id

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp, ViewRows
    from context_service.usage.room import EndingRows
    from context_service.windows.room import Telemetry, WindowRows

LEFT_OUT_MAX = 1_000  # ranges of messages that a window leaves out: each call reads all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """The result of a rollback.

    Attributes:
        receipt: The account of the rollback: what the window had before and has now.
        left_out: The messages that the window leaves out since this rollback.
        message_ids: The ids of those messages, without retracted ones, at most the first `store.IDS_MAX`.
        message_count: The number of those messages.
    """

    receipt: Receipt
    left_out: LeftOut
    message_ids: Sequence[str]
    message_count: int


class Way(NamedTuple):
    """The state to which a window is rolled back."""

    number: int | None  # the number of the checkpoint; None if there is none, so that the log is read from the start
    keep_to: int  # messages up to this `seq` are not left out: the window reads those after the checkpoint again


class Checkpoints:
    """Makes checkpoints of windows, and rolls windows back; each call acts for its principal.

    Args:
        rows: The SQL statements on windows.
        views: The SQL statements on the blocks, summaries and entries of windows.
        checkpoints: The SQL statements on checkpoints.
        log: The contexts of the windows, and their messages.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        writer_locks: Locks by window: in this process, one call at a time writes a window.
        catching_up: Reads the new messages of the log into a window.
        telemetry: Counts rollbacks, which break the vendor's prompt cache, for the metrics.
        endings: The recorded outcomes of steps.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        checkpoints: CheckpointRows,
        *,
        log: Log,
        requests: Requests,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        telemetry: Telemetry,
        endings: EndingRows,
    ) -> None:
        self._rows = rows
        self._views = views
        self._checkpoints = checkpoints
        self._log = log
        self._requests = requests
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._telemetry = telemetry
        self._endings = endings

    async def create(self, window_id: UUID, label: str, *, principal: Principal, request: Request | None) -> Checkpoint:
        """Let a window read its log to the end, and store its state as a checkpoint.

        A last step that still waits for results of tools is not part of the checkpoint.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        check_text("label", label, chars_max=LABEL_CHARS_MAX)
        principal = principal.without_admin()

        async def make() -> Checkpoint:
            window = await self._catching_up.read(window_id, principal=principal)
            return await self._create(window, label, principal, request)

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(make, what="the window")

    async def _create(self, window: Window, label: str, principal: Principal, request: Request | None) -> Checkpoint:
        """Write a checkpoint, and return it.

        Raises:
            RowsChanged: the window changed since it was read.
        """

        async def work(transaction: Transaction) -> Checkpoint:
            checkpoint = await self._checkpoints.make(
                transaction, window, reason=BY_CALLER, label=label, created_by=principal.subject
            )
            if checkpoint is None:
                raise RowsChanged
            return checkpoint

        write = self._requests.once(request, work, about_id=window.context_id)
        return await self._log.of(principal, window.context_id).transaction(write)

    async def page(
        self, window_id: UUID, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[Sequence[Checkpoint], str]:
        """Return a page of the checkpoints of a window, the newest first, and the token of the next page.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        principal = principal.without_admin()
        window = await self._rows.find(window_id, principal=principal)
        query = ("ListCheckpoints", principal.tenant_id, window_id)
        before = pages.decode_number(query, page.token)
        count = pages.page_size(page.size)
        checkpoints = await self._checkpoints.page(window, principal=principal, before=before, count=count + 1)
        return pages.cut(query, checkpoints, count, key=lambda checkpoint: (checkpoint.number,))

    async def rollback(
        self,
        window_id: UUID,
        number: int,
        *,
        expected_last_seq: int,
        principal: Principal,
        request: Request | None,
    ) -> RolledBack:
        """Roll a window back to a checkpoint, and leave out the messages after it.

        Args:
            window_id: The id of the window.
            number: The number of the checkpoint to return to.
            expected_last_seq: The `seq` of the newest message that the caller knows; the call fails if there are newer
                ones.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call, and the hash of its request.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            CheckpointNotFound: the window has no such checkpoint, or no longer has it.
            LogMoved: the log has messages that the caller does not know.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        principal = principal.without_admin()

        async def choose(window: Window) -> Way:
            return Way(number, keep_to=0)

        return await self.go_back(
            window_id, choose, expected_last_seq=expected_last_seq, principal=principal, request=request
        )

    async def go_back(
        self,
        window_id: UUID,
        choose_way: Callable[[Window], Awaitable[Way]],
        *,
        expected_last_seq: int,
        principal: Principal,
        request: Request | None,
        is_whole: bool = True,
    ) -> RolledBack:
        """Roll a window back to the state that `choose_way` returns. A repeated request gets the first answer.

        Args:
            window_id: The id of the window.
            choose_way: Returns the state to go back to, and the messages that stay.
            expected_last_seq: The `seq` of the newest message that the caller knows; the call fails if there are newer
                ones.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.
            is_whole: The rollback is all that the call does. If False, the rollback is stored as the answer of an
                unfinished call, which the caller of this function completes later.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            CheckpointNotFound: the window has no such checkpoint, or no longer has it.
            LogMoved: the log has messages that the caller does not know.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Also the errors of `choose_way`.
        """
        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            snapshot = await self._rows.snapshot(window_id, principal=principal)
            if snapshot is None:
                raise window_not_found(window_id)
            check_last_seq(snapshot, expected_last_seq)
            window, last_seq = snapshot.window, expected_last_seq
            way = await choose_way(window)

            async def work(transaction: Transaction) -> RolledBack | Any:
                locked = await self._lock(transaction, window)
                if way.number is None:
                    result = await self._begun_anew(transaction, locked, last_seq, way.keep_to)
                else:
                    result = await self._undone(transaction, locked, way.number, last_seq, way.keep_to)
                await self._views.account(transaction, locked, result.receipt)
                return replace(result, receipt=await self._views.receipt(transaction, locked, result.receipt.epoch))

            write = self._requests.once(
                request,
                work,
                about_id=window.context_id,
                values=lambda result: {"epoch": result.receipt.epoch, "message_count": result.message_count},
                is_whole=is_whole,
                repeated=lambda answer: answer,
            )
            result = await self._log.of(principal, window.context_id).transaction(write)
        if not isinstance(result, RolledBack):  # a concurrent call with the same request did the rollback
            if "epoch" not in result:
                raise Aborted("other calls write to the window at the same time; try again")
            return await self._rolled_back_before(window_id, result, principal)
        self._telemetry.count_break(result.receipt.reason, profile=window.profile)
        return result

    async def earlier_rollback(
        self, window_id: UUID, *, principal: Principal, request: Request | None
    ) -> RolledBack | None:
        """Return the rollback that an earlier, unfinished call with the same request has done, or None.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            RequestIdReused: the request id was used before, for another request.
        """
        if request is None:
            return None
        answer = await self._requests.answered(self._log.of(principal, new_id()), request)
        return await self._rolled_back_before(window_id, answer, principal) if answer and "epoch" in answer else None

    async def _lock(self, transaction: Transaction, window: Window) -> Window:
        """Lock a window, and refuse it if it cannot be rolled back.

        Raises:
            WindowNotFound: the window no longer exists.
            WindowClosed: the window is closed.
            LimitExceeded: the window has too many ranges of left-out messages.
        """
        locked = await self._rows.lock(transaction, window.context_id, window.window_id)
        if locked is None:
            raise window_not_found(window.window_id)
        if locked.closed_at:
            raise WindowClosed("the window is closed; open another one", window_id=window.window_id)
        if len(locked.left_out.ranges) >= LEFT_OUT_MAX:
            raise LimitExceeded(
                f"a window may leave out up to {LEFT_OUT_MAX} ranges of messages; open another window",
                limit="rollbacks",
                limit_max=LEFT_OUT_MAX,
                value=LEFT_OUT_MAX + 1,
            )
        return locked

    async def _undone(
        self, transaction: Transaction, locked: Window, number: int, last_seq: int, keep_to: int
    ) -> RolledBack:
        """Return a locked window to its state at a checkpoint.

        Raises:
            CheckpointNotFound: the window has no checkpoint with this number.
        """
        checkpoint = await self._checkpoints.locked(transaction, locked, number)
        if checkpoint is None:
            raise _no_checkpoint(number)
        before = await self._tokens(transaction, locked)
        state_before = await self._views.state_text_in(transaction, locked)
        keep_to = max(keep_to, checkpoint.reached_seq)
        undone = await self._checkpoints.leave_out(transaction, locked, keep_to=keep_to, last_seq=last_seq)
        await self._checkpoints.undo(transaction, locked, checkpoint)
        await self._endings.forget(transaction, locked, step_to=checkpoint.step_count)
        front = await self._pins(transaction, locked)
        state = await self._checkpoints.roll_back(
            transaction,
            locked,
            checkpoint,
            reached_seq=last_seq if keep_to == checkpoint.reached_seq else checkpoint.reached_seq,
            pins=front.pieces,
            pins_tokens=front.tokens,
        )
        now = await self._now(transaction, locked)
        after = await self._tokens(transaction, now)
        receipt = _receipt(locked, now, checkpoint, undone, tokens=(before, after), states=(state_before, state))
        return RolledBack(receipt=receipt, **undone._asdict())

    async def _begun_anew(self, transaction: Transaction, locked: Window, last_seq: int, keep_to: int) -> RolledBack:
        """Leave out messages of a locked window that has no checkpoint; it then reads its log from the beginning."""
        before = await self._tokens(transaction, locked)
        undone = await self._checkpoints.leave_out(transaction, locked, keep_to=keep_to, last_seq=last_seq)
        await self._endings.forget(transaction, locked, step_to=0)
        front = await self._pins(transaction, locked)
        await self._views.restart(
            transaction,
            locked,
            None,
            retracted_count=locked.retracted_count,
            pins=front.pieces,
            tokens=front.tokens,
        )
        receipt = Receipt(
            epoch=locked.epoch + 1,
            reason="rolled_back",
            last_seq=last_seq,
            step=locked.step_count,
            tokens_before=before,
            tokens_after=locked.head_tokens + front.tokens,
            account=FoldAccount(
                rules=["there is no checkpoint: read the log again", _left_out(undone)],
                first_change="conversation",
                tokens_kept=locked.head_tokens + front.tokens,
                left_out=undone.left_out.ranges,
                steps_left_out=locked.step_count,
            ),
        )
        return RolledBack(receipt=receipt, **undone._asdict())

    async def _now(self, transaction: Transaction, locked: Window) -> Window:
        """Read a locked window again, after it was changed in the same transaction."""
        now = await self._rows.lock(transaction, locked.context_id, locked.window_id)
        if now is None:
            raise window_not_found(locked.window_id)
        return now

    async def _tokens(self, transaction: Transaction, window: Window) -> int:
        """Return the tokens of a pack of a locked window."""
        zone_tokens = await self._views.tokens_in(transaction, window)
        return zone_tokens + window.head_tokens + window.pins_tokens + window.state_tokens

    async def _pins(self, transaction: Transaction, locked: Window) -> Pinned:
        """Return the pins of a window as a model sees them, without the pins of retracted messages."""
        pins = [kept_pin.entry for kept_pin in await self._views.kept_pins(transaction, locked)]
        size = sum(len(pin.text) for pin in pins)
        return await beside_the_loop(RENDERING * size, render_pins, pins, locked)

    async def _rolled_back_before(self, window_id: UUID, answer: Any, principal: Principal) -> RolledBack:
        """Return the result of the rollback that answered the same request before."""
        window = await self._rows.find(window_id, principal=principal)
        (receipt,) = await self._views.receipts(window, principal=principal, before=answer["epoch"] + 1, count=1)
        left_out = LeftOut(tuple((first, last) for first, last in receipt.account.left_out))
        return RolledBack(
            receipt=receipt,
            left_out=left_out,
            message_ids=await self._checkpoints.message_ids(window, left_out, principal=principal),
            message_count=answer["message_count"],
        )


def check_last_seq(snapshot: WindowSnapshot, expected: int) -> None:
    """Refuse a caller that does not know all messages of a log.

    Raises:
        WindowClosed: the window is closed.
        InvalidArgument: the log has no such message.
        LogMoved: the log has messages after the expected one.
    """
    if snapshot.window.closed_at:
        raise WindowClosed("the window is closed; open another one", window_id=snapshot.window.window_id)
    if not 0 < expected <= snapshot.last_seq:
        raise InvalidArgument(
            f"expected_last_seq must be between 1 and {snapshot.last_seq}, the last of the log (got {expected})",
            field="expected_last_seq",
        )
    if expected < snapshot.last_seq:
        raise LogMoved(
            f"expected_last_seq is {expected}, but the log ends at {snapshot.last_seq}; read the new messages",
            last_seq=snapshot.last_seq,
        )


def _no_checkpoint(number: int) -> CheckpointNotFound:
    return CheckpointNotFound(f"the window has no checkpoint {number}; old ones are removed", checkpoint=number)


def _left_out(undone: LeftOutMessages) -> str:
    """Return the sentence of a receipt that says how many messages a rollback left out."""
    return f"leave out {undone.message_count} messages; they stay in the log"


def _receipt(
    before: Window,
    now: Window,
    checkpoint: Checkpoint,
    undone: LeftOutMessages,
    *,
    tokens: tuple[int, int],
    states: tuple[str, str],
) -> Receipt:
    """Return the account of a rollback."""
    tokens_before, tokens_after = tokens
    # Without a break of the prefix since the checkpoint, the current pack begins with the pack of the checkpoint.
    if checkpoint.epoch == before.epoch:
        zone, kept_tokens = "verbatim", tokens_after
    elif before.pins_pieces == now.pins_pieces:
        zone, kept_tokens = "conversation", before.head_tokens + before.pins_tokens
    else:
        zone, kept_tokens = "pins", before.head_tokens
    added, removed = changes(*states)
    return Receipt(
        epoch=now.epoch,
        reason="rolled_back",
        last_seq=now.reached_seq,
        step=before.step_count,
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        account=FoldAccount(
            rules=[
                f"go back to checkpoint {checkpoint.number}, after step {checkpoint.step_count}",
                _left_out(undone),
            ],
            state_tokens=now.state_tokens,
            state_added=added,
            state_removed=removed,
            first_change=zone,
            tokens_kept=kept_tokens,
            written_again=tokens_after - kept_tokens,
            checkpoint=checkpoint.number,
            block_count=now.block_count,
            left_out=undone.left_out.ranges,
            steps_left_out=before.step_count - now.step_count,
        ),
    )
