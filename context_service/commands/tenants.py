"""The commands that show and set limits of tenants, and move tenants to other databases."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
import time

from context_service.working_memory.store.tenant_limits import LimitAdministration
from service_runtime.auth.keys import NoSuchTenant
from service_runtime.cli.commands import Subparsers
from service_runtime.cli.key_commands import show_rows
from service_runtime.databases.moving import MoveProgress, TenantMove
from service_runtime.databases.placement import Databases
from service_runtime.databases.rebalancing import proposals
from service_runtime.postgres import HOME

_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DEFAULT = "default"
_COUNT_MAX = 2**62


def add_limits(tenants: Subparsers) -> None:
    """Add `tenants limits`."""
    command = tenants.add_parser(
        "limits",
        help="show the usage and limits of tenants, or change the limits of one tenant",
        description="Show usage and limits, or set the limits of a tenant. The running services apply a change within"
        " 5 seconds.",
        epilog="example: context-service tenants limits acme --records 100000 --bytes 50GiB --blob-bytes default",
    )
    command.add_argument("tenant", nargs="?", help="the name of the tenant (default: show all)")
    for option, what in (
        ("--records", "most records, including archived ones"),
        ("--bytes", "most bytes of all records and unfinished uploads"),
        ("--blob-bytes", "most bytes of a blob"),
        ("--content-bytes", "most bytes of an inline content, up to the setting"),
    ):
        command.add_argument(option, type=_limit, metavar="N", help=f"{what}; `default` restores the setting")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_limits(databases: Databases, arguments: argparse.Namespace) -> None:
    """Change the limits that the arguments name, and show the result.

    Raises:
        NoSuchTenant: no tenant has this name.
    """
    administration = LimitAdministration(*databases.urls.values())
    values = {
        f"{name}_max": None if value == _DEFAULT else value
        for name in ("records", "bytes", "blob_bytes", "content_bytes")
        if (value := getattr(arguments, name)) is not None
    }
    if values:
        if arguments.tenant is None:
            raise NoSuchTenant("name the tenant whose limits should change; settings set the limits of all others")
        administration.change(arguments.tenant, values)
    rows = [dataclasses.asdict(limits) for limits in administration.show(arguments.tenant)]
    if arguments.tenant is not None and not rows:
        raise NoSuchTenant(f"there is no tenant {arguments.tenant!r}; `context-service tenants list` shows them")
    show_rows(rows, as_json=arguments.json)


def add_moves(tenants: Subparsers) -> None:
    """Add `tenants move`, `tenants rebalance` and `tenants clean`."""
    command = tenants.add_parser(
        "move",
        help="move a tenant to another database while it is in use",
        description="Copy the rows of a tenant to another database, and switch over with a short pause of its writes."
        " After an interruption, run it again to continue.",
        epilog="example: context-service tenants move acme --to east",
    )
    command.add_argument("tenant", help="the name of the tenant")
    command.add_argument("--to", required=True, metavar="DATABASE", help="one of DATABASE_URLS, or home")
    command.add_argument("--dry-run", action="store_true", help="only count the rows to copy")
    proposals = tenants.add_parser(
        "rebalance",
        help="propose moves that balance data and load between the databases; moves nothing",
        epilog="example: context-service tenants rebalance",
    )
    clean = tenants.add_parser(
        "clean",
        help="remove the rows that moved tenants left in their old databases",
        epilog="example: context-service tenants clean --after-hours 48",
    )
    clean.add_argument(
        "--after-hours",
        type=float,
        default=24.0,
        metavar="N",
        help="only of tenants that moved at least N hours ago (default: %(default)s)",
    )
    for subcommand in (command, proposals, clean):
        subcommand.add_argument("--json", action="store_true", help="print JSON")


def run_move(databases: Databases, arguments: argparse.Namespace) -> None:
    """Move a tenant, or count the rows to copy.

    Raises:
        NoSuchTenant, WrongDatabase, CannotMove, Unavailable, Differs: the message says what to do.
    """
    last_message_at = 0.0

    def tell(moved: MoveProgress) -> None:
        nonlocal last_message_at
        if moved.step != "copying" or time.monotonic() - last_message_at > 1:
            last_message_at = time.monotonic()
            print(f"{moved.step}: {moved.rows} rows", file=sys.stderr)  # noqa: T201

    target = HOME if arguments.to == "home" else arguments.to
    moved = TenantMove(databases, on_step=tell).run(arguments.tenant, target, dry_run=arguments.dry_run)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(moved)))  # noqa: T201
    elif arguments.dry_run:
        show_rows([{"table": table, "rows": rows} for table, rows in moved.rows_there.items()], as_json=False)
    elif moved.step == "lives there":
        print(f"{arguments.tenant} is already in this database")  # noqa: T201
    else:
        print(  # noqa: T201
            f"moved {moved.rows} rows of {moved.tables} tables in {moved.took_s:.1f} s; "
            f"writes were paused for {moved.writes_waited_s:.1f} s"
        )


def run_rebalance(databases: Databases, arguments: argparse.Namespace) -> None:
    """Propose moves."""
    show_rows([dataclasses.asdict(proposal) for proposal in proposals(databases)], as_json=arguments.json)


def run_clean(databases: Databases, arguments: argparse.Namespace) -> None:
    """Remove the rows that moved tenants left in their old databases."""
    removed = TenantMove(databases).remove_old_rows(grace_s=arguments.after_hours * 3600)
    print(json.dumps({"rows": removed}) if arguments.json else f"removed {removed} rows")  # noqa: T201


def _limit(text: str) -> int | str:
    """Parse a limit of the command line, such as `5000`, `64MiB` or `default`.

    Raises:
        ArgumentTypeError: the text is none of these, or the number is too large.
    """
    if text == _DEFAULT:
        return text
    match = re.fullmatch(r"(\d{1,19})(KiB|MiB|GiB|TiB|)", text)
    value = int(match[1]) * _UNITS[match[2]] if match else _COUNT_MAX
    if value >= _COUNT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a limit: use for example 5000, 64MiB or default")
    return value
