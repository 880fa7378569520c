"""Mappings from files: read when the service starts, for all tenants, beside what they register."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path

import grpc
import pytest

import context_service.app
from context_service.history.pure.limits import DEFAULTS
from context_service.history.pure.mapping_rules import MessageRule, Rules
from context_service.history.pure.mappings import built_in_names
from context_service.history.rules.mapping_files import load
from context_service.settings import Settings
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.errors import ContextKeepError, InvalidArgument, LimitExceeded, MappingBuiltIn, MappingNotFound
from service_runtime.rpc.principal import Authenticator
from tests.conftest import METADATA, OTHERS
from tests.errors import refused

DOCS = Path(__file__).parents[3] / "docs" / "mappings.md"
RULES = "{role_field: role, content_field: text}"
SHARED = "mappings: {said: {role_field: role, content_field: text}}"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return folder


def test_the_file_of_the_docs_is_one(tmp_path: Path):
    (text,) = re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)

    assert list(load(write(tmp_path, support=text), DEFAULTS)) == [("support", "typed"), ("support", "tickets")]


def test_rules_have_the_fields_that_a_file_may_have():
    """A field that only the proto knew would be read from a file and dropped."""
    assert {each.name for each in fields(Rules)} == set(pb.MappingRules.DESCRIPTOR.fields_by_name)
    assert {each.name for each in fields(MessageRule)} == set(pb.MessageRule.DESCRIPTOR.fields_by_name)


def test_only_yaml_files_of_the_folder_itself_count_and_empty_ones_are_fine(tmp_path: Path):
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", c="no mapping")
    (tmp_path / "notes.txt").write_text("no mapping")
    (tmp_path / "b.yml").write_text("app_id: b\nmappings: {said: " + RULES + "}")

    assert sorted(load(write(tmp_path, a=SHARED, empty="# nothing yet\n"), DEFAULTS)) == [("", "said"), ("b", "said")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mappings: [", "a.yaml cannot be read: line 1, column 12: expected the node content"),
        ("- x", "a.yaml must be an object"),
        ("mapping: {}", "a.yaml: 'mapping' is not one of app_id, mappings"),
        ("app_id: 7", "a.yaml: app_id is a text"),
        ("app_id:", "a.yaml: app_id is a text"),
        ("mappings: {said: 2026-99-99}", "a.yaml cannot be read: "),
        ("mappings: {no: {}}", "a name must be a text; put it in quotes"),
        ("mappings: {said: }", "a.yaml: mappings.said must be an object"),
        ("mappings: {'': " + RULES + "}", "a.yaml: mappings.: "),
        ("mappings: {said: {filtr: x}}", "a.yaml: mappings.said: 'filtr' is not one of"),
        ("mappings: {said: {messages: [{rol: x}]}}", "a.yaml: mappings.said.messages[0]: 'rol' is not one of"),
        ("mappings: {said: {depth_max: deep}}", "a.yaml: mappings.said.depth_max: Input should be a valid integer"),
        ("mappings: {said: {direction: up}}", "a.yaml: mappings.said.direction: Input should be"),
        ("mappings: {said: {}}", "a.yaml: mappings.said: give messages or content_field"),
        (
            "mappings: {said: {filter: 1 +, role_field: r, content_field: c}}",
            "a.yaml: mappings.said: rules.filter, line 1, column",
        ),
        ("mappings: {simple_chat: " + RULES + "}", "a.yaml: mappings.simple_chat is built in"),
        ("mappings: {said: " + RULES + ", said: " + RULES + "}", "'said' is there twice"),
        ("mappings: {x: !!python/object:os.system {}}", "a.yaml cannot be read"),
    ],
)
def test_a_fault_names_its_file_and_place(tmp_path: Path, text: str, told: str):
    with pytest.raises(InvalidArgument) as caught:
        load(write(tmp_path, a=text), DEFAULTS)

    assert told in caught.value.message


def test_two_files_cannot_have_the_same_mapping(tmp_path: Path):
    with pytest.raises(InvalidArgument, match=r"b\.yaml: mappings\.said is in another file"):
        load(write(tmp_path, a=SHARED, b=SHARED), DEFAULTS)


def test_a_folder_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(InvalidArgument, match="must be a folder"):
        load(tmp_path / "nowhere", DEFAULTS)


def test_files_have_the_limits_of_what_is_registered_and_one_of_all(tmp_path: Path):
    many = "\n".join(f"  m{number}: {RULES}" for number in range(DEFAULTS.mappings_max + 1))
    with pytest.raises(LimitExceeded, match="200 mappings of the shared scope"):
        load(write(tmp_path, a="mappings:\n" + many), DEFAULTS)
    types = ", ".join(f"type{number:0123}" for number in range(1000))
    large = "\n".join(f"  m{number}: {{role_field: r, content_field: c, edge_types: [{types}]}}" for number in range(9))
    with pytest.raises(LimitExceeded, match="bytes"):
        load(write(tmp_path, a="mappings:\n" + large), DEFAULTS)


@pytest.fixture
async def stub(context_settings: Settings, callers: Authenticator, tmp_path: Path) -> AsyncIterator[ChatHistoryStub]:
    """A service with two files: one of an app, one for all."""
    folder = tmp_path / "mappings"
    folder.mkdir()
    write(folder, a="app_id: shop\n" + SHARED, b=SHARED.replace("text", "content").replace("said", "heard"))
    settings = context_settings.model_copy(update={"mappings_path": folder})
    async with (
        context_service.app.running(settings, callers=callers) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield ChatHistoryStub(channel)


async def get(stub: ChatHistoryStub, name: str, app_id: str = "", metadata: object = METADATA) -> pb.Mapping:
    request = pb.GetMappingRequest(mapping_name=name, app_id=app_id)
    return (await stub.GetMapping(request, metadata=metadata)).mapping


async def register(stub: ChatHistoryStub, app_id: str, content_field: str) -> pb.RegisterMappingResponse:
    rules = pb.MappingRules(role_field="role", content_field=content_field)
    request = pb.RegisterMappingRequest(mapping_name="said", app_id=app_id, rules=rules)
    return await stub.RegisterMapping(request, metadata=METADATA)


async def test_every_tenant_finds_them_in_their_scope_and_marked(stub: ChatHistoryStub):
    for metadata in (METADATA, OTHERS):
        said = await get(stub, "said", "shop", metadata)
        assert (said.app_id, said.rules.content_field, said.built_in, said.version) == ("shop", "text", True, 0)
        assert (await get(stub, "heard", "shop", metadata)).rules.content_field == "content"
        async with refused(MappingNotFound, apps="shop"):
            await get(stub, "said", metadata=metadata)


async def test_what_a_tenant_registers_comes_first_in_its_scope_and_only_for_it(stub: ChatHistoryStub):
    await register(stub, "", "shared")
    assert (await get(stub, "said", "shop")).rules.content_field == "text"

    assert (await register(stub, "shop", "own")).changed

    assert (await get(stub, "said", "shop")).rules.content_field == "own"
    assert (await get(stub, "said")).rules.content_field == "shared"
    assert (await get(stub, "said", "shop", OTHERS)).rules.content_field == "text"


async def test_a_deletion_brings_the_file_back_and_removes_no_more(stub: ChatHistoryStub):
    await register(stub, "shop", "own")
    request = pb.DeleteMappingRequest(mapping_name="said", app_id="shop")
    await stub.DeleteMapping(request, metadata=METADATA)

    assert (await get(stub, "said", "shop")).rules.content_field == "text"
    async with refused(MappingBuiltIn, mapping_name="said"):
        await stub.DeleteMapping(request, metadata=METADATA)


@pytest.mark.parametrize("page_size", [1, 2, 3, 100])
async def test_they_are_listed_behind_what_is_registered(stub: ChatHistoryStub, page_size: int):
    await register(stub, "shop", "own")

    async def listed(app_id: str) -> list[tuple[str, str, bool]]:
        found, token = [], ""
        while True:
            request = pb.ListMappingsRequest(app_id=app_id, page_size=page_size, page_token=token)
            page = await stub.ListMappings(request, metadata=METADATA)
            found += [(one.app_id, one.mapping_name, one.built_in) for one in page.mappings]
            token = page.next_page_token
            if not token:
                return found

    assert await listed("") == [
        ("shop", "said", False),
        *(("", name, True) for name in sorted(["heard", *built_in_names()])),
        ("shop", "said", True),
    ]
    assert await listed("shop") == [("shop", "said", False), ("shop", "said", True)]
    assert await listed("other") == []


async def test_a_service_with_a_wrong_file_does_not_start(context_settings: Settings, tmp_path: Path):
    settings = context_settings.model_copy(update={"mappings_path": write(tmp_path, a="mappings: 7")})

    with pytest.raises(ContextKeepError, match=r"a\.yaml"):
        async with context_service.app.running(settings):
            pass
    (probe,) = (one for name, one in context_service.app.probes(settings).items() if name.startswith("the mappings in"))
    with pytest.raises(InvalidArgument, match=r"a\.yaml"):
        await probe()
