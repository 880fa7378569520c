"""Every RPC of the protos answers. `buf breaking` sees to it that none is lost after a release."""

from __future__ import annotations

import uuid

import grpc
import pytest

from tests.hostile.calling import Client
from tests.hostile.things import RPCS
from tests.rpcs import Rpc


@pytest.mark.parametrize("rpc", RPCS.values(), ids=str)
def test_every_rpc_of_the_protos_answers(rpc: Rpc, client: Client):
    """To an empty request, with an answer or with what is wrong about it; a method that is missing says neither."""
    request = rpc.request()
    outcome = client.call(rpc, [request] if rpc.client_streaming else request, key=uuid.uuid4())
    assert outcome.code not in (
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    )
