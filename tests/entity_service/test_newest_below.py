from __future__ import annotations

import asyncio
import dataclasses
import itertools
import random
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from entity_service.model.walks import BOUNDED_EDGE_TYPES
from entity_service.rules import settle_edges, traverse
from entity_service.rules.settle_edges import EdgeSettling
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, ApiKeys
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.examples import examples

CHAT = list(BOUNDED_EDGE_TYPES)
Ends = tuple[str, str, str]  # from, to, type
STARTED_AT = datetime(2026, 1, 1, tzinfo=UTC)
BOUND_KEY = "key-of-a-bundle"

# Edges whose bound is too low: there is something newer one or two steps below the child. And edges above one that
# reads infinity, which must be out of reach of any append.
_TOO_LOW = """
WITH step AS (
    SELECT e.* FROM entity.edge e WHERE e.tenant_id = %(tenant_id)s AND e.edge_type IN ('Contains', 'InResponseTo')
)
SELECT e.id FROM step e
JOIN step a ON a.from_node_id = e.to_node_id
LEFT JOIN step b ON b.from_node_id = a.to_node_id
WHERE e.newest_below < greatest(a.child_created_at, b.child_created_at)
    OR (a.newest_below = 'infinity' AND e.newest_below < '20000-01-01Z')
"""

# Where the migrations say which edges are bounded: as a list, and as the first and the last of a range.
_TYPES_SAID = re.compile(r"(?:edge_type IN|edge_type = ANY|of_type IN ARRAY)\s*\(?(?:ARRAY\[)?([^)\]]*'[^)\]]*)[)\]]")
_FIRST_TYPE = re.compile(r"edge_type\) >= ROW\(\S+ '(\w+)'")
_LAST_TYPE = re.compile(r"edge_type\) <= ROW\(\S+ '(\w+)'")


def ask(urls: Urls, sql: str, *parameters: Any) -> list[Any]:
    with psycopg.connect(urls.superuser) as connection:
        return connection.execute(sql.encode(), parameters).fetchall()


def too_low(urls: Urls) -> list[Any]:
    with psycopg.connect(urls.superuser) as connection:
        return connection.execute(_TOO_LOW, {"tenant_id": DEFAULT_TENANT_ID}).fetchall()


def unknown(urls: Urls, ids: list[str]) -> int:
    """Return how many edges between some nodes are not known."""
    sql = """
        SELECT count(*) FROM entity.edge WHERE newest_below IS NULL AND edge_type IN ('Contains', 'InResponseTo')
            AND from_node_id = ANY (%s::uuid[]) AND to_node_id = ANY (%s::uuid[])
    """
    ((count,),) = ask(urls, sql, ids, ids)
    return int(count)


def forget(urls: Urls, ids: list[str]) -> None:
    """Let the edges that leave some nodes be not known, as those are that a release without the column wrote."""
    for each in urls.all:
        with psycopg.connect(each.superuser) as connection:
            connection.execute(
                "UPDATE entity.edge SET newest_below = NULL WHERE from_node_id = ANY (%s::uuid[])", (ids,)
            )


async def agree(graph: Graph, start: str, *, limits: tuple[int, ...] = (1, 5), **asked: Any) -> None:
    """Hold every newest-first page of a walk to the full one, which a second start node that is hidden makes it.

    And that to one that asks no bound whether anything is below, because it has one edge type more.
    """
    hidden = (await graph.write(node("Hidden", created_at={"seconds": 1}))).nodes[0].id
    asked = {"edge_types": CHAT, "node_types": ["Message", "Turn", "Session"], "descending": True, **asked}
    full = await graph.reached(start, hidden, **asked)
    assert full == await graph.reached(start, hidden, **{**asked, "edge_types": [*asked["edge_types"], "none"]})
    for limit in limits:
        token, rows = "", []
        while True:
            messages = await graph.walk(start, limit=limit, page_token=token, **asked)
            rows += [row for message in messages for row in message.nodes]
            token = messages[-1].next_page_token
            if not token:
                break
        assert rows == full


@pytest.fixture(autouse=True)
def settled_by_the_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's own settling comes never, however slow the machine is."""
    monkeypatch.setattr(settle_edges, "INTERVAL_S", 86_400.0)


@pytest.fixture
def callers() -> ApiKeys:
    bundle = dataclasses.replace(PRINCIPAL, agent_bundle_id="bundle")
    return ApiKeys({KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL, BOUND_KEY: bundle})


