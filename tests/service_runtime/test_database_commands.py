"""The commands of many databases, as an operator types them, and what a service says of one that is down."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from psycopg import sql

from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.databases.embedded_postgres import OWNER_ROLE, SERVICE_ROLE, EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.commands import Commands
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL
from tests.hostile.calling import AnyTenant, Client
from tests.hostile.things import RPCS
from tests.spread import EAST, Two, two_databases

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
WRITE = """
INSERT INTO context.request (tenant_id, request_id, rpc, fingerprint, answer)
SELECT %s, gen_random_uuid(), 'X', '', '1' FROM generate_series(1, %s)
"""


@pytest.fixture(scope="module")
def two(postgres: EmbeddedPostgres) -> Iterator[Two]:
    with two_databases(postgres) as made:
        yield made


class Operator:
    """Types commands of a service."""

    def __init__(self, two: Two, commands: Commands) -> None:
        self._two = two
        self._commands = commands

    def types(self, *arguments: str, of: str = "context_service", **more: tuple[str, str]) -> CompletedProcess[str]:
        """Run one; `more` are URLs of other databases, as both roles."""
        named = {EAST: (self._two.east.service, self._two.east.admin), **more}
        environment = {
            "DATABASE_URL": self._two.home.service,
            "DATABASE_ADMIN_URL": self._two.home.admin,
            "DATABASE_URLS": " ".join(f"{name}={urls[0]}" for name, urls in named.items()),
            "DATABASE_ADMIN_URLS": " ".join(f"{name}={urls[1]}" for name, urls in named.items()),
        }
        return self._commands.run(of, *arguments, environment=environment)

    def reads(self, *arguments: str) -> dict[str, dict]:
        """Run one that prints JSON lines, and return them by tenant."""
        done = self.types(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return {row.get("name") or row.get("tenant") or "": row for row in rows}


@pytest.fixture
def operator(two: Two, commands: Commands) -> Operator:
    return Operator(two, commands)


def test_migrate_brings_a_new_database_to_this_version_beside_one_that_is_down(
    operator: Operator, postgres: EmbeddedPostgres
):
    name = f"west_{uuid.uuid4().hex}"
    with psycopg.connect(postgres.url(role="postgres", database="postgres"), autocommit=True) as connection:
        made = sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(OWNER_ROLE))
        connection.execute(made)
        with psycopg.connect(postgres.url(role="postgres", database=name), autocommit=True) as new:
            new.execute("CREATE EXTENSION vector")
        west = (postgres.url(role=SERVICE_ROLE, database=name), postgres.url(role=OWNER_ROLE, database=name))
        try:
            done = operator.types("migrate", "--json", down=(NOWHERE, NOWHERE), west=west)
            assert done.returncode == 1
            assert done.stderr.startswith("down: "), done.stderr
            assert {row["database"] for row in json.loads(done.stdout)} == {"west"}
            with psycopg.connect(west[1]) as there:
                assert there.execute("SELECT name FROM access.this_database").fetchall() == [("west",)]
            again = operator.types("migrate", "--database", "west", west=west)
            assert (again.returncode, "up to date" in again.stderr) == (0, True), again.stderr
            assert "no database" in operator.types("migrate", "--database", "north").stderr
            checked = operator.types("check-config", "--json", down=(NOWHERE, NOWHERE), west=west)
            problems = {one["name"]: one["problem"] for one in json.loads(checked.stdout)["checks"]}
            assert problems["west, of DATABASE_URLS"] == problems["migrations of west, of DATABASE_ADMIN_URLS"] == ""
            assert problems["down, of DATABASE_URLS"]
            assert problems["migrations of down, of DATABASE_ADMIN_URLS"]
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_check_config_says_that_urls_are_swapped(operator: Operator, two: Two):
    swapped = {EAST: (two.home.service, two.home.admin), "west": (two.east.service, two.east.admin)}
    checked = operator.types("check-config", "--json", **swapped)
    problems = {one["name"]: one["problem"] for one in json.loads(checked.stdout)["checks"]}
    assert checked.returncode == 1
    assert problems[f"{EAST}, of DATABASE_URLS"] == (
        f"this is the home database, not the database {EAST}: are URLs swapped?"
    )
    assert (
        problems["west, of DATABASE_URLS"] == f"this is the database {EAST}, not the database west: are URLs swapped?"
    )


@pytest.mark.parametrize(
    "command",
    [
        "storage sweep",
        "storage fsck",
        "retrieval verify",
        "retrieval rebuild",
        "retrieval backfill",
        "embeddings backfill",
        "secrets rotate",
        "erasures replay erasures.ndjson",
    ],
)
def test_a_command_leaves_out_who_lives_in_a_database_that_is_down_says_so_and_ends_with_1(
    command: str, operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EMBEDDING_PROVIDER", "local")
    monkeypatch.setenv("SECRETS_KEY", base64.b64encode(bytes(32)).decode())
    register = tmp_path / "erasures.ndjson"
    register.touch()
    done = operator.types(
        *command.replace("erasures.ndjson", str(register)).split(), "--json", **{EAST: (NOWHERE, NOWHERE)}
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"left out: who lives in {EAST}, which does not serve now (`check-config` says why)"
    )
    assert json.loads(done.stdout)["databases_away"] == [EAST]


def test_the_graph_replays_erasures_beside_a_database_that_is_down(operator: Operator, tmp_path: Path):
    lines = tmp_path / "erasures.ndjson"
    known = {"tenant_id": str(PRINCIPAL.tenant_id), "subject_sha256": "00" * 32}
    theirs = {**known, "tenant_id": str(OTHER_PRINCIPAL.tenant_id)}
    lines.write_text("".join(json.dumps({**one, "erasure_id": str(uuid.uuid4())}) + "\n" for one in (known, theirs)))
    replay = ("erasures", "replay", str(lines), "--json")
    done = operator.types(*replay, of="entity_service", **{EAST: (NOWHERE, NOWHERE)})
    assert (done.returncode, json.loads(done.stdout)["nobody"]) == (1, 1), done.stderr
    assert EAST in done.stderr
    again = operator.types(*replay, of="entity_service")
    assert (again.returncode, json.loads(again.stdout)) == (
        0,
        {"known": 1, "erased": 0, "nobody": 1, "held": [], "databases_away": []},
    )


def test_a_new_tenant_lives_where_it_is_said_or_where_the_fewest_bytes_are(operator: Operator, two: Two):
    with psycopg.connect(two.east.superuser) as connection:
        connection.execute(
            "CREATE TABLE public.filler AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 20000)"
        )
    operator.types("tenants", "create", "smallest")
    for database in ("home", EAST):
        operator.types("tenants", "create", f"at {database}", "--database", database)
    assert "no database" in operator.types("tenants", "create", "nowhere", "--database", "north").stderr
    with psycopg.connect(two.east.superuser) as connection:
        connection.execute("DROP TABLE public.filler")

    lives = {name: row["database"] for name, row in operator.reads("tenants", "list").items()}
    assert lives == {"default": "", "other": EAST, "smallest": "", "at home": "", f"at {EAST}": EAST}
    assert set(operator.reads("tenants", "limits")) == set(lives)


def test_a_move_is_proposed_done_and_cleaned_up_behind(operator: Operator, two: Two):
    for name in ("busy", "idle"):
        operator.types("tenants", "create", name, "--database", "home")
    with psycopg.connect(two.home.superuser) as connection:
        (busy,) = connection.execute("SELECT id FROM access.tenant WHERE name = 'busy'").fetchone()
        (idle,) = connection.execute("SELECT id FROM access.tenant WHERE name = 'idle'").fetchone()
        for tenant_id, writes in ((busy, 200), (idle, 100), (PRINCIPAL.tenant_id, 100)):
            connection.execute(WRITE, (tenant_id, writes))
    move = operator.reads("tenants", "rebalance")["busy"]
    assert (move["source"], move["target"], move["writes"]) == ("home", EAST, 200)

    counted = operator.reads("tenants", "move", "busy", "--to", EAST, "--dry-run")["busy"]
    assert counted["rows_there"] == {"context.request": 200}
    assert operator.reads("tenants", "list")["busy"]["database"] == ""
    done = operator.types("tenants", "move", "busy", "--to", EAST)
    assert (done.returncode, done.stdout.startswith("moved 200 rows")) == (0, True), done.stderr
    assert operator.reads("tenants", "list")["busy"]["database"] == EAST
    assert operator.types("tenants", "move", "busy", "--to", EAST).stdout == "busy is already in this database\n"
    assert operator.types("tenants", "move", "nobody", "--to", EAST).returncode != 0
    assert operator.reads("tenants", "rebalance") == {}

    assert operator.types("tenants", "clean").stdout == "removed 0 rows\n"  # they stay for a day
    assert operator.reads("tenants", "clean", "--after-hours", "0")[""] == {"rows": 200}
    count = "SELECT count(*) FROM context.request WHERE tenant_id = %s"
    with psycopg.connect(two.home.superuser) as home, psycopg.connect(two.east.superuser) as east:
        assert [one.execute(count, (busy,)).fetchone() for one in (home, east)] == [(0,), (200,)]


def test_services_stay_ready_beside_a_database_that_is_down_and_refuse_its_tenants_alone(two: Two, tmp_path: Path):
    with (
        running_in_a_thread(
            two.home.service, tmp_path, callers=AnyTenant(), database_urls=f"{EAST}={NOWHERE}"
        ) as addresses,
        Client.open(addresses) as client,
    ):
        for address in (addresses.context, addresses.entity):
            with grpc.insecure_channel(address) as channel:
                stub = health_pb2_grpc.HealthStub(channel)
                for answer in stub.Watch(health_pb2.HealthCheckRequest(), timeout=60):  # at first nobody was asked
                    if answer.status == health_pb2.HealthCheckResponse.SERVING:
                        break
        asked = graph.CountNodesRequest()
        assert client.call(RPCS["CountNodes"], asked, key=PRINCIPAL.tenant_id).ok
        assert client.call(RPCS["CountNodes"], asked, key=OTHER_PRINCIPAL.tenant_id).reason == "UNAVAILABLE"
        assert client.call(RPCS["GetUsage"], RPCS["GetUsage"].request(), key=PRINCIPAL.tenant_id).ok
        away = client.call(RPCS["GetUsage"], RPCS["GetUsage"].request(), key=OTHER_PRINCIPAL.tenant_id)
        assert away.reason == "UNAVAILABLE"
