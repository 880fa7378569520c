"""Tools and resources, by the official SDK's client: in memory, over stdio, over HTTP; one suite for all of them."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import orjson
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from context_service.mcp.answers import plain
from context_service.mcp.remote import remote_server
from context_service.settings import Settings
from contextkeep import (
    ArtifactInput,
    AsyncContextClient,
    AsyncEntityClient,
    EdgeInput,
    FileInput,
    MessageInput,
    NodeInput,
    PartInput,
    ToolCallInput,
    ToolResultInput,
    new_id,
)
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import (
    ArtifactNotFound,
    InvalidArgument,
    InvalidPageToken,
    MessageNotFound,
    PermissionDenied,
    ToolNotFound,
)
from service_runtime.rpc.principal import ApiKeys, Principal
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Addresses
from tests.media import png, wav
from tests.ports import free_port
from tests.service_runtime.test_telemetry import ended

READ_KEY = "key-that-only-reads"
OTHER_READ_KEY = "key-of-the-other-tenant-that-only-reads"
DELEGATE_KEY = "key-of-a-runtime"
BOUND_KEY = "key-of-an-app-and-an-agent-bundle"
CAP = 64 * 1024
READING = [
    "context_find",
    "context_read",
    "context_recall",
    "context_search",
    "history_chat",
    "history_entity",
    "memory_list",
    "memory_recall",
    "rag_list_facets",
    "rag_query_facets",
    "rag_search_nodes",
    "rag_search_records",
    "rag_similar_nodes",
    "user_context",
    "window_expand",
    "window_search",
    "wm_list",
    "wm_manifest",
    "wm_query",
    "wm_read",
    "wm_search",
]
WRITING = [
    "context_send",
    "memory_forget",
    "memory_retain",
    "task_state_update",
    "window_pack",
    "wm_archive",
    "wm_upload",
]

# Opens a client: of a key, with a current entity.
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def callers() -> ApiKeys:
    keys = {KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL}
    for key, tenant_id in ((READ_KEY, PRINCIPAL.tenant_id), (OTHER_READ_KEY, OTHER_PRINCIPAL.tenant_id)):
        keys[key] = Principal(tenant_id=tenant_id, subject="reader", scopes=frozenset({"read"}))
    keys[DELEGATE_KEY] = replace(PRINCIPAL, scopes=frozenset({"read", "delegate"}))
    keys[BOUND_KEY] = replace(PRINCIPAL, app_ids=frozenset({"crm"}), agent_bundle_id="billing")
    return ApiKeys(keys)


@pytest.fixture
async def context(services: Addresses) -> AsyncIterator[AsyncContextClient]:
    async with AsyncContextClient(services.context, api_key=KEY) as client:
        yield client


@pytest.fixture
async def graph(services: Addresses) -> AsyncIterator[AsyncEntityClient]:
    async with AsyncEntityClient(services.entity, api_key=KEY) as client:
        yield client


@pytest.fixture
def mcp_url() -> str:
    return f"http://127.0.0.1:{free_port()}/mcp"


@pytest.fixture
def context_settings(context_settings: Settings, mcp_url: str) -> Settings:
    return context_settings.model_copy(update={"mcp_port": httpx2.URL(mcp_url).port, "http_port": free_port()})


@pytest.fixture(params=["memory", "stdio", "http", "beside json"])
def connect(request: pytest.FixtureRequest, services: Addresses, mcp_url: str, context_settings: Settings) -> Connect:
    """One way to reach the tools."""

    @asynccontextmanager
    async def in_memory(
        key: str = KEY, *, entity: object = "", user: str = "", read_only: bool = False
    ) -> AsyncIterator[Client]:
        async with AsyncContextClient(services.context, api_key=key) as rpcs:
            server = remote_server(rpcs, entity_node_id=str(entity), subject_user_id=user, read_only=read_only)
            async with Client(server) as client:
                yield client

    @asynccontextmanager
    async def over_stdio(
        key: str = KEY, *, entity: object = "", user: str = "", read_only: bool = False
    ) -> AsyncIterator[Client]:
        arguments = ["-W", "error", "-m", "context_service", "mcp"]
        if read_only:
            arguments.append("--read-only")
        environment = {
            **os.environ,
            "CONTEXT_SERVICE_ADDRESS": services.context,
            "CONTEXT_SERVICE_API_KEY": key,
            "MCP_ENTITY_NODE_ID": str(entity),
            "MCP_SUBJECT_USER_ID": user,
        }
        command = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        async with Client(command) as client:
            yield client

    beside_json = request.param == "beside json"
    url = f"http://127.0.0.1:{context_settings.http_port}/mcp" if beside_json else mcp_url

    @asynccontextmanager
    async def over_http(
        key: str = KEY, *, entity: object = "", user: str = "", read_only: bool = False
    ) -> AsyncIterator[Client]:
        """There is no option to read only: a key says it."""
        shown = OTHER_READ_KEY if read_only else key
        headers = {"authorization": f"Bearer {shown}", "x-entity-node-id": str(entity)}
        if user:
            headers["x-subject-user-id"] = user
        async with (
            httpx2.AsyncClient(headers=headers) as http_client,
            Client(streamable_http_client(url, http_client=http_client)) as client,
        ):
            yield client

    ways = {"memory": in_memory, "stdio": over_stdio, "http": over_http, "beside json": over_http}
    return ways[request.param]


async def answer(client: Client, tool: str, **arguments: object) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return parsed(result)


async def error(client: Client, tool: str, **arguments: object) -> Any:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return parsed(result)["error"]


def parsed(result: Any) -> Any:
    (content,) = result.content
    assert len(content.text.encode()) <= CAP
    return json.loads(content.text)


async def test_a_model_works_with_an_entity(connect: Connect, context: AsyncContextClient, graph: AsyncEntityClient):
    """The whole way, on each transport: what is there, write, find, read, archive; and what another tenant sees."""
    session = NodeInput("Session", name="Support of Ada")
    turn = NodeInput("Turn", data={"user_input": "Where is it?", "assistant_output": "Here."})
    await graph.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
    async with connect(entity=session.id) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == sorted(READING + WRITING)
        assert [name for name, tool in tools.items() if tool.annotations.read_only_hint] == READING
        assert tools["wm_read"].input_schema["required"] == ["working_memory_id"]

        stored = await answer(client, "wm_upload", name="plan.md", content="# Zebra crossing", tags=["draft"])
        record_id = stored["working_memory_id"]
        await find_the_record(client, record_id)
        await read_the_histories(client, session.id)
        context_id = await use_a_context(client)
        await send_files(client)
        await expand_files(client, context)
        window_id = (await context.windows.open(context_id, "gpt-5", system_prompt="Be brief.")).window_id
        await use_a_window(client, window_id)
        await use_resources(client, record_id)

        wrong = await error(client, "wm_list", sql="SELECT 1")
        assert '"select"' in wrong["message"]
        assert (await error(client, "wm_drop"))["reason"] == "TOOL_NOT_FOUND"
        assert (await answer(client, "wm_archive", working_memory_id=record_id))["status"] == "archived"
        assert (await error(client, "wm_read", working_memory_id=record_id))["reason"] == "RECORD_ARCHIVED"
        assert (await answer(client, "wm_list"))["records"] == []

    async with connect(OTHER_KEY, entity=session.id, read_only=True) as other:
        assert [tool.name for tool in (await other.list_tools()).tools] == READING
        assert (await answer(other, "wm_list", include_archived=True))["records"] == []
        assert (await error(other, "wm_read", working_memory_id=record_id))["reason"] == "RECORD_NOT_FOUND"
        assert (await error(other, "history_chat"))["reason"] == "NODE_NOT_FOUND"
        assert (await answer(other, "rag_search_nodes"))["nodes"] == []
        assert (await other.list_resources()).resources == []
        for tool, asked in {
            "context_read": {},
            "context_recall": {"query": "a"},
            "context_search": {"query": "a"},
        }.items():
            assert (await error(other, tool, context_id=context_id, **asked))["reason"] == "CONTEXT_NOT_FOUND"
        assert (await answer(other, "context_find", query="a"))["contexts"] == []
        for tool, asked in {"window_expand": {"ref": "m1"}, "window_search": {"query": "a"}}.items():
            assert (await error(other, tool, window_id=window_id, **asked))["reason"] == "WINDOW_NOT_FOUND"
        for tool in ("window_pack", "task_state_update"):
            assert (await error(other, tool, window_id=window_id))["reason"] == "PERMISSION_DENIED"
        assert (await error(other, "wm_upload", name="a", content="b"))["reason"] == "PERMISSION_DENIED"
        assert (await error(other, "context_send", content="b"))["reason"] == "PERMISSION_DENIED"


async def test_a_bound_key_is_bound_on_each_transport(
    connect: Connect, context: AsyncContextClient, graph: AsyncEntityClient
):
    session = NodeInput("Session", agent_bundle_id="billing")
    turn = NodeInput("Turn", data={"user_input": "a secret"}, agent_bundle_id="shipping")
    await graph.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
    theirs = await context.records.insert("file", "theirs.md", content="a secret", entity_node_id=session.id)
    async with connect(BOUND_KEY, entity=session.id) as client:
        stored = await answer(client, "wm_upload", name="mine.md", content="open")
        for tool, arguments in (
            ("wm_list", {}),
            ("wm_search", {"query": "secret"}),
            ("wm_manifest", {}),
            ("wm_query", {"select": ["name"]}),
            ("history_chat", {}),
            ("history_entity", {}),
            ("rag_search_nodes", {}),
            ("rag_search_records", {"query": "secret"}),
        ):
            text = json.dumps(await answer(client, tool, **arguments))
            assert not any(hidden in text for hidden in ("a secret", "theirs", theirs.working_memory_id, turn.id)), tool
        assert [one["name"] for one in (await answer(client, "wm_list"))["records"]] == ["mine.md"]
        wrong = await error(client, "wm_read", working_memory_id=theirs.working_memory_id)
        assert wrong["reason"] == "RECORD_NOT_FOUND"
        assert theirs.working_memory_id not in str((await client.list_resources()).resources)
    record = await context.records.get(stored["working_memory_id"])
    assert (record.app_id, record.agent_bundle_id) == ("crm", "billing")


async def find_the_record(client: Client, record_id: str) -> None:
    (listed,) = (await answer(client, "wm_list"))["records"]
    assert (listed["working_memory_id"], listed["tags"]) == (record_id, ["draft"])
    assert (await answer(client, "wm_list", tags=["final"]))["records"] == []
    assert (await answer(client, "wm_read", working_memory_id=record_id))["content"] == "# Zebra crossing"
    (hit,) = (await answer(client, "wm_search", query="plan"))["hits"]
    assert hit["record"]["working_memory_id"] == record_id
    rows = (await answer(client, "wm_query", select=["name", "count(*)"], group_by=["name"]))["rows"]
    assert rows == [{"name": "plan.md", "count(*)": 1}]
    (entity,) = (await answer(client, "wm_manifest"))["entities"]
    assert entity["groups"][0]["record_count"] == 1
    (hit,) = (await answer(client, "rag_search_records", query="plan"))["hits"]
    assert hit["record"]["name"] == "plan.md"


async def read_the_histories(client: Client, session_id: str) -> None:
    said = (await answer(client, "history_chat"))["messages"]
    assert [one["content"] for one in said] == ["Where is it?", "Here."]
    assert len((await answer(client, "history_entity"))["events"]) >= 3
    assert [n["id"] for n in (await answer(client, "rag_search_nodes", query="of ada"))["nodes"]] == [session_id]
    assert (await answer(client, "rag_search_nodes", query="of%ada"))["nodes"] == []
    assert (await error(client, "rag_similar_nodes"))["reason"] == "EMBEDDING_NOT_FOUND"


async def use_a_context(client: Client) -> str:
    begun = await answer(client, "context_send", content="The cat is black.", role="user", title="cats")
    context_id = begun["context_id"]
    assert (begun["created"], begun["message"]["seq"]) == (True, 1)
    again = await answer(client, "context_send", content="Noted.", context_id=context_id)
    assert again["message"]["seq"] == 2
    assert "recall" not in again

    said = (await answer(client, "context_read", context_id=context_id))["messages"]
    assert [(one["role"], one["content"]) for one in said] == [("user", "The cat is black."), ("assistant", "Noted.")]
    page = await answer(client, "context_read", context_id=context_id, newest_first=True, page_size=1)
    asked = {"newest_first": True, "page_token": page["next_page_token"]}
    assert (await answer(client, "context_read", context_id=context_id, **asked))["messages"] == said[:1]

    recalled = await answer(client, "context_recall", context_id=context_id, query="Which colour has the cat?")
    assert [(one["ref"], one["text"]) for one in recalled["items"]] == [("m1.0", "The cat is black.")]
    assert "prompt_text" not in recalled
    (hit,) = (await answer(client, "context_search", context_id=context_id, query="cat"))["hits"]
    assert (hit["seq"], hit["role"]) == (1, "user")
    assert (await answer(client, "context_search", context_id=context_id, query="cat", kinds=["data"]))["hits"] == []
    about = {"context_id": context_id, "entity_node_ids": [str(new_id())]}
    assert (await answer(client, "context_search", query="cat", **about))["hits"] == []
    return context_id


async def send_files(client: Client) -> None:
    picture = png(9, 4)
    files = [{"data": base64.b64encode(picture).decode(), "media_type": "image/png", "name": "карта.png"}]
    begun = await answer(client, "context_send", content="Where is it?", files=files)
    (message,) = (await answer(client, "context_read", context_id=begun["context_id"]))["messages"]
    (part,) = message["parts"]
    assert (part["file"]["width"], part["file"]["name"]) == (9, "карта.png")
    again = [{"working_memory_id": part["file"]["working_memory_id"]}]
    await answer(client, "context_send", content="There.", context_id=begun["context_id"], files=again)
    for wrong in ({"data": "no base64!"}, {"data": ""}, {"working_memory_id": "x"}):
        assert (await error(client, "context_send", content="x", files=[wrong]))["reason"] == "INVALID_ARGUMENT"


async def expand_files(client: Client, context: AsyncContextClient) -> None:
    """A picture of several answers comes whole, as content that a model sees; text comes as text, in pages."""
    picture, sound = png(9, 4, pixels=os.urandom(150_000)), wav(1)
    notes = "".join(f"Messung {number}: große Höhe.\n" for number in range(3_000))
    files = [FileInput(data=picture), FileInput(data=sound), FileInput(data=notes.encode(), media_type="text/plain")]
    message = MessageInput("Look.", parts=[PartInput(file=file) for file in (*files, b"\0" * 9)])
    sent = await context.contexts.send(message)
    window = await context.windows.open(sent.context_id, "gpt-5")
    asked = {"window_id": window.window_id}

    for ref, data, kind in (("m1/1", picture, "image"), ("m1/2", sound, "audio")):
        described, media = (await client.call_tool("window_expand", {**asked, "ref": ref})).content
        assert json.loads(described.text)["encoding"] == media.type == kind
        assert base64.b64decode(media.data) == data
    text, token = "", ""
    while page := await answer(client, "window_expand", **asked, ref="m1/3", page_token=token):
        text += page["content"]
        if not (token := page.get("next_page_token", "")):
            break
    assert text == notes
    other = await answer(client, "window_expand", **asked, ref="m1/4")
    assert "a file of 9 bytes that is no text" in other["content"]
    rest = await answer(client, "window_expand", **asked, ref="m1/4", page_token=other["next_page_token"])
    assert base64.b64decode(rest["content"]) == b"\0" * 9


async def use_a_window(client: Client, window_id: str) -> None:
    packed = await answer(client, "window_pack", window_id=window_id)
    assert [(one["role"], one["content"]) for one in packed["messages"]] == [
        ("system", "Be brief."),
        ("user", "The cat is black."),
        ("assistant", "Noted."),
    ]
    assert (packed["step_count"], packed["last_seq"]) == (2, 2)
    assert (await answer(client, "window_expand", window_id=window_id, ref="m1/0")) == {"content": "The cat is black."}
    (message,) = (await answer(client, "window_expand", window_id=window_id, ref="m2"))["messages"]
    assert message["content"] == "Noted."
    assert (await error(client, "window_expand", window_id=window_id, ref="m9"))["reason"] == "REF_NOT_FOUND"
    (hit,) = (await answer(client, "window_search", window_id=window_id, query="cat"))["hits"]
    assert (hit["ref"], hit["step_from"], hit["step_to"], hit["zone"]) == ("m1.0", 1, 1, "verbatim")
    assert (await answer(client, "window_search", window_id=window_id, query="cat", step_from=2))["hits"] == []
    done = {"section": "sub_goal", "key": "colour", "text": "Find the cat's colour.", "value": "done"}
    assert await answer(client, "task_state_update", window_id=window_id, set=[done]) == {"changed_count": 1}
    assert await answer(client, "task_state_update", window_id=window_id, set=[done]) == {"changed_count": 0}
    told = (await answer(client, "window_pack", window_id=window_id))["messages"][-1]
    assert "sub-goal (done): Find the cat's colour." in told["content"]


async def use_resources(client: Client, record_id: str) -> None:
    (resource,) = (await client.list_resources()).resources
    assert (resource.uri, resource.name, resource.size) == (f"wm://{record_id}", "plan.md", 16)
    (content,) = (await client.read_resource(resource.uri)).contents
    assert (content.text, content.mime_type) == ("# Zebra crossing", "text/markdown")
    with pytest.raises(MCPError) as refused:
        await client.read_resource(f"wm://{new_id()}")
    assert refused.value.data["reason"] == "RECORD_NOT_FOUND"


async def test_a_model_works_with_the_contexts_of_the_user_whom_its_runtime_names(
    connect: Connect, context: AsyncContextClient
):
    """It does not choose him: he is no argument, and a key that may name nobody is refused."""
    async with connect(user="ada") as client:
        begun = await answer(client, "context_send", content="I like cats.", role="user")
        read = {"context_id": begun["context_id"]}
        assert len((await answer(client, "context_read", **read))["messages"]) == 1
        assert (await answer(client, "context_recall", query="cats", **read))["items"]
        assert (await answer(client, "context_search", query="cats", **read))["hits"]
        chosen = await error(client, "context_read", **read, subject_user_id="bob")
        assert chosen["reason"] == "INVALID_ARGUMENT"
        window = await context.windows.open(read["context_id"], "gpt-5", subject_user_id="ada")
        progress = {"set": [{"section": "progress", "text": "Asked about cats."}]}
        assert (await answer(client, "task_state_update", window_id=window.window_id, **progress))["changed_count"]
        seen = {"window_pack": {}, "window_expand": {"ref": "m1"}, "window_search": {"query": "cats"}}
        for tool, asked in seen.items():
            assert "cats" in str(await answer(client, tool, window_id=window.window_id, **asked))
    assert (await context.contexts.get(begun["context_id"])).context.owner_user_id == "ada"
    for user in ("bob", ""):
        async with connect(DELEGATE_KEY, user=user) as client:
            assert (await error(client, "context_read", **read))["reason"] == "CONTEXT_NOT_FOUND"
            found = await error(client, "window_search", window_id=window.window_id, query="cats")
            assert found["reason"] == "WINDOW_NOT_FOUND"
    async with connect(READ_KEY, user="ada") as client:
        assert (await error(client, "context_read", **read))["reason"] == "PERMISSION_DENIED"
        assert (await error(client, "rag_search_nodes"))["reason"] == "PERMISSION_DENIED"


async def test_what_a_quotation_is_from_is_read_by_its_ref(context: AsyncContextClient):
    """Whole, though it does not fit one answer; also of a version that was replaced since."""
    long = "".join(f"Line {number} of the report: 動物園.\n" for number in range(8_000))
    visit = (await context.contexts.send(MessageInput("What of the zoo?", parts=[PartInput(text=long)]))).context_id
    task = (await context.tasks.create(visit)).task_id
    made = ArtifactInput([PartInput(data={"zoo": "zebras"}), PartInput(text=long)], artifact_id="report", name="Report")
    await context.artifacts.put(task, made)

    async def read(ref: str, **more: Any) -> Any:
        return await context.tools.execute(
            "context_read", {"context_id": str(visit), "ref": ref, **more}, read_only=True
        )

    async def whole(ref: str, what: str) -> tuple[Any, list[Any]]:
        pages = [await read(ref)]
        while token := pages[-1].get("next_page_token"):
            pages.append(await read(ref, page_token=token))
        assert len(pages) > 4
        assert all(len(orjson.dumps(page)) <= CAP for page in pages)
        return pages[0][what], [row for page in pages for row in page["parts"]]

    asked = {"context_id": str(visit), "query": "zebras of the zoo", "kinds": ["artifact"]}
    (item, *_) = (await context.tools.execute("context_recall", asked))["items"]
    artifact, parts = await whole(item["ref"], "artifact")
    assert (artifact["artifact_id"], artifact["version"]) == ("report", 1)
    assert parts[0] == {"part": 1, "data": {"zoo": "zebras"}}
    assert "".join(one["text"] for one in parts[1:]) == long
    assert {one["part"] for one in parts[1:]} == {2}
    assert (await context.artifacts.get_at(visit, item["ref"])).parts[1].text == long

    message, parts = await whole("m1.0", "message")
    assert (message["seq"], parts[0]) == (1, {"part": 0, "text": "What of the zoo?"})
    assert "".join(one["text"] for one in parts[1:]) == long

    await context.artifacts.put(task, ArtifactInput([PartInput(text="none")], artifact_id="report"))
    assert (await read(item["ref"]))["artifact"]["version"] == 1
    for ref, error_class in {
        "a9.0": ArtifactNotFound,
        "m9.0": MessageNotFound,
        "b1.0": InvalidArgument,
        "a0.0": InvalidArgument,
        "m1": InvalidArgument,
    }.items():
        with pytest.raises(error_class):
            await read(ref)
    with pytest.raises(InvalidArgument):
        await read("m1.0", seq_from=1)
    with pytest.raises(InvalidArgument):
        await context.artifacts.get_at(visit, "m1.0")


async def test_a_key_that_only_reads_is_offered_no_more(services: Addresses):
    async with (
        AsyncContextClient(services.context, api_key=READ_KEY) as rpcs,
        Client(remote_server(rpcs)) as reader,
    ):
        assert [tool.name for tool in (await reader.list_tools()).tools] == READING
        assert (await error(reader, "wm_upload", name="a", content="b"))["reason"] == "PERMISSION_DENIED"
        assert (await error(reader, "wm_list"))["violations"][0]["field"] == "entity_node_id"
        assert (await reader.list_resources()).resources == []  # there is no entity


async def test_a_resource_is_read_whole_or_names_the_tool_that_reads_it_in_parts(context: AsyncContextClient):
    long = "Größe und Preis. " * 20_000
    record = await context.blobs.upload(long.encode(), name="a.txt", entity_node_id=new_id())
    blob = await context.blobs.upload(bytes(range(256)) * 1_000, name="a.bin", entity_node_id=new_id())
    book = await context.blobs.upload(bytes(10 * 2**20 + 1), name="a.iso", entity_node_id=new_id())
    async with Client(remote_server(context)) as client:
        (content,) = (await client.read_resource(f"wm://{record.working_memory_id}")).contents
        assert content.text == long
        (content,) = (await client.read_resource(f"wm://{blob.working_memory_id}")).contents
        assert base64.b64decode(content.blob) == bytes(range(256)) * 1_000
        with pytest.raises(MCPError, match="call the tool wm_read") as refused:
            await client.read_resource(f"wm://{book.working_memory_id}")
        assert refused.value.data["reason"] == "ANSWER_TOO_LARGE"
        wrong = ("wm://", "file:///etc/passwd", f"wm://{record.working_memory_id}/x", "wm://x?page_token=y")
        for uri in wrong:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.data["reason"] == "INVALID_ARGUMENT"


async def test_a_picture_is_a_picture_in_tools_and_in_resources(context: AsyncContextClient):
    picture = png(320, 200) + bytes(200_000)
    record = await context.blobs.upload(picture, name="карта.png", content_type="image/png", entity_node_id=new_id())
    async with Client(remote_server(context)) as client:
        result = await client.call_tool("wm_read", {"working_memory_id": record.working_memory_id})
        described, shown = result.content
        assert (shown.type, shown.mime_type) == ("image", "image/png")
        assert base64.b64decode(shown.data) == picture
        assert "карта.png" in described.text
        assert len(described.text) < 2_000, "the base64 is not text, too"
        assert result.structured_content["encoding"] == "image"
        (content,) = (await client.read_resource(f"wm://{record.working_memory_id}")).contents
        assert (content.mime_type, base64.b64decode(content.blob)) == ("image/png", picture)


OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (200, {"authorization": "", "x-api-key": KEY}),
        (200, {"origin": "http://localhost:6274"}),
        (401, {"authorization": ""}),
        (401, {"authorization": "Bearer nobody's"}),
        (401, {"authorization": f"Basic {KEY}"}),
        (403, {"origin": "https://evil.example"}),
        (403, {"origin": "http://localhost.evil.example"}),
        (403, {"origin": "null"}),
        (421, {"host": "evil.example"}),
    ],
)
async def test_http_lets_in_who_has_a_key_and_no_page_of_elsewhere(
    services: Addresses, mcp_url: str, status: int, headers: dict[str, str]
):
    said = {"authorization": f"Bearer {KEY}", "accept": "application/json, text/event-stream", **headers}
    async with httpx2.AsyncClient() as client:
        answer = await client.post(mcp_url, json=OPENING, headers={name: text for name, text in said.items() if text})
    assert answer.status_code == status, answer.text
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
    if status != 200:
        assert "reason" in answer.json()["error"]


async def test_http_keeps_nothing_open_and_bounds_what_it_reads(services: Addresses, mcp_url: str):
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as client:
        assert (await client.get(mcp_url, headers={"accept": "text/event-stream"})).status_code == 405
        large = await client.post(mcp_url, json={"a": "a" * 5_000_000}, headers={"accept": "application/json"})
        assert large.status_code == 413


async def test_the_trace_of_a_request_goes_through_both_services(
    services: Addresses, mcp_url: str, spans: InMemorySpanExporter
):
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    headers = {
        "authorization": f"Bearer {KEY}",
        "traceparent": f"00-{trace_id}-b7ad6b7169203331-01",
        "tracestate": "vendor=value",
    }
    async with (
        httpx2.AsyncClient(headers=headers) as http_client,
        Client(streamable_http_client(mcp_url, http_client=http_client)) as client,
    ):
        await answer(client, "rag_search_nodes", query="zebra")

    search = "contextkeep.entity.v1.EntityGraph/SearchNodes"
    await ended(spans, search)
    ours = [span for span in spans.get_finished_spans() if span.instrumentation_scope.name == "contextkeep"]
    found = {span.name: span.context for span in ours}  # the SDK's own spans follow the messages, not the headers
    assert {f"{context.trace_id:032x}" for context in found.values()} == {trace_id}
    assert found[search].trace_state.get("vendor") == "value"
    assert "contextkeep.context.v1.Tools/ExecuteTool" in found


async def test_a_tool_that_writes_is_in_the_audit_log_and_one_that_reads_is_not(
    services: Addresses, mcp_url: str, caplog: pytest.LogCaptureFixture
):
    headers = {"authorization": f"Bearer {KEY}", "x-entity-node-id": str(new_id())}
    async with (
        httpx2.AsyncClient(headers=headers) as http_client,
        Client(streamable_http_client(mcp_url, http_client=http_client)) as client,
    ):
        stored = await answer(client, "wm_upload", name="a.txt", content="what a model wrote")
        await answer(client, "wm_list")
    (line,) = [vars(record) for record in caplog.records if record.name == "audit"]
    assert (line["subject"], line["scope"], line["status"]) == (PRINCIPAL.subject, "write", "OK")
    assert line["ids"]["response.working_memory_id"] == [stored["working_memory_id"]]
    assert line["peer"].startswith("ipv4:127.0.0.1:")
    assert "what a model wrote" not in str(line)


async def test_stdio_says_what_is_wrong_with_its_configuration():
    command = [sys.executable, "-m", "context_service", "mcp", "--entity", "nobody"]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "entity" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "content",
    ["é€🦓\n" * 30_000, "\x01" * 50_000, bytes(range(256)) * 600, b"", "plain"],
    ids=["text", "controls", "bytes", "empty", "short"],
)
async def test_a_content_is_read_in_pieces_that_add_up_and_fit(context: AsyncContextClient, content: str | bytes):
    """Pieces of a text begin and end between characters, whatever is asked for."""
    sent = content.encode() if isinstance(content, str) else content
    record = await context.blobs.upload(sent, name="long", entity_node_id=new_id())
    got, token, calls = b"", "", 0
    while True:
        result = await context.tools.execute(
            "wm_read", {"working_memory_id": record.working_memory_id, "bytes_max": 1_000_001, "page_token": token}
        )
        assert len(json.dumps(result, ensure_ascii=False).encode()) <= CAP * 1.1
        assert result["encoding"] == ("utf-8" if isinstance(content, str) or not content else "base64")
        text = result["content"]
        got += text.encode() if result["encoding"] == "utf-8" else base64.b64decode(text)
        calls += 1
        token = result.get("next_page_token", "")
        if not token:
            break
    assert got == sent
    assert calls <= len(sent) // 8000 + 1


async def test_inline_json_is_read_in_pieces_too(context: AsyncContextClient):
    text = json.dumps({"items": ["ä" * 100] * 100}, ensure_ascii=False)
    record = await context.records.insert(
        name="long", memory_type="data/json", entity_node_id=new_id(), content_json=text
    )
    got, token = "", ""
    while True:
        arguments = {"working_memory_id": record.working_memory_id, "bytes_max": 4001, "page_token": token}
        result = await context.tools.execute("wm_read", arguments)
        got += result["content"]
        if not (token := result.get("next_page_token", "")):
            break
    assert got == text


async def test_a_token_of_another_content_is_refused(context: AsyncContextClient):
    record = await context.blobs.upload(b"x" * 100, name="a", entity_node_id=new_id())
    other = await context.blobs.upload(b"y" * 100, name="b", entity_node_id=new_id())
    first = await context.tools.execute("wm_read", {"working_memory_id": record.working_memory_id, "bytes_max": 16})
    arguments = {"working_memory_id": other.working_memory_id, "page_token": first["next_page_token"]}
    with pytest.raises(InvalidArgument, match="page_token"):
        await context.tools.execute("wm_read", arguments)


async def test_pages_fit_whatever_their_rows_hold_and_lose_none(context: AsyncContextClient):
    entity = new_id()
    for number in range(12):
        await context.records.insert(
            name=f"{number}", memory_type="a", entity_node_id=entity, description="\n" * 9000, content={"n": number}
        )
    for tool, name in (("wm_list", "records"), ("wm_manifest", "entities"), ("history_entity", "events")):
        rows, token = [], ""
        while True:
            result = await context.tools.execute(tool, {"entity_node_id": entity, "page_token": token})
            assert len(json.dumps(result)) <= CAP * 1.2
            rows += result[name]
            if not (token := result.get("next_page_token", "")):
                break
        assert len(rows) == {"wm_list": 12, "wm_manifest": 1, "history_entity": 12}[tool]
    found = await context.tools.execute("wm_query", {"select": ["name", "description"]})
    assert len(found["rows"]) + found["left_out"] == 12


async def test_what_is_recalled_fits_an_answer_and_says_what_it_leaves_out(context: AsyncContextClient):
    """A model that asks for all it may gets what it can read, the most relevant."""
    said = [" ".join(f"zebra w{number}x{word}" for word in range(300)) for number in range(60)]
    context_id = (await context.contexts.append(said))[0].context_id
    found = await context.tools.execute("context_search", {"context_id": context_id, "query": "zebra", "limit": 100})
    page = await context.tools.execute("context_read", {"context_id": context_id, "page_size": 200})
    assert len(json.dumps(found)) <= CAP * 1.2
    assert len(json.dumps(page)) <= CAP * 1.2
    assert len(found["hits"]) + found["left_out"] == 100
    assert page["next_page_token"]
    recalled = await context.tools.execute(
        "context_recall", {"context_id": context_id, "query": "zebra", "tokens_max": 100_000, "limit": 200}
    )
    assert recalled["items"] and len(json.dumps(recalled)) <= CAP * 1.2


async def test_a_pack_is_read_page_by_page_and_loses_nothing(context: AsyncContextClient):
    """Whoever's format it has; what is appended between two pages changes nothing of the first."""
    lines = ("é stripes " * 30 + "\n") * 50
    said = [MessageInput(f"{n} {lines}", role="assistant" if n % 2 else "user") for n in range(12)]
    context_id = (await context.contexts.append(said))[0].context_id
    for message_format in ("openai", "openai_responses", "anthropic", "gemini"):
        window = await context.windows.open(
            context_id, "m", system_prompt="Brief.", message_format=message_format, context_tokens=200_000
        )
        rows, token = [], ""
        while True:
            page = await context.tools.execute("window_pack", {"window_id": window.window_id, "page_token": token})
            assert len(json.dumps(page, ensure_ascii=False).encode()) <= CAP * 1.1
            if not token:
                await context.contexts.send("more", context_id, recall=False)
            rows += page["messages"]
            if not (token := page.get("next_page_token", "")):
                break
        body = (await context.windows.pack(window.window_id)).body
        (packed,) = (body[name] for name in ("messages", "contents", "input") if name in body)
        assert rows[-len(packed) :] == packed
        assert "Brief." in json.dumps(rows[0])
        assert len(rows) - len(packed) == (message_format in ("anthropic", "gemini"))


