"""What vendors bill, and how counts meet it."""

from __future__ import annotations

import asyncio
import random
from itertools import chain
from typing import Any

import psycopg
import pytest

from context_service.usage.rules.usage import TOKENS_MAX
from context_service.usage.store.usage import CALIBRATIONS_MAX
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import BudgetTooSmall, RequestIdReused
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.conftest import Stack


async def billed(caller: Caller, window: windows_pb.Window, **fields: Any) -> windows_pb.RecordUsageResponse:
    return await caller.call("RecordUsage", window_id=window.window_id, **fields)


async def read(caller: Caller, window: windows_pb.Window) -> windows_pb.Window:
    return (await caller.call("GetWindow", window_id=window.window_id)).window


async def taught(caller: Caller, window: windows_pb.Window, ratio: float, times: int = 20) -> None:
    """Let a window be billed some times at one ratio."""
    for _ in range(times):
        await billed(caller, window, pack_tokens=10_000, input_tokens=round(10_000 * ratio))


def run(count: int) -> list[dict[str, Any]]:
    """Return what an agent writes in some steps of about a hundred tokens."""
    steps = [(calls(f"c{n}", content=f"I look {n}."), result(f"c{n}", f"row {n} " * 30)) for n in range(count)]
    return [{"content": "Look."}, *chain.from_iterable(steps)]


@pytest.fixture
async def context_id(caller: Caller) -> str:
    return await said(caller, "", *run(3))


@pytest.fixture
async def window(caller: Caller, context_id: str) -> windows_pb.Window:
    return await opened(caller, context_id, model=f"claude-{an_id()}")  # a model that taught nobody anything yet


async def test_counts_of_a_hundred_packs_meet_their_bills_within_two_per_cent(
    caller: Caller, other_replica: Caller, window: windows_pb.Window, context_id: str
):
    """Of a vendor who bills 8 % more than we count, more or less; told to two replicas in turns."""
    assert window.tokens_are_estimated and window.token_factor == 1
    drawn, true = random.Random(7), 1.08
    for n in range(100):
        replica = (caller, other_replica)[n % 2]
        if n % 10 == 0:
            await said(caller, context_id, {"content": "Go on. " * (n + 1)})
        pack = await packed(replica, window)
        input_tokens = round(pack.tokens * true * drawn.uniform(0.97, 1.03))
        learned = await billed(replica, window, epoch=pack.epoch, pack_tokens=pack.tokens, input_tokens=input_tokens)
    assert learned.typical_factor == pytest.approx(true, rel=0.02)
    assert learned.token_factor == pytest.approx(true * 1.027, rel=0.02)
    assert (await read(other_replica, window)).token_factor == learned.token_factor
    pack, again = [await packed(replica, window) for replica in (caller, other_replica)]
    assert pack == again and pack.calibrated_tokens == pytest.approx(pack.tokens * learned.token_factor, abs=1)


@pytest.mark.parametrize("ratio", [2.0, 1.5, 0.7, 0.5])  # 2 and 0.5 are the most and the least that bills can teach
async def test_a_window_folds_by_what_is_billed_and_its_bytes_stay(ratio: float, caller: Caller, context_id: str):
    """Never over its limit as bills have it; what was sent is sent so on, until it folds."""
    window = await opened(caller, context_id, 2_000, model=f"m-{an_id()}")
    before = await packed(caller, window)
    await taught(caller, window, ratio)
    same = await packed(caller, window)
    assert (same.messages_json, same.tokens, same.epoch) == (before.messages_json, before.tokens, 0)
    assert same.calibrated_tokens == pytest.approx(ratio * same.tokens, abs=1)
    most = 0
    for message in run(40):
        await said(caller, context_id, message)
        pack = await packed(caller, window)
        assert pack.calibrated_tokens <= 2_000
        if pack.epoch == before.epoch:
            assert (
                pack.messages_json.encode()[: before.prefix_bytes]
                == before.messages_json.encode()[: before.prefix_bytes]
            )
        most, before = max(most, pack.tokens), pack
    assert most * ratio > 0.85 * 2_000
    (*_, receipt) = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert receipt.token_factor == ratio


