"""Sessions of the OpenAI Agents SDK, and the SDK's own runner on them, with a model that follows a script."""

from __future__ import annotations

import hashlib
import itertools
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, Runner, ToolOutputImage, Usage, function_tool
from agents.memory import SQLiteSession
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from contextkeep import AsyncContextClient, MessageInput
from contextkeep.adapters.openai_agents import ContextSession, PackedSession
from tests.context_service.retrieval.files import pdf
from tests.media import png

USER = {"role": "user", "content": "Where is order 4711?"}
ITEMS: list[Any] = [
    USER,
    {"role": "developer", "content": "Be short."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And this?"}]},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is on it?"},
            {"type": "input_image", "detail": "auto", "image_url": "https://example.org/a.png"},
            {"type": "input_file", "file_id": "file-1"},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "find",
        "arguments": '{"order": 4711}',
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "c1", "output": "At the harbour."},
    {"type": "function_call", "call_id": "c2", "name": "find", "arguments": '{"order": 47'},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "no JSON"}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "harbour"}},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "At the harbour. ⚓", "annotations": [], "logprobs": []}],
    },
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "<b>\u202eabc & 'quoted'\r\n\t</b>"},
]


class Scripted(Model):
    """Answers what the script says, and remembers what it was shown."""

    def __init__(self, script: list[Any]) -> None:
        self.script = script
        self.shown: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        self.shown.append(input)
        return ModelResponse(output=[self.script.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    piece = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[piece])


def called(name: str, arguments: str, call_id: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(type="function_call", name=name, arguments=arguments, call_id=call_id)


@function_tool
def find(order: int) -> str:
    """Say where an order is."""
    return f"Order {order} is at the harbour. " + "Waves. " * 400


async def test_items_come_back_as_they_were_and_as_the_sdks_own_session_has_them(client: AsyncContextClient, name: str):
    ours, theirs = ContextSession(name, client), SQLiteSession(name)
    for session in (ours, theirs):
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS)
    assert await ours.get_items() == await theirs.get_items() == ITEMS
    for limit in (0, 1, 3, 100):
        assert await ours.get_items(limit) == await theirs.get_items(limit)
    assert await ours.pop_item() == await theirs.pop_item() == ITEMS[-1]
    assert await ours.get_items() == await theirs.get_items() == ITEMS[:-1]


async def test_another_process_goes_on_and_a_cleared_session_begins_anew(client: AsyncContextClient, name: str):
    first, second = ContextSession(name, client), ContextSession(name, client)
    await first.add_items([USER])
    assert await second.get_items() == [USER]
    await second.clear_session()
    await second.clear_session()
    assert await first.get_items() == []
    await first.add_items(ITEMS[1:2])
    assert await ContextSession(name, client).get_items() == ITEMS[1:2]


async def test_more_than_one_call_writes_is_written_in_its_order(client: AsyncContextClient, name: str):
    session = ContextSession(name, client)
    items: list[Any] = [{"role": "user", "content": f"number {n}"} for n in range(1_101)]
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(700) == items[-700:]


async def test_a_runner_goes_on_from_its_session_and_others_read_what_it_did(client: AsyncContextClient, name: str):
    session = ContextSession(name, client)
    model = Scripted([called("find", '{"order":4711}', "c1"), said("At the harbour."), said("You are welcome.")])
    agent = Agent(name="clerk", model=model, tools=[find])
    assert (await Runner.run(agent, "Where is order 4711?", session=session)).final_output == "At the harbour."
    assert (await Runner.run(agent, "Thanks", session=ContextSession(name, client))).final_output == "You are welcome."
    assert [item.get("type", "message") for item in model.shown[-1]] == [
        *("message", "function_call", "function_call_output", "message", "message")
    ]
    context_id = await session.context_id()
    assert context_id is not None
    recalled = await client.contexts.recall(context_id, "where is the order?")
    assert any("harbour" in item.text for item in recalled.items)
    await client.contexts.send(MessageInput("It was delivered.", role="assistant"), context_id)
    assert (await session.get_items())[-1] == {"role": "assistant", "content": "It was delivered."}


async def test_a_packed_session_stays_within_its_budget_with_pairs_whole(client: AsyncContextClient, name: str):
    """And what a run sees begins with what the one before saw, but where it folded."""
    session = PackedSession(name, client, model="gpt-5", context_tokens=12_000)
    turns = 30
    script = [one for n in range(turns) for one in (called("find", f'{{"order":{n}}}', f"c{n}"), said(f"Found {n}."))]
    model = Scripted(script)
    agent = Agent(name="clerk", model=model, tools=[find])
    await session.add_items([{"role": "user", "content": "Never promise a date."}])
    for n in range(turns):
        await Runner.run(agent, f"Where is order {n}?", session=session)
    whole = await ContextSession(name, client).get_items()
    assert len(whole) == 1 + 4 * turns
    for shown in model.shown:
        assert len(str(shown)) < 9_600 * 5
        calls = [one["call_id"] for one in shown if one.get("type") == "function_call"]
        results = [one["call_id"] for one in shown if one.get("type") == "function_call_output"]
        assert calls == results
    first = [shown for shown in model.shown if shown[-1].get("role") == "user"]
    kept = sum(after[: len(before) - 1] == before[:-1] for before, after in itertools.pairwise(first))
    assert turns * 0.8 <= kept < turns - 1
    assert "Never promise a date." in str(model.shown[-1])
    assert (await session.get_items(2)) == whole[-2:]
    assert await session.window_id() == await PackedSession(name, client, model="gpt-5").window_id()


async def test_a_packed_session_that_was_cleared_elsewhere_begins_anew(client: AsyncContextClient, name: str):
    session = PackedSession(name, client, model="gpt-5")
    assert await session.get_items() == []
    await session.add_items([USER])
    assert await session.get_items() == [USER]
    await ContextSession(name, client).clear_session()
    assert await session.get_items() == []
    await session.add_items(ITEMS[2:3])
    assert "And this?" in str(await session.get_items())


@pytest.mark.parametrize("user", ["", "somebody"])
async def test_sessions_of_users_are_apart(client: AsyncContextClient, name: str, user: str):
    mine = ContextSession(name, client, subject_user_id=user)
    await mine.add_items([USER])
    assert await ContextSession(name, client, subject_user_id="somebody else").get_items() == []


PNG = png(120, 80)
PICTURE = "data:image/png;base64," + b64encode(PNG).decode()
WITH_FILES: list[Any] = [
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Что на снимке?"},
            {"type": "input_image", "detail": "high", "image_url": PICTURE},
            {
                "type": "input_file",
                "filename": "счёт.pdf",
                "file_data": "data:application/pdf;base64," + b64encode(b"%PDF-1.4 " + b"x" * 60_000).decode(),
            },
        ],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "shot", "arguments": "{}", "status": "completed"},
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [
            {"type": "input_text", "text": "готово"},
            {"type": "input_image", "image_url": PICTURE},
            {"type": "input_image", "image_url": "https://example.org/a.png"},
        ],
    },
]


