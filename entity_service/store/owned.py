"""The statements that count and erase the rows of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from service_runtime.postgres import Tenant, Transaction
from service_runtime.statements.requests import ERASED
from service_runtime.statements.sql_files import SqlFile

LEASE_S = 5.0  # a step that takes longer is done by two, which harms nothing

_NODES = 200  # nodes that one step removes, with all rows about them

SQL = SqlFile.of(__file__, erased=ERASED)
READ = SQL["read"]
BEGIN = SQL["begin"]
COUNT = SQL["count"]
CLAIM = SQL["claim"]
_OWED = SQL["owed"]
FIND = SQL["find"]
_LOCK = SQL["lock"]
_REMOVE_EDGES = SQL["remove_edges"]
_REMOVE_EMBEDDINGS = SQL["remove_embeddings"]
_REMOVE_NODES = SQL["remove_nodes"]
_SAY_NO_TYPES = SQL["say_no_types"]
FORGET_CHANGES = SQL["forget_changes"]
SAY_NO_OLDER_TYPES = SQL["say_no_older_types"]
RENEW = SQL["renew"]
FINISH = SQL["finish"]
REMOVE_ANSWERS = SQL["remove_answers"]
KNOWN_ERASURES = SQL["known_erasures"]
BEGIN_REPLAYED = SQL["begin_replayed"]
STILL_OPEN = SQL["still_open"]


# Columns with the name of a user in rows that the user may not own.
NAMED = {"entity.node": "created_by", "entity.progress": "created_by"}

RENAME = {table: SQL.filled("rename", table=table, column=column) for table, column in NAMED.items()}


async def oldest_owed_s(tenant: Tenant) -> float:
    """Return the age of a tenant's oldest unfinished erasure in seconds, or 0 if there is none."""
    (row,) = await tenant.query(_OWED, (tenant.tenant_id,))
    return float(row.since_s or 0.0)


async def remove_nodes(transaction: Transaction, *, ids: list[UUID], parameters: dict[str, Any]) -> None:
    """Remove nodes with their edges and embeddings, and count them on the receipt of the erasure."""
    locked = [row.id for row in await transaction.query(_LOCK, (transaction.tenant_id, ids))]
    (row,) = await transaction.query(_REMOVE_EDGES, {**parameters, "ids": locked})
    await transaction.query(_REMOVE_EMBEDDINGS, {**parameters, "ids": locked})
    await transaction.query(_REMOVE_NODES, {**parameters, "ids": locked, "edges": row.edges})
    await transaction.query(_SAY_NO_TYPES, parameters)


def batches_of_ids(ids: list[UUID]) -> Iterator[list[UUID]]:
    """Yield the ids in batches that one transaction removes."""
    for start in range(0, len(ids), _NODES):
        yield ids[start : start + _NODES]


_WHOM = {
    **{table: f"VALUES (t.{column})" for table, column in NAMED.items()},
    "entity.node": f"VALUES (t.owner_user_id), (t.{NAMED['entity.node']})",
    "entity.request": "SELECT substr(t.subject, 2) WHERE left(t.subject, 1) = '='",
}

SUBJECTS_IN = {table: SQL.filled("subjects_in", table=table, source=source) for table, source in _WHOM.items()}
