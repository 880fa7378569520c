"""What sources answer from: knowledge bases and their documents, tools of MCP servers, a user's pages and memories."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from contextkeep import Document, KnowledgeBase, McpServer, McpTool, PageVersion, WikiPage
from contextkeep_console import code
from contextkeep_console.rendering import query
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

TABS = (
    ("/sources", "Ask"),
    ("/sources/bases", "Knowledge bases"),
    ("/sources/tools", "MCP tools"),
    ("/sources/pages", "Pages"),
    ("/sources/memories", "Memories"),
    ("/sources/definitions", "Definitions"),
    ("/sources/compiled", "Compiled pages"),
    ("/sources/settings", "Settings"),
    ("/sources/tests", "Tests"),
)


async def bases(visit: Visit) -> Response:
    """List the knowledge bases, and the documents of one."""
    name = visit.query_value("base")
    listed, documents = await asyncio.gather(part(_bases(visit)), part(_documents(visit, name)))
    return visit.render(
        "knowledge.html",
        here="sources",
        title="Knowledge bases",
        tabs=TABS,
        tab="/sources/bases",
        about="Documents that are found together, for a tenant or for agents.",
        form=(),
        parts_shown=[listed, documents] if name else [listed],
        bases=listed.value,
        documents=documents.value,
        code=code.Code(
            python=code.python_each("context", "knowledge_bases.list_documents", name)
            if name
            else code.python_each("context", "knowledge_bases.list")
        ),
        begin=code.Code(
            python=code.python(
                "context",
                "knowledge_bases.add_document",
                name or "handbook",
                b"# Refunds\n\nWithin three days.",
                name="refunds.md",
            )
        ),
    )


async def _bases(visit: Visit) -> Table:
    """Load the table of knowledge bases."""
    rows: list[KnowledgeBase]
    rows, has_more = await take(visit.context.knowledge_bases.list(), visit.limit)
    return Table(
        name="bases",
        title="Knowledge bases",
        columns=(
            Column(name="base", value=lambda row: row.name, link=lambda row: f"{query({'base': row.name})}#documents"),
            Column(name="about", value=lambda row: row.description, kind="prose"),
            Column(name="for", value=lambda row: "the tenant" if row.is_of_tenant else "agents that name it"),
            Column(name="documents", value=lambda row: row.document_count, kind="number"),
            Column(name="size", value=lambda row: row.size_bytes, kind="size"),
            Column(name="updated", value=lambda row: row.updated_at, kind="time", is_minor=True),
        ),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="There is none yet. Put one with knowledge_bases.put, and add documents to it.",
    )


async def _documents(visit: Visit, name: str) -> Table | None:
    """Load the table of a knowledge base's documents, or return None if no base is named."""
    if not name:
        return None
    rows: list[Document]
    rows, has_more = await take(visit.context.knowledge_bases.list_documents(name), visit.limit)
    return Table(
        name="documents",
        title=f"Documents of {name[:80]}",
        columns=(
            Column(
                name="document",
                value=lambda row: row.name,
                link=lambda row: f"/records/{row.working_memory_id}" if row.working_memory_id else "",
            ),
            Column(name="state", value=lambda row: row.state, kind="state"),
            Column(name="why", value=lambda row: row.error, kind="prose"),
            Column(name="passages", value=lambda row: row.passage_count, kind="number"),
            Column(name="size", value=lambda row: row.size_bytes, kind="size"),
            Column(name="cut", value=lambda row: row.is_cut, is_minor=True),
            Column(name="added", value=lambda row: row.created_at, kind="time", is_minor=True),
        ),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="It has no document yet. Add one as below.",
    )


