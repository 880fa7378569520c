"""The task store of A2A: beside the SDK's own, and an agent that the SDK serves, called by a client of the SDK."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict
from starlette.applications import Starlette

from contextkeep import AsyncContextClient, MessageInput
from contextkeep.adapters.a2a import ContextTaskStore
from tests.media import png


class Named:
    """A user of an A2A server."""

    is_authenticated = True

    def __init__(self, name: str) -> None:
        self.user_name = name


def of(user: str) -> ServerCallContext:
    return ServerCallContext.model_construct(user=Named(user), state={}, tenant="", requested_extensions=set())


def said(message_id: str, *parts: Any, role: str = "ROLE_USER") -> dict[str, Any]:
    return {"messageId": message_id, "role": role, "contextId": "c1", "taskId": "t1", "parts": list(parts)}


QUESTION = said("m1", {"text": "Where is order 4711?"}) | {"metadata": {"a": 1.5}, "extensions": ["x"]}
MIXED = said(
    "m2",
    {"text": "And these?", "metadata": {"b": [1, None]}},
    {"data": {"orders": [4711, 4712.5], "none": None}, "mediaType": "application/json"},
    {"url": "https://example.org/a.png", "mediaType": "image/png", "filename": "a.png"},
    {"raw": "iVBORwA=", "mediaType": "image/png"},
    {"text": ""},
    {"data": None},
)
REPORT = {"artifactId": "a1", "name": "report " * 50}
STEPS: list[dict[str, Any]] = [
    {"status": {"state": "TASK_STATE_SUBMITTED"}, "history": [QUESTION]},
    {
        "status": {
            "state": "TASK_STATE_WORKING",
            "timestamp": "2026-01-02T03:04:05.123456789Z",
            "message": said("m3", {"text": "Looking."}, role="ROLE_AGENT"),
        },
        "history": [QUESTION, MIXED],
        "metadata": {"tries": 1},
    },
    {"artifacts": [{"artifactId": "a1", "name": "report " * 50, "parts": [{"text": "Part one."}]}]},
    {
        "artifacts": [
            {"artifactId": "a1", "name": "report " * 50, "parts": [{"text": "Part one."}, {"text": "Two. ⚓"}]}
        ]
    },
    {
        "artifacts": [
            {"artifactId": "a1", "parts": [{"data": 7}], "metadata": {"v": 2}},
            {"artifactId": "a2", "parts": []},
        ]
    },
    {"status": {"state": "TASK_STATE_INPUT_REQUIRED"}},
    {"status": {"state": "TASK_STATE_SUBMITTED", "timestamp": "2026-01-02T03:04:06Z"}},
    {
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T03:04:07Z"},
        "history": [QUESTION, MIXED, said("m4", role="ROLE_AGENT"), said("m5", {"text": "Done."}, role="ROLE_AGENT")],
    },
]


async def play(store: Any) -> list[Any]:
    """Make the same calls on any store, and return what it answered."""
    anna, bert = of("anna"), of("bert")
    found: list[Any] = [await store.get("t1", anna)]
    task: dict[str, Any] = {"id": "t1", "contextId": "c1"}
    for step in STEPS:
        task |= step
        await store.save(ParseDict(task, Task()), anna)
        found.append(await store.get("t1", anna))
    for number, (state, context_id) in enumerate(
        [("WORKING", "c1"), ("FAILED", "c1"), ("WORKING", "c2"), ("COMPLETED", "c2")], 2
    ):
        status = {"state": f"TASK_STATE_{state}", "timestamp": f"2026-01-02T04:00:0{number}Z"}
        other = {
            "id": f"t{number}",
            "contextId": context_id,
            "status": status,
            "history": [said(f"m{number}", {"text": "x"})],
        }
        await store.save(ParseDict(other, Task()), anna)
    await store.save(ParseDict({"id": "t9", "contextId": "c1"}, Task()), anna)
    await store.save(ParseDict({"id": "t1", "contextId": "c1", "metadata": {"of": "bert"}}, Task()), bert)
    found += [await store.get("t1", bert), await store.get("t2", bert)]
    for asked in (
        {},
        {"contextId": "c1"},
        {"contextId": "nothing"},
        {"status": "TASK_STATE_WORKING"},
        {"statusTimestampAfter": "2026-01-02T04:00:03Z"},
        {"contextId": "c2", "status": "TASK_STATE_COMPLETED"},
    ):
        listed = await store.list(ParseDict(asked, ListTasksRequest()), anna)
        found.append((list(listed.tasks), listed.total_size, listed.page_size, bool(listed.next_page_token)))
    ids, token = [], ""
    while True:
        page = await store.list(ListTasksRequest(page_size=2, page_token=token), anna)
        ids += [one.id for one in page.tasks]
        token = page.next_page_token
        if not token:
            break
    found.append(ids)
    with pytest.raises(InvalidParamsError):
        await store.list(ListTasksRequest(page_token="?"), anna)
    await store.delete("t2", anna)
    await store.delete("t2", anna)
    await store.delete("t1", bert)
    found += [await store.get("t2", anna), (await store.list(ListTasksRequest(), anna)).total_size]
    found.append((await store.get("t1", anna)).status.state)
    return found


async def test_tasks_come_back_as_from_the_sdks_own_store(client: AsyncContextClient, name: str):
    ours, expected = await play(ContextTaskStore(name, client)), await play(InMemoryTaskStore())
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected, strict=True):
        assert one == other


async def test_another_replica_goes_on_and_writes_nothing_twice(client: AsyncContextClient, name: str):
    first, second, anna = ContextTaskStore(name, client), ContextTaskStore(name, client), of("anna")
    context_id = await first.begin_context(anna)
    task = ParseDict({"id": name, "contextId": context_id} | STEPS[1], Task())
    await first.save(task, anna)
    task.history.append(ParseDict(said("m9", {"text": "More."}), Message()))
    await second.save(task, anna)
    await first.save(task, anna)
    assert await ContextTaskStore(name, client).get(name, anna) == task
    assert len([one async for one in client.contexts.list_messages(context_id)]) == 3
    both = ParseDict({"id": f"{name}-2", "contextId": context_id} | STEPS[0], Task())
    await asyncio.gather(*(store.save(both, anna) for store in (first, second)))
    assert (await ContextTaskStore(name, client).list(ListTasksRequest(), anna)).total_size == 2


async def test_a_context_of_another_is_no_context_of_a_client(client: AsyncContextClient, name: str):
    """A client says any id: of a context of somebody else it is but a name."""
    sent = await client.contexts.send(MessageInput("A secret of somebody."))
    theirs = await ContextTaskStore(name, client).begin_context(of("bert"))
    for context_id in (sent.context_id, theirs):
        store = ContextTaskStore(name, client)
        task = ParseDict({"id": f"{name}-{context_id}", "contextId": context_id} | STEPS[0], Task())
        await store.save(task, of("anna"))
        assert (await store.get(task.id, of("anna"))).context_id == context_id
        assert (await store.list(ListTasksRequest(context_id=context_id), of("anna"))).total_size == 1
        assert "4711" not in str([one.content async for one in client.contexts.list_messages(context_id)])


async def test_a_part_that_says_it_is_a_secret_is_not_kept(client: AsyncContextClient, name: str):
    store, anna = ContextTaskStore(name, client), of("anna")
    parts = [{"text": "hunter2", "metadata": {"secret": True}}, {"data": {"type": "token", "value": "hunter2"}}]
    artifact = {"artifactId": "a1", "parts": parts}
    history = [said("m1", {"text": "hunter2", "metadata": {"secret": True}}), said("m2", *parts)]
    await store.save(ParseDict({"id": name, "history": history, "artifacts": [artifact]}, Task()), anna)
    found = await ContextTaskStore(name, client).get(name, anna)
    assert "hunter2" not in str(found)
    assert [len(message.parts) for message in found.history] == [1, 2]


PICTURE = {"raw": b64encode(png(120, 80)).decode(), "mediaType": "image/png", "filename": "a.png"}
HOSTILE: list[dict[str, Any]] = [
    PICTURE,
    {"text": "a\0b", "metadata": {"c": "\0"}},
    {"text": "\0" * 20_000},
    {"raw": b64encode(b"%PDF" * 900_000).decode(), "mediaType": "application/pdf"},
    {"data": {"deep": {"file": 1, "n": 1e300}}},
    {"text": "x" * 1_500_000},
    {"text": "last"},
]


async def test_files_and_hostile_texts_come_out_as_they_went_in(client: AsyncContextClient, name: str):
    """In messages and in artifacts, whose parts name records; and a picture of a message is one in a window."""
    store, anna = ContextTaskStore(name, client), of("anna")
    context_id = await store.begin_context(anna)
    task = ParseDict({"id": name, "contextId": context_id, "metadata": {"of": "a\0"}}, Task())
    task.status.message.CopyFrom(ParseDict(said("m0", PICTURE, HOSTILE[1]), Message()))
    task.history.extend(ParseDict(said(f"m{n + 1}", part), Message()) for n, part in enumerate(HOSTILE))
    task.history.append(ParseDict(said("m20", *HOSTILE), Message()))
    task.artifacts.append(ParseDict({"artifactId": "a1", "parts": HOSTILE, "name": "a\0"}, Artifact()))
    await store.save(task, anna)
    task.artifacts[0].parts.append(ParseDict(PICTURE, Part()))
    await store.save(task, anna)
    assert await ContextTaskStore(name, client).get(name, anna) == task
    window = await client.windows.open(context_id, "gpt-5", message_format="openai_responses")
    pack = await client.windows.pack(window.window_id)
    assert f"data:image/png;base64,{PICTURE['raw']}" in str(pack.body)


async def test_a_file_that_says_it_is_a_secret_is_not_kept(client: AsyncContextClient, name: str):
    store, anna = ContextTaskStore(name, client), of("anna")
    secret = PICTURE | {"metadata": {"secret": True}}
    artifact = {"artifactId": "a1", "parts": [secret]}
    await store.save(ParseDict({"id": name, "history": [said("m1", secret)], "artifacts": [artifact]}, Task()), anna)
    found = await ContextTaskStore(name, client).get(name, anna)
    assert found.history[0].parts[0].text == found.artifacts[0].parts[0].text == "[redacted]"


class Clerk(AgentExecutor):
    """Asks back once, then writes a report in two chunks."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id and context.message
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            task = Task(id=context.task_id, context_id=context.context_id, history=[context.message])
            task.status.state = TaskState.TASK_STATE_SUBMITTED
            await event_queue.enqueue_event(task)
            await updater.requires_input(updater.new_agent_message([Part(text="Which order?")]))
            return
        await updater.start_work()
        report = {"artifact_id": "report", "name": "report"}
        await updater.add_artifact([Part(text="Order 4711 is at the lighthouse.")], **report)
        await updater.add_artifact([Part(text="Since Monday.")], append=True, last_chunk=True, **report)
        await updater.complete(updater.new_agent_message([Part(text="There you are.")]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


@asynccontextmanager
async def served(store: ContextTaskStore) -> AsyncIterator[Any]:
    """Serve the clerk, as the SDK does; yields a client of the SDK."""
    url = "http://clerk.test"
    card = AgentCard(
        name="clerk",
        description="Knows where orders are.",
        version="1",
        supported_interfaces=[AgentInterface(url=f"{url}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="find", name="find", description="Finds orders.", tags=["orders"])],
    )
    handler = DefaultRequestHandler(Clerk(), store, card, request_context_builder=store.request_context_builder())
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/a2a")])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url) as transport:
        yield await create_client(url, ClientConfig(httpx_client=transport))
    if hasattr(handler, "aclose"):  # not at the oldest
        await handler.aclose()


def asking(text: str, message_id: str, **ids: str) -> SendMessageRequest:
    message = Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)], **ids)
    return SendMessageRequest(message=message)


async def test_a_served_agent_keeps_contexts_and_tasks_here(client: AsyncContextClient, name: str):
    async with served(ContextTaskStore(name, client)) as caller:
        answers = [one async for one in caller.send_message(asking("Where is my order?", "m1"))]
        task = answers[0].task
        assert task.context_id
        context = (await client.contexts.get(task.context_id)).context
        assert context.context_id == task.context_id
    async with served(ContextTaskStore(name, client)) as caller:  # another process
        waiting = await caller.get_task(GetTaskRequest(id=task.id))
        assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert waiting.status.message.parts[0].text == "Which order?"
        async for _ in caller.send_message(asking("4711", "m2", task_id=task.id)):
            pass
        done = await caller.get_task(GetTaskRequest(id=task.id))
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        assert done.context_id == task.context_id
        texts = [part.text for message in done.history for part in message.parts]
        assert texts[:3] == ["Where is my order?", "Which order?", "4711"]
        assert [part.text for part in done.artifacts[0].parts] == ["Order 4711 is at the lighthouse.", "Since Monday."]
        listed = await caller.list_tasks(ListTasksRequest(context_id=task.context_id))
        assert [one.id for one in listed.tasks] == [task.id]
    recalled = await client.contexts.recall(task.context_id, "lighthouse")
    assert "Order 4711 is at the lighthouse." in [item.text for item in recalled.items]
    tasks = [one async for one in client.tasks.list(task.context_id)]
    assert [one.state for one in tasks] == ["completed"]
    artifact = await client.artifacts.get(tasks[0].task_id, "report", context_id=task.context_id)
    assert (artifact.version, len(artifact.parts)) == (1, 2)
    assert MessageToDict(done.status.message)["parts"] == [{"text": "There you are."}]
