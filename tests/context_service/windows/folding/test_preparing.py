"""Folds that are prepared beside the calls of a model, and committed later: over random views, and over services."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.folding.pure.folds import Limits, View
from context_service.folding.pure.prepare import committed, prepare_fold
from context_service.folding.rules.write_fold import FoldWriting
from context_service.packing.store.views import ViewRows, _prepared_of, _prepared_text
from context_service.windows.pure.config import Config
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import (
    FoldNoProgress,
    FoldNotPrepared,
    FoldStale,
    InvalidArgument,
    RequestIdReused,
    Unavailable,
    WindowClosed,
    WindowNotFound,
)
from service_runtime.postgres import Database, Transaction
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows import calling
from tests.context_service.windows.calling import FORMATS, calls, packed, said
from tests.context_service.windows.conftest import Stack
from tests.context_service.windows.folding.test_folding import NOISE, Cut, step, without_time
from tests.context_service.windows.folding.test_folds import configs, folded, standing, steps_of, views

SHORT = "\n".join(NOISE.splitlines()[:30])
LIMIT = 16_000
CONFIG = {"low_mark": 0.3}  # so that the first fold makes a segment


async def worked(caller: Caller, context_id: str, steps: range) -> str:
    """Write steps of some 400 tokens each."""
    return await said(caller, context_id, *chain.from_iterable(step(n, SHORT) for n in steps))


async def opened(caller: Caller, context_id: str, **fields: Any) -> windows_pb.Window:
    return await calling.opened(caller, context_id, LIMIT, config=CONFIG, **fields)


@pytest.fixture
async def context_id(caller: Caller) -> str:
    context_id = await said(
        caller,
        "",
        {"content": "Never touch the vendor folder. The staging port is 8443.", "message_id": "first"},
        {"role": "assistant", "content": "We decided to use keyset pages because offsets read all rows before them."},
    )
    return await worked(caller, context_id, range(26))


async def prepare(caller: Caller, window: windows_pb.Window, **fields: Any) -> windows_pb.PrepareFoldResponse:
    return await caller.call("PrepareFold", window_id=window.window_id, **fields)


async def commit(caller: Caller, window: windows_pb.Window, **fields: Any) -> windows_pb.FoldReceipt:
    return (await caller.call("CommitFold", window_id=window.window_id, **fields)).receipt


async def lineage(caller: Caller, window: windows_pb.Window) -> list[windows_pb.FoldReceipt]:
    return list((await caller.call("GetLineage", window_id=window.window_id)).receipts)


async def kept(stack: Stack, window: windows_pb.Window) -> str | None:
    """Return what is stored of a window's prepared fold."""
    async with Database.open(stack.urls.service, connections_max=1, name="tests") as database:
        door = database.of(PRINCIPAL, context_id=window.context_id)
        (row,) = await door.query(
            "SELECT prepared FROM context.context_window WHERE window_id = %s", (window.window_id,)
        )
        text: str | None = row.prepared
        return text


@given(
    view=views(),
    limit=st.integers(2_000, 20_000),
    state=st.integers(0, 40),
    config=st.just(Config()) | configs(),
    more=st.lists(st.integers(0, 300), max_size=5),
)
def test_what_is_prepared_and_committed_is_the_fold_with_what_came_since_behind_it(
    view: View, limit: int, state: int, config: Config, more: list[int]
):
    """Also of a view that was folded before: some of its summaries go."""
    limits = Limits.of(limit, config)
    for before in (view, _longer(folded(view, limits, state=state).view, [900, 800, 700] * 8)):
        done = folded(before, limits, state=state)
        fold = prepare_fold(before, done, last_seq=7)
        fold = _prepared_of(_prepared_text(fold))

        assert committed(before, fold, state_tokens=state) == done
        longer = _longer(before, more)
        then = committed(longer, fold, state_tokens=state + 3)
        assert then.view.blocks == (*done.view.blocks, *longer.blocks[len(before.blocks) :])
        assert (then.view.summaries, then.view.state) == (done.view.summaries, state + 3)
        assert steps_of(then.view) == steps_of(longer)
        assert (then.masked, then.dropped, then.merged) == (done.masked, done.dropped, done.merged)


