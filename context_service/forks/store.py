"""The SQL of forks: what was forked from a window, what it began with, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from context_service.contexts.model import Sent
from context_service.contexts.room import Log
from context_service.kernel.rendering import Rendered
from context_service.packing.pure.task_state import Entry
from context_service.windows.store.windows import Window, stored
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.postgres import Row, TextArray, Transaction

LISTED_MAX = 100
_LOOKED_AT = 1_000  # entries of what is not in every pack: the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What was forked from a window.

    Attributes:
        number: From 1, of the context that it was forked from.
        context_id: What it was forked from, and which window there.
        fork_context_id: Its own, and the window there that was opened with it.
        ended_at: Since when nothing of it is awaited; None: it is.
        merged_seq: The message that its result came back as; 0: it did not.
        is_whole: All that there was to bring back had room.
    """

    number: int
    context_id: UUID
    window_id: UUID
    fork_context_id: UUID
    fork_window_id: UUID
    created_at: datetime
    ended_at: datetime | None
    merged_seq: int
    merged_id: str
    merged_tokens: int
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What a window begins with that was forked.

    Attributes:
        entries: Of its state, and its pins.
        state_text: As a model reads it: see `task_state.shown`.
    """

    entries: Sequence[Entry] = ()
    state_text: str = ""
    state_pieces: Sequence[Rendered] = ()
    state_tokens: int = 0
    pins_pieces: Sequence[Rendered] = ()
    pins_tokens: int = 0


_FORK = """
    number, context_id, window_id, fork_context_id, fork_window_id, created_at, ended_at, merged_seq, merged_id,
    merged_tokens, is_whole
"""
# Of a context whose header is locked.
_NEXT = """
SELECT coalesce(max(number), 0) + 1 AS number, (
    SELECT count(*) FROM context.window_fork
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND ended_at IS NULL
) AS awaited
FROM context.window_fork WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
"""
_ADD = """
INSERT INTO context.window_fork (
    tenant_id, context_id, window_id, ancestors, number, fork_context_id, fork_window_id, owner_user_id, app_id,
    agent_bundle_id
)
SELECT tenant_id, context_id, window_id, ancestors, %(number)s, %(fork_context_id)s, %(fork_window_id)s,
    owner_user_id, app_id, agent_bundle_id
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND window_id = %(window_id)s
"""
_READ = f"""
SELECT {_FORK} FROM context.window_fork WHERE tenant_id = %s AND context_id = %s AND number = %s
"""  # noqa: S608 - constants
_LOCK = f"{_READ} FOR UPDATE"
_OF_CONTEXT = f"""
SELECT {_FORK} FROM context.window_fork WHERE tenant_id = %s AND context_id = %s AND fork_context_id = %s
"""  # noqa: S608
_LIST = f"""
SELECT {_FORK} FROM context.window_fork
WHERE tenant_id = %s AND context_id = %s AND window_id = %s
ORDER BY number DESC
LIMIT {LISTED_MAX}
"""  # noqa: S608
_MERGED = """
UPDATE context.window_fork
SET ended_at = now(), merged_seq = %(seq)s, merged_id = %(message_id)s, merged_tokens = %(tokens)s,
    is_whole = %(is_whole)s
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND number = %(number)s
RETURNING ended_at
"""
# Entries that hold: of what is in every pack all, and of the newest of all so many of each section. Of those there are
# more the longer the log is, and most of them are not looked at.
_NEWEST = f"""
SELECT number, seq, section, key, text, value, ref FROM context.window_entry
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND section = ANY (%(whole)s::text[])
UNION ALL
SELECT number, seq, section, key, text, value, ref
FROM (
    SELECT e.*, row_number() OVER (PARTITION BY e.section ORDER BY e.number DESC) AS place
    FROM (
        SELECT number, seq, section, key, text, value, ref FROM context.window_entry
        WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL
        ORDER BY number DESC
        LIMIT {_LOOKED_AT}
    ) e
) e JOIN unnest(%(sections)s::text[], %(counts)s::integer[]) s (section, most) USING (section)
WHERE place <= most
ORDER BY number
"""  # noqa: S608
# The window with which a run began: the one that is forked, or that with which its own began.
_RUN_OF = """
SELECT coalesce(run_context_id, context_id) AS context_id, coalesce(run_window_id, window_id) AS window_id
FROM context.context_window WHERE tenant_id = %s AND context_id = %s AND window_id = %s
"""
# A model is told of all of them by what stands in front.
_INHERIT = """
WITH w AS (
    UPDATE context.context_window
    SET entry_count = %(count)s, state_text = %(state_text)s, state_pieces = %(state_pieces)s,
        state_tokens = %(state_tokens)s, pins_pieces = %(pins_pieces)s, pins_tokens = %(pins_tokens)s,
        run_context_id = %(run_context_id)s, run_window_id = %(run_window_id)s
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
    RETURNING tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id
)
INSERT INTO context.window_entry (
    tenant_id, context_id, window_id, ancestors, number, seq, section, key, text, value, ref, source, is_told,
    owner_user_id, app_id, agent_bundle_id
)
SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, e.n - 1, 0, e.section, e.key, e.text, e.value, '',
    'caller', true, w.owner_user_id, w.app_id, w.agent_bundle_id
