"""The slips of who begins: told where they happen, in the words of who made them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from contextkeep import EdgeInput, EntityClient, NodeInput
from contextkeep.client import _messages as messages
from contextkeep.errors import InvalidArgument

SAYS = {"role": "'user'", "content": "entity.name"}


@pytest.mark.parametrize(
    ("rules", "field", "told"),
    [
        ({"message": [SAYS]}, "rules.message", "rules has no field 'message', only edge_types, direction, "),
        ({"message": [SAYS]}, "rules.message", "; is it messages?"),
        ({"edgeType": ["A"]}, "rules.edgeType", "; is it edge_types?"),
        ({"messages": SAYS}, "rules.messages", "rules.messages is a list, not dict"),
        ({"messages": ["x"]}, "rules.messages[0]", "rules.messages[0] is an object, not str"),
        (
            {"messages": [SAYS, {**SAYS, "metadat": "{}"}]},
            "rules.messages[1].metadat",
            "rules.messages[1] has no field 'metadat', only role, content, when, for_each, name, parts, metadata, turn",
        ),
        ({"messages": [{**SAYS, "content": 5}]}, "rules.messages[0].content", "content is a text, not int"),
        ({"filter": True}, "rules.filter", "rules.filter is a text, not bool"),
        ({"edge_types": "Contains"}, "rules.edge_types", 'rules.edge_types is a list, as in ["Contains"]'),
        ({"role_mapping": ["user"]}, "rules.role_mapping", "rules.role_mapping is an object, not list"),
        ({"role_mapping": "user"}, "rules.role_mapping", "rules.role_mapping is an object, not str"),
        ([SAYS], "rules", "rules is an object, not list"),
        ({"depth_max": "deep"}, "rules", "rules cannot be read: "),
    ],
)
def test_rules_of_another_form_are_refused_by_the_names_that_they_have(rules: Any, field: str, told: str):
    with pytest.raises(InvalidArgument) as raised:
        messages.mapping_rules(rules)

    assert told in raised.value.message
    assert [violation.field for violation in raised.value.violations] == [field]


def test_rules_may_have_the_names_of_json_too_and_leave_out_with_none():
    rules = messages.mapping_rules({"edgeTypes": ["A"], "filter": None, "messages": [{**SAYS, "forEach": "[1]"}]})

    assert (list(rules.edge_types), rules.messages[0].for_each) == (["A"], "[1]")


@pytest.mark.parametrize("value", ["0197f1f2-0000-7000-8000-000000000001", uuid.uuid4()])
def test_an_id_is_a_text_or_a_uuid(value: object):
    assert messages.to_id(value) == str(value)


def test_what_has_an_id_is_none():
    node, edge = NodeInput("Turn"), EdgeInput("a", "b", "Contains")
    with EntityClient("127.0.0.1:1") as graph:
        for call in (
            lambda: graph.graph.get_node(node),
            lambda: list(graph.graph.traverse(node)),
            lambda: graph.graph.get_nodes([node]),
            lambda: graph.graph.create_edge(node, node, "Contains"),
        ):
            with pytest.raises(InvalidArgument, match="an id is a text or a UUID, not NodeInput: give its id"):
                call()
        with pytest.raises(InvalidArgument, match="not EdgeInput"):
            graph.graph.get_edge(edge)
    with pytest.raises(InvalidArgument, match="not int"):
        messages.to_id(7)