@pytest.fixture
async def bound(callers: ApiKeys, entity_address: str) -> AsyncIterator[Graph]:
    """The first tenant's graph, as a key sees it that is bound to an agent bundle."""
    async with grpc.aio.insecure_channel(entity_address) as channel:
        yield Graph(EntityGraphStub(channel), BOUND_KEY, DEFAULT_TENANT_ID)


few = st.integers(0, 6)
some_ends = st.tuples(few, few, st.sampled_from([*CHAT, "Calls"]))
changes = st.lists(
    st.one_of(
        st.lists(some_ends, min_size=1, max_size=5),  # written together
        some_ends,  # removed, if there
        few,  # a node that is removed
        st.tuples(few, st.integers(0, 9)),  # a new node below, of that time
        few.map(lambda number: {"forget": number}),
        st.just("settle"),
    ),
    max_size=10,
)


@pytest.mark.timeout(300)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    times=st.lists(st.integers(0, 9), min_size=7, max_size=7),
    first=st.lists(some_ends, max_size=14),
    later=changes,
    depth_max=st.integers(2, 3),
    include_start=st.booleans(),
    look=st.sampled_from([(1, 0, 1), (1, 1, 0), (2, 1, 1), (1, 3, 0)]),
)
async def test_no_bound_is_too_low_and_no_node_is_missed(
    graph: Graph,
    urls: Urls,
    database: Database,
    times: list[int],
    first: list[Any],
    later: list[Any],
    depth_max: int,
    include_start: bool,
    look: tuple[int, int, int],
):
    ids = [new_id() for _ in range(7)]
    alive = set(ids)
    edges: set[Ends] = set()

    async def write(many: list[Any], *nodes: Any) -> None:
        new = {(ids[near], ids[far], name) for near, far, name in many} - edges
        new = {ends for ends in new if {*ends[:2]} <= alive}
        if new or nodes:
            await graph.write(*nodes, *[edge(*ends) for ends in new])
        edges.update(new)

    await write(first, *[node(id=i, created_at={"seconds": at}) for i, at in zip(ids, times, strict=True)])
    assert too_low(urls) == []
    for change in later:
        match change:
            case "settle":
                await EdgeSettling(database).once()
            case {"forget": number}:
                forget(urls, [ids[number]])
            case list():
                await write(change)
            case (near, far, name):
                ends = (ids[near], ids[far], name)
                if ends in edges:
                    request = pb.DeleteEdgeRequest(from_node_id=ends[0], to_node_id=ends[1], edge_type=ends[2])
                    await graph.DeleteEdge(request)
                    edges.discard(ends)
            case (parent, at):
                if ids[parent] in alive:
                    child = new_id()
                    await graph.write(node(id=child, created_at={"seconds": at}), edge(ids[parent], child))
            case _:
                if ids[change] in alive:
                    await graph.DeleteNode(pb.DeleteNodeRequest(node_id=ids[change]))
                    alive.discard(ids[change])
                    edges -= {ends for ends in edges if ids[change] in ends}
        assert too_low(urls) == [], change
    with pytest.MonkeyPatch.context() as patch:
        # So few that a bound that is too low would be one page's end; in the service as it is they would see all of it.
        patch.setattr(traverse, "_LOOKS", (look,))
        for start in sorted(alive)[:3]:
            await agree(graph, start, limits=(1, 3), depth_max=depth_max, include_start=include_start)


@pytest.fixture
def held(urls: Urls) -> Iterator[psycopg.Connection]:
    """A transaction of the service's role, in the middle of which others do something."""
    with psycopg.connect(urls.service) as connection:
        connection.execute("SELECT set_config('app.tenant', %s, true)", (str(DEFAULT_TENANT_ID),))
        yield connection


def insert(connection: psycopg.Connection, *ends: tuple[str, str], newest_below: str | None = None) -> None:
    """Write edges in one statement; as a release does that does not know the column, or to new nodes as ours does."""
    connection.execute(
        "INSERT INTO entity.edge (tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq,"
        " graph_name, edge_type, data, newest_below)"
        " SELECT n.tenant_id, r.id, r.near, n.id, now(), n.created_at, n.seq, n.graph_name, 'Contains', '{}', %s"
        " FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) AS r (id, near, far) JOIN entity.node n ON n.id = r.far"
        " WHERE n.tenant_id = %s",
        (
            newest_below,
            [new_id() for _ in ends],
            [near for near, _ in ends],
            [far for _, far in ends],
            DEFAULT_TENANT_ID,
        ),
    )


LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
SETTLE = f"SELECT settled FROM entity.settle_edges(200, '{LAST_ID}', '{LAST_ID}')"
CHAIN = [(0, 1), (1, 2), (2, 3)]
PAIRS = list(itertools.permutations(CHAIN, 2))


@pytest.mark.parametrize("many", [False, True], ids=["alone", "with many others"])
async def test_two_concurrent_edges_of_one_walk_do_not_miss_each_other(
    graph: Graph, urls: Urls, database: Database, held: psycopg.Connection, many: bool
):
    """While my edge is not committed, another call writes a second one of the same walk, and a third settles."""
    others = [new_id() for _ in range(25)]
    await graph.write(*[node(id=node_id) for node_id in others])
    for mine, theirs in PAIRS:
        ids = [new_id() for _ in range(4)]
        there = [ends for ends in CHAIN if ends not in (mine, theirs)]
        # The last one is the newest.
        await graph.write(*[node(id=node_id) for node_id in ids], *[edge(ids[near], ids[far]) for near, far in there])

        held.execute("SELECT set_config('app.tenant', %s, true)", (str(DEFAULT_TENANT_ID),))
        more = [(ids[mine[0]], other) for other in others] if many else []
        insert(held, (ids[mine[0]], ids[mine[1]]), *more)
        other = asyncio.ensure_future(graph.write(edge(ids[theirs[0]], ids[theirs[1]])))
        await asyncio.wait([other], timeout=0.05)
        await EdgeSettling(database).once()
        held.commit()
        await other

        assert too_low(urls) == [], (mine, theirs)
        await EdgeSettling(database).once()
        assert too_low(urls) == [], (mine, theirs)
        assert unknown(urls, ids) == 0
        await agree(graph, ids[0], depth_max=3)


@pytest.mark.parametrize("below", [1, 2], ids=["one step", "two steps"])
async def test_what_is_written_while_an_edge_is_settled_raises_it(
    graph: Graph, urls: Urls, held: psycopg.Connection, below: int
):
    ids = [new_id() for _ in range(3)]
    await graph.write(*[node(id=i) for i in ids], edge(ids[0], ids[1]), edge(ids[1], ids[2]))
    forget(urls, ids[:1])

    assert held.execute(SETTLE).fetchall() == [(1,)]
    other = asyncio.ensure_future(graph.write(node(id=(newest := new_id())), edge(ids[below], newest)))
    await asyncio.wait([other], timeout=0.05)
    held.commit()
    await other

    assert unknown(urls, ids) == 0
    assert too_low(urls) == []


@pytest.mark.parametrize("below", [1, 2], ids=["one step", "two steps"])
async def test_an_edge_is_not_settled_while_something_is_written_below_it(
    graph: Graph, urls: Urls, database: Database, held: psycopg.Connection, below: int
):
    ids = [new_id() for _ in range(4)]
    await graph.write(*[node(id=i) for i in ids], edge(ids[0], ids[1]), edge(ids[1], ids[2]))
    forget(urls, ids[:2])

    insert(held, (ids[below], ids[3]))
    await EdgeSettling(database).once()
    assert unknown(urls, ids) > 0
    held.commit()

    assert too_low(urls) == []
    await EdgeSettling(database).once()
    assert (unknown(urls, ids), too_low(urls)) == (0, [])


async def test_many_callers_at_once_leave_no_bound_too_low(graph: Graph, urls: Urls, database: Database):
    ids = [new_id() for _ in range(8)]
    await graph.write(*[node(id=node_id) for node_id in ids])
    chosen = random.Random(7)
    done = 0

    async def change() -> None:
        nonlocal done
        for _ in range(12):
            ends = edge(chosen.choice(ids), chosen.choice(ids), chosen.choice(CHAT))
            with suppress(grpc.RpcError):  # it is there, or it is not
                match chosen.randrange(4):
                    case 0:
                        await graph.write(ends)
                    case 1:
                        await graph.write(node(id=(child := new_id())), edge(ends.from_node_id, child))
                    case 2:
                        await EdgeSettling(database).once()
                    case _:
                        await graph.DeleteEdge(
                            pb.DeleteEdgeRequest(
                                from_node_id=ends.from_node_id, to_node_id=ends.to_node_id, edge_type=ends.edge_type
                            )
                        )
                done += 1

    await asyncio.gather(*[change() for _ in range(8)])

    assert done > 30
    assert too_low(urls) == []
    for start in ids[:3]:
        await agree(graph, start, depth_max=3)


