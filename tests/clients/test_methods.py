"""Every RPC of every proto is a method of both clients. `tests/hostile/test_strangers.py` calls each by its stub."""

from __future__ import annotations

import pytest

from tests.clients.worlds import ASYNC, SYNC, World, methods
from tests.rpcs import all_rpcs

# Methods that are no RPC: they make several calls, or render the answer of one in another way.
EXTRAS = {
    "archives.export_messages",
    "artifacts.get_at",
    "blobs.download",
    "graph.append_message",
    "graph.export_pages",
    "graph.traverse_pages",
    "history.formatted",
    "source_tests.replay",
    "uploads.resume",
    "uploads.upload",
}
# Of the client itself.
OWN = {"call", "channel", "close", "stream", "with_credential"}


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
def test_the_methods_of_a_client_are_the_rpcs_by_their_options(world: World):
    rpcs = {rpc.client for rpc in all_rpcs()}
    assert {"graph.traverse", "blobs.upload", "history.get"} <= rpcs

    found = {name for client in (world.entity_class, world.context_class) for name, _ in methods(client)}

    assert found == rpcs | EXTRAS


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
def test_a_client_itself_has_few_methods(world: World):
    for client in (world.entity_class, world.context_class):
        nouns = {name.partition(".")[0] for name, _ in methods(client)}
        assert {name for name in dir(client) if not name.startswith("_")} == OWN | nouns
