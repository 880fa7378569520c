"""The commands that load a part of the server: all except `mcp`."""

from __future__ import annotations

import argparse
import logging
import sys

from context_service import app
from context_service.commands import embeddings, erasures, retrieval, secrets, storage
from context_service.commands import tenants as tenant_commands
from context_service.commands.dev import stay_up
from context_service.settings import Settings
from contextkeep.errors import ContextKeepError
from service_runtime.cli import development
from service_runtime.cli.commands import (
    Subparsers,
    add_check_config,
    add_migrate,
    add_serve,
    run_check_config,
    run_migrations,
)
from service_runtime.cli.key_commands import add_keys, run_keys
from service_runtime.databases.placement import databases_of
from service_runtime.grpc_server import process
from service_runtime.settings import load
from service_runtime.telemetry import logs

_log = logging.getLogger("context_service")

_TENANT_COMMANDS = {
    "limits": tenant_commands.run_limits,
    "move": tenant_commands.run_move,
    "rebalance": tenant_commands.run_rebalance,
    "clean": tenant_commands.run_clean,
}


def add_server_commands(commands: Subparsers) -> None:
    """Add these commands."""
    add_serve(commands)
    add_migrate(commands)
    commands.add_parser("dev", help="run Postgres, both services and the console on this machine until Ctrl-C")
    add_check_config(commands)
    storage.add_storage(commands)
    embeddings.add_embeddings(commands)
    erasures.add_contexts(commands)
    erasures.add_erasures(commands)
    retrieval.add_retrieval(commands)
    secrets.add_secrets(commands)
    tenants = add_keys(commands)
    tenant_commands.add_limits(tenants)
    tenant_commands.add_moves(tenants)


def run_server_command(arguments: argparse.Namespace) -> None:
    """Run one of these commands."""
    if arguments.command == "dev":
        stay_up()
        return
    if arguments.command != "serve":
        development.join()
    if arguments.command == "check-config":
        run_check_config(Settings, app.probes, arguments)

    settings = load(Settings)
    logs.configure(settings.log_level)
    try:
        if arguments.command == "tenants" and arguments.access_command in _TENANT_COMMANDS:
            _TENANT_COMMANDS[arguments.access_command](databases_of(settings), arguments)
            return
        if arguments.command in ("keys", "tenants"):
            run_keys(databases_of(settings), arguments)
            return
        if arguments.command == "embeddings":
            embeddings.run_embeddings(settings, arguments)
            return
        if arguments.command == "contexts":
            erasures.run_contexts(settings, arguments)
            return
        if arguments.command == "erasures":
            erasures.run_erasures(settings, arguments)
            return
        if arguments.command == "retrieval":
            retrieval.run_retrieval(settings, arguments)
            return
        if arguments.command == "secrets":
            secrets.run_secrets(settings, arguments)
            return
        if arguments.command == "storage":
            process.tune_malloc()
            storage.run_storage(settings, arguments)
            return
        if arguments.command == "migrate" or arguments.migrate:
            run_migrations(
                settings,
                app.migrations(),
                as_json=getattr(arguments, "json", False),
                only=getattr(arguments, "database", None),
            )
        if arguments.command == "serve":
            process.serve(app.running(settings), host=settings.context_service_host, log=_log)
    except ContextKeepError as error:
        sys.exit(f"context-service: {error.message}")
