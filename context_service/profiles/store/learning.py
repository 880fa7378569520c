"""The SQL of learning: counts of lookups by profile and app, and the version of a profile learned from them."""

from __future__ import annotations

from uuid import UUID

import orjson
from psycopg.types.json import Jsonb

from context_service.checkpoints.pure.left_out import LeftOut
from context_service.contexts.room import Log
from context_service.packing.pure.texts.tallies import ToolUse
from context_service.profiles.model import LEARNINGS_MAX, LearningState, LookedUpMessage
from context_service.profiles.pure.lookups import counts_json, counts_of
from service_runtime.postgres import Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

SQL = SqlFile.of(__file__, learnings_max=LEARNINGS_MAX)
_LOCK = SQL["lock"]
_VERSION = SQL["version"]
_CREATE = SQL["begin"]
_WRITE = SQL["write"]
_PLACE = SQL["place"]
_TOOLS = SQL["tools"]
_APP = SQL["app"]
_TEACH = SQL["teach"]


class LearningRows:
    """The stored counts of lookups, and the places of looked-up messages.

    Args:
        log: The contexts that the windows belong to.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def locked(self, transaction: Transaction, profile: str, app_id: str) -> LearningState | None:
        """Return the state of learning of a profile and an app, locked until the transaction ends.

        If there is none, it is created; None if the tenant has as many as it may have.
        """
        key = (transaction.tenant_id, profile, app_id)
        rows = await transaction.query(_LOCK, key)
        if not rows:
            parameters = {"profile": profile, "app_id": app_id}
            await transaction.query(_CREATE, parameters)
            rows = await transaction.query(_LOCK, key)
        return _learning_state(rows[0]) if rows else None

    async def write(self, transaction: Transaction, now: LearningState) -> None:
        """Write the state of learning of a locked row."""
        parameters = (Jsonb(counts_json(now.counts)), now.context_count, now.is_frozen, now.version, now.learned_count)
        await transaction.query(_WRITE, (*parameters, transaction.tenant_id, now.profile, now.app_id))

    async def version(self, tenant: Tenant, profile: str, app_id: str) -> int:
        """Return the version of a profile that was learned for an app; 0 if there is none."""
        rows = await tenant.query(_VERSION, (tenant.tenant_id, profile, app_id))
        return rows[0].version if rows else 0

    async def app_of(self, context_id: UUID, *, principal: Principal) -> str:
        """Return the app of a context; empty if the principal does not see the context."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_APP, (tenant.tenant_id, context_id))
        return str(rows[0].app_id) if rows else ""

    async def place(
        self, context_id: UUID, window_id: UUID, seq: int, *, principal: Principal
    ) -> LookedUpMessage | None:
        """Return the place of a looked-up message, or None if the lookup does not count.

        It does not count if the pack shows the message, if the window leaves it out, or if the window does not learn.
        """
        tenant = self._log.of(principal, context_id)
        parameters = {"context_id": context_id, "window_id": window_id, "seq": seq}
        rows = await tenant.query(_PLACE, parameters)
        if not rows or rows[0].is_masked is False or seq in LeftOut.parse(rows[0].left_out):
            return None
        return LookedUpMessage(rows[0].profile, rows[0].app_id, _names(rows[0].tools) if rows[0].tools else [])

    async def tools(
        self, context_id: UUID, window_id: UUID, numbers: list[int], *, principal: Principal
    ) -> list[list[str]]:
        """Return the names of the tools that steps called, by the numbers of the steps' blocks."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_TOOLS, (tenant.tenant_id, window_id, numbers))
        return [_names(row.tools) for row in rows]

    async def count_lookup(
        self, context_id: UUID, window_id: UUID, *, lookups_max: int, principal: Principal
    ) -> bool | None:
        """Count a lookup in a window; return whether it was the first lookup in the context.

        A fork counts as a part of its parent context, and never as the first. The result is None if the window has
        counted `lookups_max` lookups already, or if the context no longer exists.
        """

        async def work(transaction: Transaction) -> bool | None:
            if not await self._log.lock(transaction, context_id):  # only one window of the context counts at a time
                return None
            parameters = {"context_id": context_id, "window_id": window_id}
            rows = await transaction.query(_TEACH, {**parameters, "lookups_max": lookups_max})
            return bool(rows[0].is_first) if rows else None

        return await self._log.of(principal, context_id).transaction(work)


def _learning_state(row: Row) -> LearningState:
    return copied(LearningState, row, counts=counts_of(row.counts))


def _names(text: str) -> list[str]:
    """Return the names of the tools that a block stores."""
    return [ToolUse(*row).name for row in orjson.loads(text)]
