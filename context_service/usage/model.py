"""The values of usage: bills, outcomes and zones in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The bill for calls of a model, in tokens.

    Attributes:
        calls: The number of calls of the model.
        pack_tokens: The tokens of their packs as this service counted them; 0 if the caller did not say.
        input_tokens: The tokens of the whole prompts, including cached tokens and tokens written to the cache.
        cached_tokens: The tokens that were read from the vendor's cache.
        cache_write_tokens: The tokens that were written to the vendor's cache.
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
    """The steps and tokens of one zone of a window.

    Attributes:
        zone: One of `digests`, `segments`, `masked`, `verbatim`, `recalled` and `note`.
        steps: The number of steps that the zone stands for.
        tokens: The tokens that the zone has in a pack.
        seqs: The `seq` of all messages that the zone stands for, as Postgres writes ranges: `{[1,5),[9,12)}`.
    """

    zone: str
    steps: int = 0
    tokens: int = 0
    seqs: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of steps.

    Attributes:
        step_from: The first step; 0 means only the last step.
        step_to: The last step; 0 means the last step of the window.
        is_success: The steps succeeded.
        quality: The quality from 0 to 1, or None to take it from `is_success`.
        lesson: A lesson to store as a memory, or empty.
    """

    step_from: int
    step_to: int
    is_success: bool
    quality: float | None = None
    lesson: str = ""

    @property
    def score(self) -> float:
        """The score from 0 to 1 that folds use to choose lines: 0 for failed steps, else the quality."""
        return (1.0 if self.quality is None else self.quality) if self.is_success else 0.0


class RecordedOutcome(NamedTuple):
    """The steps of an outcome, and the memory of its lesson."""

    step_from: int
    step_to: int
    memory_id: UUID | None
