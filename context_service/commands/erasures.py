"""`context-service contexts` and `erasures`: what an operator does with all of a user, and with who was erased."""

from __future__ import annotations

import argparse
import json
import sys

from context_service.commands import maintenance
from context_service.commands.progress import progress_bar
from context_service.settings import Settings
from service_runtime import process
from service_runtime.commands import Subparsers, add_replay, told
from service_runtime.erased import read

_INTERRUPTED = 130


def add_contexts(commands: Subparsers) -> None:
    """Add `contexts` and what it does."""
    contexts = commands.add_parser("contexts", help="look after the contexts of users")
    contexts_commands = contexts.add_subparsers(dest="contexts_command", required=True)
    erase = contexts_commands.add_parser(
        "erase-subject",
        help="remove all of a user that this service has, for good",
        description="Ends the user's keys, and removes contexts, memories, pages, records with their bytes, and what"
        " else is the user's, as Erasures/Erase does; the Entity Service is not asked. Stays until nothing is left."
        " May be broken off and started again. Stop whoever writes for the user before.",
        epilog="example: context-service contexts erase-subject --tenant acme --user ada --dry-run",
    )
    erase.add_argument("--tenant", required=True, metavar="NAME", help="whose user")
    erase.add_argument("--user", required=True, metavar="ID", help="the id of the user: of a key, or a token's subject")
    erase.add_argument("--dry-run", action="store_true", help="only count what there is of the user")
    erase.add_argument("--json", action="store_true", help="print the outcome as JSON")


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
        print("interrupted; what is gone is gone, start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    if arguments.json:
        print(json.dumps({"dry_run": arguments.dry_run, "rows": erased}))  # noqa: T201
        return
    said = "there are" if arguments.dry_run else "removed"
    contexts, messages = (erased.get(kind, 0) for kind in ("context.context", "context.message"))
    print(f"{said} {contexts:,} contexts with {messages:,} messages")  # noqa: T201


def add_erasures(commands: Subparsers) -> None:
    """Add `erasures` and what it does."""
    erasures = commands.add_parser("erasures", help="know who was erased, by hashes, and erase again after a restore")
    erasures_commands = erasures.add_subparsers(dest="erasures_command", required=True)
    erasures_commands.add_parser(
        "list",
        help="print the register of erasures that stands beside the blobs, a line of JSON each",
        description="Of all tenants and all configured providers, the oldest first. Nobody is named; Postgres is not"
        " asked.",
        epilog="example: context-service erasures list > erasures.ndjson",
    )
    add_replay(erasures_commands, "context-service")


def run_erasures(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `erasures list` or `erasures replay`; exit with 1 if a hold forbids one.

    Raises:
        InvalidArgument: there is no such file, or a line is malformed.
        Unavailable: Postgres or a provider does not answer.
    """
    if arguments.erasures_command == "list":
        for one in process.run(maintenance.erasures(settings)):
            print(one.line())  # noqa: T201
        return
    try:
        replayed = process.run(maintenance.replay_erasures(settings, read(arguments.file)))
    except KeyboardInterrupt:
        print("interrupted; what is gone is gone, start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    sys.exit(told(replayed, as_json=arguments.json))
