"""Prices of tokens: of prompts with and without a vendor's cache, and of answers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of tokens, all in one unit.

    Callers give dollars for a million tokens. By default the unit is the price of one input token without a cache.

    Attributes:
        input: The price of a prompt's token if no cache is used.
        cache_write: The price of a prompt's token that is written to the cache.
        cache_read: The price of a prompt's token that is read from the cache.
        output: The price of a token of the answer.
    """

    input: float = 1.0
    cache_write: float = 1.25
    cache_read: float = 0.1
    output: float = 5.0


DEFAULT = Prices()


def pays_after(tokens: int, removed_tokens: int, prices: Prices = DEFAULT) -> int:
    """Return after how many steps a fold has saved the cost of the broken cache; -1 if it never does.

    If a fold removes D of X tokens, the next prompt writes X - D tokens to the cache, where it would have read X. Each
    later prompt reads D tokens fewer. So the fold pays after `(write (X - D) - read X) / (read D)` steps.

    Args:
        tokens: The tokens of the prompt after the place where the cache breaks.
        removed_tokens: The tokens of these that the fold removes.
        prices: The prices of cached and other tokens.
    """
    gained = prices.cache_read * removed_tokens
    loss = prices.cache_write * (tokens - removed_tokens) - prices.cache_read * tokens
    if removed_tokens <= 0 or (gained <= 0 < loss):
        return -1
    return max(math.ceil(loss / gained), 0) if gained else 0
