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
    question = visit.asked("q")
    how: dict[str, Any] = {
        "mode": _one_of(visit.asked("mode"), MODES),
        "scope": _one_of(visit.asked("scope"), SCOPES),
        "depth": _one_of(visit.asked("depth"), DEPTHS),
        "limit": max(1, visit.number("hits", 20, 50)),
        "agent_id": visit.asked("agent"),
        "provider_ids": texts(visit.asked("providers")) or None,
        "context_ids": texts(visit.asked("contexts")),
        "node_ids": texts(visit.asked("nodes")) or None,
    }
    providers, answer = await asyncio.gather(
        part(visit.context.query.list_providers(agent_id=how["agent_id"])),
        part(_ask(visit, question, how)),
    )
    found = answer.value
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
        found=found,
        statuses=_statuses(found) if found else None,
        times=charts.bars(
            "How long each source took",
            {provider.provider_id: float(provider.duration_ms) for provider in found.providers},
            unit="ms",
        )
        if found
        else None,
        hits=_hits(found) if found else None,
        unmerged=_unmerged(found) if found else None,
        code=code.Code(
            python=code.python("context", "query.ask", question or "…", **_said(how), explain=True, **visit.whose),
            shell=code.shell(
                "query",
                question or "…",
                mode=_said(how).get("mode", ""),
                scope=_said(how).get("scope", ""),
                depth=_said(how).get("depth", ""),
                provider=(how["provider_ids"] or [""])[0],
                agent=how["agent_id"],
            ),
        ),
    )


async def _ask(visit: Visit, question: str, how: dict[str, Any]) -> QueriedContext | None:
    if not question:
        return None
    return await visit.context.query.ask(question, **how, explain=True, timeout_s=15, **visit.whose)


def _one_of(asked: str, known: tuple[str, ...]) -> str:
    return asked if asked in known else known[0]


def _said(how: dict[str, Any]) -> dict[str, Any]:
    usual = {"mode": MODES[0], "scope": SCOPES[0], "depth": DEPTHS[0], "limit": 20}
    return {name: value for name, value in how.items() if value != usual.get(name)}


def _providers(rows: Any) -> Table:
    return Table(
        name="sources",
        title="Sources",
        columns=(
            Column(name="source", value=lambda one: one.display_name or one.provider_id),
            Column(name="id", value=lambda one: one.provider_id),
            Column(name="family", value=lambda one: one.family, is_minor=True),
            Column(name="scopes", value=lambda one: one.scopes, is_minor=True),
            Column(name="by default", value=lambda one: one.is_default),
            Column(name="enabled", value=lambda one: one.is_enabled),
            Column(name="allowed", value=lambda one: one.is_allowed),
            Column(name="deadline, ms", value=lambda one: one.deadline_ms, kind="number", is_minor=True),
            Column(name="last test", value=lambda one: one.last_state, kind="state", is_minor=True),
        ),
        rows=rows,
        empty="No source is installed.",
    )


def _statuses(found: QueriedContext) -> Table:
    return Table(
        name="statuses",
        title="How each source fared",
        columns=(
            Column(name="source", value=lambda one: one.provider_id),
            Column(name="state", value=lambda one: one.state, kind="state"),
            Column(name="hits", value=lambda one: one.hit_count, kind="number"),
            Column(name="ms", value=lambda one: one.duration_ms, kind="number"),
            Column(name="searched", value=lambda one: one.target),
            Column(name="how", value=lambda one: one.mode, is_minor=True),
            Column(name="why", value=lambda one: one.reason, kind="prose"),
        ),
        rows=found.providers,
        empty="No source was searched.",
    )


def _hits(found: QueriedContext) -> Table:
    return Table(
        name="hits",
        title="Merged hits, the best first",
        columns=(
            Column(name="rank", value=lambda one: one.rank, kind="number"),
            Column(name="score", value=lambda one: one.score, kind="share"),
            Column(
                name="source",
                value=lambda one: ", ".join(dict.fromkeys(each.provider_id for each in one.sources)) or one.provider_id,
            ),
            Column(name="title", value=lambda one: one.title),
            Column(name="text", value=lambda one: one.snippet, kind="prose"),
            Column(name="scope", value=lambda one: one.scope, is_minor=True),
            Column(name="as of", value=lambda one: one.as_of, kind="time", is_minor=True),
            Column(name="ref", value=lambda one: one.ref, kind="ref", link=lambda one: link_of(one.ref), is_minor=True),
        ),
        rows=found.hits,
        empty="No source has anything to say to that.",
    )


def _unmerged(found: QueriedContext) -> Table:
    rows = [(provider, hit) for provider, hits in found.explained.items() for hit in hits]
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
