"""What cannot travel is refused before it is sent, with the field: half of a character, NaN, infinity."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest

from contextkeep import ContextInput, EdgeInput, ExternalId, MessageInput, NodeInput, PartInput, new_id
from contextkeep.errors import InvalidArgument
from tests.clients.worlds import ASYNC, World, methods, of_either

HALF = "cat \ud83d"
NOT_OF_TEXTS = {
    "blobs.download",
    "archives.export",
    "graph.export",
    "archives.import_archive",
    # no calls
    "contexts.handle",
    "windows.handle",
    # take values of other kinds, too
    "definitions.approve",
    "archives.export_messages",
}
# neither is sent where it does not count
UNUSED = {
    ("graph.delete_edge", "graph_name"),
    ("memories.consolidate", "request_id"),
    ("records.search", "embedding_model"),
}
NOT_SENT = {"path", "api_key", "credential"}


def calls_with_texts() -> Iterator[tuple[str, str, str]]:
    """Yield each method of each client with each of its arguments that is a text."""
    for client in ("entity", "context"):
        kind = ASYNC.entity_class if client == "entity" else ASYNC.context_class
        for name, method in methods(kind):
            if name in NOT_OF_TEXTS:
                continue
            for parameter in inspect.signature(method).parameters.values():
                is_text = str(parameter.annotation) in ("str", "str | None", "Id", "Id | None")
                if is_text and parameter.name not in NOT_SENT and (name, parameter.name) not in UNUSED:
                    yield client, name, parameter.name


def filled(method: Any, argument: str, other: Any) -> dict[str, Any]:
    """Return arguments with which a method can be called: half of a character for one, `other` for what is no text."""
    values: dict[str, Any] = {}
    for parameter in inspect.signature(method).parameters.values():
        if parameter.name == argument:
            values[argument] = HALF
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            said = str(parameter.annotation)
            values[parameter.name] = new_id() if said in ("str", "BlobName") or "Id" in said else other
    return values


async def refusal(world: World, method: Any, given: dict[str, Any]) -> str:
    """Call a method; return what is wrong with how it refuses, or an empty text."""
    try:
        await world.run(method, **given)
    except InvalidArgument as error:
        return "" if error.violations and error.violations[0].field else "no field"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "not refused"


async def test_a_text_that_cannot_travel_is_refused_by_every_call(world: World):
    """No service is asked: there is none at this address."""
    missed = []
    async with (
        world.entity("127.0.0.1:9", retries=0, timeout_s=0.3) as graph,
        world.context("127.0.0.1:9", retries=0, timeout_s=0.3) as context,
    ):
        for client, name, argument in calls_with_texts():
            method = attrgetter(name)(graph if client == "entity" else context)
            refused = [await refusal(world, method, filled(method, argument, other)) for other in ([], 1)]
            if "" not in refused:
                missed.append(f"{name}({argument}): {refused}")
    assert "\n".join(missed) == ""


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("contexts.send", {"message": HALF}, "message.content"),
        ("contexts.send", {"message": MessageInput(parts=[PartInput(text=HALF)])}, "message.parts[0].text"),
        ("contexts.send", {"message": MessageInput(parts=[PartInput(data={"a": HALF})])}, "message.parts[0].data_json"),
        (
            "contexts.send",
            {"message": MessageInput(parts=[PartInput(data=float("nan"))])},
            "message.parts[0].data_json",
        ),
        ("contexts.send", {"message": "x", "context": ContextInput(title=HALF)}, "context.title"),
        ("contexts.append", {"new_messages": ["x", HALF]}, "messages[1].content"),
        ("contexts.append", {"new_messages": ["x"], "get_or_create": ExternalId("s", HALF)}, "get_or_create.id"),
        ("records.insert", {"memory_type": "t", "name": HALF}, "record.name"),
        ("records.insert", {"memory_type": "t", "name": "n", "content": [float("inf")]}, "record.content_json"),
        ("records.insert", {"memory_type": "t", "name": "n", "metadata": {HALF: 1}}, "record.metadata_json"),
        ("records.search", {"text": "x", "memory_types": ["t", HALF]}, "memory_types[1]"),
        ("tools.execute", {"tool_name": "t", "arguments": {"x": float("-inf")}}, "arguments_json"),
        ("graph.write", {"nodes": [NodeInput(general_type_name="N", name=HALF)]}, "nodes[0].name"),
        ("graph.write", {"edges": [EdgeInput(new_id(), new_id(), HALF)]}, "edges[0].edge_type"),
        ("graph.create_node", {"general_type_name": "N", "data": {"x": float("nan")}}, "node.data_json"),
    ],
)
async def test_the_error_names_the_field(world: World, name: str, given: dict[str, Any], field: str):
    async with world.entity("127.0.0.1:9", retries=0) as graph, world.context("127.0.0.1:9", retries=0) as context:
        with pytest.raises(InvalidArgument) as raised:
            await world.run(attrgetter(name)(of_either(name, graph, context)), **given)
    assert [one.field for one in raised.value.violations] == [field]
