"""Overview: the state of the services, and their newest contents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.responses import Response

from contextkeep import Context, ContextProvider, GraphCount, QueryAnswer, RecentCalls
from contextkeep_console import charts, code
from contextkeep_console.health import health
from contextkeep_console.pages.contexts import columns as context_columns
from contextkeep_console.rendering import query
from contextkeep_console.tables import Column, Table
from contextkeep_console.titles import titles_of
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

_MINUTES = 60
_ASKED_AT_ONCE, _ROUNDS_MAX = 4, 8  # 32 replicas, if each is called once
_WORK = (
    Column(name="kind", value=lambda row: row.kind),
    Column(name="owed", value=lambda row: row.owed, kind="number"),
    Column(name="failed", value=lambda row: row.failed, kind="number"),
    Column(name="since", value=lambda row: row.oldest_at, kind="time"),
    Column(name="database", value=lambda row: row.database or "home", is_minor=True),
    Column(name="what failed", value=lambda row: row.last_error, kind="prose", is_minor=True),
)
_NOTHING_OWED = "No background work: all written data is indexed, and all deleted data is gone."
_GRAPHS = (
    Column(
        name="graph",
        value=lambda row: row.graph_name or "default",
        link=lambda row: f"/graph{query({'graph': row.graph_name})}",
    ),
    Column(name="nodes", value=lambda row: row.nodes, kind="number"),
    Column(name="edges", value=lambda row: row.edges, kind="number"),
)
_OF_CONTEXTS = {"context", "state", "messages", "updated"}
_SOURCES = (
    Column(name="source", value=lambda row: row.display_name or row.provider_id),
    Column(name="family", value=lambda row: row.family, is_minor=True),
    Column(name="enabled", value=lambda row: row.is_enabled and row.is_allowed),
    Column(name="last", value=lambda row: row.last_state, kind="state"),
)


async def show(visit: Visit) -> Response:
    """Show the state of the services, and their newest contents."""
    if visit.query_value("part") == "recent":
        return visit.render("recent.html", recent=await part(_recent(visit)))
    states = health(visit.context, visit.graph)
    if visit.query_value("part") == "health":
        return visit.render("health.html", states=await states)
    (found, recent, usage, behind), (graphs, contexts, sources, records) = await asyncio.gather(
        asyncio.gather(states, part(_recent(visit)), part(_usage(visit)), part(owed(visit))),
        asyncio.gather(part(_graphs(visit)), part(_contexts(visit)), part(_sources(visit)), part(_records(visit))),
    )
    counts = {str(row["memory_type"]): float(row["count(*)"]) for row in (records.value.rows if records.value else [])}
    return visit.render(
        "overview.html",
        here="overview",
        title="Overview",
        states=found,
        recent=recent,
        usage=usage,
        work=behind.value,
        graphs=graphs,
        contexts=contexts,
        sources=sources,
        records=records,
        record_chart=charts.bars("Records by type", counts, unit="records") if counts else None,
        is_new=not counts and not (contexts.value and contexts.value.rows) and not (graphs.value and graphs.value.rows),
        code=code.Code(python=code.python_each("graph", "graph.list_graphs"), shell=code.shell("graph", "stats")),
    )


async def _recent(visit: Visit) -> list[Recent]:
    """Return how the last hour was, of each process of both services."""
    context, graph = await asyncio.gather(
        _of_replicas(visit.context.operations.get_recent_calls), _of_replicas(visit.graph.operations.get_recent_calls)
    )
    now = datetime.now(UTC)
    return [_charts_of(item, now) for item in (*context, *graph)]


async def _of_replicas(ask: Callable[[], Awaitable[RecentCalls]]) -> list[RecentCalls]:
    """Return the calls of each replica.

    A call goes to the next replica in turn, and cannot choose one. So calls are repeated until no new replica answers.
    """
    calls: dict[str, RecentCalls] = {}
    for _ in range(_ROUNDS_MAX):
        known = len(calls)
        for item in await asyncio.gather(*(ask() for _ in range(_ASKED_AT_ONCE))):
            calls[item.process_id] = item
        if len(calls) == known or len(calls) == 1:
            break
    return [calls[process_id] for process_id in sorted(calls)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """The last hour of a process, drawn."""

    title: str
    about: str
    calls: charts.Line | None  # None: there was none
    lengths: charts.Line | None


def _charts_of(recent: RecentCalls, now: datetime) -> Recent:
    """Return the charts of a process's last hour: its calls, and how long they took."""
    minutes = {int((now - minute.begins_at).total_seconds() // 60): minute for minute in recent.minutes}
    total = sum(minute.calls for minute in recent.minutes)
    refused, failed = sum(minute.refused for minute in recent.minutes), sum(minute.failed for minute in recent.minutes)
    title = recent.service.replace("-", " ").title()
    about = f"process {recent.process_id}: {total:,} calls of yours, {refused:,} of them refused, {failed:,} failed"
    if not minutes:
        return Recent(title=title, about=about, calls=None, lengths=None)
    # From an hour ago to now, so that time goes to the right.
    ago = [(float(_MINUTES - 1 - place), minutes.get(place)) for place in range(_MINUTES - 1, -1, -1)]
    worst = max(recent.minutes, key=lambda row: row.p95_ms)
    return Recent(
        title=title,
        about=about,
        calls=charts.line(
            f"{title}: calls a minute",
            [(x, float(item.calls) if item else 0.0) for x, item in ago],
            x_name="minutes, the last one is now",
            y_name="calls",
            description="Marked: minutes with calls that failed." if failed else "No call failed.",
            marks=[
                (x, float(item.calls), f"{item.failed} failed, {item.refused} refused")
                for x, item in ago
                if item and item.failed
            ],
        ),
        lengths=charts.line(
            f"{title}: milliseconds that 95 of 100 calls took at most",
            [(x, item.p95_ms if item else 0.0) for x, item in ago],
            x_name="minutes, the last one is now",
            y_name="ms",
            description=f"The longest were {worst.p95_ms:,.1f} ms, when a half took {worst.p50_ms:,.1f} ms at most.",
        ),
    )


async def _usage(visit: Visit) -> list[tuple[str, charts.Stack]]:
    """Return the tenant's storage and its limits; only for administrators."""
    usage = await visit.context.operations.get_usage()
    items = (
        ("records", usage.records, usage.limits.records_max),
        ("bytes", usage.size_bytes, usage.limits.bytes_max),
    )
    return [
        (
            name,
            charts.stack(
                name.title(),
                {} if most is None else {"stored": value},  # a bar that is full would be a limit that is reached
                unit=name,
                whole=most or 0,
                description=f"{value:,} of {most:,} {name}."
                if most is not None
                else f"{value:,} {name}; there is no limit.",
            ),
        )
        for name, value, most in items
    ]


async def owed(visit: Visit) -> Table:
    """Return the background work; only for operators."""
    background_work = await visit.context.operations.list_background_work()
    away = ", ".join(background_work.databases_away)
    return Table(
        name="work",
        title="Owed in the background",
        columns=_WORK,
        rows=background_work.work,
        lacks=f"These databases do not answer, and their background work is unknown: {away}." if away else "",
        empty="The other databases have no background work." if away else _NOTHING_OWED,
    )


async def _records(visit: Visit) -> QueryAnswer:
    return await visit.context.records.query(
        ["memory_type", "count(*)"], group_by=["memory_type"], order_by=["-count(*)"]
    )


async def _graphs(visit: Visit) -> Table:
    """Load the table of graphs, with the number of their nodes."""
    rows: list[GraphCount]
    rows, has_more = await take(visit.graph.graph.list_graphs(), visit.limit)
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
    """Load the table of the newest contexts."""
    rows: list[Context]
    rows, _ = await take(visit.context.contexts.list(page_size=8, **visit.whose), 8)
    titles = await titles_of(visit, rows)
    return Table(
        name="contexts",
        title="Newest contexts",
        columns=[context_column for context_column in context_columns(titles) if context_column.name in _OF_CONTEXTS],
        rows=rows,
        empty="No context is begun yet.",
    )


async def _sources(visit: Visit) -> Table:
    rows: list[ContextProvider] = await visit.context.query.list_providers()
    return Table(name="sources", title="Sources", columns=_SOURCES, rows=rows, empty="No source is installed.")
