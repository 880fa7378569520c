"""`contextkeep mcp`: MCP servers of others, and which of their tools context query may ask."""

from __future__ import annotations

import json
from typing import Any, TextIO

import click

from contextkeep.cli._base import JSON_OBJECT, Session, command, confirm, limit_option, yes_option
from contextkeep.cli._output import Output

_SERVER = ("server_id", "display_name", "url", "disabled", "has_secret", "discovered_at")
_TOOL = ("server_id", "tool_name", "state", "is_default", "reason", "provider_id")


@click.group(epilog="\b\nExample:\n  contextkeep mcp approve tickets search_tickets --default")
def mcp() -> None:
    """MCP servers of others, and their tools; needs admin."""


@command(
    click.argument("server_id"),
    click.argument("url"),
    click.option("--name", "display_name", default="", help="What it is called; else its id."),
    click.option("--disabled", is_flag=True, help="None of its tools runs."),
    click.option("--secret", type=click.File(), help="A file with the bearer secret; - is stdin. Else it stays."),
    click.option("--clear-secret", is_flag=True, help="Show it none from now on."),
    name="put",
    group=mcp,
    example="contextkeep mcp put tickets https://tickets.example/mcp --name Tickets",
)
def put(session: Session, output: Output, *, server_id: str, url: str, secret: TextIO | None, **given: Any) -> None:
    """Write a server as it is said."""
    bearer_secret = secret.read().strip() if secret else ""
    if secret and not bearer_secret:
        raise click.UsageError("the file of --secret is empty; to show no secret, give --clear-secret")
    output.one(session.context.mcp_servers.put(server_id, url, bearer_secret=bearer_secret, **given))


@command(limit_option(), name="list", group=mcp, example="contextkeep mcp list")
def list_servers(session: Session, output: Output, *, limit: int) -> None:
    """List the servers."""
    output.many(session.context.mcp_servers.list(), *_SERVER, limit=limit)


@command(click.argument("server_id"), yes_option, name="delete", group=mcp, example="contextkeep mcp delete old --yes")
def delete(session: Session, output: Output, *, server_id: str, yes: bool) -> None:
    """Remove a server, its secret and what is known of its tools."""
    confirm("Delete it, with its secret and all approvals?", yes)
    session.context.mcp_servers.delete(server_id)
    output.one({"server_id": server_id, "is_deleted": True})


@command(click.argument("server_id"), name="discover", group=mcp, example="contextkeep mcp discover tickets")
def discover(session: Session, output: Output, *, server_id: str) -> None:
    """Ask a server for its tools; none is approved by that."""
    output.many(session.context.mcp_servers.discover_tools(server_id), *_TOOL)


@command(
    click.argument("server_id", default=""),
    limit_option(),
    name="tools",
    group=mcp,
    example="contextkeep mcp tools tickets --json",
)
def tools(session: Session, output: Output, *, server_id: str, limit: int) -> None:
    """List tools, of one server or of all."""
    output.many(session.context.mcp_servers.list_tools(server_id=server_id), *_TOOL, limit=limit)


@command(
    click.argument("server_id"),
    click.argument("tool_name"),
    click.option("--arguments", type=JSON_OBJECT, help="With what it is called, or @FILE; else made of its schema."),
    click.option("--default", "is_default", is_flag=True, help="Asked where a question selects nobody."),
    click.option("--record-search-safe", is_flag=True, help="Record that searching with it does no harm."),
    click.option("--sha256", "definition_sha256", default="", help="Only this definition; else the last discovered."),
    name="approve",
    group=mcp,
    example="""
contextkeep mcp approve tickets search_tickets --default
contextkeep mcp approve tickets search_tickets --arguments '{"query": "{question}", "limit": "{limit}"}'
""",
)
def approve(
    session: Session,
    output: Output,
    *,
    server_id: str,
    tool_name: str,
    arguments: dict[str, Any] | None,
    **given: Any,
) -> None:
    """Let context query ask a tool, as it was discovered."""
    arguments_json = "" if arguments is None else json.dumps(arguments)
    output.one(session.context.mcp_servers.approve_tool(server_id, tool_name, arguments_json=arguments_json, **given))


@command(
    click.argument("server_id"),
    click.argument("tool_name"),
    name="unapprove",
    group=mcp,
    example="contextkeep mcp unapprove tickets search_tickets",
)
def unapprove(session: Session, output: Output, *, server_id: str, tool_name: str) -> None:
    """Take the approval of a tool away."""
    output.one(session.context.mcp_servers.unapprove_tool(server_id, tool_name))
