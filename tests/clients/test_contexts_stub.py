"""Contexts through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep import EntityClient, new_id
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from contextkeep.errors import ContextClosed, ContextNotFound, MessageNotFound
from tests.conftest import KEY, METADATA
from tests.errors import raised

STUB = ContextsStub


@pytest.fixture
def external_id() -> pb.ExternalId:
    return pb.ExternalId(system="shop", id=new_id())


@pytest.fixture
def begun(grpc_stub, external_id) -> pb.SendMessageResponse:
    """A context with one message."""
    request = pb.SendMessageRequest(
        message=pb.MessageInput(content="Hello", message_id="m-1"),
        context=pb.ContextInput(title="support", external_ids=[external_id]),
    )
    return grpc_stub.SendMessage(request, metadata=METADATA)


def test_SendMessage_begins_a_context_and_goes_on_with_it(grpc_stub, begun):
    assert (begun.created, begun.message.seq, begun.message.message_id) == (True, 1, "m-1")
    request = pb.SendMessageRequest(context_id=begun.context_id, message=pb.MessageInput(content="Again"))
    answer = grpc_stub.SendMessage(request, metadata=METADATA)
    assert (answer.context_id, answer.created, answer.message.seq) == (begun.context_id, False, 2)


def test_AppendMessages_answers_the_places_of_all(grpc_stub, begun):
    said = [pb.MessageInput(content=text) for text in ("a", "b")]
    request = pb.AppendMessagesRequest(context_id=begun.context_id, messages=said)
    answer = grpc_stub.AppendMessages(request, metadata=METADATA)
    assert [sent.seq for sent in answer.messages] == [2, 3]


def test_Recall_finds_what_matters_and_says_it_as_a_prompt(grpc_stub, begun):
    said = [pb.MessageInput(content=text) for text in ("The cat is black.", "It rains.")]
    grpc_stub.AppendMessages(pb.AppendMessagesRequest(context_id=begun.context_id, messages=said), metadata=METADATA)
    options = pb.RecallOptions(tokens_max=1000, with_features=True)
    request = pb.RecallRequest(context_id=begun.context_id, text="Which colour has the cat?", options=options)
    recalled = grpc_stub.Recall(request, metadata=METADATA).recalled
    assert [(item.ref, item.seq, item.role, item.text) for item in recalled.items] == [
        ("m2.0", 2, "user", "The cat is black.")
    ]
    assert sum(recalled.items[0].features.values()) == pytest.approx(recalled.items[0].score)
    assert "[m2.0]" in recalled.prompt_text
    assert 0 < recalled.tokens <= 1000


def test_SearchContext_finds_passages_by_their_words(grpc_stub, begun):
    request = pb.SearchContextRequest(context_id=begun.context_id, query="hello")
    (hit,) = grpc_stub.SearchContext(request, metadata=METADATA).hits
    assert (hit.ref, hit.message_id, hit.text) == ("m1.0", "m-1", "Hello")
    request.query = "goodbye"
    assert not grpc_stub.SearchContext(request, metadata=METADATA).hits


def test_GetContext_answers_the_header_and_the_newest_messages(grpc_stub, begun):
    answer = grpc_stub.GetContext(pb.GetContextRequest(context_id=begun.context_id), metadata=METADATA)
    assert (answer.context.title, answer.context.state) == ("support", pb.CONTEXT_STATE_OPEN)
    assert [message.content for message in answer.messages] == ["Hello"]
    bare = pb.GetContextRequest(context_id=begun.context_id, history_length=0)
    assert not grpc_stub.GetContext(bare, metadata=METADATA).messages


def test_GetContextsByExternalId_finds_what_carries_it(grpc_stub, begun, external_id):
    request = pb.GetContextsByExternalIdRequest(external_id=external_id)
    answer = grpc_stub.GetContextsByExternalId(request, metadata=METADATA)
    assert [context.context_id for context in answer.contexts] == [begun.context_id]


def test_ListContexts_filters(grpc_stub, begun, external_id):
    request = pb.ListContextsRequest(external_id=external_id, state=pb.CONTEXT_STATE_OPEN)
    answer = grpc_stub.ListContexts(request, metadata=METADATA)
    assert [context.context_id for context in answer.contexts] == [begun.context_id]
    request.state = pb.CONTEXT_STATE_CLOSED
    assert not grpc_stub.ListContexts(request, metadata=METADATA).contexts


def test_UpdateContext_changes_what_the_mask_names(grpc_stub, begun):
    request = pb.UpdateContextRequest(
        context_id=begun.context_id, context=pb.ContextInput(title="sales"), update_mask=FieldMask(paths=["title"])
    )
    answer = grpc_stub.UpdateContext(request, metadata=METADATA)
    assert answer.context.title == "sales"
    assert len(answer.context.external_ids) == 1


def test_CloseContext_takes_no_more_messages(grpc_stub, begun):
    answer = grpc_stub.CloseContext(pb.CloseContextRequest(context_id=begun.context_id), metadata=METADATA)
    assert answer.context.state == pb.CONTEXT_STATE_CLOSED
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.SendMessage(
            pb.SendMessageRequest(context_id=begun.context_id, message=pb.MessageInput(content="x")), metadata=METADATA
        )
    assert type(raised(error.value)) is ContextClosed


def test_ListMessages_goes_either_way(grpc_stub, begun):
    said = [pb.MessageInput(content=text) for text in ("a", "b")]
    grpc_stub.AppendMessages(pb.AppendMessagesRequest(context_id=begun.context_id, messages=said), metadata=METADATA)
    request = pb.ListMessagesRequest(context_id=begun.context_id, seq_from=2)
    answer = grpc_stub.ListMessages(request, metadata=METADATA)
    assert [message.content for message in answer.messages] == ["a", "b"]
    request.newest_first = True
    assert [message.seq for message in grpc_stub.ListMessages(request, metadata=METADATA).messages] == [3, 2]


def test_GetMessage_answers_one(grpc_stub, begun):
    request = pb.GetMessageRequest(context_id=begun.context_id, message_id="m-1")
    assert grpc_stub.GetMessage(request, metadata=METADATA).message.content == "Hello"


def test_RetractMessages_hides_them(grpc_stub, begun):
    request = pb.RetractMessagesRequest(context_id=begun.context_id, message_ids=["m-1"])
    assert grpc_stub.RetractMessages(request, metadata=METADATA).retracted_count == 1
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.GetMessage(pb.GetMessageRequest(context_id=begun.context_id, message_id="m-1"), metadata=METADATA)
    assert type(raised(error.value)) is MessageNotFound


def test_SyncHistory_fills_a_context(grpc_stub, stack, external_id):
    with EntityClient(stack.entity, api_key=KEY) as graph:
        graph.append_message(role="user", content="Hello", external_id=external_id.id, create=True)
    request = pb.SyncHistoryRequest(get_or_create=external_id, external_id=external_id.id)
    answer = grpc_stub.SyncHistory(request, metadata=METADATA)
    assert (answer.created, answer.appended_count, answer.retracted_count) == (True, 1, 0)
    answer = grpc_stub.SyncHistory(request, metadata=METADATA)
    assert (answer.created, answer.appended_count, answer.unchanged_count) == (False, 0, 1)


def test_IssueContextKey_gives_a_key_for_a_while(grpc_stub, begun):
    request = pb.IssueContextKeyRequest(context_id=begun.context_id, scopes=["read"], ttl_s=60)
    answer = grpc_stub.IssueContextKey(request, metadata=METADATA)
    assert answer.key.startswith("cgc_")
    assert answer.expires_at.seconds - begun.message.created_at.seconds in range(55, 75)


def test_WaitForIndex_answers_how_far_it_is(grpc_stub, begun):
    answer = grpc_stub.WaitForIndex(pb.WaitForIndexRequest(context_id=begun.context_id), metadata=METADATA)
    assert answer.is_complete, "without an embedder words are all"
    assert (answer.index.passage_count, answer.index.pending_count) == (1, 0)


def test_DeleteContext_answers_a_receipt_and_nothing_is_there(grpc_stub, begun):
    erasure = grpc_stub.DeleteContext(pb.DeleteContextRequest(context_id=begun.context_id), metadata=METADATA).erasure
    assert (erasure.context_id, erasure.message_count) == (begun.context_id, 1)
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.GetContext(pb.GetContextRequest(context_id=begun.context_id), metadata=METADATA)
    assert type(raised(error.value)) is ContextNotFound


def test_GetErasure_answers_the_receipt_again(grpc_stub, begun):
    erasure = grpc_stub.DeleteContext(pb.DeleteContextRequest(context_id=begun.context_id), metadata=METADATA).erasure
    again = grpc_stub.GetErasure(pb.GetErasureRequest(erasure_id=erasure.erasure_id), metadata=METADATA).erasure
    assert (again.context_id, again.created_at) == (begun.context_id, erasure.created_at)


@pytest.fixture
def task(grpc_stub, begun) -> pb.Task:
    """A task of the context."""
    return grpc_stub.CreateTask(pb.CreateTaskRequest(context_id=begun.context_id), metadata=METADATA).task


def test_CreateTask_begins_one(task, begun):
    assert (task.context_id, task.status.state, task.version) == (begun.context_id, pb.TASK_STATE_SUBMITTED, 1)


def test_UpdateTask_changes_what_the_mask_names(grpc_stub, task):
    said = pb.TaskInput(status=pb.TaskStatusInput(state=pb.TASK_STATE_WORKING))
    request = pb.UpdateTaskRequest(task_id=task.task_id, task=said, update_mask=FieldMask(paths=["status"]))
    changed = grpc_stub.UpdateTask(request, metadata=METADATA).task
    assert (changed.status.state, changed.version) == (pb.TASK_STATE_WORKING, 2)


def test_GetTask_answers_its_messages(grpc_stub, task):
    said = pb.MessageInput(content="of it", task_id=task.task_id)
    grpc_stub.SendMessage(pb.SendMessageRequest(message=said), metadata=METADATA)
    answer = grpc_stub.GetTask(pb.GetTaskRequest(task_id=task.task_id), metadata=METADATA)
    assert answer.task == task
    assert [(message.content, message.task_id) for message in answer.history] == [("of it", task.task_id)]


def test_ListTasks_filters_by_state(grpc_stub, task):
    request = pb.ListTasksRequest(context_id=task.context_id)
    assert list(grpc_stub.ListTasks(request, metadata=METADATA).tasks) == [task]
    request.states.append(pb.TASK_STATE_COMPLETED)
    assert not grpc_stub.ListTasks(request, metadata=METADATA).tasks


def test_CancelTask_ends_it(grpc_stub, task):
    answer = grpc_stub.CancelTask(pb.CancelTaskRequest(task_id=task.task_id), metadata=METADATA)
    assert answer.task.status.state == pb.TASK_STATE_CANCELED


def test_PutArtifact_answers_its_version(grpc_stub, task):
    artifact = pb.ArtifactInput(artifact_id="plan", parts=[message_pb2.Part(text="The giraffe eats.")])
    request = pb.PutArtifactRequest(task_id=task.task_id, artifact=artifact)
    versions = [grpc_stub.PutArtifact(request, metadata=METADATA).artifact.version for _ in range(2)]
    assert versions == [1, 2]


def test_GetArtifact_answers_a_version_with_its_parts(grpc_stub, task):
    for text in ("first", "second"):
        artifact = pb.ArtifactInput(artifact_id="plan", parts=[message_pb2.Part(text=text)])
        grpc_stub.PutArtifact(pb.PutArtifactRequest(task_id=task.task_id, artifact=artifact), metadata=METADATA)
    request = pb.GetArtifactRequest(task_id=task.task_id, artifact_id="plan")
    assert grpc_stub.GetArtifact(request, metadata=METADATA).artifact.parts[0].text == "second"
    request.version = 1
    assert grpc_stub.GetArtifact(request, metadata=METADATA).artifact.parts[0].text == "first"


def test_WatchContext_tells_what_is_there(grpc_stub, task):
    request = pb.WatchContextRequest(context_id=task.context_id, until_now=True)
    told = list(grpc_stub.WatchContext(request, metadata=METADATA))
    assert [one.WhichOneof("event") for one in told] == ["message", "task"]
    assert (told[-1].seq_from, told[-1].change_after) == (2, 1)
