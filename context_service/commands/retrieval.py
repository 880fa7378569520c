"""`context-service retrieval`: what an operator does with the index of contexts, and of the records of nodes."""

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
from service_runtime import process
from service_runtime.commands import Subparsers, told_away
from service_runtime.tables import print_table

_SHOWN = 50
_INTERRUPTED = 130


def add_retrieval(commands: Subparsers) -> None:
    """Add `retrieval` and what it does."""
    retrieval = commands.add_parser("retrieval", help="look after the index of what was said, and of long records")
    retrieval_commands = retrieval.add_subparsers(dest="retrieval_command", required=True)

    verify = retrieval_commands.add_parser(
        "verify",
        help="compare the index with what it is made of; changes nothing",
        description="Says which passages the index lacks, has too many, or has otherwise than they would be written"
        " now, and which counts differ. Nobody waits for it. Exits with 1 if something differs.",
    )
    verify.set_defaults(run=_verify)
    rebuild = retrieval_commands.add_parser(
        "rebuild",
        help="write the index anew where it is not what would be written now",
        description="Goes through messages in steps, between which others write to the same context. What was right"
        " before is found all the time. May be broken off and started again.",
    )
    rebuild.set_defaults(run=_verify)
    for command in (verify, rebuild):
        command.add_argument("--tenant", metavar="NAME", help="only this one (default: all)")
        command.add_argument("--context", type=UUID, metavar="ID", help="only this one (default: all)")
    backfill = retrieval_commands.add_parser(
        "backfill",
        help="have the texts read of records that were written before they were: PDF, Office and long ones",
        description="Owes them; the running services read them, and SearchWMRecords finds them then. Stays until the"
        " last is owed; may be broken off and started again.",
    )
    backfill.add_argument("--dry-run", action="store_true", help="only count what there is to do")
    backfill.set_defaults(run=_backfill)
    again = retrieval_commands.add_parser(
        "reindex",
        help="build the index of words anew, which makes it small; needs DATABASE_ADMIN_URL",
        description="REINDEX CONCURRENTLY: the services read and write meanwhile. It takes room for a second index.",
    )
    again.set_defaults(run=_reindex)
    for command in (verify, rebuild, backfill, again):
        command.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run_retrieval(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run a `retrieval` command; exit with 1 if something differs, and stays so.

    Raises:
        CannotAdminister: the index cannot be built anew as DATABASE_ADMIN_URL.
        NotFound, NoSuchTenant: there is no such context, or tenant.
        Unavailable: Postgres does not answer.
    """
    try:
        is_done = arguments.run(settings, arguments)
    except KeyboardInterrupt:
        print("interrupted; what is done is done, start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    if not is_done:
        sys.exit(1)


def _verify(settings: Settings, arguments: argparse.Namespace) -> bool:
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
        return told_away(verified.databases_away) and is_done
    print(  # noqa: T201
        f"compared {verified.passages:,} passages of {verified.scopes:,} contexts and nodes; "
        + ("the index is what would be written now" if verified.is_equal else _told(verified, mend=mend))
    )
    if verified.differences and not mend:
        _print_differences(verified)
    return told_away(verified.databases_away) and is_done


def _backfill(settings: Settings, arguments: argparse.Namespace) -> bool:
    with progress_bar("texts owed", quiet=arguments.json) as show:

        def on_progress(done: Backfilled) -> None:
            show(done.owed, done.to_do)

        done = process.run(maintenance.backfill_texts(settings, dry_run=arguments.dry_run, on_progress=on_progress))
    if arguments.json:
        print(json.dumps({"dry_run": arguments.dry_run, **dataclasses.asdict(done)}))  # noqa: T201
    elif arguments.dry_run:
        print(f"{done.to_do} records were not read yet")  # noqa: T201
    else:
        print(f"{done.owed} texts are owed; the services read them")  # noqa: T201
    return told_away(done.databases_away)


def _told(verified: Verified, *, mend: bool) -> str:
    said = (
        f"{verified.missing:,} are missing, {verified.extra:,} too many, {verified.different:,} different; "
        f"the counts of {verified.sessions_different:,} sessions and {verified.totals_different:,} of them differ; "
        f"{verified.strays:,} of them are gone, and their passages are not"
    )
    return f"mended what differed: {said}" if mend else said


def _print_differences(verified: Verified) -> None:
    from rich.table import Table

    table = Table("passage", "tenant", "context", "ref", box=None, pad_edge=False)
    for one in verified.differences[:_SHOWN]:
        table.add_row(one.kind, one.tenant_id, one.scope_id, f"m{one.seq}.{one.ordinal}")
    print_table(table)
    if len(verified.differences) > _SHOWN:
        print(f"only the first {_SHOWN} are shown; --json has more of them")  # noqa: T201


def _reindex(settings: Settings, arguments: argparse.Namespace) -> bool:
    done = reindex(settings.database_admin)
    if arguments.json:
        print(json.dumps({**dataclasses.asdict(done), "bytes_a_passage": done.bytes_a_passage}))  # noqa: T201
    else:
        print(  # noqa: T201
            f"the index of words of {done.passages:,} passages had {done.bytes_before:,} bytes and has "
            f"{done.bytes_after:,}: {done.bytes_a_passage:,.0f} a passage"
        )
    return True
