"""Prices of tokens: read from a vendor's cache, written to it, and of an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Of a token each, in one unit: dollars a million, or by default what one costs that is not in the cache.

    Attributes:
        input: Of a prompt, when no cache is asked.
        cache_write: Of a prompt, written to the cache.
        cache_read: Of a prompt, read from the cache.
        output: Of an answer.
    """

    input: float = 1.0
    cache_write: float = 1.25
    cache_read: float = 0.1
    output: float = 5.0


DEFAULT = Prices()


def pays_after(tokens: int, removed: int, prices: Prices = DEFAULT) -> int:
    """Return after how many steps a break of the cache has paid; -1: never.

    Of D tokens that are removed from a prompt of X, the next prompt writes X - D at the price of `cache_write`, where
    it would have read X, and each one reads D fewer: `(write (X - D) - read X) / (read D)` steps.

    Args:
        tokens: Of the prompt, from where it breaks on.
        removed: Of them, those that are gone.
        prices: Of a token.
    """
    gained = prices.cache_read * removed
    lost = prices.cache_write * (tokens - removed) - prices.cache_read * tokens
    if removed <= 0 or (gained <= 0 < lost):
        return -1
    return max(math.ceil(lost / gained), 0) if gained else 0
