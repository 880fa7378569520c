"""Calibration of token counts: the ratios of billed to counted tokens of recent bills, and the factors from them."""

from __future__ import annotations

from dataclasses import dataclass

RATIOS_MAX = 128  # bills that are remembered
_PART = 10_000  # ratios are kept as whole multiples of 1/10,000
# With a ratio outside of this range, a bill includes something that was not counted: pictures, hidden reasoning.
_RATIO_MIN, _RATIO_MAX = 0.5, 2.0
_DOUBT = 20  # with fewer bills, each missing bill counts as a ratio of 1
_BUDGET_PERCENT, _TYPICAL_PERCENT = 95, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The ratios of billed to counted tokens, of the last bills.

    Both factors are empirical quantiles of the ratios by nearest rank (definition 1 of Hyndman and Fan, Sample
    Quantiles in Statistical Packages, 1996): a factor is always a ratio that a bill had, and the same bills give the
    same factor everywhere. While there are fewer than twenty bills, each missing one counts as a ratio of 1. So one
    bill alone changes nothing, two high bills make budgets careful, and it takes nineteen low ones to make budgets
    larger.
    """

    ratios: tuple[int, ...] = ()  # in parts of 10,000, the newest last

    @property
    def factor(self) -> float:
        """The factor that makes a count no less than the bill in 95 of 100 cases; from 0.5 to 2."""
        return self._quantile(_BUDGET_PERCENT)

    @property
    def typical(self) -> float:
        """The factor that makes a count the expected bill: half of the bills are higher."""
        return self._quantile(_TYPICAL_PERCENT)

    def after(self, *, counted_tokens: int, billed: int) -> Calibration:
        """Return the calibration after one more bill.

        Args:
            counted_tokens: The tokens counted before any calibration; above 0.
            billed: The number of tokens on the vendor's bill.
        """
        bounded = min(max(billed / counted_tokens, _RATIO_MIN), _RATIO_MAX)
        return Calibration(ratios=(*self.ratios, round(bounded * _PART))[-RATIOS_MAX:])

    def _quantile(self, percent: int) -> float:
        known = sorted([*self.ratios, *[_PART] * (_DOUBT - len(self.ratios))])
        return known[-(-len(known) * percent // 100) - 1] / _PART


def is_believed(*, counted_tokens: int, billed: int) -> bool:
    """Return whether a bill is plausible; if not, the nearest plausible ratio is used instead."""
    return _RATIO_MIN * counted_tokens <= billed <= _RATIO_MAX * counted_tokens


def calibrated(counted_tokens: int, factor: float) -> int:
    """Return the most tokens that a bill is expected to have for a number of counted tokens."""
    return -(-counted_tokens * _parts(factor) // _PART)


def countable(limit: int, factor: float) -> int:
    """Return how many tokens may be counted so that no more than `limit` is billed, as `calibrated` computes it."""
    return limit * _PART // _parts(factor)


def _parts(factor: float) -> int:
    return round(factor * _PART)  # whole numbers, so that `calibrated` and `countable` agree without rounding errors
