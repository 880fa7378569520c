"""The walls between contexts, and between users: proved on tables of this test.

A table of headers, which have owners, and one of what is in a context; with the policies of `access.policy`. Statements
here name no context and no user: row-level security stands alone.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from contextkeep.errors import PermissionDenied
from service_runtime.databases.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from service_runtime.postgres import Across, Database
from service_runtime.rpc.principal import Principal
from tests.conftest import PRINCIPAL, Urls, cloned
from tests.hostile.tables import SCHEMAS

OTHER = Principal(tenant_id=uuid.UUID(int=8, version=4), subject="other")  # in the same database
ROOT, FORK, BESIDE, THEIRS = (uuid.UUID(int=number, version=4) for number in range(1, 5))
ANCESTORS = {ROOT: [ROOT], FORK: [ROOT, FORK], BESIDE: [BESIDE], THEIRS: [THEIRS]}
OWNERS = {ROOT: "", FORK: "ada", BESIDE: "*", THEIRS: "ada"}
TENANTS = dict.fromkeys((ROOT, FORK, BESIDE), PRINCIPAL.tenant_id) | {THEIRS: OTHER.tenant_id}
ADA, STAR, NOBODY = (replace(PRINCIPAL, user_id=user_id) for user_id in ("ada", "*", ""))
OF_ROOT = replace(PRINCIPAL, context_id=ROOT)

_BOUNDS = "agent_bundle_id text NOT NULL DEFAULT '', app_id text NOT NULL DEFAULT ''"
TABLES = f"""
CREATE TABLE context.test_header (
    tenant_id uuid NOT NULL, context_id uuid NOT NULL, owner_user_id text NOT NULL, ancestors uuid[] NOT NULL,
    {_BOUNDS}, PRIMARY KEY (tenant_id, context_id)
);
CREATE TABLE context.test_message (
    tenant_id uuid NOT NULL, context_id uuid NOT NULL, seq bigint NOT NULL, ancestors uuid[] NOT NULL,
    {_BOUNDS}, PRIMARY KEY (tenant_id, context_id, seq)
);
SELECT access.policy('context.test_header', 'tenant', 'context', 'subject', 'bounds:context');
SELECT access.policy('context.test_message', 'tenant', 'context', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.test_header, context.test_message TO {SERVICE_ROLE};
"""

HEADERS = "SELECT context_id FROM context.test_header ORDER BY context_id"
MESSAGES = "SELECT DISTINCT context_id FROM context.test_message ORDER BY context_id"
ALL_HEADERS = Across(sql=HEADERS, contexts=True, why="a list")
ALL_MESSAGES = Across(sql=MESSAGES, contexts=True, why="a list")
FIRST_MESSAGES = Across(
    sql="SELECT context_id, min(seq) FROM context.test_message GROUP BY context_id ORDER BY context_id",
    contexts=True,
    why="of each context",
)
EVERYBODYS_HEADERS = Across(sql=HEADERS, contexts=True, subjects=True, why="an administrator's list")
INSERT = "INSERT INTO context.test_header VALUES (%s, %s, %s, %s)"


@pytest.fixture(scope="module")
def walled(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        with psycopg.connect(urls.admin, autocommit=True) as connection:
            connection.execute(TABLES.encode())
            for context_id, tenant_id in TENANTS.items():
                ancestors = ANCESTORS[context_id]
                connection.execute(INSERT, (tenant_id, context_id, OWNERS[context_id], ancestors))
                connection.execute(
                    "INSERT INTO context.test_message SELECT %s, %s, n, %s FROM generate_series(1, 500) n",
                    (tenant_id, context_id, ancestors),
                )
            connection.execute("ANALYZE context.test_message")
        yield urls


@pytest.fixture
async def database(walled: Urls) -> AsyncIterator[Database]:
    """One connection, so that nothing of a call may stay on it."""
    async with Database.open(walled.service, connections_max=1, name="walls") as opened:
        yield opened


async def seen(
    database: Database, statement: str | Across, principal: Principal, context_id: uuid.UUID | None = None
) -> list[uuid.UUID]:
    rows = await database.of(principal, context_id=context_id).query(statement)
    return [row.context_id for row in rows]


async def test_a_statement_sees_the_context_that_it_is_about(database: Database):
    for context_id in (ROOT, FORK, BESIDE):
        assert await seen(database, MESSAGES, PRINCIPAL, context_id) == [context_id]
    assert await seen(database, MESSAGES, PRINCIPAL, THEIRS) == []
    assert await seen(database, MESSAGES, OTHER, THEIRS) == [THEIRS]


async def test_without_a_context_there_is_no_row_of_one(database: Database, walled: Urls):
    """Nor after a transaction that had one."""
    for _ in range(2):
        assert await seen(database, MESSAGES, PRINCIPAL) == []
        assert await database.tenant(PRINCIPAL.tenant_id).query(MESSAGES) == []
        assert await database.tenant(PRINCIPAL.tenant_id).query(HEADERS) == []
        assert await database.untenanted(MESSAGES) == []
        assert await seen(database, ALL_MESSAGES, PRINCIPAL, ROOT) == [ROOT, FORK, BESIDE]
    with psycopg.connect(walled.service) as connection:
        connection.execute("SELECT set_config('app.tenant', %s, false)", (str(PRINCIPAL.tenant_id),))
        assert connection.execute(MESSAGES).fetchall() == []


async def test_across_contexts_holds_for_its_own_statement(database: Database):
    door = database.of(PRINCIPAL, context_id=FORK)
    assert len(await door.query(ALL_MESSAGES)) == 3
    assert [row.context_id for row in await door.query(MESSAGES)] == [FORK]
    assert [row.context_id for row in await door.transaction(lambda one: one.query(MESSAGES))] == [FORK]


async def test_a_user_sees_what_is_its_own_and_what_is_nobodys(database: Database):
    """The user whose name is the sign for all is one like others."""
    assert await seen(database, ALL_HEADERS, ADA) == [ROOT, FORK]
    assert await seen(database, ALL_HEADERS, STAR) == [ROOT, BESIDE]
    assert await seen(database, ALL_HEADERS, NOBODY) == [ROOT]
    assert await seen(database, EVERYBODYS_HEADERS, NOBODY) == [ROOT, FORK, BESIDE]
    assert await seen(database, EVERYBODYS_HEADERS, OTHER) == [THEIRS]
    background = await database.tenant(PRINCIPAL.tenant_id).query(EVERYBODYS_HEADERS)
    assert [row.context_id for row in background] == [ROOT, FORK, BESIDE]
    assert await database.tenant(PRINCIPAL.tenant_id).query(ALL_HEADERS) == []


@pytest.mark.parametrize("said", ["", "ada", "=", "=b", " =ada"])
def test_a_subject_that_is_not_said_as_it_should_be_is_no_user(walled: Urls, said: str):
    with psycopg.connect(walled.service) as connection:
        connection.execute(
            "SELECT set_config('app.tenant', %s, false), set_config('app.context', '*', false),"
            " set_config('app.subject', %s, false)",
            (str(PRINCIPAL.tenant_id), said),
        )
        rows = [context_id for (context_id,) in connection.execute(HEADERS)]
    assert rows == ([ROOT] if said.startswith("=") else [])


async def test_a_key_of_a_context_sees_it_and_what_is_below_it(database: Database):
    assert await seen(database, ALL_MESSAGES, OF_ROOT) == [ROOT, FORK]
    assert await seen(database, ALL_MESSAGES, replace(PRINCIPAL, context_id=FORK)) == [FORK]
    assert await seen(database, MESSAGES, OF_ROOT, FORK) == [FORK]
    assert await seen(database, MESSAGES, OF_ROOT, BESIDE) == []
    assert await seen(database, MESSAGES, OF_ROOT) == []
    assert await seen(database, EVERYBODYS_HEADERS, replace(PRINCIPAL, context_id=THEIRS)) == []
    for more in ({"graph_names": frozenset({"default"})}, {"app_ids": frozenset({"crm"})}, {"agent_bundle_id": "x"}):
        assert await seen(database, EVERYBODYS_HEADERS, replace(OF_ROOT, **more)) == []


@pytest.mark.parametrize(
    ("principal", "context_id", "row"),
    [
        (PRINCIPAL, None, (ROOT, "")),
        (PRINCIPAL, ROOT, (BESIDE, "")),
        (ADA, FORK, (FORK, "bob")),
        (NOBODY, FORK, (FORK, "ada")),
        (OF_ROOT, BESIDE, (BESIDE, "")),
        (PRINCIPAL, THEIRS, (THEIRS, "ada")),
    ],
    ids=["no context", "beside it", "another user", "nobody", "not below it", "another tenant"],
)
async def test_nothing_is_written_that_could_not_be_seen(
    database: Database, principal: Principal, context_id: uuid.UUID | None, row: tuple[uuid.UUID, str]
):
    door, before = database.of(principal, context_id=context_id), await everything(database)
    tenant_id = TENANTS[row[0]]
    with pytest.raises((psycopg.errors.InsufficientPrivilege, PermissionDenied)):
        await door.query(INSERT, (tenant_id, row[0], row[1], ANCESTORS[row[0]]))
    await door.query("UPDATE context.test_message SET seq = -seq WHERE context_id = %s", (BESIDE,))
    await door.query("DELETE FROM context.test_header WHERE context_id <> %s", (context_id or ROOT,))
    assert await everything(database) == before


async def everything(database: Database) -> list[object]:
    doors = [database.of(one) for one in (PRINCIPAL, OTHER)]
    return [await door.query(statement) for door in doors for statement in (EVERYBODYS_HEADERS, FIRST_MESSAGES)]


async def test_all_users_are_seen_with_admin_and_by_nobody_who_names_one(database: Database):
    for principal in (replace(ADA, scopes=frozenset({"read", "write", "delegate"})), NOBODY.acting_for("ada")):
        with pytest.raises(PermissionDenied) as caught:
            await seen(database, EVERYBODYS_HEADERS, principal)
        assert caught.value.metadata == {"scope": "admin"}
        assert await seen(database, ALL_HEADERS, principal) == [ROOT, FORK]


def test_the_wall_costs_no_index(walled: Urls):
    """What is asked of it is asked once a statement, and the tenth of a context is found as without it."""
    with psycopg.connect(walled.service) as connection:
        connection.execute(
            "SELECT set_config('app.tenant', %s, false), set_config('app.context', %s, false),"
            " set_config('app.bounds', %s, false)",
            (str(PRINCIPAL.tenant_id), str(FORK), OF_ROOT.bounds),
        )
        plan = connection.execute(
            "EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT seq FROM context.test_message"
            " WHERE tenant_id = %s AND context_id = %s AND seq > 490 ORDER BY seq LIMIT 20",
            (PRINCIPAL.tenant_id, FORK),
        ).fetchall()
    text = "\n".join(line for (line,) in plan)
    assert re.search(r"Index Cond: .*tenant_id = .*context_id = .*seq > 490", text), text
    assert "Rows Removed by Filter" not in text
    assert all("rows=1" in line for line in text.splitlines() if "Result" in line)


HAVE_AN_OWNER_FOR_THE_RECORD = {"context.wm_record", "entity.node"}
# Rows of theirs without a context are of what belongs to none: a check keeps those of contexts from forgetting it.
HAVE_OTHER_ROWS_TOO = {
    "context.passage",
    "context.passage_session",
    "context.passage_scope",
    "context.passage_vector",
}
OTHER_ROWS = "(context_id IS NULL) OR "


def test_what_belongs_to_a_context_or_a_user_is_behind_its_wall(walled: Urls):
    """Found in the catalogue: `ancestors` and `owner_user_id` stand in no table without the policy."""
    with psycopg.connect(walled.superuser) as connection:
        columns = connection.execute(
            "SELECT c.oid::regclass::text, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relkind IN ('r', 'p') AND c.relnamespace::regnamespace::text = ANY (%s)"
            " AND a.attname IN ('ancestors', 'owner_user_id')",
            (SCHEMAS,),
        ).fetchall()
        policies = {
            (table, name): (permissive, command, qual, check)
            for table, name, permissive, command, qual, check in connection.execute(
                "SELECT schemaname || '.' || tablename, policyname, permissive, cmd, qual, with_check FROM pg_policies"
            )
        }
    assert len(columns) >= 3 + len(HAVE_AN_OWNER_FOR_THE_RECORD)
    for table, column in columns:
        for name in {"ancestors": ("context", "bounds"), "owner_user_id": ("subject",)}[column]:
            if (column, table) not in {("owner_user_id", one) for one in HAVE_AN_OWNER_FOR_THE_RECORD}:
                assert (table, name) in policies
    for (table, name), (permissive, command, qual, check) in policies.items():
        if name in ("context", "subject"):
            own = qual.replace(OTHER_ROWS, "") if table in HAVE_OTHER_ROWS_TOO else qual
            assert (permissive, command, own, check) == policies["context.test_header", name]


def test_only_the_doors_say_what_policies_read():
    root = Path(__file__).resolve().parents[2]
    saying = [
        path.relative_to(root).as_posix()
        for package in ("context_service", "entity_service", "service_runtime")
        for path in (root / package).rglob("*.*")
        if path.suffix in (".py", ".sql") and "migrations" not in path.parts
        if re.search(r"'app\.(tenant|bounds|context|subject)', (?!true)", path.read_text())
    ]
    # The mover is the owner of the tables, and works on one tenant: no call goes through it.
    assert sorted(saying) == ["service_runtime/databases/moving.sql", "service_runtime/postgres/tenant.py"]
