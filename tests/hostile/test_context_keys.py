"""A key of a context reaches that context and what is below it, whatever its bearer is talked into.

That no RPC shows it more of the tenant is in `test_strangers`.
"""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from context_service.mcp.api import TOOLS
from context_service.mcp.tools.contexts import CONTEXT_TOOLS
from context_service.mcp.tools.windows import WINDOW_TOOLS
from contextkeep.context.v1 import administration_pb2 as administration
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.context.v1 import context_query_pb2 as query
from contextkeep.context.v1 import context_windows_pb2 as windows
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.context.v1 import tools_pb2 as tools
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.context.v1.message_pb2 import MessageInput
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.hostile.calling import WHOLE_SHARES, Client, Outcome
from tests.hostile.stalls import watched
from tests.hostile.things import RPCS, SECRET, Things, seeded
from tests.media import png

OWNER = NewKey(tenant="default", subject="owner", scopes=["read", "write", "delegate", "admin"])


@dataclass(frozen=True, kw_only=True)
class Issued:
    client: Client
    things: Things
    context_id: str
    parent: str
    key: str
    reader: str
    admin_url: str


@pytest.fixture(scope="module")
def issued(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issued]:
    with (
        cloned(postgres) as urls,
        watched("issued", urls.service, tmp_path_factory.mktemp("blobs"), callers=None, **WHOLE_SHARES) as addresses,
        Client.open(addresses) as client,
    ):
        parent = KeyAdministration(urls.admin).create(OWNER)
        things = seeded(client, parent)
        first = pb.SendMessageRequest(message=MessageInput(content="of the key", message_id="first"))
        (sent,) = client.call(RPCS["SendMessage"], first, key=parent).answers
        keys = []
        for scopes in ([], ["read"]):
            request = pb.IssueContextKeyRequest(context_id=sent.context_id, scopes=scopes)
            (answer,) = client.call(RPCS["IssueContextKey"], request, key=parent).answers
            keys.append(answer.key)
        yield Issued(
            client=client,
            things=things,
            context_id=sent.context_id,
            parent=parent,
            key=keys[0],
            reader=keys[1],
            admin_url=urls.superuser,
        )


def test_it_reads_and_writes_its_context(issued: Issued):
    said = pb.SendMessageRequest(context_id=issued.context_id, message=MessageInput(content="by the key"))
    sent = issued.client.call(RPCS["SendMessage"], said, key=issued.key)
    assert sent.ok, sent
    listed = issued.client.call(
        RPCS["ListMessages"], pb.ListMessagesRequest(context_id=issued.context_id), key=issued.key
    )
    assert [one.content for one in listed.answers[0].messages] == ["of the key", "by the key"]
    (headers,) = issued.client.call(RPCS["ListContexts"], pb.ListContextsRequest(), key=issued.key).answers
    assert [one.context_id for one in headers.contexts] == [issued.context_id]


def test_it_packs_a_window_of_its_context(issued: Issued):
    opening = windows.OpenWindowRequest(context_id=issued.context_id, model="gpt-5")
    (opened,) = issued.client.call(RPCS["OpenWindow"], opening, key=issued.key).answers
    asked = windows.PackRequest(window_id=opened.window.window_id)
    packed = issued.client.call(RPCS["Pack"], asked, key=issued.key)
    assert "of the key" in packed.answers[0].messages_json
    assert issued.client.call(RPCS["Pack"], asked, key=issued.reader).reason == "PERMISSION_DENIED"


