"""What a window is told of its folds and of what it may cost: each number at its borders, and over running services."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from context_service.folding.pure.folds import Limits
from context_service.folding.rules.write_fold import FoldWriting
from context_service.windows.pure.config import DEFAULT, config_json, config_of, parse_config, updated
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import BudgetTooSmall, InvalidArgument, RequestIdReused, TokensSpent
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import calls, opened, packed, result, said

ROWS = "\n".join(f"row {n} of a long listing" for n in range(200))
SPENT = windows_pb.WindowConfig(max_total_tokens=1_000)


def nested(name: str, value: object) -> dict[str, Any]:
    group, _, field = name.rpartition(".")
    return {group: {field: value}} if group else {field: value}


@pytest.mark.parametrize(
    ("name", "least", "most", "step"),
    [
        ("importance_weights.recency", 0, 1, 0.001),
        ("importance_weights.domain", 0, 1, 0.001),
        ("tier_ratios.state", 0, 0.27, 0.001),  # what the others leave
        ("conversation_share", 0, 0.4, 0.001),
        ("restore_files_share", 0, 0.2, 0.001),
        ("prices.cache_read", 0, 1_000_000, 0.001),
        ("high_mark", 0.501, 1, 0.001),
        ("low_mark", 0, 0.969, 0.001),
        ("keep_last_steps", 1, 1_000, 1),
        ("summarize_every_n_steps", 1, 1_000, 1),
        ("max_total_tokens", 0, 10**15, 1),
        ("cache_ttl_s", 0, 86_400, 1),
    ],
)
def test_a_number_is_taken_up_to_its_borders_and_refused_behind_them(name: str, least: float, most: float, step: float):
    for value in (least, most):
        config_of(nested(name, value))
    for value in (least - step, most + step, math.nan, math.inf, -math.inf):
        with pytest.raises(InvalidArgument) as error:
            config_of(nested(name, value))
        (field,) = error.value.violations
        assert f"config.{name}".startswith(field.field), value


@pytest.mark.parametrize(
    ("contradiction", "field"),
    [
        ({"low_mark": 0.6, "high_mark": 0.6}, "config.low_mark"),
        ({"high_mark": 0.4}, "config.high_mark"),  # the low one is at 0.5 by default
        ({"tier_ratios": {"hot": 0.7}}, "config.tier_ratios"),
        ({"conversation_share": 0.41}, "config.conversation_share"),
        ({"restore_files_share": 0.21}, "config.restore_files_share"),
        (
            {
                "importance_weights": dict.fromkeys(
                    ("recency", "relevance", "causal", "references", "success", "domain"), 0.0
                )
            },
            "config.importance_weights",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(contradiction: dict[str, Any], field: str):
    with pytest.raises(InvalidArgument) as error:
        config_of(contradiction)
    assert [one.field for one in error.value.violations] == [field]


def test_what_is_not_said_is_the_default_and_what_is_stored_is_read_again():
    assert config_of({}) == DEFAULT
    said = {"tier_ratios": {"hot": 0.5}, "keep_last_steps": 3}

    assert parse_config(config_json(said)) == config_of(said)
    limits = Limits.of(10_000, config_of(said))
    assert (limits.hot, limits.segments, limits.keep_last, limits.segment_steps) == (5_000, 900, 3, 20)


async def worked(caller: Caller, context_id: str, steps: int) -> str:
    """Write steps with long results, and return their context."""
    for n in range(steps):
        context_id = await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", ROWS))
    return context_id


async def test_two_windows_of_one_context_fold_each_by_its_own_config(caller: Caller, other_replica: Caller):
    context_id = await worked(caller, "", 12)
    config = windows_pb.WindowConfig(keep_last_steps=2, low_mark=0.1, summarize_every_n_steps=3)
    default = await opened(caller, context_id, 18_000)
    told = await opened(caller, context_id, 18_000, config=config)
    assert (default.config.keep_last_steps, told.config.keep_last_steps) == (10, 2)
    assert (told.config.high_mark, told.config.prices.cache_write) == (0.97, 1.25)

    for window in (default, told):
        pack = await packed(caller, window)
        assert pack == await packed(other_replica, window)
        assert pack.tokens <= window.token_limit
    parts = [(await caller.call("ExplainPack", window_id=one.window_id)).parts for one in (default, told)]

    verbatim = [sum(part.zone == "verbatim" for part in one) for one in parts]
    assert verbatim[0] > verbatim[1] == 2
    segments = [(part.step_from, part.step_to) for part in parts[1] if part.zone == "segments"]
    assert segments[:2] == [(1, 10)]  # none of its segments has a line, so they are one


async def test_an_account_is_at_the_prices_of_its_window(caller: Caller):
    context_id = await worked(caller, "", 12)
    without_cache = windows_pb.WindowConfig(prices=windows_pb.TokenPrices(cache_write=1, cache_read=1))
    for config, pays_at_once in ((None, False), (without_cache, True)):
        window = await opened(caller, context_id, 100_000, config=config)
        await packed(caller, window)
        receipt = (await caller.call("Fold", window_id=window.window_id, dry_run=True)).receipt
        assert (receipt.pays_after_steps == 0) is pays_at_once


async def test_a_window_says_that_its_tokens_end_and_then_packs_no_more(caller: Caller, other_replica: Caller):
    """A pack counts once, from whichever replica; one that waits for results asks no model, and is free."""
    context_id = await said(caller, "", {"content": "word " * 80})
    window = await opened(caller, context_id, config=SPENT)
    spent, wrapped = 0, False
    with pytest.raises(TokensSpent) as error:
        for n in range(20):
            pack = await packed(caller, window)
            spent += pack.tokens
            assert pack == await packed(other_replica, window)
            assert (await caller.call("GetWindow", window_id=window.window_id)).window.spent_tokens == spent
            assert pack.wrap_up >= wrapped
            wrapped = pack.wrap_up
            context_id = await said(caller, context_id, calls(f"c{n}"))
            assert (await packed(caller, window)).is_waiting
            context_id = await said(caller, context_id, result(f"c{n}", "found"))
    assert wrapped and 500 < spent <= 1_000
    assert (error.value.metadata["spent_tokens"], error.value.metadata["max_total_tokens"]) == (str(spent), "1000")


async def test_a_window_without_a_limit_counts_nothing(caller: Caller):
    window = await opened(caller, await said(caller, "", {"content": "Hello"}))
    assert not (await packed(caller, window)).wrap_up
    assert (await caller.call("GetWindow", window_id=window.window_id)).window.spent_tokens == 0


async def changed(caller: Caller, window: windows_pb.Window, **fields: Any) -> windows_pb.Window:
    return (await caller.call("UpdateWindow", window_id=window.window_id, **fields)).window


def test_what_is_said_later_is_put_to_what_was_said_before():
    """By name, also within a group; what is taken back is as if it had never been said."""
    text = config_json({"tier_ratios": {"hot": 0.5, "state": 0.1}, "keep_last_steps": 3, "token_budget": 0.5})
    now = updated(text, {"tier_ratios": {"hot": 0.3}, "high_mark": 0.9, "token_budget": None})
    assert now == {"tier_ratios": {"hot": 0.3, "state": 0.1}, "keep_last_steps": 3, "high_mark": 0.9}
    assert config_json(updated(text, {})) == text


async def test_another_config_breaks_no_prefix_and_holds_from_the_next_fold_on(caller: Caller, other_replica: Caller):
    context_id = await worked(caller, "", 12)
    window = await opened(caller, context_id, 100_000, config=windows_pb.WindowConfig(keep_last_steps=3, low_mark=0.2))
    before = await packed(caller, window)
    config = windows_pb.WindowConfig(keep_last_steps=2, tier_ratios=windows_pb.TierRatios(hot=0.5))

    told = await changed(caller, window, config=config)

    assert (told.config.keep_last_steps, told.config.low_mark, told.config.high_mark) == (2, 0.2, 0.97)
    assert (told.config.tier_ratios.hot, told.config.tier_ratios.state) == (0.5, 0.07)
    assert (told.epoch, told.token_limit) == (0, 100_000)
    assert await packed(caller, window) == before
    await caller.call("Fold", window_id=window.window_id)
    parts = (await other_replica.call("ExplainPack", window_id=window.window_id)).parts
    assert sum(part.zone == "verbatim" for part in parts) == 2


async def test_another_budget_holds_from_the_next_pack_on(caller: Caller, other_replica: Caller):
    """What is over it folds; what had to be folded before stays so, and there is room for more."""
    context_id = await worked(caller, "", 12)
    window = await opened(caller, context_id, 100_000)
    whole = await packed(caller, window)
    assert (await packed(other_replica, window), whole.epoch) == (whole, 0)

    smaller = await changed(caller, window, token_budget=0.08)
    assert (smaller.epoch, smaller.token_limit) == (0, 8_000)
    packs = [await packed(one, window) for one in (other_replica, caller)]
    assert packs[0] == packs[1] and packs[0].tokens <= 8_000 < whole.tokens and packs[0].epoch == 1

    larger = await changed(other_replica, window, token_budget=0.0)
    assert larger.token_limit == 80_000  # the default
    same = await packed(caller, window)
    assert (same.messages_json, same.epoch) == (packs[0].messages_json, 1) and same.fold_eta_steps > packs[
        0
    ].fold_eta_steps
    assert (await changed(caller, window, output_reservation=90_000)).token_limit == 10_001
    assert (await changed(caller, window, goal="Find it.")).token_limit == 10_001


async def test_a_budget_smaller_than_what_must_be_there_changes_nothing(caller: Caller):
    """Pins, and the constraints and values of the state: a pack could not be without them."""
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    await caller.call("Pin", window_id=window.window_id, text="word " * 1_000)
    rules = [
        windows_pb.StateEntryInput(section="constraint", key=f"{n}", text=f"Never do {n}. " + "word " * 200)
        for n in range(5)
    ]
    await caller.call("PatchState", window_id=window.window_id, set=rules)
    before = (await caller.call("GetWindow", window_id=window.window_id)).window
    leasts = []
    for share in (0.05, 0.15):
        with pytest.raises(BudgetTooSmall) as error:
            await changed(
                caller, window, token_budget=share, goal="Find it.", config=windows_pb.WindowConfig(low_mark=0.1)
            )
        leasts.append(int(error.value.metadata["least"]))
        assert (await caller.call("GetWindow", window_id=window.window_id)).window == before
    with pytest.raises(BudgetTooSmall) as error:
        await changed(caller, window, token_budget=0.15)
    least = int(error.value.metadata["least"])
    assert 2_000 < least < min(leasts)
    with pytest.raises(BudgetTooSmall):
        await changed(caller, window, output_reservation=10_001 - least + 1)
    assert (await changed(caller, window, output_reservation=10_001 - least)).token_limit == least


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"config": {"low_mark": 0.98}}, "config.low_mark"),
        ({"config": {"high_mark": math.nan}}, "config.high_mark"),
        ({"config": {"tier_ratios": {"hot": 0.6}}}, "config.tier_ratios"),  # with what was said of the others
        ({"config": {"keep_last_steps": 0}}, "config.keep_last_steps"),
        ({"token_budget": 1.1}, "token_budget"),
        ({"token_budget": math.nan}, "token_budget"),
        ({"token_budget": -0.1}, "token_budget"),
        ({"output_reservation": -1}, "output_reservation"),
        ({"output_reservation": 10_001}, "output_reservation"),
    ],
    ids=str,
)
async def test_a_change_that_cannot_be_is_refused_by_name_and_changes_nothing(
    fields: dict[str, Any], named: str, caller: Caller
):
    config = windows_pb.WindowConfig(tier_ratios=windows_pb.TierRatios(segments=0.25))
    window = await opened(caller, await said(caller, "", {"content": "Hello."}), config=config)
    with pytest.raises(InvalidArgument) as error:
        await changed(caller, window, goal="Find it.", **fields)
    assert [one.field for one in error.value.violations] == [named]
    assert (await caller.call("GetWindow", window_id=window.window_id)).window == window


async def test_two_replicas_change_a_config_at_once_and_every_change_is_there(caller: Caller, other_replica: Caller):
    """Each puts what it says to what the other said, though no epoch tells of it; and a request happens once."""
    window = await opened(caller, await said(caller, "", {"content": "Hello."}))
    request_id = an_id()
    said_of_it: list[dict[str, Any]] = [
        {"keep_last_steps": 7},
        {"low_mark": 0.3},
        {"high_mark": 0.8},
        {"summarize_every_n_steps": 9},
    ]
    await asyncio.gather(
        *(
            changed((caller, other_replica)[n % 2], window, config=windows_pb.WindowConfig(**one))
            for n, one in enumerate(said_of_it)
        ),
        *(changed(one, window, token_budget=0.9, request_id=request_id) for one in (caller, other_replica)),
    )
    now = (await caller.call("GetWindow", window_id=window.window_id)).window
    config = now.config
    assert (config.keep_last_steps, config.low_mark, config.high_mark, config.summarize_every_n_steps) == (
        7,
        0.3,
        0.8,
        9,
    )
    assert (now.token_limit, now.epoch) == (9_000, 0)
    with pytest.raises(RequestIdReused):
        await changed(caller, window, token_budget=0.8, request_id=request_id)


async def test_a_fold_that_was_worked_out_by_another_budget_is_not_written(
    caller: Caller, other_replica: Caller, monkeypatch: pytest.MonkeyPatch
):
    """It would leave more than there is room for since; it is worked out again."""
    context_id = await worked(caller, "", 12)
    window = await opened(caller, context_id, 20_000)
    write, is_first = FoldWriting.write, True

    async def late(self: FoldWriting, *args: Any) -> Any:
        nonlocal is_first
        if is_first:
            is_first = False
            await changed(other_replica, window, token_budget=0.2)
        return await write(self, *args)

    monkeypatch.setattr(FoldWriting, "write", late)
    pack = await packed(caller, window)
    assert not is_first and pack.tokens <= 4_000
    assert [
        one.tokens_after <= 4_000 for one in (await caller.call("GetLineage", window_id=window.window_id)).receipts
    ] == [True]
