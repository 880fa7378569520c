"""A tenant is moved while it is used: all of it, whole, and owned by one database at every moment."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from contextkeep.context.v1 import erasures_pb2 as erasures
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from contextkeep.errors import Unavailable
from service_runtime.auth.keys import NoSuchTenant
from service_runtime.databases import moving
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.databases.moving import CannotMove, MoveProgress, TenantMove
from service_runtime.postgres import HOME, Database
from tests.clients.stack import running_in_a_thread
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.hostile.calling import AnyTenant, Client
from tests.hostile.tables import relations
from tests.hostile.test_row_level_security import ROWS
from tests.hostile.things import RPCS, seeded
from tests.spread import EAST, Two, two_databases

OURS, THEIRS = PRINCIPAL.tenant_id, OTHER_PRINCIPAL.tenant_id
WRITE = (
    "INSERT INTO context.request (tenant_id, request_id, rpc, fingerprint, answer)"
    " VALUES (%s, gen_random_uuid(), %s, '', '1')"
)
STEPS = ["arriving", "copying", "copied", "catching up", "leaving", "drained", "whole", "gone", "listed", "here"]


class Killed(BaseException):
    """The process that moves is gone."""


@pytest.fixture
def two(postgres: EmbeddedPostgres) -> Iterator[Two]:
    with two_databases(postgres) as made:
        yield made


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "PAGE_ROWS", 50)
    monkeypatch.setattr(moving, "FEW_ROWS", 200)


def contents(urls: Urls, tenant_id: uuid.UUID) -> dict[str, list[str]]:
    """All that a tenant has in a database, by table."""
    found = {}
    with psycopg.connect(urls.superuser) as connection:
        connection.execute("SET TimeZone TO UTC")
        for table, has_tenant in relations(urls.superuser).items():
            if not has_tenant or table in ("access.residence", "access.move", "access.api_key", "access.context_key"):
                continue
            rows = connection.execute(
                sql.SQL("SELECT t::text FROM {} t WHERE tenant_id = %s ORDER BY 1").format(
                    sql.Identifier(*table.split("."))
                ),
                (tenant_id,),
            )
            if texts := [text for (text,) in rows]:
                found[table] = texts
    return found


def serving(two: Two, tenant_id: uuid.UUID) -> list[str]:
    """The databases that let a tenant in, to write."""
    found = []
    for name, urls in (("home", two.home), ("east", two.east)):
        with psycopg.connect(urls.service) as connection:
            try:
                connection.execute("SELECT access.enter(%s)", (tenant_id,))
            except psycopg.DatabaseError as error:
                assert error.sqlstate == "CK001"
                continue
            (read_only,) = connection.execute("SHOW transaction_read_only").fetchone()
            found += [name] if read_only == "off" else []
    return found


def filled(two: Two, folder: Path) -> None:
    """Give our tenant a row in every table."""
    with (
        running_in_a_thread(two.home.service, folder, callers=AnyTenant(), database_urls=two.urls) as addresses,
        Client.open(addresses) as client,
    ):
        seeded(client, OURS)
    with psycopg.connect(two.home.admin, autocommit=True) as connection:
        for table, (columns, values) in ROWS.items():
            connection.execute(f"INSERT INTO {table} (tenant_id, {columns}) VALUES (%s, {values})".encode(), (OURS,))


def test_all_that_a_tenant_has_moves_and_comes_back(two: Two, tmp_path: Path):
    """Through both services' tables; then it is served from there, and the old rows go."""
    filled(two, tmp_path)
    before, others = contents(two.home, OURS), contents(two.east, THEIRS)
    assert len(before) > 50
    mover = TenantMove(two.databases)

    counted = mover.run("default", EAST, dry_run=True)
    assert counted.rows_there["entity.node"] == len(before["entity.node"])
    assert serving(two, OURS) == ["home"]

    moved = mover.run("default", EAST)

    assert contents(two.east, OURS) == before
    assert serving(two, OURS) == ["east"]
    assert moved.rows >= sum(len(rows) for name, rows in before.items() if not name.endswith("_of_tenant"))
    assert mover.run("default", EAST).step == "lives there"
    assert mover.remove_old_rows(grace_s=3600) == 0
    with (
        running_in_a_thread(two.home.service, tmp_path, callers=AnyTenant(), database_urls=two.urls) as addresses,
        Client.open(addresses) as client,
    ):
        node = graph.NodeInput(general_type_name="Session")
        assert client.call(RPCS["CreateNode"], graph.CreateNodeRequest(node=node), key=OURS).ok
    with psycopg.connect(two.east.superuser) as connection:
        ranks = connection.execute(
            "SELECT rank() OVER (ORDER BY seq DESC) FROM entity.node WHERE tenant_id = %s"
            " ORDER BY created_at DESC LIMIT 1",
            (OURS,),
        ).fetchone()
    assert ranks == (1,), "a new row has a higher number than those that came"

    after = contents(two.east, OURS)
    mover.run("default", HOME)
    assert contents(two.home, OURS) == after
    assert serving(two, OURS) == ["home"]
    assert mover.remove_old_rows(grace_s=0) > 0
    assert contents(two.east, OURS) == {}
    assert contents(two.east, THEIRS) == others


