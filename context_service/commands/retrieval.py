"""`context-service retrieval`: checks, repairs and completes the search index."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from uuid import UUID

from context_service.commands import maintenance
from context_service.commands.progress import progress_bar
from context_service.retrieval.model import Backfilled
from context_service.retrieval.rules.verify import Verified
from context_service.retrieval.store.reindex import reindex
from context_service.settings import Settings
from service_runtime.cli.commands import Subparsers, print_away
from service_runtime.cli.tables import print_table
from service_runtime.grpc_server import process

_SHOWN = 50
_INTERRUPTED = 130


def add_retrieval(commands: Subparsers) -> None:
    """Add `retrieval` and its subcommands."""
    retrieval = commands.add_parser("retrieval", help="check, repair and complete the search index")
    retrieval_commands = retrieval.add_subparsers(dest="retrieval_command", required=True)

    verify = retrieval_commands.add_parser(
        "verify",
        help="compare the index with the texts that it is made of; changes nothing",
        description="Report missing, surplus and different passages of the index, and counts that differ. Calls to the"
        " services do not wait for it. Exits with 1 if something differs.",
        epilog="example: context-service retrieval verify --tenant acme",
    )
    verify.set_defaults(run=_verify_or_rebuild)
    rebuild = retrieval_commands.add_parser(
        "rebuild",
        help="rewrite the parts of the index that differ from their texts",
        description="Compare like `verify`, and rewrite differences in steps, so that the services can write."
        " Passages that were correct can be found at any time. You can interrupt it and start it again.",
        epilog="example: context-service retrieval rebuild --tenant acme",
    )
    rebuild.set_defaults(run=_verify_or_rebuild)
    for command in (verify, rebuild):
        command.add_argument("--tenant", metavar="NAME", help="only this tenant (default: all)")
        command.add_argument("--context", type=UUID, metavar="ID", help="only this context (default: all)")
    backfill = retrieval_commands.add_parser(
        "backfill",
        help="queue the reading of older PDF and Office files and long records, so that search finds them",
        description="Queue the texts of records that were written by a release that did not read them yet; the running"
        " services read them, and SearchWMRecords finds them then. It ends when the last one is queued; you can"
        " interrupt it and start it again.",
        epilog="example: context-service retrieval backfill --dry-run",
    )
    backfill.add_argument("--dry-run", action="store_true", help="only count the unread texts")
    backfill.set_defaults(run=_backfill)
    reindex = retrieval_commands.add_parser(
        "reindex",
        help="rebuild the index of words to make it smaller; needs DATABASE_ADMIN_URL",
        description="Run REINDEX CONCURRENTLY: the services can read and write meanwhile. It needs disk space for a"
        " second index.",
        epilog="example: context-service retrieval reindex",
    )
    reindex.set_defaults(run=_reindex)
    for command in (verify, rebuild, backfill, reindex):
        command.add_argument("--json", action="store_true", help="print the result as JSON")


def run_retrieval(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run a `retrieval` command; exit with 1 if something differs and was not repaired.

    Raises:
        CannotAdminister: the role of DATABASE_ADMIN_URL cannot rebuild the index.
        NotFound, NoSuchTenant: there is no such context, or tenant.
        Unavailable: Postgres does not answer.
    """
    try:
        is_done = arguments.run(settings, arguments)
    except KeyboardInterrupt:
        print("interrupted: finished steps stay done; start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    if not is_done:
        sys.exit(1)


def _verify_or_rebuild(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Run `retrieval verify` or `retrieval rebuild`, print the result, and return whether the index is correct now."""
    mend = arguments.retrieval_command == "rebuild"
    with progress_bar("contexts and nodes", quiet=arguments.json) as show:

        def on_progress(verified: Verified) -> None:
            show(verified.scopes, verified.to_do)

        verified = process.run(
            maintenance.verify_index(
                settings, tenant=arguments.tenant, context_id=arguments.context, mend=mend, on_progress=on_progress
            )
        )
    is_done = mend or verified.is_equal
    if arguments.json:
        print(json.dumps({**dataclasses.asdict(verified), "is_equal": is_done}))  # noqa: T201
        return print_away(verified.databases_away) and is_done
    print(  # noqa: T201
        f"compared {verified.passages:,} passages of {verified.scopes:,} contexts and nodes, and {verified.records:,} "
        f"records; " + ("the index is correct" if verified.is_equal else _summary(verified, mend=mend))
    )
    if verified.differences and not mend:
        _print_differences(verified)
    return print_away(verified.databases_away) and is_done


def _backfill(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Run `retrieval backfill`, print the result, and return whether all databases answered."""
    with progress_bar("texts queued", quiet=arguments.json) as show:

        def on_progress(done: Backfilled) -> None:
            show(done.owed, done.to_do)

        done = process.run(maintenance.backfill_texts(settings, dry_run=arguments.dry_run, on_progress=on_progress))
    if arguments.json:
        print(json.dumps({"dry_run": arguments.dry_run, **dataclasses.asdict(done)}))  # noqa: T201
    elif arguments.dry_run:
        print(f"{done.to_do} records have a text that was never read")  # noqa: T201
    else:
        print(f"{done.owed} texts are queued; the services read them")  # noqa: T201
    return print_away(done.databases_away)


def _summary(verified: Verified, *, mend: bool) -> str:
    """Return the sentence that reports a check of the search index, or its repair."""
    summary = (
        f"{verified.missing:,} passages are missing, {verified.extra:,} are surplus, {verified.different:,} differ; "
        f"the counts of {verified.sessions_different:,} sessions and of {verified.totals_different:,} contexts and "
        f"nodes differ; passages of {verified.strays:,} removed contexts and nodes are left; "
        f"{verified.records_different:,} records differ"
    )
    return f"repaired: {summary}" if mend else summary


def _print_differences(verified: Verified) -> None:
    """Print the first differences between the index and its sources as a table."""
    from rich.table import Table

    table = Table("passage", "tenant", "context", "ref", box=None, pad_edge=False)
    for difference in verified.differences[:_SHOWN]:
        ref = f"m{difference.seq}.{difference.ordinal}"
        table.add_row(difference.kind, difference.tenant_id, difference.scope_id, ref)
    print_table(table)
    if len(verified.differences) > _SHOWN:
        print(f"only the first {_SHOWN} are shown; --json has more of them")  # noqa: T201


def _reindex(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Rebuild the index of words, and print its size before and after."""
    done = reindex(settings.database_admin)
    if arguments.json:
        print(json.dumps({**dataclasses.asdict(done), "bytes_a_passage": done.bytes_a_passage}))  # noqa: T201
    else:
        print(  # noqa: T201
            f"the index of words of {done.passages:,} passages had {done.bytes_before:,} bytes and now has "
            f"{done.bytes_after:,}: {done.bytes_a_passage:,.0f} per passage"
        )
    return True
