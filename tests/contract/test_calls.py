"""The contract's sentences as cases: calls to the real stack, and what they answer. See tests/cases/calls/README.md."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from contextgraph.errors import Unauthenticated
from service_runtime.auth import Metadata, Principal, credential
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.case_files import BadCase, cases, check
from tests.conftest import cloned
from tests.contract.calls import (
    RPCS,
    Call,
    add,
    at_path,
    calls_of,
    differences,
    graph_request,
    message_of,
    named,
    plain,
)
from tests.errors import raised

PAGE_SIZES = (0, 1, 2)
FORM: Any = {"keys": {"nodes", "edges"}, "answers": {"calls"}, "needed": {"contract"}}


class AnyPrincipal:
    """Takes for a key what the caller says of itself: each case is a tenant of its own."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        try:
            said = json.loads(base64.urlsafe_b64decode(credential(metadata)))
        except ValueError:
            raise Unauthenticated("no valid key") from None
        lists = {name: frozenset(said.pop(name)) for name in ("scopes", "app_ids", "graph_names") if name in said}
        return Principal(**{"subject": "somebody", **said, **lists, "tenant_id": uuid.UUID(said["tenant_id"])})


def key_of(**principal: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(principal).encode()).decode()


@dataclass(kw_only=True)
class Stack:
    """Both services, called as anybody."""

    channels: dict[str, grpc.aio.Channel]  # by process

    async def call(self, call: Call, messages: list[Any], key: str) -> Any:
        """Return the answer; of a stream, all of its messages in one."""
        rpc = call.rpc
        channel = self.channels[rpc.process]
        asked = "stream" if rpc.client_streaming else "unary"
        answered = "stream" if rpc.server_streaming else "unary"
        method = getattr(channel, f"{asked}_{answered}")(
            rpc.path, request_serializer=rpc.request.SerializeToString, response_deserializer=rpc.response.FromString
        )
        made = method(
            iter(messages) if rpc.client_streaming else messages[0],
            metadata=[("authorization", f"Bearer {key}")],
            timeout=30,
        )
        if not rpc.server_streaming:
            return await made
        whole = rpc.response()
        async for message in made:
            add(whole, message)
        return whole


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """Both services, of all cases."""
    with cloned(postgres) as urls:
        common: Any = {"database_url": urls.service, "drain_s": 2}
        entity = entity_service.settings.Settings(entity_service_port=0, **common)
        async with entity_service.app.running(entity, callers=AnyPrincipal()) as entity_port:
            settings = context_service.settings.Settings(
                context_service_port=0,
                entity_service_url=f"127.0.0.1:{entity_port}",
                working_memory_storage_provider="local",
                working_memory_storage_path=tmp_path_factory.mktemp("blobs"),
                **common,
            )
            async with (
                context_service.app.running(settings, callers=AnyPrincipal()) as port,
                grpc.aio.insecure_channel(f"127.0.0.1:{entity_port}") as entity_channel,
                grpc.aio.insecure_channel(f"127.0.0.1:{port}") as context_channel,
            ):
                yield Stack(channels={"entity": entity_channel, "context": context_channel})


