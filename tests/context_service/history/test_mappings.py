"""Registered mappings: checked now, versioned, the same everywhere within a second."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator

import grpc
import psycopg
import pytest

import context_service.app
from context_service.history.pure.mappings import DEFAULT_NAME, built_in, built_in_names
from context_service.history.pure.node_mapper import NodeMapper, Skipped
from context_service.history.rules import registry
from context_service.kernel.cel import CallBudget
from context_service.settings import Settings
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.errors import (
    ContextKeepError,
    InvalidArgument,
    LimitExceeded,
    MappingNotFound,
)
from service_runtime.rpc.principal import Authenticator
from tests.conftest import KEY, OTHER_KEY, Addresses, Urls
from tests.errors import raised

METADATA: list[tuple[str, str]] = []  # of the test's own tenant
OTHERS: list[tuple[str, str]] = []  # of another one


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas look for changes of mappings ten times a second."""
    monkeypatch.setattr(registry, "POLL_S", 0.1)


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    """Of a test that looks into the database or has two replicas, its own service; all others share one."""
    if {"urls", "replica"} & set(request.fixturenames):
        own, other, services = KEY, OTHER_KEY, request.getfixturevalue("services")
    else:
        own, other, services = map(request.getfixturevalue, ("key", "other_key", "shared_services"))
    METADATA[:], OTHERS[:] = ([("authorization", f"Bearer {key}")] for key in (own, other))
    found: str = services.context
    return found


@pytest.fixture
async def stub(address: str) -> AsyncIterator[ChatHistoryStub]:
    async with grpc.aio.insecure_channel(address) as channel:
        yield ChatHistoryStub(channel)


