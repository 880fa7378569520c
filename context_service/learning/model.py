"""Values of learning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class StatementKind(StrEnum):
    """The kind of a statement, which becomes the kind of its memory."""

    FACT = "fact"
    PREFERENCE = "preference"
    EVENT = "event"
    COMMITMENT = "commitment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """The words of a user or an assistant in a message, without tools' results, data and files."""

    seq: int
    is_user: bool
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence that a user stated or confirmed, and that stands alone."""

    kind: StatementKind
    text: str
    seq: int  # of the message that states or confirms it
    said_at: datetime
    label: str = "learned"  # how it was found: the label of its memory's source
    replaces: UUID | None = None  # the memory that it replaces or ends
