"""How long callers wait for the event loop is measured, and what made them wait."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack

import pytest

from service_runtime.telemetry import loop_waits
from service_runtime.telemetry.loop_waits import LoopWaits
from service_runtime.telemetry.metrics import Metrics

WAIT, STEP = "contextkeep_event_loop_wait_seconds", "contextkeep_event_loop_step_seconds"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def read(metrics: Metrics, name: str) -> float:
    value = metrics._registry.get_sample_value(name)
    assert value is not None
    return value


@pytest.mark.parametrize("computes", [True, False], ids=["computing", "away"])
async def test_a_wait_and_what_the_loop_computed_meanwhile_are_told(
    computes: bool, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
):
    """A loop that computes is our fault; one that gets no processor is the machine's."""
    monkeypatch.setattr(loop_waits, "INTERVAL_S", 0.01)
    with ExitStack() as stack:
        stack.enter_context(LoopWaits().watching(metrics))
        await asyncio.sleep(0.05)
        if computes:
            until = time.thread_time() + 0.2
            while time.thread_time() < until:
                pass
        else:
            time.sleep(0.2)
        await asyncio.sleep(0.05)
    assert read(metrics, WAIT) > 0.15
    assert (read(metrics, STEP) > 0.15) == computes


async def test_waits_of_more_than_a_minute_ago_are_forgotten(metrics: Metrics, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop_waits, "INTERVAL_S", 0.01)
    with LoopWaits().watching(metrics):
        await asyncio.sleep(0.02)
        time.sleep(0.1)
        await asyncio.sleep(0.05)
        assert read(metrics, WAIT) > 0.05
        monkeypatch.setattr(loop_waits, "KEPT_S", 0.0)
        assert read(metrics, WAIT) == 0.0
