"""The SQL of `TraceMessage`: all forms in which a window shows or showed messages, and the breaks that changed them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

import orjson

from context_service.contexts.room import Log
from context_service.windows.model import Window
from context_service.windows.pure.traces import BlockForm, ShownEntry, SummaryForm
from service_runtime.postgres import Row
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

SQL = SqlFile.of(__file__)
_BLOCKS, _SUMMARIES, _ENTRIES = SQL["blocks"], SQL["summaries"], SQL["entries"]
_BREAKS, _MASKED_IN = SQL["breaks"], SQL["masked_in"]


class BreakRow(NamedTuple):
    """A break of a prefix: its reason, its time, its rules, and the ranges of messages that a rollback left out."""

    epoch: int
    reason: str
    created_at: datetime
    rules: list[str]
    left_out: list[list[int]]


class TraceRows:
    """Reads the forms of messages; each call acts for its principal.

    Args:
        log: The contexts that the windows belong to.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def blocks(self, window: Window, seqs: tuple[int, int], *, principal: Principal) -> list[BlockForm]:
        """Return the blocks of packs that show or recall messages of a range.

        Blocks of which only a saved checkpoint has the text are among them.

        Args:
            window: The window.
            seqs: The `seq` of the first and of the last message of the range.
            principal: The caller; it must be allowed to see the window.
        """
        tenant = self._log.of(principal, window.context_id)
        parameters = {"window_id": window.window_id, "seq_from": seqs[0], "seq_to": seqs[1]}
        return [copied(BlockForm, row) for row in await tenant.query(_BLOCKS, parameters)]

    async def summaries(self, window: Window, seqs: tuple[int, int], *, principal: Principal) -> list[SummaryForm]:
        """Return the summaries that stand or stood for messages from the first to the second `seq` of `seqs`."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_SUMMARIES, (tenant.tenant_id, window.window_id, seqs[1], seqs[0]))
        return [copied(SummaryForm, row) for row in rows]

    async def entries(self, window: Window, seqs: tuple[int, int], *, principal: Principal) -> list[ShownEntry]:
        """Return the current entries and pins from messages between the first and the second `seq` of `seqs`."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_ENTRIES, (tenant.tenant_id, window.window_id, *seqs))
        return [copied(ShownEntry, row) for row in rows]

    async def breaks(
        self, window: Window, epochs: Collection[int], *, with_rollbacks: bool, principal: Principal
    ) -> list[BreakRow]:
        """Return the breaks that began these epochs, and all rollbacks if asked for, oldest first."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_BREAKS, (tenant.tenant_id, window.window_id, sorted(epochs), with_rollbacks))
        return list(map(_break, rows))

    async def masked_in(self, window: Window, step: int, *, before_epoch: int, principal: Principal) -> int | None:
        """Return the last epoch before `before_epoch` whose fold cleared a step, or None if no fold did."""
        tenant = self._log.of(principal, window.context_id)
        (row,) = await tenant.query(_MASKED_IN, (tenant.tenant_id, window.window_id, before_epoch, step))
        epoch: int | None = row.epoch
        return epoch


def _break(row: Row) -> BreakRow:
    return BreakRow(row.epoch, row.reason, row.created_at, list(row.rules), orjson.loads(row.left_out or "[]"))
