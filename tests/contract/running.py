"""A case as it runs: against both services, as a tenant of its own."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any, ClassVar

import grpc
import httpx2
import psycopg

from contextkeep.errors import ContextKeepError
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, OPERATOR, SCOPES, Metadata, Principal, credential
from service_runtime.values.ids import new_id
from tests.clients.stack import TWO_TENANTS
from tests.conftest import neighbour_of
from tests.connect import over_http
from tests.contract.calls import Call, add, at_path, differences, graph_request, message_of, named, plain
from tests.errors import raised

WAIT_S = 60  # for an answer that comes eventually


class AnyPrincipal:
    """Takes for a key what the caller says of itself, so that each case is a tenant of its own; knows our two keys."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        try:
            said = json.loads(base64.urlsafe_b64decode(credential(metadata)))
        except ValueError:
            return await TWO_TENANTS.authenticate(metadata)
        lists = {name: frozenset(said.pop(name)) for name in ("scopes", "app_ids", "graph_names") if name in said}
        ids = {name: uuid.UUID(said.pop(name)) for name in ("tenant_id", "key_id") if name in said}
        return Principal(**{"subject": "somebody", **said, **lists, **ids})


def key_of(**principal: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(principal).encode()).decode()


def store_key(admin_url: str, tenant_id: str) -> str:
    """Store a key of a tenant with all scopes, as an operator would have made it, and return its id."""
    key_id, secret = str(new_id()), str(uuid.uuid4())  # ids tell which key was stored first
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute("INSERT INTO access.tenant (id, name) VALUES (%s, %s)", (tenant_id, tenant_id))
        connection.execute("INSERT INTO access.residence (tenant_id, state) VALUES (%s, 'HERE')", (tenant_id,))
        connection.execute(
            "INSERT INTO access.api_key (id, key_sha256, prefix, tenant_id, subject, scopes)"
            " VALUES (%s, sha256(%s::bytea), left(%s, 12), %s, 'somebody', %s)",
            (key_id, secret, secret, tenant_id, [*SCOPES, OPERATOR]),
        )
    return key_id


@dataclass(kw_only=True)
class Stack:
    """Both services, called as anybody."""

    channels: dict[str, grpc.aio.Channel]  # by process
    http_ports: dict[str, int]
    addresses: dict[str, str]  # of gRPC
    admin_url: str  # of their database
    mcp_url: str  # of an MCP server with one tool
    http: httpx2.AsyncClient | None = None  # unary calls go over it

    page_sizes: ClassVar[tuple[int, ...]] = (0, 1, 2)

    async def whole(self, call: Call, messages: list[Any], key: str) -> Any:
        """Return the answer; of a list, all of its pages in one.

        Raises:
            ContextKeepError: what the service says.
        """
        if not call.size_field:
            return await self.call(call, messages, key)
        whole: Any = call.rpc.response()
        while True:
            page = await self.call(call, messages, key)
            add(whole, page)
            whole.next_page_token = ""
            if not page.next_page_token:
                return whole
            messages[0].page_token = page.next_page_token

    async def call(self, call: Call, messages: list[Any], key: str) -> Any:
        """Return the answer; of a stream, all of its messages in one.

        Raises:
            ContextKeepError: what the service says.
        """
        rpc = call.rpc
        if self.http is not None and not rpc.client_streaming and not rpc.server_streaming:
            return await over_http(self.http, self.http_ports[rpc.process], rpc, messages[0], key)
        try:
            return await self._over_grpc(call, messages, key)
        except grpc.aio.AioRpcError as failure:
            raise raised(failure) from failure

    async def _over_grpc(self, call: Call, messages: list[Any], key: str) -> Any:
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


class Case:
    """A case as it runs: its tenant, and what its letters stand for."""

    def __init__(self, stack: Stack, case: dict[str, Any]) -> None:
        self._stack = stack
        self._tenants = {name: str(uuid.uuid4()) for name in ("own", "other")}
        if any(call.get("as", {}).get("stored") for call in case.get("calls", [])):
            self._tenants["own"] = str(neighbour_of(DEFAULT_TENANT_ID))  # `store_key` lists it in the first database
        self._key_id = ""  # of the stored key of the case's own tenant, once a call needs it
        self.letters: dict[str, Any] = {f"new{place}": str(uuid.uuid4()) for place in ("", 1, 2, 3)}
        self.letters |= {"tenant": self._tenants["own"], "mcp_url": stack.mcp_url}
        self._case = case

    async def hold(self, calls: list[Call]) -> None:
        """Make the graph, then the calls, and fail where one does not answer what is expected."""
        await self._write()
        for call in calls:
            await self.run(call)

    async def _write(self) -> None:
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
        """Make a call, and fail where it does not answer what is expected."""
        key = self._key(**call.who)
        # Pages are the servicer's, which is the same behind HTTP.
        sizes = (
            (self._stack.page_sizes[-1:] if self._stack.http else self._stack.page_sizes) if call.size_field else (0,)
        )
        until = time.monotonic() + WAIT_S
        while True:
            answers = await asyncio.gather(*[self._answer(call, size, key) for size in sizes * call.times])
            expected = {} if call.answer is None else named(call.answer, self.letters)
            wrong = [one for answer in answers for one in differences(answer, expected)]
            if not (call.waits and wrong and time.monotonic() < until):
                break
            await asyncio.sleep(0.05)
        assert not wrong, f"{call.rpc}: {'; '.join(wrong)}"
        for answer in answers:
            for letter, path in call.keep.items():
                value = at_path(answer, path)
                assert answer is answers[0] or value == self.letters[letter], f"{letter} is not one thing"
                self.letters[letter] = value

    def _key(self, *, key: str = "", tenant: str = "own", stored: bool = False, **who: Any) -> str:
        if stored:
            self._key_id = self._key_id or store_key(self._stack.admin_url, self._tenants[tenant])
            who = {"scopes": [*SCOPES, OPERATOR], "key_id": self._key_id, **who}
        return key or key_of(tenant_id=self._tenants[tenant], **who)

    async def _answer(self, call: Call, size: int, key: str) -> Any:
        kind = call.rpc.request
        said = call.request if isinstance(call.request, list) else [call.request]
        messages = [message_of(kind, one, self.letters) for one in said]
        if call.size_field:
            setattr(messages[0], call.size_field, size)
        try:
            answer = await self._stack.whole(call, messages, key)
        except ContextKeepError as error:
            self._refused(call, error)
            return {}
        assert not call.error, f"{call.rpc} answers, and does not fail with {call.error}: {answer}"
        return plain(answer)

    def _refused(self, call: Call, error: ContextKeepError) -> None:
        assert error.reason == call.error, f"{call.rpc}: {error!r}"
        assert call.fields is None or [one.field for one in error.violations] == call.fields
        expected = {name: str(value) for name, value in named(call.metadata, self.letters).items()}
        assert {name: error.metadata.get(name) for name in expected} == expected
