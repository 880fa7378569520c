"""Finding: an id or a ref that was copied from a log, an error or a hit leads to its page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import RedirectResponse, Response

from contextkeep import FoundContext
from contextkeep.errors import InvalidArgument, NotFound, PermissionDenied, SubjectRequired
from contextkeep_console import code
from contextkeep_console.pages.graph import node_columns
from contextkeep_console.pages.memory import record_columns
from contextkeep_console.tables import Table
from contextkeep_console.titles import title_of_node, titles_of
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_KEY = re.compile(r"\bcg[kc]_[\w-]{8}")
_CALL_ID = re.compile(r"\b[0-9a-f]{16}\b")
_SEQ = re.compile(r"\bm([0-9]{1,18})\b")
_CHARS_MAX = 2_000
_IDS_MAX = 3
_PASSAGES_MAX = 3  # of each conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversations:
    """The conversations that a search found, best first, each with its title."""

    found: Sequence[tuple[str, FoundContext]]
    searched_count: int
    has_more: bool  # older conversations were not searched


async def find(visit: Visit) -> Response:
    """Lead to the thing that a text names; otherwise show the hits of a search."""
    result = visit.query_value("q")[:_CHARS_MAX]
    if not result:
        return RedirectResponse("/", 303)
    if key := _KEY.search(result):  # a whole one goes no further than how it begins
        return RedirectResponse(f"/access/keys/{key[0]}", 303)
    places: list[tuple[str, str, str]] = []
    for call_id in list(dict.fromkeys(_CALL_ID.findall(result)))[:_IDS_MAX]:
        places += [place for place in [await _or_none(partial(_call, visit, call_id))] if place is not None]
    for item in list(dict.fromkeys(_ID.findall(result)))[:_IDS_MAX]:
        places += await _places(visit, item.lower(), result)
    if len(places) == 1:
        return RedirectResponse(places[0][2], 303)
    talk, nodes, records = await asyncio.gather(
        part(_conversations(visit, result)), part(_nodes(visit, result)), part(_records(visit, result))
    )
    return visit.render(
        "find.html",
        title="Search",
        text=result,
        places=places,
        talk=talk,
        nodes=nodes,
        records=records,
        node_table=nodes.value,
        record_table=records.value,
        code=code.Code(
            python=code.python("context", "contexts.find", result), shell=code.shell("context", "find", result)
        ),
    )


async def _places(visit: Visit, text: str, item: str) -> list[tuple[str, str, str]]:
    """Return the thing with an id: its kind, its name, and the address of its page."""
    whose = visit.whose

    async def context() -> tuple[str, str, str]:
        context = (await visit.context.contexts.get(text, history_length=0, **whose)).context
        seq = _SEQ.search(item)
        place = f"?to={int(seq[1]) + 20}#m{int(seq[1])}" if seq else ""
        titles = await titles_of(visit, [context])
        return "context", titles[text], f"/contexts/{text}{place}"

    async def record() -> tuple[str, str, str]:
        record = await visit.context.records.get(text, include_archived=True)
        return "record", record.name, f"/records/{text}"

    async def window() -> tuple[str, str, str]:
        window = await visit.context.windows.get(text, **whose)
        return "window", window.model, f"/windows/{text}"

    async def task() -> tuple[str, str, str]:
        task = await visit.context.tasks.get(text, history_length=0, **whose)
        return "task", task.task.state, f"/tasks/{text}"

    async def erasure() -> tuple[str, str, str]:
        await visit.context.contexts.get_erasure(text, **whose)
        return "receipt of a deletion", "", f"/erasures/{text}"

    async def node() -> tuple[str, str, str]:
        node = await visit.graph.graph.get_node(text)
        return "node", title_of_node(node), f"/nodes/{text}"

    async def edge() -> tuple[str, str, str]:
        edge = await visit.graph.graph.get_edge(text)
        return "edge", edge.edge_type, f"/edges/{text}"

    async def page() -> tuple[str, str, str]:
        page = await visit.context.pages.get(page_id=text, **whose)
        return "page", page.title, f"/sources/pages/{text}"

    async def compiled_page() -> tuple[str, str, str]:
        compiled_page = await visit.context.compiled_pages.get(text)
        return "compiled page", compiled_page.title, f"/sources/compiled/{text}"

    async def source_test() -> tuple[str, str, str]:
        source_test = await visit.context.source_tests.get(text)
        return "test of the sources", source_test.label, f"/sources/tests/{text}"

    async def job() -> tuple[str, str, str]:
        job = await visit.context.jobs.get(text)
        return "job", job.kind, f"/access/jobs/{text}"

    kinds = (context, record, window, task, erasure, node, edge, page, compiled_page, source_test, job)
    return [place for place in await asyncio.gather(*map(_or_none, kinds)) if place is not None]


async def _call(visit: Visit, call_id: str) -> tuple[str, str, str]:
    """Find the call of an administrator by its id; return what it is, its name, and the address of its page.

    Raises:
        NotFound: no administrator's call has this id.
    """
    calls, _ = await take(visit.context.operations.list_administrative_calls(call_id=call_id), 1)
    if not calls:
        raise NotFound("no administrator called by this id")
    (result,) = calls
    return "call of an administrator", result.method.rpartition(".")[2], f"/access/audit?call={call_id}"


async def _or_none(look: Callable[[], Awaitable[tuple[str, str, str]]]) -> tuple[str, str, str] | None:
    """Return what a look-up finds, or None if it finds nothing that this key may see."""
    try:
        return await look()
    except (NotFound, PermissionDenied, SubjectRequired, InvalidArgument):
        return None  # the id is of something else, or of nothing that this key sees


async def _conversations(visit: Visit, text: str) -> _Conversations:
    """Search the conversations that the visitor may find."""
    answer = await visit.context.contexts.find(text, passages_max=_PASSAGES_MAX, **visit.whose)
    titles = await titles_of(visit, answer.contexts)
    contexts = [(titles[context.context_id] or context.context_id, context) for context in answer.contexts]
    return _Conversations(found=contexts, searched_count=answer.searched_count, has_more=bool(answer.next_cursor))


async def _nodes(visit: Visit, text: str) -> Table:
    """Return the nodes that have a text as their own id or name."""
    values: dict[str, Any] = {}
    for look in (visit.graph.graph.get_node_by_external_id, visit.graph.graph.get_node_by_name):
        try:
            answer: Any = await look(text[:500])
        except (NotFound, InvalidArgument):
            continue  # it is longer than any name, say
        result = getattr(answer, "node", answer)
        values[result.id] = result
    return Table(
        name="nodes",
        title="Nodes of that name, or of that id of your own",
        columns=node_columns(),
        rows=list(values.values()),
        empty="No node of the graph default is called that. The page Graph finds by parts of a name, and by data.",
    )


async def _records(visit: Visit, text: str) -> Table:
    """Load the table of the records of working memory that have the words of a text."""
    hits = await visit.context.records.search(text[:1000], limit=20)
    return Table(
        name="records",
        title="Records that say it",
        columns=record_columns(),
        rows=[hit.record for hit in hits],
        empty="No record has these words.",
    )
