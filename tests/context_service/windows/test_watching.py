"""Watches of windows: what breaks a cached prefix is told once, in order, whatever stops meanwhile, to nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import pytest

from context_service.kernel import lookout
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1.context_windows_pb2_grpc import WindowsStub
from contextkeep.errors import (
    InvalidArgument,
    TooManyCalls,
    Unauthenticated,
    Unavailable,
    WindowNotFound,
)
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller, an_id
from tests.context_service.contexts.test_watching import Watch as ContextWatch
from tests.context_service.watching import Callers, Replicas, Watching, two_replicas
from tests.context_service.windows.calling import opened, packed, said
from tests.context_service.windows.folding.test_folding import step


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Any:
    with cloned(postgres) as cloned_urls:
        yield cloned_urls


class BoundCallers(Callers):
    """Callers of which one is bound to a context."""

    bound_to: UUID | None = None

    async def find(self, secret: str) -> Any:
        return replace(KEYS["plain"], context_id=self.bound_to) if secret == "bound" else await super().find(secret)


@pytest.fixture(scope="module")
def callers() -> BoundCallers:
    return BoundCallers()


@pytest.fixture
async def replicas(urls: Urls, callers: BoundCallers, tmp_path: Path) -> AsyncIterator[Replicas]:
    async with two_replicas(urls, callers, tmp_path) as begun:
        yield begun


@pytest.fixture
def replica(replicas: Replicas) -> Caller:
    return replicas[0][0]


class Watch(Watching):
    """A watch of a window."""

    texts: ClassVar = {
        "broken": lambda told: f"{told.broken.epoch} {told.broken.reason}",
        "entry": lambda told: f"{told.entry.section} {told.entry.text}",
        "window": lambda told: "closed" if told.window.is_closed else f"up to {told.window.reached_seq}",
    }

    def __init__(self, caller: Caller, window: windows_pb.Window, **fields: Any) -> None:
        request = windows_pb.WatchWindowRequest(window_id=window.window_id, **fields)
        super().__init__(WindowsStub(caller.channel).WatchWindow(request, metadata=caller.metadata))

    def places(self) -> dict[str, int]:
        last = self.told[-1]
        return {"epoch_after": last.epoch_after, "entry_from": last.entry_from}


async def test_each_change_of_a_window_is_told_whichever_replica_makes_it(
    replicas: Replicas,
):
    (caller, _), (other, _) = replicas
    context_id = await said(caller, "", {"content": "The staging port is 8443."})
    window = await opened(caller, context_id, system_prompt="Be brief.", tools_json='[{"name":"a"}]')
    watch = Watch(caller, window)
    await watch.until("up to 0")
    await packed(other, window)
    await watch.until("up to 1")
    pin_id = (await other.call("Pin", window_id=window.window_id, text="In French.")).pin_id
    await watch.until("1 pinned")
    await other.call("UpdateWindow", window_id=window.window_id, system_prompt="Be kind.", tools_json="[]")
    await watch.until("2 updated")
    await caller.call("PatchState", window_id=window.window_id, set=[{"section": "goal", "text": "Ship it."}])
    await watch.until("goal Ship it.")
    await other.call("Unpin", window_id=window.window_id, pin_id=pin_id)
    await watch.until("3 unpinned")
    await other.call("CloseWindow", window_id=window.window_id)
    assert await watch.end() == "well"

    assert [one for one in watch.seen() if not one.startswith("up to")] == [
        "value The staging port is 8443.",
        "1 pinned",
        "pin In French.",
        "2 updated",
        "goal Ship it.",
        "3 unpinned",
        "closed",
    ]
    broken = [one.broken for one in watch.told if one.HasField("broken")]
    lineage = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert broken == list(lineage)[::-1]
    headers = [one.window for one in watch.told if one.HasField("window")]
    assert not any(one.system_prompt or one.tools_json for one in headers)
    assert headers[1:] != headers[:-1]
    assert watch.places() == {"epoch_after": 3, "entry_from": 3}


async def test_another_config_is_told_and_breaks_nothing(replica: Caller):
    window = await opened(replica, await said(replica, "", {"content": "Hello."}))
    watch = Watch(replica, window)
    await watch.until("up to 0")
    await replica.call("UpdateWindow", window_id=window.window_id, config={"keep_last_steps": 3})
    async with asyncio.timeout(20):
        while len(watch.told) < 2:
            await asyncio.sleep(0.02)
    assert watch.seen() == ["up to 0", "up to 0"]
    assert [one.window.config.keep_last_steps for one in watch.told] == [10, 3]
    assert watch.places() == {"epoch_after": 0, "entry_from": 0}
    await watch.stop()


async def test_a_fold_is_told_with_what_it_masked_and_what_the_break_costs(replica: Caller):
    """Who keeps a prompt in a vendor's cache knows by it that, why and from where on it does not hold."""
    context_id = await said(replica, "", {"content": "Find it."})
    window = await opened(replica, context_id, limit=4_000)
    watch = Watch(replica, window)
    number = 0
    while not (before := await packed(replica, window)).epoch:
        number += 1
        await said(replica, context_id, *step(number))
        assert number < 100
    await watch.until("1 high_mark")
    (broken,) = [one.broken for one in watch.told if one.HasField("broken")]
    assert broken == (await replica.call("GetLineage", window_id=window.window_id)).receipts[0]
    assert (broken.epoch, broken.tokens_after < broken.tokens_before) == (before.epoch, True)
    assert broken.first_change
    assert broken.tokens_written_again
    await watch.stop()


