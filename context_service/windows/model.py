"""The values of windows: a window, its input, and how far it has read its log.

A window is a view of a context's log that fits into the context of a model. Its packs are requests to the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from context_service.checkpoints.pure.left_out import LeftOut
from context_service.contexts.model import Message
from context_service.kernel.rendering import Format, Rendered
from context_service.kernel.tokens import countable
from context_service.windows.pure.config import Config
from context_service.windows.pure.config import parse_config as loaded_config
from contextkeep.errors import WindowNotFound

UNREAD = -1  # in place of a number of retracted messages: the window has not read its log in this installation


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The input of a caller for a new window. Empty or 0 takes the known value of the model, or the default."""

    model: str
    context_tokens: int = 0
    format: Format | None = None
    system_prompt: str = ""
    tools_json: str = ""
    goal: str = ""
    compression_profile: str = ""  # a name, or a name and a version: `mine@3`
    token_budget: float = 0.0
    output_reservation: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)  # the fields that the caller gave: see `config_of`


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowInput:
    """The input for a new window: its prompt, its model and how it folds."""

    model: str
    format: Format
    tokens_family: str
    context_tokens: int
    token_limit: int
    head_tokens: int
    system_prompt: str
    tools_json: str
    goal: str
    profile: str
    config_json: str  # only the fields that the caller gave

    @property
    def config(self) -> Config:
        """The parsed config: the numbers that control folds and cost."""
        return loaded_config(self.config_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(WindowInput):
    """A window as it is stored.

    Attributes:
        epoch: The number of breaks of the window's prefix: changes after which packs no longer repeat earlier packs.
        reached_seq: The `seq` of the last message that the window has read.
        retracted_count: The number of retracted messages of the log when the window last took them into account.
            `UNREAD` for an imported window that has not read its log here.
        first_number: The number of steps that summaries stand for.
        left_out_tokens: The tokens that these steps had.
        block_count: The number of blocks since the window last read its log from the start, including dropped blocks.
        entry_count: The number of entries that the state ever had.
        step_count: The number of steps.
        folded_step: The number of steps at the time of the last fold.
        state_pieces: The rendered state, as the last fold wrote it. Empty in a list of windows.
        pins_pieces: The rendered pins. Empty in a list of windows.
        spent_tokens: The tokens of all packs since the config limits them.
        token_factor: Counted tokens times this are the most that a vendor is expected to bill: see
            `tokens.Calibration`.
        has_untold: Callers changed the state, and no note has told the model yet.
        checkpoint_step: The number of steps at the last checkpoint that was due by the number of steps.
        rolled_back_epoch: The epoch of the last rollback. 0 if there was none.
        left_out: The messages that rollbacks left out.
        broken_seq: The last message of the log when the prefix broke last, or when the window was opened.
        speakers: The first two speakers of each role, from `quotation.speaker_of`.
        is_of_run: The window is a fork, and its tokens also count for the first window of the run.
    """

    window_id: UUID
    context_id: UUID
    epoch: int
    reached_seq: int
    retracted_count: int
    first_number: int
    block_count: int
    entry_count: int
    left_out_tokens: int
    step_count: int
    folded_step: int
    state_tokens: int
    state_pieces: tuple[Rendered, ...]
    pins_tokens: int
    pins_pieces: tuple[Rendered, ...]
    spent_tokens: int
    has_untold: bool
    checkpoint_step: int
    rolled_back_epoch: int
    left_out: LeftOut
    owner_user_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None
    token_factor: float
    is_of_run: bool
    broken_seq: int
    speakers: tuple[str, ...]
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names

    @property
    def counted_limit(self) -> int:
        """`token_limit` in tokens as this service counts them, which differ from the tokens that vendors bill."""
        return countable(self.token_limit, self.token_factor)


class WindowContext(NamedTuple):
    """The context of a window."""

    context_id: UUID
    learns: bool  # the service counts which hidden texts are looked up in the window


class SpentTokens(NamedTuple):
    """The tokens that the packs of a window, or of a run of forks, have had together, and their limit."""

    tokens: int
    tokens_max: int
    is_over: bool  # the pack has more tokens than are left, so it was not counted


class WindowSnapshot(NamedTuple):
    """A window, and the log that it reads, at one time."""

    window: Window
    last_seq: int  # the `seq` of the last message of the log
    retracted_count: int  # the number of retracted messages of the log
    following: list[Message]  # the messages that the window has not read yet, if they are few and small; else empty
    packed_seq: int  # the last message of the log when the window was packed last for a model
    idle_s: float | None  # seconds since that pack, by the database's clock; None if there was no pack yet


def window_not_found(window_id: UUID) -> WindowNotFound:
    """Return the error for a window that does not exist or that the caller may not see."""
    return WindowNotFound(f"window {window_id} does not exist", window_id=window_id)