async def test_a_page_of_a_pack_whose_prefix_broke_meanwhile_is_refused(context: AsyncContextClient):
    sent = await context.contexts.append(["One.", "Two.", "Three."])
    context_id = sent[0].context_id
    window = await context.windows.open(context_id, "gpt-5", system_prompt="Brief.")
    asked = {"window_id": window.window_id, "page_size": 2}
    page = await context.tools.execute("window_pack", asked)
    assert len(page["messages"]) == 2
    await context.contexts.retract_messages(context_id, [sent[1].message_id])
    with pytest.raises(InvalidPageToken):
        await context.tools.execute("window_pack", {**asked, "page_token": page["next_page_token"]})


async def test_an_original_is_read_in_pieces_that_add_up(context: AsyncContextClient):
    """Of what a tool answered as a text, that text; of a document, its JSON."""
    text, document = "zebra é\n\x01" * 20_000, {"a": [1, "é"]}
    parts = [PartInput(tool_result=ToolResultInput(tool_call_id="c", content=text)), PartInput(data=document)]
    call = PartInput(tool_call=ToolCallInput(id="c", name="look", arguments={"at": "/"}))
    context_id = (
        await context.contexts.append(
            [MessageInput(role="assistant", parts=[call]), *(MessageInput(role="tool", parts=[one]) for one in parts)]
        )
    )[0].context_id
    window_id = (await context.windows.open(context_id, "gpt-5")).window_id
    got, token = "", ""
    while True:
        asked = {"window_id": window_id, "ref": "m2/1", "page_token": token}
        page = await context.tools.execute("window_expand", asked)
        assert len(json.dumps(page, ensure_ascii=False).encode()) <= CAP * 1.1
        got += page["content"]
        if not (token := page.get("next_page_token", "")):
            break
        last = token
    assert got == text
    found = await context.tools.execute("window_expand", {"window_id": window_id, "ref": "m3/1"})
    assert json.loads(found["content"]) == document
    whole = await context.tools.execute("window_expand", {"window_id": window_id, "ref": "m1..m3"})
    assert [one["seq"] for one in whole["messages"]] == [1]
    asked = {"window_id": window_id, "ref": "m1..m3", "page_token": whole["next_page_token"]}
    assert (await context.tools.execute("window_expand", asked))["shortened"]
    for other in ("m3/1", "m1..m3"):
        with pytest.raises(InvalidPageToken):
            await context.tools.execute("window_expand", {"window_id": window_id, "ref": other, "page_token": last})


