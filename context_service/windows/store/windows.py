"""The SQL of windows and their blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import orjson

from context_service.checkpoints.pure.left_out import LeftOut
from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.contexts.store.log import MESSAGES_JSON, messages_of
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.kernel.rendering import Format, Rendered
from context_service.kernel.tokens import countable
from context_service.windows.pure.config import Config
from context_service.windows.pure.config import loaded as loaded_config
from contextkeep.errors import WindowNotFound
from service_runtime.auth import Principal
from service_runtime.copying import copied, fields_of
from service_runtime.postgres import Across, Database, Row, Transaction
from service_runtime.sql_files import SqlFile


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
    profile: str
    config_json: str  # as it was said

    @property
    def config(self) -> Config:
        """Of its folds, and of what it may cost."""
        return loaded_config(self.config_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(WindowInput):
    """A window as it is.

    Attributes:
        epoch: How often the prefix of its packs was broken.
        reached_seq: All messages up to it are read.
        first_number: Steps that summaries stand for, with `left_out_tokens`.
        block_count: Blocks that it ever had, since it began anew.
        entry_count: Entries of the state that it ever had.
        step_count: Steps that it has.
        folded_step: The last step when it was folded last.
        state_pieces: The state as a model sees it: written when it was folded. None in a list.
        pins_pieces: What is pinned, as a model sees it. None in a list.
        spent_tokens: Of its packs together, since its config has a limit of that.
        token_factor: Tokens as they are counted, times this, are what a vendor bills at most: see `tokens.Calibration`.
        has_untold: Callers said something of the state of which no model was told yet.
        checkpoint_step: The step behind which it made the last checkpoint for so many steps.
        rolled_back_epoch: Since which it was rolled back last; 0: never.
        left_out: Messages that rollbacks left out.
        is_of_run: It was forked, and its tokens count for the window with which that began, too.
    """

    window_id: UUID
    context_id: UUID
    epoch: int
    reached_seq: int
    retracted_count: int
    first_number: int
    block_count: int
    entry_count: int
    left_out_tokens: int
    step_count: int
    folded_step: int
    state_tokens: int
    state_pieces: tuple[Rendered, ...]
    pins_tokens: int
    pins_pieces: tuple[Rendered, ...]
    spent_tokens: int
    has_untold: bool
    checkpoint_step: int
    rolled_back_epoch: int
    left_out: LeftOut
    owner_user_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None
    token_factor: float
    is_of_run: bool
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names

    @property
    def counted_limit(self) -> int:
        """`token_limit`, as tokens are counted here."""
        return countable(self.token_limit, self.token_factor)


class Meant(NamedTuple):
    """Of which context a window is."""

    context_id: UUID
    learns: bool  # what is looked up in it is counted


class Spent(NamedTuple):
    """What packs had together, of a window or of a run."""

    tokens: int
    tokens_max: int
    is_over: bool  # a pack that is to be counted has more than are left


class WindowSnapshot(NamedTuple):
    """A window, and the log that it reads, at one time."""

    window: Window
    last_seq: int  # of the log
    retracted_count: int  # messages of the log that are
    following: list[Message]  # all that the window has not read, if they are few and small; else none
    packed_seq: int  # the newest message that its last pack had read, for a model
    idle_s: float | None  # how long ago that was, by the database's clock; None: never


_FEW, _SMALL_BYTES = 4, 32 * 1024  # messages

SQL = SqlFile.of(__file__, few=_FEW, log=LOG_SQL, messages_json=MESSAGES_JSON, small_bytes=_SMALL_BYTES)
_COUNT_OPEN = SQL["count_open"]
_OPEN = SQL["open"]
_READ = SQL["read"]
_LOCK = SQL["lock"]
_CONTEXT_OF = SQL["context_of"]
_HEADER = SQL["header"]
_LIST = SQL["list"]
_CLOSE = SQL["close"]
_CONFIGURE = SQL["configure"]
_SPENT = SQL["spent"]
_SPEND_OF_RUN = SQL["spend_of_run"]
_SPEND = SQL["spend"]
_PACKED = SQL["packed"]


_READ_SEEN = Across(sql=_READ, administrators=True, why="an administrator reads all of the tenant")
_STANDING = Across(
    sql=SQL["standing"],
    contexts=True,
    why="it finds which context is meant: that of a window",
)

_WHY_CONTEXT_OF = "it finds which context is meant: that of a window"
_CONTEXT_OF_SEEN = Across(sql=_CONTEXT_OF, contexts=True, administrators=True, why=_WHY_CONTEXT_OF)

_LIST_SEEN = Across(sql=_LIST, administrators=True, why="an administrator lists all of the tenant")


class WindowRows:
    """The windows of contexts, and their blocks.

    Args:
        database: Where they are.
        log: Their contexts.
    """

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    async def context_of(self, window_id: UUID, *, principal: Principal) -> UUID:
        """Return the context of a window that the principal may see.

        Raises:
            WindowNotFound: there is none.
        """
        return (await self.meant(window_id, principal=principal)).context_id

    async def meant(self, window_id: UUID, *, principal: Principal) -> Meant:
        """Return the same, and whether the window learns.

        Raises:
            WindowNotFound: there is none.
        """
        door = self._database.of(principal)
        rows = await door.query(_CONTEXT_OF_SEEN, (door.tenant_id, window_id))
        if not rows:
            raise no_window(window_id)
        return Meant(rows[0].context_id, rows[0].learns)

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
                **fields_of(said),
                "context_id": context_id,
                "window_id": window_id,
                "format": said.format.value,
                "model_sha": model_sha(said.model),
                "created_by": created_by,
                "tools": said.tools_json or None,
                "config": said.config_json,
            },
        )
        return _window(row)

    async def find(self, window_id: UUID, *, principal: Principal) -> Window:
        """Return a window that the principal may see, whichever context it is of.

        Raises:
            WindowNotFound: there is none.
        """
        context_id = await self.context_of(window_id, principal=principal)
        window = await self.read(context_id, window_id, principal=principal)
        if window is None:
            raise no_window(window_id)
        return window

    async def read(self, context_id: UUID, window_id: UUID, *, principal: Principal) -> Window | None:
        """Return a window; None: the context has none of this id."""
        door = self._log.of(principal, context_id)
        rows = await door.query(_READ_SEEN, (door.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def header(self, context_id: UUID, window_id: UUID, *, principal: Principal) -> Window | None:
        """Return a window without its texts, which may be large; None: the principal himself sees none of this id."""
        door = self._log.of(principal, context_id)
        rows = await door.query(_HEADER, (door.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def standing(self, window_id: UUID, *, principal: Principal) -> WindowSnapshot | None:
        """Return a window of what the principal himself may see, and how far its log is; None: there is none."""
        door = self._database.of(principal)
        rows = await door.query(_STANDING, {"window_id": window_id})
        if not rows:
            return None
        window, last_seq = _window(rows[0]), rows[0].last_seq
        following = messages_of(rows[0].following or "[]")
        is_all = len(following) == last_seq - window.reached_seq
        following = following if is_all else []
        return WindowSnapshot(window, last_seq, rows[0].retracted, following, rows[0].packed_seq, rows[0].idle_s)

    async def lock(self, transaction: Transaction, context_id: UUID, window_id: UUID) -> Window | None:
        """Return a window, locked until the transaction ends."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def configure(self, transaction: Transaction, window: Window) -> None:
        """Write the config of a window that is locked, and the limit that follows from it."""
        named = {
            "context_id": window.context_id,
            "window_id": window.window_id,
            "config": window.config_json,
            "token_limit": window.token_limit,
        }
        await transaction.query(_CONFIGURE, named)

    async def packed(self, window: Window, *, last_seq: int, principal: Principal) -> None:
        """Write that a window is packed now, of a log that ends with a message."""
        door = self._log.of(principal, window.context_id)
        await door.query(_PACKED, (last_seq, door.tenant_id, window.context_id, window.window_id))

    async def spend(self, transaction: Transaction, window: Window, tokens: int, *, last_seq: int) -> Spent | None:
        """Count a pack of a window, and of its run, unless it or a later one was counted: one of the same log was.

        Args:
            transaction: In which it is counted.
            window: As it was packed.
            tokens: Of the pack; 0: it asks no model.
            last_seq: Of the pack.

        Returns:
            Of which there are fewest left; if this pack goes over that, nothing is counted. None: any may be spent.
        """
        key = (transaction.tenant_id, window.context_id, window.window_id)
        # The row of the run's first window is locked first, and then those below it, as merges do.
        run = await self._spend_of_run(transaction, window, 0) if window.is_of_run else None
        tokens_max = window.config.total_tokens_max
        if not (run or tokens_max):
            return None
        rows = await transaction.query(_SPENT, key)
        if not rows:
            raise no_window(window.window_id)
        own = Spent(rows[0].spent_tokens, tokens_max, False)
        if tokens and (rows[0].spent_epoch, rows[0].spent_seq) < (window.epoch, last_seq):
            if tokens_max and own.tokens + tokens > tokens_max:
                return own._replace(is_over=True)
            run = await self._spend_of_run(transaction, window, tokens) if run else None
            if run and run.is_over:
                return run
            own = own._replace(tokens=own.tokens + tokens)
            await transaction.query(_SPEND, (own.tokens, window.epoch, last_seq, *key))
        return min((one for one in (own, run) if one and one.tokens_max), key=lambda one: one.tokens_max - one.tokens)

    async def _spend_of_run(self, transaction: Transaction, window: Window, tokens: int) -> Spent | None:
        rows = await transaction.query(_SPEND_OF_RUN, (window.context_id, window.window_id, tokens))
        return Spent(rows[0].spent, rows[0].spent_max, rows[0].is_over) if rows else None

    async def page(self, context_id: UUID, *, principal: Principal, before: UUID | None, count: int) -> list[Window]:
        """Return windows of a context, the newest first, from the one before `before` on."""
        door = self._log.of(principal, context_id)
        rows = await door.query(_LIST_SEEN, (door.tenant_id, context_id, before, before, count))
        return [_window(row) for row in rows]

    async def close(self, transaction: Transaction, window_id: UUID) -> Window:
        """Close a window that is locked, and remove its blocks."""
        (row,) = await transaction.query(_CLOSE, {"window_id": window_id})
        return _window(row)


def no_window(window_id: UUID) -> WindowNotFound:
    """Return the error of who asks for a window that is not there, or not for him."""
    return WindowNotFound("there is no such window", window_id=window_id)


def model_sha(model: str) -> bytes:
    """Return what a model is known by where no text of a caller may stay."""
    return hashlib.sha256(model.encode()).digest()


def stored(pieces: Iterable[Rendered]) -> str:
    """Return pieces as they are kept: the bytes that are sent, whatever renders later ones."""
    return orjson.dumps([tuple(one) for one in pieces]).decode()


def loaded(text: str) -> list[Rendered]:
    """Return the pieces that `stored` wrote."""
    return [Rendered(*one) for one in orjson.loads(text)]


def _window(row: Row) -> Window:
    return copied(
        Window,
        row,
        format=Format(row.format),
        tools_json=row.tools_json or "",
        state_pieces=tuple(loaded(row.state_pieces)),
        pins_pieces=tuple(loaded(row.pins_pieces)),
        left_out=LeftOut.parsed(row.left_out),
    )
