"""Memories of a user: listed, found, with what they rest on; corrected, ended, and forgotten for good."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from starlette.responses import Response

from contextkeep import Memory, MemoryRevision, MemorySource
from contextkeep.errors import InvalidArgument, MemoryNotFound
from contextkeep_console import code
from contextkeep_console.pages.knowledge import TABS
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

_SEARCHED_MAX = 5_000  # memories of a user that are searched for one by its id, the newest first
_MESSAGE = re.compile(r"m(\d{1,9})(?:/\d+)?")
_AFTER = 20  # messages after a source that the page of its context shows


async def index(visit: Visit) -> Response:
    """List the memories of the user, or those that matter to a question."""
    question = visit.query_value("q")

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[Memory]
        if question:
            recalled = await visit.context.memories.recall(question, limit=20, **visit.whose)
            rows, has_more = [item.memory for item in recalled], False
        else:
            rows, has_more = await take(visit.context.memories.list(**visit.whose), visit.limit)
        return Table(
            name="memories",
            title="What matters to it" if question else "Memories",
            columns=(
                Column(name="kind", value=lambda row: row.kind, kind="state"),
                Column(name="text", value=lambda row: row.text, link=lambda row: f"/sources/memories/{row.memory_id}"),
                Column(name="holds", value=_state, kind="state"),
                Column(name="learned", value=lambda row: row.is_learned),
                Column(name="about", value=lambda row: row.key, is_minor=True),
                Column(name="contradicts", value=lambda row: len(row.contradicts) or "", kind="number", is_minor=True),
                Column(name="sure", value=lambda row: row.confidence, kind="share", is_minor=True),
                Column(name="from", value=lambda row: ", ".join(map(_name_of, row.sources)), is_minor=True),
                Column(name="since", value=lambda row: row.valid_from or row.created_at, kind="time"),
                Column(name="until", value=lambda row: row.valid_to, kind="time"),
            ),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="Nothing is kept about this user. An agent retains something with memories.retain, or the service "
            "learns it from contexts: contextkeep context setting put --learning rules",
        )

    table = await part(load_table())
    return visit.render(
        "knowledge.html",
        here="sources",
        title="Memories",
        tabs=TABS,
        tab="/sources/memories",
        about="Facts about a user across conversations, superseded ones included.",
        form=(("q", "What matters to", question),),
        parts_shown=[table],
        memories=table.value,
        code=code.Code(
            python=code.python_each("context", "memories.recall", question, **visit.whose)
            if question
            else code.python_each("context", "memories.list", **visit.whose),
            shell=code.shell("memory", "recall", question) if question else code.shell("memory", "list"),
        ),
        begin=None,
    )


async def show(visit: Visit) -> Response:
    """Show a memory: since when it holds, which messages it rests on, and its earlier values."""
    memory = await _memory(visit)
    memory_id = memory.memory_id
    revisions = await part(take(visit.context.memories.list_revisions(memory_id, **visit.whose), visit.limit))
    rows: list[MemoryRevision] = revisions.value[0] if revisions.value else []
    return visit.render(
        "user_memory.html",
        here="sources",
        title="Memory",
        memory=memory,
        state=_state(memory),
        sources=[(_name_of(source), _address_of(source)) for source in memory.sources],
        revisions=Table(
            name="revisions",
            title="Earlier values",
            columns=(
                Column(name="version", value=lambda row: row.version, kind="number"),
                Column(name="text", value=lambda row: row.text, kind="prose"),
                Column(name="until", value=lambda row: row.valid_to, kind="time", is_minor=True),
                Column(name="replaced", value=lambda row: row.replaced_at, kind="time"),
                Column(name="by", value=lambda row: row.replaced_by),
            ),
            rows=rows,
            empty="It was never corrected.",
        ),
        facts=facts(
            [
                ("Kind", memory.kind),
                ("About", memory.key),
                ("Holds since", memory.valid_from),
                ("Holds until", memory.valid_to),
                ("Is deleted", memory.expires_at),
                ("App", memory.app_id),
                ("Agent bundle", memory.agent_bundle_id),
                ("Tags", ", ".join(memory.tags)),
                ("Written by", memory.created_by),
                ("Version", memory.version),
            ]
        ),
        code=code.Code(
            python=code.python("context", "memories.forget", memory_id, **visit.whose),
            shell=code.shell("memory", "forget", memory_id),
        ),
    )


async def correct(visit: Visit) -> Response:
    """Put another text in the place of a memory's, if the memory is still as the visitor saw it."""
    form = await visit.form()
    memory_id, text = visit.step("memory_id"), str(form.get("text", ""))
    version = _version(str(form.get("version", "")))
    await visit.context.memories.update(memory_id, text=text, expected_version=version, **visit.whose)
    return visit.redirect(f"/sources/memories/{memory_id}", "It is corrected. The text before is kept as a revision.")


async def end(visit: Visit) -> Response:
    """Let a memory hold until now, if it is still as the visitor saw it."""
    form = await visit.form()
    memory_id, version = visit.step("memory_id"), _version(str(form.get("version", "")))
    await visit.context.memories.update(memory_id, valid_to=datetime.now(UTC), expected_version=version, **visit.whose)
    return visit.redirect(f"/sources/memories/{memory_id}", "It has ended: it stays in lists, and holds no longer.")


async def forget(visit: Visit) -> Response:
    """Delete a memory for good, if the visitor confirms it. A learned one is not learned again."""
    form = await visit.form()
    if form.get("sure") != "yes":
        raise InvalidArgument("confirm that it is to be forgotten: it cannot be undone", field="sure")
    await visit.context.memories.forget(visit.step("memory_id"), **visit.whose)
    return visit.redirect("/sources/memories", "It is forgotten, and is not learned from messages again.")


async def _memory(visit: Visit) -> Memory:
    """Return the memory of an address.

    Raises:
        MemoryNotFound: it is none of the newest memories of the user.
    """
    memory_id = visit.step("memory_id")
    rows, _ = await take(visit.context.memories.list(page_size=500, **visit.whose), _SEARCHED_MAX)
    for memory in rows:
        if memory.memory_id == memory_id:
            return memory
    raise MemoryNotFound(f"none of the newest {_SEARCHED_MAX:,} memories of the user has the id {memory_id[:100]!r}")


def _state(memory: Memory) -> str:
    """Return whether a memory holds: `holds`, `superseded` or `ended`."""
    if memory.superseded_by:
        return "superseded"
    return "ended" if memory.valid_to and memory.valid_to <= datetime.now(UTC) else "holds"


def _version(text: str) -> int:
    """Return the version of a form, or 0 (any) if it has none."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _name_of(source: MemorySource) -> str:
    return " ".join(filter(None, [source.label or source.uri, source.ref]))


def _address_of(source: MemorySource) -> str:
    """Return the address of the message that a source names; empty if it names none."""
    match = _MESSAGE.fullmatch(source.ref)
    if not match or not re.fullmatch(r"[0-9a-f-]{36}", source.context_id):
        return ""
    return f"/contexts/{source.context_id}?to={int(match[1]) + _AFTER}#m{match[1]}"
