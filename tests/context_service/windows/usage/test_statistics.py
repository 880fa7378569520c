"""A window in numbers, and what it will cost."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import InvalidArgument, WindowNotFound
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import opened, packed, said
from tests.context_service.windows.conftest import Stack
from tests.context_service.windows.usage.test_usage import billed, run


async def stats(caller: Caller, window: windows_pb.Window) -> windows_pb.WindowStatsResponse:
    return await caller.call("WindowStats", window_id=window.window_id)


async def estimated(caller: Caller, window: windows_pb.Window, **fields: int) -> windows_pb.EstimateCostResponse:
    return await caller.call("EstimateCost", window_id=window.window_id, **fields)


@pytest.fixture(scope="module")
async def worked(stack: Stack) -> tuple[windows_pb.Window, list[windows_pb.PackResponse]]:
    """A window with a pack behind each of a hundred steps, and its packs."""
    caller = Caller(stack.channels[0])
    first, *messages = run(100)
    context_id = await said(caller, "", first)
    window = await opened(caller, context_id, 2_500, model=f"m-{an_id()}", system_prompt="Be brief.")
    packs = [await packed(caller, window)]
    for at in range(0, len(messages), 2):
        await said(caller, context_id, *messages[at : at + 2])
        packs.append(await packed(caller, window, without_recall=True))
    return window, packs


async def test_what_is_predicted_of_packs_is_what_they_were(
    caller: Caller, other_replica: Caller, worked: tuple[windows_pb.Window, list[windows_pb.PackResponse]]
):
    """Without anything that counts while it is packed; from whichever replica."""
    window, packs = worked
    found = await stats(caller, window)
    assert found == await stats(other_replica, window)
    assert (found.step_count, found.tokens) == (101, packs[-1].tokens)
    assert found.tokens_by_zone == packs[-1].tokens_by_zone
    receipts = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert {one.reason: one.count for one in found.breaks} == {"high_mark": len(receipts)}
    assert len(receipts) >= 2

    kept = {one.epoch: one.tokens_kept for one in receipts}
    covered = [before.tokens if before.epoch == pack.epoch else kept[pack.epoch] for before, pack in pairwise(packs)]
    share = sum(covered) / sum(pack.tokens for pack in packs)
    assert found.predicted_cached_share == pytest.approx(share, abs=0.02)
    assert found.predicted.read_tokens == pytest.approx(sum(covered), rel=0.05)


async def test_levels_stand_for_all_of_the_log_in_ever_fewer_tokens(
    caller: Caller, worked: tuple[windows_pb.Window, list[windows_pb.PackResponse]]
):
    window, _ = worked
    found = await stats(caller, window)
    assert sum(one.step_count for one in found.levels) == found.step_count
    assert sum(one.log_tokens for one in found.levels) == found.log_tokens
    shares = [one.tokens / one.log_tokens for one in found.levels]
    assert shares == sorted(shares) and shares[0] < 1 / 3
    assert found.levels[-1].zone == "verbatim"
    assert found.savings == pytest.approx(1 - found.tokens / (found.log_tokens + found.tokens_by_zone.system))
    assert found.savings > 0.5


async def test_what_is_billed_is_added_up_and_priced(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello"})
    prices = {"input": 3, "cache_write": 3.75, "cache_read": 0.3, "output": 15}
    window = await opened(caller, context_id, model=f"m-{an_id()}", config={"prices": prices})
    assert (await stats(caller, window)).usage == windows_pb.WindowUsage()
    for _ in range(2):
        await billed(
            caller,
            window,
            pack_tokens=900_000,
            input_tokens=1_000_000,
            cached_tokens=800_000,
            cache_write_tokens=100_000,
            output_tokens=10_000,
        )
    usage = (await stats(caller, window)).usage
    assert (usage.call_count, usage.pack_tokens, usage.input_tokens, usage.output_tokens) == (
        2,
        1_800_000,
        2_000_000,
        20_000,
    )
    assert usage.cached_share == 0.8
    assert usage.base_tokens == pytest.approx(2 * (80_000 + 125_000 + 100_000))
    assert usage.price == pytest.approx(2 * (0.8 * 0.3 + 0.1 * 3.75 + 0.1 * 3 + 0.01 * 15))


async def test_an_estimate_goes_on_as_the_window_did(
    caller: Caller, worked: tuple[windows_pb.Window, list[windows_pb.PackResponse]]
):
    window, packs = worked
    made = await estimated(caller, window, steps=1_000)
    found = await stats(caller, window)
    a_step = made.ahead.base_tokens / 1_000
    assert a_step == pytest.approx(found.predicted.base_tokens / 101, rel=0.4)
    assert made.warm.read_tokens == packs[-1].tokens and made.warm.written_tokens == made.step_tokens
    assert (made.cold.read_tokens, made.cold.written_tokens) == (0, packs[-1].tokens + made.step_tokens)
    assert made.warm.base_tokens < made.fold.base_tokens < made.cold.base_tokens
    assert made.folds > 10 and made.sliding.base_tokens > 0
    assert (await estimated(caller, window)).ahead == windows_pb.PackCost()
    longer = await estimated(caller, window, steps=1_000, step_tokens=2 * made.step_tokens)
    assert longer.ahead.base_tokens > made.ahead.base_tokens


async def test_an_estimate_is_of_tokens_as_they_are_billed(caller: Caller):
    window = await opened(caller, await said(caller, "", *run(3)), model=f"m-{an_id()}")
    pack = await packed(caller, window)
    for _ in range(20):
        await billed(caller, window, pack_tokens=1_000, input_tokens=1_200)
    made = await estimated(caller, window)
    assert (made.typical_factor, made.warm.read_tokens) == (1.2, round(1.2 * pack.tokens))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"steps": -1}, "steps"),
        ({"steps": 100_001}, "steps"),
        ({"steps": 2**31 - 1}, "steps"),
        ({"step_tokens": -1}, "step_tokens"),
        ({"step_tokens": 10_000_001}, "step_tokens"),
    ],
)
async def test_an_estimate_of_what_cannot_be_is_refused_by_name(fields: dict[str, int], field: str, caller: Caller):
    window = await opened(caller, await said(caller, "", {"content": "Hello"}))
    with pytest.raises(InvalidArgument) as error:
        await estimated(caller, window, **fields)
    assert [one.field for one in error.value.violations] == [field]
    most = await estimated(caller, window, steps=100_000, step_tokens=10_000_000)  # each of which would fold
    assert most.folds == 100_000 and math.isfinite(most.ahead.price)


async def test_an_empty_a_closed_and_a_foreign_window_have_numbers_or_none(caller: Caller):
    owned = await opened(caller.of("ada"), await said(caller.of("ada"), "", {"content": "Hello"}))
    window = await opened(caller, await said(caller, "", {"content": "Hello"}))
    for name in ("WindowStats", "EstimateCost"):
        for stranger, window_id in (
            (caller.of("other"), window.window_id),
            (caller.of("bob"), owned.window_id),
            (caller, owned.window_id),
            (caller, an_id()),
        ):
            with pytest.raises(WindowNotFound):
                await stranger.call(name, window_id=window_id)
    empty = await stats(caller, window)
    assert (empty.step_count, empty.log_tokens, empty.savings, empty.predicted_cached_share) == (0, 0, 0, 0)
    await packed(caller, window)
    await caller.call("CloseWindow", window_id=window.window_id)
    assert (await stats(caller, window)).tokens_by_zone.verbatim == 0
