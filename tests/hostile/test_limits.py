"""Every limit at its border: as much as the limit works; one more is refused, with the limit and the value.

`LIMITS` is the contract's table. Each row is tried on services with their defaults and on services whose limits are
all lowered, so each is a setting for sure; a setting called `*_max` that no row tries fails.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp

import context_service.settings
import entity_service.settings
from context_service.history.pure.mapping_rules import rules_bytes
from context_service.history.wire import mappings
from contextkeep import options_pb2
from contextkeep.context.v1 import chat_history_pb2 as history
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import memories_pb2 as memories
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.values.ids import new_id
from tests.conftest import Addresses, Urls, cloned
from tests.hostile.calling import WHOLE_SHARES, AnyTenant, Case, Client, Outcome
from tests.hostile.rules import Change, FieldPath, changed, items_of, paths, text_of_bytes, text_of_chars, value_of
from tests.hostile.stalls import watched
from tests.hostile.things import RPCS, Things, cases, seeded
from tests.rpcs import Rpc

KIB, MIB, GIB = 1024, 1024**2, 1024**3
CHUNK_BYTES = 100 * KIB


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A tenant, what it has, and the limits of the services that it calls."""

    client: Client
    key: uuid.UUID
    things: Things
    limits: dict[str, int]

    def call(self, rpc: str, case: Case) -> Outcome:
        timeout_s = 5 if rpc == "WaitForIndex" else 60  # it waits as long as its request says
        return self.client.call(RPCS[rpc], case, key=self.key, timeout_s=timeout_s)

    def done(self, rpc: str, case: Case) -> Any:
        outcome = self.call(rpc, case)
        assert outcome.ok, f"{rpc}: {outcome}"
        return outcome.answers[0]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A row of the table."""

    what: str
    setting: str
    default: int  # the contract's
    lowered: int
    rpc: str
    request: Callable[[Caller, int], Case]  # whose value of this limit is a number
    reason: str = "LIMIT_EXCEEDED"
    dear: bool = False  # not tried with its default

    def __str__(self) -> str:
        return self.what


def document(size_bytes: int) -> str:
    return '{"a":"' + "x" * (size_bytes - 8) + '"}'


def nested(levels: int) -> str:
    return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


def node(**fields: Any) -> graph.CreateNodeRequest:
    return graph.CreateNodeRequest(node=graph.NodeInput(**{"general_type_name": "T", **fields}))


def context_message(*texts: str) -> contexts.SendMessageRequest:
    return contexts.SendMessageRequest(
        message=message_pb2.MessageInput(parts=[message_pb2.Part(text=text) for text in texts])
    )


def context_message_of(size_bytes: int) -> contexts.SendMessageRequest:
    """Return one of four texts; each part counts 64 bytes besides."""
    quarter = size_bytes // 4
    return context_message(*["x" * (quarter - 64)] * 3, "x" * (size_bytes - 3 * quarter - 64))


def edge(c: Caller, **fields: Any) -> graph.CreateEdgeRequest:
    ends = {"from_node_id": c.things.child_id, "to_node_id": c.things.other_id, "edge_type": f"t{new_id()}"[:40]}
    return graph.CreateEdgeRequest(edge=graph.EdgeInput(**{**ends, **fields}))


def record(**fields: Any) -> memory.InsertWMRecordRequest:
    return memory.InsertWMRecordRequest(record=memory.WMRecordInput(**{"memory_type": "file", "name": "n", **fields}))


def mapping(messages: Sequence[history.MessageRule] = (), **fields: Any) -> history.RegisterMappingRequest:
    names = {name: fields.pop(name) for name in ("mapping_name", "app_id") if name in fields}
    rules = history.MappingRules(messages=messages or [said("'a'")], **fields)
    names = {"app_id": f"app {new_id()}", "mapping_name": "m", **names}  # an app of its own: it may have few
    return history.RegisterMappingRequest(**names, rules=rules)


def said(content: str, **fields: str) -> history.MessageRule:
    return history.MessageRule(role="'user'", content=content, **fields)


def rows(c: Caller, count: int) -> graph.WriteGraphRequest:
    return graph.WriteGraphRequest(nodes=[graph.NodeInput(general_type_name="T")] * count)


def write_of(c: Caller, size_bytes: int) -> graph.WriteGraphRequest:
    """Return a write that is so large as a message, in documents that are not too large alone."""
    request = graph.WriteGraphRequest()
    while (left := size_bytes - request.ByteSize()) > 0:
        share = min(left, c.limits["node_data_bytes_max"])
        # What a document needs around itself depends on its size; what no document fits into is a longer type's name.
        sizes = range(max(share - 30, 8), share)
        fitting = [n for n in sizes if graph.WriteGraphRequest(nodes=[_document_of(n)]).ByteSize() == left]
        request.nodes.append(_document_of(fitting[-1] if fitting else max(share // 2, 8)))
    assert request.ByteSize() == size_bytes
    return request


def _document_of(size_bytes: int) -> graph.NodeInput:
    return graph.NodeInput(general_type_name="T", data_json=document(size_bytes))


def upload(c: Caller, size_bytes: int, **header: Any) -> list[memory.UploadBlobRequest]:
    first = memory.UploadHeader(record=record().record, **header)
    return [memory.UploadBlobRequest(header=first), *(memory.UploadBlobRequest(chunk=b) for b in chunks(size_bytes))]


def part(c: Caller, size_bytes: int) -> list[memory.AppendUploadRequest]:
    begun = c.done("StartUpload", memory.StartUploadRequest(record=record().record)).upload
    header = memory.AppendHeader(upload_id=begun.upload_id)
    sent = [memory.AppendUploadRequest(chunk=chunk) for chunk in chunks(size_bytes)]
    return [memory.AppendUploadRequest(header=header), *sent]


def chunks(size_bytes: int) -> list[bytes]:
    return [b"x" * min(CHUNK_BYTES, size_bytes - at) for at in range(0, size_bytes, CHUNK_BYTES)]


def symbols_of(c: Caller, count: int) -> history.RegisterMappingRequest:
    """Return a mapping whose expressions have so many symbols, in expressions that are not too long alone."""
    most = 2 * ((c.limits["expression_chars_max"] + 1) // 3) - 1
    messages = []
    names = {"name": "'a'"} if count % 2 else {}  # a role and a sum are an even number
    left = count - len(names)
    while left:
        texts = (min(most, left - 1) + 1) // 2
        messages.append(said("+".join(["''"] * texts), **names))
        left, names = left - 2 * texts, {}
    return mapping(messages)


def mapping_of(c: Caller, size_bytes: int) -> history.RegisterMappingRequest:
    """Return a mapping whose rules are so large, in expressions that are not too long alone."""
    texts = [[3, 3] for _ in range(c.limits["mapping_rules_max"])]  # characters of content and name

    def made() -> history.RegisterMappingRequest:
        return mapping([said(f"'{'a' * (one - 2)}'", name=f"'{'a' * (two - 2)}'") for one, two in texts])

    left = size_bytes - rules_bytes(mappings.rules(made().rules))
    for row in texts:
        for column in (0, 1):
            more = min(left, c.limits["expression_chars_max"] - row[column])
            row[column] += more
            left -= more
    assert rules_bytes(mappings.rules(made().rules)) == size_bytes, left
    return made()


def nth_mapping(c: Caller, count: int) -> history.RegisterMappingRequest:
    app_id = f"app {uuid.uuid4()}"
    for number in range(count - 1):
        if not c.call("RegisterMapping", mapping(app_id=app_id, mapping_name=f"m{number}")).ok:
            break
    return mapping(app_id=app_id, mapping_name="the last")


def session_of(c: Caller, nodes: int) -> str:
    """Return a node that contains so many others."""
    session = c.done("CreateNode", node()).node.id
    for _ in range(nodes):
        child = c.done("CreateNode", node(data_json='{"content": "some text"}')).node
        joined = graph.EdgeInput(from_node_id=session, to_node_id=child.id, edge_type="Contains")
        c.done("CreateEdge", graph.CreateEdgeRequest(edge=joined))
    return session


def walk_over(c: Caller, nodes: int) -> graph.TraverseRequest:
    """Return a walk that visits so many nodes, the one where it starts included."""
    return graph.TraverseRequest(start_node_ids=[session_of(c, nodes - 1)], depth_max=2)


def similar_to(c: Caller, vectors: int) -> graph.SearchSimilarRequest:
    """Return a search that compares with so many vectors."""
    name = f"of {new_id()}"
    nodes = c.done("WriteGraph", rows(c, min(vectors, c.limits["write_rows_max"]))).nodes
    nodes = [*nodes, *c.done("WriteGraph", rows(c, vectors - len(nodes))).nodes]
    for one in nodes:
        c.done("UpsertEmbedding", graph.UpsertEmbeddingRequest(node_id=one.id, name=name, vector=[1]))
    return graph.SearchSimilarRequest(vector=[1], name=name)


def near_records(c: Caller, vectors: int) -> memory.SearchWMRecordsRequest:
    """Return a search that compares with so many records' vectors."""
    app_id, embedding = f"of {new_id()}", memory.Embedding(values=[1] * 1536)
    for _ in range(vectors):
        c.done("InsertWMRecord", record(app_id=app_id, embedding=embedding))
    return memory.SearchWMRecordsRequest(embedding=embedding, app_id=app_id)