async def test_files_come_out_as_they_went_in_and_are_files_of_the_context(client: AsyncContextClient, name: str):
    ours, theirs = ContextSession(name, client), SQLiteSession(name)
    for session in (ours, theirs):
        await session.add_items(WITH_FILES)
    assert await ours.get_items() == await theirs.get_items() == WITH_FILES
    assert await ContextSession(name, client).get_items() == WITH_FILES
    context_id = await ours.context_id()
    assert context_id is not None
    messages = [message async for message in client.contexts.list_messages(context_id)]
    shown = [part.file for part in messages[0].parts if part.file]
    assert [(file.media_type, file.width, file.name) for file in shown] == [
        ("image/png", 120, ""),
        ("application/pdf", 0, "счёт.pdf"),
    ]
    (result,) = [part.tool_result for part in messages[2].parts if part.tool_result]
    assert [file.sha256 for file in result.files] == [hashlib.sha256(PNG).hexdigest()]
    assert "iVBOR" not in result.content_json
    assert await ours.pop_item() == WITH_FILES[-1]


def shown_files(items: list[Any]) -> list[str]:
    """Return the pictures and files of items, in their order, as their `data:` URLs."""
    content = [piece for item in items for piece in item.get("content") or item.get("output") or () if item]
    pieces = [piece for piece in content if isinstance(piece, dict)]
    return [url for piece in pieces if (url := piece.get("image_url") or piece.get("file_data"))]


