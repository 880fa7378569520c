"""The SQL of checkpoints: a row each of what a window was, and the way back to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from context_service.checkpoints.pure.left_out import NOTHING, LeftOut
from context_service.contexts.room import Log
from context_service.kernel.rendering import Rendered
from context_service.windows.store.windows import Window, stored
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.postgres import Row, Transaction

BY_STEPS, BY_FOLD, BY_CALLER = "steps", "fold", "caller"  # reasons
# The newest of each reason that a window keeps: blocks that a fold took out of view stay as long as one shows them.
KEPT_MAX = {BY_STEPS: 20, BY_FOLD: 20, BY_CALLER: 100}
IDS_MAX = 1_000  # of messages that are left out, that are answered


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


class LeftOutNow(NamedTuple):
    """Messages that are left out now and were not before; of very many the ids of the first."""

    left_out: LeftOut
    message_ids: Sequence[str]
    message_count: int


_CHECKPOINT = (
    "number, created_at, reason, label, created_by, epoch, reached_seq, step_count, imported::text AS imported_json"
)
_OF_WINDOW = """
    epoch, reached_seq, entry_count, block_count, step_count, folded_step, first_number, left_out_tokens, state_tokens,
    has_untold, state_text, state_pieces, tallies
"""
# If the window is what it was, which its row holds from here on.
_MAKE = f"""
WITH w AS (
    UPDATE context.context_window
    SET checkpoint_count = checkpoint_count + 1,
        checkpoint_step = CASE WHEN %(reason)s = 'steps' THEN step_count ELSE checkpoint_step END
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
        AND (epoch, block_count, reached_seq, retracted_count, entry_count) = (
            %(epoch)s, %(block_count)s, %(reached_seq)s, %(retracted_count)s, %(entry_count)s
        )
    RETURNING tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, checkpoint_count,
        {_OF_WINDOW}
), gone AS (
    DELETE FROM context.window_checkpoint c USING w
    WHERE c.tenant_id = w.tenant_id AND c.window_id = w.window_id AND c.number IN (
        SELECT number FROM context.window_checkpoint
        WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND reason = %(reason)s
        ORDER BY number DESC OFFSET %(kept_max)s - 1
    )
)
INSERT INTO context.window_checkpoint (
    tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, number, reason, created_by,
    label, {_OF_WINDOW}
)
SELECT tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, checkpoint_count,
    %(reason)s, %(created_by)s, %(label)s, {_OF_WINDOW}
