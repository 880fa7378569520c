"""One trace from the client through both services to Postgres and the blobs; metrics that Prometheus reads."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import context_service.app
import entity_service.app
from context_service.contexts.store import backlog
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.errors import ContextNotFound, NodeNotFound, Unauthenticated
from service_runtime.telemetry import tracing
from tests.conftest import KEY, Addresses
from tests.scraping import scraped

ROOT = Path(__file__).parents[2]
NO_NODE = "0190b5f4-0000-7000-8000-000000000000"


async def ended(spans: InMemorySpanExporter, name: str) -> None:
    """Wait for a span: a server's ends a moment after its caller has the answer."""
    async with asyncio.timeout(30):
        while all(span.name != name for span in spans.get_finished_spans()):
            await asyncio.sleep(0.01)


def tree(spans: tuple[ReadableSpan, ...]) -> dict[str, set[str]]:
    """Return the names below each name."""
    names = {span.context.span_id: span.name for span in spans}
    below: dict[str, set[str]] = {}
    for span in spans:
        below.setdefault(names.get(span.parent.span_id, "") if span.parent else "", set()).add(span.name)
    return below


async def test_a_history_is_one_trace(services: Addresses, spans: InMemorySpanExporter):
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"user_input": "hello"})
    async with (
        AsyncEntityClient(services.entity, api_key=KEY) as graph,
        AsyncContextClient(services.context, api_key=KEY) as context,
    ):
        await graph.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
        spans.clear()
        with trace.get_tracer("app").start_as_current_span("app"):
            await context.history.stream(session.id)

    await ended(spans, "contextkeep.context.v1.ChatHistory/StreamChatHistory")
    finished = spans.get_finished_spans()
    assert len({span.context.trace_id for span in finished}) == 1
    history, walk = "contextkeep.context.v1.ChatHistory", "contextkeep.entity.v1.EntityGraph"
    assert tree(finished) == {
        "": {"app"},
        "app": {"StreamChatHistory"},
        "StreamChatHistory": {f"{history}/StreamChatHistory"},
        f"{history}/StreamChatHistory": {"Traverse"},
        "Traverse": {f"{walk}/Traverse"},
        f"{walk}/Traverse": {"postgres query"},
    }


async def test_an_upload_and_a_download_show_the_blob(services: Addresses, spans: InMemorySpanExporter, tmp_path: Path):
    async with AsyncContextClient(services.context, api_key=KEY) as context:
        with trace.get_tracer("app").start_as_current_span("app"):
            file = await context.blobs.upload(b"bytes", name="a")
            await context.blobs.get(file.working_memory_id)

    await ended(spans, "contextkeep.context.v1.WorkingMemory/GetBlob")
    below = tree(spans.get_finished_spans())
    memory = "contextkeep.context.v1.WorkingMemory"
    assert below[f"{memory}/UploadBlob"] == {"postgres query", "blob write", "postgres transaction"}
    assert below[f"{memory}/GetBlob"] == {"postgres query", "blob read"}


async def test_a_failed_call_is_a_failed_span_with_its_reason(services: Addresses, spans: InMemorySpanExporter):
    async with AsyncEntityClient(services.entity, api_key=KEY) as graph:
        with trace.get_tracer("app").start_as_current_span("app"), pytest.raises(NodeNotFound):
            await graph.graph.get_node(NO_NODE)

    await ended(spans, "contextkeep.entity.v1.EntityGraph/GetNode")
    by_name = {span.name: span for span in spans.get_finished_spans()}
    server = by_name["contextkeep.entity.v1.EntityGraph/GetNode"]
    assert not server.status.is_ok
    assert server.attributes["error.type"] == "NODE_NOT_FOUND"
    assert server.attributes["rpc.grpc.status"] == "NOT_FOUND"
    assert not by_name["GetNode"].status.is_ok


async def test_where_nobody_traces_there_is_no_span(services: Addresses, spans: InMemorySpanExporter):
    with tracing.switched_on():
        pass  # off again

    async with AsyncEntityClient(services.entity, api_key=KEY) as graph:
        await graph.graph.create_node("Session")
        await graph.graph.create_node("Session")

    assert spans.get_finished_spans() == ()


async def test_metrics_count_calls_by_method_and_status(entity_settings, callers, metrics_ports: list[int]):
    settings = entity_settings.model_copy(update={"metrics_port": 0})
    async with entity_service.app.running(settings, callers=callers) as port:
        async with AsyncEntityClient(f"127.0.0.1:{port}", api_key=KEY) as graph:
            for _ in range(3):
                await graph.graph.create_node("Session")
            with pytest.raises(NodeNotFound):
                await graph.graph.get_node(NO_NODE)
            with pytest.raises(Unauthenticated):
                await graph.with_credential("wrong").graph.get_node(NO_NODE)

        found = await scraped(metrics_ports[0])

    calls = "contextkeep_call_seconds_count"
    service = "/contextkeep.entity.v1.EntityGraph"
    assert found[f'{calls}{{method="{service}/CreateNode",status="OK"}}'] == 3
    assert found[f'{calls}{{method="{service}/GetNode",status="NOT_FOUND"}}'] == 1
    assert found[f'{calls}{{method="{service}/GetNode",status="UNAUTHENTICATED"}}'] == 1
    assert found["contextkeep_calls_under_way"] == 0
    assert found['contextkeep_healthy{service="contextkeep.entity.v1.EntityGraph"}'] == 1
    assert found["contextkeep_postgres_connections"] >= 1


async def test_metrics_say_how_contexts_stand_and_how_long_recalls_take(
    context_settings, callers, metrics_ports: list[int], monkeypatch: pytest.MonkeyPatch
):
    """Dashboard and alerts ask for nothing that is not there."""
    monkeypatch.setattr(backlog, "INTERVAL_S", 0.05)
    settings = context_settings.model_copy(update={"metrics_port": 0})
    async with (
        context_service.app.running(settings, callers=callers) as port,
        AsyncContextClient(f"127.0.0.1:{port}", api_key=KEY) as context,
    ):
        context_id = (await context.contexts.send("The cat is black.")).context_id
        await context.contexts.send("Which colour has the cat?", context_id)
        await context.contexts.recall(context_id, "cat")
        with pytest.raises(ContextNotFound):
            await context.contexts.recall(NO_NODE, "cat")
        gone = (await context.contexts.send("x")).context_id
        await context.contexts.delete(gone)  # the next pass removes it
        async with asyncio.timeout(20):
            while not (found := await scraped(metrics_ports[0]))["contextkeep_erasures_pending_seconds"]:
                await asyncio.sleep(0.05)

    assert found['contextkeep_recall_seconds_count{status="OK"}'] == 2
    assert found['contextkeep_recall_seconds_count{status="NOT_FOUND"}'] == 1
    assert found["contextkeep_index_bytes"] > 0
    assert found["contextkeep_index_passages"] >= 0
    assert (
        found["contextkeep_vectors_pending"] == found["contextkeep_vectors_pending_seconds"] == 0
    )  # there is no embedder
    for path in ("deploy/dashboards/context-service.json", "deploy/alerts/context-service.yaml"):
        asked = set(re.findall(r"(?:contextkeep|process)_[a-z_]+", (ROOT / path).read_text("utf-8")))
        assert len(asked) > 5
        assert asked <= {name.partition("{")[0] for name in found}
