"""The commands that make, list and revoke keys and tenants."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from service_runtime.auth.keys import DEFAULT_TENANT, KeyAdministration, NewKey
from service_runtime.cli.commands import Subparsers
from service_runtime.databases.placement import Databases
from service_runtime.postgres import HOME
from service_runtime.rpc.principal import OPERATOR, SCOPES
from service_runtime.values.copying import copied

_HOW_TO_CALL = """Keep it now: it is not shown again. Our clients take it from CONTEXT_SERVICE_API_KEY,
all others send it as `authorization: Bearer <key>`."""

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def add_keys(commands: Subparsers) -> Subparsers:
    """Add `keys` and `tenants`, and return where commands of `tenants` are added."""
    keys = commands.add_parser("keys", help="make, list and revoke API keys; needs DATABASE_ADMIN_URL")
    of_keys = keys.add_subparsers(dest="access_command", required=True)
    create = of_keys.add_parser(
        "create",
        help="make a key and print it once; it cannot be shown again",
        epilog="example: context-service keys create --tenant acme --subject billing-agent --scope read --scope write",
    )
    create.add_argument(
        "--tenant", default=DEFAULT_TENANT, help="the tenant whose data the key may use (default: %(default)s)"
    )
    create.add_argument(
        "--subject", required=True, help="the name of the key's holder; new rows store it as created_by"
    )
    create.add_argument(
        "--scope",
        action="append",
        choices=(*SCOPES, OPERATOR),
        help="a right of the key; may be repeated (default: read and write); operator administers all tenants",
    )
    create.add_argument(
        "--user-id",
        metavar="USER",
        default="",
        help="the user whose rows the key sees and writes; new rows store it as owner_user_id",
    )
    create.add_argument(
        "--agent-id", metavar="AGENT", default="", help="the agent of the key; new rows store it as agent_id"
    )
    create.add_argument(
        "--app-id",
        dest="app_ids",
        action="append",
        type=_name,
        metavar="APP",
        default=[],
        help="bind the key to an app, so that it does not see records and mappings of other apps; may be repeated",
    )
    create.add_argument(
        "--agent-bundle", dest="agent_bundle_id", metavar="BUNDLE", type=_name, help="bind the key to an agent bundle"
    )
    create.add_argument(
        "--graph",
        dest="graph_names",
        action="append",
        type=_name,
        metavar="GRAPH",
        default=[],
        help="bind the key to a graph; may be repeated",
    )
    create.add_argument(
        "--expires-in",
        type=_lifetime,
        metavar="90d",
        help="lifetime in minutes, hours or days, such as 30m, 12h or 90d (default: no end)",
    )
    listing = of_keys.add_parser("list", help="list keys by their first characters")
    listing.add_argument("--tenant", help="list only the keys of this tenant")
    revoke = of_keys.add_parser("revoke", help="revoke a key; the services refuse it within seconds")
    revoke.add_argument("prefix", help="the first characters of the key, as `keys list` shows them")

    tenants = commands.add_parser("tenants", help="make and list tenants; needs DATABASE_ADMIN_URL")
    of_tenants = tenants.add_subparsers(dest="access_command", required=True)
    add = of_tenants.add_parser("create", help="make a tenant")
    add.add_argument("name")
    add.add_argument(
        "--database", metavar="NAME", help="the database of the tenant (default: the one with the fewest bytes)"
    )
    of_tenants.add_parser("list", help="list the tenants")
    for command in (*of_keys.choices.values(), *of_tenants.choices.values()):
        command.add_argument("--json", action="store_true", help="print JSON")
    return of_tenants


def run_keys(databases: Databases, arguments: argparse.Namespace) -> None:
    """Run one of them.

    Raises:
        NoSuchTenant, NoSuchKey, WrongDatabase: with the right command.
    """
    administration = KeyAdministration(databases.url_of(HOME))
    match arguments.command, arguments.access_command:
        case "keys", "create":
            key = administration.create(
                copied(
                    NewKey,
                    arguments,
                    scopes=arguments.scope or ["read", "write"],
                    agent_bundle_id=arguments.agent_bundle_id or "",
                    lifetime=arguments.expires_in,
                )
            )
            print(json.dumps({"key": key}) if arguments.json else key)  # noqa: T201
            print(_HOW_TO_CALL, file=sys.stderr)  # noqa: T201
        case "keys", "list":
            show_rows(
                [dataclasses.asdict(key) for key in administration.keys(arguments.tenant)], as_json=arguments.json
            )
        case "keys", "revoke":
            administration.revoke(arguments.prefix)
            print(json.dumps({"revoked": True}) if arguments.json else "revoked")  # noqa: T201
        case "tenants", "create":
            created = databases.add_tenant(arguments.name, database=arguments.database)
            if arguments.json:
                print(json.dumps({"created": created}))  # noqa: T201
            else:
                print("created" if created else "there is one already, which stays as it is")  # noqa: T201
        case "tenants", "list":
            show_rows([dataclasses.asdict(tenant) for tenant in administration.tenants()], as_json=arguments.json)


def _name(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty, which would bind the key to nothing")
    return text


def _lifetime(text: str) -> timedelta:
    """Parse the lifetime of a key, such as `30m`, `12h` or `90d`."""
    match = re.fullmatch(r"([1-9]\d{0,5})([mhd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} must be like 30m, 12h or 90d")
    return int(match[1]) * _UNITS[match[2]]


def show_rows(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print rows as JSON lines or as a table without empty columns."""
    if as_json:
        for row in rows:
            print(json.dumps(row, default=str))  # noqa: T201
        return
    if not rows:
        print("there are no keys", file=sys.stderr)  # noqa: T201
        return
    names = [name for name in rows[0] if any(row[name] not in (None, "", []) for row in rows)]
    table = [names, *([_text(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())  # noqa: T201


def _text(value: object) -> str:
    """Return a value as the text of a table cell."""
    match value:
        case None:
            return "-"
        case datetime():
            return value.isoformat(sep=" ", timespec="minutes")
        case list():
            return ",".join(map(str, value))
        case _:
            return str(value) or "-"
