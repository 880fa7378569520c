"""A pack of the newest steps alone, for a window that has read little of a long log.

Reading tens of thousands of messages takes seconds, and a model is waiting. So such a window packs its prompt, its pins
and the newest steps that fit, and is queued: a worker reads the log in the background, some messages at a time. The
packs say that the window is catching up. They have no summaries and no state, since a state of old messages alone would
show superseded values as current. Nothing of these packs is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile
from typing import TYPE_CHECKING

from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import STEP, NewBlock, ViewPart
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, limits_of
from context_service.packing.pure.body.front import front_of, front_tokens
from context_service.packing.pure.body.window_body import WindowBody
from context_service.packing.pure.costs import RENDERING, size_of
from context_service.packing.pure.steps.catch_up import CaughtUp, caught_up
from context_service.packing.pure.steps.new_blocks import new_blocks
from context_service.profiles.pure.profiles import Profile
from context_service.windows.model import Window, WindowSnapshot
from context_service.windows.pure.models import binds_reasoning
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.profiles.room import OwnProfiles

BEHIND_MAX = 2_000  # unread messages that a pack reads itself, in a second or two of CPU
_MESSAGES_AT_ONCE = 64


class NewestSteps:
    """Packs the newest steps of logs; each call acts for its principal.

    Args:
        log: The contexts that hold the messages.
        profiles: The compression profiles of windows.
    """

    def __init__(self, log: Log, *, profiles: OwnProfiles) -> None:
        self._log = log
        self._profiles = profiles

    async def window(self, snapshot: WindowSnapshot, principal: Principal) -> CaughtUpWindow | None:
        """Return a window with its newest steps and nothing else; None if the newest step alone does not fit."""
        window = replace(snapshot.window, state_pieces=(), state_tokens=0, broken_seq=snapshot.last_seq)
        messages = await self._newest(window, snapshot.last_seq, principal)
        profile = await self._profiles.of(window.profile, principal=principal)
        cost = RENDERING * size_of(messages)
        caught_up = await self._profiles.beside(
            profile, principal, cost, _body, window, profile, messages, snapshot.last_seq
        )
        if caught_up is None:
            return None
        body, steps = caught_up
        return CaughtUpWindow(
            window=window,
            body=body,
            waiting=steps.waiting,
            last_seq=snapshot.last_seq,
            packed_seq=snapshot.packed_seq,
            idle_s=snapshot.idle_s,
        )

    async def _newest(self, window: Window, last_seq: int, principal: Principal) -> list[Message]:
        """Return the newest messages, oldest first: as many as may fit, and no result without its call at the front."""
        room, seq_to = limits_of(window).high, last_seq
        newest: list[Message] = []
        while room > 0 and seq_to > 0:
            page = await self._log.page(
                window.context_id,
                principal=principal,
                seq_from=1,
                seq_to=seq_to,
                count=_MESSAGES_AT_ONCE,
                newest_first=True,
            )
            if not page:
                break
            seq_to = min(message.seq for message in page) - 1
            shown = [message for message in page if message.seq not in window.left_out]
            room -= sum(message.tokens for message in shown)
            newest += shown
        newest.sort(key=lambda message: message.seq)
        return list(dropwhile(lambda message: message.role == "tool", newest)) if seq_to > 0 else newest


def _body(
    window: Window, profile: Profile, messages: Sequence[Message], last_seq: int
) -> tuple[WindowBody, CaughtUp] | None:
    """Return the body with the newest steps that fit; None if the newest step does not fit."""
    room = limits_of(window).high - front_tokens(window)
    steps = caught_up(
        messages,
        to=window.format,
        profile=profile,
        count=TokenCounter(window.tokens_family).count,
        is_end=True,
        last_seq=last_seq,
        room=room // 2,
        bound_seq=last_seq if binds_reasoning(window.model, window.format) else None,
    )
    room -= steps.waiting.tokens if steps.waiting else 0
    blocks, _ = new_blocks(window, steps.steps, [])
    newest: list[NewBlock] = []
    for block in reversed(blocks):
        room -= block.tokens
        if room < 0:
            break
        newest.insert(0, block)
    while newest and newest[0].kind != STEP:  # a note on a step that does not fit
        newest.pop(0)
    if not newest and not steps.waiting:
        return None
    bare = WindowBody.of(window, front_of(window), [])
    pairs = [(ViewPart.of(block), block.pieces) for block in newest]
    return bare.with_blocks(pairs, block_count=window.block_count), steps
