"""Knowledge through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import grpc
import pytest

from contextkeep.context.v1 import knowledge_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import METADATA
from tests.errors import raised

STUB = KnowledgeStub
USER = "stub"


def retained(grpc_stub, text, **fields):
    request = pb.RetainMemoryRequest(memory=pb.MemoryInput(text=text, **fields), subject_user_id=USER)
    return grpc_stub.RetainMemory(request, metadata=METADATA).memory


def test_RetainMemory_answers_what_is_kept(grpc_stub):
    request = pb.RetainMemoryRequest(memory=pb.MemoryInput(text="Ada likes tea."), subject_user_id="stub")
    kept = grpc_stub.RetainMemory(request, metadata=METADATA).memory
    assert (kept.text, kept.kind, kept.owner_user_id) == ("Ada likes tea.", pb.MEMORY_KIND_FACT, "stub")
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.RetainMemory(pb.RetainMemoryRequest(), metadata=METADATA)
    assert raised(refused.value).reason == "SUBJECT_REQUIRED"


def test_RecallMemories_answers_the_best_first(grpc_stub):
    kept = retained(grpc_stub, "The harbour of Ada is Genoa.")
    retained(grpc_stub, "The train of Ada is late.")
    request = pb.RecallMemoriesRequest(query="Which harbour has Ada?", subject_user_id=USER)
    answer = grpc_stub.RecallMemories(request, metadata=METADATA)
    assert answer.memories[0].memory.memory_id == kept.memory_id
    assert answer.mode == "words"
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.RecallMemories(pb.RecallMemoriesRequest(query=" ", subject_user_id=USER), metadata=METADATA)
    assert [one.field for one in raised(refused.value).violations] == ["query"]


def test_ReflectMemories_says_it_in_a_statement_and_on_what_it_rests(grpc_stub):
    kept = retained(grpc_stub, "The allotment of Ada lies by the canal.")
    request = pb.ReflectMemoriesRequest(query="Where is the allotment?", subject_user_id=USER)
    answer = grpc_stub.ReflectMemories(request, metadata=METADATA)
    assert "by the canal" in answer.statement
    assert kept.memory_id in answer.memory_ids
    assert answer.method == "extractive"


def test_ListMemories_answers_pages_of_those_of_a_key(grpc_stub):
    older, newer = (retained(grpc_stub, f"Shoes of size {size}.", key="shoes") for size in (41, 42))
    listing = pb.ListMemoriesRequest(filter=pb.MemoryFilter(key="shoes"), subject_user_id=USER, page_size=1)
    first = grpc_stub.ListMemories(listing, metadata=METADATA)
    listing.page_token = first.next_page_token
    second = grpc_stub.ListMemories(listing, metadata=METADATA)
    found = [*first.memories, *second.memories]
    assert {one.memory_id: one.superseded_by for one in found} == {
        newer.memory_id: "",
        older.memory_id: newer.memory_id,
    }


def test_UpdateMemory_corrects_what_is_said(grpc_stub):
    kept = retained(grpc_stub, "Ada has a dgo.")
    request = pb.UpdateMemoryRequest(
        memory_id=kept.memory_id,
        memory=pb.MemoryInput(text="Ada has a dog."),
        update_mask={"paths": ["text"]},
        expected_version=kept.version,
        subject_user_id=USER,
    )
    corrected = grpc_stub.UpdateMemory(request, metadata=METADATA).memory
    assert (corrected.text, corrected.version) == ("Ada has a dog.", kept.version + 1)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.UpdateMemory(request, metadata=METADATA)
    assert refused.value.code() == grpc.StatusCode.ABORTED


def test_ForgetMemory_leaves_nothing(grpc_stub):
    kept = retained(grpc_stub, "Ada sings.")
    request = pb.ForgetMemoryRequest(memory_id=kept.memory_id, subject_user_id=USER)
    grpc_stub.ForgetMemory(request, metadata=METADATA)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.ForgetMemory(request, metadata=METADATA)
    assert raised(refused.value).reason == "MEMORY_NOT_FOUND"


def test_ConsolidateMemories_says_first_what_it_would_merge(grpc_stub):
    first, second = (retained(grpc_stub, "Ada dances on Sundays.") for _ in range(2))
    planned = grpc_stub.ConsolidateMemories(pb.ConsolidateMemoriesRequest(subject_user_id=USER), metadata=METADATA)
    assert not planned.is_applied
    request = pb.ConsolidateMemoriesRequest(apply=True, plan=planned.plan, subject_user_id=USER)
    assert grpc_stub.ConsolidateMemories(request, metadata=METADATA).is_applied
    listing = pb.ListMemoriesRequest(subject_user_id=USER, page_size=100)
    left = {one.memory_id for one in grpc_stub.ListMemories(listing, metadata=METADATA).memories}
    assert len(left & {first.memory_id, second.memory_id}) == 1
