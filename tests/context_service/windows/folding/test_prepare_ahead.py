"""Folds that a model prepares in the background, over two replicas and a model that does as it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import grpc
import psycopg
import pytest
from aiohttp import web

from context_service.folding.rules import prepare_ahead
from context_service.kernel.llm import endpoint
from context_service.kernel.llm.budget import TokenBudget
from contextkeep.context.v1 import context_settings_pb2 as settings_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys, Principal
from tests.clients.stack import running
from tests.conftest import Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller
from tests.context_service.windows import calling
from tests.context_service.windows.calling import packed, said
from tests.context_service.windows.folding.test_folding import step
from tests.context_service.windows.folding.test_writing import FIRST, SHORT, down, wrote
from tests.fakes.chat_server import Answer, ChatServer, chat_server, says

OFF = settings_pb.MODEL_USE_OFF
LIMIT, NEAR = 8_000, 15  # steps after which a window of `LIMIT` is some steps from its fold


@dataclass(frozen=True, kw_only=True)
class World:
    """Two replicas with a model."""

    replicas: tuple[Caller, Caller]
    server: ChatServer
    urls: Urls

    @property
    def caller(self) -> Caller:
        return self.replicas[0]

    async def near(self, caller: Caller, context: Any = None, **config: Any) -> tuple[str, windows_pb.Window]:
        """Return a context and its window after packs that come near a fold."""
        first = await caller.send("Never touch the vendor folder.", agent_id="clerk", context=context or {})
        context_id = await said(caller, first.context_id, *FIRST[1:])
        window = await calling.opened(caller, context_id, LIMIT, config={"low_mark": 0.3, **config})
        await said(caller, context_id, *chain.from_iterable(step(n, SHORT) for n in range(NEAR)))
        pack = await packed(caller, window, without_recall=True)
        assert pack.epoch == 0 and pack.fold_eta_steps <= 5
        return context_id, window

    async def done(self) -> None:
        """Wait until nothing is queued."""
        async with asyncio.timeout(20):
            while self.queued():
                await asyncio.sleep(0.05)

    def queued(self) -> int:
        with psycopg.connect(self.urls.superuser) as connection:
            counting = "SELECT count(*) FROM context.outbox WHERE topic = %s"
            (count,) = connection.execute(counting, (prepare_ahead.TOPIC,)).fetchone()
        return int(count)

    async def folded(self, context_id: str, window: windows_pb.Window) -> tuple[Any, windows_pb.FoldReceipt]:
        """Work on until the window folds; return the pack and the receipt."""
        for n in range(NEAR, NEAR + 20):
            await said(self.caller, context_id, *step(n, SHORT))
            pack = await packed(self.caller, window, without_recall=True)
            if pack.epoch:
                break
        (receipt, *_) = (await self.caller.call("GetLineage", window_id=window.window_id)).receipts
        return pack, receipt


@pytest.fixture(scope="module")
async def both(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("blobs")
    with pytest.MonkeyPatch.context() as patched, cloned(postgres) as urls:
        patched.setattr(prepare_ahead, "INTERVAL_S", 0.1)
        async with chat_server() as server:
            fields: dict[str, Any] = {"llm_url": server.url, "llm_model": "m1", "llm_timeout_s": 1.0}
            async with (
                running(urls.service, folder, callers=ApiKeys(KEYS), **fields) as one,
                running(urls.service, folder, callers=ApiKeys(KEYS), **fields) as another,
                grpc.aio.insecure_channel(one.context) as first,
                grpc.aio.insecure_channel(another.context) as second,
            ):
                yield World(replicas=(Caller(first), Caller(second)), server=server, urls=urls)


@pytest.fixture
def world(both: World, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.0)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 0.0)
    monkeypatch.setattr(prepare_ahead, "DELAY_S", 0.1)
    both.server.answer = wrote()
    both.server.requests.clear()
    return both


async def test_a_fold_is_prepared_ahead_once_by_two_replicas_and_the_pack_that_folds_takes_it(world: World):
    context_id, window = await world.near(world.caller)
    for n in range(6):  # both replicas queue it
        await packed(world.replicas[n % 2], window, without_recall=True)
    await world.done()
    prompts = [body["messages"][-1]["content"] for _, body in world.server.requests]
    assert prompts and len(set(prompts)) == len(prompts)

    pack, receipt = await world.folded(context_id, window)

    assert receipt.reason == "high_mark" and receipt.prepared_last_seq > 0
    assert "model" in {summary.method for summary in receipt.summaries}
    assert "So it is: We decided" in pack.messages_json
    assert pack.tokens <= window.token_limit


@pytest.mark.parametrize("whose", ["tenant", "app", "agent", "context"])
async def test_no_text_goes_to_a_model_where_models_are_off(whose: str, world: World):
    """Neither ahead, nor when a caller prepares a fold, nor with instructions, nor from a fork."""
    admin, app_id = world.caller.of("admin"), f"shop-{whose}"
    fields = {"tenant": {}, "app": {"app_id": app_id}, "agent": {"agent_id": "clerk"}, "context": None}[whose]
    if fields is not None:
        await admin.call("PutContextSetting", models=OFF, **fields)
    try:
        own = {"app_id": app_id, **({"models": OFF} if whose == "context" else {})}
        _, window = await world.near(world.caller, context=own)
        await world.done()
        await world.caller.call("PrepareFold", window_id=window.window_id)
        fork = await world.caller.call("ForkWindow", window_id=window.window_id, task="Count.")
        await said(world.caller, fork.window.context_id, *chain.from_iterable(step(n, SHORT) for n in range(NEAR + 4)))
        await world.caller.call("PrepareFold", window_id=fork.window.window_id)
        await world.caller.call("Fold", window_id=window.window_id, instructions="Keep the folder.")
        await world.done()
        assert not world.server.requests
    finally:
        if fields is not None:
            await admin.call("PutContextSetting", models=settings_pb.MODEL_USE_UNSPECIFIED, **fields)
    await packed(world.caller, window, without_recall=True)


async def test_a_model_that_fails_delays_the_fold_and_loses_nothing(world: World):
    world.server.answer = down(500)
    context_id, window = await world.near(world.caller)
    async with asyncio.timeout(10):
        while not world.server.requests:
            await asyncio.sleep(0.02)
    world.server.answer = wrote()
    await world.done()
    _, receipt = await world.folded(context_id, window)
    assert "model" in {summary.method for summary in receipt.summaries}


@pytest.mark.parametrize(
    "answer",
    [
        says('{"lines": [{"text": "We decided to sell.", "refs": ["m9999/0"]}]}'),
        lambda _: web.Response(body=b"x" * 3_000_000),
    ],
    ids=["invented refs", "3 MB"],
)
async def test_what_a_model_may_not_write_leaves_the_fold_to_the_rules(answer: Answer, world: World):
    world.server.answer = answer
    context_id, window = await world.near(world.caller)
    await world.done()
    pack, receipt = await world.folded(context_id, window)
    assert {summary.method for summary in receipt.summaries} == {"extractive"}
    assert "sell" not in pack.messages_json


async def test_no_pack_waits_for_a_model_that_never_answers_and_no_tenant_for_another(world: World):
    world.server.gate.clear()
    try:
        context_id, window = await world.near(world.caller)
        async with asyncio.timeout(10):
            while not world.server.requests:
                await asyncio.sleep(0.02)
        began = time.monotonic()
        await said(world.caller, context_id, *step(NEAR, SHORT))
        await packed(world.caller, window, without_recall=True)
        assert time.monotonic() - began < 0.9  # the model has 1 s
        asked = len(world.server.requests)
        await world.near(world.caller.of("other"))
        async with asyncio.timeout(10):
            while len(world.server.requests) == asked:
                await asyncio.sleep(0.02)
    finally:
        world.server.gate.set()
    await world.done()


async def test_a_window_without_a_model_queues_nothing(world: World):
    await world.near(world.caller, summarization_model="none")
    assert not world.queued()


async def test_a_tenant_that_has_spent_its_tokens_of_the_day_is_folded_by_rules(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    spent: list[int] = []

    async def spend(self: TokenBudget, principal: Principal, tokens: int) -> None:
        spent.append(tokens)

    async def has_room(self: TokenBudget, principal: Principal) -> bool:
        return False

    with monkeypatch.context() as patched:
        patched.setattr(TokenBudget, "spend", spend)
        await world.near(world.caller)
        await world.done()
    assert len(spent) == 2 * len(world.server.requests) and spent[0] > 100 > spent[1] > 0
    world.server.requests.clear()
    monkeypatch.setattr(TokenBudget, "has_room", has_room)
    _, window = await world.near(world.caller)
    await world.done()
    await world.caller.call("PrepareFold", window_id=window.window_id)
    assert not world.server.requests
