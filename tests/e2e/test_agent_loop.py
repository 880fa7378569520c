"""The loop of an agent (`examples/agent_loop.py`), with a model that is scripted, at an endpoint of ours."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextkeep import AsyncContextClient
from tests.commands import Commands
from tests.conftest import Addresses
from tests.e2e.examples import program

Ask = Callable[..., Any]


class Endpoint(ThreadingHTTPServer):
    """Answers chat completions by a script, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.script: list[Mapping[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.usage: Mapping[str, int] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def seen(self) -> list[list[dict[str, Any]]]:
        return [one["messages"] for one in self.asked]


class _Completions(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions"
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        message = {"role": "assistant", **self.server.script.pop(0)}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
        if self.server.usage:
            answer["usage"] = self.server.usage
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(shared_services: Addresses, key: str, endpoint: Endpoint, tmp_path: Path, commands: Commands) -> Ask:
    """Run the example, as in a terminal, in a folder with a file, and return what it prints."""
    (tmp_path / "plan.md").write_text("First the stripes.")
    environment = {
        "CONTEXT_SERVICE_ADDRESS": shared_services.context,
        "CONTEXT_SERVICE_API_KEY": key,
        "OPENAI_BASE_URL": endpoint.url,
        "OPENAI_API_KEY": "none",
        "OPENAI_MODEL": "scripted",
        "CONTEXT_TOKENS": "20000",
    }

    async def ask(*arguments: str) -> list[str]:
        code = program("agent_loop.py", *arguments)
        done = await asyncio.to_thread(commands.run_code, code, environment=environment, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return ask


def calls(*named: tuple[str, str]) -> dict[str, Any]:
    """Return what a model says that calls tools, with their arguments as it writes them."""
    return {
        "content": None,
        "tool_calls": [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(named)
        ],
    }


async def test_the_model_reads_what_its_tools_answered_and_answers(ask: Ask, endpoint: Endpoint):
    endpoint.script = [
        calls(("list_files", '{"path": "."}')),
        calls(("read_file", '{"path": "plan.md"}')),
        {"content": "About stripes."},
    ]

    answer, last = await ask("What is this about?")

    assert answer == "About stripes."
    assert last.endswith("tokens")
    first, second, third = endpoint.seen
    assert [one["role"] for one in third] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert (second[: len(first)], third[: len(second)]) == (first, second)
    assert [one["content"] for one in third if one["role"] == "tool"] == ['["plan.md"]', "First the stripes."]
    assert {tool["function"]["name"] for tool in endpoint.asked[0]["tools"]} == {"list_files", "read_file"}


async def test_what_was_billed_is_said(ask: Ask, endpoint: Endpoint, shared_services: Addresses, key: str):
    endpoint.usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    endpoint.script = [{"content": "Yes."}]
    _, last = await ask("Is it?")
    window_id = last.split()[1].rstrip(":")
    async with AsyncContextClient(shared_services.context, api_key=key) as context:
        usage = (await context.windows.stats(window_id)).usage
    assert (usage.call_count, usage.input_tokens, usage.output_tokens) == (1, 100, 5)


async def test_behind_the_id_of_its_window_the_agent_goes_on_where_it_was(ask: Ask, endpoint: Endpoint):
    endpoint.script = [calls(("read_file", '{"path": "plan.md"}')), {"content": "Stripes."}, {"content": "As I said."}]
    _, last = await ask("What is first?")

    assert (await ask("And then?", last.split()[1].rstrip(":")))[0] == "As I said."

    before, after = endpoint.seen[1:]
    assert after[: len(before)] == before
    assert [one["content"] for one in after[len(before) :]] == ["Stripes.", "And then?"]


async def test_a_call_that_cannot_be_is_told_to_the_model(ask: Ask, endpoint: Endpoint):
    """A small model writes what is no JSON, names tools that are not there, and asks for what it shall not see."""
    endpoint.script = [
        calls(
            ("read_file", '{"path": "../../secret"}'), ("read_file", '{"path": '), ("rm", "{}"), ("list_files", "[]")
        ),
        {"content": ""},
    ]

    await ask("What is there?")

    told = [one["content"] for one in endpoint.seen[1] if one["role"] == "tool"]
    assert [text.partition(":")[0] for text in told] == ["PermissionError", "TypeError", "KeyError", "TypeError"]
