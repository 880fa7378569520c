"""Folds, over random views: what they promise, whatever stands in a log."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.folding.pure.clearing import kept_steps
from context_service.folding.pure.folds import (
    NOTHING_KEPT,
    Fold,
    FoldableBlock,
    KeptSteps,
    Limits,
    View,
    fold,
    user_messages,
)
from context_service.folding.pure.importance import Weights
from context_service.folding.pure.summaries import DIGEST, DIGEST_TOKENS_MAX, SEGMENT, SEGMENT_TOKENS_MAX, Summary
from context_service.packing.pure.texts.units import Unit
from context_service.profiles.pure.profiles import ORDINARY, Clearing
from context_service.usage.pure.prices import Prices, pays_after
from context_service.windows.pure.config import Config, Shares


def count(text: str) -> int:
    return len(text.split())


def standing(step: int, tokens: int, masked_tokens: int, *, number: int | None = None, **more: object) -> FoldableBlock:
    text = f"decided number {step} for /src/{step % 7}.py"
    unit = Unit(kind="decision", text=text, ref=f"m{step}/0", seq=step, weight=1)
    return FoldableBlock(
        number=step if number is None else number,
        step=step,
        seq_from=step,
        seq_to=step,
        tokens=tokens,
        masked_tokens=min(tokens, masked_tokens),
        units=(unit,),
        names=frozenset({f"/src/{step % 7}.py"}),
        **more,  # type: ignore[arg-type]
    )


def folded(
    view: View,
    limits: Limits,
    *,
    state: int = 0,
    is_close: bool = False,
    waiting: int = 0,
    keeps: KeptSteps = NOTHING_KEPT,
) -> Fold:
    return fold(
        view,
        limits,
        state_tokens=state,
        goal="the parser",
        count=count,
        cost=count,
        weights=Weights(),
        is_close=is_close,
        waiting=waiting,
        keeps=keeps,
    )


@st.composite
def views(draw: st.DrawFn) -> View:
    blocks, step = [], 0
    for number in range(draw(st.integers(0, 120))):
        is_appended = step > 0 and draw(st.integers(0, 5)) == 0
        step += 0 if is_appended else 1
        tokens = draw(st.integers(0, 300))
        tools = () if is_appended else (draw(st.sampled_from(("look", "notes", "read"))),)
        blocks.append(
            standing(step, tokens, draw(st.integers(0, 300)), number=number, is_appended=is_appended, tools=tools)
        )
    return View(head=draw(st.integers(0, 50)), blocks=tuple(blocks))


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Return any config that is valid."""
    of = st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda shares: sum(shares) <= 1)
    hot, segments, digests, state = draw(of | st.permutations([1.0, 0.0, 0.0, 0.0]))
    high_mark = draw(st.floats(0.1, 1))
    return Config(
        shares=Shares(hot=hot, segments=segments, digests=digests, state=state),
        high_mark=high_mark,
        low_mark=draw(st.floats(0, high_mark, exclude_max=True)),
        keep_last_steps=draw(st.integers(1, 40)),
        segment_steps=draw(st.integers(1, 40)),
    )


def steps_of(view: View) -> list[int]:
    """Return the steps that a view stands for, in order: those of its summaries and of its blocks."""
    steps: list[int] = []
    for one in view.summaries:
        steps += range(one.step_from, one.step_to + 1)
    return steps + [one.step for one in view.blocks if not one.is_appended]


# What no fold takes away: the head, the state, the last step, and what is left of the others: a segment and a digest.
_LEAST = 50 + 40 + 300 + SEGMENT_TOKENS_MAX + DIGEST_TOKENS_MAX


@given(view=views(), limit=st.integers(2_000, 20_000), state=st.integers(0, 40), config=st.just(Config()) | configs())
def test_a_view_is_under_the_high_mark_after_a_fold_and_its_summaries_tile_the_log(
    view: View, limit: int, state: int, config: Config
):
    limits = Limits.of(limit, config)
    done = folded(view, limits, state=state)

    assert done.view.tokens <= max(limits.high, _LEAST)
    assert steps_of(done.view) == steps_of(view)
    assert [one.level for one in done.view.summaries] == sorted(
        (one.level for one in done.view.summaries), key=lambda level: level == SEGMENT
    )


