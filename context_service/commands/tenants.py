"""The commands that show and set what tenants may store, and move them to other databases."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
import time

from context_service.working_memory.store.tenant_limits import LimitAdministration
from service_runtime.commands import Subparsers
from service_runtime.databases import Databases
from service_runtime.key_commands import show_rows
from service_runtime.keys import NoSuchTenant
from service_runtime.moving import MoveProgress, TenantMove
from service_runtime.postgres import HOME
from service_runtime.rebalancing import proposals

_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DEFAULT = "default"
_COUNT_MAX = 2**62


def add_limits(tenants: Subparsers) -> None:
    """Add `tenants limits`."""
    command = tenants.add_parser(
        "limits",
        help="show what tenants store and may store, or change it for one; the services follow within seconds",
        epilog="example: context-service tenants limits acme --records 100000 --bytes 50GiB --blob-bytes default",
    )
    command.add_argument("tenant", nargs="?", help="its name (default: show all)")
    for option, what in (
        ("--records", "records, archived ones too"),
        ("--bytes", "bytes of all records and unfinished uploads"),
        ("--blob-bytes", "bytes of one blob"),
        ("--content-bytes", "bytes of one inline content; no more than the setting"),
    ):
        command.add_argument(option, type=_limit, metavar="N", help=f"{what}; `default`: what the setting says")
    command.add_argument("--json", action="store_true", help="print JSON")


def run_limits(databases: Databases, arguments: argparse.Namespace) -> None:
    """Change what is to be changed, and show what is then.

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
            raise NoSuchTenant("name the tenant whose limits are to change; the settings are everybody's")
        administration.change(arguments.tenant, values)
    rows = [dataclasses.asdict(one) for one in administration.show(arguments.tenant)]
    if arguments.tenant is not None and not rows:
        raise NoSuchTenant(f"there is no tenant {arguments.tenant!r}; `context-service tenants list` shows them")
    show_rows(rows, as_json=arguments.json)


def add_moves(tenants: Subparsers) -> None:
    """Add `tenants move`, `tenants rebalance` and `tenants clean`."""
    command = tenants.add_parser(
        "move",
        help="move a tenant to another database while it is used; run again, it goes on where it was",
        epilog="example: context-service tenants move acme --to east",
    )
    command.add_argument("tenant", help="its name")
    command.add_argument("--to", required=True, metavar="DATABASE", help="one of DATABASE_URLS, or home")
    command.add_argument("--dry-run", action="store_true", help="only say what there is to copy")
    proposals = tenants.add_parser(
        "rebalance", help="propose moves that give the databases like much to keep and to do; moves nobody"
    )
    clean = tenants.add_parser("clean", help="remove the old rows of tenants who have moved away")
    clean.add_argument("--after-hours", type=float, default=24.0, metavar="N", help="since when (default: %(default)s)")
    for one in (command, proposals, clean):
        one.add_argument("--json", action="store_true", help="print JSON")


def run_move(databases: Databases, arguments: argparse.Namespace) -> None:
    """Move a tenant, or say what there is to copy.

    Raises:
        NoSuchTenant, WrongDatabase, CannotMove, Unavailable, Differs: with what to do instead.
    """
    told = 0.0

    def tell(moved: MoveProgress) -> None:
        nonlocal told
        if moved.step != "copying" or time.monotonic() - told > 1:
            told = time.monotonic()
            print(f"{moved.step}: {moved.rows} rows", file=sys.stderr)  # noqa: T201

    target = HOME if arguments.to == "home" else arguments.to
    moved = TenantMove(databases, on_step=tell).run(arguments.tenant, target, dry_run=arguments.dry_run)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(moved)))  # noqa: T201
    elif arguments.dry_run:
        show_rows([{"table": table, "rows": rows} for table, rows in moved.rows_there.items()], as_json=False)
    elif moved.step == "lives there":
        print(f"{arguments.tenant} lives there")  # noqa: T201
    else:
        print(  # noqa: T201
            f"moved {moved.rows} rows of {moved.tables} tables in {moved.took_s:.1f} s; "
            f"writes waited for {moved.writes_waited_s:.1f} s"
        )


def run_rebalance(databases: Databases, arguments: argparse.Namespace) -> None:
    """Propose moves."""
    show_rows([dataclasses.asdict(one) for one in proposals(databases)], as_json=arguments.json)


def run_clean(databases: Databases, arguments: argparse.Namespace) -> None:
    """Remove the rows of tenants who have moved away."""
    removed = TenantMove(databases).remove_old_rows(grace_s=arguments.after_hours * 3600)
    print(json.dumps({"rows": removed}) if arguments.json else f"removed {removed} rows")  # noqa: T201


def _limit(text: str) -> int | str:
    if text == _DEFAULT:
        return text
    match = re.fullmatch(r"(\d{1,19})(KiB|MiB|GiB|TiB|)", text)
    value = int(match[1]) * _UNITS[match[2]] if match else _COUNT_MAX
    if value >= _COUNT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not like 5000, 64MiB, 50GiB or default")
    return value
