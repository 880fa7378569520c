"""`context-service contexts` and `erasures`: erases a user, lists erasures, and erases again after a restore."""

from __future__ import annotations

import argparse
import json
import sys

from context_service.commands import maintenance
from context_service.commands.progress import progress_bar
from context_service.settings import Settings
from service_runtime.cli.commands import Subparsers, add_replay, print_replayed
from service_runtime.erasure.erased import read
from service_runtime.grpc_server import process

_INTERRUPTED = 130


def add_contexts(commands: Subparsers) -> None:
    """Add `contexts` and its subcommands."""
    contexts = commands.add_parser("contexts", help="erase all data of a user")
    contexts_commands = contexts.add_subparsers(dest="contexts_command", required=True)
    erase = contexts_commands.add_parser(
        "erase-subject",
        help="remove all data of a user from this service, for good",
        description="End the user's keys, and remove contexts, memories, pages, records with their bytes, and all other"
        " data of the user, like the RPC Erasures/Erase; data in the Entity Service stays. Stop all programs that"
        " write for the user before you run it. It ends when nothing is left; you can interrupt it and start it again.",
        epilog="example: context-service contexts erase-subject --tenant acme --user ada --dry-run",
    )
    erase.add_argument("--tenant", required=True, metavar="NAME", help="the tenant of the user")
    erase.add_argument("--user", required=True, metavar="ID", help="the user id, as in keys and token subjects")
    erase.add_argument("--dry-run", action="store_true", help="only count the data of the user")
    erase.add_argument("--json", action="store_true", help="print the result as JSON")


def run_contexts(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `contexts erase-subject`.

    Raises:
        InvalidArgument: the user is empty.
        NoSuchTenant: no tenant has this name.
        Unavailable: Postgres does not answer.
    """
    try:
        with progress_bar("contexts removed", quiet=arguments.json) as on_progress:
            erased = process.run(
                maintenance.erase_subject(
                    settings, arguments.tenant, arguments.user, dry_run=arguments.dry_run, on_progress=on_progress
                )
            )
    except KeyboardInterrupt:
        print("interrupted: data that was removed stays removed; start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    if arguments.json:
        print(json.dumps({"dry_run": arguments.dry_run, "rows": erased}))  # noqa: T201
        return
    verb = "found" if arguments.dry_run else "removed"
    contexts, messages = (erased.get(kind, 0) for kind in ("context.context", "context.message"))
    print(f"{verb} {contexts:,} contexts with {messages:,} messages")  # noqa: T201


def add_erasures(commands: Subparsers) -> None:
    """Add `erasures` and its subcommands."""
    erasures = commands.add_parser("erasures", help="list the erasures of users, and repeat them after a restore")
    erasures_commands = erasures.add_subparsers(dest="erasures_command", required=True)
    erasures_commands.add_parser(
        "list",
        help="print the register of erasures, one line of JSON each",
        description="Print the register of erasures of all tenants, which is stored with the blobs of all configured"
        " providers, the oldest first. Users appear as hashes. Works without Postgres. Save it before you restore a"
        " backup of Postgres.",
        epilog="example: context-service erasures list > erasures.ndjson",
    )
    add_replay(erasures_commands, "context-service")


def run_erasures(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `erasures list` or `erasures replay`; exit with 1 if a hold forbids an erasure.

    Raises:
        InvalidArgument: there is no such file, or a line is malformed.
        Unavailable: Postgres or a provider does not answer.
    """
    if arguments.erasures_command == "list":
        for erased in process.run(maintenance.erasures(settings)):
            print(erased.line())  # noqa: T201
        return
    try:
        replayed = process.run(maintenance.replay_erasures(settings, read(arguments.file)))
    except KeyboardInterrupt:
        print("interrupted: data that was removed stays removed; start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    sys.exit(print_replayed(replayed, as_json=arguments.json))
