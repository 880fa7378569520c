"""The values of forks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.folding.pure.summaries import Summary
from context_service.kernel.rendering import Rendered
from context_service.packing.pure.state.task_state import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A fork of a window: a part of the work with its own context and window.

    Attributes:
        number: The number of the fork in the parent context, from 1.
        context_id: The parent context.
        window_id: The parent window.
        fork_context_id: The context of the fork.
        fork_window_id: The window of the fork.
        ended_at: The time when the fork was merged or ended, or None if it is open.
        merged_seq: The `seq` of the message with its result in the parent, or 0 if it is not merged.
        merged_id: The id of this message, or an empty text.
        merged_tokens: The tokens of this message, or 0.
        is_whole: Whether the result in the parent is complete; otherwise it was cut to fit.
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
    """The state with which a forked window begins.

    Attributes:
        entries: The inherited entries of the state, and the pins.
        state_text: The text of the state as a model reads it; see `task_state.render_state`.
        conversation: The block with the users' messages of the parent, if there is one, and its rendered form.
    """

    entries: Sequence[Entry] = ()
    state_text: str = ""
    state_pieces: Sequence[Rendered] = ()
    state_tokens: int = 0
    pins_pieces: Sequence[Rendered] = ()
    pins_tokens: int = 0
    conversation: Sequence[tuple[Summary, Sequence[Rendered]]] = ()
