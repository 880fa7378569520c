"""`context-service storage`: sweeps, copies and checks blobs, with a progress bar for people and JSON for programs.

The library of the progress bar is loaded only when a bar is shown: `serve` starts without it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from context_service.blobs.providers import BACKENDS
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.upkeep.fsck import Report
from context_service.working_memory.upkeep.move_blobs import Copied
from service_runtime.cli.commands import Subparsers, print_away
from service_runtime.cli.tables import print_table
from service_runtime.grpc_server import process

_PROBLEMS_SHOWN = 50
_INTERRUPTED = 130


def add_storage(commands: Subparsers) -> None:
    """Add `storage` and its subcommands."""
    storage = commands.add_parser("storage", help="sweep, move and check the blobs (stored files)")
    storage_commands = storage.add_subparsers(dest="storage_command", required=True)

    sweep = storage_commands.add_parser(
        "sweep",
        help="purge records whose retention is over, and remove bytes that no record needs, once",
        description="Run one pass of the sweeper, which the running services repeat every SWEEP_INTERVAL_S seconds.",
        epilog="example: context-service storage sweep",
    )
    sweep.set_defaults(run=_sweep)

    copy = storage_commands.add_parser(
        "copy",
        help="move the blobs of one provider to another while the services run",
        description="Copy each blob, point its records to the copy, and remove the original after a grace time. Run it"
        " after you changed the provider of new blobs. You can interrupt it and start it again.",
        epilog="example: context-service storage copy --from local --to s3 --dry-run",
    )
    copy.add_argument(
        "--from", dest="source", choices=sorted(BACKENDS), required=True, help="the provider to move the blobs from"
    )
    copy.add_argument(
        "--to", dest="target", choices=sorted(BACKENDS), required=True, help="the provider to move the blobs to"
    )
    copy.add_argument("--dry-run", action="store_true", help="only count the blobs to copy")
    copy.set_defaults(run=_copy)

    fsck = storage_commands.add_parser(
        "fsck",
        help="compare the database with the stored bytes, in both directions",
        description="Read every blob and compare it with its checksums, and look up every stored key in the database."
        " Exits with 1 if a problem is left.",
        epilog="example: context-service storage fsck --quick",
    )
    fsck.add_argument("--repair", action="store_true", help="repair problems; bytes stay for a grace time")
    fsck.add_argument("--quick", action="store_true", help="read only the last MiB of each blob")
    fsck.set_defaults(run=_fsck)

    for command in (sweep, copy, fsck):
        command.add_argument("--json", action="store_true", help="print the result as JSON")


def run_storage(settings: Settings, arguments: argparse.Namespace) -> None:
    """Run a `storage` command; exit with 1 if something is left to do."""
    try:
        done = arguments.run(settings, arguments)
    except KeyboardInterrupt:
        print("interrupted: finished steps stay done; start it again for the rest", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)
    if not done:
        sys.exit(1)


def _sweep(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Do one pass of the sweeper, and print its results; return whether all databases answered and nothing failed."""
    swept = process.run(maintenance.sweep(settings))
    if arguments.json:
        _print_json(dataclasses.asdict(swept))
    else:
        _say(
            f"purged {swept.records_purged} records; dropped {swept.uploads_given_up} expired resumable uploads; "
            f"removed {swept.blobs_removed} blobs, {swept.uploads_abandoned} of them from unfinished uploads; "
            f"{swept.blobs_failed} could not be removed and will be retried"
        )
    return print_away(swept.databases_away) and not swept.blobs_failed


def _copy(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Run `storage copy`, print the result, and return whether all blobs of all tenants could be copied."""
    source, target, dry_run = arguments.source, arguments.target, arguments.dry_run
    with _progress(f"{source} to {target}", shown=not arguments.json) as show:

        def on_progress(copied: Copied) -> None:
            show(copied.size_bytes, copied.to_do.size_bytes)

        copied = process.run(maintenance.copy_blobs(settings, source, target, dry_run=dry_run, on_progress=on_progress))
    if arguments.json:
        _print_json({"from": source, "to": target, "dry_run": dry_run, **dataclasses.asdict(copied)})
    elif dry_run:
        _say(f"{copied.to_do.blobs:,} blobs, {_size(copied.to_do.size_bytes)}, to copy")
    else:
        _say(
            f"copied {copied.blobs:,} of {copied.to_do.blobs:,} blobs, {_size(copied.size_bytes)}; "
            f"{copied.blobs_shared:,} of them were there already; {copied.records:,} records point there now; "
            f"{copied.blobs_gone:,} were purged meanwhile; {copied.blobs_damaged:,} are damaged and were not copied"
        )
    return print_away(copied.databases_away) and not copied.blobs_damaged


def _fsck(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Run `storage fsck`, print the problems, and return whether there are none."""
    with _progress("checking", shown=not arguments.json) as show:

        def on_progress(report: Report) -> None:
            show(report.size_bytes, report.to_do.size_bytes)

        report = process.run(
            maintenance.fsck(settings, quick=arguments.quick, repair=arguments.repair, on_progress=on_progress)
        )
    if arguments.json:
        _print_json({**dataclasses.asdict(report), "is_clean": report.is_clean})
        return print_away(report.databases_away) and report.is_clean
    _say(
        f"checked {report.blobs:,} blobs, {_size(report.size_bytes)}, and looked up {report.stored:,} stored entries; "
        f"{report.foreign:,} of these are foreign: they belong to no tenant of this database"
    )
    if report.problems:
        from rich.table import Table

        table = Table("problem", "provider", "key", "records", "repaired", "", box=None, pad_edge=False)
        for column in table.columns:
            column.overflow = "fold"  # keys and ids are never cut
        for problem in report.problems[:_PROBLEMS_SHOWN]:
            table.add_row(
                problem.kind,
                problem.provider,
                problem.key,
                " ".join(problem.working_memory_ids),
                "yes" if problem.repaired else "no",
                problem.what,
            )
        print_table(table)
    left = sum(not problem.repaired for problem in report.problems)
    _say(f"{len(report.problems)} problems, {left} of them left" if report.problems else "no problems")
    if len(report.problems) > _PROBLEMS_SHOWN:
        _say(f"only the first {_PROBLEMS_SHOWN} are shown; --json has all of them")
    return print_away(report.databases_away) and report.is_clean


@contextmanager
def _progress(title: str, *, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar during the block, on a terminal; yield the function that sets the done and total bytes."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not shown or not console.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _size(size_bytes: int) -> str:
    units = ("KiB", "MiB", "GiB", "TiB")
    power = min(max(size_bytes.bit_length() - 1, 0) // 10, len(units))
    return f"{size_bytes / 1024**power:,.1f} {units[power - 1]}" if power else f"{size_bytes} bytes"


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document))  # noqa: T201


def _say(text: str) -> None:
    print(text)  # noqa: T201
