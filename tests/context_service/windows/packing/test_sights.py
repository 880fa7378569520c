"""What is kept of windows in a process: packs are the same without it, and nobody sees by it what Postgres hides."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate
from random import Random
from typing import Any
from uuid import UUID

import grpc
import orjson
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.contexts.model import Message
from context_service.contexts.store.log import Log
from context_service.kernel.rendering import Body, Format, Rendered, empty
from context_service.packing import room
from context_service.packing.pure.body.window_body import WindowBody
from context_service.packing.rules.body_cache import KEPT_S, BodyCache
from context_service.packing.store.views import ViewRows
from context_service.windows.model import Window, WindowSnapshot
from context_service.windows.store.windows import WindowRows
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import FoldNoProgress, WindowClosed, WindowNotFound
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.context_service.contexts.callers import KEYS, Caller
from tests.context_service.kernel.test_rendering import MESSAGES
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.conftest import Stack
from tests.context_service.windows.test_windows import FORMATS

PIECES = st.lists(
    st.builds(
        Rendered,
        st.sampled_from(["system", "user", "assistant", "model", "tool"]),
        st.dictionaries(st.text(max_size=3), st.sampled_from([1, "]}", "é", [], {}]), max_size=2).map(
            lambda value: orjson.dumps(value).decode()
        ),
        st.booleans(),
    ),
    max_size=12,
)


@pytest.mark.parametrize("to", Format)
@given(pieces=PIECES, cuts=st.lists(st.integers(0, 4), max_size=6))
def test_a_body_is_the_same_in_whatever_portions_its_pieces_come(to: Format, pieces: list[Rendered], cuts: list[int]):
    whole = empty(to, '"tools":[],').with_pieces(pieces)
    made: Body = empty(to, '"tools":[],')
    left = pieces
    for size in cuts:
        made, before = made.with_pieces(left[:size]), made
        if not any(one.role == "system" for one in left[:size]):
            assert made.json.startswith(before.prefix)
        left = left[size:]
    assert made.with_pieces(left).json == whole.json
    said_in = orjson.loads(whole.json)
    assert said_in["tools"] == []
    shown = said_in[MESSAGES[to]]
    of_system = []
    if name := {Format.ANTHROPIC: "content", Format.GEMINI: "parts"}.get(to):
        system = said_in.get("system", said_in.get("systemInstruction", []))
        of_system = system["parts"] if isinstance(system, dict) else system
        shown = [piece for message in shown for piece in message[name]]
        pieces = sorted(pieces, key=lambda one: one.role != "system")
    assert [*of_system, *shown] == [orjson.loads(one.json) for one in pieces]


def sight(size: int, *, epoch: int = 0, block_count: int = 0) -> WindowBody:
    body = empty(Format.OPENAI).with_pieces([Rendered("user", "x" * size, False)] if size else [])
    return WindowBody(epoch=epoch, block_count=block_count, format=Format.OPENAI, tokens_family="o200k", body=body)


TENANT, OTHER_TENANT = uuid.uuid4(), uuid.uuid4()
WHOLE = Shares(of_tenant=1, of_key=1)


@pytest.fixture
def window() -> Window:
    fields = dict.fromkeys(Window.__dataclass_fields__)
    return Window(**{**fields, "epoch": 2, "block_count": 7})  # type: ignore[arg-type]


def test_a_sight_is_kept_for_its_epoch_and_what_comes_behind_it(window: Window):
    kept = BodyCache(bytes_max=100_000, shares=WHOLE)
    kept.put((TENANT, "w"), sight(1, epoch=2, block_count=7))
    assert kept.get((TENANT, "w"), window) and kept.get((TENANT, "w"), replace(window, block_count=8))
    for other in (replace(window, epoch=3), replace(window, epoch=1), replace(window, block_count=6)):
        assert kept.get((TENANT, "w"), other) is None
    assert kept.get((TENANT, "another"), window) is None
    kept.drop((TENANT, "w"))
    assert kept.get((TENANT, "w"), window) is None


@given(sizes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400)), max_size=30))
def test_no_more_is_kept_than_may_be_and_the_newest_stay(sizes: list[tuple[int, int]]):
    now = [0.0]
    kept = BodyCache(bytes_max=1_000, shares=WHOLE, clock=lambda: now[0])
    put: dict[int, int] = {}
    window = Window(**{**dict.fromkeys(Window.__dataclass_fields__), "epoch": 0, "block_count": 0})  # type: ignore[arg-type]
    for name, size in sizes:
        kept.put((TENANT, name), sight(size))
        put.pop(name, None)
        put[name] = sight(size).size_bytes
        fitting = list(accumulate(reversed(put.values()), initial=0))[1:]
        expected = {one for one, upto in zip(reversed(put), fitting, strict=True) if upto <= 1_000}
        assert {one for one in range(10) if kept.get((TENANT, one), window)} == expected
        put = {one: put[one] for one in put if one in expected}
    now[0] = KEPT_S + 1
    kept.put((TENANT, "last"), sight(1))
    assert not any(kept.get((TENANT, one), window) for one in put)


def test_a_tenant_has_its_share_of_what_is_kept_and_others_keep_theirs(window: Window):
    kept = BodyCache(bytes_max=10_000, shares=Shares(of_tenant=0.5, of_key=0.5))
    kept.put((OTHER_TENANT, "w"), sight(1_000, epoch=2, block_count=7))
    for number in range(20):
        kept.put((TENANT, number), sight(1_000, epoch=2, block_count=7))
    assert kept.get((OTHER_TENANT, "w"), window)
    found = [number for number in range(20) if kept.get((TENANT, number), window)]
    assert found
    assert found == list(range(20 - len(found), 20))
    assert len(found) * sight(1_000).size_bytes <= 5_000


@pytest.fixture(scope="module")
async def forgetful(stack: Stack) -> AsyncIterator[Caller]:
    """A replica that keeps nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "BodyCache", lambda **_: BodyCache(bytes_max=0, shares=WHOLE))
        async with (
            running(stack.urls.service, stack.folder, callers=ApiKeys(KEYS)) as started,
            grpc.aio.insecure_channel(started.context) as channel,
        ):
            yield Caller(channel)


