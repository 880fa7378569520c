"""`contextkeep knowledge`: pages that are compiled of the graph."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import click

from contextkeep import definition_files
from contextkeep.cli._base import Session, command, external_id_option, graph_option, limit_option, node_named
from contextkeep.cli._lines import TIME
from contextkeep.cli._output import Format, Output
from contextkeep.definition_files import FileDefinition
from contextkeep.errors import ContextKeepError, DefinitionNotFound
from contextkeep.values import CompileProgress, Definition, FacetKind

_DEFINITION = ("name", "version", "state", "created_by", "created_at", "approved_by", "approved_at")
_FACET = ("slug", "heading", "kind", "trust", "confidence", "as_of", "fresh_until", "stale", "text")
_EXTERNAL = external_id_option("--node")
_COUNTS = ("nodes_read", "pages_written", "pages_unchanged", "pages_removed", "pages_failed")


@click.group(epilog="\b\nExample:\n  contextkeep knowledge compile --json")
def knowledge() -> None:
    """Pages compiled from the graph, and their rules."""


@command(
    click.argument("files", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True),
    click.option(
        "--approve", is_flag=True, help="Also approve them; needs the scope admin.  [default: they stay drafts]"
    ),
    name="define",
    group=knowledge,
    example="""
contextkeep knowledge define customers.yaml
contextkeep knowledge define customers.yaml --approve
""",
)
def define(session: Session, output: Output, *, files: tuple[Path, ...], approve: bool) -> None:
    """Write page definitions from YAML files, as drafts.

    Use it to create or change the rules that compile pages: docs/knowledge.md. `contextkeep knowledge approve` makes a
    draft effective.

    All files are checked before the first definition is written. Rules that equal the newest version create no new
    version. The first definition that the service refuses stops the command.
    """
    items = [item for path in files for item in definition_files.read(path)]
    output.many(_define(session, items, approve=approve), "name", "version", "state", "change")


def _define(session: Session, value: Iterable[FileDefinition], *, approve: bool) -> Iterator[dict[str, Any]]:
    """Store each definition of a file, approve it if asked, and yield what has changed."""
    for item in value:
        with _errors_name(item.place):
            before = _newest(session, item.name)
            stored_version = session.context.definitions.put(item.name, item.rules)
            change = "none" if before and before.version == stored_version.version else "written"
            if approve and stored_version.state != "approved":
                stored_version = session.context.definitions.approve(item.name, stored_version.version)
                change = "approved"
        yield {
            "name": stored_version.name,
            "version": stored_version.version,
            "state": stored_version.state,
            "change": change,
        }


def _newest(session: Session, name: str) -> Definition | None:
    """Return the newest version of a definition, approved or not; None if there is none."""
    try:
        definition = session.context.definitions.get(name)
    except DefinitionNotFound:
        return None
    newest = [item for item in session.context.definitions.list() if item.name == name]
    return newest[0] if newest else definition


@contextmanager
def _errors_name(place: str) -> Iterator[None]:
    """Put a place in a file before the message of an error."""
    try:
        yield
    except ContextKeepError as error:
        error.message = f"{place}: {error.message}"
        raise


@command(
    click.argument("name"),
    click.option("--version", type=click.IntRange(1), required=True, help="Version to approve, such as 2."),
    name="approve",
    group=knowledge,
    example="contextkeep knowledge approve customers --version 1",
)
def approve_version(session: Session, output: Output, *, name: str, version: int) -> None:
    """Approve a version of a page definition.

    Use it after `contextkeep knowledge test`. `contextkeep knowledge compile` then uses this version. Needs the scope
    admin.
    """
    output.one(session.context.definitions.approve(name, version), *_DEFINITION)


@command(
    click.argument("name"),
    click.option(
        "--version", type=click.IntRange(0), default=0, help="Version, such as 2.  [default: the approved one]"
    ),
    name="retire",
    group=knowledge,
    example="contextkeep knowledge retire customers",
)
def retire(session: Session, output: Output, *, name: str, version: int) -> None:
    """Retire a version of a page definition.

    Use it when searches should no longer find the pages of the definition. Needs the scope admin.
    """
    output.one(session.context.definitions.retire(name, version), *_DEFINITION)


@command(
    click.option(
        "--state",
        "states",
        type=click.Choice(["draft", "approved", "retired"]),
        multiple=True,
        help="Only versions in this state; may be repeated.",
    ),
    limit_option(),
    name="definitions",
    group=knowledge,
    example="contextkeep knowledge definitions --state approved",
)
def definitions(session: Session, output: Output, *, states: tuple[Any, ...], limit: int) -> None:
    """List the versions of page definitions.

    Use it to find drafts for `contextkeep knowledge approve`.
    """
    output.many(session.context.definitions.list(states=states), *_DEFINITION, limit=limit)


@command(
    click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option("--definition", "name", help="Definition to use, such as customers, if the file has several."),
    click.option("--node", "node_id", required=True, help="Node to compile a page for, by its UUID."),
    _EXTERNAL,
    graph_option(),
    name="test",
    group=knowledge,
    example="contextkeep knowledge test customers.yaml --node 0197f1f2-0000-7000-8000-000000000001",
)
def test(
    session: Session,
    output: Output,
    *,
    file: Path,
    name: str | None,
    node_id: str,
    by_external_id: bool,
    graph_name: str,
) -> None:
    """Compile one page from a file, without storing it.

    Use it while you write a page definition.
    """
    values = {item.name: item for item in definition_files.read(file)}
    if name is None and len(values) == 1:
        name = next(iter(values))
    if name not in values:
        raise click.UsageError(f"choose a definition with --definition: {', '.join(values) or 'the file has none'}")
    with _errors_name(values[name].place):
        node = node_named(node_id, by_external_id, graph_name)
        output.one(session.context.definitions.test(values[name].rules, **node))


@command(
    click.option(
        "--definition", "definition_name", default="", help="Compile all pages of this definition, such as customers."
    ),
    click.option(
        "--node", "node_ids", multiple=True, help="Compile the pages of this node (its UUID); may be repeated."
    ),
    name="compile",
    group=knowledge,
    example="""
