"""Where the work stands is in every pack, over running services: the assistant's last words and plan after folds."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from contextkeep.context.v1 import message_pb2
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, opened, packed, result, said
from tests.context_service.windows.packing.test_users_words import reads, seen

PLAN = {
    "plan": [
        {"step": "Exporte lesen", "status": "completed"},
        {"step": 'Felder ohne Gegenstück — "Saldo", «Valuta» — notieren', "status": "in_progress"},
    ]
}
FIRST = "The SEPA export writes amounts in cents; the bank's interface wants them as decimals."
SECOND = "I will convert the exports from the oldest to the newest.\n\nThree are done: salary, bonus and tax."


def plans(call_id: str, plan: object, tool: str = "update_plan") -> list[dict[str, Any]]:
    """Return a step in which the assistant writes its plan."""
    call = message_pb2.ToolCall(id=call_id, name=tool, arguments_json=orjson.dumps(plan).decode())
    return [{"role": "assistant", "parts": [message_pb2.Part(tool_call=call)]}, result(call_id, "Plan updated")]


@pytest.mark.parametrize("to", FORMATS)
async def test_the_plan_and_the_last_two_statements_outlast_sixty_silent_steps(to: Format, caller: Caller):
    statements = [{"role": "assistant", "content": text} for text in ("I begin.", FIRST, SECOND)]
    context_id = await said(caller, "", {"content": "Move the payroll exports."}, *plans("p1", PLAN), *statements)
    window = await opened(caller, context_id, 12_000, format=FORMATS[to])
    before = None
    for start in range(0, 60, 5):
        await said(caller, context_id, *reads(range(start, start + 5)))
        pack = await packed(caller, window, without_recall=True)
        assert pack.tokens <= window.token_limit
        text = seen(pack)
        for statement in (FIRST, SECOND):
            assert statement in text
        assert "Gegenstück" in text
        if before and before.epoch == pack.epoch:
            same = pack.messages_json.encode()[: before.prefix_bytes]
            assert hashlib.sha256(same).hexdigest() == before.prefix_sha
        before = pack
    assert before and before.epoch > 2
    assert orjson.dumps(PLAN).decode() in seen(before)
    spans = [span for span in before.spans if span.author == "assistant" and span.ref in ("m2/1", "m6")]
    assert {span.trust for span in spans} == {"assistant"}
    assert len(spans) == 2
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m6", text="salary, bonus")
    (message,) = trace.messages
    assert trace.sentence.is_shown
    assert message.is_whole
    assert message.place in ("segment", "digest")
    assert "state" in {line.zone for line in message.lines}

    later = {"plan": [{"step": "Write to the bank", "status": "pending"}]}
    await said(caller, context_id, *plans("p2", later), *reads(range(60, 110)))
    text = seen(await packed(caller, window, without_recall=True))
    assert "Write to the bank" in text
    assert "Gegenstück" not in text


async def test_a_profile_names_tools_that_plan(caller: Caller):
    await caller.call("PutProfile", name="boards", text="extends: general\nplanning_tools: [kanban_board]")
    context_id = await said(caller, "", {"content": "Order the tasks."}, *plans("k1", PLAN, tool="kanban_board"))
    window = await opened(caller, context_id, 8_000, compression_profile="boards")
    await said(caller, context_id, *reads(range(60)))
    assert orjson.dumps(PLAN).decode() in seen(await packed(caller, window, without_recall=True))


async def test_a_prepared_fold_shows_the_plan_of_the_time_of_its_commit(caller: Caller):
    context_id = await said(caller, "", {"content": "Move the exports."}, *plans("p1", PLAN), *reads(range(14)))
    window = await opened(caller, context_id, 40_000)
    await packed(caller, window, without_recall=True)
    await caller.call("PrepareFold", window_id=window.window_id)
    await said(caller, context_id, *plans("p2", {"plan": ["Write to the bank"]}))
    await caller.call("CommitFold", window_id=window.window_id)
    text = seen(await packed(caller, window, without_recall=True))
    assert "Write to the bank" in text
    assert "no longer shown in full" not in text


async def test_a_rollback_brings_back_the_plan_of_its_checkpoint(caller: Caller):
    context_id = await said(caller, "", {"content": "Move the exports."}, *plans("p1", PLAN), *reads(range(60)))
    window = await opened(caller, context_id, 10_000)
    then = await packed(caller, window, without_recall=True)
    kept = await caller.call("CreateCheckpoint", window_id=window.window_id)
    await said(caller, context_id, *plans("p2", {"plan": ["Write to the bank"]}), *reads(range(60, 120)))
    now = await packed(caller, window, without_recall=True)
    assert "Gegenstück" not in seen(now)
    await caller.call(
        "Rollback",
        window_id=window.window_id,
        checkpoint=kept.checkpoint.number,
        expected_last_seq=now.last_seq,
    )
    again = await packed(caller, window, without_recall=True)
    assert again.messages_json == then.messages_json
    assert again.tokens_by_zone == then.tokens_by_zone
