"""Nodes whose owner is forgotten: counted, and removed for good in steps that hold up nobody.

A row says what is owed, so whoever dies in between leaves it to the next; a replica that is at one holds it for
`LEASE_S`, and renews that. Tables are read once, some pages of them at a time: no write pays for an index by owner.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from contextkeep.errors import ErasureNotFound, PermissionDenied
from service_runtime import background
from service_runtime.auth import USER_ID_CHARS_MAX, Principal
from service_runtime.checks import check_text
from service_runtime.erased_users import end_keys, rename_in_calls
from service_runtime.long_work import STEP_S, LongWork, Pause, Work
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.requests import ERASED
from service_runtime.table_pages import pages_of
from service_runtime.tenants import Rounds

_log = logging.getLogger("owned")

INTERVAL_S = 60.0
LEASE_S = 5.0  # a step that takes longer is done by two, which harms nothing
AT_ONCE = 2  # subjects, each of another tenant: one of whom there is much takes long
_NODES = 200  # of a step, with all that hangs on them

_COLUMNS = "nodes_removed AS nodes, edges_removed AS edges, answers_removed AS answers, names_replaced AS names"
_READ = f"SELECT {_COLUMNS}, finished_at FROM entity.erasure WHERE tenant_id = %s AND erasure_id = %s"  # noqa: S608
_BEGIN = """
INSERT INTO entity.erasure (tenant_id, erasure_id, subject) VALUES (%s, %s, %s)
ON CONFLICT (tenant_id, erasure_id) DO NOTHING
"""
_COUNT = """
WITH owned AS MATERIALIZED (
    SELECT id FROM entity.node WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s
)
SELECT (SELECT count(*) FROM owned) AS nodes,
    (
        SELECT count(*) FROM (
            SELECT e.id FROM owned JOIN entity.edge e ON e.tenant_id = %(tenant_id)s AND e.from_node_id = owned.id
            UNION
            SELECT e.id FROM owned JOIN entity.edge e ON e.tenant_id = %(tenant_id)s AND e.to_node_id = owned.id
        ) either
    ) AS edges,
    (SELECT count(*) FROM entity.request WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s) AS answers,
    0::bigint AS names, NULL::timestamptz AS finished_at
"""
_CLAIM = """
WITH due AS (
    SELECT erasure_id FROM entity.erasure
    WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND due_at <= now()
    ORDER BY created_at LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE entity.erasure e SET due_at = now() + %(lease)s FROM due
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = due.erasure_id
RETURNING e.erasure_id, e.subject
"""
_OWED = """
SELECT extract(epoch FROM now() - min(created_at))::float AS since_s FROM entity.erasure
WHERE tenant_id = %s AND finished_at IS NULL
"""
_FIND = """
SELECT id FROM entity.node
WHERE ctid >= %(first)s::tid AND ctid < %(behind)s::tid AND tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s
"""
_LOCK = "SELECT id FROM entity.node WHERE tenant_id = %s AND id = ANY (%s) ORDER BY id FOR UPDATE"
# No new edge can come: it would have to lock the node that is locked. Each side is an index scan of its own.
_REMOVE_EDGES = """
WITH gone AS (
    DELETE FROM entity.edge
    WHERE tenant_id = %(tenant_id)s AND (from_node_id = ANY (%(ids)s) OR to_node_id = ANY (%(ids)s))
    RETURNING true
)
SELECT count(*) AS edges FROM gone
"""
_REMOVE_EMBEDDINGS = """
DELETE FROM entity.embedding WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = ANY (%(ids)s)
"""
# Input, output and timeline go with it, by their foreign keys.
_REMOVE_NODES = """
WITH gone AS (DELETE FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s) RETURNING true)
UPDATE entity.erasure SET nodes_removed = nodes_removed + (SELECT count(*) FROM gone),
    edges_removed = edges_removed + %(edges)s, due_at = now() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""
