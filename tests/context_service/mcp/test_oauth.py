"""Tokens at the ports of HTTP: who has none is told where they come from, and one reaches what its scopes say."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import httpx2
import pytest
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import SecretStr

import context_service.app
from context_service.settings import Settings
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1 import contexts_pb2
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from service_runtime.auth import access
from tests.conftest import KEY
from tests.logged import port_of
from tests.service_runtime.test_tokens import AUDIENCE, ISSUER, Issuer, issuer, token

__all__ = ["issuer"]

WELL_KNOWN = "/.well-known/oauth-protected-resource"
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON_RPC = "/contextkeep.context.v1.ContextQuery/ListContextProviders"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def more_settings() -> dict[str, Any]:
    return {}


@pytest.fixture
async def address(
    context_settings: Settings,
    issuer: Issuer,
    more_settings: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[str]:
    """Of a Context Service that takes the issuer's tokens."""
    monkeypatch.setattr(access, "FAILURE_DELAY_S", 0.0)
    caplog.set_level(logging.INFO)
    told = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_jwks_url": issuer.url}
    settings = context_settings.model_copy(update={"mcp_port": 0, "http_port": 0, **told, **more_settings})
    async with context_service.app.running(settings) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def doors(address: str, caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    return {name: f"http://127.0.0.1:{port_of(caplog, name)}" for name in ("mcp", "http")}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(headers=ACCEPT, timeout=30) as client:
        yield client


def bearer(**claims: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {token(**claims)}"}


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


async def test_who_has_no_token_is_led_to_the_issuer(doors: dict[str, str], http: httpx2.AsyncClient):
    """By the SDK's own reading of the refusal, and of the document."""
    expected = {
        "/mcp": ["read", "write"],
        "/mcp/query": ["context:read"],
        JSON_RPC: ["read", "write", "admin", "delegate", "context:read", "compile"],
    }
    for name, path in (
        ("mcp", "/mcp"),
        ("mcp", "/mcp/query"),
        ("http", "/mcp"),
        ("http", "/mcp/query"),
        ("http", JSON_RPC),
    ):
        url = f"{doors[name]}{path}"
        refused = await http.post(url, json=LISTING)
        assert refused.status_code == 401
        leads_to = extract_resource_metadata_from_www_auth(refused)
        assert leads_to in build_protected_resource_metadata_discovery_urls(None, url)
        answer = await http.get(leads_to)
        found = ProtectedResourceMetadata.model_validate_json(answer.content)
        assert url.startswith(str(found.resource).rstrip("/"))
        assert [str(one).rstrip("/") for one in found.authorization_servers] == [ISSUER]
        assert found.scopes_supported == expected[path]
        assert "error=" not in refused.headers["www-authenticate"]  # RFC 6750: nothing was wrong with it


async def test_a_token_for_somebody_else_is_told_to_be_worthless(doors: dict[str, str], http: httpx2.AsyncClient):
    for wrong in ({"aud": "another-service"}, {"iss": "https://other.example"}, {"exp": 1}, {"aud": None}):
        for name, path in (("mcp", "/mcp/query"), ("http", "/mcp/query"), ("http", "/mcp")):
            answer = await http.post(f"{doors[name]}{path}", json=LISTING, headers=bearer(**wrong))
            assert answer.status_code == 401
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_a_token_that_may_ask_asks_and_does_nothing_else(
    address: str, doors: dict[str, str], http: httpx2.AsyncClient
):
    headers = bearer(scope="openid context:read")
    for name in ("mcp", "http"):
        answer = await http.post(
            f"{doors[name]}/mcp/query", json=called("query_context", query="What is there?"), headers=headers
        )
        assert answer.status_code == 200
        assert answer.json()["result"]["isError"] is False
        for url in (f"{doors[name]}/mcp",):
            refused = await http.post(url, json=LISTING, headers=headers)
            assert refused.status_code == 403
            assert extract_scope_from_www_auth(refused) == "read"
            assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
            assert extract_resource_metadata_from_www_auth(refused) == f"{doors[name]}{WELL_KNOWN}/mcp"
    async with grpc.aio.insecure_channel(address) as channel:
        metadata = tuple(headers.items())
        asked = await ContextQueryStub(channel).QueryContext(pb.QueryContextRequest(query="What?"), metadata=metadata)
        assert asked.providers
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ContextsStub(channel).ListContexts(contexts_pb2.ListContextsRequest(), metadata=metadata)
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_reading_includes_asking_and_writing_does_not(doors: dict[str, str], http: httpx2.AsyncClient):
    url = f"{doors['http']}/mcp/query"
    assert (await http.post(url, json=LISTING, headers=bearer(scope="read"))).status_code == 200
    refused = await http.post(url, json=LISTING, headers=bearer(scope="write admin delegate"))
    assert (refused.status_code, extract_scope_from_www_auth(refused)) == (403, "context:read")


async def test_a_token_that_may_only_ask_names_no_user(doors: dict[str, str], http: httpx2.AsyncClient):
    """It has one, its subject; and `delegate` does not make it another's."""
    headers = {**bearer(scope="context:read"), "x-subject-user-id": "somebody-else"}
    answer = await http.post(f"{doors['http']}/mcp/query", json=called("query_context", query="What?"), headers=headers)
    assert json.loads(answer.json()["result"]["content"][0]["text"])["error"]["reason"] == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "host", ['127.0.0.1", error="x', "127.0.0.1;x=1", "127.0.0.1@evil", "a b", "x" * 300, "127.0.0.1:"]
)
def test_a_host_that_is_none_comes_into_no_header_and_no_document(host: str):
    from service_runtime.http.resources import Resources

    resources = Resources(issuer=ISSUER, scopes={"": ()})
    told = {"scheme": "http", "host": host}
    assert resources.challenge("Bearer", "/mcp", has_credential=False, **told) == "Bearer"
    assert resources.document(WELL_KNOWN, **told) is None


class TestBehindAProxy:
    @pytest.fixture
    def more_settings(self) -> dict[str, Any]:
        return {"public_url": "https://context.example.com", "http_origins": ["https://chat.example.com"]}

    async def test_the_document_names_what_callers_reach(self, doors: dict[str, str], http: httpx2.AsyncClient):
        refused = await http.post(f"{doors['http']}/mcp/query", json=LISTING)
        leads_to = f"https://context.example.com{WELL_KNOWN}/mcp/query"
        assert extract_resource_metadata_from_www_auth(refused) == leads_to
        found = (await http.get(f"{doors['http']}{WELL_KNOWN}/mcp/query")).json()
        assert found["resource"] == "https://context.example.com/mcp/query"

    async def test_a_page_that_may_call_may_read_it(self, doors: dict[str, str], http: httpx2.AsyncClient):
        url, page = f"{doors['http']}{WELL_KNOWN}/mcp/query", {"origin": "https://chat.example.com"}
        asked = {**page, "access-control-request-method": "GET"}
        permission = await http.options(url, headers=asked)
        assert (permission.status_code, permission.headers["access-control-allow-methods"]) == (204, "GET")
        answer = await http.get(url, headers=page)
        assert answer.headers["access-control-allow-origin"] == page["origin"]
        assert (await http.get(url, headers={"origin": "https://evil.example"})).status_code == 403

    async def test_it_is_read_alone_and_of_what_there_is(self, doors: dict[str, str], http: httpx2.AsyncClient):
        assert (await http.post(f"{doors['mcp']}{WELL_KNOWN}")).status_code == 405
        for path in ("/nothing", "/mcp/", "x", "/mcp/query/x"):
            assert (await http.get(f"{doors['mcp']}{WELL_KNOWN}{path}")).status_code == 404


class TestWithKeysAlone:
    @pytest.fixture
    def more_settings(self) -> dict[str, Any]:
        return {"api_key": SecretStr(KEY), "jwt_issuer": "", "jwt_audience": "", "jwt_jwks_url": ""}

    async def test_nobody_gives_tokens(self, doors: dict[str, str], http: httpx2.AsyncClient):
        for name in ("mcp", "http"):
            refused = await http.post(f"{doors[name]}/mcp/query", json=LISTING)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            for path in ("", "/mcp", "/mcp/query"):
                assert (await http.get(f"{doors[name]}{WELL_KNOWN}{path}")).status_code == 404
