"""What a caller shows to be let in is shown to nobody: no log, no trace, no error, whatever becomes of the call.

Nor is a credential that a message brings along: it is in no table either.
"""

from __future__ import annotations

import logging

import httpx2
import orjson
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from context_service.kernel.graph import EntityGraph
from context_service.settings import Settings
from contextkeep import (
    ArtifactInput,
    AsyncContextClient,
    AsyncEntityClient,
    MessageInput,
    NodeInput,
    PartInput,
    RecallOptions,
    ToolResultInput,
    new_id,
)
from contextkeep.errors import ContextKeepError, Internal, NodeNotFound
from service_runtime.telemetry.logs import JsonFormatter
from tests.conftest import KEY, PRINCIPAL, Addresses, Urls
from tests.hostile.tables import reading
from tests.logged import port_of

WRONG = "cgk_a-key-that-nobody-has-0123456789"
TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0aGUgc3ViamVjdCJ9.c2lnbmF0dXJl"


@pytest.fixture
def context_settings(context_settings: Settings, caplog: pytest.LogCaptureFixture) -> Settings:
    caplog.set_level(logging.DEBUG)
    return context_settings.model_copy(update={"mcp_port": 0})


@pytest.mark.parametrize("secret", [KEY, WRONG, TOKEN])
async def test_no_log_no_trace_and_no_error_shows_what_a_caller_showed(
    services: Addresses,
    secret: str,
    caplog: pytest.LogCaptureFixture,
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
):
    told: list[str] = []
    async with (
        AsyncEntityClient(services.entity, api_key=secret, retries=0) as graph,
        AsyncContextClient(services.context, api_key=secret, retries=0) as context,
    ):
        for call in (
            lambda: graph.graph.write([NodeInput("Session")], []),
            lambda: graph.graph.get_node(new_id()),
            lambda: context.history.stream(new_id()),
            lambda: context.blobs.upload(b"text", memory_type="file", name="a.txt"),
        ):
            try:
                await call()
            except ContextKeepError as error:
                told.append(f"{error!r} {error} {error.metadata}")

        def broken(_: EntityGraph) -> None:
            raise RuntimeError("a fault of ours")  # its traceback is logged

        monkeypatch.setattr(EntityGraph, "_as_caller", broken)
        with pytest.raises(ContextKeepError) as raised:
            await context.history.stream(new_id())
        assert isinstance(raised.value, Internal) == (secret == KEY)
        told.append(str(raised.value))
    for headers in ({"authorization": f"Bearer {secret}"}, {"x-api-key": secret}, {"authorization": f"Basic {secret}"}):
        async with httpx2.AsyncClient(headers={**headers, "accept": "application/json"}) as client:
            url = f"http://127.0.0.1:{port_of(caplog, 'mcp')}/mcp"
            answer = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        told.append(answer.text)

    logged = "\n".join(map(JsonFormatter().format, caplog.records))
    traced = "\n".join(span.to_json() for span in spans.get_finished_spans())
    assert '"method":"/contextkeep.context.v1.ChatHistory/StreamChatHistory"' in logged
    assert "contextkeep.entity.v1.EntityGraph/GetNode" in traced
    for text in (logged, traced, *told):
        assert secret not in text
        assert secret[8:] not in text


async def test_who_guesses_keys_is_in_the_log(services: Addresses, caplog: pytest.LogCaptureFixture):
    """Else nobody could tell where it comes from."""
    async with AsyncEntityClient(services.entity, api_key=WRONG, retries=0) as graph:
        with pytest.raises(ContextKeepError):
            await graph.graph.get_node(new_id())
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {WRONG}"}) as client:
        assert (await client.post(f"http://127.0.0.1:{port_of(caplog, 'mcp')}/mcp", json={})).status_code == 401
    async with AsyncEntityClient(services.entity, api_key=KEY, retries=0) as graph:
        with pytest.raises(NodeNotFound):
            await graph.graph.get_node(new_id())

    lines = [orjson.loads(JsonFormatter().format(record)) for record in caplog.records]
    refused = [line["peer"] for line in lines if line.get("reason") == "UNAUTHENTICATED"]
    assert len(refused) == 2
    assert all(peer.startswith("ipv4:127.0.0.1:") for peer in refused)
    assert all("peer" not in line for line in lines if line.get("reason") == "NODE_NOT_FOUND")


async def test_a_credential_that_a_message_brings_along_is_in_no_table_and_shown_to_nobody(
    services: Addresses, urls: Urls, caplog: pytest.LogCaptureFixture, spans: InMemorySpanExporter
):
    """Whatever it comes with, and whatever becomes of the call."""
    planted = f"planted{new_id().replace('-', '')}"
    parts = [
        PartInput(text="harmless"),
        PartInput(data={"type": "Credentials", "client": {"secret": planted}}),
        PartInput(text=f"the key is {planted}", metadata={"secret": True}),
        PartInput(
            tool_result=ToolResultInput(tool_call_id="call", content={"key": planted}), metadata={"secret": "yes"}
        ),
    ]
    told: list[object] = []
    async with AsyncContextClient(services.context, api_key=KEY, retries=0) as context:
        sent = await context.contexts.send(MessageInput("here", parts=parts), request_id=new_id())
        assert sent.redacted_parts == (1, 2, 3)
        visit = sent.context_id
        told += [sent, await context.contexts.append([MessageInput("again", parts=parts)], visit)]
        task = await context.tasks.create(visit, state="working", status_message=MessageInput("s", parts=parts))
        told += [task, await context.artifacts.put(task.task_id, ArtifactInput(parts, artifact_id="plan", name="plan"))]
        more = ArtifactInput(parts, artifact_id="plan")
        told += [await context.artifacts.put(task.task_id, more, append=True, request_id=new_id())]
        question = MessageInput("what is the key?", parts=parts)
        told += [await context.contexts.send(question, visit, recall=RecallOptions(with_features=True))]
        told += [await context.contexts.send(question, standalone=True)]
        told += [
            await context.contexts.search(visit, f"{planted} key"),
            await context.contexts.recall(visit, f"the {planted}"),
        ]
        told += [[one async for one in context.contexts.watch(visit, until_now=True)]]
        read = await context.tools.execute("context_read", {"context_id": str(visit)})
        told += [read, await context.artifacts.get(task.task_id, "plan")]
        for refused in (
            lambda: context.contexts.send(question, new_id()),
            lambda: context.contexts.send(
                MessageInput("x", parts=[*parts, PartInput(working_memory_id=new_id())]), visit
            ),
            lambda: context.contexts.append([question, MessageInput("", role="tool")], visit),
            lambda: context.artifacts.put(new_id(), more),
        ):
            with pytest.raises(ContextKeepError) as raised:
                await refused()
            told.append(f"{raised.value!r} {raised.value} {raised.value.metadata} {raised.value.violations}")

    logged = "\n".join(map(JsonFormatter().format, caplog.records))
    traced = "\n".join(span.to_json() for span in spans.get_finished_spans())
    with reading(urls) as tables:
        stored = tables.rows_of(PRINCIPAL.tenant_id)
    assert "SendMessage" in logged and "SendMessage" in traced
    assert stored["context.message"] and stored["context.request"] and stored["context.passage"]
    for text in (logged, traced, *map(str, told), *(row for rows in stored.values() for row in rows)):
        assert planted not in text