def test_it_packs_the_pictures_of_its_context_and_reads_no_others(issued: Issued):
    shown, hidden = png(43, 30, color=3), png(44, 30, color=4)
    file_ids = []
    for context_id, data in ((issued.context_id, shown), ("", hidden)):
        said = MessageInput(parts=[message.Part(file=message.File(data=data))])
        sending = pb.SendMessageRequest(context_id=context_id, message=said)
        (sent,) = issued.client.call(RPCS["SendMessage"], sending, key=issued.parent).answers
        reading = pb.GetMessageRequest(context_id=sent.context_id, message_id=sent.message.message_id)
        (read,) = issued.client.call(RPCS["GetMessage"], reading, key=issued.parent).answers
        file_ids.append(read.message.parts[0].file.working_memory_id)
    opening = windows.OpenWindowRequest(context_id=issued.context_id, model="claude-sonnet-4-5")
    (opened,) = issued.client.call(RPCS["OpenWindow"], opening, key=issued.key).answers
    asked = windows.PackRequest(window_id=opened.window.window_id)
    (pack,) = issued.client.call(RPCS["Pack"], asked, key=issued.key).answers
    assert b64encode(shown).decode() in pack.messages_json
    body = windows.PackBodyRequest(window_id=opened.window.window_id)
    chunks = issued.client.call(RPCS["PackBody"], body, key=issued.key).answers
    assert b"".join(answer.chunk for answer in chunks).decode() == pack.messages_json
    reads = [memory.GetContentRequest(working_memory_id=file_id) for file_id in file_ids]
    (content,) = issued.client.call(RPCS["GetContent"], reads[0], key=issued.key).answers
    assert content.content == shown
    assert issued.client.call(RPCS["GetContent"], reads[1], key=issued.key).reason == "RECORD_NOT_FOUND"


def test_what_it_was_billed_teaches_its_window_and_no_other(issued: Issued):
    """Whatever it is talked into: the tenant's other windows keep their budgets by the bills of others."""
    opening = windows.OpenWindowRequest(context_id=issued.context_id, model="claude-of-the-key")
    (opened,) = issued.client.call(RPCS["OpenWindow"], opening, key=issued.parent).answers
    for factors in [(1, 1), (2, 1)]:
        billed = windows.RecordUsageRequest(window_id=opened.window.window_id, pack_tokens=9, input_tokens=900)
        (learned,) = issued.client.call(RPCS["RecordUsage"], billed, key=issued.key).answers
        assert (learned.token_factor, learned.typical_factor, learned.is_clamped) == (*factors, True)
    (another,) = issued.client.call(RPCS["OpenWindow"], opening, key=issued.parent).answers
    assert another.window.token_factor == 1


def test_it_is_told_what_it_is_and_nothing_of_the_key_that_issued_it(issued: Issued):
    (caller,) = issued.client.call(RPCS["GetCaller"], administration.GetCallerRequest(), key=issued.reader).answers
    assert (caller.tenant, caller.key_prefix, caller.context_id) == ("default", issued.reader[:12], issued.context_id)
    assert caller.scopes == ["read"]
    assert caller.HasField("expires_at")
    assert issued.parent[:12] not in str(caller)


def test_one_that_may_read_writes_nothing(issued: Issued):
    said = pb.SendMessageRequest(context_id=issued.context_id, message=MessageInput(content="x"))
    assert issued.client.call(RPCS["SendMessage"], said, key=issued.reader).reason == "PERMISSION_DENIED"
    got = issued.client.call(RPCS["GetContext"], pb.GetContextRequest(context_id=issued.context_id), key=issued.reader)
    assert got.ok, got


def test_it_calls_tools_of_its_context_and_no_others(issued: Issued):
    def execute(name: str, **arguments: object) -> Outcome:
        request = tools.ExecuteToolRequest(tool_name=name, arguments_json=json.dumps(arguments))
        return issued.client.call(RPCS["ExecuteTool"], request, key=issued.key)

    (listed,) = issued.client.call(RPCS["ListTools"], tools.ListToolsRequest(), key=issued.key).answers
    allowed = {tool.name for tool in (*CONTEXT_TOOLS, *WINDOW_TOOLS)}
    assert {tool.tool_name for tool in listed.tools} == allowed
    assert {tool.name for tool in TOOLS.values() if tool.method.options.context_key} == allowed
    assert execute("context_send", context_id=issued.context_id, content="a zebra").ok
    found = execute("context_recall", context_id=issued.context_id, query="zebra")
    assert "a zebra" in found.answers[0].result_json
    assert execute("context_recall", context_id=issued.things.context_id, query="x").reason == "CONTEXT_NOT_FOUND"
    for name, asked in {
        "window_pack": {},
        "window_expand": {"ref": "m1"},
        "window_search": {"query": "x"},
        "task_state_update": {"set": [{"section": "progress", "text": "x"}]},
    }.items():
        assert execute(name, window_id=issued.things.window_id, **asked).reason == "WINDOW_NOT_FOUND", name
    for tool in TOOLS.values():
        if tool.name not in allowed:
            assert execute(tool.name, entity_node_id=issued.things.node_id).reason == "PERMISSION_DENIED"


