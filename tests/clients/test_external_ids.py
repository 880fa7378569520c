"""A node may be named by the caller's own id wherever a method takes its id, in both clients and both worlds."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, ConnectedTo, EdgeInput, NodeInput, new_id
from contextkeep.errors import InvalidArgument, NodeNotFound

EXTERNAL_ID = {"external_id": "thread-42", "graph_name": "support"}

# What is asked of a node that is named, by method: positional arguments behind the node, then the others.
DEFINITION = {
    "node_type": "Session",
    "graph_name": "support",
    "title": "'A session'",
    "facets": [{"slug": "id", "heading": "Id", "kind": "operational", "text": "entity.external_id"}],
}
READS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "get_node": ((), {}),
    "get_node_io": ((), {}),
    "list_edges": ((), {}),
    "list_progress": ((), {}),
    "list_embeddings": ((), {}),
    "search_similar": ((), {}),
    "traverse": ((), {}),
    "traverse_pages": ((), {}),
    "chat_history": ((), {}),
    "get_chat_history": ((), {}),
    "formatted_chat_history": ((), {"message_format": "openai"}),
    "assemble_context": ((), {}),
    "fetch_entity_history": ((), {}),
    "test_mapping": (({"role_field": "role", "content_field": "content"},), {}),
    "test_definition": ((DEFINITION,), {}),
    "fetch_wm_records_by_entity": ((), {}),
    "fetch_wm_manifest": ((), {}),
    "list_blobs": ((), {}),
    "list_resources": ((), {}),
    "execute_tool": (("history_chat",), {}),
}
WRITES: dict[str, dict[str, Any]] = {
    "update_node_data": {"data": {"a": 1}},
    "update_node_status": {"status": "Running"},
    "archive_node": {},
    "reset_node": {},
    "set_node_io": {"input": 1},
    "append_progress": {"message": "x"},
    "clear_progress": {},
    "upsert_embedding": {"vector": [1, 2]},
    "delete_embedding": {},
    "append_message": {"role": "user", "content": "x"},
    "delete_node": {},
}
# Both ends of an edge have their own, and the external id of a context is no node's; the rest write what need not be a
# node, or take a list. Synced twice, a history answers otherwise: test_syncing.py names it so.
# Pages have to be compiled to be listed: test_definitions.py does.
ELSEWHERE = {
    "create_edge",
    "delete_edge",
    "list_contexts",
    "sync_history",
    "list_compiled_pages",
}
NODE_PARAMETERS = {"node_id", "entity_node_id", "root_node_id", "start", "session", "from_node_id"}


@pytest.fixture
async def session(world, graph, context) -> str:
    """A session of a graph that is not the default, with what there is to read of one."""
    session = NodeInput("Session", **EXTERNAL_ID)
    message = NodeInput("Message", graph_name="support", data={"role": "user", "content": "Hello"})
    edge = EdgeInput(session.id, message.id, "Contains", graph_name="support")
    await world.run(graph.write_graph, [session, message], [edge])
    for node in (session, message):
        await world.run(graph.upsert_embedding, node.id, [1, 0.5])
    await world.run(graph.append_progress, session.id, message="begun")
    await world.run(context.upload_blob, b"x", name="x.txt", entity_node_id=session.id)
    return session.id


def test_the_tables_here_name_every_method_that_takes_a_node():
    """So that a method that is added takes an external id too."""
    taking = {
        name
        for client in (AsyncEntityClient, AsyncContextClient)
        for name, method in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_") and NODE_PARAMETERS & set(inspect.signature(method).parameters)
    }
    assert taking == set(READS) | set(WRITES) | ELSEWHERE


@pytest.mark.parametrize("method", READS)
async def test_a_read_by_external_id_answers_as_by_id(world, graph, context, session, method):
    client = graph if hasattr(graph, method) else context
    behind, options = READS[method]
    by = next(name for name in inspect.signature(getattr(client, method)).parameters if name in NODE_PARAMETERS)
    by_id = await world.run(getattr(client, method), *behind, **{by: session}, **options)

    answer = await world.run(getattr(client, method), *behind, **EXTERNAL_ID, **options)

    if method == "test_mapping":
        assert [one.messages for one in answer] == [one.messages for one in by_id]  # the rest has times
    else:
        assert answer == by_id
    assert answer


@pytest.mark.parametrize("method", WRITES)
async def test_a_write_by_external_id_is_of_that_node(world, graph, session, method):
    before = await world.run(graph.get_node, session)
    edges = await world.run(graph.list_edges, session)
    embeddings = await world.run(graph.list_embeddings, session)
    await world.run(graph.set_node_io, session, output=0)

    await world.run(getattr(graph, method), **EXTERNAL_ID, **WRITES[method])

    async def now() -> Any:
        match method:
            case "set_node_io":
                return (await world.run(graph.get_node_io, session)).input == 1
            case "append_progress":
                return len(await world.run(graph.list_progress, session)) == 2
            case "clear_progress":
                return not await world.run(graph.list_progress, session)
            case "upsert_embedding" | "delete_embedding":
                return await world.run(graph.list_embeddings, session) != embeddings
            case "append_message":
                return len(await world.run(graph.list_edges, session)) == len(edges) + 1
            case "delete_node":
                return (await world.run(graph.batch_get_nodes, [session])).missing_ids == [session]
            case "reset_node":
                return (await world.run(graph.get_node_io, session)).output is None
        return await world.run(graph.get_node, session) != before

    assert await now()


async def test_the_ends_of_an_edge_and_what_is_connected(world, graph, session):
    """The graph of the edge, or of the search, is where both are looked up."""
    note = await world.run(graph.create_node, "Note", external_id="note-1", graph_name="support")
    named = {"from_external_id": "thread-42", "to_external_id": "note-1", "graph_name": "support"}

    edge = await world.run(graph.create_edge, edge_type="Owns", **named)
    assert (edge.from_node_id, edge.to_node_id) == (session, note.id)
    near = ConnectedTo(external_id="thread-42", edge_types=["Owns"])
    assert await world.run(graph.search_nodes, connected_to=near, graph_name="support") == [note]
    assert await world.run(graph.count_nodes, connected_to=near, graph_name="support") == 1
    assert await world.run(graph.delete_edge, edge_type="Owns", **named) == edge


@pytest.mark.parametrize("method", ["get_node", "chat_history", "list_blobs"])
async def test_what_is_not_there_is_named_in_the_error(world, graph, context, other_key, session, method):
    """In another graph, or as another tenant, it is not there either."""
    client = graph if hasattr(graph, method) else context
    other = client.with_credential(other_key)
    for who, named in ((client, {"external_id": "thread-42", "graph_name": "default"}), (other, EXTERNAL_ID)):
        with pytest.raises(NodeNotFound, match="external id") as raised:
            await world.run(getattr(who, method), **named)
        assert raised.value.metadata == named


@pytest.mark.parametrize("method", ["get_node", "traverse", "chat_history", "fetch_wm_manifest"])
async def test_a_node_is_named_once(world, graph, context, method):
    client = graph if hasattr(graph, method) else context
    with pytest.raises(InvalidArgument, match="external_id; not both"):
        await world.run(getattr(client, method), new_id(), external_id="thread-42")
    with pytest.raises(InvalidArgument, match="external_id; one of them is needed"):
        await world.run(getattr(client, method))


@pytest.mark.parametrize("method", ["get_node", "chat_history"])
async def test_a_misspelled_option_is_no_name(world, graph, context, method):
    """The options of a name are gathered, so this would else be passed over."""
    client = graph if hasattr(graph, method) else context
    with pytest.raises(TypeError, match="extrenal_id"):
        await world.run(getattr(client, method), extrenal_id="thread-42")
