"""What changed in a tenant's graphs, in an order in which nothing comes late.

Triggers write each change in its own transaction, with the transaction's id. Changes are read in the order of those
ids, below the oldest transaction that still runs: whatever commits later has a higher id, and so stands behind every
place that a reader was given. A reader goes on from its place; one that stayed away for too long is told to begin anew.

Who began to write before the feed was there may not have seen it. `ChangeFeed.start` waits for them, so that what they
wrote is there to be read when the first place is given.

Transaction ids count in one cluster only. A feed that was restored, or moved, into another database starts again by
itself: it removes the changes that came with it, and all places from before are expired.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import struct
import time
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from contextkeep.errors import ChangesExpired, ChangesHeldUp, ChangesNotStarted, ContextKeepError, InvalidPageToken
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.pages import decode_token, encode_token
from service_runtime.postgres import Database, Row, Tenant
from service_runtime.tenants import Rounds

_log = logging.getLogger("changes")

SWEEP_INTERVAL_S = 600.0
SWEPT_ROWS = 10_000  # of one statement
_SETTLE_S = 5.0
_SETTLE_POLL_S = 0.02
_ORIGIN_CHARS = 16
_NONCE_BYTES = 12
_NUMBERS = struct.Struct(">QQ")  # a transaction's id, and the number in it

# A feed `f` that was started in another database, or in this one before it was put back from a copy.
_IS_FOREIGN = """
(f.origin <> entity.change_origin() OR (f.started_below > pg_snapshot_xmax(pg_current_snapshot())) IS TRUE)
"""

_FEED = f"""
SELECT
    {_IS_FOREIGN} AS is_foreign, f.origin, f.place_key,
    (f.started_below <= pg_snapshot_xmax(pg_current_snapshot())) IS TRUE AS is_started,
    (f.started_below <= pg_snapshot_xmin(pg_current_snapshot())) IS TRUE AS is_settled,
    pg_snapshot_xmin(pg_current_snapshot())::text AS below
FROM entity.change_feed f
WHERE f.tenant_id = %(tenant_id)s
"""  # noqa: S608 - a constant
_PLACE_KEY = "SELECT f.place_key FROM entity.change_feed f WHERE f.tenant_id = %(tenant_id)s"
_START = "INSERT INTO entity.change_feed (tenant_id) VALUES (%(tenant_id)s) ON CONFLICT DO NOTHING"

# In a transaction after that of `_START`.
_STARTED = """
UPDATE entity.change_feed f
SET started_below = pg_snapshot_xmax(pg_current_snapshot())
WHERE f.tenant_id = %(tenant_id)s AND f.started_below IS NULL
"""

# The row of the feed is the lock: a replica that comes second finds a feed that has started again, and removes nothing.
_FORGET = f"""
WITH feed AS (
    SELECT f.tenant_id FROM entity.change_feed f
    WHERE f.tenant_id = %(tenant_id)s AND {_IS_FOREIGN}
    FOR UPDATE
), oldest AS (
    SELECT c.transaction_id, c.seq
    FROM feed
    CROSS JOIN LATERAL (
        SELECT c.transaction_id, c.seq
        FROM entity.change c
        WHERE c.tenant_id = %(tenant_id)s
        ORDER BY c.transaction_id, c.seq
        LIMIT %(rows)s
    ) c
), gone AS (
    DELETE FROM entity.change c
    USING oldest o
    WHERE c.tenant_id = %(tenant_id)s AND c.transaction_id = o.transaction_id AND c.seq = o.seq
    RETURNING c.seq
)
SELECT count(*) AS count FROM gone
"""  # noqa: S608
_RESTART = f"""
UPDATE entity.change_feed f
SET origin = entity.change_origin(), started_at = now(), started_below = pg_snapshot_xmax(pg_current_snapshot()),
    forgotten_transaction_id = '0', forgotten_seq = 0
