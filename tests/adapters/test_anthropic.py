"""The memory tool on working memory: beside the SDK's own on a folder, and in its runner, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAsyncLocalFilesystemMemoryTool, BetaLocalFilesystemMemoryTool
from anthropic.types import MessageParam
from pydantic import TypeAdapter

from contextkeep import (
    AsyncContextClient,
    ContextClient,
    FileInput,
    MessageInput,
    PartInput,
    Reasoning,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.adapters.anthropic import AsyncMemoryTool, MemoryTool, message_inputs, read_messages
from tests.media import png

ORDERS = "/memories/orders.md"
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n%%EOF"
COMMANDS: list[dict[str, Any]] = [
    {"command": "create", "path": ORDERS, "file_text": "# Orders\n4711: harbour\n4712: harbour\n"},
    {"command": "create", "path": ORDERS, "file_text": "again"},
    {"command": "view", "path": ORDERS},
    {"command": "view", "path": ORDERS, "view_range": [2, 3]},
    {"command": "view", "path": ORDERS, "view_range": [2, -1]},
    {"command": "view", "path": ORDERS, "view_range": [0, 1]},
    {"command": "view", "path": ORDERS, "view_range": [9, 12]},
    {"command": "str_replace", "path": ORDERS, "old_str": "4711: harbour", "new_str": "4711: delivered\n(signed)"},
    {"command": "str_replace", "path": ORDERS, "old_str": "no such text", "new_str": ""},
    {"command": "view", "path": ORDERS},
    {"command": "insert", "path": ORDERS, "insert_line": 0, "insert_text": "Never promise a date.\n"},
    {"command": "insert", "path": ORDERS, "insert_line": 5, "insert_text": "4713: ⚓"},
    {"command": "insert", "path": ORDERS, "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": ORDERS, "insert_line": -1, "insert_text": "x"},
    {"command": "view", "path": ORDERS},
    {"command": "create", "path": "/memories/users/anna/likes.txt", "file_text": "tea\ntea\n"},
    {"command": "create", "path": "/memories/users/anna/deep/er.txt", "file_text": "x" * 1536},
    {"command": "create", "path": "/memories/users/.hidden", "file_text": "x"},
    {"command": "create", "path": "/memories/empty", "file_text": ""},
    {"command": "view", "path": "/memories/empty"},
    {"command": "insert", "path": "/memories/empty", "insert_line": 0, "insert_text": "first"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/users"},
    {"command": "view", "path": "/memories/nothing"},
    {"command": "str_replace", "path": "/memories/users/anna/likes.txt", "old_str": "tea", "new_str": "coffee"},
    {"command": "str_replace", "path": "/memories/users/anna", "old_str": "tea", "new_str": "coffee"},
    {"command": "insert", "path": "/memories/nothing", "insert_line": 0, "insert_text": "x"},
    {"command": "rename", "old_path": "/memories/users/anna", "new_path": ORDERS},
    {"command": "rename", "old_path": "/memories/users/anna", "new_path": "/memories/people/anna"},
    {"command": "rename", "old_path": "/memories/nothing", "new_path": "/memories/something"},
    {"command": "view", "path": "/memories/people/anna/likes.txt"},
    {"command": "delete", "path": "/memories/people"},
    {"command": "delete", "path": "/memories/people"},
    {"command": "delete", "path": "/memories"},
    {"command": "view", "path": "/memories/people/anna/likes.txt"},
    {"command": "delete", "path": ORDERS},
    {"command": "create", "path": ORDERS, "file_text": "a new one"},
    {"command": "view", "path": ORDERS},
]
# Of folders ours says what is in them, theirs what the folder itself takes.
SIZE_OF_FOLDER = re.compile(r"^\S+\t(?=/memories(/users)?$|.*/$)", re.MULTILINE)


async def test_commands_are_answered_as_by_the_sdks_own_tool(client: AsyncContextClient, name: str, tmp_path: Path):
    ours, theirs = AsyncMemoryTool(name, client), BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
    for command in COMMANDS:
        answers = [SIZE_OF_FOLDER.sub("", await answered(tool, command)) for tool in (ours, theirs)]
        assert answers[0] == answers[1], command


def test_commands_are_answered_alike_to_a_client_that_blocks(name: str, tmp_path: Path):
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    with ContextClient() as client:
        ours = MemoryTool(name, client)
        for command in COMMANDS:
            answers = [SIZE_OF_FOLDER.sub("", answered_now(tool, command)) for tool in (ours, theirs)]
            assert answers[0] == answers[1], command
        assert ours.clear_all_memory() == theirs.clear_all_memory()
        assert ours.call({"command": "view", "path": "/memories"}).endswith("\n0B\t/memories")


async def answered(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(await tool.call(command))
    except ToolError as error:
        return f"Error: {error}"


def answered_now(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"Error: {error}"


PICTURE = {"type": "base64", "media_type": "image/png", "data": b64encode(png(4, 3)).decode()}
TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is parcel 4711?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "The tracker knows.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": "I ask the tracker."},
            {"type": "tool_use", "id": "toolu_1", "name": "track", "input": {"parcel": 4711}},
            {"type": "tool_use", "id": "toolu_2", "name": "camera", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such parcel", "is_error": True},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_2",
                "content": [{"type": "text", "text": "the gate"}, {"type": "image", "source": PICTURE}],
            },
            {"type": "text", "text": "Пакет у ворот?\0 \ud800", "cache_control": {"type": "ephemeral"}},
            {"type": "image", "source": PICTURE},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/gate.webp"}},
            {
                "type": "document",
                "title": "Waybill",
                "context": "of May",
                "source": {"type": "base64", "media_type": "application/pdf", "data": b64encode(PDF).decode()},
            },
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A note"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "gate"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "text", "text": "At the gate.", "citations": [{"type": "char_location", "cited_text": "gate"}]},
        ],
    },
]


async def test_turns_come_back_as_they_were_and_are_files_calls_and_results_in_between(client: AsyncContextClient):
    messages = [message for turn in TURNS for message in message_inputs(turn)]
    sent = await client.contexts.send(messages[0])
    await client.contexts.append(messages[1:], context_id=sent.context_id)

    assert await read_messages(client, sent.context_id) == TURNS
    stored = [message async for message in client.contexts.list_messages(sent.context_id)]
    assert [message.role for message in stored] == ["user", "assistant", "tool", "user", "assistant"]
    assert [part.kind for part in stored[1].parts[:4]] == ["reasoning", "reasoning", "text", "tool_call"]
    assert [file.width for file in stored[2].parts[1].tool_result.files] == [4]


async def test_a_response_of_the_sdk_is_stored_once_and_goes_into_the_next_request(client: AsyncContextClient):
    """Over the real SDK, with a scripted endpoint: the request after has what the SDK itself would send."""
    question = {
        "role": "user",
        "content": [{"type": "text", "text": "What is it?"}, {"type": "image", "source": PICTURE}],
    }
    answers = [TURNS[1]["content"], [{"type": "text", "text": "A gate."}]]
    results = {"role": "user", "content": TURNS[2]["content"][:2]}
    with endpoint(answers) as (url, asked):
        anthropic = AsyncAnthropic(base_url=url, api_key="none")
        request: dict[str, Any] = {"model": "claude-sonnet-5-5", "max_tokens": 100}
        sent = await client.contexts.send(message_inputs(question)[0])
        response = await anthropic.messages.create(**request, messages=[question])
        for message in [*message_inputs(response), *message_inputs(response), *message_inputs(results)]:
            await client.contexts.send(message, context_id=sent.context_id)

        turns = await read_messages(client, sent.context_id)
        await anthropic.messages.create(**request, messages=turns)
        window = await client.windows.open(sent.context_id, "claude-sonnet-4-5", message_format="anthropic")
        pack = await client.windows.pack(window.window_id)
    assert asked[1]["messages"] == [question, {"role": "assistant", "content": response_blocks(response)}, results]
    TypeAdapter(list[MessageParam]).validate_python(turns)
    TypeAdapter(list[MessageParam]).validate_python(pack.body["messages"])
    packed = json.dumps(pack.body["messages"])
    assert packed.count(PICTURE["data"]) == 2
    assert '"signature": "c2ln"' in packed.replace('":"', '": "')
    assert [block["type"] for block in pack.body["messages"][2]["content"][1]["content"]] == ["text", "image"]
    assert pack.body["messages"][2]["content"][1]["content"][0]["text"] == "the gate"


def response_blocks(response: Any) -> list[dict[str, Any]]:
    return [block.to_dict(mode="json") for block in response.content]


async def test_messages_of_others_are_turns_that_the_api_takes(client: AsyncContextClient):
    """Written by a program of another framework: as many words as the API has for them."""
    call = PartInput(tool_call=ToolCallInput(id="call_1", name="look", arguments={"at": "gate"}))
    result = ToolResultInput(tool_call_id="call_1", content={"open": True}, files=[png(4, 3)])
    thought = Reasoning(provider="openai", data_json='{"id":"rs_1"}', text="hm")
    sent = await client.contexts.send(MessageInput("Be brief.", role="system"))
    for message in (
        MessageInput("Look", parts=[PartInput(file=FileInput(data=PDF, name="a.pdf"))]),
        MessageInput(role="assistant", parts=[PartInput(reasoning=thought), call]),
        MessageInput(role="tool", parts=[PartInput(tool_result=result)]),
        MessageInput("It is open.", role="assistant"),
    ):
        await client.contexts.send(message, context_id=sent.context_id)

    turns = await read_messages(client, sent.context_id)
    TypeAdapter(list[MessageParam]).validate_python(turns)
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user", "assistant"]
    assert [block["type"] for block in turns[0]["content"]] == ["text", "document"]
    assert turns[1]["content"] == [{"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "gate"}}]
    assert [block["type"] for block in turns[2]["content"][0]["content"]] == ["text", "image"]


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "memories/a", "/memoriesa", "/etc/passwd", "/memories/../etc/passwd", "/memories/a/../../b", ".."),
        *("/memories/..\\b", "/memories/a\0b", "/memories/a\nb", "/memories/" + "a" * 600, "/memories/\ud800"),
        *(None, 7, ["/memories/a"]),
    ],
)
async def test_no_path_leads_out_of_the_memory(client: AsyncContextClient, name: str, path: Any):
    memory = AsyncMemoryTool(name, client)
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/b"},
        {"command": "rename", "old_path": "/memories/b", "new_path": path},
    ):
        with pytest.raises(ToolError):
            await memory.call(command)
    assert (await memory.call({"command": "view", "path": "/memories"})).endswith("\n0B\t/memories")


@pytest.mark.parametrize(
    "command",
    [
        {"command": "create", "path": ORDERS},
        {"command": "create", "path": ORDERS, "file_text": "\ud800"},
        {"command": "create", "path": ORDERS, "file_text": "a\0b"},
        {"command": "create", "path": ORDERS, "file_text": "x" * 2_000_000},
        {"command": "create", "path": "/memories/file/below", "file_text": "x"},
        {"command": "create", "path": "/memories", "file_text": "x"},
        {"command": "str_replace", "path": "/memories/file", "old_str": "", "new_str": "y"},
        {"command": "str_replace", "path": "/memories/file", "old_str": "x", "new_str": "y" * 2_000_000},
        {"command": "insert", "path": "/memories/file", "insert_line": "first", "insert_text": "y"},
        {"command": "rename", "old_path": "/memories/file", "new_path": "/memories/file/below"},
        {"command": "rename", "old_path": "/memories/file", "new_path": "/memories"},
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/all"},
    ],
)
async def test_what_cannot_be_done_is_told_to_the_model(client: AsyncContextClient, name: str, command: dict[str, Any]):
    memory = AsyncMemoryTool(name, client)
    await memory.call({"command": "create", "path": "/memories/file", "file_text": "x"})
    with pytest.raises(ToolError):
        await memory.call(command)
    assert (await memory.call({"command": "view", "path": "/memories/file"})).endswith("\n     1\tx")


async def test_of_several_that_create_a_file_one_does_and_edits_at_once_are_all_there(
    client: AsyncContextClient, name: str
):
    memory = AsyncMemoryTool(name, client)
    create = {"command": "create", "path": ORDERS, "file_text": "one\ntwo\nthree\n"}
    for _ in range(3):  # also of a path that had a file before
        created = await asyncio.gather(*(answered(memory, create) for _ in range(8)))
        assert sum(not answer.startswith("Error") for answer in created) == 1
        assert sum("already exists" in answer for answer in created) == 7
        await memory.call({"command": "delete", "path": ORDERS})
    await memory.call(create)
    inserted = [{"command": "insert", "path": ORDERS, "insert_line": 0, "insert_text": f"line {n}"} for n in range(12)]
    answers = await asyncio.gather(*(answered(memory, edit) for edit in inserted))
    assert set(answers) == {f"The file {ORDERS} has been edited."}
    text = await memory.call({"command": "view", "path": ORDERS})
    assert all(f"line {n}\n" in text for n in range(12))
    edits = [{"command": "str_replace", "path": ORDERS, "old_str": one, "new_str": one * 2} for one in ("one", "two")]
    await asyncio.gather(*(memory.call(edit) for edit in edits))
    assert "oneone\n    14\ttwotwo\n    15\tthree" in await memory.call({"command": "view", "path": ORDERS})


async def test_memories_of_two_names_are_apart_and_files_are_found(client: AsyncContextClient, name: str):
    memory = AsyncMemoryTool(name, client)
    await memory.call({"command": "create", "path": ORDERS, "file_text": "4711 lies at the harbour."})
    assert "does not exist" in await answered(AsyncMemoryTool(f"{name} 2", client), {"command": "view", "path": ORDERS})
    found = await client.records.search("harbour", entity_node_ids=[memory.entity_node_id])
    assert [hit.record.name for hit in found] == [ORDERS]


@contextmanager
def endpoint(script: list[list[dict[str, Any]]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve the Messages API from a script: the blocks of each answer. Yields its URL, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            blocks = script[len(asked) - 1]
            stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
            usage = {"input_tokens": 1, "output_tokens": 1}
            answer = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": blocks}
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer | {"stop_reason": stop, "usage": usage}).encode())

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def used(number: int, **command: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": command}]


SCRIPT = [
    used(1, command="view", path="/memories"),
    used(2, command="create", path="/memories/likes.txt", file_text="tea\n"),
    used(3, command="view", path="/memories/../secret"),
    used(4, command="str_replace", path="/memories/likes.txt", old_str="tea", new_str="coffee"),
    [{"type": "text", "text": "Noted."}],
]


async def test_a_tool_runner_keeps_its_memory_here_beside_a_pack(client: AsyncContextClient, name: str):
    """What the model is shown is packed by a window, and the SDK's context editing is asked for as well."""
    sent = await client.contexts.send(MessageInput("I prefer coffee."))
    window = await client.windows.open(sent.context_id, "claude-sonnet-5-5", message_format="anthropic")
    pack = await client.windows.pack(window.window_id)
    with endpoint(SCRIPT) as (url, asked):
        runner = AsyncAnthropic(base_url=url, api_key="none").beta.messages.tool_runner(
            **{"model": "claude-sonnet-5-5", "max_tokens": 1000, **pack.body},
            tools=[AsyncMemoryTool(name, client)],
            context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
            betas=["context-management-2025-06-27"],
        )
        final = await runner.until_done()
    assert final.content[0].text == "Noted."
    assert "I prefer coffee." in json.dumps(asked[0])
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = {
        block["tool_use_id"]: block
        for request in asked
        for message in request["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert [bool(result.get("is_error")) for result in results.values()] == [False, False, True, False]
    assert "would escape" in str(results["toolu_3"])
    view = {"command": "view", "path": "/memories/likes.txt"}
    assert "1\tcoffee" in await AsyncMemoryTool(name, client).call(view)


def test_a_tool_runner_that_blocks_keeps_its_memory_here(name: str):
    with ContextClient() as client, endpoint(SCRIPT) as (url, _):
        runner = Anthropic(base_url=url, api_key="none").beta.messages.tool_runner(
            model="scripted",
            max_tokens=1000,
            messages=[{"role": "user", "content": "I prefer coffee."}],
            tools=[MemoryTool(name, client)],
        )
        assert runner.until_done().content[0].text == "Noted."
        assert "coffee" in MemoryTool(name, client).call({"command": "view", "path": "/memories/likes.txt"})