@pytest.mark.parametrize("to", FORMATS)
async def test_packs_are_the_same_without_what_is_kept(
    to: Format, caller: Caller, other_replica: Caller, forgetful: Caller
):
    """Whoever packed last, and whatever happened: messages, results that are late, folds, retractions."""
    random = Random(to.value)
    context_id = await said(caller, "", {"content": "Begin; never touch the vendor folder.", "message_id": "m0"})
    window = await opened(caller, context_id, 1_500, format=FORMATS[to], system_prompt="You look.")
    ids, epochs = ["m0"], set()

    async def write(n: int) -> None:
        ids.append(f"m{n}")
        messages = [
            {"content": f"Question {n}? The port is {n}."},
            calls(f"c{n}", content=f"I look {n}."),
            result(f"c{n - random.randrange(3)}", f"result {n}: " + "lorem ipsum " * random.randrange(40)),
        ]
        await said(caller, context_id, {**random.choice(messages), "message_id": ids[-1]})

    async def retract(n: int) -> None:
        await caller.call("RetractMessages", context_id=context_id, message_ids=[random.choice(ids)])

    async def fold(n: int) -> None:
        with suppress(FoldNoProgress):
            await random.choice([caller, other_replica]).call("Fold", window_id=window.window_id)

    for n in range(1, 70):
        await random.choices([write, fold, retract], [20, 1, 1])[0](n)
        keeping = [caller, other_replica]
        random.shuffle(keeping)
        for one in keeping[: random.randrange(3)]:
            pack = await packed(one, window, without_recall=random.random() < 0.5)
            # What is recalled is appended once, so whoever comes behind may add it; then all see it.
            again = await packed(forgetful, window)
            assert await packed(one, window) == again
            assert pack.epoch == again.epoch
            epochs.add(pack.epoch)
    assert len(epochs) > 2


async def _close(caller: Caller, context_id: str, window_id: str) -> None:
    await caller.call("CloseWindow", window_id=window_id)


async def _delete(caller: Caller, context_id: str, window_id: str) -> None:
    await caller.call("DeleteContext", context_id=context_id)


@pytest.mark.parametrize(("ends", "error"), [(_close, WindowClosed), (_delete, WindowNotFound)])
async def test_what_is_kept_is_shown_to_nobody_when_the_window_is_gone(
    ends: Callable[..., object], error: type[Exception], caller: Caller, other_replica: Caller
):
    ada = caller.of("ada")
    context_id = await said(ada, "", {"content": "of ada"})
    window = await opened(ada, context_id)
    assert "of ada" in (await packed(ada, window)).messages_json
    await ends(other_replica.of("ada"), context_id, window.window_id)  # type: ignore[misc]
    with pytest.raises(error):
        await packed(ada, window)


async def test_what_is_kept_is_shown_to_whom_postgres_shows_the_window(caller: Caller):
    context_id = await said(caller.of("ada"), "", {"content": "of ada"})
    window = await opened(caller.of("ada"), context_id)
    await packed(caller.of("ada"), window)
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        with pytest.raises(WindowNotFound):
            await packed(caller.of(key), window)


async def test_who_has_a_prefix_is_answered_what_stands_behind_it(caller: Caller, other_replica: Caller):
    """By whichever replica; after a fold, and for what is no prefix of it, the whole."""
    context_id = await said(caller, "", {"content": "où 🏃"})
    window = await opened(caller, context_id, 1_000, goal="終わり")
    before = await packed(caller, window)
    offsets = []
    for n in range(30):
        await said(caller, context_id, {"content": f"🏃 {n} " + "lorem ipsum " * 10})
        known = {"if_prefix_sha": before.prefix_sha, "if_prefix_bytes": before.prefix_bytes}
        whole, behind = await packed(caller, window), await packed(other_replica, window, **known)
        offsets.append(behind.offset_bytes)
        begin = before.messages_json.encode()[: behind.offset_bytes].decode()
        assert begin + behind.messages_json == whole.messages_json
        assert behind.offset_bytes == (before.prefix_bytes if before.epoch == whole.epoch else 0)
        assert whole.spans[behind.known_span_count :] == behind.spans
        behind.messages_json, behind.offset_bytes = whole.messages_json, 0
        behind.ClearField("known_span_count")
        behind.ClearField("spans")
        behind.spans.extend(whole.spans)
        assert behind == whole
        before = whole
    assert 0 in offsets and len(set(offsets)) > 10