@pytest.fixture
async def replica(
    services: Addresses, context_settings: Settings, callers: Authenticator
) -> AsyncIterator[ChatHistoryStub]:
    """Another one of the same service."""
    settings = context_settings.model_copy(update={"entity_service_url": services.entity})
    async with (
        context_service.app.running(settings, callers=callers) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield ChatHistoryStub(channel)


def rules(content: str = "entity.data.content", **more: object) -> pb.MappingRules:
    return pb.MappingRules(messages=[pb.MessageRule(role="'user'", content=content)], **more)


async def register(stub: ChatHistoryStub, name: str = "mine", metadata: object = METADATA, **fields: object):
    fields.setdefault("rules", rules())
    return await stub.RegisterMapping(pb.RegisterMappingRequest(mapping_name=name, **fields), metadata=metadata)


async def failure(call: object) -> ContextKeepError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return raised(caught.value)


@pytest.mark.parametrize(
    "too_much",
    [
        rules("entity.name + " * 400 + "''"),
        rules("(" * 60 + "entity.name" + ")" * 60),
        pb.MappingRules(messages=[pb.MessageRule(role="'user'", content="entity.name")] * 33),
        rules(depth_max=101),
        rules(edge_types=["x" * 129]),
        rules(edge_types=["x"] * 1001),
        pb.MappingRules(
            messages=[pb.MessageRule(role="'user'", content="'" + "a" * 4000 + "'", name="'" + "é" * 4000 + "'")] * 30
        ),
    ],
)
async def test_expressions_and_rules_have_limits(stub: ChatHistoryStub, too_much: pb.MappingRules):
    assert type(await failure(register(stub, rules=too_much))) is LimitExceeded


async def test_an_app_has_200_mappings_at_most(stub: ChatHistoryStub, urls: Urls):
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        await register(stub, "mapping-0", app_id="app")
        connection.execute(
            "INSERT INTO context.mapping"
            " SELECT (jsonb_populate_record(m, jsonb_build_object('name', 'mapping-' || i))).*"
            " FROM context.mapping m, generate_series(1, 199) i"
        )

    error = await failure(register(stub, "one-more", app_id="app"))

    assert (error.reason, error.metadata["limit_max"]) == ("LIMIT_EXCEEDED", "200")
    await register(stub, "one-more", app_id="another app")


async def test_a_page_of_large_mappings_ends_before_two_mebibytes(stub: ChatHistoryStub):
    """Or the answer would not fit a message."""
    large = pb.MappingRules(messages=[pb.MessageRule(role="'user'", content="'" + "é" * 4000 + "'")] * 31)
    for number in range(10):
        await register(stub, f"large-{number}", rules=large)

    first = await stub.ListMappings(pb.ListMappingsRequest(), metadata=METADATA)
    assert first.ByteSize() <= 2 * 1024 * 1024
    rest = await stub.ListMappings(pb.ListMappingsRequest(page_token=first.next_page_token), metadata=METADATA)
    names = [mapping.mapping_name for mapping in (*first.mappings, *rest.mappings)]
    assert names == [*(f"large-{number}" for number in range(10)), *built_in_names()]


REPLICA_S = 30.0  # half a second's poll, on a machine that may be slow


async def test_a_change_reaches_another_replica_by_itself(stub: ChatHistoryStub, replica: ChatHistoryStub):
    request = pb.GetMappingRequest(mapping_name="mine")
    await register(stub, rules=rules("'one'"))
    while (await replica.GetMapping(request, metadata=METADATA)).mapping.version != 1:
        pass

    await register(stub, rules=rules("'two'"), replace=True)
    async with asyncio.timeout(REPLICA_S):
        while (await replica.GetMapping(request, metadata=METADATA)).mapping.version != 2:
            await asyncio.sleep(0.01)


async def delete(stub: ChatHistoryStub, name: str = "mine", metadata: object = METADATA, **fields: object):
    return await stub.DeleteMapping(pb.DeleteMappingRequest(mapping_name=name, **fields), metadata=metadata)


async def test_a_deletion_reaches_another_replica_by_itself(stub: ChatHistoryStub, replica: ChatHistoryStub):
    request = pb.GetMappingRequest(mapping_name="mine")
    await register(stub)
    assert (await replica.GetMapping(request, metadata=METADATA)).mapping.version == 1

    await delete(stub)
    async with asyncio.timeout(REPLICA_S):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            while True:
                await replica.GetMapping(request, metadata=METADATA)
                await asyncio.sleep(0.01)

    assert type(raised(caught.value)) is MappingNotFound


async def test_a_mapping_that_no_longer_compiles_is_listed_as_broken(stub: ChatHistoryStub, urls: Urls):
    await register(stub)
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute(
            "UPDATE context.mapping SET rules = jsonb_set(rules, '{messages,0,content}', '\"gone(entity)\"')"
        )
        connection.execute("UPDATE context.mapping_revision SET revision = revision + 1")
    async with asyncio.timeout(REPLICA_S):
        while True:
            listed = await stub.ListMappings(pb.ListMappingsRequest(), metadata=METADATA)
            broken = next(mapping for mapping in listed.mappings if mapping.mapping_name == "mine")
            if broken.error:
                break
            await asyncio.sleep(0.05)
    request = pb.GetChatHistoryRequest(node_id="018f2b5e-0000-7000-8000-000000000000", mapping_name="mine")
    error = await failure(stub.GetChatHistory(request, metadata=METADATA))
    mended = await register(stub, rules=rules("entity.name"), replace=True)

    assert "gone" in broken.error
    assert error.reason == "MAPPING_BROKEN"
    assert mended.mapping.error == ""


async def test_what_was_taken_before_more_was_seen_in_it_goes_on(stub: ChatHistoryStub, urls: Urls):
    """An app registers its rules at every start: a newer service must not keep it from that."""
    bot = pb.MappingRules(messages=[pb.MessageRule(role="'bot'", content="entity.data.content")])
    await register(stub, rules_version=2)
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute("""UPDATE context.mapping SET rules = jsonb_set(rules, '{messages,0,role}', '"''bot''"')""")
        connection.execute("UPDATE context.mapping_revision SET revision = revision + 1")

    for same in (bot, rules("entity.name"), pb.MappingRules(messages=bot.messages, depth_max=1)):
        again = await register(stub, rules=same, rules_version=1)
        assert (again.changed, again.mapping.rules.messages[0].role, again.mapping.error) == (False, "'bot'", "")
    again = await register(stub, rules=bot, rules_version=2)
    assert (again.changed, again.mapping.error) == (False, "")

    other = pb.MappingRules(messages=bot.messages, depth_max=1)
    for fields in ({"replace": True}, {"rules_version": 3}, {"name": "new"}, {"app_id": "app"}):
        error = await failure(register(stub, **{"rules": other, **fields}))
        assert (type(error), error.violations[0].field) == (InvalidArgument, "rules.messages[0].role")


def test_the_default_mapping_is_built_in():
    assert built_in(DEFAULT_NAME) is not None


def test_input_and_output_are_fetched_only_for_rules_that_read_them():
    """They cost a join in each page of the walk."""
    asking = {name for name in built_in_names() if built_in(name).reads("entity", "io")}
    assert asking == {"io_chat"}


def test_what_reads_a_history_goes_with_its_call():
    """Reference counting frees it: the garbage collector of a server seldom looks."""
    mapping = built_in("simple_chat")
    assert mapping is not None
    mapper = NodeMapper(mapping, {}, Skipped(), CallBudget(), strict=False)
    gone = weakref.ref(mapper)

    del mapper

    assert gone() is None