async def test_a_window_knows_from_others_when_it_is_opened_and_when_it_folds(caller: Caller, context_id: str):
    """Of the same model and profile: what is recorded for one is not told to others before that."""
    model = f"m-{an_id()}"
    one, another = [await opened(caller, context_id, 2_000, model=model) for _ in range(2)]
    await taught(caller, one, 1.5)
    assert (await read(caller, another)).token_factor == 1
    assert (await opened(caller, context_id, 2_000, model=model)).token_factor == 1.5
    await said(caller, context_id, *run(12))
    assert (await caller.call("Fold", window_id=another.window_id)).receipt.token_factor == 1.5
    assert (await read(caller, another)).token_factor == 1.5


async def test_models_profiles_and_tenants_do_not_mix(caller: Caller, context_id: str):
    model = f"m-{an_id()}"
    other = caller.of("other")
    of_other = await said(other, "", *run(1))
    await taught(caller, await opened(caller, context_id, model=model), 1.5)
    for asking, context, fields in (
        (caller, context_id, {"model": f"{model}-2"}),
        (caller, context_id, {"model": model, "compression_profile": "coding"}),
        (other, of_other, {"model": model}),
    ):
        window = await opened(asking, context, **fields)
        assert window.token_factor == 1
        assert (await billed(asking, window, input_tokens=1)).token_factor == 1


@pytest.mark.parametrize(("input_tokens", "factor"), [(TOKENS_MAX, 2.0), (1, 0.5)])
async def test_bills_that_cannot_be_are_clamped_and_the_window_still_packs(
    input_tokens: int, factor: float, caller: Caller, window: windows_pb.Window
):
    for _ in range(20):
        learned = await billed(caller, window, pack_tokens=50_000, input_tokens=input_tokens)
        assert learned.is_clamped
    assert learned.token_factor == factor
    assert (await packed(caller, window)).calibrated_tokens <= window.token_limit


async def test_what_does_not_fit_as_it_is_billed_names_the_limit_with_which_it_would(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    fields = {"model": f"m-{an_id()}", "system_prompt": "lorem ipsum " * 300}
    window = await opened(caller, context_id, 1_000, **fields)
    tokens = (await packed(caller, window)).tokens
    await taught(caller, window, 1.9, times=2)
    with pytest.raises(BudgetTooSmall) as error:
        await packed(caller, window)
    least = int(error.value.metadata["least"])
    assert least == pytest.approx(1.9 * (tokens + 40), abs=2)
    assert (await packed(caller, await opened(caller, context_id, least, **fields))).tokens == tokens
    with pytest.raises(BudgetTooSmall):
        await packed(caller, await opened(caller, context_id, least - 1, **fields))


async def test_a_bill_is_kept_once_however_often_it_is_told(
    stack: Stack, caller: Caller, other_replica: Caller, window: windows_pb.Window
):
    once = {"request_id": an_id(), "pack_tokens": 100, "input_tokens": 120, "cached_tokens": 90, "output_tokens": 7}
    several = [billed(replica, window, **once) for replica in (caller, other_replica) * 3]
    answers = await asyncio.gather(*several)
    await taught(caller, window, 1.5, times=3)
    assert {str(one) for one in [*answers, await billed(caller, window, **once)]} == {str(answers[0])}
    with pytest.raises(RequestIdReused):
        await billed(caller, window, **{**once, "input_tokens": 121})
    with psycopg.connect(stack.urls.superuser) as connection:
        kept = connection.execute(
            "SELECT epoch, calls, pack_tokens, input_tokens, cached_tokens, cache_write_tokens, output_tokens"
            " FROM context.window_usage WHERE window_id = %s",
            (window.window_id,),
        ).fetchall()
    assert kept == [(0, 4, 100 + 30_000, 120 + 45_000, 90, 0, 7)]


async def test_what_is_billed_behind_the_close_counts(caller: Caller, window: windows_pb.Window):
    await caller.call("CloseWindow", window_id=window.window_id)
    await billed(caller, window, pack_tokens=10, input_tokens=10)


async def test_a_tenant_remembers_so_many_models(stack: Stack, caller: Caller, window: windows_pb.Window):
    """Those that were used last: names of models are the callers'."""
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO context.token_calibration (tenant_id, model_sha, profile, updated_at)"
            " SELECT %s, sha256(convert_to(n::text, 'UTF8')), 'general', now() - n * interval '1 hour'"
            " FROM generate_series(1, %s) n",
            (PRINCIPAL.tenant_id, CALIBRATIONS_MAX),
        )
        await taught(caller, window, 1.5, times=2)
        (row,) = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE factor = 1.5) > 0 FROM context.token_calibration"
            " WHERE tenant_id = %s",
            (PRINCIPAL.tenant_id,),
        ).fetchall()
        connection.execute("DELETE FROM context.token_calibration WHERE updated_at < now() - interval '30 minutes'")
    assert row == (CALIBRATIONS_MAX, True)