def test_it_asks_its_own_context_and_nobody_else(issued: Issued):
    """Words of the tenant's records and of another context are there to be found, by whoever may."""
    said = pb.SendMessageRequest(context_id=issued.context_id, message=MessageInput(content="The okapi is asleep."))
    assert issued.client.call(RPCS["SendMessage"], said, key=issued.key).ok
    elsewhere = pb.SendMessageRequest(message=MessageInput(content="Another okapi is awake."))
    (other,) = issued.client.call(RPCS["SendMessage"], elsewhere, key=issued.parent).answers
    record = memory.WMRecordInput(memory_type="file", name="okapi.md", content_text="An okapi of the files.")
    assert issued.client.call(RPCS["InsertWMRecord"], memory.InsertWMRecordRequest(record=record), key=issued.parent).ok
    request = query.QueryContextRequest(
        query="okapi",
        context_ids=[issued.context_id, other.context_id],
        providers=query.ProviderSelection(ids=["workspace", "context"]),
    )

    (whole,) = issued.client.call(RPCS["QueryContext"], request, key=issued.parent).answers
    assert {one.snippet for one in whole.hits} == {
        "The okapi is asleep.",
        "Another okapi is awake.",
        "An okapi of the files.",
    }
    for key in (issued.key, issued.reader):
        (answer,) = issued.client.call(RPCS["QueryContext"], request, key=key).answers
        assert [one.snippet for one in answer.hits] == ["The okapi is asleep."]
        *told, last = issued.client.call(RPCS["StreamQueryContext"], request, key=key).answers
        assert [hit.snippet for one in told for hit in one.provider.hits] == ["The okapi is asleep."]
        assert [hit.snippet for hit in last.answer.hits] == ["The okapi is asleep."]
        context, workspace = answer.providers
        assert (context.state, context.reason) == (query.PROVIDER_STATE_STALE, f"CONTEXT_NOT_FOUND: {other.context_id}")
        assert (workspace.state, workspace.hit_count) == (query.PROVIDER_STATE_SKIPPED, 0)
        assert workspace.reason == "the key is bound to a context"


def test_it_points_at_no_record(issued: Issued):
    """Its own tenant's neither: what a part names is read as the caller, and it sees none."""
    part = message.Part(working_memory_id=issued.things.record_id)
    created = tasks_pb.CreateTaskRequest(context_id=issued.context_id)
    (answer,) = issued.client.call(RPCS["CreateTask"], created, key=issued.key).answers
    task_id = answer.task.task_id
    status = tasks_pb.TaskInput(
        status=tasks_pb.TaskStatusInput(state=tasks_pb.TASK_STATE_WORKING, message=MessageInput(parts=[part]))
    )
    sayings = {
        "SendMessage": pb.SendMessageRequest(context_id=issued.context_id, message=MessageInput(parts=[part])),
        "AppendMessages": pb.AppendMessagesRequest(context_id=issued.context_id, messages=[MessageInput(parts=[part])]),
        "CreateTask": tasks_pb.CreateTaskRequest(context_id=issued.context_id, task=status),
        "UpdateTask": tasks_pb.UpdateTaskRequest(
            context_id=issued.context_id, task_id=task_id, task=status, update_mask={"paths": ["status"]}
        ),
        "PutArtifact": artifacts_pb.PutArtifactRequest(
            context_id=issued.context_id,
            task_id=task_id,
            artifact=artifacts_pb.ArtifactInput(artifact_id="a", parts=[part]),
        ),
    }
    for name, said in sayings.items():
        assert issued.client.call(RPCS[name], said, key=issued.key).reason == "RECORD_NOT_FOUND", name
        assert issued.client.call(RPCS[name], said, key=issued.parent).ok, name


