"""Moving a tenant from one database to another while it is used.

The tenant's rows are copied in pages while the tenant reads and writes. Rows that it writes meanwhile are copied in
further passes, until a pass finds few of them. They are found by the number of the transaction that wrote each row
(`xmin`). Then the tenant's writes are refused for a moment, with an error that tells callers to retry. Meanwhile the
last rows are copied, and both sides are compared. No trigger captures changes, and no superuser is needed: the mover,
which is the command that moves the tenant, reads `xmin` and `pg_locks`, and owns the tables.

A *horizon* is the number of the oldest transaction that was still running when a pass took its snapshot. The pass saw
all rows of older transactions; rows of this one and of newer transactions are read again by the next pass.

Two databases cannot commit at once. Each step below is one commit, and after each of them at most one database serves
the tenant. A move that ended half-way continues at the step where it ended when the command is run again. In capitals
are the states of the tenant in a database (`access.residence`).

1. The target says ARRIVING, and notes the progress of the copy in the transaction of each page.
2. The source says LEAVING, for a limited time: it serves reads, and stays the owner if the mover dies. The mover waits
   for transactions that began before this step.
3. The last rows are copied and compared, and the target notes that it has all rows.
4. The source says GONE, if it still says LEAVING. From here on the move cannot be undone.
5. The directory names the target.
6. The target says HERE.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg import sql
from psycopg.rows import namedtuple_row

from contextkeep.errors import FailedPrecondition, Unavailable
from service_runtime.auth.keys import NoSuchTenant
from service_runtime.databases.placement import Databases
from service_runtime.postgres import HOME
from service_runtime.postgres.administration import administering
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_log = logging.getLogger("moving")

Connection = psycopg.Connection[Any]

PAGE_ROWS = 5000
FEW_ROWS = 2000  # after a pass over at most this number of rows, writes stop for the last pass
SHORT_S = 1.0  # if a pass took no longer than this, writes stop: the last pass takes about as long
PASSES_MAX = 10  # passes after the first; then writes stop however long a pass took
STOPPED_S = 30.0  # seconds that writes wait at most; after that the tenant stays where it is
DRAIN_S = 10.0  # the longest wait for transactions that began before LEAVING
GRACE_S = 24 * 3600.0  # seconds that the old rows stay
_MOVER_GONE_S = 2.0  # seconds that Postgres may take to notice that a mover was killed, and to give its lock back
_LOOK_S = 0.05  # seconds between two attempts to take the lock of a mover

_MOVERS = 1835365473  # advisory lock: each tenant has one mover at most
_TENANTS = 1634493815  # advisory lock that each transaction of a tenant takes; see service_runtime/postgres/tenant.py
_BUCKETS = 65_536  # buckets of keys to compare: a tenant of a million rows has some fifteen keys in each

SQL = SqlFile.of(__file__)
_LISTED = SQL["listed"]
_STATE = SQL["state"]
_MOVE = SQL["move"]
_HORIZON = SQL["horizon"]
_MIGRATIONS = SQL["migrations"]
_SETTINGS = SQL["settings"]
_TABLES = SQL["tables"]
_COMES = SQL["comes"]
_LEAVES = SQL["leaves"]
_STAYS = SQL["stays"]
_IS_GONE = SQL["is_gone"]
_IS_CLEAN = SQL["is_clean"]
_IS_LISTED = SQL["is_listed"]
_IS_HERE = SQL["is_here"]
_UNDER_WAY = SQL["under_way"]
_STILL_UNDER_WAY = SQL["still_under_way"]
_NUMBERS = SQL["numbers"]


_KEYS_AT_ONCE = 200  # keys in one DELETE
_CHECKSUM = sql.SQL("bit_xor(hashtextextended({}, 0))")

_NOTHING = sql.SQL("")
_EACH_ALONE = sql.SQL(SQL["each_alone"])


class CannotMove(FailedPrecondition):
    """The tenant cannot be moved like this; the message says what to do."""

    reason = "CANNOT_MOVE"


class Differs(FailedPrecondition):
    """The copied rows differ from the source. The tenant stays where it is."""

    reason = "COPY_DIFFERS"


@dataclass(slots=True, kw_only=True)
class MoveProgress:
    """How far a move is."""

    tenant: str
    source: str  # names of databases; empty is the home database
    target: str
    step: str = "begins"
    tables: int = 0
    rows: int = 0  # rows that were copied; a row that was copied twice counts twice
    writes_waited_s: float = 0.0
    took_s: float = 0.0
    rows_there: dict[str, int] = field(default_factory=dict)  # set by a dry run only: the rows to copy, by table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table with rows of tenants, and the SQL expressions over its columns that the mover needs."""

    name: sql.Identifier
    label: str  # schema.name
    columns: list[str]
    key: list[str]  # columns of the primary key; the first is the tenant's id
    has_id: bool  # the key consists of the tenant's id and one UUID
    is_referred_to: bool  # foreign keys refer to its rows, so they are updated: they cannot be deleted and inserted
    unique_names: list[str]  # nullable columns of unique indexes, which no check constraint names

    def row(self) -> sql.Composable:
        """Return the SQL of a whole row as one text."""
        return sql.SQL("(ROW({}))::text").format(_names(self.columns))

    def keys(self, of: str = "") -> sql.Composable:
        """Return the SQL of the number of keys and a checksum of them.

        Args:
            of: The table's alias, in a statement over several tables; empty in a statement over this table alone.
        """
        key = [sql.Identifier(of, name) if of else sql.Identifier(name) for name in self.key]
        if self.has_id:  # most tables: hashing the UUID takes a third of the time of hashing a record
            number = sql.SQL("uuid_hash_extended({}, 0)").format(key[1])
        else:
            number = sql.SQL("hash_record_extended(ROW({}), 0)").format(sql.SQL(", ").join(key))
        return sql.SQL("count(*) AS count, coalesce(bit_xor({}), 0) AS checksum").format(number)

    def same_key(self) -> sql.Composable:
        """Return the SQL that is true if a row `t` and a row `s` have the same key."""
        return sql.SQL(" AND ").join(sql.SQL("t.{0} = s.{0}").format(sql.Identifier(name)) for name in self.key)

    def staged(self) -> sql.Identifier:
        """Return the name of the temporary table in the target where rows wait until they are put into this table."""
        return sql.Identifier("pg_temp", self.label)

    def bucket(self) -> sql.Composable:
        """Return the SQL of the bucket of a row: a number below `_BUCKETS`, from a hash of its key."""
        return sql.SQL("hash_record_extended(ROW({}), 0) & {}").format(_names(self.key), sql.Literal(_BUCKETS - 1))


