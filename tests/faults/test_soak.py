"""A short soak with every run of the tests; `make soak` is the long one."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from soak import clouds, stack
from soak.databases.run import Report as SpreadReport
from soak.run import Report, Soak
from tests.emulators import azurite

VICTIMS = (  # three at a time: a start costs more than a kill
    ("context", "entity", "postgres"),
    ("context", "sweep", "migration"),
)


@pytest.mark.parametrize("report", [Report(1, kills=Counter(context=2)), SpreadReport(1, kills=Counter(mover=2))])
def test_a_report_is_json(report: Report | SpreadReport):
    assert 2 in json.loads(json.dumps(report.as_dict()))["kills"].values()


@pytest.mark.timeout(600)
async def test_six_kills_lose_nothing_and_leave_nothing(tmp_path: Path):
    async with stack.running(tmp_path) as everything:
        report = await Soak(everything, seed=1, victims=VICTIMS).run(seconds=240, kills_max=6)

    assert report.ok, "\n".join([*report.losses, *report.halves, *report.left_over, *report.faults])
    assert sum(report.kills.values()) >= 6
    assert report.acknowledged > 10
    assert report.attacks > 1


CLOUD_VICTIMS = (("cloud", "copy"), ("copy", "context", "sweep"))


@pytest.mark.timeout(600)
async def test_a_cloud_that_breaks_off_loses_nothing_and_leaves_nothing(tmp_path: Path):
    """Cut, silent and busy, with kills of what uses it, and of copies to and from it; afterwards fsck is clean."""
    if reason := azurite.missing():
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    async with clouds.azure(tmp_path / "azurite") as cloud, stack.running(tmp_path / "stack", cloud) as everything:
        report = await Soak(everything, seed=1, victims=CLOUD_VICTIMS).run(seconds=120, kills_max=4)

    assert report.ok, "\n".join([*report.losses, *report.halves, *report.left_over, *report.faults])
    assert report.kills["cloud"] + report.kills["copy"] > 1
    assert report.acknowledged > 15
