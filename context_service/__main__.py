"""Command line of the Context Service: `context-service serve`, and what an operator needs beside it."""

from __future__ import annotations

import argparse
import logging
import sys

from context_service import app, embedding_commands, mcp_command, storage_commands, tenant_commands
from context_service.dev import stay_up
from context_service.settings import Settings
from contextgraph.errors import ContextGraphError
from service_runtime import development, logs, process
from service_runtime.commands import (
    add_check_config,
    add_migrate,
    add_serve,
    printing,
    run_check_config,
    run_migrations,
)
from service_runtime.key_commands import add_keys, run_keys
from service_runtime.settings import load

_log = logging.getLogger("context_service")


@printing()
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
    storage_commands.add_storage(commands)
    embedding_commands.add_embeddings(commands)
    tenant_commands.add_limits(add_keys(commands))
    mcp_command.add_mcp(commands)
    arguments = parser.parse_args()
    if arguments.command == "dev":
        stay_up()
        return
    if arguments.command == "mcp":
        mcp_command.run_mcp(arguments)
        return
    if arguments.command != "serve":
        development.join()
    if arguments.command == "check-config":
        run_check_config(Settings, app.probes, arguments)

    settings = load(Settings)
    logs.configure(settings.log_level)
    try:
        if arguments.command == "tenants" and arguments.access_command == "limits":
            tenant_commands.run_limits(settings.database_admin, arguments)
            return
        if arguments.command in ("keys", "tenants"):
            run_keys(settings.database_admin, arguments)
            return
        if arguments.command == "embeddings":
            embedding_commands.run_embeddings(settings, arguments)
            return
        if arguments.command == "storage":
            process.tune_malloc()
            storage_commands.run_storage(settings, arguments)
            return
        if arguments.command == "migrate" or arguments.migrate:
            run_migrations(settings, app.migrations(), as_json=getattr(arguments, "json", False))
        if arguments.command == "serve":
            process.serve(app.running(settings), host=settings.context_service_host, log=_log)
    except ContextGraphError as error:
        sys.exit(f"context-service: {error.message}")


if __name__ == "__main__":
    main()
