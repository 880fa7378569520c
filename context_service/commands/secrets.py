"""`context-service secrets`: encrypts the secrets of tenants with a new key."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from context_service.commands import maintenance
from context_service.settings import Settings
from service_runtime.cli.commands import Subparsers, print_away
from service_runtime.grpc_server import process


def add_secrets(commands: Subparsers) -> None:
    """Add `secrets` and its subcommands."""
    secrets = commands.add_parser("secrets", help="encrypt the stored secrets of MCP servers with a new key")
    secret_commands = secrets.add_subparsers(dest="secrets_command", required=True)
    rotate = secret_commands.add_parser(
        "rotate",
        help="encrypt all secrets with the first key of SECRETS_KEY",
        description="Replace the key of stored secrets: set SECRETS_KEY to the new key, a comma and the old key;"
        " restart the services; run this; then remove the old key. You can interrupt it and start it again.",
        epilog="example: context-service secrets rotate",
    )
    rotate.add_argument("--json", action="store_true", help="print the result as JSON")


def run_secrets(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `secrets rotate`; exit with 1 if a secret or a database cannot be read: keep all keys then.

    Raises:
        SecretsKeyMissing: SECRETS_KEY is not set.
        Unavailable: Postgres does not answer.
    """
    rotated = process.run(maintenance.rotate_secrets(settings))
    if arguments.json:
        print(json.dumps(dataclasses.asdict(rotated)))  # noqa: T201
    else:
        print(f"{rotated.sealed_again} secrets were encrypted with the first key")  # noqa: T201
    if rotated.unreadable and not arguments.json:
        print(f"{rotated.unreadable} secrets cannot be read with any key: set them again", file=sys.stderr)  # noqa: T201
    if not print_away(rotated.databases_away) or rotated.unreadable:
        sys.exit(1)
