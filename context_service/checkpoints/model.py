"""The values of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from context_service.checkpoints.pure.left_out import LeftOut

BY_STEPS, BY_FOLD, BY_CALLER = "steps", "fold", "caller"  # reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a window was.

    Attributes:
        number: From 1, of the window; none is given twice.
        reason: `BY_STEPS`, `BY_FOLD` or `BY_CALLER`.
        epoch: That the window had.
        reached_seq: All messages up to it were read.
        created_by: Who made it; empty: the window itself.
    """

    number: int
    created_at: datetime
    reason: str
    label: str
    created_by: str
    epoch: int
    reached_seq: int
    step_count: int
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


class LeftOutMessages(NamedTuple):
    """Messages that are left out now and were not before; of very many the ids of the first."""

    left_out: LeftOut
    message_ids: Sequence[str]
    message_count: int
