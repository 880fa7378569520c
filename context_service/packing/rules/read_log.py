"""Reading the log of a window: read the next messages, cut them into steps, render the steps and count their tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.kernel.files.models import media_model
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.body.front import front_tokens
from context_service.packing.pure.costs import RENDERING, size_of
from context_service.packing.pure.state.task_state import Entry
from context_service.packing.pure.steps.catch_up import CaughtUp, caught_up
from context_service.packing.pure.steps.step import cut
from context_service.packing.rules.plugins import Extracting
from context_service.profiles.pure.profiles import Profile
from context_service.windows.model import Window, WindowSnapshot, window_not_found
from context_service.windows.pure.models import binds_reasoning
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.profiles.room import OwnProfiles

MESSAGES_AT_ONCE = 256  # the most messages that one query reads when a window catches up


class ReadMessages(NamedTuple):
    """The next messages of a log, as steps."""

    steps: CaughtUp | None  # None if the window has read all messages already
    is_end: bool  # the log has no message after these


class LogReading:
    """Reads the messages of logs as steps; each call acts for its principal.

    Args:
        log: The contexts that hold the messages.
        profiles: The compression profiles of windows.
        extracting: An extension that reads the state from messages, or None if rules do.
    """

    def __init__(self, log: Log, *, profiles: OwnProfiles, extracting: Extracting | None = None) -> None:
        self._log = log
        self._profiles = profiles
        self._extracting = extracting

    async def read(self, snapshot: WindowSnapshot, principal: Principal) -> ReadMessages:
        """Return the next steps of a window: at least one whole step, or all up to the end of the log.

        Raises:
            WindowNotFound: the window's context no longer exists.
        """
        window, last_seq = snapshot.window, snapshot.last_seq
        if last_seq <= window.reached_seq:
            return ReadMessages(None, True)
        messages, is_end = list(snapshot.following), True
        if not messages:
            messages, is_end = await self._messages(window, last_seq, principal)
        profile = await self._profiles.of(window.profile, principal=principal)
        statements = await self._extracting.entries(messages) if self._extracting else None
        cost = RENDERING * size_of(messages)
        steps = await self._profiles.beside(
            profile, principal, cost, _steps, window, profile, messages, is_end, last_seq, statements
        )
        return ReadMessages(steps, is_end)

    async def _messages(self, window: Window, last_seq: int, principal: Principal) -> tuple[list[Message], bool]:
        """Return the next messages, at least one whole step of them, and whether they reach `last_seq`."""
        messages: list[Message] = []
        seq_from, seq_to = window.left_out.stretch(window.reached_seq + 1, last_seq)
        while seq_from <= seq_to:
            page = await self._log.page(
                window.context_id,
                principal=principal,
                seq_from=seq_from,
                seq_to=seq_to,
                count=MESSAGES_AT_ONCE,
                newest_first=False,
            )
            if page is None:
                raise window_not_found(window.window_id)
            messages += page
            # An empty page means that all messages up to `seq_to` are retracted.
            seq_from, seq_to = window.left_out.stretch(page[-1].seq + 1 if page else seq_to + 1, last_seq)
            if seq_from <= seq_to and await beside_the_loop(size_of(messages), _has_whole_step, messages):
                return messages, False
        return messages, True


def _has_whole_step(messages: Sequence[Message]) -> bool:
    """Say whether messages have a closed step, so that a window can make progress with them."""
    return bool(cut(messages, is_end=False).closed)


def _steps(
    window: Window,
    profile: Profile,
    messages: Sequence[Message],
    is_end: bool,
    last_seq: int,
    statements: Mapping[int, Sequence[Entry]] | None,
) -> CaughtUp:
    """Cut messages into steps, with the window's format, profile and tokenizer.

    A step that waits for results may use at most half of the tokens that remain after the front of the pack.
    """
    return caught_up(
        messages,
        to=window.format,
        profile=profile,
        count=TokenCounter(window.tokens_family).count,
        is_end=is_end,
        last_seq=last_seq,
        media=media_model(window.model, window.format),
        room=(window.counted_limit - front_tokens(window)) // 2,
        entries_by_seq=statements,
        speakers=window.speakers,
        bound_seq=window.broken_seq if binds_reasoning(window.model, window.format) else None,
        rule_authors=window.config.rule_authors,
    )
