"""Statistics of a window: how much of its log it shows, what it has cost, and what it will cost.

The statistics come from stored rows; packing itself counts nothing. The cost of the packs is computed from the steps
and the breaks of the prefix, as if there had been one pack after each step. The vendor's bills show the real cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.folding.pure.folds import Limits
from context_service.kernel.tokens import Calibration
from context_service.packing.model import Zones, zones_by
from context_service.usage.model import Usage, ZoneLevel
from context_service.usage.pure.costs import Ahead, Break, Cost, Shape, ahead, until_now
from context_service.usage.pure.prices import Prices
from context_service.usage.store.statistics import StatisticsRows
from context_service.usage.store.usage import UsageRows
from context_service.windows.model import Window
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_between

if TYPE_CHECKING:
    from context_service.windows.room import WindowRows

STEPS_MAX, STEP_TOKENS_MAX = 100_000, 10_000_000
LEVELS = ("digests", "segments", "masked", "verbatim")  # the deepest first
_BREAK_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStatistics:
    """A zone: the steps and tokens of the log that it stands for, and its own tokens."""

    zone: str
    steps: int
    log_tokens: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStatistics:
    """The statistics of a window.

    Attributes:
        zones: The tokens that the window shows, by zone.
        log_tokens: The tokens of all messages that it has read, as their context counts them.
        breaks: The breaks of its prefix, by reason.
        predicted: The cost of its packs, if there was one after each step.
        usage: The sum of the bills.
        calibration: The calibration of the counts by bills.
    """

    window: Window
    zones: Zones
    log_tokens: int
    levels: Sequence[LevelStatistics]
    breaks: Mapping[str, int]
    predicted: Cost
    usage: Usage
    calibration: Calibration

    @property
    def savings(self) -> float:
        """The share of the log, and of the head of the pack, that a pack does not send."""
        raw = self.zones.system + self.zones.pins + self.log_tokens
        return max(1 - self.zones.all / raw, 0.0) if raw else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The cost of a window's next packs, in counted tokens.

    Attributes:
        warm: The next pack, with one step more than the vendor's cache holds.
        cold: The next pack, with a cold cache.
        fold: The first pack after a fold.
        ahead: The packs of the next steps, with their folds.
        sliding: The packs of the same steps in a sliding window, which drops its older half whenever it is full.
        step_tokens: The tokens that one step adds.
        factor: The ratio of billed to counted tokens.
        prices: The prices of tokens, from the window's config.
    """

    warm: Cost
    cold: Cost
    fold: Cost
    ahead: Ahead
    sliding: Ahead
    step_tokens: int
    factor: float
    prices: Prices


class Statistics:
    """Computes the statistics of windows; each call acts for its principal.

    Args:
        windows: The store of windows.
        rows: The store of the windows' sums over zones and breaks.
        usage: The store of the windows' bills.
    """

    def __init__(self, windows: WindowRows, rows: StatisticsRows, usage: UsageRows) -> None:
        self._windows = windows
        self._rows = rows
        self._usage = usage

    async def of(self, window_id: UUID, *, principal: Principal) -> WindowStatistics:
        """Return the statistics of a window.

        Raises:
            WindowNotFound: the window does not exist.
        """
        principal = principal.without_admin()
        window = await self._windows.find(window_id, principal=principal)
        levels = await self._rows.levels(window, principal=principal)
        log_tokens, of_levels = await self._rows.log_tokens(window, levels, principal=principal)
        breaks = await self._rows.breaks(window, principal=principal)
        zones = _zones(window, levels)
        predicted = await beside_the_loop(
            _BREAK_BYTES * len(breaks), until_now, breaks, steps=window.step_count, tokens=zones.all
        )
        return WindowStatistics(
            window=window,
            zones=zones,
            log_tokens=log_tokens,
            levels=[
                LevelStatistics(zone=zone, steps=level.steps, log_tokens=of_levels[zone], tokens=level.tokens)
                for zone in LEVELS
                if (level := levels.get(zone))
            ],
            breaks=Counter(change.reason for change in breaks),
            predicted=predicted,
            usage=await self._usage.total(window, principal=principal),
            calibration=await self._usage.calibration(window, principal=principal),
        )

    async def estimate(self, window_id: UUID, steps: int, step_tokens: int, *, principal: Principal) -> Estimate:
        """Estimate the cost of a window's next packs.

        Args:
            window_id: The window whose packs are estimated.
            steps: The number of steps that are to come.
            step_tokens: The tokens of one step; 0 takes the average of the steps that the window shows verbatim.
            principal: The caller; it must be allowed to see the window.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: a number is out of range.
        """
        for name, value, most in (("steps", steps, STEPS_MAX), ("step_tokens", step_tokens, STEP_TOKENS_MAX)):
            check_between(name, value, 0, most)
        principal = principal.without_admin()
        window = await self._windows.find(window_id, principal=principal)
        levels = await self._rows.levels(window, principal=principal)
        breaks = await self._rows.breaks(window, principal=principal)
        calibration = await self._usage.calibration(window, principal=principal)
        shape = _shape(window, levels, breaks, step_tokens)
        half = Shape(
            tokens=min(shape.tokens, window.counted_limit),
            step=shape.step,
            high=window.counted_limit,
            folded=window.counted_limit // 2,
            kept=window.head_tokens,
        )
        return Estimate(
            warm=Cost(shape.tokens, shape.step),
            cold=Cost(0, shape.tokens + shape.step),
            fold=shape.fold,
            ahead=ahead(steps, shape),
            sliding=ahead(steps, half),
            step_tokens=shape.step,
            factor=calibration.typical,
            prices=window.config.prices,
        )


def _zones(window: Window, levels: Mapping[str, ZoneLevel]) -> Zones:
    return zones_by(window, {zone: level.tokens for zone, level in levels.items()})


def _shape(window: Window, levels: Mapping[str, ZoneLevel], breaks: Sequence[Break], step_tokens: int) -> Shape:
    """Return how a window grows and shrinks: as at its last folds, or else between its high and low marks."""
    limits = Limits.of(window.counted_limit, window.config)
    verbatim = levels.get("verbatim", ZoneLevel(zone="verbatim"))
    appended = sum(levels[zone].tokens for zone in ("recalled", "note") if zone in levels)
    mean = (verbatim.tokens + appended) // verbatim.steps if verbatim.steps else 0
    front = window.head_tokens + window.pins_tokens
    folds = [change for change in breaks if change.after < change.before]
    tokens_after, cached_tokens = (folds[-1].after, folds[-1].kept) if folds else (limits.low, front)
    return Shape(
        tokens=_zones(window, levels).all,
        step=max(step_tokens or mean, 1),
        high=max(limits.high, 1),
        folded=max(min(tokens_after, limits.high), 1),
        kept=cached_tokens,
    )
