"""The SQL of windows and their blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import orjson

from context_service.contexts.log import ALIVE, Log
from context_service.rendering import Format
from context_service.windows.packing import Block, Rendered
from service_runtime.auth import Principal
from service_runtime.postgres import Across, Database, Row, TextArray, Transaction
from service_runtime.requests import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowInput:
    """What a new window is."""

    model: str
    format: Format
    tokens_family: str
    context_tokens: int
    token_limit: int
    head_tokens: int
    system_prompt: str
    tools_json: str
    goal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(WindowInput):
    """A window as it is."""

    window_id: UUID
    context_id: UUID
    epoch: int
    reached_seq: int
    retracted_count: int
    first_number: int
    block_count: int
    left_out_tokens: int
    owner_user_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None


class Standing(NamedTuple):
    """A window, and the log that it reads, at one time."""

    window: Window
    last_seq: int  # of the log
    retracted_count: int  # messages of the log that are


class StoredBlock(NamedTuple):
    """A block as it is stored: reading many of them takes its time."""

    seq_from: int
    seq_to: int
    tokens: int
    pieces_json: str | None  # None: there are more blocks than a pack could have

    def read(self) -> Block:
        """Return the block."""
        assert self.pieces_json is not None, "no pack has more than its tokens"
        pieces = tuple(Rendered(*one) for one in orjson.loads(self.pieces_json))
        return Block(seq_from=self.seq_from, seq_to=self.seq_to, tokens=self.tokens, pieces=pieces)


class Seen(NamedTuple):
    """A window and the blocks of it that are seen, at one time."""

    window: Window
    blocks: list[StoredBlock]


_LISTED = """
    w.window_id, w.context_id, w.model, w.format, w.tokens_family, w.context_tokens, w.token_limit, w.head_tokens,
    w.goal, w.epoch, w.reached_seq, w.retracted_count, w.first_number, w.block_count, w.left_out_tokens,
    w.owner_user_id, w.created_by, w.created_at, w.updated_at, w.closed_at
"""
_WINDOW = f"{_LISTED}, w.system_prompt, w.tools::text AS tools_json"

_COUNT_OPEN = """
SELECT count(*) AS opened FROM context.context_window WHERE tenant_id = %s AND context_id = %s AND closed_at IS NULL
"""
_OPEN = f"""
INSERT INTO context.context_window AS w (
    tenant_id, context_id, window_id, ancestors, retracted_count, context_tokens, token_limit, head_tokens, format,
    tokens_family, model, owner_user_id, app_id, agent_bundle_id, created_by, system_prompt, goal, tools
)
SELECT tenant_id, context_id, %(window_id)s, ancestors, last_seq - message_count, %(context_tokens)s,
    %(token_limit)s, %(head_tokens)s, %(format)s, %(tokens_family)s, %(model)s, owner_user_id, app_id,
    agent_bundle_id, %(created_by)s, %(system_prompt)s, %(goal)s, %(tools)s::json
FROM context.context
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
RETURNING {_WINDOW}
"""  # noqa: S608 - constants
# The answer goes with the context.
_ANSWER = """
UPDATE context.request SET answer = jsonb_build_object('window_id', %s::uuid), about_id = %s
WHERE tenant_id = %s AND request_id = %s
"""

_READ = f"""
SELECT {_WINDOW} FROM context.context_window w WHERE w.tenant_id = %s AND w.context_id = %s AND w.window_id = %s
"""  # noqa: S608
_LOCK = f"{_READ} FOR UPDATE"
_READ_ANYBODYS = Across(sql=_READ, subjects=True, why="an administrator reads all of the tenant")
# One look at both: how far the window is, and how far the log.
_STANDING = f"""
SELECT {_WINDOW}, c.last_seq, c.last_seq - c.message_count AS retracted
FROM context.context_window w
JOIN (
    SELECT tenant_id, context_id, last_seq, message_count FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND {ALIVE}
) c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id
WHERE w.tenant_id = %(tenant_id)s AND w.context_id = %(context_id)s AND w.window_id = %(window_id)s
"""  # noqa: S608

_CONTEXT_OF = """
SELECT w.context_id
FROM context.context_window w
JOIN context.context c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id
WHERE w.tenant_id = %s AND w.window_id = %s AND c.deleted_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
"""
_WHY_CONTEXT_OF = "it finds which context is meant: that of a window"
_CONTEXT_OF_SEEN = Across(sql=_CONTEXT_OF, contexts=True, why=_WHY_CONTEXT_OF)
_CONTEXT_OF_ANYBODYS = Across(sql=_CONTEXT_OF, contexts=True, subjects=True, why=_WHY_CONTEXT_OF)

_LIST = f"""
SELECT {_LISTED}, '' AS system_prompt, '' AS tools_json FROM context.context_window w
WHERE w.tenant_id = %s AND w.context_id = %s AND (%s::uuid IS NULL OR w.window_id < %s)
ORDER BY w.window_id DESC
LIMIT %s
"""  # noqa: S608
_LIST_ANYBODYS = Across(sql=_LIST, subjects=True, why="an administrator lists all of the tenant")

_ADD = """
INSERT INTO context.window_block (
    tenant_id, context_id, window_id, ancestors, number, tokens, seq_from, seq_to, owner_user_id, app_id,
    agent_bundle_id, pieces
)
SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, w.block_count + b.n - 1, b.tokens, b.seq_from, b.seq_to,
    w.owner_user_id, w.app_id, w.agent_bundle_id, b.pieces