@given(view=views(), limit=st.integers(2_000, 20_000), config=st.just(Config()) | configs())
def test_folding_twice_is_folding_once(view: View, limit: int, config: Config):
    limits = Limits.of(limit, config)
    once = folded(view, limits)

    assert not folded(once.view, limits).changes


@given(view=views(), limit=st.integers(2_000, 20_000), config=st.just(Config()) | configs())
def test_a_segment_saves_a_hundred_tokens_and_half_if_all_fits_otherwise(view: View, limit: int, config: Config):
    limits = Limits.of(limit, config)
    done = folded(view, limits)

    for one in done.view.summaries if view.tokens <= limits.high else ():
        if one.level == SEGMENT:
            steps = [step for step in view.blocks if not step.is_appended and one.step_from <= step.step <= one.step_to]
            before = sum(step.masked_tokens for step in steps)
            assert before - one.tokens >= 100
            assert one.tokens <= before / 2


@given(view=views(), limit=st.integers(2_000, 20_000), config=st.just(Config()) | configs())
def test_the_last_steps_stay_as_they_are_if_they_fit(view: View, limit: int, config: Config):
    limits = Limits.of(limit, config)
    done = folded(view, limits)

    last = [one for one in view.blocks if not one.is_appended][-config.keep_last_steps :]
    if sum(one.tokens for one in last) <= min(limits.hot, limits.high - _LEAST):
        assert [one for one in done.view.blocks if not one.is_appended][-len(last) :] == last


CLEARING = {"notes": Clearing(never_clear=True), "read": Clearing(keep_last=3)}


def clearing_of(tool: str) -> Clearing:
    return CLEARING.get(tool, ORDINARY)


@given(view=views(), limit=st.integers(2_000, 20_000), state=st.integers(0, 40))
def test_the_last_calls_of_a_tool_stay_whole_and_steps_of_another_stay_in_view(view: View, limit: int, state: int):
    """As many of them as fit a quarter of the limit, the newest first; and the view stays under its mark."""
    limits = Limits.of(limit)
    keeps = kept_steps(view.blocks, clearing_of, limit=limit)
    done = folded(view, limits, state=state, keeps=keeps)

    assert done.view.tokens <= max(limits.high, _LEAST)
    assert [block.number for block in done.view.blocks] == sorted(block.number for block in done.view.blocks)
    left = {block.number: block for block in done.view.blocks}
    before = {block.number: block for block in view.blocks}
    if view.tokens <= limits.high:  # no last resort
        assert all(left.get(number) == before[number] for number in keeps.whole)
        assert all(number in left for number in keeps.masked)
    calls = [block for block in view.blocks if block.tools == ("read",)]
    for block in calls[-3:]:
        if block.number not in keeps.whole:
            newer = [one for one in view.blocks if one.number > block.number]
            used = sum(one.tokens for one in newer if one.number in keeps.whole)
            used += sum(one.masked_tokens for one in newer if one.number in keeps.masked)
            assert used + block.tokens > limit // 4
    folded_again = folded(done.view, limits, keeps=kept_steps(done.view.blocks, clearing_of, limit=limit))
    assert not folded_again.merged or folded_again.view.tokens <= done.view.tokens


def run(steps: Sequence[tuple[int, int]], limits: Limits) -> tuple[View, int]:
    """Return the view behind steps of so many tokens, plain and masked, and how many folds it took."""
    view, folds = View(head=20), 0
    for number, (tokens, masked_tokens) in enumerate(steps, 1):
        blocks = (*view.blocks, standing(number, tokens, masked_tokens))
        view = View(head=view.head, summaries=view.summaries, state=view.state, blocks=blocks)
        if view.tokens > limits.high:
            view, folds = folded(view, limits, state=limits.state).view, folds + 1
    return view, folds


