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
    """External MCP servers and their tools; needs admin."""


@command(
    click.argument("server_id"),
    click.argument("url"),
    click.option("--name", "display_name", default="", help="Display name.  [default: the id]"),
    click.option("--disabled", is_flag=True, help="Call no tool of this server.  [default: call approved ones]"),
    click.option(
        "--secret",
        type=click.File(),
        help="File with the token that the server requires, or - for stdin.  [default: unchanged]",
    ),
    click.option("--clear-secret", is_flag=True, help="Delete the stored token."),
    name="put",
    group=mcp,
    example="contextkeep mcp put tickets https://tickets.example/mcp --name Tickets",
)
def put(session: Session, output: Output, *, server_id: str, url: str, secret: TextIO | None, **given: Any) -> None:
    """Add or replace an MCP server: a server with tools.

    Use it before `contextkeep mcp discover`. SERVER_ID is a name of yours, such as tickets.
    """
    bearer_secret = secret.read().strip() if secret else ""
    if secret and not bearer_secret:
        raise click.UsageError("the file of --secret is empty; to delete the secret, give --clear-secret")
    output.one(session.context.mcp_servers.put(server_id, url, bearer_secret=bearer_secret, **given))


@command(limit_option(), name="list", group=mcp, example="contextkeep mcp list")
def list_servers(session: Session, output: Output, *, limit: int) -> None:
    """List the MCP servers.

    Use it to see which servers are enabled, and when their tools were fetched (discovered_at).
    """
    output.many(session.context.mcp_servers.list(), *_SERVER, limit=limit)


@command(click.argument("server_id"), yes_option, name="delete", group=mcp, example="contextkeep mcp delete old --yes")
def delete(session: Session, output: Output, *, server_id: str, yes: bool) -> None:
    """Delete an MCP server with its token and its tools.

    Use it when the server is not used any more.
    """
    confirm("Delete it, with its secret and all approvals?", yes)
    session.context.mcp_servers.delete(server_id)
    output.one({"server_id": server_id, "is_deleted": True})


@command(click.argument("server_id"), name="discover", group=mcp, example="contextkeep mcp discover tickets")
def discover(session: Session, output: Output, *, server_id: str) -> None:
    """Fetch the list of tools from an MCP server.

    Use it after `contextkeep mcp put`, and when the server has new tools. Then approve each tool with
    `contextkeep mcp approve`.
    """
    output.many(session.context.mcp_servers.discover_tools(server_id), *_TOOL)


@command(
    click.argument("server_id", default=""),
    limit_option(),
    name="tools",
    group=mcp,
    example="contextkeep mcp tools tickets --json",
)
def tools(session: Session, output: Output, *, server_id: str, limit: int) -> None:
    """List the tools of one MCP server, or of all.

    Use it to see which tools are approved, and which have changed since their approval (state changed): approve these
    again.
    """
    output.many(session.context.mcp_servers.list_tools(server_id=server_id), *_TOOL, limit=limit)


@command(
    click.argument("server_id"),
    click.argument("tool_name"),
    click.option(
        "--arguments",
        type=JSON_OBJECT,
        help="Arguments of each call as JSON, or @FILE; see the example.  [default: from the tool's schema]",
    ),
    click.option("--default", "is_default", is_flag=True, help="Call the tool if a query names no source."),
    click.option(
        "--record-search-safe",
        is_flag=True,
        help="Record that you checked that a search with the tool does no harm, if it does not say so itself.",
    ),
    click.option(
        "--sha256",
        "definition_sha256",
        default="",
        help="Approve only this definition_sha256 of `contextkeep mcp tools --json`.  [default: the current one]",
    ),
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
    **options: Any,
) -> None:
    """Allow `contextkeep query` to call a tool.

    Use it after you have read the tool's definition with `contextkeep mcp tools --json`. The approval ends when the
    definition changes.

    In --arguments the service replaces {question} by the question, and {limit} by the number of hits to return.
    """
    arguments_json = "" if arguments is None else json.dumps(arguments)
    output.one(session.context.mcp_servers.approve_tool(server_id, tool_name, arguments_json=arguments_json, **options))


@command(
    click.argument("server_id"),
    click.argument("tool_name"),
    name="unapprove",
    group=mcp,
    example="contextkeep mcp unapprove tickets search_tickets",
)
def unapprove(session: Session, output: Output, *, server_id: str, tool_name: str) -> None:
    """Withdraw the approval of a tool.

    Use it when `contextkeep query` should no longer call the tool.
    """
    output.one(session.context.mcp_servers.unapprove_tool(server_id, tool_name))