async def test_appends_to_one_session_do_not_wait_for_each_other(graph: Graph, urls: Urls, held: psycopg.Connection):
    """Not even the first ones, which raise the edge that leads to it: that one is waited for only until it is ahead."""
    space, session = ids = [new_id() for _ in range(2)]
    await graph.write(*[node(id=i, created_at={"seconds": 1}) for i in ids], edge(space, session))
    await graph.write(node(id=(first := new_id())), edge(session, first))  # raises it by an hour

    held.execute(
        "INSERT INTO entity.node (tenant_id, id, created_at, modified_at, graph_name, general_type_name,"
        " specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data)"
        " SELECT tenant_id, %s, now(), now(), graph_name, general_type_name, specific_type_name, agent_bundle_id, name,"
        " status, created_by, owner_user_id, agent_id, data FROM entity.node WHERE tenant_id = %s AND id = %s",
        (second := new_id(), DEFAULT_TENANT_ID, first),
    )
    insert(held, (session, second), newest_below="-infinity")
    await graph.write(node(id=(third := new_id())), edge(session, third))
    held.commit()

    assert too_low(urls) == []
    assert len(await graph.reached(space, edge_types=CHAT, depth_max=2, limit=4, descending=True)) == 4


async def test_a_session_of_any_length_seldom_raises_the_edge_to_it(graph: Graph, urls: Urls):
    """Else each append would rewrite the one edge that leads to its session."""
    space, session = ids = [new_id() for _ in range(2)]
    await graph.write(*[node(id=i, created_at=STARTED_AT) for i in ids], edge(space, session))
    bounds = set()
    for minute in range(600, 660, 3):  # an hour of the first day
        at = STARTED_AT + timedelta(minutes=minute)
        await graph.write(node(id=(child := new_id()), created_at=at), edge(session, child))
        bounds.update(ask(urls, "SELECT newest_below FROM entity.edge WHERE from_node_id = %s", space))

    assert len(bounds) <= 2
    assert too_low(urls) == []


async def test_of_what_is_written_row_by_row_or_together_everything_is_known(graph: Graph, urls: Urls):
    together = [new_id() for _ in range(3)]
    await graph.write(*[node(id=i) for i in together], edge(*together[:2]), edge(*together[1:]))
    one_by_one = [new_id() for _ in range(3)]
    for number, node_id in enumerate(one_by_one):
        await graph.write(node(id=node_id))
        if number:
            await graph.write(edge(one_by_one[number - 1], node_id))
    missing = [new_id() for _ in range(3)]
    rows = [*[node(id=i) for i in missing], edge(*missing[:2]), edge(*missing[1:])]
    await graph.write(*rows, on_existing=pb.ON_EXISTING_SKIP)

    assert unknown(urls, [*together, *one_by_one, *missing]) == 0
    assert too_low(urls) == []


async def test_what_leads_to_a_node_with_many_parents_is_read(graph: Graph, urls: Urls, database: Database):
    """An append below it would have to write as many rows."""
    top, crowd = new_id(), new_id()
    parents = [new_id() for _ in range(70)]
    await graph.write(
        *[node(id=i) for i in (top, crowd, *parents)], *[edge(i, crowd) for i in parents[:60]], edge(top, parents[69])
    )
    for parent in parents[60:]:
        await graph.write(edge(parent, crowd))
        assert too_low(urls) == []
    infinite = "SELECT from_node_id::text FROM entity.edge WHERE newest_below = 'infinity'"
    assert {row[0] for row in ask(urls, infinite)} == set(parents[64:])

    async def newest_is(answer: str) -> None:
        assert too_low(urls) == []
        for start, depth in ((top, 3), (parents[0], 2), (parents[69], 2)):
            newest = await graph.walk(start, edge_types=CHAT, depth_max=depth, limit=1, descending=True)
            assert newest[0].indexed
            assert newest[0].nodes[0].node.id == answer

    await graph.write(node(id=(answer := new_id())), edge(crowd, answer, "InResponseTo"))
    await newest_is(answer)
    forget(urls, [top, *parents[50:]])
    await EdgeSettling(database).once()
    assert unknown(urls, [top, crowd, *parents]) == 0
    await graph.write(node(id=(answer := new_id())), edge(crowd, answer, "InResponseTo"))
    await newest_is(answer)


