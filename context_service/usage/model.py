"""The values of usage: bills, outcomes and zones in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The bill for calls of a model, in tokens.

    Attributes:
        calls: The number of calls.
        pack_tokens: The counted tokens of their packs; 0 if the caller did not say.
        input_tokens: The tokens of the whole prompts, with the next two.
        cached_tokens: The tokens that were read from the vendor's cache.
        cache_write_tokens: The tokens that were written to it.
        output_tokens: The tokens of the answers.
    """

    calls: int = 0
    pack_tokens: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneLevel:
    """What a zone of a window shows.

    Attributes:
        zone: Of `digests`, `segments`, `masked`, `verbatim`, `recalled` and `note`.
        steps: That it stands for.
        tokens: As they are seen.
        seq_from: Of the log that it stands for, to `seq_to`; 0: of none.
    """

    zone: str
    steps: int = 0
    tokens: int = 0
    seq_from: int = 0
    seq_to: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How steps ended.

    Attributes:
        step_from: The first one; 0: the last, alone.
        step_to: The last one; 0: the last that the window has.
        is_success: Whether they did what they were for.
        quality: How well, from 0 to 1; None: as `is_success` has it.
        lesson: What was learned, to be remembered; empty: nothing is.
    """

    step_from: int
    step_to: int
    is_success: bool
    quality: float | None = None
    lesson: str = ""

    @property
    def score(self) -> float:
        """What a fold makes of it: nothing of what failed, however well."""
        return (1.0 if self.quality is None else self.quality) if self.is_success else 0.0


class Lesson(NamedTuple):
    """A lesson of a window, and its place."""

    text: str
    goal: str
    is_success: bool
    quality: float | None
    context_id: UUID
    app_id: str
    agent_bundle_id: str


class RecordedOutcome(NamedTuple):
    """The steps of an outcome, and the memory of its lesson."""

    step_from: int
    step_to: int
    memory_id: UUID | None
