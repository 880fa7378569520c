"""What a backfill did: of whatever is owed behind a write, for what was written before that was owed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """How far it is."""

    to_do: int = 0  # what lacked something when it began
    owed: int = 0  # of which that is owed now, or made already
    databases_away: tuple[str, ...] = ()  # that do not answer: what lacks something there is not known

    def __add__(self, other: Backfilled) -> Backfilled:
        return Backfilled(
            to_do=self.to_do + other.to_do,
            owed=self.owed + other.owed,
            databases_away=tuple(sorted({*self.databases_away, *other.databases_away})),
        )