async def test_a_packed_session_shows_a_runners_model_the_pictures_and_pdfs_that_it_was_given(
    client: AsyncContextClient, name: str
):
    """Also the picture that a tool answers, and also another process that goes on with the session."""
    invoice = "data:application/pdf;base64," + b64encode(pdf(["Rechnung 4711"])).decode()
    taken = "data:image/png;base64," + b64encode(png(90, 60, color=3)).decode()

    @function_tool
    def shot() -> Any:
        """Make a screenshot."""
        return ToolOutputImage(image_url=taken)

    model = Scripted([called("shot", "{}", "c1"), said("Both agree."), said("Yes.")])
    agent = Agent(name="clerk", model=model, tools=[shot])
    asked: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Compare them with the screen."},
                {"type": "input_image", "detail": "auto", "image_url": PICTURE},
                {"type": "input_file", "filename": "Rechnung.pdf", "file_data": invoice},
            ],
        }
    ]
    session = PackedSession(name, client, model="gpt-5", context_tokens=60_000)
    assert (await Runner.run(agent, asked, session=session)).final_output == "Both agree."
    again = PackedSession(name, client, model="gpt-5", context_tokens=60_000)
    assert (await Runner.run(agent, "Sure?", session=again)).final_output == "Yes."
    assert shown_files(model.shown[0]) == [PICTURE, invoice]
    assert shown_files(model.shown[-1]) == [PICTURE, invoice, taken]


HOSTILE: list[Any] = [
    {"type": "function_call_output", "call_id": "c1", "output": "PK\x03\x04\x00\x00 Hafen"},
    {"role": "user", "content": "chat \ud83d noir"},
    {"role": "user", "content": "\ud800", "extra": {"\0": [float("inf"), 2**80]}},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "what\0is it?"},
            {"type": "input_image", "detail": "auto", "image_url": PICTURE},
        ],
    },
    {"type": "function_call", "call_id": "c2", "name": "find", "arguments": '{"path": "\0"}'},
    {"type": "function_call", "call_id": "c" * 500, "name": "find", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c2", "output": "\0" * 700_000},
    {"role": "user", "content": "茶" * 800_000},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"n {n}"} for n in range(250)]},
    {"role": "user", "content": "deep", "extra": json.loads("[" * 90 + "]" * 90)},
]


async def test_what_postgres_keeps_not_as_text_and_what_is_large_comes_out_as_it_went_in(
    client: AsyncContextClient, name: str
):
    """NUL in the answer of a tool is the most frequent cause of sessions that cannot go on."""
    ours, theirs = ContextSession(name, client), SQLiteSession(name)
    for session in (ours, theirs):
        await session.add_items(HOSTILE)
    assert await ContextSession(name, client).get_items() == await theirs.get_items() == HOSTILE
    assert await ours.pop_item() == await theirs.pop_item() == HOSTILE[-1]


async def test_what_postgres_keeps_not_as_text_is_read_and_found(client: AsyncContextClient, name: str):
    session = PackedSession(name, client, model="gpt-5")
    await session.add_items([{"role": "user", "content": "The lighthouse\0is \ud83d red."}, *HOSTILE[3:4]])
    shown = await session.get_items()
    assert shown[0] == {"role": "user", "content": "The lighthouse\ufffdis \ufffd red."}
    assert PICTURE in str(shown[1])
    context_id = await session.context_id()
    assert context_id is not None
    assert "lighthouse" in (await client.contexts.recall(context_id, "lighthouse")).items[0].text


async def test_a_secret_with_nul_is_not_kept(client: AsyncContextClient, name: str):
    session = ContextSession(name, client)
    await session.add_items([{"type": "shell_call", "call_id": "c", "by": {"type": "token", "value": "hunter2\0"}}])
    assert "hunter2" not in str(await session.get_items())
