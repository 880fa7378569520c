"""Forks: a part of the work gets its own context and window, below those of the parent, for example for another agent.

One transaction writes all parts of a fork: the context with the task as its first message, the window with the
inherited state, the key, and the row of the fork. From then on neither window sees the messages of the other. `merge`
writes the result of the fork to the parent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import orjson

from context_service.context_settings.room import OFF, ContextSettings
from context_service.contexts.model import Context, ContextInput, MessageInput, Sent
from context_service.contexts.room import Log, Messaging
from context_service.folding.pure.folds import FoldableBlock, Limits, user_messages
from context_service.folding.pure.summaries import CONVERSATION, Summary
from context_service.forks.model import Fork, Inherited
from context_service.forks.store import ForkRows
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import PIN
from context_service.packing.pure.state.task_state import Entry, render_state
from context_service.packing.pure.steps.blocks import text_pieces, tokens_of
from context_service.packing.pure.texts import conversation
from context_service.windows.model import Opening, Window, WindowInput, window_not_found
from context_service.windows.pure.head import GOAL_BYTES_MAX, RENDERING, check_room
from context_service.windows.pure.pins import render_pins
from contextkeep.errors import ContextClosed, ContextNotFound, InvalidArgument, LimitExceeded, WindowClosed
from service_runtime.auth.derived_keys import IssuedKey, make_context_key
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import until_written
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_long_text
from service_runtime.values.ids import new_id

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp, ViewRows
    from context_service.windows.room import Telemetry, WindowRows, Windows

FORKS_MAX = 64  # the most open forks of a context
DEPTH_MAX = 8  # the most forks below each other, each a fork of the one before
_TITLE_CHARS = 100
# The sections of the state that a fork inherits: all entries of the first ones, and the newest entries of the others.
_WHOLE = ("constraint", "value")
_NEWEST = {"decision": 50, "question": 50, "error": 50, "artifact": 50}
_REF_WITHIN = re.compile(r" \(m[0-9]+(?:/[0-9]+)?\)")  # a ref within a text: in the fork it would name another message


class Inherits(Enum):
    """What a fork inherits from the window that it is forked from."""

    NOTHING = "nothing"
    PINS = "pins"
    STATE = "state"  # the state, with its pins


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task of a fork, with its prompt and tools. A field that is None or empty takes the value of the parent."""

    text: str
    inherits: Inherits = Inherits.STATE
    model: str = ""
    context_tokens: int = 0
    system_prompt: str | None = None
    tools_json: str | None = None


class Forked(NamedTuple):
    """A fork, and the API key of its context. The key is None if the caller's own key already reaches the context."""

    window: Window
    number: int
    key: IssuedKey | None


