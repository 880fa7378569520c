"""What changed, in an order in which nothing comes late, for readers that go on from a place."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace

import grpc
import psycopg
import pytest

import entity_service.app
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    ChangesExpired,
    ChangesHeldUp,
    ChangesNotStarted,
    InvalidPageToken,
    NodeNotFound,
    PermissionDenied,
)
from entity_service.model.changes import ChangeQuery
from entity_service.pure.change_places import decode_place, encode_place
from entity_service.rules import list_changes
from entity_service.rules.list_changes import ChangeSweep
from entity_service.store import changes
from service_runtime.inputs.pages import _BINDING_BYTES, encode_token
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, Principal
from tests.conftest import Urls
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import raised, refused
from tests.locks import until_waiting

CHANGED, REMOVED = pb.CHANGE_KIND_CHANGED, pb.CHANGE_KIND_REMOVED
AGE = "UPDATE entity.change SET changed_at = changed_at - interval '8 days' WHERE id = ANY (%s::uuid[])"
COUNT = "SELECT count(*) AS n FROM entity.change"
INSERT_NODE = """
INSERT INTO entity.node (
    tenant_id, id, created_at, modified_at, graph_name, general_type_name, specific_type_name, status, created_by, data,
    agent_bundle_id
)
VALUES (%s, %s, now(), now(), 'default', 'Late', 'Late', 'Created', 'test', '{}', 'mine')
"""


async def started(graph: Graph) -> str:
    place: str = (await graph.StartChanges(pb.StartChangesRequest())).place
    return place


async def page(graph: Graph, place: str, **fields: int) -> pb.ListChangesResponse:
    return await graph.ListChanges(pb.ListChangesRequest(place=place, **fields))


async def told(graph: Graph, place: str, **fields: int) -> tuple[list[tuple[str, int]], str]:
    """All that changed behind a place, as ids with their kinds, and where to go on."""
    found = []
    while True:
        answer = await page(graph, place, **fields)
        found += [(change.node_id or change.edge_id, change.kind) for change in answer.changes]
        place = answer.next_place
        if not answer.has_more:
            return found, place


async def tells(graph: Graph, place: str, expected: list[tuple[str, int]], **fields: int) -> str:
    """Expect these changes behind a place, once nothing else runs in Postgres; return where to go on."""
    give_up_at = time.monotonic() + 60
    while True:
        found, end = await told(graph, place, **fields)
        if found == expected:
            return end
        assert time.monotonic() < give_up_at, (found, expected)
        await asyncio.sleep(0.02)


@asynccontextmanager
async def held_open(urls: Urls, node_id: str) -> AsyncIterator[psycopg.AsyncConnection[tuple[object, ...]]]:
    """A transaction that has written a node, and commits at the end of the block."""
    async with await psycopg.AsyncConnection.connect(urls.service) as connection:
        await connection.execute("SELECT set_config('app.tenant', %s, true)", (str(DEFAULT_TENANT_ID),))
        await connection.execute(INSERT_NODE, (DEFAULT_TENANT_ID, node_id))
        yield connection


async def test_each_way_to_write_is_told(graph: Graph):
    place = await started(graph)
    a, b, c = new_id(), new_id(), new_id()

    await graph.CreateNode(pb.CreateNodeRequest(node=node("Customer", specific_type_name="Big", id=a)))
    await graph.write(node(id=b), edge(a, b, "Owns", id=c))
    place = await tells(graph, place, [(a, CHANGED), (b, CHANGED), (c, CHANGED)])

    for rpc, request in (
        ("UpdateNodeData", pb.UpdateNodeDataRequest(node_id=a, data_json='{"x": 1}')),
        ("UpdateNodeStatus", pb.UpdateNodeStatusRequest(node_id=a, status="Running")),
        ("ArchiveNode", pb.ArchiveNodeRequest(node_id=a)),
        ("ArchiveNode", pb.ArchiveNodeRequest(node_id=a, restore=True)),
        ("ResetNode", pb.ResetNodeRequest(node_id=a)),
        ("SetNodeIO", pb.SetNodeIORequest(node_id=a, input_json="1")),
        ("SetNodeIO", pb.SetNodeIORequest(node_id=a, input_json="2", output_json="3")),
        ("ResetNode", pb.ResetNodeRequest(node_id=a)),
    ):
        await getattr(graph, rpc)(request)
        place = await tells(graph, place, [(a, CHANGED)])
    await graph.UpdateEdgeData(pb.UpdateEdgeDataRequest(edge_id=c, data_json='{"x": 1}'))
    place = await tells(graph, place, [(c, CHANGED)])

    skipped = [node(id=b), node(id=(d := new_id())), edge(b, d, id=(e := new_id()))]
    await graph.write(*skipped, on_existing=pb.ON_EXISTING_SKIP)
    place = await tells(graph, place, [(d, CHANGED), (e, CHANGED)])


async def test_what_is_not_a_change_is_not_told(graph: Graph):
    a = (await graph.write(node())).nodes[0].id
    place = await started(graph)

    await graph.AppendProgress(pb.AppendProgressRequest(node_id=a, type=pb.ENVELOPE_TYPE_MESSAGE, message="hi"))
    await graph.UpsertEmbedding(pb.UpsertEmbeddingRequest(node_id=a, vector=[1.0]))
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=a, restore=True))
    async with refused(NodeNotFound):
        await graph.write(node(), edge(a, new_id()))

    assert (await told(graph, place))[0] == []


async def test_what_is_removed_is_told_with_its_edges(graph: Graph):
    a, b = new_id(), new_id()
    ids = [
        row.id for row in (await graph.write(node("Customer", id=a), node(id=b), edge(a, b), edge(b, a, "Owns"))).edges
    ]
    place = await started(graph)

    await graph.DeleteEdge(pb.DeleteEdgeRequest(edge_id=ids[0]))
    await graph.DeleteNode(pb.DeleteNodeRequest(node_id=a))

    await tells(graph, place, [(ids[0], REMOVED), (ids[1], REMOVED), (a, REMOVED)])
    answer = await page(graph, place)
    assert [(row.edge_id, row.node_id, row.kind) for row in answer.changes] == [
        (ids[0], "", REMOVED),
        (ids[1], "", REMOVED),
        ("", a, REMOVED),
    ]
    first, last = answer.changes[0], answer.changes[-1]
    assert (first.edge_type, first.from_node_id, first.to_node_id, first.general_type_name) == ("Contains", a, b, "")
    assert (last.general_type_name, last.specific_type_name, last.edge_type) == ("Customer", "Customer", "")
    assert (last.graph_name, last.changed_at.seconds > 0) == ("default", True)


async def test_an_import_is_told_with_what_it_archives(graph: Graph):
    place = await started(graph)
    a, b = new_id(), new_id()
    lines = [
        {"node": {"id": a, "general_type_name": "Customer", "is_archived": True}},
        {"node": {"id": b, "general_type_name": "Customer"}},
        {"output": {"node_id": b, "value": 1}},
        {"edge": {"id": (c := new_id()), "from_node_id": a, "to_node_id": b, "edge_type": "Owns"}},
    ]

    async def messages() -> AsyncIterator[pb.ImportGraphRequest]:
        yield pb.ImportGraphRequest(header=pb.ImportHeader())
        yield pb.ImportGraphRequest(lines="\n".join(map(json.dumps, lines)).encode())

    await graph.ImportGraph(messages())

    await tells(graph, place, [(c, CHANGED), (a, CHANGED), (b, CHANGED)])


async def test_several_changes_of_one_count_once_and_the_last_says_what_it_is(graph: Graph):
    place = await started(graph)
    a, b = new_id(), new_id()
    await graph.write(node(id=a), node(id=b))
    await graph.UpdateNodeData(pb.UpdateNodeDataRequest(node_id=a, data_json="{}", update=pb.DATA_UPDATE_REPLACE))
    await graph.DeleteNode(pb.DeleteNodeRequest(node_id=a))

    await tells(graph, place, [(b, CHANGED), (a, REMOVED)])

    await graph.write(node(id=a))
    await tells(graph, place, [(b, CHANGED), (a, CHANGED)])


@pytest.mark.parametrize("page_size", [1, 2, 3, 100])
async def test_pages_of_any_size_lead_to_the_same_end(graph: Graph, page_size: int):
    place = await started(graph)
    ids = [new_id() for _ in range(5)]
    await graph.write(*[node(id=one) for one in ids[:3]])
    await graph.write(*[node(id=one) for one in ids[3:]])

    end = await tells(graph, place, [(one, CHANGED) for one in ids], page_size=page_size)
    assert (await told(graph, end, page_size=page_size))[0] == []


async def test_what_commits_late_is_not_missed(graph: Graph, urls: Urls):
    """The transaction that began first ends last: nothing behind it is told before it."""
    place = await started(graph)
    late, early = new_id(), new_id()
    async with held_open(urls, late) as connection:
        await graph.write(node(id=early))
        found, place = await told(graph, place)
        assert found == []
        await connection.commit()

    await tells(graph, place, [(late, CHANGED), (early, CHANGED)])


async def test_what_is_undone_is_not_told_and_holds_nothing_up(graph: Graph, urls: Urls):
    place = await started(graph)
    async with held_open(urls, new_id()) as connection:
        await graph.write(node(id=(early := new_id())))
        await connection.rollback()

    await tells(graph, place, [(early, CHANGED)])


async def test_a_reader_beside_many_writers_is_told_of_everything(graph: Graph, urls: Urls):
    place = await started(graph)
    ids = [new_id() for _ in range(40)]
    seen: list[str] = []

    async def late(node_id: str) -> None:
        async with held_open(urls, node_id) as connection:
            await asyncio.sleep(random.random() / 20)
            await connection.commit()

    async def write_all() -> None:
        for some in range(0, len(ids), 8):
            four, others = ids[some : some + 4], ids[some + 4 : some + 8]
            await asyncio.gather(*map(late, four), *(graph.write(node(id=one)) for one in others))

    writing = asyncio.create_task(write_all())
    while not writing.done():
        found, place = await told(graph, place, page_size=3)
        seen += [one for one, _ in found]
    await writing
    await asyncio.sleep(0.1)
    found, place = await told(graph, place)
    seen += [one for one, _ in found]

    assert sorted(seen) == sorted(ids)  # each of them once


async def test_without_a_feed_writes_keep_nothing(graph: Graph, others: Graph, database: Database):
    await started(others)
    a = (await graph.write(node(), node())).nodes[0].id
    await graph.DeleteNode(pb.DeleteNodeRequest(node_id=a))

    feed = SimpleNamespace(place_key=bytes(32), origin="")
    for place in ("", encode_place(DEFAULT_TENANT_ID, feed, "3", 0)):
        async with refused(ChangesNotStarted):
            await page(graph, place)
    assert (await database.tenant(DEFAULT_TENANT_ID).query(COUNT))[0].n == 0


async def test_starting_waits_for_who_began_to_write_before(graph: Graph, urls: Urls):
    """It did not see the feed, and so tells nothing: it must be there to be read when the place is given."""
    early = new_id()
    async with held_open(urls, early) as connection:
        starting = asyncio.create_task(started(graph))
        await asyncio.sleep(0.2)
        assert not starting.done()
        async with refused(ChangesNotStarted):
            await page(graph, "")
        await connection.commit()
        place = await starting

    assert (await graph.get(early)).id == early
    assert (await told(graph, place))[0] == []


async def test_starting_gives_up_and_is_begun_again(graph: Graph, urls: Urls, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(list_changes, "_SETTLE_S", 0.1)
    async with held_open(urls, new_id()) as connection:
        with pytest.raises(grpc.RpcError) as failure:
            await started(graph)
        error = raised(failure.value)
        assert type(error) is ChangesHeldUp
        assert float(error.metadata["oldest_transaction_s"]) > 0
        assert "the oldest one, of any tenant or database of this Postgres cluster, has been open for 0 s" in str(error)
        async with refused(ChangesNotStarted):
            await page(graph, "")
        await graph.write(node())  # during it
        await connection.commit()

    place = await started(graph)
    await graph.write(node(id=(after := new_id())))
    await tells(graph, place, [(after, CHANGED)])  # not what was written during it, which was there to be read


async def test_a_repeat_of_the_start_begins_where_it_is(graph: Graph):
    first = await started(graph)
    a = (await graph.write(node())).nodes[0].id
    await tells(graph, first, [(a, CHANGED)])  # nothing else runs in Postgres that a start would have to wait for
    again = await started(graph)
    here = (await page(graph, "")).next_place
    b = (await graph.write(node())).nodes[0].id

    await tells(graph, first, [(a, CHANGED), (b, CHANGED)])
    await tells(graph, again, [(b, CHANGED)])
    await tells(graph, here, [(b, CHANGED)])


async def test_another_tenant_is_told_nothing_of_it(graph: Graph, others: Graph):
    place, theirs = await started(graph), await started(others)
    await graph.write(node())

    assert (await told(others, theirs))[0] == []
    async with refused(InvalidPageToken, violations=["place"]):
        await page(others, place)


async def test_a_bound_reader_is_told_of_what_it_sees(graph: Graph, database: Database):
    place = await started(graph)
    a, b, c, g = new_id(), new_id(), new_id(), new_id()
    mine, across = new_id(), new_id()
    await graph.write(
        *(node(id=one, agent_bundle_id="mine") for one in (a, b)),
        node(id=c, agent_bundle_id="theirs"),
        node(id=g, agent_bundle_id="mine", graph_name="g"),
        edge(a, b, id=mine),
        edge(a, c, id=across),
    )
    await tells(graph, place, [(one, CHANGED) for one in (a, b, c, g, mine, across)])
    feed = list_changes.ChangeFeed(database)

    async def seen(**bounds: object) -> set[str]:
        reader = Principal(tenant_id=DEFAULT_TENANT_ID, subject="reader", **bounds)
        answer = await feed.page(reader, ChangeQuery(place, 100))
        return {change.id for change in answer.changes}

    assert await seen(agent_bundle_id="mine") == {a, b, g, mine}
    assert await seen(agent_bundle_id="theirs") == {c}
    assert await seen(graph_names=frozenset({"g"})) == {g}
    assert await seen(graph_names=frozenset({"default"}), agent_bundle_id="mine") == {a, b, mine}
    assert await seen(graph_names=frozenset({"none"})) == set()
    place = (await page(graph, "")).next_place

    await graph.DeleteNode(pb.DeleteNodeRequest(node_id=a))
    await tells(graph, place, [(mine, REMOVED), (across, REMOVED), (a, REMOVED)])
    assert await seen(agent_bundle_id="mine") == {a, mine}
    assert await seen(agent_bundle_id="theirs") == set()
    assert await seen(graph_names=frozenset({"default"})) == {a, mine, across}


async def test_a_bound_key_tells_of_what_it_writes_and_starts_nothing(graph: Graph, database: Database):
    feed = list_changes.ChangeFeed(database)
    bound = Principal(tenant_id=DEFAULT_TENANT_ID, subject="bound", agent_bundle_id="mine")
    with pytest.raises(PermissionDenied):
        await feed.start(bound)
    place = await started(graph)
    assert await feed.start(bound)

    tenant = database.of(bound)
    await tenant.query(INSERT_NODE, (DEFAULT_TENANT_ID, mine := new_id()))
    await tenant.query("DELETE FROM entity.node WHERE id = %s", (mine,))

    await tells(graph, place, [(mine, REMOVED)])


async def test_an_edge_that_its_remover_does_not_see_is_told_to_who_saw_it(graph: Graph, database: Database):
    """It goes with its node, by the foreign key: no key of a bundle is told then, and others are."""
    a, b, c = new_id(), new_id(), new_id()
    await graph.write(node(id=a, agent_bundle_id="mine"), node(id=b, agent_bundle_id="theirs"), edge(a, b, id=c))
    place = await started(graph)

    bound = Principal(tenant_id=DEFAULT_TENANT_ID, subject="bound", agent_bundle_id="mine")
    await database.of(bound).query("DELETE FROM entity.node WHERE id = %s", (a,))

    await tells(graph, place, [(a, REMOVED), (c, REMOVED)])
    answer = await list_changes.ChangeFeed(database).page(bound, ChangeQuery(place, 100))
    assert [change.id for change in answer.changes] == [a]


async def test_a_place_outlives_the_service(graph: Graph, entity_settings, callers, others: Graph):
    place = await started(graph)
    await graph.write(node(id=(a := new_id())))

    async with entity_service.app.running(entity_settings, callers=callers):
        await graph.write(node(id=(b := new_id())))
    await tells(graph, place, [(a, CHANGED), (b, CHANGED)])


async def feed_of(graph: Graph, database: Database) -> Row:
    """Return the key of a feed, and where it was started."""
    await started(graph)
    statement = "SELECT f.place_key, f.origin FROM entity.change_feed f WHERE f.tenant_id = %s"
    (feed,) = await database.tenant(graph.tenant_id).query(statement, (graph.tenant_id,))
    return feed


async def place_of(graph: Graph, database: Database, transaction_id: int, seq: int) -> str:
    """A place that nobody was given, of this database."""
    return encode_place(graph.tenant_id, await feed_of(graph, database), str(transaction_id), seq)


async def test_a_place_shows_no_number(graph: Graph, database: Database):
    """The id of a transaction counts what all tenants write. Two places of the same moment have nothing in common."""
    places = [await started(graph) for _ in range(2)]
    shown = [base64.urlsafe_b64decode(place + "=" * (-len(place) % 4))[_BINDING_BYTES:] for place in places]
    hidden = [bytes.fromhex(json.loads(data)[0]) for data in shown]
    assert sum(one == other for one, other in zip(*hidden, strict=True)) < 8
    feed = await feed_of(graph, database)
    numbers = [str(decode_place(graph.tenant_id, feed.place_key, place)["after_transaction_id"]) for place in places]
    assert all(number.encode() not in data for number, data in zip(numbers, shown, strict=True))


async def test_what_is_too_old_is_forgotten_and_says_so(graph: Graph, others: Graph, database: Database, urls: Urls):
    place = await started(graph)
    await graph.write(node(id=(a := new_id())), node(id=(b := new_id())))
    await tells(graph, place, [(a, CHANGED), (b, CHANGED)])
    middle = (await page(graph, place, page_size=1)).next_place
    await graph.write(node(id=(c := new_id())))
    await tells(graph, place, [(a, CHANGED), (b, CHANGED), (c, CHANGED)])
    theirs = await started(others)
    await others.write(node(id=(d := new_id())))
    await tells(others, theirs, [(d, CHANGED)])
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(AGE, ([a, b],))
    sweep = ChangeSweep(database, kept=timedelta(days=7), kept_max=1000)

    await sweep.once()
    await sweep.once()

    for gone in (place, middle):
        async with refused(ChangesExpired):
            await page(graph, gone)
    (first,) = [row async for row in kept(database)]
    assert first == c
    await tells(others, theirs, [(d, CHANGED)])
    place = (await page(graph, "")).next_place
    await graph.write(node(id=(d := new_id())))
    await tells(graph, place, [(d, CHANGED)])


async def kept(database: Database) -> AsyncIterator[str]:
    rows = await database.tenant(DEFAULT_TENANT_ID).query("SELECT id::text AS id FROM entity.change ORDER BY seq")
    for row in rows:
        yield row.id


async def test_what_is_too_much_is_forgotten_from_the_oldest_on(
    graph: Graph, database: Database, monkeypatch: pytest.MonkeyPatch
):
    for module in (changes, list_changes):
        monkeypatch.setattr(module, "SWEPT_ROWS", 3)  # several statements
    place = await started(graph)
    ids = [new_id() for _ in range(10)]
    await graph.write(*[node(id=one) for one in ids])
    await tells(graph, place, [(one, CHANGED) for one in ids])
    behind = (await page(graph, place, page_size=8)).next_place

    await ChangeSweep(database, kept=timedelta(days=7), kept_max=2).once()

    assert [row async for row in kept(database)] == ids[8:]
    await tells(graph, behind, [(one, CHANGED) for one in ids[8:]])
    async with refused(ChangesExpired):
        await page(graph, place)


async def test_what_may_still_be_joined_by_a_late_commit_is_not_forgotten(graph: Graph, urls: Urls, database: Database):
    await started(graph)
    async with held_open(urls, late := new_id()) as connection:
        await graph.write(node(id=(a := new_id())), node(id=(b := new_id())))
        await ChangeSweep(database, kept=timedelta(0), kept_max=0).once()
        place = (await page(graph, "")).next_place
        await connection.commit()

    await tells(graph, place, [(late, CHANGED), (a, CHANGED), (b, CHANGED)])


@pytest.mark.parametrize("of", ["origin = 'elsewhere'", "started_below = '999999999'"])
async def test_a_feed_that_was_restored_starts_again_by_itself(graph: Graph, urls: Urls, database: Database, of: str):
    """Its order means nothing in another cluster: the changes that came with it go, and its places are expired."""
    place = await started(graph)
    await graph.write(*[node() for _ in range(5)])
    assert len((await page(graph, place)).changes) == 5
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(f"UPDATE entity.change_feed SET {of}, forgotten_transaction_id = '999999999'")
        connection.execute("UPDATE entity.change SET transaction_id = '888888888'")

    async with refused(ChangesExpired):
        await page(graph, place)
    assert (await database.tenant(DEFAULT_TENANT_ID).query(COUNT))[0].n == 0
    again = (await settled(graph)).next_place
    await graph.write(node(id=(a := new_id())))
    await tells(graph, again, [(a, CHANGED)])
    await tells(graph, await started(graph), [])


async def settled(graph: Graph) -> pb.ListChangesResponse:
    """Ask for a place until nothing runs any more that began before the feed did: in the whole cluster."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await page(graph, "")
            except grpc.aio.AioRpcError as error:
                assert "open" in str(error.details()), error
            await asyncio.sleep(0.02)


