"""Every RPC of every proto has a test through its generated stub, and a method of both clients."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clients.worlds import ASYNC, SYNC
from tests.rpcs import all_rpcs

RPCS = [rpc.name for rpc in all_rpcs()]

TESTS = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*_stub.py"))


def test_the_protos_are_found():
    assert {"Traverse", "UploadBlob", "GetChatHistory"} <= set(RPCS)


@pytest.mark.parametrize("rpc", RPCS)
def test_an_rpc_is_called_through_its_stub_by_a_test_of_its_name(rpc):
    tests = re.findall(rf"^def test_{rpc}_.*?(?=^def |\Z)", TESTS, re.MULTILINE | re.DOTALL)
    assert tests, f"no test_{rpc}_... in tests/clients/test_*_stub.py"
    assert f"grpc_stub.{rpc}(" in TESTS


@pytest.mark.parametrize("rpc", RPCS)
def test_an_rpc_is_a_method_of_both_clients(rpc):
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z][a-z]+", rpc)
    method = "_".join(words).lower()
    # The one RPC that a method with more to offer reads.
    method = {"stream_chat_history": "chat_history"}.get(method, method)
    for world in (ASYNC, SYNC):
        assert hasattr(world.entity_class, method) or hasattr(world.context_class, method), method