LIMITS = [
    # Documents.
    Limit(
        what="nesting of data_json", setting="json_nesting_max", default=100, lowered=4,
        rpc="CreateNode", request=lambda c, n: node(data_json=nested(n)), reason="INVALID_ARGUMENT",
    ),
    Limit(
        what="nesting of metadata_json", setting="json_nesting_max", default=100, lowered=4,
        rpc="InsertWMRecord", request=lambda c, n: record(metadata_json=nested(n)), reason="INVALID_ARGUMENT",
    ),
    Limit(
        what="nesting of content_json", setting="json_nesting_max", default=100, lowered=4,
        rpc="InsertWMRecord", request=lambda c, n: record(content_json=nested(n)), reason="INVALID_ARGUMENT",
    ),
    # Texts.
    Limit(
        what="bytes of a context's message", setting="context_message_bytes_max", default=2 * MIB, lowered=10_000,
        rpc="SendMessage", request=lambda c, n: context_message_of(n),
    ),
    # Writes.
    Limit(
        what="rows of WriteGraph", setting="write_rows_max", default=2000, lowered=6,
        rpc="WriteGraph", request=rows,
    ),
    Limit(
        what="bytes of WriteGraph", setting="write_bytes_max", default=4 * MIB, lowered=900,
        rpc="WriteGraph", request=write_of,
    ),
    # Blobs.
    Limit(
        what="blob", setting="blob_bytes_max", default=16 * GIB, lowered=200,
        rpc="UploadBlob", request=upload, reason="BLOB_TOO_LARGE", dear=True,
    ),
    Limit(
        what="declared size of a blob", setting="blob_bytes_max", default=16 * GIB, lowered=200,
        rpc="StartUpload",
        request=lambda c, n: memory.StartUploadRequest(record=record().record, size_bytes=n),
        reason="BLOB_TOO_LARGE",
    ),
    Limit(
        what="part of an upload", setting="upload_part_bytes_max", default=64 * MIB, lowered=100,
        rpc="AppendUpload", request=part, dear=True,
    ),
    # Mappings.
    Limit(
        what="an expression", setting="expression_chars_max", default=4096, lowered=100,
        rpc="RegisterMapping", request=lambda c, n: mapping([said("'" + "é" * (n - 2) + "'")]),
    ),
    Limit(
        what="nesting of an expression", setting="expression_nesting_max", default=50, lowered=5,
        rpc="RegisterMapping", request=lambda c, n: mapping([said("(" * n + "'a'" + ")" * n)]),
    ),
    Limit(
        what="symbols of a mapping", setting="mapping_symbols_max", default=10_000, lowered=80,
        rpc="RegisterMapping", request=symbols_of,
    ),
    Limit(
        what="bytes of a mapping", setting="mapping_bytes_max", default=256 * KIB, lowered=700,
        rpc="RegisterMapping", request=mapping_of,
    ),
    Limit(
        what="mappings of an app", setting="app_mappings_max", default=200, lowered=3,
        rpc="RegisterMapping", request=nth_mapping, dear=True,
    ),
    # Walks.
    Limit(
        what="nodes that a walk visits", setting="traverse_nodes_max", default=100_000, lowered=5,
        rpc="Traverse", request=walk_over, reason="NODE_BUDGET_EXCEEDED", dear=True,
    ),
    Limit(
        what="vectors to compare with", setting="similar_vectors_max", default=100_000, lowered=3,
        rpc="SearchSimilar", request=similar_to, dear=True,
    ),
    Limit(
        what="vectors of records to compare with", setting="search_vectors_max", default=50_000, lowered=3,
        rpc="SearchWMRecords", request=near_records, reason="SLICE_TOO_LARGE", dear=True,
    ),
]  # fmt: skip

