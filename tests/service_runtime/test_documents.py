"""JSON and texts of callers, checked where they come in."""

from __future__ import annotations

import asyncio
import json
import select
import threading
import time
from contextlib import suppress
from contextvars import ContextVar
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep.errors import InvalidArgument, LimitExceeded
from service_runtime.inputs.documents import (
    BESIDE_BYTES,
    CONTAINERS_MAX,
    NESTING_MAX,
    CallerLeftError,
    beside_the_loop,
    check_wanted,
    parse_json,
    parse_object,
)
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_text
from tests import cpu

MIB = 1024 * 1024
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nul",
        '{"a": NaN}',
        "[Infinity]",
        '{"a": 1,}',
        "{'a': 1}",
        '"\\ud800"',
        '"\\u0000"',
        '{"\\u0000": 1}',
        '["a", {"b": "c\\u0000d"}]',
        "[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1),
        '{"a":' * (NESTING_MAX + 1) + "1" + "}" * (NESTING_MAX + 1),
        '{"a":' + "[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1) + ',"a":"of two the last counts"}',
        "[" * 50_000,
        "],[" * 200,
        '],{"a":[' * 200,
        "[" * (NESTING_MAX + 1) + '"' + '\\"' * 500_000,  # a string without an end is gone through once
        "[1e-" + "9" * 5000 + "]",
    ],
)
def test_what_is_not_safe_json_is_refused_with_the_field(text: str):
    with pytest.raises(InvalidArgument) as caught:
        parse_json("node.data_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)

    assert caught.value.violations[0].field == "node.data_json"


@pytest.mark.parametrize(
    "text",
    [
        "[" * NESTING_MAX + "]" * NESTING_MAX,
        json.dumps("[" * 1000),
        json.dumps({"quoted": '"[' * 200}),
        '"an escaped backslash, then u0000: \\\\u0000"',
        "[" + ",".join(["[]"] * 1000) + "]",
        "[" + ",".join(["[]"] * (CONTAINERS_MAX - 1)) + "]",
        "[" + ",".join([json.dumps('\\\\"[{')] * CONTAINERS_MAX) + "]",  # brackets in texts are none
        json.dumps("\\" + '"[' * CONTAINERS_MAX),
        " 12345678901234567890123 ",
        "[1e-" + "0" * 5000 + "1]",
        json.dumps(['e-999 "e-999" ' * 200, 1e-3]),
    ],
)
def test_what_only_looks_unsafe_is_taken(text: str):
    parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


@given(VALUES)
def test_any_json_without_nul_is_taken_and_means_itself(value: object):
    text = json.dumps(value)
    if "\\u0000" in text:
        return
    assert parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX) == value


@pytest.mark.parametrize("text", ["[]", '"text"', "1", "null"])
def test_an_object_is_not_any_json(text: str):
    with pytest.raises(InvalidArgument, match="must be a JSON object"):
        parse_object("node.data_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


def test_no_text_is_an_empty_object():
    assert parse_object("node.data_json", "", size_bytes_max=MIB, nesting_max=NESTING_MAX) == {}


@pytest.mark.parametrize(
    ("text", "fits"), [('"' + "a" * 8 + '"', True), ('"' + "a" * 9 + '"', False), ('"ääää"', True)]
)
def test_the_limit_is_in_bytes_of_utf8_and_inclusive(text: str, fits: bool):
    if fits:
        parse_json("value_json", text, size_bytes_max=10, nesting_max=NESTING_MAX)
        return
    with pytest.raises(LimitExceeded) as caught:
        parse_json("value_json", text, size_bytes_max=10, nesting_max=NESTING_MAX)
    assert caught.value.metadata == {"limit": "value_json", "limit_max": "10", "value": "11"}


@pytest.mark.parametrize("text", ["[1e-401]", "[1E-401]", '{"a": "be-1", "b": -0.5e-999}'])
def test_a_number_too_small_for_a_double_is_refused(text: str):
    with pytest.raises(InvalidArgument, match="too small"):
        parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


def test_numbers_that_would_be_written_out_beyond_the_limit_are_refused():
    for text in ("[0e" + "9" * 20_000 + "]", "[" + ",".join(["1e300"] * 5000) + "]"):
        with pytest.raises(LimitExceeded):
            parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


@pytest.mark.parametrize("member", ["[]", "{}", '{"":1}', '["\\\\"]', '["\\""]'])
def test_a_document_of_too_many_lists_and_objects_is_refused(member: str):
    """What a parser makes of a MiB of them holds up every caller: at each reading, of whoever reads."""
    text = "[" + ",".join([member] * CONTAINERS_MAX) + "]"
    with pytest.raises(LimitExceeded) as caught:
        parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)
    assert caught.value.metadata == {
        "limit": "value_json",
        "limit_max": str(CONTAINERS_MAX),
        "value": str(CONTAINERS_MAX + 1),
    }


