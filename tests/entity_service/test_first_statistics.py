"""Postgres knows the tables of a new database before they are large."""

from __future__ import annotations

import psycopg
import pytest

from entity_service.rules.first_statistics import FirstStatistics
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import Urls
from tests.entity_service.graph import Graph, node
from tests.entity_service.test_walk_plan import generic_plan, know

FEW = 1000
NODE_OF_AN_EDGE = (
    "SELECT 1 FROM ONLY entity.node x WHERE x.tenant_id = %(tenant_id)s AND x.id = %(id)s FOR KEY SHARE OF x"
)


async def test_a_foreign_key_is_looked_up_by_its_key_once_there_are_some_rows(
    graph: Graph, database: Database, urls: Urls
):
    """Of a new table Postgres thinks that an index of all that a tenant has is as good."""
    with psycopg.connect(urls.superuser, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        know(connection, analyzed=False)
        await graph.write(*[node() for _ in range(FEW)])

        await FirstStatistics(database).once()

        parameters = {"tenant_id": DEFAULT_TENANT_ID, "id": DEFAULT_TENANT_ID}
        assert "node_pkey" in generic_plan(connection, NODE_OF_AN_EDGE, parameters)


@pytest.mark.parametrize(("rows", "known"), [(0, False), (FEW - 1, False), (FEW, True)])
async def test_a_table_of_few_rows_is_not_known_yet(
    graph: Graph, database: Database, urls: Urls, rows: int, known: bool
):
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        know(connection, analyzed=False)
        await graph.write(*[node() for _ in range(rows)])

        # Beside it there may be another database, of which nothing is known yet.
        assert await FirstStatistics(database).once() is (known and urls.all == [urls])

        (count,) = connection.execute(
            "SELECT count(*) FROM pg_statistic WHERE starelid = 'entity.node'::regclass"
        ).fetchone()
        assert bool(count) is known


async def test_a_database_that_is_not_migrated_yet_is_waited_for(database: Database, urls: Urls):
    """Services may start before the migration, and stay up."""
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute("ALTER FUNCTION entity.analyze_new_tables RENAME TO later")

        assert not await FirstStatistics(database).once()
