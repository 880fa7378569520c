"""Every RPC of every proto is a method of both clients. `tests/hostile/test_strangers.py` calls each by its stub."""

from __future__ import annotations

import re

from tests.clients.worlds import ASYNC, SYNC
from tests.rpcs import all_rpcs

# The one RPC that a method with more to offer reads.
READ_BY = {"stream_chat_history": "chat_history"}


def test_every_rpc_is_a_method_of_both_clients():
    rpcs = [rpc.name for rpc in all_rpcs()]
    assert {"Traverse", "UploadBlob", "GetChatHistory"} <= set(rpcs)
    for rpc in rpcs:
        name = "_".join(re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z][a-z]+", rpc)).lower()
        method = READ_BY.get(name, name)
        for world in (ASYNC, SYNC):
            assert hasattr(world.entity_class, method) or hasattr(world.context_class, method), method
