"""`contextkeep erasure`: subjects erased from both services, and holds that forbid it."""

from __future__ import annotations

import click

from contextkeep.cli._base import Session, command, confirm, limit_option, yes_option
from contextkeep.cli._output import Output
from contextkeep.errors import InvalidArgument

_RECEIPT = ("erasure_id", "state", "created_at", "finished_at", "requested_by", "removed", "is_begun_in_graph")
_HOLD = ("hold_id", "subject", "context_id", "reason", "created_at", "created_by")


@click.group(epilog="\b\nExample:\n  contextkeep erasure plan ada@example.com")
def erasure() -> None:
    """Forget a user, in both services; needs admin."""


@command(
    click.argument("subject"),
    name="plan",
    group=erasure,
    example="contextkeep erasure plan ada@example.com",
)
def plan(session: Session, output: Output, *, subject: str) -> None:
    """Say what there is of a user, and what forbids to erase it."""
    output.one(session.context.erasures.plan(subject), "counts", "holds", "not_found")


@command(
    click.argument("subject"),
    yes_option,
    name="erase",
    group=erasure,
    example="contextkeep erasure erase ada@example.com --yes",
)
def erase(session: Session, output: Output, *, subject: str, yes: bool) -> None:
    """Begin to erase a user for good; stop before whoever writes for him."""
    confirm(f"Erase all that is {subject}'s, in both services? Nothing brings it back.", yes)
    output.one(session.context.erasures.erase(subject), *_RECEIPT)


@command(
    click.argument("erasure_id"),
    name="show",
    group=erasure,
    example="contextkeep erasure show 0197f1f2-0000-7000-8000-000000000013",
)
def show(session: Session, output: Output, *, erasure_id: str) -> None:
    """Show how far an erasure is."""
    output.one(session.context.erasures.get(erasure_id), *_RECEIPT)


@command(
    click.argument("reason"),
    click.option("--user", "subject", default="", help="The id of a user; or"),
    click.option("--context", "context_id", default=None, help="of a context, which holds those below it, too."),
    name="hold",
    group=erasure,
    example='contextkeep erasure hold "case 4711" --user bob@example.com',
)
def hold(session: Session, output: Output, *, reason: str, subject: str, context_id: str | None) -> None:
    """Forbid to erase a user or a context."""
    if bool(subject) == bool(context_id):
        raise InvalidArgument("give --user or --context", field="user")
    output.one(session.context.holds.put(reason, subject=subject, context_id=context_id), *_HOLD)


@command(
    click.argument("hold_id"),
    yes_option,
    name="release",
    group=erasure,
    example="contextkeep erasure release 0197f1f2-0000-7000-8000-000000000014 --yes",
)
def release(session: Session, output: Output, *, hold_id: str, yes: bool) -> None:
    """Take a hold away."""
    confirm("Release it? What it is of may be erased then.", yes)
    session.context.holds.release(hold_id)
    output.one({"hold_id": hold_id, "is_released": True})


@command(limit_option(), name="holds", group=erasure, example="contextkeep erasure holds")
def holds(session: Session, output: Output, *, limit: int) -> None:
    """List holds, the newest first."""
    output.many(session.context.holds.list(), *_HOLD, limit=limit)
