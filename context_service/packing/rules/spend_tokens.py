"""Spending tokens: all packs of a window, or of its run, together may have at most a number of tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from context_service.contexts.room import Log
from context_service.packing.model import Pack
from context_service.windows.model import SpentTokens
from contextkeep.errors import TokensSpent
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.windows.room import WindowRows

WRAP_UP_SHARE = 0.9  # of the tokens that packs may have together


async def spend_tokens(rows: WindowRows, log: Log, pack: Pack, principal: Principal) -> Pack:
    """Count the tokens of a pack, and return the pack, with `wraps_up` set if few tokens are left.

    A pack whose last step waits for results is not counted, because no model gets it.

    Raises:
        TokensSpent: with this pack the window, or its run, would exceed its limit of tokens.
    """
    window, tokens = pack.window, pack.zones.all
    counted_tokens = 0 if pack.is_waiting else tokens

    async def work(transaction: Transaction) -> SpentTokens | None:
        return await rows.spend(transaction, window, counted_tokens, last_seq=pack.last_seq)

    budget = await log.of(principal, window.context_id).transaction(work)
    if budget is None:
        return pack
    if budget.is_over:
        raise TokensSpent(
            f"packs may have {budget.tokens_max} tokens together; so far they have {budget.tokens}, and this one "
            f"has {tokens}",
            spent_tokens=budget.tokens,
            tokens=tokens,
            max_total_tokens=budget.tokens_max,
        )
    next_tokens = min(2 * tokens, window.token_limit)  # the next pack may have a long result
    wraps_up = budget.tokens >= WRAP_UP_SHARE * budget.tokens_max or budget.tokens + next_tokens > budget.tokens_max
    return replace(pack, wraps_up=wraps_up)
