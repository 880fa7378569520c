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
    """Erasures: delete all data of a user; needs admin."""


@command(
    click.argument("subject"),
    name="plan",
    group=erasure,
    example="contextkeep erasure plan ada@example.com",
)
def plan(session: Session, output: Output, *, subject: str) -> None:
    """Count a user's data and list holds on it.

    Use it before `contextkeep erasure erase`, to see how much it would delete. SUBJECT is the id of the user.

    A hold forbids the deletion of a user or a context, such as during a lawsuit. `contextkeep erasure hold` sets one.
    """
    output.one(session.context.erasures.plan(subject), "counts", "holds", "not_found")


@command(
    click.argument("subject"),
    yes_option,
    name="erase",
    group=erasure,
    example="contextkeep erasure erase ada@example.com --yes",
)
def erase(session: Session, output: Output, *, subject: str, yes: bool) -> None:
    """Delete all data of a user, for good.

    Use it when a user has the right to be forgotten. Stop the programs that write for the user first.

    SUBJECT is the id of the user. The command prints a receipt at once; `contextkeep erasure show` prints how far the
    deletion is. It fails if a hold (`contextkeep erasure holds`) forbids it.
    """
    confirm(f"Erase all that is {subject}'s, in both services? Nothing brings it back.", yes)
    output.one(session.context.erasures.erase(subject), *_RECEIPT)


@command(
    click.argument("erasure_id"),
    name="show",
    group=erasure,
    example="contextkeep erasure show 0197f1f2-0000-7000-8000-000000000013",
)
def show(session: Session, output: Output, *, erasure_id: str) -> None:
    """Print how far the deletion of a user's data is.

    Use it with the erasure_id that `contextkeep erasure erase` printed.
    """
    output.one(session.context.erasures.get(erasure_id), *_RECEIPT)


@command(
    click.argument("reason"),
    click.option("--user", "subject", default="", help="User to protect, such as ada."),
    click.option(
        "--context", "context_id", default=None, help="Id of the context to protect, with those forked from it."
    ),
    name="hold",
    group=erasure,
    example='contextkeep erasure hold "case 4711" --user bob@example.com',
)
def hold(session: Session, output: Output, *, reason: str, subject: str, context_id: str | None) -> None:
    """Protect a user or a context from deletion.

    Use it when data must be kept, such as for a lawsuit.

    Give --user or --context. The protection, a hold, lasts until `contextkeep erasure release`. Callers whose deletion
    is refused see the REASON.
    """
    if bool(subject) == bool(context_id):
        raise InvalidArgument("give --user or --context, to say what to protect", field="user")
    output.one(session.context.holds.put(reason, subject=subject, context_id=context_id), *_HOLD)


@command(
    click.argument("hold_id"),
    yes_option,
    name="release",
    group=erasure,
    example="contextkeep erasure release 0197f1f2-0000-7000-8000-000000000014 --yes",
)
def release(session: Session, output: Output, *, hold_id: str, yes: bool) -> None:
    """Remove a hold, so that the held data may be deleted.

    Use it when the reason to keep the data has ended. `contextkeep erasure holds` prints the HOLD_ID.
    """
    confirm("Release it? What it is of may be erased then.", yes)
    session.context.holds.release(hold_id)
    output.one({"hold_id": hold_id, "is_released": True})


@command(limit_option(), name="holds", group=erasure, example="contextkeep erasure holds")
def holds(session: Session, output: Output, *, limit: int) -> None:
    """List holds (they forbid deletions), newest first.

    Use it to find the hold that forbids a deletion.
    """
    output.many(session.context.holds.list(), *_HOLD, limit=limit)
