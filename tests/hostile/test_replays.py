"""A write that was answered gets that answer again, whatever has become of its object since, on any replica.

The RPCs are found by reflection: each that takes a `request_id` is in `FATES`, with what happens to its object: it is
changed, closed, past its time, deleted. After an erasure its answer is gone, and the caller is told so.

Each of them is also called while Postgres goes away right after the commit: the caller is told nothing, and the repeat
gets the answer.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.context.v1 import agent_templates_pb2 as agent_templates
from contextkeep.context.v1 import agents_pb2 as agents
from contextkeep.context.v1 import context_windows_pb2 as windows
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import definitions_pb2 as definitions
from contextkeep.context.v1 import erasures_pb2 as erasures
from contextkeep.context.v1 import knowledge_bases_pb2 as bases
from contextkeep.context.v1 import mcp_servers_pb2 as mcp_servers
from contextkeep.context.v1 import memories_pb2 as memories
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import pages_pb2 as pages
from contextkeep.context.v1 import specialists_pb2 as specialists
from contextkeep.context.v1 import tools_pb2 as tools
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from contextkeep.errors import Unavailable
from service_runtime.postgres import Tenant
from service_runtime.rpc.calls import current_call
from service_runtime.statements.requests import Requests
from service_runtime.values.ids import new_id
from tests.conftest import Urls
from tests.hostile.calling import WHOLE_SHARES, AnyTenant, Case, Client, Key
from tests.hostile.copies import Another
from tests.hostile.stalls import watched
from tests.hostile.test_http import HttpClient, http  # noqa: F401
from tests.hostile.test_races import KEY, ONCE, with_request_id
from tests.hostile.things import RPCS, Things, cases
from tests.rpcs import Rpc

Fate = Callable[[Things, Any], Message | str]  # of the things and the answer: a request, or a statement

ERASED = "ERASED"


def _closing_window(t: Things, _: Any) -> Message:
    return windows.CloseWindowRequest(window_id=t.window_id)


def _closing_context(t: Things, _: Any) -> Message:
    return contexts.CloseContextRequest(context_id=t.context_id)


def _expiring_contexts(t: Things, _: Any) -> str:
    return "UPDATE context.context SET expires_at = now() - interval '1 minute'"


def _deleting_context(t: Things, _: Any) -> Message:
    return contexts.DeleteContextRequest(context_id=t.context_id)


def _deleting_record(record_id: Callable[[Any], str]) -> list[Fate]:
    return [
        lambda t, answer: memory.UpdateWMRecordRequest(
            record=memory.WMRecordInput(working_memory_id=record_id(answer), name="another"),
            update_mask=FieldMask(paths=["name"]),
        ),
        lambda t, answer: memory.DeleteWMRecordRequest(working_memory_id=record_id(answer)),
        lambda t, answer: memory.DeleteWMRecordRequest(working_memory_id=record_id(answer), purge=True),
    ]


def _deleting_node(node_id: Callable[[Things, Any], str]) -> list[Fate]:
    return [
        lambda t, answer: graph.UpdateNodeDataRequest(node_id=node_id(t, answer), data_json='{"b": 2}'),
        lambda t, answer: graph.ArchiveNodeRequest(node_id=node_id(t, answer)),
        lambda t, answer: graph.DeleteNodeRequest(node_id=node_id(t, answer)),
    ]


def _forgetting(t: Things, answer: Any) -> Message:
    return memories.ForgetMemoryRequest(memory_id=answer.memory.memory_id, subject_user_id=t.user_id)


def _deleting_page(t: Things, _: Any) -> Message:
    return pages.DeletePageRequest(page_id=t.page_id, subject_user_id=t.user_id)


def _deleting_base(t: Things, _: Any) -> Message:
    return bases.DeleteKnowledgeBaseRequest(name=t.base_name)


def _deleting_server(t: Things, _: Any) -> Message:
    return mcp_servers.DeleteMcpServerRequest(server_id=t.server_id)


def _retiring(t: Things, _: Any) -> Message:
    return definitions.RetireDefinitionRequest(name=t.definition_name)


# What becomes of a context, and of what belongs to it, one after the other; behind the last the answer is gone.
OF_CONTEXT: list[Fate] = [_closing_context, _expiring_contexts]
OF_WINDOW: list[Fate] = [_closing_window, *OF_CONTEXT]
NONE: list[Fate] = []
FATES: dict[str, list[Fate]] = {
    **dict.fromkeys(
        ("SendMessage", "AppendMessages", "UpdateContext", "CloseContext", "RetractMessages", "CreateTask"), OF_CONTEXT
    ),
    **dict.fromkeys(("UpdateTask", "CancelTask", "PutArtifact"), OF_CONTEXT),
    **dict.fromkeys(("OpenWindow", "CloseWindow", "UpdateWindow", "Pin", "Unpin", "PatchState"), OF_WINDOW),
    **dict.fromkeys(("CreateCheckpoint", "Rollback", "ReportResponse", "ForkWindow", "MergeWindow"), OF_WINDOW),
    **dict.fromkeys(("RecordUsage", "RecordOutcome", "CommitFold"), OF_WINDOW),
    "DeleteContext": [],
    "Erase": [lambda t, answer: erasures.PutHoldRequest(subject=t.held_user_id, reason="x")],
    "PutHold": [lambda t, answer: erasures.ReleaseHoldRequest(hold_id=answer.hold.hold_id)],
    "ReleaseHold": [],
    "InsertWMRecord": _deleting_record(lambda answer: str(answer.record.working_memory_id)),
    "UpdateWMRecord": _deleting_record(lambda answer: str(answer.record.working_memory_id)),
    "UploadBlob": _deleting_record(lambda answer: str(answer.working_memory_id)),
    "StartUpload": [
        lambda t, answer: "DELETE FROM context.upload WHERE id NOT IN (SELECT upload_id FROM context.upload_part)"
    ],
    "CreateNode": _deleting_node(lambda t, answer: str(answer.node.id)),
    "UpdateNodeData": _deleting_node(lambda t, answer: t.node_id),
    "AppendProgress": _deleting_node(lambda t, answer: t.node_id),
    "WriteGraph": _deleting_node(lambda t, answer: t.node_id),
    "CreateEdge": [lambda t, answer: graph.DeleteEdgeRequest(edge_id=answer.edge.id)],
    "UpdateEdgeData": [
        lambda t, answer: graph.UpdateEdgeDataRequest(edge_id=t.edge_id, data_json='{"b": 2}'),
        lambda t, answer: graph.DeleteEdgeRequest(edge_id=t.edge_id),
    ],
    "RetainMemory": [_forgetting],
    "UpdateMemory": [
        lambda t, answer: memories.UpdateMemoryRequest(
            memory_id=t.memory_id,
            memory=memories.MemoryInput(text="another one"),
            update_mask=FieldMask(paths=["text"]),
            subject_user_id=t.user_id,
        )
    ],
    "ForgetMemory": [],
    "ConsolidateMemories": [],
    "PutPage": [_deleting_page],
    "DeletePage": [],
    "PutAgent": [lambda t, answer: agents.DeleteAgentRequest(agent_id=t.agent_id)],
    "PutAgentTemplate": [
        lambda t, answer: agents.DeleteAgentRequest(agent_id=t.agent_id),
        lambda t, answer: agent_templates.DeleteAgentTemplateRequest(template_id=t.template_id),
    ],
    **dict.fromkeys(("DeleteAgent", "DeleteAgentTemplate", "DeleteSpecialist", "DeleteKnowledgeBase"), NONE),
    "PutKnowledgeBase": [_deleting_base],
    "AddDocument": [
        lambda t, answer: bases.RemoveDocumentRequest(
            knowledge_base=t.base_name, document_id=answer.document.document_id
        ),
        _deleting_base,
    ],
    "RemoveDocument": [_deleting_base],
    **{name: [_deleting_server] for name in ("PutMcpServer", "ApproveMcpTool", "UnapproveMcpTool")},
    "DeleteMcpServer": [],
    "PutSpecialist": [
        lambda t, answer: specialists.DeleteSpecialistRequest(specialist_id=answer.specialist.specialist_id)
    ],
    "PutDefinition": [_retiring],
    "ApproveDefinition": [_retiring],
    "RetireDefinition": [],
    "PutFacet": [lambda t, answer: "DELETE FROM context.compiled_page"],
    "PutProfile": [],  # nothing removes one, and a version never changes
    "SetLearning": [],
    "UpdateProviderSetting": [],
    "PutContextSetting": [],
}

# Receipts: they say how far an erasure is, so a repeat is asked for by the id that was answered.
RECEIPTS = {"DeleteContext", "Erase"}
# They do more after the commit: they make a pack, and remember a lesson. A repeat goes on with that if it still can.
TWO_STEPS = {"ReportResponse", "RecordOutcome"}

# Those whose answers belong to the context that `_deleting_context` erases.
ABOUT_CONTEXT = sorted(name for name, fates in FATES.items() if fates is OF_CONTEXT or fates is OF_WINDOW)
# What a repeat is told anew: a key is shown once, and recall is not part of what is written.
ANEW = re.compile(r"\brecall \{.*", re.DOTALL)


@pytest.fixture(scope="module")
def replica(shared_urls: Urls, blob_folder: Path) -> Iterator[Client]:
    """Another process of both services, as far as Postgres knows."""
    with (
        watched("replica", shared_urls.service, blob_folder, callers=AnyTenant(), **WHOLE_SHARES) as addresses,
        Client.open(addresses) as client,
    ):
        yield client


def test_every_idempotent_rpc_has_fates():
    assert set(FATES) == {rpc.name for rpc in ONCE}


class Outage:
    """Postgres goes away for the callers of a tenant, right after a transaction that stores an answer is committed.

    Args:
        urls: Where the tenant is.
    """

    def __init__(self, urls: Urls) -> None:
        self._urls = urls
        self._rpc: Rpc | None = None
        self._tenant_id: uuid.UUID | None = None
        self._answered_before = 0
        self.has_begun = False

    def comes_after(self, rpc: Rpc, tenant_id: uuid.UUID) -> None:
        """Begin with the next answer to an RPC."""
        self._rpc, self._tenant_id, self.has_begun = rpc, tenant_id, False
        self._answered_before = self._answered()

    def ends(self) -> None:
        self._tenant_id = None

    async def run(self, tenant: Tenant, run: Callable[[], Awaitable[Any]]) -> Any:
        if tenant.tenant_id != self._tenant_id or current_call.get() is None:
            return await run()
        if self.has_begun:
            raise Unavailable("Postgres is gone", dependency="postgres")
        done = await run()
        if self._answered() > self._answered_before:
            self.has_begun = True
            raise Unavailable("Postgres is gone", dependency="postgres")
        return done

    def _answered(self) -> int:
        assert self._rpc and self._tenant_id
        counting = f"SELECT count(*) FROM {self._rpc.process}.request WHERE tenant_id = %s AND rpc = %s"
        with psycopg.connect(self._urls.of(self._tenant_id).superuser) as connection:
            (count,) = connection.execute(counting, (self._tenant_id, self._rpc.name)).fetchone() or (0,)
            return int(count)


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch, shared_urls: Urls) -> Iterator[Outage]:
    made, once_more = Outage(shared_urls), Tenant._once_more

    async def run(tenant: Tenant, run: Callable[[], Awaitable[Any]]) -> Any:
        return await made.run(tenant, lambda: once_more(tenant, run))

    monkeypatch.setattr(Tenant, "_once_more", run)
    yield made
    made.ends()


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements about answers that calls make after, or next to, the transaction of their write."""
    made: list[str] = []

    def noting(name: str) -> Callable[..., Any]:
        method = getattr(Requests, name)

        def note(self: Requests, tenant: Any, request: Any, *more: Any) -> Any:
            made.append(f"{name} {request.rpc}")
            return method(self, tenant, request, *more)

        return note

    for name in ("complete", "stored"):
        monkeypatch.setattr(Requests, name, noting(name))
    return made


