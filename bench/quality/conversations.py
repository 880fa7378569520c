"""A conversation, and questions whose answers are in it: the data that a searcher is measured on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from context_service.kernel.parts import Part


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    id: str
    text: str
    session: int
    said_at: datetime
    author: str = ""
    role: str = "user"
    kind: str = "text"  # "text", "tool_call" or "tool_result"
    part: Part | None = None  # what the text was made of, if it is more than a text

    @property
    def indexed(self) -> str:
        """The text that the search index sees: the speaker and the message."""
        return f"{self.author}: {self.text}" if self.author else self.text


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, and the turns that answer it."""

    text: str
    kind: str
    evidence: frozenset[str]  # ids of turns


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The messages of one context, and questions about them."""

    name: str
    turns: Sequence[Turn]
    asked: Sequence[Asked] = field(default=())


# Given a conversation, what answers a question of it: ids of turns, the best first.
Ask = Callable[[str], Sequence[str]]
Searcher = Callable[[Conversation], Ask]
