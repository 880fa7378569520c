"""What a vendor bills beside what we count."""

from __future__ import annotations

from dataclasses import dataclass

_DOUBT_TOKENS = 2_000  # as if so many had been billed as they were counted: one short message moves nothing
_MEMORY_TOKENS = 500_000  # older bills count less: half, behind so many
_FACTOR_MIN, _FACTOR_MAX = 0.5, 2.0  # beyond them a bill is for something else: pictures, hidden reasoning, a cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How counts become what is billed: learned from bills, newer ones first."""

    counted: float = 0.0
    billed: float = 0.0

    @property
    def factor(self) -> float:
        """What a count is multiplied by; 1 where nothing was billed yet."""
        factor = (self.billed + _DOUBT_TOKENS) / (self.counted + _DOUBT_TOKENS)
        return min(max(factor, _FACTOR_MIN), _FACTOR_MAX)

    def after(self, *, counted: int, billed: int) -> Calibration:
        """Return what is known after one more bill.

        Args:
            counted: What was counted, before any calibration. 0 or less says nothing.
            billed: What the vendor says it was. 0 or less says nothing.
        """
        if counted <= 0 or billed <= 0:
            return self
        # One bill weighs no more than all of memory, so that no single one decides.
        weight = min(1.0, _MEMORY_TOKENS / counted)
        keeps = 0.5 ** (counted * weight / _MEMORY_TOKENS)
        bounded = min(max(billed, counted * _FACTOR_MIN), counted * _FACTOR_MAX)
        return Calibration(
            counted=self.counted * keeps + counted * weight,
            billed=self.billed * keeps + bounded * weight,
        )
