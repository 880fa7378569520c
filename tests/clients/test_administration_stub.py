"""Keys and the audit log through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import uuid

import grpc
import pytest

from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.context.v1.administration_pb2_grpc import AdministrationStub
from tests.conftest import METADATA
from tests.errors import raised

STUB = AdministrationStub


@pytest.fixture
def made(grpc_stub) -> pb.CreateKeyResponse:
    said = pb.KeyInput(subject=f"agent {uuid.uuid4()}", scopes=["read", "admin"], app_ids=["crm"], ttl_s=60)
    return grpc_stub.CreateKey(pb.CreateKeyRequest(key=said), metadata=METADATA)


def of(made: pb.CreateKeyResponse) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {made.key}")]


def refusal(call, request, metadata=METADATA) -> str:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=metadata)
    return raised(refused.value).reason


def test_CreateKey_gives_no_more_than_the_key_that_asks_has(grpc_stub, made):
    assert made.key.startswith(made.prefix)
    for more in ({"scopes": ["write"]}, {"scopes": ["read"], "app_ids": ["erp"]}, {"scopes": ["read"], "ttl_s": 600}):
        said = pb.KeyInput(**{"subject": "x", "app_ids": ["crm"], "ttl_s": 10, **more})
        assert refusal(grpc_stub.CreateKey, pb.CreateKeyRequest(key=said), of(made)) == "PERMISSION_DENIED"
    part = pb.KeyInput(subject="a part", scopes=["read"], app_ids=["crm"], ttl_s=10)
    assert grpc_stub.CreateKey(pb.CreateKeyRequest(key=part), metadata=of(made)).key


def test_ListKeys_shows_what_a_key_is_within_the_bounds_of_who_asks(grpc_stub, made):
    listed = grpc_stub.ListKeys(pb.ListKeysRequest(), metadata=METADATA).keys
    (mine,) = (one for one in listed if one.prefix == made.prefix)
    assert (mine.scopes, mine.app_ids, mine.made_by) == (["read", "admin"], ["crm"], "key-of-the-f")
    assert mine.HasField("expires_at")
    assert made.key not in str(listed)
    seen = grpc_stub.ListKeys(pb.ListKeysRequest(), metadata=of(made)).keys
    assert made.prefix in {one.prefix for one in seen}
    assert all(one.app_ids == ["crm"] for one in seen)


def test_RevokeKey_takes_back_a_part_of_ones_own_only(grpc_stub, made):
    whole = pb.RevokeKeyRequest(prefix="key-of-the-f")
    assert refusal(grpc_stub.RevokeKey, whole, of(made)) == "KEY_NOT_FOUND"
    for _ in range(2):
        grpc_stub.RevokeKey(pb.RevokeKeyRequest(prefix=made.key), metadata=METADATA)
    (mine,) = (
        one for one in grpc_stub.ListKeys(pb.ListKeysRequest(), metadata=METADATA).keys if one.prefix == made.prefix
    )
    assert mine.HasField("revoked_at")


def test_ListAdministrativeCalls_has_what_was_done_and_what_was_refused(grpc_stub, made):
    assert refusal(grpc_stub.RevokeKey, pb.RevokeKeyRequest(prefix="cgk_nobodys_")) == "KEY_NOT_FOUND"
    listed = grpc_stub.ListAdministrativeCalls(pb.ListAdministrativeCallsRequest(page_size=2), metadata=METADATA).calls
    assert [(one.method.rpartition("/")[2], one.status, one.reason) for one in listed] == [
        ("RevokeKey", "NOT_FOUND", "KEY_NOT_FOUND"),
        ("CreateKey", "OK", ""),
    ]
    assert (listed[0].subject, listed[0].scope) == ("first", "admin")
    one = pb.ListAdministrativeCallsRequest(call_id=listed[1].call_id)
    assert list(grpc_stub.ListAdministrativeCalls(one, metadata=METADATA).calls) == [listed[1]]
    assert not grpc_stub.ListAdministrativeCalls(one, metadata=of(made)).calls  # it is bound, and that call was not