def filled(member: str, *, size_bytes: int = MIB - 16) -> str:
    return "[" + ",".join([member] * (size_bytes // (len(member) + 1))) + "]"


@pytest.mark.parametrize(
    "text",
    [
        filled("[]"),
        filled("{}"),
        filled("[" * 98 + "]" * 98),
        filled('{"":' * 98 + "1" + "}" * 98),
        filled('{"":1}', size_bytes=7 * (CONTAINERS_MAX - 2)),
        filled("[" * 98 + "]" * 98, size_bytes=2 * (CONTAINERS_MAX - 2)),
        filled("1e1"),
        filled("1e-1"),
        filled('""')[:-1] + ",1e5]",
        filled('"\\\\"'),
        filled('"["'),
        filled('"e-1"'),
        filled("0.1234567"),
        filled('""')[:-1] + ',"\\\\u0000"]',
        "{" + ",".join(f'"{n:x}":0' for n in range(100_000)) + "}",
        "[" * (MIB - 16),
        '["' + "\\" * (MIB - 16),
    ],
    ids=lambda text: text[:12],
)
def test_no_document_takes_the_interpreter_for_long(text: str):
    """Other callers wait for it, beside the loop too.

    CPU time in units of `tests.cpu`. A MiB of numbers with exponents takes 120, all else less; one of brackets
    took 600 to 2,200 when they were counted one by one.
    """

    def run() -> None:
        with suppress(InvalidArgument, LimitExceeded):
            parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)

    assert any(cpu.units(run, rounds=1) < 250 for _ in range(9))


async def test_what_is_large_is_done_beside_the_loop_in_the_callers_context():
    """Checks read whose call it is; and what they refuse is raised where it was asked for."""
    said = ContextVar("said", default="nothing")
    said.set("something")
    for size_bytes, beside in ((BESIDE_BYTES, False), (BESIDE_BYTES + 1, True)):
        thread, seen = await beside_the_loop(size_bytes, lambda: (threading.get_ident(), said.get()))
        assert (thread != threading.get_ident()) is beside
        assert seen == "something"
        with pytest.raises(InvalidArgument):
            await beside_the_loop(size_bytes, parse_json, "value_json", "{", size_bytes_max=MIB, nesting_max=1)


@pytest.mark.parametrize("place", range(16 * 1024 - 6, 16 * 1024 + 3))
def test_an_exponent_is_seen_wherever_it_stands(place: int):
    """A long text is searched in pieces."""
    text = "[" + "1," * (place // 2) + " " * (place % 2) + "1e-401" + ",1" * 9000 + "]"
    with pytest.raises(InvalidArgument, match="too small"):
        parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


def test_a_text_is_counted_in_characters_and_holds_no_nul():
    assert check_text("name", "ä" * 512, chars_max=512)
    with pytest.raises(LimitExceeded):
        check_text("name", "ä" * 513, chars_max=512)
    with pytest.raises(InvalidArgument):
        check_text("name", "a\0b", chars_max=512)
    with pytest.raises(InvalidArgument):
        check_text("name", "", chars_max=512, required=True)


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="the system tells no thread's CPU time")
async def test_the_loop_gets_the_interpreter_back_soon_from_work_beside_it():
    """Whoever waits for a socket has given it away, and a call waits a dozen times: Python's own 5 ms would be felt."""
    thread, stopping = [], threading.Event()

    def work() -> None:
        thread.append(threading.get_ident())
        while not stopping.is_set():
            pass

    working = asyncio.create_task(beside_the_loop(BESIDE_BYTES + 1, work))
    while not thread:
        await asyncio.sleep(0.001)
    clock = time.pthread_getcpuclockid(thread[0])
    began_s = time.clock_gettime(clock)
    for _ in range(20):
        select.select([], [], [], 0.0003)
    worked_s = time.clock_gettime(clock) - began_s
    stopping.set()
    await working

    assert worked_s < 0.045  # of CPU, which is 0.02 of turns; of 5 ms each it was 0.06 to 0.1


async def test_large_documents_of_other_tenants_come_between_those_of_one():
    """Fifty of one tenant were before the first of any other."""
    parsed: list[int] = []

    async def parse(tenant: int) -> None:
        current_call.set(Call(call_id="", method="", principal=Principal(tenant_id=UUID(int=tenant), subject="")))
        await beside_the_loop(BESIDE_BYTES + 1, parsed.append, tenant)

    flood = [asyncio.create_task(parse(1)) for _ in range(50)]
    await asyncio.sleep(0)
    await asyncio.gather(parse(2), *flood)

    assert parsed.index(2) <= 2
    assert len(parsed) == 51


async def test_queued_work_of_a_caller_that_left_is_not_begun():
    released, began = threading.Event(), []
    first = asyncio.create_task(beside_the_loop(BESIDE_BYTES + 1, released.wait, 30))
    left = asyncio.create_task(beside_the_loop(BESIDE_BYTES + 1, began.append, "left"))
    stays = asyncio.create_task(beside_the_loop(BESIDE_BYTES + 1, began.append, "stays"))
    await asyncio.sleep(0.01)
    left.cancel()
    await asyncio.sleep(0.01)
    released.set()
    async with asyncio.timeout(30):
        await asyncio.gather(first, stays)

    assert left.cancelled()
    assert began == ["stays"]


async def test_work_under_way_ends_when_its_caller_leaves_whatever_it_catches():
    """Others wait for the thread: without an end to the work they would wait for ever."""
    began, ended = threading.Event(), []

    def work() -> None:
        try:
            while True:
                began.set()
                with suppress(Exception):
                    check_wanted()
        except CallerLeftError:
            ended.append(True)
            raise

    left = asyncio.create_task(beside_the_loop(BESIDE_BYTES + 1, work))
    await asyncio.to_thread(began.wait, 30)
    left.cancel()
    with suppress(asyncio.CancelledError):
        await left
    async with asyncio.timeout(30):
        assert await beside_the_loop(BESIDE_BYTES + 1, lambda: list(ended)) == [True]


async def test_work_of_a_caller_that_waits_is_not_ended():
    check_wanted()  # no thread's work
    assert await beside_the_loop(BESIDE_BYTES + 1, lambda: [check_wanted()]) == [None]
