"""`contextkeep history`: a conversation as chat messages."""

from __future__ import annotations

from typing import Any, get_args

import click

from contextkeep.cli._base import NodeArgument, Session, command, mapping_option
from contextkeep.cli._output import Output
from contextkeep.values import MessageFormat


@command(
    NodeArgument(),
    mapping_option,
    click.option(
        "--max",
        "max_messages",
        type=click.IntRange(0),
        default=0,
        help="Only this many of the newest messages; 0 means all.",
    ),
    click.option(
        "--max-tokens",
        "tokens_max",
        type=click.IntRange(0),
        default=0,
        help="Only the newest messages that fit into this many tokens; 0 means all.",
    ),
    click.option("--strict", is_flag=True, help="Fail if a rule fails on a node, instead of leaving the node out."),
    click.option(
        "--format",
        "message_format",
        type=click.Choice(get_args(MessageFormat), case_sensitive=False),
        help="Print JSON in this model vendor's format.  [default: a table]",
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
    """Print a conversation of the graph, oldest message first.

    Use it to see the messages that a mapping makes of the nodes below NODE_ID, the node of the conversation.
    """
    if message_format is not None:
        formatted = session.context.history.formatted(
            **node,
            message_format=message_format,
            mapping_name=mapping_name,
            max_messages=max_messages,
            tokens_max=tokens_max,
            strict=strict,
        )
        click.echo(formatted.body_json)
        _warn(formatted.nodes_failed, formatted.roles_unknown)
        return
    answer = session.context.history.stream(
        **node, mapping_name=mapping_name, max_messages=max_messages, tokens_max=tokens_max, strict=strict
    )
    output.many(answer.messages, "role", "content", "created_at")
    _warn(answer.nodes_failed, answer.roles_unknown)


def _warn(nodes_failed: int, roles_unknown: int) -> None:
    """Print to stderr how many nodes and messages an answer left out, and how to learn more."""
    if nodes_failed:
        click.echo(
            f"{nodes_failed} nodes were left out because a rule failed; --strict shows the first error", err=True
        )
    if roles_unknown:
        click.echo(
            f"left out {roles_unknown} message(s) with an unknown role; history.assemble of the clients names them",
            err=True,
        )
