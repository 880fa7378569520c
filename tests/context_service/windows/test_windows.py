"""Windows over running services: what a model sees of a log, from two replicas, and whoever does what meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

import grpc
import orjson
import pytest

from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.state.task_state import Entry
from context_service.packing.rules.read_log import MESSAGES_AT_ONCE
from context_service.packing.store.views import ViewRows
from context_service.windows.rules.windows import WINDOWS_MAX
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import (
    BudgetTooSmall,
    ContextClosed,
    ContextNotFound,
    Internal,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    PermissionDenied,
    RequestIdReused,
    WindowBehind,
    WindowClosed,
    WindowNotFound,
)
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.context_service.contexts.callers import KEYS, Caller, an_id
from tests.context_service.kernel.test_rendering import MESSAGES, adapter, exhausted
from tests.context_service.windows.calling import FORMATS, calls, opened, packed, result, said
from tests.context_service.windows.conftest import Stack


def run(steps: Iterable[int]) -> list[list[dict[str, Any]]]:
    """Return what an agent writes in each of some steps: a question, two calls and their results, and an answer."""
    return [
        [
            {"content": f"Question {n}?"},
            calls(f"a{n}", f"b{n}", content=f"I look {n}."),
            result(f"b{n}", f"of b{n}: " + "lorem ipsum " * 8),
            result(f"a{n}", f"of a{n}"),
            {"role": "assistant", "content": f"Answer {n}."},
        ]
        for n in steps
    ]


def checked(pack: windows_pb.PackResponse, window: windows_pb.Window, to: Format) -> bytes:
    """Return the messages of a pack: they are as their vendor wants them, and no more than they may be."""
    body = pack.messages_json.encode()
    exhausted(adapter(to).validate_python(orjson.loads(body)[MESSAGES[to]]))
    zones = pack.tokens_by_zone
    assert pack.tokens == sum(value for _, value in zones.ListFields()) <= window.token_limit
    assert TokenCounter(window.tokens_family).count(pack.messages_json) <= window.token_limit
    assert hashlib.sha256(body[: pack.prefix_bytes]).hexdigest() == pack.prefix_sha
    return body


@pytest.mark.parametrize("to", FORMATS)
async def test_a_pack_begins_with_the_one_before_from_any_replica(to: Format, caller: Caller, other_replica: Caller):
    """Between folds, byte for byte; and asked again, it is the same."""
    context_id = await said(caller, "", {"role": "system", "content": "Be brief."})
    tools = '[ {"name": "look"} ]'
    window = await opened(
        caller, context_id, 1200, format=FORMATS[to], system_prompt="You look.", tools_json=tools, goal="Find it."
    )
    before, epochs = await packed(caller, window), set()
    replicas = [other_replica, caller]
    for messages in run(range(12)):
        for message in messages:
            await said(caller, context_id, message)
            replicas.reverse()
            pack, again = [await packed(replica, window) for replica in replicas]
            assert pack == again
            body = checked(pack, window, to)
            assert orjson.loads(body)["tools"] == orjson.loads(tools)
            assert b"You look." in body and b"Find it." in body
            if pack.epoch == before.epoch:
                assert hashlib.sha256(body[: before.prefix_bytes]).hexdigest() == before.prefix_sha
            else:
                assert pack.epoch == before.epoch + 1
                assert pack.omitted.step_count >= before.omitted.step_count
                assert "in excerpts]" in pack.messages_json
            epochs.add(pack.epoch)
            before = pack
    assert 1 < len(epochs) < 15  # a fold leaves out much, and there are few
    assert not before.is_waiting


async def test_a_pack_is_the_same_after_a_restart(stack: Stack, caller: Caller):
    context_id = await said(caller, "", *chain.from_iterable(run(range(20))), calls("last"))
    window = await opened(caller, context_id, 1200)
    before = await packed(caller, window)
    assert before.epoch == 1 and before.is_waiting
    async with (
        running(stack.urls.service, stack.folder, callers=ApiKeys(KEYS)) as started,
        grpc.aio.insecure_channel(started.context) as channel,
    ):
        assert await packed(Caller(channel), window) == before


async def test_a_step_that_waits_goes_on_when_its_results_are_there(caller: Caller):
    context_id = await said(caller, "", {"content": "Look."}, calls("a", "b"))
    window = await opened(caller, context_id)
    waiting = await packed(caller, window)
    assert (waiting.is_waiting, waiting.last_seq, waiting.step_count) == (True, 2, 2)
    await said(caller, context_id, result("b", "second"))  # the first is still missing
    assert (await packed(caller, window)).messages_json == waiting.messages_json
    await said(caller, context_id, result("a", "first"))
    pack = await packed(caller, window)
    assert not pack.is_waiting and pack.epoch == waiting.epoch
    assert pack.messages_json.encode().startswith(waiting.messages_json.encode()[: waiting.prefix_bytes])
    *_, first, second = orjson.loads(pack.messages_json)["messages"]
    assert (first["content"], second["content"]) == ("first", "second")


async def test_a_last_step_that_does_not_fit_is_shown_in_part_and_leaves_room_for_the_next(caller: Caller):
    context_id = await said(caller, "", {"content": "short"}, {"content": "lorem ipsum " * 500})
    window = await opened(caller, context_id, 800)
    pack = await packed(caller, window)
    assert "characters left out: m2/0]" in checked(pack, window, Format.OPENAI).decode()
    assert pack.tokens > 600
    await said(caller, context_id, {"content": "short"})
    more = await packed(caller, window)
    assert (more.epoch, more.step_count, more.omitted.step_count) == (pack.epoch, 2, 1)


async def test_a_prompt_that_does_not_fit_opens_no_window(caller: Caller):
    context_id = (await caller.send()).context_id
    with pytest.raises(BudgetTooSmall) as error:
        await opened(caller, context_id, 500, system_prompt="lorem ipsum " * 500)
    least = int(error.value.metadata["least"])
    window = await opened(caller, context_id, least + 50, system_prompt="lorem ipsum " * 500)
    assert (await packed(caller, window)).tokens <= least + 50


async def test_a_long_log_is_read_in_steps_that_a_kill_interrupts(
    caller: Caller, other_replica: Caller, monkeypatch: pytest.MonkeyPatch
):
    """What a killed one has written stays, and the next one goes on behind it."""
    context_id = await said(caller, "", *chain.from_iterable(run(range(300))))
    whole, window = await opened(caller, context_id, 100_000), await opened(caller, context_id, 100_000)
    expected = await packed(caller, whole)

    adding, written = ViewRows.add, []

    async def dying(self: ViewRows, door: Any, window: Any, blocks: Any, **fields: Any) -> bool:
        written.append(sum(len(one.pieces) for one in blocks))
        if len(written) == 3:  # what is written last fails: nothing of the third stays
            fields |= {"entries": [Entry(section="value", key="", text="", value="", ref="", seq=1)], "source": None}
        return await adding(self, door, window, blocks, **fields)

    monkeypatch.setattr(ViewRows, "add", dying)
    with pytest.raises(Internal):
        await packed(caller, window)
    reached = (await caller.call("GetWindow", window_id=window.window_id)).window
    assert 0 < reached.reached_seq <= 2 * MESSAGES_AT_ONCE
    pack = await packed(other_replica, window)
    assert pack == expected
    assert max(written) <= MESSAGES_AT_ONCE < sum(written)


async def test_a_call_without_time_for_all_of_a_log_says_how_far_it_came_and_the_next_goes_on(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    context_id = await said(caller, "", *chain.from_iterable(run(range(200))))
    whole, window = await opened(caller, context_id, 2_000), await opened(caller, context_id, 2_000)
    expected = await packed(caller, whole)
    reached = []
    with monkeypatch.context() as patch:
        patch.setattr("context_service.packing.rules.catch_up.READING_S_MAX", 60.0)  # as if no call had the time
        while True:
            try:
                pack = await packed(caller, window)
                break
            except WindowBehind as error:
                assert error.metadata["last_seq"] == "1000"
                reached.append(int(error.metadata["reached_seq"]))
                seen = (await caller.call("GetWindow", window_id=window.window_id)).window
                assert seen.reached_seq == reached[-1]
    assert len(reached) > 1 and reached == sorted(set(reached))
    assert pack == expected


async def test_two_models_see_one_context_each_in_its_way(caller: Caller):
    context_id = await said(caller, "", *chain.from_iterable(run(range(20))))
    large = await opened(caller, context_id, 50_000, format=FORMATS[Format.ANTHROPIC])
    small = await opened(caller, context_id, 900, format=FORMATS[Format.GEMINI])
    of_large, of_small = await packed(caller, large), await packed(caller, small)
    checked(of_large, large, Format.ANTHROPIC)
    checked(of_small, small, Format.GEMINI)
    assert (of_large.omitted.step_count, of_large.epoch) == (0, 0)
    assert of_small.omitted.step_count > 0
    assert of_large.step_count == of_small.step_count + of_small.omitted.step_count
    assert "Answer 0." in of_large.messages_json and "Answer 0." not in of_small.messages_json
    known = await caller.call("OpenWindow", context_id=context_id, model="claude-sonnet-4-5")
    assert (known.window.tokens_family, known.window.format) == ("claude", FORMATS[Format.ANTHROPIC])
    assert (known.window.context_tokens, known.window.token_limit) == (200_000, 160_000)
    listed = (await caller.call("ListWindows", context_id=context_id)).windows
    assert [one.window_id for one in listed] == [known.window.window_id, small.window_id, large.window_id]


@pytest.mark.parametrize("of", ["a step", "a step that waits", "the last message"])
async def test_a_retracted_message_is_in_no_later_pack(of: str, caller: Caller):
    asked = [{"content": "the secret", "message_id": "m"}] if of == "a step" else []
    context_id = await said(caller, "", *asked, {"content": "after it"})
    if of == "a step that waits":
        await said(caller, context_id, {**calls("c", content="the secret"), "message_id": "m"})
    elif of == "the last message":
        await said(caller, context_id, calls("c"), {"content": "the secret", "message_id": "m"})
    window = await opened(caller, context_id)
    before = await packed(caller, window)
    assert "the secret" in before.messages_json
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m"])
    pack = await packed(caller, window)
    assert "the secret" not in pack.messages_json and "after it" in pack.messages_json
    assert pack.epoch == before.epoch + 1
    assert await packed(caller, window) == pack


async def test_a_context_that_is_closed_is_packed_and_gets_no_window(caller: Caller):
    context_id = (await caller.send("the end")).context_id
    window = await opened(caller, context_id)
    await caller.call("CloseContext", context_id=context_id)
    assert "the end" in (await packed(caller, window)).messages_json
    with pytest.raises(ContextClosed):
        await opened(caller, context_id)


async def test_a_closed_window_packs_no_more_and_keeps_no_prompt(caller: Caller):
    context_id, request_id = (await caller.send()).context_id, an_id()
    window = await opened(caller, context_id, system_prompt="prompt", tools_json="[]", goal="goal")
    await packed(caller, window)
    closed = [
        (await caller.call("CloseWindow", window_id=window.window_id, request_id=request_id)).window for _ in range(2)
    ]
    closed.append((await caller.call("CloseWindow", window_id=window.window_id)).window)
    assert closed[0] == closed[1] == closed[2]
    assert closed[0].is_closed
    assert (closed[0].system_prompt, closed[0].tools_json, closed[0].goal) == ("", "", "")
    with pytest.raises(WindowClosed):
        await packed(caller, window)
    with pytest.raises(RequestIdReused):
        await caller.call("CloseWindow", window_id=an_id(), request_id=request_id)


async def test_a_context_has_no_more_windows_than_it_may(caller: Caller, other_replica: Caller):
    context_id = (await caller.send()).context_id

    async def trying(replica: Caller) -> windows_pb.Window | None:
        try:
            return await opened(replica, context_id)
        except LimitExceeded as error:
            assert error.metadata == {"limit": "windows", "limit_max": "16", "value": "17"}
            return None

    made = await asyncio.gather(*(trying(replica) for replica in (caller, other_replica) * WINDOWS_MAX))
    there = [one for one in made if one]
    assert len(there) == WINDOWS_MAX
    await caller.call("CloseWindow", window_id=there[0].window_id)
    assert await trying(caller)


async def test_windows_are_listed_in_pages_newest_first(caller: Caller):
    context_id = (await caller.send()).context_id
    made = [(await opened(caller, context_id, system_prompt="prompt", goal="goal")).window_id for _ in range(5)]
    found, token = [], ""
    while True:
        page = await caller.call("ListWindows", context_id=context_id, page_size=2, page_token=token)
        found += page.windows
        if not (token := page.next_page_token):
            break
    assert [one.window_id for one in found] == made[::-1]
    assert {(one.system_prompt, one.goal) for one in found} == {("", "goal")}
    another = (await caller.send()).context_id
    page = await caller.call("ListWindows", context_id=context_id, page_size=2)
    for token, asked in ((page.next_page_token, another), ("no token", context_id)):
        with pytest.raises(InvalidPageToken):
            await caller.call("ListWindows", context_id=asked, page_token=token)


async def test_a_window_is_seen_by_who_sees_its_context(caller: Caller):
    context_id = (await caller.of("ada").send("of ada")).context_id
    window = await opened(caller.of("ada"), context_id)
    assert window.owner_user_id == "ada"
    for key in ("bob", "plain", "other", "app", "graph"):
        for name, field, value, error in (
            ("Pack", "window_id", window.window_id, WindowNotFound),
            ("GetWindow", "window_id", window.window_id, WindowNotFound),
            ("CloseWindow", "window_id", window.window_id, WindowNotFound),
            ("ListWindows", "context_id", context_id, ContextNotFound),
        ):
            with pytest.raises(error):
                await caller.of(key).call(name, **{field: value})
        with pytest.raises(ContextNotFound):
            await opened(caller.of(key), context_id)
    with pytest.raises(PermissionDenied):
        await packed(caller, window, subject_user_id="ada")
    for_her = await packed(caller.of("runtime"), window, subject_user_id="ada")
    assert for_her == await packed(caller.of("ada"), window)
    with pytest.raises(WindowNotFound):
        await packed(caller.of("runtime"), window, subject_user_id="bob")
    # An administrator finds all, and neither writes what is a user's nor reads what its windows show of it.
    assert (await caller.of("admin").call("GetWindow", window_id=window.window_id)).window.context_id == context_id
    assert len((await caller.of("admin").call("ListWindows", context_id=context_id)).windows) == 1
    await caller.of("ada").call("Pin", window_id=window.window_id, text="of ada")
    told: dict[str, dict[str, Any]] = {
        "Pack": {},
        "Expand": {"ref": "m1"},
        "SearchWindow": {"query": "ada"},
        "ExplainPack": {},
        "GetLineage": {},
        "GetState": {},
        "WindowStats": {},
        "EstimateCost": {"steps": 1},
    }
    for name, fields in told.items():
        with pytest.raises(WindowNotFound):
            await caller.of("admin").call(name, window_id=window.window_id, **fields)
        await caller.of("ada").call(name, window_id=window.window_id, **fields)


async def test_two_replicas_pack_while_others_write(caller: Caller, other_replica: Caller):
    """Each message is in the pack once, in the order of the log, whoever has written its block."""
    context_id = (await caller.send("0;")).context_id
    window = await opened(caller, context_id, 100_000)
    done = asyncio.Event()

    async def write() -> None:
        for n in range(1, 60):
            await caller.send(f"{n};", context_id)
        done.set()

    async def pack(replica: Caller) -> list[windows_pb.PackResponse]:
        made = []
        while not done.is_set():
            made.append(await packed(replica, window))
        return made

    _, *made = await asyncio.gather(write(), *(pack(replica) for replica in (caller, other_replica) * 2))
    packs = sorted(chain.from_iterable(made), key=lambda one: one.last_seq)
    assert len({pack.last_seq for pack in packs}) > 5
    for before, after in pairwise(packs):
        assert after.messages_json.startswith(before.messages_json.encode()[: before.prefix_bytes].decode())
    last = await packed(other_replica, window)
    assert [one["content"] for one in orjson.loads(last.messages_json)["messages"]] == [f"{n};" for n in range(60)]
    assert last.epoch == 0


@pytest.mark.parametrize("to", FORMATS)
async def test_a_log_that_is_out_of_order_is_packed_as_the_vendor_wants_it(to: Format, caller: Caller):
    """Calls without results, results without calls, ids twice, one role again and again."""
    context_id = await said(
        caller,
        "",
        result("nobody", "of nobody"),
        calls("a", "a"),
        {"content": "hurry 🏃 \u202e\x07"},
        result("a", "of a"),
        result("a", "of the other a"),
        result("a", "of a third"),
        calls("b"),
        calls("b", content="again"),
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "system", "content": "new rules"},
        {"role": "tool", "content": "a tool that says what it found"},
        calls("never"),
        {"content": "終わり"},
    )
    window = await opened(caller, context_id, format=FORMATS[to])
    pack = await packed(caller, window)
    body = checked(pack, window, to).decode()
    assert not pack.is_waiting
    shown = orjson.dumps(orjson.loads(body)).decode()
    for text in ("of nobody", "hurry", "of the other a", "of a third", "again", "two", "new rules", "found", "終わり"):
        assert text in shown
    await said(caller, context_id, result("never", "late after all"))
    late = await packed(caller, window)
    assert "late after all" in late.messages_json and late.epoch == pack.epoch
    assert checked(late, window, to).startswith(body.encode()[: pack.prefix_bytes])


async def test_two_thousand_messages_of_one_character_are_packed(caller: Caller):
    context_id = await said(caller, "", *({"content": "x"} for _ in range(2_000)))
    window = await opened(caller, context_id, 2_000)
    pack = await packed(caller, window)
    checked(pack, window, Format.OPENAI)
    assert pack.step_count + pack.omitted.step_count == pack.last_seq == 2_000
    assert pack.epoch < 2_000 / MESSAGES_AT_ONCE + 1


async def test_a_mebibyte_in_one_line_is_counted_and_cut(caller: Caller):
    context_id = await said(caller, "", {"content": "x" * 2**20}, {"content": "behind"})
    window = await opened(caller, context_id, 2_000)
    pack = await packed(caller, window)
    checked(pack, window, Format.OPENAI)
    assert (pack.step_count, pack.omitted.step_count) == (1, 1) and "tokens in all: m1]" in pack.messages_json


async def test_half_a_character_is_in_no_log_and_a_whole_one_comes_back(caller: Caller):
    """Postgres and vendors take none: in a text protobuf refuses it, in a document its message is refused whole."""
    context_id = await said(caller, "", calls("c"))
    window = await opened(caller, context_id)
    half = message_pb2.ToolResult(tool_call_id="c", content_json='"a \\ud83d b"')
    with pytest.raises(InvalidArgument) as error:
        await said(caller, context_id, {"role": "tool", "parts": [message_pb2.Part(tool_result=half)]})
    assert error.value.violations[0].field.endswith("content_json")
    for method, request in (
        ("Contexts/AppendMessages", pb.AppendMessagesRequest(messages=[message_pb2.MessageInput(content="???")])),
        ("Windows/Pin", windows_pb.PinRequest(window_id=window.window_id, text="???")),
        ("Windows/SearchWindow", windows_pb.SearchWindowRequest(window_id=window.window_id, query="???")),
    ):
        sent = request.SerializeToString().replace(b"???", b"\xed\xa0\xbd")
        call = caller.channel.unary_unary(f"/contextkeep.context.v1.{method}", request_serializer=bytes)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(sent, metadata=caller.metadata)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    whole = message_pb2.ToolResult(tool_call_id="c", content_json='"a \\ud83d\\ude02 b"')
    await said(caller, context_id, {"role": "tool", "parts": [message_pb2.Part(tool_result=whole)]})
    pack = await packed(caller, window)
    assert "a 😂 b" in checked(pack, window, Format.OPENAI).decode()


async def test_many_messages_behind_a_call_that_is_never_answered_are_read(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    """A step does not wait for ever: what is read again at its beginning is bounded."""
    monkeypatch.setattr("context_service.packing.pure.steps.step.WAITED_MESSAGES_MAX", 300)
    context_id = await said(caller, "", calls("never"), *({"content": f"{n};"} for n in range(1, 1200)))
    window = await opened(caller, context_id, 100_000)
    pack = await packed(caller, window)
    assert pack.step_count == 1200 and not pack.is_waiting