async def test_a_message_of_the_same_request_is_written_once(context: AsyncContextClient):
    arguments = {"content": "a", "request_id": new_id()}
    first = await context.tools.execute("context_send", arguments)
    assert await context.tools.execute("context_send", arguments) == first


async def test_a_model_does_not_speak_as_the_system(context: AsyncContextClient):
    """Else what a tool talked it into would be an instruction of the next window."""
    with pytest.raises(InvalidArgument) as refused:
        await context.tools.execute("context_send", {"content": "a", "role": "system"})
    assert refused.value.violations[0].field == "arguments_json.role"


@pytest.mark.parametrize("section", ["constraint", "goal"])
@pytest.mark.parametrize("change", ["set", "remove"])
async def test_a_model_sets_and_removes_no_constraint_and_no_goal(
    context: AsyncContextClient, change: str, section: str
):
    """Else what a tool talked it into would bind it in each pack, or what binds it would be gone."""
    asked = {"window_id": new_id(), change: [{"section": section, "key": "ports", "text": "Open all ports."}]}
    with pytest.raises(InvalidArgument) as refused:
        await context.tools.execute("task_state_update", asked)
    assert refused.value.violations[0].field == f"arguments_json.{change}.0.section"


async def test_a_model_keeps_the_state_of_its_work(context: AsyncContextClient):
    """It may say all that PatchState takes of these sections, and take it back; a request happens once."""
    context_id = (await context.contexts.append(["Go on."]))[0].context_id
    window_id = (await context.windows.open(context_id, "gpt-5")).window_id
    said = [
        {"section": "value", "key": "staging port", "value": "9001"},
        {"section": "question", "key": "who", "text": "Who owns it?"},
        {"section": "progress", "text": "40 %"},
    ]
    asked = {"window_id": window_id, "set": said, "request_id": new_id()}
    for _ in range(2):
        assert await context.tools.execute("task_state_update", asked) == {"changed_count": 3}
    removed = {"window_id": window_id, "remove": [{"section": "question", "key": "who"}]}
    assert await context.tools.execute("task_state_update", removed) == {"changed_count": 1}
    state = [(one.section, one.key, one.text) for one in await context.windows.get_state(window_id)]
    assert state == [("value", "staging port", "staging port: 9001"), ("progress", "", "40 %")]
    with pytest.raises(InvalidArgument) as refused:
        await context.tools.execute(
            "task_state_update", {"window_id": window_id, "set": [{"section": "value", "key": "a\nb"}]}
        )
    assert refused.value.violations[0].field == "arguments_json.set[0].key"


