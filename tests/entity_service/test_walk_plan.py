"""How Postgres reads the edges of a node, for a level or a list: off an index, whatever it knows of the table.

With no statistics it once read all edges of a tenant for each node, and with those of one large session too: a walk of
two levels over 40,000 messages took minutes.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from entity_service.store.nodes import _EDGES
from entity_service.store.progress import _LIST
from entity_service.store.walks import LEVEL, newest
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import Urls
from tests.entity_service.graph import Graph, edge, new_id, node


def know(connection: psycopg.Connection, *, analyzed: bool) -> None:
    """Let Postgres know the tables as they are, or nothing of them."""
    if analyzed:
        connection.execute("ANALYZE entity.edge")
        connection.execute("ANALYZE entity.node")
    else:
        tables = "('entity.edge'::regclass, 'entity.node'::regclass)"
        connection.execute(f"DELETE FROM pg_statistic WHERE starelid IN {tables}")
        connection.execute(f"UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid IN {tables}")


def generic_plan(connection: psycopg.Connection, sql: str, parameters: dict[str, Any]) -> str:
    """Return the plan of a statement for all values, as the service has it planned."""
    numbered = {name: f"${number}" for number, name in enumerate(parameters, 1)}
    given = ", ".join(f"%({name})s" for name in parameters)
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute("PREPARE asked AS " + re.sub(r"%\((\w+)\)s", lambda found: numbered[found[1]], sql))
    return "\n".join(row[0] for row in connection.execute(f"EXPLAIN (COSTS OFF) EXECUTE asked ({given})", parameters))


def twenty_newest(start_id: str, *, parents: int) -> dict[str, Any]:
    """Return the parameters of the first look for the newest 20 below a node."""
    return {
        "tenant_id": DEFAULT_TENANT_ID,
        "start_id": start_id,
        "edge_types": ["Contains", "InResponseTo"],
        "depth_max": 3,
        "after_at": "infinity",
        "after_seq": 0,
        "parents": parents,
        "rows": 21,
        "node_types": [],
        "all_node_types": True,
        "include_archived": False,
        "include_start": False,
        "limit": 20,
        "node_budget": 100_000,
        "bytes_max": 1_000_000,
        "row_bytes": 400,
    }


@pytest.mark.parametrize("edge_types", [["Contains", "InResponseTo"], ["Contains"], []], ids=str)
@pytest.mark.parametrize(("outward", "index"), [(True, "edge_children"), (False, "edge_ends")], ids=["out", "in"])
@pytest.mark.parametrize("analyzed", [False, True], ids=["no statistics", "statistics of one session"])
async def test_a_level_reads_the_edges_of_its_nodes_and_no_others(
    graph: Graph, urls: Urls, edge_types: list[str], outward: bool, index: str, analyzed: bool
):
    session = new_id()
    children = [new_id() for _ in range(900)]
    await graph.write(node("Session", id=session), *[node(id=i) for i in children])
    await graph.write(*[edge(session, i) for i in children])
    parameters = {
        "tenant_id": DEFAULT_TENANT_ID,
        "near_ids": children,
        "edge_types": edge_types,
        "all_edge_types": not edge_types,
        "node_types": [],
        "all_node_types": True,
        "include_archived": False,
        "order_path": None,
        "outward": outward,
        "inward": not outward,
        "context_id": None,
        "rows": 100_001,
    }
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        know(connection, analyzed=analyzed)
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN (COSTS OFF) {LEVEL}", parameters))

    assert f"Index Scan using {index} on edge" in plan or f"Index Only Scan using {index} on edge" in plan, plan

    assert "Seq Scan on edge" not in plan, plan
    assert "using edge_type on" not in plan, plan


@pytest.mark.parametrize("analyzed", [False, True], ids=["no statistics", "statistics of one caller"])
async def test_a_timeline_reads_the_calls_of_its_nodes_and_no_others(graph: Graph, urls: Urls, analyzed: bool):
    caller = new_id()
    called = [new_id() for _ in range(900)]
    await graph.write(node("Run", id=caller), *[node(id=i) for i in called])
    await graph.write(*[edge(caller, i, "Calls") for i in called])
    parameters = {
        "tenant_id": DEFAULT_TENANT_ID,
        "node_id": caller,
        "own_only": False,
        "nodes_max": 10_000,
        "after_seq": 0,
        "all_types": True,
        "types": [],
        "rows": 100,
        "bytes_max": 1_000_000,
    }
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        know(connection, analyzed=analyzed)
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN (COSTS OFF) {_LIST}", parameters))

    assert "using edge_children on edge" in plan, plan
    assert "Seq Scan on edge" not in plan, plan


@pytest.mark.parametrize("analyzed", [False, True], ids=["no statistics", "statistics of one session"])
async def test_a_list_reads_the_edges_of_its_node_and_no_others(graph: Graph, urls: Urls, analyzed: bool):
    """Planned as the service has it planned: once for all values, so for both directions and any types."""
    session = new_id()
    children = [new_id() for _ in range(900)]
    await graph.write(node("Session", id=session), *[node(id=i) for i in children])
    await graph.write(*[edge(session, i) for i in children])
    parameters = {
        "tenant_id": DEFAULT_TENANT_ID,
        "node_id": children[0],
        "outward": True,
        "inward": True,
        "edge_types": [],
        "all_edge_types": True,
        "after_at": "-infinity",
        "after_id": "00000000-0000-0000-0000-000000000000",
        "rows": 101,
        "bytes_max": 1_000_000,
    }
    with psycopg.connect(urls.superuser, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        know(connection, analyzed=analyzed)
        plan = generic_plan(connection, _EDGES, parameters)

    assert re.search(r"(using|Scan on) edge_children\b", plan), plan
    assert re.search(r"(using|Scan on) edge_ends\b", plan), plan
    assert "Seq Scan on edge" not in plan, plan
    assert not re.search(r"(using|Scan on) edge_type\b", plan), plan


@pytest.mark.parametrize("analyzed", [False, True], ids=["no statistics", "statistics of one session"])
async def test_the_newest_are_read_from_the_ends_of_two_indexes(graph: Graph, urls: Urls, analyzed: bool):
    session = new_id()
    turns = [new_id() for _ in range(450)]
    messages = [new_id() for _ in range(450)]
    await graph.write(
        node("Session", id=session), *[node("Turn", id=i) for i in turns], *[node(id=i) for i in messages]
    )
    await graph.write(*[edge(session, i) for i in turns])
    await graph.write(*[edge(turn, i) for turn, i in zip(turns, messages, strict=True)])
    parameters = twenty_newest(session, parents=40)
    with psycopg.connect(urls.superuser, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        know(connection, analyzed=analyzed)
        plan = generic_plan(connection, newest(columns=(), with_io=False), parameters)

    assert plan.count("using edge_children on edge") == 2, plan
    assert plan.count("using edge_newest_below on edge") == 2, plan
    assert plan.count("using edge_unknown on edge") == 2, plan
    assert "Seq Scan on edge" not in plan, plan
    assert "Sort Key: e" not in plan, plan


async def test_the_newest_cost_the_same_however_many_edges_there_are(graph: Graph, urls: Urls):
    """Also where there are edges of one type only: those of the other are not looked for among them."""
    session, turn = new_id(), new_id()
    await graph.write(node("Session", id=session), node("Turn", id=turn))
    await graph.write(edge(session, turn))
    parameters = twenty_newest(session, parents=328)
    pages = []
    with psycopg.connect(urls.superuser, cursor_factory=psycopg.ClientCursor) as connection:
        if connection.info.server_version < 180_000:
            pytest.skip("older ones look through the index of all edges for a type that there is none of: 50 ns each")
        connection.execute("SET session_replication_role = replica")  # neither triggers nor foreign keys
        for count in (1000, 20_000):
            connection.execute(
                "INSERT INTO entity.node (tenant_id, id, created_at, modified_at, graph_name, general_type_name,"
                " specific_type_name, status, created_by, data, seq)"
                " SELECT tenant_id, uuidv7(), created_at + n * interval '1 ms', modified_at, graph_name, 'Turn',"
                " 'Turn', status, created_by, data, seq + n FROM entity.node, generate_series(1, %s) n WHERE id = %s",
                (count, turn),
            )
            connection.execute(
                "INSERT INTO entity.edge (tenant_id, id, from_node_id, to_node_id, created_at, child_created_at,"
                " child_seq, graph_name, edge_type, data, newest_below)"
                " SELECT tenant_id, uuidv7(), %s, id, created_at, created_at, seq, graph_name, 'Contains', '{}',"
                " '-infinity' FROM entity.node n WHERE general_type_name = 'Turn'"
                " AND NOT EXISTS (SELECT FROM entity.edge e WHERE e.to_node_id = n.id)",
                (session,),
            )
            explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + newest(columns=(), with_io=False)
            (((plan,),),) = connection.execute(explain, parameters)
            pages.append(plan["Plan"]["Shared Hit Blocks"])
        connection.rollback()

    assert pages[1] < pages[0] + 30, pages


@pytest.mark.parametrize("analyzed", [False, True], ids=["no statistics", "statistics of one session"])
async def test_an_append_reads_the_edges_above_it_and_no_others(graph: Graph, urls: Urls, analyzed: bool):
    session = new_id()
    children = [new_id() for _ in range(900)]
    await graph.write(node("Session", id=session), *[node(id=i) for i in children])
    await graph.write(*[edge(session, i) for i in children])
    above = "SELECT e.id FROM unnest(%s::uuid[]) AS w (id) CROSS JOIN LATERAL entity.edges_into(%s, w.id) e"
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        know(connection, analyzed=analyzed)
        plan = "\n".join(
            row[0] for row in connection.execute(f"EXPLAIN (COSTS OFF) {above}", (children[:3], DEFAULT_TENANT_ID))
        )

    assert "Index Scan using edge_ends on edge" in plan, plan
    assert "Function Scan on edges_into" not in plan, plan