FROM w
RETURNING {_CHECKPOINT}
"""  # noqa: S608 - constants
_READ = f"""
SELECT {_CHECKPOINT} FROM context.window_checkpoint WHERE tenant_id = %s AND window_id = %s AND number = %s
"""  # noqa: S608
_LIST = f"""
SELECT {_CHECKPOINT} FROM context.window_checkpoint
WHERE tenant_id = %s AND window_id = %s AND (%s::integer IS NULL OR number < %s)
ORDER BY number DESC
LIMIT %s
"""  # noqa: S608
_NEWEST = f"""
SELECT {_CHECKPOINT} FROM context.window_checkpoint
WHERE tenant_id = %s AND window_id = %s AND epoch <= %s AND reached_seq <= %s
ORDER BY number DESC
LIMIT 1
"""  # noqa: S608
# What no checkpoint shows, and nobody else.
_PRUNE = """
DELETE FROM context.window_block b
WHERE b.tenant_id = %(tenant_id)s AND b.window_id = %(window_id)s AND b.epoch_to IS NOT NULL AND NOT EXISTS (
    SELECT FROM context.window_checkpoint c
    WHERE c.tenant_id = b.tenant_id AND c.window_id = b.window_id AND c.epoch < b.epoch_to
        AND c.block_count > b.number
)
"""
# Of those that are left out now, and were not before.
_LEFT_OUT = f"""
WITH gone AS (
    SELECT int8multirange(int8range(%(seq_from)s, %(seq_to)s, '[]')) - left_out AS ranges, w.tenant_id, w.context_id
    FROM context.context_window w
    WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
), found AS (
    SELECT m.seq, m.message_id FROM gone
    JOIN context.message m ON m.tenant_id = gone.tenant_id AND m.context_id = gone.context_id
        AND m.seq BETWEEN %(seq_from)s AND %(seq_to)s AND m.seq <@ gone.ranges AND m.retracted_at IS NULL
)
SELECT ranges::text AS ranges, (SELECT count(*) FROM found) AS message_count, ARRAY(
    SELECT message_id FROM found ORDER BY seq LIMIT {IDS_MAX}
) AS message_ids
FROM gone
"""  # noqa: S608
_LEAVE_OUT = """
UPDATE context.context_window
SET left_out = left_out + %(left_out)s::int8multirange, rolled_back_epoch = epoch + 1
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
_IDS = f"""
SELECT seq, message_id FROM context.message
WHERE tenant_id = %s AND context_id = %s AND seq <@ %s::int8multirange AND seq BETWEEN %s AND %s
    AND retracted_at IS NULL
ORDER BY seq
LIMIT {IDS_MAX}
"""  # noqa: S608
# Whatever says that it happened behind the checkpoint is undone; of what the window is the checkpoint has the rest.
_UNDO = """
WITH c AS (
    SELECT number, epoch, block_count, entry_count FROM context.window_checkpoint
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND number = %(number)s
), blocks AS (
    DELETE FROM context.window_block b USING c
    WHERE b.tenant_id = %(tenant_id)s AND b.window_id = %(window_id)s AND b.number >= c.block_count
), shown AS (
    UPDATE context.window_block b
    SET epoch_to = CASE WHEN b.epoch_to > c.epoch THEN NULL ELSE b.epoch_to END,
        is_masked = b.is_masked AND NOT undone.masks,
        masked_epoch = CASE WHEN undone.masks THEN NULL ELSE b.masked_epoch END,
        tokens = CASE WHEN undone.masks THEN b.masked_tokens ELSE b.tokens END,
        masked_tokens = CASE WHEN undone.masks THEN b.tokens ELSE b.masked_tokens END
    FROM c, LATERAL (SELECT coalesce(masked_epoch > c.epoch, false) AS masks, tenant_id, window_id, number
        FROM context.window_block
        WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND number < c.block_count
            AND (epoch_to > c.epoch OR masked_epoch > c.epoch)
    ) undone
    WHERE (b.tenant_id, b.window_id, b.number) = (undone.tenant_id, undone.window_id, undone.number)
), summaries AS (
    DELETE FROM context.window_summary s USING c
    WHERE s.tenant_id = %(tenant_id)s AND s.window_id = %(window_id)s AND s.epoch_from > c.epoch
), seen AS (
    UPDATE context.window_summary s SET epoch_to = NULL FROM c
    WHERE s.tenant_id = %(tenant_id)s AND s.window_id = %(window_id)s AND s.epoch_from <= c.epoch
        AND s.epoch_to > c.epoch
), entries AS (
    DELETE FROM context.window_entry e USING c
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.number >= c.entry_count
), held AS (
    UPDATE context.window_entry e
    SET ended_at = CASE WHEN e.ended_checkpoint >= c.number THEN NULL ELSE e.ended_at END,
        ended_seq = CASE WHEN e.ended_checkpoint >= c.number THEN NULL ELSE e.ended_seq END,
        ended_checkpoint = CASE WHEN e.ended_checkpoint >= c.number THEN NULL ELSE e.ended_checkpoint END,
        is_told = e.is_told AND coalesce(e.told_checkpoint < c.number, true)
    FROM c
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.number < c.entry_count
        AND (e.ended_checkpoint >= c.number OR e.told_checkpoint >= c.number)
), later AS (
    DELETE FROM context.window_checkpoint l USING c
    WHERE l.tenant_id = %(tenant_id)s AND l.window_id = %(window_id)s AND l.number > c.number
)
SELECT number FROM c
"""
_ROLL_BACK = """
UPDATE context.context_window w
SET epoch = w.epoch + 1, reached_seq = %(reached_seq)s,
    block_count = c.block_count, step_count = c.step_count,
    folded_step = c.folded_step, first_number = c.first_number, left_out_tokens = c.left_out_tokens,
    state_text = c.state_text, state_pieces = c.state_pieces, state_tokens = c.state_tokens, tallies = c.tallies,
    has_untold = c.has_untold, checkpoint_step = least(w.checkpoint_step, c.step_count), prepared = NULL,
    pins_pieces = %(pieces)s, pins_tokens = %(pins_tokens)s, updated_at = now()
FROM context.window_checkpoint c
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
    AND c.tenant_id = w.tenant_id AND c.window_id = w.window_id AND c.number = %(number)s
RETURNING c.state_text
"""


