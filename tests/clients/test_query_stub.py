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


def test_QueryContext_answers_hits_and_a_status_for_each_provider(grpc_stub, stack):
    with ContextClient(stack.context, api_key=KEY) as context:
        context_id = context.send_message("The lighthouse keeper is called Morwenna.").context_id
    request = pb.QueryContextRequest(query="Who keeps the lighthouse?", context_ids=[context_id])
    answer = grpc_stub.QueryContext(request, metadata=METADATA)
    assert "Morwenna" in answer.hits[0].snippet
    assert [(one.provider_id, one.state) for one in answer.providers] == [
        ("context", pb.PROVIDER_STATE_OK),
        ("workspace", pb.PROVIDER_STATE_OK),
    ]
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.QueryContext(pb.QueryContextRequest(query=" "), metadata=METADATA)
    assert [one.field for one in raised(refused.value).violations] == ["query"]


def test_ListContextProviders_answers_those_of_ours(grpc_stub):
    answer = grpc_stub.ListContextProviders(pb.ListContextProvidersRequest(), metadata=METADATA)
    assert [(one.provider_id, one.is_default) for one in answer.providers] == [("context", False), ("workspace", True)]