# Limits of fields: the protos name them, and the rules of the fields are tried.
OF_FIELDS = {
    "context_message_parts_max": (100, 8),
    "external_id_bytes_max": (512, 60),
    "mapping_rules_max": (32, 2),
    "message_bytes_max": (64 * KIB, 100),
    "metadata_bytes_max": (64 * KIB, 120),
    "name_chars_max": (512, 60),
    "node_data_bytes_max": (MIB, 500),
    "tag_chars_max": (128, 40),
    "tags_max": (64, 3),
    "traverse_depth_max": (100, 7),
    "type_chars_max": (128, 50),
}

# Limits that are no field of a request, and have tests of their own below.
TESTED_BELOW = {
    "calls_max": (1000, 6),
    "expensive_calls_max": (8, 2),  # it refuses nothing: calls wait; test_shares.py tries it
    "ordinary_calls_max": (16, 2),  # as above
    "database_pool_max": (10, 3),
    "document_parser_memory_bytes_max": (512 * MIB, 256 * MIB),  # of the process that reads a file: test_documents.py
    "changes_kept_max": (1_000_000, 1000),  # it refuses nothing: the oldest go; test_changes.py tries it
    "connections_max": (4_000, 500),  # test_transport.py tries it
    "queued_items_max": (100_000, 1_000),  # test_outbox.py tries it
    "watches_max": (1000, 4),  # test_watching.py tries it
    "llm_tokens_per_day_max": (0, 100_000),  # it refuses no call: rules write the segments; test_prepare_ahead.py
    "evaluation_steps_max": (10_000, 100),
    "evaluation_bytes_max": (MIB, 500),
    "call_steps_max": (50_000_000, 120),
    "mcp_answer_bytes_max": (64 * KIB, 4 * KIB),  # it refuses nothing: answers are cut
}

