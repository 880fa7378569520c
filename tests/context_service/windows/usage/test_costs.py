"""What packs cost: the sums are those of packs one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.usage.pure.costs import Ahead, Break, Cost, Shape, ahead, until_now
from context_service.usage.pure.prices import Prices

TOKENS = st.integers(0, 3_000)
SHAPES = st.builds(
    Shape,
    tokens=TOKENS,
    step=st.integers(1, 900),
    high=st.integers(1, 2_500),
    folded=st.integers(1, 2_500),
    kept=TOKENS,
)


def one_by_one(steps: int, shape: Shape) -> Ahead:
    """Return what `ahead` does, pack by pack."""
    cost, folds, tokens = Cost(), 0, shape.tokens
    for _ in range(steps):
        if tokens + shape.step > shape.high:
            cost, folds, tokens = cost.plus(shape.fold), folds + 1, shape.folded
        else:
            cost, tokens = cost.plus(Cost(tokens, shape.step)), tokens + shape.step
    return Ahead(cost, folds)


@given(st.integers(0, 60), SHAPES)
def test_many_steps_cost_what_they_cost_one_by_one(steps: int, shape: Shape):
    assert ahead(steps, shape) == one_by_one(steps, shape)


def test_a_run_as_it_was_measured_costs_what_was_measured():
    """10,000 steps of 920 tokens, half of 68,000 at a time: 6,931 base tokens a step."""
    sliding = Shape(tokens=1_000, step=920, high=68_000, folded=34_000, kept=1_000)
    assert ahead(10_000, sliding).cost.base_tokens / 10_000 == pytest.approx(6_931, rel=0.08)


def test_costs_are_read_at_one_price_and_written_at_another():
    cost = Cost(1_000_000, 100_000)
    assert (cost.tokens, cost.base_tokens) == (1_100_000, 225_000)
    assert cost.price(Prices(input=3, cache_write=3.75, cache_read=0.3, output=15)) == pytest.approx(0.675)


def test_what_a_window_has_cost_follows_from_its_breaks():
    """Five steps of 100, a fold to 200 behind the fifth, of which 50 stay, and two more steps."""
    breaks = [Break("high_mark", 5, 500, 200, 50)]
    read = [0, 100, 200, 300, 50, 200, 300]
    written = [100, 100, 100, 100, 150, 100, 100]
    assert until_now(breaks, steps=7, tokens=400) == Cost(sum(read), sum(written))
    assert until_now([], steps=3, tokens=300) == Cost(0 + 100 + 200, 300)
    assert until_now([], steps=0, tokens=10) == Cost()


@given(st.lists(st.tuples(st.integers(0, 50), TOKENS, TOKENS, TOKENS), max_size=8), st.integers(0, 50), TOKENS)
def test_nothing_that_was_ever_recorded_costs_less_than_nothing(
    recorded: list[tuple[int, int, int, int]], more: int, tokens: int
):
    """Also of a log that was retracted meanwhile: its steps begin anew."""
    breaks = [Break("retracted", *one) for one in recorded]
    cost = until_now(breaks, steps=more, tokens=tokens)
    assert min(cost) >= 0