@pytest.mark.parametrize("rpc", ONCE, ids=str)
def test_an_answer_outlives_its_object(
    rpc: Rpc, client: Client, replica: Client, another: Another, shared_urls: Urls, outage: Outage, lookups: list[str]
):
    key, things = another()
    things = _prepared(client, rpc, things, key, shared_urls)
    lookups.clear()
    position, case, first = _answered(client, rpc, things, key)
    # An answer is stored in the transaction of the write: that costs no statement after it.
    assert rpc.name in TWO_STEPS or not [one for one in lookups if one.startswith("complete")]
    _outlives(rpc, case, first, FATES[rpc.name], key, things, (client, replica), shared_urls)
    if rpc.name in ABOUT_CONTEXT:
        _happen(client, key, "UPDATE context.context SET expires_at = NULL", shared_urls)
        _happen(client, key, _deleting_context(things, first), shared_urls)
        gone = replica.call(rpc, case, key=key)
        assert gone.reason == ERASED, str(gone)

    # The same in another tenant, whose caller is told nothing.
    key, things = another()
    things = _prepared(client, rpc, things, key, shared_urls)
    case = with_request_id(_cases(rpc, things)[position], str(new_id()))
    outage.comes_after(rpc, key)
    lost = client.call(rpc, case, key=key)
    outage.ends()
    assert outage.has_begun, f"no answer was stored: {lost}"
    assert lost.reason == "UNAVAILABLE", str(lost)
    fates = FATES[rpc.name] if rpc.name in TWO_STEPS else []  # the first answer has met them above
    if rpc.name in ABOUT_CONTEXT and rpc.name not in TWO_STEPS:  # these need no answer
        for fate in FATES[rpc.name]:
            _happen(client, key, fate(things, None), shared_urls)
    again = replica.call(rpc, case, key=key)
    assert again.ok, f"after an outage: {again}"
    assert _fields(again.answers[0]) == _fields(first), "after an outage"
    _outlives(rpc, case, again.answers[0], fates, key, things, (client, replica), shared_urls)