def test_three_thousand_steps_fold_rarely_into_few_blocks():
    limits = Limits.of(24_000)

    view, folds = run([(900, 120)] * 3_000, limits)

    assert view.tokens <= limits.high
    assert steps_of(view) == list(range(1, 3_001))
    # The last ten steps and a full store of summaries leave room for nine more.
    assert folds < 3_000 / 8
    assert len(view.summaries) < 60
    assert max(one.level for one in view.summaries) > DIGEST


def test_what_was_decided_stays_in_its_digest_word_for_word():
    view, _ = run([(900, 120)] * 2_000, Limits.of(24_000))

    digests = [one for one in view.summaries if one.level >= DIGEST]
    lines = [line for one in digests for line in one.text.splitlines()[1:]]
    assert lines
    for line in lines:
        step = int(line.rpartition("(m")[2].partition("/")[0])
        assert line == f"- decided number {step} for /src/{step % 7}.py (m{step}/0)"


def test_a_fold_soon_after_another_masks_the_largest_of_the_last_steps_and_merges_nothing():
    limits = Limits.of(10_000)
    before = Summary(level=SEGMENT, step_from=1, step_to=20, seq_from=1, seq_to=20, tokens=100, text="", kept=())
    blocks = tuple(standing(20 + n, 5_000 if n == 3 else 700, 100) for n in range(1, 8))

    done = folded(View(head=20, summaries=(before,), blocks=blocks), limits, is_close=True)

    assert done.masked == {23}
    assert done.view.summaries == (before,)


def test_the_last_step_is_masked_last():
    blocks = tuple(standing(n, 4_000, 100) for n in range(1, 4))

    done = folded(View(head=0, blocks=blocks), Limits.of(10_000))

    assert [one.tokens for one in done.view.blocks] == [100, 100, 4_000]


@pytest.mark.parametrize(("tokens", "removed", "steps"), [(60_000, 30_000, 11), (60_000, 2_000, 333)])
def test_a_break_of_the_cache_pays_after_so_many_steps(tokens: int, removed: int, steps: int):
    assert pays_after(tokens, removed) == pytest.approx(steps, abs=1)


def test_a_break_of_the_cache_pays_at_once_without_a_cache_and_never_where_reading_is_free():
    assert pays_after(60_000, 2_000, Prices(cache_write=1, cache_read=1)) == 0
    assert pays_after(60_000, 2_000, Prices(cache_read=0)) == -1
    assert pays_after(60_000, 0) == -1


def speech(step: int, role: str, said: str, *tools: str) -> FoldableBlock:
    return standing(step, 10, 10, speaker=role, said=said, tools=tools)


@pytest.mark.parametrize(
    ("before", "reply", "expected"),
    [
        ([("assistant", "Shall I close the lock?")], "Yes, close it.", "Shall I close the lock?"),
        ([("assistant", "The lock is shut.")], "Open it a bit.", "The lock is shut."),
        # Words beside a call only announce it, so the question before them is what the user answers.
        (
            [("assistant", "Shall I close the lock?"), ("assistant", "Let me look at the gauge.", "read")],
            "Yes, close it.",
            "Shall I close the lock?",
        ),
        ([("assistant", "Let me look at the gauge.", "read")], "Fine by me.", ""),
        # The newest question is about something else, and the older one shares no word with the reply.
        (
            [
                ("assistant", "Is the sluice painted?"),
                ("user", "I am back on Monday, the ferry is late again."),
                ("assistant", "Reading the log.", "read"),
            ],
            "The dehumidifiers, in the museum.",
            "",
        ),
        ([("assistant", "Shall I close the lock?")], "Lunch?", ""),
    ],
)
def test_a_users_reply_names_what_it_answers_and_never_the_announcement_of_a_call(
    before: list[tuple[str, ...]], reply: str, expected: str
):
    blocks = [speech(step, *words) for step, words in enumerate([*before, ("user", reply)], 1)]

    assert user_messages(blocks)[-1].answers == expected
    recalled = standing(len(blocks), 10, 10, number=99, is_appended=True)
    assert user_messages([*blocks[:-1], recalled, blocks[-1]])[-1].answers == expected
