"""A node may be named by the caller's own id wherever a method takes its id, in both clients and both worlds."""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import Any

import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, ConnectedTo, EdgeInput, NodeInput, new_id
from contextkeep.errors import InvalidArgument, NodeNotFound
from tests.clients.worlds import methods, of_either

EXTERNAL_ID = {"external_id": "thread-42", "graph_name": "support"}

# What is asked of a node that is named, by method: positional arguments behind the node, then the others.
DEFINITION = {
    "node_type": "Session",
    "graph_name": "support",
    "title": "'A session'",
    "facets": [{"slug": "id", "heading": "Id", "kind": "operational", "text": "entity.external_id"}],
}
READS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "graph.get_node": ((), {}),
    "graph.get_node_io": ((), {}),
    "graph.list_edges": ((), {}),
    "progress.list": ((), {}),
    "embeddings.list": ((), {}),
    "embeddings.search": ((), {}),
    "graph.traverse": ((), {}),
    "graph.traverse_pages": ((), {}),
    "history.stream": ((), {}),
    "history.get": ((), {}),
    "history.formatted": ((), {"message_format": "openai"}),
    "history.assemble": ((), {}),
    "history.list_events": ((), {}),
    "mappings.test": (({"role_field": "role", "content_field": "content"},), {}),
    "definitions.test": ((DEFINITION,), {}),
    "records.list_by_entity": ((), {}),
    "records.manifest": ((), {}),
    "blobs.list": ((), {}),
    "tools.list_resources": ((), {}),
    "tools.execute": (("history_chat",), {}),
}
WRITES: dict[str, dict[str, Any]] = {
    "graph.update_node_data": {"data": {"a": 1}},
    "graph.update_node_status": {"status": "Running"},
    "graph.archive_node": {},
    "graph.reset_node": {},
    "graph.set_node_io": {"input": 1},
    "progress.append": {"message": "x"},
    "progress.clear": {},
    "embeddings.upsert": {"vector": [1, 2]},
    "embeddings.delete": {},
    "graph.append_message": {"role": "user", "content": "x"},
    "graph.delete_node": {},
}
# Both ends of an edge have their own, and the external id of a context is no node's; the rest write what need not be a
# node, or take a list. Synced twice, a history answers otherwise: test_syncing.py names it so.
# Pages have to be compiled to be listed: test_definitions.py does.
ELSEWHERE = {
    "graph.create_edge",
    "graph.delete_edge",
    "contexts.find",
    "contexts.list",
    "contexts.sync_history",
    "compiled_pages.list",
}
NODE_PARAMETERS = {"node_id", "entity_node_id", "root_node_id", "start", "session", "from_node_id"}


@pytest.fixture
async def session(world, graph, context) -> str:
    """A session of a graph that is not the default, with what there is to read of one."""
    session = NodeInput("Session", **EXTERNAL_ID)
    message = NodeInput("Message", graph_name="support", data={"role": "user", "content": "Hello"})
    edge = EdgeInput(session.id, message.id, "Contains", graph_name="support")
    await world.run(graph.graph.write, [session, message], [edge])
    for node in (session, message):
        await world.run(graph.embeddings.upsert, node.id, [1, 0.5])
    await world.run(graph.progress.append, session.id, message="begun")
    await world.run(context.blobs.upload, b"x", name="x.txt", entity_node_id=session.id)
    return session.id


def test_the_tables_here_name_every_method_that_takes_a_node():
    """So that a method that is added takes an external id too."""
    taking = {
        name
        for client in (AsyncEntityClient, AsyncContextClient)
        for name, method in methods(client)
        if NODE_PARAMETERS & set(inspect.signature(method).parameters)
    }
    assert taking == set(READS) | set(WRITES) | ELSEWHERE


async def test_a_read_by_external_id_answers_as_by_id(world, graph, context, session):
    for name, (behind, options) in READS.items():
        method = attrgetter(name)(of_either(name, graph, context))
        by = next(parameter for parameter in inspect.signature(method).parameters if parameter in NODE_PARAMETERS)
        by_id = await world.run(method, *behind, **{by: session}, **options)

        answer = await world.run(method, *behind, **EXTERNAL_ID, **options)

        if name == "mappings.test":
            assert [one.messages for one in answer] == [one.messages for one in by_id]  # the rest has times
        else:
            assert answer == by_id, name
        assert answer, name


async def test_a_write_by_external_id_is_of_that_node(world, graph, session):
    """In the order of `WRITES`; the last one deletes the node."""

    async def state() -> list[Any]:
        reads = (graph.graph.get_node, graph.graph.get_node_io, graph.graph.list_edges, graph.progress.list)
        return [await world.run(read, session) for read in (*reads, graph.embeddings.list)]

    for name, given in WRITES.items():
        before = await state()
        await world.run(attrgetter(name)(graph), **EXTERNAL_ID, **given)
        if name == "graph.delete_node":
            assert (await world.run(graph.graph.get_nodes, [session])).missing_ids == [session]
        else:
            assert await state() != before, name


async def test_the_ends_of_an_edge_and_what_is_connected(world, graph, session):
    """The graph of the edge, or of the search, is where both are looked up."""
    note = await world.run(graph.graph.create_node, "Note", external_id="note-1", graph_name="support")
    named = {"from_external_id": "thread-42", "to_external_id": "note-1", "graph_name": "support"}

    edge = await world.run(graph.graph.create_edge, edge_type="Owns", **named)
    assert (edge.from_node_id, edge.to_node_id) == (session, note.id)
    near = ConnectedTo(external_id="thread-42", edge_types=["Owns"])
    assert await world.run(graph.graph.search, connected_to=near, graph_name="support") == [note]
    assert await world.run(graph.graph.count, connected_to=near, graph_name="support") == 1
    assert await world.run(graph.graph.delete_edge, edge_type="Owns", **named) == edge


@pytest.mark.parametrize("method", ["graph.get_node", "history.stream"])
async def test_what_is_not_there_is_named_in_the_error(world, graph, context, other_key, session, method):
    """In another graph, or as another tenant, it is not there either."""
    client = of_either(method, graph, context)
    other = client.with_credential(other_key)
    for who, named in ((client, {"external_id": "thread-42", "graph_name": "default"}), (other, EXTERNAL_ID)):
        with pytest.raises(NodeNotFound, match="external_id") as raised:
            await world.run(attrgetter(method)(who), **named)
        assert raised.value.metadata == named


@pytest.mark.parametrize("method", ["graph.get_node", "graph.traverse", "history.stream", "records.manifest"])
async def test_a_node_is_named_once(world, graph, context, method):
    client = of_either(method, graph, context)
    with pytest.raises(InvalidArgument, match="external_id; not both"):
        await world.run(attrgetter(method)(client), new_id(), external_id="thread-42")
    with pytest.raises(InvalidArgument, match="external_id; one of them is needed"):
        await world.run(attrgetter(method)(client))


@pytest.mark.parametrize("method", ["graph.get_node", "history.stream"])
async def test_a_misspelled_option_is_no_name(world, graph, context, method):
    """The options of a name are gathered, so this would else be passed over."""
    client = of_either(method, graph, context)
    with pytest.raises(TypeError, match="extrenal_id"):
        await world.run(attrgetter(method)(client), extrenal_id="thread-42")
