"""Prefetch: which things are at hand, so that what they were last used with is recalled before somebody asks for it.

Those that the open sub-goals name, then those that the last steps speak of most. Values in, values out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from context_service.packing.pure.tallies import AFTER_NAMES
from context_service.packing.pure.units import names_of

STEPS = 10  # the last ones
NAMES_MAX = 8
TOKENS_MAX, TOKENS_SHARE = 500, 128  # that are recalled for it, and no larger part of the limit than one in so many


def at_hand(goals: Iterable[str], steps: Iterable[Collection[str]]) -> list[str]:
    """Return the names of the things at hand.

    Args:
        goals: What the open sub-goals say, the newest first.
        steps: What the last steps speak of.
    """
    often = Counter(name.rstrip(AFTER_NAMES) for names in steps for name in names)
    named = (name.rstrip(AFTER_NAMES) for goal in goals for name in sorted(names_of(goal)))
    return list(dict.fromkeys([*named, *sorted(often, key=lambda name: (-often[name], name))]))[:NAMES_MAX]