_OTHERS = OF_FIELDS | TESTED_BELOW
LOWERED = {limit.setting: limit.lowered for limit in LIMITS} | {name: low for name, (_, low) in _OTHERS.items()}
DEFAULTS = {limit.setting: limit.default for limit in LIMITS} | {name: high for name, (high, _) in _OTHERS.items()}


@pytest.fixture(scope="module")
def lowered(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Addresses, Urls]]:
    """Services whose limits are all lowered."""
    folder = tmp_path_factory.mktemp("lowered")
    with (
        cloned(postgres) as urls,
        watched("lowered", urls.service, folder, callers=AnyTenant(), **LOWERED, **WHOLE_SHARES) as addresses,
    ):
        yield addresses, urls


@pytest.fixture(scope="module")
def few(lowered: tuple[Addresses, Urls]) -> Iterator[Caller]:
    with Client.open(lowered[0]) as client:
        key = uuid.uuid4()
        yield Caller(client=client, key=key, things=seeded(client, key), limits=LOWERED)


@pytest.fixture(scope="package")
def many(client: Client) -> Caller:
    key = uuid.uuid4()
    return Caller(client=client, key=key, things=seeded(client, key), limits=DEFAULTS)


def test_every_limit_is_tried_and_has_the_default_of_the_contract():
    fields = entity_service.settings.Settings.model_fields | context_service.settings.Settings.model_fields
    # Those of tenants have no default; test_tenant_limits.py tries them.
    settings = {
        name: field.default for name, field in fields.items() if name.endswith("_max") and field.default is not None
    }
    assert {name.upper() for name in OF_FIELDS} <= set(NAMED), "a limit that no field names"
    assert settings == DEFAULTS, "a limit without a row in LIMITS, or with another default than the contract's"
    variables = (Path(__file__).parents[2] / "deploy" / "env.example").read_text()
    assert all(f"# {name.upper()}={default}" in variables for name, default in settings.items())


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_as_much_as_a_lowered_limit_works_and_one_more_is_refused(limit: Limit, few: Caller):
    at_the_border(limit, few, limit.lowered)


