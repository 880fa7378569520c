"""The values of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from context_service.checkpoints.pure.left_out import LeftOut

# The reasons for a checkpoint: a number of steps, a fold (a compaction of the window), or a call of `CreateCheckpoint`.
BY_STEPS, BY_FOLD, BY_CALLER = "steps", "fold", "caller"

LABEL_CHARS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A stored state of a window, to which it can be rolled back.

    Attributes:
        number: The number of the checkpoint within its window, from 1. It is not used again after a deletion.
        reason: `BY_STEPS`, `BY_FOLD` or `BY_CALLER`.
        epoch: The epoch that the window had. A fold or a rollback begins a new epoch.
        reached_seq: The window had read all messages up to this `seq`.
        created_by: The subject of the caller that made it; empty if the window made it itself.
    """

    number: int
    created_at: datetime
    reason: str
    label: str
    created_by: str
    epoch: int
    reached_seq: int
    step_count: int


class LeftOutMessages(NamedTuple):
    """The messages that a rollback leaves out and that were not left out before.

    `message_ids` has at most the first `store.IDS_MAX` ids, without those of retracted messages.
    """

    left_out: LeftOut
    message_ids: Sequence[str]
    message_count: int
