"""The commands that both services have on their command lines."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:  # loaded where they are used: `context-service mcp` starts without them
    from service_runtime.cli.check_config import Checked
    from service_runtime.databases.migrate import Migration
    from service_runtime.erasure.erased import Replayed
    from service_runtime.grpc_server.server import Check
    from service_runtime.settings import ServiceSettings

Subparsers = Any  # argparse keeps the type to itself
_S = TypeVar("_S", bound="ServiceSettings")


@contextmanager
def printing() -> Iterator[None]:
    """Run a command that prints; if its reader goes away, as `head` does, it exits with 1 and prints no more."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        sys.exit(1)


def add_serve(commands: Subparsers) -> None:
    """Add the command `serve`."""
    command = commands.add_parser(
        "serve", help="run the service until SIGTERM or Ctrl-C", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--migrate", action="store_true", help="apply migrations first, for development")


def add_migrate(commands: Subparsers) -> None:
    """Add the command `migrate`."""
    command = commands.add_parser(
        "migrate",
        help="apply the migrations of this version to DATABASE_ADMIN_URL, then to each of DATABASE_ADMIN_URLS",
    )
    command.add_argument("--database", metavar="NAME", help="migrate only this one of DATABASE_ADMIN_URLS")
    command.add_argument("--json", action="store_true", help="print the applied migrations as JSON")


def add_check_config(commands: Subparsers) -> None:
    """Add the command `check-config`."""
    command = commands.add_parser(
        "check-config", help="explain every setting, report problems, and try the addresses that the settings name"
    )
    command.add_argument("--offline", action="store_true", help="only check the settings: connect to nothing")
    command.add_argument("--json", action="store_true", help="print JSON")


def add_replay(commands: Subparsers, program: str) -> None:
    """Add the command `replay`."""
    replay = commands.add_parser(
        "replay",
        help="repeat the erasures of a register in a database that was restored from an older backup",
        description="Compares each line of the register with the id of every user in the database, erases the users"
        " that match, and waits until that is done. Skips erasures that have a receipt. Safe to stop and run again.",
        epilog=f"example: {program} erasures replay erasures.ndjson",
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="the output of `context-service erasures list`")
    replay.add_argument("--json", action="store_true", help="print the outcome as JSON")


def print_replayed(replayed: Replayed, *, as_json: bool) -> int:
    """Print the outcome of a register, and return the exit code: 1 if a hold forbids a part, or a database is away."""
    if as_json:
        print(json.dumps(dataclasses.asdict(replayed)))  # noqa: T201
    else:
        print(  # noqa: T201
            f"erased {replayed.erased:,} again; {replayed.nobody:,} were not there, {replayed.known:,} have a receipt"
        )
        for erasure_id in replayed.held:
            print(f"a hold forbids {erasure_id}: release it, or leave the line out", file=sys.stderr)  # noqa: T201
    return int(not print_away(replayed.databases_away) or bool(replayed.held))


def print_away(databases: Sequence[str]) -> bool:
    """Print which databases do not serve, so that a command left their tenants out; return whether there are none."""
    if databases:
        print(  # noqa: T201
            f"left out: who lives in {', '.join(databases)}, which does not serve now (`check-config` says why)",
            file=sys.stderr,
        )
    return not databases


def run_check_config(
    settings_class: type[_S], probes: Callable[[_S], Mapping[str, Check]], arguments: argparse.Namespace
) -> NoReturn:
    """Explain the settings, check the dependencies and print both; exit with 1 if something is wrong.

    Args:
        settings_class: Class of the service's settings.
        probes: The checks to run if the settings are valid.
        arguments: Parsed arguments of the command line.
    """
    from service_runtime.cli.check_config import check, explain, show
    from service_runtime.settings import load

    settings = explain(settings_class)
    answers: list[Checked] = []
    if not arguments.offline and not any(setting.problem for setting in settings):
        answers = asyncio.run(check(probes(load(settings_class))))
    sys.exit(show(settings, answers, as_json=arguments.json))


def run_migrations(
    settings: ServiceSettings, migrations: list[Migration], *, as_json: bool, only: str | None = None
) -> None:
    """Apply the missing migrations in each database, one after the other, and print them.

    If one of many databases refuses, its error is printed and the others are migrated all the same; then exit with 1.

    Args:
        settings: Settings of the service; they name the databases.
        migrations: All migrations that the service needs.
        as_json: Print the applied migrations as JSON.
        only: Name of the one database to migrate. None migrates all.

    Raises:
        MigrationFailed, CannotAdminister: see `migrate`; of the home database, since the others depend on it.
        WrongDatabase: there is no database of this name.
    """
    from contextkeep.errors import ContextKeepError
    from service_runtime.databases.migrate import migrate
    from service_runtime.databases.placement import databases_of
    from service_runtime.postgres import HOME

    databases = databases_of(settings)
    if only is not None:
        databases.url_of(only)
    services = {HOME: settings.database, **settings.other_databases}
    applied: list[tuple[str, Migration]] = []
    failed = False
    for name, url in databases.urls.items():
        if only not in (None, name):
            continue
        try:
            role = unquote(urlsplit(services[name]).username or "")
            applied += [(name, migration) for migration in migrate(url, migrations, service_role=role)]
            if name != HOME:
                databases.claim(name)
        except ContextKeepError as error:
            if name == HOME:
                raise
            failed = True
            print(f"{name}: {error.message}", file=sys.stderr)  # noqa: T201
    if as_json:
        rows = [
            {"schema": m.schema, "version": m.version, "name": m.name, **({"database": name} if name else {})}
            for name, m in applied
        ]
        print(json.dumps(rows))  # noqa: T201
    for name, migration in [] if as_json else applied:
        print(f"applied {migration.schema} {migration.name}{f' in {name}' if name else ''}", file=sys.stderr)  # noqa: T201
    if not (as_json or applied or failed):
        print("the database is up to date", file=sys.stderr)  # noqa: T201
    if failed:
        sys.exit(1)
