"""What a window is told of its folds and of what it may cost: numbers, each with a default.

What was said is kept as it was said, so that an update changes what it names and no more. It holds from the next fold
on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, TypeVar

import orjson

from context_service.windows.importance import Weights
from context_service.windows.prices import Prices
from contextkeep.errors import InvalidArgument

KEEP_LAST_STEPS, SEGMENT_STEPS = 10, 20
STEPS_MAX = 1_000  # of either
HIGH_MARK, LOW_MARK = 0.97, 0.50
HIGH_MARK_MIN = 0.1  # under it every pack would fold
PRICE_MAX = 1_000_000
TOTAL_TOKENS_MAX = 10**15

_ROUNDING = 1e-9  # 0.7 + 0.2 + 0.1 is less than 1, and others are more
_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Of a window's limit, that a fold leaves to a zone at most: together up to 1. `tier_ratios` for callers."""

    hot: float = 0.40
    segments: float = 0.14
    digests: float = 0.14
    state: float = 0.07


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How a window folds, and what it may cost.

    Attributes:
        weights: Of what makes a line worth keeping: `importance_weights` for callers.
        shares: See `Shares`.
        high_mark: Share of the limit over which it folds.
        low_mark: Share of the limit to which it folds.
        keep_last_steps: Steps that a fold leaves as they are, if they have room.
        segment_steps: Of one segment: `summarize_every_n_steps` for callers.
        prices: Of tokens, for accounts and estimates.
        total_tokens_max: That its packs may have together: `max_total_tokens` for callers; 0: any.
    """

    weights: Weights = Weights()
    shares: Shares = Shares()
    high_mark: float = HIGH_MARK
    low_mark: float = LOW_MARK
    keep_last_steps: int = KEEP_LAST_STEPS
    segment_steps: int = SEGMENT_STEPS
    prices: Prices = Prices()
    total_tokens_max: int = 0


DEFAULT = Config()


def config_of(said: Mapping[str, Any]) -> Config:
    """Return a config: what was said of it, by the names that callers use, and the defaults.

    Raises:
        InvalidArgument: a number cannot be, or two contradict each other; it names the field.
    """
    shares = Shares(**_group("tier_ratios", Shares, said, most=1))
    if sum(getattr(shares, field.name) for field in fields(shares)) > 1 + _ROUNDING:
        raise InvalidArgument("the shares of config.tier_ratios are over 1 together", field="config.tier_ratios")
    weights = Weights(**_group("importance_weights", Weights, said, most=1))
    if not any(getattr(weights, field.name) for field in fields(weights)):
        raise InvalidArgument("all of config.importance_weights are 0", field="config.importance_weights")
    config = Config(
        weights=weights,
        shares=shares,
        high_mark=_number("high_mark", said.get("high_mark", HIGH_MARK), HIGH_MARK_MIN, 1),
        low_mark=_number("low_mark", said.get("low_mark", LOW_MARK), 0, 1),
        keep_last_steps=_number("keep_last_steps", said.get("keep_last_steps", KEEP_LAST_STEPS), 1, STEPS_MAX),
        segment_steps=_number(
            "summarize_every_n_steps", said.get("summarize_every_n_steps", SEGMENT_STEPS), 1, STEPS_MAX
        ),
        prices=Prices(**_group("prices", Prices, said, most=PRICE_MAX)),
        total_tokens_max=_number("max_total_tokens", said.get("max_total_tokens", 0), 0, TOTAL_TOKENS_MAX),
    )
    if config.low_mark >= config.high_mark:
        raise InvalidArgument(
            f"config.low_mark, {config.low_mark:g}, is not below config.high_mark, {config.high_mark:g}",
            field="config.low_mark" if "low_mark" in said else "config.high_mark",
        )
    return config


def stored(said: Mapping[str, Any]) -> str:
    """Return what was said, as it is kept."""
    return orjson.dumps(dict(said), option=orjson.OPT_SORT_KEYS).decode()


@lru_cache(maxsize=1024)
def loaded(text: str) -> Config:
    """Return the config that `stored` wrote."""
    return config_of(orjson.loads(text))


def _group(name: str, of: type, said: Mapping[str, Any], *, most: float) -> dict[str, float]:
    """Return what was said of a group of numbers, such as the weights."""
    group = said.get(name, {})
    names = [field.name for field in fields(of) if field.name in group]
    return {one: _number(f"{name}.{one}", group[one], 0, most) for one in names}


def _number(name: str, value: _N, least: float, most: float) -> _N:
    if not (math.isfinite(value) and least <= value <= most):
        raise InvalidArgument(f"config.{name} is not from {least:g} to {most:,}", field=f"config.{name}")
    return value