async def test_a_place_of_another_database_is_expired(graph: Graph, database: Database):
    place, feed = await started(graph), await feed_of(graph, database)
    transaction_id = int(str(decode_place(graph.tenant_id, feed.place_key, place)["after_transaction_id"]))
    seq = 0
    elsewhere = SimpleNamespace(place_key=feed.place_key, origin="elsewhere")
    others = encode_place(graph.tenant_id, elsewhere, str(transaction_id), seq)
    async with refused(ChangesExpired):
        await page(graph, others)
    async with refused(ChangesExpired):
        await page(graph, await place_of(graph, database, transaction_id + 10**6, seq))
    assert not (await page(graph, place)).changes


async def test_two_sweeps_at_once_start_a_restored_feed_again(
    graph: Graph, urls: Urls, database: Database, monkeypatch
):
    """The first has deleted rows that the second, which waits for the feed, has in its snapshot: others are left."""
    for module in (changes, list_changes):
        monkeypatch.setattr(module, "SWEPT_ROWS", 3)  # several statements
    await started(graph)
    await graph.write(*[node() for _ in range(10)])
    sweep = ChangeSweep(database, kept=timedelta(days=7), kept_max=1000)
    async with await psycopg.AsyncConnection.connect(urls.superuser, autocommit=True) as first:
        await first.execute("UPDATE entity.change_feed SET origin = 'elsewhere'")
        async with first.transaction():
            await first.execute(str(changes.SQL["forget"]), {"tenant_id": DEFAULT_TENANT_ID, "rows": 3})
            second = asyncio.create_task(sweep.once())
            await until_waiting(urls.superuser, 1)
    await second
    assert (await database.tenant(DEFAULT_TENANT_ID).query(COUNT))[0].n == 0
    await settled(graph)


