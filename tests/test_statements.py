"""Every statement of the `.sql` files: Postgres can prepare it, and finds its rows in large tables by an index.

Each table has a few hundred rows of one tenant, and Postgres is told that it has millions. A look-up that only an index
of tenants serves reads the whole table then, as it does for a tenant who has most of a database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from service_runtime.background_work.outbox import Outbox
from service_runtime.statements.requests import Requests
from tests.conftest import Urls, cloned
from tests.sql_modules import modules_with_sql

ROWS = 300  # that each table has
TIMES = 100_000  # as many are said to be there
SCHEMAS = ("access", "context", "entity")
SMALL = ("mapping_revision", "migration", "this_database")  # of a database, not of a tenant

# Filled for a schema whose table lacks the column: nothing runs them.
NOT_HERE = frozenset({"answer_about(schema=entity)"})

# Tables of which a tenant has few rows, by a limit of the rules or since one row stands for much.
FEW_OF_A_TENANT = frozenset(
    f"context.{name}"
    for name in (
        *(
            "agent",
            "context_setting",
            "definition",
            "hold",
            "import",
            "job",
            "knowledge_base",
            "mcp_tool",
            "provider_setting",
            "source_test",
        ),
        *("model_usage", "tenant_usage", "token_calibration", "window_learning", "window_profile"),
    )
)
_BY_OWNER = (
    "the plan and the steps of an erasure read tables by owner, which is rare: no write pays for an index by owner"
)
_FIRST_ROW = "it stops at the first row of the tenant"
_COUNTED = "it counts all rows of the tenant"
_OPERATOR = "an operator's command, over all tenants or keys"
_ALL = "the background compares all rows of the tenant, some at a time"
# Statements that read a whole table, and why they may.
MAY_SCAN = {
    "context_service.compiled_pages.store.search: count": _COUNTED,
    "context_service.compiled_pages.store.pages: not_approved": _ALL,
    "context_service.compiled_pages.store.passages: tenants_count": _FIRST_ROW,
    "context_service.compiled_pages.store.passages: tenants_owned": _FIRST_ROW,
    "context_service.compiled_pages.store.passages: tenants_page": _FIRST_ROW,
    "context_service.contexts.store.erasures: count_owned": _BY_OWNER,
    "context_service.contexts.store.log_passages: contexts": _COUNTED,
    "context_service.erasure.store.erasures: count_records": _BY_OWNER,
    "context_service.erasure.store.erasures: remove_uploads": _BY_OWNER,
    "context_service.erasure.store.erasures: subjects_of_keys": _OPERATOR,
    "context_service.erasure.store.erasures: take_receipts": _BY_OWNER,
    "context_service.knowledge_bases.store.documents: changed": _ALL,
    "context_service.transfer.store.imports: erased_since": "an import of a tenant, which is rare, reads all erasures",
    "context_service.working_memory.store.texts.file_passages: count": "it stops after thousands of rows of the tenant",
    "context_service.working_memory.store.blobs.stored_blobs: count_blobs": _COUNTED,
    "context_service.working_memory.store.tenant_limits: list_limits": _OPERATOR,
    "entity_service.store.owned: count": _BY_OWNER,
    "service_runtime.databases.placement: is_empty": "an operator's command; it stops at the first row",
    "service_runtime.auth.keys: any_key": "it stops at the first row",
    "service_runtime.auth.keys: revoke": _OPERATOR,
    "service_runtime.auth.keys: tenants": _OPERATOR,
    "service_runtime.databases.rebalancing: held": _OPERATOR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A whole statement; its placeholders are Postgres's."""

    name: str  # "context_service/contexts/store/log: read"
    sql: str


def statements() -> list[Statement]:
    """Return all of them, those with slots as often as modules fill these."""
    Outbox("context", "topic")  # fills the slots of its statements with the schema; so do the others
    Requests("context", erasures="context.erasure")
    Requests("entity")
    return [
        Statement(name=f"{module.__name__}: {name}", sql=_numbered(sql))
        for module in modules_with_sql()
        for name, sql in module.SQL.whole().items()
        if not sql.startswith("DO ") and name not in NOT_HERE
    ]


def _numbered(sql: str) -> str:
    """Replace the placeholders of psycopg by Postgres's."""
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        return f"${names.setdefault(match[1] or str(len(names)), len(names) + 1)}"

    return re.sub(r"%\((\w+)\)s|%s|%%", number, sql)


@pytest.fixture(scope="module")
def large(postgres: Any) -> Iterator[Urls]:
    """A database whose tables Postgres takes for large ones of one tenant."""
    with cloned(postgres, is_alone=True) as urls:
        with psycopg.connect(urls.superuser, autocommit=True) as connection:
            _fill(connection)
        yield urls