def test_an_erasure_says_which_old_copies_it_does_not_reach(two: Two, tmp_path: Path):
    """Until `tenants clean` has run: the old database keeps rows that were erased since the move."""
    subject = "someone"
    with (
        running_in_a_thread(two.home.service, tmp_path, callers=AnyTenant(), database_urls=two.urls) as addresses,
        Client.open(addresses) as client,
    ):

        def answer(name: str, **fields: str) -> Any:
            request = getattr(erasures, f"{name}Request")(**fields)
            (answered,) = client.call(RPCS[name], request, key=OURS).answers
            return answered

        seeded(client, OURS)
        assert not answer("Erase", subject=subject).erasure.old_copies
        mover = TenantMove(two.databases)
        mover.run("default", EAST)

        planned = "\n".join(answer("PlanErasure", subject=subject).not_found)
        erasure = answer("Erase", subject=subject).erasure
        assert "in these databases: home" in planned and "tenants clean --after-hours 0" in planned
        assert list(erasure.old_copies) == ["home"]

        assert mover.remove_old_rows(grace_s=0) > 0
        assert "tenants clean" not in "\n".join(answer("PlanErasure", subject=subject).not_found)
        assert not answer("GetSubjectErasure", erasure_id=erasure.erasure_id).erasure.old_copies
        assert mover.remove_old_rows(grace_s=0) == 0


def test_killed_at_any_step_one_database_at_most_serves_and_a_second_run_ends_it(two: Two):
    with psycopg.connect(two.home.admin, autocommit=True) as connection:
        for number in range(60):
            connection.execute(WRITE.encode(), (OURS, f"{number}"))
    before = contents(two.home, OURS)
    place, other = "home", "east"
    for step in STEPS:

        def kill(moved: MoveProgress, at: str = step) -> None:
            if moved.step == at:
                raise Killed

        target = EAST if other == "east" else HOME
        with pytest.raises(Killed):
            TenantMove(two.databases, on_step=kill).run("default", target)
        assert len(serving(two, OURS)) <= 1
        if step in STEPS[:4]:
            assert serving(two, OURS) == [place]

        seen: list[str] = []
        TenantMove(two.databases, on_step=lambda moved, seen=seen: seen.append(moved.step)).run("default", target)
        assert serving(two, OURS) == [other]
        assert contents(two.east if other == "east" else two.home, OURS) == before
        if step in ("gone", "listed"):
            assert "copied" not in seen, "all of it was there"
        place, other = other, place


