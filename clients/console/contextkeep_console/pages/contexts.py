"""Contexts: conversations, recall, tasks and artifacts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from starlette.responses import RedirectResponse, Response

from contextkeep import Artifact, ChatMessage, Context, ExternalId, RecalledItem, Task, Window
from contextkeep.errors import InvalidArgument
from contextkeep_console import code
from contextkeep_console.rendering import path
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.titles import titles_of
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

MESSAGES = 40  # of a page of a thread
STATES = ("", "open", "closed")
FEATURES = {  # what shares of a score are called
    "turn": "its words",
    "nb": "its words and those next to it",
    "prev": "with the message before",
    "nbp": "with the messages around it",
    "win": "with the messages on both sides",
    "sess": "words of its session",
    "spk": "the author is named",
    "said": "written as a message",
    "time": "the day is named",
    "covp": "how much of the text it has",
    "maxidf": "its rarest word",
    "bigram": "words stand together",
}


def columns(titles: Mapping[str, str]) -> Sequence[Column]:
    """Return the columns of contexts, whose titles are given by their ids."""
    return (
        Column(
            name="context",
            value=lambda row: titles.get(row.context_id) or row.context_id,
            link=lambda row: f"/contexts/{row.context_id}",
        ),
        Column(name="state", value=lambda row: row.state, kind="state"),
        Column(name="messages", value=lambda row: row.message_count, kind="number"),
        Column(name="tokens", value=lambda row: row.token_count, kind="number", is_minor=True),
        Column(name="owner", value=lambda row: row.owner_user_id, is_minor=True),
        Column(name="updated", value=lambda row: row.updated_at, kind="time"),
        Column(name="id", value=lambda row: row.context_id, kind="id", is_minor=True),
    )


def task_columns() -> Sequence[Column]:
    """Return the columns of tasks."""
    return (
        Column(name="task", value=lambda row: row.task_id, kind="id", link=lambda row: f"/tasks/{row.task_id}"),
        Column(name="state", value=lambda row: row.state, kind="state"),
        Column(name="says", value=lambda row: row.status_message.content if row.status_message else "", kind="prose"),
        Column(name="since", value=lambda row: row.status_at, kind="time"),
        Column(name="by", value=lambda row: row.created_by, is_minor=True),
    )


def window_columns() -> Sequence[Column]:
    """Return the columns of windows."""
    return (
        Column(name="window", value=lambda row: row.window_id, kind="id", link=lambda row: f"/windows/{row.window_id}"),
        Column(name="model", value=lambda row: row.model),
        Column(name="steps", value=lambda row: row.step_count, kind="number"),
        Column(name="limit", value=lambda row: row.token_limit, kind="number", is_minor=True),
        Column(name="epoch", value=lambda row: row.epoch, kind="number"),
        Column(name="updated", value=lambda row: row.updated_at, kind="time", is_minor=True),
    )


async def index(visit: Visit) -> Response:
    """List contexts, with filters."""
    system, external = visit.query_value("system"), visit.query_value("external")
    if bool(system) != bool(external):
        raise InvalidArgument("an id of another system has two parts: the system, and the id")
    state = visit.query_value("state")
    if state not in STATES:
        raise InvalidArgument("the state is open or closed", field="state")
    filters = {
        "state": state,
        "agent_id": visit.query_value("agent"),
        "owner_user_id": visit.query_value("owner"),
        "entity_node_id": visit.query_value("node") or None,
        "metadata_contains": visit.document("metadata"),
        "created_from": visit.time("from"),
        "created_to": visit.time("to"),
    }
    rows: list[Context]
    rows, has_more = await take(
        visit.context.contexts.list(
            **filters,  # type: ignore[arg-type] # a state is one of three, as was checked
            external_id=ExternalId(system, external) if system else None,
            page_size=min(visit.limit + 1, 500),
            **visit.whose,
        ),
        visit.limit,
    )
    table = Table(
        name="contexts",
        title="Contexts",
        columns=columns(await titles_of(visit, rows)),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty=(
            "No context is like that. Loosen the filter."
            if any(filters.values()) or system
            else "No context is begun yet. The first message begins one: see the lines below."
        ),
    )
    return visit.render(
        "contexts.html",
        here="contexts",
        title="Contexts",
        table=table,
        states=STATES,
        code=code.Code(
            python=code.python_each(
                "context",
                "contexts.list",
                **filters,
                **({"external_id": ExternalId(system, external)} if system else {}),
                **visit.whose,
            ),
            shell=code.shell(
                "context",
                "list",
                state=filters["state"],
                agent_id=filters["agent_id"],
                owner=filters["owner_user_id"],
                external=(system, external) if system else (),
                metadata=visit.query_value("metadata"),
                user=visit.session.subject_user_id,
            ),
        ),
        begin=code.Code(
            python=code.python("context", "contexts.send", "Where is my file?"),
            shell=code.shell("context", "send", "Where is my file?"),
        ),
    )


async def show(visit: Visit) -> Response:
    """Show a context as a thread, with its tasks, windows and index."""
    context_id = visit.step("context_id")
    context = (await visit.context.contexts.get(context_id, history_length=0, **visit.whose)).context
    if visit.query_value("part") == "thread":
        return await _thread(visit, context)
    seq_to = visit.number("to", context.last_seq, 2**53) or context.last_seq
    seq_from = max(1, seq_to - MESSAGES + 1)
    messages, tasks, windows, titles = await asyncio.gather(
        part(_messages(visit, context_id, seq_from, seq_to)),
        part(_tasks(visit, context_id)),
        part(_windows(visit, context_id)),
        titles_of(visit, [context]),
    )
    title = titles[context_id] or "Context without words"
    return visit.render(
        "context.html",
        here="contexts",
        title=title,
        name=title,
        context=context,
        messages=messages,
        seq_from=seq_from,
        seq_to=seq_to,
        earlier=seq_from - 1,
        later=min(seq_to + MESSAGES, context.last_seq) if seq_to < context.last_seq else 0,
        tasks=tasks,
        windows=windows,
        facts=facts(
            [
                ("State", context.state),
                ("Owner", context.owner_user_id),
                ("Agents", ", ".join(context.agent_ids)),
                ("App", context.app_id),
                ("Agent bundle", context.agent_bundle_id),
                (
                    "Other systems call it",
                    ", ".join(f"{external_id.system}: {external_id.id}" for external_id in context.external_ids),
                ),
                ("Recall profile", context.recall_profile),
                ("Begun by", context.created_by),
                ("Created", context.created_at),
                ("Updated", context.updated_at),
                ("Expires", context.expires_at),
            ]
        ),
        code=code.Code(
            python=code.python_each(
                "context", "contexts.list_messages", context_id, seq_from=seq_from, seq_to=seq_to, **visit.whose
            ),
            shell=code.shell(
                "context", "messages", context_id, _from=seq_from, to=seq_to, user=visit.session.subject_user_id
            ),
        ),
    )


async def _thread(visit: Visit, context: Context) -> Response:
    """Show the newest of a thread, which a page that shows them asks for again."""
    seq_from = max(1, context.last_seq - MESSAGES + 1)
    return visit.render(
        "thread.html",
        context=context,
        messages=await part(_messages(visit, context.context_id, seq_from, context.last_seq)),
        seq_from=seq_from,
        seq_to=context.last_seq,
        earlier=seq_from - 1,
        later=0,
    )


async def _messages(visit: Visit, context_id: str, seq_from: int, seq_to: int) -> list[ChatMessage]:
    """Return messages of a context by their `seq`, at most `MESSAGES`."""
    if seq_to < 1:
        return []
    messages = visit.context.contexts.list_messages(
        context_id, seq_from=seq_from, seq_to=seq_to, page_size=MESSAGES, **visit.whose
    )
    return (await take(messages, MESSAGES))[0]


async def _tasks(visit: Visit, context_id: str) -> Table:
    """Load the table of a context's tasks."""
    rows: list[Task]
    rows, has_more = await take(visit.context.tasks.list(context_id, **visit.whose), visit.limit)
    return Table(
        name="tasks",
        title="Tasks",
        columns=task_columns(),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="No task belongs to it. An agent makes one with tasks.create.",
    )