FROM w, unnest(%(sections)s::text[], %(keys)s::text[], %(texts)s::text[], %(values)s::text[])
    WITH ORDINALITY AS e (section, key, text, value, n)
"""


class ForkRows:
    """The forks of windows. They are of the context that is forked from: writers have its header locked.

    Args:
        log: The contexts.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def next(self, transaction: Transaction, context_id: UUID) -> tuple[int, int]:
        """Return the number of the next fork of a context, and how many of it are awaited."""
        (row,) = await transaction.query(_NEXT, {"context_id": context_id})
        return row.number, row.awaited

    async def add(self, transaction: Transaction, window: Window, number: int, fork: Window) -> None:
        """Write that a window was forked."""
        named = {
            "context_id": window.context_id,
            "window_id": window.window_id,
            "number": number,
            "fork_context_id": fork.context_id,
            "fork_window_id": fork.window_id,
        }
        await transaction.query(_ADD, named)

    async def read(self, context_id: UUID, number: int, *, principal: Principal) -> Fork | None:
        """Return a fork of a context; None: it has none of this number."""
        door = self._log.of(principal, context_id)
        return _first(await door.query(_READ, (door.tenant_id, context_id, number)))

    async def of_context(self, context_id: UUID, fork_context_id: UUID, *, principal: Principal) -> Fork | None:
        """Return what another context is, that was forked from one; None: the principal does not see where from."""
        door = self._log.of(principal, context_id)
        return _first(await door.query(_OF_CONTEXT, (door.tenant_id, context_id, fork_context_id)))

    async def locked(self, transaction: Transaction, fork: Fork) -> Fork | None:
        """Return a fork as it is now, locked; None: it is gone."""
        named = transaction.tenant_id, fork.context_id, fork.number
        return _first(await transaction.query(_LOCK, named))

    async def of_window(self, window: Window, *, principal: Principal) -> list[Fork]:
        """Return what was forked from a window, the newest first."""
        door = self._log.of(principal, window.context_id)
        return list(map(_fork, await door.query(_LIST, (door.tenant_id, window.context_id, window.window_id))))

    async def merged(self, transaction: Transaction, fork: Fork, sent: Sent, *, tokens: int, is_whole: bool) -> Fork:
        """Write that the result of a fork came back, and return the fork as it is then."""
        named = {
            "context_id": fork.context_id,
            "number": fork.number,
            "seq": sent.seq,
            "message_id": sent.message_id,
            "tokens": tokens,
            "is_whole": is_whole,
        }
        (row,) = await transaction.query(_MERGED, named)
        return replace(
            fork,
            ended_at=row.ended_at,
            merged_seq=sent.seq,
            merged_id=sent.message_id,
            merged_tokens=tokens,
            is_whole=is_whole,
        )

    async def newest(
        self, window: Window, counts: Mapping[str, int], *, whole: Sequence[str] = (), principal: Principal
    ) -> list[Entry]:
        """Return entries that hold, in their order.

        Args:
            window: Whose.
            counts: Sections of which the newest are meant, and how many of each at most.
            whole: Sections of which all are meant.
            principal: Who reads.
        """
        door = self._log.of(principal, window.context_id)
        named = {
            "window_id": window.window_id,
            "whole": TextArray(whole),
            "sections": TextArray(counts),
            "counts": list(counts.values()),
        }
        return [copied(Entry, row) for row in await door.query(_NEWEST, named)]

    async def inherit(self, transaction: Transaction, window: Window, fork: Window, said: Inherited) -> Window:
        """Write what a window begins with, which was just opened as a fork of another, and return it."""
        await transaction.turn_to(window.context_id)
        (run,) = await transaction.query(_RUN_OF, (transaction.tenant_id, window.context_id, window.window_id))
        await transaction.turn_to(fork.context_id)
        named = {
            "window_id": fork.window_id,
            "run_context_id": run.context_id,
            "run_window_id": run.window_id,
            "count": len(said.entries),
            "state_text": said.state_text,
            "state_pieces": stored(said.state_pieces),
            "state_tokens": said.state_tokens,
            "pins_pieces": stored(said.pins_pieces),
            "pins_tokens": said.pins_tokens,
            "sections": TextArray([one.section for one in said.entries]),
            "keys": TextArray([one.key for one in said.entries]),
            "texts": TextArray([one.text for one in said.entries]),
            "values": TextArray([one.value for one in said.entries]),
        }
        await transaction.query(_INHERIT, named)
        return replace(
            fork,
            is_of_run=True,
            entry_count=len(said.entries),
            state_pieces=tuple(said.state_pieces),
            state_tokens=said.state_tokens,
            pins_pieces=tuple(said.pins_pieces),
            pins_tokens=said.pins_tokens,
        )


def _first(rows: Sequence[Row]) -> Fork | None:
    return _fork(rows[0]) if rows else None


def _fork(row: Row) -> Fork:
    return copied(
        Fork,
        row,
        merged_seq=row.merged_seq or 0,
        merged_id=row.merged_id or "",
        merged_tokens=row.merged_tokens or 0,
        is_whole=bool(row.is_whole),
    )
