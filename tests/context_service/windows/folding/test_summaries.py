"""Which lines a summary is made of: what differs, before what is said again and again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.contexts.model import Message
from context_service.folding.pure.folds import FoldableBlock, Limits, View, fold
from context_service.folding.pure.importance import ImportanceInputs, Weights, shares_of
from context_service.folding.pure.summaries import (
    DIGEST_TOKENS_MAX,
    SEGMENT,
    Scored,
    Summary,
    is_noise,
    join_segments,
    summary,
)
from context_service.kernel.rendering import Format
from context_service.packing.pure.steps.catch_up import PreparedStep, caught_up
from context_service.packing.pure.texts.units import Unit, units_of
from context_service.profiles.pure.profiles import profile
from tests.context_service.windows.messages import answered, called, message

DECISION = "We keep the poll interval at the edge, because bots make most of the load."


def count(text: str) -> int:
    return len(text.split())


def unit(text: str, *, seq: int = 1, weight: float = 0.9) -> Unit:
    return Unit(kind="any", text=text, ref=f"m{seq}/0", seq=seq, weight=weight)


def shown(units: list[Unit], *, goal: str = "", tokens_max: int = 60) -> list[str]:
    """Return the lines of a summary of units, a step each."""
    made = summary(
        SEGMENT,
        steps=(1, len(units)),
        seqs=(1, len(units)),
        units=[Scored(unit=one, step=1, is_error=False) for one in units],
        tokens_max=tokens_max,
        inputs=ImportanceInputs(step=1, goal_terms=shares_of(goal, units), mentions={}),
        weights=Weights(),
        count=count,
    )
    return made.text.splitlines()[1:]


def step(*messages: object) -> PreparedStep:
    done = caught_up(
        messages,  # type: ignore[arg-type]
        to=Format.OPENAI,
        profile=profile("general"),
        count=count,
        is_end=True,
        last_seq=len(messages),
    )
    return done.steps[0]


def test_what_differs_stands_before_the_same_warning_of_twenty_hosts():
    warnings = [unit(f"db-{n} cpu={n + 60} WARN above the limit", seq=n, weight=1.0) for n in range(1, 21)]

    lines = shown([*warnings, unit(DECISION, seq=21, weight=0.5)])

    assert f"- {DECISION} (m21/0)" in lines
    assert len(lines) > 2


def test_a_word_of_the_goal_that_every_line_has_tells_nothing():
    common = [unit(f"the order of {name} is read", seq=n) for n, name in enumerate("abcdefghij", 1)]

    lines = shown([*common, unit("the storage layer is read", seq=11)], goal="orders on a storage layer", tokens_max=20)

    assert lines[-1] == "- the storage layer is read (m11/0)"


def test_a_line_that_is_one_of_many_of_its_kind_in_an_output_weighs_less_than_one_alone():
    rules = profile("general")

    (alone,) = units_of(answered("a\nconnection refused\nb"), rules)
    among = units_of(answered("\n".join(f"connection {n} refused" for n in range(100))), rules)
    said = units_of(message("user", "\n".join(f"{n} failed" for n in range(100))), rules)

    assert {round(one.weight / alone.weight, 3) for one in among} == {0.1}
    assert {one.weight for one in said} == {alone.weight}


def test_rules_and_values_are_no_units_because_the_state_has_them():
    """Behind a change they would mislead."""
    made = step(message("assistant", "Set the batch size to 20.\nThe build failed again."))

    assert [one.section for one in made.entries][:1] == ["value"]
    assert [one.text for one in made.units] == ["The build failed again."]


@pytest.mark.parametrize(
    "messages",
    [
        [message("user", "The build failed again. We decided to wait.")],
        [called("run"), message("user", "It failed.", *answered("ok").parts, seq=2)],  # as Anthropic has results
    ],
)
def test_no_line_of_a_user_is_in_a_summary_because_the_conversation_has_them(messages: list[Message]):
    assert not step(*messages).units


def test_a_file_that_was_written_is_a_unit_and_one_that_was_read_is_not():
    written = step(called("write_file", {"path": "docs/notes.md"}), answered("ok"))
    read = step(called("read_file", {"path": "docs/notes.md"}), answered("ok"))

    assert [(one.text, one.ref) for one in written.units] == [("write_file docs/notes.md", "m1/1")]
    assert not read.units


def test_a_digest_of_digests_keeps_most_of_what_they_say():
    """However long the past is, it is more than a few lines."""
    limits = Limits.of(40_000)
    view = View(
        head=0,
        summaries=tuple(_digest(n) for n in range(1, 40)),
        blocks=tuple(
            FoldableBlock(number=n, step=400 + n, seq_from=n, seq_to=n, tokens=2_000, masked_tokens=100)
            for n in range(30)
        ),
    )

    done = fold(view, limits, state_tokens=0, goal="", count=count, cost=count, weights=Weights())

    deepest = max(done.view.summaries, key=lambda one: one.level)
    assert deepest.tokens > 4 * DIGEST_TOKENS_MAX
    assert sum(one.tokens for one in done.view.summaries if one.level > SEGMENT) <= limits.digests


def _digest(number: int) -> Summary:
    """Return a digest of ten steps, each with a decision of its own."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    texts = [f"decided {one} {'very ' * number}much because it {'did ' * place}hold" for place, one in enumerate(words)]
    kept = tuple(Scored(unit=unit(text, seq=number), step=number, is_error=False) for text in texts)
    return Summary(
        level=3,
        step_from=10 * number - 9,
        step_to=10 * number,
        seq_from=number,
        seq_to=number,
        tokens=DIGEST_TOKENS_MAX,
        text="",
        kept=kept,
    )


