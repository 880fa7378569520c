"""Merges: the result of a fork is written to its parent as one message, once, and the fork is closed.

The result is computed before anything is locked, and is written only if the fork has not changed meanwhile. One
transaction writes the message, links it to the fork, and closes the fork.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import orjson

from context_service.contexts.model import Message, MessageInput, Sent
from context_service.contexts.room import Log, Messaging
from context_service.forks.model import Fork
from context_service.forks.pure import FOUND, ForkResult, LastReply, result_of
from context_service.forks.store import ForkRows
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.parts import Part, ToolResult
from context_service.kernel.rendering.turns import text_of
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.state.task_state import Entry
from context_service.windows.model import Window, window_not_found
from context_service.windows.pure.head import RENDERING
from context_service.windows.pure.refs import fork_ref, refs_between
from contextkeep.errors import ContextClosed, InvalidArgument, PermissionDenied, WindowClosed
from service_runtime.auth.derived_keys import end_context_keys
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request, Requests

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp
    from context_service.windows.room import Telemetry, WindowRows

TOKENS, SHARE = 2_000, 8  # default size of a result; it has at most 1/8 of the window's limit
_LAST_MESSAGES = 100  # how many of the last messages are searched for the assistant's last reply


class _Worked(NamedTuple):
    """The result of a fork, and the last message of its log."""

    result: ForkResult
    last_seq: int
    agent_id: str


class Merges:
    """Merges forks into their parents; each call acts for its principal.

    Args:
        rows: The SQL statements on windows.
        forks: The SQL statements on forks.
        log: The contexts of the windows.
        messaging: Writes the results as messages of the parents.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        writer_locks: Locks by context and window: in this process, one call at a time writes them.
        catching_up: Reads the new messages of the log into a window.
        telemetry: Counts refused calls for the metrics.
    """

    def __init__(
        self,
        rows: WindowRows,
        forks: ForkRows,
        *,
        log: Log,
        messaging: Messaging,
        requests: Requests,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        telemetry: Telemetry,
    ) -> None:
        self._rows = rows
        self._forks = forks
        self._log = log
        self._messaging = messaging
        self._requests = requests
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._telemetry = telemetry

    async def merge(
        self, window_id: UUID, *, tokens_max: int, tool_call_id: str, principal: Principal, request: Request | None
    ) -> Fork:
        """Write the result of a fork to its parent as a message, close the fork, and return it.

        If the fork was merged before, nothing is written, and the fork is returned as it is.

        Args:
            window_id: The id of the fork's window.
            tokens_max: The number of tokens that the result may have; 0 takes the default. A share of the parent's
                limit caps it.
            tool_call_id: The id of the parent's tool call that the result answers; empty if there is none.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: the window is not a fork.
            PermissionDenied: the principal does not reach the parent.
            WindowClosed: the parent window is closed.
            ContextClosed: the context of the parent window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        if tokens_max < 0:
            raise InvalidArgument(f"tokens_max must be 0 or more (got {tokens_max})", field="tokens_max")
        principal = principal.without_admin()
        window = await self._rows.find(window_id, principal=principal)

        async def write_result() -> Fork:
            fork = await self._fork_of(window, principal)
            if fork.merged_seq:
                # The call that merged the fork may have been killed before it closed the contexts below.
                await self._log.close_below(fork.fork_context_id, principal=principal)
                await self._keep(request, fork, principal)
                return fork
            parent = await self._rows.read(fork.context_id, fork.window_id, principal=principal)
            if parent is None:
                raise window_not_found(window_id)
            worked = await self._worked(fork, parent, tokens_max, principal)
            with self._telemetry.refusals():
                fork = await self._write(fork, parent, worked, tool_call_id, principal=principal, request=request)
            await self._log.close_below(fork.fork_context_id, principal=principal)
            return fork

        return await until_written(write_result, what="the fork")

    async def _keep(self, request: Request | None, fork: Fork, principal: Principal) -> None:
        """Store the answer of a request, also if an earlier call had merged the fork already."""

        async def work(_: Transaction) -> Fork:
            return fork

        if request:
            write = self._requests.once(request, work, about_id=fork.context_id)
            await self._log.of(principal, fork.context_id).transaction(write)

    async def _fork_of(self, window: Window, principal: Principal) -> Fork:
        """Return the fork that a window belongs to.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            InvalidArgument: the window is not a fork.
            PermissionDenied: the caller may not see the parent.
        """
        context = await self._log.read(window.context_id, principal=principal)
        if context is None:
            raise window_not_found(window.window_id)
        fork = None
        if len(context.ancestors) > 1:
            fork = await self._forks.of_context(context.ancestors[-2], context.context_id, principal=principal)
            if fork is None:
                raise PermissionDenied("the key may not read the context that the window was forked from")
        if fork is None or fork.fork_window_id != window.window_id:
            raise InvalidArgument(
                "the window is not a fork; name the window that ForkWindow returned", field="window_id"
            )
        return fork

    async def _worked(self, fork: Fork, parent: Window, tokens_max: int, principal: Principal) -> _Worked:
        """Return the result of a fork as it is now."""
        window = await self._current(fork, principal)
        newest = await self._log.newest(window.context_id, principal=principal, count=_LAST_MESSAGES)
        if newest is None or not (messages := newest.messages):
            raise window_not_found(window.window_id)
        last = next(
            (message for message in reversed(messages) if _speaks(message) and message.seq not in window.left_out), None
        )
        entries = await self._forks.newest(window, FOUND, principal=principal)
        room = min(tokens_max or TOKENS, parent.counted_limit // SHARE)
        size = RENDERING * (sum(len(result.text) for result in entries) + (len(_text_of(last)) if last else 0))
        last_seq = messages[-1].seq
        result = await beside_the_loop(size, _result, fork, window, parent, last, entries, last_seq, room)
        return _Worked(result, last_seq, last.agent_id if last else "")

    async def _current(self, fork: Fork, principal: Principal) -> Window:
        """Return the window of a fork after it has read its log to the end. A closed window is returned as it is."""

        async def current() -> Window:
            window = await self._rows.find(fork.fork_window_id, principal=principal)
            if window.closed_at:
                return window
            try:
                return await self._catching_up.read(fork.fork_window_id, principal=principal)
            except WindowClosed:  # another call has merged it meanwhile
                raise RowsChanged from None

        async with self._writer_locks.hold((principal.tenant_id, fork.fork_window_id)):
            return await until_written(current, what="the fork")

    async def _write(
        self,
        fork: Fork,
        parent: Window,
        worked: _Worked,
        tool_call_id: str,
        *,
        principal: Principal,
        request: Request | None,
    ) -> Fork:
        """Write the result of a fork as a message of the parent, close the fork, and return it.

        Raises:
            RowsChanged: the fork has a new message, or another call merged it.
        """
        text, is_whole = worked.result
        came = ToolResult(tool_call_id=tool_call_id or fork_ref(fork.number), content_json=orjson.dumps(text).decode())
        message_input = MessageInput(
            message_id="",
            role="tool",
            parts=(Part(tool_result=came),),
            agent_id=worked.agent_id,
            metadata_json=orjson.dumps({"fork_context_id": str(fork.fork_context_id)}).decode(),
        )
        message = await self._messaging.prepared(message_input, path="tool_call_id")
        tokens = TokenCounter(parent.tokens_family).count(text)
        merged_fork = fork

        async def hold(transaction: Transaction) -> None:
            """Claim the request, lock both contexts and the fork, and refuse the merge if one of them changed.

            The parent's context is locked before the fork's, which is the order of all writers. The transaction then
            acts on the parent again, where the message is written.
            """
            if request:
                await self._requests.claim(transaction, request)
            context = await self._log.lock(transaction, fork.context_id)
            now = await self._forks.locked(transaction, fork)
            locked = await self._rows.lock(transaction, fork.context_id, fork.window_id)
            if context is None or now is None or locked is None:
                raise window_not_found(fork.fork_window_id)
            if now.merged_seq:
                raise RowsChanged
            if context.closed_at:
                raise ContextClosed("the context that the window was forked from is closed", context_id=fork.context_id)
            if locked.closed_at:
                raise WindowClosed("the window that this one was forked from is closed", window_id=fork.window_id)
            await transaction.turn_to(fork.fork_context_id)
            below = await self._log.lock(transaction, fork.fork_context_id)
            if below is None:
                raise window_not_found(fork.fork_window_id)
            if below.last_seq != worked.last_seq:
                raise RowsChanged
            await transaction.turn_to(fork.context_id)

        async def then(transaction: Transaction, stored_messages: Sequence[Sent]) -> None:
            nonlocal merged_fork
            merged_fork = await self._forks.mark_merged(
                transaction, fork, stored_messages[0], tokens=tokens, is_whole=is_whole
            )
            if request:
                await self._requests.answer(transaction, request, merged_fork, about_id=parent.context_id)
            await transaction.turn_to(fork.fork_context_id)
            await self._log.close(transaction, fork.fork_context_id)
            await self._rows.lock(transaction, fork.fork_context_id, fork.fork_window_id)
            await self._rows.close(transaction, fork.fork_window_id)
            await end_context_keys(transaction, fork.fork_context_id)

        async with self._writer_locks.hold((principal.tenant_id, fork.context_id)):
            await self._log.append(
                fork.context_id, [message], known=(), hold=hold, then=then, principal=principal, request=None
            )
        return merged_fork


def _speaks(message: Message) -> bool:
    """Return whether a message is a reply of the assistant with a text."""
    return message.role == "assistant" and bool(_text_of(message).strip())


def _text_of(message: Message) -> str:
    """Return the text of a message, without calls, results and reasoning."""
    parts = [part for part in message.parts if not (part.tool_call or part.tool_result or part.reasoning)]
    return "\n\n".join(filter(None, [message.content, text_of(parts)]))


def _result(
    fork: Fork, window: Window, parent: Window, last: Message | None, entries: Sequence[Entry], last_seq: int, room: int
) -> ForkResult:
    """Return the result of a fork as text, from its last reply and the state that it did not inherit."""
    return result_of(
        fork_ref(fork.number),
        LastReply(_text_of(last), refs_between(last.seq, last.seq)) if last else None,
        [result for result in entries if result.seq],  # the parent knows the inherited entries
        step_count=window.step_count,
        last_seq=last_seq,
        tokens_max=room,
        count=TokenCounter(parent.tokens_family).count,
    )
