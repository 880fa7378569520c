"""How steps ended: what is said of them is kept, later words hold, and folds keep rather what ended well."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.folding.pure.importance import ImportanceInputs, Weights, importance
from context_service.packing.pure.texts.units import Unit
from context_service.usage.pure.endings import RANGES_MAX, Ending, Endings, endings_json, parse_endings
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.errors import LimitExceeded, SubjectRequired
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import opened, packed, said
from tests.context_service.windows.folding.test_folding import step

_STEPS = st.integers(1, 30)
SAID = st.lists(st.tuples(_STEPS, _STEPS, st.sampled_from([0.0, 0.5, 1.0])), max_size=12)


@given(said=SAID, last=st.integers(0, 30))
def test_of_each_step_holds_what_was_said_last(said: list[tuple[int, int, float]], last: int):
    endings, model = Endings(), {}
    for one, other, score in said:
        first, end = sorted((one, other))
        endings = endings.with_one(Ending(first, end, score))
        model |= dict.fromkeys(range(first, end + 1), score)
    assert all(endings.of(one) == model.get(one) for one in range(32))
    assert parse_endings(endings_json(endings)) == endings
    kept = endings.up_to(last)
    assert all(kept.of(one) == (model.get(one) if one <= last else None) for one in range(32))
    assert all(a.step_to < b.step_from for a, b in zip(endings.ranges, endings.ranges[1:], strict=False))


def test_what_was_said_of_the_oldest_steps_goes_when_there_is_too_much():
    endings = Endings()
    for number in range(1, 2 * RANGES_MAX + 3, 2):
        endings = endings.with_one(Ending(number, number, 1.0))
    assert len(endings.ranges) == RANGES_MAX and endings.of(1) is None and endings.of(3) == 1.0


@pytest.mark.parametrize(
    ("score", "is_error", "worth"), [(None, False, 1), (None, True, 0), (0.0, False, 0), (0.5, True, 0.5)]
)
def test_what_is_said_of_a_step_stands_above_whether_a_call_failed(score: float | None, is_error: bool, worth: float):
    only = Weights(recency=0, relevance=0, causal=0, references=0, success=1, domain=0)
    endings = Endings() if score is None else Endings((Ending(3, 3, score),))
    unit = Unit(kind="line", text="a line", ref="m1/0", seq=1, weight=1.0)
    seen = ImportanceInputs(step=9, goal_terms={}, mentions={}, endings=endings)
    assert importance(unit, step=3, is_error=is_error, inputs=seen, weights=only) == worth


async def recorded(caller: Caller, window: pb.Window, **fields: Any) -> pb.RecordOutcomeResponse:
    answer: pb.RecordOutcomeResponse = await caller.call("RecordOutcome", window_id=window.window_id, **fields)
    return answer


async def test_a_fold_keeps_rather_what_ended_well(caller: Caller, other_replica: Caller):
    """Two windows of one log that were told the opposite; packs in between are what they were."""
    context_id = await said(
        caller, "", *(one for n in range(30) for one in step(n, f"ERROR: finding number {n} of unit u{n}.py"))
    )
    only = dict.fromkeys(("recency", "relevance", "causal", "references", "domain"), 0.0)
    config = {"importance_weights": {**only, "success": 1.0}, "keep_last_steps": 1, "low_mark": 0.1}
    kept = []
    for good, bad in (((1, 10), (11, 20)), ((11, 20), (1, 10))):
        window = await opened(caller, context_id, 4_000, config=config)
        before = await packed(caller, window, without_recall=True)
        for (first, last), success in ((good, True), (bad, False)):
            outcome = await recorded(other_replica, window, step_from=first, step_to=last, success=success)
            assert (outcome.step_from, outcome.step_to) == (first, last)
        assert await packed(caller, window, without_recall=True) == before
        await caller.call("Fold", window_id=window.window_id)
        texts = (await packed(caller, window, without_recall=True)).messages_json
        kept.append({n for n in range(20) if f"finding number {n} " in texts})
    assert kept[0] != kept[1]


async def test_a_rollback_forgets_how_the_steps_behind_it_ended(caller: Caller, stack: Any):
    context_id = await said(caller, "", {"content": "One.", "message_id": "one"}, {"content": "Two."})
    window = await opened(caller, context_id)
    checkpoint = (await caller.call("CreateCheckpoint", window_id=window.window_id)).checkpoint
    await said(caller, context_id, {"content": "Three."})
    await recorded(caller, window, step_from=2, step_to=3, success=True)
    await caller.call("Rollback", window_id=window.window_id, checkpoint=checkpoint.number, expected_last_seq=3)
    assert await _endings(stack, window) == "[[2,2,1.0]]"
    await caller.call("RetractMessages", context_id=context_id, message_ids=["one"])
    await packed(caller, window)
    assert await _endings(stack, window) == "[]"


async def test_a_lesson_is_somebodys_and_is_remembered_once(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    with pytest.raises(SubjectRequired):
        await recorded(caller, window, success=True, lesson="Greet first.")
    with pytest.raises(LimitExceeded):
        await recorded(caller, window, success=True, lesson="x" * 8_001)
    user = f"u{an_id()}"
    failed = {
        "success": False,
        "quality": 0.7,
        "lesson": "Greet first.",
        "subject_user_id": user,
        "request_id": an_id(),
    }
    for _ in range(2):
        answer = await recorded(caller.of("runtime"), window, **failed)
    (memory,) = (await caller.of("runtime").call("ListMemories", subject_user_id=user)).memories
    assert (memory.memory_id, memory.experience.outcome) == (answer.memory_id, "failure")


async def _endings(stack: Any, window: pb.Window) -> str:
    with psycopg.connect(stack.urls.superuser) as connection:
        sql = "SELECT outcomes FROM context.context_window WHERE window_id = %s"
        return connection.execute(sql, (window.window_id,)).fetchone()[0]
