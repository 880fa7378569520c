"""Windows whose vendor's cache is cold, over running services: when that is a reason to fold, and when it is none."""

from __future__ import annotations

import asyncio
from uuid import UUID

import psycopg
import pytest

from context_service.packing.rules.append_blocks import Appending
from context_service.packing.rules.recall_after_step import StepRecalling
from context_service.packing.store.views import ViewRows
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import InvalidArgument, Unavailable
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.conftest import Stack

LISTING = "\n".join(f"line {n} of a listing" for n in range(150))  # 1,100 tokens
LIMIT = 24_000
HALF_WAY = 17_640  # between 0.5 and 0.97 of it


def rest(stack: Stack, window: windows_pb.Window, seconds: float) -> None:
    """Have a window not packed for a while longer: as if the database's clock had gone on."""
    with psycopg.connect(stack.urls.superuser) as connection:
        connection.execute(
            "UPDATE context.context_window SET packed_at = packed_at - make_interval(secs => %s) WHERE window_id = %s",
            (seconds, UUID(window.window_id)),
        )


async def worked(
    caller: Caller, steps: int = 19, config: windows_pb.WindowConfig | None = None, model: str = "m"
) -> tuple[str, windows_pb.Window, windows_pb.PackResponse]:
    """Open a window, and work until it is under its high mark, and with 19 steps above half way to it."""
    context_id = await said(caller, "", {"content": "Never open port 80."})
    window = await opened(caller, context_id, limit=LIMIT, config=config, model=model)
    for n in range(steps):
        await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", LISTING))
    pack = await packed(caller, window)
    assert pack.epoch == 0
    assert (pack.tokens > HALF_WAY) == (steps == 19)
    return context_id, window, pack


async def reasons(caller: Caller, window: windows_pb.Window) -> list[str]:
    return [one.reason for one in (await caller.call("GetLineage", window_id=window.window_id)).receipts]


async def test_a_message_behind_a_rest_folds_once_and_the_receipt_says_that_it_cost_nothing(
    caller: Caller, stack: Stack
):
    context_id, window, before = await worked(caller)
    rest(stack, window, 301)
    await said(caller, context_id, {"content": "Go on."})

    pack = await packed(caller, window, if_prefix_sha=before.prefix_sha, if_prefix_bytes=before.prefix_bytes)

    # That the caller has the bytes still says nothing of the vendor.
    assert (pack.epoch, pack.offset_bytes) == (1, 0)
    assert pack.tokens <= 0.75 * before.tokens
    assert "Never open port 80." in pack.messages_json
    (receipt,) = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert (receipt.reason, receipt.last_seq, receipt.pays_after_steps) == ("cache_cold", pack.last_seq, 0)
    assert receipt.masked_steps
    # The next one is warm.
    await said(caller, context_id, {"content": "And on."})
    after = await packed(caller, window)
    assert after.epoch == 1
    assert after.messages_json.encode().startswith(pack.messages_json.encode()[: pack.prefix_bytes])


async def test_a_window_that_rests_for_less_does_not_fold(caller: Caller, stack: Stack):
    context_id, window, before = await worked(caller, config=windows_pb.WindowConfig(cache_ttl_s=7_200))
    rest(stack, window, 3_600)
    await said(caller, context_id, {"content": "Go on."})

    pack = await packed(caller, window)

    assert pack.epoch == 0
    assert pack.messages_json.encode().startswith(before.messages_json.encode()[: before.prefix_bytes])


async def test_the_same_log_packs_to_the_same_bytes_however_long_it_rests(
    caller: Caller, other_replica: Caller, stack: Stack
):
    context_id, window, before = await worked(caller)

    for replica in (caller, other_replica):
        rest(stack, window, 100_000)
        again = await packed(replica, window)
        assert (again.messages_json, again.epoch) == (before.messages_json, 0)
    # This pack was sent to a model again: a message right behind it finds the cache warm.
    await said(caller, context_id, {"content": "Go on."})
    assert (await packed(caller, window)).epoch == 0


async def test_another_config_that_makes_it_cold_does_not_fold_what_was_packed(caller: Caller, stack: Stack):
    _, window, before = await worked(caller, config=windows_pb.WindowConfig(cache_ttl_s=0))
    rest(stack, window, 100_000)
    await caller.call("UpdateWindow", window_id=window.window_id, config=windows_pb.WindowConfig(cache_ttl_s=1))

    assert (await packed(caller, window)).messages_json == before.messages_json


async def test_0_is_never(caller: Caller, stack: Stack):
    context_id, window, _ = await worked(caller, config=windows_pb.WindowConfig(cache_ttl_s=0))
    rest(stack, window, 10_000_000)
    await said(caller, context_id, {"content": "Go on."})

    assert (await packed(caller, window)).epoch == 0