class CheckpointRows:
    """The checkpoints of windows. Writers hold the window's lock; readers act for their principal.

    Args:
        log: The contexts.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def make(
        self, transaction: Transaction, window: Window, *, reason: str, label: str = "", created_by: str = ""
    ) -> Checkpoint | None:
        """Write what a window is, which locks it; None: it is another one meanwhile.

        The oldest of the same reason goes, if there are as many as are kept.
        """
        named = {
            "window_id": window.window_id,
            "epoch": window.epoch,
            "block_count": window.block_count,
            "reached_seq": window.reached_seq,
            "retracted_count": window.retracted_count,
            "entry_count": window.entry_count,
            "reason": reason,
            "label": label,
            "created_by": created_by,
            "kept_max": KEPT_MAX[reason],
        }
        rows = await transaction.query(_MAKE, named)
        return _checkpoint(rows[0]) if rows else None

    async def prune(self, transaction: Transaction, window: Window) -> None:
        """Remove blocks that neither a window that is locked nor a checkpoint of it shows."""
        await transaction.query(_PRUNE, {"window_id": window.window_id})

    async def locked(self, transaction: Transaction, window: Window, number: int) -> Checkpoint | None:
        """Return a checkpoint of a window that is locked; None: it has none of this number, or no longer."""
        rows = await transaction.query(_READ, (transaction.tenant_id, window.window_id, number))
        return _checkpoint(rows[0]) if rows else None

    async def newest(self, window: Window, *, epoch: int, seq: int, principal: Principal) -> Checkpoint | None:
        """Return the newest one of an epoch or before it, that has read up to a message at most."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_NEWEST, (door.tenant_id, window.window_id, epoch, seq))
        return _checkpoint(rows[0]) if rows else None

    async def page(
        self, window: Window, *, principal: Principal, before: int | None, count: int
    ) -> Sequence[Checkpoint]:
        """Return checkpoints of a window, the newest first, of numbers below one."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_LIST, (door.tenant_id, window.window_id, before, before, count))
        return list(map(_checkpoint, rows))

    async def message_ids(self, window: Window, left_out: LeftOut, *, principal: Principal) -> list[str]:
        """Return the ids of messages that are left out, of very many the first."""
        if not left_out.ranges:
            return []
        door = self._log.of(principal, window.context_id)
        first, last = left_out.ranges[0][0], left_out.ranges[-1][1]
        rows = await door.query(_IDS, (door.tenant_id, window.context_id, left_out.stored, first, last))
        return [row.message_id for row in rows]

    async def leave_out(self, transaction: Transaction, window: Window, *, keep_to: int, last_seq: int) -> LeftOutNow:
        """Let a window that is locked leave out messages.

        Args:
            transaction: That holds the lock.
            window: As it is.
            keep_to: The last one that stays.
            last_seq: Of those that are left out; what comes behind it stays, too.
        """
        named = {"window_id": window.window_id}
        done = LeftOutNow(NOTHING, [], 0)
        if keep_to < last_seq:
            (row,) = await transaction.query(_LEFT_OUT, named | {"seq_from": keep_to + 1, "seq_to": last_seq})
            done = LeftOutNow(LeftOut.parsed(row.ranges), row.message_ids, row.message_count)
        await transaction.query(_LEAVE_OUT, named | {"left_out": done.left_out.stored})
        return done

    async def undo(self, transaction: Transaction, window: Window, checkpoint: Checkpoint) -> None:
        """Undo what a window that is locked did behind a checkpoint, but for its own row: see `roll_back`."""
        named = {"window_id": window.window_id, "number": checkpoint.number}
        await transaction.query(_UNDO, named)
        await self.prune(transaction, window)

    async def roll_back(
        self,
        transaction: Transaction,
        window: Window,
        checkpoint: Checkpoint,
        *,
        reached_seq: int,
        pins: Sequence[Rendered],
        pins_tokens: int,
    ) -> str:
        """Write what a window is since it was rolled back, and return its state as a model reads it."""
        named = {
            "window_id": window.window_id,
            "number": checkpoint.number,
            "reached_seq": reached_seq,
            "pieces": stored(pins),
            "pins_tokens": pins_tokens,
        }
        (row,) = await transaction.query(_ROLL_BACK, named)
        text: str = row.state_text
        return text


def _checkpoint(row: Row) -> Checkpoint:
    return copied(Checkpoint, row)