async def _windows(visit: Visit, context_id: str) -> Table:
    """Load the table of a context's windows; a context has at most 16 open ones."""
    rows: list[Window]
    rows, _ = await take(visit.context.windows.list(context_id, **visit.whose), 16)
    return Table(
        name="windows",
        title="Windows",
        columns=window_columns(),
        rows=rows,
        empty="No window is open on it. Open one with windows.open, and a model sees it within a budget.",
    )


async def message(visit: Visit) -> Response:
    """Show one message with all that is known of it."""
    context_id, message_id = visit.step("context_id"), visit.step("message_id")
    result = await visit.context.contexts.get_message(context_id, message_id, **visit.whose)
    return visit.render(
        "message.html",
        here="contexts",
        title=f"Message {result.seq}",
        context_id=context_id,
        message=result,
        code=code.Code(
            python=code.python("context", "contexts.get_message", context_id, message_id, **visit.whose),
            shell=code.shell("context", "message", context_id, message_id, "--json"),
        ),
    )


async def recall(visit: Visit) -> Response:
    """Show the passages that are recalled for a text, with the parts of each score."""
    context_id, text = visit.step("context_id"), visit.query_value("text")
    header = (await visit.context.contexts.get(context_id, history_length=0, **visit.whose)).context
    tokens_max, profile = visit.number("tokens", 0, 100_000), visit.query_value("profile")
    recalled = None
    if text:
        recalled = await visit.context.contexts.recall(
            context_id, text, tokens_max=tokens_max, profile=profile, with_features=True, **visit.whose
        )
    features = sorted({name for item in recalled.items for name in item.features}) if recalled else []
    longest = (
        max((abs(share) for item in recalled.items for share in item.features.values()), default=1) if recalled else 1
    )
    table = Table(
        name="recalled",
        title="Recalled",
        columns=(
            Column(name="ref", value=lambda row: row.ref),
            Column(name="score", value=lambda row: row.score, kind="share"),
            *(_feature(name) for name in features),
            Column(name="role", value=lambda row: row.role),
            Column(name="said", value=lambda row: row.said_at, kind="time"),
            Column(name="superseded by", value=lambda row: row.superseded_by, is_minor=True),
            Column(name="text", value=lambda row: row.text, kind="prose"),
        ),
        rows=recalled.items if recalled else (),
        empty="Nothing of its past matters to that.",
    )
    return visit.render(
        "recall.html",
        here="contexts",
        title="Recall",
        context=header,
        text=text,
        recalled=recalled,
        features=features,
        names=FEATURES,
        longest=longest or 1,
        link=lambda item: _place_of(context_id, item),
        table=table,
        code=code.Code(
            python=code.python(
                "context",
                "contexts.recall",
                context_id,
                text or "…",
                tokens_max=tokens_max,
                profile=profile,
                with_features=True,
            ),
            shell=code.shell(
                "context",
                "recall",
                context_id,
                text or "…",
                tokens=tokens_max or "",
                profile=profile,
                explain=True,
            ),
        ),
    )