@dataclass(slots=True, kw_only=True)
class _Pass:
    """The outcome of one pass over the rows that were written."""

    horizon: str  # rows of this transaction and newer ones may not be copied yet; see the module
    rows: int = 0  # rows that were copied or removed
    there: dict[str, Any] = field(default_factory=dict)  # counts and checksums of the source, by table
    changed: list[_Table] = field(default_factory=list)  # tables that were changed in the target


class TenantMove:
    """Moves one tenant.

    Args:
        databases: All databases, as the owner of their tables.
        on_step: Called with the progress; its error ends the move, as a kill would.
    """

    def __init__(self, databases: Databases, *, on_step: Callable[[MoveProgress], None] = lambda _: None) -> None:
        self._databases = databases
        self._on_step = on_step

    def run(self, tenant: str, target: str, *, dry_run: bool = False) -> MoveProgress:
        """Move a tenant, or continue a move that ended half-way, and return the counts of rows.

        Args:
            tenant: Name of the tenant.
            target: Name of the database to move the tenant to.
            dry_run: Only count the rows that would be copied.

        Raises:
            NoSuchTenant: no tenant has this name.
            WrongDatabase: no database has the name of the target.
            CannotMove: another mover moves the tenant, a move to another database is unfinished, or the schemas differ.
            Unavailable: the tenant's transactions did not end in time, or the last pass took too long. The tenant
                stays where it is, and the move can be run again.
            Differs: the copied rows differ from the source's; the tenant stays where it is.
        """
        began = time.monotonic()
        self._databases.url_of(target)
        with ExitStack() as stack:
            home = stack.enter_context(_connected(self._databases.url_of(HOME)))
            row = home.execute(_LISTED, (tenant,)).fetchone()
            if row is None:
                raise NoSuchTenant(f"there is no tenant {tenant!r}; `context-service tenants list` shows them")
            _hold(home, row.id)
            to = stack.enter_context(_connected(self._databases.url_of(target)))
            noted = to.execute(_MOVE, (row.id,)).fetchone()
            source = noted.source if noted else row.database
            moved = MoveProgress(tenant=tenant, source=source, target=target)
            if source == target or (noted is None and row.database == target):
                moved.step = "lives there"
                return moved
            came_from = stack.enter_context(_connected(self._databases.url_of(source)))
            for name, connection in ((source, came_from), (target, to)):
                # The lock in the home database is held already. It is taken here too, as the home database may have
                # restarted, and so released the lock of a mover that still runs.
                if name != HOME:
                    _hold(connection, row.id)
            move = _Move(home, came_from, to, row.id, moved, self._on_step)
            if dry_run:
                move.count()
            else:
                self._refuse_others(row.id, {source, target})
                move.run()
            moved.took_s = time.monotonic() - began
            return moved

    def remove_old_rows(self, *, grace_s: float = GRACE_S) -> int:
        """Remove the rows of tenants that left at least `grace_s` ago, and return their number."""
        removed = 0
        with _connected(self._databases.url_of(HOME)) as home:
            lives_in = {
                row.id: row.database
                for row in home.execute("SELECT id, coalesce(database, '') AS database FROM access.tenant")
            }
            for name, url in self._databases.urls.items():
                with _connected(url) as connection:
                    gone = connection.execute(
                        "SELECT tenant_id FROM access.residence"
                        " WHERE state = 'GONE' AND cleaned_at IS NULL"
                        " AND changed_at < now() - make_interval(secs => %s)",
                        (grace_s,),
                    ).fetchall()
                    tables = _tables(connection)
                    for row in gone:
                        # Keep the rows of a tenant that the directory places here, and of one that it does not have.
                        # If the directory names another database, that one has all of the tenant's rows.
                        if lives_in.get(row.tenant_id, name) == name:
                            continue
                        lock = (_MOVERS, row.tenant_id)
                        if _row_of(home, "SELECT pg_try_advisory_lock(%s, uuid_hash(%s)) AS held", lock).held:
                            removed += _remove_all(connection, tables, row.tenant_id)
                            connection.execute(_IS_CLEAN, (row.tenant_id,))
                            home.execute("SELECT pg_advisory_unlock(%s, uuid_hash(%s))", lock)
        return removed

    def _refuse_others(self, tenant_id: UUID, ours: set[str]) -> None:
        """Refuse to move a tenant that is half-way to a third database."""
        for name, url in self._databases.urls.items():
            if name not in ours:
                with _connected(url) as connection:
                    if connection.execute(_MOVE, (tenant_id,)).fetchone():
                        raise CannotMove(
                            f"the tenant is being moved to {name or 'the home database'}; finish that first"
                        )