WHERE f.tenant_id = %(tenant_id)s AND {_IS_FOREIGN}
RETURNING f.tenant_id
"""  # noqa: S608

# The transaction that holds the list up: the oldest that has an id. Of other roles Postgres shows no age.
_OLDEST = """
WITH oldest AS (SELECT pg_snapshot_xmin(pg_current_snapshot())::xid AS id)
SELECT a.pid, extract(epoch FROM clock_timestamp() - a.xact_start)::double precision AS age_s
FROM pg_stat_activity a, oldest
WHERE a.backend_xid = oldest.id
UNION ALL
SELECT NULL, extract(epoch FROM clock_timestamp() - p.prepared)::double precision
FROM pg_prepared_xacts p, oldest
WHERE p.transaction = oldest.id
"""

# One snapshot says what is forgotten, up to where nothing comes late, and what changed until there.
_PAGE = f"""
SELECT
    f.below::text AS below, f.is_foreign, f.origin, f.place_key,
    f.started_below IS NULL OR f.started_below > f.below AS is_starting,
    f.origin <> %(origin)s OR %(after_transaction_id)s::text::xid8 > f.ends
        OR (f.forgotten_transaction_id, f.forgotten_seq)
            > (%(after_transaction_id)s::text::xid8, %(after_seq)s::bigint) AS is_expired,
    c.transaction_id::text AS transaction_id, c.seq, c.id::text AS id, c.from_node_id::text AS from_node_id,
    c.to_node_id::text AS to_node_id, c.is_removed, c.graph_name, c.general_type_name, c.specific_type_name,
    (extract(epoch FROM c.changed_at) * 1000000)::bigint AS changed_at
FROM (
    SELECT
        f.origin, f.place_key, f.started_below, f.forgotten_transaction_id, f.forgotten_seq,
        {_IS_FOREIGN} AS is_foreign,
        pg_snapshot_xmin(pg_current_snapshot()) AS below, pg_snapshot_xmax(pg_current_snapshot()) AS ends
    FROM entity.change_feed f
    WHERE f.tenant_id = %(tenant_id)s
) f
LEFT JOIN LATERAL (
    SELECT
        c.transaction_id, c.seq, c.id, c.from_node_id, c.to_node_id, c.is_removed, c.graph_name, c.general_type_name,
        c.specific_type_name, c.changed_at
    FROM entity.change c
    WHERE c.tenant_id = %(tenant_id)s AND c.transaction_id < f.below
        AND (c.transaction_id, c.seq) > (%(after_transaction_id)s::text::xid8, %(after_seq)s::bigint)
    ORDER BY c.transaction_id, c.seq
    LIMIT %(rows)s
) c ON true
ORDER BY c.transaction_id, c.seq
"""  # noqa: S608

# The oldest, as long as each is too old, and those that are too many. What another replica sweeps is passed over.
_SWEEP = """
WITH feed AS (
    SELECT f.tenant_id, pg_snapshot_xmin(pg_current_snapshot()) AS below
    FROM entity.change_feed f
    WHERE f.tenant_id = %(tenant_id)s
    FOR UPDATE SKIP LOCKED
), oldest AS (
    SELECT
        c.transaction_id, c.seq,
        bool_and(c.changed_at < now() - %(kept)s) OVER (ORDER BY c.transaction_id, c.seq) AS is_old
    FROM feed
    CROSS JOIN LATERAL (
        SELECT c.transaction_id, c.seq, c.changed_at
        FROM entity.change c
        WHERE c.tenant_id = %(tenant_id)s AND c.transaction_id < feed.below
        ORDER BY c.transaction_id, c.seq
        LIMIT %(rows)s
    ) c
), too_many AS (
    SELECT c.transaction_id, c.seq
    FROM entity.change c
    WHERE c.tenant_id = %(tenant_id)s
    ORDER BY c.transaction_id DESC, c.seq DESC
    OFFSET %(kept_max)s
    LIMIT 1
), last AS (
    SELECT o.transaction_id, o.seq
    FROM oldest o
    LEFT JOIN too_many t ON true
    WHERE o.is_old OR (o.transaction_id, o.seq) <= (t.transaction_id, t.seq)
    ORDER BY o.transaction_id DESC, o.seq DESC
    LIMIT 1
), forgotten AS (
    UPDATE entity.change_feed f
    SET forgotten_transaction_id = last.transaction_id, forgotten_seq = last.seq
    FROM last
    WHERE f.tenant_id = %(tenant_id)s
), gone AS (
    DELETE FROM entity.change c
    USING last
    WHERE c.tenant_id = %(tenant_id)s AND (c.transaction_id, c.seq) <= (last.transaction_id, last.seq)
    RETURNING c.seq
)
SELECT count(*) AS count FROM gone
"""


class ChangeQuery(NamedTuple):
    """What a reader asks for."""

    place: str  # empty: it asks where to begin
    page_size: int


class Change(NamedTuple):
    """What became of a node or an edge."""

    id: str
    is_removed: bool
    graph_name: str
    general_type_name: str  # of an edge: its type
    specific_type_name: str
    from_node_id: str | None  # None: it is a node
    to_node_id: str | None
    changed_at: int  # microseconds since 1970


class ChangePage(NamedTuple):
    """Changes in their order, each node and each edge once, and where to go on."""

    changes: list[Change]
    next_place: str
    has_more: bool


class ChangeFeed:
    """The changes of tenants; what is read is what the principal may see."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, principal: Principal) -> str:
        """Keep a tenant's changes from now on, and return the place from which to read them.

        Whatever was written before is there to be read. Of a feed that is there, it is the place that is reached now.

        Raises:
            PermissionDenied: there is none yet, and the principal is bound.
            ChangesHeldUp: a write that began before this is still under way.
        """
        tenant = self._database.of(principal)
        give_up_at = time.monotonic() + _SETTLE_S
        while True:
            row = await self._feed(tenant)
            if row and row.is_settled:
                return encode_place(tenant.tenant_id, row, row.below, 0)
            if not row:
                await tenant.query(_START)
            if not (row and row.is_started):
                await tenant.query(_STARTED)
            elif time.monotonic() > give_up_at:
                raise await _held_up(tenant)
            else:
                await asyncio.sleep(_SETTLE_POLL_S)

    async def page(self, principal: Principal, query: ChangeQuery) -> ChangePage:
        """Return what changed after a place.

        Raises:
            ChangesNotStarted: `start` was not called, or has not ended yet.
            ChangesExpired: changes after the place are forgotten, or the place is from before a restore.
            InvalidPageToken: the place is of another tenant, or none.
        """
        tenant = self._database.of(principal)
        if not query.place:
            row = await self._feed(tenant)
            if not row:
                raise _not_started()
            if not row.is_settled:
                raise await _starting(tenant)
            return ChangePage([], encode_place(tenant.tenant_id, row, row.below, 0), has_more=False)
        _parts(tenant.tenant_id, query.place)  # a malformed one is refused whether there is a feed or not
        feeds = await tenant.query(_PLACE_KEY)
        if not feeds:
            raise _not_started()
        place = decode_place(tenant.tenant_id, feeds[0].place_key, query.place)
        parameters = {"rows": query.page_size + 1, **place}
        rows = await tenant.query(_PAGE, parameters)
        if not rows:
            raise _not_started()
        if rows[0].is_foreign:
            await restart(self._database.tenant(tenant.tenant_id))
        if rows[0].is_foreign or rows[0].is_expired:
            raise _expired()
        if rows[0].is_starting:
            raise await _starting(tenant)
        found = [row for row in rows if row.id is not None]
        read = found[: query.page_size]
        has_more = len(found) > len(read)
        last = read[-1] if has_more else None
        transaction_id, number = (last.transaction_id, last.seq) if last else (rows[0].below, 0)
        return ChangePage(_merged(read), encode_place(tenant.tenant_id, rows[0], transaction_id, number), has_more)

    async def _feed(self, tenant: Tenant) -> Row | None:
        """Return a tenant's feed, which has started again if it was restored or moved; None if there is none."""
        rows = await tenant.query(_FEED)
        if rows and rows[0].is_foreign:
            await restart(self._database.tenant(tenant.tenant_id))
            rows = await tenant.query(_FEED)
        return rows[0] if rows else None


