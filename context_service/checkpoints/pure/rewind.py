"""Finds the step to which a window returns when messages are retracted: the last step before them that did not change.

A fold may have taken words from any step before it. If a retracted message may be in a fold, the window is made again
from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class StepPlace(NamedTuple):
    """A step that a window shows, and the places of its messages."""

    number: int  # the number of the step's block
    step: int
    seq_from: int
    seq_to: int


class Rewound(NamedTuple):
    """The parts of a window that stay: blocks below `number`, which come from messages below `seq`."""

    number: int
    step: int  # the first that is gone
    seq: int


def rewound(steps: Sequence[StepPlace], seq: int, *, folded_step: int, seq_folded: int, end: Rewound) -> Rewound | None:
    """Return the place to which a window is rewound, or None for the beginning.

    Messages of a step may be between those of others, such as a late result: the place is one where no step has
    messages on both sides.

    Args:
        steps: The steps that the window shows, in their order.
        seq: The place of the first retracted message.
        folded_step: The number of the last step at the time of the last fold.
        seq_folded: The place of the last message that summaries cover.
        end: The result if no shown step is affected: the place after all steps.
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
