"""Settings of tenants for providers: a row for each provider that has a setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_READ = SQL["read"]
_LOCK = SQL["lock"]
_WRITE = SQL["write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRows:
    """The stored settings of tenants for providers, as JSON."""

    database: Database

    async def read(self, principal: Principal) -> list[Row]:
        """Return the `provider_id`, `setting` and `imported_json` of each provider that has a setting."""
        tenant = self.database.of(principal)
        return await tenant.query(_READ, (tenant.tenant_id,))

    async def lock(self, transaction: Transaction, provider_id: str) -> Mapping[str, Any]:
        """Return the setting of a provider, locked until the transaction ends."""
        (row,) = await transaction.query(_LOCK, (transaction.tenant_id, provider_id))
        setting: Mapping[str, Any] = row.setting
        return setting

    async def write(
        self, transaction: Transaction, provider_id: str, setting: Mapping[str, Any], *, updated_by: str
    ) -> None:
        """Replace the setting of a provider whose row is locked."""
        await transaction.query(
            _WRITE, (orjson.dumps(setting).decode(), updated_by, transaction.tenant_id, provider_id)
        )