def _send_file(issued: Issued, context_id: str, data: bytes) -> str:
    """Send a file in a context, by the parent, and return its record."""
    said = MessageInput(parts=[message.Part(file=message.File(data=data, name="a.png"))])
    request = pb.SendMessageRequest(context_id=context_id, message=said)
    (sent,) = issued.client.call(RPCS["SendMessage"], request, key=issued.parent).answers
    reading = pb.GetMessageRequest(context_id=sent.context_id, message_id=sent.message.message_id)
    (got,) = issued.client.call(RPCS["GetMessage"], reading, key=issued.parent).answers
    return got.message.parts[0].file.working_memory_id


def _read_file(issued: Issued, key: str, **asked: str) -> tuple[Outcome, Outcome]:
    return (
        issued.client.call(RPCS["GetContent"], memory.GetContentRequest(**asked), key=key),
        issued.client.call(RPCS["GetBlob"], memory.GetBlobRequest(**asked), key=key),
    )


def _assert_reads(issued: Issued, key: str, data: bytes, **asked: str) -> None:
    content, blob = _read_file(issued, key, **asked)
    assert content.ok and blob.ok, (content, blob)
    assert content.answers[0].content == b"".join(one.chunk for one in blob.answers) == data


def test_it_reads_the_files_of_its_context_and_no_others(issued: Issued):
    """Neither those of another context and of working memory, nor such with the same bytes, by whichever name."""
    data, others = png(3, 2, color=41), png(3, 2, color=42)
    own = _send_file(issued, issued.context_id, data)
    for key in (issued.key, issued.reader, issued.parent):
        _assert_reads(issued, key, data, working_memory_id=own)

    hidden = {_send_file(issued, "", data): data, _send_file(issued, "", others): others}
    for stored in (data, others):
        header = memory.UploadHeader(record=memory.WMRecordInput(memory_type="file", name=f"{uuid.uuid4()}.png"))
        upload = [memory.UploadBlobRequest(header=header), memory.UploadBlobRequest(chunk=stored)]
        (uploaded,) = issued.client.call(RPCS["UploadBlob"], upload, key=issued.parent).answers
        hidden[uploaded.record.working_memory_id] = stored
    for record_id, stored in hidden.items():
        _assert_reads(issued, issued.parent, stored, working_memory_id=record_id)
        seen, _ = _read_file(issued, issued.parent, working_memory_id=record_id)
        blob_key = seen.answers[0].record.blob_key
        assert blob_key
        for key in (issued.key, issued.reader):
            for outcome in _read_file(issued, key, working_memory_id=record_id):
                assert (outcome.reason, outcome.answers) == ("RECORD_NOT_FOUND", [])
            for outcome in _read_file(issued, key, blob_key=blob_key):
                assert (outcome.reason, outcome.answers) == ("BLOB_NOT_FOUND", [])
            for user_id in ("ada", issued.things.user_id):
                for outcome in _read_file(issued, key, working_memory_id=record_id, subject_user_id=user_id):
                    assert (outcome.ok, outcome.answers) == (False, [])


