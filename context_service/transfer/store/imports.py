"""The SQL of imports: their progress, their reports, and the headers of contexts, which are written last."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
import psycopg

from context_service.transfer.store.tables import CONTEXT_ROWS
from contextkeep.errors import Aborted
from service_runtime.postgres import Across, Database, Row, Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

GIVEN_UP = timedelta(days=7)  # an import without progress for this time is abandoned
KEPT = timedelta(days=30)  # how long the row of an import is kept
_STEP_ROWS = 1_000  # rows that one statement removes
CLEAR_S = 1.0  # seconds that a pass spends on the imports of one tenant before it goes on to the next tenant

SQL = SqlFile.of(__file__)
_START = SQL["start"]
_READ = SQL["read"]
_SAVE = SQL["save"]
_FORGET = SQL["forget"]
_GIVE_UP = SQL["give_up"]
_TAKE_OVER = SQL["take_over"]
_LEFT_OPEN = SQL["left_open"]
_CLOSE = SQL["close"]
_THERE = SQL["there"]
_ERASED_SINCE = SQL["erased_since"]
_REACHED = SQL["reached"]
_AGREE = SQL["agree"]


class ContextHeld(Aborted):
    """Another import has begun to write the same context."""


@dataclass(slots=True, kw_only=True)
class Run:
    """The state of an import."""

    import_id: UUID | None  # None for a dry run
    state: str = "RUNNING"  # "DONE", "GIVEN_UP"
    offset_bytes: int = 0
    pieces: int = 0
    seal: bytes = b""
    manifest: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    open_context: dict[str, Any] | None = None  # the header of the context whose rows are being read
    # "there" if the context existed here before the import, "erased" if it was erased here, else empty. Its rows are
    # written only if this is empty.
    is_there: str = ""

    @property
    def context_id(self) -> str:
        """The id of the context whose rows are being read; empty outside of contexts."""
        return str(self.open_context["context_id"]) if self.open_context else ""


async def start(tenant: Tenant, import_id: UUID, *, imported_by: str) -> None:
    """Begin an import, unless it was begun before."""
    await tenant.query(_START, (tenant.tenant_id, import_id, imported_by))


async def read(tenant: Tenant, import_id: UUID) -> Run | None:
    """Return an import; None if there is none."""
    for row in await tenant.query(_READ, (tenant.tenant_id, import_id)):
        return _run(row)
    return None


def _run(row: Row) -> Run:
    """Return the state of an import from its row."""
    document = orjson.loads(row.open_context) if row.open_context else None
    return copied(
        Run,
        row,
        seal=bytes(row.seal),
        open_context=document["header"] if document else None,
        is_there=document["is_there"] if document else "",
    )


async def save(transaction: Transaction, run: Run, *, pieces_before: int) -> bool:
    """Store the progress of an import; return False if another call has resumed the import meanwhile.

    Raises:
        ContextHeld: another import has begun to write the same context.
    """
    # Only one import may write a context at a time, but any number may compare an existing one.
    writes = run.open_context is not None and not run.is_there
    open_context = {"header": run.open_context, "is_there": run.is_there} if run.open_context else None
    parameters = {
        "import_id": run.import_id,
        "state": run.state,
        "offset_bytes": run.offset_bytes,
        "pieces": run.pieces,
        "seal": run.seal,
        "manifest": orjson.dumps(run.manifest).decode(),
        "report": orjson.dumps(run.report).decode(),
        "open_context_id": run.context_id if writes else None,
        "open_context": orjson.dumps(open_context).decode() if open_context else None,
        "pieces_before": pieces_before,
    }
    try:
        return bool(await transaction.query(_SAVE, parameters))
    except psycopg.errors.UniqueViolation:
        raise ContextHeld("another import is writing the same context", context_id=run.context_id) from None


async def there(transaction: Transaction, context_id: str) -> str:
    """Return "there" if a context exists, "erased" if it was erased here, else an empty text."""
    parameters = {"context_id": context_id}
    (row,) = await transaction.query(_THERE, parameters)
    return "erased" if row.is_erased else "there" if row.is_there else ""


async def erased_since(transaction: Transaction, begun_at: datetime | None) -> list[tuple[UUID, bytes]]:
    """Return the ids and hashes of subjects erased since a time; None returns all erasures."""
    erasures = await transaction.query(_ERASED_SINCE, (transaction.tenant_id, begun_at))
    return [(row.erasure_id, bytes(row.subject_sha256)) for row in erasures]


async def reached(transaction: Transaction, context_id: str) -> tuple[int, int]:
    """Return the first and the last `seq` of the written messages of a context; 1 and 0 if there are none."""
    (row,) = await transaction.query(_REACHED, {"context_id": context_id})
    return row.first, row.last


async def agree(transaction: Transaction, context_id: str) -> None:
    """Update the counts in the header of a written context from its rows."""
    await transaction.query(_AGREE, {"context_id": context_id})


def _removing(table: str, whose: str) -> Across:
    """Return the statement that removes some rows of a context from a table, regardless of their owner.

    Args:
        table: The name of the table.
        whose: The name of its column that has the id of the context.
    """
    return Across(
        sql=SQL.filled("removing", table=table, whose=whose),
        contexts=True,
        subjects=True,
        why="background work: it removes rows of a context that an import never completed, and that has no owner",
    )


_REMOVE = [
    _removing(table.name, "scope_id" if "scope_id" in table.fixed_values else "context_id") for table in CONTEXT_ROWS
]


async def take_over(database: Database, tenant_id: UUID, context_id: str) -> None:
    """Give up the import that has begun to write a context, and remove the rows that it wrote."""
    tenant = database.tenant(tenant_id)
    await tenant.query(_TAKE_OVER, (tenant_id, context_id))
    await _clear_up(tenant)


async def clear(database: Database, tenant_id: UUID, *, for_s: float = CLEAR_S) -> tuple[int, bool]:
    """Give up abandoned imports, remove the rows of their incomplete contexts, and delete old imports.

    Args:
        database: The database that holds the imports.
        tenant_id: The tenant whose imports are cleaned up.
        for_s: Stop removing rows after this number of seconds.

    Returns:
        How many unfinished contexts were removed, and whether there are more.
    """
    tenant = database.tenant(tenant_id)
    await tenant.query(_GIVE_UP, (tenant_id, GIVEN_UP))
    cleared, is_all = await _clear_up(tenant, until=time.monotonic() + for_s)
    await tenant.query(_FORGET, (tenant_id, KEPT))
    return cleared, not is_all


async def _clear_up(tenant: Tenant, *, until: float | None = None) -> tuple[int, bool]:
    """Remove the rows of incomplete contexts; return how many contexts, and whether all are removed."""
    cleared = 0
    for row in await tenant.query(_LEFT_OPEN, (tenant.tenant_id,)):
        parameters = {"context_id": row.open_context_id, "rows": _STEP_ROWS}
        for statement in _REMOVE:
            while await tenant.query(statement, parameters):
                if until is not None and time.monotonic() >= until:
                    return cleared, False
        await tenant.query(_CLOSE, (tenant.tenant_id, row.import_id))
        cleared += 1
    return cleared, True
