"""The role that a service connects as, which must own nothing: or row-level security would not hold."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import namedtuple_row

from contextkeep.errors import FailedPrecondition, Unavailable
from service_runtime.postgres.connection import CONNECT_TIMEOUT_S, Configure, Row

_ROLE = """
SELECT r.rolname, r.rolsuper, r.rolbypassrls,
    EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('access', 'context', 'entity') AND pg_has_role(r.oid, c.relowner, 'MEMBER')
    ) AS owns
FROM pg_roles r WHERE r.rolname = current_user
"""


class UnsafeRole(FailedPrecondition):
    """The role of DATABASE_URL would pass row-level security in silence."""

    reason = "UNSAFE_DATABASE_ROLE"


async def ask(url: str, configure: Configure | None = None) -> None:
    """Connect once as a service does, and report a problem in Postgres's own words: for an operator.

    Raises:
        Unavailable: Postgres does not answer, or refuses the role.
        FailedPrecondition: an extension is missing.
        UnsafeRole: row-level security would not hold for the role.
    """
    try:
        async with await psycopg.AsyncConnection[Row].connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            await require_safe_role(connection)
            if configure is not None:
                await configure(connection)
    except psycopg.OperationalError as error:
        raise Unavailable(f"cannot connect at DATABASE_URL: {str(error).splitlines()[0]}") from error
    except psycopg.ProgrammingError as error:  # of pgvector's adapters
        raise FailedPrecondition(str(error)) from error


async def require_safe_role(connection: psycopg.AsyncConnection[Any]) -> None:
    """Refuse a role that passes every policy in silence: a superuser, one with BYPASSRLS, an owner of our tables.

    Raises:
        UnsafeRole: the message says what to do.
    """
    cursor: psycopg.AsyncCursor[Row] = connection.cursor(row_factory=namedtuple_row)
    await cursor.execute(_ROLE)
    (role,) = await cursor.fetchall()
    if role.rolsuper or role.rolbypassrls or role.owns:
        why = "is a superuser" if role.rolsuper else "has BYPASSRLS" if role.rolbypassrls else "owns tables"
        raise UnsafeRole(
            f"the role of DATABASE_URL, {role.rolname}, {why}: row-level security would not hold. "
            "Use a role that owns nothing; only `migrate` uses DATABASE_ADMIN_URL",
            role=role.rolname,
        )
