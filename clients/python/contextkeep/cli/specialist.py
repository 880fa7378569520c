"""`contextkeep sources specialist`: sources that search one folder of the workspace in several steps."""

from __future__ import annotations

from typing import Any, TextIO

import click

from contextkeep.cli._base import Session, command, limit_option
from contextkeep.cli._output import Output

_SPECIALIST = ("specialist_id", "display_name", "node_ids", "steps_max", "is_default", "provider_id")


@click.group(epilog="\b\nExample:\n  contextkeep sources specialist list")
def specialist() -> None:
    """Specialists: sources that search one folder; needs admin."""


@command(
    click.argument("specialist_id"),
    click.option("--name", "display_name", default="", help="Display name.  [default: the id]"),
    click.option(
        "--below",
        "node_ids",
        multiple=True,
        help="Node (its UUID) whose records, and those of the nodes below it, it searches; may be repeated.",
    ),
    click.option(
        "--instructions",
        type=click.File(),
        help="File that describes the files in the folder to the model, or - for stdin.",
    ),
    click.option(
        "--steps",
        "steps_max",
        type=int,
        default=0,
        help="Maximum number of searches and reads per question.  [default: 4]",
    ),
    click.option("--default", "is_default", is_flag=True, help="Search it also if a query names no source."),
    name="put",
    group=specialist,
    example="""
contextkeep sources specialist put legal --below 0197f1f2-0000-7000-8000-000000000001 --name 'Contracts'
contextkeep sources specialist put legal --below 0197f1f2-0000-7000-8000-000000000001 --instructions acme.md
""",
)
def put(session: Session, output: Output, *, specialist_id: str, instructions: TextIO | None, **given: Any) -> None:
    """Create or replace a specialist: it searches one folder.

    Use it to let a model search the files of one folder in several steps, when `contextkeep query` asks it.

    SPECIALIST_ID is a name of yours, such as legal; its source is then sub-agent-legal. The specialist searches the
    records of each --below node, and of the nodes below it. The command replaces all options: one that you leave out
    gets its default.
    """
    text = instructions.read().strip() if instructions else ""
    output.one(session.context.specialists.put(specialist_id, instructions=text, **given))


@command(limit_option(), name="list", group=specialist, example="contextkeep sources specialist list")
def list_specialists(session: Session, output: Output, *, limit: int) -> None:
    """List the specialists: sources that search one folder.

    Use it to find the SPECIALIST_ID for `contextkeep sources specialist delete`.
    """
    output.many(session.context.specialists.list(), *_SPECIALIST, limit=limit)


@command(
    click.argument("specialist_id"),
    name="delete",
    group=specialist,
    example="contextkeep sources specialist delete my-specialist",
)
def delete(session: Session, output: Output, *, specialist_id: str) -> None:
    """Delete a specialist; its files stay.

    Use it when queries should no longer search the specialist's folder. A specialist is a source of
    `contextkeep query`: a model that searches the files of one folder.
    """
    session.context.specialists.delete(specialist_id)
    output.one({"specialist_id": specialist_id, "is_deleted": True})
