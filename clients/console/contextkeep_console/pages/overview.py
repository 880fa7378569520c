"""Overview: whether the services are well, and what is in them."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from contextkeep import Context, ContextProvider, GraphCount
from contextkeep_console import charts, code
from contextkeep_console.health import health
from contextkeep_console.pages.contexts import columns as context_columns
from contextkeep_console.rendering import query
from contextkeep_console.tables import Column, Table
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

_GRAPHS = (
    Column(
        name="graph",
        value=lambda one: one.graph_name or "default",
        link=lambda one: f"/graph{query({'graph': one.graph_name})}",
    ),
    Column(name="nodes", value=lambda one: one.nodes, kind="number"),
    Column(name="edges", value=lambda one: one.edges, kind="number"),
)
_OF_CONTEXTS = {"context", "state", "messages", "updated"}
_SOURCES = (
    Column(name="source", value=lambda one: one.display_name or one.provider_id),
    Column(name="family", value=lambda one: one.family, is_minor=True),
    Column(name="enabled", value=lambda one: one.is_enabled and one.is_allowed),
    Column(name="last", value=lambda one: one.last_state, kind="state"),
)


async def show(visit: Visit) -> Response:
    """Show how the services are, and the newest of what they keep."""
    states = health(visit.context, visit.graph)
    if visit.asked("part") == "health":
        return visit.render("health.html", states=await states)
    found, graphs, contexts, sources, records = await asyncio.gather(
        states,
        part(_graphs(visit)),
        part(_contexts(visit)),
        part(_sources(visit)),
        part(
            visit.context.query_wm_records(
                ["memory_type", "count(*)"], group_by=["memory_type"], order_by=["-count(*)"]
            )
        ),
    )
    counts = {str(row["memory_type"]): float(row["count(*)"]) for row in (records.value.rows if records.value else [])}
    return visit.render(
        "overview.html",
        here="overview",
        title="Overview",
        states=found,
        graphs=graphs,
        contexts=contexts,
        sources=sources,
        records=records,
        record_chart=charts.bars("Records by type", counts, unit="records") if counts else None,
        is_new=not counts and not (contexts.value and contexts.value.rows) and not (graphs.value and graphs.value.rows),
        code=code.Code(python=code.python_each("graph", "list_graphs"), shell=code.shell("graph", "stats")),
    )


async def _graphs(visit: Visit) -> Table:
    rows: list[GraphCount]
    rows, has_more = await take(visit.graph.list_graphs(), visit.limit)
    return Table(
        name="graphs",
        title="Graphs",
        columns=_GRAPHS,
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="No node is written yet.",
    )


async def _contexts(visit: Visit) -> Table:
    rows: list[Context]
    rows, _ = await take(visit.context.list_contexts(page_size=8, **visit.whose), 8)
    return Table(
        name="contexts",
        title="Newest contexts",
        columns=[one for one in context_columns() if one.name in _OF_CONTEXTS],
        rows=rows,
        empty="No context is begun yet.",
    )


async def _sources(visit: Visit) -> Table:
    rows: list[ContextProvider] = await visit.context.list_context_providers()
    return Table(name="sources", title="Sources", columns=_SOURCES, rows=rows, empty="No source is installed.")
