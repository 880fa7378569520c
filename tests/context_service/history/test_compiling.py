"""What compiling costs is bounded, ends with its call, and is shared by keys."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import uuid

import grpc
import pytest

from context_service.history.pure.limits import DEFAULTS
from context_service.history.pure.mapping_rules import MessageRule, Rules
from context_service.history.pure.mappings import compile_mapping
from context_service.history.rules.compile_pool import THREADS, CompilePool
from context_service.kernel.cel import (
    CelError,
    CompileBudget,
    CompileStopped,
    ExpressionLimits,
    ExpressionTooLarge,
    compile_expression,
)
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.errors import LimitExceeded
from service_runtime.rpc.principal import Principal
from tests import cpu
from tests.conftest import METADATA, Addresses
from tests.context_service.history.test_hostile_mappings import LoopWatch
from tests.errors import raised

VARIABLES = frozenset({"entity"})
LONG = "+".join(["1"] * 2000)  # 3,999 symbols
MAPPING_UNITS_MAX = 7500  # a mapping of ten thousand symbols takes 700 to 1500
# Nine rules of six expressions, each as long as it may be.
SIX = dict.fromkeys(("role", "content", "name"), f"string({LONG})")
SIX |= {"when": f"{LONG} > 0", "parts": f"[string({LONG})]", "metadata": f"{{'a': {LONG}}}"}
HOSTILE = Rules(messages=(MessageRule(**SIX),) * 9)


def test_a_mapping_has_a_budget_for_all_of_its_expressions():
    def run() -> None:
        with pytest.raises(LimitExceeded, match=r"rules\.messages\[0\].*up to 10000 symbols together") as caught:
            compile_mapping(HOSTILE)
        assert (caught.value.metadata["limit"], caught.value.metadata["limit_max"]) == ("symbols", "10000")

    assert cpu.units(run, rounds=1) < MAPPING_UNITS_MAX


def test_the_same_expression_again_is_paid_again():
    budget = CompileBudget(symbols_max=10)
    for _ in range(3):
        compile_expression("1 + 1", variables=VARIABLES, budget=budget)
    with pytest.raises(ExpressionTooLarge) as caught:
        compile_expression("1 + 1", variables=VARIABLES, budget=budget)
    assert (caught.value.limit, caught.value.maximum, caught.value.value) == ("symbols", 10, 11)
    assert (caught.value.line, caught.value.column) == (1, 3)


@pytest.mark.parametrize("unit", ["1+", "[],", "\n1+", "[1].map(x,x)+[1]+", "(((1)))+", "true?1:", "{1:1},"])
def test_compiling_takes_time_linear_in_the_symbols(unit: str):
    """Of each form: six times as many take six times as long; fifteen are for noise, squares would be thirty-six."""

    def source(chars: int) -> str:
        body = unit * (chars // len(unit))
        return f"[{body}1]" if unit.endswith(",") else f"{body}1" if "map" not in unit else f"{body}[1]"

    def run(chars: int) -> None:
        budget = CompileBudget(symbols_max=2 * chars, expression=ExpressionLimits(length_max=chars))
        compile_expression(source(chars - 3), variables=VARIABLES, budget=budget)

    run(2000)
    gc.disable()  # it looks at more the more there is
    try:
        assert cpu.units(lambda: run(12_000), rounds=1) < 15 * cpu.units(lambda: run(2000))
    finally:
        gc.enable()


@pytest.mark.parametrize("unit", [r"\\PL", r"\\pL", r"\\PL*", r"[\\pL\\pN]"])
def test_a_pattern_keeps_no_other_thread_waiting(unit: str):
    """RE2 compiles while it has Python's lock, and takes 0.2 ms for a class of Unicode."""

    def run() -> None:
        with pytest.raises(CelError, match="more than 100 classes"):
            compile_expression(f"'a'.matches('(?i){unit * 300}')", variables=VARIABLES)

    assert cpu.units(run) < 125


def test_patterns_are_paid_as_what_they_take():
    patterns = "||".join(f"entity.a.matches('(x.{{0,200}}){{2}}{number}')" for number in range(100))
    with pytest.raises(ExpressionTooLarge):
        compile_expression(patterns, variables=VARIABLES, budget=CompileBudget(symbols_max=5000))


def test_a_budget_that_is_stopped_stops_its_thread():
    budget = CompileBudget(symbols_max=10**6)
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                compile_expression(LONG, variables=VARIABLES, budget=budget)
        except CompileStopped as stopped:
            outcome.append(stopped)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    budget.stop()
    thread.join(timeout=60)

    assert not thread.is_alive()
    assert len(outcome) == 1


def principal(subject: str) -> Principal:
    return Principal(tenant_id=uuid.UUID(int=1), subject=subject)


