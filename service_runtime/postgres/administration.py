"""An operator's connection to Postgres, as the owner of the tables: of migrations, keys, tenants and their limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors as pg

from contextkeep.errors import FailedPrecondition
from service_runtime.postgres import CONNECT_TIMEOUT_S


class CannotAdminister(FailedPrecondition):
    """DATABASE_ADMIN_URL cannot be reached, or lacks the tables or the rights that a command needs."""

    reason = "CANNOT_ADMINISTER"


@contextmanager
def administering(admin_url: str, **options: Any) -> Iterator[psycopg.Connection[Any]]:
    """Connect as the tables' owner for the block; errors of Postgres keep their text and get advice on what to do.

    Args:
        admin_url: URL of the role that owns the tables.
        options: Further keyword arguments of `psycopg.connect`, such as `autocommit`.

    Raises:
        CannotAdminister: Postgres does not answer, the tables are missing, or the role is not their owner.
    """
    try:
        with psycopg.connect(admin_url, connect_timeout=CONNECT_TIMEOUT_S, **options) as connection:
            yield connection
    except (pg.UndefinedTable, pg.InvalidSchemaName) as error:
        raise CannotAdminister(f"{_first_line(error)}: run `migrate` of both services") from error
    except pg.InsufficientPrivilege as error:
        raise CannotAdminister(
            f"{_first_line(error)}: DATABASE_ADMIN_URL must name the role that owns the database and its tables"
        ) from error
    except pg.ReadOnlySqlTransaction as error:
        raise CannotAdminister("the tenant is being moved, and its writes stop for some seconds; try again") from error
    except psycopg.OperationalError as error:
        raise CannotAdminister(f"cannot reach Postgres at DATABASE_ADMIN_URL: {_first_line(error)}") from error


def _first_line(error: psycopg.Error) -> str:
    return (error.diag.message_primary or str(error)).splitlines()[0]