@pytest.mark.parametrize("ratio", [1.5, 0.7])
async def test_what_bills_taught_decides_alike_what_may_be_pinned_and_what_is_packed(ratio: float, caller: Caller):
    """A pin that is taken is packed, and one that no pack has room for is refused, with the limit that has."""
    model = f"m-{an_id()}"
    context_id = await said(caller, "", {"content": "Hello."})
    await taught(caller, await opened(caller, context_id, model=model), ratio)
    text = "word " * 400
    narrow = await opened(caller, context_id, 200, model=model)
    with pytest.raises(BudgetTooSmall) as error:
        await caller.call("Pin", window_id=narrow.window_id, text=text)
    least = int(error.value.metadata["least"])
    for limit, fits in ((least - 1, False), (least, True), (least + 30, True)):
        window = await opened(caller, context_id, limit, model=model)
        if not fits:
            with pytest.raises(BudgetTooSmall):
                await caller.call("Pin", window_id=window.window_id, text=text)
            continue
        await caller.call("Pin", window_id=window.window_id, text=text)
    pack = await packed(caller, window)
    assert text in pack.messages_json
    assert 0.85 * least < pack.calibrated_tokens <= window.token_limit
    assert pack.calibrated_tokens == pytest.approx(pack.tokens * ratio, abs=1)
    with pytest.raises(BudgetTooSmall) as error:
        await opened(caller, context_id, 300, model=model, system_prompt=text)
    of_prompt = int(error.value.metadata["least"])
    await opened(caller, context_id, of_prompt, model=model, system_prompt=text)
    with pytest.raises(BudgetTooSmall):
        await opened(caller, context_id, of_prompt - 1, model=model, system_prompt=text)


async def test_bills_that_leave_no_room_for_what_is_there_are_met_by_less_in_front(caller: Caller):
    """What was taken before the bills came is packed no more; more of it is refused, and less of it is taken."""
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id, 600, model=f"m-{an_id()}", system_prompt="word " * 500)
    await packed(caller, window)
    await taught(caller, window, 1.5)
    with pytest.raises(BudgetTooSmall):
        await packed(caller, window)
    for name, fields in (
        ("UpdateWindow", {"goal": "Find it."}),
        ("Pin", {"text": "Be brief."}),
        ("UpdateWindow", {"token_budget": 0.9}),
    ):
        with pytest.raises(BudgetTooSmall) as error:
            await caller.call(name, window_id=window.window_id, **fields)
        assert 750 < int(error.value.metadata["least"]) < 900
    await caller.call("UpdateWindow", window_id=window.window_id, system_prompt="word " * 300)
    assert (await packed(caller, window)).calibrated_tokens <= 600
