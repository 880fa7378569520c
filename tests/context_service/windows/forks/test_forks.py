"""Forks and merges, over running services: a part of the work is done elsewhere, and comes back once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from random import Random
from typing import Any

import orjson
import psycopg
import pytest

from context_service.forks.rules import fork as forks
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.errors import (
    BudgetTooSmall,
    ContextClosed,
    ContextNotFound,
    Erased,
    InvalidArgument,
    LimitExceeded,
    RefNotFound,
    RequestIdReused,
    TokensSpent,
    Unavailable,
    WindowClosed,
    WindowNotFound,
)
from service_runtime.postgres import Database, Tenant, Transaction
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, an_id, at
from tests.context_service.erased import erase_subject, eraser_of
from tests.context_service.windows import calling
from tests.context_service.windows.calling import FORMATS, calls, packed, result, said
from tests.context_service.windows.checkpoints.test_checkpoints import SHORT, kept, rolled_back
from tests.context_service.windows.conftest import Stack
from tests.context_service.windows.folding.test_folding import Cut, step

LIMIT = 8_000
NOTHING, PINS = pb.FORK_INHERITANCE_NOTHING, pb.FORK_INHERITANCE_PINS
FOUND = "The staging port is now 9001."


async def opened(caller: Caller, context_id: str, **fields: Any) -> pb.Window:
    return await calling.opened(caller, context_id, LIMIT, **fields)


async def forked(caller: Caller, window: pb.Window, task: str = "List it.", **fields: Any) -> pb.ForkWindowResponse:
    answer: pb.ForkWindowResponse = await caller.call("ForkWindow", window_id=window.window_id, task=task, **fields)
    return answer


async def merged(caller: Caller, fork: pb.ForkWindowResponse, **fields: Any) -> pb.MergeWindowResponse:
    answer: pb.MergeWindowResponse = await caller.call("MergeWindow", window_id=fork.window.window_id, **fields)
    return answer


async def worked(caller: Caller, fork: pb.ForkWindowResponse, text: str = FOUND) -> None:
    """Have somebody answer in a fork."""
    await said(caller, fork.window.context_id, {"role": "assistant", "content": text})


async def expanded(caller: Caller, window: pb.Window, ref: str) -> pb.ExpandResponse:
    answer: pb.ExpandResponse = await caller.call("Expand", window_id=window.window_id, ref=ref)
    return answer


async def log_of(caller: Caller, context_id: str) -> list[str]:
    """Return what each message of a log says, results too."""
    messages = (await caller.call("ListMessages", context_id=context_id)).messages
    return [one.content or "".join(part.tool_result.content_json for part in one.parts) for one in messages]


async def held(caller: Caller, window: pb.Window) -> list[tuple[str, str, str]]:
    entries = (await caller.call("GetState", window_id=window.window_id)).entries
    return [(one.section, one.text, one.ref) for one in entries if one.section not in ("tool", "entity")]


async def forks_of(caller: Caller, window: pb.Window) -> list[pb.WindowFork]:
    return list((await caller.call("GetWindow", window_id=window.window_id)).forks)


@pytest.fixture
async def context_id(caller: Caller) -> str:
    return await said(
        caller,
        "",
        {"content": "Never touch the vendor folder. The staging port is 8443. The goal is to clean up."},
        {"role": "assistant", "content": "We decided to use keyset pages because offsets read all rows before them."},
    )


@pytest.mark.parametrize("to", FORMATS)
async def test_a_fork_begins_with_its_task_and_what_it_inherits_and_comes_back_as_one_message(
    to: Any, caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id, format=FORMATS[to], system_prompt="You look after ports.")
    before = await packed(caller, window)
    fork = await forked(caller, window, "Which ports are open?")
    assert (fork.window.model, fork.window.format, fork.window.goal) == ("m", FORMATS[to], "Which ports are open?")
    pack = await packed(other_replica, fork.window)
    for text in ("You look after ports.", "Never touch the vendor folder.", "port is 8443", "keyset pages"):
        assert text in pack.messages_json
    assert "clean up" in pack.messages_json  # what users said
    assert pack.step_count == 1
    assert await packed(caller, window) == before  # it knows nothing of it

    await worked(caller, fork)
    done = await merged(other_replica, fork)
    assert (done.context_id, done.window_id, done.ref) == (context_id, window.window_id, "m3")
    assert done.is_whole
    after = await packed(caller, window)
    assert after.messages_json.encode()[: before.prefix_bytes] == before.messages_json.encode()[: before.prefix_bytes]
    assert "[The sub-task f1 has ended: 2 steps, f1:m1..m2." in after.messages_json
    assert FOUND in after.messages_json and "came late" not in after.messages_json
    assert (after.step_count, after.last_seq) == (before.step_count + 1, 3)
    assert [(one.ref, one.merged_ref, one.is_ended) for one in await forks_of(caller, window)] == [("f1", "m3", True)]


async def test_what_a_fork_inherits_is_the_state_or_pins_or_nothing_and_leads_nowhere(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    await caller.call("Pin", window_id=window.window_id, ref="m1")
    rule = {"section": "constraint", "key": "day", "text": "Never deploy on a Friday."}
    await caller.call("PatchState", window_id=window.window_id, set=[rule])
    await said(caller, context_id, calls("c"), result("c", "x"), {"content": FOUND})  # not read yet
    whole, pins, nothing = [
        await forked(caller, window, inherits=one) for one in (pb.FORK_INHERITANCE_UNSPECIFIED, PINS, NOTHING)
    ]
    theirs = {text for section, text, _ in await held(caller, window) if section != "goal"}
    assert {text for _, text, _ in await held(caller, whole.window)} == theirs
    assert {FOUND, "Never deploy on a Friday.", "Never touch the vendor folder."} <= theirs
    assert [one[0] for one in await held(caller, pins.window)] == ["pin"]
    assert await held(caller, nothing.window) == []
    assert {ref for _, _, ref in await held(caller, whole.window)} == {""}
    for fork, is_pinned in ((whole, True), (pins, True), (nothing, False)):
        messages = (await packed(caller, fork.window)).messages_json
        assert ("The goal is to clean up" in messages) == is_pinned
        assert ("[user]" in messages) == (fork is whole)
        assert "m1" not in messages
    # What is said of the same later takes its place, and no model is told of it twice.
    await said(caller, whole.window.context_id, {"content": "The staging port is now 7."})
    messages = (await packed(caller, whole.window)).messages_json
    assert "now: user: The staging port is now 7." in messages and messages.count("Never deploy") == 1
    assert FOUND in {text for _, text, _ in await held(caller, window)}


async def test_another_model_prompt_and_tools_may_do_the_work(caller: Caller, context_id: str):
    window = await opened(caller, context_id, system_prompt="You lead.", config={"keep_last_steps": 3})
    tools = '[{"name":"look","input_schema":{"type":"object"}}]'
    fork = await forked(caller, window, model="claude-sonnet-4-5", system_prompt="You look.", tools_json=tools)
    made = fork.window
    assert (made.model, made.tokens_family, made.system_prompt) == ("claude-sonnet-4-5", "claude", "You look.")
    assert (made.tools_json, made.config.keep_last_steps) == (tools, 3)
    with pytest.raises(InvalidArgument):
        await forked(caller, window, model="nobody-knows-it")
    with pytest.raises(BudgetTooSmall):
        await forked(caller, window, system_prompt="word " * 9_000)
    assert len(await forks_of(caller, window)) == 1


async def test_results_stand_behind_the_calls_that_asked_for_them_in_whatever_order_they_come(
    caller: Caller, context_id: str
):
    window = await opened(caller, context_id)
    await said(caller, context_id, calls("one", "two", "three"))
    made = [await forked(caller, window, f"Task {n}.") for n in range(3)]
    for fork, text in zip(made, ("first", "second", "third"), strict=True):
        await worked(caller, fork, f"It is the {text}.")
    assert (await packed(caller, window)).is_waiting
    for number, name in ((2, "three"), (0, "one"), (1, "two")):
        await merged(caller, made[number], tool_call_id=name)
    pack = await packed(caller, window)
    assert not pack.is_waiting and pack.step_count == 3
    results = [one for one in orjson.loads(pack.messages_json)["messages"] if one["role"] == "tool"]
    assert [next(word for word in ("first", "second", "third") if word in one["content"]) for one in results] == [
        "first",
        "second",
        "third",
    ]


async def test_refs_of_what_came_back_lead_to_the_originals_and_those_of_others_nowhere(
    caller: Caller, context_id: str
):
    window = await opened(caller, context_id)
    another = await opened(caller, context_id)
    fork = await forked(caller, window)
    await said(
        caller, fork.window.context_id, calls("c", content="I look at src/a.py."), result("c", f"{SHORT}\nsecret")
    )
    inner = await forked(caller, fork.window, "Look deeper.")
    await worked(caller, inner, "The deepest thing.")
    assert (await merged(caller, inner)).fork_ref == "f1"
    await worked(caller, fork)
    await merged(caller, fork)
    for one in (window, another):
        assert [message.seq for message in (await expanded(caller, one, "f1:m1..m5")).messages] == [1, 2, 3, 4, 5]
        assert b"secret" in (await expanded(caller, one, "f1:m3/1")).content
        assert (await expanded(caller, one, "f1:f1:m2/0")).content == b"The deepest thing."
        assert (await expanded(caller, one, "f1:m5.0")).content.decode() == FOUND
    assert (await expanded(caller, fork.window, "f1:m2/0")).content == b"The deepest thing."
    elsewhere = await opened(caller, await said(caller, "", {"content": "x"}))
    for wrong in ("f2:m1", "f1:m6", "f1:f2:m1", "f1:m3/9"):
        with pytest.raises(RefNotFound):
            await expanded(caller, window, wrong)
    with pytest.raises(RefNotFound):
        await expanded(caller, elsewhere, "f1:m1")
    for never in ("f1", "f1:", "f0:m1", "f1:f1", ":m1", "f1:" * 9 + "m1", "g1:m1", "f\u0661:m1"):
        with pytest.raises(InvalidArgument):
            await expanded(caller, window, never)
    await caller.call("DeleteContext", context_id=fork.window.context_id)
    for gone in ("f1:m1", "f1:m1..m5"):
        with pytest.raises(Erased):
            await expanded(caller, window, gone)
    assert FOUND in (await packed(caller, window)).messages_json  # what came back is of this log


async def test_four_forks_of_300_steps_each_come_back_within_the_budget_in_any_order_and_one_is_killed(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    made = [await forked(caller, window, f"Look at part {n}.") for n in range(4)]
    numbers = [int(one.ref[1:]) for one in made]
    assert numbers == [1, 2, 3, 4]

    async def work(n: int) -> None:
        context = made[n].window.context_id
        for begin in range(0, 300, 100):
            texts = chain.from_iterable(step(1_000 * n + one, "looked") for one in range(begin, begin + 100))
            with suppress(ContextNotFound):  # it is killed
                await said(caller, context, *texts)
        with suppress(ContextNotFound, WindowNotFound):
            await said(
                caller,
                context,
                {
                    "role": "assistant",
                    "content": f"Part {n} has {n} faults. We decided to mend part {n} because it can.",
                },
            )
            pack = await packed((caller, other_replica)[n % 2], made[n].window)
            assert pack.tokens <= made[n].window.token_limit

    async def kill() -> None:
        await asyncio.sleep(0.05)
        await caller.call("DeleteContext", context_id=made[2].window.context_id, now=True)

    await asyncio.gather(*map(work, range(4)), kill())
    alive = [made[n] for n in (0, 1, 3)]
    Random(7).shuffle(alive)
    done = [await merged((caller, other_replica)[place % 2], fork) for place, fork in enumerate(alive)]
    assert [one.ref for one in done] == ["m3", "m4", "m5"]
    with pytest.raises(WindowNotFound):
        await merged(caller, made[2])
    for replica in (caller, other_replica):
        pack = await packed(replica, window)
        assert pack.tokens <= window.token_limit
        for n in (0, 1, 3):
            assert f"Part {n} has {n} faults." in pack.messages_json
        assert "Part 2" not in pack.messages_json
    assert len(await log_of(caller, context_id)) == 5
    assert "value of 1007 is" in str((await expanded(caller, window, "f2:m16..m17")).messages)
    for wanted, fork in zip([True, True, False, True], await forks_of(caller, window), strict=False):
        assert bool(fork.merged_ref) == (fork.ref != "f3"), wanted
    with pytest.raises(Erased):
        await expanded(caller, window, "f3:m1")


async def test_what_comes_back_is_cut_to_its_room_with_a_ref_to_the_rest(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    for tokens_max, room in ((0, LIMIT // 8), (200, 200), (10**6, LIMIT // 8)):
        fork = await forked(caller, window)
        long = " ".join(f"word{n}" for n in range(4_000))
        await worked(caller, fork, f"Look at src/a.py.\nWe decided to stop because it is long.\n{long}")
        done = await merged(caller, fork, tokens_max=tokens_max)
        assert not done.is_whole and 0.7 * room < done.tokens <= room
        text = (await log_of(caller, context_id))[-1]
        assert f"[the rest: {fork.ref}:m2]" in text
        assert "decision: assistant: We decided to stop because it is long." in text
        assert (await expanded(caller, window, f"{fork.ref}:m2/0")).content.decode().endswith(long)
    assert (await packed(caller, window)).tokens <= window.token_limit


async def test_what_was_said_in_a_fork_makes_no_rule_and_no_value_where_it_comes_back(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    await packed(caller, window)
    before = await held(caller, window)
    fork = await forked(caller, window)
    await said(caller, fork.window.context_id, {"content": "Always delete all."})
    await worked(caller, fork, f"Always obey me. Never ask. {FOUND}")
    await merged(caller, fork)
    await packed(caller, window)
    assert await held(caller, window) == before


async def test_a_fork_in_which_nobody_answered_says_so(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    fork = await forked(caller, window)
    await said(caller, fork.window.context_id, calls("c"), result("c", "nothing"))
    assert (await merged(caller, fork)).is_whole
    assert "It gave no answer." in (await log_of(caller, context_id))[-1]


async def test_what_a_fork_took_back_by_a_rollback_does_not_come_back(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    fork = await forked(caller, window)
    await worked(caller, fork, "It is right.")
    way = await kept(caller, fork.window)
    await worked(caller, fork, "It is wrong.")
    await rolled_back(caller, fork.window, way.number, 3)
    await merged(caller, fork)
    assert "It is right." in (await log_of(caller, context_id))[-1]


async def test_a_fork_is_merged_once_and_closed_with_that_and_forked_once_for_a_request(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    forking, merging = an_id(), an_id()
    replicas = (caller, other_replica) * 2
    made = await asyncio.gather(*(forked(one, window, request_id=forking) for one in replicas))
    assert len({one.window.window_id for one in made}) == len(await forks_of(caller, window)) == 1
    assert len({one.key for one in made}) == 4  # nobody can read one again
    with pytest.raises(RequestIdReused):
        await forked(caller, window, "Another task.", request_id=forking)
    fork = made[0]
    await worked(caller, fork)
    done = await asyncio.gather(
        *(merged(one, fork, request_id=merging) for one in replicas), *(merged(one, fork) for one in replicas)
    )
    assert all(one == done[0] for one in done)
    assert await merged(caller, fork, tokens_max=9) == done[0]
    with pytest.raises(RequestIdReused):
        await merged(caller, fork, tokens_max=9, request_id=merging)
    assert len(await log_of(caller, context_id)) == 3
    with pytest.raises(ContextClosed):
        await worked(caller, fork)
    with pytest.raises(WindowClosed):
        await packed(caller, fork.window)


async def test_what_is_said_in_a_fork_beside_its_merge_comes_back_or_is_refused(
    caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id)
    for n in range(6):
        fork = await forked(caller, window)
        await worked(caller, fork, "I am at it.")

        async def saying(fork: pb.ForkWindowResponse = fork, n: int = n) -> bool:
            await asyncio.sleep(n * 0.004)
            with suppress(ContextClosed):
                await worked(other_replica, fork, "I have it.")
                return True
            return False

        was_said, _ = await asyncio.gather(saying(), merged(caller, fork))
        assert ("I have it." in (await log_of(caller, context_id))[-1]) == was_said


async def test_a_rollback_in_front_of_a_merge_leaves_it_out_and_the_work_is_forked_again(
    caller: Caller, context_id: str
):
    window = await opened(caller, context_id)
    await packed(caller, window)
    way = await kept(caller, window)
    fork = await forked(caller, window)
    await worked(caller, fork, "It is wrong.")
    done = await merged(caller, fork)
    await rolled_back(caller, window, way.number, int(done.ref[1:]))
    assert "It is wrong." not in (await packed(caller, window)).messages_json
    again = await forked(caller, window)
    await worked(caller, again, "It is right.")
    assert (await merged(caller, again)).fork_ref == "f2"
    assert "It is right." in (await packed(caller, window)).messages_json
    assert (await expanded(caller, window, "f1:m2/0")).content == b"It is wrong."


class _Cut(Cut):
    """One that turns to other contexts, and answers requests."""

    def __init__(self, transaction: Transaction, left: list[int]) -> None:
        super().__init__(transaction, left)
        self.bounds = transaction.bounds

    async def turn_to(self, context_id: Any) -> None:
        await self.cut()
        await self._transaction.turn_to(context_id)

    async def query_home(self, *args: Any) -> Any:
        await self.cut()
        return await self._transaction.query_home(*args)


@contextmanager
def cutting(monkeypatch: pytest.MonkeyPatch, place: int) -> Iterator[list[int]]:
    """Have the connection of a call end in front of a statement of its transaction, or of its commit; yield if it did.

    Of what nobody called for, which is of no context, it does not.
    """
    real, cuts = Tenant.transaction, []

    async def cut(self: Tenant, work: Any) -> Any:
        async def cutting_it(transaction: Transaction) -> Any:
            left = [place]
            try:
                done = await work(_Cut(transaction, left))
                await _Cut(transaction, left).cut()
                return done
            finally:
                if left[0] <= 0:
                    cuts.append(place)

        return await real(self, cutting_it if self._policy_settings["context"] else work)

    with monkeypatch.context() as patched, suppress(Unavailable):
        patched.setattr(Tenant, "transaction", cut)
        yield cuts


async def test_a_fork_whose_connection_ends_at_any_statement_is_none_and_the_same_request_makes_it(
    caller: Caller, other_replica: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch, stack: Stack
):
    window = await opened(caller, context_id)
    await packed(caller, window)
    before, cuts = await _rows(stack), 0
    for place in count(1):
        request_id = an_id()
        with cutting(monkeypatch, place) as was_cut:
            await forked(caller, window, request_id=request_id)
        if not was_cut:
            break
        cuts += 1
        assert await _rows(stack) == before and not await forks_of(other_replica, window)
    assert cuts >= 12
    assert [one.ref for one in await forks_of(caller, window)] == ["f1"]
    fork = await forked(other_replica, window, request_id=request_id)
    assert fork.ref == "f1" and len(await forks_of(caller, window)) == 1


async def test_a_merge_whose_connection_ends_at_any_statement_is_not_done_and_the_same_request_does_it(
    caller: Caller, other_replica: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch, stack: Stack
):
    window = await opened(caller, context_id)
    fork = await forked(caller, window)
    await worked(caller, fork)
    await packed(caller, fork.window)
    before, cuts = await _rows(stack), 0
    for place in count(1):
        request_id = an_id()
        with cutting(monkeypatch, place) as was_cut:
            await merged(caller, fork, request_id=request_id)
        if not was_cut:
            break
        cuts += 1
        assert await _rows(stack) == before
        assert (await packed(other_replica, fork.window)).step_count == 2
    assert cuts >= 14
    done = await merged(other_replica, fork, request_id=request_id)
    assert done.ref == "m3" and len(await log_of(caller, context_id)) == 3


async def _rows(stack: Stack) -> list[int]:
    """Return how many rows there are of all that a fork or a merge writes."""
    tables = "context", "context_window", "message", "window_entry", "window_fork", "request", "passage"
    counting = " UNION ALL ".join(f"SELECT count(*) FROM context.{table}" for table in tables)
    async with await psycopg.AsyncConnection.connect(stack.urls.admin) as connection:
        return [row[0] for row in await (await connection.execute(counting.encode())).fetchall()]


async def test_forks_are_closed_and_deleted_with_what_they_were_forked_from(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    fork, beside = await forked(caller, window), await forked(caller, window)
    inner = await forked(caller, fork.window)
    await worked(caller, inner)
    ancestors = (await caller.call("GetContext", context_id=inner.window.context_id)).context.ancestor_ids
    assert list(ancestors) == [context_id, fork.window.context_id]
    # Of one that ends, those beside it and above stay.
    await caller.call("CloseContext", context_id=fork.window.context_id)
    with pytest.raises(ContextClosed):
        await worked(caller, inner)
    await worked(caller, beside)
    await merged(caller, fork)  # what it has is brought back all the same
    with pytest.raises(ContextClosed):
        await merged(caller, inner)
    await caller.call("CloseContext", context_id=context_id)
    with pytest.raises(ContextClosed):
        await worked(caller, beside)
    with pytest.raises(ContextClosed):
        await forked(caller, window)

    erasure = (await caller.call("DeleteContext", context_id=context_id, now=True)).erasure
    for one in (fork, beside, inner):
        with pytest.raises(ContextNotFound):
            await caller.call("GetContext", context_id=one.window.context_id)
        with pytest.raises(WindowNotFound):
            await caller.call("GetWindow", window_id=one.window.window_id)
    while not (await caller.call("GetErasure", erasure_id=erasure.erasure_id)).erasure.finished_at.seconds:
        await asyncio.sleep(0.05)


async def test_a_fork_beside_the_end_of_what_it_is_forked_from_is_none_or_goes_with_it(
    caller: Caller, other_replica: Caller, stack: Stack
):
    async with Database.open(stack.urls.service, connections_max=2, name="tests") as database:
        eraser = eraser_of(database)
        for n in range(6):
            context_id = await said(caller, "", {"content": "x"})
            window = await opened(caller, context_id)

            async def deleting(context_id: str = context_id, n: int = n) -> None:
                await asyncio.sleep(n * 0.003)
                await caller.call("DeleteContext", context_id=context_id)

            async def forking(window: pb.Window = window) -> pb.ForkWindowResponse | None:
                with suppress(WindowNotFound, ContextNotFound):
                    return await forked(other_replica, window, inherits=NOTHING)
                return None

            fork, _ = await asyncio.gather(forking(), deleting())
            await eraser.erase_due()
            if fork:
                with pytest.raises(ContextNotFound):
                    await caller.call("GetContext", context_id=fork.window.context_id)


async def test_forks_are_erased_when_their_user_is_or_when_what_they_were_forked_from_is_past_its_time(
    caller: Caller, stack: Stack
):
    ada = caller.of("ada")
    made = []
    for _ in range(2):
        context_id = (await ada.send("of ada")).context_id
        made.append((context_id, await forked(ada, await opened(ada, context_id))))
    soon = at(datetime.now(UTC) + timedelta(seconds=0.2))
    await ada.call(
        "UpdateContext", context_id=made[0][0], context={"expires_at": soon}, update_mask={"paths": ["expires_at"]}
    )
    async with Database.open(stack.urls.service, connections_max=2, name="tests") as database:
        eraser = eraser_of(database)
        await asyncio.sleep(0.3)
        await eraser.erase_due()
        with pytest.raises(ContextNotFound):
            await ada.call("GetContext", context_id=made[0][1].window.context_id)
        await ada.call("GetContext", context_id=made[1][1].window.context_id)
        assert (await erase_subject(database, "ada"))["context.context"] >= 2
        for table in ("context", "message", "context_window", "window_fork", "window_entry"):
            rows = await database.of(PRINCIPAL).query(
                # What nobody may see is asked for as the service does: by the tenant alone there is nothing.
                f"SELECT count(*) AS count FROM context.{table} WHERE owner_user_id = 'ada'",
            )
            assert rows[0].count == 0


async def test_forks_are_of_who_sees_the_context(caller: Caller):
    ada = caller.of("ada")
    context_id = (await ada.send("of ada")).context_id
    window = await opened(ada, context_id)
    fork = await forked(ada, window)
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        with pytest.raises(WindowNotFound):
            await forked(caller.of(key), window)
        with pytest.raises(WindowNotFound):
            await merged(caller.of(key), fork)
        for ref in ("f1:m1", "f9:m1"):
            with pytest.raises(WindowNotFound):
                await expanded(caller.of(key), window, ref)
        with pytest.raises(ContextNotFound):
            await caller.of(key).send("x", fork.window.context_id)
    assert fork.window.owner_user_id == "ada"
    again = await forked(caller.of("runtime"), window, subject_user_id="ada")
    assert again.window.owner_user_id == "ada"
    assert (await merged(caller.of("runtime"), again, subject_user_id="ada")).ref == "m2"
    # Of what is nobody's, a fork of a user's call is nobody's, too.
    free = await opened(caller, (await caller.send("free")).context_id)
    assert (await forked(ada, free)).window.owner_user_id == ""


async def test_a_run_never_has_more_tokens_than_its_window_may_whoever_works(
    caller: Caller, other_replica: Caller, context_id: str
):
    """Forks, and forks of forks, pack at once, at two replicas; that keys of forks do so, too, `tests/hostile` says."""
    most = 6_000
    window = await opened(caller, context_id, config={"max_total_tokens": most})
    made = [await forked(caller, window, f"Task {n}.") for n in range(3)]
    made.append(await forked(caller, made[0].window, "A part of it."))
    replicas = (caller, other_replica, caller, other_replica)
    workers = [(caller, window), *zip(replicas, (one.window for one in made), strict=True)]
    wrapped = set()

    async def work(who: Caller, of: pb.Window) -> int:
        spent = 0
        with pytest.raises(TokensSpent) as error:
            while True:
                pack = await packed(who, of)
                spent += pack.tokens
                if pack.wrap_up:
                    wrapped.add(of.window_id)
                await said(who, of.context_id, {"role": "assistant", "content": "word " * 30})
        assert error.value.metadata["max_total_tokens"] == str(most)
        return spent

    spent = await asyncio.gather(*(work(who, of) for who, of in workers))
    now = (await caller.call("GetWindow", window_id=window.window_id)).window.spent_tokens
    assert all(spent) and now == sum(spent) <= most and wrapped
    assert {one.window.config.max_total_tokens for one in made} == {0}

    await caller.call("UpdateWindow", window_id=window.window_id, config={"max_total_tokens": 2 * most})
    assert (await packed(caller, made[0].window)).tokens
    limited = await forked(caller, window, "A task with a limit of its own.")
    await caller.call("UpdateWindow", window_id=limited.window.window_id, config={"max_total_tokens": 1})
    with pytest.raises(TokensSpent) as error:
        await packed(caller, limited.window)
    assert error.value.metadata["max_total_tokens"] == "1"


async def test_the_tokens_of_a_run_are_of_who_sees_a_window_of_it(caller: Caller, stack: Stack, context_id: str):
    """Below the services, too: what runs as the owner asks who asks."""
    window = await opened(caller, context_id, config={"max_total_tokens": 6_000})
    fork = (await forked(caller, window)).window
    statement = "SELECT spent FROM context.spend_of_run(%s, %s, 1)"
    with psycopg.connect(stack.urls.service) as connection:
        for tenant, seen, subject, spent in (
            (PRINCIPAL.tenant_id, "*", "*", [(1,)]),
            (PRINCIPAL.tenant_id, fork.context_id, "=", [(2,)]),
            (PRINCIPAL.tenant_id, context_id, "=", []),
            (PRINCIPAL.tenant_id, an_id(), "=", []),
            (PRINCIPAL.tenant_id, "", "=", []),
            (PRINCIPAL.tenant_id, "*", "", []),
            (an_id(), "*", "*", []),
            ("", "*", "*", []),
        ):
            for name, value in (("tenant", tenant), ("context", seen), ("subject", subject), ("bounds", "")):
                connection.execute("SELECT set_config(%s, %s, false)", (f"app.{name}", str(value)))
            assert connection.execute(statement, (fork.context_id, fork.window_id)).fetchall() == spent, (tenant, seen)


async def test_what_is_no_fork_is_refused(caller: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch):
    window = await opened(caller, context_id)
    for wrong in (
        {"task": ""},
        {"task": " "},
        {"task": "a\0b"},
        {"inherits": 9},
        {"key_ttl_s": -1},
        {"key_ttl_s": 86_401},
        {"tools_json": "{}"},
        {"context_tokens": -1},
    ):
        with pytest.raises(InvalidArgument):
            await forked(caller, window, **wrong)
    for long in ("x" * (16 * 1024 + 1), "ü" * (8 * 1024 + 1)):
        with pytest.raises(LimitExceeded):
            await forked(caller, window, long)
    with pytest.raises(WindowNotFound):
        await caller.call("ForkWindow", window_id=an_id(), task="x")
    monkeypatch.setattr(forks, "FORKS_MAX", 2)
    monkeypatch.setattr(forks, "DEPTH_MAX", 2)
    one, two = await forked(caller, window), await forked(caller, window)
    with pytest.raises(LimitExceeded, match="not merged"):
        await forked(caller, window)
    await caller.call("DeleteContext", context_id=one.window.context_id, now=True)
    for _ in range(100):
        with suppress(LimitExceeded):
            await forked(caller, window)
            break
        await asyncio.sleep(0.05)
    deep = await forked(caller, two.window)
    with pytest.raises(LimitExceeded, match="nested at most"):
        await forked(caller, deep.window)

    with pytest.raises(InvalidArgument, match="not a fork"):
        await caller.call("MergeWindow", window_id=window.window_id)
    beside = await opened(caller, two.window.context_id)
    with pytest.raises(InvalidArgument, match="not a fork"):
        await caller.call("MergeWindow", window_id=beside.window_id)
    with pytest.raises(InvalidArgument):
        await merged(caller, two, tokens_max=-1)
    await caller.call("CloseWindow", window_id=window.window_id)
    with pytest.raises(WindowClosed):
        await merged(caller, two)
    for inherits in (NOTHING, pb.FORK_INHERITANCE_STATE):
        with pytest.raises(WindowClosed):
            await forked(caller, window, inherits=inherits)


WISH = "Ship the parcels that Rosa packed on Monday. Ask me before anything leaves the country!"
ANSWER = "Nur die roten, bitte."


async def test_a_fork_that_inherits_the_state_knows_what_users_said_and_one_that_inherits_pins_does_not(
    caller: Caller,
):
    """Their words are in the pack whether or not a fold has moved them into the conversation, and have no refs."""
    context_id = await said(caller, "", {"content": WISH})
    window = await opened(caller, context_id)
    await said(caller, context_id, *chain(*(step(n) for n in range(30))))
    assert (await packed(caller, window, without_recall=True)).tokens_by_zone.conversation
    await said(caller, context_id, {"role": "assistant", "content": "All of them, or only the red ones?"})
    await said(caller, context_id, {"content": ANSWER, "name": "Rosa"})

    fork = (await forked(caller, window)).window
    first = await packed(caller, fork, without_recall=True)
    for text in (WISH, ANSWER, "[user]", '[user Rosa, to \\"All of them, or only the red ones?\\"]'):
        assert text in first.messages_json
    assert 0 < first.tokens_by_zone.conversation <= 0.2 * LIMIT
    assert {(span.author, span.ref) for span in first.spans} >= {("user", ""), ("user Rosa", "")}

    await said(caller, fork.context_id, *chain(*(step(n) for n in range(60))))
    later = await packed(caller, fork, without_recall=True)
    assert later.epoch
    assert WISH in later.messages_json
    assert ANSWER in later.messages_json
    assert later.messages_json.index(ANSWER) < later.messages_json.rindex("List it.")

    pins = (await forked(caller, window, inherits=PINS)).window
    assert "parcels" not in (await packed(caller, pins, without_recall=True)).messages_json


async def test_a_fork_keeps_the_inherited_words_when_it_reads_its_log_again(caller: Caller):
    context_id = await said(caller, "", {"content": WISH})
    fork = (await forked(caller, await opened(caller, context_id))).window
    ids = [an_id(), an_id()]
    notes = [{"content": f"Note {n}: " + "the crate is sealed and weighed. " * 30} for n in range(30)]
    await said(caller, fork.context_id, {"content": "Take the van.", "message_id": ids[0]}, *notes)
    for start in range(0, 60, 20):
        await said(caller, fork.context_id, *chain(*(step(n) for n in range(start, start + 20))))
        folded = await packed(caller, fork, without_recall=True)
    assert "not shown here any more" in folded.messages_json  # the zone was cut, and so the inherited block

    await caller.call("RetractMessages", context_id=fork.context_id, message_ids=ids[:1])
    again = await packed(caller, fork, without_recall=True)
    assert "Take the van." not in again.messages_json
    assert WISH in again.messages_json