FROM context.context_window w, unnest(
    %(tokens)s::integer[], %(seqs_from)s::bigint[], %(seqs_to)s::bigint[], %(pieces)s::text[]
) WITH ORDINALITY AS b (tokens, seq_from, seq_to, pieces, n)
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
"""
_REACHED = """
UPDATE context.context_window
SET block_count = block_count + %(count)s, reached_seq = %(reached_seq)s, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
_BEGIN_ANEW = """
WITH gone AS (
    DELETE FROM context.window_block WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
)
UPDATE context.context_window
SET epoch = epoch + 1, reached_seq = 0, first_number = 0, block_count = 0, left_out_tokens = 0,
    retracted_count = %(retracted_count)s, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
_FOLD = """
UPDATE context.context_window
SET epoch = epoch + 1, first_number = %(first_number)s, left_out_tokens = left_out_tokens + %(tokens)s,
    updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
# The blocks that are seen, with how the window is at that moment; without any there is one row. More than a pack could
# have is not read: what of it is seen is decided by its tokens.
_SEEN = """
SELECT w.epoch, w.first_number, w.left_out_tokens, w.reached_seq, w.retracted_count, w.closed_at, b.number, b.seq_from,
    b.seq_to, b.tokens, CASE WHEN b.together <= %(tokens_max)s THEN b.pieces END AS pieces
FROM context.context_window w
LEFT JOIN LATERAL (
    SELECT number, seq_from, seq_to, tokens, pieces, sum(tokens) OVER () AS together
    FROM context.window_block one
    WHERE one.tenant_id = w.tenant_id AND one.window_id = w.window_id AND one.number >= w.first_number
) b ON true
WHERE w.tenant_id = %(tenant_id)s AND w.context_id = %(context_id)s AND w.window_id = %(window_id)s
ORDER BY b.number
"""
_CLOSE = f"""
WITH gone AS (
    DELETE FROM context.window_block WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
)
UPDATE context.context_window w
SET closed_at = coalesce(closed_at, now()), updated_at = coalesce(closed_at, now()), system_prompt = '', tools = NULL,
    goal = ''
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
RETURNING {_WINDOW}
"""  # noqa: S608


