"""`contextkeep import`: an archive, or the data of a framework, which must be installed too."""

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
from contextkeep.cli._base import Session, command, os_error_text
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
        "--from",
        "source",
        type=click.Choice(list(_EXTRAS)),
        help="Framework that the data comes from.  [default: an archive of this service]",
    ),
    click.argument("url"),
    click.option("--dry-run", is_flag=True, help="Write nothing; print what would be written."),
    click.option(
        "--user", "subject_user_id", default="", help="Owner of the imported data, such as ada, if the key has no user."
    ),
    name="import",
    example="""
contextkeep import context.archive --dry-run
contextkeep import --from langgraph-postgres postgresql://localhost/agents --dry-run
""",
)
def move_in(
    session: Session, output: Output, *, source: str | None, url: str, dry_run: bool, subject_user_id: str
) -> None:
    """Import an archive, or the data of an agent framework.

    Use it to restore an export, or to move from LangGraph, the OpenAI Agents SDK or ADK.

    URL is the path of an archive from `contextkeep export`; with --from it is the URL of a database, or the path of a
    SQLite file. Rows that exist already are skipped, so an interrupted import can be repeated. Rows of an archive that
    exist with other content stay as they are, and are listed; the exit code is then 4.
    """
    if source is None:
        if subject_user_id:
            raise click.UsageError("an archive names its owners; leave --user out")
        put_in(session, output, file=url, dry_run=dry_run)
        return
    if subject_user_id and source.startswith("adk"):
        raise click.UsageError("ADK sessions name their owners; leave --user out")
    try:
        with asyncio.Runner() as runner, _open_store(session, source, url, subject_user_id, runner.run) as opened:
            items = list(_with_bar(opened, dry_run=dry_run))
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed; install the extra {_EXTRAS[source]}, which reads this framework"
        ) from error
    except OSError as error:
        raise click.ClickException(os_error_text(error)) from error
    output.many(items, "name", "count", "written", "error")
    if any(item.error for item in items):
        sys.exit(1)


@contextmanager
def _open_store(
    session: Session, source: str, url: str, subject_user_id: str, run: Callable[[Any], Any]
) -> Iterator[moving.FrameworkStore]:
    """Open the database of a framework for the block: of LangGraph with a sync client, of others with an async one."""
    if source.startswith("langgraph"):
        with moving.langgraph(url, session.context, subject_user_id=subject_user_id) as opened_source:
            yield opened_source
        return
    client = session.new_async_client()
    try:
        if source.startswith("adk"):
            opening = moving.google_adk(url, client, run)
        else:
            opening = moving.openai_agents(url, client, run, subject_user_id=subject_user_id)
        with opening as opened_source:
            yield opened_source
    finally:
        run(client.close())


def _with_bar(source: moving.FrameworkStore, *, dry_run: bool) -> Iterator[moving.MoveResult]:
    """Move the data of a framework, and show a progress bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield from moving.move(source, dry_run=dry_run)
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("moving in", total=None)
        yield from moving.move(
            source, dry_run=dry_run, on_progress=lambda done, total: bar.update(task, completed=done, total=total)
        )