async def restart(tenant: Tenant) -> None:
    """Start a feed again that was restored, or moved, into another database; any other is left alone.

    Changes that came with it are removed: their order means nothing here. Others write to the list meanwhile. Those of
    their changes that are removed as well were committed, so whoever reads everything after a new place finds them.
    """
    parameters = {"rows": SWEPT_ROWS}
    count = SWEPT_ROWS
    while count == SWEPT_ROWS:
        (row,) = await tenant.query(_FORGET, parameters)
        count = row.count
    if await tenant.query(_RESTART, parameters):
        _log.warning("changes start again in another database", extra={"tenant_id": str(tenant.tenant_id)})


class ChangeSweep:
    """Forgets changes, of all tenants. Replicas may all do it: they take turns with each tenant.

    Args:
        database: Of the tenants.
        kept: How long a change is kept.
        kept_max: How many of a tenant are.
    """

    def __init__(self, database: Database, *, kept: timedelta, kept_max: int) -> None:
        self._rounds = Rounds(database, self._sweep)
        self._limits = {"kept": kept, "kept_max": kept_max, "rows": SWEPT_ROWS}

    async def once(self) -> None:
        """Sweep every tenant; what fails is tried again next time."""
        try:
            await self._rounds.run()
        except ContextKeepError as error:
            _log.warning("sweep of changes failed", extra={"error": str(error)})

    async def _sweep(self, tenant: Tenant) -> tuple[int, bool]:
        await restart(tenant)
        (row,) = await tenant.query(_SWEEP, {**self._limits})
        return row.count, row.count == SWEPT_ROWS

    async def keep_sweeping(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_S)
            await self.once()


