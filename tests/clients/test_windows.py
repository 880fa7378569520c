"""Windows through both clients: what a client makes of values, and of packs."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from contextkeep import (
    ImportanceWeights,
    MessageInput,
    PartInput,
    StateEntryInput,
    TierRatios,
    TokenPrices,
    ToolCallInput,
    ToolResultInput,
    WindowConfig,
    new_id,
)
from contextkeep.errors import (
    BudgetTooSmall,
    CheckpointNotFound,
    ContextNotFound,
    FoldNotPrepared,
    FoldStale,
    InvalidArgument,
    LogMoved,
    PinNotFound,
    TokensSpent,
    WindowClosed,
    WindowNotFound,
)

TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]


async def test_each_pack_begins_with_the_one_before(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Where is my file?")).context_id
    window = await world.run(
        context.windows.open, context_id, "claude-sonnet-4-5", system_prompt="Be brief.", tools=TOOLS, goal="Find it."
    )
    assert (window.message_format, window.tokens_family, window.token_limit) == ("anthropic", "claude", 160_000)
    assert (window.tools, window.system_prompt, window.goal) == (TOOLS, "Be brief.", "Find it.")
    assert str(window) == f"window of claude-sonnet-4-5 on {context_id} (160000 tokens)"
    first = await world.run(context.windows.pack, window.window_id)

    look = PartInput(tool_call=ToolCallInput(id="c-1", name="look", arguments={"at": "/"}))
    await world.run(context.contexts.send, MessageInput("I look.", role="assistant", parts=[look]), context_id)
    waiting = await world.run(context.windows.pack, window.window_id)
    found = PartInput(tool_result=ToolResultInput(tool_call_id="c-1", content="a.txt"))
    await world.run(context.contexts.send, MessageInput(role="tool", parts=[found]), context_id)
    second = await world.run(context.windows.pack, window.window_id)

    assert (waiting.is_waiting, second.is_waiting) == (True, False)
    for before in (first, waiting):
        prefix = str(second).encode()[: before.prefix_bytes]
        assert hashlib.sha256(prefix).hexdigest() == before.prefix_sha
    for before in (first, waiting, second):
        assert await world.run(context.windows.pack, window.window_id, since=before) == second
    assert second.body["tools"] == TOOLS
    assert [one["role"] for one in second.body["messages"]] == ["user", "assistant", "user"]
    assert second.tokens == sum(second.tokens_by_zone.values())
    assert (second.step_count, second.last_seq, second.epoch, second.omitted_step_count) == (2, 3, 0, 0)
    again = await world.run(context.windows.get, window.window_id)
    assert (again.step_count, again.reached_seq) == (2, 3)


async def test_bills_teach_how_counts_meet_them(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    model = f"m-{new_id()}"
    window = await world.run(context.windows.open, context_id, model, context_tokens=9_000)
    assert (window.token_factor, window.tokens_are_estimated) == (1, False)
    pack = await world.run(context.windows.pack, window.window_id)
    for _ in range(2):
        learned = await world.run(
            context.windows.record_usage,
            window.window_id,
            input_tokens=3 * pack.tokens,
            cached_tokens=pack.tokens,
            cache_write_tokens=pack.tokens,
            output_tokens=9,
            pack_tokens=pack.tokens,
            epoch=pack.epoch,
        )
    assert (learned.token_factor, learned.typical_factor, learned.is_clamped) == (2, 1, True)
    assert (await world.run(context.windows.get, window.window_id)).token_factor == 2
    with pytest.raises(InvalidArgument):
        await world.run(context.windows.record_usage, window.window_id, input_tokens=1, cached_tokens=2)
    stats = await world.run(context.windows.stats, window.window_id)
    assert (stats.step_count, stats.tokens, stats.breaks, stats.token_factor) == (1, pack.tokens, {}, 2)
    assert (stats.usage.call_count, stats.usage.cached_tokens, stats.levels[0].zone) == (2, 2 * pack.tokens, "verbatim")
    estimate = await world.run(context.windows.estimate_cost, window.window_id, steps=3, step_tokens=10)
    assert (estimate.ahead.written_tokens, estimate.folds, estimate.step_tokens) == (30, 0, 10)


async def test_whoever_knows_how_steps_ended_says_so(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    window = await world.run(context.windows.open, context_id, "gpt-5")
    request_id = new_id()
    for _ in range(2):
        outcome = await world.run(
            context.windows.record_outcome, window.window_id, success=True, quality=0.5, request_id=request_id
        )
        assert (outcome.step_from, outcome.step_to, outcome.memory_id) == (1, 1, "")
    with pytest.raises(InvalidArgument):
        await world.run(context.windows.record_outcome, window.window_id, success=False, step_to=2)


async def test_windows_are_listed_and_a_closed_one_packs_no_more(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    opened = [
        await world.run(context.windows.open, context_id, "a model", context_tokens=9_000, message_format=one)
        for one in ("openai_responses", "GEMINI")
    ]
    assert await world.run(context.windows.list, context_id, page_size=1) == opened[::-1]
    closed = await world.run(context.windows.close, opened[0].window_id)
    assert closed.is_closed and str(closed).endswith(", closed)")
    for call, window_id, error in (
        (context.windows.pack, closed.window_id, WindowClosed),
        (context.windows.pack, new_id(), WindowNotFound),
        (context.windows.get, new_id(), WindowNotFound),
        (context.windows.close, new_id(), WindowNotFound),
    ):
        with pytest.raises(error):
            await world.run(call, window_id)


async def test_what_stands_in_front_is_changed_and_pinned(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    window = await world.run(context.windows.open, context_id, "gpt-5", system_prompt="Be brief.", tools=TOOLS)
    changed = await world.run(context.windows.update, window.window_id, goal="Find it.", tools=[])
    assert (changed.system_prompt, changed.goal, changed.tools, changed.epoch) == ("Be brief.", "Find it.", [], 1)
    of_text = await world.run(context.windows.pin, window.window_id, "In French.")
    of_ref = await world.run(context.windows.pin, window.window_id, ref="m1")
    pins = await world.run(context.windows.get_state, window.window_id, ["pin"])
    assert [(one.key, one.text, one.ref, one.source) for one in pins] == [
        (of_text, "In French.", "", "caller"),
        (of_ref, "Hello", "m1", "caller"),
    ]
    assert [str(one) for one in pins] == ["pin: In French. (caller)", "pin: Hello (m1)"]
    await world.run(context.windows.unpin, window.window_id, of_text)
    with pytest.raises(PinNotFound):
        await world.run(context.windows.unpin, window.window_id, of_text)
    receipts = await world.run(context.windows.get_lineage, window.window_id)
    assert [one.reason for one in receipts] == ["unpinned", "pinned", "pinned", "updated"]


async def test_what_changes_of_a_window_is_watched(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "The staging port is 8443.")).context_id
    window = await world.run(context.windows.open, context_id, "gpt-5")
    pack = await world.run(context.windows.pack, window.window_id)
    await world.run(context.windows.update, window.window_id, system_prompt="Be brief.")
    told = await world.run(context.windows.watch, window.window_id, epoch_after=pack.epoch, until_now=True)
    (receipt,) = await world.run(context.windows.get_lineage, window.window_id)
    (entry,) = await world.run(context.windows.get_state, window.window_id)
    assert [(one.broken, one.entry) for one in told] == [(receipt, None), (None, entry), (None, None)]
    assert (told[2].window.epoch, told[2].window.reached_seq, told[2].window.system_prompt) == (1, 1, "")
    places = {"epoch_after": told[-1].epoch_after, "entry_from": told[-1].entry_from}
    assert places == {"epoch_after": 1, "entry_from": 1}
    await world.run(context.windows.close, window.window_id)
    (closed,) = await world.run(context.windows.watch, window.window_id, **places)
    assert closed.window.is_closed
    with pytest.raises(WindowNotFound):
        await world.run(context.windows.watch, new_id())


async def test_a_budget_and_a_config_are_changed(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    window = await world.run(
        context.windows.open, context_id, "mine", context_tokens=10_000, config=WindowConfig(low_mark=0.2)
    )
    config = WindowConfig(keep_last_steps=3)
    changed = await world.run(context.windows.update, window.window_id, token_budget=0.5, config=config)
    assert (changed.token_limit, changed.config.keep_last_steps, changed.config.low_mark) == (5_000, 3, 0.2)
    again = await world.run(context.windows.update, window.window_id, token_budget=0, output_reservation=9_000)
    assert (again.token_limit, again.epoch) == (1_000, 0)


async def test_callers_say_what_holds(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "The staging port is 8443.")).context_id
    window = await world.run(context.windows.open, context_id, "gpt-5")
    before = await world.run(context.windows.pack, window.window_id)
    said = [
        StateEntryInput("sub_goal", "ports", "List ports.", "done"),
        StateEntryInput("value", "staging port", value="9001"),
    ]
    assert await world.run(context.windows.patch_state, window.window_id, said) == 2
    pack = await world.run(context.windows.pack, window.window_id)
    assert pack.messages_json.startswith(before.messages_json[:-2])
    assert "staging port: 9001" in pack.messages_json
    entries = await world.run(context.windows.get_state, window.window_id)
    assert [(one.section, one.key, one.value, one.source) for one in entries] == [
        ("sub_goal", "ports", "done", "caller"),
        ("value", "staging port", "9001", "caller"),
    ]
    assert await world.run(context.windows.patch_state, window.window_id, remove=said[1:]) == 1
    assert len(await world.run(context.windows.get_state, window.window_id)) == 1
    for wrong in ([StateEntryInput("nonsense", "k", "t")], ["a text"], [StateEntryInput("value", 7)]):  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument):
            await world.run(context.windows.patch_state, window.window_id, wrong)


async def test_a_fold_is_prepared_and_committed(world: Any, context: Any):
    rows = "\n".join(f"row {n} of a long listing" for n in range(300))
    context_id = (await world.run(context.contexts.send, "Look around.")).context_id
    window = await world.run(context.windows.open, context_id, "gpt-5")
    with pytest.raises(FoldNotPrepared):
        await world.run(context.windows.commit_fold, window.window_id)
    for n in range(12):
        call = PartInput(tool_call=ToolCallInput(id=f"c{n}", name="look", arguments={}))
        result = PartInput(tool_result=ToolResultInput(tool_call_id=f"c{n}", content=rows))
        step = [MessageInput(role="assistant", parts=[call]), MessageInput(role="tool", parts=[result])]
        await world.run(context.contexts.append, step, context_id)
    with pytest.raises(FoldStale) as stale:
        await world.run(context.windows.prepare_fold, window.window_id, expected_epoch=7)
    assert stale.value.metadata == {"epoch": "0"}
    told = await world.run(context.windows.prepare_fold, window.window_id, expected_epoch=0)
    assert (told.reason, told.created_at, told.prepared_last_seq) == ("prepared", None, 25)
    request_id = new_id()
    done, again = [
        await world.run(context.windows.commit_fold, window.window_id, expected_epoch=0, request_id=request_id)
        for _ in range(2)
    ]
    assert (done.epoch, done.masked_steps, done.tokens_after) == (1, told.masked_steps, told.tokens_after)
    assert again == done
    with pytest.raises(FoldStale):
        await world.run(context.windows.commit_fold, window.window_id)


async def test_a_part_of_the_work_is_done_in_a_fork_and_comes_back_once(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Never open port 80.")).context_id
    window = await world.run(context.windows.open, context_id, "gpt-5", system_prompt="Lead.")
    request_id = new_id()
    forked, again = [
        await world.run(
            context.windows.fork,
            window.window_id,
            "Which ports are open?",
            inherits="State",
            system_prompt="Look.",
            tools=[{"name": "look"}],
            key_ttl_s=60,
            request_id=request_id,
        )
        for _ in range(2)
    ]
    assert (forked.ref, forked.window) == (again.ref, again.window)
    assert forked.key.key != again.key.key and forked.key.key not in repr(forked)
    assert (forked.window.system_prompt, forked.window.tools) == ("Look.", [{"name": "look"}])
    assert "Never open port 80." in (await world.run(context.windows.pack, forked.window.window_id)).messages_json
    answer = MessageInput("Port 443 is.", role="assistant")
    await world.run(context.contexts.send, answer, forked.window.context_id)
    merged = await world.run(context.windows.merge, forked.window.window_id, tokens_max=200)
    assert merged == await world.run(context.windows.merge, forked.window.window_id)
    assert (merged.context_id, merged.ref, merged.fork_ref, merged.is_whole) == (context_id, "m2", "f1", True)
    (fork,) = (await world.run(context.windows.get, window.window_id)).forks
    assert (fork.ref, fork.merged_ref, fork.context_id) == ("f1", "m2", forked.window.context_id)
    history = await world.run(context.contexts.get, forked.window.context_id)
    assert history.context.ancestor_ids == (context_id, forked.window.context_id)[:1]
    assert (await world.run(context.windows.expand, window.window_id, "f1:m2/0")).text == "Port 443 is."
    with pytest.raises(InvalidArgument):
        await world.run(context.windows.merge, window.window_id)
    with pytest.raises(InvalidArgument):
        await world.run(context.windows.fork, window.window_id, "x", inherits="all")


async def test_a_window_goes_back_to_what_it_was_and_the_log_keeps_what_is_left_out(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    config = WindowConfig(checkpoint_every_n_steps=5)
    window = await world.run(context.windows.open, context_id, "gpt-5", config=config)
    assert window.config.checkpoint_every_n_steps == 5
    before = await world.run(context.windows.pack, window.window_id)
    made = await world.run(context.windows.create_checkpoint, window.window_id, "here")
    assert str(made) == "checkpoint 1, behind step 1 (caller, here)"
    sent = await world.run(context.contexts.send, "Nonsense.", context_id)
    pack = await world.run(context.windows.pack, window.window_id)
    assert await world.run(context.windows.list_checkpoints, window.window_id, page_size=1) == [made]
    with pytest.raises(LogMoved) as moved:
        await world.run(context.windows.rollback, window.window_id, made.number, expected_last_seq=1)
    assert moved.value.metadata == {"last_seq": "2"}
    with pytest.raises(CheckpointNotFound):
        await world.run(context.windows.rollback, window.window_id, 9, expected_last_seq=pack.last_seq)
    request_id = new_id()
    done, again = [
        await world.run(
            context.windows.rollback,
            window.window_id,
            made.number,
            expected_last_seq=pack.last_seq,
            request_id=request_id,
        )
        for _ in range(2)
    ]
    assert again == done
    assert done.left_out_message_ids == (sent.message_id,)
    assert (done.receipt.checkpoint, done.receipt.left_out_refs, done.left_out_message_count) == (1, ("m2",), 1)
    assert (await world.run(context.windows.pack, window.window_id)).messages_json == before.messages_json
    assert (await world.run(context.windows.get, window.window_id)).left_out_refs == ("m2",)


async def test_a_response_that_is_of_no_use_takes_back_what_led_to_it(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    config = WindowConfig(recovery_strategy="reread_from_checkpoint")
    window = await world.run(context.windows.open, context_id, "gpt-5", config=config)
    pack = await world.run(context.windows.pack, window.window_id)
    assert await world.run(context.windows.report_response, window.window_id, pack, invalid=False) is None
    await world.run(context.contexts.send, MessageInput("Nonsense.", role="assistant"), context_id)
    with pytest.raises(LogMoved):
        await world.run(context.windows.report_response, window.window_id, pack, invalid=True)
    with pytest.raises(InvalidArgument):
        await world.run(context.windows.report_response, window.window_id, "0.1", invalid=True)
    recovered = await world.run(
        context.windows.report_response, window.window_id, pack, invalid=True, expected_last_seq=pack.last_seq + 1
    )
    assert recovered.pack.messages_json == pack.messages_json
    assert recovered.rolled_back.receipt.left_out_refs == ("m2",)
    again = await world.run(context.windows.report_response, window.window_id, pack, invalid=True)
    assert (again.pack, again.rolled_back) == (recovered.pack, None)


async def test_what_does_not_fit_is_refused_with_what_would(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "lorem ipsum " * 500)).context_id
    small = {"context_tokens": 500, "token_budget": 1.0, "output_reservation": 1}
    window = await world.run(context.windows.open, context_id, "m", **small)
    with pytest.raises(BudgetTooSmall) as error:
        await world.run(context.windows.pack, window.window_id)
    assert int(error.value.metadata["least"]) > 1000
    for given in (
        {"context_tokens": 0},
        {"message_format": "none"},
        {"tools": [float("nan")]},
        {"tools": {"name": "one tool alone"}},
        {"tools": "[]"},
        {"token_budget": 2},
    ):
        with pytest.raises(InvalidArgument):
            await world.run(context.windows.open, context_id, "m", **{**small, **given})
    with pytest.raises(InvalidArgument, match="the Pack before is wanted"):
        await world.run(context.windows.pack, window.window_id, since="a pack")
    with pytest.raises(ContextNotFound):
        await world.run(context.windows.open, new_id(), "gpt-5")


async def test_a_window_has_the_config_that_it_was_told_and_the_defaults(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "word " * 90)).context_id
    config = WindowConfig(
        importance_weights=ImportanceWeights(recency=0.5),
        tier_ratios=TierRatios(hot=0.3),
        prices=TokenPrices(output=8),
        low_mark=0,
        max_total_tokens=200,
        cache_ttl_s=0,
    )

    window = await world.run(context.windows.open, context_id, "gpt-5", config=config)

    assert window.config.importance_weights.recency == 0.5
    assert window.config.tier_ratios == TierRatios(hot=0.3, segments=0.14, digests=0.14, state=0.07)
    assert (window.config.prices.output, window.config.low_mark, window.config.keep_last_steps) == (8, 0, 10)
    assert window.config.cache_ttl_s == 0
    pack = await world.run(context.windows.pack, window.window_id)
    assert pack.wrap_up
    assert (await world.run(context.windows.get, window.window_id)).spent_tokens == pack.tokens
    await world.run(context.contexts.send, "More.", context_id)
    with pytest.raises(TokensSpent):
        await world.run(context.windows.pack, window.window_id)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"high_mark": 1}, "config"),
        (WindowConfig(high_mark="much"), "config.high_mark"),  # type: ignore[arg-type]
        (WindowConfig(prices=TokenPrices(input="much")), "config.prices.input"),  # type: ignore[arg-type]
        (WindowConfig(tier_ratios=TokenPrices()), "config.tier_ratios"),  # type: ignore[arg-type]
        (WindowConfig(keep_last_steps=1_001), "config.keep_last_steps"),
    ],
)
async def test_a_config_that_cannot_be_is_refused_by_name(world: Any, context: Any, config: Any, field: str):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    with pytest.raises(InvalidArgument) as error:
        await world.run(context.windows.open, context_id, "gpt-5", config=config)
    assert error.value.violations[0].field == field


async def test_learning_is_frozen_and_undone(world: Any, context: Any):
    app_id = f"app-{new_id()}"
    frozen = await world.run(context.profiles.set_learning, "coding", app_id, is_frozen=True)
    assert (frozen.profile, frozen.app_id, frozen.is_frozen, frozen.version) == ("coding", app_id, True, 0)
    assert await world.run(context.profiles.set_learning, "coding", app_id) == frozen
    undone = await world.run(context.profiles.set_learning, "coding", app_id, is_frozen=False, undo=True)
    assert (undone.is_frozen, undone.context_count) == (False, 0)
    listed = await world.run(context.profiles.list, "coding", with_evidence=True)
    assert [one.learned for one in listed] == [None]
    with pytest.raises(InvalidArgument):
        await world.run(context.profiles.set_learning, "nobodys")


async def test_a_profile_is_put_and_listed_with_its_versions(world: Any, context: Any):
    name = f"mine-{new_id()}"
    put = [await world.run(context.profiles.put, name, text) for text in ("extends: coding", "extends: general")]
    assert [str(one) for one in put] == [f"{name}@1", f"{name}@2"]
    listed = await world.run(context.profiles.list, name, with_text=True, page_size=1)
    assert [(one.version, one.text, one.is_built_in) for one in listed] == [
        (2, "extends: general", False),
        (1, "extends: coding", False),
    ]
    (coding,) = await world.run(context.profiles.list, "coding")
    assert (str(coding), coding.is_built_in, coding.created_at) == ("coding", True, None)
    with pytest.raises(InvalidArgument):
        await world.run(context.profiles.put, name, "extends: nobody")
