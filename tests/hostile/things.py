"""What a tenant has, and at least one request of each RPC that names it.

`CASES` is the one table of these tests that knows the RPCs: fuzzing starts from its requests, and the walks over two
tenants make them in the name of somebody else. A new RPC needs a line here, and a test says so.
"""

from __future__ import annotations

import contextlib
import functools
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from context_service.transfer.pure import FIRST_SEAL, sealed
from contextkeep.context.v1 import administration_pb2 as administration
from contextkeep.context.v1 import agents_pb2 as agents
from contextkeep.context.v1 import chat_history_pb2 as history
from contextkeep.context.v1 import context_query_pb2 as querying
from contextkeep.context.v1 import context_windows_pb2 as windows
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import definitions_pb2 as definitions
from contextkeep.context.v1 import erasures_pb2 as erasures
from contextkeep.context.v1 import knowledge_bases_pb2 as bases
from contextkeep.context.v1 import knowledge_pb2 as knowledge
from contextkeep.context.v1 import mcp_servers_pb2 as mcp_servers
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import specialists_pb2 as specialists
from contextkeep.context.v1 import tools_pb2 as tools
from contextkeep.context.v1 import transfer_pb2 as transfer
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from contextkeep.options_pb2 import Call
from service_runtime.ids import new_id
from tests.fakes.mcp_server import FakeMcp, FakeTool, fake_mcp
from tests.hostile.calling import Case, Client, Key, Outcome
from tests.rpcs import Rpc, all_rpcs

RPCS = {rpc.name: rpc for rpc in all_rpcs()}

SECRET = "what nobody else may read"
ASKED = "may nobody read what is secret?"  # finds it; an answer repeats the question
LAST_SEQ = 5  # of the context


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """Names of a tenant's things, each unlike any other text."""

    node_id: str
    child_id: str
    other_id: str
    edge_id: str
    external_id: str
    node_name: str
    embedding_name: str
    record_id: str
    blob_record_id: str
    blob_key: str
    upload_id: str
    record_name: str
    app_id: str
    mapping_name: str
    context_id: str
    message_id: str
    task_id: str
    artifact_id: str
    window_id: str
    fork_id: str
    profile_name: str
    agent_id: str
    template_id: str
    server_id: str
    specialist_id: str
    pin_id: str
    memory_id: str
    memory_key: str
    plan: str  # of consolidating memories
    page_id: str
    page_slug: str
    base_name: str
    document_id: str
    definition_name: str
    compiled_page_id: str
    test_id: str  # of sources
    thread_id: str  # what another system calls the context
    user_id: str  # who may own some
    doomed_id: str  # a context of which no other request knows
    erasure_id: str  # of one that is gone
    subject_erasure_id: str  # of one that never was
    held_user_id: str
    hold_id: str
    call_id: str  # of an administrator
    job_id: str
    import_id: str
    request_id: str  # was used, in both services

    def values(self) -> list[str]:
        return [getattr(self, name) for name in self.__slots__]


def invented() -> Things:
    """Return names of things that never were."""
    label = uuid.uuid4().hex
    return Things(
        node_id=str(new_id()),
        child_id=str(new_id()),
        other_id=str(new_id()),
        edge_id=str(new_id()),
        external_id=f"external {label}",
        node_name=f"node {label}",
        embedding_name=f"embedding {label}",
        record_id=str(new_id()),
        blob_record_id=str(new_id()),
        blob_key=f"blob_{label}",
        upload_id=str(new_id()),
        record_name=f"record {label}",
        app_id=f"app {label}",
        mapping_name=f"mapping {label}",
        context_id=str(new_id()),
        message_id=f"message {label}",
        task_id=str(new_id()),
        artifact_id=f"artifact {label}",
        window_id=str(new_id()),
        fork_id=str(new_id()),
        profile_name=f"profile-{label}",
        agent_id=f"agent {label}",
        template_id=f"template {label}",
        server_id=f"s-{label}",
        specialist_id=f"a-{label}",
        pin_id=str(new_id()),
        memory_id=str(new_id()),
        memory_key=f"key {label}",
        plan=f"plan {label}",
        page_id=str(new_id()),
        page_slug=f"page-{label}",
        base_name=f"base {label}",
        document_id=str(new_id()),
        definition_name=f"definition {label}",
        compiled_page_id=str(new_id()),
        test_id=str(new_id()),
        thread_id=f"thread {label}",
        user_id=f"user {label}",
        doomed_id=str(new_id()),
        erasure_id=str(new_id()),
        subject_erasure_id=str(new_id()),
        held_user_id=f"held {label}",
        hold_id=str(new_id()),
        call_id=uuid.uuid4().hex,
        job_id=str(new_id()),
        import_id=str(new_id()),
        request_id=str(new_id()),
    )


# Only a key in Postgres makes and revokes keys, and operates; those of these tests are none. What such keys may is in
# `test_given_keys` and `test_operators`. What goes on behind its answer would change what these tests compare, so who
# is named here is held: whom an erasure reaches is in context_service/erasure/test_erasures.py.
OF_STORED_KEYS = {
    *("Erase", "GetSubjectErasure", "EraseOwned", "CreateKey", "RevokeKey"),
    *(rpc.name for rpc in RPCS.values() if rpc.options.scope == Call.OPERATOR),
}

OF_ADMINS = {"ImportArchive", "RunSourceTest"}


def seeded(client: Client, key: object, named: Things | None = None) -> Things:
    """Write everything that `CASES` names, with `SECRET` in all that can hold a text, and return the names.

    Args:
        client: Calls the services.
        key: Whose it is to be.
        named: What the caller can choose has these names.
    """
    t = _with_definitions(client, key, _with_servers(client, key, _with_agents(client, key, named or invented())))
    data_json = f'{{"role": "user", "content": "{SECRET}", "turn": {{"index": 1}}}}'
    node = {"general_type_name": "Session", "data_json": data_json, "agent_bundle_id": SECRET}

    def done(name: str, case: Case) -> Outcome:
        outcome = client.call(RPCS[name], case, key=_writer(key, name))
        assert outcome.ok, f"{name}: {outcome}"
        return outcome

    done(
        "WriteGraph",
        graph.WriteGraphRequest(
            nodes=[
                graph.NodeInput(id=t.node_id, external_id=t.external_id, name=t.node_name, status="Running", **node),
                graph.NodeInput(id=t.child_id, **node),
                graph.NodeInput(id=t.other_id, **node),
            ],
            edges=[
                graph.EdgeInput(
                    id=t.edge_id,
                    from_node_id=t.node_id,
                    to_node_id=t.child_id,
                    edge_type="Contains",
                    data_json=data_json,
                ),
                graph.EdgeInput(from_node_id=t.node_id, to_node_id=t.other_id, edge_type="Contains"),
            ],
            request_id=t.request_id,
        ),
    )
    # A second graph and a second edge type, so that lists of them have two pages.
    done("CreateNode", graph.CreateNodeRequest(node=graph.NodeInput(general_type_name="Session", graph_name="second")))
    second = graph.EdgeInput(from_node_id=t.child_id, to_node_id=t.other_id, edge_type="Owns")
    done("CreateEdge", graph.CreateEdgeRequest(edge=second))
    done("SetNodeIO", graph.SetNodeIORequest(node_id=t.node_id, input_json=f'"{SECRET}"', output_json=f'"{SECRET}"'))
    done("UpdateNodeStatus", graph.UpdateNodeStatusRequest(node_id=t.child_id, status="Running", message=SECRET))
    for value_json in (f'"{SECRET}"', "null"):  # two more, so that a list of them has several pages
        done(
            "AppendProgress",
            graph.AppendProgressRequest(
                node_id=t.child_id, type=graph.ENVELOPE_TYPE_VALUE, sub_type=SECRET, value_json=value_json
            ),
        )
    for name in (t.embedding_name, "second"):  # two, so that a list of them has two pages
        done(
            "UpsertEmbedding",
            graph.UpsertEmbeddingRequest(
                node_id=t.node_id, name=name, vector=[1, 0.5], model=SECRET, metadata_json=f'{{"note": "{SECRET}"}}'
            ),
        )
    done("UpsertEmbedding", graph.UpsertEmbeddingRequest(node_id=t.child_id, name=t.embedding_name, vector=[1, 1]))
    record = {
        "entity_node_id": t.node_id,
        "memory_type": "data/json",
        "name": t.record_name,
        "description": SECRET,
        "metadata_json": f'{{"note": "{SECRET}"}}',
        "tags": [SECRET],
    }
    done(
        "InsertWMRecord",
        memory.InsertWMRecordRequest(
            record=memory.WMRecordInput(
                working_memory_id=t.record_id,
                content_json=f'"{SECRET}"',
                embedding=memory.Embedding(values=[1.0] * 1536, model=SECRET),
                **record,
            ),
            request_id=t.request_id,
        ),
    )
    of_child = memory.WMRecordInput(**{**record, "entity_node_id": t.child_id})
    done("InsertWMRecord", memory.InsertWMRecordRequest(record=of_child))  # so that a manifest has two pages
    stored = None
    for record_id in (str(new_id()), t.blob_record_id):  # two, so that a list of them has two pages
        header = memory.UploadHeader(record=memory.WMRecordInput(working_memory_id=record_id, **record))
        chunk = f"{SECRET} of {record_id}".encode()
        upload = [memory.UploadBlobRequest(header=header), memory.UploadBlobRequest(chunk=chunk)]
        (stored,) = done("UploadBlob", upload).answers
    assert stored is not None
    begun = memory.StartUploadRequest(record=memory.WMRecordInput(**record))
    (upload,) = done("StartUpload", begun).answers
    done("AppendUpload", _part(upload.upload.upload_id))
    changed = memory.UpdateWMRecordRequest(
        record=memory.WMRecordInput(working_memory_id=t.record_id, reasoning=SECRET),
        update_mask=FieldMask(paths=["reasoning"]),
    )
    done("UpdateWMRecord", changed)
    for app_id in (t.app_id, ""):
        registration = history.RegisterMappingRequest(app_id=app_id, mapping_name=t.mapping_name, rules=_RULES)
        done("RegisterMapping", registration)
    said = contexts.MessageInput(content=SECRET, name=SECRET, agent_id=SECRET, parts=_parts(SECRET))
    header = contexts.ContextInput(
        title=SECRET, external_ids=[_thread(t)], metadata_json=f'{{"note": "{SECRET}"}}', agent_bundle_id=SECRET
    )
    done("SendMessage", _sent(message=said, context=header))  # so that lists have two pages
    said.message_id = t.message_id
    (sent,) = done("SendMessage", _sent(message=said, context=header)).answers
    done(
        "SendMessage",
        _sent(
            context_id=sent.context_id,
            message=contexts.MessageInput(content=SECRET, parts=[message_pb2.Part(working_memory_id=t.blob_record_id)]),
        ),
    )
    of_task = contexts.TaskInput(
        status=contexts.TaskStatusInput(state=contexts.TASK_STATE_WORKING, message=said),
        metadata_json=f'{{"note": "{SECRET}"}}',
    )
    for _ in range(2):  # two, so that a list of them has two pages
        (begun_task,) = done("CreateTask", contexts.CreateTaskRequest(context_id=sent.context_id, task=of_task)).answers
    made_of_it = contexts.ArtifactInput(
        artifact_id=t.artifact_id,
        name=SECRET,
        description=SECRET,
        parts=_parts(SECRET),
        metadata_json=of_task.metadata_json,
    )
    done("PutArtifact", contexts.PutArtifactRequest(task_id=begun_task.task.task_id, artifact=made_of_it))
    of_it = contexts.MessageInput(content=SECRET, task_id=begun_task.task.task_id)
    done("SendMessage", _sent(message=of_it))
    for kind in (SECRET, "x"):  # two, so that lists of them have two pages
        window_id = _opened(done, sent.context_id, _put(t.profile_name, kind))
    _break_twice(done, sent.context_id, window_id)
    gone, doomed = (done("SendMessage", _sent(message=said)).answers[0].context_id for _ in range(2))
    (receipt,) = done("DeleteContext", contexts.DeleteContextRequest(context_id=gone)).answers
    made = {
        "import_id": done("ImportArchive", _archive(str(new_id()), owner=t.user_id, import_id=t.import_id))
        .answers[0]
        .imported.import_id,
        "blob_key": stored.blob_key,
        "upload_id": upload.upload.upload_id,
        "context_id": sent.context_id,
        "task_id": begun_task.task.task_id,
        "window_id": window_id,
        "fork_id": done("ForkWindow", windows.ForkWindowRequest(window_id=window_id, task=SECRET))
        .answers[0]
        .window.window_id,
        "pin_id": done("Pin", windows.PinRequest(window_id=window_id, text=SECRET)).answers[0].pin_id,
        "doomed_id": doomed,
        "erasure_id": receipt.erasure.erasure_id,
        **_known(done, t),
        "document_id": _with_documents(client, key, t),
        "compiled_page_id": _with_pages(client, key, t),
        "hold_id": _with_holds(client, key, t),
        "call_id": _with_keys(client, key, sent.context_id) or t.call_id,
    }
    return Things(**{**{name: getattr(t, name) for name in t.__slots__}, **made})


