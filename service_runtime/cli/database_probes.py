"""Checks of `check-config` for each database: it answers as both roles, is the right one, and is migrated."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from service_runtime import postgres
from service_runtime.databases.migrate import Migration, require_applied
from service_runtime.databases.schema import SchemaCheck
from service_runtime.grpc_server.server import Check
from service_runtime.postgres import HOME, Database, take_half_vectors
from service_runtime.settings import ServiceSettings


def of_services(settings: ServiceSettings, migrations: Sequence[Migration]) -> dict[str, Check]:
    """Return the checks that run as the services' role."""

    async def answers(url: str, named: str = HOME) -> None:
        await postgres.ask(url, take_half_vectors)
        async with Database.open(url, connections_max=1, name="check-config") as opened:
            await SchemaCheck(opened, migrations, first=named).ready()

    async def home() -> None:
        await answers(settings.database)

    others = {
        f"{name}, of DATABASE_URLS": partial(answers, url, name) for name, url in settings.other_databases.items()
    }
    return {"Postgres, as DATABASE_URL": home, **others}


def of_owner(settings: ServiceSettings, migrations: Sequence[Migration]) -> dict[str, Check]:
    """Return the checks that run as the owner of the tables, if the settings name it."""

    async def other(name: str) -> None:
        await asyncio.to_thread(require_applied, settings.other_databases_admin[name], list(migrations))

    if settings.database_admin_url is None:
        return {}
    home = partial(asyncio.to_thread, require_applied, settings.database_admin, list(migrations))
    others = {
        f"migrations of {name}, of DATABASE_ADMIN_URLS": partial(other, name)
        for name in (settings.other_databases if settings.database_admin_urls else ())
    }
    return {"migrations, as DATABASE_ADMIN_URL": home, **others}
