"""What follows from counts: within its bounds, and nothing from few."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_service.packing.pure.texts.units import SpokenText, kinds_in
from context_service.profiles.pure.lookups import (
    BOUND,
    SEEN_MIN,
    Count,
    Counts,
    Learned,
    applied,
    count_lookup,
    counts_json,
    counts_of,
    is_due,
    learned,
)
from context_service.profiles.pure.profiles import profile, profile_names

COUNTS = st.dictionaries(
    st.sampled_from(["decision", "error", "path", "0", "default"]),
    st.builds(Count, st.integers(0, 10_000), st.integers(0, 10_000)),
)
BOTH = st.builds(lambda lines, results: Counts(lines=lines, results=results), COUNTS, COUNTS)


@given(BOTH, st.sampled_from(profile_names()))
def test_weights_and_caps_move_within_their_bounds(counts: Counts, name: str):
    what, base = learned(counts), profile(name)
    assert all(1 - BOUND <= one <= 1 + BOUND for one in (*what.lines.values(), *what.results.values()))
    made = applied(base, what)
    assert all(
        abs(new.weight - old.weight) <= BOUND * old.weight + 1e-9 for new, old in zip(made.high, base.high, strict=True)
    )
    assert all(new.weight <= 1 for new in made.high)
    caps = [(chars, base.trim[number][1]) for number, (_, chars) in enumerate(made.trim)]
    assert all(abs(new - old) <= BOUND * old + 1 for new, old in [*caps, (made.trim_default, base.trim_default)])
    assert (made.low, made.verbatim, made.state) == (base.low, base.verbatim, base.state)


@given(BOTH, BOTH)
def test_counts_add_up_in_any_order_and_are_kept(one: Counts, other: Counts):
    assert one.plus(other) == other.plus(one)
    assert counts_of(counts_json(one)) == one


def test_what_is_asked_for_more_than_the_rest_weighs_more():
    few = Count(SEEN_MIN - 1, SEEN_MIN - 1)
    counts = Counts(lines={"path": Count(100, 30), "error": Count(100, 10), "url": Count(100, 0), "rare": few})
    what = learned(counts)
    assert what.lines["path"] == 1.2 and what.lines["url"] == 0.8
    assert 0.8 < what.lines["error"] < 1
    assert "rare" not in what.lines
    assert learned(Counts(lines={"path": Count(1_000, 900)})) == Learned({}, {})  # beside nothing it is not more
    assert not learned(Counts(lines={"path": Count(1_000, 0), "url": Count(1_000, 0)}))


def test_it_is_due_at_twenty_contexts_and_at_twice_as_many_again():
    learned_count, made = 0, []
    for contexts in range(1, 400):
        if is_due(contexts, learned_count):
            learned_count = contexts
            made.append(contexts)
    assert made == [20, 40, 80, 160, 320]


def test_of_a_step_with_several_tools_no_rule_of_results_is_asked_for():
    coding = profile("coding")
    assert list(count_lookup(["path"], ["bash"], coding).results) != []
    assert count_lookup(["path"], ["bash", "read_file"], coding).results == {}
    once = count_lookup([], ["read_file"], coding)
    assert count_lookup(["path"], ["read_file", "read_file"], coding).results == once.results


def test_kinds_of_a_text_are_those_of_its_units():
    coding = profile("coding")
    assert "error" in kinds_in([SpokenText("tool", "all is well\nValueError: no such port", 1)], coding)
    assert kinds_in([SpokenText("tool", "nothing in particular", 1)], coding) == set()
