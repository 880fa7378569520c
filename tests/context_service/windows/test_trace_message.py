"""`TraceMessage` over running services: where messages are, since which fold, and when packs showed a sentence last.

The packs themselves are the reference: a claim of a trace about an epoch must be true of every pack of that epoch.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import Erased, InvalidArgument, RefNotFound, WindowNotFound
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.conftest import Stack

ORDER = ["verbatim", "conversation", "cleared", "segment", "digest"]
WORDS = ["amber", "birch", "cedar", "delta", "fjord", "grove", "heron", "islet", "kelp", "maple", "otter"]


def _sentence(n: int) -> str:
    return f"Shipment {n * 7919} of {WORDS[n % 11]} and {WORDS[n * 7 % 11]} waits at gate {n}."


def _steps(n: int, words: random.Random) -> list[dict[str, Any]]:
    """Return a step whose result has a sentence at its beginning, one in the middle, and much noise."""
    lines = [f"{' '.join(words.choices(WORDS, k=9))} {line}" for line in range(120)]
    found = "\n".join([_sentence(n), *lines[:60], f"middle {n}: {words.random()}", *lines[60:]])
    return [
        calls(f"c{n}", content=f"We decided that batch {n} of the harbour waits, because berth {n % 7} is full."),
        result(f"c{n}", found),
    ]


@pytest.fixture(scope="module")
async def worked(stack: Stack) -> tuple[Caller, windows_pb.Window, list[windows_pb.PackResponse]]:
    """A window over 90 steps with many folds, and a pack after each step: to read."""
    caller, words = Caller(stack.channels[0]), random.Random(7)
    context_id = await said(caller, "", {"content": "Never open gate 80. Please find the lost shipments."})
    config = {"summarize_every_n_steps": 5, "tier_ratios": {"segments": 0.05}}
    window = await opened(caller, context_id, limit=16_000, config=config)
    packs = []
    for n in range(1, 91):
        await said(caller, context_id, *_steps(n, words))
        packs.append(await packed(caller, window, without_recall=True))
    assert packs[-1].epoch > 8
    return caller, window, packs


async def test_digests_come_first_then_segments_then_steps_and_each_names_its_fold(worked):
    caller, window, packs = worked
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m2..m181")

    places = [max(ORDER.index(message.place), ORDER.index("cleared")) for message in trace.messages]
    assert places == sorted(places, reverse=True)
    assert {"verbatim", "cleared", "segment", "digest"} == {message.place for message in trace.messages}
    assert trace.epoch == packs[-1].epoch
    receipts = (await caller.call("GetLineage", window_id=window.window_id, page_size=1000)).receipts
    by_epoch = {receipt.epoch: receipt for receipt in receipts}
    for message in trace.messages:
        assert message.HasField("since") == (message.place != "verbatim")
        if message.HasField("since"):
            receipt = by_epoch[message.since.epoch]
            assert (message.since.reason, message.since.created_at) == (receipt.reason, receipt.created_at)
            assert message.since.rule in receipt.rules
        if message.place == "cleared":
            assert message.step_from == message.step_to and message.step_from in receipt.masked_steps


async def test_lines_that_a_trace_calls_shown_are_in_the_pack(worked):
    caller, window, packs = worked
    shown = " ".join(packs[-1].messages_json.split())
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m1..m181")

    lines = [line for message in trace.messages for line in message.lines]
    assert len(lines) > 20 and {"masked", "digests"} <= {line.zone for line in lines}
    for line in lines:
        assert line.text.removesuffix(" …") in shown, line
    whole = [message for message in trace.messages if message.is_whole and message.place != "verbatim"]
    for message in whole:
        (original,) = (await caller.call("Expand", window_id=window.window_id, ref=message.ref)).messages
        assert original.content in shown


@pytest.mark.parametrize("where", ["head", "middle"])
async def test_a_sentence_was_in_the_packs_of_the_last_epoch_and_in_none_after(worked, where: str):
    """Blocks of old steps are deleted: their cleared form is made again from the log."""
    caller, window, packs = worked
    exact = 0
    for n in (1, 2, 9, 17, 30, 44, 60, 75, 83, 90):
        sentence = _sentence(n) if where == "head" else f"middle {n}:"
        trace = await caller.call(
            "TraceMessage", window_id=window.window_id, ref="m1..m181", text=f"  {sentence.upper()}"
        )
        assert [message.ref for message in trace.messages] == [f"m{2 * n + 1}"]
        epochs = [pack.epoch for pack in packs[n - 1 :] if sentence in pack.messages_json]
        assert trace.sentence.is_shown == (sentence in packs[-1].messages_json), (n, trace)
        if trace.sentence.is_exact:
            exact += 1
            assert trace.sentence.last_epoch == max(epochs), (n, trace)
        if not trace.sentence.is_shown:
            assert trace.sentence.removed_by.epoch == trace.sentence.last_epoch + 1
            assert trace.sentence.removed_by.rule
    assert exact == 10


async def test_a_text_that_no_message_has_is_traced_to_nothing(worked):
    caller, window, _ = worked
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m1..m181", text="a purple giraffe")
    assert not trace.messages and not trace.HasField("sentence") and not trace.next_ref


async def test_a_rule_is_shown_by_the_state_after_its_message_has_gone(worked):
    caller, window, _ = worked
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m1", text="never open gate 80")
    assert trace.sentence.is_shown and trace.messages[0].place == "conversation"
    assert trace.messages[0].since.epoch > 0 and "conversation" in trace.messages[0].since.rule
    assert trace.messages[0].is_whole
    assert any("Never open gate 80." in line.text for line in trace.messages[0].lines)


async def test_messages_are_left_out_by_a_rollback_and_unread_before_a_pack(caller: Caller):
    context_id = await said(caller, "", {"content": "The berth is number 12."})
    window = await opened(caller, context_id)
    await packed(caller, window)
    checkpoint = (await caller.call("CreateCheckpoint", window_id=window.window_id)).checkpoint
    await said(caller, context_id, {"role": "assistant", "content": "The berth is number 99."})
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m1..m2", text="number 99")
    assert [message.place for message in trace.messages] == ["unread"]
    assert (trace.sentence.is_shown, trace.sentence.last_epoch) == (False, -1)

    await packed(caller, window)
    rolled_back = await caller.call(
        "Rollback", window_id=window.window_id, checkpoint=checkpoint.number, expected_last_seq=2
    )
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m1..m2", text="number")
    assert [message.place for message in trace.messages] == ["verbatim", "left_out"]
    assert trace.messages[1].since.epoch == rolled_back.receipt.epoch
    assert trace.messages[1].since.reason == "rolled_back"
    gone = (await caller.call("TraceMessage", window_id=window.window_id, ref="m2", text="number 99")).sentence
    assert (gone.is_shown, gone.last_epoch, gone.removed_by.reason) == (False, 0, "rolled_back")


async def test_pins_and_recalled_passages_show_lines_of_a_message(worked):
    caller, window, _ = worked
    await caller.call("Pin", window_id=window.window_id, ref="m3/1")
    trace = await caller.call("TraceMessage", window_id=window.window_id, ref="m3", text=_sentence(1))
    assert trace.sentence.is_shown
    assert "pins" in {line.zone for line in trace.messages[0].lines}


@pytest.mark.parametrize(
    ("ref", "error"),
    [
        ("", InvalidArgument),
        ("m0", InvalidArgument),
        ("a1.0", InvalidArgument),
        ("f1:m1", InvalidArgument),
        ("m9..m3", InvalidArgument),
        ("m999999", RefNotFound),
        ("m1/7", RefNotFound),
    ],
)
async def test_a_ref_that_names_no_message_is_refused(worked, ref: str, error: type[Exception]):
    caller, window, _ = worked
    with pytest.raises(error):
        await caller.call("TraceMessage", window_id=window.window_id, ref=ref)


async def test_a_retracted_message_is_erased_and_a_strangers_window_is_not_found(caller: Caller, stack: Stack):
    context_id = await said(caller, "", {"content": "Secret plan.", "message_id": "p"}, {"content": "Go on."})
    window = await opened(caller, context_id)
    await packed(caller, window)
    await caller.call("RetractMessages", context_id=context_id, message_ids=["p"])
    with pytest.raises(Erased):
        await caller.call("TraceMessage", window_id=window.window_id, ref="m1")
    assert len((await caller.call("TraceMessage", window_id=window.window_id, ref="m1..m2")).messages) == 1
    with pytest.raises(WindowNotFound):
        await Caller(stack.channels[0], "other").call("TraceMessage", window_id=window.window_id, ref="m2")
