"""Command line of the Context Service: `context-service serve`, and what an operator needs beside it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import sys

from context_service import app
from context_service.dev import stay_up
from context_service.settings import Settings
from contextgraph.errors import ContextGraphError
from service_runtime import logs, process, server
from service_runtime.commands import (
    Subparsers,
    add_check_config,
    add_migrate,
    add_serve,
    run_check_config,
    run_migrations,
)
from service_runtime.key_commands import add_keys, run_keys
from service_runtime.settings import load

_log = logging.getLogger("context_service")


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(
        prog="context-service", description="Working memory and chat history of agents, over gRPC."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add_serve(commands)
    add_migrate(commands)
    commands.add_parser("dev", help="start Postgres and both services here, and stay up until Ctrl-C")
    add_check_config(commands)
    _add_storage(commands)
    add_keys(commands)
    arguments = parser.parse_args()
    if arguments.command == "dev":
        stay_up()
        return
    if arguments.command == "check-config":
        run_check_config(Settings, app.probes, arguments)

    settings = load(Settings)
    logs.configure(settings.log_level)
    try:
        if arguments.command in ("keys", "tenants"):
            run_keys(settings.database_admin, arguments)
            return
        if arguments.command == "storage":
            _sweep(settings, as_json=arguments.json)
            return
        if arguments.command == "migrate" or arguments.migrate:
            run_migrations(settings, app.migrations(), as_json=getattr(arguments, "json", False))
        if arguments.command == "serve":
            process.tune_malloc()
            process.tune_gc()
            process.run(_serve(settings))
    except ContextGraphError as error:
        sys.exit(f"context-service: {error.message}")


def _add_storage(commands: Subparsers) -> None:
    storage = commands.add_parser("storage", help="look after the blobs")
    storage_commands = storage.add_subparsers(dest="storage_command", required=True)
    sweep = storage_commands.add_parser("sweep", help="purge and remove what is due, once")
    sweep.add_argument("--json", action="store_true", help="print what was removed as JSON")


def _sweep(settings: Settings, *, as_json: bool) -> None:
    """Sweep all tenants once and say what that did; exit with 1 if bytes could not be removed."""
    swept = process.run(app.sweep(settings))
    if as_json:
        print(json.dumps(dataclasses.asdict(swept)))
    else:
        print(
            f"purged {swept.records_purged} records; gave up {swept.uploads_given_up} resumable uploads; "
            f"removed {swept.blobs_removed} blobs, {swept.uploads_abandoned} of them uploads that were never finished; "
            f"{swept.blobs_failed} could not be removed",
            file=sys.stderr,
        )
    if swept.blobs_failed:
        sys.exit(1)


async def _serve(settings: Settings) -> None:
    async with app.running(settings) as port:
        _log.info("serving", extra={"host": settings.context_service_host, "port": port})
        await server.until_signal()
        _log.info("stopping")


if __name__ == "__main__":
    main()
