"""`contextkeep import`: an archive, or what a framework has kept elsewhere, which needs it beside the command."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from contextkeep.adapters import moving
from contextkeep.cli._base import Session, command, told
from contextkeep.cli._output import Output
from contextkeep.cli.transfer import put_in

_EXTRAS = {
    "langgraph-postgres": "langgraph",
    "langgraph-sqlite": "langgraph",
    "openai-sqlalchemy": "openai-agents",
    "openai-sqlite": "openai-agents",
    "adk-database": "google-adk",
}


@command(
    click.option(
        "--from", "source", type=click.Choice(list(_EXTRAS)), help="Of which framework, and where; else an archive."
    ),
    click.argument("url"),
    click.option("--dry-run", is_flag=True, help="Write nothing; say what would be written."),
    click.option("--user", "subject_user_id", default="", help="Whose it is, for a key without a user."),
    name="import",
    example="""
contextkeep import context.archive --dry-run
contextkeep import --from langgraph-postgres postgresql://localhost/agents --dry-run
""",
)
def move_in(
    session: Session, output: Output, *, source: str | None, url: str, dry_run: bool, subject_user_id: str
) -> None:
    """Put in an archive, or what a framework has kept.

    URL is the path of an archive, as export makes it; with --from it is that of a database, or the path of a file of
    SQLite. Again is harmless: what is here already is not written twice, so an import that was cut goes on. Rows of an
    archive that are here and other are left alone, and listed; then the exit code is 4.
    """
    if source is None:
        if subject_user_id:
            raise click.UsageError("an archive says itself whose it is: leave --user out")
        put_in(session, output, file=url, dry_run=dry_run)
        return
    if subject_user_id and source.startswith("adk"):
        raise click.UsageError("sessions of ADK say themselves whose they are: leave --user out")
    try:
        with asyncio.Runner() as runner, _opened(session, source, url, subject_user_id, runner.run) as opened:
            found = list(_with_bar(opened, dry_run=dry_run))
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed beside the command: the extra {_EXTRAS[source]} brings what reads there"
        ) from error
    except OSError as error:
        raise click.ClickException(told(error)) from error
    output.many(found, "name", "count", "written", "error")
    if any(one.error for one in found):
        sys.exit(1)


@contextmanager
def _opened(
    session: Session, source: str, url: str, subject_user_id: str, run: Callable[[Any], Any]
) -> Iterator[moving.Source]:
    if source.startswith("langgraph"):
        with moving.langgraph(url, session.context, subject_user_id=subject_user_id) as opened_source:
            yield opened_source
        return
    client = session.awaited()
    try:
        if source.startswith("adk"):
            opening = moving.google_adk(url, client, run)
        else:
            opening = moving.openai_agents(url, client, run, subject_user_id=subject_user_id)
        with opening as opened_source:
            yield opened_source
    finally:
        run(client.close())


def _with_bar(source: moving.Source, *, dry_run: bool) -> Iterator[moving.Moved]:
    if not sys.stderr.isatty():
        yield from moving.move(source, dry_run=dry_run)
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("moving in", total=None)
        yield from moving.move(
            source, dry_run=dry_run, on_progress=lambda done, total: bar.update(task, completed=done, total=total)
        )