def _feature(name: str) -> Column:
    return Column(name=name, value=lambda row: round(row.features.get(name, 0.0), 4), kind="share", is_minor=True)


def _place_of(context_id: str, item: RecalledItem) -> str:
    if item.artifact_id:
        return f"/tasks/{item.task_id}/artifacts/{path(item.artifact_id)}"
    return f"/contexts/{context_id}?to={item.seq + MESSAGES // 2}#m{item.seq}"


async def task(visit: Visit) -> Response:
    """Show a task: its state, its messages, what it made."""
    result = await visit.context.tasks.get(visit.step("task_id"), **visit.whose)
    artifacts = Table(
        name="artifacts",
        title="Artifacts",
        columns=(
            Column(
                name="artifact",
                value=lambda item: item.name or item.artifact_id,
                link=lambda item: f"/tasks/{item.task_id}/artifacts/{path(item.artifact_id)}",
            ),
            Column(name="version", value=lambda item: item.version, kind="number"),
            Column(name="complete", value=lambda item: item.is_complete),
            Column(name="parts", value=lambda item: item.part_count, kind="number", is_minor=True),
            Column(name="size", value=lambda item: item.size_bytes, kind="size"),
            Column(name="updated", value=lambda item: item.updated_at, kind="time", is_minor=True),
        ),
        rows=result.artifacts,
        empty="It has made nothing yet. An agent adds something with artifacts.put.",
    )
    item = result.task
    return visit.render(
        "task.html",
        here="contexts",
        title="Task",
        task=item,
        messages=result.messages,
        is_partial=result.history_is_partial,
        artifacts=artifacts,
        facts=facts(
            [
                ("State", item.state),
                ("Since", item.status_at),
                ("Builds on", ", ".join(item.reference_task_ids)),
                ("Version", item.version),
                ("Created by", item.created_by),
                ("Created", item.created_at),
            ]
        ),
        code=code.Code(
            python=code.python("context", "tasks.get", item.task_id, **visit.whose),
            shell=code.shell("context", "task", "show", item.task_id),
        ),
    )


