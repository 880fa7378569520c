"""The commands that both services have on their command lines."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:  # loaded where they are used: `context-service mcp` starts without them
    from service_runtime.check_config import Checked
    from service_runtime.migrate import Migration
    from service_runtime.server import Check
    from service_runtime.settings import ServiceSettings

Subparsers = Any  # argparse keeps the type to itself
_S = TypeVar("_S", bound="ServiceSettings")


@contextmanager
def printing() -> Iterator[None]:
    """Run a command that prints; a reader who goes away, as `head` does, ends it with 1 and without a word."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        sys.exit(1)


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


def add_check_config(commands: Subparsers) -> None:
    """Add `check-config`."""
    command = commands.add_parser(
        "check-config", help="explain every setting, say what is wrong, and try what the settings name"
    )
    command.add_argument("--offline", action="store_true", help="only look at the settings: try nothing that they name")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_check_config(
    settings_class: type[_S], probes: Callable[[_S], Mapping[str, Check]], arguments: argparse.Namespace
) -> NoReturn:
    """Explain and check; exit with 1 if something is wrong.

    Args:
        settings_class: The service's.
        probes: What to ask, once the settings are right.
        arguments: Of the command line.
    """
    from service_runtime.check_config import check, explain, show
    from service_runtime.settings import load

    settings = explain(settings_class)
    answers: list[Checked] = []
    if not arguments.offline and not any(one.problem for one in settings):
        answers = asyncio.run(check(probes(load(settings_class))))
    sys.exit(show(settings, answers, as_json=arguments.json))


def run_migrations(settings: ServiceSettings, migrations: list[Migration], *, as_json: bool) -> None:
    """Apply what is missing and say what that was.

    Raises:
        MigrationFailed: see `migrate`.
    """
    from service_runtime.migrate import migrate

    role = unquote(urlsplit(settings.database).username or "")
    applied = migrate(settings.database_admin, migrations, service_role=role)
    if as_json:
        print(json.dumps([{"schema": m.schema, "version": m.version, "name": m.name} for m in applied]))  # noqa: T201
        return
    for migration in applied:
        print(f"applied {migration.schema} {migration.name}", file=sys.stderr)  # noqa: T201
    if not applied:
        print("the database is up to date", file=sys.stderr)  # noqa: T201
