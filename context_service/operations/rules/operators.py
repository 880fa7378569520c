"""Who is an operator, and what operators ask of all databases.

One is a key in Postgres with the scope `operator`, which only the command line gives. Keys are in the home database: it
is asked first, and sees for itself whether the key may. The others take our word for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from contextkeep.errors import DeadlineExceeded, PermissionDenied, Unavailable
from service_runtime.auth import Principal
from service_runtime.postgres import HOME, Database, Row

_log = logging.getLogger("operations")

_CHECK = "SELECT access.check_operator(%(asking_id)s)"


def key_of(principal: Principal) -> UUID:
    """Return the key that asks.

    Raises:
        PermissionDenied: it is none in Postgres.
    """
    if principal.key_id is None:
        raise PermissionDenied("operators call with keys in Postgres")
    return principal.key_id


async def check_operator(database: Database, principal: Principal) -> None:
    """Refuse whoever is none.

    Raises:
        PermissionDenied: it is no operator's key, or lives no more.
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
    """Run a function of operators in each database, and return what each answered, by name, the home first.

    Args:
        database: All of them.
        principal: Who asks.
        sql: The statement; `asking_id` is the key that asks.
        parameters: Its other parameters.
        names: Of the only databases to ask, beside the home; None: all.

    Returns:
        None of one that does not answer, if it is not the home.

    Raises:
        PermissionDenied: it is no operator's key, or lives no more. Then no other database was asked.
        Unavailable: the home database does not answer.
    """
    named = {**(parameters or {}), "asking_id": key_of(principal)}

    async def ask(name: str) -> list[Row] | None:
        try:
            return await database.operating(principal, name).query(sql, named)
        except (Unavailable, DeadlineExceeded) as error:
            _log.warning("database left out", extra={"database": name, "error": str(error)})
            return None

    found: dict[str, list[Row] | None] = {HOME: await database.operating(principal, HOME).query(sql, named)}
    others = sorted(set(database.names if names is None else names) - {HOME})
    found.update(zip(others, await asyncio.gather(*map(ask, others)), strict=True))
    return found
