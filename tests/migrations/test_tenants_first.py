"""The tenant leads: what makes a tenant something that can live in one of many databases, and be moved.

Whatever is unique is so within a tenant, a foreign key stays within one, and so does what a trigger reads and writes:
then the rows of a tenant can be put from one database into another, and nothing of anybody else is in their way.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Urls

TENANT_FREE = {
    "access.api_key",
    "access.context_key",
    "access.migration",
    "access.residence",
    "access.tenant",
    "access.this_database",
    "context.mapping_revision",
    "context.migration",
    "entity.migration",
}

_COLUMNS = """
SELECT c.oid::regclass::text AS name, c.relkind, c.relispartition,
    array_agg(a.attname::text) FILTER (WHERE a.attname = 'tenant_id' AND a.attnotnull) AS tenant
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname IN ('access', 'context', 'entity') AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
GROUP BY c.oid
"""

_UNIQUE = """
SELECT i.indrelid::regclass::text AS name, i.indexrelid::regclass::text AS index, (
    SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
) AS columns
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('access', 'context', 'entity') AND (i.indisunique OR i.indisexclusion)
"""

_FOREIGN_KEYS = """
SELECT k.conname, k.conrelid::regclass::text AS name, k.confrelid::regclass::text AS other,
    k.confdeltype, k.confupdtype, (
        SELECT array_agg(a.attname || '=' || b.attname)
        FROM unnest(k.conkey, k.confkey) AS pair (ours, theirs)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.ours
        JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = pair.theirs
    ) AS pairs
FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
WHERE k.contype = 'f' AND n.nspname IN ('access', 'context', 'entity')
"""

_TRIGGERS = """
SELECT t.tgname, t.tgrelid::regclass::text AS name
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('access', 'context', 'entity') AND NOT t.tgisinternal
"""


def ask(urls: Urls, sql: str) -> list[Any]:
    with psycopg.connect(urls.superuser, row_factory=psycopg.rows.namedtuple_row) as connection:
        return connection.execute(sql).fetchall()


def test_every_table_has_a_tenant_or_is_of_nobody(urls: Urls):
    tables = ask(urls, _COLUMNS)
    assert {table.name for table in tables if not table.tenant} - TENANT_FREE == set()
    assert len(tables) > 15


def test_whatever_is_unique_is_unique_within_a_tenant(urls: Urls):
    tenanted = [index for index in ask(urls, _UNIQUE) if index.name not in TENANT_FREE]
    assert len(tenanted) > 15
    assert [index.index for index in tenanted if "tenant_id" not in index.columns] == []


NUMBERED_OF_CONTEXT = ("action", "facet", "knowledge_document", "memory", "wiki_page_version", "wm_record")


def test_a_foreign_key_stays_within_a_tenant(urls: Urls):
    keys = ask(urls, _FOREIGN_KEYS)
    assert keys
    for key in keys:
        if key.other in TENANT_FREE:
            continue
        assert key.name not in TENANT_FREE, f"{key.conname} leads from what is of nobody to what is a tenant's"
        assert "tenant_id=tenant_id" in key.pairs, key.conname
        assert {key.confdeltype, key.confupdtype} <= {"a", "r", "c"}, f"{key.conname} would take the tenant from a row"


def test_no_sequence_is_of_all_tenants(urls: Urls):
    """It would tell each tenant how much the others write, and an import of one would move it for all."""
    shared = ask(
        urls,
        """
        SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('access', 'context', 'entity') AND c.relkind = 'S'
            AND c.oid::regclass::text !~ '^access[.]numbers_[0-9a-f]{32}$'
        """,
    )
    assert not shared


def test_a_trigger_stays_within_a_tenant(urls: Urls):
    """A new one has a line here, and `app.moving` in its condition if it makes rows of rows (`0069_moves.sql`)."""
    known = {  # all read or write rows of the same tenant
        ("bounds", "entity.edge"),  # of entity.node
        ("edges_bounded", "entity.edge"),
        ("nodes_written_noted", "entity.node"),  # of entity.change and entity.change_feed, as the others
        ("nodes_changed_noted", "entity.node"),
        ("nodes_removed_noted", "entity.node"),
        ("edges_written_noted", "entity.edge"),  # and of entity.node
        ("edges_changed_noted", "entity.edge"),
        ("edges_removed_noted", "entity.edge"),
        ("io_written_noted", "entity.node_io"),
        ("io_changed_noted", "entity.node_io"),
        ("move_embedding", "context.wm_record"),  # of context.embedding
        ("count_record", "context.wm_record"),  # of context.tenant_usage, as the others
        ("count_change", "context.wm_record"),
        ("count_part", "context.upload_part"),
        ("completed", "context.memory"),  # of this row alone
        ("not_refused", "context.memory"),  # reads what the same user has refused
        *(("numbered", f"context.{name}") for name in NUMBERED_OF_CONTEXT),  # draws from the sequence of the tenant
        ("numbered", "access.tenant"),  # makes that
        *(("numbered", f"entity.{name}") for name in ("change", "node", "progress")),
    }
    assert {(trigger.tgname, trigger.name) for trigger in ask(urls, _TRIGGERS)} == known


@pytest.mark.parametrize(
    ("sql", "claim"),
    [
        ("CREATE TABLE entity.bad (id uuid PRIMARY KEY)", test_every_table_has_a_tenant_or_is_of_nobody),
        ("CREATE UNIQUE INDEX bad ON entity.node (id)", test_whatever_is_unique_is_unique_within_a_tenant),
        (
            "CREATE UNIQUE INDEX ids ON entity.node (id);"
            "CREATE TABLE entity.bad (tenant_id uuid NOT NULL, node_id uuid REFERENCES entity.node (id))",
            test_a_foreign_key_stays_within_a_tenant,
        ),
    ],
)
def test_what_breaks_a_rule_is_found(urls: Urls, sql: str, claim: Any):
    with psycopg.connect(urls.superuser) as connection:
        connection.execute(sql)
    with pytest.raises(AssertionError):
        claim(urls)