def test_it_finds_what_is_about_a_node_whose_records_it_does_not_see(issued: Issued):
    """What of the context is about a node stands in the context."""
    node_id = str(uuid.uuid4())
    record = memory.WMRecordInput(
        entity_node_id=node_id, memory_type="data/json", name="animal", content_text="a quagga"
    )
    (inserted,) = issued.client.call(
        RPCS["InsertWMRecord"], memory.InsertWMRecordRequest(record=record), key=issued.parent
    ).answers
    named = message.Part(working_memory_id=inserted.record.working_memory_id)
    said = MessageInput(content="Which quagga?", parts=[named])
    sent = issued.client.call(
        RPCS["SendMessage"], pb.SendMessageRequest(context_id=issued.context_id, message=said), key=issued.parent
    )
    assert sent.ok
    for about, is_found in ((node_id, True), (str(uuid.uuid4()), False)):
        request = pb.SearchContextRequest(
            context_id=issued.context_id, query="quagga", filter=pb.RecallFilter(entity_node_ids=[about])
        )
        (found,) = issued.client.call(RPCS["SearchContext"], request, key=issued.key).answers
        assert bool(found.hits) is is_found


def test_it_finds_nothing_of_other_contexts(issued: Issued):
    """A call that is bound to a context never gets text of another one, by any search."""
    other = pb.SendMessageRequest(message=MessageInput(content="The vault opens with heliotrope."))
    assert issued.client.call(RPCS["SendMessage"], other, key=issued.parent).ok
    own = MessageInput(content="The door opens with saffron.")
    own_request = pb.SendMessageRequest(context_id=issued.context_id, message=own)
    assert issued.client.call(RPCS["SendMessage"], own_request, key=issued.parent).ok
    search = pb.SearchContextsRequest(query="What opens with heliotrope or saffron?")

    (of_parent,) = issued.client.call(RPCS["SearchContexts"], search, key=issued.parent).answers
    (of_key,) = issued.client.call(RPCS["SearchContexts"], search, key=issued.key).answers

    assert "heliotrope" in str(of_parent)
    assert [context.context_id for context in of_key.contexts] == [issued.context_id]
    assert "heliotrope" not in str(of_key)


def test_it_begins_no_context_and_makes_no_key(issued: Issued):
    begun = issued.client.call(
        RPCS["SendMessage"], pb.SendMessageRequest(message=MessageInput(content="x")), key=issued.key
    )
    assert begun.reason == "PERMISSION_DENIED"
    made = issued.client.call(
        RPCS["IssueContextKey"], pb.IssueContextKeyRequest(context_id=issued.context_id), key=issued.key
    )
    assert made.reason == "PERMISSION_DENIED"


@dataclass(frozen=True, kw_only=True)
class Forks:
    """A context, and two forks of it, one of which was forked itself; each with its key."""

    root: windows.Window
    key: str
    one: windows.ForkWindowResponse
    another: windows.ForkWindowResponse
    inner: windows.ForkWindowResponse


@pytest.fixture
def forked(issued: Issued) -> Forks:
    first = pb.SendMessageRequest(message=MessageInput(content=f"of all: {SECRET}"))
    (sent,) = issued.client.call(RPCS["SendMessage"], first, key=issued.parent).answers
    opening = windows.OpenWindowRequest(context_id=sent.context_id, model="gpt-5")
    (opened,) = issued.client.call(RPCS["OpenWindow"], opening, key=issued.parent).answers
    asking = pb.IssueContextKeyRequest(context_id=sent.context_id)
    (root,) = issued.client.call(RPCS["IssueContextKey"], asking, key=issued.parent).answers

    def fork(window: windows.Window) -> windows.ForkWindowResponse:
        request = windows.ForkWindowRequest(window_id=window.window_id, task="part", inherits=1)
        (made,) = issued.client.call(RPCS["ForkWindow"], request, key=issued.parent).answers
        return made

    one = fork(opened.window)
    return Forks(root=opened.window, key=root.key, one=one, another=fork(opened.window), inner=fork(one.window))