class Case:
    """A case as it runs: its tenant, and what its letters stand for."""

    def __init__(self, stack: Stack, case: dict[str, Any]) -> None:
        self._stack = stack
        self._tenants = {name: str(uuid.uuid4()) for name in ("own", "other")}
        self.letters: dict[str, Any] = {f"new{place}": str(uuid.uuid4()) for place in ("", 1, 2, 3)}
        self._case = case

    async def write(self) -> None:
        """Make the graph."""
        request = graph_request(self._case, self.letters)
        nodes = self._case.get("nodes", {})
        if nodes:
            await self.run(Call({"WriteGraph": request}))
        for letter, node in nodes.items():
            if "io" in node:
                sides = {f"{side}_json": json.dumps(value) for side, value in node["io"].items()}
                await self.run(Call({"SetNodeIO": {"node_id": f"${letter}", **sides}}))
            if node.get("archived"):
                await self.run(Call({"ArchiveNode": {"node_id": f"${letter}"}}))

    async def run(self, call: Call) -> None:
        """Make a call, and hold what it answers to what is expected."""
        who = {"tenant": "own"} | call.who
        key = key_of(tenant_id=self._tenants[who.pop("tenant")], **who)
        answers = await asyncio.gather(
            *[self._answer(call, size, key) for size in (PAGE_SIZES if call.size_field else [0]) * call.times]
        )
        for answer in answers:
            if call.answer is not None:
                wrong = differences(answer, named(call.answer, self.letters))
                assert not wrong, f"{call.rpc}: {'; '.join(wrong)}"
            for letter, path in call.keep.items():
                value = at_path(answer, path)
                assert answer is answers[0] or value == self.letters[letter], f"{letter} is not one thing"
                self.letters[letter] = value

    async def _answer(self, call: Call, size: int, key: str) -> Any:
        kind = call.rpc.request
        said = call.request if isinstance(call.request, list) else [call.request]
        messages = [message_of(kind, one, self.letters) for one in said]
        if not call.size_field:
            try:
                answer = await self._stack.call(call, messages, key)
            except grpc.aio.AioRpcError as failure:
                self._refused(call, failure)
                return {}
            assert not call.error, f"{call.rpc} answers, and does not fail with {call.error}: {answer}"
            return plain(answer)
        setattr(messages[0], call.size_field, size)
        whole: Any = call.rpc.response()
        while True:
            page = await self._stack.call(call, messages, key)
            add(whole, page)
            whole.next_page_token = ""
            if not page.next_page_token:
                return plain(whole)
            messages[0].page_token = page.next_page_token

    def _refused(self, call: Call, failure: grpc.aio.AioRpcError) -> None:
        error = raised(failure)
        assert error.reason == call.error, f"{call.rpc}: {error!r} {failure.details()}"
        assert call.fields is None or [one.field for one in error.violations] == call.fields
        expected = {name: str(value) for name, value in named(call.metadata, self.letters).items()}
        assert {name: error.metadata.get(name) for name in expected} == expected


@pytest.mark.parametrize("case", cases("calls", **FORM))
async def test_the_contract_holds(case: dict[str, Any], stack: Stack):
    calls = calls_of(case)
    running = Case(stack, case)
    await running.write()
    for call in calls:
        await running.run(call)


@pytest.mark.parametrize(
    "bad",
    [
        {"calls": [{"GetNode": {}, "answer": {}}]},
        {"name": "x", "calls": [{"GetNode": {}, "answer": {}}]},
        {"name": "x", "contract": "y"},
        {"name": "x", "contract": "", "calls": []},
        {"name": "x", "contract": "y", "calls": []},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}, "answers": {}}]},
        {"name": "x", "contract": "y", "calls": [{"GetNodes": {}, "answer": {}}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}, "answer": {}, "error": "X"}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}, "answer": {}, "fields": []}]},
        {"name": "x", "contract": "y", "cals": [], "calls": [{"GetNode": {}, "error": "X"}]},
    ],
)
def test_a_case_that_is_not_of_the_form_is_refused(bad: dict[str, Any]):
    with pytest.raises(BadCase):
        check(bad, **FORM)
        calls_of(bad)


def test_a_request_with_a_field_that_is_not_there_is_refused():
    with pytest.raises(BadCase):
        message_of(RPCS["GetNode"].request, {"id": "x"}, {})
    with pytest.raises(BadCase):
        message_of(RPCS["GetNode"].request, {"node_id": "$a"}, {})


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"b": 1}),
        ({"a": [1]}, {"a": []}),
        ({"a": [1]}, {"a": [2]}),
        ({"a": None}, {"a": "any"}),
        ({"data_json": '{"a": 1}'}, {"data_json": {"a": True}}),
        ({"data_json": '{"a": 1, "b": 2}'}, {"data_json": {"a": 1}}),
        ({"data_json": ""}, {"data_json": {}}),
        ({"data_json": "9007199254740993"}, {"data_json": 9007199254740992}),
    ],
)
def test_an_answer_that_differs_is_seen(found: dict[str, Any], wanted: dict[str, Any]):
    assert differences(found, wanted)
    assert not differences(found, {})