class _Move:
    """One move, with its connections."""

    def __init__(
        self,
        home: Connection,
        source: Connection,
        target: Connection,
        tenant_id: UUID,
        moved: MoveProgress,
        on_step: Callable[[MoveProgress], None],
    ) -> None:
        """Prepare the connections to both databases.

        Raises:
            CannotMove: the databases have different schemas.
        """
        self._home = home
        self._source = source
        self._target = target
        self._id = tenant_id
        self._moved = moved
        self._on_step = on_step
        for connection in (source, target):
            connection.execute(_SETTINGS, (str(tenant_id),))
        migrations = [connection.execute(_MIGRATIONS).fetchall() for connection in (source, target)]
        if migrations[0] != migrations[1]:
            raise CannotMove("the two databases have different schemas: run `migrate` of both services")
        self._leaves: dict[str, Any] = {}  # parameters of `_STAYS` and `_IS_GONE`: tenant, and when LEAVING ends
        self._tables = _tables(source)
        moved.tables = len(self._tables)

    def count(self) -> None:
        """Note in the progress how many rows of each table there are to copy."""
        for table in self._tables:
            statement = sql.SQL("SELECT count(*) AS count FROM {} WHERE tenant_id = %s").format(table.name)
            if rows := _row_of(self._source, statement, (self._id,)).count:
                self._moved.rows_there[table.label] = rows
        self._moved.step = "dry run"

    def run(self) -> None:
        """Do the steps of the module's docstring, from the one where an earlier run ended.

        Raises:
            CannotMove: the databases do not agree about where the tenant lives.
        """
        state = self._state(self._source, if_none="HERE" if self._moved.source == HOME else "GONE")
        if self._target.execute(_MOVE, (self._id,)).fetchone() is None:
            if state not in ("HERE", "LEAVING"):
                raise CannotMove(
                    "the tenant does not live in the database that the directory names; check access.residence"
                )
            self._arrive()
        noted = _row_of(self._target, _MOVE, (self._id,))
        if not (state == "GONE" and noted.is_whole):
            if state not in ("HERE", "LEAVING"):
                raise CannotMove(
                    "the tenant's database says that the tenant has left, but the other one does not have all of it"
                )
            self._copy(dict(noted.copied))
            horizon = self._catch_up(noted.horizon)
            self._stop_and_copy(horizon)
        self._finish()

    def _arrive(self) -> None:
        """Begin the move in the target: remove rows of an earlier stay, and note the first horizon.

        Raises:
            CannotMove: the target says that the tenant lives in it already.
        """
        if self._state(self._target, if_none="GONE") not in ("GONE", "ARRIVING"):
            raise CannotMove("both databases say that the tenant lives there; check access.residence")
        _remove_all(self._target, self._tables, self._id)  # rows of an earlier stay
        horizon = _row_of(self._source, _HORIZON).horizon
        self._target.execute(
            _COMES,
            {"id": self._id, "name": self._moved.tenant, "source": self._moved.source, "horizon": horizon},
        )
        self._say("arriving")

    def _copy(self, copied: dict[str, Any]) -> None:
        """Copy each table in pages, beginning after the last page that an earlier run copied.

        Tables without rows of the tenant are left out. A row that is written to them later is newer than the first
        horizon, so a pass copies it.

        Args:
            copied: The last copied key of each table, by its label; None for a table that is copied to its end.
        """
        is_some = sql.SQL(" UNION ALL ").join(
            sql.SQL("SELECT {} AS label WHERE EXISTS (SELECT FROM {} WHERE tenant_id = {})").format(
                sql.Literal(table.label), table.name, sql.Literal(self._id)
            )
            for table in self._tables
        )
        filled = {row.label for row in self._source.execute(is_some)}
        for table in self._tables:
            after = copied.get(table.label, []) if table.label in filled else None
            while after is not None:
                after = self._copy_page(table, after)
        self._say("copied")

    def _copy_page(self, table: _Table, after: list[str]) -> list[str] | None:
        """Copy the page of a table after a key, and return the key of its last row, or None after the last page.

        Keys are read as texts and written as untyped literals, so that Postgres converts them to the types of their
        columns. The progress in `access.move.copied` has null for a table after its last page.

        Args:
            table: The table to copy from.
            after: Key of the last copied row, without the tenant's id; empty for the first page.
        """
        key_in_tenant = table.key[1:]  # the first column of each key is the tenant
        condition: sql.Composed = sql.SQL("tenant_id = {}").format(sql.Literal(self._id))
        if after:
            condition += sql.SQL(" AND ({}) > ({})").format(_names(key_in_tenant), _literals(after))
        with self._source.transaction():
            self._source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            last = self._source.execute(
                sql.SQL("SELECT {texts} FROM {table} WHERE {condition} ORDER BY {key} OFFSET {rows} LIMIT 1").format(
                    texts=_texts(table.key),
                    table=table.name,
                    condition=condition,
                    key=_names(table.key),
                    rows=sql.Literal(PAGE_ROWS - 1),
                )
            ).fetchone()
            upto = list(last)[1:] if last is not None and key_in_tenant else None
            if upto is not None:
                condition += sql.SQL(" AND ({}) <= ({})").format(_names(key_in_tenant), _literals(upto))
            with self._target.transaction():
                rows = self._put_page(table, condition)
                self._target.execute(
                    "UPDATE access.move SET copied = copied || jsonb_build_object(%s::text, %s::jsonb)"
                    " WHERE tenant_id = %s",
                    (table.label, json.dumps(upto), self._id),
                )
        self._moved.rows += rows
        if rows:
            self._say("copying")
        return upto

    def _put_page(self, table: _Table, place: sql.Composable) -> int:
        """Copy the rows that match the condition `place`, and return their number.

        Rows that contradict an earlier page, by a unique index or a foreign key, are left to the next pass.
        """
        try:
            with self._target.transaction():
                rows = self._pipe(table, place, table.name)
                self._compare(table, place)
                return rows
        except (pg.UniqueViolation, pg.ForeignKeyViolation):
            # Pages are read one after the other. Rows that contradict an earlier page were written since, so the next
            # pass copies them again.
            self._stage(table)
            rows = self._pipe(table, place, table.staged())
            self._put_each(table, table.staged(), updating=[])
            return rows

    def _stage(self, table: _Table) -> None:
        """Make the temporary table where rows of a table wait; Postgres drops it at the end of the transaction."""
        self._target.execute(
            sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                table.staged(), _names(table.columns), table.name
            )
        )

    def _pipe(self, table: _Table, place: sql.Composable, into: sql.Composable) -> int:
        """Copy the source's rows that match the condition `place` into a table of the target; return their number."""
        out = sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT").format(_names(table.columns), table.name, place)
        come = sql.SQL("COPY {} ({}) FROM STDIN").format(into, _names(table.columns))
        reading, writing = self._source.cursor(), self._target.cursor()
        with reading.copy(out) as rows, writing.copy(come) as to:
            for row in rows:
                to.write(row)
        return writing.rowcount

    def _compare(self, table: _Table, place: sql.Composable) -> None:
        """Compare the rows that match the condition `place` in both databases.

        Raises:
            Differs: their number or their checksum differs.
        """
        statement = sql.SQL("SELECT count(*), {} FROM {} WHERE {}").format(
            _CHECKSUM.format(table.row()), table.name, place
        )
        if _row_of(self._source, statement) != _row_of(self._target, statement):
            raise Differs(f"a page of {table.label} differs from its copy: run the move again")

    def _catch_up(self, horizon: str) -> str:
        """Copy the rows written since `horizon` until few are left, and return the horizon of the next pass."""
        for _ in range(PASSES_MAX):
            began = time.monotonic()
            done = self._pass(horizon)
            horizon = done.horizon
            self._say("catching up")
            if done.rows <= FEW_ROWS or time.monotonic() - began < SHORT_S:
                break
        return horizon

    def _pass(self, horizon: str) -> _Pass:
        """Copy the rows that were written since a horizon, and remove from the target the rows that were deleted.

        The source is read in one snapshot, and afterwards the target equals the source at that moment. Each table
        is read once on either side; the rows that were written are read a second time, to be copied.

        Raises:
            Differs: copied rows differ from the source's.
        """
        with self._source.transaction():
            self._source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            done = _Pass(horizon=_row_of(self._source, _HORIZON).horizon)
            with self._target.transaction():
                done.there, here = self._sums(horizon)
                for table in self._tables:
                    if done.there[table.label].written:
                        self._stage(table)
                        self._pipe(table, self._rows_since(horizon), table.staged())
                        self._target.execute(sql.SQL("ANALYZE {}").format(table.staged()))
                        done.changed.append(table)
                differing = [
                    table
                    for table in self._tables
                    if not self._will_agree(table, here[table.label], done.there[table.label])
                ]
                lacking: dict[str, list[tuple[str, ...]]] = {}
                for table in reversed(differing):  # referring rows first: foreign keys forbid the other order
                    removed, lacking[table.label] = self._remove_removed(table, horizon)
                    done.rows += removed
                for table in self._tables:
                    if table in differing and table not in done.changed:
                        self._stage(table)
                        done.changed.append(table)
                    if table in done.changed:
                        done.rows += self._put_written(
                            table, done.there[table.label], horizon, lacking.get(table.label, ())
                        )
                self._target.execute(
                    "UPDATE access.move SET horizon = %s WHERE tenant_id = %s", (done.horizon, self._id)
                )
        return done

    def _sums(self, horizon: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the checksums of all keys by table: first the source's, then the target's.

        The source's also have the number and a checksum of the rows that were written since the horizon.
        """
        written = sql.SQL(", count(*) FILTER (WHERE {0}) AS written, {1} FILTER (WHERE {0}) AS rows_checksum")

        def of_source(table: _Table) -> sql.Composable:
            return written.format(_since_horizon(horizon), _CHECKSUM.format(table.row()))

        with ThreadPoolExecutor(1, thread_name_prefix="sums") as executor:  # both databases compute at the same time
            here = executor.submit(self._sums_of, self._target, self._tables, lambda _: _NOTHING)
            there = self._sums_of(self._source, self._tables, of_source)
            return there, here.result()

    def _sums_of(
        self, connection: Connection, tables: Sequence[_Table], more: Callable[[_Table], sql.Composable]
    ) -> dict[str, Any]:
        """Return the number of keys and their checksum in one database, by the label of the table.

        Args:
            connection: The database to read.
            tables: The tables to read.
            more: Returns the SQL of further columns of a table's result.
        """
        statement = sql.SQL(" UNION ALL ").join(
            sql.SQL("SELECT {} AS label, {}{} FROM {} WHERE tenant_id = {}").format(
                sql.Literal(table.label), table.keys(), more(table), table.name, sql.Literal(self._id)
            )
            for table in tables
        )
        return {row.label: row for row in connection.execute(statement)} if tables else {}

    def _will_agree(self, table: _Table, here: Any, there: Any) -> bool:
        """Say whether the target's table has the source's keys once the staged rows are in it.

        If it has not, the source has deleted rows, or the target lacks older ones: `_remove_removed` compares the keys.

        Args:
            table: The table to compare.
            here: The target's checksum of keys, from `_sums`.
            there: The source's checksum of keys, from `_sums`.
        """
        count, checksum = here.count, here.checksum
        if there.written:
            new = _row_of(
                self._target,
                sql.SQL("SELECT {} FROM {} s WHERE NOT EXISTS (SELECT FROM {} t WHERE {})").format(
                    table.keys("s"), table.staged(), table.name, table.same_key()
                ),
            )
            count, checksum = count + new.count, checksum ^ new.checksum
        return (count, checksum) == (there.count, there.checksum)

    def _rows_since(self, horizon: str) -> sql.Composed:
        """Return the SQL condition of the tenant's rows that were written since a horizon."""
        return sql.SQL("tenant_id = {} AND {}").format(sql.Literal(self._id), _since_horizon(horizon))

    def _put_written(self, table: _Table, there: Any, horizon: str, lacking: Sequence[tuple[str, ...]]) -> int:
        """Put the staged rows, and older rows that are missing, into a table; compare them, and return their number.

        The 32 bits of a row's transaction number wrap around, so a very old row may look new. It is then copied once
        more, which does no harm.

        Args:
            table: The table to change in the target.
            there: The source's checksums of the table, from `_sums`.
            horizon: The horizon of the pass.
            lacking: Keys of older rows that the target lacks.

        Raises:
            Differs: the rows in the target differ from the source's.
        """
        written, checksum = there.written, there.rows_checksum
        if lacking:
            place = sql.SQL("tenant_id = {} AND ({}) IN ({})").format(
                sql.Literal(self._id), _names(table.key), _rows(lacking)
            )
            self._pipe(table, place, table.staged())
            place = sql.SQL("{} OR {}").format(self._rows_since(horizon), place)
            statement = sql.SQL("SELECT count(*), {} FROM {} WHERE {}").format(
                _CHECKSUM.format(table.row()), table.name, place
            )
            written, checksum = _row_of(self._source, statement)
        if not written:
            return 0
        if not table.is_referred_to:
            self._target.execute(
                sql.SQL("DELETE FROM {} t USING {} s WHERE {}").format(table.name, table.staged(), table.same_key())
            )
            self._target.execute(_putting(table, table.staged(), updating=[]))
        else:
            self._put(table)
        here = sql.SQL("SELECT count(*), {} FROM {} t WHERE EXISTS (SELECT FROM {} s WHERE {})").format(
            _CHECKSUM.format(table.row()), table.name, table.staged(), table.same_key()
        )
        if _row_of(self._target, here) != (written, checksum):
            raise Differs(f"rows of {table.label} differ from their copies: run the move again")
        self._moved.rows += written
        return int(written)

    def _put(self, table: _Table) -> None:
        """Insert the staged rows of a table, and update the rows that have the same keys.

        Rows are not deleted, since other rows refer to them.

        Raises:
            CannotMove: unique values cannot be put in any order, as rows have exchanged them.
        """
        changed = [name for name in table.columns if name not in table.key]
        try:
            with self._target.transaction():
                self._target.execute(_putting(table, table.staged(), updating=changed))
        # A row may take the unique name that another row gave up. One statement for both fails; one by one, the row
        # that gave the name up must come first. So all rows are tried in rounds until no further row gets in.
        except pg.UniqueViolation:
            left = sql.Identifier("pg_temp", "left")
            self._target.execute(
                sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT * FROM {}").format(left, table.staged())
            )
            self._put_each(table, left, updating=changed)
            # Rows that exchanged their names block each other. So their names in the target are set to NULL first.
            if table.unique_names:
                none = sql.SQL(", ").join(
                    sql.SQL("{} = NULL").format(sql.Identifier(name)) for name in table.unique_names
                )
                self._target.execute(
                    sql.SQL("UPDATE {} t SET {} FROM {} s WHERE {}").format(table.name, none, left, table.same_key())
                )
                self._put_each(table, left, updating=changed)
            if rows := _row_of(self._target, sql.SQL("SELECT count(*) AS count FROM {}").format(left)).count:
                raise CannotMove(f"{rows} rows of {table.label} exchanged their keys; run the move again") from None
            self._target.execute(sql.SQL("DROP TABLE {}").format(left))

    def _put_each(self, table: _Table, staged: sql.Identifier, *, updating: Sequence[str]) -> None:
        """Put the staged rows into the target one by one, in rounds, until a round gets no row in.

        Rows that violate a unique index or a foreign key to the end stay in the staged table.
        """
        put = _putting(table, staged, updating=updating, where=sql.SQL("WHERE ctid = one.place"))
        self._target.execute(_EACH_ALONE.format(put=put, staged=staged))

    def _remove_removed(self, table: _Table, horizon: str) -> tuple[int, list[tuple[str, ...]]]:
        """Remove from the target the rows that the source no longer has, found by keys.

        Returns:
            The number of removed rows, and the keys of rows that are older than the horizon and missing in the target.
            Such rows exist: if a page leaves out a row that was written meanwhile, it also leaves out the older rows
            that refer to that row.
        """
        statement = sql.SQL("SELECT {bucket} AS bucket, {keys} FROM {table} WHERE tenant_id = {id} GROUP BY 1").format(
            bucket=table.bucket(), keys=table.keys(), table=table.name, id=sql.Literal(self._id)
        )
        here, there = (
            {row.bucket: row for row in connection.execute(statement)} for connection in (self._target, self._source)
        )
        differing = [bucket for bucket in here.keys() | there.keys() if here.get(bucket) != there.get(bucket)]
        if not differing:
            return 0, []
        keys = sql.SQL(
            "SELECT {texts}, {written} AS is_new FROM {table} WHERE tenant_id = {id} AND {bucket} = ANY ({buckets})"
        ).format(
            texts=_texts(table.key),
            written=_since_horizon(horizon),
            table=table.name,
            id=sql.Literal(self._id),
            bucket=table.bucket(),
            buckets=sql.Literal(differing),
        )
        of_target = {tuple(key) for *key, _ in self._target.execute(keys)}
        of_source = {tuple(key): is_new for *key, is_new in self._source.execute(keys)}
        gone = sorted(of_target - of_source.keys())
        for some in _in_parts(gone):
            self._target.execute(
                sql.SQL("DELETE FROM {} WHERE ({}) IN ({})").format(table.name, _names(table.key), _rows(some))
            )
        return len(gone), sorted(key for key, is_new in of_source.items() if not is_new and key not in of_target)

    def _stop_and_copy(self, horizon: str) -> None:
        """Stop writes, copy the last rows, and note that the copy is whole."""
        leaving = self._source.execute(_LEAVES, {"id": self._id, "stopped_s": STOPPED_S}).fetchone()
        if leaving is None:
            raise CannotMove("the tenant's database does not say that the tenant lives there; check access.residence")
        self._leaves = {"id": self._id, "until": leaving.until}
        stopped = time.monotonic()
        self._say("leaving")
        with self._staying():
            self._drain()
            self._say("drained")
            done = self._pass(horizon)
            self._raise_numbers()
            self._require_same_keys(done)
            self._target.execute("UPDATE access.move SET is_whole = true WHERE tenant_id = %s", (self._id,))
            self._say("whole")
            if not self._leave():
                raise Unavailable(
                    "the tenant was not moved: its writes were stopped to copy the last rows, and this took more than "
                    f"{STOPPED_S:g} s; run the move again"
                )
        self._moved.writes_waited_s = time.monotonic() - stopped
        self._say("gone")

    @contextmanager
    def _staying(self) -> Iterator[None]:
        """Say HERE in the source if the block fails; if the process is killed, LEAVING ends by itself."""
        try:
            yield
        except Exception:
            with suppress(psycopg.Error):
                self._source.execute(_STAYS, self._leaves)
            raise

    def _drain(self) -> None:
        """Wait for the transactions that began before the source said LEAVING.

        Raises:
            Unavailable: a transaction did not end within `DRAIN_S`.
        """
        give_up_at = time.monotonic() + DRAIN_S
        numbers = [row.number for row in self._source.execute(_UNDER_WAY)]
        named = {"id": self._id, "tenants": _TENANTS}
        while numbers:
            numbers = [row.number for row in self._source.execute(_STILL_UNDER_WAY, {**named, "numbers": numbers})]
            if numbers and time.monotonic() > give_up_at:
                raise Unavailable(
                    f"a transaction of the tenant did not end in {DRAIN_S:.0f} s; the tenant stays. Run the move again"
                )
            if numbers:
                time.sleep(0.01)

    def _leave(self) -> bool:
        """Say GONE in the source; return False if the time of LEAVING is over, so that the tenant stays."""
        with self._source.transaction():
            is_gone = self._source.execute(_IS_GONE, self._leaves).fetchone() is not None
            # The directory is in the home database. If that is the source, both change in one commit.
            if is_gone and self._moved.source == HOME:
                self._source.execute(_IS_LISTED, {"id": self._id, "target": self._moved.target})
        return is_gone

    def _require_same_keys(self, done: _Pass) -> None:
        """Compare the keys of the tables that a pass has changed; the pass itself has compared the other tables.

        Raises:
            Differs: the keys of a table differ.
        """
        here = self._sums_of(self._target, done.changed, lambda _: _NOTHING)
        for label, sums in here.items():
            there = done.there[label]
            if (sums.count, sums.checksum) != (there.count, there.checksum):
                raise Differs(f"{label} does not have the same rows in both databases")

    def _raise_numbers(self) -> None:
        """Let the target number the tenant's next rows above every number that the source has assigned."""
        if numbers := _row_of(self._source, _NUMBERS, (self._id,)).name:
            last = f"SELECT last_value FROM {numbers}"  # noqa: S608 - as Postgres quotes it
            self._target.execute(
                "SELECT access.number_behind(%s, %s)", (self._id, _row_of(self._source, last).last_value)
            )

    def _finish(self) -> None:
        """Name the target in the directory, and say HERE in the target."""
        with self._home.transaction():
            self._home.execute(_IS_LISTED, {"id": self._id, "target": self._moved.target})
        self._say("listed")
        self._target.execute(_IS_HERE, {"id": self._id})
        self._say("here")

    def _say(self, step: str) -> None:
        """Report the progress, with the step that was reached."""
        self._moved.step = step
        self._on_step(self._moved)

    def _state(self, connection: Connection, *, if_none: str) -> str:
        """Return the tenant's state in a database, such as HERE; `if_none` if the database has no row of it."""
        row = connection.execute(_STATE, (self._id,)).fetchone()
        return row.state if row else if_none


def _tables(connection: Connection) -> list[_Table]:
    """Return the tables with rows of tenants, each after the tables that its foreign keys refer to."""
    rows = connection.execute(_TABLES).fetchall()
    tables: list[_Table] = []
    done: set[int] = set()
    while left := [row for row in rows if row.oid not in done]:
        for row in left:
            others = {oid for oid in row.refers_to if oid != row.oid} & {other.oid for other in left}
            if others:
                continue
            done.add(row.oid)
            tables.append(
                copied(
                    _Table,
                    row,
                    name=sql.Identifier(row.schema, row.name),
                    label=f"{row.schema}.{row.name}",
                    unique_names=row.unique_names or [],
                    is_referred_to=any(row.oid in other.refers_to for other in rows if other.oid != row.oid),
                )
            )
    return tables


def _remove_all(connection: Connection, tables: Sequence[_Table], tenant_id: UUID) -> int:
    """Remove all rows of a tenant from a database in steps, referring rows first, and return their number."""
    connection.execute("SELECT set_config('app.moving', 'on', false)")
    removed = 0
    for table in reversed(tables):
        statement = sql.SQL(
            "DELETE FROM {0} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {0} WHERE tenant_id = {1} LIMIT {2}))"
        ).format(table.name, sql.Literal(tenant_id), sql.Literal(PAGE_ROWS))
        while count := connection.execute(statement).rowcount:
            removed += count
    return removed


def _putting(
    table: _Table, staged: sql.Identifier, *, updating: Sequence[str], where: sql.Composable = _NOTHING
) -> sql.Composed:
    """Return the statement that inserts staged rows into a table.

    Args:
        table: The table to insert into.
        staged: The temporary table with the rows.
        updating: Columns to update in rows with the same keys. Empty makes such rows an error.
        where: Condition of the staged rows to insert; empty for all.
    """
    put = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} {}").format(
        table.name, _names(table.columns), _names(table.columns), staged, where
    )
    if not updating:
        return put
    changes = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in updating)
    return put + sql.SQL(" ON CONFLICT ({}) DO UPDATE SET {}").format(_names(table.key), changes)


