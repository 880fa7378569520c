"""Where vendors' caches of prompts are told that something ends: what is in front of it is in the next pack, too."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from context_service.kernel.rendering import Format, empty
from context_service.packing.pure.body.breakpoints import PLACES_MAX, Breakpoint, breakpoints
from context_service.windows.pure.models import CACHE_TOKENS_MIN, LOOK_BACK_BLOCKS, model
from contextkeep import Pack
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, calls, opened, packed, result, said
from tests.context_service.windows.packing.test_sights import PIECES
from tests.context_service.windows.test_windows import run

POINTERS = st.sampled_from(["", "/system/0", "/messages/0", "/messages/1"])


def at(body: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        body = body[int(name) if isinstance(body, list) else name]
    return body


def in_front(body: Any, pointer: str) -> str:
    """Return what a vendor keeps of a body: all up to a piece."""
    names = [int(one) if one.isdigit() else one for one in pointer.split("/")[1:]]
    cut: Any = orjson.loads(orjson.dumps(body))
    within = cut
    for name in names:
        if isinstance(within, list):
            del within[name + 1 :]
        within = within[name]
    if names[0] not in ("messages", "input", "contents"):  # nothing stands in front of the system's but tools
        cut = {name: cut[name] for name in ("tools", names[0]) if name in cut}
    return orjson.dumps(cut).decode()


@pytest.mark.parametrize("to", Format)
@given(pieces=PIECES)
def test_a_body_knows_where_its_last_piece_is(to: Format, pieces: list[Any]):
    body = empty(to).with_pieces(pieces)
    said = [one for one in pieces if one.role != "system" or not body.shape.system[0]]
    last = said[-1] if said else pieces[-1] if pieces else None
    assert bool(body.pointer) == bool(last)
    if last:
        assert at(orjson.loads(body.json), body.pointer) == orjson.loads(last.json)


@given(st.lists(st.tuples(POINTERS, st.integers(0, 3 * CACHE_TOKENS_MIN)), max_size=4))
def test_what_no_vendor_keeps_is_no_place_but_at_the_end(places_given: list[tuple[str, int]]):
    tokens = 0
    places = []
    for number, (pointer, more) in enumerate(places_given):
        tokens += more
        places.append(Breakpoint(pointer, str(number), tokens))
    kept = breakpoints(places, least_tokens=CACHE_TOKENS_MIN)
    assert all(one.tokens >= CACHE_TOKENS_MIN for one in kept[:-1])
    assert [one.pointer for one in kept[-1:]] == [one.pointer for one in places if one.pointer][-1:]
    assert all(one.pointer != another.pointer for one, another in pairwise(kept))
    assert [one for one in places if one in kept] == kept


@pytest.mark.parametrize("to", FORMATS)
async def test_what_stands_in_front_of_a_place_is_in_the_next_pack_too(
    to: Format, caller: Caller, other_replica: Caller
):
    context_id = await said(caller, "", {"content": "The port is 80."})
    window = await opened(caller, context_id, 9_000, format=FORMATS[to], system_prompt="lorem ipsum " * 600)
    zones: set[str] = set()
    before: windows_pb.PackResponse | None = None
    for start in range(0, 300, 20):
        await said(caller, context_id, *chain.from_iterable(run(range(start, start + 20))))
        pack = await packed(caller if start % 40 else other_replica, window, without_recall=True)
        now = orjson.loads(pack.messages_json)
        kept = pack.breakpoints
        assert 1 <= len(kept) <= 4
        assert kept[0].zone == "system"
        assert kept[-1].zone == "verbatim" and kept[-1].tokens == pack.tokens
        assert [one.tokens for one in kept] == sorted(one.tokens for one in kept)
        if before:
            last = orjson.loads(before.messages_json)
            stays = before.breakpoints if before.epoch == pack.epoch else before.breakpoints[:1]
            for one in stays:
                assert in_front(now, one.pointer) == in_front(last, one.pointer)
        zones |= {one.zone for one in kept}
        before = pack
    assert zones == {"system", "conversation", "state", "verbatim"}


@pytest.mark.parametrize(
    ("zones", "kept"),
    [
        ("system digests state verbatim verbatim", "system state verbatim verbatim"),
        ("system conversation digests state verbatim", "system conversation state verbatim"),
        ("system conversation digests state verbatim verbatim", "system state verbatim verbatim"),
    ],
)
def test_of_too_many_places_those_that_only_folds_need_go(zones: str, kept: str):
    places = [Breakpoint(f"/messages/{n}", zone, 5_000 * (n + 1)) for n, zone in enumerate(zones.split())]
    left = breakpoints(places, least_tokens=CACHE_TOKENS_MIN)
    assert [one.zone for one in left] == kept.split() and len(left) == PLACES_MAX
    assert breakpoints(places[-5:], least_tokens=5_000 * (len(places) - 3)) == places[-4:]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("gpt-5", 1_024),
        ("claude-sonnet-4-5", 1_024),
        ("claude-opus-4-5-20251101", 4_096),
        ("gemini-2.5-pro", 2_048),
        ("gemini-3-pro", 4_096),
        ("nobodys", 1_024),
    ],
)
def test_the_least_that_is_kept_is_the_models(name: str, least: int):
    assert model(name).cache_tokens_min == least


@pytest.mark.parametrize("to", [Format.ANTHROPIC, Format.OPENAI])
@pytest.mark.parametrize("width", [3, 12])
async def test_where_a_step_is_wider_than_a_vendor_looks_back_the_end_of_the_pack_before_is_a_place(
    to: Format, width: int, caller: Caller, other_replica: Caller
):
    """Off where it gains nothing: for narrow steps, and for a vendor that looks back to the beginning."""
    context_id = await said(caller, "", {"content": "lorem ipsum " * 600})
    window = await opened(caller, context_id, 100_000, format=FORMATS[to], system_prompt="lorem ipsum " * 600)
    before = await packed(caller, window)
    for number in range(3):
        ids = [f"c{number}-{one}" for one in range(width)]
        await said(caller, context_id, calls(*ids), *(result(one, f"found {one}") for one in ids))
        pack = await packed((caller, other_replica)[number % 2], window)
        end = before.breakpoints[-1]
        is_wide = 2 * width > LOOK_BACK_BLOCKS.get(to, 2 * width)
        assert ((end.pointer, end.tokens) in [(one.pointer, one.tokens) for one in pack.breakpoints]) == is_wide
        assert len(pack.breakpoints) == (3 if is_wide else 2)
        before = pack


async def test_a_step_that_waits_and_is_cut_is_behind_the_last_place(caller: Caller):
    context_id = await said(caller, "", {"content": "Look."})
    window = await opened(caller, context_id, 3_000, system_prompt="Brief.")
    await said(caller, context_id, calls("a", "b"), result("a", "lorem ipsum " * 4_000))
    pack = await packed(caller, window, without_recall=True)
    assert pack.is_waiting
    last = pack.breakpoints[-1]
    assert last.tokens < pack.tokens
    assert at(orjson.loads(pack.messages_json), last.pointer)["content"] == "Look."


async def test_the_client_marks_anthropics_blocks(caller: Caller):
    """As the vendor's own types want them; what no mark may stand at has none."""
    from anthropic.types import message_create_params  # a sixth of what collecting all tests takes

    context_id = await said(caller, "", *chain.from_iterable(run(range(30))))
    window = await opened(
        caller, context_id, 20_000, format=FORMATS[Format.ANTHROPIC], system_prompt="lorem ipsum " * 600
    )
    pack = Pack.from_proto(await packed(caller, window))
    marked = pack.cached_body
    TypeAdapter(message_create_params.MessageCreateParamsNonStreaming).validate_python(
        {"model": "m", "max_tokens": 1, **marked}
    )
    for one in pack.breakpoints:
        assert at(marked, one.pointer).pop("cache_control") == {"type": "ephemeral"}
    assert len(pack.breakpoints) > 1
    assert marked == pack.body

    window = await opened(caller, context_id, 20_000)
    pack = Pack.from_proto(await packed(caller, window))
    assert pack.cached_body == pack.body
