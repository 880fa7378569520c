"""Bytes that are held for callers: counted exactly, bounded three times, and given back however a call ends."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2  # noqa: F401 - its descriptors say which scope the RPC needs
from contextkeep.errors import HeldBytesExceeded, InvalidArgument
from service_runtime.grpc_server.interceptors import Border
from service_runtime.rpc import held_bytes
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.held_bytes import CallBytes, HeldBytes, MemoryLimits
from service_runtime.rpc.principal import Principal
from service_runtime.settings import ServiceSettings
from service_runtime.telemetry.metrics import Metrics
from tests.conftest import PRINCIPAL
from tests.errors import raised

KIB, MIB = 1024, 1024 * 1024
SHARES = Shares(of_tenant=0.75, of_key=0.5)
METHOD = "/contextkeep.entity.v1.EntityGraph/GetNode"


def ledger(held_bytes_max: int) -> HeldBytes:
    return HeldBytes(MemoryLimits(process_bytes_max=1 << 40, held_bytes_max=held_bytes_max, shares=SHARES))


def principal(tenant: int, key: int) -> Principal:
    return replace(PRINCIPAL, tenant_id=uuid.UUID(int=tenant), subject=str(key))


@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3), st.integers(0, 700)), max_size=60)
)
def test_no_sequence_of_charges_passes_a_limit_and_all_is_given_back(steps: list[tuple[int, int, int, int]]):
    """The sum of a key, of a tenant and of the process is what their charges say, and never above its limit."""
    books = ledger(1000)
    held: dict[tuple[int, int, int], CallBytes] = {}
    for tenant, key, number, size in steps:
        one = held.setdefault((tenant, key, number), books.for_caller(principal(tenant, key)))
        before = one.size_bytes
        try:
            one.set(size)
        except HeldBytesExceeded as error:
            assert one.size_bytes == before < size
            assert int(error.metadata["value"]) > int(error.metadata["limit_max"])
            assert error.retry_after_s
        by_key = {(t, k): sum(h.size_bytes for (x, y, _), h in held.items() if (x, y) == (t, k)) for t, k, _ in held}
        by_tenant = {t: sum(h.size_bytes for (x, _, _), h in held.items() if x == t) for t, _, _ in held}
        assert max(by_key.values()) <= 500
        assert max(by_tenant.values()) <= 750
        assert books.held == sum(by_tenant.values()) <= 1000
    for one in held.values():
        one.release()
        one.release()
    assert books.held == 0
    assert not books._of_key
    assert not books._of_tenant


@pytest.mark.parametrize(
    ("held", "limit", "limit_max"),
    [
        ([(1, 1)] * 6, "held_bytes_of_key", 500),
        ([(1, 1)] * 5 + [(1, 2)] * 3, "held_bytes_of_tenant", 750),
        ([(1, 1)] * 5 + [(2, 1)] * 5 + [(3, 1)], "held_bytes", 1000),
    ],
)
def test_the_error_names_the_limit_that_was_passed(held: list[tuple[int, int]], limit: str, limit_max: int):
    books = ledger(1000)
    charges = [books.for_caller(principal(*one)) for one in held]
    with pytest.raises(HeldBytesExceeded) as refused:
        for one in charges:
            one.set(100)
    assert refused.value.metadata["limit"] == limit
    assert refused.value.metadata["limit_max"] == str(limit_max)


async def test_large_charges_are_refused_while_the_process_has_more_memory_than_it_may(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(held_bytes, "_WATCH_S", 0.001)
    books = HeldBytes(MemoryLimits(process_bytes_max=MIB, held_bytes_max=100 * MIB, shares=SHARES))
    watching = asyncio.create_task(books.keep_watching())
    try:
        async with asyncio.timeout(10):
            while not books.is_short:
                await asyncio.sleep(0.001)
    finally:
        watching.cancel()
    one = books.for_caller(principal(1, 1))
    one.set(10 * KIB)  # ordinary calls go on
    with pytest.raises(HeldBytesExceeded) as refused:
        one.set(MIB)
    assert refused.value.metadata["limit"] == "memory_bytes"


def test_a_process_leaves_room_for_itself_for_work_and_for_parsers():
    limits = held_bytes.memory_limits(4096 * MIB, SHARES, has_windows=True)
    together = limits.held_bytes_max + limits.parsers_bytes_max + limits.kept_bytes_max + held_bytes.memory_bytes()
    assert together <= 4096 * MIB * (1 - held_bytes.WORK) + MIB
    small = held_bytes.memory_limits(128 * MIB, SHARES, has_windows=True)
    assert small.held_bytes_max >= 128 * MIB * held_bytes.HELD_MIN


class _Message:
    """A request, read as a message of protobuf is, and counted while it lives."""

    alive = 0

    def __init__(self) -> None:
        type(self).alive += 1
        self.data = b""

    def __del__(self) -> None:
        type(self).alive -= 1

    @classmethod
    def FromString(cls, data: bytes) -> _Message:
        raise AssertionError("the border reads requests itself")

    def MergeFromString(self, data: bytes) -> None:
        self.data = data


class _Anyone:
    async def authenticate(self, metadata: object) -> Principal:
        return PRINCIPAL


@asynccontextmanager
async def serving(behaviour: Any, books: HeldBytes) -> AsyncIterator[grpc.aio.Channel]:
    """Serve a unary RPC inside a border; answers are bytes."""
    border = Border(_Anyone(), limits=ServiceSettings().call_limits, metrics=Metrics(), held=books)
    server = grpc.aio.server(interceptors=[border])
    handler = grpc.unary_unary_rpc_method_handler(behaviour, _Message.FromString, bytes)
    _, service, name = METHOD.split("/")
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {name: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(0)


async def until(books: HeldBytes, held: int) -> None:
    async with asyncio.timeout(10):
        while books.held != held:
            await asyncio.sleep(0.005)


async def test_whatever_ends_a_call_gives_its_bytes_back():
    begun, books = asyncio.Event(), ledger(100 * MIB)

    async def behaviour(request: _Message, context: object) -> bytes:
        begun.set()
        assert books.held > 2 * len(request.data)
        if request.data.startswith(b"wait"):
            await asyncio.sleep(60)
        if request.data.startswith(b"refuse"):
            raise InvalidArgument("no", field="request")
        if request.data.startswith(b"break"):
            raise RuntimeError("a fault of ours")
        return request.data

    async with asyncio.timeout(30), serving(behaviour, books) as channel:
        call = channel.unary_unary(METHOD)
        for request in (b"answer", b"refuse", b"break"):
            with suppress(grpc.aio.AioRpcError):
                await call(request * 100)
            await until(books, 0)
        begun.clear()
        waiting = call(b"wait" * 100)
        await begun.wait()
        waiting.cancel()
        await until(books, 0)
        with pytest.raises(grpc.aio.AioRpcError):
            await call(b"wait" * 100, timeout=0.1)
        await until(books, 0)


async def test_an_answer_that_cannot_be_held_is_refused_with_the_limit():
    books = ledger(1 * MIB)

    async def behaviour(request: _Message, context: object) -> bytes:
        return b"x" * int(request.data)

    async with asyncio.timeout(30), serving(behaviour, books) as channel:
        call = channel.unary_unary(METHOD)
        assert len(await call(b"200000")) == 200_000
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(b"300000")
        error = raised(refused.value)
        assert isinstance(error, HeldBytesExceeded)
        assert error.metadata["limit"] == "held_bytes_of_key"
        assert error.metadata["limit_max"] == str(MIB // 2)
        await until(books, 0)


async def test_a_refused_call_leaves_no_message_to_the_garbage_collector():
    """An error that is told holds the frames of the call; in a cycle, they would keep megabytes until a collection."""

    async def behaviour(request: _Message, context: object) -> bytes:
        raise InvalidArgument("no", field="request")

    async with asyncio.timeout(30), serving(behaviour, ledger(100 * MIB)) as channel:
        call = channel.unary_unary(METHOD)
        gc.collect()
        gc.disable()
        try:
            before = _Message.alive
            for _ in range(10):
                with pytest.raises(grpc.aio.AioRpcError):
                    await call(b"x" * 1000)
            assert _Message.alive - before <= 1  # the last one may not be over yet
        finally:
            gc.enable()