async def test_what_was_there_before_is_read_and_settled(graph: Graph, urls: Urls, database: Database):
    """Edges of before the migration are not known at first: nothing below them is left out."""
    session, turn, message = ids = [new_id() for _ in range(3)]
    await graph.write(*[node(id=i) for i in ids], edge(session, turn), edge(turn, message))
    forget(urls, ids)
    await graph.write(node(id=(answer := new_id())), edge(message, answer, "InResponseTo"))
    await graph.write(node(id=(space := new_id())), edge(space, session))

    for settled in (False, True):
        newest = await graph.reached(session, edge_types=CHAT, depth_max=3, limit=2, descending=True)
        assert [row.node.id for row in newest] == [answer, message]
        assert too_low(urls) == []
        assert (unknown(urls, [space, *ids, answer]) == 0) is settled
        await agree(graph, space, depth_max=3)
        await EdgeSettling(database).once()


async def test_edges_in_a_ring_that_are_not_known_stay_so_and_are_read(graph: Graph, urls: Urls, database: Database):
    ids = [new_id() for _ in range(3)]
    await graph.write(*[node(id=i) for i in ids])
    for near, far in ((0, 1), (1, 2), (2, 0)):
        await graph.write(edge(ids[near], ids[far]))
    forget(urls, ids)

    await EdgeSettling(database).once()

    assert unknown(urls, ids) == 3
    await graph.write(node(id=(newest := new_id())), edge(ids[2], newest))
    (page,) = await graph.walk(ids[0], edge_types=CHAT, depth_max=3, limit=1, descending=True)
    assert (page.indexed, page.nodes[0].node.id) == (True, newest)


async def test_many_edges_between_nodes_that_are_there_are_settled_later(graph: Graph, urls: Urls, database: Database):
    session, turns = new_id(), [(new_id(), new_id()) for _ in range(300)]
    for first in range(0, 300, 100):
        await graph.write(*[node(id=i) for pair in turns[first : first + 100] for i in pair])
    await graph.write(node("Session", id=session))
    asked = {"edge_types": CHAT, "depth_max": 2, "limit": 8, "descending": True}
    newest = [i for pair in turns for i in pair][::-1][:8]

    await graph.write(*[edge(*pair) for pair in turns])
    await graph.write(*[edge(session, turn) for turn, _ in turns])
    assert unknown(urls, [session, *[i for pair in turns for i in pair]]) == 600
    rows = await graph.reached(session, **asked)
    assert [row.node.id for row in rows] == newest
    await EdgeSettling(database).once()

    assert unknown(urls, [session, *[i for pair in turns for i in pair]]) == 0
    assert too_low(urls) == []
    (page,) = await graph.walk(session, node_budget=300, **asked)
    assert page.indexed
    assert [row.node.id for row in page.nodes] == newest


async def conversation(graph: Graph, turns: int, late: int = 0) -> tuple[str, list[str]]:
    """A session of turns, each a question with its answer below, and late answers under the oldest."""
    session = new_id()
    messages, questions = [], []
    await graph.write(node("Session", id=session))
    for first in range(0, turns, 200):
        rows: list[Any] = []
        for _ in range(first, min(turns, first + 200)):
            turn, question, answer = new_id(), new_id(), new_id()
            rows += [node("Turn", id=turn), node("Message", id=question), node("Message", id=answer)]
            rows += [edge(session, turn), edge(turn, question), edge(question, answer, "InResponseTo")]
            messages += [question, answer]
            questions.append(question)
        await graph.write(*rows)
    answers = [new_id() for _ in range(late)]
    for question, answer in zip(questions, answers, strict=False):
        await graph.write(node("Message", id=answer), edge(question, answer, "InResponseTo"))
    return session, [*messages, *answers]


@pytest.mark.parametrize("late", [0, 5, 60])
async def test_the_newest_of_a_session_are_read_without_the_rest(graph: Graph, late: int):
    session, messages = await conversation(graph, 300, late)
    asked = {"edge_types": CHAT, "depth_max": 3, "node_types": ["Message"], "descending": True}

    # A walk that visits all 900 nodes would be refused.
    newest = await graph.walk(session, limit=8, node_budget=300, **asked)

    assert newest[0].indexed
    assert [row.node.id for message in newest for row in message.nodes] == messages[::-1][:8]
    before = await graph.walk(session, limit=8, node_budget=300, page_token=newest[-1].next_page_token, **asked)
    assert [row.node.id for message in before for row in message.nodes] == messages[::-1][8:16]


