"""Sources: one question to all of them, the state of each, and the fate of its hits."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from contextkeep import QueriedContext
from contextkeep_console import charts, code
from contextkeep_console.pages.knowledge import TABS
from contextkeep_console.rendering import query
from contextkeep_console.tables import Column, Table
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, texts

MODES, SCOPES, DEPTHS = ("results", "answer"), ("auto", "personal", "team"), ("quick", "deep")


async def index(visit: Visit) -> Response:
    """Show the sources, and the answer to a question."""
    question = visit.query_value("q")
    how: dict[str, Any] = {
        "mode": _one_of(visit.query_value("mode"), MODES),
        "scope": _one_of(visit.query_value("scope"), SCOPES),
        "depth": _one_of(visit.query_value("depth"), DEPTHS),
        "limit": max(1, visit.number("hits", 20, 50)),
        "agent_id": visit.query_value("agent"),
        "provider_ids": texts(visit.query_value("providers")) or None,
        "context_ids": texts(visit.query_value("contexts")),
        "node_ids": texts(visit.query_value("nodes")) or None,
    }
    providers, answer = await asyncio.gather(
        part(visit.context.query.list_providers(agent_id=how["agent_id"])),
        part(_ask(visit, question, how)),
    )
    value = answer.value
    return visit.render(
        "sources.html",
        here="sources",
        title="Sources",
        tabs=TABS,
        tab="/sources",
        question=question,
        how=how,
        modes=MODES,
        scopes=SCOPES,
        depths=DEPTHS,
        providers=providers,
        provider_table=_providers(providers.value or []),
        answer=answer,
        found=value,
        statuses=_statuses(value) if value else None,
        times=charts.bars(
            "How long each source took",
            {provider.provider_id: float(provider.duration_ms) for provider in value.providers},
            unit="ms",
        )
        if value
        else None,
        hits=_hits(value) if value else None,
        unmerged=_unmerged(value) if value else None,
        code=code.Code(
            python=code.python(
                "context", "query.ask", question or "…", **_shown_setting(how), explain=True, **visit.whose
            ),
            shell=code.shell(
                "query",
                question or "…",
                mode=_shown_setting(how).get("mode", ""),
                scope=_shown_setting(how).get("scope", ""),
                depth=_shown_setting(how).get("depth", ""),
                provider=(how["provider_ids"] or [""])[0],
                agent=how["agent_id"],
            ),
        ),
    )


async def _ask(visit: Visit, question: str, how: dict[str, Any]) -> QueriedContext | None:
    if not question:
        return None
    return await visit.context.query.ask(question, **how, explain=True, timeout_s=15, **visit.whose)


def _one_of(text: str, allowed: tuple[str, ...]) -> str:
    return text if text in allowed else allowed[0]


def _shown_setting(how: dict[str, Any]) -> dict[str, Any]:
    usual = {"mode": MODES[0], "scope": SCOPES[0], "depth": DEPTHS[0], "limit": 20}
    return {name: value for name, value in how.items() if value != usual.get(name)}


def _providers(rows: Any) -> Table:
    """Return the table of the sources of context queries, with the settings of the tenant."""
    return Table(
        name="sources",
        title="Sources",
        columns=(
            Column(name="source", value=lambda row: row.display_name or row.provider_id),
            Column(name="id", value=lambda row: row.provider_id),
            Column(name="family", value=lambda row: row.family, is_minor=True),
            Column(name="scopes", value=lambda row: row.scopes, is_minor=True),
            Column(name="by default", value=lambda row: row.is_default),
            Column(name="enabled", value=lambda row: row.is_enabled),
            Column(name="allowed", value=lambda row: row.is_allowed),
            Column(name="deadline, ms", value=lambda row: row.deadline_ms, kind="number", is_minor=True),
            Column(name="last test", value=lambda row: row.last_state, kind="state", is_minor=True),
        ),
        rows=rows,
        empty="No source is installed.",
    )


def _statuses(answer: QueriedContext) -> Table:
    """Return the table that says for each source of a query whether it answered, and how long it took."""
    return Table(
        name="statuses",
        title="How each source fared",
        columns=(
            Column(name="source", value=lambda row: row.provider_id),
            Column(name="state", value=lambda row: row.state, kind="state"),
            Column(name="hits", value=lambda row: row.hit_count, kind="number"),
            Column(name="ms", value=lambda row: row.duration_ms, kind="number"),
            Column(name="searched", value=lambda row: row.target),
            Column(name="how", value=lambda row: row.mode, is_minor=True),
            Column(name="why", value=lambda row: row.reason, kind="prose"),
        ),
        rows=answer.providers,
        empty="No source was searched.",
    )


def _hits(answer: QueriedContext) -> Table:
    """Return the table of the merged hits of a query, the best first."""
    return Table(
        name="hits",
        title="Merged hits, the best first",
        columns=(
            Column(name="rank", value=lambda row: row.rank, kind="number"),
            Column(name="score", value=lambda row: row.score, kind="share"),
            Column(
                name="source",
                value=lambda row: ", ".join(dict.fromkeys(each.provider_id for each in row.sources)) or row.provider_id,
            ),
            Column(name="title", value=lambda row: row.title),
            Column(name="text", value=lambda row: row.snippet, kind="prose"),
            Column(name="scope", value=lambda row: row.scope, is_minor=True),
            Column(name="as of", value=lambda row: row.as_of, kind="time", is_minor=True),
            Column(name="ref", value=lambda row: row.ref, kind="ref", link=lambda row: link_of(row.ref), is_minor=True),
        ),
        rows=answer.hits,
        empty="No source has anything to say to that.",
    )


def _unmerged(answer: QueriedContext) -> Table:
    """Return the table of the hits of each source, as they were before the service merged them."""
    rows = [(provider, hit) for provider, hits in answer.explained.items() for hit in hits]
    return Table(
        name="unmerged",
        title="What each source gave, before merging",
        columns=(
            Column(name="source", value=lambda row: row[0]),
            Column(name="place", value=lambda row: row[1].place, kind="number"),
            Column(name="its own score", value=lambda row: row[1].own_score, kind="share", is_minor=True),
            Column(name="score", value=lambda row: row[1].score, kind="share"),
            Column(name="title", value=lambda row: row[1].title),
            Column(name="shown in", value=lambda row: row[1].shown_in or "after the limit", kind="ref"),
            Column(
                name="ref",
                value=lambda row: row[1].ref,
                kind="ref",
                link=lambda row: link_of(row[1].ref),
                is_minor=True,
            ),
        ),
        rows=rows,
        empty="None gave anything.",
    )


def link_of(ref: str) -> str:
    """Return the page that a ref is looked up by."""
    return f"/find{query({'q': ref})}"