def _fill(connection: psycopg.Connection) -> None:
    connection.execute("SET session_replication_role = replica")  # neither foreign keys nor triggers
    tables = connection.execute(
        """
        SELECT c.oid, c.oid::regclass::text FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text = ANY (%s)
            AND c.relname <> ALL (%s)
        """,
        (list(SCHEMAS), list(SMALL)),
    ).fetchall()
    for oid, table in tables:
        for (constraint,) in connection.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = %s AND contype = 'c'", (oid,)
        ).fetchall():
            connection.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{constraint}"')
        columns = connection.execute(
            """
            SELECT quote_ident(attname), format_type(atttypid, NULL), attname = 'tenant_id' AND NOT EXISTS (
                SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND indkey::text = attnum::text
            ) FROM pg_attribute
            WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity <> 'a'
            """,
            (oid,),
        ).fetchall()
        names = ", ".join(name for name, _, _ in columns)
        values = ", ".join(
            "md5('tenant')::uuid" if is_tenant and table not in FEW_OF_A_TENANT else _value(kind)
            for _, kind, is_tenant in columns
        )
        connection.execute(f"DELETE FROM {table}")
        connection.execute(
            f"INSERT INTO {table} ({names}) SELECT {values} FROM generate_series(1, {ROWS}) i ON CONFLICT DO NOTHING"
        )
    connection.execute("ANALYZE")
    connection.execute(
        f"UPDATE pg_class SET reltuples = reltuples * {TIMES} WHERE oid = ANY (%s)", ([oid for oid, _ in tables],)
    )
    connection.execute(
        f"""
        UPDATE pg_class SET reltuples = reltuples * {TIMES} WHERE oid IN (
            SELECT indexrelid FROM pg_index WHERE indrelid = ANY (%s)
        )
        """,
        ([oid for oid, _ in tables],),
    )


def _value(kind: str) -> str:
    """Return an expression of a type that differs for each row `i`."""
    if kind.endswith("[]"):
        return f"ARRAY[{_value(kind[:-2])}]"
    return {
        "uuid": "md5(i::text)::uuid",
        "text": "'t' || i",
        "character varying": "'t' || i",
        "bytea": "int4send(i)",
        "boolean": "i % 2 = 0",
        "jsonb": "jsonb_build_object('key', i)",
        "json": "json_build_object('key', i)",
        "timestamp with time zone": "now() - i * interval '1 second'",
        "interval": "i * interval '1 second'",
        "double precision": "i",
        "real": "i",
        "numeric": "i",
        "bigint": "i",
        "integer": "i",
        "smallint": "(i % 100)::smallint",
        "xid8": "i::text::xid8",
        "public.halfvec": "ARRAY[i, 1]::real[]::public.halfvec",
        "halfvec": "ARRAY[i, 1]::real[]::public.halfvec",
        "inet": "'127.0.0.1'::inet",
        "int8multirange": "int8multirange(int8range(i, i + 1))",
        "int4multirange": "int4multirange(int4range(i, i + 1))",
        "tid": "'(0,1)'::tid",
        "date": "current_date",
    }[kind]


def _scans(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the tables that a plan reads from their beginnings to their ends."""
    if plan["Node Type"] == "Seq Scan" and plan["Schema"] in SCHEMAS and plan["Relation Name"] not in SMALL:
        yield f"{plan['Schema']}.{plan['Relation Name']}"
    for child in plan.get("Plans", ()):
        yield from _scans(child)


def test_statements(large: Urls):
    """One test for all: a thousand tests would take longer than planning a thousand statements."""
    refused, scanning = {}, {}
    with (
        psycopg.connect(large.service, autocommit=True) as service,
        psycopg.connect(large.superuser, autocommit=True) as superuser,
    ):
        service.execute("SET jit = off")
        service.execute("SET app.tenant = '0d0e1f3c-0000-0000-0000-000000000000'")
        for statement in statements():
            for connection in (service, superuser):  # some are of operators
                try:
                    (answer,) = connection.execute(
                        f"EXPLAIN (GENERIC_PLAN, VERBOSE, FORMAT JSON) {statement.sql}".encode()
                    ).fetchone()
                except psycopg.errors.InsufficientPrivilege:
                    continue
                except psycopg.Error as error:
                    refused[statement.name] = str(error)
                else:
                    if tables := set(_scans(answer[0]["Plan"])):
                        scanning[statement.name.partition("(")[0]] = sorted(tables)
                break
            else:
                refused[statement.name] = "nobody may"
    assert refused == {}, json.dumps(refused, indent=1)
    assert scanning.keys() == MAY_SCAN.keys(), json.dumps(
        {name: scanning.get(name) for name in scanning.keys() ^ MAY_SCAN.keys()}, indent=1
    )
