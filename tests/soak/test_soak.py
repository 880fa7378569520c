"""A short soak with every run of the tests; `make soak` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import stack
from tests.soak.run import Soak

VICTIMS = (  # three at a time: a start costs more than a kill
    ("context", "entity", "postgres"),
    ("context", "postgres", "sweep"),
    ("context", "entity", "migration"),
)


@pytest.mark.timeout(300)
async def test_twenty_kills_lose_nothing_and_leave_nothing(tmp_path: Path):
    async with stack.running(tmp_path) as everything:
        report = await Soak(everything, seed=1, victims=VICTIMS).run(seconds=240, kills_max=20)

    assert report.ok, "\n".join([*report.losses, *report.halves, *report.left_over, *report.faults])
    assert sum(report.kills.values()) >= 20
    assert report.acknowledged > 100
