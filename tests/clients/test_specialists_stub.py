"""Specialists through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import uuid

import grpc
import pytest

from contextkeep.context.v1 import specialists_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import METADATA
from tests.errors import raised

STUB = KnowledgeStub


@pytest.fixture
def specialist(grpc_stub) -> pb.Specialist:
    said = pb.SpecialistInput(specialist_id=f"s{uuid.uuid4()}", display_name="Contracts", node_ids=[str(uuid.uuid4())])
    return grpc_stub.PutSpecialist(pb.PutSpecialistRequest(specialist=said), metadata=METADATA).specialist


def test_PutSpecialist_says_by_which_id_it_is_asked(specialist):
    assert specialist.provider_id == f"sub-agent-{specialist.specialist_id}"
    assert (specialist.version, specialist.steps_max, specialist.is_default) == (1, 4, False)


def test_ListSpecialists_has_it(grpc_stub, specialist):
    assert specialist in grpc_stub.ListSpecialists(pb.ListSpecialistsRequest(), metadata=METADATA).specialists


def test_DeleteSpecialist_removes_it(grpc_stub, specialist):
    request = pb.DeleteSpecialistRequest(specialist_id=specialist.specialist_id)
    grpc_stub.DeleteSpecialist(request, metadata=METADATA)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.DeleteSpecialist(request, metadata=METADATA)
    assert raised(refused.value).reason == "SPECIALIST_NOT_FOUND"
