"""Wiki pages through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import uuid

import grpc
import pytest

from contextkeep.context.v1 import knowledge_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import METADATA
from tests.errors import raised

STUB = KnowledgeStub
USER = f"stub {uuid.uuid4()}"


@pytest.fixture
def page(grpc_stub) -> pb.Page:
    said = pb.PageInput(slug=f"p{uuid.uuid4().hex}", title="Acme", markdown="A customer.")
    return grpc_stub.PutPage(pb.PutPageRequest(page=said, subject_user_id=USER), metadata=METADATA).page


def test_PutPage_answers_the_version_that_is_kept(page):
    assert (page.version, page.state, page.owner_user_id) == (1, pb.PAGE_STATE_FRESH, USER)


def test_GetPage_answers_what_it_says(grpc_stub, page):
    request = pb.GetPageRequest(slug=page.slug, subject_user_id=USER)
    assert grpc_stub.GetPage(request, metadata=METADATA).page.markdown == "A customer."
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetPage(pb.GetPageRequest(slug=page.slug, subject_user_id="another"), metadata=METADATA)
    assert raised(refused.value).reason == "PAGE_NOT_FOUND"


def test_ListPages_answers_those_with_a_prefix(grpc_stub, page):
    request = pb.ListPagesRequest(slug_prefix=page.slug, subject_user_id=USER)
    assert [one.page_id for one in grpc_stub.ListPages(request, metadata=METADATA).pages] == [page.page_id]


def test_ListPageVersions_answers_them(grpc_stub, page):
    request = pb.ListPageVersionsRequest(page_id=page.page_id, subject_user_id=USER)
    assert [one.version for one in grpc_stub.ListPageVersions(request, metadata=METADATA).versions] == [1]


def test_DeletePage_removes_it(grpc_stub, page):
    grpc_stub.DeletePage(pb.DeletePageRequest(slug=page.slug, subject_user_id=USER), metadata=METADATA)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetPage(pb.GetPageRequest(page_id=page.page_id, subject_user_id=USER), metadata=METADATA)
    assert raised(refused.value).reason == "PAGE_NOT_FOUND"