class Forks:
    """Forks windows; each call acts for its principal.

    Args:
        windows: Opens the windows of forks.
        rows: The SQL statements on windows.
        forks: The SQL statements on forks.
        log: The contexts of the windows.
        messaging: Writes the messages of tasks, and issues keys.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        writer_locks: Locks by context and window: in this process, one call at a time writes them.
        catching_up: Reads the new messages of the log into a window.
        views: The blocks and summaries of the windows that are forked.
        telemetry: Counts refused calls for the metrics.
        settings: Says whether text of a context may be sent to a model.
    """

    def __init__(
        self,
        windows: Windows,
        rows: WindowRows,
        forks: ForkRows,
        *,
        log: Log,
        messaging: Messaging,
        requests: Requests,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        views: ViewRows,
        telemetry: Telemetry,
        settings: ContextSettings,
    ) -> None:
        self._windows = windows
        self._rows = rows
        self._forks = forks
        self._log = log
        self._messaging = messaging
        self._requests = requests
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._views = views
        self._telemetry = telemetry
        self._settings = settings

    async def of(self, window: Window, *, principal: Principal) -> list[Fork]:
        """Return the forks of a window, newest first."""
        return await self._forks.of_window(window, principal=principal)

    async def fork(
        self, window_id: UUID, task: Task, *, lifetime: timedelta, principal: Principal, request: Request | None
    ) -> Forked:
        """Fork a window: give a task its own context and window.

        Args:
            window_id: The id of the parent window.
            task: The task of the fork, with its prompt and tools.
            lifetime: The lifetime of the API key for the fork's context.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            ContextClosed: the context of the window is closed.
            BudgetTooSmall: the prompt, the tools, the task and the inherited state do not fit into the limit.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field is too large, or the context has too many forks, or they are too deep.
            PermissionDenied: the caller may not fork the window.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        check_long_text("task", task.text, size_bytes_max=GOAL_BYTES_MAX, required=True)
        if not task.text.strip():
            raise InvalidArgument("task must not be blank", field="task")
        principal = principal.without_admin()
        window = await self._current(window_id, task.inherits, principal)
        context = await self._log.read(window.context_id, principal=principal)
        if context is None:
            raise window_not_found(window_id)
        if not await self._settings.may_use_models(context.context_id, principal=principal):
            # The fork has other agents than its parent, and inherits text that the parent's agents wrote.
            context = replace(context, models=OFF)
        if not await self._settings.is_findable(context.context_id, principal=principal):
            context = replace(context, is_findable=False)
        if len(context.ancestors) > DEPTH_MAX:
            raise LimitExceeded(
                f"forks must be nested at most {DEPTH_MAX} deep, as this window is already; fork one of its ancestors",
                limit="fork_depth",
                limit_max=DEPTH_MAX,
                value=DEPTH_MAX + 1,
            )
        window_input = await self._windows.prepare(_opening(window, task), principal=principal)
        inherited = await self._inherited(window, task.inherits, window_input, principal)
        with self._telemetry.refusals():
            return await self._write(
                window, context, task, window_input, inherited, lifetime=lifetime, principal=principal, request=request
            )

    async def _write(
        self,
        window: Window,
        context: Context,
        task: Task,
        window_input: WindowInput,
        inherited: Inherited,
        *,
        lifetime: timedelta,
        principal: Principal,
        request: Request | None,
    ) -> Forked:
        """Write a fork with its context, window and key. A repeated request gets the first answer."""
        first = await self._messaging.prepared(MessageInput(message_id="", role="user", content=task.text), path="task")
        context_id, result, number = new_id(), None, 0

        async def hold(transaction: Transaction) -> None:
            nonlocal number
            if request:
                await self._requests.claim(transaction, request)
            await transaction.turn_to(context.context_id)
            number = await self._number(transaction, window)
            await transaction.turn_to(context_id)

        async def then(transaction: Transaction, stored_messages: Sequence[Sent]) -> None:
            nonlocal result
            fork = await self._rows.open(transaction, context_id, new_id(), window_input, created_by=principal.subject)
            fork = await self._forks.inherit(transaction, window, fork, inherited)
            await self._views.inherit(transaction, fork, inherited.conversation)
            check_room(fork, state_tokens=fork.state_tokens)
            key = None
            if principal.context_id is None:
                key = await make_context_key(transaction, principal, context_id, scopes=(), lifetime=lifetime)
            result = Forked(fork, number, key)
            if request:
                await self._requests.answer(transaction, request, result, about_id=context_id)
            await transaction.turn_to(context.context_id)
            await self._forks.add(transaction, window, number, fork)

        header = ContextInput(
            title=" ".join(task.text.split())[:_TITLE_CHARS],
            app_id=context.app_id,
            agent_bundle_id=context.agent_bundle_id,
            expires_at=context.expires_at,
            recall_profile=context.recall_profile,
            models=context.models,
            is_findable=context.is_findable,
        )
        async with self._writer_locks.hold((principal.tenant_id, context.context_id)):
            await self._log.begin(
                context_id, header, [first], principal=principal, parent=context, hold=hold, then=then, request=None
            )
        assert result, "it was written"
        return result

    async def _number(self, transaction: Transaction, window: Window) -> int:
        """Return the number of the next fork of a window, and lock the context of the window.

        Raises:
            WindowNotFound: the window or its context no longer exists.
            WindowClosed: the window is closed.
            ContextClosed: the context of the window is closed.
            LimitExceeded: the context has too many open forks.
        """
        context = await self._log.lock(transaction, window.context_id)
        locked = context and await self._rows.lock(transaction, window.context_id, window.window_id)
        if context is None or locked is None:
            raise window_not_found(window.window_id)
        if context.closed_at:
            raise ContextClosed("the context is closed; write to another one", context_id=window.context_id)
        if locked.closed_at:
            raise WindowClosed("the window is closed; open another one", window_id=window.window_id)
        number, awaited = await self._forks.next(transaction, window.context_id)
        if awaited >= FORKS_MAX:
            raise LimitExceeded(
                f"a context may have up to {FORKS_MAX} forks that are not merged; merge some, or delete their contexts",
                limit="forks",
                limit_max=FORKS_MAX,
                value=awaited + 1,
            )
        return number

    async def _current(self, window_id: UUID, inherits: Inherits, principal: Principal) -> Window:
        """Return a window. If the fork inherits its state, the window first reads its log to the end.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            Aborted: other calls changed the window at the same time, and no attempt succeeded.
        """
        if inherits is not Inherits.STATE:
            return await self._rows.find(window_id, principal=principal)
        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(
                partial(self._catching_up.read, window_id, principal=principal), what="the window"
            )

    async def _inherited(
        self, window: Window, inherits: Inherits, window_input: WindowInput, principal: Principal
    ) -> Inherited:
        """Return what a fork inherits from a window, rendered for the fork's model.

        It is the pins, or the pins, the state and the messages of users.
        """
        if inherits is Inherits.NOTHING:
            return Inherited()
        whole, newest = ((PIN, *_WHOLE), _NEWEST) if inherits is Inherits.STATE else ((PIN,), {})
        entries = await self._forks.newest(window, newest, whole=whole, principal=principal)
        result = await beside_the_loop(
            RENDERING * sum(len(entry.text) for entry in entries), _passed_on, entries, window_input
        )
        if inherits is not Inherits.STATE:
            return result
        blocks = await self._views.blocks(window, principal=principal, with_units=False)
        summaries = await self._views.summaries(window, principal=principal)
        zone = [row for row in summaries if row.level == CONVERSATION]
        size = sum(len(block.said) for block in blocks) + sum(len(row.text) for row in zone)
        return await beside_the_loop(RENDERING * size, _with_conversation, result, zone, blocks, window_input)

    async def key_again(self, context_id: UUID, principal: Principal, lifetime: timedelta) -> IssuedKey | None:
        """Issue another API key of a fork's context, for a repeated request.

        The result is None if the caller's key is bound to a context, or if the fork no longer exists.
        """
        if principal.context_id is not None:
            return None
        with suppress(ContextNotFound):
            return await self._messaging.issue_key(
                context_id, principal=principal.without_admin(), scopes=(), lifetime=lifetime
            )
        return None


def _opening(window: Window, task: Task) -> Opening:
    """Return the parameters that open the window of a task."""
    fields = orjson.loads(window.config_json)
    fields.pop("max_total_tokens", None)  # the parent's limit on the whole run stays in force
    is_same = task.model in ("", window.model)
    return Opening(
        model=task.model or window.model,
        context_tokens=task.context_tokens or (window.context_tokens if is_same else 0),
        format=window.format if is_same else None,
        system_prompt=window.system_prompt if task.system_prompt is None else task.system_prompt,
        tools_json=window.tools_json if task.tools_json is None else task.tools_json,
        goal=task.text,
        compression_profile=window.profile,
        token_budget=fields.pop("token_budget", 0),
        output_reservation=fields.pop("output_reservation", 0),
        config=fields,
    )


def _passed_on(entries: Sequence[Entry], window_input: WindowInput) -> Inherited:
    """Return the state with which a fork begins. Its entries have no refs, because refs name messages of one log."""
    own = [
        replace(
            entry,
            key=str(new_id()) if entry.section == PIN else entry.key,
            text=_REF_WITHIN.sub("", entry.text) if entry.section == "error" else entry.text,
            ref="",
            seq=0,
        )
        for entry in entries
    ]
    count = TokenCounter(window_input.tokens_family).count
    holds = [entry for entry in own if entry.section != PIN]
    state = render_state(holds, tokens_max=Limits.of(window_input.token_limit, window_input.config).state, count=count)
    text = f"[State of the work after step 0]\n{state.text}" if state.text else ""
    pieces = text_pieces(text, window_input.format)
    front = render_pins([entry for entry in own if entry.section == PIN], window_input)
    return Inherited(
        entries=own,
        state_text=text,
        state_pieces=pieces,
        state_tokens=tokens_of(pieces, window_input.format, count),
        pins_pieces=front.pieces,
        pins_tokens=front.tokens,
    )


def _with_conversation(
    result: Inherited, zone: Sequence[Summary], blocks: Sequence[FoldableBlock], window_input: WindowInput
) -> Inherited:
    """Return what a fork inherits, with the messages of users that its parent knows, cut to the share of the zone."""
    count = TokenCounter(window_input.tokens_family).count
    to = window_input.format

    def cost(text: str) -> int:
        return tokens_of(text_pieces(text, to), to, count)

    share = Limits.of(window_input.token_limit, window_input.config).conversation
    messages = [replace(message, step=0, seq=0) for message in user_messages(blocks)]
    conversation_blocks = conversation.inherited(zone, messages, share, count=count, cost=cost)
    return replace(result, conversation=[(block, text_pieces(block.text, to)) for block in conversation_blocks])
