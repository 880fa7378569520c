"""Health tells the truth, per service name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from contextkeep.errors import Unavailable
from service_runtime.grpc_server import health, server
from service_runtime.grpc_server.interceptors import Border
from service_runtime.rpc.principal import ApiKeys
from service_runtime.settings import ServiceSettings
from service_runtime.telemetry.metrics import Metrics
from tests.conftest import METADATA, Addresses, Urls


async def test_a_started_service_reports_each_of_its_names(services: Addresses):
    async with grpc.aio.insecure_channel(services.entity) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", "liveness", "contextkeep.entity.v1.EntityGraph"):
            async for answer in stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=30):
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    break


async def until(stub: health_pb2_grpc.HealthStub, name: str, status: int) -> None:
    async for answer in stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=30):
        if answer.status == status:
            return


async def test_a_service_is_not_ready_before_the_database_is_migrated(
    urls: Urls,
    entity_settings: entity_service.settings.Settings,
    context_settings: context_service.settings.Settings,
    callers: ApiKeys,
    caplog: pytest.LogCaptureFixture,
):
    """A replica of a new version that starts before `migrate` has ended must get no calls; then it serves by itself."""
    applied = {"entity": entity_service.app.migrations()[-1], "context": context_service.app.migrations()[-1]}
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        for schema, newest in applied.items():
            connection.execute(f"DELETE FROM {schema}.migration WHERE version = %s", (newest.version,))
        connection.execute("ALTER TABLE context.mapping_revision RENAME TO later")
        async with AsyncExitStack() as stack:
            port = await stack.enter_async_context(entity_service.app.running(entity_settings, callers=callers))
            settings = context_settings.model_copy(update={"entity_service_url": f"127.0.0.1:{port}"})
            own_port = await stack.enter_async_context(context_service.app.running(settings, callers=callers))
            stubs = []
            for one in (port, own_port):
                channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{one}"))
                stubs.append(health_pb2_grpc.HealthStub(channel))
            while caplog.text.count("dependency check failed") < 2:
                await asyncio.sleep(0.02)
            for stub in stubs:
                answer = await stub.Check(health_pb2.HealthCheckRequest())
                assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
                await stub.Check(health_pb2.HealthCheckRequest(service="liveness"))

            connection.execute("ALTER TABLE context.later RENAME TO mapping_revision")
            for schema, newest in applied.items():
                connection.execute(
                    f"INSERT INTO {schema}.migration (version, name, sha256) VALUES (%s, %s, %s)",
                    (newest.version, newest.name, newest.sha256),
                )

            for stub in stubs:
                await until(stub, "", health_pb2.HealthCheckResponse.SERVING)
    assert "background work ended" not in caplog.text


@pytest.fixture
async def guarded(
    entity_settings: entity_service.settings.Settings,
    context_settings: context_service.settings.Settings,
    callers: ApiKeys,
) -> AsyncIterator[Addresses]:
    """Both services, whose health and reflection ask for a key."""
    keyed = {"health_without_key": False, "reflection_without_key": False}
    async with AsyncExitStack() as stack:
        settings = entity_settings.model_copy(update=keyed)
        port = await stack.enter_async_context(entity_service.app.running(settings, callers=callers))
        entity = f"127.0.0.1:{port}"
        own = context_settings.model_copy(update={**keyed, "entity_service_url": entity})
        port = await stack.enter_async_context(context_service.app.running(own, callers=callers))
        yield Addresses(context=f"127.0.0.1:{port}", entity=entity)


async def listed(channel: grpc.aio.Channel, metadata: Any = ()) -> list[str]:
    """Return the services that reflection names."""
    requests = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(requests, metadata=metadata)
    async for answer in call:
        return [service.name for service in answer.list_services_response.service]
    return []


async def test_health_and_reflection_answer_everybody_by_default(services: Addresses):
    async with grpc.aio.insecure_channel(services.context) as channel:
        await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service="liveness"))
        assert "contextkeep.context.v1.WorkingMemory" in await listed(channel)


async def test_health_and_reflection_ask_for_a_key_where_they_are_told_to(guarded: Addresses):
    liveness = health_pb2.HealthCheckRequest(service="liveness")
    for address in (guarded.context, guarded.entity):
        async with grpc.aio.insecure_channel(address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            assert (await stub.Check(liveness, metadata=METADATA)).status == health_pb2.HealthCheckResponse.SERVING
            async for answer in stub.Watch(liveness, metadata=METADATA):
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
                break
            assert "grpc.health.v1.Health" in await listed(channel, METADATA)

            for metadata in ((), (("authorization", "Bearer wrong"),)):
                for refused in (
                    stub.Check(liveness, metadata=metadata),
                    anext(aiter(stub.Watch(liveness, metadata=metadata))),
                    listed(channel, metadata),
                ):
                    with pytest.raises(grpc.aio.AioRpcError) as raised:
                        await refused
                    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_service_is_ready_though_the_one_behind_it_tells_its_health_only_to_who_has_a_key(guarded: Addresses):
    async with grpc.aio.insecure_channel(guarded.context) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service="contextkeep.context.v1.ChatHistory")
        async for answer in stub.Watch(request, metadata=METADATA, timeout=30):
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                break


@pytest.mark.parametrize(
    ("environment", "said", "expected"),
    [
        ("development", None, True),
        ("production", None, False),
        ("production", True, True),
        ("development", False, False),
    ],
)
def test_reflection_is_open_in_development_unless_it_is_said(environment: str, said: bool | None, expected: bool):
    settings = entity_service.settings.Settings(
        environment=environment, database_url="postgresql://nowhere", reflection_without_key=said
    )
    assert settings.reflects_without_key is expected


def serving(
    checks_of: Mapping[str, Sequence[server.Check]], *, connections_max: int = 100
) -> AbstractAsyncContextManager[int]:
    """Serve nothing but the health of these names, yielding the port."""
    services = [server.Service(full_name=name, add=lambda _: None, checks=of) for name, of in checks_of.items()]
    metrics = Metrics()
    border = Border(ApiKeys({}), limits=ServiceSettings().call_limits, metrics=metrics)
    options = server.ServerOptions(
        host="127.0.0.1", port=0, drain_s=0, connection_age_s=600, connections_max=connections_max
    )
    return server.running(services, border, options, metrics)


async def test_a_dependency_that_is_silent_holds_up_nobody_elses_health(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "CHECK_TIMEOUT_S", 600.0)
    monkeypatch.setattr(server, "CHECK_INTERVAL_S", 0.01)
    is_away = False

    async def answers() -> None:
        if is_away:
            raise Unavailable("away")

    async def is_silent() -> None:
        await asyncio.Event().wait()

    async with (
        serving({"one": [answers], "other": [is_silent], "both": [answers, is_silent]}) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub = health_pb2_grpc.HealthStub(channel)
        seen = []
        async for answer in stub.Watch(health_pb2.HealthCheckRequest(service="one"), timeout=30):
            seen.append(answer.status)
            is_away = answer.status == health_pb2.HealthCheckResponse.SERVING
            if seen[-2:] == [health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING]:
                break
        for name in ("", "other", "both"):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_a_server_ends_though_a_check_of_it_swallows_a_cancellation():
    """As one does whose answer arrives together with it: with Python 3.11, a check that waits for a connection."""
    asked = asyncio.Event()
    was_cancelled = False

    async def stubborn() -> None:
        nonlocal was_cancelled
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if was_cancelled:
                raise
            was_cancelled = True

    async with asyncio.timeout(30):
        async with serving({"one": [stubborn]}):
            await asked.wait()
    assert was_cancelled


async def test_watches_of_a_connection_and_of_a_process_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """12,000 of them were held for a caller without a key."""
    monkeypatch.setattr(health, "WATCHES_MAX", 5)
    monkeypatch.setattr(health, "WATCHES_OF_CONNECTION_MAX", 3)
    request = health_pb2.HealthCheckRequest(service="one")
    async with serving({"one": []}) as port, AsyncExitStack() as stack:

        async def connect() -> health_pb2_grpc.HealthStub:
            options = [("grpc.use_local_subchannel_pool", 1)]
            channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
            return health_pb2_grpc.HealthStub(await stack.enter_async_context(channel))

        first, second = await connect(), await connect()
        watches = [first.Watch(request) for _ in range(3)]
        for watch in watches:
            await watch.read()
        assert (await refused(first.Watch(request))).endswith("(health_watches_of_connection: at most 3)")
        watches += [second.Watch(request) for _ in range(2)]
        for watch in watches[3:]:
            await watch.read()
        assert (await refused(second.Watch(request))).endswith("(health_watches: at most 5)")
        assert (await first.Check(request)).status == health_pb2.HealthCheckResponse.SERVING

        watches.pop(0).cancel()
        async with asyncio.timeout(20):
            while await (freed := first.Watch(request)).read() is grpc.aio.EOF:
                await asyncio.sleep(0.01)
        assert freed.done() is False


async def test_a_watch_that_is_not_read_keeps_nobody_from_hearing_of_a_change_and_ends_with_the_server(
    monkeypatch: pytest.MonkeyPatch,
):
    """The servicer of grpcio writes to a watch while it holds the lock that the next change waits for."""
    never = asyncio.Event()

    async def write(answer: object) -> None:
        await never.wait()

    servicer = health.Health()
    servicer.set("one", health_pb2.HealthCheckResponse.NOT_SERVING)
    stuck = _Context(write)
    written: list[int] = []

    async def keep(answer: health_pb2.HealthCheckResponse) -> None:
        written.append(answer.status)

    request = health_pb2.HealthCheckRequest(service="one")
    watches = [asyncio.create_task(servicer.Watch(request, context)) for context in (stuck, _Context(keep))]
    for change in (
        lambda: None,
        lambda: servicer.set("one", health_pb2.HealthCheckResponse.SERVING),
        servicer.end,
    ):
        change()
        for _ in range(3):
            await asyncio.sleep(0)
    await asyncio.wait_for(watches[1], 10)
    watches[0].cancel()
    status = health_pb2.HealthCheckResponse
    assert written == [status.NOT_SERVING, status.SERVING, status.NOT_SERVING]


class _Context:
    """Of a watch whose writes are the test's."""

    def __init__(self, write: Callable[[Any], Awaitable[None]]) -> None:
        self.write = write

    def peer(self) -> str:
        return f"ipv4:127.0.0.1:{id(self)}"


async def test_streams_of_reflection_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "REFLECTIONS_OF_CONNECTION_MAX", 1)
    async with serving({"one": []}) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        question = reflection_pb2.ServerReflectionRequest(list_services="")
        first = stub.ServerReflectionInfo()
        await first.write(question)
        assert "one" in [service.name for service in (await first.read()).list_services_response.service]

        assert "reflections_of_connection" in await refused(stub.ServerReflectionInfo(iter([question])))
        first.cancel()


async def refused(call: Any) -> str:
    """Return the text with which a stream is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        async for _ in call:
            pass
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    return str(raised.value.details())
