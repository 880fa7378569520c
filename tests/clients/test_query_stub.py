"""Context query through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import grpc
import pytest

from contextkeep import ContextClient
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from tests.conftest import KEY, METADATA
from tests.errors import raised

STUB = ContextQueryStub
ASKED = ["brain", "knowledge-base", "memory", "wiki", "workspace"]  # by default


def test_QueryContext_answers_hits_and_a_status_for_each_provider(grpc_stub, stack):
    with ContextClient(stack.context, api_key=KEY) as context:
        context_id = context.send_message("The lighthouse keeper is called Morwenna.").context_id
    request = pb.QueryContextRequest(query="Who keeps the lighthouse?", context_ids=[context_id])
    answer = grpc_stub.QueryContext(request, metadata=METADATA)
    assert "Morwenna" in answer.hits[0].snippet
    states = {one.provider_id: one.state for one in answer.providers}
    assert list(states) == sorted(["context", *ASKED])
    assert states["context"] == states["workspace"] == pb.PROVIDER_STATE_OK
    assert states["memory"] == states["wiki"] == pb.PROVIDER_STATE_SKIPPED
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.QueryContext(pb.QueryContextRequest(query=" "), metadata=METADATA)
    assert [one.field for one in raised(refused.value).violations] == ["query"]


def test_StreamQueryContext_tells_each_provider_and_then_what_QueryContext_answers(grpc_stub):
    request = pb.QueryContextRequest(query="Who mends the foghorn?")
    *told, last = grpc_stub.StreamQueryContext(request, metadata=METADATA)
    assert sorted(one.provider.status.provider_id for one in told) == ASKED
    assert last.WhichOneof("event") == "answer"
    assert [one.provider_id for one in last.answer.providers] == ASKED
    with pytest.raises(grpc.RpcError) as refused:
        list(grpc_stub.StreamQueryContext(pb.QueryContextRequest(query=" "), metadata=METADATA))
    assert [one.field for one in raised(refused.value).violations] == ["query"]


def test_ListContextProviders_answers_those_of_ours(grpc_stub):
    answer = grpc_stub.ListContextProviders(pb.ListContextProvidersRequest(), metadata=METADATA)
    assert [(one.provider_id, one.is_default) for one in answer.providers] == [
        ("brain", True),
        ("context", False),
        ("knowledge-base", True),
        ("memory", True),
        ("wiki", True),
        ("workspace", True),
    ]


def test_GetQueryPolicy_says_of_each_provider_whether_it_is_asked(grpc_stub):
    policy = grpc_stub.GetQueryPolicy(pb.GetQueryPolicyRequest(), metadata=METADATA)
    assert {one.provider_id: one.is_enabled for one in policy.providers} == dict.fromkeys(("context", *ASKED), True)


def test_UpdateProviderSetting_is_what_the_policy_says_then(grpc_stub):
    setting = pb.ProviderSetting(provider_id="context", is_default=False, deadline_ms=60_000)
    answer = grpc_stub.UpdateProviderSetting(pb.UpdateProviderSettingRequest(setting=setting), metadata=METADATA)
    assert answer.setting == setting
    policy = grpc_stub.GetQueryPolicy(pb.GetQueryPolicyRequest(), metadata=METADATA)
    (own,) = (one for one in policy.providers if one.provider_id == "context")
    assert (own.is_enabled, own.is_default, own.deadline_ms, own.setting) == (True, False, 60_000, setting)
    assert not policy.HasField("target")
    fields = ["is_default", "deadline_ms"]
    again = pb.UpdateProviderSettingRequest(setting=pb.ProviderSetting(provider_id="context"), reset=fields)
    answer = grpc_stub.UpdateProviderSetting(again, metadata=METADATA)
    assert answer.setting == pb.ProviderSetting(provider_id="context")


def kept_of(grpc_stub, query="Who keeps the lighthouse?"):
    request = pb.RunSourceTestRequest(question=pb.QueryContextRequest(query=query))
    return grpc_stub.RunSourceTest(request, metadata=METADATA).test


def test_RunSourceTest_answers_as_QueryContext_does(grpc_stub):
    assert [one.provider_id for one in kept_of(grpc_stub).answer.providers] == ASKED


def test_GetSourceTest_answers_what_was_kept(grpc_stub):
    test = kept_of(grpc_stub)
    assert grpc_stub.GetSourceTest(pb.GetSourceTestRequest(test_id=test.test_id), metadata=METADATA).test == test


def test_ListSourceTests_answers_the_newest_first(grpc_stub):
    ids = [kept_of(grpc_stub).test_id for _ in range(2)]
    listed = grpc_stub.ListSourceTests(pb.ListSourceTestsRequest(page_size=2), metadata=METADATA)
    assert [one.test_id for one in listed.tests] == ids[::-1]


def test_CompareSourceTests_says_how_each_provider_fared(grpc_stub):
    ids = [kept_of(grpc_stub).test_id for _ in range(2)]
    comparing = pb.CompareSourceTestsRequest(test_id=ids[0], other_test_id=ids[1])
    compared = grpc_stub.CompareSourceTests(comparing, metadata=METADATA)
    assert [one.provider_id for one in compared.providers] == ASKED


def test_DeleteSourceTest_leaves_nothing(grpc_stub):
    test_id = kept_of(grpc_stub).test_id
    grpc_stub.DeleteSourceTest(pb.DeleteSourceTestRequest(test_id=test_id), metadata=METADATA)
    with pytest.raises(grpc.RpcError) as gone:
        grpc_stub.GetSourceTest(pb.GetSourceTestRequest(test_id=test_id), metadata=METADATA)
    assert raised(gone.value).reason == "SOURCE_TEST_NOT_FOUND"