@pytest.mark.parametrize("limit", [limit for limit in LIMITS if not limit.dear], ids=str)
def test_as_much_as_a_limit_works_and_one_more_is_refused(limit: Limit, many: Caller):
    at_the_border(limit, many, limit.default)


def at_the_border(limit: Limit, caller: Caller, value_max: int) -> None:
    within = caller.call(limit.rpc, limit.request(caller, value_max))
    assert within.ok, f"{limit} of {value_max}: {within}"

    beyond = caller.call(limit.rpc, limit.request(caller, value_max + 1))
    assert not beyond.ok, f"{limit} of {value_max + 1} was taken"
    if limit.setting == "write_bytes_max" and value_max == 4 * MIB:
        # It is gRPC's own limit for a message, too, and gRPC says it first.
        assert (beyond.code, beyond.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "?")
        assert "4194305 vs. 4194304" in beyond.error.details()
        return
    expected = grpc.StatusCode.RESOURCE_EXHAUSTED
    if limit.reason == "INVALID_ARGUMENT":
        expected = grpc.StatusCode.INVALID_ARGUMENT
    assert (beyond.code, beyond.reason) == (expected, limit.reason)
    assert (beyond.metadata["limit_max"], beyond.metadata["value"]) == (str(value_max), str(value_max + 1))
    assert beyond.metadata["limit"]


@dataclass(frozen=True, kw_only=True)
class Aspect:
    """One thing that a rule says of a field: values that pass it, and values that do not."""

    name: str  # "chars_max", or the name of a setting
    value_max: int = 0  # 0: it is no limit
    within: Change | None = None
    beyond: Change

    def refuses(self, outcome: Outcome, field: str) -> bool:
        """Say whether a call ended because of this: the error names the field, a limit with its numbers, too."""
        if outcome.ok or not outcome.status.details:
            return False
        if not self.value_max:
            return outcome.reason == "INVALID_ARGUMENT" and any(last(text) == field for text in outcome.fields)
        metadata = outcome.metadata
        return last(metadata.get("limit", "")) == field and float(metadata["limit_max"]) == self.value_max


def last(path: str) -> str:
    """Return the name at the end of a path of a field: "tags" of "record.tags[0]"."""
    return path.rpartition(".")[2].partition("[")[0]


def aspects(field: FieldDescriptor, settings: Mapping[str, int]) -> Iterator[Aspect]:
    """Yield what the rule of a field says."""
    rule = field.GetOptions().Extensions[options_pb2.rule]
    for name in rule.limit:
        yield limit_of(field, name, settings[name.lower()])
    for name in ("chars_max", "bytes_max", "items_max", "value_max"):
        if value_max := getattr(rule, name):
            yield limit_of(field, name, value_max)
    for name, beyond in (("id", value_of("no id")), ("json", value_of("{")), ("required", value_of(""))):
        if getattr(rule, name):
            yield Aspect(name=name, beyond=beyond)


