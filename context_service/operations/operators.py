"""Who is an operator: a key in Postgres with the scope `operator`, which only the command line gives."""

from __future__ import annotations

from uuid import UUID

from contextkeep.errors import PermissionDenied
from service_runtime.auth import Principal
from service_runtime.postgres import Database

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
    await database.of(principal).at_home().query(_CHECK, {"asking_id": key_of(principal)})
