"""How many tokens of models each tenant may spend in a day (UTC). Each replica counts by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from uuid import UUID


def _today() -> date:
    return datetime.now(UTC).date()


class TokenBudget:
    """Counts the tokens of models by tenant, and says when a tenant has spent those of the day.

    Args:
        tokens_per_day_max: The most tokens of a tenant in a day; 0 sets no limit.
        today: Returns the current day.
    """

    def __init__(self, tokens_per_day_max: int, *, today: Callable[[], date] = _today) -> None:
        self._tokens_per_day_max = tokens_per_day_max
        self._today = today
        self._day = today()
        self._spent: Counter[UUID] = Counter()

    def has_room(self, tenant_id: UUID) -> bool:
        """Return whether a tenant has tokens left today."""
        return not self._tokens_per_day_max or self.spent(tenant_id) < self._tokens_per_day_max

    def spend(self, tenant_id: UUID, tokens: int) -> None:
        """Count tokens of a tenant."""
        self._spent[tenant_id] = self.spent(tenant_id) + tokens

    def spent(self, tenant_id: UUID) -> int:
        """Return the tokens that a tenant has spent today."""
        if self._day != (today := self._today()):
            self._day = today
            self._spent.clear()
        return self._spent[tenant_id]