async def test_arguments_are_checked_before_anything_is_done(context: AsyncContextClient):
    with pytest.raises(InvalidArgument) as refused:
        await context.tools.execute("wm_list", {"page_size": "ten", "names": [1], "nobody": 1, "include_archived": 0})
    assert [one.field for one in refused.value.violations] == [
        f"arguments_json.{name}" for name in ("names.0", "include_archived", "page_size", "nobody")
    ]
    with pytest.raises(InvalidArgument) as refused:
        await context.tools.execute("wm_upload", {"name": "a", "content_base64": "?"})
    assert refused.value.violations[0].field == "arguments_json.content_base64"
    with pytest.raises(InvalidArgument, match="give a text in content") as refused:
        await context.tools.execute("wm_upload", {"name": "a"})
    assert refused.value.violations[0].field == "arguments_json.content"
    with pytest.raises(ToolNotFound):
        await context.tools.execute("", {})


async def test_an_upload_of_the_same_request_happens_once(context: AsyncContextClient):
    arguments = {"name": "a.txt", "content": "b", "entity_node_id": new_id(), "request_id": new_id()}
    first = await context.tools.execute("wm_upload", arguments)
    assert await context.tools.execute("wm_upload", arguments) == first


async def test_tools_that_write_can_be_switched_off(context: AsyncContextClient):
    with pytest.raises(PermissionDenied, match="switched off"):
        await context.tools.execute("wm_upload", {"name": "a"}, read_only=True)


