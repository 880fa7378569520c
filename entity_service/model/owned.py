"""Counts of the rows that a user owns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The counts of the rows that a user owns, or of the rows that an erasure has removed."""

    nodes: int
    edges: int
    answers: int
    names: int
    finished_at: datetime | None
