"""Definitions by the Python clients."""

from __future__ import annotations

import uuid

import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, ContextClient
from contextkeep.errors import DefinitionNotFound, InvalidArgument
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
        put = context.put_definition(name, RULES)
        assert (put.version, put.state, put.rules, put.approved_by) == (1, "draft", RULES, "")
        approved = context.approve_definition(name, 1)
        assert (approved.state, approved.approved_by, approved.retired_at) == ("approved", put.created_by, None)
        assert approved in list(context.list_definitions(states=["approved"], page_size=1))
        assert context.get_definition(name) == approved
        assert context.retire_definition(name).retired_at
        with pytest.raises(DefinitionNotFound):
            context.retire_definition(name)


async def test_rules_are_tried_on_a_node(stack: Addresses):
    async with (
        AsyncEntityClient(stack.entity, api_key=KEY) as graph,
        AsyncContextClient(stack.context, api_key=KEY) as context,
    ):
        node = await graph.create_node("Customer", name="Orrery", status="Renewing")
        tried = await context.test_definition(RULES, node.id)
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
        context.put_definition("customer", wrong)
    assert refused.value.violations[0].field.startswith("rules")
