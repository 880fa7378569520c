"""Postgres: one database or many, two doors, one border where driver errors become ours.

`Tenant.query` runs one statement in one round trip; `Tenant.transaction` runs several. Both set the tenant, and what
else row-level security checks, and a statement timeout of what is left of the call's deadline; statements whose
parameters have names are given the tenant as `tenant_id`. All settings
are local to the transaction: nothing of a session survives, so that PgBouncer may hand the connection on.
Tables without a tenant are read by `Database.untenanted`. Where there are many databases, `Database` finds the one
where a tenant lives, and nobody else knows of it.

Health has a connection of its own, so that it tells of Postgres and not of how busy we are. What nobody waits for does
not wait at locks for long, so that the connections are there for callers.

A Postgres that is gone says so: its connections close, and are replaced when they are asked for. One that is frozen,
or whose machine has vanished, says nothing at all. Then the caller is told while there is time, and the connection
and all that idle beside it are hung up on: it is not the caller's part to find out which of ten are dead.
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
