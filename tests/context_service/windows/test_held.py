"""What holds of a state that has very many entries: rules, values and goals stay, whatever came behind them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import InvalidPageToken
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import opened, packed, said

PATHS_OF_CALL, CALLS = 4, 50  # of a message, which makes 200 entries


def reads(message: int) -> dict[str, Any]:
    """Return a message that names 200 files, each once and for all."""
    calls = [
        message_pb2.ToolCall(
            id=f"{message}.{n}",
            name="read_files",
            arguments_json=orjson.dumps({"paths": [f"{message}/{n}/{m}.py" for m in range(PATHS_OF_CALL)]}).decode(),
        )
        for n in range(CALLS)
    ]
    return {"role": "assistant", "parts": [message_pb2.Part(tool_call=call) for call in calls]}


def failed(n: int) -> dict[str, Any]:
    """Return a result that is an error as none before."""
    result = message_pb2.ToolResult(tool_call_id=f"e{n}", content_json=f'"cannot open file number {n}"', is_error=True)
    return {"role": "tool", "parts": [message_pb2.Part(tool_result=result)]}


async def state(caller: Caller, window: windows_pb.Window, *sections: str) -> list[str]:
    """Return all that a window holds, page by page."""
    texts, token = [], ""
    while True:
        asked = {"window_id": window.window_id, "sections": sections, "page_size": 200, "page_token": token}
        page = await caller.call("GetState", **asked)
        texts += [one.text for one in page.entries]
        if not (token := page.next_page_token):
            return texts


async def test_a_rule_and_a_value_hold_behind_thousands_of_files(caller: Caller):
    context_id = await said(caller, "", {"content": "Never touch the vendor folder. The staging port is 8443."})
    window = await opened(caller, context_id, 12_000, config={"keep_last_steps": 2})
    for start in range(0, 27, 9):
        await said(caller, context_id, *map(reads, range(start, start + 9)))
        await packed(caller, window)

    body = (await packed(caller, window)).messages_json.partition("[State of the work after step ")[2]
    assert int(body.partition("]")[0]) * PATHS_OF_CALL * CALLS > 5_000
    assert "Never touch the vendor folder." in body
    assert "The staging port is 8443." in body
    assert await state(caller, window, "constraint", "value") == [
        "Never touch the vendor folder.",
        "The staging port is 8443.",
    ]


async def test_a_goal_gives_way_to_another_behind_hundreds_of_errors(caller: Caller):
    context_id = await said(caller, "", {"content": "The goal is to find the file. Never touch the vendor folder."})
    window = await opened(caller, context_id, 30_000)
    await packed(caller, window)
    assert await state(caller, window, "goal") == ["The goal is to find the file."]
    await said(caller, context_id, *map(failed, range(520)))
    await packed(caller, window)
    assert len(await state(caller, window, "error")) == 520

    await said(
        caller,
        context_id,
        failed(520),
        {"content": "The goal is now to write a report. Never touch the vendor folder!"},
    )
    pack = await packed(caller, window)

    assert await state(caller, window, "goal") == ["The goal is now to write a report."]
    assert await state(caller, window, "constraint") == ["Never touch the vendor folder."]
    assert "no longer: user: The goal is to find the file." in pack.messages_json


async def test_a_page_of_the_state_goes_on_where_the_one_before_ended(caller: Caller):
    first_said = {"content": "Never touch the vendor folder. The port is 8443."}
    context_id = await said(caller, "", first_said, reads(1), {"content": "Go on."})
    window = await opened(caller, context_id, 30_000)
    await packed(caller, window)

    async def page(token: str = "", **fields: Any) -> windows_pb.GetStateResponse:
        return await caller.call("GetState", window_id=window.window_id, page_token=token, **fields)

    first = await page(page_size=1)
    assert [one.text for one in first.entries] == ["Never touch the vendor folder."]
    second = await page(first.next_page_token, page_size=1)
    assert [one.text for one in second.entries] == ["The port is 8443."]
    rest = await page(second.next_page_token, page_size=1_000)
    assert len([one for one in rest.entries if one.section == "artifact"]) == PATHS_OF_CALL * CALLS
    assert [one.key for one in rest.entries if one.section == "tool"] == ["read_files"]  # with the last page only
    assert not rest.next_page_token
    for wrong in ({"sections": ["value"]}, {"window_id": (await opened(caller, context_id)).window_id}):
        with pytest.raises(InvalidPageToken):
            await caller.call(
                "GetState", **{"window_id": window.window_id, "page_token": first.next_page_token, **wrong}
            )