# Types are words of whoever wrote the node. The changes are those of this transaction; a reader knows a node by its id.
_SAY_NO_TYPES = """
UPDATE entity.change SET general_type_name = '', specific_type_name = ''
WHERE tenant_id = %(tenant_id)s AND transaction_id = pg_current_xact_id()
"""
_OF_WHAT_IS_GONE = """
    c.ctid >= %(first)s::tid AND c.ctid < %(behind)s::tid AND c.tenant_id = %(tenant_id)s
    AND NOT EXISTS (SELECT FROM entity.node n WHERE n.tenant_id = c.tenant_id AND n.id = c.id)
    AND NOT EXISTS (SELECT FROM entity.edge e WHERE e.tenant_id = c.tenant_id AND e.id = c.id)
"""
# What was said of nodes and edges while they were there: that they are gone is said behind it.
_FORGET_CHANGES = f"DELETE FROM entity.change c WHERE {_OF_WHAT_IS_GONE} AND NOT c.is_removed"  # noqa: S608
# And of those that went before: nothing says whose they were.
_SAY_NO_OLDER_TYPES = f"""
UPDATE entity.change c SET general_type_name = '', specific_type_name = ''
WHERE {_OF_WHAT_IS_GONE} AND c.is_removed AND c.general_type_name <> ''
"""  # noqa: S608


def _counting(counter: str, gone: str) -> str:
    """Return a statement that does something to some pages of a table, and counts it on the receipt."""
    return f"""
        WITH gone AS ({gone} RETURNING true), counted AS (SELECT count(*) AS rows FROM gone)
        UPDATE entity.erasure SET {counter} = {counter} + counted.rows, due_at = now() + %(lease)s
        FROM counted
        WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s AND counted.rows > 0
    """  # noqa: S608


_PAGES = "ctid >= %(first)s::tid AND ctid < %(behind)s::tid AND tenant_id = %(tenant_id)s"
_REMOVE_ANSWERS = _counting(
    "answers_removed",
    f"UPDATE entity.request SET {ERASED} WHERE {_PAGES} AND subject = '=' || %(subject)s",  # noqa: S608
)
# Where rows of others say who wrote them.
NAMED = {"entity.node": "created_by", "entity.progress": "created_by"}
_RENAME = {
    table: _counting(
        "names_replaced",
        f"UPDATE {table} SET {column} = %(pseudonym)s WHERE {_PAGES} AND {column} = %(subject)s",  # noqa: S608
    )
    for table, column in NAMED.items()
}
_RENEW = """
UPDATE entity.erasure SET due_at = now() + %(lease)s WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""
_FINISH = """
UPDATE entity.erasure SET finished_at = now(), subject = NULL
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """What there is of what a user owns, or is removed of it."""

    nodes: int
    edges: int
    answers: int
    names: int
    finished_at: datetime | None


class OwnedNodes:
    """Counts what users own, begins to erase it, and says how far that is."""

    def __init__(self, database: Database, eraser: OwnedEraser) -> None:
        self._database = database
        self._eraser = eraser

    async def count(self, subject: str, *, principal: Principal) -> Owned:
        """Return what there is of a user's.

        Raises:
            PermissionDenied: the key is bound.
        """
        _check(subject, principal)
        door = self._database.of(principal)
        (row,) = await door.query(_COUNT, {"subject": subject})
        return Owned(**row._asdict())

    async def erase(self, erasure_id: UUID, subject: str, *, principal: Principal) -> Owned:
        """Begin an erasure, unless it is begun, and return how far it is.

        Raises:
            PermissionDenied: the key is bound.
        """
        _check(subject, principal)
        door = self._database.of(principal)
        await door.query(_BEGIN, (door.tenant_id, erasure_id, subject))
        self._eraser.wake()
        return await self.receipt(erasure_id, principal=principal)

    async def receipt(self, erasure_id: UUID, *, principal: Principal) -> Owned:
        """Return how far an erasure is.

        Raises:
            ErasureNotFound: there is none.
        """
        door = self._database.of(principal)
        rows = await door.query(_READ, (door.tenant_id, erasure_id))
        if not rows:
            raise ErasureNotFound("there is no such erasure", erasure_id=erasure_id)
        return Owned(**rows[0]._asdict())


