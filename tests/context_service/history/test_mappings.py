"""Registered mappings: checked now, versioned, the same everywhere within a second."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from collections.abc import AsyncIterator

import grpc
import psycopg
import pytest

import context_service.app
from context_service.history.pure.mappings import DEFAULT_NAME, built_in, built_in_names
from context_service.history.pure.node_mapper import NodeMapper, Skipped
from context_service.kernel.cel import CallBudget
from context_service.settings import Settings
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.errors import (
    ContextKeepError,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    MappingBuiltIn,
    MappingExists,
    MappingNotFound,
)
from service_runtime.auth import Authenticator
from tests.conftest import KEY, OTHER_KEY, Addresses, Urls
from tests.errors import raised

METADATA: list[tuple[str, str]] = []  # of the test's own tenant
OTHERS: list[tuple[str, str]] = []  # of another one


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


async def test_what_replaced_rules_without_a_version_survives_the_next_start_of_the_app(stub: ChatHistoryStub):
    await register(stub, rules_version=3)
    other = rules("'by the operator'")

    replaced = await register(stub, rules=other, replace=True)
    started = await register(stub, rules_version=3)

    assert (replaced.changed, replaced.mapping.rules_version) == (True, 4)
    assert (started.changed, started.mapping.version) == (False, replaced.mapping.version)
    assert (await register(stub, rules_version=5)).changed


async def test_the_same_version_with_other_rules_is_refused(stub: ChatHistoryStub):
    await register(stub, rules_version=1)

    error = await failure(register(stub, rules=rules("entity.name"), rules_version=1))

    assert (error.reason, error.metadata["rules_version"]) == ("MAPPING_EXISTS", "1")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (pb.MappingRules(), "rules.messages"),
        (pb.MappingRules(messages=[pb.MessageRule(content="'a'")]), "rules.messages[0].role"),
        (pb.MappingRules(messages=[pb.MessageRule(role="'user'")]), "rules.messages[0].content"),
        (rules(content_field="content", role_field="role"), "rules.messages"),
        (pb.MappingRules(content_field="content"), "rules.role_field"),
        (pb.MappingRules(role_field="role"), "rules.content_field"),
        (pb.MappingRules(role_field="ro le", content_field="content"), "rules.role_field"),
        (rules(direction="sideways"), "rules.direction"),
        (rules(order="upwards"), "rules.order"),
        (rules(ordering="random"), "rules.ordering"),
        (rules(depth_max=-1), "rules.depth_max"),
        (rules(order_by="a", order_field="b"), "rules.order_field"),
        (rules(order_by="a", ordering="timestamp_asc"), "rules.ordering"),
        (rules(filter="'not a bool'"), "rules.filter"),
        (rules(filter="item == 1"), "rules.filter"),
        (rules(edge_types=[""]), "rules.edge_types[0]"),
        (rules(entity_types=["a\0"]), "rules.entity_types[0]"),
        (rules("'a\0'"), "rules"),
    ],
)
async def test_rules_without_a_meaning_are_refused_with_the_field(
    stub: ChatHistoryStub, wrong: pb.MappingRules, field: str
):
    error = await failure(register(stub, rules=wrong))

    assert (error.reason, error.violations[0].field) == ("INVALID_ARGUMENT", field)


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


@pytest.mark.parametrize("name", ["", "a\0b", "n" * 129])
async def test_a_name_must_be_one(stub: ChatHistoryStub, name: str):
    assert (await failure(register(stub, name))).reason in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED")


async def test_a_name_that_cannot_be_one_is_refused_wherever_it_is_looked_for(stub: ChatHistoryStub):
    for field in ("app_id", "mapping_name"):
        for request, call in (
            (pb.GetMappingRequest(**{field: "a\0"}), stub.GetMapping),
            (pb.GetChatHistoryRequest(node_id=str(uuid.uuid4()), **{field: "a\0"}), stub.GetChatHistory),
        ):
            error = await failure(call(request, metadata=METADATA))
            assert (type(error), [violation.field for violation in error.violations]) == (InvalidArgument, [field])
    assert type(await failure(stub.ListMappings(pb.ListMappingsRequest(app_id="a\0"), metadata=METADATA))) is (
        InvalidArgument
    )


async def test_the_names_of_built_in_mappings_cannot_be_registered(stub: ChatHistoryStub):
    for name in built_in_names():
        assert type(await failure(register(stub, name))) is MappingExists


async def test_a_list_follows_its_pages_and_ends_with_the_built_in_ones(stub: ChatHistoryStub):
    for app_id, name in [("", "b"), ("app", "a"), ("app", "c"), ("z", "a")]:
        await register(stub, name, app_id=app_id)

    for page_size in (1, 2, 3, 100):
        seen, token = [], ""
        while True:
            request = pb.ListMappingsRequest(page_size=page_size, page_token=token)
            answer = await stub.ListMappings(request, metadata=METADATA)
            seen += [(mapping.app_id, mapping.mapping_name, mapping.built_in) for mapping in answer.mappings]
            token = answer.next_page_token
            if not token:
                break
        assert seen == [
            ("", "b", False),
            ("app", "a", False),
            ("app", "c", False),
            ("z", "a", False),
            *(("", name, True) for name in built_in_names()),
        ]

    only = await stub.ListMappings(pb.ListMappingsRequest(app_id="app"), metadata=METADATA)
    assert [mapping.mapping_name for mapping in only.mappings] == ["a", "c"]


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


async def test_a_page_token_of_another_query_is_refused(stub: ChatHistoryStub):
    for name in ("a", "b"):
        await register(stub, name)
    first = await stub.ListMappings(pb.ListMappingsRequest(page_size=1), metadata=METADATA)

    for request, metadata in [
        (pb.ListMappingsRequest(page_token=first.next_page_token, app_id="app"), METADATA),
        (pb.ListMappingsRequest(page_token=first.next_page_token), OTHERS),
        (pb.ListMappingsRequest(page_token="nonsense"), METADATA),
    ]:
        assert type(await failure(stub.ListMappings(request, metadata=metadata))) is InvalidPageToken


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


async def test_a_deleted_mapping_is_answered_as_it_was_and_is_gone_from_its_scope_only(stub: ChatHistoryStub):
    await register(stub, rules=rules("'shared'"))
    registered = await register(stub, app_id="app")

    deleted = await delete(stub, app_id="app")

    assert deleted.mapping == registered.mapping
    left = await stub.GetMapping(pb.GetMappingRequest(app_id="app", mapping_name="mine"), metadata=METADATA)
    assert left.mapping.app_id == ""  # what the name means now
    error = await failure(delete(stub, app_id="app"))
    assert (type(error), error.metadata["apps"]) == (MappingNotFound, "")
    assert (await register(stub, app_id="app")).mapping.version == 1


async def test_what_is_built_in_cannot_be_deleted(stub: ChatHistoryStub):
    for name in built_in_names():
        assert type(await failure(delete(stub, name))) is MappingBuiltIn


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"name": ""}, "mapping_name"), ({"name": "a\0"}, "mapping_name"), ({"app_id": "a\0"}, "app_id")],
)
async def test_what_cannot_be_a_name_cannot_be_deleted(stub: ChatHistoryStub, fields: dict[str, str], field: str):
    error = await failure(delete(stub, **fields))

    assert [violation.field for violation in error.violations] == [field]


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