def _writer(key: object, name: str) -> object:
    """Return who seeds by an RPC: of a key for less, an administrator of its bounds what only they may write."""
    return replace(key, scopes=(*key.scopes, "admin")) if isinstance(key, Key) and name in OF_ADMINS else key


def _sent(**fields: object) -> contexts.SendMessageRequest:
    """Return a message that asks for nothing to be recalled, which is a third of what it takes."""
    return contexts.SendMessageRequest(recall=contexts.RecallOptions(off=True), **fields)  # type: ignore[arg-type]


def _thread(t: Things) -> contexts.ExternalId:
    return contexts.ExternalId(system="threads", id=t.thread_id)


def _task(t: Things) -> contexts.TaskInput:
    said = contexts.MessageInput(
        message_id=t.message_id,
        parts=[message_pb2.Part(working_memory_id=t.record_id)],
        task_id=t.task_id,
        reference_task_ids=[t.task_id],
    )
    return contexts.TaskInput(
        status=contexts.TaskStatusInput(state=contexts.TASK_STATE_WORKING, message=said),
        reference_task_ids=[t.task_id],
    )


def _memory(t: Things, text: str) -> knowledge.MemoryInput:
    return knowledge.MemoryInput(
        text=text,
        kind=knowledge.MEMORY_KIND_EXPERIENCE,
        confidence=0.5,
        key=t.memory_key,
        source=knowledge.MemorySource(label=text, uri=text, context_id=t.context_id, ref="m1"),
        happened_at=Timestamp(seconds=1),
        experience=knowledge.MemoryExperience(goal=text, outcome=text, quality=0.5),
    )


def _remembered(t: Things) -> knowledge.MemoryFilter:
    return knowledge.MemoryFilter(
        kinds=[knowledge.MEMORY_KIND_EXPERIENCE],
        key=t.memory_key,
        holding_only=True,
        happened_from=Timestamp(seconds=1),
        happened_to=Timestamp(seconds=2**33),
    )


def _known(done: Callable[..., Outcome], t: Things) -> dict[str, str]:
    """Fill what the service `Knowledge` has, and return the ids that it makes."""
    for _ in range(2):  # two, so that a list of them has two pages
        retaining = knowledge.RetainMemoryRequest(memory=_memory(t, SECRET), subject_user_id=t.user_id)
        (retained,) = done("RetainMemory", retaining).answers
    memory_id = retained.memory.memory_id
    for slug, app_id in ((f"{t.page_slug}-2", ""), (t.page_slug, t.app_id), (t.page_slug, ""), (t.page_slug, "")):
        page = _page(t, slug, memory_id)
        page.app_id = app_id
        page.markdown += str(new_id())  # each is another version
        (put,) = done("PutPage", knowledge.PutPageRequest(page=page, subject_user_id=t.user_id)).answers
    for _ in range(2):
        testing = querying.RunSourceTestRequest(
            question=querying.QueryContextRequest(query=SECRET, subject_user_id=t.user_id), label=SECRET
        )
        (tested,) = done("RunSourceTest", testing).answers
    planning = knowledge.ConsolidateMemoriesRequest(subject_user_id=t.user_id)
    (planned,) = done("ConsolidateMemories", planning).answers
    return {
        "memory_id": memory_id,
        "plan": planned.plan,
        "page_id": put.page.page_id,
        "test_id": tested.test.test_id,
    }


def _page(t: Things, slug: str, memory_id: str) -> knowledge.PageInput:
    return knowledge.PageInput(
        slug=slug,
        title=SECRET,
        markdown=f"# {SECRET}\n\nIt says {SECRET}.\n",
        aliases=[f"{SECRET} {slug}"],
        sources=[knowledge.PageSource(label=SECRET, uri=SECRET, id=SECRET)],
        memory_ids=[memory_id],
        fresh_until=Timestamp(seconds=1),
    )


def _opened(done: Callable[..., Outcome], context_id: str, profile: windows.PutProfileRequest) -> str:
    """Put a profile, open a window, and return its id."""
    done("PutProfile", profile)
    (opened,) = done("OpenWindow", _opening(context_id)).answers
    window_id: str = opened.window.window_id
    return window_id


def _break_twice(done: Callable[..., Outcome], context_id: str, window_id: str) -> None:
    """Break the prefix of a window twice, so that its lineage has two pages, bill it, and keep two ways back."""
    done("RecordUsage", windows.RecordUsageRequest(window_id=window_id, pack_tokens=9, input_tokens=9))
    packing = windows.PackRequest(window_id=window_id)
    for _ in range(2):
        done("Pack", packing)
        said = contexts.MessageInput(content="beside", message_id=str(uuid.uuid4()))
        done("SendMessage", contexts.SendMessageRequest(context_id=context_id, message=said))
        retracting = contexts.RetractMessagesRequest(context_id=context_id, message_ids=[said.message_id])
        done("RetractMessages", retracting)
    done("Pack", packing)
    for name in ("first", "second"):  # so that its state has two pages
        entry = windows.StateEntryInput(section="constraint", key=name, text=f"{SECRET} {name}")
        done("PatchState", windows.PatchStateRequest(window_id=window_id, set=[entry]))
    for _ in range(2):
        done("CreateCheckpoint", windows.CreateCheckpointRequest(window_id=window_id, label=SECRET))


def _with_holds(client: Client, key: object, t: Things) -> str:
    """Put holds, two, so that lists of them have two pages, and return the id of one. Only administrators do."""
    hold_id = t.hold_id
    for _ in range(2):
        holding = erasures.PutHoldRequest(subject=t.held_user_id, reason=SECRET)
        outcome = client.call(RPCS["PutHold"], holding, key=key)
        if outcome.reason == "PERMISSION_DENIED":
            return hold_id
        assert outcome.ok, outcome
        hold_id = outcome.answers[0].hold.hold_id
    return hold_id


def _with_agents(client: Client, key: object, t: Things) -> Things:
    """Put agents and templates, two of each, so that lists of them have two pages. Only administrators do."""
    for beside in ("", " beside"):
        agent, template = _an_agent(t), _a_template(t)
        agent.agent_id += beside
        template.template_id += beside
        for name, request in (
            ("PutAgentTemplate", agents.PutAgentTemplateRequest(template=template)),
            ("PutAgent", agents.PutAgentRequest(agent=agent)),
        ):
            outcome = client.call(RPCS[name], request, key=key)
            assert outcome.ok or outcome.reason == "PERMISSION_DENIED", f"{name}: {outcome}"
    return t


def _with_documents(client: Client, key: object, t: Things) -> str:
    """Put knowledge bases and documents, two of each, and return the id of one. Only administrators do."""
    document_id = t.document_id
    for name in (f"{t.base_name} beside", t.base_name):
        outcome = client.call(
            RPCS["PutKnowledgeBase"], bases.PutKnowledgeBaseRequest(knowledge_base=_a_base(name)), key=key
        )
        if outcome.reason == "PERMISSION_DENIED":
            return document_id
        assert outcome.ok, outcome
    for _ in range(2):
        adding = bases.AddDocumentRequest(knowledge_base=t.base_name, document=_a_document(SECRET))
        (added,) = client.call(RPCS["AddDocument"], adding, key=key).answers
        document_id = added.document.document_id
    return document_id


def _a_base(name: str, text: str = SECRET) -> bases.KnowledgeBaseInput:
    return bases.KnowledgeBaseInput(name=name, description=text, is_of_tenant=True)


def _a_document(text: str) -> bases.DocumentInput:
    return bases.DocumentInput(name=f"{text}.txt", uri=text, content_type="text/plain", data=text.encode())


def _with_servers(client: Client, key: object, t: Things) -> Things:
    """Put MCP servers and specialists, two of each, and the tools of one, two, so that lists of them have two pages."""
    for name, request in (
        ("PutMcpServer", mcp_servers.PutMcpServerRequest(server=_a_server(t.server_id))),
        ("PutMcpServer", mcp_servers.PutMcpServerRequest(server=_a_server(f"{t.server_id}-2"))),
        ("DiscoverMcpTools", mcp_servers.DiscoverMcpToolsRequest(server_id=t.server_id)),
        ("PutSpecialist", specialists.PutSpecialistRequest(specialist=_a_specialist(t, t.specialist_id))),
        ("PutSpecialist", specialists.PutSpecialistRequest(specialist=_a_specialist(t, f"{t.specialist_id}-2"))),
    ):
        outcome = client.call(RPCS[name], request, key=key)
        assert outcome.ok or outcome.reason == "PERMISSION_DENIED", f"{name}: {outcome}"
    return t


def _with_definitions(client: Client, key: object, t: Things) -> Things:
    """Put definitions, two, and approve the first version of one, which then has two. Only administrators do."""
    for name, request in (
        ("PutDefinition", definitions.PutDefinitionRequest(name=f"{t.definition_name} beside", rules=_defined())),
        ("PutDefinition", definitions.PutDefinitionRequest(name=t.definition_name, rules=_defined())),
        ("ApproveDefinition", definitions.ApproveDefinitionRequest(name=t.definition_name, version=1)),
        ("PutDefinition", definitions.PutDefinitionRequest(name=t.definition_name, rules=_defined("another"))),
    ):
        outcome = client.call(RPCS[name], request, key=key)
        assert outcome.ok or outcome.reason == "PERMISSION_DENIED", f"{name}: {outcome}"
    return t


def _with_pages(client: Client, key: object, t: Things) -> str:
    """Compile pages, and return the id of one with a facet that was put; of none where no definition is approved."""
    outcome = client.call(RPCS["CompilePages"], definitions.CompilePagesRequest(), key=key)
    assert outcome.ok or outcome.reason == "PERMISSION_DENIED", outcome
    listing = definitions.ListCompiledPagesRequest(node_id=t.node_id)
    pages = client.call(RPCS["ListCompiledPages"], listing, key=key).answers[0].pages
    for page in pages:
        putting = definitions.PutFacetRequest(page_id=page.page_id, facet=_a_facet(SECRET))
        assert client.call(RPCS["PutFacet"], putting, key=key).ok
        return str(page.page_id)
    return t.compiled_page_id


def _a_facet(text: str) -> definitions.FacetInput:
    return definitions.FacetInput(
        slug="put",
        heading=text,
        kind=definitions.FACET_KIND_OPERATIONAL,
        text=text,
        confidence=0.5,
        as_of=Timestamp(seconds=1),
        fresh_until=Timestamp(seconds=2),
        source_label=text,
        source_uri=text,
    )


