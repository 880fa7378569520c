"""The SQL of bills, which are stored with their windows, and of the calibration that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from context_service.kernel.tokens import Calibration
from context_service.usage.model import Usage
from context_service.windows.model import Window, WindowInput
from context_service.windows.pure.models import model_sha
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

# The most calibrations of a tenant, one for each pair of model and profile. Then the calibration that was not used for
# the longest time is deleted.
CALIBRATIONS_MAX = 1_000


SQL = SqlFile.of(__file__, calibrations_max=CALIBRATIONS_MAX)
_ADD = SQL["add"]
_TAKE_FACTOR = SQL["take_factor"]
_OWN = SQL["own"]
_LEARN_OWN = SQL["learn_own"]
_LOCK_CALIBRATION = SQL["lock_calibration"]
_LEARN = SQL["learn"]
_FORGET_OLDEST = SQL["forget_oldest"]
_CALIBRATION = SQL["calibration"]
_BILLED = SQL["billed"]


class UsageRows:
    """The stored bills of windows, and the calibration of token counts that follows from them.

    Args:
        database: The database that holds bills and calibrations.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, transaction: Transaction, window: Window, epoch: int, usage: Usage) -> None:
        """Add a bill to the bills of an epoch of a locked window."""
        fields = asdict(usage)
        del fields["calls"]
        parameters = {"window_id": window.window_id, "epoch": epoch}
        await transaction.query(_ADD, {**parameters, **fields})

    async def learn(
        self, transaction: Transaction, window: Window, *, counted_tokens: int, billed_tokens: int, is_own: bool
    ) -> Calibration:
        """Calibrate with a bill for a pack of a locked window, and return the calibration.

        Args:
            transaction: The transaction that holds the lock.
            window: The window whose pack was billed.
            counted_tokens: The counted tokens of the pack; 0 if they are unknown, and then nothing changes.
            billed_tokens: The tokens that the vendor billed.
            is_own: The caller has a key of the context: the bill calibrates this window only.
        """
        of_window, key = (transaction.tenant_id, window.window_id), (transaction.tenant_id, *_key(window))
        if not counted_tokens:
            return _calibration(await transaction.query(_OWN if is_own else _CALIBRATION, of_window if is_own else key))
        if is_own:
            calibration = _calibration(await transaction.query(_OWN, of_window)).after(
                counted_tokens=counted_tokens, billed=billed_tokens
            )
            await transaction.query(_LEARN_OWN, (list(calibration.ratios), *of_window))
        else:
            before = _calibration(await transaction.query(_LOCK_CALIBRATION, key))
            if not before.ratios:
                await transaction.query(_FORGET_OLDEST, (transaction.tenant_id, transaction.tenant_id))
            calibration = before.after(counted_tokens=counted_tokens, billed=billed_tokens)
            await transaction.query(_LEARN, (list(calibration.ratios), calibration.factor, *key))
        await transaction.query(_TAKE_FACTOR, (calibration.factor, *of_window))
        return calibration

    async def total(self, window: Window, *, principal: Principal) -> Usage:
        """Return the sum of the bills of a window, over all its epochs."""
        tenant = self._database.of(principal, context_id=window.context_id)
        (row,) = await tenant.query(_BILLED, (tenant.tenant_id, window.window_id))
        return Usage(**row._asdict())

    async def calibration(self, window: Window, *, principal: Principal) -> Calibration:
        """Return the calibration of a window's counts.

        A caller whose key is bound to the context gets the calibration by the bills of this window only.
        """
        if principal.context_id:
            tenant = self._database.of(principal, context_id=window.context_id)
            return _calibration(await tenant.query(_OWN, (tenant.tenant_id, window.window_id)))
        tenant = self._database.of(principal)
        return _calibration(await tenant.query(_CALIBRATION, (tenant.tenant_id, *_key(window))))

    async def factor(self, window: Window, *, principal: Principal) -> float:
        """Return the factor by which a window's budget must be divided from its next fold on."""
        calibration = await self.calibration(window, principal=principal)
        return calibration.factor if calibration.ratios else window.token_factor


def _key(window: WindowInput) -> tuple[bytes, str]:
    """Return the key of a window's calibration: its model and its profile."""
    return model_sha(window.model), window.profile


def _calibration(rows: Sequence[Row]) -> Calibration:
    return Calibration(ratios=tuple(rows[0].ratios)) if rows else Calibration()