class OwnedEraser:
    """Removes what is owed; any number of replicas may.

    Args:
        database: Where it is.
        step_s: What a tenant's erasures take before it is the next tenant's turn.
    """

    def __init__(self, database: Database, *, step_s: float = STEP_S) -> None:
        self._database = database
        self._step_s = step_s
        self._wake = asyncio.Event()
        self.pending_s = 0.0  # since the oldest is owed, as the last pass knew; 0: none is

    def wake(self) -> None:
        """Let `keep_erasing` look at once."""
        self._wake.set()

    async def keep_erasing(self, *, failed: Callable[[], object]) -> None:
        """Erase what is due until cancelled; replicas that start together drift apart.

        Args:
            failed: Called for each pass that breaks off.
        """
        while True:
            self._wake.clear()
            is_owed = await background.attempted(self.erase_due, "erasing", otherwise=True, failed=failed)
            look_again_s = LEASE_S if is_owed else background.apart(INTERVAL_S, 0.5, 1.0)
            try:
                async with asyncio.timeout(look_again_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def erase_due(self) -> bool:
        """Do one pass over all tenants; say whether something is left, which another replica is at.

        Raises:
            Unavailable: Postgres does not answer.
        """
        pending_s = 0.0

        async def erase_some(tenant: Tenant) -> tuple[int, bool]:
            nonlocal pending_s
            owed_s = await _owed_s(tenant)
            self.pending_s = max(self.pending_s, owed_s)  # after the wait, in which another step may have set it
            if await work.step(tenant, partial(self._next, tenant)):
                return 1, True
            owed_s = await _owed_s(tenant)
            pending_s = max(pending_s, owed_s)
            return 0, False

        async with LongWork(self._step_s) as work:
            await Rounds(self._database, erase_some, at_once=AT_ONCE).run()
        self.pending_s = pending_s
        return pending_s > 0

    async def _next(self, tenant: Tenant) -> Work | None:
        """Claim an erasure of a tenant, and return the work that does it; None: none is due."""
        named = {"tenant_id": tenant.tenant_id, "lease": timedelta(seconds=LEASE_S)}
        due = await tenant.query(_CLAIM, named)
        if not due:
            return None
        erasing = {**named, **due[0]._asdict()}

        async def erase(pause: Pause) -> None:
            # Also while it waits for the next turn.
            async with background.renewing(partial(tenant.query, _RENEW, erasing), lease_s=LEASE_S):
                await self._erase(tenant, erasing, pause)
            _log.info("erased", extra={"erasure_id": due[0].erasure_id})

        return erase

    async def _erase(self, tenant: Tenant, named: dict[str, Any], pause: Pause) -> None:
        named["pseudonym"] = f"erased:{named['erasure_id']}"
        await end_keys(tenant, named["subject"])
        await rename_in_calls(tenant, named["subject"], named["pseudonym"], pause=pause)
        while await self._remove_nodes(tenant, named, pause):
            pass
        for table, statement in (
            ("entity.request", _REMOVE_ANSWERS),
            *_RENAME.items(),
            ("entity.change", _FORGET_CHANGES),
            ("entity.change", _SAY_NO_OLDER_TYPES),
        ):
            async for pages in pages_of(tenant, table, pause=pause):
                await tenant.query(statement, {**named, **pages})
        await tenant.query(_FINISH, named)

    async def _remove_nodes(self, tenant: Tenant, named: dict[str, Any], pause: Pause) -> bool:
        """Remove the nodes that a reading of the table finds; False: there was none."""
        has_found = False
        async for pages in pages_of(tenant, "entity.node", pause=pause):
            found = [row.id for row in await tenant.query(_FIND, {**named, **pages})]
            has_found |= bool(found)
            for ids in _batches(found):
                began = time.monotonic()
                await tenant.transaction(partial(_remove, ids=ids, named=named))
                await asyncio.sleep(time.monotonic() - began)  # as long again for those who wait for an answer
                await pause()
        return has_found


async def _owed_s(tenant: Tenant) -> float:
    """Return since when the oldest erasure of a tenant is owed; 0: none is."""
    (row,) = await tenant.query(_OWED, (tenant.tenant_id,))
    return float(row.since_s or 0.0)


async def _remove(transaction: Transaction, *, ids: list[UUID], named: dict[str, Any]) -> None:
    locked = [row.id for row in await transaction.query(_LOCK, (transaction.tenant_id, ids))]
    (row,) = await transaction.query(_REMOVE_EDGES, {**named, "ids": locked})
    await transaction.query(_REMOVE_EMBEDDINGS, {**named, "ids": locked})
    await transaction.query(_REMOVE_NODES, {**named, "ids": locked, "edges": row.edges})
    await transaction.query(_SAY_NO_TYPES, named)


def _batches(ids: list[UUID]) -> Iterator[list[UUID]]:
    for start in range(0, len(ids), _NODES):
        yield ids[start : start + _NODES]


def _check(subject: str, principal: Principal) -> None:
    if principal.bounds:
        raise PermissionDenied("the key is bound, and a subject is erased within the whole tenant")
    check_text("subject", subject, chars_max=USER_ID_CHARS_MAX, required=True)