def _reasons(issued: Issued, window: windows.Window, key: str) -> set[str]:
    """Return what is wrong, in the eyes of a key, with reading and writing a context and its window."""
    said = MessageInput(content="x")
    asked = [
        ("GetContext", pb.GetContextRequest(context_id=window.context_id)),
        ("ListMessages", pb.ListMessagesRequest(context_id=window.context_id)),
        ("SendMessage", pb.SendMessageRequest(context_id=window.context_id, message=said)),
        ("Recall", pb.RecallRequest(context_id=window.context_id, text="all")),
        ("Pack", windows.PackRequest(window_id=window.window_id)),
        ("Expand", windows.ExpandRequest(window_id=window.window_id, ref="m1")),
        ("ForkWindow", windows.ForkWindowRequest(window_id=window.window_id, task="deeper")),
    ]
    return {issued.client.call(RPCS[name], request, key=key).reason for name, request in asked}


def test_that_of_a_fork_reaches_what_is_below_it_and_neither_what_is_above_nor_what_is_beside(
    issued: Issued, forked: Forks
):
    root, one, another, inner = forked.root, forked.one.window, forked.another.window, forked.inner.window
    reached = {
        forked.key: [root, one, another, inner],
        forked.one.key: [one, inner],
        forked.another.key: [another],
        forked.inner.key: [inner],
    }
    for key, windows_reached in reached.items():
        for window in (root, one, another, inner):
            reasons = _reasons(issued, window, key)
            assert reasons == ({""} if window in windows_reached else {"CONTEXT_NOT_FOUND", "WINDOW_NOT_FOUND"})
        (listed,) = issued.client.call(RPCS["ListContexts"], pb.ListContextsRequest(), key=key).answers
        assert {one.context_id for one in listed.contexts} >= {one.context_id for one in windows_reached}
        seen = {root.context_id, one.context_id, another.context_id, inner.context_id}
        assert {one.context_id for one in listed.contexts} & seen == {one.context_id for one in windows_reached}


def test_that_of_a_fork_neither_merges_it_nor_follows_refs_out_of_it(issued: Issued, forked: Forks):
    merging = windows.MergeWindowRequest(window_id=forked.one.window.window_id)
    assert issued.client.call(RPCS["MergeWindow"], merging, key=forked.one.key).reason == "PERMISSION_DENIED"
    assert issued.client.call(RPCS["MergeWindow"], merging, key=forked.another.key).reason == "WINDOW_NOT_FOUND"
    for ref in ("f2:m1", "f9:m1"):
        expanding = windows.ExpandRequest(window_id=forked.one.window.window_id, ref=ref)
        assert issued.client.call(RPCS["Expand"], expanding, key=forked.one.key).reason == "REF_NOT_FOUND"
    (got,) = issued.client.call(
        RPCS["GetWindow"], windows.GetWindowRequest(window_id=forked.one.window.window_id), key=forked.one.key
    ).answers
    assert [one.context_id for one in got.forks] == [forked.inner.window.context_id]
    # What is below it, it merges; and whoever has all of it, all.
    inner = windows.MergeWindowRequest(window_id=forked.inner.window.window_id)
    assert issued.client.call(RPCS["MergeWindow"], inner, key=forked.one.key).ok
    assert issued.client.call(RPCS["MergeWindow"], merging, key=forked.key).ok


def test_those_of_forks_spend_what_their_run_may_have(issued: Issued, forked: Forks):
    """Though they see nothing of the window that says so."""
    windows_packed = {forked.one.key: forked.one.window, forked.inner.key: forked.inner.window}
    limiting = windows.UpdateWindowRequest(window_id=forked.root.window_id, config={"max_total_tokens": 120})
    assert issued.client.call(RPCS["UpdateWindow"], limiting, key=issued.parent).ok
    spent, reasons = 0, set()
    for turn in range(12):
        for key, window in windows_packed.items():
            said = pb.SendMessageRequest(context_id=window.context_id, message=MessageInput(content=f"more {turn}"))
            assert issued.client.call(RPCS["SendMessage"], said, key=key).ok
            packed = issued.client.call(RPCS["Pack"], windows.PackRequest(window_id=window.window_id), key=key)
            reasons.add(packed.reason)
            spent += packed.answers[0].tokens if packed.ok else 0
    reading = windows.GetWindowRequest(window_id=forked.root.window_id)
    (root,) = issued.client.call(RPCS["GetWindow"], reading, key=issued.parent).answers
    assert reasons == {"", "TOKENS_SPENT"} and root.window.spent_tokens == spent <= 120


