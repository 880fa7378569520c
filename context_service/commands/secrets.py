"""`context-service secrets`: what an operator does with the secrets of tenants."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from context_service.commands import maintenance
from context_service.settings import Settings
from service_runtime import process
from service_runtime.commands import Subparsers, told_away


def add_secrets(commands: Subparsers) -> None:
    """Add `secrets` and what it does."""
    secrets = commands.add_parser("secrets", help="look after the stored secrets of MCP servers")
    secret_commands = secrets.add_subparsers(dest="secrets_command", required=True)
    rotate = secret_commands.add_parser(
        "rotate",
        help="encrypt with the first key of SECRETS_KEY what others have encrypted",
        description="Set SECRETS_KEY to the new key, a comma and the old one, and restart the services; run this; then"
        " the old key may go. May be broken off and started again.",
    )
    rotate.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run_secrets(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `secrets rotate`. It ends with 1 if a secret or a database cannot be read: no key is safe to lose then.

    Raises:
        SecretsKeyMissing: there is no key.
        Unavailable: Postgres does not answer.
    """
    rotated = process.run(maintenance.rotate_secrets(settings))
    if arguments.json:
        print(json.dumps(dataclasses.asdict(rotated)))  # noqa: T201
    else:
        print(f"{rotated.sealed_again} secrets are encrypted with the first key")  # noqa: T201
    if rotated.unreadable and not arguments.json:
        print(f"{rotated.unreadable} cannot be read with any key: say them again", file=sys.stderr)  # noqa: T201
    if not told_away(rotated.databases_away) or rotated.unreadable:
        sys.exit(1)
