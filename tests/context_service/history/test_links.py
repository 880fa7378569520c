"""Groups, turns and edges, for any graph: the laws that hold whatever it looks like.

Examples are in `cases/history/links.yaml`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any

import orjson
import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st

from context_service.history.pure.formats import formatted
from context_service.history.pure.mappings import Mapping, compile_mapping
from context_service.history.pure.places import Group, Place, group_of, in_order
from context_service.history.rules.chat_history import ChatHistories, History, HistoryQuestion
from context_service.history.wire import mappings as wire
from context_service.kernel.rendering import Format
from contextkeep.context.v1 import chat_history_pb2 as pb
from service_runtime.rpc.principal import Principal
from tests import cpu, vendors
from tests.conftest import PRINCIPAL
from tests.context_service.history.test_walks_of_values import WAIT_UNITS_MAX, longest_wait
from tests.context_service.kernel.test_rendering import MESSAGES
from tests.fakes.entity_graph import FakeEdge, FakeEntityGraph, FakeNode

START = datetime(2026, 3, 1, tzinfo=UTC)
_GROUPS = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
_PLACES = st.lists(st.builds(Place, st.none() | st.tuples(st.integers(0, 5)), _GROUPS), max_size=12)


@given(places=_PLACES, descending=st.booleans())
async def test_each_group_stands_together_where_its_first_node_does(places: list[Place], descending: bool):
    rows = [(place, number) for number, place in enumerate(places)]

    plain = await in_order([(Place(place.key), number) for place, number in rows], descending=descending)
    ordered = await in_order(rows, descending=descending)

    assert sorted(ordered) == sorted(plain)
    for depth in (1, 2, 3):
        groups = [places[number].group[:depth] for number in ordered]
        runs = [group for group, _ in groupby(groups) if len(group) == depth]
        assert len(runs) == len(set(runs))  # together
        for group in set(runs):
            members = [number for number in plain if places[number].group[:depth] == group]
            assert next(number for number in ordered if places[number].group[:depth] == group) == members[0]
    # Nodes of one group, and nodes of none, keep their order.
    for group in {place.group for place in places}:
        own = [number for number in plain if places[number].group == group]
        assert [number for number in ordered if places[number].group == group] == own


_LONG = "z" * 600
_NAMES = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.sampled_from(["1", "-2", _LONG, f"{_LONG}z"]))


@given(st.lists(_NAMES, max_size=9))
def test_different_values_are_different_groups(values: list[Any]):
    """A number is not the text of its digits, and a long text not its beginning."""
    for one, other in pairwise(values):
        same = type(one) is type(other) and one == other
        assert (group_of([one, 1]) == group_of([other, 1])) is same


@pytest.mark.parametrize("value", [None, True, 1.5, {}, [None], ["a", []], ["a"] * 101, "", b"a"])
def test_a_value_that_names_no_group_is_none(value: object):
    assert group_of(value) == ()


async def test_others_do_not_wait_for_a_long_history_to_be_grouped():
    groups: list[Group] = [("a", str(number % 1000)) for number in range(100_000)]
    rows = [(Place((number,), group), number) for number, group in enumerate(groups)]

    runs = [await longest_wait(in_order(rows, descending=False)) for _ in range(3)]
    found, wait_s = min(runs, key=lambda run: run[1])  # other processes make a run slower, and none faster

    assert found == sorted(range(100_000), key=lambda number: (number % 1000, number))
    assert cpu.in_units(wait_s) < WAIT_UNITS_MAX


# A graph of agents: sessions below sessions, messages that call tools, results, and replacements of any node. A node is
# (kind, parent, replaced): the numbers are taken modulo the nodes before it.
_KINDS = ("Sitzung", "Wort", "Systemhinweis", "Aufruf", "Ergebnis")
_NODES = st.lists(
    st.tuples(st.sampled_from(_KINDS), st.integers(0, 9), st.none() | st.integers(0, 9), st.booleans()), max_size=14
)
_RULES = {
    "edge_types": ["unter"],
    "depth_max": 20,
    "filter": "!edges.exists(e, e.type == 'ersetzt' && e.direction == 'in' && !e.node.is_archived)",
    "messages": [
        {
            "when": "entity.type == 'Wort' || entity.type == 'Systemhinweis'",
            "role": "entity.type == 'Wort' ? entity.data.rolle : 'system'",
            "content": "entity.data.text",
            "name": "path.filter(p, p.node.type == 'Sitzung').map(p, p.node.name).join(' ')",
            "turn": "entity.id",
        },
        {
            "when": "entity.type == 'Aufruf'",
            "role": "'assistant'",
            "parts": "[{'type': 'tool_call', 'id': entity.data.ruf, 'name': 'suche', 'arguments': entity.data}]",
            "turn": "size(path) > 1 ? path[size(path) - 2].node.id : ''",
        },
        {
            "when": "entity.type == 'Ergebnis'",
            "role": "'tool'",
            "parts": "[{'type': 'tool_result', 'tool_call_id': entity.data.ruf, 'content': entity.data.text}]",
        },
    ],
    "group_by": "path.filter(p, p.node.type == 'Sitzung').map(p, p.node.id)",
}


class _Graph:
    """A graph of random nodes."""

    def __init__(self, rows: list[tuple[str, int, int | None, bool]]) -> None:
        self.nodes = [_node("0", "Sitzung", 0)]
        self.edges: list[FakeEdge] = []
        self.replaced: set[str] = set()
        self.session_of: dict[str, tuple[str, ...]] = {"0": ()}
        for number, (kind, parent, replaced, is_archived) in enumerate(rows, 1):
            node_id, parent_id = str(number), str(parent % number)
            self.nodes.append(_node(node_id, kind, number, archived=is_archived))
            self.edges.append(FakeEdge(from_id=parent_id, to_id=node_id, type="unter", order=number))
            above = self.session_of[parent_id]
            self.session_of[node_id] = (*above, node_id) if kind == "Sitzung" else above
            if replaced is not None:
                old_id = str(replaced % number)
                self.edges.append(FakeEdge(from_id=node_id, to_id=old_id, type="ersetzt", order=100 + number))
                self.replaced |= set() if is_archived else {old_id}


def _node(node_id: str, kind: str, number: int, *, archived: bool = False) -> FakeNode:
    role = "user" if number % 3 else "assistant"
    data = {"rolle": role, "text": f"Satz {number}.", "ruf": f"ruf{number % 4}", "n": number}
    created_at = START + timedelta(seconds=number)
    name = f"Agent {node_id}"
    return FakeNode(
        id=node_id, type=kind, general_type=kind, created_at=created_at, seq=number, data=data, name=name,
        archived=archived,
    )  # fmt: skip


class _Registry:
    async def find(self, principal: Principal, app_id: str, name: str) -> Mapping:
        return compile_mapping(wire.rules(ParseDict(_RULES, pb.MappingRules())))


async def history_of(graph: _Graph, **fields: Any) -> History:
    histories = ChatHistories(FakeEntityGraph(graph.nodes, graph.edges), _Registry())  # type: ignore[arg-type]
    question = {"node_id": "0", "app_id": "", "mapping_name": "", "max_messages": 0, "strict": True, **fields}
    return await histories.whole(PRINCIPAL, HistoryQuestion(**question))


@given(rows=_NODES, max_messages=st.integers(0, 4))
async def test_vendors_accept_the_history_of_every_graph(
    rows: list[tuple[str, int, int | None, bool]], max_messages: int
):
    history = await history_of(_Graph(rows), max_messages=max_messages)

    for to in Format:
        messages = orjson.loads(formatted(history.messages, to).body.json)[MESSAGES[to]]
        assert vendors.broken(messages, to, is_waiting=True) == []


@given(rows=_NODES)
async def test_nothing_replaced_is_shown_and_each_session_stands_together(
    rows: list[tuple[str, int, int | None, bool]],
):
    graph = _Graph(rows)

    history = await history_of(graph)

    shown = [message.node_id for message in history.messages]
    given_kinds = [node for node in graph.nodes[1:] if node.type != "Sitzung" and not node.archived]
    assert set(shown) == {node.id for node in given_kinds} - graph.replaced
    for depth in range(1, len(rows) + 1):
        runs = [session for session, _ in groupby(graph.session_of[node_id][:depth] for node_id in shown)]
        whole = [session for session in runs if len(session) == depth]
        assert len(whole) == len(set(whole))


@given(rows=_NODES)
async def test_the_calls_of_one_message_are_in_one_turn(rows: list[tuple[str, int, int | None, bool]]):
    history = await history_of(_Graph(rows))

    body = orjson.loads(formatted(history.messages, Format.OPENAI).body.json)

    turns: dict[str, set[int]] = {}
    placed = [
        (orjson.loads(call["function"]["arguments"])["n"], place)
        for place, message in enumerate(body["messages"])
        for call in message.get("tool_calls") or []
    ]
    turn_of = {int(message.node_id): message.turn for message in history.messages}
    for number, place in placed:
        if turn_of[number]:
            turns.setdefault(turn_of[number], set()).add(place)
    assert len(placed) == sum(bool(message.parts) and message.role == "assistant" for message in history.messages)
    assert all(len(places) == 1 for places in turns.values())
