"""Finding: an id or a ref that was copied from a log, an error or a hit leads to its page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.responses import RedirectResponse, Response

from contextkeep.errors import InvalidArgument, NotFound, PermissionDenied, SubjectRequired
from contextkeep_console import code
from contextkeep_console.pages.graph import node_columns
from contextkeep_console.pages.memory import record_columns
from contextkeep_console.tables import Table
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_KEY = re.compile(r"\bcg[kc]_[\w-]{8}")
_CALL_ID = re.compile(r"\b[0-9a-f]{16}\b")
_SEQ = re.compile(r"\bm([0-9]{1,18})\b")
_CHARS_MAX = 2_000
_IDS_MAX = 3


async def find(visit: Visit) -> Response:
    """Lead to the thing that a text names; otherwise show the hits of a search."""
    asked = visit.asked("q")[:_CHARS_MAX]
    if not asked:
        return RedirectResponse("/", 303)
    if key := _KEY.search(asked):  # a whole one goes no further than how it begins
        return RedirectResponse(f"/access/keys/{key[0]}", 303)
    places: list[tuple[str, str, str]] = []
    for call_id in list(dict.fromkeys(_CALL_ID.findall(asked)))[:_IDS_MAX]:
        places += [place for place in [await _or_none(partial(_call, visit, call_id))] if place is not None]
    for found in list(dict.fromkeys(_ID.findall(asked)))[:_IDS_MAX]:
        places += await _places(visit, found.lower(), asked)
    if len(places) == 1:
        return RedirectResponse(places[0][2], 303)
    nodes, records = await asyncio.gather(part(_nodes(visit, asked)), part(_records(visit, asked)))
    return visit.render(
        "find.html",
        title="Search",
        text=asked,
        places=places,
        nodes=nodes,
        records=records,
        node_table=nodes.value,
        record_table=records.value,
        code=code.Code(
            python=code.python_each("context", "records.search", asked), shell=code.shell("wm", "search", asked)
        ),
    )


async def _places(visit: Visit, found: str, asked: str) -> list[tuple[str, str, str]]:
    """Return the thing with an id: its kind, its name, and the address of its page."""
    whose = visit.whose

    async def context() -> tuple[str, str, str]:
        one = (await visit.context.contexts.get(found, history_length=0, **whose)).context
        seq = _SEQ.search(asked)
        place = f"?to={int(seq[1]) + 20}#m{int(seq[1])}" if seq else ""
        return "context", one.title, f"/contexts/{found}{place}"

    async def record() -> tuple[str, str, str]:
        one = await visit.context.records.get(found, include_archived=True)
        return "record", one.name, f"/records/{found}"

    async def window() -> tuple[str, str, str]:
        one = await visit.context.windows.get(found, **whose)
        return "window", one.model, f"/windows/{found}"

    async def task() -> tuple[str, str, str]:
        one = await visit.context.tasks.get(found, history_length=0, **whose)
        return "task", one.task.state, f"/tasks/{found}"

    async def erasure() -> tuple[str, str, str]:
        await visit.context.contexts.get_erasure(found, **whose)
        return "receipt of a deletion", "", f"/erasures/{found}"

    async def node() -> tuple[str, str, str]:
        one = await visit.graph.graph.get_node(found)
        return "node", one.name, f"/nodes/{found}"

    async def edge() -> tuple[str, str, str]:
        one = await visit.graph.graph.get_edge(found)
        return "edge", one.edge_type, f"/edges/{found}"

    async def page() -> tuple[str, str, str]:
        one = await visit.context.pages.get(page_id=found, **whose)
        return "page", one.title, f"/sources/pages/{found}"

    async def compiled_page() -> tuple[str, str, str]:
        one = await visit.context.compiled_pages.get(found)
        return "compiled page", one.title, f"/sources/compiled/{found}"

    async def source_test() -> tuple[str, str, str]:
        one = await visit.context.source_tests.get(found)
        return "test of the sources", one.label, f"/sources/tests/{found}"

    async def job() -> tuple[str, str, str]:
        one = await visit.context.jobs.get(found)
        return "job", one.kind, f"/access/jobs/{found}"

    kinds = (context, record, window, task, erasure, node, edge, page, compiled_page, source_test, job)
    return [place for place in await asyncio.gather(*map(_or_none, kinds)) if place is not None]


async def _call(visit: Visit, call_id: str) -> tuple[str, str, str]:
    calls, _ = await take(visit.context.operations.list_administrative_calls(call_id=call_id), 1)
    if not calls:
        raise NotFound("no administrator called by this id")
    (one,) = calls
    return "call of an administrator", one.method.rpartition(".")[2], f"/access/audit?call={call_id}"


async def _or_none(look: Callable[[], Awaitable[tuple[str, str, str]]]) -> tuple[str, str, str] | None:
    try:
        return await look()
    except (NotFound, PermissionDenied, SubjectRequired, InvalidArgument):
        return None  # the id is of something else, or of nothing that this key sees


async def _nodes(visit: Visit, text: str) -> Table:
    """Return the nodes that have a text as their own id or name."""
    found: dict[str, Any] = {}
    for look in (visit.graph.graph.get_node_by_external_id, visit.graph.graph.get_node_by_name):
        try:
            answer: Any = await look(text[:500])
        except (NotFound, InvalidArgument):
            continue  # it is longer than any name, say
        one = getattr(answer, "node", answer)
        found[one.id] = one
    return Table(
        name="nodes",
        title="Nodes of that name, or of that id of your own",
        columns=node_columns(),
        rows=list(found.values()),
        empty="No node of the graph default is called that. The page Graph finds by parts of a name, and by data.",
    )


async def _records(visit: Visit, text: str) -> Table:
    hits = await visit.context.records.search(text[:1000], limit=20)
    return Table(
        name="records",
        title="Records that say it",
        columns=record_columns(),
        rows=[hit.record for hit in hits],
        empty="No record has these words.",
    )