async def tools(visit: Visit) -> Response:
    """List the servers of MCP and their tools, to approve or not."""
    servers, result = await asyncio.gather(
        part(take(visit.context.mcp_servers.list(), visit.limit)),
        part(take(visit.context.mcp_servers.list_tools(), 500)),
    )
    rows: list[McpServer] = servers.value[0] if servers.value else []
    tools: list[McpTool] = result.value[0] if result.value else []
    return visit.render(
        "mcp_tools.html",
        here="sources",
        title="MCP tools",
        tabs=TABS,
        tab="/sources/tools",
        trouble=servers.trouble or result.trouble,
        servers=Table(
            name="servers",
            title="Servers",
            columns=(
                Column(name="server", value=lambda row: row.display_name or row.server_id),
                Column(name="address", value=lambda row: row.url),
                Column(name="disabled", value=lambda row: row.disabled),
                Column(name="has a secret", value=lambda row: row.has_secret, is_minor=True),
                Column(name="asked for tools", value=lambda row: row.discovered_at, kind="time"),
            ),
            rows=rows,
            empty="No server is known. An administrator puts one with mcp_servers.put, and discovers its tools.",
        ),
        tools=tools,
        code=code.Code(python=code.python_each("context", "mcp_servers.list_tools")),
    )


async def approve(visit: Visit) -> Response:
    """Approve a tool as the visitor read it, or take that back."""
    form = await visit.form()
    server, tool = str(form.get("server", "")), str(form.get("tool", ""))
    if form.get("approve") == "yes":
        await visit.context.mcp_servers.approve_tool(server, tool, definition_sha256=str(form.get("sha256", "")))
        return visit.redirect("/sources/tools", f"Context query may ask {tool}, as it is now.")
    await visit.context.mcp_servers.unapprove_tool(server, tool)
    return visit.redirect("/sources/tools", f"Context query does not ask {tool} any more.")


async def pages(visit: Visit) -> Response:
    """List the pages that were compiled for the user."""
    prefix = visit.query_value("prefix")

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[WikiPage]
        rows, has_more = await take(visit.context.pages.list(prefix, **visit.whose), visit.limit)
        return Table(
            name="pages",
            title="Pages",
            columns=(
                Column(name="page", value=lambda row: row.title, link=lambda row: f"/sources/pages/{row.page_id}"),
                Column(name="slug", value=lambda row: row.slug),
                Column(name="state", value=lambda row: row.state, kind="state"),
                Column(name="version", value=lambda row: row.version, kind="number"),
                Column(name="size", value=lambda row: row.size_bytes, kind="size", is_minor=True),
                Column(name="as of", value=lambda row: row.as_of, kind="time"),
            ),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="No page is compiled for this user. An agent puts one with pages.put.",
        )

    table = await part(load_table())
    return visit.render(
        "knowledge.html",
        here="sources",
        title="Pages",
        tabs=TABS,
        tab="/sources/pages",
        about="Pages that were compiled for a user, section by section, with their sources.",
        form=(("prefix", "Slug begins with", prefix),),
        parts_shown=[table],
        pages=table.value,
        code=code.Code(
            python=code.python_each("context", "pages.list", prefix, **visit.whose), shell=code.shell("wiki", "list")
        ),
        begin=None,
    )


async def page(visit: Visit) -> Response:
    """Show a page in one of its versions."""
    page_id, version = visit.step("page_id"), visit.number("version", 0, 2**31 - 1)
    result = await visit.context.pages.get(page_id=page_id, version=version, **visit.whose)
    versions = await part(take(visit.context.pages.list_versions(page_id=page_id, **visit.whose), visit.limit))
    rows: list[PageVersion] = versions.value[0] if versions.value else []
    return visit.render(
        "page.html",
        here="sources",
        title=result.title,
        page=result,
        versions=Table(
            name="versions",
            title="Versions",
            columns=(
                Column(name="version", value=lambda row: row.version, link=lambda row: query({"version": row.version})),
                Column(name="title", value=lambda row: row.title),
                Column(name="by", value=lambda row: row.written_by),
                Column(name="at", value=lambda row: row.created_at, kind="time"),
            ),
            rows=rows,
            empty="No version is kept.",
        ),
        facts=facts(
            [
                ("Slug", result.slug),
                ("Other names", ", ".join(result.aliases)),
                ("State", result.state),
                ("Why it is stale", ", ".join(result.stale)),
                ("Version", f"{result.version} of {result.newest_version}"),
                ("Rests on memories", len(result.memory_ids)),
                ("Written by", result.written_by),
                ("As of", result.as_of),
                ("Fresh until", result.fresh_until),
            ]
        ),
        code=code.Code(
            python=code.python("context", "pages.get", page_id=page_id, version=version, **visit.whose),
            shell=code.shell("wiki", "get", result.slug),
        ),
    )
