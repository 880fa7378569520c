"""Knowledge bases through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import time
import uuid

import grpc
import pytest

from contextkeep.context.v1 import knowledge_bases_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import METADATA
from tests.errors import raised

STUB = KnowledgeStub


@pytest.fixture
def base(grpc_stub) -> pb.KnowledgeBase:
    said = pb.KnowledgeBaseInput(name=f"b{uuid.uuid4().hex}", is_of_tenant=True)
    return grpc_stub.PutKnowledgeBase(pb.PutKnowledgeBaseRequest(knowledge_base=said), metadata=METADATA).knowledge_base


@pytest.fixture
def document(grpc_stub, base) -> pb.Document:
    said = pb.DocumentInput(name="notes.md", data=b"The ferry leaves at six.")
    request = pb.AddDocumentRequest(knowledge_base=base.name, document=said)
    return grpc_stub.AddDocument(request, metadata=METADATA).document


def refusal(call, request) -> str:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=METADATA)
    return raised(refused.value).reason


def test_PutKnowledgeBase_counts_how_often_it_was_put(grpc_stub, base):
    said = pb.KnowledgeBaseInput(name=base.name, description="Ferries")
    again = grpc_stub.PutKnowledgeBase(pb.PutKnowledgeBaseRequest(knowledge_base=said), metadata=METADATA)
    assert (base.version, again.knowledge_base.version) == (1, 2)
    assert (again.knowledge_base.description, again.knowledge_base.is_of_tenant) == ("Ferries", False)


def test_GetKnowledgeBase_answers_how_far_its_documents_are(grpc_stub, base, document):
    known = grpc_stub.GetKnowledgeBase(pb.GetKnowledgeBaseRequest(name=base.name), metadata=METADATA).knowledge_base
    assert (known.document_count, known.size_bytes) == (1, document.size_bytes)
    assert sum(one.count for one in known.documents) == 1
    assert refusal(grpc_stub.GetKnowledgeBase, pb.GetKnowledgeBaseRequest(name="none")) == "KNOWLEDGE_BASE_NOT_FOUND"


def test_ListKnowledgeBases_answers_them_in_pages(grpc_stub, base):
    listing, found = pb.ListKnowledgeBasesRequest(page_size=1), []
    while True:
        page = grpc_stub.ListKnowledgeBases(listing, metadata=METADATA)
        found += list(page.knowledge_bases)
        if not page.next_page_token:
            break
        listing.page_token = page.next_page_token
    assert base in found
    assert len(page.knowledge_bases) <= 1


def test_DeleteKnowledgeBase_removes_it_with_its_documents(grpc_stub, base, document):
    request = pb.DeleteKnowledgeBaseRequest(name=base.name)
    grpc_stub.DeleteKnowledgeBase(request, metadata=METADATA)
    assert refusal(grpc_stub.DeleteKnowledgeBase, request) == "KNOWLEDGE_BASE_NOT_FOUND"
    listing = pb.ListDocumentsRequest(knowledge_base=base.name)
    assert refusal(grpc_stub.ListDocuments, listing) == "KNOWLEDGE_BASE_NOT_FOUND"


def test_AddDocument_is_answered_before_it_is_read(grpc_stub, base, document):
    assert (document.state, document.knowledge_base) == (pb.DOCUMENT_STATE_QUEUED, base.name)
    assert (document.name, document.size_bytes) == ("notes.md", 24)


def test_ListDocuments_says_when_it_is_found(grpc_stub, base, document):
    listing = pb.ListDocumentsRequest(knowledge_base=base.name, states=[pb.DOCUMENT_STATE_INDEXED])
    until = time.monotonic() + 20
    while not (found := grpc_stub.ListDocuments(listing, metadata=METADATA).documents):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert [(one.document_id, one.passage_count) for one in found] == [(document.document_id, 1)]


def test_RemoveDocument_removes_it(grpc_stub, base, document):
    request = pb.RemoveDocumentRequest(knowledge_base=base.name, document_id=document.document_id)
    grpc_stub.RemoveDocument(request, metadata=METADATA)
    assert refusal(grpc_stub.RemoveDocument, request) == "DOCUMENT_NOT_FOUND"
    assert not grpc_stub.ListDocuments(pb.ListDocumentsRequest(knowledge_base=base.name), metadata=METADATA).documents