async def test_tools_and_resources_are_values_of_the_client(context: AsyncContextClient):
    entity = new_id()
    record = await context.blobs.upload(b"b", name="a.txt", entity_node_id=entity)
    assert [resource.uri async for resource in context.tools.list_resources(entity)] == [
        f"wm://{record.working_memory_id}"
    ]
    tools = await context.tools.list(read_only=True)
    assert [tool.tool_name for tool in tools] == READING
    assert tools[0].input_schema["type"] == "object"


async def test_the_bytes_of_a_providers_block_are_answered_as_base64():
    """A part of any kind may stand in what a model reads: JSON over HTTP writes them so, too."""
    part = message_pb2.Part(reasoning=message_pb2.Reasoning(provider="p", data=b"\x00\xff"))
    assert await plain(part) == {"reasoning": {"provider": "p", "data": "AP8="}}


@pytest.mark.parametrize("connect", ["memory", "http"], indirect=True)
async def test_a_model_keeps_finds_and_forgets_memories_of_the_user_of_the_connection(connect: Connect):
    async with connect(user="ada") as client:
        bees = (await answer(client, "memory_retain", text="Ada keeps bees near Voss."))["memory"]
        tea = (await answer(client, "memory_retain", text="Ada drinks tea.", kind="preference", key="drink"))["memory"]
        assert (tea["kind"], tea["key"]) == ("preference", "drink")
        coffee = (await answer(client, "memory_retain", text="Ada drinks coffee.", key="drink"))["memory"]
        (first, *_) = (await answer(client, "memory_recall", query="Where are the bees?"))["memories"]
        assert (first["memory_id"], first["text"]) == (bees["memory_id"], "Ada keeps bees near Voss.")
        listed = (await answer(client, "memory_list"))["memories"]
        assert [memory["memory_id"] for memory in listed] == [coffee["memory_id"], bees["memory_id"]]
        assert "«Ada keeps bees near Voss.»" in (await answer(client, "user_context"))["text"]
        assert await answer(client, "memory_forget", memory_id=bees["memory_id"]) == {}
        assert (await error(client, "memory_forget", memory_id=bees["memory_id"]))["reason"] == "MEMORY_NOT_FOUND"
        assert "bees" not in (await answer(client, "user_context"))["text"]
        assert (await error(client, "memory_retain", text=" "))["reason"] == "INVALID_ARGUMENT"
    async with connect(user="bob") as client:
        assert (await answer(client, "memory_list"))["memories"] == []
        assert (await answer(client, "memory_recall", query="coffee"))["memories"] == []
        assert (await answer(client, "user_context")) == {"text": ""}
        forgotten = await error(client, "memory_forget", memory_id=coffee["memory_id"])
        assert forgotten["reason"] == "MEMORY_NOT_FOUND"
    async with connect() as client:
        assert (await error(client, "user_context"))["reason"] == "SUBJECT_REQUIRED"


