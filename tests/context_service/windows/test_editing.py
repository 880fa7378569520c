"""Windows that callers change: other prompts, tools and goals, and pins, over two running replicas."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from context_service.packing.pure.texts.quotation import NOTICE
from context_service.packing.store.views import ViewRows
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import (
    BudgetTooSmall,
    Erased,
    Internal,
    InvalidArgument,
    LimitExceeded,
    PinNotFound,
    RefNotFound,
    RequestIdReused,
    WindowClosed,
    WindowNotFound,
)
from service_runtime.statements.requests import Requests
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.folding.test_folding import step
from tests.context_service.windows.test_windows import FORMATS, checked, run

RULE = 'Say "yes",\nnever \\n "no" — 終わり 🏃.'


async def receipts(caller: Caller, window: windows_pb.Window) -> list[windows_pb.FoldReceipt]:
    return list((await caller.call("GetLineage", window_id=window.window_id)).receipts)[::-1]


async def pins(caller: Caller, window: windows_pb.Window) -> list[str]:
    entries = (await caller.call("GetState", window_id=window.window_id, sections=["pin"])).entries
    assert {(one.section, one.source) for one in entries} <= {("pin", "caller")}
    return [one.text for one in entries]


def begins_with(after: windows_pb.PackResponse, before: windows_pb.PackResponse) -> bool:
    prefix = before.messages_json.encode()[: before.prefix_bytes]
    return after.messages_json.encode().startswith(prefix)


async def test_what_stands_in_front_is_changed_with_a_break_and_a_receipt(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id, system_prompt="Be brief.", tools_json='[{"name":"a"}]', goal="Find it.")
    before = await packed(caller, window)

    changed = (await caller.call("UpdateWindow", window_id=window.window_id, system_prompt="", goal="Lose it.")).window
    pack = await packed(other_replica, window)

    assert (changed.system_prompt, changed.goal, changed.tools_json) == ("", "Lose it.", '[{"name":"a"}]')
    assert (changed.epoch, pack.epoch) == (before.epoch + 1, before.epoch + 1)
    assert orjson.loads(pack.messages_json)["messages"][0] == {"role": "system", "content": "# Goal\n\nLose it."}
    (receipt,) = await receipts(caller, window)
    assert (receipt.epoch, receipt.reason, receipt.first_change) == (1, "updated", "system")
    assert list(receipt.rules) == ["the system prompt is another one", "the goal is another one"]
    assert receipt.tokens_after - receipt.tokens_before == pack.tokens - before.tokens
    assert receipt.tokens_written_again == receipt.tokens_after


async def test_the_same_again_changes_nothing(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id, system_prompt="Be brief.", goal="Find it.")
    before = await packed(caller, window)
    fields: dict[str, Any]
    for fields in ({}, {"system_prompt": "Be brief.", "goal": "Find it.", "tools_json": ""}):
        answer = await caller.call("UpdateWindow", window_id=window.window_id, **fields)
        assert (answer.window.epoch, answer.window.goal) == (0, "Find it.")
    assert await packed(caller, window) == before
    assert not await receipts(caller, window)


async def test_behind_another_goal_a_window_folds_at_once(caller: Caller):
    context_id = await said(caller, "", *chain.from_iterable(step(n) for n in range(20)))
    window = await opened(caller, context_id, 100_000, goal="Count.")
    before = await packed(caller, window)

    await caller.call("UpdateWindow", window_id=window.window_id, goal="Sum up.")

    pack = await packed(caller, window)
    assert [one.reason for one in await receipts(caller, window)] == ["updated", "goal"]
    assert pack.tokens < before.tokens and pack.tokens_by_zone.masked and "Sum up." in pack.messages_json


@pytest.mark.parametrize("to", FORMATS)
async def test_a_pin_is_word_for_word_in_every_pack_through_folds(to: Format, caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", calls("c", content="I begin."), result("c", "begun"))
    window = await opened(caller, context_id, 1_200, format=FORMATS[to], system_prompt="You look.")
    before = await packed(caller, window)
    await caller.call("Pin", window_id=window.window_id, text=RULE)
    await caller.call("Pin", window_id=window.window_id, ref="m2/1")
    in_json = orjson.dumps(RULE)[1:-1].decode()
    replicas, epochs = [caller, other_replica], set()
    for messages in run(range(8)):
        await said(caller, context_id, *messages)
        replicas.reverse()
        pack = await packed(replicas[0], window)
        body = checked(pack, window, to).decode()
        assert f"[Pinned]\\n{in_json}" in body and f"[Pinned, m2/1, tool]\\n{NOTICE}\\n«begun»" in body
        assert body.index("You look.") < body.index("[Pinned]") < body.index("[Pinned, m2/1, tool]")
        assert body.index("[Pinned, m2/1, tool]") < body.index("lorem ipsum")
        assert begins_with(pack, before) or pack.epoch > before.epoch
        assert pack.tokens_by_zone.pins
        epochs.add(pack.epoch)
        before = pack
    assert len(epochs) > 1
    done = await receipts(caller, window)
    assert [one.epoch for one in done] == list(range(1, before.epoch + 1))
    assert [(one.reason, one.first_change) for one in done[:2]] == [("pinned", "pins")] * 2
    assert done[0].tokens_kept == before.tokens_by_zone.system
    explained = await caller.call("ExplainPack", window_id=window.window_id)
    assert (explained.parts[0].zone, explained.parts[0].tokens) == ("pins", before.tokens_by_zone.pins)


async def test_a_pin_that_is_removed_is_in_no_later_pack(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    before = await packed(caller, window)
    made = [await caller.call("Pin", window_id=window.window_id, text=f"rule {n}") for n in range(2)]
    assert await pins(caller, window) == ["rule 0", "rule 1"]
    request_id = an_id()
    for _ in range(2):
        left = await caller.call("Unpin", window_id=window.window_id, pin_id=made[0].pin_id, request_id=request_id)
        assert 0 < left.pins_tokens < made[1].pins_tokens
    pack = await packed(caller, window)
    assert "rule 0" not in pack.messages_json and "rule 1" in pack.messages_json
    with pytest.raises(PinNotFound):
        await caller.call("Unpin", window_id=window.window_id, pin_id=made[0].pin_id)
    await caller.call("Unpin", window_id=window.window_id, pin_id=made[1].pin_id)
    pack = await packed(caller, window)
    assert pack.messages_json == before.messages_json
    assert [one.reason for one in await receipts(caller, window)] == ["pinned", "pinned", "unpinned", "unpinned"]


async def test_a_pin_of_a_message_goes_with_it(caller: Caller, stack: Any):
    context_id = await said(
        caller, "", {"content": "the secret", "message_id": "m"}, {"content": "open"}, {"content": "other"}
    )
    window = await opened(caller, context_id)
    gone = await caller.call("Pin", window_id=window.window_id, ref="m1")
    await caller.call("Unpin", window_id=window.window_id, pin_id=gone.pin_id)  # what was pinned once goes, too
    for fields in ({"ref": "m1"}, {"ref": "m2/0"}, {"text": "of mine"}):
        await caller.call("Pin", window_id=window.window_id, **fields)
    assert (await packed(caller, window)).messages_json.count("the secret") == 2

    await caller.call("RetractMessages", context_id=context_id, message_ids=["m"])

    assert await pins(caller, window) == ["open", "of mine"]  # at once, before any pack
    pack = await packed(caller, window)
    assert "the secret" not in pack.messages_json
    assert "[Pinned, m2/0]\\nopen" in pack.messages_json and "[Pinned]\\nof mine" in pack.messages_json
    assert await pins(caller, window) == ["open", "of mine"]
    with pytest.raises(Erased):
        await caller.call("Pin", window_id=window.window_id, ref="m1")


async def test_what_is_too_large_in_front_is_refused_with_the_least_limit(caller: Caller):
    context_id = await said(caller, "", {"content": "Hi."})
    window = await opened(caller, context_id, 300)
    await caller.call("Pin", window_id=window.window_id, text="word " * 100)
    for name, fields in (
        ("Pin", {"text": "word " * 200}),
        ("UpdateWindow", {"system_prompt": "word " * 200}),
        ("UpdateWindow", {"tools_json": orjson.dumps(["word " * 200]).decode()}),
    ):
        with pytest.raises(BudgetTooSmall) as error:
            await caller.call(name, window_id=window.window_id, **fields)
        least = int(error.value.metadata["least"])
        assert (error.value.metadata["token_limit"], least > 300) == ("300", True)
        fitting = await opened(caller, context_id, least)
        await caller.call("Pin", window_id=fitting.window_id, text="word " * 100)
        await caller.call(name, window_id=fitting.window_id, **fields)
        narrow = await opened(caller, context_id, least - 1)
        await caller.call("Pin", window_id=narrow.window_id, text="word " * 100)
        with pytest.raises(BudgetTooSmall):
            await caller.call(name, window_id=narrow.window_id, **fields)
    assert checked(await packed(caller, window), window, Format.OPENAI)
    assert len(await receipts(caller, window)) == 1


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, InvalidArgument),
        ({"text": " \n"}, InvalidArgument),
        ({"text": "a", "ref": "m1"}, InvalidArgument),
        ({"text": "a\0b"}, InvalidArgument),
        ({"text": "ä" * 8193}, LimitExceeded),
        ({"text": "x" * (16 * 1024 + 1)}, LimitExceeded),
        ({"ref": "m0"}, InvalidArgument),
        ({"ref": "m1..m2"}, InvalidArgument),
        ({"ref": "m1.0"}, InvalidArgument),
        ({"ref": "m2/0"}, InvalidArgument),
        ({"ref": "m1/1"}, RefNotFound),
        ({"ref": "m9"}, RefNotFound),
        ({"ref": "m3"}, LimitExceeded),
    ],
    ids=str,
)
async def test_what_cannot_be_pinned_is_refused(fields: dict[str, Any], error: type[Exception], caller: Caller):
    context_id = await said(caller, "", {"content": "One."}, calls("c"), {"content": "y" * (16 * 1024 + 1)})
    window = await opened(caller, context_id)
    with pytest.raises(error):
        await caller.call("Pin", window_id=window.window_id, **fields)
    assert not await pins(caller, window)
    assert not await receipts(caller, window)


async def test_a_window_has_no_more_pins_than_it_may(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_service.windows.rules.update_window.PINS_MAX", 3)
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    for n in range(3):
        await caller.call("Pin", window_id=window.window_id, text=f"{n}")
    with pytest.raises(LimitExceeded) as error:
        await caller.call("Pin", window_id=window.window_id, text="one more")
    assert error.value.metadata == {"limit": "pins", "limit_max": "3", "value": "4"}


async def test_a_change_of_a_request_happens_once(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    of_pin, of_update = an_id(), an_id()
    both = (caller, other_replica) * 3
    made = await asyncio.gather(
        *(one.call("Pin", window_id=window.window_id, text="a", request_id=of_pin) for one in both)
    )
    assert len({one.pin_id for one in made}) == 1
    updated = await asyncio.gather(
        *(one.call("UpdateWindow", window_id=window.window_id, goal="a", request_id=of_update) for one in both)
    )
    assert {(one.window.epoch, one.window.goal) for one in updated} == {(2, "a")}
    await caller.call("UpdateWindow", window_id=window.window_id, goal="b")
    again = await caller.call("UpdateWindow", window_id=window.window_id, goal="a", request_id=of_update)
    assert again.window.goal == "a", "as it was answered the first time"
    for name, fields in (("UpdateWindow", {"goal": "c"}), ("Pin", {"text": "a"}), ("Unpin", {"pin_id": an_id()})):
        with pytest.raises(RequestIdReused):
            await caller.call(name, window_id=window.window_id, request_id=of_update, **fields)
    assert [one.epoch for one in await receipts(caller, window)] == [1, 2, 3]


async def test_two_replicas_change_a_window_at_once_and_every_change_is_there(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", *chain.from_iterable(run(range(5))))
    window = await opened(caller, context_id, 100_000)
    both = (caller, other_replica)
    await asyncio.gather(
        *(one.call("Pin", window_id=window.window_id, text=f"rule {n};") for n in range(4) for one in both),
        *(packed(one, window) for one in both),
        caller.call("UpdateWindow", window_id=window.window_id, goal="Find it."),
        other_replica.call("UpdateWindow", window_id=window.window_id, system_prompt="Be brief."),
    )
    packs = [await packed(one, window) for one in both]
    assert packs[0] == packs[1]
    assert packs[0].epoch == 10
    assert orjson.loads(packs[0].messages_json)["messages"][0]["content"] == "Be brief.\n\n# Goal\n\nFind it."
    assert [packs[0].messages_json.count(f"rule {n};") for n in range(4)] == [2] * 4
    assert [one.epoch for one in await receipts(caller, window)] == list(range(1, 11))


@pytest.mark.parametrize("at", ["account", "answer"])
async def test_a_kill_within_a_change_leaves_the_window_as_it_was(
    at: str, caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id, goal="Find it.")
    before = await packed(caller, window)

    async def dying(*_: Any, **__: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(*((ViewRows, "account") if at == "account" else (Requests, "answer")), dying)
        for name, fields in (("Pin", {"text": "a"}), ("UpdateWindow", {"goal": "b"})):
            with pytest.raises(Internal):
                await caller.call(name, window_id=window.window_id, request_id=an_id(), **fields)
    assert await packed(caller, window) == before
    assert not await pins(caller, window)
    assert not await receipts(caller, window)


async def test_a_window_is_changed_by_who_sees_its_context(caller: Caller):
    ada = caller.of("ada")
    context_id = (await ada.send("of ada")).context_id
    window = await opened(ada, context_id)
    pin_id = (await ada.call("Pin", window_id=window.window_id, text="a")).pin_id
    changes = (("UpdateWindow", {"goal": "b"}), ("Pin", {"text": "b"}), ("Unpin", {"pin_id": pin_id}))
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        for name, fields in changes:
            with pytest.raises(WindowNotFound):
                await caller.of(key).call(name, window_id=window.window_id, **fields)
    another = await opened(caller, (await caller.send()).context_id)
    for ref in ("m1", "m1/0"):
        with pytest.raises(RefNotFound):
            await caller.call("Pin", window_id=another.window_id, ref=f"m9{ref[1:]}")
    with pytest.raises(PinNotFound):
        await caller.call("Unpin", window_id=another.window_id, pin_id=pin_id)
    assert await pins(ada, window) == ["a"]
    await caller.of("runtime").call("Pin", window_id=window.window_id, text="b", subject_user_id="ada")
    assert await pins(ada, window) == ["a", "b"]


async def test_a_closed_window_is_not_changed_and_keeps_no_pin(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    pin_id = (await caller.call("Pin", window_id=window.window_id, text="a")).pin_id
    await caller.call("CloseWindow", window_id=window.window_id)
    assert not await pins(caller, window)
    for name, fields in (("UpdateWindow", {"goal": "b"}), ("Pin", {"text": "b"}), ("Unpin", {"pin_id": pin_id})):
        with pytest.raises(WindowClosed):
            await caller.call(name, window_id=window.window_id, **fields)
