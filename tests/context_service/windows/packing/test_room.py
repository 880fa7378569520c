"""Steps that are larger than the room for them: a pack shows as much of them as it can."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import BudgetTooSmall
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, calls, opened, packed, result, said
from tests.context_service.windows.test_windows import checked

LIMIT = 24_000
CODE = "\n".join(
    f"    total_{n} = price_{n * 7919 % 997} * quantity  # line {n}" for n in range(1_500)
)  # 25,000 tokens
READ = "\n".join(f"def look_{n}(): ..." for n in range(150))


def wrote(call_id: str, content: str) -> dict[str, Any]:
    arguments = orjson.dumps({"path": "ledger/totals.py", "content": content}).decode()
    call = message_pb2.ToolCall(id=call_id, name="write_file", arguments_json=arguments)
    return {"role": "assistant", "parts": [message_pb2.Part(tool_call=call)]}


async def worked(caller: Caller, context_id: str, window: windows_pb.Window, steps: range) -> windows_pb.PackResponse:
    """Work through small steps, with a pack after each, and return the last pack."""
    pack = windows_pb.PackResponse()
    for n in steps:
        await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", f"{READ}\nand {n}"))
        pack = await packed(caller, window, without_recall=True)
    return pack


async def rolled_back(
    caller: Caller, window: windows_pb.Window, checkpoint: windows_pb.Checkpoint, pack: windows_pb.PackResponse
) -> None:
    fields = {"checkpoint": checkpoint.number, "expected_last_seq": pack.last_seq}
    await caller.call("Rollback", window_id=window.window_id, **fields)


@pytest.mark.parametrize("to", FORMATS)
async def test_a_newest_result_that_does_not_fit_uses_the_room(to: Format, caller: Caller, other_replica: Caller):
    """The pack shows its head and its tail, and is the same from any replica and after small steps that fit."""
    context_id = await said(caller, "", {"content": "Total the ledger."})
    window = await opened(caller, context_id, LIMIT, format=FORMATS[to], compression_profile="coding")
    await worked(caller, context_id, window, range(20))
    await said(caller, context_id, calls("big"), result("big", CODE))

    pack = await packed(caller, window)

    body = checked(pack, window, to).decode()
    assert pack.tokens > 0.85 * LIMIT
    assert "price_0 *" in body
    assert "# line 1499" in body
    assert "characters left out: m43/1]" in body
    assert await packed(other_replica, window) == pack
    await said(caller, context_id, {"role": "assistant", "content": "I see."})
    later = await packed(caller, window)
    assert later.epoch == pack.epoch
    assert later.messages_json.encode().startswith(body.encode()[: pack.prefix_bytes])


@pytest.mark.parametrize("to", FORMATS)
async def test_a_newest_call_whose_arguments_do_not_fit_is_packed_before_and_after_its_result(
    to: Format, caller: Caller
):
    context_id = await said(caller, "", {"content": "Total the ledger."}, wrote("w", CODE))
    window = await opened(caller, context_id, LIMIT, format=FORMATS[to], compression_profile="coding")

    waiting = await packed(caller, window)
    assert waiting.is_waiting
    await said(caller, context_id, result("w", "written"))
    pack = await packed(caller, window)

    for one, share in ((waiting, 0.4), (pack, 0.85)):
        body = checked(one, window, to).decode()
        assert share * LIMIT < one.tokens
        assert "ledger/totals.py" in body
        assert "characters left out: m2/1]" in body
    original = await caller.call("Expand", window_id=window.window_id, ref="m2/1")
    assert CODE in orjson.loads(original.content)["content"]


async def test_a_message_of_a_user_that_does_not_fit_is_shown_in_part(caller: Caller):
    context_id = await said(caller, "", {"content": f"Please review this.\n{CODE}\nWhat is wrong with it?"})
    window = await opened(caller, context_id, LIMIT)

    pack = await packed(caller, window)

    body = checked(pack, window, Format.OPENAI).decode()
    assert pack.tokens > 0.85 * LIMIT
    assert "Please review this." in body
    assert "What is wrong with it?" in body


async def test_a_step_that_was_cut_is_cleared_by_a_later_fold_and_a_rollback_brings_it_back(caller: Caller):
    context_id = await said(caller, "", {"content": "Total the ledger."}, calls("big"), result("big", CODE))
    window = await opened(caller, context_id, LIMIT, compression_profile="coding")
    cut = await packed(caller, window)
    checkpoint = (await caller.call("CreateCheckpoint", window_id=window.window_id)).checkpoint

    pack = await worked(caller, context_id, window, range(30))
    assert pack.epoch > cut.epoch
    assert "# line 1499" not in pack.messages_json
    await rolled_back(caller, window, checkpoint, pack)

    back = await packed(caller, window)
    assert back.messages_json == cut.messages_json


async def test_a_pin_leaves_less_room_and_a_rollback_restores_what_was_whole(caller: Caller):
    half = CODE[: len(CODE) * 3 // 4]
    context_id = await said(caller, "", {"content": "Total the ledger."}, calls("big"), result("big", half))
    window = await opened(caller, context_id, LIMIT, compression_profile="coding")
    whole = await packed(caller, window)
    assert "left out" not in whole.messages_json
    checkpoint = (await caller.call("CreateCheckpoint", window_id=window.window_id)).checkpoint
    text = "Round to cents. " * 1_000
    pinned = [await caller.call("Pin", window_id=window.window_id, text=text) for _ in range(2)]

    pack = await packed(caller, window)
    assert "characters left out: m3/1]" in pack.messages_json
    assert pack.tokens <= LIMIT

    for pin in pinned:
        await caller.call("Unpin", window_id=window.window_id, pin_id=pin.pin_id)
    await rolled_back(caller, window, checkpoint, pack)
    assert (await packed(caller, window)).messages_json == whole.messages_json


async def test_only_fixed_parts_that_do_not_fit_are_refused_with_the_least_limit(caller: Caller):
    """The names of a hundred calls are fixed: each vendor wants every call with its result."""
    ids = [f"c{n}" for n in range(100)]
    context_id = await said(caller, "", {"content": "Look."}, calls(*ids), *(result(id_, READ) for id_ in ids))
    with pytest.raises(BudgetTooSmall) as error:
        await packed(caller, await opened(caller, context_id, 2_000))
    least = int(error.value.metadata["least"])
    assert 2_000 < least < 9_000
    window = await opened(caller, context_id, least)
    checked(await packed(caller, window), window, Format.OPENAI)
    with pytest.raises(BudgetTooSmall):
        await packed(caller, await opened(caller, context_id, least - 1))


async def test_a_newest_message_with_a_note_after_it_is_cut_when_a_prepared_fold_is_committed(caller: Caller):
    """The note says that a value is replaced; the state that the fold writes says so, too."""
    context_id = await said(caller, "", {"content": "Total the ledger. The staging port is 8443."})
    window = await opened(caller, context_id, LIMIT)
    await worked(caller, context_id, window, range(20))
    await caller.call("PrepareFold", window_id=window.window_id)
    await said(caller, context_id, {"content": f"The staging port is 9001.\n{CODE}\n{CODE}"})

    receipt = (await caller.call("CommitFold", window_id=window.window_id)).receipt
    assert "cut step 22 to the room that is left" in receipt.rules
    assert receipt.dropped_count

    pack = await packed(caller, window, without_recall=True)
    assert pack.epoch == receipt.epoch
    assert pack.tokens <= LIMIT
    assert "# line 1499" in pack.messages_json
    assert "- user: The staging port is 9001." in pack.messages_json
