"""`contextgraph mapping`: how nodes become messages."""

from __future__ import annotations

import click

from contextgraph.cli._base import Session, command, limit_option
from contextgraph.cli._output import Output


@click.group(epilog="\b\nExample:\n  contextgraph mapping list")
def mapping() -> None:
    """Mappings: how nodes become chat messages."""


@command(limit_option(), name="list", group=mapping, example="contextgraph mapping list --json")
def list_mappings(session: Session, output: Output, *, limit: int) -> None:
    """List the mappings that the key sees, of all apps, then the built-in ones."""
    columns = ("app_id", "mapping_name", "rules_version", "version", "built_in", "error")
    output.many(session.context.list_mappings(), *columns, limit=limit)
