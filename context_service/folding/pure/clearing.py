"""Steps that folds leave in view because the profile says so for their tools, with `keep_last` or `never_clear`.

All of these steps together may use a quarter of the window's limit; the newest are kept first. Steps of these tools
that have no room are masked and merged like all other steps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from context_service.folding.pure.folds import FoldableBlock, KeptSteps
from context_service.profiles.pure.profiles import Clearing

KEPT_SHARE = 0.25  # the share of the limit that these steps may use


def kept_steps(blocks: Sequence[FoldableBlock], clearing_of: Callable[[str], Clearing], *, limit: int) -> KeptSteps:
    """Return the steps that a fold leaves in view because of their tools.

    Args:
        blocks: The blocks of a window, the oldest first.
        clearing_of: Returns the profile's rules for clearing the calls and results of a tool.
        limit: The tokens that a request may have.
    """
    room = math.floor(KEPT_SHARE * limit)
    counts_by_tool: Counter[str] = Counter()
    whole: set[int] = set()
    masked_steps: set[int] = set()
    for block in reversed(blocks):
        rules = {tool: clearing_of(tool) for tool in block.tools}
        is_newest = any(counts_by_tool[tool] < rule.keep_last for tool, rule in rules.items())
        counts_by_tool.update(rules.keys())
        if not (is_newest or any(rule.never_clear for rule in rules.values())):
            continue
        size = block.tokens if is_newest else block.masked_tokens
        if size <= room:
            room -= size
            (whole if is_newest else masked_steps).add(block.number)
    return KeptSteps(frozenset(whole), frozenset(masked_steps))
