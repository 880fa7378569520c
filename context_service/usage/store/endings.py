"""The SQL of the outcomes of steps. Writers hold the window's lock; readers act for their principal."""

from __future__ import annotations

from context_service.contexts.room import Log
from context_service.usage.pure.endings import Endings, endings_json, parse_endings
from context_service.windows.model import Window
from service_runtime.postgres import Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_READ = SQL["read"]
_WRITE = SQL["write"]


class EndingRows:
    """The stored outcomes of the steps of windows.

    Args:
        log: The contexts that the windows belong to.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def read(self, window: Window, *, principal: Principal) -> Endings:
        """Return the outcomes of a window's steps."""
        return await self.read_in(self._log.of(principal, window.context_id), window)

    async def read_in(self, connection: Tenant | Transaction, window: Window) -> Endings:
        """Return the outcomes of a window's steps, read within a transaction."""
        rows = await connection.query(_READ, (connection.tenant_id, window.window_id))
        return parse_endings(rows[0].outcomes) if rows else Endings()

    async def write(self, transaction: Transaction, window: Window, endings: Endings) -> None:
        """Write the outcomes of the steps of a locked window."""
        await transaction.query(_WRITE, (endings_json(endings), transaction.tenant_id, window.window_id))

    async def forget(self, transaction: Transaction, window: Window, *, step_to: int) -> None:
        """Delete the outcomes of a locked window for all steps after `step_to`, because other steps replace these."""
        endings = await self.read_in(transaction, window)
        endings_before = endings.up_to(step_to)
        if endings_before != endings:
            await self.write(transaction, window, endings_before)
