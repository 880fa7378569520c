"""The change feed of a tenant's graphs: its order never changes, and no change appears late.

Triggers record each change in the transaction that makes it, with the transaction's id. Changes are read in the order
of those ids, and only below the id of the oldest transaction that still runs. A transaction that commits later has a
higher id, so its changes come after each place that a reader has. A reader continues from its place; if it stayed away
for too long, an error tells it to start again.

A transaction that began before the feed may have written changes that the feed does not have. `ChangeFeed.start` waits
for such transactions, so that a reader of the graph finds their rows when it has the first place.

Transaction ids are comparable within one cluster only. A feed that was restored or moved into another database starts
again by itself: it removes the changes that came with it, and all earlier places expire.
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import timedelta
from typing import Any

from contextkeep.errors import ChangesExpired, ChangesHeldUp, ChangesNotStarted, ContextKeepError
from entity_service.model.changes import Change, ChangePage, ChangeQuery
from entity_service.pure.change_places import decode_place, encode_place, parts_of_place
from entity_service.store.changes import (
    FEED,
    PAGE,
    PLACE_KEY,
    START,
    STARTED,
    SWEEP,
    SWEPT_ROWS,
    oldest_transaction_s,
    restart,
)
from service_runtime.auth.tenants import Rounds
from service_runtime.postgres import Database, Row, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

_log = logging.getLogger("changes")

SWEEP_INTERVAL_S = 600.0

_SETTLE_S = 5.0

_SETTLE_POLL_S = 0.02


class ChangeFeed:
    """The changes of tenants; a reader sees those of rows that its principal may see."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, principal: Principal) -> str:
        """Keep a tenant's changes from now on, and return the place from which to read them.

        The graph has all rows that were written before that place. If the feed exists, return its current place.

        Raises:
            PermissionDenied: there is no feed yet, and the principal's key is bound, so that it cannot start one.
            ChangesHeldUp: a write that began before this call is still under way.
        """
        tenant = self._database.of(principal)
        give_up_at = time.monotonic() + _SETTLE_S
        while True:
            row = await self._feed(tenant)
            if row and row.is_settled:
                return encode_place(tenant.tenant_id, row, row.below, 0)
            if not row:
                await tenant.query(START)
            if not (row and row.is_started):
                await tenant.query(STARTED)
            elif time.monotonic() > give_up_at:
                raise await _held_up_error(tenant)
            else:
                await asyncio.sleep(_SETTLE_POLL_S)

    async def page(self, principal: Principal, query: ChangeQuery) -> ChangePage:
        """Return the changes after a place.

        Raises:
            ChangesNotStarted: `start` was not called, or has not ended yet.
            ChangesExpired: changes after the place were deleted, or the place is from before a restore.
            InvalidPageToken: the place is malformed or belongs to another tenant.
        """
        tenant = self._database.of(principal)
        if not query.place:
            row = await self._feed(tenant)
            if not row:
                raise _not_started()
            if not row.is_settled:
                raise await _starting(tenant)
            return ChangePage([], encode_place(tenant.tenant_id, row, row.below, 0), has_more=False)
        parts_of_place(tenant.tenant_id, query.place)  # refuse a malformed place even if there is no feed
        feeds = await tenant.query(PLACE_KEY)
        if not feeds:
            raise _not_started()
        place = decode_place(tenant.tenant_id, feeds[0].place_key, query.place)
        parameters = {"rows": query.page_size + 1, **place}
        rows = await tenant.query(PAGE, parameters)
        if not rows:
            raise _not_started()
        if rows[0].is_foreign:
            await restart(self._database.tenant(tenant.tenant_id))
        if rows[0].is_foreign or rows[0].is_expired:
            raise _expired()
        if rows[0].is_starting:
            raise await _starting(tenant)
        changed_rows = [row for row in rows if row.id is not None]
        read = changed_rows[: query.page_size]
        has_more = len(changed_rows) > len(read)
        last = read[-1] if has_more else None
        transaction_id, number = (last.transaction_id, last.seq) if last else (rows[0].below, 0)
        return ChangePage(
            _last_changes(read), encode_place(tenant.tenant_id, rows[0], transaction_id, number), has_more
        )

    async def _feed(self, tenant: Tenant) -> Row | None:
        """Return a tenant's feed, or None without one; restart it first if it came from another database."""
        rows = await tenant.query(FEED)
        if rows and rows[0].is_foreign:
            await restart(self._database.tenant(tenant.tenant_id))
            rows = await tenant.query(FEED)
        return rows[0] if rows else None


class ChangeSweep:
    """Deletes old changes of all tenants. All replicas may run it.

    Args:
        database: The database whose tenants' changes are deleted.
        kept: Age at which a change is deleted.
        kept_max: Number of changes to keep of a tenant; older ones are deleted.
    """

    def __init__(self, database: Database, *, kept: timedelta, kept_max: int) -> None:
        self._rounds = Rounds(database, self._sweep)
        self._limits = {"kept": kept, "kept_max": kept_max, "rows": SWEPT_ROWS}

    async def once(self) -> None:
        """Delete the old changes of every tenant once; a failure is logged, and the next round tries again."""
        try:
            await self._rounds.run()
        except ContextKeepError as error:
            _log.warning("sweep of changes failed", extra={"error": str(error)})

    async def _sweep(self, tenant: Tenant) -> tuple[int, bool]:
        await restart(tenant)
        (row,) = await tenant.query(SWEEP, {**self._limits})
        return row.count, row.count == SWEPT_ROWS

    async def keep_sweeping(self) -> None:
        """Delete old changes every `SWEEP_INTERVAL_S`, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_S)
            await self.once()


def _last_changes(rows: list[Any]) -> list[Change]:
    """Return only the last change of each node and edge, in the order of the rows."""
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
    """Return the error for a reader of a feed that was started, and still waits for writes that began earlier."""
    age_s = await oldest_transaction_s(tenant)
    return ChangesNotStarted(_waits_for(age_s), oldest_transaction_s=age_s)


async def _held_up_error(tenant: Tenant) -> ChangesHeldUp:
    """Return the error for a start that has waited too long for writes that began earlier."""
    age_s = await oldest_transaction_s(tenant)
    return ChangesHeldUp(_waits_for(age_s), dependency="postgres", retry_after_s=1.0, oldest_transaction_s=age_s)


def _waits_for(age_s: float) -> str:
    """Return the text that says why changes are not listed yet: an older transaction is open."""
    return (
        "changes are listed once every transaction has ended that began before: the oldest one, of any tenant or "
        f"database of this Postgres cluster, {f'has been open for {age_s:.0f} s' if age_s else 'is still open'}; try "
        "again after it, or see pg_stat_activity"
    )