class WindowRows:
    """The windows of contexts, and their blocks.

    Args:
        database: Where they are.
        log: Their contexts.
    """

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    async def context_of(self, window_id: UUID, *, principal: Principal) -> UUID | None:
        """Return the context of a window that the principal may see."""
        door = self._database.of(principal)
        statement = _CONTEXT_OF_ANYBODYS if principal.sees_all_users else _CONTEXT_OF_SEEN
        rows = await door.query(statement, (door.tenant_id, window_id))
        return rows[0].context_id if rows else None

    async def count_open(self, transaction: Transaction, context_id: UUID) -> int:
        """Return how many windows of a context are open: no more, while the context is locked."""
        (row,) = await transaction.query(_COUNT_OPEN, (transaction.tenant_id, context_id))
        count: int = row.opened
        return count

    async def open(
        self, transaction: Transaction, context_id: UUID, window_id: UUID, said: WindowInput, *, created_by: str
    ) -> Window:
        """Write a new window of a context that is locked."""
        (row,) = await transaction.query(
            _OPEN,
            {
                "tenant_id": transaction.tenant_id,
                "context_id": context_id,
                "window_id": window_id,
                "context_tokens": said.context_tokens,
                "token_limit": said.token_limit,
                "head_tokens": said.head_tokens,
                "format": said.format.value,
                "tokens_family": said.tokens_family,
                "model": said.model,
                "created_by": created_by,
                "system_prompt": said.system_prompt,
                "goal": said.goal,
                "tools": said.tools_json or None,
            },
        )
        return _window(row)

    async def answer(self, transaction: Transaction, request: Request, window: Window) -> None:
        """Store which window was the answer to a request that is claimed."""
        key = request.key(transaction.bounds)
        await transaction.query(_ANSWER, (window.window_id, window.context_id, transaction.tenant_id, key))

    async def read(self, context_id: UUID, window_id: UUID, *, principal: Principal) -> Window | None:
        """Return a window; None: the context has none of this id."""
        door = self._log.of(principal, context_id)
        statement = _READ_ANYBODYS if principal.sees_all_users else _READ
        rows = await door.query(statement, (door.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def standing(self, context_id: UUID, window_id: UUID, *, principal: Principal) -> Standing | None:
        """Return a window, and how far its log is; None: there is none, or no such context."""
        door = self._log.of(principal, context_id)
        named = {"tenant_id": door.tenant_id, "context_id": context_id, "window_id": window_id}
        rows = await door.query(_STANDING, named)
        return Standing(_window(rows[0]), rows[0].last_seq, rows[0].retracted) if rows else None

    async def lock(self, transaction: Transaction, context_id: UUID, window_id: UUID) -> Window | None:
        """Return a window, locked until the transaction ends."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def page(self, context_id: UUID, *, principal: Principal, before: UUID | None, count: int) -> list[Window]:
        """Return windows of a context, the newest first, from the one before `before` on."""
        door = self._log.of(principal, context_id)
        statement = _LIST_ANYBODYS if principal.sees_all_users else _LIST
        rows = await door.query(statement, (door.tenant_id, context_id, before, before, count))
        return [_window(row) for row in rows]

    async def add(
        self,
        transaction: Transaction,
        window: Window,
        blocks: Sequence[Block],
        *,
        reached_seq: int,
    ) -> None:
        """Write blocks behind those of a window that is locked, and how far it reads now."""
        named = {"tenant_id": transaction.tenant_id, "window_id": window.window_id}
        if blocks:
            columns = {
                "tokens": [one.tokens for one in blocks],
                "seqs_from": [one.seq_from for one in blocks],
                "seqs_to": [one.seq_to for one in blocks],
                "pieces": TextArray([_stored(one) for one in blocks]),
            }
            await transaction.query(_ADD, {**named, **columns})
        await transaction.query(_REACHED, {**named, "count": len(blocks), "reached_seq": reached_seq})

    async def begin_anew(self, transaction: Transaction, window: Window, *, retracted_count: int) -> None:
        """Forget the blocks of a window that is locked."""
        named = {"tenant_id": transaction.tenant_id, "window_id": window.window_id}
        await transaction.query(_BEGIN_ANEW, {**named, "retracted_count": retracted_count})

    async def fold(self, transaction: Transaction, window: Window, first_number: int, *, tokens: int) -> None:
        """Leave out the blocks of a locked window that are before one: so many tokens more."""
        named = {"tenant_id": transaction.tenant_id, "window_id": window.window_id}
        await transaction.query(_FOLD, {**named, "first_number": first_number, "tokens": tokens})

    async def seen(self, window: Window, *, principal: Principal) -> Seen | None:
        """Return the blocks of a window that are seen; None: there is no such window any more."""
        door = self._log.of(principal, window.context_id)
        return _seen(window, await door.query(_SEEN, _seeing(door.tenant_id, window)))

    async def seen_within(self, transaction: Transaction, window: Window) -> Seen:
        """Return the blocks of a window that are seen, of one that is locked."""
        found = _seen(window, await transaction.query(_SEEN, _seeing(transaction.tenant_id, window)))
        assert found is not None, "it is locked"
        return found

    async def close(self, transaction: Transaction, window_id: UUID) -> Window:
        """Close a window that is locked, and remove its blocks."""
        (row,) = await transaction.query(_CLOSE, {"tenant_id": transaction.tenant_id, "window_id": window_id})
        return _window(row)


def _stored(block: Block) -> str:
    return orjson.dumps([tuple(one) for one in block.pieces]).decode()


def _seeing(tenant_id: UUID, window: Window) -> dict[str, object]:
    return {
        "tenant_id": tenant_id,
        "context_id": window.context_id,
        "window_id": window.window_id,
        "tokens_max": window.token_limit,
    }


def _seen(window: Window, rows: Sequence[Row]) -> Seen | None:
    if not rows:
        return None
    changed = ("epoch", "first_number", "left_out_tokens", "reached_seq", "retracted_count", "closed_at")
    blocks = [StoredBlock(row.seq_from, row.seq_to, row.tokens, row.pieces) for row in rows if row.number is not None]
    return Seen(replace(window, **{name: getattr(rows[0], name) for name in changed}), blocks)


def _window(row: Row) -> Window:
    return Window(
        window_id=row.window_id,
        context_id=row.context_id,
        model=row.model,
        format=Format(row.format),
        tokens_family=row.tokens_family,
        context_tokens=row.context_tokens,
        token_limit=row.token_limit,
        head_tokens=row.head_tokens,
        system_prompt=row.system_prompt,
        tools_json=row.tools_json or "",
        goal=row.goal,
        epoch=row.epoch,
        reached_seq=row.reached_seq,
        retracted_count=row.retracted_count,
        first_number=row.first_number,
        block_count=row.block_count,
        left_out_tokens=row.left_out_tokens,
        owner_user_id=row.owner_user_id,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        closed_at=row.closed_at,
    )
