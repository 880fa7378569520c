"""The rows of forks: the fork, its inherited state, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from context_service.contexts.model import Sent
from context_service.contexts.room import Log
from context_service.forks.model import Fork, Inherited
from context_service.packing.pure.state.task_state import Entry
from context_service.windows.model import Window
from context_service.windows.pure.pieces import pieces_json
from service_runtime.postgres import Row, TextArray, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

LISTED_MAX = 100  # the most forks of a window that are listed
_LOOKED_AT = 1_000  # how many of the newest entries are searched for the newest of each section


SQL = SqlFile.of(__file__, listed_max=LISTED_MAX, looked_at=_LOOKED_AT)
_NEXT = SQL["next"]
_ADD = SQL["add"]
_READ = SQL["read"]
_LOCK = SQL["lock"]
_OF_CONTEXT = SQL["of_context"]
_LIST = SQL["list"]
_MERGED = SQL["merged"]
_NEWEST = SQL["newest"]
_RUN_OF = SQL["run_of"]
_INHERIT = SQL["inherit"]


class ForkRows:
    """The SQL statements on forks. Forks belong to the parent's context, whose header writers have locked.

    Args:
        log: The contexts of the windows.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def next(self, transaction: Transaction, context_id: UUID) -> tuple[int, int]:
        """Return the number of the next fork of a context, and the number of its open forks."""
        (row,) = await transaction.query(_NEXT, {"context_id": context_id})
        return row.number, row.awaited

    async def add(self, transaction: Transaction, window: Window, number: int, fork: Window) -> None:
        """Insert a fork of a window."""
        parameters = {
            "context_id": window.context_id,
            "window_id": window.window_id,
            "number": number,
            "fork_context_id": fork.context_id,
            "fork_window_id": fork.window_id,
        }
        await transaction.query(_ADD, parameters)

    async def read(self, context_id: UUID, number: int, *, principal: Principal) -> Fork | None:
        """Return a fork of a context, or None if the context has no fork with this number."""
        tenant = self._log.of(principal, context_id)
        return _first(await tenant.query(_READ, (tenant.tenant_id, context_id, number)))

    async def of_context(self, context_id: UUID, fork_context_id: UUID, *, principal: Principal) -> Fork | None:
        """Return the fork whose context has this id; None if the principal does not see its parent."""
        tenant = self._log.of(principal, context_id)
        return _first(await tenant.query(_OF_CONTEXT, (tenant.tenant_id, context_id, fork_context_id)))

    async def locked(self, transaction: Transaction, fork: Fork) -> Fork | None:
        """Lock the row of a fork and return it as it is now; None if the fork no longer exists."""
        parameters = transaction.tenant_id, fork.context_id, fork.number
        return _first(await transaction.query(_LOCK, parameters))

    async def of_window(self, window: Window, *, principal: Principal) -> list[Fork]:
        """Return the forks of a window, newest first."""
        tenant = self._log.of(principal, window.context_id)
        return list(map(_fork, await tenant.query(_LIST, (tenant.tenant_id, window.context_id, window.window_id))))

    async def mark_merged(
        self, transaction: Transaction, fork: Fork, message: Sent, *, tokens: int, is_whole: bool
    ) -> Fork:
        """Store that a fork was merged, and return the changed fork."""
        parameters = {
            "context_id": fork.context_id,
            "number": fork.number,
            "seq": message.seq,
            "message_id": message.message_id,
            "tokens": tokens,
            "is_whole": is_whole,
        }
        (row,) = await transaction.query(_MERGED, parameters)
        return replace(
            fork,
            ended_at=row.ended_at,
            merged_seq=message.seq,
            merged_id=message.message_id,
            merged_tokens=tokens,
            is_whole=is_whole,
        )

    async def newest(
        self, window: Window, counts: Mapping[str, int], *, whole: Sequence[str] = (), principal: Principal
    ) -> list[Entry]:
        """Return current entries of a window's state, in their order.

        Args:
            window: The window whose state is read.
            counts: The sections of which only the newest entries are returned, each with the most entries.
            whole: The sections of which all entries are returned.
            principal: The caller; its tenant and bounds limit the rows.
        """
        tenant = self._log.of(principal, window.context_id)
        parameters = {
            "window_id": window.window_id,
            "whole": TextArray(whole),
            "sections": TextArray(counts),
            "counts": list(counts.values()),
        }
        return [copied(Entry, row) for row in await tenant.query(_NEWEST, parameters)]

    async def inherit(self, transaction: Transaction, window: Window, fork: Window, inheritance: Inherited) -> Window:
        """Write the inherited state of a newly opened fork, and return its window."""
        await transaction.turn_to(window.context_id)
        (run,) = await transaction.query(_RUN_OF, (transaction.tenant_id, window.context_id, window.window_id))
        await transaction.turn_to(fork.context_id)
        parameters = {
            "window_id": fork.window_id,
            "run_context_id": run.context_id,
            "run_window_id": run.window_id,
            "count": len(inheritance.entries),
            "state_text": inheritance.state_text,
            "state_pieces": pieces_json(inheritance.state_pieces),
            "state_tokens": inheritance.state_tokens,
            "pins_pieces": pieces_json(inheritance.pins_pieces),
            "pins_tokens": inheritance.pins_tokens,
            "sections": TextArray([entry.section for entry in inheritance.entries]),
            "keys": TextArray([entry.key for entry in inheritance.entries]),
            "texts": TextArray([entry.text for entry in inheritance.entries]),
            "values": TextArray([entry.value for entry in inheritance.entries]),
            "speakers": TextArray([entry.speaker for entry in inheritance.entries]),
        }
        await transaction.query(_INHERIT, parameters)
        return replace(
            fork,
            is_of_run=True,
            entry_count=len(inheritance.entries),
            state_pieces=tuple(inheritance.state_pieces),
            state_tokens=inheritance.state_tokens,
            pins_pieces=tuple(inheritance.pins_pieces),
            pins_tokens=inheritance.pins_tokens,
        )


def _first(rows: Sequence[Row]) -> Fork | None:
    return _fork(rows[0]) if rows else None


def _fork(row: Row) -> Fork:
    """Return the fork of a row."""
    return copied(
        Fork,
        row,
        merged_seq=row.merged_seq or 0,
        merged_id=row.merged_id or "",
        merged_tokens=row.merged_tokens or 0,
        is_whole=bool(row.is_whole),
    )
