"""Command line of the Entity Service: `entity-service serve | migrate | erasures`."""

from __future__ import annotations

import argparse
import logging
import sys

from service_runtime.cli.commands import (
    add_check_config,
    add_migrate,
    add_replay,
    add_serve,
    print_replayed,
    printing,
    run_check_config,
    run_migrations,
)
from service_runtime.imports.loading import loading

_log = logging.getLogger("entity_service")


@printing()
def main() -> None:
    """Run one command."""
    with loading():
        from contextkeep.errors import ContextKeepError
        from entity_service import app
        from entity_service.replay_erasures import replay
        from entity_service.settings import Settings
        from service_runtime.cli import development
        from service_runtime.grpc_server import process
        from service_runtime.settings import load
        from service_runtime.telemetry import logs

    parser = argparse.ArgumentParser(
        prog="entity-service",
        description="Context Service, Entity Service: stores the nodes and typed edges of agents' graphs.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add_serve(commands)
    add_migrate(commands)
    add_check_config(commands)
    erasures = commands.add_parser("erasures", help="repeat the erasures of users after a restore")
    add_replay(erasures.add_subparsers(dest="erasures_command", required=True), "entity-service")
    arguments = parser.parse_args()

    if arguments.command != "serve":
        development.join()
    if arguments.command == "check-config":
        run_check_config(Settings, app.probes, arguments)
    settings = load(Settings)
    logs.configure(settings.log_level)
    try:
        if arguments.command == "erasures":
            sys.exit(print_replayed(process.run(replay(settings, arguments.file)), as_json=arguments.json))
        if arguments.command == "migrate" or arguments.migrate:
            run_migrations(
                settings,
                app.migrations(),
                as_json=getattr(arguments, "json", False),
                only=getattr(arguments, "database", None),
            )
        if arguments.command == "serve":
            process.serve(app.running(settings), host=settings.entity_service_host, log=_log)
    except ContextKeepError as error:
        sys.exit(f"entity-service: {error.message}")


if __name__ == "__main__":
    main()