async def test_a_prefix_that_is_none_is_answered_the_whole(caller: Caller):
    context_id = await said(caller, "", {"content": "🏃"})
    window = await opened(caller, context_id)
    whole = await packed(caller, window)
    body = whole.messages_json.encode()
    middle = body.index("🏃".encode()) + 1  # of a character
    for size, sha in (
        (0, sha256(b"").hexdigest()),
        (-1, sha256(body[: whole.prefix_bytes][:-1]).hexdigest()),
        (middle, sha256(body[:middle]).hexdigest()),
        (len(body), sha256(body).hexdigest()),
        (2**31 - 1, whole.prefix_sha),
        (whole.prefix_bytes, "no hash \U0001f3c3"),
        (whole.prefix_bytes - 1, whole.prefix_sha),
    ):
        assert await packed(caller, window, if_prefix_sha=sha, if_prefix_bytes=size) == whole


async def test_a_pack_reads_what_is_new_and_no_block_that_it_knows(
    caller: Caller, other_replica: Caller, monkeypatch: pytest.MonkeyPatch
):
    reading, read = ViewRows.view, []

    async def counted(self: ViewRows, *args: object, **fields: object) -> object:
        shown = await reading(self, *args, **fields)  # type: ignore[arg-type]
        read.append(len(shown.parts) if shown else 0)
        return shown

    monkeypatch.setattr(ViewRows, "view", counted)
    context_id = await said(caller, "", *({"content": f"{n};"} for n in range(20)))
    window = await opened(caller, context_id)
    await packed(caller, window)
    assert read == [20]
    await said(caller, context_id, {"content": "20;"})
    await packed(caller, window)
    await packed(caller, window)
    assert read == [20]  # it wrote the new one itself
    await packed(other_replica, window)
    await said(caller, context_id, {"content": "21;"})
    await packed(other_replica, window)
    assert read == [20, 21]
    assert "21;" in (await packed(caller, window)).messages_json
    assert read == [20, 21, 1]


async def test_messages_that_come_with_the_window_are_those_of_the_log(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    """Field by field, whatever they hold; where there are more of them, or one is large, the log is read."""
    paging, standing = Log.page, WindowRows.snapshot
    logs: list[Log] = []
    following: list[Message] = []

    async def page(self: Log, *args: Any, **fields: Any) -> list[Message] | None:
        logs.append(self)
        return await paging(self, *args, **fields)

    async def standing_of(self: WindowRows, *args: Any, **fields: Any) -> WindowSnapshot | None:
        found = await standing(self, *args, **fields)
        following.extend(found.following if found else [])
        return found

    monkeypatch.setattr(Log, "page", page)
    monkeypatch.setattr(WindowRows, "snapshot", standing_of)
    context_id = await said(caller, "", {"content": "Begin."})
    window = await opened(caller, context_id, 100_000)
    parts = [message_pb2.Part(text='"\u2028\\u0000 🏃'), message_pb2.Part(data_json='{"a": [1e5, null]}')]
    odd = {"content": "où\n\t", "name": "ada", "agent_id": "a", "metadata_json": '{ "x": 1 }', "parts": parts}
    await said(caller, context_id, odd, calls("c", content="I look."), result("c", "]}"))
    await packed(caller, window)
    assert (len(following), logs) == (4, [])

    await said(caller, context_id, {"content": "x" * 40_000})
    assert "x" * 100 in (await packed(caller, window)).messages_json
    await said(caller, context_id, *({"content": f"{n}"} for n in range(5)))
    assert (await packed(caller, window)).last_seq == 10
    assert (len(following), len(logs)) == (4, 2)
    read = await paging(
        *(logs[0], UUID(context_id)), principal=KEYS["plain"], seq_from=1, seq_to=4, count=9, newest_first=False
    )
    assert following == read


async def test_a_block_is_kept_with_the_version_of_its_renderer(
    caller: Caller, stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    context_id = await said(caller, "", {"content": "one"})
    window = await opened(caller, context_id)
    await packed(caller, window)
    monkeypatch.setattr("context_service.packing.store.views.RENDERER", 2)
    await said(caller, context_id, {"content": "two"})
    await packed(caller, window)
    with psycopg.connect(stack.urls.admin) as connection:
        rows = connection.execute(
            "SELECT renderer FROM context.window_block WHERE window_id = %s ORDER BY number", (window.window_id,)
        )
        assert rows.fetchall() == [(1,), (2,)]
