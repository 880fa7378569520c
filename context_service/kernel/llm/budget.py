"""How many tokens of models each tenant may spend in a day (UTC), over all replicas."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)


def _today() -> date:
    return datetime.now(UTC).date()


class TokenBudget:
    """Counts the tokens of models by tenant, and says when a tenant has spent those of the day.

    Tokens are counted after a call of a model. So a tenant exceeds its budget by the calls that run at that moment.

    Args:
        database: The database that has the counts.
        tokens_per_day_max: The most tokens of a tenant in a day; 0 sets no limit, and counts nothing.
        today: Returns the current day.
    """

    def __init__(self, database: Database, tokens_per_day_max: int, *, today: Callable[[], date] = _today) -> None:
        self._database = database
        self._tokens_per_day_max = tokens_per_day_max
        self._today = today

    async def has_room(self, principal: Principal) -> bool:
        """Return whether the tenant of a principal has tokens left today."""
        return not self._tokens_per_day_max or await self._spent(principal) < self._tokens_per_day_max

    async def spend(self, principal: Principal, tokens: int) -> None:
        """Count tokens of the tenant of a principal."""
        if self._tokens_per_day_max:
            tenant = self._database.of(principal)
            await tenant.query(SQL["spend"], (tenant.tenant_id, self._today(), tokens))

    async def _spent(self, principal: Principal) -> int:
        """Return the tokens that the tenant of a principal has spent today."""
        tenant = self._database.of(principal)
        rows = await tenant.query(SQL["spent"], (tenant.tenant_id, self._today()))
        return int(rows[0].tokens) if rows else 0
