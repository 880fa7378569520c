"""What folds clear is for the profile to say: calls of some tools stay in view, and arguments of others are cleared."""

from __future__ import annotations

from typing import Any

import orjson

from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import opened, packed, result, said

LIMIT = 12_000
PROFILE = """
extends: general
tool_clearing:
  '^read_ticket$': {keep_last: 2}
  '^notes$': {never_clear: true}
  '^write_report$': {clear_inputs: true}
"""


def called(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    call = message_pb2.ToolCall(id=call_id, name=name, arguments_json=orjson.dumps(arguments).decode())
    return {"role": "assistant", "parts": [message_pb2.Part(tool_call=call)]}


def page(title: str, lines: int) -> str:
    return "\n".join(f"{title}: entry {n} of the ledger" for n in range(lines))


async def worked(caller: Caller, profile: str) -> tuple[windows_pb.Window, windows_pb.PackResponse]:
    """Let an agent take notes, read four tickets, write a report and look at many pages, and return the last pack."""
    context_id = await said(
        caller,
        "",
        {"content": "Go through the tickets."},
        *(called("notes", "n"), result("n", page("noted", 60))),
        *(
            message
            for n in range(4)
            for message in (called("read_ticket", f"t{n}"), result(f"t{n}", page(f"ticket {n}", 40)))
        ),
        *(called("write_report", "w", path="report.md", content=page("report", 60)), result("w", "written")),
    )
    window = await opened(caller, context_id, LIMIT, compression_profile=profile)
    pack = await packed(caller, window, without_recall=True)
    for n in range(60):
        await said(caller, context_id, called("look", f"c{n}"), result(f"c{n}", page(f"page {n}", 30)))
        before, pack = pack, await packed(caller, window, without_recall=True)
        assert pack.tokens <= LIMIT
        if pack.epoch == before.epoch:
            assert pack.messages_json.encode().startswith(before.messages_json.encode()[: before.prefix_bytes])
    assert pack.epoch > 1
    return window, pack


async def test_calls_of_tools_that_the_profile_names_stay_whole_over_many_folds(caller: Caller, other_replica: Caller):
    await caller.call("PutProfile", name="of-tickets", text=PROFILE)

    window, pack = await worked(caller, "of-tickets")

    body = pack.messages_json
    assert await packed(other_replica, window, without_recall=True) == pack
    assert orjson.dumps(page("noted", 60)).decode()[1:-1] in body
    for n in (2, 3):
        assert f"ticket {n}: entry 39" in body
    for n in (0, 1):
        assert f"ticket {n}: entry 39" not in body
    explained = await caller.call("ExplainPack", window_id=window.window_id)
    assert sum(part.tokens for part in explained.parts) <= LIMIT


async def test_steps_that_stay_in_view_and_steps_that_are_merged_later_count_once(caller: Caller):
    """The range of the summary around such a step has it, too."""
    await caller.call("PutProfile", name="of-late-tickets", text=PROFILE)
    window, _ = await worked(caller, "of-late-tickets")
    for n in (4, 5):  # the tickets that stayed until now are merged by the next folds
        await said(caller, window.context_id, called("read_ticket", f"t{n}"), result(f"t{n}", page(f"ticket {n}", 40)))
    for n in range(60, 90):
        await said(caller, window.context_id, called("look", f"c{n}"), result(f"c{n}", page(f"page {n}", 30)))
        await packed(caller, window, without_recall=True)

    found = await caller.call("WindowStats", window_id=window.window_id)

    of_steps = [one for one in found.levels if one.zone not in ("conversation", "state")]
    assert sum(one.step_count for one in of_steps) == found.step_count
    assert sum(one.log_tokens for one in of_steps) == found.log_tokens


async def test_without_rules_results_of_old_calls_are_cleared(caller: Caller):
    _, pack = await worked(caller, "general")

    assert "noted: entry 59" not in pack.messages_json
    assert "ticket 3: entry 39" not in pack.messages_json
