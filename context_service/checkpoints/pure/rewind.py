"""Where a window goes back to when messages are retracted: to the steps in front of them, if those stand as they were.

What a fold made may hold words of any step in front of it: then all is made anew from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class StepPlace(NamedTuple):
    """A step that a window shows, and its messages."""

    number: int  # of its block
    step: int
    seq_from: int
    seq_to: int


class Rewound(NamedTuple):
    """What stays: blocks in front of `number`, which are of messages in front of `seq`."""

    number: int
    step: int  # the first that is gone
    seq: int


def rewound(steps: Sequence[StepPlace], seq: int, *, folded_step: int, seq_folded: int, end: Rewound) -> Rewound | None:
    """Return the place to which a window is rewound, or None for the beginning.

    Messages of a step may be between those of others, such as a late result: the place is one where no step has
    messages on both sides.

    Args:
        steps: The shown steps, in their order.
        seq: The first retracted message.
        folded_step: The last step at the last fold.
        seq_folded: The last message that summaries cover.
        end: The place after all steps, if no step is affected.
    """
    first = next((place for place, one in enumerate(steps) if one.seq_to >= seq), None)
    if first is None:
        return end if seq > seq_folded else None
    while True:
        border = min(step.seq_from for step in steps[first:])
        crossing = next((place for place in range(first) if steps[place].seq_to >= border), None)
        if crossing is None:
            break
        first = crossing
    if steps[first].step <= folded_step or border <= seq_folded:
        return None
    return Rewound(steps[first].number, steps[first].step, border)
