"""Definitions by the Python clients."""

from __future__ import annotations

import uuid

import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, ContextClient, EntityClient
from contextkeep.errors import DefinitionNotFound, InvalidArgument, NodeNotFound
from tests.conftest import KEY, Addresses

RULES = {
    "node_type": "Customer",
    "graph_name": "default",
    "title": "entity.name",
    "facets": [{"slug": "state", "heading": "State", "kind": "operational", "text": "entity.status"}],
}


async def test_a_definition_comes_back_as_it_was_put_and_says_who_approved_it(stack: Addresses):
    name = f"customer {uuid.uuid4()}"
    with ContextClient(stack.context, api_key=KEY) as context:
        put = context.definitions.put(name, RULES)
        assert (put.version, put.state, put.rules, put.approved_by) == (1, "draft", RULES, "")
        approved = context.definitions.approve(name, 1)
        assert (approved.state, approved.approved_by, approved.retired_at) == ("approved", put.created_by, None)
        assert approved in list(context.definitions.list(states=["approved"], page_size=1))
        assert context.definitions.get(name) == approved
        assert context.definitions.retire(name).retired_at
        with pytest.raises(DefinitionNotFound):
            context.definitions.retire(name)


async def test_rules_are_tried_on_a_node(stack: Addresses):
    async with (
        AsyncEntityClient(stack.entity, api_key=KEY) as graph,
        AsyncContextClient(stack.context, api_key=KEY) as context,
    ):
        node = await graph.graph.create_node("Customer", name="Orrery", status="Renewing")
        tried = await context.definitions.test(RULES, node.id)
        assert tried.page and (tried.page.title, tried.page.facets[0].text) == ("Orrery", "Renewing")
        assert tried.problems == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {**RULES, "facet": []},
        {**RULES, "facets": [{**RULES["facets"][0], "kind": "gossip"}]},
        {**RULES, "facets": [{**RULES["facets"][0], "walk": {"depht": 1}}]},
        {**RULES, "facets": [{**RULES["facets"][0], "walk": {"depth_max": "deep"}}]},
        {**RULES, "facets": ["state"]},
        {**RULES, "title": 7},
    ],
)
def test_rules_that_cannot_travel_are_refused_before_they_do(wrong: dict[str, object]):
    with ContextClient("127.0.0.1:1", api_key=KEY) as context, pytest.raises(InvalidArgument) as refused:
        context.definitions.put("customer", wrong)
    assert refused.value.violations[0].field.startswith("rules")


async def test_a_page_is_compiled_read_and_found(stack: Addresses):
    node_type = f"T{uuid.uuid4().hex}"
    with EntityClient(stack.entity, api_key=KEY) as graph, ContextClient(stack.context, api_key=KEY) as context:
        named = {"external_id": f"crm-{node_type}", "graph_name": "sales"}
        node = graph.graph.create_node(node_type, name="Orrery", status=f"Renewing {node_type}", **named)
        put = context.definitions.put(node_type, {**RULES, "node_type": node_type, "graph_name": "sales"})
        context.definitions.approve(node_type, put.version)
        told = list(context.compiled_pages.compile(definition_name=node_type))
        assert (told[-1].is_done, told[-1].pages_written, told[-1].problems) == (True, 1, ())
        (listed,) = context.compiled_pages.list(node_type, node_id=node.id)
        assert list(context.compiled_pages.list(**named)) == [listed]
        with pytest.raises(NodeNotFound):
            next(iter(context.compiled_pages.list(external_id=node_type)))
        page = context.compiled_pages.get(listed.page_id)
        assert (page.title, page.facets[0].text, page.compile_id) == ("Orrery", node.status, told[-1].compile_id)
        put = context.compiled_pages.put_facet(
            page.page_id, "note", "Call on Mondays", heading="Note", kind="external", confidence=0.5, source_label="Ada"
        )
        assert put and (put.confidence, put.sources[0].label, bool(put.put_by)) == (0.5, "Ada", True)
        (hit, *_) = context.query.ask(node_type, provider_ids=["brain"]).hits
        assert hit.metadata["page_id"] == page.page_id
        assert context.compiled_pages.put_facet(page.page_id, "note", "") is None
