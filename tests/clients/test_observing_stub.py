"""How a process does, through the generated stub."""

from __future__ import annotations

from contextkeep import EntityClient
from contextkeep.context.v1 import observing_pb2 as pb
from contextkeep.context.v1.observing_pb2_grpc import ObservingStub
from tests.conftest import KEY, METADATA, OTHERS, Addresses

STUB = ObservingStub


def test_GetRecentCalls_counts_the_calls_of_the_tenant_alone(grpc_stub, stack: Addresses):
    def calls(metadata) -> int:
        recent = grpc_stub.GetRecentCalls(pb.GetRecentCallsRequest(), metadata=metadata)
        assert recent.service == "context-service"
        return sum(one.calls for one in recent.minutes)

    others = calls(OTHERS)
    before = calls(METADATA)
    assert calls(METADATA) == before + 1
    assert calls(OTHERS) == others + 1
    with EntityClient(stack.entity, api_key=KEY) as graph:
        graph.get_recent_calls()
        recent = graph.get_recent_calls()
    assert recent.service == "entity-service"
    assert recent.minutes[-1].calls >= 1
    assert recent.minutes[-1].p50_ms <= recent.minutes[-1].p95_ms
