"""The commands that both services have on their command lines."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any
from urllib.parse import unquote, urlsplit

from service_runtime.migrate import Migration, migrate
from service_runtime.settings import ServiceSettings

Subparsers = Any  # argparse keeps the type to itself


def add_serve(commands: Subparsers) -> None:
    """Add `serve`."""
    command = commands.add_parser(
        "serve", help="answer calls until SIGTERM", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--migrate", action="store_true", help="apply migrations first: for development")


def add_migrate(commands: Subparsers) -> None:
    """Add `migrate`."""
    command = commands.add_parser("migrate", help="bring the database to this version, as DATABASE_ADMIN_URL")
    command.add_argument("--json", action="store_true", help="print what was applied as JSON")


def run_migrations(settings: ServiceSettings, migrations: list[Migration], *, as_json: bool) -> None:
    """Apply what is missing and say what that was.

    Raises:
        MigrationFailed: see `migrate`.
    """
    role = unquote(urlsplit(settings.database).username or "")
    applied = migrate(settings.database_admin, migrations, service_role=role)
    if as_json:
        print(json.dumps([{"schema": m.schema, "version": m.version, "name": m.name} for m in applied]))  # noqa: T201
        return
    for migration in applied:
        print(f"applied {migration.schema} {migration.name}", file=sys.stderr)  # noqa: T201
    if not applied:
        print("the database is up to date", file=sys.stderr)  # noqa: T201
