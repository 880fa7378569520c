"""`contextkeep wiki`: pages that were compiled for a user."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import click

from contextkeep.cli._base import Session, command, confirm, limit_option, subject_option, yes_option
from contextkeep.cli._lines import TIME
from contextkeep.cli._output import Output
from contextkeep.values import PageSource

_WHERE = (
    click.option("--of-app", "app_id", default="", help="The app that the page is of; else none."),
    click.option("--agent-bundle-id", default="", help="The agent bundle that it is of; else none."),
)
_EXPECTED = click.option(
    "--expected-version", type=click.IntRange(0), help="Only if this is its version; 0: only if it is new."
)
_ROW = ("slug", "title", "version", "state", "as_of", "page_id")


@click.group(
    epilog="\b\nExample:\n  contextkeep wiki put acme.md --title Acme --user ada",
)
def wiki() -> None:
    """Pages that were compiled for a user."""


@command(
    click.argument("file", type=click.File("rb")),
    click.option("--title", help="Else the first heading of the file, else its name."),
    click.option("--slug", default="", help="By which it is known; else made of the title."),
    click.option("--alias", "aliases", multiple=True, help="What it is called besides. Again for others."),
    click.option("--source", "sources", multiple=True, help="What it was made of. Again for others."),
    click.option("--cites", "memory_ids", multiple=True, help="A memory that it rests on. Again for others."),
    click.option("--fresh-until", type=TIME, help="Until when it is good, as in 2026-01-31T12:00:00Z."),
    _EXPECTED,
    *_WHERE,
    subject_option,
    name="put",
    group=wiki,
    example="""
contextkeep wiki put acme.md --slug customers/acme --alias 'Acme Corp' --user ada
echo 'Refunds within 30 days.' | contextkeep wiki put - --title Refunds --user ada
""",
)
def put(
    session: Session,
    output: Output,
    *,
    file: BinaryIO,
    title: str | None,
    sources: tuple[str, ...],
    fresh_until: datetime | None,
    **given: Any,
) -> None:
    """Write a page: Markdown of a file, or - for stdin."""
    try:
        markdown = file.read().decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the file is not UTF-8: {error}") from None
    page = session.context.pages.put(
        _title(markdown, file.name) if title is None else title,
        markdown,
        sources=[PageSource(label=label) for label in sources],
        fresh_until=fresh_until,
        **given,
    )
    output.one(page)


def _title(markdown: str, name: str) -> str:
    for line in markdown.splitlines():
        if line.startswith("# ") and line[2:].strip():
            return line[2:].strip()
    if name in ("-", "<stdin>"):
        raise click.UsageError("what comes has no heading: say --title")
    return Path(name).stem


@command(
    click.argument("slug"),
    click.option("--version", type=click.IntRange(0), default=0, help="One that is kept; else the newest."),
    click.option("--markdown", "only_markdown", is_flag=True, help="Print what it says, and nothing else."),
    *_WHERE,
    subject_option,
    name="get",
    group=wiki,
    example="""
contextkeep wiki get customers/zeta --user ada
contextkeep wiki get zeta --markdown --user ada > zeta.md
""",
)
def get(session: Session, output: Output, *, slug: str, only_markdown: bool, **given: Any) -> None:
    """Print a page, by its slug or an alias."""
    page = session.context.pages.get(slug, **given)
    if only_markdown:
        click.echo(page.markdown, nl=not page.markdown.endswith("\n"))
    else:
        output.one(page)


@command(
    click.argument("slug_prefix", default=""),
    click.option("--cites", "memory_id", default="", help="Only those that cite this memory."),
    subject_option,
    limit_option(),
    name="list",
    group=wiki,
    example="""
contextkeep wiki list --user ada
contextkeep wiki list customers/ --user ada
""",
)
def list_pages(session: Session, output: Output, *, slug_prefix: str, limit: int, **given: Any) -> None:
    """List pages by slug, or those below one."""
    output.many(session.context.pages.list(slug_prefix, **given), *_ROW, limit=limit)


@command(
    click.argument("slug"),
    *_WHERE,
    subject_option,
    limit_option(),
    name="versions",
    group=wiki,
    example="contextkeep wiki versions customers/zeta --user ada",
)
def versions(session: Session, output: Output, *, slug: str, limit: int, **given: Any) -> None:
    """List the versions of a page that are kept, newest first."""
    found = session.context.pages.list_versions(slug, **given)
    output.many(found, "version", "title", "written_by", "created_at", "size_bytes", limit=limit)


@command(
    click.argument("slug"),
    yes_option,
    _EXPECTED,
    *_WHERE,
    subject_option,
    name="delete",
    group=wiki,
    example="contextkeep wiki delete customers/old --yes --user ada",
)
def delete(session: Session, output: Output, *, slug: str, yes: bool, **given: Any) -> None:
    """Remove a page, for good, with all its versions."""
    confirm("Delete it, with all its versions?", yes)
    session.context.pages.delete(slug, **given)
    output.one({"slug": slug, "is_deleted": True})