def limit_of(field: FieldDescriptor, name: str, value_max: int) -> Aspect:
    """Return a limit; what it counts stands in its name."""
    kind: Callable[[int], Change] = value_of
    if name.lower().endswith("chars_max"):
        kind = text_of_chars
    elif name.lower().endswith("bytes_max"):
        kind = partial(text_of_bytes, is_json=field.name.endswith("_json"))
    elif field.is_repeated:
        kind = items_of
    return Aspect(name=name, value_max=value_max, within=kind(value_max), beyond=kind(value_max + 1))


FIELDS = {path[-1].full_name: path[-1] for rpc in RPCS.values() for path in paths(rpc)}
RULED = {name: field for name, field in FIELDS.items() if field.GetOptions().HasExtension(options_pb2.rule)}
# Those that close or delete what others need come last.
MESSAGES = sorted(
    {field.containing_type.full_name for field in RULED.values()},
    key=lambda name: (last(name).startswith(("Close", "Delete", "Erase", "Retract", "Reset")), name),
)
NAMED = sorted({name for field in RULED.values() for name in field.GetOptions().Extensions[options_pb2.rule].limit})


@cache
def requests_with() -> Mapping[str, Sequence[tuple[Rpc, FieldPath]]]:
    """Return the RPCs whose requests have a field, and its path in them, by its name."""
    found: dict[str, list[tuple[Rpc, FieldPath]]] = {}
    for rpc in RPCS.values():
        for path in paths(rpc):
            found.setdefault(path[-1].full_name, []).append((rpc, path))
    return found


def broken(caller: Caller, field: FieldDescriptor, aspect: Aspect) -> str:
    """Return what is wrong about an aspect of a rule, unless a request shows that it holds."""
    seen = []
    for rpc, path in requests_with()[field.full_name]:
        for case in cases(rpc, caller.things) or [rpc.request()]:
            beyond = caller.call(rpc.name, changed(rpc, case, path, aspect.beyond))
            if not aspect.refuses(beyond, field.name):
                seen.append(f"{rpc}: takes more: {beyond}")
                continue
            if aspect.within is None:
                return ""
            within = caller.call(rpc.name, changed(rpc, case, path, aspect.within))
            if not aspect.refuses(within, field.name):
                return ""
            seen.append(f"{rpc}: refuses {aspect.value_max}: {within}")
    return str(seen[:3])


