"""Prefetch: the names of the things at hand, so that passages about them are recalled ahead of need.

First come the names in the open parts of the goal, then those that the last steps mention most. Values in, values out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from context_service.packing.pure.texts.tallies import AFTER_NAMES
from context_service.packing.pure.texts.units import names_of

STEPS = 10  # the number of last steps whose names count
NAMES_MAX = 8
TOKENS_MAX, TOKENS_SHARE = 500, 128  # of the recalled passages; at most 1/128 of the limit


def at_hand(goals: Iterable[str], steps: Iterable[Collection[str]]) -> list[str]:
    """Return the names of the things that the work is about: first those in goals, then the most mentioned.

    Args:
        goals: The texts of open sub-goals, newest first.
        steps: For each of the last steps, the names that it mentions.
    """
    often = Counter(name.rstrip(AFTER_NAMES) for names in steps for name in names)
    goal_names = (name.rstrip(AFTER_NAMES) for goal in goals for name in sorted(names_of(goal)))
    return list(dict.fromkeys([*goal_names, *sorted(often, key=lambda name: (-often[name], name))]))[:NAMES_MAX]
