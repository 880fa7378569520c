"""Structured questions: exact counts, sums and superlatives over a generated company, each compared with Python."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument, LimitExceeded
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused
from tests.examples import examples

DUE = "2027-03-15"


@dataclass
class Company:
    """A workshop for harps: clients, what they ordered, and who tunes for them."""

    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    ordered_by: dict[str, str] = field(default_factory=dict)  # clients by orders

    def of(self, client_id: str) -> list[dict[str, Any]]:
        return [order for order_id, order in self.orders.items() if self.ordered_by[order_id] == client_id]


@pytest.fixture
async def company(graph: Graph) -> Company:
    dice, made = random.Random(41), Company()
    rows: list[Any] = []
    for number in range(23):
        client_id = new_id()
        data = {"town": dice.choice(["Łódź", "Cork", "Bilbao"]), "contact": {"name": f"Ms {number}"}}
        if number % 4:
            data["since"] = f"20{dice.randint(10, 26)}-0{dice.randint(1, 9)}-11"
        made.clients[client_id] = data
        rows.append(node("Client", id=client_id, name=f"Client {number}", data=data))
        for _ in range(dice.choice([0, 0, 1, 2, 5])):
            order_id = new_id()
            order: dict[str, Any] = {
                "price": dice.choice([dice.randint(1, 90_000), dice.randint(1, 9_999) / 100, "on request"]),
                "due": f"2027-0{dice.randint(1, 9)}-{dice.randint(10, 28)}",
                "paid": dice.random() < 0.5,
            }
            made.orders[order_id], made.ordered_by[order_id] = order, client_id
            rows.append(node("Order", id=order_id, name=f"Order {len(made.orders)}", data=order))
            rows.append(edge(client_id, order_id, "Ordered"))
    await graph.write(*rows)
    return made


async def ask(graph: Graph, condition: Any = None, **fields: Any) -> pb.QueryFacetsResponse:
    text = json.dumps(condition) if condition is not None else ""
    return await graph.QueryFacets(pb.QueryFacetsRequest(condition_json=text, **fields))


def prices(orders: Any) -> list[float]:
    return [order["price"] for order in orders if not isinstance(order["price"], str)]


async def test_a_superlative_is_the_first_node_in_order(graph: Graph, company: Company):
    found = await ask(graph, {"type": "Order"}, order_by="data.price", descending=True, limit=3)
    dearest = sorted(prices(company.orders.values()), reverse=True)[:3]
    assert [json.loads(row.data_json)["price"] for row in found.nodes] == dearest
    assert found.node_count == len(company.orders)


async def test_counts_and_sums_are_those_of_all_nodes_and_say_what_they_left_out(graph: Graph, company: Company):
    found = await ask(graph, {"type": "Order", "data.paid": False}, measures=["sum(data.price)", "max(data.price)"])
    unpaid = {order_id: order for order_id, order in company.orders.items() if not order["paid"]}
    total, highest = found.groups[0].values
    assert found.node_count == found.groups[0].node_count == len(unpaid)
    assert json.loads(total.value_json) == pytest.approx(sum(prices(unpaid.values())))
    assert (total.counted, total.skipped) == (
        len(prices(unpaid.values())),
        sum(order["price"] == "on request" for order in unpaid.values()),
    )
    assert json.loads(highest.value_json) == max(prices(unpaid.values()))
    assert unpaid[highest.node_id]["price"] == max(prices(unpaid.values()))
    assert highest.node_name.startswith("Order ")


async def test_nodes_due_before_a_day_are_counted(graph: Graph, company: Company):
    found = await ask(graph, {"type": "Order", "data.due": {"$lt": DUE}}, measures=["min(data.due)"])
    early = [order["due"] for order in company.orders.values() if order["due"] < DUE]
    assert found.node_count == len(early)
    assert json.loads(found.groups[0].values[0].value_json) == min(early)


async def test_nodes_without_an_edge_or_a_field_are_found(graph: Graph, company: Company):
    idle = await ask(graph, {"type": "Client"}, without_edges=["out:Ordered"], limit=200)
    assert {row.id for row in idle.nodes} == company.clients.keys() - set(company.ordered_by.values())
    buyers = await ask(graph, {"type": "Client"}, with_edges=["out:Ordered"], without_edges=["in:Ordered"])
    assert buyers.node_count == len(set(company.ordered_by.values()))
    undated = await ask(graph, {"type": "Client", "data.since": {"$exists": False}})
    assert undated.node_count == sum("since" not in client for client in company.clients.values())


async def test_groups_by_a_field_hold_each_node_once(graph: Graph, company: Company):
    found = await ask(graph, {"type": "Client"}, group_by="data.town", order_by="nodes", descending=True)
    towns: dict[str, int] = defaultdict(int)
    for client in company.clients.values():
        towns[client["town"]] += 1
    assert {json.loads(row.value_json): row.node_count for row in found.groups} == towns
    assert [row.node_count for row in found.groups] == sorted(towns.values(), reverse=True)
    assert (found.group_count, found.ungrouped_count) == (len(towns), 0)


async def test_groups_by_an_edge_name_the_node_at_its_other_end(graph: Graph, company: Company):
    best = await ask(
        graph,
        {"type": "Order"},
        group_by="in:Ordered",
        measures=["sum(data.price)"],
        order_by="sum(data.price)",
        descending=True,
        limit=2,
    )
    totals = {client_id: sum(prices(company.of(client_id))) for client_id in set(company.ordered_by.values())}
    expected = sorted(totals, key=lambda client_id: -totals[client_id])[:2]
    assert [row.node_id for row in best.groups] == expected
    assert [json.loads(row.values[0].value_json) for row in best.groups] == pytest.approx(
        [totals[client_id] for client_id in expected]
    )
    assert best.groups[0].node_name.startswith("Client ")
    assert best.group_count == len(totals)


async def test_nodes_of_no_group_are_counted(graph: Graph):
    await graph.write(
        node("Harp", data={"wood": "maple"}), node("Harp", data={"wood": ["maple", "ash"]}), node("Harp", data={})
    )
    found = await ask(graph, {"type": "Harp"}, group_by="data.wood")
    assert (found.node_count, found.group_count, found.ungrouped_count) == (3, 1, 2)


async def test_the_list_names_fields_with_their_kinds_and_edges(graph: Graph, company: Company):
    answer = await graph.ListFacets(pb.ListFacetsRequest())
    of_type = {row.type_name: row for row in answer.types}
    assert not answer.is_cut
    assert of_type["Client"].node_count == of_type["Client"].sampled_count == len(company.clients)
    fields = {row.field: row for row in of_type["Client"].fields}
    assert fields.keys() == {"data.town", "data.since", "data.contact.name"}
    assert (list(fields["data.since"].kinds), list(fields["data.town"].kinds)) == (["date"], ["text"])
    assert set(fields["data.town"].examples) <= {"Łódź", "Cork", "Bilbao"}
    assert fields["data.since"].node_count == sum("since" in client for client in company.clients.values())
    orders = {row.field: list(row.kinds) for row in of_type["Order"].fields}
    assert orders == {"data.price": ["number", "text"], "data.due": ["date"], "data.paid": ["boolean"]}
    assert (list(of_type["Client"].edges), list(of_type["Order"].edges)) == (["out:Ordered"], ["in:Ordered"])
    (only,) = (await graph.ListFacets(pb.ListFacetsRequest(type_name="Order"))).types
    assert only == of_type["Order"]


async def test_another_tenant_counts_only_its_own_nodes(graph: Graph, others: Graph, company: Company):
    assert (await ask(others)).node_count == 0
    assert not (await others.ListFacets(pb.ListFacetsRequest())).types
    found = await ask(others, measures=["count(data.town)"])
    assert (found.node_count, len(found.groups)) == (0, 0)


async def test_a_question_that_cannot_be_computed_is_refused_with_the_reason(graph: Graph):
    for fields, at in (
        ({"measures": ["total(data.price)"]}, "measures[0]"),
        ({"measures": ["count(data.price)", "sum price"]}, "measures[1]"),
        ({"measures": ["sum(price)"]}, "measures[0]"),
        ({"group_by": "town"}, "group_by"),
        ({"group_by": "in:"}, "group_by"),
        ({"with_edges": ["Ordered"]}, "with_edges[0]"),
        ({"without_edges": ["both:Ordered"]}, "without_edges[0]"),
        ({"measures": ["count(data.a)"], "order_by": "data.a"}, "order_by"),
        ({"order_by": "town"}, "order_by"),
        ({"limit": -1}, "limit"),
    ):
        async with refused(InvalidArgument, violations=[at]):
            await ask(graph, **fields)
    async with refused(InvalidArgument, violations=["condition_json.town"]):
        await ask(graph, {"town": "Cork"})
    for fields in ({"limit": 201}, {"measures": ["count(name)"] * 9}, {"with_edges": ["out:A"] * 11}):
        async with refused(LimitExceeded):
            await ask(graph, **fields)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.text(max_size=5), st.lists(st.integers(), max_size=2)
)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(st.sampled_from(["ash", "elm", None]), VALUES), max_size=12))
async def test_groups_and_measures_are_those_that_python_computes(graph: Graph, rows: list[tuple[Any, Any]]):
    kind = f"T{new_id()}"
    rows = [(key, value.replace("\0", "") if isinstance(value, str) else value) for key, value in rows]
    if rows:
        await graph.write(*(node(kind, data={"key": key, "value": value}) for key, value in rows))
    found = await ask(
        graph,
        {"type": kind},
        group_by="data.key",
        measures=["sum(data.value)", "count(data.value)", "max(data.value)", "min(data.value)"],
    )
    assert (found.node_count, found.ungrouped_count) == (len(rows), sum(key is None for key, _ in rows))
    assert {json.loads(group.value_json) for group in found.groups} == {key for key, _ in rows if key}
    for group in found.groups:
        values = [value for key, value in rows if key == json.loads(group.value_json)]
        numbers = [value for value in values if type(value) is int]
        usable = numbers or [value for value in values if isinstance(value, str)]
        total, counted, highest, lowest = group.values
        there = sum(value is not None for value in values)
        assert group.node_count == len(values)
        assert (total.value_json == "") == (not numbers)
        assert not numbers or json.loads(total.value_json) == sum(numbers)
        assert (total.counted, total.skipped) == (len(numbers), there - len(numbers))
        assert (json.loads(counted.value_json), counted.skipped) == (there, 0)
        assert (highest.value_json, lowest.value_json) == ("", "") or (
            json.loads(highest.value_json) == max(usable) and json.loads(lowest.value_json) == min(usable)
        )
        assert (highest.counted, highest.skipped) == (len(usable), there - len(usable))
