"""Values of summaries for prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of a user, by its header."""

    context_id: UUID
    title: str
    updated_at: datetime
    message_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """A message that a user sent in a conversation."""

    context_id: UUID
    seq: int
    speaker: str  # such as "user Ann", from `quotation.speaker_of`
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UserContextLine:
    """A line of the text about a user.

    Attributes:
        section: `commitment`, `memory`, `conversation` or `said`.
        ref: The ref of the line in the text, such as `k2` for a memory, `c1` or `c1.m4`.
        text: The quoted text.
        author: The speaker, such as `user Ann`; `memory` for a memory, and empty for a title.
        stated_at: The time of the message, or the time since which a memory holds.
        memory_id: The memory, or None.
        context_id: The conversation of the message, or the one that taught the memory; empty if there is none.
        message_ref: The ref of the message in that conversation; empty if there is none.
    """

    section: str
    ref: str
    text: str
    author: str
    stated_at: datetime
    memory_id: UUID | None = None
    context_id: str = ""
    message_ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserContext:
    """The text about a user for a prompt."""

    text: str  # empty if there is nothing to quote, or if no line fits
    tokens: int
    lines: Sequence[UserContextLine]
    left_out_count: int  # the number of memories that have no room


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSummary:
    """Where a conversation stands, as one text for a prompt."""

    text: str
    tokens: int
    seq_from: int  # the first and the last message that was read
    seq_to: int
    left_out_count: int  # the number of statements that have no room