@pytest.mark.parametrize(
    ("name", "position", "left_out"), [("ReportResponse", 0, "pack"), ("RecordOutcome", 2, "memory_id")]
)
def test_a_second_step_that_can_no_longer_be_is_left_out(
    name: str,
    position: int,
    left_out: str,
    client: Client,
    replica: Client,
    another: Another,
    shared_urls: Urls,
    outage: Outage,
):
    """A kill after the first step, and then the window is gone: the repeat tells what was written, and not that."""
    rpc, answers = RPCS[name], []
    for fates in (NONE, OF_WINDOW):
        key, things = another()
        case = with_request_id(cases(rpc, things)[position], str(new_id()))
        outage.comes_after(rpc, key)
        assert client.call(rpc, case, key=key).reason == "UNAVAILABLE"
        outage.ends()
        for fate in fates:
            _happen(client, key, fate(things, None), shared_urls)
        first, again = (replica.call(rpc, case, key=key) for _ in range(2))
        assert first.ok, str(first)
        assert _said(again.answers[0]) == _said(first.answers[0])
        answers.append({field.name for field, _ in first.answers[0].ListFields()})
    whole, rest = answers
    assert rest == whole - {left_out} != whole


def test_an_answer_is_nobody_elses(client: Client, another: Another):
    """Of the same bounds, with the same request: not even when the call would fail for them."""
    tenant_id, _ = another()
    ada, bob = (Key(tenant_id=tenant_id, user_id=name) for name in ("ada", "bob"))
    request = contexts.SendMessageRequest(message=message_pb2.MessageInput(content="x"), request_id=str(new_id()))
    rpc = RPCS["SendMessage"]
    (sent,) = client.call(rpc, request, key=ada).answers
    assert client.call(rpc, request, key=bob).reason == "REQUEST_ID_REUSED"
    closing = contexts.CloseContextRequest(context_id=sent.context_id)
    assert client.call(RPCS["CloseContext"], closing, key=ada).ok
    assert client.call(rpc, request, key=Key(tenant_id=uuid.uuid4(), user_id="ada")).answers[0].created
    assert client.call(rpc, request, key=ada).answers[0].context_id == sent.context_id
    reads = Key(tenant_id=tenant_id, user_id="ada", scopes=("read",))
    assert client.call(rpc, request, key=reads).reason == "PERMISSION_DENIED"
    naming = contexts.SendMessageRequest()
    naming.CopyFrom(request)
    naming.subject_user_id = "ada"
    undelegated = Key(tenant_id=tenant_id, scopes=("read", "write"))
    assert client.call(rpc, naming, key=undelegated).reason == "PERMISSION_DENIED"