contextkeep knowledge compile
contextkeep knowledge compile --definition customers --json
contextkeep knowledge compile --node 0197f1f2-0000-7000-8000-000000000001
""",
)
def compile_pages(session: Session, output: Output, *, definition_name: str, node_ids: tuple[str, ...]) -> None:
    """Compile the pages whose nodes changed.

    Use it after a change of the graph or of a page definition.

    Without --definition and --node the command compiles the pages that depend on changes since the last call. Progress
    and failed rules are printed on stderr. The key needs the scopes compile and read.
    """
    last: CompileProgress | None = None
    with _progress_line() as tell:
        for last in session.context.compiled_pages.compile(definition_name=definition_name, node_ids=node_ids):
            tell(last)
            for problem in last.problems:
                click.echo(f"{problem.rule} {problem.node_id}: {problem.error}", err=True)
    output.one(last, "compile_id", "changes_read", *_COUNTS)


@contextmanager
def _progress_line() -> Iterator[Any]:
    """Say on a terminal how far it is, on one line, and nothing elsewhere."""
    is_terminal = sys.stderr.isatty()

    def tell(progress: CompileProgress) -> None:
        if is_terminal:
            counts = ", ".join(f"{getattr(progress, name):,} {name.replace('_', ' ')}" for name in _COUNTS)
            click.echo(f"\r{progress.definition_name or 'what changed'}: {counts}\x1b[K", err=True, nl=False)

    try:
        yield tell
    finally:
        if is_terminal:
            click.echo("", err=True)


@command(
    click.option(
        "--definition", "definition_name", default="", help="Only pages of this definition, such as customers."
    ),
    click.option("--node", "node_id", help="Only pages of this node, by its UUID."),
    _EXTERNAL,
    graph_option(),
    limit_option(),
    name="pages",
    group=knowledge,
    example="contextkeep knowledge pages --definition customers",
)
def pages(
    session: Session,
    output: Output,
    *,
    definition_name: str,
    node_id: str | None,
    by_external_id: bool,
    graph_name: str,
    limit: int,
) -> None:
    """List compiled pages and whether they are out of date.

    Use it to find the PAGE_ID of a node's page.
    """
    node: Any = {} if node_id is None else node_named(node_id, by_external_id, graph_name)
    compiled_pages = session.context.compiled_pages.list(definition_name, **node)
    columns = ("definition_name", "definition_version", "title", "stale", "compiled_at", "node_id", "page_id")
    output.many(compiled_pages, *columns, limit=limit)


@command(
    click.argument("page_id"),
    name="page",
    group=knowledge,
    example="contextkeep knowledge page 0197f1f2-0000-7000-8000-000000000010 --json",
)
def page(session: Session, output: Output, *, page_id: str) -> None:
    """Print the facets of a page; with --json all of it.

    Use it to read the compiled facts about a node. `contextkeep knowledge pages` prints the PAGE_ID.
    """
    compiled_page = session.context.compiled_pages.get(page_id)
    if output.format is Format.JSON:
        output.one(compiled_page)
    else:
        output.many(compiled_page.facets, *_FACET)


@command(
    click.argument("page_id"),
    click.argument("slug"),
    click.argument("text", default=""),
    click.option("--heading", default="", help="Heading of the facet, such as Call."),
    click.option(
        "--kind", type=click.Choice(get_args(FacetKind)), help="Kind of the facet, from most to least trusted."
    ),
    click.option("--source", "source_label", default="", help="Source of the fact, such as Ada."),
    click.option("--source-uri", default="", help="Link to the source, such as https://wiki.example/acme."),
    click.option(
        "--confidence", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Confidence in the fact."
    ),
    click.option("--fresh-until", type=TIME, help="When the fact becomes out of date, such as 2026-01-31T12:00:00Z."),
    name="put-facet",
    group=knowledge,
    example="""
contextkeep knowledge put-facet 0197f1f2-0000-7000-8000-000000000010 note Mondays --heading Call --kind kb --source Ada
""",
)
def put_facet(
    session: Session,
    output: Output,
    *,
    page_id: str,
    slug: str,
    text: str,
    fresh_until: datetime | None,
    **options: Any,
) -> None:
    """Add a facet to a page, or remove one.

    Use it for a fact that is not in the graph.

    SLUG is your short name of the facet, such as note. If the page has a facet with this SLUG, the command replaces it,
    or removes it if there is no TEXT. A new facet needs --heading, --kind, and --source or --source-uri.
    """
    stored_version = session.context.compiled_pages.put_facet(page_id, slug, text, fresh_until=fresh_until, **options)
    output.one(stored_version or {"slug": slug, "is_gone": True})
