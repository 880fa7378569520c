"""Checkpoints and rollbacks, over running services: what a window was, byte for byte; nothing of the log is lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import chain
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.checkpoints.pure.left_out import LeftOut
from context_service.checkpoints.store import KEPT_MAX, CheckpointRows
from context_service.packing.store.views import ViewRows
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1.context_windows_pb2_grpc import WindowsStub
from contextkeep.errors import (
    Aborted,
    CheckpointNotFound,
    FoldStale,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    LogMoved,
    RequestIdReused,
    Unavailable,
    WindowClosed,
    WindowNotFound,
)
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import KEYS, Caller, an_id
from tests.context_service.windows import calling
from tests.context_service.windows.calling import FORMATS, calls, packed, result, said
from tests.context_service.windows.conftest import Stack
from tests.context_service.windows.folding.test_folding import NOISE, Cut, step

SHORT = "\n".join(NOISE.splitlines()[:30])
LIMIT = 8_000


async def worked(caller: Caller, context_id: str, steps: range) -> str:
    """Write steps of some 400 tokens each."""
    return await said(caller, context_id, *chain.from_iterable(step(n, SHORT) for n in steps))


async def opened(caller: Caller, context_id: str, **fields: Any) -> windows_pb.Window:
    return await calling.opened(caller, context_id, LIMIT, **fields)


async def ran(
    caller: Caller, context_id: str, window: windows_pb.Window, steps: range, *, at_once: int = 1
) -> windows_pb.PackResponse:
    """Work through steps, with a pack behind each, or behind so many, and return the last."""
    for first in steps[::at_once]:
        await worked(caller, context_id, range(first, min(first + at_once, steps.stop)))
        pack = await packed(caller, window)
    return pack


@pytest.fixture
async def context_id(caller: Caller) -> str:
    return await said(
        caller,
        "",
        {"content": "Never touch the vendor folder. The staging port is 8443."},
        {"role": "assistant", "content": "We decided to use keyset pages because offsets read all rows before them."},
    )


async def kept(caller: Caller, window: windows_pb.Window, **fields: Any) -> windows_pb.Checkpoint:
    return (await caller.call("CreateCheckpoint", window_id=window.window_id, **fields)).checkpoint


async def listed(caller: Caller, window: windows_pb.Window) -> list[windows_pb.Checkpoint]:
    return list((await caller.call("ListCheckpoints", window_id=window.window_id, page_size=100)).checkpoints)


async def rolled_back(
    caller: Caller, window: windows_pb.Window, number: int, last_seq: int, **fields: Any
) -> windows_pb.RollbackResponse:
    return await caller.call(
        "Rollback", window_id=window.window_id, checkpoint=number, expected_last_seq=last_seq, **fields
    )


async def state(caller: Caller, window: windows_pb.Window) -> list[tuple[Any, ...]]:
    answer = await caller.call("GetState", window_id=window.window_id)
    names = ("section", "key", "text", "value", "ref", "source", "count", "failure_count", "last_step")
    return [tuple(getattr(one, name) for name in names) for one in answer.entries]


async def lineage(caller: Caller, window: windows_pb.Window) -> list[windows_pb.FoldReceipt]:
    return list((await caller.call("GetLineage", window_id=window.window_id)).receipts)


async def explained(caller: Caller, window: windows_pb.Window) -> list[windows_pb.PackPart]:
    return list((await caller.call("ExplainPack", window_id=window.window_id)).parts)


async def counted(stack: Stack, window: windows_pb.Window, table: str, which: str = "true") -> int:
    async with Database.open(stack.urls.service, connections_max=1, name="tests") as database:
        door = database.of(PRINCIPAL, context_id=window.context_id)
        (row,) = await door.query(
            f"SELECT count(*) AS count FROM context.{table} WHERE window_id = %s AND {which}",
            (window.window_id,),
        )
        count: int = row.count
        return count


seqs = st.integers(1, 40)


@given(ranges=st.lists(st.tuples(seqs, seqs).map(sorted), max_size=5), first=seqs, last=seqs)
def test_stretches_are_all_places_that_are_not_left_out(ranges: list[list[int]], first: int, last: int):
    gone = {seq for low, high in ranges for seq in range(low, high + 1)}
    runs: list[list[int]] = []
    for seq in sorted(gone):
        if runs and runs[-1][1] == seq - 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    left_out = LeftOut(tuple((low, high) for low, high in runs))
    assert LeftOut.parse(left_out.multirange) == left_out

    seen, seq_from = [], first
    while True:
        low, high = left_out.stretch(seq_from, last)
        if low > high:
            break
        seen += range(low, high + 1)
        seq_from = high + 1
    assert seen == [seq for seq in range(first, last + 1) if seq not in left_out]
    assert seen == [seq for seq in range(first, last + 1) if seq not in gone]


@pytest.mark.parametrize("to", FORMATS)
async def test_behind_a_rollback_over_steps_and_folds_the_pack_is_that_of_the_checkpoint_byte_for_byte(
    to: Any, caller: Caller, other_replica: Caller, context_id: str
):
    """From a view without folds, and from one with segments; and from there the same steps lead to the same packs."""
    window = await opened(caller, context_id, format=FORMATS[to])
    before = await ran(caller, context_id, window, range(5))
    for steps in (range(5, 40), range(40, 75)):
        checkpoint = await kept(caller, window)
        shown, held = await explained(caller, window), await state(caller, window)
        assert (checkpoint.epoch, checkpoint.last_seq, checkpoint.reason) == (before.epoch, before.last_seq, "caller")

        worked_on = await ran(caller, context_id, window, steps, at_once=5)
        assert worked_on.epoch > before.epoch + 1  # it has folded
        done = await rolled_back(other_replica, window, checkpoint.number, worked_on.last_seq)

        for replica in (caller, other_replica):
            pack = await packed(replica, window)
            assert pack.messages_json == before.messages_json
            assert pack.prefix_sha == before.prefix_sha
            assert pack.tokens_by_zone == before.tokens_by_zone
            assert pack.epoch == worked_on.epoch + 1 == done.receipt.epoch
            assert await explained(replica, window) == shown
            assert await state(replica, window) == held
        assert done.left_out_message_count == len(done.left_out_message_ids) == 2 * len(steps)
        assert (await listed(caller, window))[0] == checkpoint  # later ones are gone
        # Sent again, the work is what it was, but for where it stands in the log.
        again = await ran(caller, context_id, window, steps, at_once=5)
        assert (again.step_count, again.omitted.step_count) == (worked_on.step_count, worked_on.omitted.step_count)
        assert again.tokens == pytest.approx(worked_on.tokens, rel=0.05)
        before = again


async def test_a_rollback_is_told_in_the_lineage_and_by_a_watch(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    await ran(caller, context_id, window, range(3))
    checkpoint = await kept(caller, window, label="before the upgrade")
    pack = await ran(caller, context_id, window, range(3, 8))
    done = await rolled_back(caller, window, checkpoint.number, pack.last_seq)
    receipt = (await lineage(caller, window))[0]
    assert receipt == done.receipt and receipt.created_at.seconds
    assert (receipt.reason, receipt.checkpoint) == ("rolled_back", checkpoint.number)
    assert list(receipt.left_out_refs) == [f"m{checkpoint.last_seq + 1}..m{pack.last_seq}"]
    assert (receipt.step_count, receipt.left_out_step_count) == (10, 5)
    assert (receipt.first_change, receipt.tokens_kept) == ("verbatim", receipt.tokens_after)
    assert receipt.tokens_before > receipt.tokens_after
    assert list((await caller.call("GetWindow", window_id=window.window_id)).window.left_out_refs) == list(
        receipt.left_out_refs
    )
    watching = WindowsStub(caller.channel).WatchWindow(
        windows_pb.WatchWindowRequest(window_id=window.window_id, until_now=True), metadata=caller.metadata
    )
    broken = [event.broken async for event in watching if event.HasField("broken")]
    assert broken == [receipt]
    stats = await caller.call("WindowStats", window_id=window.window_id)
    assert stats.step_count == 5
    assert [(one.reason, one.count) for one in stats.breaks] == [("rolled_back", 1)]
    assert (await listed(caller, window))[0].label == "before the upgrade"


async def test_what_is_left_out_stays_in_the_log_is_expanded_and_found_and_recalled_no_more(
    caller: Caller, context_id: str
):
    secret = "The passphrase of the gate is marzipan-77."
    window = await opened(caller, context_id)
    await ran(caller, context_id, window, range(3))
    checkpoint = await kept(caller, window)
    await said(caller, context_id, {"content": secret, "message_id": "wrong"})
    pack = await ran(caller, context_id, window, range(3, 6))
    done = await rolled_back(caller, window, checkpoint.number, pack.last_seq)
    assert done.left_out_message_ids[0] == "wrong"

    (ref,) = done.receipt.left_out_refs
    answer = await caller.call("Expand", window_id=window.window_id, ref=ref)
    assert answer.messages[0].content == secret
    found = (await caller.call("SearchWindow", window_id=window.window_id, query="passphrase of the gate")).hits[0]
    assert secret in found.item.text and not found.step_from
    # Far behind it, so that all but the last steps are out of sight, somebody asks for it.
    await ran(caller, context_id, window, range(10, 60), at_once=5)
    await said(caller, context_id, {"content": "What is the passphrase of the gate?"})
    asked = await packed(caller, window)
    assert "marzipan" not in asked.messages_json
    other = await opened(caller, context_id)
    assert (await packed(caller, other)).last_seq == asked.last_seq
    await said(caller, context_id, {"content": "And what is the passphrase of the gate?"})
    assert "marzipan" in (await packed(caller, other)).messages_json
    assert "marzipan" not in (await packed(caller, window)).messages_json


async def test_a_rollback_leaves_another_window_of_the_context_as_it_is(
    caller: Caller, other_replica: Caller, context_id: str
):
    one, another = [await opened(caller, context_id) for _ in range(2)]
    checkpoint = await kept(caller, one)
    await kept(caller, another)
    await ran(caller, context_id, one, range(30), at_once=5)
    before = await packed(caller, another)
    shown, ways = await explained(caller, another), await listed(caller, another)
    await rolled_back(caller, one, checkpoint.number, before.last_seq)
    for replica in (caller, other_replica):
        assert await packed(replica, another) == before
        assert await explained(replica, another) == shown
        assert await listed(replica, another) == ways


async def test_a_message_that_the_caller_does_not_know_is_not_left_out_unseen(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    checkpoint = await kept(caller, window)
    pack = await ran(caller, context_id, window, range(3))
    await said(caller, context_id, {"content": "Stop! Another one speaks."})
    with pytest.raises(LogMoved) as moved:
        await rolled_back(caller, window, checkpoint.number, pack.last_seq)
    assert moved.value.metadata["last_seq"] == str(pack.last_seq + 1)
    assert "Another one speaks" in (await packed(caller, window)).messages_json
    for wrong in (0, -1, pack.last_seq + 2):
        with pytest.raises(InvalidArgument):
            await rolled_back(caller, window, checkpoint.number, wrong)
    await rolled_back(caller, window, checkpoint.number, pack.last_seq + 1)
    # What comes later follows the checkpoint.
    await said(caller, context_id, {"content": "I go on."})
    messages = (await packed(caller, window)).messages_json
    assert "I go on." in messages and "Another one speaks" not in messages


async def test_what_callers_said_and_pinned_behind_a_checkpoint_is_undone_and_what_they_ended_holds_again(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    value = {"section": "value", "key": "deploy day", "value": "Tuesday"}
    rule = {"section": "constraint", "key": "prod", "text": "Never deploy on a Friday."}
    kept_pin = (await caller.call("Pin", window_id=window.window_id, text="Answer in French.")).pin_id
    await caller.call("PatchState", window_id=window.window_id, set=[value, rule])
    for is_told in (True, False):
        if is_told:
            await ran(caller, context_id, window, range(3))
        checkpoint = await kept(caller, window)
        before, held = await packed(caller, window), await state(caller, window)

        lie = {**value, "value": "Sunday"}
        await caller.call(
            "PatchState", window_id=window.window_id, set=[lie], remove=[{"section": "constraint", "key": "prod"}]
        )
        await caller.call("Pin", window_id=window.window_id, text="Lie whenever it helps.")
        await caller.call("Unpin", window_id=window.window_id, pin_id=kept_pin)
        await said(caller, context_id, {"content": "Correction: the staging port is now 9001."})
        wrong = await ran(caller, context_id, window, range(30), at_once=5)
        assert "Sunday" in wrong.messages_json and "Lie whenever" in wrong.messages_json
        assert "Never deploy" not in wrong.messages_json and "French" not in wrong.messages_json

        done = await rolled_back(other_replica, window, checkpoint.number, wrong.last_seq)
        if not is_told:  # the note on it is told again, and no less
            assert (await packed(caller, window)).messages_json == before.messages_json
        for replica in (caller, other_replica):
            assert await state(replica, window) == held
            assert (await packed(replica, window)).messages_json == before.messages_json
        assert done.receipt.first_change == "pins"
        # A patch that no model was told of yet.
        await caller.call("PatchState", window_id=window.window_id, set=[{**value, "key": "lunch", "value": "noon"}])


async def test_what_was_prepared_is_void_behind_a_rollback(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    await ran(caller, context_id, window, range(5))
    checkpoint = await kept(caller, window)
    pack = await ran(caller, context_id, window, range(5, 12))
    await caller.call("PrepareFold", window_id=window.window_id)
    await rolled_back(caller, window, checkpoint.number, pack.last_seq)
    with pytest.raises(FoldStale):
        await caller.call("CommitFold", window_id=window.window_id)
    assert (await packed(caller, window)).step_count == 7


async def test_a_window_makes_checkpoints_behind_so_many_steps_and_before_each_fold(
    caller: Caller, other_replica: Caller, context_id: str
):
    """Each is the way back to the pack that was seen there."""
    window = await opened(caller, context_id, config={"checkpoint_every_n_steps": 10})
    packs = {}
    for n in range(45):
        pack = await ran(caller, context_id, window, range(n, n + 1))
        packs[pack.last_seq] = pack
    made = await listed(caller, window)
    # The first behind ten steps; each is made when the next step is read.
    assert [one.step_count for one in reversed(made) if one.reason == "steps"] == [10, 20, 30, 40]
    folds = [one for one in await lineage(caller, window) if one.reason == "high_mark"]
    before_folds = [one for one in made if one.reason == "fold"]
    assert [one.epoch + 1 for one in before_folds] == [one.epoch for one in folds]
    for one in (made[1], made[-1]):
        assert one.created_by == "" and one.created_at.seconds
        done = await rolled_back(other_replica, window, one.number, pack.last_seq)
        assert done.receipt.checkpoint == one.number
        if one.reason == "steps":
            assert (await packed(caller, window)).messages_json == packs[one.last_seq].messages_json
    assert not [one for one in await listed(caller, window) if one.number > made[-1].number]
    none = await opened(caller, context_id, config={"checkpoint_every_n_steps": 0})
    assert (await packed(caller, none)).epoch and not await listed(caller, none)


async def test_if_nobody_says_otherwise_a_checkpoint_is_made_behind_fifty_steps(caller: Caller):
    context_id = await said(caller, "", {"content": "Begin."})
    window = await calling.opened(caller, context_id, 100_000)
    for n in range(12):
        await said(caller, context_id, *({"content": f"Step {n}.{one}"} for one in range(10)))
        await packed(caller, window)
    assert [(one.reason, one.step_count) for one in await listed(caller, window)] == [("steps", 101), ("steps", 51)]


async def test_a_checkpoint_takes_one_row_and_blocks_stay_as_long_as_one_shows_them(
    caller: Caller, context_id: str, stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(KEPT_MAX, "steps", 2)
    monkeypatch.setitem(KEPT_MAX, "fold", 2)
    monkeypatch.setitem(KEPT_MAX, "caller", 1)
    window = await opened(caller, context_id, config={"checkpoint_every_n_steps": 10})
    await ran(caller, context_id, window, range(20))
    rows = await counted(stack, window, "window_block")
    await kept(caller, window, label="one")
    assert await counted(stack, window, "window_block") == rows
    await kept(caller, window, label="another")
    assert [one.label for one in await listed(caller, window) if one.reason == "caller"] == ["another"]
    hidden = []
    for n in range(2, 8):
        pack = await ran(caller, context_id, window, range(10 * n, 10 * n + 10))
        assert len(await listed(caller, window)) <= 5
        hidden.append(await counted(stack, window, "window_block", "epoch_to IS NOT NULL"))
    assert 0 < hidden[-1] < 45
    with pytest.raises(CheckpointNotFound):
        await rolled_back(caller, window, 1, pack.last_seq)
    # Far back, to what a caller kept: its blocks were kept with it.
    (far,) = [one for one in await listed(caller, window) if one.reason == "caller"]
    await rolled_back(caller, window, far.number, pack.last_seq)
    assert (await packed(caller, window)).step_count + pack.omitted.step_count > 0
    assert await counted(stack, window, "window_block", "epoch_to IS NOT NULL") <= 45
    assert (await caller.call("GetWindow", window_id=window.window_id)).window.step_count == far.step_count


async def test_a_step_that_waits_is_not_in_a_checkpoint_and_is_left_out(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    before = await packed(caller, window)
    await said(caller, context_id, calls("late", content="I drop the table."))
    waiting = await packed(caller, window)
    assert waiting.is_waiting
    checkpoint = await kept(caller, window)
    assert checkpoint.last_seq == before.last_seq
    done = await rolled_back(caller, window, checkpoint.number, waiting.last_seq)
    assert done.left_out_message_count == 1
    assert (await packed(caller, window)).messages_json == before.messages_json
    # The tool was called all the same: what comes of it is told.
    await said(caller, context_id, result("late", "dropped"))
    assert "came late" in (await packed(caller, window)).messages_json


async def test_a_retracted_message_takes_checkpoints_with_it_and_what_was_left_out_stays_out(
    caller: Caller, other_replica: Caller, context_id: str, stack: Stack
):
    """The window reads its log anew, without both."""
    await said(caller, context_id, {"content": "My name is hunter2.", "message_id": "private"})
    window = await opened(caller, context_id)
    await ran(caller, context_id, window, range(3))
    checkpoint = await kept(caller, window)
    await said(caller, context_id, {"content": "Never use the lift. The wrong port is 4711."})
    wrong = await ran(caller, context_id, window, range(3, 30), at_once=5)
    await rolled_back(caller, window, checkpoint.number, wrong.last_seq)
    await ran(caller, context_id, window, range(3, 40), at_once=5)
    assert await listed(caller, window)

    await caller.call("RetractMessages", context_id=context_id, message_ids=["private"])
    for replica in (caller, other_replica):
        pack = await packed(replica, window)
        for gone in ("hunter2", "lift", "4711"):
            assert gone not in pack.messages_json
        assert "vendor folder" in pack.messages_json
    with pytest.raises(CheckpointNotFound):
        await rolled_back(caller, window, checkpoint.number, pack.last_seq)
    for table, column in (("window_block", "pieces || coalesce(masked, '')"), ("window_checkpoint", "state_text")):
        assert not await counted(stack, window, table, f"{column} LIKE '%%hunter2%%'")
    steps = {one.step_count for one in await listed(caller, window)}
    assert steps <= set(range(pack.step_count + pack.omitted.step_count + 1))


async def test_repeats_of_a_request_are_told_the_same_and_do_nothing_more(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    await ran(caller, context_id, window, range(3))
    request_id, again = an_id(), an_id()
    made = await asyncio.gather(*(kept(one, window, request_id=request_id) for one in (caller, other_replica) * 3))
    assert all(one == made[0] for one in made)
    assert len(await listed(caller, window)) == 1
    with pytest.raises(RequestIdReused):
        await kept(caller, window, label="other", request_id=request_id)
    pack = await ran(caller, context_id, window, range(3, 6))
    done = await asyncio.gather(
        *(
            rolled_back(one, window, made[0].number, pack.last_seq, request_id=again)
            for one in (caller, other_replica) * 3
        )
    )
    assert all(one == done[0] for one in done)
    assert len(done[0].left_out_message_ids) == 6
    assert [one.reason for one in await lineage(caller, window)] == ["rolled_back"]
    # Also when the log has moved on.
    await ran(caller, context_id, window, range(3, 6))
    assert await rolled_back(caller, window, made[0].number, pack.last_seq, request_id=again) == done[0]
    assert (await packed(caller, window)).step_count == 8


async def test_packs_beside_a_rollback_are_of_before_or_of_behind_it(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    before = await ran(caller, context_id, window, range(5))
    for n in range(1, 5):
        checkpoint = await kept(caller, window)
        after = await ran(caller, context_id, window, range(100 * n, 100 * n + 12))

        async def packing(replica: Caller) -> windows_pb.PackResponse | None:
            with suppress(Aborted):
                return await packed(replica, window)
            return None

        one, another, _, third, fourth = await asyncio.gather(
            packing(caller),
            packing(other_replica),
            rolled_back((caller, other_replica)[n % 2], window, checkpoint.number, after.last_seq),
            packing(other_replica),
            packing(caller),
        )
        for pack in filter(None, (one, another, third, fourth)):
            assert pack.messages_json in (before.messages_json, after.messages_json)
        assert (await packed(caller, window)).messages_json == before.messages_json


async def test_messages_appended_beside_a_rollback_are_refused_for_or_follow_the_checkpoint(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    await packed(caller, window)
    checkpoint = await kept(caller, window)
    for n in range(4):
        last_seq = (await packed(caller, window)).last_seq

        async def going_back(last_seq: int = last_seq) -> bool:
            with suppress(LogMoved):
                await rolled_back(other_replica, window, checkpoint.number, last_seq)
                return True
            return False

        text = f"message {n} of somebody"
        _, pack, _ = await asyncio.gather(
            said(caller, context_id, {"content": text}), packed(caller, window), going_back()
        )
        assert text in (await packed(caller, window)).messages_json
        assert pack.last_seq >= last_seq


async def test_a_rollback_whose_connection_ends_at_any_statement_is_not_done_and_the_same_request_does_it(
    caller: Caller, other_replica: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch
):
    windows = [await opened(caller, context_id) for _ in range(9)]
    ways = [await kept(caller, window) for window in windows]
    before = [await packed(caller, window) for window in windows]
    await worked(caller, context_id, range(20))
    packs = [await packed(caller, window) for window in windows]
    cuts = 0
    for at, (window, way, was, now) in enumerate(zip(windows, ways, before, packs, strict=True), 1):
        left = [at]

        def cutting(real: Any, left: list[int] = left) -> Any:
            async def cut(self: Any, transaction: Transaction, *args: Any, **fields: Any) -> Any:
                return await real(self, Cut(transaction, left), *args, **fields)

            return cut

        request_id = an_id()
        with monkeypatch.context() as patched, suppress(Unavailable):
            for of, name in (
                *((CheckpointRows, name) for name in ("leave_out", "undo", "roll_back")),
                (ViewRows, "account"),
            ):
                patched.setattr(of, name, cutting(getattr(of, name)))
            await rolled_back(caller, window, way.number, now.last_seq, request_id=request_id)
        if left[0] <= 0:
            cuts += 1
            assert await packed(other_replica, window) == now
        for replica in (other_replica, caller):
            await rolled_back(replica, window, way.number, now.last_seq, request_id=request_id)
            assert (await packed(replica, window)).messages_json == was.messages_json
        assert sum(one.reason == "rolled_back" for one in await lineage(caller, window)) == 1
    assert 6 <= cuts < len(windows)


async def test_another_process_packs_the_same_bytes_behind_a_rollback(caller: Caller, context_id: str, stack: Stack):
    window = await opened(caller, context_id)
    before = await ran(caller, context_id, window, range(25), at_once=5)
    checkpoint = await kept(caller, window)
    pack = await ran(caller, context_id, window, range(25, 50), at_once=5)
    await rolled_back(caller, window, checkpoint.number, pack.last_seq)
    async with (
        running(stack.urls.service, stack.folder, callers=ApiKeys(KEYS)) as started,
        grpc.aio.insecure_channel(started.context) as channel,
    ):
        assert (await packed(Caller(channel), window)).messages_json == before.messages_json


async def test_a_closed_window_has_no_way_back(caller: Caller, context_id: str, stack: Stack):
    window = await opened(caller, context_id)
    checkpoint = await kept(caller, window)
    await caller.call("CloseWindow", window_id=window.window_id)
    with pytest.raises(WindowClosed):
        await kept(caller, window)
    with pytest.raises(WindowClosed):
        await rolled_back(caller, window, checkpoint.number, 2)
    assert not await counted(stack, window, "window_checkpoint")


async def test_checkpoints_are_of_who_sees_the_context_and_have_limits(caller: Caller):
    ada = caller.of("ada")
    context_id = (await ada.send("of ada")).context_id
    window = await opened(ada, context_id)
    checkpoint = await kept(ada, window)
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        for call in (
            kept(caller.of(key), window),
            listed(caller.of(key), window),
            rolled_back(caller.of(key), window, checkpoint.number, 1),
        ):
            with pytest.raises(WindowNotFound):
                await call
    await kept(caller.of("runtime"), window, subject_user_id="ada")
    await rolled_back(caller.of("runtime"), window, checkpoint.number, 1, subject_user_id="ada")
    with pytest.raises((LimitExceeded, InvalidArgument)):
        await kept(ada, window, label="x" * 201)
    for number in (0, -1, 2, 2**31 - 1):
        with pytest.raises(CheckpointNotFound):
            await rolled_back(ada, window, number, 1)
    for _ in range(3):
        await kept(ada, window)
    first = await ada.call("ListCheckpoints", window_id=window.window_id, page_size=2)
    rest = await ada.call("ListCheckpoints", window_id=window.window_id, page_size=5, page_token=first.next_page_token)
    assert [one.number for one in (*first.checkpoints, *rest.checkpoints)] == [5, 4, 3, 1]
    with pytest.raises(InvalidPageToken):
        await ada.call("ListCheckpoints", window_id=window.window_id, page_token="x")
