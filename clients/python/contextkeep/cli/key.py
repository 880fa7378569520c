"""`contextkeep whoami`, `contextkeep key` and `contextkeep audit`: keys, and what administrators did."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import Session, command, confirm, limit_option, yes_option
from contextkeep.cli._output import Output

_KEY = ("prefix", "subject", "scopes", "user_id", "app_ids", "graph_names", "expires_at", "revoked_at", "last_used_at")
_CALL = ("called_at", "subject", "method", "status", "reason", "count", "call_id")


@command(name="whoami", example="contextkeep whoami")
def whoami(session: Session, output: Output) -> None:
    """Show whom the key stands for, and what it may do."""
    output.one(session.context.keys.get_caller())


@click.group(epilog="\b\nExample:\n  contextkeep key create billing-agent --scope read --scope write")
def key() -> None:
    """Keys of the tenant, as parts of your own; needs admin."""


@command(
    click.option("--context", "context_id", default=None, help="Only the short-lived ones of this context."),
    limit_option(),
    name="list",
    group=key,
    example="contextkeep key list",
)
def list_keys(session: Session, output: Output, *, context_id: str | None, limit: int) -> None:
    """List keys, never whole, the newest first."""
    output.many(session.context.keys.list(context_id=context_id), *_KEY, limit=limit)


@command(name="show", group=key, example="contextkeep key show")
def show(session: Session, output: Output) -> None:
    """Print the key that calls are made with."""
    if not session.credential:
        raise click.ClickException(
            "there is no key: set CONTEXT_SERVICE_API_KEY, give --api-key, or start a stack with `make run`"
        )
    output.line({"key": session.credential}, "key")


@command(
    click.argument("subject"),
    click.option("--scope", "scopes", multiple=True, help="May be repeated.  [default: read and write]"),
    click.option("--user", "user_id", default="", help="Whose own it sees, of what belongs to users."),
    click.option("--agent", "agent_id", default="", help="Of which agent."),
    click.option("--app", "app_ids", multiple=True, help="Bind it to an app; may be repeated."),
    click.option("--bundle", "agent_bundle_id", default="", help="Bind it to an agent bundle."),
    click.option("--graph", "graph_names", multiple=True, help="Bind it to a graph; may be repeated."),
    click.option("--ttl", "ttl_s", type=click.IntRange(min=0), default=0, help="Seconds until it ends; 0: never."),
    name="create",
    group=key,
    example="contextkeep key create billing-agent --scope read --scope write --ttl 7776000",
)
def create(session: Session, output: Output, *, subject: str, scopes: tuple[str, ...], **given: Any) -> None:
    """Make a key; it is printed once."""
    made = session.context.keys.create(subject, scopes or ("read", "write"), **given)
    output.one({"key": made.key, "prefix": made.prefix})


@command(
    click.argument("prefix"), yes_option, name="revoke", group=key, example="contextkeep key revoke cgk_Zk3vT0aQ --yes"
)
def revoke(session: Session, output: Output, *, prefix: str, yes: bool) -> None:
    """Take a key back, by how it begins."""
    confirm("Revoke it? Nothing brings it back.", yes)
    session.context.keys.revoke(prefix)
    output.one({"prefix": prefix[:12], "is_revoked": True})


@command(
    click.option("--call", "call_id", default="", help="Only this call."),
    limit_option(),
    name="audit",
    example="contextkeep audit --limit 20",
)
def audit(session: Session, output: Output, *, call_id: str, limit: int) -> None:
    """List what administrators did, or tried to; needs admin."""
    output.many(session.context.operations.list_administrative_calls(call_id=call_id), *_CALL, limit=limit)
