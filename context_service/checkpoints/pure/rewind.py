"""Finds the step to which a window returns when messages are retracted: the last step before the retracted messages.

The summaries of a fold may quote any earlier step. So if a fold may have read a retracted message, the window must read
its log again from the beginning.
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
    """The parts of a window that stay: blocks with a number below `number`, from messages with a `seq` below `seq`."""

    number: int
    step: int  # the number of the first step that is deleted
    seq: int


def rewound(steps: Sequence[StepPlace], seq: int, *, folded_step: int, seq_folded: int, end: Rewound) -> Rewound | None:
    """Return the place to which a window is rewound, or None if it must read its log again from the beginning.

    Messages of one step may be between those of another, for example if a user speaks while a tool runs. So the place
    is chosen such that no step has messages before and after it.

    Args:
        steps: The steps that the window shows, in their order.
        seq: The place of the first retracted message.
        folded_step: The number of the last step at the time of the last fold.
        seq_folded: The place of the last message that summaries cover.
        end: The result if no shown step is affected: the place after all steps.
    """
    first = next((place for place, old_step in enumerate(steps) if old_step.seq_to >= seq), None)
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
