"""Chat history by cases in YAML: graph, mapping, question, expected answer.

Every case runs twice: against the rules alone, over a graph in a dictionary, and against the real stack.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import orjson
import pytest
from google.protobuf.json_format import ParseDict

from context_service.history.pure.formats import formatted
from context_service.history.pure.mappings import Mapping, built_in, compile_mapping
from context_service.history.rules.assemble_context import AssembledNode, AssemblyQuestion, ContextAssembly
from context_service.history.rules.chat_history import ChatHistories, History, HistoryQuestion
from context_service.history.wire import mappings as wire
from context_service.kernel.rendering import Format
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextkeep.errors import ContextKeepError, MappingNotFound
from service_runtime.rpc.principal import Principal
from tests.case_files import cases
from tests.conftest import METADATA, PRINCIPAL, Addresses
from tests.errors import raised
from tests.fakes.entity_graph import FakeEdge, FakeEntityGraph, FakeNode

START = datetime(2026, 1, 1, tzinfo=UTC)


def history_cases() -> list[Any]:
    return cases(
        "history",
        keys={
            "nodes",
            "edges",
            "start",
            "mapping",
            "max_messages",
            "tokens_max",
            "strict",
            "nodes_failed",
            "roles_unknown",
        },
        answers={"messages", "formats", "error", "tokens", "is_cut"},
        needed={"contract", "nodes", "edges"},
        node_keys={"type", "general_type", "at", "data", "name", "status", "external_id", "archived", "io"},
    )


class Graph:
    """A case's graph, with real ids for its letters."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.ids = {letter: str(uuid.uuid4()) for letter in case["nodes"]}
        self.letters = {node_id: letter for letter, node_id in self.ids.items()}
        self.nodes = []
        for seq, (letter, node) in enumerate(case["nodes"].items()):
            kind = node.get("type", "Node")
            self.nodes.append(
                FakeNode(
                    id=self.ids[letter],
                    type=kind,
                    general_type=node.get("general_type", kind),
                    created_at=START + timedelta(seconds=node.get("at", seq)),
                    seq=seq,
                    data=node.get("data", {}),
                    name=node.get("name", ""),
                    status=node.get("status", "Created"),
                    external_id=node.get("external_id", ""),
                    archived=node.get("archived", False),
                    io=node.get("io", {}),
                )
            )
        self.edges = [
            FakeEdge(from_id=self.ids[a], to_id=self.ids[b], type=kind, order=i, data=dict(*data))
            for i, (a, kind, b, *data) in enumerate(case["edges"])
        ]