def test_the_clock_does_not_refuse_a_repeat(client: Client, replica: Client, another: Another):
    """A context whose `expires_at` has passed since its first message was answered."""
    key, _ = another()
    soon = Timestamp()
    soon.FromNanoseconds(time.time_ns() + 3 * 10**9)
    request = contexts.SendMessageRequest(
        message=message_pb2.MessageInput(content="x"),
        context=contexts.ContextInput(expires_at=soon),
        request_id=str(new_id()),
    )
    (sent,) = client.call(RPCS["SendMessage"], request, key=key).answers
    time.sleep(max(0, soon.ToNanoseconds() - time.time_ns()) / 10**9 + 0.01)
    again = replica.call(RPCS["SendMessage"], request, key=key)
    assert again.ok, str(again)
    assert again.answers[0].message.seq == sent.message.seq


def test_json_over_http_answers_a_repeat(client: Client, http: HttpClient, another: Another, shared_urls: Urls):  # noqa: F811
    """What was answered over gRPC, after the context was closed, as JSON or protobuf in a body."""
    key, things = another()
    _, case, first = _answered(client, RPCS["SendMessage"], things, key)
    _happen(client, key, _closing_context(things, first), shared_urls)
    again = http.call(RPCS["SendMessage"], case, key=key)
    assert again.ok, str(again)
    assert _said(again.answers[0]) == _said(first)


