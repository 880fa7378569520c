"""Definitions by the Python clients."""

from __future__ import annotations

import pytest

from contextkeep import ContextClient
from contextkeep.errors import InvalidArgument
from tests.conftest import KEY

RULES = {
    "node_type": "Customer",
    "graph_name": "default",
    "title": "entity.name",
    "facets": [{"slug": "state", "heading": "State", "kind": "operational", "text": "entity.status"}],
}


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