class OneMapping:
    """A registry with the mapping of a case."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._case = case

    async def find(self, principal: Principal, app_id: str, name: str) -> Mapping:
        rules = self._case.get("mapping", "simple_chat")
        if isinstance(rules, dict):
            return compile_mapping(wire.rules(ParseDict(rules, history_pb.MappingRules())))
        found = built_in(rules)
        if found is None:
            raise MappingNotFound("no such mapping")
        return found


def start_of(case: dict[str, Any]) -> str:
    return case.get("start", next(iter(case["nodes"])))


def compare(case: dict[str, Any], graph: Graph, messages: list[Any], failed: int, unknown: int) -> None:
    expected = case["messages"]
    answer = []
    for message, wanted in zip(messages, expected + [None] * len(messages), strict=False):
        row: Any = [message.role, message.content]
        if isinstance(wanted, dict):
            row = {"role": message.role, "content": message.content}
            if "name" in wanted:
                row["name"] = message.name
            if "metadata" in wanted:
                row["metadata"] = orjson.loads(message.metadata_json)
            if "node" in wanted:
                row["node"] = graph.letters[message.node_id]
            if "parts" in wanted:
                row["parts"] = [part_of(part) for part in message.parts]
        answer.append(row)
    assert answer == expected
    assert (failed, unknown) == (case.get("nodes_failed", 0), case.get("roles_unknown", 0))


def as_expected(body_json: str, results_left_out: int, calls_unanswered: int) -> dict[str, Any]:
    counts = {"results_left_out": results_left_out, "calls_unanswered": calls_unanswered}
    return orjson.loads(body_json) | {name: count for name, count in counts.items() if count}


def part_of(part: Any) -> dict[str, Any]:
    """A part of either world, as the fields that are set."""
    names = ["text", "data_json", "working_memory_id", "url", "media_type", "file_name", "metadata_json"]
    row = {name: getattr(part, name) for name in names if getattr(part, name)}
    for name, fields in (
        ("tool_call", ["id", "name", "arguments_json"]),
        ("tool_result", ["tool_call_id", "content_json", "is_error"]),
    ):
        value = getattr(part, name)
        if value and any(getattr(value, one) for one in fields):
            row[name] = {one: getattr(value, one) for one in fields if getattr(value, one)}
    return row


@pytest.mark.parametrize("case", history_cases())
async def test_the_rules_alone(case: dict[str, Any]):
    graph = Graph(case)
    histories = ChatHistories(FakeEntityGraph(graph.nodes, graph.edges), OneMapping(case))
    question = HistoryQuestion(
        node_id=graph.ids[start_of(case)],
        app_id="",
        mapping_name="",
        max_messages=case.get("max_messages", 0),
        tokens_max=case.get("tokens_max", 0),
        strict=case.get("strict", False),
    )
    if "error" in case:
        with pytest.raises(ContextKeepError) as caught:
            await histories.whole(PRINCIPAL, question)
        assert caught.value.reason == case["error"]
        return
    history: History = await histories.whole(PRINCIPAL, question)
    left = history.left
    compare(case, graph, history.messages, left.skipped.nodes_failed, left.skipped.roles_unknown)
    assert (left.tokens, left.is_cut) == (case.get("tokens", 0), case.get("is_cut", False))
    for name, expected in case.get("formats", {}).items():
        done = formatted(history.messages, Format(name))
        assert as_expected(done.body.json, done.results_left_out, done.calls_unanswered) == expected
    if question.strict or question.tokens_max:
        return
    assembly = ContextAssembly(FakeEntityGraph(graph.nodes, graph.edges), OneMapping(case))
    for size in (1, 2, 100):
        rows: list[AssembledNode] = []
        token = ""
        while True:
            asked = AssemblyQuestion(
                node_id=question.node_id,
                app_id="",
                mapping_name="",
                max_messages=question.max_messages,
                data_paths=(),
                page_size=size,
                page_token=token,
            )
            page = await assembly.page(PRINCIPAL, asked)
            assert len(page.nodes) <= size
            rows += page.nodes
            token = page.next_page_token
            if not token:
                break
        assert [given.message for row in rows for given in row.outcome.given] == history.messages


@pytest.mark.parametrize("case", history_cases())
async def test_the_real_stack(case: dict[str, Any], shared_services: Addresses):
    graph = Graph(case)
    async with (
        grpc.aio.insecure_channel(shared_services.entity) as entity,
        grpc.aio.insecure_channel(shared_services.context) as own,
    ):
        await write(EntityGraphStub(entity), graph)
        stub = ChatHistoryStub(own)
        request = history_pb.GetChatHistoryRequest(
            node_id=graph.ids[start_of(case)],
            max_messages=case.get("max_messages", 0),
            tokens_max=case.get("tokens_max", 0),
            strict=case.get("strict", False),
        )
        try:
            rules = case.get("mapping", "")
            if isinstance(rules, dict):
                register = history_pb.RegisterMappingRequest(
                    mapping_name=graph.ids[start_of(case)], rules=ParseDict(rules, history_pb.MappingRules())
                )
                await stub.RegisterMapping(register, metadata=METADATA)
                rules = register.mapping_name
            request.mapping_name = rules
            answer = await stub.GetChatHistory(request, metadata=METADATA)
        except grpc.aio.AioRpcError as error:
            assert raised(error).reason == case.get("error"), error.details()
            return
        assert "error" not in case
        compare(case, graph, list(answer.messages), answer.nodes_failed, answer.roles_unknown)
        assert (answer.tokens, answer.is_cut) == (case.get("tokens", 0), case.get("is_cut", False))

        for name, expected in case.get("formats", {}).items():
            request.format = history_pb.MessageFormat.Value(f"MESSAGE_FORMAT_{name.upper()}")
            done = await stub.GetChatHistory(request, metadata=METADATA)
            assert not done.messages
            answer_of = as_expected(done.formatted_json, done.tool_results_left_out, done.tool_calls_unanswered)
            assert answer_of == expected
        request.ClearField("format")

        streamed, last = [], None
        stream_request = history_pb.StreamChatHistoryRequest(
            node_id=request.node_id,
            mapping_name=request.mapping_name,
            max_messages=request.max_messages,
            tokens_max=request.tokens_max,
            strict=request.strict,
        )
        async for last in stub.StreamChatHistory(stream_request, metadata=METADATA):
            streamed += last.messages
        compare(case, graph, streamed, last.nodes_failed, last.roles_unknown)
        assert (last.tokens, last.is_cut) == (answer.tokens, answer.is_cut)

        if request.strict or request.tokens_max:
            return
        assembled, token = [], ""
        while True:
            page = await stub.AssembleContext(
                history_pb.AssembleContextRequest(
                    node_id=request.node_id,
                    mapping_name=request.mapping_name,
                    max_messages=request.max_messages,
                    page_size=2,
                    page_token=token,
                ),
                metadata=METADATA,
            )
            assembled += page.nodes
            token = page.next_page_token
            if not token:
                break
        assert [given.message for row in assembled for given in row.messages] == list(answer.messages)
        if not request.max_messages:
            reasons = [skipped for row in assembled for skipped in row.skipped]
            failed = [one for one in reasons if one.reason == history_pb.SKIP_REASON_FAILED]
            unknown = [one.elements for one in reasons if one.reason == history_pb.SKIP_REASON_ROLE_UNKNOWN]
            assert (len(failed), sum(unknown)) == (answer.nodes_failed, answer.roles_unknown)


async def write(stub: EntityGraphStub, graph: Graph) -> None:
    request = graph_pb.WriteGraphRequest()
    for node in graph.nodes:
        added = request.nodes.add(
            id=node.id,
            external_id=node.external_id,
            general_type_name=node.general_type,
            specific_type_name=node.type,
            name=node.name,
            status=node.status,
            data_json=orjson.dumps(node.data).decode(),
        )
        added.created_at.FromDatetime(node.created_at)
    for edge in graph.edges:
        request.edges.add(
            from_node_id=edge.from_id,
            to_node_id=edge.to_id,
            edge_type=edge.type,
            data_json=orjson.dumps(edge.data).decode(),
        )
    await stub.WriteGraph(request, metadata=METADATA)
    for node in graph.nodes:
        if node.io:
            sides = {f"{side}_json": orjson.dumps(value).decode() for side, value in node.io.items()}
            await stub.SetNodeIO(graph_pb.SetNodeIORequest(node_id=node.id, **sides), metadata=METADATA)
        if node.archived:
            await stub.ArchiveNode(graph_pb.ArchiveNodeRequest(node_id=node.id), metadata=METADATA)