async def test_a_cancelled_compilation_ends_with_its_call():
    pool = CompilePool(DEFAULTS)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(budget: CompileBudget) -> None:
        try:
            while True:
                budget.look()
                time.sleep(0.0001)
        finally:
            loop.call_soon_threadsafe(ended.set)

    async def call() -> None:
        async with pool.turn(principal("a")):
            await pool.run(work)

    task = asyncio.create_task(call())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await asyncio.wait_for(ended.wait(), timeout=60)


async def test_a_key_has_one_thread_and_others_are_not_behind_its_queue():
    pool = CompilePool(DEFAULTS)
    order: list[str] = []
    at_work: set[str] = set()
    go_on = asyncio.Event()

    async def call(key: str, number: int) -> None:
        async with pool.turn(principal(key)):
            assert key not in at_work
            at_work.add(key)
            order.append(f"{key}{number}")
            await go_on.wait()
            await asyncio.sleep(0)
            at_work.remove(key)

    calls = [asyncio.create_task(call("hostile", number)) for number in range(20)]
    await asyncio.sleep(0)
    calls += [asyncio.create_task(call(key, 0)) for key in ("a", "b", "c")]
    await asyncio.sleep(0.01)

    assert order == ["hostile0", "a0"]  # THREADS of them
    assert len(order) == THREADS
    go_on.set()
    await asyncio.gather(*calls)
    assert set(order[:5]) >= {"a0", "b0", "c0"}
    assert sorted(order) == sorted([f"hostile{number}" for number in range(20)] + ["a0", "b0", "c0"])


async def test_whoever_is_cancelled_while_it_waits_keeps_nobody_waiting():
    pool = CompilePool(DEFAULTS)
    done: list[int] = []
    go_on = asyncio.Event()

    async def call(number: int) -> None:
        async with pool.turn(principal("a")):
            await go_on.wait()
            done.append(number)

    calls = [asyncio.create_task(call(number)) for number in range(5)]
    await asyncio.sleep(0)
    for cancelled in (1, 2):
        calls[cancelled].cancel()
    await asyncio.sleep(0)
    calls[0].cancel()  # so 3 is let in ...
    await asyncio.sleep(0)
    calls[3].cancel()  # ... and is cancelled at once
    go_on.set()
    await asyncio.wait(calls, timeout=60)

    assert done == [4]


@pytest.mark.timeout(120)
async def test_eight_callers_of_test_mapping_leave_others_the_loop(services: Addresses):
    """Each time that the loop wants to run, it waits a millisecond for a thread that compiles, and not for more."""
    request = pb.TestMappingRequest(nodes=[pb.SampleNode()])
    for _ in range(2):
        request.rules.messages.add(role="'user'", content=f"string({LONG})")
    async with grpc.aio.insecure_channel(services.context) as channel:
        stub = ChatHistoryStub(channel)

        async def attack() -> None:
            while True:
                await stub.TestMapping(request, metadata=METADATA)

        await stub.TestMapping(request, metadata=METADATA)
        attacks = [asyncio.create_task(attack()) for _ in range(8)]
        watch = LoopWatch()
        watching = asyncio.create_task(watch.watch())
        for _ in range(50):
            await stub.ListMappings(pb.ListMappingsRequest(), metadata=METADATA)
        for task in [*attacks, watching]:
            task.cancel()
        await asyncio.wait([*attacks, watching])

        assert cpu.in_units(watch.quantile(1)) < 125
        await _no_thread_compiles()


async def _no_thread_compiles() -> None:
    """Wait until the CPU time of the threads that compile stands still, long before they would be done."""
    now_s = begun_s = _compiling_s()
    before_s = -1.0
    while now_s > before_s:
        await asyncio.sleep(0.1)
        before_s, now_s = now_s, _compiling_s()
    assert cpu.in_units(now_s - begun_s) < 50  # 1; of one that is not stopped, 140 to 300


def _compiling_s() -> float:
    """Return the CPU time of all threads that compile."""
    threads = [thread.ident for thread in threading.enumerate() if thread.name.startswith("compile")]
    assert threads
    return sum(time.clock_gettime(time.pthread_getcpuclockid(thread)) for thread in threads if thread)


async def test_a_mapping_past_its_symbols_is_refused(services: Addresses):
    rules = pb.MappingRules(messages=[pb.MessageRule(role="'user'", content=f"string({LONG})")] * 3)
    async with grpc.aio.insecure_channel(services.context) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ChatHistoryStub(channel).RegisterMapping(
                pb.RegisterMappingRequest(mapping_name="m", rules=rules), metadata=METADATA
            )

    error = raised(caught.value)
    assert (error.reason, error.metadata["limit"], error.metadata["rule"]) == (
        "LIMIT_EXCEEDED",
        "symbols",
        "rules.messages[2].content",
    )
