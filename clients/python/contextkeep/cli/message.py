"""`contextkeep message`: conversations, message by message."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import JSON_OBJECT, Session, command, external_id_option, graph_option
from contextkeep.cli._output import Output
from contextkeep.client._messages import ROLES, Role
from contextkeep.values import AppendedMessage


@click.group(epilog="\b\nExample:\n  contextkeep message append thread-42 Hello --role user --external-id --create")
def message() -> None:
    """Messages of conversations in the entity graph."""


@command(
    click.argument("session_id"),
    click.argument("content"),
    click.option("--role", type=click.Choice(list(ROLES)), required=True, help="Role of the author."),
    external_id_option("SESSION_ID"),
    click.option(
        "--create", is_flag=True, help="With --external-id: create the session if no node has this id.  [default: fail]"
    ),
    graph_option("Graph of the session."),
    click.option(
        "--data", type=JSON_OBJECT, help='More fields of the message, such as \'{"language": "de"}\', or @FILE.'
    ),
    name="append",
    group=message,
    example="""
contextkeep message append 0197f1f2-0000-7000-8000-000000000001 'Where is my file?' --role user
contextkeep message append thread-42 Hello --role user --external-id --create
""",
)
def append(
    session: Session,
    output: Output,
    *,
    session_id: str,
    content: str,
    role: Role,
    by_external_id: bool,
    create: bool,
    **options: Any,
) -> None:
    """Append a message to a conversation of the graph.

    Use it to add the next message to a session: the node that stands for a conversation. `contextkeep history` prints
    the conversation. For conversations outside of the graph use `contextkeep context send`.
    """
    if create and not by_external_id:
        raise click.UsageError("--create needs --external-id: the new session gets your own id")
    named: dict[str, Any] = {"external_id" if by_external_id else "session": session_id}
    written = session.graph.graph.append_message(role=role, content=content, create=create, **named, **options)
    output.one(written, *AppendedMessage._fields)