async def test_less_than_half_way_to_the_high_mark_is_too_early(caller: Caller, stack: Stack):
    context_id, window, _ = await worked(caller, steps=13)

    for n in range(2):  # and no message is asked twice whether it is
        rest(stack, window, 3_600)
        await said(caller, context_id, {"content": f"Go on {n}."})
        assert (await packed(caller, window)).epoch == 0


async def test_a_fold_that_would_take_away_little_is_none(caller: Caller, stack: Stack):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id, limit=LIMIT)
    for n in range(19):  # words of users, which no mask makes shorter, in the last steps
        await said(caller, context_id, {"content": f"{n}: {'word ' * 1_000}"})
    keeping = windows_pb.WindowConfig(
        keep_last_steps=1_000,
        tier_ratios=windows_pb.TierRatios(hot=0.9, segments=0.05, digests=0.05, state=0),
        conversation_share=0,
    )
    await caller.call("UpdateWindow", window_id=window.window_id, config=keeping)
    before = await packed(caller, window)
    assert before.tokens > HALF_WAY
    rest(stack, window, 3_600)
    await said(caller, context_id, {"content": "Go on."})

    pack = await packed(caller, window)

    assert pack.epoch == 0
    assert pack.messages_json.encode().startswith(before.messages_json.encode()[: before.prefix_bytes])


async def test_a_step_that_waits_is_not_asked_and_its_results_are(caller: Caller, stack: Stack):
    context_id, window, _ = await worked(caller)
    rest(stack, window, 3_600)
    await said(caller, context_id, calls("c99"))
    waiting = [await packed(caller, window) for _ in range(2)]
    assert all(one.is_waiting and one.epoch == 0 for one in waiting)
    assert waiting[0].messages_json == waiting[1].messages_json

    await said(caller, context_id, result("c99", "found"))

    assert (await packed(caller, window)).epoch == 1
    assert await reasons(caller, window) == ["cache_cold"]


async def test_what_others_look_at_does_not_make_a_window_warm(caller: Caller, stack: Stack):
    context_id, window, _ = await worked(caller)
    rest(stack, window, 3_600)
    await said(caller, context_id, {"content": "Go on."})
    await caller.call("Fold", window_id=window.window_id, dry_run=True)  # which reads what came
    await caller.call("ExplainPack", window_id=window.window_id)
    decision = {"section": "decision", "key": "a", "text": "Use A."}
    await caller.call("PatchState", window_id=window.window_id, set=[decision])

    assert (await packed(caller, window)).epoch == 1


async def test_replicas_that_pack_at_once_fold_once_and_answer_the_same(
    caller: Caller, other_replica: Caller, stack: Stack
):
    context_id, window, _ = await worked(caller)
    rest(stack, window, 3_600)
    await said(caller, context_id, {"content": "Go on."})

    packs = await asyncio.gather(*(packed(one, window) for one in (caller, other_replica) * 3))

    assert {one.epoch for one in packs} == {1}
    assert len({one.messages_json for one in packs}) == 1
    assert await reasons(caller, window) == ["cache_cold"]


@pytest.mark.parametrize("where", [(ViewRows, "add", 1), (ViewRows, "write_fold", 0), (Appending, "block", 0)])
async def test_a_call_that_is_cut_off_leaves_the_next_to_decide_the_same(
    where: tuple[type, str, int], caller: Caller, other_replica: Caller, stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    context_id, window, _ = await worked(caller)
    rest(stack, window, 3_600)
    await said(caller, context_id, {"content": "What is on port 80?"})
    of, name, is_behind = where
    real = getattr(of, name)

    async def cut_off(*args: object, **named: object) -> None:
        if is_behind:
            await real(*args, **named)
        raise Unavailable("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(of, name, cut_off)
        if name == "block":
            patch.setattr(StepRecalling, "block", lambda *_: asyncio.sleep(0, result=object()))
        with pytest.raises(Unavailable):
            await packed(caller, window)

    packs = [await packed(one, window) for one in (other_replica, caller)]

    assert {one.epoch for one in packs} == {1}
    assert len({one.messages_json for one in packs}) == 1


async def test_how_long_a_cache_keeps_depends_on_the_model_unless_it_is_said(caller: Caller, stack: Stack):
    context_id = await said(caller, "", {"content": "Hello."})
    found = [
        (await opened(caller, context_id, model=model, config=config)).config.cache_ttl_s
        for model, config in (
            ("claude-sonnet-4-5", None),
            ("m", None),
            ("gpt-5", None),
            ("gpt-5", windows_pb.WindowConfig(cache_ttl_s=86_400)),
            ("gpt-5", windows_pb.WindowConfig(cache_ttl_s=0)),
        )
    ]
    assert found == [300, 300, 600, 86_400, 0]

    for wrong in (-1, 86_401):
        with pytest.raises(InvalidArgument) as error:
            await opened(caller, context_id, config=windows_pb.WindowConfig(cache_ttl_s=wrong))
        assert [one.field for one in error.value.violations] == ["config.cache_ttl_s"]