@pytest.mark.parametrize("place", ["x", "\n", "é", "A" * 5000])
async def test_a_malformed_place_is_refused(graph: Graph, place: str):
    async with refused(InvalidPageToken, violations=["place"]):
        await page(graph, place)


@pytest.mark.parametrize(
    "key", [[-1, 0], [2**63, 0], [1.5, 0], ["1", 0], [1, None], [True, 0], [1, 2**63], [1, 2, 3], [1, 2, "x y"]]
)
async def test_a_made_up_place_is_refused(graph: Graph, key: list[object]):
    async with refused(InvalidPageToken, violations=["place"]):
        await page(graph, encode_token(("ListChanges", graph.tenant_id), key))


async def test_a_page_is_read_off_the_key(graph: Graph, database: Database):
    """Whatever was kept before and behind it: row-level security leaves the index usable."""
    await started(graph)
    tenant = database.tenant(DEFAULT_TENANT_ID)
    after = {"after_transaction_id": "5", "after_seq": 0, "origin": ""}
    parameters = {"tenant_id": DEFAULT_TENANT_ID, "rows": 100, **after}
    await graph.write(*[node() for _ in range(2000)])
    plan = "\n".join(row[0] for row in await tenant.query("EXPLAIN " + changes.PAGE, parameters))
    assert "Index Scan using change_pkey" in plan
    assert "Sort Key: c" not in plan.split("->", 2)[-1]