def test_a_tool_answers_a_repeat(client: Client, replica: Client, another: Another, shared_urls: Urls):
    """`context_send` is `SendMessage`, whoever calls it how."""
    key, things = another()
    called = tools.ExecuteToolRequest(
        tool_name="context_send",
        arguments_json=f'{{"content": "x", "context_id": "{things.context_id}", "request_id": "{new_id()}"}}',
    )
    (first,) = client.call(RPCS["ExecuteTool"], called, key=key).answers
    _happen(client, key, _closing_context(things, first), shared_urls)
    again = replica.call(RPCS["ExecuteTool"], called, key=key)
    assert again.ok, str(again)
    assert again.answers[0] == first


def _outlives(
    rpc: Rpc,
    case: Case,
    first: Any,
    fates: list[Fate],
    key: uuid.UUID,
    things: Things,
    replicas: tuple[Client, Client],
    urls: Urls,
) -> None:
    """Let fates happen to what a call has answered, on one replica, and repeat it on another after each of them."""
    client, replica = replicas
    for number, fate in enumerate([None, *fates]):
        if fate:
            _happen(client, key, fate(things, first), urls)
        again = replica.call(rpc, case, key=key)
        assert again.ok, f"after fate {number}: {again}"
        if rpc.name in RECEIPTS:
            assert again.answers[0].erasure.erasure_id == first.erasure.erasure_id
        else:
            assert _said(again.answers[0]) == _said(first), f"after fate {number}"


def _prepared(client: Client, rpc: Rpc, things: Things, key: uuid.UUID, urls: Urls) -> Things:
    """Let there be what a call needs beyond what `seeded` makes: a fold, and nobody who forbids an erasure."""
    if rpc.name == "Erase":
        _happen(client, key, "DELETE FROM context.hold", urls)
    if rpc.name != "CommitFold":
        return things
    listing = "\n".join(f"line {number} of a listing that nobody needs again" for number in range(30))
    for number in range(30):
        call = message_pb2.Part(tool_call=message_pb2.ToolCall(id=f"c{number}", name="look", arguments_json="{}"))
        result = message_pb2.ToolResult(tool_call_id=f"c{number}", content_json=json.dumps(listing))
        said = [
            message_pb2.MessageInput(role="assistant", content=f"I look at number {number}.", parts=[call]),
            message_pb2.MessageInput(role="tool", parts=[message_pb2.Part(tool_result=result)]),
        ]
        appending = contexts.AppendMessagesRequest(context_id=things.context_id, messages=said)
        _happen(client, key, appending, urls)
    opening = windows.OpenWindowRequest(
        context_id=things.context_id,
        model="m",
        context_tokens=12_000,
        token_budget=1,
        output_reservation=1,
    )
    (opened,) = client.call(RPCS["OpenWindow"], opening, key=key).answers
    _happen(client, key, windows.PrepareFoldRequest(window_id=opened.window.window_id), urls)
    return replace(things, window_id=opened.window.window_id)


def _cases(rpc: Rpc, things: Things) -> list[Any]:
    made = list(cases(rpc, things))
    if rpc.name == "ConsolidateMemories":
        for case in made:
            case.apply, case.plan = True, things.plan
    return made


def _answered(client: Client, rpc: Rpc, things: Things, key: object) -> tuple[int, Case, Any]:
    """Return which request of an RPC is answered first, with a request id, the request, and its answer."""
    refused = []
    for position, case in enumerate(_cases(rpc, things)):
        if with_request_id(case, str(new_id())) is None or getattr(case, "standalone", False):
            continue
        outcome = client.call(rpc, case, key=key)
        if outcome.ok:
            return position, case, outcome.answers[0]
        refused.append(str(outcome))
    pytest.fail(f"no request of {rpc} is answered: {refused}")


def _happen(client: Client, key: uuid.UUID, fate: Message | str, urls: Urls) -> None:
    if isinstance(fate, str):
        with psycopg.connect(urls.of(key).superuser, autocommit=True) as connection:
            connection.execute(f"{fate} {'AND' if ' WHERE ' in fate else 'WHERE'} tenant_id = %s", (key,))
        return
    rpc = next(rpc for rpc in RPCS.values() if isinstance(fate, rpc.request))
    outcome = client.call(rpc, fate, key=key)
    assert outcome.ok or outcome.reason.endswith(("_NOT_FOUND", "_ENDED")), str(outcome)


def _said(answer: Any) -> str:
    return ANEW.sub("", KEY.sub("", str(answer)))


def _fields(answer: Any) -> set[str]:
    """Return the names of the fields that are set, at any depth."""
    return set(re.findall(r"^ *(\w+)(?=: | \{)", _said(answer), re.MULTILINE))
