"""`contextkeep history`: a conversation as chat messages."""

from __future__ import annotations

from typing import Any, get_args

import click

from contextkeep.cli._base import NodeArgument, Session, command
from contextkeep.cli._output import Output
from contextkeep.values import MessageFormat


@command(
    NodeArgument(),
    click.option("--mapping", "mapping_name", default="", help="How nodes become messages; else simple_chat."),
    click.option("--max", "max_messages", type=click.IntRange(0), default=0, help="Only the newest so many; 0: all."),
    click.option(
        "--max-tokens", "tokens_max", type=click.IntRange(0), default=0, help="Only the newest that fit; 0: all."
    ),
    click.option("--strict", is_flag=True, help="Fail where a rule fails, instead of leaving the node out."),
    click.option(
        "--format",
        "message_format",
        type=click.Choice(get_args(MessageFormat), case_sensitive=False),
        help="Print the JSON that goes into a request to a model.",
    ),
    name="history",
    example="""
contextkeep history 0197f1f2-0000-7000-8000-000000000001 --max 20
contextkeep history thread-42 --external-id --format openai --max-tokens 8000
""",
)
def history(
    session: Session,
    output: Output,
    *,
    node: dict[str, Any],
    mapping_name: str,
    max_messages: int,
    tokens_max: int,
    strict: bool,
    message_format: MessageFormat | None,
) -> None:
    """Print the chat history of a conversation's node, oldest first."""
    if message_format is not None:
        formatted = session.context.history.formatted(
            **node,
            message_format=message_format,
            mapping_name=mapping_name,
            max_messages=max_messages,
            tokens_max=tokens_max,
            strict=strict,
        )
        click.echo(formatted.formatted_json)
        _warn(formatted.nodes_failed, formatted.roles_unknown)
        return
    answer = session.context.history.stream(
        **node, mapping_name=mapping_name, max_messages=max_messages, tokens_max=tokens_max, strict=strict
    )
    output.many(answer.messages, "role", "content", "created_at")
    _warn(answer.nodes_failed, answer.roles_unknown)


def _warn(nodes_failed: int, roles_unknown: int) -> None:
    if nodes_failed:
        click.echo(f"left out {nodes_failed} node(s) on which a rule failed; --strict names the first", err=True)
    if roles_unknown:
        click.echo(
            f"left out {roles_unknown} message(s) with an unknown role; history.assemble of the clients names them",
            err=True,
        )
