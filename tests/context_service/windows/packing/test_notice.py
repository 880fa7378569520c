"""The notice before a fold: the model is told in time to save what it needs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from context_service.packing.rules.notice import NOTICE_TEXT
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, result, said

ASKED = windows_pb.WindowConfig(notice_before_fold=True)
LIMIT = 6_000


def words(count: int) -> str:
    return " ".join(f"item {n}" for n in range(count // 2))


async def worked(
    caller: Caller, other: Caller, window: windows_pb.Window, context_id: str, sizes: list[int]
) -> list[windows_pb.PackResponse]:
    """Work through steps with results of so many words, and return the pack after each."""
    packs = []
    for n, size in enumerate(sizes):
        await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", words(size)))
        pack = await packed(caller, window, without_recall=True)
        assert await packed(other, window, without_recall=True) == pack
        assert pack.tokens <= LIMIT
        packs.append(pack)
    return packs


@pytest.mark.parametrize("sizes", [[300] * 40, [80, 500, 250] * 14])
async def test_the_pack_before_each_fold_has_the_notice_and_the_pack_after_it_has_none(
    sizes: list[int], caller: Caller, other_replica: Caller
):
    """Steps are of one size or of several; and the prefix stays between folds."""
    context_id = await said(caller, "", {"content": "Count the items."})
    window = await opened(caller, context_id, LIMIT, config=ASKED)

    packs = await worked(caller, other_replica, window, context_id, sizes)

    folds = 0
    for before, after in pairwise(packs):
        if after.epoch > before.epoch:
            folds += 1
            assert NOTICE_TEXT in before.messages_json
            assert after.messages_json.count(NOTICE_TEXT) <= (after.fold_eta_steps < 2)
        else:
            assert after.messages_json.encode().startswith(before.messages_json.encode()[: before.prefix_bytes])
    assert folds > 1


async def test_the_notice_comes_in_time_wherever_the_largest_step_ends(caller: Caller):
    """Even where the step fits below the limit, but the notice does not fit after it."""
    context_id = await said(caller, "", {"content": "Count the items."})
    large = await opened(caller, context_id)
    tokens = []
    for n, size in enumerate([80, 80, 500]):
        await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", words(size)))
        tokens.append((await packed(caller, large, without_recall=True)).tokens)
    next_tokens = tokens[-1] + (tokens[-1] - tokens[-2])
    windows = [await opened(caller, context_id, next_tokens + room, config=ASKED) for room in range(0, 160, 20)]
    before = [await packed(caller, window, without_recall=True) for window in windows]
    await said(caller, context_id, calls("c3"), result("c3", words(500)))

    after = [await packed(caller, window, without_recall=True) for window in windows]

    told = [NOTICE_TEXT in pack.messages_json for pack in before]
    folded = [later.epoch > pack.epoch for pack, later in zip(before, after, strict=True)]
    assert folded == sorted(folded, reverse=True)
    assert set(folded) == {True, False}
    assert all(has_notice for has_notice, is_folded in zip(told, folded, strict=True) if is_folded)


async def test_a_window_that_does_not_ask_for_it_has_no_notice(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", {"content": "Count the items."})
    window = await opened(caller, context_id, LIMIT)

    packs = await worked(caller, other_replica, window, context_id, [300] * 20)

    assert packs[-1].epoch > 0
    assert not any(NOTICE_TEXT in pack.messages_json for pack in packs)


async def test_a_step_larger_than_all_before_that_passes_the_limit_folds_without_a_notice(caller: Caller):
    """No pack could hold the notice and all steps."""
    context_id = await said(caller, "", {"content": "Count the items."}, calls("a"), result("a", words(2_000)))
    window = await opened(caller, context_id, LIMIT, config=ASKED)
    first = await packed(caller, window)
    await said(caller, context_id, calls("b"), result("b", words(3_000)))

    pack = await packed(caller, window)

    assert (first.epoch, pack.epoch) == (0, 1)
    assert pack.tokens <= LIMIT
