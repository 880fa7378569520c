"""`context-service contexts`: what an operator does with all contexts of a user."""

from __future__ import annotations

import argparse
import json
import sys

from context_service import maintenance
from context_service.progress import progress_bar
from context_service.settings import Settings
from service_runtime import process
from service_runtime.commands import Subparsers

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
