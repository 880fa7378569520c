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
    click.option("--of-app", "app_id", default="", help="App of the page, such as shop.  [default: the key's app]"),
    click.option(
        "--agent-bundle-id", default="", help="Agent bundle of the page, such as crm-bundle.  [default: the key's]"
    ),
)
_ROW = ("slug", "title", "version", "state", "as_of", "page_id")


@click.group(
    epilog="\b\nExample:\n  contextkeep wiki put acme.md --title Acme --user ada",
)
def wiki() -> None:
    """Wiki pages of a user."""


@command(
    click.argument("file", type=click.File("rb")),
    click.option("--title", help="Title.  [default: the first heading, otherwise the name of the file]"),
    click.option(
        "--slug",
        default="",
        help="Path that identifies the page, such as customers/acme.  [default: derived from the title]",
    ),
    click.option(
        "--alias", "aliases", multiple=True, help="Another name of the page, such as 'Acme Corp'; may be repeated."
    ),
    click.option(
        "--source", "sources", multiple=True, help="Source of the page, such as a title or a link; may be repeated."
    ),
    click.option(
        "--cites", "memory_ids", multiple=True, help="Id of a memory that the page is based on; may be repeated."
    ),
    click.option("--fresh-until", type=TIME, help="When the page becomes out of date, such as 2026-01-31T12:00:00Z."),
    click.option(
        "--expected-version",
        type=click.IntRange(0),
        help="Fail unless the page has this version; 0: it must not exist.  [default: any]",
    ),
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
    """Write a page from a Markdown file or stdin (`-`).

    Use it to store or replace a page about a topic.

    If the page of --slug exists, the command stores a new version of it.
    """
    try:
        markdown = file.read().decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the file must be text in UTF-8: {error}") from None
    page = session.context.pages.put(
        _title(markdown, file.name) if title is None else title,
        markdown,
        sources=[PageSource(label=label) for label in sources],
        fresh_until=fresh_until,
        **given,
    )
    output.one(page)


def _title(markdown: str, name: str) -> str:
    """Return the title of a page: its first heading, or else the name of its file.

    Raises:
        UsageError: the text comes from stdin and has no heading.
    """
    for line in markdown.splitlines():
        if line.startswith("# ") and line[2:].strip():
            return line[2:].strip()
    if name in ("-", "<stdin>"):
        raise click.UsageError("the text has no heading; give --title")
    return Path(name).stem


@command(
    click.argument("slug"),
    click.option(
        "--version", type=click.IntRange(0), default=0, help="Version to print, such as 1.  [default: the newest]"
    ),
    click.option(
        "--markdown", "only_markdown", is_flag=True, help="Print only the Markdown text.  [default: all fields]"
    ),
    *_WHERE,
    subject_option,
    name="get",
    group=wiki,
    example="""
contextkeep wiki get customers/zeta --user ada
contextkeep wiki get zeta --markdown --user ada > zeta.md
""",
)
def get(session: Session, output: Output, *, slug: str, only_markdown: bool, **options: Any) -> None:
    """Print a page by its slug or an alias.

    Use it to read a page, or an older version of it. SLUG is the path that `contextkeep wiki list` prints.
    """
    page = session.context.pages.get(slug, **options)
    if only_markdown:
        click.echo(page.markdown, nl=not page.markdown.endswith("\n"))
    else:
        output.one(page)


@command(
    click.argument("slug_prefix", default=""),
    click.option("--cites", "memory_id", default="", help="Only pages that are based on this memory (its id)."),
    subject_option,
    limit_option(),
    name="list",
    group=wiki,
    example="""
contextkeep wiki list --user ada
contextkeep wiki list customers/ --user ada
""",
)
def list_pages(session: Session, output: Output, *, slug_prefix: str, limit: int, **options: Any) -> None:
    """List wiki pages by slug: the path that names a page.

    Use it to find pages, such as all below `customers/`, and those that are out of date (state stale).
    """
    output.many(session.context.pages.list(slug_prefix, **options), *_ROW, limit=limit)


@command(
    click.argument("slug"),
    *_WHERE,
    subject_option,
    limit_option(),
    name="versions",
    group=wiki,
    example="contextkeep wiki versions customers/zeta --user ada",
)
def versions(session: Session, output: Output, *, slug: str, limit: int, **options: Any) -> None:
    """List the stored versions of a page, newest first.

    Use it before `contextkeep wiki get --version`. SLUG is the path that `contextkeep wiki list` prints.
    """
    result = session.context.pages.list_versions(slug, **options)
    output.many(result, "version", "title", "written_by", "created_at", "size_bytes", limit=limit)


@command(
    click.argument("slug"),
    yes_option,
    click.option(
        "--expected-version",
        type=click.IntRange(1),
        help="Fail unless this is the page's newest version.  [default: any]",
    ),
    *_WHERE,
    subject_option,
    name="delete",
    group=wiki,
    example="contextkeep wiki delete customers/old --yes --user ada",
)
def delete(session: Session, output: Output, *, slug: str, yes: bool, **options: Any) -> None:
    """Delete a page with all its versions.

    Use it when a page is wrong or obsolete. SLUG is the path that `contextkeep wiki list` prints.
    """
    confirm("Delete it, with all its versions?", yes)
    session.context.pages.delete(slug, **options)
    output.one({"slug": slug, "is_deleted": True})
