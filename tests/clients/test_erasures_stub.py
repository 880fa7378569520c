"""Subjects that are erased, and holds, through the generated stub: a claim for each RPC."""

from __future__ import annotations

import time
import uuid

import grpc
import pytest

from contextkeep.context.v1 import contexts_pb2
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.context.v1.erasures_pb2_grpc import ErasuresStub
from tests.conftest import METADATA, OTHERS
from tests.errors import raised

STUB = ErasuresStub


@pytest.fixture
def subject() -> str:
    return f"user {uuid.uuid4()}"


@pytest.fixture
def hold(grpc_stub, subject) -> pb.Hold:
    holding = pb.PutHoldRequest(subject=subject, reason="a lawsuit")
    return grpc_stub.PutHold(holding, metadata=METADATA).hold


def test_PlanErasure_says_what_no_erasure_finds(grpc_stub, subject):
    plan = grpc_stub.PlanErasure(pb.PlanErasureRequest(subject=subject), metadata=METADATA)
    assert (list(plan.counts), list(plan.holds)) == ([], [])
    assert plan.not_found


def test_PutHold_forbids_Erase_and_of_another_tenant_nothing(grpc_stub, subject, hold):
    erasing = pb.EraseRequest(subject=subject)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.Erase(erasing, metadata=METADATA)
    assert raised(refused.value).reason == "LEGAL_HOLD"
    assert grpc_stub.Erase(erasing, metadata=OTHERS).erasure.erasure_id


def test_ListHolds_has_those_of_the_tenant(grpc_stub, hold):
    listed = grpc_stub.ListHolds(pb.ListHoldsRequest(), metadata=METADATA).holds
    assert hold in listed
    assert hold not in grpc_stub.ListHolds(pb.ListHoldsRequest(), metadata=OTHERS).holds


def test_ReleaseHold_releases_one_of_the_tenant(grpc_stub, hold):
    releasing = pb.ReleaseHoldRequest(hold_id=hold.hold_id)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.ReleaseHold(releasing, metadata=OTHERS)
    assert raised(refused.value).reason == "HOLD_NOT_FOUND"
    grpc_stub.ReleaseHold(releasing, metadata=METADATA)
    assert hold not in grpc_stub.ListHolds(pb.ListHoldsRequest(), metadata=METADATA).holds


def test_Erase_names_nobody(grpc_stub, subject):
    erasure = grpc_stub.Erase(pb.EraseRequest(subject=subject), metadata=METADATA).erasure
    assert erasure.is_begun_in_graph
    assert subject not in str(erasure)


def test_GetSubjectErasure_says_when_it_is_finished_in_both_services(grpc_stub, subject):
    erasure = grpc_stub.Erase(pb.EraseRequest(subject=subject), metadata=METADATA).erasure
    asking = pb.GetSubjectErasureRequest(erasure_id=erasure.erasure_id)
    until = time.monotonic() + 60
    while erasure.state != contexts_pb2.ERASURE_STATE_FINISHED and time.monotonic() < until:
        time.sleep(0.05)
        erasure = grpc_stub.GetSubjectErasure(asking, metadata=METADATA).erasure
    assert erasure.HasField("finished_at")
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetSubjectErasure(asking, metadata=OTHERS)
    assert raised(refused.value).reason == "ERASURE_NOT_FOUND"