def _defined(text: str = SECRET, app_id: str = "") -> definitions.DefinitionRules:
    """Return rules that make pages of nodes, which say what those do, and a text."""
    said = {
        "kind": definitions.FACET_KIND_ACTIVITY,
        "heading": text,
        "when": "has(entity.data.content)",
        "text": "entity.data.content",
        "confidence": "0.5",
        "as_of": "entity.created_at",
        "time_to_live": "duration('24h')",
    }
    walk = definitions.FacetWalk(edge_types=["Contains"], direction="both", depth_max=2, entity_types=["Session"])
    return definitions.DefinitionRules(
        node_type="Session",
        graph_name="default",
        app_id=app_id,
        when="entity.name != 'x'",
        title=f"'{text} of ' + entity.name",
        aliases="[entity.id]",
        facets=[
            definitions.FacetRules(slug="own", **said),  # type: ignore[arg-type]
            definitions.FacetRules(slug="below", walk=walk, **said),  # type: ignore[arg-type]
        ],
    )


_SERVERS = contextlib.ExitStack()  # which stay up as long as the process


@functools.cache
def _tools() -> FakeMcp:
    """Return an MCP server, one for all of the process: nobody's calls change it."""
    server = _SERVERS.enter_context(fake_mcp(json_response=True))
    server.tools = {name: FakeTool(description=SECRET) for name in ("search", "search_2")}
    return server


def _with_keys(client: Client, key: object, context_id: str) -> str:
    """Give keys of a context, two, and return the id of the last call of an administrator; empty: one may not know."""
    for _ in range(2):
        issuing = contexts.IssueContextKeyRequest(context_id=context_id, scopes=["read"])
        assert client.call(RPCS["IssueContextKey"], issuing, key=key).ok
    listing = administration.ListAdministrativeCallsRequest(page_size=1)
    outcome = client.call(RPCS["ListAdministrativeCalls"], listing, key=key)
    assert outcome.ok or outcome.reason == "PERMISSION_DENIED", outcome
    return next((str(one.call_id) for answer in outcome.answers for one in answer.calls), "")


def _a_server(server_id: str, text: str = SECRET) -> mcp_servers.McpServerInput:
    return mcp_servers.McpServerInput(server_id=server_id, display_name=text, url=_tools().url)


def _a_specialist(t: Things, specialist_id: str, text: str = SECRET) -> specialists.SpecialistInput:
    said = {"display_name": text, "instructions": text, "node_ids": [t.node_id]}
    return specialists.SpecialistInput(specialist_id=specialist_id, steps_max=2, **said)


def _an_agent(t: Things, text: str = SECRET, *, template_id: str = "") -> agents.AgentInput:
    names = agents.ProviderNames(ids=["workspace"], families=["context"])
    return agents.AgentInput(
        agent_id=t.agent_id,
        display_name=text,
        template_id=template_id,
        node_ids=[t.node_id],
        knowledge_bases=[text],
        policy=agents.AgentPolicy(allowed=names, defaults=names),
        callers=agents.AgentCallers(user_ids=[t.user_id], agent_ids=["x"], subjects=["x"]),
    )


def _a_template(t: Things, text: str = SECRET) -> agents.AgentTemplateInput:
    return agents.AgentTemplateInput(
        template_id=t.template_id,
        display_name=text,
        node_ids=[t.node_id],
        knowledge_bases=[text],
        policy=agents.AgentPolicy(allowed=agents.ProviderNames(ids=["workspace"], families=["context"])),
    )


def _put(name: str, kind: str) -> windows.PutProfileRequest:
    rule = {"kind": kind, "of": "tool", "line": kind}
    return windows.PutProfileRequest(name=name, text=json.dumps({"extends": "general", "high_importance": [rule]}))


def _opening(context_id: str) -> windows.OpenWindowRequest:
    return windows.OpenWindowRequest(
        context_id=context_id,
        model="gpt-5",
        system_prompt=SECRET,
        tools_json=json.dumps([{"name": SECRET}]),
        goal=SECRET,
    )


def _parts(text: str) -> list[message_pb2.Part]:
    return [
        message_pb2.Part(text=text, metadata_json=json.dumps({"note": text}), media_type="text/plain", file_name="a"),
        message_pb2.Part(data_json=json.dumps({"note": text})),
        message_pb2.Part(url=text),
        message_pb2.Part(tool_call=message_pb2.ToolCall(id="c", name="look", arguments_json=json.dumps([text]))),
        message_pb2.Part(tool_result=message_pb2.ToolResult(tool_call_id="c", content_json=json.dumps(text))),
        message_pb2.Part(reasoning=message_pb2.Reasoning(provider="p", data=text.encode(), text=text)),
    ]


_RULES = history.MappingRules(
    edge_types=["Contains"], messages=[history.MessageRule(role="entity.data.role", content="entity.data.content")]
)


_READING_ROOT = history.MappingRules(
    order_by="turn.index",
    messages=[history.MessageRule(for_each="[root, entity]", role="'user'", content="item.data", when="index < 1")],
)
_SAMPLE = history.SampleNode(
    type="Session",
    data_json='{"turn": {"index": 1}}',
    input_json="null",
    output_json="[]",
    created_at=Timestamp(seconds=1),
    modified_at=Timestamp(seconds=2),
    edge_type="Contains",
    depth=1,
    edge_data_json="{}",
)


def _record(**fields: object) -> memory.WMRecordInput:
    return memory.WMRecordInput(**{"memory_type": "file", "name": "a.txt", **fields})  # type: ignore[arg-type]


def _upload(**fields: object) -> list[Message]:
    request_id = str(fields.pop("request_id", ""))
    header = memory.UploadHeader(record=_record(**fields), request_id=request_id)
    return [memory.UploadBlobRequest(header=header), memory.UploadBlobRequest(chunk=b"bytes")]


def _part(upload_id: str, **fields: object) -> list[Message]:
    header = memory.AppendHeader(upload_id=upload_id, **fields)  # type: ignore[arg-type]
    return [memory.AppendUploadRequest(header=header), memory.AppendUploadRequest(chunk=SECRET.encode())]


def _import(*lines: dict[str, object], **header: object) -> list[Message]:
    return [
        graph.ImportGraphRequest(header=graph.ImportHeader(**header)),  # type: ignore[arg-type]
        *[graph.ImportGraphRequest(lines=json.dumps(line).encode() + b"\n") for line in lines],
    ]


def _archive(context_id: str, owner: str = "", **header: object) -> list[Message]:
    """Return the import of an archive of a context without messages."""
    said = {"context_id": context_id, "ancestors": [context_id], "last_said_at": "2026-01-01T00:00:00Z", "last_seq": 0}
    owned = {"owner_user_id": owner, "app_id": "", "agent_bundle_id": "", "created_by": "somebody"}
    manifest = {"format": 1, "scope": {"kind": "context", "id": context_id}}
    of: dict[str, object] = {"context": context_id}
    made, seal = [], FIRST_SEAL
    for number, (kind, says, data) in enumerate(
        [
            ("manifest", {}, json.dumps(manifest)),
            ("context", {"table": "context", **of}, json.dumps({**said, **owned}) + "\n"),
            ("context_end", of, ""),
            ("end", {}, json.dumps({"left_out": []})),
        ]
    ):
        one, seal = sealed(seal, {"piece": number, "kind": kind, **says}, data.encode())
        made.append(one)
    return [
        transfer.ImportArchiveRequest(header=transfer.ImportArchiveHeader(**header)),  # type: ignore[arg-type]
        transfer.ImportArchiveRequest(data=b"".join(made)),
    ]


def _tool(tool_name: str, *, entity: str = "", user: str = "", **arguments: object) -> tools.ExecuteToolRequest:
    return tools.ExecuteToolRequest(
        tool_name=tool_name, arguments_json=json.dumps(arguments), entity_node_id=entity, subject_user_id=user
    )


# Of each RPC: requests that name what a tenant has, the first of which its owner can make with success. Every field
# that names something has a place in one of them.
def _questions(t: Things) -> list[Case]:
    return [
        querying.QueryContextRequest(query=ASKED, mode=querying.QUERY_MODE_ANSWER, tokens_max=1_000, explain=True),
        querying.QueryContextRequest(query=ASKED, context_ids=[t.context_id], subject_user_id=t.user_id),
        querying.QueryContextRequest(
            query=t.record_name,
            scope=querying.QUERY_SCOPE_TEAM,
            depth=querying.QUERY_DEPTH_DEEP,
            limit=50,
            providers=querying.ProviderSelection(ids=["workspace", "context"], families=["workspace"]),
            provider_options=querying.ProviderOptions(
                workspace=querying.WorkspaceOptions(node_ids=[t.node_id, t.child_id])
            ),
            context_ids=[t.context_id, t.doomed_id],
            time_from=Timestamp(seconds=1),
            time_to=Timestamp(seconds=2**33),
        ),
        querying.QueryContextRequest(
            query=ASKED,
            expand_refs=[f"workspace:{t.record_id}", f"workspace:{t.record_id}.0", f"context:{t.context_id}/m1.0"],
            subject_user_id=t.user_id,
        ),
        querying.QueryContextRequest(query=ASKED, scope=querying.QUERY_SCOPE_PERSONAL, subject_user_id=t.user_id),
        querying.QueryContextRequest(
            query=ASKED,
            providers=querying.ProviderSelection(ids=["memory"]),
            provider_options=querying.ProviderOptions(
                memory=querying.MemoryOptions(query_mode=querying.MEMORY_QUERY_MODE_RECALL)
            ),
            subject_user_id=t.user_id,
        ),
    ]