def test_a_tenant_whose_mover_is_killed_stays_when_its_time_is_over(two: Two, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(moving, "STOPPED_S", 0.05)

    def kill(moved: MoveProgress) -> None:
        if moved.step == "drained":
            raise Killed

    with pytest.raises(Killed):
        TenantMove(two.databases, on_step=kill).run("other", HOME)

    with psycopg.connect(two.east.service) as connection:
        connection.execute("SELECT pg_sleep(0.06)")
    assert serving(two, THEIRS) == ["east"]
    with pytest.raises(NoSuchTenant):
        TenantMove(two.databases).run("nobody", EAST)


async def test_what_is_acknowledged_while_a_tenant_moves_is_there_once(two: Two):
    """Rows are written, changed, removed, and change places in a unique index all the while."""
    async with Database.open(
        two.home.service, others={EAST: two.east.service}, connections_max=6, name="w"
    ) as database:
        there: dict[uuid.UUID, str | None] = {}
        over = asyncio.Event()
        refused = 0
        rng = random.Random(7)

        async def acknowledged(statement: str, **named: Any) -> None:
            nonlocal refused
            while True:
                try:
                    await database.tenant(OURS).query(statement, {"t": OURS, **named})
                    return
                except Unavailable:
                    refused += 1
                    await asyncio.sleep(0.02)

        async def write(number: int) -> None:
            mine: list[uuid.UUID] = []
            while not over.is_set():
                await asyncio.sleep(0.01)
                if len(mine) < 10 or rng.random() < 0.4:
                    one = uuid.uuid4()
                    await acknowledged(_NODE, id=one, name=f"{number}-{one}")
                    mine.append(one)
                    there[one] = f"{number}-{one}"
                    if len(mine) > 1:
                        await acknowledged(_EDGE, id=uuid.uuid4(), one=mine[-2], other=one)
                elif rng.random() < 0.6:
                    one, other = rng.sample(mine, 2)  # a name goes from one to another
                    name = there[one]
                    await acknowledged(_RENAME, id=one, name=None)
                    there[one] = None
                    await acknowledged(_RENAME, id=other, name=name)
                    there[other] = name
                else:
                    one = mine.pop(rng.randrange(len(mine)))
                    await acknowledged(_REMOVE, id=one)
                    del there[one]

        writers = [asyncio.create_task(write(number)) for number in range(4)]
        for target in (EAST, HOME):
            await asyncio.sleep(0.2)
            moved = await asyncio.to_thread(TenantMove(two.databases).run, "default", target)
            assert moved.writes_waited_s < 10
        over.set()
        await asyncio.gather(*writers)

        rows = await database.tenant(OURS).query("SELECT id, external_id FROM entity.node")
        assert {row.id: row.external_id for row in rows} == there
        assert len(there) > 20


async def test_what_refers_to_a_row_that_a_page_leaves_out_comes_with_it(two: Two):
    """A name goes from a row that is copied to one that is not yet: that one waits, and so do old edges to it."""
    loop = asyncio.get_running_loop()
    ids = [uuid.UUID(int=number) for number in range(1, 61)]  # more than a page
    first, last = ids[0], ids[-1]
    async with Database.open(
        two.home.service, others={EAST: two.east.service}, connections_max=2, name="w"
    ) as database:
        tenant = database.tenant(OURS)

        async def rename(one: uuid.UUID, name: str | None) -> None:
            await tenant.query(_RENAME, {"t": OURS, "id": one, "name": name})

        for one in ids:
            await tenant.query(_NODE, {"t": OURS, "id": one, "name": str(one)})
        await tenant.query(_EDGE, {"t": OURS, "id": uuid.uuid4(), "one": first, "other": last})
        is_renamed = False

        def swap(moved: MoveProgress) -> None:
            nonlocal is_renamed
            if moved.step == "copying" and moved.rows >= 50 and not is_renamed:
                is_renamed = True
                for one, name in ((first, None), (last, str(first))):
                    asyncio.run_coroutine_threadsafe(rename(one, name), loop).result(20)

        await asyncio.to_thread(TenantMove(two.databases, on_step=swap).run, "default", EAST)
        assert is_renamed
        rows = await tenant.query("SELECT external_id FROM entity.node WHERE id = %s", (last,))
        assert [row.external_id for row in rows] == [str(first)]
        assert len(await tenant.query("SELECT id FROM entity.edge")) == 1


async def test_rows_that_exchange_their_names_while_a_tenant_moves_are_put_with_them(two: Two):
    """Neither can be put while the other one has its name."""
    loop = asyncio.get_running_loop()
    ids = [uuid.UUID(int=number) for number in range(1, 4)]
    async with Database.open(
        two.home.service, others={EAST: two.east.service}, connections_max=2, name="w"
    ) as database:
        tenant = database.tenant(OURS)

        async def write(*names: str | None) -> None:
            for one, name in zip(ids, names, strict=True):
                await tenant.query(_RENAME, {"t": OURS, "id": one, "name": name})

        for one, name in zip(ids, "abc", strict=True):
            await tenant.query(_NODE, {"t": OURS, "id": one, "name": name})
        await tenant.query(_EDGE, {"t": OURS, "id": uuid.uuid4(), "one": ids[0], "other": ids[1]})

        def exchange(moved: MoveProgress) -> None:
            if moved.step == "copied":
                for names in ((None, None, None), "bca"):
                    asyncio.run_coroutine_threadsafe(write(*names), loop).result(20)

        await asyncio.to_thread(TenantMove(two.databases, on_step=exchange).run, "default", EAST)
        rows = await tenant.query("SELECT external_id FROM entity.node ORDER BY id")
        assert [row.external_id for row in rows] == ["b", "c", "a"]


_NODE = """
INSERT INTO entity.node (
    tenant_id, id, external_id, created_at, modified_at, graph_name, general_type_name, specific_type_name, status,
    created_by, data
)
VALUES (%(t)s, %(id)s, %(name)s, now(), now(), 'default', 'A', 'A', '', '', '{}') ON CONFLICT DO NOTHING
"""
_EDGE = """
INSERT INTO entity.edge (
    tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, graph_name, edge_type, data
)
SELECT %(t)s, %(id)s, %(one)s, id, now(), created_at, seq, 'default', 'E', '{}' FROM entity.node
WHERE tenant_id = %(t)s AND id = %(other)s ON CONFLICT DO NOTHING
"""
_RENAME = "UPDATE entity.node SET external_id = %(name)s WHERE tenant_id = %(t)s AND id = %(id)s"
_REMOVE = "DELETE FROM entity.node WHERE tenant_id = %(t)s AND id = %(id)s"


def test_a_mover_that_was_not_heard_of_cannot_let_go_of_a_tenant_that_leaves_for_another(two: Two):
    """It was let stay, wrote, and leaves anew: what the first one has copied is old."""

    def leave_anew(moved: MoveProgress) -> None:
        if moved.step == "whole":
            with psycopg.connect(two.home.admin) as connection:
                connection.execute(
                    "UPDATE access.residence SET until = until + interval '1 minute' WHERE tenant_id = %s", (OURS,)
                )

    with pytest.raises(Unavailable):
        TenantMove(two.databases, on_step=leave_anew).run("default", EAST)

    with psycopg.connect(two.home.admin) as connection:
        (state,) = connection.execute("SELECT state FROM access.residence WHERE tenant_id = %s", (OURS,)).fetchone()
    assert state == "LEAVING"


def test_one_mover_a_tenant_also_when_home_has_begun_anew(two: Two):
    """Its locks are gone then, and a mover may not have noticed."""
    with psycopg.connect(two.east.admin) as connection:
        connection.execute("SELECT pg_advisory_lock(%s, uuid_hash(%s))", (moving._MOVERS, OURS))
        with pytest.raises(CannotMove, match="another command"):
            TenantMove(two.databases).run("default", EAST)


def test_one_mover_a_tenant_and_no_third_database(two: Two):
    def kill(moved: MoveProgress) -> None:
        with pytest.raises(CannotMove, match="another command"):
            TenantMove(two.databases).run("default", EAST)
        raise Killed

    with pytest.raises(Killed):
        TenantMove(two.databases, on_step=kill).run("default", EAST)
