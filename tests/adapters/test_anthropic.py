"""The memory tool on working memory: beside the SDK's own on a folder, and in its runner, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import re
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

from contextkeep import AsyncContextClient, ContextClient, MessageInput
from contextkeep.adapters.anthropic import AsyncMemoryTool, MemoryTool

ORDERS = "/memories/orders.md"
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
