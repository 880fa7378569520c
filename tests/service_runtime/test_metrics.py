"""Numbers and distributions under labels: what is announced is there, and nothing else becomes a label."""

from __future__ import annotations

from service_runtime.telemetry.metrics import Metrics
from tests.scraping import scraped


async def test_all_that_is_announced_is_there_before_anything_happens():
    """Else the rate of the first of something would be missed."""
    metrics = Metrics()
    metrics.counter("things", "Things", kind=("a", "b"), size=("s", "l"))
    metrics.seconds("waits", "Waits", kind=("a",))
    with metrics.exposed("127.0.0.1", 0) as port:
        found = await scraped(port)
    assert {name: value for name, value in found.items() if name.startswith("things_total")} == {
        f'things_total{{kind="{kind}",size="{size}"}}': 0 for kind in "ab" for size in "sl"
    }
    assert found['waits_count{kind="a"}'] == 0


async def test_what_was_not_announced_is_one_other():
    """However many names somebody makes up, there is one series more."""
    metrics = Metrics()
    count = metrics.counter("things", "Things", kind=("a",))
    wait = metrics.seconds("waits", "Waits", kind=("a",))
    count(kind="a")
    count(2.5, kind="a")
    for number in range(100):
        count(3, kind=f"made up {number}")
        wait(0.2, kind=f"made up {number}")
    with metrics.exposed("127.0.0.1", 0) as port:
        found = await scraped(port)
    assert {name: value for name, value in found.items() if name.startswith("things_total")} == {
        'things_total{kind="a"}': 3.5,
        'things_total{kind="other"}': 300,
    }
    assert found['waits_count{kind="other"}'] == 100
    assert found['waits_bucket{kind="other",le="0.1"}'] == 0
    assert found['waits_bucket{kind="other",le="0.25"}'] == 100
