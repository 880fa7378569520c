"""Knowledge bases of Amazon Bedrock: signed by the service, of those that the operator lists; and what fails."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from context_service.knowledge_bases.bedrock import BedrockClient, client_of
from context_service.knowledge_bases.model import Bedrock
from context_service.settings import Settings
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.errors import AddressRefused, KnowledgeBaseFailed, ProviderNotConfigured
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.network.destinations import Destinations
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import an_id, opened
from tests.context_service.knowledge.test_knowledge_bases import Bases
from tests.fakes.bedrock import KEY, SECRET, FakeBedrock, answering, fake_bedrock, result
from tests.fakes.mcp_server import flooding

PRICES, RULES, SLOW = "PRICES0001", "RULES00001", "SLOW000001"
REGION = "eu-central-1"
LISTED = [PRICES, RULES, SLOW]


def client(fake: FakeBedrock, *, destinations: Destinations | None = None, **settings: Any) -> BedrockClient:
    said = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "bedrock_endpoint": fake.url, **settings}
    return client_of(Settings(**said), destinations or Destinations(["127.0.0.1"]))


def base(bedrock_id: str = PRICES) -> Bedrock:
    return Bedrock(bedrock_id=bedrock_id, region=REGION)


@pytest.fixture
async def fake() -> AsyncIterator[FakeBedrock]:
    async with fake_bedrock() as running:
        yield running


# The client alone.


async def test_what_a_base_finds_comes_back_with_its_place(fake: FakeBedrock):
    page = {"x-amz-bedrock-kb-document-page-number": 3.0, "year": 2026}
    fake.results[PRICES] = [
        result("A ferry costs 9.", score=0.9, **page),
        {"content": {"text": "Of the web."}, "location": {"type": "WEB", "webLocation": {"url": "https://a.test/b"}}},
        {"content": {"type": "IMAGE", "byteContent": "data:image/png;base64,AA=="}, "score": 1},
        {"content": {"text": "No place."}, "score": "high", "metadata": []},
        7,
    ]
    first, web, bare = await client(fake).retrieve(base(), "how much?", limit=7)
    assert (first.text, first.uri, first.page, first.score, first.metadata) == (
        "A ferry costs 9.",
        "s3://papers/prices.pdf",
        3,
        0.9,
        {"year": 2026},
    )
    assert (web.uri, bare.uri, bare.score, bare.page) == ("https://a.test/b", "", None, 0)
    asked = {"vectorSearchConfiguration": {"numberOfResults": 7}}
    assert fake.asked == [(PRICES, {"retrievalQuery": {"text": "how much?"}, "retrievalConfiguration": asked})]


async def test_a_wrong_key_is_refused_and_what_the_api_says_is_not_repeated(fake: FakeBedrock):
    fake.results[PRICES] = []
    with pytest.raises(KnowledgeBaseFailed, match=r"credentials \(AccessDeniedException\)") as failed:
        await client(fake, aws_secret_access_key="another").retrieve(base(), "x", limit=1)
    assert SECRET not in str(failed.value) and failed.value.__cause__ is None


@pytest.mark.parametrize(
    ("behave", "why"),
    [
        (
            answering(429, "ThrottlingException"),
            r"refuses further requests for now \(ThrottlingException\)",
        ),
        (answering(403, "AccessDeniedException"), "refuses the service's credentials"),
        (answering(404, "ResourceNotFoundException"), "no such knowledge base"),
        (answering(400, "ValidationException"), "malformed"),
        (answering(500, "InternalServerException"), r"HTTP 500 \(InternalServerException\)"),
        (answering(503, "<b>odd</b>"), "HTTP 503"),
        (answering(307, headers="location: http://169.254.169.254/\r\n"), "redirects"),
        (answering(200, body=b"<h1>Welcome</h1>"), "its answer is not valid"),
        (answering(200, body={"results": []}), "its answer is not valid"),
        (answering(200, body=[]), "its answer is not valid"),
        (answering(200, body={"retrievalResults": "many"}), "its answer is not valid"),
        (answering(200, body=b"x", headers="content-encoding: gzip\r\n"), "compresses"),
        (answering(200, body=b" " * (4 * 2**20 + 1)), "more than 4,194,304 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_whatever_the_api_answers_it_is_said_clearly(fake: FakeBedrock, behave, why):
    fake.behaves[PRICES] = behave
    with pytest.raises(KnowledgeBaseFailed, match=why) as failed:
        await client(fake).retrieve(base(), "x", limit=1)
    assert "<b>" not in str(failed.value)


async def test_an_answer_of_many_megabytes_is_not_read_to_the_end(fake: FakeBedrock):
    fake.behaves[PRICES], sent = flooding("application/json", b" " * 65_536)
    with pytest.raises(KnowledgeBaseFailed, match="more than"):
        await client(fake).retrieve(base(), "x", limit=1)
    assert sent[0] < 20 * 2**20  # what the buffers of both sockets take


async def test_who_asks_no_more_ends_the_request(fake: FakeBedrock):
    fake.behaves[PRICES] = fake.silent
    asking = asyncio.create_task(client(fake).retrieve(base(), "x", limit=1))
    async with asyncio.timeout(30):
        while not fake.asked:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while not fake.ended:
            await asyncio.sleep(0.01)


async def test_the_endpoint_is_checked_like_any_destination(fake: FakeBedrock):
    with pytest.raises(AddressRefused):
        await client(fake, destinations=Destinations([])).retrieve(base(), "x", limit=1)
    looked_up: list[str] = []

    def resolving(address: str) -> Destinations:
        async def resolve(host: str, port: int) -> list[str]:
            looked_up.append(host)
            return [address]

        return Destinations([], resolve=resolve)

    for region, host in ((REGION, f"bedrock-agent-runtime.{REGION}.amazonaws.com"), ("cn-north-1", "")):
        asked = Bedrock(bedrock_id=PRICES, region=region)
        with pytest.raises(AddressRefused):
            await client(fake, destinations=resolving("169.254.169.254"), bedrock_endpoint="").retrieve(
                asked, "x", limit=1
            )
        assert looked_up[-1] == (host or "bedrock-agent-runtime.cn-north-1.amazonaws.com.cn")
    with pytest.raises(KnowledgeBaseFailed, match="begin with https"):
        await client(fake, destinations=resolving("93.184.216.34"), bedrock_endpoint="http://vpc.test").retrieve(
            base(), "x", limit=1
        )
    assert fake.asked == []


async def test_without_credentials_that_is_said(fake: FakeBedrock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(KnowledgeBaseFailed, match="no AWS credentials"):
        await client(fake, aws_access_key_id="", aws_secret_access_key="").retrieve(base(), "x", limit=1)
    with pytest.raises(ProviderNotConfigured, match="or neither"):
        client(fake, aws_secret_access_key="")


async def test_no_log_has_the_secret_or_what_the_api_says(fake: FakeBedrock, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    fake.results[PRICES] = [result("said in confidence")]
    assert await client(fake).retrieve(base(), "asked in confidence", limit=1)
    fake.behaves[PRICES] = answering(500)
    with pytest.raises(KnowledgeBaseFailed):
        await client(fake).retrieve(base(), "x", limit=1)
    assert SECRET not in caplog.text and "in confidence" not in caplog.text


# As a provider.


@pytest.fixture(scope="module")
async def api() -> AsyncIterator[FakeBedrock]:
    async with fake_bedrock() as running:
        yield running


@pytest.fixture(scope="module")
async def served(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory, api: FakeBedrock
) -> AsyncIterator[Bases]:
    settings = {
        "mcp_servers_allowed": ["127.0.0.1"],
        "bedrock_endpoint": api.url,
        "bedrock_knowledge_bases": {PRINCIPAL.tenant_id: LISTED},
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
    }
    async with opened(postgres, tmp_path_factory.mktemp("bedrock"), **settings) as made:
        yield Bases(made)


@pytest.fixture
async def bases(served: Bases, api: FakeBedrock) -> AsyncIterator[Bases]:
    """Of the module, as if they were new."""
    api.results = {
        PRICES: [result("The ferry costs 9.", score=0.2)],
        RULES: [result("No dogs on the ferry.", score=0.9)],
    }
    api.behaves.clear()
    yield served
    for one in (await served.call("ListKnowledgeBases")).knowledge_bases:
        await served.call("DeleteKnowledgeBase", name=one.name)


def of(bedrock_id: str, region: str = REGION) -> dict[str, Any]:
    return {"bedrock": {"knowledge_base_id": bedrock_id, "region": region}}


async def ask(bases: Bases, query: str = "What of the ferry?", **fields: Any) -> query_pb.QueryContextResponse:
    return await bases.ask(query, **{"providers": {"ids": ["knowledge-base-bedrock"]}, **fields})


async def test_bases_of_bedrock_are_asked_beside_our_own(bases: Bases):
    prices, rules, ours = await bases.put(**of(PRICES)), await bases.put(**of(RULES)), await bases.put()
    answer = await bases.ask("What of the ferry?", providers={"families": ["knowledge-base"]}, limit=5)
    assert {(one.title, one.snippet) for one in answer.hits} == {
        ("prices.pdf", "The ferry costs 9."),
        ("prices.pdf", "No dogs on the ferry."),
    }
    own, theirs = answer.providers
    assert (theirs.state, theirs.hit_count, theirs.provider_id) == (
        query_pb.PROVIDER_STATE_OK,
        2,
        "knowledge-base-bedrock",
    )
    assert theirs.target == "2 knowledge bases of Amazon Bedrock ({}, {})".format(*sorted((prices, rules)))
    assert own.target == f"1 knowledge base ({ours}): 0 documents"
    hit = next(one for one in answer.hits if "costs" in one.snippet)
    assert (hit.sources[0].uri, hit.untrusted, hit.trust) == ("s3://papers/prices.pdf", True, 2)
    assert json.loads(hit.metadata_json)["knowledge_base"] == prices
    stored = (await bases.call("GetKnowledgeBase", name=prices)).knowledge_base
    assert (stored.bedrock.knowledge_base_id, stored.bedrock.region) == (PRICES, REGION)
    assert not (await bases.call("GetKnowledgeBase", name=ours)).knowledge_base.HasField("bedrock")


async def test_one_of_an_agent_is_not_asked_for_another(bases: Bases, api: FakeBedrock):
    mine = await bases.put(is_of_tenant=False, **of(PRICES))
    a, b = await bases.agent(mine), await bases.agent()
    assert [one.snippet for one in (await ask(bases, agent_id=a)).hits] == ["The ferry costs 9."]
    api.asked.clear()
    for agent_id in (b, ""):
        answer = await ask(bases, agent_id=agent_id)
        (status,) = answer.providers
        assert (status.state, status.target, mine in str(answer)) == (query_pb.PROVIDER_STATE_SKIPPED, "", False)
    assert (await ask(bases, agent_id=a, scope=query_pb.QUERY_SCOPE_PERSONAL)).hits == []
    assert api.asked == []


async def test_what_fails_is_a_clear_status_and_the_others_are_found(bases: Bases, api: FakeBedrock):
    prices = await bases.put("prices", **of(PRICES))
    for behave, why in (
        (
            answering(429, "ThrottlingException"),
            "KNOWLEDGE_BASE_FAILED: the Retrieve API failed: it refuses further",
        ),
        (answering(403, "AccessDeniedException"), "refuses the service's credentials"),
        (answering(500), "HTTP 500"),
        (answering(200, body=b"{"), "its answer is not valid"),
    ):
        api.behaves[PRICES] = behave
        (status,) = (await ask(bases)).providers
        assert (status.state, why in status.reason) == (query_pb.PROVIDER_STATE_ERROR, True)
    await bases.put("rules", **of(RULES))
    answer = await ask(bases)
    assert [one.snippet for one in answer.hits] == ["No dogs on the ferry."]
    (status,) = answer.providers
    assert status.state == query_pb.PROVIDER_STATE_STALE
    assert status.reason.startswith(f"{prices}: the Retrieve API failed")


async def test_one_that_hangs_is_cancelled_and_takes_nobody_along(bases: Bases, api: FakeBedrock):
    await bases.put("slow", **of(SLOW))
    api.results[SLOW] = []
    (status,) = (await ask(bases)).providers
    assert status.state == query_pb.PROVIDER_STATE_OK  # with nothing, but the library is loaded
    api.behaves[SLOW] = api.silent
    api.ended.clear()
    (status,) = (await ask(bases)).providers
    assert status.state == query_pb.PROVIDER_STATE_TIMEOUT
    await bases.put("rules", **of(RULES))
    answer = await ask(bases)
    assert [one.snippet for one in answer.hits] == ["No dogs on the ferry."]
    assert (answer.providers[0].state, answer.providers[0].reason) == (
        query_pb.PROVIDER_STATE_STALE,
        "slow: no answer within 2.2 s",
    )
    async with asyncio.timeout(10):
        while len(api.ended) < 2:
            await asyncio.sleep(0.01)


async def test_only_what_the_operator_lists_for_a_tenant_is_named_or_asked(bases: Bases, api: FakeBedrock):
    said = {"name": "theirs", **of("OTHERS0001")}
    assert (await bases.refused("PutKnowledgeBase", knowledge_base=said)).reason == "PERMISSION_DENIED"
    said = {"name": "prices", **of(PRICES)}
    other = await bases.of("other").refused("PutKnowledgeBase", knowledge_base=said)
    assert other.reason == "PERMISSION_DENIED"
    name = await bases.put(**of(PRICES))
    door = bases.stack.database.of(PRINCIPAL)
    await door.query(  # as if the operator had listed it once
        "UPDATE context.knowledge_base SET bedrock_id = 'OTHERS0001' WHERE tenant_id = %s AND name = %s",
        (door.tenant_id, name),
    )
    api.asked.clear()
    (status,) = (await ask(bases)).providers
    assert (status.state, api.asked) == (query_pb.PROVIDER_STATE_SKIPPED, [])
    assert "operator" in status.reason


async def test_where_documents_are_never_changes_and_bedrock_takes_none_here(bases: Bases):
    theirs, ours = await bases.put(**of(PRICES)), await bases.put()
    for name, bedrock in ((theirs, {}), (theirs, of(RULES)), (theirs, of(PRICES, "us-east-1")), (ours, of(PRICES))):
        refused = await bases.refused("PutKnowledgeBase", knowledge_base={"name": name, **bedrock})
        assert (refused.reason, refused.violations[0].field) == ("INVALID_ARGUMENT", "knowledge_base.bedrock")
    assert await bases.put(theirs, description="Prices", **of(PRICES)) == theirs
    document = {"name": "a.md", "data": b"x"}
    refused = await bases.refused("AddDocument", knowledge_base=theirs, document=document)
    assert (refused.reason, refused.violations[0].field) == ("INVALID_ARGUMENT", "knowledge_base")
    assert await bases.documents(theirs) == []


@pytest.mark.parametrize(
    ("bedrock_id", "region", "field"),
    [
        ("../PRICES1", REGION, "knowledge_base_id"),
        ("", REGION, "knowledge_base_id"),
        (PRICES, "evil.test/#-1", "region"),
        (PRICES, "eu-central-1.evil.test", "region"),
        (PRICES, "", "region"),
    ],
)
async def test_what_would_lead_elsewhere_is_refused_by_name(bases: Bases, bedrock_id: str, region: str, field: str):
    said = {"name": an_id(), **of(bedrock_id, region)}
    refused = await bases.refused("PutKnowledgeBase", knowledge_base=said)
    assert refused.violations[0].field == f"knowledge_base.bedrock.{field}"
