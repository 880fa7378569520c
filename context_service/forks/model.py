"""The values of forks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.kernel.rendering import Rendered
from context_service.packing.pure.task_state import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What was forked from a window.

    Attributes:
        number: From 1, of the context that it was forked from.
        context_id: What it was forked from, and which window there.
        fork_context_id: Its own, and the window there that was opened with it.
        ended_at: Since when nothing of it is awaited; None: it is.
        merged_seq: The message that its result came back as; 0: it did not.
        is_whole: All that there was to bring back had room.
    """

    number: int
    context_id: UUID
    window_id: UUID
    fork_context_id: UUID
    fork_window_id: UUID
    created_at: datetime
    ended_at: datetime | None
    merged_seq: int
    merged_id: str
    merged_tokens: int
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What a window begins with that was forked.

    Attributes:
        entries: Of its state, and its pins.
        state_text: As a model reads it: see `task_state.shown`.
    """

    entries: Sequence[Entry] = ()
    state_text: str = ""
    state_pieces: Sequence[Rendered] = ()
    state_tokens: int = 0
    pins_pieces: Sequence[Rendered] = ()
    pins_tokens: int = 0
