"""Definitions of pages about nodes, and the pages that were compiled by them."""

from __future__ import annotations

from starlette.responses import Response

from contextkeep import CompiledPage, Definition
from contextkeep.errors import InvalidArgument
from contextkeep_console import code
from contextkeep_console.pages.knowledge import TABS
from contextkeep_console.rendering import path, query
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take


async def definitions(visit: Visit) -> Response:
    """List the definitions, version by version."""

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[Definition]
        rows, has_more = await take(visit.context.definitions.list(), visit.limit)
        return Table(
            name="definitions",
            title="Definitions",
            columns=(
                Column(
                    name="definition",
                    value=lambda row: row.name,
                    link=lambda row: f"/sources/definitions/{path(row.name)}{query({'version': row.version})}",
                ),
                Column(name="version", value=lambda row: row.version, kind="number"),
                Column(name="state", value=lambda row: row.state, kind="state"),
                Column(name="by", value=lambda row: row.created_by, is_minor=True),
                Column(name="approved by", value=lambda row: row.approved_by),
                Column(name="approved", value=lambda row: row.approved_at, kind="time", is_minor=True),
            ),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="None is defined yet. Write one with definitions.put, or from a file as below, and approve it.",
        )

    table = await part(load_table())
    return visit.render(
        "knowledge.html",
        here="sources",
        title="Definitions",
        tabs=TABS,
        tab="/sources/definitions",
        about="The rules of pages about nodes of the graph, facet by facet; drafts until they are approved.",
        form=(),
        parts_shown=[table],
        definitions=table.value,
        code=code.Code(
            python=code.python_each("context", "definitions.list"), shell=code.shell("knowledge", "definitions")
        ),
        begin=code.Code(
            python=code.python("context", "definitions.put", "customers", _EXAMPLE),
            shell=code.shell("knowledge", "define", "customers.yaml"),
        ),
    )


_EXAMPLE = {
    "node_type": "Customer",
    "title": "entity.name",
    "facets": [{"slug": "plan", "heading": "Plan", "kind": "operational", "text": "entity.data.plan"}],
}


async def definition(visit: Visit) -> Response:
    """Show a version of a definition, to approve or to retire."""
    name, version = visit.step("name"), visit.number("version", 0, 2**31 - 1)
    result = await visit.context.definitions.get(name, version)
    return visit.render(
        "definition.html",
        here="sources",
        title=result.name,
        definition=result,
        facts=facts(
            [
                ("Version", result.version),
                ("Written by", result.created_by),
                ("Written", result.created_at),
                ("Approved by", result.approved_by),
                ("Approved", result.approved_at),
                ("Retired", result.retired_at),
            ]
        ),
        code=code.Code(
            python=code.python("context", "definitions.approve", result.name, result.version),
            shell=code.shell("knowledge", "approve", result.name, version=result.version),
        ),
    )


async def decide(visit: Visit) -> Response:
    """Approve a version as it was read, or retire it."""
    form = await visit.form()
    name, version = visit.step("name"), str(form.get("version", ""))
    if not version.isdecimal() or len(version) > 9:
        raise InvalidArgument("name the version", field="version")
    if form.get("decide") == "approve":
        await visit.context.definitions.approve(name, int(version))
        note = f"Version {version} of {name} is approved: pages are compiled by it from now on."
    else:
        await visit.context.definitions.retire(name, int(version))
        note = f"Version {version} of {name} is retired."
    return visit.redirect(f"/sources/definitions/{path(name)}{query({'version': version})}", note)


async def compiled_pages(visit: Visit) -> Response:
    """List the pages that were compiled, of all definitions or of one."""
    name = visit.query_value("definition")

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[CompiledPage]
        rows, has_more = await take(visit.context.compiled_pages.list(name), visit.limit)
        return Table(
            name="compiled",
            title="Compiled pages",
            columns=(
                Column(name="page", value=lambda row: row.title, link=lambda row: f"/sources/compiled/{row.page_id}"),
                Column(name="definition", value=lambda row: row.definition_name),
                Column(
                    name="of", value=lambda row: row.node_id, kind="id", link=lambda row: f"/nodes/{path(row.node_id)}"
                ),
                Column(name="out of date", value=lambda row: list(row.stale), is_minor=True),
            ),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="None is compiled yet. Whoever may read the graph compiles them, with the scope compile.",
        )

    table = await part(load_table())
    return visit.render(
        "knowledge.html",
        here="sources",
        title="Compiled pages",
        tabs=TABS,
        tab="/sources/compiled",
        about="What approved definitions say of nodes of the graph; each facet knows what it was made of.",
        form=(("definition", "Of the definition", name),),
        parts_shown=[table],
        compiled=table.value,
        code=code.Code(
            python=code.python_each("context", "compiled_pages.list", name),
            shell=code.shell("knowledge", "pages", definition=name),
        ),
        begin=code.Code(
            python=code.python_each("context", "compiled_pages.compile"), shell=code.shell("knowledge", "compile")
        ),
    )


async def compiled_page(visit: Visit) -> Response:
    """Show a compiled page, facet by facet, with what each was made of."""
    result = await visit.context.compiled_pages.get(visit.step("page_id"))
    return visit.render(
        "compiled_page.html",
        here="sources",
        title=result.title,
        page=result,
        code=code.Code(
            python=code.python("context", "compiled_pages.get", result.page_id),
            shell=code.shell("knowledge", "page", result.page_id),
        ),
    )
