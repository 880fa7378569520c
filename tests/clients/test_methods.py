"""Every RPC of every proto is a method of both clients. `tests/hostile/test_strangers.py` calls each by its stub."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

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
HANDLES = {"contexts.handle", "windows.handle"}  # no calls
ROOT = Path(__file__).parents[2]
# Of the client itself.
OWN = {"call", "channel", "close", "stream", "with_credential"}


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
def test_the_methods_of_a_client_are_the_rpcs_by_their_options(world: World):
    rpcs = {rpc.client for rpc in all_rpcs()}
    assert {"graph.traverse", "blobs.upload", "history.get"} <= rpcs

    found = {name for client in (world.entity_class, world.context_class) for name, _ in methods(client)}

    assert found == rpcs | EXTRAS | HANDLES


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
def test_a_client_itself_has_few_methods(world: World):
    for client in (world.entity_class, world.context_class):
        nouns = {name.partition(".")[0] for name, _ in methods(client)}
        assert {name for name in dir(client) if not name.startswith("_")} == OWN | nouns


def test_docstrings_say_when_an_error_is_raised_and_not_its_status():
    """`IMPORT_NOT_FOUND (NOT_FOUND)` of a comment was rendered as "ImportNotFound: `NotFound`."."""
    docstrings = [
        method.__doc__ for client in (ASYNC.entity_class, ASYNC.context_class) for _, method in methods(client)
    ]

    raised = [
        line for text in docstrings for line in re.findall(r"^ {4}[A-Z]\w+: .+", inspect.cleandoc(text or ""), re.M)
    ]
    assert len(raised) > 300
    assert [line for line in raised if re.match(r" +\w+: `[A-Z]\w+`[.:,]", line)] == []


def test_the_page_of_names_leads_from_each_flat_name_to_a_method_that_there_is():
    rows = [
        re.findall(r"`([^`]+)`", line) for line in (ROOT / "docs/names.md").read_text().splitlines() if "| `" in line
    ]
    found = {name for client in (ASYNC.entity_class, ASYNC.context_class) for name, _ in methods(client)}

    flat = (ROOT / "proto/generator/flat_names.txt").read_text().split()
    assert len(flat) == 215 and {row[0] for row in rows} == set(flat)
    assert {row[1] for row in rows} <= found - HANDLES
