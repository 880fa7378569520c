"""The SQL of windows and their blocks."""

from __future__ import annotations

from uuid import UUID

from context_service.checkpoints.pure.left_out import LeftOut
from context_service.contexts.room import LOG_SQL, MESSAGES_JSON, Log, messages_of
from context_service.kernel.rendering import Format
from context_service.windows.model import (
    SpentTokens,
    Window,
    WindowContext,
    WindowInput,
    WindowSnapshot,
    window_not_found,
)
from context_service.windows.pure.models import model_sha
from context_service.windows.pure.pieces import parsed_pieces
from service_runtime.postgres import Across, Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied, fields_of

# A snapshot includes the unread messages if they are at most this many and together have at most this many bytes.
_FEW, _SMALL_BYTES = 4, 32 * 1024

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
    """The stored windows of contexts.

    Args:
        database: The database that holds the windows.
        log: The contexts that the windows belong to.
    """

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    async def context_of(self, window_id: UUID, *, principal: Principal) -> UUID:
        """Return the context of a window that the principal may see.

        Raises:
            WindowNotFound: the principal sees no such window.
        """
        return (await self.window_context(window_id, principal=principal)).context_id

    async def window_context(self, window_id: UUID, *, principal: Principal) -> WindowContext:
        """Return the context of a window that the principal may see, and whether the window learns.

        Raises:
            WindowNotFound: the principal sees no such window.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(_CONTEXT_OF_SEEN, (tenant.tenant_id, window_id))
        if not rows:
            raise window_not_found(window_id)
        return WindowContext(rows[0].context_id, rows[0].learns)

    async def count_open(self, transaction: Transaction, context_id: UUID) -> int:
        """Return how many windows of a context are open. The number stays while the caller holds the context's lock."""
        (row,) = await transaction.query(_COUNT_OPEN, (transaction.tenant_id, context_id))
        count: int = row.opened
        return count

    async def open(
        self, transaction: Transaction, context_id: UUID, window_id: UUID, window_input: WindowInput, *, created_by: str
    ) -> Window:
        """Write a new window of a context that is locked."""
        (row,) = await transaction.query(
            _OPEN,
            {
                **fields_of(window_input),
                "context_id": context_id,
                "window_id": window_id,
                "format": window_input.format.value,
                "model_sha": model_sha(window_input.model),
                "created_by": created_by,
                "tools": window_input.tools_json or None,
                "config": window_input.config_json,
            },
        )
        return _window(row)

    async def find(self, window_id: UUID, *, principal: Principal) -> Window:
        """Return a window that the principal may see, in any context.

        Raises:
            WindowNotFound: the principal sees no such window.
        """
        context_id = await self.context_of(window_id, principal=principal)
        window = await self.read(context_id, window_id, principal=principal)
        if window is None:
            raise window_not_found(window_id)
        return window

    async def read(self, context_id: UUID, window_id: UUID, *, principal: Principal) -> Window | None:
        """Return a window, or None if the context has no window with this id."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_READ_SEEN, (tenant.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def header(self, context_id: UUID, window_id: UUID, *, principal: Principal) -> Window | None:
        """Return a window without its large texts, or None if the principal itself cannot see it."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_HEADER, (tenant.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def snapshot(self, window_id: UUID, *, principal: Principal) -> WindowSnapshot | None:
        """Return a window that the principal itself may see, with the end of its log; None if there is none."""
        tenant = self._database.of(principal)
        rows = await tenant.query(_STANDING, {"window_id": window_id})
        if not rows:
            return None
        window, last_seq = _window(rows[0]), rows[0].last_seq
        following = messages_of(rows[0].following or "[]")
        is_all = len(following) == last_seq - window.reached_seq
        following = following if is_all else []
        return WindowSnapshot(window, last_seq, rows[0].retracted, following, rows[0].packed_seq, rows[0].idle_s)

    async def lock(self, transaction: Transaction, context_id: UUID, window_id: UUID) -> Window | None:
        """Lock a window until the transaction ends, and return it; None if the context has no such window."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, context_id, window_id))
        return _window(rows[0]) if rows else None

    async def configure(self, transaction: Transaction, window: Window) -> None:
        """Write the config of a locked window, and the limit that follows from the config."""
        parameters = {
            "context_id": window.context_id,
            "window_id": window.window_id,
            "config": window.config_json,
            "token_limit": window.token_limit,
        }
        await transaction.query(_CONFIGURE, parameters)

    async def mark_packed(self, window: Window, *, last_seq: int, principal: Principal) -> None:
        """Store that a window is packed now for a model, with its log up to `last_seq`."""
        tenant = self._log.of(principal, window.context_id)
        await tenant.query(_PACKED, (last_seq, tenant.tenant_id, window.context_id, window.window_id))

    async def spend(
        self, transaction: Transaction, window: Window, tokens: int, *, last_seq: int
    ) -> SpentTokens | None:
        """Add the tokens of a pack to those of its window and of its run.

        A pack is counted once: it is skipped if it, or a later pack, was counted before.

        Args:
            transaction: The transaction in which the pack is counted.
            window: The window as it was packed.
            tokens: The tokens of the pack; 0 for a pack that no model gets.
            last_seq: The last message of the log that the pack contains.

        Returns:
            The limit that is nearest to being reached, with the tokens spent; None if there is no limit. If the pack
            would go over a limit, nothing is counted, and `is_over` is set.
        """
        key = (transaction.tenant_id, window.context_id, window.window_id)
        # Lock the row of the run's first window before the rows of its forks, as merges do, to avoid deadlocks.
        run = await self._spend_of_run(transaction, window, 0) if window.is_of_run else None
        tokens_max = window.config.total_tokens_max
        if not (run or tokens_max):
            return None
        rows = await transaction.query(_SPENT, key)
        if not rows:
            raise window_not_found(window.window_id)
        own = SpentTokens(rows[0].spent_tokens, tokens_max, False)
        if tokens and (rows[0].spent_epoch, rows[0].spent_seq) < (window.epoch, last_seq):
            if tokens_max and own.tokens + tokens > tokens_max:
                return own._replace(is_over=True)
            run = await self._spend_of_run(transaction, window, tokens) if run else None
            if run and run.is_over:
                return run
            own = own._replace(tokens=own.tokens + tokens)
            await transaction.query(_SPEND, (own.tokens, window.epoch, last_seq, *key))
        return min(
            (budget for budget in (own, run) if budget and budget.tokens_max),
            key=lambda limit: limit.tokens_max - limit.tokens,
        )

    async def _spend_of_run(self, transaction: Transaction, window: Window, tokens: int) -> SpentTokens | None:
        """Add tokens to those of a fork's run; return None if the run has no limit of tokens."""
        rows = await transaction.query(_SPEND_OF_RUN, (window.context_id, window.window_id, tokens))
        return SpentTokens(rows[0].spent, rows[0].spent_max, rows[0].is_over) if rows else None

    async def page(self, context_id: UUID, *, principal: Principal, before: UUID | None, count: int) -> list[Window]:
        """Return windows of a context, newest first, that are older than `before`."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_LIST_SEEN, (tenant.tenant_id, context_id, before, before, count))
        return [_window(row) for row in rows]

    async def close(self, transaction: Transaction, window_id: UUID) -> Window:
        """Close a locked window, and delete its blocks."""
        (row,) = await transaction.query(_CLOSE, {"window_id": window_id})
        return _window(row)


def _window(row: Row) -> Window:
    """Return the window of a row."""
    return copied(
        Window,
        row,
        format=Format(row.format),
        tools_json=row.tools_json or "",
        state_pieces=tuple(parsed_pieces(row.state_pieces)),
        pins_pieces=tuple(parsed_pieces(row.pins_pieces)),
        left_out=LeftOut.parse(row.left_out),
        speakers=tuple(row.speakers.splitlines()),
    )
