"""A long run, by the rules alone, in small: `make bench-window` has all of it."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

import pytest

from context_service.tokens import TokenCounter
from tests.bench.long_run.coding import Coding
from tests.bench.long_run.measured import ALWAYS, sampled
from tests.bench.long_run.operations import Operations
from tests.bench.long_run.ours import Folding
from tests.bench.long_run.prepared import prepared
from tests.bench.long_run.workload import Log

STEPS, LIMIT, EVERY = 500, 24_000, 50


@pytest.mark.parametrize("kind", [Coding, Operations])
def test_packs_of_a_long_run_fit_grow_at_their_end_and_hold_every_rule_and_value(kind: type[Log]):
    """Between folds a vendor's cache holds all of the pack before, and nothing that is always true is ever missing."""
    count = cache(TokenCounter().count)
    ready = prepared(kind(seed=7, steps=STEPS).workload(), count, lambda _: None)
    ours = Folding(ready, LIMIT, count)
    before: list[Hashable] = []
    for step in ready.steps:
        pack = ours.after(step)
        keys = [one.key for one in pack]
        assert sum(one.tokens for one in pack) <= LIMIT
        if step.number not in ours.folded.steps[-1:]:
            assert keys[: len(before)] == before
        before = keys
        if step.number % EVERY == 0:
            sample = sampled(ours, pack, ready, step.number, is_asked=False)
            assert [one for always in ALWAYS for one in sample.missing(always)] == []

    assert len(ours.folded.steps) > 10
    assert ours.view.summaries