async def test_what_was_retracted_is_told_as_a_break_and_its_entries_never(replica: Caller):
    context_id = await said(
        replica,
        "",
        {"content": "The staging port is 8443.", "message_id": "m1"},
        {"content": "Never touch the vendor folder.", "message_id": "m2"},
    )
    window = await opened(replica, context_id)
    await packed(replica, window)
    await replica.call("RetractMessages", context_id=context_id, message_ids=["m1"])
    watch = Watch(replica, window, until_now=True)
    assert await watch.end() == "well"
    assert watch.seen() == ["constraint Never touch the vendor folder.", "up to 2"]

    live = Watch(replica, window, **watch.places())
    await live.until("up to 2")
    await packed(replica, window)
    await live.until("1 retracted")
    await live.stop()
    assert "8443" not in str(live.told)


async def test_a_watch_begins_where_it_is_asked_and_may_end_with_what_is_there(replica: Caller):
    context_id = await said(replica, "", {"content": "Hello."})
    window = await opened(replica, context_id)
    for number in range(1, 24):
        await replica.call("UpdateWindow", window_id=window.window_id, system_prompt=f"{number}")
    entries = [{"section": "decision", "key": f"{number}", "text": f"Take {number}."} for number in range(99)]
    await replica.call("PatchState", window_id=window.window_id, set=entries)
    await replica.call(
        "PatchState", window_id=window.window_id, set=[{**entries[7], "text": "Take none."}, {**entries[0], "key": "x"}]
    )
    watch = Watch(replica, window, until_now=True)
    assert await watch.end() == "well"
    assert [one.broken.epoch for one in watch.told[:23]] == list(range(1, 24))
    decided = [f"decision Take {number}." for number in range(99) if number != 7]
    assert watch.seen()[23:] == [*decided, "decision Take none.", "decision Take 0.", "up to 0"]

    for at in (10, 40, 60, len(watch.told) - 1):  # whatever the watcher had when it went away
        again = Watch(replica, window, until_now=True, **_places(watch.told[at]))
        assert await again.end() == "well"
        assert again.seen() == (watch.seen()[at + 1 :] or ["up to 0"])
    for fields in ({"epoch_after": -1}, {"entry_from": -1}):
        assert isinstance(await Watch(replica, window, **fields).end(), InvalidArgument)
    ahead = Watch(replica, window, until_now=True, epoch_after=2**31 - 1, entry_from=2**63 - 1)
    assert await ahead.end() == "well"
    assert ahead.seen() == ["up to 0"]


def _places(told: windows_pb.WatchWindowResponse) -> dict[str, int]:
    return {"epoch_after": told.epoch_after, "entry_from": told.entry_from}


