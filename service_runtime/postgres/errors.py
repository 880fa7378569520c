"""The border where errors of the driver become ours."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from contextkeep.errors import (
    Aborted,
    DeadlineExceeded,
    InvalidArgument,
    LimitExceeded,
    Overloaded,
    PermissionDenied,
    SchemaBehind,
    StorageFull,
    TenantMoving,
    Unavailable,
)

RETRY_AFTER_S = 0.5
# Our clients try four times: so they wait for a tenant that moves as long as its writes may have to.
WRITES_AGAIN_S = 2.0

# Said between the making of a schema and the end of its migrations.
_NOT_YET_GRANTED = {
    "permission denied for table migration",
    *(f"permission denied for schema {name}" for name in ("access", "context", "entity")),
}


NOT_HERE = "CK001"  # as `access.enter` raises it


def translated(error: BaseException) -> Exception | None:
    """Return our error for an error of the driver, or None for constraints and for faults of our own."""
    match error:
        case PoolTimeout() | TooManyRequests():
            return Overloaded("no database connection is free", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case PoolClosed():
            return Unavailable("the service is stopping", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case pg.QueryCanceled():
            return late()
        case pg.DiskFull():
            return StorageFull("the database has no room left", dependency="postgres")
        case pg.InsufficientPrivilege() if '"bounds' in (error.diag.message_primary or ""):
            return PermissionDenied("the key is bound to other graphs, agent bundles, apps or contexts")
        case pg.InsufficientPrivilege() if error.diag.message_primary == "key refused":
            return PermissionDenied("the key is not valid for this call, or grants less than the call needs")
        case pg.UndefinedTable() | pg.UndefinedColumn() | pg.InvalidSchemaName():
            return _schema_behind()
        case pg.UndefinedFunction() if (error.diag.message_primary or "").startswith("function "):  # not an operator
            return _schema_behind()
        case pg.InsufficientPrivilege() if (error.diag.message_primary or "") in _NOT_YET_GRANTED:
            return _schema_behind()
        case psycopg.DatabaseError() if error.sqlstate == NOT_HERE:
            return lives_elsewhere()
        case pg.SerializationFailure() | pg.DeadlockDetected():
            return Aborted("another call changed the same rows; try again")
        case pg.ProgramLimitExceeded():
            return LimitExceeded("a value is larger than the database can store")
        case pg.DataError() if error.sqlstate:
            # A number that jsonb cannot hold, a time out of range: earlier checks do not know.
            return InvalidArgument(f"a value cannot be stored: {error.diag.message_primary}")
        case pg.LockNotAvailable():
            return Unavailable(
                "another transaction holds a lock that this call needs; try again",
                dependency="postgres",
                retry_after_s=RETRY_AFTER_S,
            )
        case pg.ReadOnlySqlTransaction():  # the tenant leaves it, or it fails over
            return Unavailable(
                "the database is read-only at the moment; try again",
                dependency="postgres",
                retry_after_s=WRITES_AGAIN_S,
            )
        case psycopg.OperationalError() | OSError():
            return unavailable()
        case _:
            return None


def _schema_behind() -> SchemaBehind:
    """Return the error for a database that lacks migrations of this version."""
    return SchemaBehind(
        "the database lacks migrations of this version: run `migrate`",
        dependency="postgres",
        retry_after_s=RETRY_AFTER_S,
    )


def lives_elsewhere() -> TenantMoving:
    """Return the error of a tenant that a database refuses although the directory names that database."""
    return TenantMoving(
        "the tenant is on its way to another database", dependency="postgres", retry_after_s=RETRY_AFTER_S
    )


def late() -> DeadlineExceeded:
    """Return the error of a call whose time is over."""
    return DeadlineExceeded("the database did not answer within the call's time")


def unavailable() -> Unavailable:
    """Return the error of a Postgres that does not answer."""
    return Unavailable("the database does not answer", dependency="postgres", retry_after_s=RETRY_AFTER_S)