def _since_horizon(horizon: str) -> sql.Composed:
    """Return the SQL condition of rows that the transaction `horizon` or a newer one wrote."""
    # `xmin` has only 32 bits and cannot be compared by <; `age` counts the transactions since, across a wrap-around.
    return sql.SQL("age(xmin) <= age({}::xid8::xid)").format(sql.Literal(horizon))


def _rows(keys: Sequence[tuple[str, ...]]) -> sql.Composed:
    """Return keys as the SQL of a list of rows: `('a', 'b'), ('c', 'd')`."""
    return sql.SQL(", ").join(sql.SQL("({})").format(_literals(key)) for key in keys)


def _in_parts(keys: Sequence[tuple[str, ...]]) -> Iterator[Sequence[tuple[str, ...]]]:
    """Yield the keys in parts of at most `_KEYS_AT_ONCE`."""
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        yield keys[start : start + _KEYS_AT_ONCE]


def _texts(names: Sequence[str]) -> sql.Composable:
    """Return the SQL of columns, each cast to text, with commas between them."""
    return sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in names)


def _names(names: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _literals(texts: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Literal, texts))


def _hold(connection: Connection, tenant_id: UUID) -> None:
    """Take the lock of a tenant's mover, which is held for as long as the connection is open.

    Raises:
        CannotMove: another mover holds the lock.
    """
    give_up_at = time.monotonic() + _MOVER_GONE_S
    while not _row_of(connection, "SELECT pg_try_advisory_lock(%s, uuid_hash(%s)) AS held", (_MOVERS, tenant_id)).held:
        if time.monotonic() > give_up_at:
            raise CannotMove("another command is moving this tenant: wait until it has ended")
        time.sleep(_LOOK_S)


def _connected(url: str) -> Any:
    return administering(url, autocommit=True, row_factory=namedtuple_row)


def _row_of(connection: Connection, statement: str | sql.Composed, parameters: Any = None) -> Any:
    query = statement.encode() if isinstance(statement, str) else statement
    return connection.execute(query, parameters).fetchone()