def _longer(view: View, more: list[int]) -> View:
    """Return a view with steps of so many tokens behind it."""
    last = steps_of(view)[-1:]
    number = max((one.number for one in view.blocks), default=0)
    blocks = [
        standing((last[0] if last else 0) + n, tokens, tokens // 3, number=number + n)
        for n, tokens in enumerate(more, 1)
    ]
    return replace(view, blocks=(*view.blocks, *blocks))


@pytest.mark.parametrize("to", FORMATS)
async def test_a_fold_that_was_prepared_is_the_one_that_was_not_byte_for_byte(
    to: Any, caller: Caller, other_replica: Caller, context_id: str
):
    """Twice in a row: of steps, then of steps behind summaries."""
    folding, preparing = [await opened(caller, context_id, format=FORMATS[to]) for _ in range(2)]
    for last in (30, 50, 80):
        await worked(caller, context_id, range(last, last + 7))
        if last == 80:
            await said(caller, context_id, calls("waits"))
        before = await packed(caller, preparing, without_recall=True)
        assert before.is_waiting == (last == 80)
        seq = before.last_seq - before.is_waiting
        assert await packed(caller, folding, without_recall=True) == before

        told = await prepare(caller, preparing, expected_epoch=before.epoch)
        assert told.epoch == before.epoch
        assert await packed(other_replica, preparing, without_recall=True) == before
        receipt = await commit(other_replica, preparing, expected_epoch=told.epoch)

        done = (await caller.call("Fold", window_id=folding.window_id)).receipt
        assert (receipt.reason, receipt.prepared_last_seq, done.prepared_last_seq) == ("prepared", seq, 0)
        assert receipt.created_at.seconds
        assert without_time(receipt) == told.receipt
        receipt.reason, receipt.prepared_last_seq = done.reason, 0
        assert receipt == done
        after = await packed(caller, preparing, without_recall=True)
        assert after.epoch == before.epoch + 1
        assert after == await packed(other_replica, folding, without_recall=True)
        assert (await caller.call("ExplainPack", window_id=preparing.window_id)) == (
            await caller.call("ExplainPack", window_id=folding.window_id)
        )


async def test_what_is_said_while_a_fold_is_prepared_is_in_the_committed_pack_word_for_word(
    caller: Caller, other_replica: Caller, context_id: str
):
    """A constraint and a new value, of a user in the log and of a caller; and steps stay as they were."""
    window = await opened(caller, context_id)
    before = await packed(caller, window, without_recall=True)
    told = await prepare(caller, window)
    await said(
        caller,
        context_id,
        {"content": "Never delete a backup. Correction: the staging port is now 9001.", "message_id": "late"},
    )
    rule = {"section": "constraint", "key": "prod", "text": "Never deploy on a Friday."}
    await caller.call("PatchState", window_id=window.window_id, set=[rule])
    await worked(caller, context_id, range(100, 103))
    between = await packed(other_replica, window, without_recall=True)
    assert between.epoch == before.epoch
    assert between.messages_json.startswith(before.messages_json[:-2])

    receipt = await commit(other_replica, window, expected_epoch=told.epoch)

    pack = await packed(caller, window, without_recall=True)
    assert (receipt.prepared_last_seq, receipt.last_seq) == (before.last_seq, between.last_seq)
    assert receipt.tokens_after < receipt.tokens_before
    state = pack.messages_json.partition("[State of the work after step 32]")[2].partition('"}')[0]
    for text in ("Never touch the vendor folder.", "Never delete a backup.", "the staging port is now 9001"):
        assert text in state
    assert rule["text"] in state and "8443" not in state
    for n in range(100, 103):
        assert json.dumps(SHORT)[1:-1] in pack.messages_json.partition(f"I look at number {n}.")[2]
    assert {"constraint"} <= {one.section for one in receipt.state_added}
    assert await packed(other_replica, window, without_recall=True) == pack


async def test_a_fold_that_is_prepared_again_takes_what_came_since(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    first = (await prepare(caller, window)).receipt
    await worked(caller, context_id, range(30, 35))
    second = (await prepare(caller, window)).receipt
    assert second.prepared_last_seq == first.prepared_last_seq + 10
    assert without_time(await commit(caller, window)) == second


async def test_without_a_preparation_there_is_nothing_to_commit(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    with pytest.raises(FoldNotPrepared):
        await commit(caller, window)
    with pytest.raises(FoldStale) as error:
        await prepare(caller, window, expected_epoch=1)
    assert error.value.metadata == {"epoch": "0"}
    with pytest.raises(FoldNotPrepared):
        await commit(caller, window)
    await prepare(caller, window)
    for wrong in (1, -1, 2**31 - 1):
        with pytest.raises(FoldStale):
            await commit(caller, window, expected_epoch=wrong)
    assert await lineage(caller, window) == []
    short = await opened(caller, (await caller.send()).context_id)
    with pytest.raises(FoldNoProgress):
        await prepare(caller, short)
    with pytest.raises(FoldNotPrepared):
        await commit(caller, short)


@pytest.mark.parametrize("done", ["UpdateWindow", "Pin", "Unpin", "Fold", "Pack", "RetractMessages"])
async def test_what_breaks_the_prefix_makes_a_preparation_void(
    done: str, caller: Caller, other_replica: Caller, context_id: str, stack: Stack
):
    """And nothing of it stays behind: of what was retracted no word."""
    window = await opened(caller, context_id)
    pin = await caller.call("Pin", window_id=window.window_id, text="x")
    await prepare(caller, window)
    text = await kept(stack, window)
    assert text and "keyset pages" in text
    fields: dict[str, Any] = {"window_id": window.window_id}
    match done:
        case "UpdateWindow":
            fields["system_prompt"] = "Be brief."
        case "Pin":
            fields["text"] = "y"
        case "Unpin":
            fields["pin_id"] = pin.pin_id
        case "Pack":
            await worked(caller, context_id, range(50, 80))
        case "RetractMessages":
            fields = {"context_id": context_id, "message_ids": ["first"]}
    await other_replica.call(done, **fields)

    with pytest.raises(FoldStale) as error:
        await commit(caller, window)
    assert int(error.value.metadata["epoch"]) > 1
    with pytest.raises(FoldStale):
        await commit(caller, window, expected_epoch=1)
    assert "prepared" not in {one.reason for one in await lineage(caller, window)}
    assert await kept(stack, window) is None
    with suppress(FoldNoProgress):
        told = await prepare(other_replica, window)
        assert (await commit(caller, window, expected_epoch=told.epoch)).epoch == told.epoch + 1


async def test_a_fold_that_was_prepared_by_another_config_is_none(
    caller: Caller, other_replica: Caller, context_id: str, stack: Stack
):
    window = await opened(caller, context_id)
    told = await prepare(caller, window)
    await caller.call("UpdateWindow", window_id=window.window_id, config=CONFIG)
    assert await kept(stack, window)
    await other_replica.call("UpdateWindow", window_id=window.window_id, config={"keep_last_steps": 3})
    assert await kept(stack, window) is None
    with pytest.raises(FoldNotPrepared):
        await commit(caller, window, expected_epoch=told.epoch)
    again = await prepare(caller, window)
    assert again.receipt != told.receipt
    assert without_time(await commit(other_replica, window, expected_epoch=told.epoch)) == again.receipt


async def test_a_retracted_message_is_in_no_pack_behind_a_commit_that_raced_it(
    caller: Caller, other_replica: Caller, context_id: str
):
    await said(caller, context_id, {"content": "The password is hunter2.", "message_id": "m"})
    window = await opened(caller, context_id)
    await prepare(caller, window)

    async def committing() -> None:
        with suppress(FoldStale):
            await commit(other_replica, window)

    await asyncio.gather(
        committing(), caller.call("RetractMessages", context_id=context_id, message_ids=["m"]), committing()
    )

    for replica in (caller, other_replica):
        assert "hunter2" not in (await packed(replica, window)).messages_json


async def test_of_several_who_commit_at_once_one_folds_and_repeats_of_a_request_are_told_the_same(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    told = await prepare(caller, window)
    request_id = an_id()

    async def committing(replica: Caller, **fields: Any) -> windows_pb.FoldReceipt | None:
        with suppress(FoldStale):
            return await commit(replica, window, **fields)
        return None

    same = await asyncio.gather(
        *(committing(one, request_id=request_id, expected_epoch=told.epoch) for one in (caller, other_replica) * 3)
    )
    assert same[0] and all(one == same[0] for one in same)
    assert [one.epoch for one in await lineage(caller, window)] == [told.epoch + 1]
    await worked(caller, context_id, range(60, 66))
    await prepare(caller, window)
    others = await asyncio.gather(*(committing(one) for one in (caller, other_replica) * 3))
    assert sum(one is not None for one in others) == 1
    assert await committing(caller, request_id=request_id, expected_epoch=told.epoch) == same[0]
    with pytest.raises(RequestIdReused):
        await commit(caller, window, request_id=request_id)
    assert [one.reason for one in await lineage(caller, window)] == ["prepared"] * 2
    await caller.call("CloseWindow", window_id=window.window_id)
    assert await committing(other_replica, request_id=request_id, expected_epoch=told.epoch) == same[0]


async def test_preparing_at_once_with_packs_changes_none_of_them(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    before = await packed(caller, window, without_recall=True)
    replicas = (caller, other_replica) * 2
    *packs, _, _, _, _ = await asyncio.gather(
        *(packed(one, window, without_recall=True) for one in replicas), *(prepare(one, window) for one in replicas)
    )
    assert all(pack == before for pack in packs)
    assert (await commit(caller, window)).epoch == before.epoch + 1


async def test_a_commit_whose_connection_ends_at_any_statement_is_not_done_and_the_same_request_does_it(
    caller: Caller, other_replica: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch
):
    """In front of each statement of the fold, and of what is written behind it."""
    whole, *windows = [await opened(caller, context_id) for _ in range(13)]
    for window in (whole, *windows):
        await prepare(caller, window)
    await worked(caller, context_id, range(30, 33))
    receipt = without_time(await commit(caller, whole))
    expected = await packed(caller, whole, without_recall=True)
    writing, cuts = ViewRows.write_fold, 0

    for at, window in enumerate(windows, 1):
        left = [at]

        async def cut(
            self: ViewRows, transaction: Transaction, *args: Any, left: list[int] = left, **fields: Any
        ) -> None:
            cutting = Cut(transaction, left)
            await writing(self, cutting, *args, **fields)  # type: ignore[arg-type]
            await cutting.cut()

        request_id, before = an_id(), await packed(caller, window, without_recall=True)
        with monkeypatch.context() as patched, suppress(Unavailable):
            patched.setattr(ViewRows, "write_fold", cut)
            await commit(caller, window, request_id=request_id)
        if left[0] <= 0:
            cuts += 1
            assert await packed(other_replica, window, without_recall=True) == before
        for replica in (other_replica, caller):
            assert without_time(await commit(replica, window, request_id=request_id)) == receipt
            assert await packed(replica, window, without_recall=True) == expected
        assert len(await lineage(caller, window)) == 1

    assert cuts > 4
    assert cuts < len(windows)


async def test_a_commit_whose_answer_is_lost_is_answered_when_it_is_asked_again(
    caller: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch
):
    window = await opened(caller, context_id)
    await prepare(caller, window)
    request_id = an_id()

    async def lost(self: FoldWriting, *args: Any, **fields: Any) -> Any:
        raise Unavailable("the connection is gone", dependency="postgres")

    with monkeypatch.context() as patched:
        patched.setattr(FoldWriting, "_count", lost)  # right after the commit
        with pytest.raises(Unavailable):
            await commit(caller, window, request_id=request_id)
    assert (await commit(caller, window, request_id=request_id)).epoch == 1
    assert len(await lineage(caller, window)) == 1


async def test_a_preparation_that_is_not_written_leaves_the_one_before(
    caller: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch
):
    window = await opened(caller, context_id)
    first = (await prepare(caller, window)).receipt
    await worked(caller, context_id, range(30, 33))

    async def failing(self: ViewRows, *args: Any, **fields: Any) -> bool:
        raise Unavailable("the connection is gone")

    with monkeypatch.context() as patched:
        patched.setattr(ViewRows, "prepare", failing)
        with pytest.raises(Unavailable):
            await prepare(caller, window)
    assert (await commit(caller, window)).prepared_last_seq == first.last_seq


async def test_what_must_be_in_each_pack_is_there_however_much_of_it_came_since(caller: Caller, context_id: str):
    """More than what was prepared leaves room for: then the next pack folds again."""
    window = await opened(caller, context_id)
    told = await prepare(caller, window)
    rules = [{"section": "constraint", "key": f"{n}", "text": "Never" + f" word{n}" * 250} for n in range(28)]
    await caller.call("PatchState", window_id=window.window_id, set=rules)
    receipt = await commit(caller, window, expected_epoch=told.epoch)
    pack = await packed(caller, window)
    assert (receipt.epoch, pack.epoch) == (1, 2)
    assert pack.tokens <= LIMIT < receipt.tokens_after
    for rule in rules:
        assert rule["text"] in pack.messages_json


async def test_a_closed_window_is_neither_prepared_nor_committed_and_keeps_no_fold(
    caller: Caller, context_id: str, stack: Stack
):
    window = await opened(caller, context_id)
    await prepare(caller, window)
    assert await kept(stack, window)
    await caller.call("CloseWindow", window_id=window.window_id)
    assert await kept(stack, window) is None
    for refused in (prepare, commit):
        with pytest.raises(WindowClosed):
            await refused(caller, window)


async def test_a_fold_is_prepared_and_committed_by_who_sees_the_context(caller: Caller):
    ada = caller.of("ada")
    context_id = await worked(ada, (await ada.send("of ada")).context_id, range(26))
    window = await opened(ada, context_id)
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        with pytest.raises(WindowNotFound):
            await prepare(caller.of(key), window)
    await prepare(caller.of("runtime"), window, subject_user_id="ada")
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        with pytest.raises(WindowNotFound):
            await commit(caller.of(key), window, request_id=an_id())
    assert (await commit(ada, window, request_id=an_id())).epoch == 1
    with pytest.raises(InvalidArgument):
        await commit(ada, window, request_id="no id")