def test_that_of_a_fork_reads_no_file_from_above_or_beside(issued: Issued, forked: Forks):
    data = png(3, 2, color=43)
    root, one, another = (forked.root, forked.one.window, forked.another.window)
    files = [_send_file(issued, window.context_id, data) for window in (root, one, another)]
    for key, reached in ((forked.key, {0, 1, 2}), (forked.one.key, {1}), (forked.another.key, {2})):
        for position, record_id in enumerate(files):
            if position in reached:
                _assert_reads(issued, key, data, working_memory_id=record_id)
                continue
            for outcome in _read_file(issued, key, working_memory_id=record_id):
                assert (outcome.reason, outcome.answers) == ("RECORD_NOT_FOUND", [])


def test_one_says_how_steps_ended_and_remembers_nothing_beyond_its_context(issued: Issued):
    opening = windows.OpenWindowRequest(context_id=issued.context_id, model="gpt-5")
    (opened,) = issued.client.call(RPCS["OpenWindow"], opening, key=issued.key).answers
    outcome = windows.RecordOutcomeRequest(window_id=opened.window.window_id, success=True)
    assert issued.client.call(RPCS["RecordOutcome"], outcome, key=issued.key).ok
    outcome.lesson = SECRET
    assert issued.client.call(RPCS["RecordOutcome"], outcome, key=issued.key).reason in {
        "SUBJECT_REQUIRED",
        "PERMISSION_DENIED",
    }


def test_one_makes_no_keys_when_it_forks_and_reaches_what_it_forked(issued: Issued, forked: Forks):
    forking = windows.ForkWindowRequest(window_id=forked.root.window_id, task="part")
    (made,) = issued.client.call(RPCS["ForkWindow"], forking, key=forked.key).answers
    assert not made.key and not made.HasField("key_expires_at")
    assert _reasons(issued, made.window, forked.key) == {""}
    assert issued.client.call(RPCS["ForkWindow"], forking, key=issued.reader).reason == "PERMISSION_DENIED"


def test_those_of_a_fork_end_with_its_merge_its_deletion_and_the_key_that_made_them(issued: Issued, forked: Forks):
    merging = windows.MergeWindowRequest(window_id=forked.one.window.window_id)
    assert issued.client.call(RPCS["MergeWindow"], merging, key=issued.parent).ok
    deleting = pb.DeleteContextRequest(context_id=forked.root.context_id)
    assert issued.client.call(RPCS["DeleteContext"], deleting, key=issued.parent).ok
    with psycopg.connect(issued.admin_url) as connection:
        ids = [one.window.context_id for one in (forked.one, forked.another, forked.inner)]
        rows = connection.execute("SELECT context_id FROM access.context_key WHERE context_id = ANY (%s)", (ids,))
        assert rows.fetchall() == []


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.IssueContextKeyRequest(context_id=str(uuid.uuid4())), "CONTEXT_NOT_FOUND"),
        (pb.IssueContextKeyRequest(scopes=["admin"]), "INVALID_ARGUMENT"),
        (pb.IssueContextKeyRequest(ttl_s=-1), "INVALID_ARGUMENT"),
        (pb.IssueContextKeyRequest(ttl_s=86_401), "INVALID_ARGUMENT"),
    ],
    ids=["invented", "scope", "negative", "two days"],
)
def test_what_is_no_key_of_a_context_is_refused(request_: pb.IssueContextKeyRequest, reason: str, issued: Issued):
    request = pb.IssueContextKeyRequest()
    request.CopyFrom(request_)
    request.context_id = request.context_id or issued.context_id
    assert issued.client.call(RPCS["IssueContextKey"], request, key=issued.parent).reason == reason
