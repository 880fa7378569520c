"""Watches: what happens in a context is told once, in its order, whatever stops meanwhile, and to nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from context_service.kernel import lookout
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from contextkeep.errors import (
    ContextNotFound,
    InvalidArgument,
    TooManyCalls,
    Unauthenticated,
    Unavailable,
)
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import Urls, cloned
from tests.context_service.contexts.callers import Caller
from tests.context_service.contexts.test_artifacts import put
from tests.context_service.contexts.test_tasks import created, moved
from tests.context_service.watching import PER_PROCESS, Callers, Replicas, Watching, two_replicas


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Any:
    with cloned(postgres) as cloned_urls:
        yield cloned_urls


@pytest.fixture(scope="module")
def callers() -> Callers:
    return Callers()


@pytest.fixture
async def replicas(urls: Urls, callers: Callers, tmp_path: Path) -> AsyncIterator[Replicas]:
    async with two_replicas(urls, callers, tmp_path) as begun:
        yield begun


@pytest.fixture
def caller(replicas: Replicas) -> Caller:
    return replicas[0][0]


class Watch(Watching):
    """A watch of a context."""

    texts: ClassVar = {
        "message": lambda told: told.message.content,
        "task": lambda told: tasks_pb.TaskState.Name(told.task.status.state).removeprefix("TASK_STATE_").lower(),
        "artifact": lambda told: f"{told.artifact.artifact_id} {told.artifact.version}",
        "retracted": lambda told: f"without {list(told.retracted.seqs)}",
        "context": lambda told: (
            f"{pb.ContextState.Name(told.context.state).removeprefix('CONTEXT_STATE_').lower()} {told.context.title}"
        ),
    }

    def __init__(self, caller: Caller, context_id: str, **fields: Any) -> None:
        request = pb.WatchContextRequest(context_id=context_id, **fields)
        super().__init__(ContextsStub(caller.channel).WatchContext(request, metadata=caller.metadata))


async def test_what_is_there_is_told_and_then_what_comes(replicas: Replicas):
    """Whichever replica writes it."""
    (caller, _), (other, _) = replicas
    context_id = (await caller.send("one")).context_id
    task = await created(caller, context_id)
    watch = Watch(caller, context_id)
    await watch.until("one", "submitted")
    await other.send("two", context_id)
    await watch.until("two")
    await put(other, task.task_id, "a plan")
    await watch.until("plan 1")
    await moved(caller, task.task_id, tasks_pb.TASK_STATE_COMPLETED)
    await watch.until("completed")
    assert not watch.told[-2].artifact.parts
    assert watch.seen() == ["one", "submitted", "two", "plan 1", "completed"]
    assert (watch.told[-1].seq_from, watch.told[-1].change_after) == (3, 3)

    await caller.call("CloseContext", context_id=context_id)
    assert await watch.end() == "well"


async def test_what_is_taken_back_and_what_changes_of_the_header_is_told(caller: Caller):
    """Else a copy would keep what nobody may read any more."""
    context_id = (
        await caller.append("", *(message_pb.MessageInput(content=f"m{n}", message_id=f"m{n}") for n in (1, 2, 3, 4)))
    ).context_id
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m1"])
    watch = Watch(caller, context_id)
    await watch.until("m2", "m3", "m4", "without [1]")
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m4", "m1", "m2"])
    await watch.until("without [2, 4]")
    assert list(watch.told[-1].retracted.message_ids) == ["m2", "m4"]
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m4"])  # again: nothing happens
    title = pb.ContextInput(title="cough")
    await caller.call("UpdateContext", context_id=context_id, context=title, update_mask={"paths": ["title"]})
    await watch.until("open cough")
    await caller.call("CloseContext", context_id=context_id)
    assert await watch.end() == "well"
    assert watch.seen() == ["m2", "m3", "m4", "without [1]", "without [2, 4]", "open cough", "closed cough"]

    await caller.call("CloseContext", context_id=context_id)
    again = Watch(caller, context_id, seq_from=watch.told[-1].seq_from, change_after=watch.told[-1].change_after)
    assert (await again.end(), again.told) == ("well", [])


async def test_a_copy_that_a_watcher_keeps_is_what_is_there(replicas: Replicas):
    """Whatever is said and taken back meanwhile, and whichever replica stops."""
    (caller, stack), (other, _) = replicas
    context_id = (await other.send("m1", message_id="m1")).context_id
    changing = asyncio.create_task(_write_and_take_back(other, context_id, 60))
    watch = Watch(caller, context_id)
    await watch.until("m9")
    await stack.aclose()
    assert isinstance(await watch.end(), Unavailable)
    last = watch.told[-1]
    again = Watch(other, context_id, seq_from=last.seq_from, change_after=last.change_after)
    await changing
    assert await again.end() == "well"

    copy: dict[int, str] = {}
    for one in (*watch.told, *again.told):
        if one.HasField("message"):
            copy[one.message.seq] = one.message.content
        for seq in one.retracted.seqs:
            copy.pop(seq, None)
    assert list(copy.values()) == await other.texts(context_id)
    assert len(copy) == 40


async def _write_and_take_back(caller: Caller, context_id: str, count: int) -> None:
    for number in range(2, count + 1):
        await caller.send(f"m{number}", context_id, message_id=f"m{number}")
        if number % 3 == 0:
            await caller.call("RetractMessages", context_id=context_id, message_ids=[f"m{number - number % 2}"])
    await caller.call("CloseContext", context_id=context_id)


async def test_nothing_is_missed_over_the_stop_of_a_replica(replicas: Replicas):
    """The watch goes on at the other one, from where it was; nothing comes twice."""
    (caller, stack), (other, _) = replicas
    context_id = (await other.send("m1")).context_id
    writing = asyncio.create_task(_write(other, context_id, 40))
    watch = Watch(caller, context_id)
    await watch.until("m5")
    await stack.aclose()
    assert isinstance(await watch.end(), Unavailable)
    again = Watch(other, context_id, seq_from=watch.told[-1].seq_from, change_after=watch.told[-1].change_after)
    await writing
    await again.until("m40")
    assert [one.message.seq for one in (*watch.told, *again.told)] == list(range(1, 41))
    await again.stop()


async def _write(caller: Caller, context_id: str, count: int) -> None:
    for number in range(2, count + 1):
        await caller.send(f"m{number}", context_id)
        await asyncio.sleep(0.02)


async def test_a_watch_begins_where_it_is_asked_and_may_end_with_what_is_there(caller: Caller):
    context_id = (await caller.send("one")).context_id
    tasks = [await created(caller, context_id) for _ in range(25)]
    await caller.append(context_id, *(message_pb.MessageInput(content=f"m{n}", message_id=f"m{n}") for n in range(130)))
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m129"])
    watch = Watch(caller, context_id, until_now=True)
    assert await watch.end() == "well"
    assert watch.seen() == ["one", *(f"m{n}" for n in range(129)), *["submitted"] * 25, "without [131]"]
    assert [one.task.task_id for one in watch.told[130:-1]] == [task.task_id for task in tasks]

    later = Watch(caller, context_id, until_now=True, seq_from=130, change_after=23)
    assert await later.end() == "well"
    assert later.seen() == ["m128", "submitted", "submitted", "without [131]"]
    for fields in ({"seq_from": -1}, {"change_after": -1}):
        assert isinstance(await Watch(caller, context_id, **fields).end(), InvalidArgument)


async def test_nobody_else_watches_it(caller: Caller):
    context_id = (await caller.of("ada").send("hers")).context_id
    for other in (caller, caller.of("bob"), caller.of("other")):
        assert isinstance(await Watch(other, context_id, until_now=True).end(), ContextNotFound)
    beside = (await caller.of("ada").send("beside")).context_id
    watch = Watch(caller.of("ada"), context_id)
    await watch.until("hers")
    await caller.of("ada").send("beside again", beside)
    await caller.of("ada").send("hers again", context_id)
    await watch.until("hers again")
    assert watch.seen() == ["hers", "hers again"]
    await watch.stop()


async def test_a_watch_ends_with_its_context(caller: Caller):
    context_id = (await caller.send("one")).context_id
    watch = Watch(caller, context_id)
    await watch.until("one")
    await caller.call("DeleteContext", context_id=context_id)
    assert isinstance(await watch.end(), ContextNotFound)


async def test_a_watch_ends_with_its_key(caller: Caller, callers: Callers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lookout, "CHECK_S", 0.3)
    context_id = (await caller.send("one")).context_id
    watch, other = Watch(caller, context_id), Watch(caller.of("admin"), context_id)
    await watch.until("one")
    callers.revoked.add("plain")
    try:
        assert isinstance(await watch.end(), Unauthenticated)
    finally:
        callers.revoked.clear()
    assert other.over is None
    await other.stop()


async def test_watches_have_a_limit_of_their_own_and_give_it_back(caller: Caller):
    context_id = (await caller.send("one")).context_id
    key_max = PER_PROCESS // 2
    watches = [Watch(caller, context_id) for _ in range(key_max)]
    for watch in watches:
        await watch.until("one")
    refused = await Watch(caller, context_id).end()
    assert isinstance(refused, TooManyCalls)
    assert refused.metadata["limit"] == "watches_of_key"
    await watches[0].stop()
    async with asyncio.timeout(10):
        while isinstance(await Watch(caller, context_id, until_now=True).end(), TooManyCalls):
            await asyncio.sleep(0.05)
    await watches[1].stop()


async def test_of_many_watches_one_asks(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    """A look is one statement for a tenant, however many contexts are watched."""
    looks = []
    look = lookout.Lookout._look

    async def counted(self: lookout.Lookout) -> None:
        if self._watchers:
            looks.append(len(self._watchers))
        await look(self)

    monkeypatch.setattr(lookout.Lookout, "_look", counted)
    contexts = [(await caller.send("one")).context_id for _ in range(2)]
    watches = [Watch(caller, context_id) for context_id in contexts]
    for watch in watches:
        await watch.until("one")
    await asyncio.sleep(1)
    assert 2 in looks
    assert len(looks) < 20
    for watch in watches:
        await watch.stop()


async def test_who_hears_nothing_hears_that(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lookout, "SILENT_S", 0.3)
    context_id = (await caller.send("one")).context_id
    call = ContextsStub(caller.channel).WatchContext(
        pb.WatchContextRequest(context_id=context_id), metadata=caller.metadata
    )
    async with asyncio.timeout(10):
        events = [(await call.read()).WhichOneof("event") for _ in range(3)]
    assert events == ["message", None, None]
    call.cancel()
