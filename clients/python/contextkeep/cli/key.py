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
    """Print whom the API key stands for, and its scopes.

    Use it to check which tenant and user a key stands for, and what it may do: a scope is a right, such as write.
    """
    output.one(session.context.keys.get_caller())


@click.group(epilog="\b\nExample:\n  contextkeep key create billing-agent --scope read --scope write")
def key() -> None:
    """API keys of the tenant; most commands need admin."""


@command(
    click.option(
        "--context",
        "context_id",
        default=None,
        help="List the short-lived keys of this context (its id), which no other list has.  [default: all other keys]",
    ),
    limit_option(),
    name="list",
    group=key,
    example="contextkeep key list",
)
def list_keys(session: Session, output: Output, *, context_id: str | None, limit: int) -> None:
    """List API keys without their secrets, newest first.

    Use it to find the prefix of a key for `contextkeep key revoke`. Needs the scope admin.
    """
    output.many(session.context.keys.list(context_id=context_id), *_KEY, limit=limit)


@command(name="show", group=key, example="contextkeep key show")
def show(session: Session, output: Output) -> None:
    """Print the API key that the commands use.

    Use it to configure another program on the machine where `make run` started the services.
    """
    if not session.credential:
        raise click.ClickException(
            "there is no key: set CONTEXT_SERVICE_API_KEY, give --api-key, or start a stack with `make run`"
        )
    output.line({"key": session.credential}, "key")


@command(
    click.argument("subject"),
    click.option(
        "--scope",
        "scopes",
        multiple=True,
        help="Right of the key: read, write, admin, delegate, context:read or compile; may be repeated."
        "  [default: read and write]",
    ),
    click.option(
        "--user", "user_id", default="", help="User whose own data the key sees, such as ada.  [default: none]"
    ),
    click.option(
        "--agent", "agent_id", default="", help="Agent that the key is for, such as reviewer.  [default: none]"
    ),
    click.option(
        "--app", "app_ids", multiple=True, help="Restrict the key to this app, such as shop; may be repeated."
    ),
    click.option(
        "--bundle", "agent_bundle_id", default="", help="Restrict the key to this agent bundle, such as crm-bundle."
    ),
    click.option(
        "--graph", "graph_names", multiple=True, help="Restrict the key to this graph, such as sales; may be repeated."
    ),
    click.option(
        "--ttl",
        "ttl_s",
        type=click.IntRange(min=0),
        default=0,
        help="Lifetime in seconds; 0 means that the key does not expire.  [default: 0]",
    ),
    name="create",
    group=key,
    example="contextkeep key create billing-agent --scope read --scope write --ttl 7776000",
)
def create(session: Session, output: Output, *, subject: str, scopes: tuple[str, ...], **options: Any) -> None:
    """Create an API key and print it once.

    Use it to give a program or an agent its own key.

    SUBJECT is the name that logs and records show, such as billing-agent. The new key cannot have more rights than
    yours. The command needs the scope admin.

    The scopes: read allows all reads; write allows writes; admin allows managing keys, agents and settings, and
    deletions that cannot be undone; delegate allows naming the user that a call acts for; context:read allows only
    queries (read includes it); compile allows compiling pages of the graph.
    """
    result = session.context.keys.create(subject, scopes or ("read", "write"), **options)
    output.one({"key": result.key, "prefix": result.prefix})


@command(
    click.argument("prefix"), yes_option, name="revoke", group=key, example="contextkeep key revoke cgk_Zk3vT0aQ --yes"
)
def revoke(session: Session, output: Output, *, prefix: str, yes: bool) -> None:
    """Revoke an API key by its prefix.

    Use it when a key leaked or is not needed any more. PREFIX is the first 12 characters, as in `contextkeep key list`.
    """
    confirm("Revoke it? Nothing brings it back.", yes)
    session.context.keys.revoke(prefix)
    output.one({"prefix": prefix[:12], "is_revoked": True})


@command(
    click.option("--call", "call_id", default="", help="Only the call with this id, which logs and errors name."),
    limit_option(),
    name="audit",
    example="contextkeep audit --limit 20",
)
def audit(session: Session, output: Output, *, call_id: str, limit: int) -> None:
    """List administrative calls, newest first; needs admin.

    Use it to see who changed settings, keys or holds (they forbid deletions), and which attempts were refused.
    """
    output.many(session.context.operations.list_administrative_calls(call_id=call_id), *_CALL, limit=limit)
