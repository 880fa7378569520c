"""Checks that a caller is an operator, and runs the calls of operators in all databases.

An operator has a key in Postgres with the scope `operator`, which only the command line can give. Keys are in the home
database, which is queried first and checks the key itself. The other databases trust this check.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from contextkeep.errors import DeadlineExceeded, PermissionDenied, Unavailable
from service_runtime.postgres import HOME, Database, Row
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("operations")

_CHECK = "SELECT access.check_operator(%(asking_id)s)"


def key_of(principal: Principal) -> UUID:
    """Return the id of the caller's key.

    Raises:
        PermissionDenied: the key is not in Postgres.
    """
    if principal.key_id is None:
        raise PermissionDenied("operators must call with a key that is stored in Postgres")
    return principal.key_id


async def check_operator(database: Database, principal: Principal) -> None:
    """Refuse callers that are not operators.

    Raises:
        PermissionDenied: the caller's key is not that of an operator, or it has expired.
    """
    await database.operating(principal, HOME).query(_CHECK, {"asking_id": key_of(principal)})


async def everywhere(
    database: Database,
    principal: Principal,
    sql: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    names: Collection[str] | None = None,
) -> dict[str, list[Row] | None]:
    """Call a SQL function for operators in each database; return the rows by database, the home database first.

    Args:
        database: The connections to all databases.
        principal: The caller, who must be an operator.
        sql: The statement; its parameter `asking_id` is the caller's key.
        parameters: The other parameters of the statement.
        names: The databases to ask in addition to the home database; None asks all.

    Returns:
        Rows by the name of the database; None for a database, other than the home, that does not answer.

    Raises:
        PermissionDenied: the caller's key is not that of an operator, or it has expired. No other database was
            queried.
        Unavailable: the home database does not answer.
    """
    named = {**(parameters or {}), "asking_id": key_of(principal)}

    async def ask(name: str) -> list[Row] | None:
        """Ask one database; return None if it does not answer, so that the others still count."""
        try:
            return await database.operating(principal, name).query(sql, named)
        except (Unavailable, DeadlineExceeded) as error:
            _log.warning("database skipped", extra={"database": name, "error": str(error)})
            return None

    answers: dict[str, list[Row] | None] = {HOME: await database.operating(principal, HOME).query(sql, named)}
    others = sorted(set(database.names if names is None else names) - {HOME})
    answers.update(zip(others, await asyncio.gather(*map(ask, others)), strict=True))
    return answers