async def artifact(visit: Visit) -> Response:
    """Show a version of an artifact."""
    task_id, artifact_id = visit.step("task_id"), visit.step("artifact_id")
    version = visit.number("version", 0, 2**31 - 1)
    result: Artifact = await visit.context.artifacts.get(task_id, artifact_id, version=version, **visit.whose)
    return visit.render(
        "artifact.html",
        here="contexts",
        title=result.name or "Artifact",
        artifact=result,
        code=code.Code(
            python=code.python("context", "artifacts.get", task_id, artifact_id, version=version, **visit.whose),
            shell=code.shell("context", "artifact", "show", task_id, artifact_id),
        ),
    )


async def ask_delete(visit: Visit) -> Response:
    """Ask before a context is deleted."""
    context = (await visit.context.contexts.get(visit.step("context_id"), history_length=0, **visit.whose)).context
    return visit.render(
        "context_delete.html",
        here="contexts",
        title="Delete a context",
        name=(await titles_of(visit, [context]))[context.context_id] or "Context without words",
        context=context,
        code=code.Code(
            python=code.python("context", "contexts.delete", context.context_id, now=True, **visit.whose),
            shell=code.shell("context", "delete", context.context_id, now=True, yes=True),
        ),
    )


async def delete(visit: Visit) -> Response:
    """Delete a context, and lead to the receipt."""
    form = await visit.form()
    context_id = visit.step("context_id")
    if form.get("sure") != "yes":
        raise InvalidArgument("confirm the deletion: it cannot be undone", field="sure")
    receipt = await visit.context.contexts.delete(context_id, now=True, **visit.whose)
    return RedirectResponse(f"/erasures/{receipt.erasure_id}", 303)


async def erasure(visit: Visit) -> Response:
    """Show the receipt of a deletion."""
    result = await visit.context.contexts.get_erasure(visit.step("erasure_id"), **visit.whose)
    return visit.render(
        "erasure.html",
        here="contexts",
        title="Receipt of a deletion",
        erasure=result,
        removed={
            "messages": result.messages_removed,
            "passages of the index": result.passages_removed,
            "vectors": result.vectors_removed,
            "ids of other systems": result.external_ids_removed,
            "kept answers of writes": result.answers_removed,
            "tasks": result.tasks_removed,
            "versions of artifacts": result.artifacts_removed,
            "windows": result.windows_removed,
            "steps of windows": result.window_steps_removed,
            "keys ended": result.keys_ended,
        },
        code=code.Code(
            python=code.python("context", "contexts.get_erasure", result.erasure_id, **visit.whose),
            shell=code.shell("context", "erasure", result.erasure_id),
        ),
    )