CASES: dict[str, Callable[[Things], Sequence[Case]]] = {
    "SendMessage": lambda t: [
        contexts.SendMessageRequest(
            context_id=t.context_id, message=contexts.MessageInput(content="x", parts=_parts("x"))
        ),
        contexts.SendMessageRequest(
            context_id=t.context_id,
            message=contexts.MessageInput(content="what nobody else may read?"),
            subject_user_id=t.user_id,
            recall=contexts.RecallOptions(
                with_features=True, filter=contexts.RecallFilter(task_ids=[t.task_id], entity_node_ids=[t.node_id])
            ),
        ),
        contexts.SendMessageRequest(
            context_id=t.context_id,
            message=contexts.MessageInput(message_id=t.message_id, content="another", role="assistant"),
        ),
        contexts.SendMessageRequest(
            context_id=t.context_id,
            message=contexts.MessageInput(parts=[message_pb2.Part(working_memory_id=t.record_id)]),
            request_id=t.request_id,
        ),
        contexts.SendMessageRequest(
            message=contexts.MessageInput(content="x", session="s", said_at=Timestamp(seconds=1)),
            get_or_create=contexts.ExternalId(system="threads", id=t.thread_id),
            context=contexts.ContextInput(
                entity_node_id=t.node_id, recall_profile="default", external_ids=[_thread(t)], app_id=t.app_id
            ),
        ),
        contexts.SendMessageRequest(
            message=contexts.MessageInput(parts=[message_pb2.Part(working_memory_id=t.record_id)]), standalone=True
        ),
        contexts.SendMessageRequest(message=contexts.MessageInput(content="x", task_id=t.task_id)),
        contexts.SendMessageRequest(
            context_id=t.context_id, message=contexts.MessageInput(content="x", reference_task_ids=[t.task_id])
        ),
    ],
    "AppendMessages": lambda t: [
        contexts.AppendMessagesRequest(
            context_id=t.context_id, messages=[contexts.MessageInput(content="x", metadata_json="{}", name="n")] * 2
        ),
        contexts.AppendMessagesRequest(
            context_id=t.context_id,
            messages=[contexts.MessageInput(content="x"), contexts.MessageInput(content="y", message_id=t.message_id)],
            request_id=t.request_id,
        ),
        contexts.AppendMessagesRequest(
            messages=[contexts.MessageInput(parts=[message_pb2.Part(working_memory_id=t.record_id)])],
            context=contexts.ContextInput(entity_node_id=t.node_id, external_ids=[_thread(t)], app_id=t.app_id),
            get_or_create=_thread(t),
            subject_user_id=t.user_id,
        ),
        contexts.AppendMessagesRequest(
            messages=[contexts.MessageInput(content="x", task_id=t.task_id, reference_task_ids=[t.task_id])],
        ),
    ],
    "GetContext": lambda t: [
        contexts.GetContextRequest(context_id=t.context_id),
        contexts.GetContextRequest(context_id=t.context_id, history_length=1, subject_user_id=t.user_id),
    ],
    "GetContextsByExternalId": lambda t: [
        contexts.GetContextsByExternalIdRequest(external_id=_thread(t)),
        contexts.GetContextsByExternalIdRequest(external_id=_thread(t), subject_user_id=t.user_id),
    ],
    "ListContexts": lambda t: [
        contexts.ListContextsRequest(),
        contexts.ListContextsRequest(external_id=_thread(t), metadata_contains_json="{}"),
        contexts.ListContextsRequest(agent_id=SECRET, created_from=Timestamp(seconds=1)),
        contexts.ListContextsRequest(owner_user_id=t.user_id, subject_user_id=t.user_id),
        contexts.ListContextsRequest(entity_node_id=t.node_id, app_id=t.app_id),
    ],
    "UpdateContext": lambda t: [
        contexts.UpdateContextRequest(
            context_id=t.context_id,
            context=contexts.ContextInput(title="changed", expires_at=Timestamp(seconds=32503680000)),
            update_mask=FieldMask(paths=["title", "expires_at"]),
        ),
        contexts.UpdateContextRequest(
            context_id=t.context_id, update_mask=FieldMask(paths=["external_ids"]), request_id=t.request_id
        ),
        contexts.UpdateContextRequest(
            context_id=t.context_id,
            context=contexts.ContextInput(external_ids=[_thread(t)], entity_node_id=t.node_id, app_id=t.app_id),
            update_mask=FieldMask(paths=["external_ids", "entity_node_id"]),
            subject_user_id=t.user_id,
        ),
    ],
    "ListMessages": lambda t: [
        contexts.ListMessagesRequest(context_id=t.context_id),
        contexts.ListMessagesRequest(context_id=t.context_id, seq_from=1, seq_to=9, newest_first=True),
        contexts.ListMessagesRequest(context_id=t.context_id, subject_user_id=t.user_id),
    ],
    "GetMessage": lambda t: [
        contexts.GetMessageRequest(context_id=t.context_id, message_id=t.message_id),
        contexts.GetMessageRequest(context_id=t.context_id, message_id=t.message_id, subject_user_id=t.user_id),
    ],
    "RetractMessages": lambda t: [
        contexts.RetractMessagesRequest(context_id=t.context_id, message_ids=[t.message_id]),
        contexts.RetractMessagesRequest(
            context_id=t.context_id, message_ids=[t.message_id], subject_user_id=t.user_id, request_id=t.request_id
        ),
    ],
    "Recall": lambda t: [
        contexts.RecallRequest(context_id=t.context_id, text="nobody else may read"),
        contexts.RecallRequest(context_id=t.context_id, text="nobody else", subject_user_id=t.user_id),
        contexts.RecallRequest(
            context_id=t.context_id,
            text="nobody else",
            options=contexts.RecallOptions(
                filter=contexts.RecallFilter(task_ids=[t.task_id], entity_node_ids=[t.node_id])
            ),
            reference_task_ids=[t.task_id],
        ),
        contexts.RecallRequest(
            context_id=t.context_id,
            text="what nobody reads",
            options=contexts.RecallOptions(
                tokens_max=100, items_max=3, profile="conversation", not_after_seq=1, with_features=True
            ),
        ),
    ],
    "SearchContext": lambda t: [
        contexts.SearchContextRequest(context_id=t.context_id, query="nobody else"),
        contexts.SearchContextRequest(context_id=t.context_id, query="nobody else", subject_user_id=t.user_id),
        contexts.SearchContextRequest(
            context_id=t.context_id, query="nobody", filter=contexts.RecallFilter(entity_node_ids=[t.node_id])
        ),
        contexts.SearchContextRequest(
            context_id=t.context_id,
            query="read",
            limit=1,
            filter=contexts.RecallFilter(
                roles=["user"], said_from=Timestamp(seconds=1), seq_to=9, task_ids=[t.task_id]
            ),
            with_features=True,
        ),
    ],
    "IssueContextKey": lambda t: [
        contexts.IssueContextKeyRequest(context_id=t.context_id),
        contexts.IssueContextKeyRequest(context_id=t.context_id, scopes=["read"], ttl_s=60),
        contexts.IssueContextKeyRequest(context_id=t.context_id, subject_user_id=t.user_id),
    ],
    "SyncHistory": lambda t: [
        contexts.SyncHistoryRequest(context_id=t.context_id, node_id=t.node_id),
        contexts.SyncHistoryRequest(
            get_or_create=_thread(t),
            context=contexts.ContextInput(entity_node_id=t.node_id, external_ids=[_thread(t)], app_id=t.app_id),
            external_id=t.external_id,
        ),
        contexts.SyncHistoryRequest(
            context_id=t.context_id,
            node_id=t.node_id,
            app_id=t.app_id,
            mapping_name=t.mapping_name,
            subject_user_id=t.user_id,
        ),
    ],
    "CreateTask": lambda t: [
        contexts.CreateTaskRequest(context_id=t.context_id, task=_task(t)),
        contexts.CreateTaskRequest(
            context_id=t.context_id, task=_task(t), subject_user_id=t.user_id, request_id=t.request_id
        ),
    ],
    "UpdateTask": lambda t: [
        contexts.UpdateTaskRequest(
            task_id=t.task_id,
            task=contexts.TaskInput(metadata_json='{"a": 1}'),
            update_mask=FieldMask(paths=["metadata_json"]),
        ),
        contexts.UpdateTaskRequest(
            context_id=t.context_id,
            task_id=t.task_id,
            task=_task(t),
            update_mask=FieldMask(paths=["status"]),
            expected_version=1,
            request_id=t.request_id,
        ),
        contexts.UpdateTaskRequest(
            task_id=t.task_id, task=_task(t), update_mask=FieldMask(paths=["status"]), subject_user_id=t.user_id
        ),
    ],
    "GetTask": lambda t: [
        contexts.GetTaskRequest(task_id=t.task_id),
        contexts.GetTaskRequest(context_id=t.context_id, task_id=t.task_id, history_length=1),
        contexts.GetTaskRequest(task_id=t.task_id, subject_user_id=t.user_id),
    ],
    "ListTasks": lambda t: [
        contexts.ListTasksRequest(context_id=t.context_id),
        contexts.ListTasksRequest(context_id=t.context_id, states=[contexts.TASK_STATE_WORKING]),
        contexts.ListTasksRequest(context_id=t.context_id, subject_user_id=t.user_id),
    ],
    "PutArtifact": lambda t: [
        contexts.PutArtifactRequest(task_id=t.task_id, artifact=contexts.ArtifactInput(parts=_parts("x"))),
        contexts.PutArtifactRequest(
            context_id=t.context_id,
            task_id=t.task_id,
            artifact=contexts.ArtifactInput(artifact_id=t.artifact_id, parts=_parts("y"), metadata_json="{}"),
            append=True,
        ),
        contexts.PutArtifactRequest(
            task_id=t.task_id,
            artifact=contexts.ArtifactInput(
                artifact_id=t.artifact_id,
                name="n",
                description="d",
                parts=[message_pb2.Part(working_memory_id=t.record_id)],
            ),
            last_chunk=True,
            subject_user_id=t.user_id,
            request_id=t.request_id,
        ),
    ],
    "GetArtifact": lambda t: [
        contexts.GetArtifactRequest(task_id=t.task_id, artifact_id=t.artifact_id),
        contexts.GetArtifactRequest(context_id=t.context_id, ref="a3.0"),
        contexts.GetArtifactRequest(
            context_id=t.context_id, task_id=t.task_id, artifact_id=t.artifact_id, version=1, subject_user_id=t.user_id
        ),
    ],
    "CancelTask": lambda t: [
        contexts.CancelTaskRequest(task_id=t.task_id),
        contexts.CancelTaskRequest(context_id=t.context_id, task_id=t.task_id, request_id=t.request_id),
        contexts.CancelTaskRequest(task_id=t.task_id, subject_user_id=t.user_id),
    ],
    "WatchContext": lambda t: [
        contexts.WatchContextRequest(until_now=True, context_id=t.context_id),
        contexts.WatchContextRequest(
            until_now=True, context_id=t.context_id, seq_from=2, change_after=1, subject_user_id=t.user_id
        ),
    ],
    "CloseContext": lambda t: [
        contexts.CloseContextRequest(context_id=t.context_id),
        contexts.CloseContextRequest(context_id=t.context_id, subject_user_id=t.user_id, request_id=t.request_id),
    ],
    "DeleteContext": lambda t: [
        contexts.DeleteContextRequest(context_id=t.doomed_id),
        contexts.DeleteContextRequest(context_id=t.doomed_id, now=True, request_id=t.request_id),
        contexts.DeleteContextRequest(context_id=t.doomed_id, subject_user_id=t.user_id),
    ],
    "WaitForIndex": lambda t: [
        contexts.WaitForIndexRequest(context_id=t.context_id, timeout_s=1),
        contexts.WaitForIndexRequest(context_id=t.context_id, seq=1, timeout_s=1, subject_user_id=t.user_id),
    ],
    "GetErasure": lambda t: [
        contexts.GetErasureRequest(erasure_id=t.erasure_id),
        contexts.GetErasureRequest(erasure_id=t.erasure_id, subject_user_id=t.user_id),
    ],
    "CreateNode": lambda t: [
        graph.CreateNodeRequest(node=graph.NodeInput(name=t.node_name, general_type_name="Session")),
        graph.CreateNodeRequest(
            node=graph.NodeInput(external_id=t.external_id, general_type_name="Session"), get_existing=True
        ),
        graph.CreateNodeRequest(node=graph.NodeInput(id=t.node_id, general_type_name="Session")),
        graph.CreateNodeRequest(
            node=graph.NodeInput(external_id=t.external_id, name=t.node_name, general_type_name="Session")
        ),
        graph.CreateNodeRequest(node=graph.NodeInput(general_type_name="Session"), request_id=t.request_id),
    ],
    "CreateEdge": lambda t: [
        graph.CreateEdgeRequest(
            edge=graph.EdgeInput(from_node_id=t.child_id, to_node_id=t.node_id, edge_type="InResponseTo")
        ),
        graph.CreateEdgeRequest(
            edge=graph.EdgeInput(id=t.edge_id, from_node_id=t.node_id, to_node_id=t.child_id, edge_type="Calls"),
            request_id=t.request_id,
        ),
    ],
    "WriteGraph": lambda t: [
        graph.WriteGraphRequest(
            nodes=[graph.NodeInput(name=t.node_name, general_type_name="Session")],
            edges=[graph.EdgeInput(from_node_id=t.node_id, to_node_id=t.child_id, edge_type="Calls")],
        ),
        graph.WriteGraphRequest(
            nodes=[graph.NodeInput(id=t.node_id, external_id=t.external_id, general_type_name="Session")],
            edges=[
                graph.EdgeInput(id=t.edge_id, from_node_id=t.node_id, to_node_id=t.child_id, edge_type="Contains"),
            ],
            on_existing=graph.ON_EXISTING_SKIP,
        ),
        graph.WriteGraphRequest(
            nodes=[graph.NodeInput(id=t.node_id, name=t.node_name, general_type_name="Session")],
            request_id=t.request_id,
        ),
        graph.WriteGraphRequest(
            edges=[graph.EdgeInput(from_node_id=t.node_id, to_node_id=t.child_id, edge_type="Contains")]
        ),
        graph.WriteGraphRequest(
            nodes=[graph.NodeInput(id=t.other_id, general_type_name="Session")],
            edges=[graph.EdgeInput(id=t.edge_id, from_node_id=t.other_id, to_node_id=t.other_id, edge_type="Calls")],
        ),
    ],
    "BatchGetNodes": lambda t: [graph.BatchGetNodesRequest(node_ids=[t.node_id, t.child_id])],
    "GetNodeByName": lambda t: [graph.GetNodeByNameRequest(name=t.node_name)],
    "UpdateNodeData": lambda t: [
        graph.UpdateNodeDataRequest(node_id=t.node_id, data_json='{"a": 1}', expected_version=1),
        graph.UpdateNodeDataRequest(node_id=t.node_id, update=graph.DATA_UPDATE_REPLACE, request_id=t.request_id),
    ],
    "UpdateNodeStatus": lambda t: [
        graph.UpdateNodeStatusRequest(node_id=t.node_id, status="Failed", expected_status="Running", message="no")
    ],
    "ResetNode": lambda t: [graph.ResetNodeRequest(node_id=t.node_id, expected_version=1)],
    "DeleteNode": lambda t: [graph.DeleteNodeRequest(node_id=t.node_id, expected_version=1)],
    "AppendProgress": lambda t: [
        graph.AppendProgressRequest(
            node_id=t.node_id,
            type=graph.ENVELOPE_TYPE_VALUE,
            status=graph.ENVELOPE_STATUS_COMPLETED,
            sub_type="return",
            message="done",
            value_json='{"a": [1]}',
            error_json="null",
        ),
        graph.AppendProgressRequest(
            node_id=t.node_id, type=graph.ENVELOPE_TYPE_MESSAGE, message=t.node_name, request_id=t.request_id
        ),
    ],
    "ListProgress": lambda t: [
        graph.ListProgressRequest(node_id=t.child_id),
        graph.ListProgressRequest(node_id=t.child_id, types=[graph.ENVELOPE_TYPE_STATUS], descending=True),
    ],
    "ClearProgress": lambda t: [graph.ClearProgressRequest(node_id=t.child_id)],
    "UpsertEmbedding": lambda t: [
        graph.UpsertEmbeddingRequest(
            node_id=t.node_id, name=t.embedding_name, vector=[0.5, 1], text_sha256="0" * 64, metadata_json='{"a": 1}'
        )
    ],
    "DeleteEmbedding": lambda t: [graph.DeleteEmbeddingRequest(node_id=t.node_id, name=t.embedding_name)],
    "ListEmbeddings": lambda t: [graph.ListEmbeddingsRequest(node_id=t.node_id, with_vectors=True)],
    "SearchSimilar": lambda t: [
        graph.SearchSimilarRequest(node_id=t.child_id, name=t.embedding_name, similarity_min=0.5),
        graph.SearchSimilarRequest(
            vector=[1, 1],
            name=t.embedding_name,
            metadata_contains_json=f'{{"note": "{SECRET}"}}',
            node_types=["Session"],
            include_archived=True,
            limit=5,
        ),
    ],
    "SearchNodes": lambda t: [
        graph.SearchNodesRequest(filter=graph.NodeFilter(condition_json=f'{{"external_id": "{t.external_id}"}}')),
        graph.SearchNodesRequest(
            filter=graph.NodeFilter(
                condition_json=f'{{"$or": [{{"id": "{t.node_id}"}}, {{"name": {{"$like": "node%"}}}}]}}',
                contains_json='{"role": "user"}',
                json_path="$.turn.index > 0",
                agent_bundle_id=SECRET,
                include_archived=True,
            ),
            order_by="data.turn.index",
            descending=True,
        ),
        graph.SearchNodesRequest(
            filter=graph.NodeFilter(connected_to=graph.ConnectedTo(node_id=t.node_id, edge_types=["Contains"]))
        ),
        graph.SearchNodesRequest(filter=graph.NodeFilter(json_path="$.turn ? (@.index > 0)"), order_by="name"),
    ],
    "CountNodes": lambda t: [
        graph.CountNodesRequest(
            filter=graph.NodeFilter(
                condition_json='{"data.turn.index": {"$gte": 1}}', connected_to=graph.ConnectedTo(node_id=t.node_id)
            )
        )
    ],
    "ImportGraph": lambda t: [
        _import(
            {"edge": {"id": str(new_id()), "from_node_id": t.child_id, "to_node_id": t.node_id, "edge_type": "Calls"}},
            {"output": {"node_id": t.child_id, "value": [1]}},
            {"embedding": {"node_id": t.other_id, "name": t.embedding_name, "vector": [1, 0.25]}},
            {"envelope": {"node_id": t.other_id, "type": "VALUE", "created_at": "2026-01-31T12:00:00Z", "value": None}},
        ),
        _import(
            {"graph": {"version": 1}},
            {
                "node": {
                    "id": t.node_id,
                    "general_type_name": "Session",
                    "external_id": t.external_id,
                    "is_archived": True,
                }
            },
            {"edge": {"id": t.edge_id, "from_node_id": t.node_id, "to_node_id": t.node_id, "edge_type": "Contains"}},
        ),
        _import({"node": {"id": str(new_id()), "general_type_name": "Session", "external_id": t.external_id}}),
        _import({"node": {"id": t.child_id, "general_type_name": "Session"}}, graph_name="second", lines_before=7),
        *[
            _import({kind: {"node_id": t.node_id, **row}})
            for kind, row in {
                "input": {"value": None},
                "embedding": {"name": t.embedding_name, "vector": [1, 2, 3]},
                "envelope": {"type": "VALUE", "created_at": "2026-01-31T12:00:00Z"},
            }.items()
        ],
    ],
    "ExportGraph": lambda t: [graph.ExportGraphRequest(), graph.ExportGraphRequest(graph_name="second")],
    "BatchGetEdges": lambda t: [graph.BatchGetEdgesRequest(edge_ids=[t.edge_id])],
    "UpdateEdgeData": lambda t: [
        graph.UpdateEdgeDataRequest(edge_id=t.edge_id, data_json='{"a": 1}', expected_version=1),
        graph.UpdateEdgeDataRequest(edge_id=t.edge_id, update=graph.DATA_UPDATE_REPLACE, request_id=t.request_id),
    ],
    "DeleteEdge": lambda t: [
        graph.DeleteEdgeRequest(edge_id=t.edge_id, expected_version=1),
        graph.DeleteEdgeRequest(from_node_id=t.node_id, to_node_id=t.child_id, edge_type="Contains"),
    ],
    "SetNodeIO": lambda t: [graph.SetNodeIORequest(node_id=t.node_id, output_json="[1]")],
    "ListEdges": lambda t: [
        graph.ListEdgesRequest(node_id=t.node_id),
        graph.ListEdgesRequest(node_id=t.child_id, direction=graph.DIRECTION_BOTH, edge_types=["Contains"]),
    ],
    "Traverse": lambda t: [
        graph.TraverseRequest(start_node_ids=[t.node_id], depth_max=1),
        graph.TraverseRequest(start_node_ids=[t.node_id], include_start=True, include_io=True, limit=100),
        graph.TraverseRequest(start_node_ids=[t.node_id], order_path="turn.index", descending=True),
        graph.TraverseRequest(start_node_ids=[t.child_id, t.other_id], direction=graph.DIRECTION_BOTH),
        graph.TraverseRequest(
            start_node_ids=[t.node_id], include_start=True, columns=graph.TraverseColumn.values()[1:]
        ),
    ],
    "InsertWMRecord": lambda t: [
        memory.InsertWMRecordRequest(record=_record(entity_node_id=t.node_id, app_id=t.app_id, content_json="[1]")),
        memory.InsertWMRecordRequest(record=_record(working_memory_id=t.record_id)),
        memory.InsertWMRecordRequest(record=_record(name=t.record_name), request_id=t.request_id),
    ],
    "FetchWMRecord": lambda t: [memory.FetchWMRecordRequest(working_memory_id=t.record_id, include_archived=True)],
    "UpdateWMRecord": lambda t: [
        memory.UpdateWMRecordRequest(
            record=_record(working_memory_id=t.record_id, content_json="[2]", app_id=t.app_id),
            update_mask=FieldMask(paths=["name", "content_json", "app_id", "embedding"]),
            expected_version=2,
        ),
        memory.UpdateWMRecordRequest(
            record=_record(working_memory_id=t.blob_record_id, name=t.record_name, entity_node_id=t.child_id),
            update_mask=FieldMask(paths=["entity_node_id"]),
            request_id=t.request_id,
        ),
    ],
    "FetchWMRecordsByEntity": lambda t: [
        memory.FetchWMRecordsByEntityRequest(entity_node_id=t.node_id, with_content=True),
        memory.FetchWMRecordsByEntityRequest(external_id=t.external_id),
        memory.FetchWMRecordsByEntityRequest(
            entity_node_id=t.node_id,
            names=[t.record_name],
            name_prefix="record",
            memory_types=["data/json"],
            tags=[SECRET],
            metadata_contains_json=f'{{"note": "{SECRET}"}}',
        ),
    ],
    "FetchWMManifest": lambda t: [
        memory.FetchWMManifestRequest(root_node_id=t.node_id),
        memory.FetchWMManifestRequest(external_id=t.external_id),
        memory.FetchWMManifestRequest(
            root_node_id=t.node_id,
            depth_max=1,
            edge_types=["Contains"],
            memory_types=["data/json"],
            names=[t.record_name],
            name_prefix=t.record_name,
            tags=[SECRET],
            counts_only=True,
        ),
    ],
    "SearchWMRecords": lambda t: [
        memory.SearchWMRecordsRequest(text="nobody else", entity_node_ids=[t.node_id], with_content=True),
        memory.SearchWMRecordsRequest(
            text=t.record_name, embedding=memory.Embedding(values=[1.0] * 1536, model=SECRET), app_id=t.app_id
        ),
        memory.SearchWMRecordsRequest(
            embedding=memory.Embedding(values=[1.0] * 1536),
            where_json=f'{{"name": "{t.record_name}", "metadata.note": {{"$exists": true}}}}',
            agent_bundle_id=SECRET,
        ),
    ],
    "QueryWMRecords": lambda t: [
        memory.QueryWMRecordsRequest(
            select=["working_memory_id", "name", "metadata", "metadata.note", "tags"],
            where_json=f'{{"entity_node_id": "{t.node_id}", "$or": [{{"name": "{t.record_name}"}}, {{"tags": "x"}}]}}',
            order_by=[memory.QueryOrder(column="metadata.note", descending=True)],
        ),
        memory.QueryWMRecordsRequest(
            select=["memory_type", "metadata.note", "count(*)", "max(created_at)"],
            group_by=["memory_type", "metadata.note"],
            where_json='{"metadata.note": {"$like": "what%"}, "$not": {"name": {"$in": ["a", "b"]}}}',
        ),
    ],
    "DeleteWMRecord": lambda t: [
        memory.DeleteWMRecordRequest(working_memory_id=t.record_id),
        memory.DeleteWMRecordRequest(working_memory_id=t.blob_record_id, purge=True),
    ],
    "RestoreWMRecord": lambda t: [memory.RestoreWMRecordRequest(working_memory_id=t.record_id)],
    "ListWMRecordActions": lambda t: [memory.ListWMRecordActionsRequest(working_memory_id=t.record_id)],
    "UploadBlob": lambda t: [
        _upload(entity_node_id=t.node_id, app_id=t.app_id),
        _upload(working_memory_id=t.record_id, name=t.record_name),
        _upload(request_id=t.request_id),
    ],
    "StartUpload": lambda t: [
        memory.StartUploadRequest(record=_record(entity_node_id=t.node_id, app_id=t.app_id), size_bytes=5),
        memory.StartUploadRequest(record=_record(working_memory_id=t.record_id, name=t.record_name)),
        memory.StartUploadRequest(record=_record(), request_id=t.request_id),
    ],
    "AppendUpload": lambda t: [
        _part(t.upload_id, offset_bytes=len(SECRET)),
        _part(t.upload_id),
    ],
    "FinishUpload": lambda t: [memory.FinishUploadRequest(upload_id=t.upload_id, size_bytes=len(SECRET))],
    "GetBlob": lambda t: [
        memory.GetBlobRequest(working_memory_id=t.blob_record_id),
        memory.GetBlobRequest(blob_key=t.blob_key, offset_bytes=1, length_bytes=5),
    ],
    "GetContent": lambda t: [
        memory.GetContentRequest(working_memory_id=t.record_id),
        memory.GetContentRequest(blob_key=t.blob_key),
    ],
    "CreateDownloadUrl": lambda t: [
        memory.CreateDownloadUrlRequest(working_memory_id=t.blob_record_id, lifetime_s=60),
        memory.CreateDownloadUrlRequest(blob_key=t.blob_key),
    ],
    "DeleteBlob": lambda t: [
        memory.DeleteBlobRequest(working_memory_id=t.blob_record_id),
        memory.DeleteBlobRequest(blob_key=t.blob_key),
    ],
    "ListBlobs": lambda t: [
        memory.ListBlobsRequest(entity_node_id=t.node_id),
        memory.ListBlobsRequest(external_id=t.external_id),
    ],
    "GetChatHistory": lambda t: [
        history.GetChatHistoryRequest(node_id=t.node_id),
        history.GetChatHistoryRequest(external_id=t.external_id),
        history.GetChatHistoryRequest(node_id=t.node_id, format=history.MESSAGE_FORMAT_ANTHROPIC),
        history.GetChatHistoryRequest(node_id=t.node_id, format=history.MESSAGE_FORMAT_GEMINI),
        history.GetChatHistoryRequest(node_id=t.node_id, app_id=t.app_id, mapping_name=t.mapping_name, max_messages=1),
    ],
    "StreamChatHistory": lambda t: [
        history.StreamChatHistoryRequest(node_id=t.node_id, strict=True),
        history.StreamChatHistoryRequest(external_id=t.external_id),
        history.StreamChatHistoryRequest(node_id=t.node_id, app_id=t.app_id, mapping_name=t.mapping_name),
    ],
    "AssembleContext": lambda t: [
        history.AssembleContextRequest(node_id=t.node_id, data_paths=["content", "turn.index", "io", "created_at"]),
        history.AssembleContextRequest(external_id=t.external_id),
        history.AssembleContextRequest(node_id=t.node_id, app_id=t.app_id, mapping_name=t.mapping_name, max_messages=1),
    ],
    "TestMapping": lambda t: [
        history.TestMappingRequest(rules=_RULES, node_id=t.node_id),
        history.TestMappingRequest(rules=_RULES, external_id=t.external_id),
        history.TestMappingRequest(rules=_READING_ROOT, node_id=t.node_id),
        history.TestMappingRequest(
            rules=_READING_ROOT,
            root=_SAMPLE,
            nodes=[history.SampleNode(id=t.node_id, external_id=t.external_id, name=t.node_name), _SAMPLE],
        ),
    ],
    "FetchEntityHistory": lambda t: [
        history.FetchEntityHistoryRequest(node_id=t.node_id),
        history.FetchEntityHistoryRequest(external_id=t.external_id),
        history.FetchEntityHistoryRequest(node_id=t.child_id, descending=True),
    ],
    "RegisterMapping": lambda t: [
        history.RegisterMappingRequest(app_id=t.app_id, mapping_name=t.mapping_name, rules=_RULES),
        history.RegisterMappingRequest(
            app_id=t.app_id,
            mapping_name=t.mapping_name,
            rules=history.MappingRules(role_field="role", content_field="content", role_mapping={"a": "user"}),
        ),
    ],
    "ListTools": lambda t: [tools.ListToolsRequest(), tools.ListToolsRequest(read_only=True)],
    "ListResources": lambda t: [
        tools.ListResourcesRequest(entity_node_id=t.node_id),
        tools.ListResourcesRequest(external_id=t.external_id),
    ],
    # Each tool once, those that read first: the others change what these answer.
    "ExecuteTool": lambda t: [
        _tool("wm_list", entity=t.node_id),
        tools.ExecuteToolRequest(tool_name="wm_list", external_id=t.external_id),
        _tool("wm_list", entity_node_id=t.child_id, names=[t.record_name], page_size=1),
        _tool("wm_read", working_memory_id=t.record_id),
        _tool("wm_read", working_memory_id=t.blob_record_id, bytes_max=16),
        _tool("wm_search", entity=t.node_id, query="nobody else"),
        _tool("wm_query", select=["name", "metadata"], where={"entity_node_id": t.node_id}),
        _tool("wm_manifest", entity=t.node_id, depth_max=1),
        _tool("history_chat", entity=t.node_id),
        _tool("history_chat", entity=t.node_id, app_id=t.app_id, mapping_name=t.mapping_name, page_size=1),
        _tool("history_entity", entity=t.node_id, descending=True),
        _tool("rag_search_records", query=t.record_name, limit=2),
        _tool("rag_search_nodes", query=t.node_name, where={"external_id": t.external_id}),
        _tool("rag_search_nodes", below_node_id=t.node_id),
        _tool("rag_similar_nodes", entity=t.node_id, embedding_name=t.embedding_name),
        _tool("context_recall", context_id=t.context_id, query=SECRET, tokens_max=500, roles=["user"]),
        _tool("context_search", context_id=t.context_id, query=SECRET, kinds=["text"]),
        _tool("context_read", context_id=t.context_id, seq_from=1, seq_to=9, newest_first=True, page_size=1),
        _tool("context_read", context_id=t.context_id, ref="m1.0"),
        _tool("context_read", context_id=t.context_id, ref="a3.0", page_size=1),
        _tool("context_read", user=t.user_id, context_id=t.context_id),
        _tool("window_search", window_id=t.window_id, query=SECRET, step_from=1, step_to=9, kinds=["text"]),
        _tool("window_expand", window_id=t.window_id, ref="m1"),
        _tool("window_expand", window_id=t.window_id, ref="m1/0"),
        _tool("window_pack", window_id=t.window_id, page_size=1),
        _tool("window_pack", user=t.user_id, window_id=t.window_id),
        _tool(
            "task_state_update",
            window_id=t.window_id,
            set=[{"section": "value", "key": "port", "value": "1"}],
            remove=[{"section": "sub_goal", "key": "doubts"}],
            request_id=t.request_id,
        ),
        _tool("task_state_update", user=t.user_id, window_id=t.window_id),
        _tool("context_send", context_id=t.context_id, content="x", role="user", request_id=t.request_id),
        _tool("context_send", entity=t.node_id, content="x", message_id=t.message_id, title=t.node_name),
        _tool("wm_upload", entity=t.node_id, name=t.record_name, content="text", request_id=t.request_id),
        _tool("wm_archive", working_memory_id=t.record_id),
    ],
    "QueryContext": _questions,
    "StreamQueryContext": _questions,
    "RetainMemory": lambda t: [
        knowledge.RetainMemoryRequest(memory=_memory(t, "beside"), subject_user_id=t.user_id),
        knowledge.RetainMemoryRequest(
            memory=knowledge.MemoryInput(text="x", app_id=t.app_id),
            subject_user_id=t.user_id,
            request_id=t.request_id,
        ),
    ],
    "RecallMemories": lambda t: [
        knowledge.RecallMemoriesRequest(query=ASKED, subject_user_id=t.user_id),
        knowledge.RecallMemoriesRequest(query=ASKED, limit=100, filter=_remembered(t), subject_user_id=t.user_id),
    ],
    "ReflectMemories": lambda t: [
        knowledge.ReflectMemoriesRequest(query=ASKED, subject_user_id=t.user_id),
        knowledge.ReflectMemoriesRequest(query=ASKED, limit=20, filter=_remembered(t), subject_user_id=t.user_id),
    ],
    "ListMemories": lambda t: [
        knowledge.ListMemoriesRequest(subject_user_id=t.user_id, page_size=1),
        knowledge.ListMemoriesRequest(filter=_remembered(t), subject_user_id=t.user_id),
    ],
    "UpdateMemory": lambda t: [
        knowledge.UpdateMemoryRequest(
            memory_id=t.memory_id,
            memory=_memory(t, "beside"),
            update_mask=FieldMask(paths=["text", "key"]),
            subject_user_id=t.user_id,
        ),
        knowledge.UpdateMemoryRequest(
            memory_id=t.memory_id,
            memory=knowledge.MemoryInput(confidence=1, app_id=t.app_id),
            update_mask=FieldMask(paths=["confidence"]),
            expected_version=1,
            subject_user_id=t.user_id,
            request_id=t.request_id,
        ),
    ],
    "ForgetMemory": lambda t: [
        knowledge.ForgetMemoryRequest(memory_id=t.memory_id, subject_user_id=t.user_id),
        knowledge.ForgetMemoryRequest(memory_id=t.memory_id, subject_user_id=t.user_id, request_id=t.request_id),
    ],
    "ConsolidateMemories": lambda t: [
        knowledge.ConsolidateMemoriesRequest(run_context_ids=[t.context_id], subject_user_id=t.user_id),
        knowledge.ConsolidateMemoriesRequest(
            run_context_ids=[t.context_id],
            apply=True,
            plan="x",
            subject_user_id=t.user_id,
            request_id=t.request_id,
        ),
        knowledge.ConsolidateMemoriesRequest(apply=True, plan=t.plan, subject_user_id=t.user_id),
    ],
    "PutPage": lambda t: [
        knowledge.PutPageRequest(page=_page(t, t.page_slug, t.memory_id), subject_user_id=t.user_id),
        knowledge.PutPageRequest(
            page=knowledge.PageInput(title="x", markdown="x", app_id=t.app_id),
            subject_user_id=t.user_id,
            request_id=t.request_id,
        ),
    ],
    "GetPage": lambda t: [
        knowledge.GetPageRequest(page_id=t.page_id, subject_user_id=t.user_id),
        knowledge.GetPageRequest(slug=t.page_slug, version=1, subject_user_id=t.user_id),
        knowledge.GetPageRequest(slug=t.page_slug, app_id=t.app_id, subject_user_id=t.user_id),
    ],
    "ListPages": lambda t: [
        knowledge.ListPagesRequest(page_size=1, subject_user_id=t.user_id),
        knowledge.ListPagesRequest(slug_prefix=t.page_slug, memory_id=t.memory_id, subject_user_id=t.user_id),
    ],
    "ListPageVersions": lambda t: [
        knowledge.ListPageVersionsRequest(page_id=t.page_id, page_size=1, subject_user_id=t.user_id),
        knowledge.ListPageVersionsRequest(slug=t.page_slug, app_id=t.app_id, subject_user_id=t.user_id),
    ],
    "DeletePage": lambda t: [
        knowledge.DeletePageRequest(page_id=t.page_id, subject_user_id=t.user_id),
        knowledge.DeletePageRequest(
            slug=t.page_slug, app_id=t.app_id, subject_user_id=t.user_id, request_id=t.request_id
        ),
    ],
    "ListContextProviders": lambda t: [
        querying.ListContextProvidersRequest(agent_id=t.agent_id),
        querying.ListContextProvidersRequest(),
    ],
    "PutAgent": lambda t: [
        agents.PutAgentRequest(agent=_an_agent(t, "another", template_id=t.template_id)),
        agents.PutAgentRequest(
            agent=agents.AgentInput(agent_id=t.agent_id, display_name="another"), request_id=t.request_id
        ),
    ],
    "GetAgent": lambda t: [
        agents.GetAgentRequest(agent_id=t.agent_id),
        agents.GetAgentRequest(agent_id=t.agent_id, subject_user_id=t.user_id),
    ],
    "ListAgents": lambda t: [
        agents.ListAgentsRequest(page_size=1),
        agents.ListAgentsRequest(template_id=t.template_id, page_size=1, subject_user_id=t.user_id),
    ],
    "DeleteAgent": lambda t: [
        agents.DeleteAgentRequest(agent_id=t.agent_id),
        agents.DeleteAgentRequest(agent_id=t.agent_id, request_id=t.request_id),
    ],
    "PutAgentTemplate": lambda t: [
        agents.PutAgentTemplateRequest(template=_a_template(t, "another")),
        agents.PutAgentTemplateRequest(
            template=agents.AgentTemplateInput(template_id=t.template_id), request_id=t.request_id
        ),
    ],
    "ListAgentTemplates": lambda t: [agents.ListAgentTemplatesRequest(page_size=1)],
    "DeleteAgentTemplate": lambda t: [
        agents.DeleteAgentTemplateRequest(template_id=t.template_id),
        agents.DeleteAgentTemplateRequest(template_id=t.template_id, request_id=t.request_id),
    ],
    "PutKnowledgeBase": lambda t: [
        bases.PutKnowledgeBaseRequest(knowledge_base=_a_base(t.base_name, "another")),
        bases.PutKnowledgeBaseRequest(
            knowledge_base=bases.KnowledgeBaseInput(name=t.base_name, app_id=t.app_id), request_id=t.request_id
        ),
    ],
    "GetKnowledgeBase": lambda t: [bases.GetKnowledgeBaseRequest(name=t.base_name)],
    "ListKnowledgeBases": lambda t: [bases.ListKnowledgeBasesRequest(page_size=1)],
    "DeleteKnowledgeBase": lambda t: [
        bases.DeleteKnowledgeBaseRequest(name=t.base_name),
        bases.DeleteKnowledgeBaseRequest(name=t.base_name, request_id=t.request_id),
    ],
    "AddDocument": lambda t: [
        bases.AddDocumentRequest(knowledge_base=t.base_name, document=_a_document("another")),
        bases.AddDocumentRequest(
            knowledge_base=t.base_name,
            document=bases.DocumentInput(name=t.record_name, working_memory_id=t.record_id),
            request_id=t.request_id,
        ),
    ],
    "ListDocuments": lambda t: [
        bases.ListDocumentsRequest(knowledge_base=t.base_name, page_size=1),
        bases.ListDocumentsRequest(knowledge_base=t.base_name, states=[bases.DOCUMENT_STATE_INDEXED]),
    ],
    "RemoveDocument": lambda t: [
        bases.RemoveDocumentRequest(knowledge_base=t.base_name, document_id=t.document_id),
        bases.RemoveDocumentRequest(knowledge_base=t.base_name, document_id=t.document_id, request_id=t.request_id),
    ],
    "PutDefinition": lambda t: [
        definitions.PutDefinitionRequest(name=t.definition_name, rules=_defined("a third")),
        definitions.PutDefinitionRequest(
            name=t.definition_name,
            rules=definitions.DefinitionRules(
                node_type="A",
                title="entity.name",
                app_id=t.app_id,
                facets=[
                    definitions.FacetRules(
                        slug="own",
                        heading="A",
                        kind=definitions.FACET_KIND_EXTERNAL,
                        walk=definitions.FacetWalk(include_start=True, include_archived=True),
                        declassify=True,
                        text="entity.name",
                    )
                ],
            ),
            request_id=t.request_id,
        ),
    ],
    "ApproveDefinition": lambda t: [
        definitions.ApproveDefinitionRequest(name=t.definition_name, version=2),
        definitions.ApproveDefinitionRequest(name=t.definition_name, version=1, request_id=t.request_id),
    ],
    "RetireDefinition": lambda t: [
        definitions.RetireDefinitionRequest(name=t.definition_name),
        definitions.RetireDefinitionRequest(name=t.definition_name, version=2, request_id=t.request_id),
    ],
    "GetDefinition": lambda t: [
        definitions.GetDefinitionRequest(name=t.definition_name),
        definitions.GetDefinitionRequest(name=t.definition_name, version=2),
    ],
    "ListDefinitions": lambda t: [
        definitions.ListDefinitionsRequest(page_size=1),
        definitions.ListDefinitionsRequest(
            states=[definitions.DEFINITION_STATE_DRAFT, definitions.DEFINITION_STATE_APPROVED], page_size=1
        ),
    ],
    "TestDefinition": lambda t: [
        definitions.TestDefinitionRequest(rules=_defined("another"), node_id=t.node_id),
        definitions.TestDefinitionRequest(rules=_defined(app_id=t.app_id), node_id=t.child_id),
        definitions.TestDefinitionRequest(rules=_defined("another"), external_id=t.external_id),
    ],
    "CompilePages": lambda t: [
        definitions.CompilePagesRequest(definition_name=t.definition_name),
        definitions.CompilePagesRequest(node_ids=[t.node_id, t.child_id]),
        definitions.CompilePagesRequest(),
    ],
    "GetCompiledPage": lambda t: [definitions.GetCompiledPageRequest(page_id=t.compiled_page_id)],
    "ListCompiledPages": lambda t: [
        definitions.ListCompiledPagesRequest(page_size=1),
        definitions.ListCompiledPagesRequest(definition_name=t.definition_name, node_id=t.node_id, page_size=1),
        definitions.ListCompiledPagesRequest(external_id=t.external_id, page_size=1),
    ],
    "PutFacet": lambda t: [
        definitions.PutFacetRequest(page_id=t.compiled_page_id, facet=_a_facet("another")),
        definitions.PutFacetRequest(
            page_id=t.compiled_page_id, facet=definitions.FacetInput(slug="put"), request_id=t.request_id
        ),
    ],
    "ListKeys": lambda t: [
        administration.ListKeysRequest(page_size=1),
        administration.ListKeysRequest(context_id=t.context_id, page_size=1),
    ],
    "CreateKey": lambda t: [
        administration.CreateKeyRequest(
            key=administration.KeyInput(
                subject="x", scopes=["read"], user_id=t.user_id, agent_id=t.agent_id, app_ids=[t.app_id]
            )
        )
    ],
    "RevokeKey": lambda t: [administration.RevokeKeyRequest(prefix="cgk_01234567")],
    "ListAdministrativeCalls": lambda t: [
        administration.ListAdministrativeCallsRequest(page_size=1),
        administration.ListAdministrativeCallsRequest(call_id=t.call_id, page_size=1),
    ],
    "PlanErasure": lambda t: [erasures.PlanErasureRequest(subject=t.user_id)],
    "Erase": lambda t: [
        erasures.EraseRequest(subject=t.held_user_id),
        erasures.EraseRequest(subject=t.held_user_id, request_id=t.request_id),
    ],
    "GetSubjectErasure": lambda t: [erasures.GetSubjectErasureRequest(erasure_id=t.subject_erasure_id)],
    "PutHold": lambda t: [
        erasures.PutHoldRequest(context_id=t.context_id, reason="x"),
        erasures.PutHoldRequest(subject=t.held_user_id, reason="x", request_id=t.request_id),
    ],
    "ReleaseHold": lambda t: [
        erasures.ReleaseHoldRequest(hold_id=t.hold_id),
        erasures.ReleaseHoldRequest(hold_id=t.hold_id, request_id=t.request_id),
    ],
    "ListHolds": lambda t: [erasures.ListHoldsRequest(page_size=1)],
    "EraseOwned": lambda t: [graph.EraseOwnedRequest(erasure_id=t.subject_erasure_id)],
    "GetOwned": lambda t: [
        graph.GetOwnedRequest(subject=t.user_id),
        graph.GetOwnedRequest(erasure_id=t.subject_erasure_id),
    ],
    "ListTenants": lambda t: [administration.ListTenantsRequest(page_size=1)],
    "SetTenantLimits": lambda t: [
        administration.SetTenantLimitsRequest(
            tenant="default",
            limits=administration.TenantLimits(records_max=0, bytes_max=0, blob_bytes_max=1, content_bytes_max=1),
            update_mask=FieldMask(paths=["records_max", "bytes_max", "blob_bytes_max", "content_bytes_max"]),
        )
    ],
    "RetryBackgroundWork": lambda t: [administration.RetryBackgroundWorkRequest(kind="index")],
    "StartJob": lambda t: [administration.StartJobRequest(kind=administration.JOB_KIND_FSCK, quick=True, repair=True)],
    "ListJobs": lambda t: [administration.ListJobsRequest(page_size=1)],
    "ExportArchive": lambda t: [
        transfer.ExportArchiveRequest(scope=transfer.ArchiveScope(context_id=t.context_id)),
        transfer.ExportArchiveRequest(scope=transfer.ArchiveScope(user_id=t.user_id)),
        transfer.ExportArchiveRequest(scope=transfer.ArchiveScope(graph_name="second")),
        transfer.ExportArchiveRequest(scope=transfer.ArchiveScope(tenant=True)),
    ],
    "ImportArchive": lambda t: [
        _archive(t.context_id, dry_run=True),
        _archive(t.context_id, import_id=t.import_id),
        _archive(t.context_id, import_id=str(new_id())),
    ],
    "PutMcpServer": lambda t: [
        mcp_servers.PutMcpServerRequest(server=_a_server(t.server_id, "another")),
        mcp_servers.PutMcpServerRequest(
            server=_a_server(t.server_id, "another"), clear_secret=True, request_id=t.request_id
        ),
    ],
    "ListMcpServers": lambda t: [mcp_servers.ListMcpServersRequest(page_size=1)],
    "ListMcpTools": lambda t: [
        mcp_servers.ListMcpToolsRequest(page_size=1),
        mcp_servers.ListMcpToolsRequest(server_id=t.server_id, page_size=1),
    ],
    "ApproveMcpTool": lambda t: [
        mcp_servers.ApproveMcpToolRequest(server_id=t.server_id, tool_name="search"),
        mcp_servers.ApproveMcpToolRequest(
            server_id=t.server_id,
            tool_name="search",
            arguments_json='{"query": "{question}"}',
            is_default=True,
            record_search_safe=True,
            request_id=t.request_id,
        ),
    ],
    "UnapproveMcpTool": lambda t: [
        mcp_servers.UnapproveMcpToolRequest(server_id=t.server_id, tool_name="search"),
        mcp_servers.UnapproveMcpToolRequest(server_id=t.server_id, tool_name="search", request_id=t.request_id),
    ],
    "DeleteMcpServer": lambda t: [
        mcp_servers.DeleteMcpServerRequest(server_id=t.server_id),
        mcp_servers.DeleteMcpServerRequest(server_id=t.server_id, request_id=t.request_id),
    ],
    "PutSpecialist": lambda t: [
        specialists.PutSpecialistRequest(specialist=_a_specialist(t, t.specialist_id, "another")),
        specialists.PutSpecialistRequest(
            specialist=specialists.SpecialistInput(specialist_id=t.specialist_id), request_id=t.request_id
        ),
    ],
    "ListSpecialists": lambda t: [specialists.ListSpecialistsRequest(page_size=1)],
    "DeleteSpecialist": lambda t: [
        specialists.DeleteSpecialistRequest(specialist_id=t.specialist_id),
        specialists.DeleteSpecialistRequest(specialist_id=t.specialist_id, request_id=t.request_id),
    ],
    "GetQueryPolicy": lambda t: [
        querying.GetQueryPolicyRequest(agent_id=t.agent_id),
        querying.GetQueryPolicyRequest(),
        querying.GetQueryPolicyRequest(subject_user_id=t.user_id),
    ],
    "RunSourceTest": lambda t: [
        querying.RunSourceTestRequest(
            label="weekly",
            question=querying.QueryContextRequest(
                query=ASKED,
                providers=querying.ProviderSelection(ids=["workspace", "context"]),
                provider_options=querying.ProviderOptions(workspace=querying.WorkspaceOptions(node_ids=[t.node_id])),
                context_ids=[t.context_id],
                subject_user_id=t.user_id,
            ),
        ),
        querying.RunSourceTestRequest(replay_of=t.test_id),
    ],
    "ListSourceTests": lambda t: [querying.ListSourceTestsRequest(page_size=1)],
    "CompareSourceTests": lambda t: [querying.CompareSourceTestsRequest(test_id=t.test_id, other_test_id=t.test_id)],
    "UpdateProviderSetting": lambda t: [
        querying.UpdateProviderSettingRequest(
            setting=querying.ProviderSetting(
                provider_id="workspace", enabled=True, workspace=querying.WorkspaceOptions(node_ids=[t.node_id])
            ),
            reset=["is_default", "deadline_ms"],
        ),
        querying.UpdateProviderSettingRequest(
            setting=querying.ProviderSetting(provider_id="context", is_default=False, deadline_ms=60_000),
            request_id=t.request_id,
        ),
    ],
    "OpenWindow": lambda t: [
        windows.OpenWindowRequest(context_id=t.context_id, model="gpt-5", system_prompt="x", goal="x"),
        windows.OpenWindowRequest(
            context_id=t.context_id, model="a model", context_tokens=100_000, tools_json="[]", subject_user_id=t.user_id
        ),
        windows.OpenWindowRequest(context_id=t.context_id, model="gpt-5", compression_profile="coding"),
        windows.OpenWindowRequest(
            context_id=t.context_id,
            model="claude-x",
            format=history.MESSAGE_FORMAT_GEMINI,
            token_budget=0.5,
            output_reservation=1,
            request_id=t.request_id,
            config=windows.WindowConfig(
                high_mark=0.9, tier_ratios=windows.TierRatios(hot=0.5), max_total_tokens=10_000, cache_ttl_s=60
            ),
        ),
    ],
    "PutProfile": lambda t: [
        _put(t.profile_name, "another"),
        windows.PutProfileRequest(name=t.profile_name, text="extends: general", request_id=t.request_id),
    ],
    "ListProfiles": lambda t: [
        windows.ListProfilesRequest(),
        windows.ListProfilesRequest(name=t.profile_name, with_text=True, page_size=1),
    ],
    "SetLearning": lambda t: [
        windows.SetLearningRequest(profile="coding", app_id=t.app_id, is_frozen=False),
        windows.SetLearningRequest(
            profile=t.profile_name, app_id=t.app_id, is_frozen=False, undo=True, request_id=t.request_id
        ),
    ],
    "GetWindow": lambda t: [
        windows.GetWindowRequest(window_id=t.window_id),
        windows.GetWindowRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "ListWindows": lambda t: [
        windows.ListWindowsRequest(context_id=t.context_id),
        windows.ListWindowsRequest(context_id=t.context_id, subject_user_id=t.user_id),
    ],
    "Pack": lambda t: [
        windows.PackRequest(window_id=t.window_id),
        windows.PackRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "Fold": lambda t: [
        windows.FoldRequest(window_id=t.window_id),
        windows.FoldRequest(window_id=t.window_id, dry_run=True, subject_user_id=t.user_id),
    ],
    "PrepareFold": lambda t: [
        windows.PrepareFoldRequest(window_id=t.window_id),
        windows.PrepareFoldRequest(window_id=t.window_id, expected_epoch=2, subject_user_id=t.user_id),
    ],
    "CommitFold": lambda t: [
        windows.CommitFoldRequest(window_id=t.window_id),
        windows.CommitFoldRequest(window_id=t.window_id, expected_epoch=2, request_id=t.request_id),
        windows.CommitFoldRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "CreateCheckpoint": lambda t: [
        windows.CreateCheckpointRequest(window_id=t.window_id, label="x"),
        windows.CreateCheckpointRequest(window_id=t.window_id, request_id=t.request_id),
        windows.CreateCheckpointRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "ListCheckpoints": lambda t: [
        windows.ListCheckpointsRequest(window_id=t.window_id, page_size=1),
        windows.ListCheckpointsRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "Rollback": lambda t: [
        windows.RollbackRequest(window_id=t.window_id, checkpoint=1, expected_last_seq=LAST_SEQ),
        windows.RollbackRequest(
            window_id=t.window_id, checkpoint=1, expected_last_seq=LAST_SEQ, request_id=t.request_id
        ),
        windows.RollbackRequest(
            window_id=t.window_id, checkpoint=1, expected_last_seq=LAST_SEQ, subject_user_id=t.user_id
        ),
    ],
    "ReportResponse": lambda t: [
        windows.ReportResponseRequest(window_id=t.window_id, pack_id="0.1", invalid=True, expected_last_seq=LAST_SEQ),
        windows.ReportResponseRequest(
            window_id=t.window_id,
            pack_id=f"2.{LAST_SEQ}",
            invalid=True,
            expected_last_seq=LAST_SEQ,
            request_id=t.request_id,
        ),
        windows.ReportResponseRequest(window_id=t.window_id, pack_id="1.1", subject_user_id=t.user_id),
    ],
    "ForkWindow": lambda t: [
        windows.ForkWindowRequest(window_id=t.window_id, task=SECRET),
        windows.ForkWindowRequest(
            window_id=t.window_id,
            task="x",
            inherits=windows.FORK_INHERITANCE_PINS,
            model="gpt-5",
            system_prompt=SECRET,
            tools_json="[]",
            key_ttl_s=60,
            request_id=t.request_id,
        ),
        windows.ForkWindowRequest(window_id=t.window_id, task="x", subject_user_id=t.user_id),
    ],
    "MergeWindow": lambda t: [
        windows.MergeWindowRequest(window_id=t.fork_id),
        windows.MergeWindowRequest(window_id=t.fork_id, tokens_max=100, tool_call_id="c", request_id=t.request_id),
        windows.MergeWindowRequest(window_id=t.fork_id, subject_user_id=t.user_id),
    ],
    "Expand": lambda t: [
        windows.ExpandRequest(window_id=t.window_id, ref="f1:m1"),
        windows.ExpandRequest(window_id=t.window_id, ref="m1"),
        windows.ExpandRequest(window_id=t.window_id, ref="m1/0"),
        windows.ExpandRequest(window_id=t.window_id, ref="m1.0", subject_user_id=t.user_id),
        windows.ExpandRequest(window_id=t.window_id, ref="a1.0"),
        windows.ExpandRequest(window_id=t.window_id, ref="m1..m2"),
    ],
    "SearchWindow": lambda t: [
        windows.SearchWindowRequest(window_id=t.window_id, query=SECRET),
        windows.SearchWindowRequest(window_id=t.window_id, query=SECRET, step_from=1, step_to=9),
        windows.SearchWindowRequest(window_id=t.window_id, query=SECRET, subject_user_id=t.user_id),
        windows.SearchWindowRequest(
            window_id=t.window_id,
            query=SECRET,
            filter=contexts.RecallFilter(task_ids=[t.task_id], entity_node_ids=[t.node_id]),
        ),
    ],
    "ExplainPack": lambda t: [
        windows.ExplainPackRequest(window_id=t.window_id),
        windows.ExplainPackRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "GetLineage": lambda t: [
        windows.GetLineageRequest(window_id=t.window_id, page_size=1),
        windows.GetLineageRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "GetState": lambda t: [
        windows.GetStateRequest(window_id=t.window_id),
        windows.GetStateRequest(window_id=t.window_id, sections=["constraint"], subject_user_id=t.user_id),
        windows.GetStateRequest(window_id=t.window_id, sections=["tool", "entity"], page_size=1),
    ],
    "WatchWindow": lambda t: [
        windows.WatchWindowRequest(until_now=True, window_id=t.window_id),
        windows.WatchWindowRequest(
            until_now=True, window_id=t.window_id, epoch_after=1, entry_from=1, subject_user_id=t.user_id
        ),
    ],
    "EstimateCost": lambda t: [
        windows.EstimateCostRequest(window_id=t.window_id, steps=100_000),
        windows.EstimateCostRequest(window_id=t.window_id, steps=9, step_tokens=9, subject_user_id=t.user_id),
    ],
    "WindowStats": lambda t: [
        windows.WindowStatsRequest(window_id=t.window_id),
        windows.WindowStatsRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "RecordUsage": lambda t: [
        windows.RecordUsageRequest(window_id=t.window_id, pack_tokens=10, input_tokens=9, cached_tokens=1),
        windows.RecordUsageRequest(window_id=t.window_id, epoch=1, input_tokens=9, request_id=t.request_id),
        windows.RecordUsageRequest(window_id=t.window_id, input_tokens=1, subject_user_id=t.user_id),
    ],
    "RecordOutcome": lambda t: [
        windows.RecordOutcomeRequest(window_id=t.window_id, step_to=1, success=True, quality=0.5),
        windows.RecordOutcomeRequest(window_id=t.window_id, step_from=1, success=True, request_id=t.request_id),
        windows.RecordOutcomeRequest(window_id=t.window_id, success=True, lesson="x", subject_user_id=t.user_id),
    ],
    "CloseWindow": lambda t: [
        windows.CloseWindowRequest(window_id=t.window_id),
        windows.CloseWindowRequest(window_id=t.window_id, request_id=t.request_id),
        windows.CloseWindowRequest(window_id=t.window_id, subject_user_id=t.user_id),
    ],
    "UpdateWindow": lambda t: [
        windows.UpdateWindowRequest(window_id=t.window_id, system_prompt="x", tools_json="[]", goal="x"),
        windows.UpdateWindowRequest(window_id=t.window_id, goal="y", request_id=t.request_id),
        windows.UpdateWindowRequest(window_id=t.window_id, goal="y", subject_user_id=t.user_id),
        windows.UpdateWindowRequest(
            window_id=t.window_id,
            config=windows.WindowConfig(keep_last_steps=3, tier_ratios=windows.TierRatios(hot=0.3)),
            token_budget=0.5,
            output_reservation=5_000,
        ),
    ],
    "Pin": lambda t: [
        windows.PinRequest(window_id=t.window_id, text="x"),
        windows.PinRequest(window_id=t.window_id, ref="m1", request_id=t.request_id),
        windows.PinRequest(window_id=t.window_id, ref="m1/0", subject_user_id=t.user_id),
    ],
    "Unpin": lambda t: [
        windows.UnpinRequest(window_id=t.window_id, pin_id=t.pin_id),
        windows.UnpinRequest(window_id=t.window_id, pin_id=t.pin_id, request_id=t.request_id),
        windows.UnpinRequest(window_id=t.window_id, pin_id=t.pin_id, subject_user_id=t.user_id),
    ],
    "PatchState": lambda t: [
        windows.PatchStateRequest(
            window_id=t.window_id,
            set=[windows.StateEntryInput(section="value", key="k", value="x")],
            remove=[windows.StateEntryName(section="goal")],
        ),
        windows.PatchStateRequest(
            window_id=t.window_id,
            set=[windows.StateEntryInput(section="decision", key="k", text="x")],
            request_id=t.request_id,
        ),
        windows.PatchStateRequest(
            window_id=t.window_id,
            remove=[windows.StateEntryName(section="constraint", key="k")],
            subject_user_id=t.user_id,
        ),
    ],
    "ListMappings": lambda t: [history.ListMappingsRequest(), history.ListMappingsRequest(app_id=t.app_id)],
}


def cases(rpc: Rpc, t: Things) -> list[Case]:
    """Return the requests of an RPC: those of the table, or else one whose fields name the things of the same names."""
    if rpc.name in CASES:
        return list(CASES[rpc.name](t))
    named = {field.name for field in rpc.request.DESCRIPTOR.fields if field.type == field.TYPE_STRING}
    return [rpc.request(**{name: getattr(t, name) for name in Things.__slots__ if name in named - {"request_id"}})]
