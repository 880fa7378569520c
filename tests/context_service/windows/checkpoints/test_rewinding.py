"""What becomes of a window when messages are retracted: it goes back to the steps in front of them, or begins anew."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.checkpoints.pure.rewind import Rewound, StepPlace, rewound
from contextkeep.errors import FoldNoProgress
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.test_windows import run


@st.composite
def shown(draw: st.DrawFn) -> list[StepPlace]:
    """Return steps as a window shows them: some have a result that came behind others."""
    seq, steps = 10, []
    for place in range(draw(st.integers(0, 8))):
        late = draw(st.integers(0, 3))
        steps.append(StepPlace(3 * place, 5 + place, seq, seq + late))
        seq += 1
    return steps


@given(steps=shown(), seq=st.integers(1, 25), folded_step=st.integers(0, 14), seq_folded=st.integers(0, 12))
def test_a_window_goes_back_no_further_than_it_must(
    steps: list[StepPlace], seq: int, folded_step: int, seq_folded: int
):
    """To the last place that parts steps as their messages, with nothing retracted or folded on its wrong side."""
    end = Rewound(99, 99, 99)
    place = rewound(steps, seq, folded_step=folded_step, seq_folded=seq_folded, end=end)
    if all(one.seq_to < seq for one in steps):
        assert place == (end if seq > seq_folded else None)
        return
    parting = []
    for number, one in enumerate(steps):
        border = min(other.seq_from for other in steps[number:])
        stays = all(other.seq_to < min(seq, border) for other in steps[:number])
        if stays and one.step > folded_step and border > seq_folded:
            parting.append(Rewound(one.number, one.step, border))
    assert place == (parting[-1] if parting else None)


async def test_a_window_goes_back_to_where_it_was(caller: Caller):
    """What it shows is what another shows that never saw what was retracted: values, and what they replace, too."""
    context_id = await said(caller, "", {"content": "The port is 1."}, *chain.from_iterable(run(range(12))))
    seeing, not_seeing = [await opened(caller, context_id, 1_200) for _ in range(2)]
    before, _ = [await packed(caller, one, without_recall=True) for one in (seeing, not_seeing)]
    assert before.epoch > 0
    await said(caller, context_id, {"content": "I go on."})
    for window in (seeing, not_seeing):
        before = await packed(caller, window, without_recall=True)
    await said(caller, context_id, {"content": "The port is 2.", "message_id": "wrong"}, calls("c"))
    shown = await packed(caller, seeing, without_recall=True)
    assert "no longer: user: The port is 1." in shown.messages_json and shown.epoch == before.epoch
    await caller.call("RetractMessages", context_id=context_id, message_ids=["wrong"])
    await said(caller, context_id, result("c", "seen"))
    after, expected = [await packed(caller, one, without_recall=True) for one in (seeing, not_seeing)]
    assert after.messages_json == expected.messages_json
    assert after.epoch == shown.epoch + 1
    states = [(await caller.call("GetState", window_id=one.window_id)).entries for one in (seeing, not_seeing)]
    assert [[one.text for one in entries if one.section == "value"] for entries in states] == [["The port is 1."]] * 2
    (receipt,) = [
        one
        for one in (await caller.call("GetLineage", window_id=seeing.window_id)).receipts
        if one.reason == "retracted"
    ]
    assert receipt.rules == [
        f"read the log again after step {before.step_count + before.omitted.step_count} (retracted messages: 1)"
    ]


async def test_of_what_was_folded_a_window_begins_anew(caller: Caller):
    context_id = await said(
        caller, "", {"content": "The secret.", "message_id": "m"}, *chain.from_iterable(run(range(12)))
    )
    window = await opened(caller, context_id, 1_200)
    assert (await packed(caller, window)).epoch > 0
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m"])
    pack = await packed(caller, window)
    assert "secret" not in pack.messages_json
    receipts = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert [one.rules[0] for one in receipts if one.reason == "retracted"] == [
        "read the log again from the start (retracted messages: 1)"
    ]


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_retracted_the_state_is_that_of_a_window_that_never_saw_it(seed: int, caller: Caller):
    random = Random(seed)
    context_id = await said(caller, "", {"content": "Begin.", "message_id": "m0"})
    window = await opened(caller, context_id, 1_500)
    ids, retracted = ["m0"], set()
    for n in range(1, 50):
        messages: list[dict[str, Any]] = [
            {"content": f"The port is {random.randrange(4)}. ({n})"},
            {"content": f"Never touch the vendor folder number {random.randrange(5)}. ({n})"},
            calls(f"c{n}", content=f"Looking. ({n})"),
            result(
                f"c{n - random.randrange(4)}", f"Error: no such file ({n})" + "\nlorem ipsum" * random.randrange(30)
            ),
        ]
        ids.append(f"m{n}")
        await said(caller, context_id, {**random.choice(messages), "message_id": ids[-1]})
        if random.random() < 0.1:
            gone = random.sample(ids[-6:], 2)
            retracted |= {int(one[1:]) for one in gone}
            await caller.call("RetractMessages", context_id=context_id, message_ids=gone)
        if random.random() < 0.1:
            with suppress(FoldNoProgress):
                await caller.call("Fold", window_id=window.window_id)
        if random.random() < 0.5:
            pack = await packed(caller, window)
            assert not any(f"({one})" in pack.messages_json for one in retracted)
    fresh = await opened(caller, context_id, 1_500)
    states = []
    for one in (window, fresh):
        pack = await packed(caller, one)
        states.append((await caller.call("GetState", window_id=one.window_id)).entries)
        assert not any(f"({seq})" in pack.messages_json for seq in retracted)
    seen = [sorted((one.section, one.key, one.text, one.value, one.ref) for one in entries) for entries in states]
    assert seen[0] == seen[1]
    one, another = [(await caller.call("GetWindow", window_id=which.window_id)).window for which in (window, fresh)]
    assert (one.step_count, one.reached_seq) == (another.step_count, another.reached_seq)
    lineage = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert any(receipt.reason == "retracted" and "after step" in receipt.rules[0] for receipt in lineage)
