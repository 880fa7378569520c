"""The command that shows and sets what tenants may store."""

from __future__ import annotations

import argparse
import dataclasses
import re

from context_service.working_memory.tenant_limits import LimitAdministration
from service_runtime.commands import Subparsers
from service_runtime.key_commands import show_rows
from service_runtime.keys import NoSuchTenant

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


def run_limits(admin_url: str, arguments: argparse.Namespace) -> None:
    """Change what is to be changed, and show what is then.

    Raises:
        NoSuchTenant: no tenant has this name.
    """
    administration = LimitAdministration(admin_url)
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


def _limit(text: str) -> int | str:
    if text == _DEFAULT:
        return text
    match = re.fullmatch(r"(\d{1,19})(KiB|MiB|GiB|TiB|)", text)
    value = int(match[1]) * _UNITS[match[2]] if match else _COUNT_MAX
    if value >= _COUNT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not like 5000, 64MiB, 50GiB or default")
    return value
