"""The rows of checkpoints: one row stores a window, and a rollback restores it."""

from __future__ import annotations

from collections.abc import Sequence

from context_service.checkpoints.model import BY_CALLER, BY_FOLD, BY_STEPS, Checkpoint, LeftOutMessages
from context_service.checkpoints.pure.left_out import NOTHING, LeftOut
from context_service.contexts.room import Log
from context_service.kernel.rendering import Rendered
from context_service.windows.model import Window
from context_service.windows.pure.pieces import pieces_json
from service_runtime.postgres import Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

# The most checkpoints that a window keeps for each reason. A block that a fold removed is kept as long as a checkpoint
# shows it.
KEPT_MAX = {BY_STEPS: 20, BY_FOLD: 20, BY_CALLER: 100}
IDS_MAX = 1_000  # the most ids of left-out messages in an answer


SQL = SqlFile.of(__file__, ids_max=IDS_MAX)
_MAKE = SQL["make"]
_READ = SQL["read"]
_LIST = SQL["list"]
_NEWEST = SQL["newest"]
_PRUNE = SQL["prune"]
_LEFT_OUT = SQL["left_out"]
_LEAVE_OUT = SQL["leave_out"]
_IDS = SQL["ids"]
_UNDO = SQL["undo"]
_ROLL_BACK = SQL["roll_back"]


class CheckpointRows:
    """The SQL statements on checkpoints. Writers hold the window's lock; readers act for their principal.

    Args:
        log: The contexts of the windows.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def make(
        self, transaction: Transaction, window: Window, *, reason: str, label: str = "", created_by: str = ""
    ) -> Checkpoint | None:
        """Write a checkpoint of a window and lock the window; return None if the window changed meanwhile.

        The oldest checkpoint of the same reason is deleted if there are too many.
        """
        parameters = {
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
        rows = await transaction.query(_MAKE, parameters)
        return _checkpoint(rows[0]) if rows else None

    async def prune(self, transaction: Transaction, window: Window) -> None:
        """Delete the blocks that neither a locked window nor any of its checkpoints shows."""
        await transaction.query(_PRUNE, {"window_id": window.window_id})

    async def locked(self, transaction: Transaction, window: Window, number: int) -> Checkpoint | None:
        """Return a checkpoint of a locked window; None if the window has no checkpoint with this number."""
        rows = await transaction.query(_READ, (transaction.tenant_id, window.window_id, number))
        return _checkpoint(rows[0]) if rows else None

    async def newest(self, window: Window, *, epoch: int, seq: int, principal: Principal) -> Checkpoint | None:
        """Return the newest checkpoint of an epoch up to `epoch` that had not read messages after `seq`, or None."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_NEWEST, (tenant.tenant_id, window.window_id, epoch, seq))
        return _checkpoint(rows[0]) if rows else None

    async def page(
        self, window: Window, *, principal: Principal, before: int | None, count: int
    ) -> Sequence[Checkpoint]:
        """Return checkpoints of a window with numbers below `before`, the newest first."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_LIST, (tenant.tenant_id, window.window_id, before, before, count))
        return list(map(_checkpoint, rows))

    async def message_ids(self, window: Window, left_out: LeftOut, *, principal: Principal) -> list[str]:
        """Return the ids of the messages that a window leaves out, at most the first `IDS_MAX`."""
        if not left_out.ranges:
            return []
        tenant = self._log.of(principal, window.context_id)
        first, last = left_out.ranges[0][0], left_out.ranges[-1][1]
        rows = await tenant.query(_IDS, (tenant.tenant_id, window.context_id, left_out.multirange, first, last))
        return [row.message_id for row in rows]

    async def leave_out(
        self, transaction: Transaction, window: Window, *, keep_to: int, last_seq: int
    ) -> LeftOutMessages:
        """Make a locked window leave out messages, and return those that were not left out before.

        Args:
            transaction: The transaction that holds the lock.
            window: The locked window.
            keep_to: The `seq` of the last message that stays.
            last_seq: The `seq` of the last message to leave out; later messages stay, too.
        """
        parameters = {"window_id": window.window_id}
        result = LeftOutMessages(NOTHING, [], 0)
        if keep_to < last_seq:
            (row,) = await transaction.query(_LEFT_OUT, parameters | {"seq_from": keep_to + 1, "seq_to": last_seq})
            result = LeftOutMessages(LeftOut.parse(row.ranges), row.message_ids, row.message_count)
        await transaction.query(_LEAVE_OUT, parameters | {"left_out": result.left_out.multirange})
        return result

    async def undo(self, transaction: Transaction, window: Window, checkpoint: Checkpoint) -> None:
        """Undo the changes of a locked window after a checkpoint, except in the window's row.

        These are its blocks, summaries and entries; `roll_back` writes the window's row.
        """
        parameters = {"window_id": window.window_id, "number": checkpoint.number}
        await transaction.query(_UNDO, parameters)
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
        """Write the row of a window that is rolled back, and return its state text as a model reads it."""
        parameters = {
            "window_id": window.window_id,
            "number": checkpoint.number,
            "reached_seq": reached_seq,
            "pieces": pieces_json(pins),
            "pins_tokens": pins_tokens,
        }
        (row,) = await transaction.query(_ROLL_BACK, parameters)
        text: str = row.state_text
        return text


def _checkpoint(row: Row) -> Checkpoint:
    return copied(Checkpoint, row)
