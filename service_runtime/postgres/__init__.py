"""Postgres: one database or many, with one border where driver errors become ours.

`Tenant.query` runs one statement in one round trip; `Tenant.transaction` runs several. Both set the tenant, the other
settings that row-level security reads, and a statement timeout of the call's remaining time. Statements whose
parameters have names get the tenant as `tenant_id`. All settings are local to the transaction: no session state
survives, so that PgBouncer may hand the connection on. `Database.untenanted` reads tables without a tenant. Where there
are many databases, `Database` finds the one where a tenant lives, and no other code knows of it.

Health has a connection of its own, so that it reports Postgres and not our load. Background work does not wait at locks
for long, so that its connections are free for callers.

If Postgres stops, its connections close and are replaced on use. If it freezes, or its machine vanishes, nothing is
reported at all. Then the caller gets an error before its deadline, and the connection and all idle ones are closed, so
that later callers do not find out one by one that they are dead.
"""

from contextkeep.errors import SchemaBehind
from service_runtime.postgres.arrays import TextArray, json_rows
from service_runtime.postgres.connection import CONNECT_TIMEOUT_S, Connection, Row
from service_runtime.postgres.database import Database
from service_runtime.postgres.directory import HOME
from service_runtime.postgres.errors import lives_elsewhere
from service_runtime.postgres.half_vectors import take_half_vectors
from service_runtime.postgres.pool import READY_TIMEOUT_S
from service_runtime.postgres.roles import UnsafeRole, ask
from service_runtime.postgres.tenant import Across, Tenant, Transaction

__all__ = [
    "CONNECT_TIMEOUT_S",
    "HOME",
    "READY_TIMEOUT_S",
    "Across",
    "Connection",
    "Database",
    "Row",
    "SchemaBehind",
    "Tenant",
    "TextArray",
    "Transaction",
    "UnsafeRole",
    "ask",
    "json_rows",
    "lives_elsewhere",
    "take_half_vectors",
]