@pytest.mark.parametrize("message", MESSAGES)
def test_the_rules_of_fields_hold_at_their_limits_and_above(message: str, many: Caller):
    """Those that the proto states. A value at a limit may name nothing that is there: it is not the limit then."""
    faults = [
        f"{field.name}, {aspect.name}: {fault}"
        for field in RULED.values()
        if field.containing_type.full_name == message
        for aspect in aspects(field, DEFAULTS)
        if (fault := broken(many, field, aspect))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("setting", NAMED)
def test_fields_follow_the_setting_that_their_rule_names(setting: str, few: Caller):
    faults = [
        f"{name}: {fault}"
        for name, field in RULED.items()
        for aspect in aspects(field, LOWERED)
        if aspect.name == setting and (fault := broken(few, field, aspect))
    ]
    assert not faults, "\n".join(faults)


NO_TIMES = (Timestamp(seconds=2**60), Timestamp(nanos=-1))
TIMES = {
    "record.expires_at": lambda time: ("InsertWMRecord", record(expires_at=time)),
    "message.said_at": lambda time: (
        "SendMessage",
        contexts.SendMessageRequest(message=message_pb2.MessageInput(content="x", said_at=time)),
    ),
    "memory.happened_at": lambda time: (
        "RetainMemory",
        memories.RetainMemoryRequest(memory=memories.MemoryInput(text="x", happened_at=time), subject_user_id="ada"),
    ),
}


@pytest.mark.parametrize("field", TIMES)
def test_a_time_of_no_calendar_is_refused(field: str, many: Caller):
    for time_ in NO_TIMES:
        outcome = many.call(*TIMES[field](time_))
        assert (outcome.reason, outcome.fields) == ("INVALID_ARGUMENT", [field])


# 49 turns of a loop, and 22 times the content of a node.
MANY_STEPS = "[1,2,3,4,5,6,7].map(a,[1,2,3,4,5,6,7].map(b,a)).size()>0?'a':'b'"
MANY_BYTES = "[entity.data.content].map(a,a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a)[0]"


def history_by(caller: Caller, content: str, *, nodes: int) -> Outcome:
    """Return the history of some nodes, by a mapping with one expression."""
    registration = mapping([said(content)])
    caller.done("RegisterMapping", registration)
    names = {"app_id": registration.app_id, "mapping_name": registration.mapping_name}
    question = history.GetChatHistoryRequest(node_id=session_of(caller, nodes), **names)
    return caller.call("GetChatHistory", question)


@pytest.mark.parametrize("content", [MANY_STEPS, MANY_BYTES])
def test_an_evaluation_over_its_steps_or_bytes_fails_its_node_alone(content: str, few: Caller, many: Caller):
    """By the contract: a node on which an expression fails gives no message, and is counted."""
    (answer,) = history_by(few, content, nodes=1).answers
    assert (len(answer.messages), answer.nodes_failed) == (0, 1)
    (answer,) = history_by(many, content, nodes=1).answers
    assert (len(answer.messages), answer.nodes_failed) == (1, 0)


def test_a_call_over_its_steps_is_refused(few: Caller, many: Caller):
    turns = "[1,2,3,4,5,6,7,8,9].map(a,a).size()>0?'a':'b'"
    assert len(history_by(few, turns, nodes=2).answers[0].messages) == 2
    assert len(history_by(many, turns, nodes=4).answers[0].messages) == 4

    refused = history_by(few, turns, nodes=4)

    assert (refused.code, refused.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "COST_EXCEEDED")
    assert (refused.metadata["limit"], refused.metadata["limit_max"]) == ("call_steps", "120")
    assert 120 < int(refused.metadata["value"]) <= 220  # the last evaluation may have been a whole one


def test_one_call_more_than_a_process_may_answer_is_refused(few: Caller, lowered: tuple[Addresses, Urls]):
    """Uploads that wait for their bytes are calls under way."""
    calls_max = LOWERED["calls_max"]
    may_end = threading.Event()

    def waiting() -> Iterator[memory.UploadBlobRequest]:
        yield upload(few, 0)[0]
        may_end.wait(60)

    with ThreadPoolExecutor(calls_max) as pool:
        method = few.client.method(RPCS["UploadBlob"])
        metadata = [("authorization", f"Bearer {few.key}")]
        uploads = [pool.submit(method, waiting(), metadata=metadata) for _ in range(calls_max)]
        try:
            with psycopg.connect(lowered[1].superuser, autocommit=True) as connection:
                while uploads_under_way(connection) < calls_max:
                    assert not any(one.done() for one in uploads)
                    time.sleep(0.01)
            question = memory.FetchWMRecordRequest(working_memory_id=few.things.record_id)
            refused = few.call("FetchWMRecord", question)
            assert (refused.code, refused.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CALLS")
            assert refused.metadata == {"limit": "calls", "limit_max": str(calls_max), "value": str(calls_max + 1)}
        finally:
            may_end.set()
        assert all(one.result(60).size_bytes == 0 for one in uploads)
    assert few.call("FetchWMRecord", question).ok


def uploads_under_way(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM context.blob WHERE state = 'writing' AND due_at > now()").fetchone()
    return 0 if row is None else int(row[0])


def test_a_process_has_no_more_connections_than_it_may(few: Caller, lowered: tuple[Addresses, Urls]):
    """Calls that find none free wait for one: they are not refused."""
    busiest = 0
    ended = threading.Event()

    def watch() -> None:
        nonlocal busiest
        with psycopg.connect(lowered[1].superuser, autocommit=True) as connection:
            while not ended.is_set():
                (count,) = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND application_name = 'entity-service'"
                ).fetchone() or (0,)
                busiest = max(busiest, count)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(LOWERED["calls_max"] - 1) as pool:
        outcomes = list(pool.map(lambda _: few.call("CreateNode", node()), range(100)))
    ended.set()
    watcher.join()
    assert all(outcome.ok for outcome in outcomes)
    assert 1 <= busiest <= LOWERED["database_pool_max"]
