"""`context-service embeddings`: what an operator does with the embedder's vectors."""

from __future__ import annotations

import argparse
import json
import sys

from context_service.commands import maintenance
from context_service.commands.progress import progress_bar
from context_service.retrieval.model import Backfilled
from context_service.settings import Settings
from service_runtime import process
from service_runtime.commands import Subparsers, told_away

_INTERRUPTED = 130


def add_embeddings(commands: Subparsers) -> None:
    """Add `embeddings` and what it does."""
    embeddings = commands.add_parser("embeddings", help="look after the embedder's vectors")
    embedding_commands = embeddings.add_subparsers(dest="embeddings_command", required=True)
    backfill = embedding_commands.add_parser(
        "backfill",
        help="have vectors made for what is from before the embedder, and for what has those of another model",
        description="Owes the vectors that records and contexts lack; the running services make them. Stays until the"
        " last is owed; may be broken off and started again.",
    )
    backfill.add_argument("--dry-run", action="store_true", help="only count what there is to do")
    backfill.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run_embeddings(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run `embeddings backfill`.

    Raises:
        FailedPrecondition: there is no embedder.
        Unavailable: Postgres does not answer.
    """
    try:
        with progress_bar("vectors owed", quiet=arguments.json) as show:

            def on_progress(records: Backfilled, passages: Backfilled) -> None:
                show(records.owed + passages.owed, records.to_do + passages.to_do)

            records, passages = process.run(
                maintenance.backfill(settings, dry_run=arguments.dry_run, on_progress=on_progress)
            )
    except KeyboardInterrupt:
        print("interrupted; what is owed is made, start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    away = (records + passages).databases_away
    if arguments.json:
        of_passages = {"passages_to_do": passages.to_do, "passages_owed": passages.owed}
        of_records = {"to_do": records.to_do, "owed": records.owed}
        done = {"dry_run": arguments.dry_run, **of_records, **of_passages, "databases_away": away}
        print(json.dumps(done))  # noqa: T201
    elif arguments.dry_run:
        lacking = f"{records.to_do} records and {passages.to_do} passages of contexts"
        print(f"{lacking} lack a vector of this embedder's model")  # noqa: T201
    else:
        print(f"{records.owed + passages.owed} vectors are owed; the services make them")  # noqa: T201
    if not told_away(away):
        sys.exit(1)
