"""The commands that have a part of the server in them: all but `mcp`."""

from __future__ import annotations

import argparse
import logging
import sys

from context_service import (
    app,
    embedding_commands,
    erasing_commands,
    retrieval_commands,
    secret_commands,
    storage_commands,
    tenant_commands,
)
from context_service.dev import stay_up
from context_service.settings import Settings
from contextkeep.errors import ContextKeepError
from service_runtime import development, logs, process
from service_runtime.commands import (
    Subparsers,
    add_check_config,
    add_migrate,
    add_serve,
    run_check_config,
    run_migrations,
)
from service_runtime.databases import databases_of
from service_runtime.key_commands import add_keys, run_keys
from service_runtime.settings import load

_log = logging.getLogger("context_service")

_TENANT_COMMANDS = {
    "limits": tenant_commands.run_limits,
    "move": tenant_commands.run_move,
    "rebalance": tenant_commands.run_rebalance,
    "clean": tenant_commands.run_clean,
}


def add_server_commands(commands: Subparsers) -> None:
    """Add them."""
    add_serve(commands)
    add_migrate(commands)
    commands.add_parser("dev", help="start Postgres and both services here, and stay up until Ctrl-C")
    add_check_config(commands)
    storage_commands.add_storage(commands)
    embedding_commands.add_embeddings(commands)
    erasing_commands.add_contexts(commands)
    erasing_commands.add_erasures(commands)
    retrieval_commands.add_retrieval(commands)
    secret_commands.add_secrets(commands)
    tenants = add_keys(commands)
    tenant_commands.add_limits(tenants)
    tenant_commands.add_moves(tenants)


def run_server_command(arguments: argparse.Namespace) -> None:
    """Run one of them."""
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
            embedding_commands.run_embeddings(settings, arguments)
            return
        if arguments.command == "contexts":
            erasing_commands.run_contexts(settings, arguments)
            return
        if arguments.command == "erasures":
            erasing_commands.run_erasures(settings, arguments)
            return
        if arguments.command == "retrieval":
            retrieval_commands.run_retrieval(settings, arguments)
            return
        if arguments.command == "secrets":
            secret_commands.run_secrets(settings, arguments)
            return
        if arguments.command == "storage":
            process.tune_malloc()
            storage_commands.run_storage(settings, arguments)
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