async def test_no_break_is_missed_over_the_stop_of_a_replica(replicas: Replicas):
    """The watch goes on at the other one, from where it was; no break and no entry comes twice."""
    (caller, stack), (other, _) = replicas
    context_id = await said(other, "", {"content": "Hello."})
    window = await opened(other, context_id)
    writing = asyncio.create_task(_write(other, window, 20))
    watch = Watch(caller, window)
    await watch.until("pin 5")
    await stack.aclose()
    assert isinstance(await watch.end(), Unavailable)
    again = Watch(other, window, **watch.places())
    await writing
    await again.until("pin 19")
    told = [one for one in (*watch.told, *again.told) if not one.HasField("window")]
    assert [one.broken.epoch for one in told if one.HasField("broken")] == list(range(1, 21))
    assert [one.entry.text for one in told if one.HasField("entry")] == [f"{number}" for number in range(20)]
    await again.stop()


async def _write(caller: Caller, window: windows_pb.Window, count: int) -> None:
    for number in range(count):
        await caller.call("Pin", window_id=window.window_id, text=f"{number}")
        await asyncio.sleep(0.05)


async def test_nobody_else_watches_it(replica: Caller):
    ada = replica.of("ada")
    window = await opened(ada, await said(ada, "", {"content": "hers"}))
    invented = windows_pb.Window(window_id=an_id())
    for who in (replica, replica.of("bob"), replica.of("other"), replica.of("admin")):
        assert isinstance(await Watch(who, window, until_now=True).end(), WindowNotFound)
    assert isinstance(await Watch(ada, invented, until_now=True).end(), WindowNotFound)


async def test_a_key_of_a_context_watches_its_windows_and_no_others(replica: Caller, callers: BoundCallers):
    contexts = [await said(replica, "", {"content": "Hello."}) for _ in range(2)]
    mine, other = [await opened(replica, context_id) for context_id in contexts]
    callers.bound_to = UUID(contexts[0])
    bound = replica.of("bound")
    watch = Watch(bound, mine)
    await watch.until("up to 0")
    assert isinstance(await Watch(bound, other, until_now=True).end(), WindowNotFound)
    await replica.call("Pin", window_id=other.window_id, text="beside")
    await replica.call("Pin", window_id=mine.window_id, text="mine")
    await watch.until("pin mine")
    assert "beside" not in str(watch.told)
    await watch.stop()


async def test_a_watch_ends_with_its_context(replica: Caller):
    context_id = await said(replica, "", {"content": "Hello."})
    watch = Watch(replica, await opened(replica, context_id))
    await watch.until("up to 0")
    await replica.call("DeleteContext", context_id=context_id)
    assert isinstance(await watch.end(), WindowNotFound)


async def test_a_watch_ends_with_its_key(replica: Caller, callers: BoundCallers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lookout, "CHECK_S", 0.3)
    watch = Watch(replica, await opened(replica, await said(replica, "", {"content": "Hello."})))
    await watch.until("up to 0")
    callers.revoked.add("plain")
    try:
        assert isinstance(await watch.end(), Unauthenticated)
    finally:
        callers.revoked.clear()


async def test_who_hears_nothing_hears_that(replica: Caller, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lookout, "SILENT_S", 0.3)
    watch = Watch(replica, await opened(replica, await said(replica, "", {"content": "Hello."})))
    async with asyncio.timeout(10):
        while watch.idle_count < 2:
            await asyncio.sleep(0.05)
    assert watch.seen() == ["up to 0"]
    await watch.stop()


async def test_both_kinds_of_watches_share_one_limit_and_one_look(replica: Caller, monkeypatch: pytest.MonkeyPatch):
    """A look is one statement a tenant and kind, however many watch."""
    looks: list[int] = []
    look = lookout.Lookout._look

    async def counted(self: lookout.Lookout) -> None:
        if self._watchers:
            looks.append(len(self._watchers))
        await look(self)

    monkeypatch.setattr(lookout.Lookout, "_look", counted)
    context_id = await said(replica, "", {"content": "one"})
    window = await opened(replica, context_id)
    of_context, of_window = ContextWatch(replica, context_id), Watch(replica, window)
    await of_context.until("one")
    await of_window.until("up to 0")
    for refused in (await Watch(replica, window).end(), await ContextWatch(replica, context_id).end()):
        assert isinstance(refused, TooManyCalls)
        assert refused.metadata["limit"] == "watches_of_key"
    await asyncio.sleep(0.5)
    assert 2 in looks
    assert len(looks) < 20
    await of_context.stop()
    async with asyncio.timeout(10):
        while isinstance(await Watch(replica, window, until_now=True).end(), TooManyCalls):
            await asyncio.sleep(0.05)
    await of_window.stop()