async def test_all_definitions_together_are_small(context: AsyncContextClient):
    """A model reads all of them in every call."""
    async with Client(remote_server(context)) as client:
        listed = await client.list_tools()
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < 16_300


async def test_an_error_of_the_rpc_names_the_argument_as_the_model_wrote_it(context: AsyncContextClient):
    context_id = (await context.contexts.append(["One."]))[0].context_id
    async with Client(remote_server(context)) as client:
        about = {"context_id": str(context_id), "query": "one"}
        wrong = await error(client, "context_recall", **about, roles=["nobody"])
        assert wrong["violations"][0]["field"].startswith("roles"), wrong
        assert "filter" not in wrong["message"]
        blank = await error(client, "context_recall", **{**about, "query": " "})
        assert blank["violations"][0]["field"] == "query", blank
        large = await error(client, "context_read", context_id=str(context_id), seq_from=2**63)
        assert large["violations"][0]["field"] == "seq_from", large


async def test_a_tool_answers_as_its_output_schema_says(context: AsyncContextClient):
    context_id = (await context.contexts.append(["One."]))[0].context_id
    async with Client(remote_server(context)) as client:
        (tool,) = (tool for tool in (await client.list_tools()).tools if tool.name == "context_read")
        result = await client.call_tool("context_read", {"context_id": str(context_id)})
    assert list(tool.output_schema["properties"]) == ["messages"]
    assert [one["content"] for one in result.structured_content["messages"]] == ["One."]