def said_by(speaker: str, text: str, seq: int) -> Unit:
    return Unit(kind="any", text=text, ref=f"m{seq}/0", seq=seq, weight=0.9, speaker=speaker)


@given(speakers=st.lists(st.sampled_from(["assistant", "tool grep", "tool read_file", "tool run_tests"]), max_size=40))
def test_a_third_of_the_lines_at_most_are_of_tools_that_read(speakers: list[str]):
    """A fold that keeps search hits loses what was done."""
    units = [said_by(speaker, f"line {letters(seq)} of src/{seq}.py", seq) for seq, speaker in enumerate(speakers, 1)]

    lines = [line for line in shown(units, tokens_max=80) if line.startswith("- ")]

    read = [line for line in lines if line.startswith(("- tool grep", "- tool read_file"))]
    assert len(read) <= max(len(lines) // 3, 1)
    assert not units or lines


def letters(number: int) -> str:
    """Return a word of its own for each number: lines of one form are worth less."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def test_a_line_that_another_step_mentions_is_no_noise():
    hit = said_by("tool grep", "src/carts.py: def total(cart)", 1)
    seen = ImportanceInputs(step=2, goal_terms={}, mentions={"src/carts.py": 2})

    assert not is_noise(hit, seen)
    assert is_noise(hit, replace(seen, mentions={"src/carts.py": 1}))
    assert not is_noise(said_by("tool edit_file", "src/carts.py was changed", 1), seen)


def test_two_segments_of_which_one_has_no_line_become_one():
    def segment(steps: tuple[int, int], units: list[Unit]) -> Summary:
        return summary(
            SEGMENT,
            steps=steps,
            seqs=steps,
            units=[Scored(unit=one, step=steps[0], is_error=False) for one in units],
            tokens_max=60,
            inputs=ImportanceInputs(step=9, goal_terms={}, mentions={}),
            weights=Weights(),
            count=count,
        )

    decided, empty = segment((1, 4), [unit(DECISION)]), segment((5, 8), [])

    first = join_segments(decided, empty, count=count)
    second = join_segments(segment((1, 4), []), segment((5, 8), [unit(DECISION)]), count=count)

    for both in (first, second):
        assert (both.step_from, both.step_to, both.seq_from, both.seq_to) == (1, 8, 1, 8)
    assert first.text == second.text
    assert first.text.startswith("[Steps 1 to 8, m1..m8, in excerpts]\n- ")
    assert [scored.unit for scored in first.kept] == [unit(DECISION)]


def test_a_segment_without_a_line_shows_nothing_until_a_neighbour_has_lines():
    """A fold that merges only messages of users has none: they move to the conversation."""

    def folded(view: View, texts: list[str], first: int) -> View:
        blocks = [
            FoldableBlock(
                number=number,
                step=number,
                seq_from=number,
                seq_to=number,
                tokens=300,
                masked_tokens=300,
                units=(unit(text, seq=number),) if text else (),
                speaker="assistant" if text else "user",
                said=text or f"Bitte prüfe Rechnung {number} noch einmal. " + "Sie kam doppelt an. " * 40,
            )
            for number, text in enumerate(texts, first)
        ]
        view = replace(view, blocks=(*view.blocks, *blocks))
        return fold(view, Limits.of(4_000), state_tokens=0, goal="", count=count, cost=count, weights=Weights()).view

    first = folded(View(head=10), [""] * 12, 1)
    (alone,) = first.summaries
    assert (alone.text, alone.tokens, alone.step_from) == ("", 0, 1)

    lines = [f"we decided to use plan {letters(n)} because it is cheap" for n in range(14)]
    (both,) = folded(first, lines, 13).summaries
    assert both.text.startswith("[Steps 1 to ")
    assert "we decided to use plan" in both.text