def _merged(rows: list[Any]) -> list[Change]:
    """Return the last change of each node and edge, in the order of those."""
    last: dict[tuple[str, bool], Change] = {}
    for row in rows:
        key = (row.id, row.from_node_id is None)
        last.pop(key, None)
        last[key] = copied(Change, row)
    return list(last.values())


def _not_started() -> ChangesNotStarted:
    return ChangesNotStarted("the tenant's changes are not kept yet: StartChanges begins it")


def _expired() -> ChangesExpired:
    return ChangesExpired("changes after this place are forgotten: take a new place, then read everything again")


async def _starting(tenant: Tenant) -> ChangesNotStarted:
    """Return the error of a list that was started, and waits for writes that began before."""
    age_s = await _oldest_s(tenant)
    return ChangesNotStarted(_waits_for(age_s), oldest_transaction_s=age_s)


async def _held_up(tenant: Tenant) -> ChangesHeldUp:
    """Return the error of a start that waits for writes that began before."""
    age_s = await _oldest_s(tenant)
    return ChangesHeldUp(_waits_for(age_s), dependency="postgres", retry_after_s=1.0, oldest_transaction_s=age_s)


async def _oldest_s(tenant: Tenant) -> float:
    """Return how long the oldest transaction has been open, and log which one it is; 0: Postgres does not show it."""
    oldest = await tenant.query(_OLDEST)
    pid, age_s = oldest[0] if oldest else (None, None)
    _log.warning("changes held up", extra={"pid": pid, "age_s": age_s})
    return round(age_s or 0.0, 3)


def _waits_for(age_s: float) -> str:
    return (
        "changes are listed once every transaction has ended that began before: the oldest one, of any tenant or "
        f"database of this Postgres cluster, {f'has been open for {age_s:.0f} s' if age_s else 'is still open'}; try "
        "again after it, or see pg_stat_activity"
    )


def encode_place(tenant_id: UUID, feed: Row, transaction_id: str, seq: int) -> str:
    """Return a place in a feed. Its numbers are hidden: a transaction's id tells how much all tenants write."""
    nonce = os.urandom(_NONCE_BYTES)
    numbers = _hidden(feed.place_key, nonce, _NUMBERS.pack(int(transaction_id), seq))
    return encode_token(("ListChanges", tenant_id), [(nonce + numbers).hex(), feed.origin])


def decode_place(tenant_id: UUID, place_key: bytes, place: str) -> dict[str, object]:
    """Return where a reader is: the transaction, the number in it, and the database that both are of.

    Raises:
        InvalidPageToken: it is of another tenant, or none.
    """
    data, origin = _parts(tenant_id, place)
    numbers = _NUMBERS.unpack(_hidden(place_key, data[:_NONCE_BYTES], data[_NONCE_BYTES:]))
    if not all(number < 2**63 for number in numbers):
        raise InvalidPageToken("place is malformed", field="place")
    return {"after_transaction_id": str(numbers[0]), "after_seq": numbers[1], "origin": origin}


def _parts(tenant_id: UUID, place: str) -> tuple[bytes, str]:
    """Return the hidden part of a place, and its database.

    Raises:
        InvalidPageToken: it is of another tenant, or none.
    """
    hidden, origin = decode_token(("ListChanges", tenant_id), place, parts=2, field="place") or ["", ""]
    try:
        data = bytes.fromhex(hidden)
    except (TypeError, ValueError):
        data = b""
    if len(data) != _NONCE_BYTES + _NUMBERS.size or not _is_origin(origin):
        raise InvalidPageToken("place is malformed", field="place")
    return data, origin


def _hidden(place_key: bytes, nonce: bytes, numbers: bytes) -> bytes:
    """Return numbers hidden, or hidden ones shown."""
    pad = hashlib.blake2b(nonce, key=place_key, digest_size=_NUMBERS.size).digest()
    return bytes(one ^ other for one, other in zip(numbers, pad, strict=True))


def _is_origin(value: object) -> bool:
    return (type(value) is str and len(value) <= _ORIGIN_CHARS and value.isalnum()) or value == ""
