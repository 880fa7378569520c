"""What users said stays in packs word for word, over running services: after folds, rollbacks and in every format."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, opened, packed, result, said

TASK = (
    "We are moving the payroll exports from SFTP drops to the bank's REST interface. Go through the exports one by "
    "one, keep the nightly job running, and tell me when a field is unclear. Round half up to five centimes.\n\n"
    "Deliver:\n- one module for each export, with its tests\n- a table of the fields that have no counterpart\n\n"
    "When all of it runs against the bank's sandbox, close PAY-3381 and write to Ms. Imhof."
)
ROWS = "\n".join(f"{n:05};CH93 0076 2011 6238 5{n:03};{n * 13 % 997}.50;CHF" for n in range(60))


def reads(numbers: range) -> list[dict[str, Any]]:
    """Return steps in which an agent reads one file each."""
    steps: list[dict[str, Any]] = []
    for n in numbers:
        arguments = orjson.dumps({"path": f"exports/{n}.csv"}).decode()
        call = message_pb2.ToolCall(id=f"r{n}", name="read_file", arguments_json=arguments)
        steps += [{"role": "assistant", "parts": [message_pb2.Part(tool_call=call)]}, result(f"r{n}", ROWS)]
    return steps


def texts_of(value: object) -> str:
    """Return all texts of a body in one."""
    if isinstance(value, dict):
        return "\n".join(map(texts_of, value.values()))
    if isinstance(value, list):
        return "\n".join(map(texts_of, value))
    return str(value)


def seen(pack: windows_pb.PackResponse) -> str:
    return texts_of(orjson.loads(pack.messages_json))


@pytest.mark.parametrize("to", FORMATS)
async def test_the_task_is_in_every_pack_whole_after_a_hundred_files(to: Format, caller: Caller):
    context_id = await said(caller, "", {"content": TASK})
    window = await opened(caller, context_id, 24_000, format=FORMATS[to], compression_profile="coding")
    before = None
    for start in range(0, 100, 10):
        await said(caller, context_id, *reads(range(start, start + 10)))
        pack = await packed(caller, window, without_recall=True)
        assert TASK in seen(pack)
        assert pack.tokens <= window.token_limit
        if before and before.epoch == pack.epoch:
            same = pack.messages_json.encode()[: before.prefix_bytes]
            assert hashlib.sha256(same).hexdigest() == before.prefix_sha
        before = pack
    assert before and before.epoch > 0
    assert 0 < before.tokens_by_zone.conversation <= 0.2 * window.token_limit
    traced = (await caller.call("TraceMessage", window_id=window.window_id, ref="m1")).messages[0]
    assert (traced.place, traced.is_whole) == ("conversation", True)


async def test_a_rollback_brings_the_conversation_back_as_it_was(caller: Caller):
    context_id = await said(caller, "", {"content": TASK})
    window = await opened(caller, context_id, 12_000, compression_profile="coding")
    for start in range(0, 60, 10):
        await said(caller, context_id, *reads(range(start, start + 10)))
        await packed(caller, window, without_recall=True)
    kept = await caller.call("CreateCheckpoint", window_id=window.window_id)
    then = await packed(caller, window, without_recall=True)
    notes = [f"Note {n}: the file of branch {n} is " + "checked twice by hand and signed. " * 12 for n in range(40)]
    for start in range(0, 40, 10):
        for n in range(start, start + 10):
            await said(caller, context_id, {"content": notes[n]}, *reads(range(100 + n, 101 + n)))
        now = await packed(caller, window, without_recall=True)
    assert "not shown here any more" in seen(now)  # the conversation was cut

    await caller.call(
        "Rollback",
        window_id=window.window_id,
        checkpoint=kept.checkpoint.number,
        expected_last_seq=now.last_seq,
    )

    again = await packed(caller, window, without_recall=True)
    assert again.tokens_by_zone == then.tokens_by_zone
    assert orjson.loads(again.messages_json) == orjson.loads(then.messages_json)
    for start in range(0, 40, 10):  # folds after a rollback write beside what it brought back
        for n in range(start, start + 10):
            await said(caller, context_id, {"content": notes[n]}, *reads(range(200 + n, 201 + n)))
        now = await packed(caller, window, without_recall=True)
        assert now.tokens <= window.token_limit


@pytest.mark.parametrize("to", FORMATS)
async def test_a_rollback_past_a_second_speaker_brings_back_each_byte(to: Format, caller: Caller):
    """The names of speakers came with the folds after the checkpoint, before masked blocks and others."""
    context_id = await said(caller, "", {"content": TASK, "name": "Ann"})
    window = await opened(caller, context_id, 12_000, format=FORMATS[to])
    await said(caller, context_id, *reads(range(8)), {"content": "And the tax export?", "name": "Ann"})
    then = await packed(caller, window, without_recall=True)
    kept = await caller.call("CreateCheckpoint", window_id=window.window_id)
    await said(caller, context_id, {"content": "Leave the bonus export to me.", "name": "Bo"}, *reads(range(8, 12)))
    await caller.call("Fold", window_id=window.window_id)
    await said(caller, context_id, *reads(range(12, 40)))
    now = await packed(caller, window, without_recall=True)
    assert now.epoch > then.epoch + 1
    if to is not Format.OPENAI:
        assert "Ann: And the tax export?" not in then.messages_json

    await caller.call(
        "Rollback",
        window_id=window.window_id,
        checkpoint=kept.checkpoint.number,
        expected_last_seq=now.last_seq,
    )

    again = await packed(caller, window, without_recall=True)
    assert again.messages_json == then.messages_json
    assert again.tokens_by_zone == then.tokens_by_zone
    await said(caller, context_id, {"content": "Bo is back.", "name": "Bo"})
    await caller.call("Pin", window_id=window.window_id, text="Names again.")
    named = seen(await packed(caller, window, without_recall=True))
    assert (to is Format.OPENAI) or "Ann: And the tax export?" in named