async def test_what_a_bound_key_writes_raises_edges_that_it_does_not_see(graph: Graph, bound: Graph, urls: Urls):
    space, other, session = new_id(), new_id(), new_id()
    await graph.write(node(id=space), node(id=other), node(id=session, agent_bundle_id="bundle"))
    await graph.write(edge(space, other), edge(other, session))
    turn, message = new_id(), new_id()

    await bound.write(node(id=turn, agent_bundle_id="bundle"), edge(session, turn))
    await bound.write(node(id=message, agent_bundle_id="bundle"))
    await bound.write(edge(turn, message))

    assert too_low(urls) == []
    assert unknown(urls, [space, other, session, turn, message]) == 0
    (page,) = await graph.walk(other, edge_types=CHAT, depth_max=3, limit=1, descending=True)
    assert (page.indexed, [row.node.id for row in page.nodes]) == (True, [message])
    # And of what it does not see it reads nothing, however new.
    await graph.write(node(id=(hidden := new_id())), edge(turn, hidden))
    (page,) = await bound.walk(session, edge_types=CHAT, depth_max=3, limit=1, descending=True)
    assert [row.node.id for row in page.nodes] == [message]


async def test_nobody_settles_for_another_tenant(graph: Graph, others: Graph, urls: Urls, database: Database):
    rows = {}
    for view in (graph, others):
        near, far = rows[view] = [new_id(), new_id()]
        await view.write(node(id=near), node(id=far), edge(near, far))
    forget(urls, [i for ids in rows.values() for i in ids])

    assert [row.settled for row in await database.untenanted(SETTLE)] == [0]
    assert [row.settled for row in await database.tenant(OTHER_PRINCIPAL.tenant_id).query(SETTLE)] == [1]

    theirs = urls.of(OTHER_PRINCIPAL.tenant_id)
    assert (unknown(urls, rows[graph]), unknown(theirs, rows[others])) == (1, 0)
    await EdgeSettling(database).once()
    assert unknown(urls, rows[graph]) == 0


async def test_a_deep_walk_that_starts_in_a_context_visits(graph: Graph, urls: Urls):
    """What lies between might be outside."""
    session, turn, message = ids = [new_id() for _ in range(3)]
    await graph.write(*[node(id=i) for i in ids], edge(session, turn), edge(turn, message))
    with psycopg.connect(urls.superuser) as connection:
        connection.execute(
            "UPDATE entity.node SET context_id = %s WHERE id = ANY (%s::uuid[])", (new_id(), [session, message])
        )

    (page,) = await graph.walk(session, edge_types=["Contains"], depth_max=2, limit=5, descending=True)

    assert (page.indexed, len(page.nodes)) == (False, 0)


async def test_the_newest_of_a_flat_session_are_found_at_the_first_look(graph: Graph, monkeypatch: pytest.MonkeyPatch):
    session = new_id()
    messages = [new_id() for _ in range(60)]
    await graph.write(node("Session", id=session))
    for message in messages:
        await graph.write(node(id=message), edge(session, message))
    monkeypatch.setattr(traverse, "_LOOKS", traverse._LOOKS[:1])

    (page,) = await graph.walk(session, edge_types=CHAT, depth_max=3, descending=True, limit=20)

    assert page.indexed
    assert [reached.node.id for reached in page.nodes] == messages[:-21:-1]


def test_the_migrations_bound_the_edges_that_walks_take_for_bounded(urls: Urls):
    """A type that only one of them knew would be walked by bounds that nobody keeps, and its newest nodes be missed."""
    defined = ask(
        urls,
        """
        SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.pronamespace = 'entity'::regnamespace
        UNION ALL
        SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'entity.edge'::regclass
        """,
    )
    said = [found for (text,) in defined for found in _TYPES_SAID.findall(text)]
    firsts = [first for (text,) in defined for first in _FIRST_TYPE.findall(text)]
    lasts = [last for (text,) in defined for last in _LAST_TYPE.findall(text)]

    assert len(said) > 5, "and this test still sees where they are said"
    assert {tuple(re.findall("'([^']*)'", types)) for types in said} == {BOUNDED_EDGE_TYPES}
    assert (set(firsts), set(lasts)) == ({min(BOUNDED_EDGE_TYPES)}, {max(BOUNDED_EDGE_TYPES)})
