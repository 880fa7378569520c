"""The statements of the change feed."""

from __future__ import annotations

import logging

from service_runtime.postgres import Tenant
from service_runtime.statements.sql_files import SqlFile

_log = logging.getLogger("changes")

SWEPT_ROWS = 10_000  # rows that one statement deletes

SQL = SqlFile.of(__file__)
FEED = SQL["feed"]
PLACE_KEY = SQL["place_key"]
START = SQL["start"]
STARTED = SQL["started"]
_FORGET = SQL["forget"]
_RESTART = SQL["restart"]
_OLDEST = SQL["oldest"]
PAGE = SQL["page"]
SWEEP = SQL["sweep"]


async def restart(tenant: Tenant) -> None:
    """Restart a feed that was restored or moved into another database; leave any other feed alone.

    The changes that came with the feed are removed, since their order means nothing in this database. Other calls write
    to the feed meanwhile, and some of their changes may be removed as well. Those calls are committed, so a reader that
    gets a new place and then reads the whole graph finds their rows.
    """
    parameters = {"rows": SWEPT_ROWS}
    count = SWEPT_ROWS
    while count == SWEPT_ROWS:
        (row,) = await tenant.query(_FORGET, parameters)
        count = row.count
    if await tenant.query(_RESTART, parameters):
        _log.warning("change log starts again in another database", extra={"tenant_id": str(tenant.tenant_id)})


async def oldest_transaction_s(tenant: Tenant) -> float:
    """Return how long the oldest transaction has been open, and log its facts; return 0 if Postgres shows none."""
    oldest = await tenant.query(_OLDEST)
    pid, age_s = oldest[0] if oldest else (None, None)
    _log.warning("change log waits for an open transaction", extra={"pid": pid, "age_s": age_s})
    return round(age_s or 0.0, 3)
