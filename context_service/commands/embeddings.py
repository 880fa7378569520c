"""`context-service embeddings`: makes missing vectors."""

from __future__ import annotations

import argparse
import json
import sys

from context_service.commands import maintenance
from context_service.commands.progress import progress_bar
from context_service.retrieval.model import Backfilled
from context_service.settings import Settings
from service_runtime.cli.commands import Subparsers, print_away
from service_runtime.grpc_server import process

_INTERRUPTED = 130


def add_embeddings(commands: Subparsers) -> None:
    """Add `embeddings` and its subcommands."""
    embeddings = commands.add_parser("embeddings", help="make the vectors of records and messages that lack one")
    embedding_commands = embeddings.add_subparsers(dest="embeddings_command", required=True)
    backfill = embedding_commands.add_parser(
        "backfill",
        help="queue the vectors of records and passages that have none, or one of another model",
        description="Queue the vectors that records and passages of contexts lack; the running services make them. Run"
        " it after you configured an embedder or changed its model. It ends when the last one is queued; you can"
        " interrupt it and start it again.",
        epilog="example: context-service embeddings backfill --dry-run",
    )
    backfill.add_argument("--dry-run", action="store_true", help="only count the missing vectors")
    backfill.add_argument("--json", action="store_true", help="print the result as JSON")


def run_embeddings(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `embeddings backfill`.

    Raises:
        FailedPrecondition: no embedder is configured.
        Unavailable: Postgres does not answer.
    """
    try:
        with progress_bar("vectors queued", quiet=arguments.json) as show:

            def on_progress(records: Backfilled, passages: Backfilled) -> None:
                show(records.owed + passages.owed, records.to_do + passages.to_do)

            records, passages = process.run(
                maintenance.backfill(settings, dry_run=arguments.dry_run, on_progress=on_progress)
            )
    except KeyboardInterrupt:
        print("interrupted: the queued vectors will be made; start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    away = (records + passages).databases_away
    if arguments.json:
        of_passages = {"passages_to_do": passages.to_do, "passages_owed": passages.owed}
        of_records = {"to_do": records.to_do, "owed": records.owed}
        done = {"dry_run": arguments.dry_run, **of_records, **of_passages, "databases_away": away}
        print(json.dumps(done))  # noqa: T201
    elif arguments.dry_run:
        print(  # noqa: T201
            f"{records.to_do} records and {passages.to_do} passages of contexts lack a vector of the embedder's model"
        )
    else:
        print(f"{records.owed + passages.owed} vectors are queued; the services make them")  # noqa: T201
    if not print_away(away):
        sys.exit(1)
