"""Imports an archive, piece by piece, into the tenant of the caller.

Pieces are collected up to a mebibyte, or eight mebibytes of files; their rows and the progress of the import are one
transaction. So an interruption costs at most two transactions, or one file: the next pieces are read and checked while
Postgres writes, and files are stored while others arrive. A row that exists and is equal counts as present; one that
exists and differs is a conflict.

A context becomes visible with its header, which is written after all its rows. A context that exists already is
compared and not changed at all, because its log must not get further rows. The rows of a context name neither their
owner nor their context: the header does, for all of them.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import reprlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from context_service.kernel.graph import EntityGraph
from context_service.retrieval.model import MEMORY, PassageScope
from context_service.transfer import pure as archive
from context_service.transfer.pure import FORMAT, ArchivePiece
from context_service.transfer.rules.export import check_unbound
from context_service.transfer.rules.files import IncomingFile, file_of, pieces_of
from context_service.transfer.rules.row_checks import RowChecks
from context_service.transfer.store import imports, rows
from context_service.transfer.store.followups import ImportFollowups
from context_service.transfer.store.imports import ContextHeld, Run
from context_service.transfer.store.rows import ALL, Column, Columns
from context_service.transfer.store.tables import (
    CARRIED,
    CONTEXT,
    CONTEXT_ROWS,
    FIRST,
    RECORDS,
    RECORDS_WITH_FILE,
    RETIRED,
    Table,
)
from context_service.wiki.model import Owner, compared, names_of
from context_service.wiki.room import scope_of
from context_service.working_memory.room import BlobWriter, Limits, TenantLimits, blob_rows, upload_expired
from contextkeep.errors import (
    ArchiveRefused,
    ContextKeepError,
    ImportMoved,
    ImportNotFound,
    InvalidArgument,
    LimitExceeded,
)
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.erasure.erased import hash_of
from service_runtime.inputs.documents import CONTAINERS_MAX, beside_the_loop, check_containers, parse_json
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.calls import raise_if_cancelled
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.held_bytes import CallBytes, HeldBytes
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("transfer")

TOGETHER_BYTES = 1024 * 1024  # the pieces of one transaction have at most about this many bytes
_TOGETHER = 100  # pieces of one transaction
FILES_TOGETHER_BYTES = 8 * 1024 * 1024  # the files of one transaction have at most this many bytes together
_FILES_TOGETHER = 16  # files of one transaction
_LARGE_BYTES = archive.PIECE_BYTES  # a larger piece is read only while no other piece is in memory
_COPIES = 2  # a waiting piece is charged with this multiple of its size
# A large piece is charged with this multiple of its size. It is in memory as it arrived, as a parsed row, and as the
# text that is sent to Postgres; Python stores a text with four bytes a character if one character needs as many.
_LARGE_COPIES = 10
WRITING = 2  # imports that may write at the same time: a mebibyte of rows needs up to 40 MiB during its transaction
_WRITING_SHARES = Shares(of_tenant=0.5, of_key=0.5)
_CONTAINERS_MAX = 4 * CONTAINERS_MAX  # lists and objects in one document that the service itself made
CONFLICTS_REPORTED_MAX = 100
_OF_CONTEXT = frozenset(table.name for table in CONTEXT_ROWS)
_UNCHECKED = frozenset(table.name for table in FIRST)  # their documents are made by the service, and large

Mend = Callable[[Tenant, str], Awaitable[None]]  # rebuilds the index of users' data and of knowledge bases


class Importing:
    """Imports archives, for administrators.

    Args:
        database: The database into which the rows are written.
        writer: Writes the bytes of files.
        provider: The storage provider that gets the files.
        graph: The client of the Entity Service, which imports the graphs.
        limits: The limits of tenants, such as the number of records.
        owed: Queues the work that follows from written rows, such as embedding.
        mend: Rebuilds the index of all users' data, or of one user's.
        nesting_max: The deepest nesting that a JSON document may have.
        checks: Checks imported rows as the calls that write such rows do.
        charge: Limits the bytes in memory; it is charged for pieces that are not written yet.
    """

    def __init__(
        self,
        database: Database,
        *,
        writer: BlobWriter,
        provider: str,
        graph: EntityGraph,
        limits: Limits,
        owed: ImportFollowups,
        mend: Mend,
        nesting_max: int,
        checks: RowChecks,
        charge: HeldBytes,
    ) -> None:
        self._database = database
        self._held = charge
        self._turns = FairQueue(WRITING, _WRITING_SHARES)
        self._writer = writer
        self._provider = provider
        self._graph = graph
        self._limits = limits
        self._owed = owed
        self._mend = mend
        self._nesting_max = nesting_max
        self._checks = checks

    async def get(self, import_id: UUID, *, principal: Principal) -> Run:
        """Return the state of an import.

        Raises:
            ImportNotFound: the import does not exist.
            PermissionDenied: the key is bound, so it sees only a part of the tenant.
        """
        check_unbound(principal)
        run = await imports.read(self._database.of(principal), import_id)
        if run is None:
            raise ImportNotFound(f"import {import_id} does not exist", import_id=import_id)
        return run

    async def run(
        self, import_id: UUID | None, chunks: AsyncGenerator[bytes, None], *, principal: Principal, offset_bytes: int
    ) -> Run:
        """Import an archive, or the rest of one, and return the result.

        Args:
            import_id: Resumes an import. None is a dry run: everything is checked and compared, and nothing is written.
            chunks: The bytes of the archive, cut anywhere.
            principal: The caller, an administrator of the tenant.
            offset_bytes: Where in the archive `chunks` begins, in bytes.

        Raises:
            PermissionDenied: the key is bound, so it sees only a part of the tenant.
            ImportMoved: the import has reached another byte than `offset_bytes`.
            ArchiveRefused: a piece is malformed, or has values that cannot be stored.
            LimitExceeded: the tenant has no room for a row or a file. If the limit is `queued_items`, the import can
                resume when the queue of the tenant is shorter.
            BlobTooLarge: a file is larger than the tenant may store.
            StorageFull: the storage provider has no room for a file.
            HeldBytesExceeded: the service holds too many bytes for the caller, or a row is too large.
        """
        check_unbound(principal)
        with self._held.for_caller(principal) as charge:
            return await self._run(import_id, chunks, charge, principal=principal, offset_bytes=offset_bytes)

    async def _run(
        self,
        import_id: UUID | None,
        chunks: AsyncGenerator[bytes, None],
        charge: CallBytes,
        *,
        principal: Principal,
        offset_bytes: int,
    ) -> Run:
        """Load the state of the import, take all pieces, and finish it: update indexes, then mark it as done.

        If a piece is refused, the pieces before it are written first, so that the import can resume there.

        Raises:
            ImportMoved: the import has reached another byte than `offset_bytes`.
            ArchiveRefused: a piece is refused, or the archive is incomplete.
        """
        tenant = self._database.of(principal)
        run = Run(import_id=None)
        if import_id is not None:
            await imports.start(tenant, import_id, imported_by=principal.subject)
            run = await imports.read(tenant, import_id) or run
        if run.state != "RUNNING" or run.offset_bytes != offset_bytes:
            raise _import_moved(run)
        work = _Import(
            run,
            tenant,
            await rows.columns(tenant),
            await self._limits.of(principal),
            imported_by=principal.subject,
            provider=self._provider,
            owed=self._owed,
            nesting_max=self._nesting_max,
            checks=self._checks,
            charge=charge,
            turn=lambda: Turn(self._turns, principal),
            take_over=lambda context_id: imports.take_over(self._database, tenant.tenant_id, context_id),
        )
        coming = archive.pieces(
            chunks, number=run.pieces, seal=run.seal, offset_bytes=run.offset_bytes, room=work.make_room
        )
        async with aclosing(coming):
            try:
                await self._take(work, coming)
            except ContextKeepError:
                await work.write()  # writes the complete pieces before the error, so that the import resumes after them
                raise
            finally:
                await work.close()
        if not work.run.report.get("ended"):
            raise_if_cancelled()
            raise ArchiveRefused(
                f"the archive is incomplete: {work.run.pieces} pieces arrived; resume at byte {work.run.offset_bytes}",
                piece=work.run.pieces,
                offset_bytes=work.run.offset_bytes,
            )
        if import_id is not None:
            scope = work.run.manifest["scope"]
            if scope["kind"] in ("tenant", "user"):
                await self._mend(tenant, scope["id"] if scope["kind"] == "user" else "")
            if "definition" in work.run.report["rows"]:  # definitions arrived: start what compiles pages by them
                await self._graph.start_changes()
            await work.finish()
        return work.run

    async def _take(self, work: _Import, coming: AsyncGenerator[ArchivePiece, None]) -> None:
        """Read all pieces of the archive and hand each to `work`, by its kind; then write the pieces that still wait.

        Raises:
            ArchiveRefused: a piece comes after the end of the archive, or is refused for its content.
        """
        async for piece in coming:
            if work.run.report.get("ended") or work.has_end:
                raise piece.refused("the archive continues after its end")
            if piece.kind == "blob":
                await self._file(work, piece, coming)
            elif piece.kind == "graph":
                await work.write()
                await self._lines(work, piece)
            else:
                await work.add(piece)
        await work.write()

    async def _lines(self, work: _Import, piece: ArchivePiece) -> None:
        """Write lines of a graph; the Entity Service finds out which of them exist already."""
        name = piece.says.get("graph")
        if not isinstance(name, str) or work.run.open_context is not None or not work.run.manifest:
            raise piece.refused("lines of a graph must come after the manifest, and outside of a context")
        counts: dict[str, tuple[int, int]] = {}
        if work.run.import_id is not None:
            try:
                counts = await self._graph.put_lines(name, piece.data)
            except (InvalidArgument, LimitExceeded) as error:
                raise piece.refused(error.message) from error
        await work.add(piece, counts)

    async def _file(self, work: _Import, first: ArchivePiece, coming: AsyncGenerator[ArchivePiece, None]) -> None:
        """Store the bytes of a file, and add its record to the waiting pieces, so that one transaction writes both.

        A dry run reads the bytes without storing them.

        Args:
            work: The import.
            first: The first piece of the file.
            coming: The pieces after it: the rest of the file, and then its record.

        Raises:
            ArchiveRefused: the file is at a wrong place, or the piece after it is not its record.
        """
        _, size_bytes = file_of(first)
        if work.is_in_context or not work.has_manifest:
            raise first.refused("a file must come after the manifest, and outside of a context")
        work.limits.check_blob(size_bytes)
        if work.run.import_id is None:  # nothing is to be written
            async with aclosing(pieces_of(first, coming)) as those:
                async for _ in those:
                    pass
            return
        file = await work.begin_file(
            size_bytes,
            lambda: IncomingFile(
                first,
                coming,
                writer=self._writer,
                provider=self._provider,
                tenant=work.tenant,
                size_bytes_max=work.limits.blob_bytes_max,
            ),
        )
        await file.read()
        if file.is_here:
            return
        piece = await anext(coming, None)
        if piece is None or piece.kind != "rows" or piece.says.get("table") != RECORDS.name:
            raise (piece or first).refused("the record of the file must follow it")
        if file_of(piece) != (file.sha256, file.size_bytes):
            raise piece.refused("the record must name the file before it")
        await work.add(piece, file=file)

    async def keep_clearing(self, interval_s: float) -> None:
        """Remove the unfinished contexts of abandoned imports, pass after pass, until cancelled."""
        while True:
            await asyncio.sleep(background.apart(interval_s, 0.5, 1.0))
            try:
                if cleared := await Rounds(self._database, self._clear).run():
                    _log.info("unfinished contexts of imports removed", extra={"contexts": cleared})
            except ContextKeepError as error:
                _log.warning("removal of unfinished imports failed", extra={"error": str(error)})
            except Exception:
                _log.exception("removal of unfinished imports failed")  # the next pass tries again

    async def _clear(self, tenant: Tenant) -> tuple[int, bool]:
        return await imports.clear(self._database, tenant.tenant_id)


def _import_moved(run: Run) -> ImportMoved:
    """Return the error for an import that another call has continued or ended."""
    why = "the import is at another byte" if run.state == "RUNNING" else "the import has ended"
    return ImportMoved(
        f"{why}: see GetImport", offset_bytes=run.offset_bytes, state=run.state, import_id=run.import_id or ""
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A piece that is read and waits to be written in the next transaction."""

    piece: ArchivePiece
    counts: Mapping[str, tuple[int, int]]  # for lines of a graph: by kind, how many were written and how many existed
    file: IncomingFile | None  # the file of the record in the piece; None for other pieces


class _Import:
    """An import under way: its progress, and the pieces that wait for their transaction.

    Args:
        run: The progress so far, as it is stored.
        tenant: The tenant that imports the archive.
        columns: The columns of all tables.
        limits: The limits of the tenant.
        imported_by: The subject of the caller.
        provider: The storage provider that gets the files.
        owed: Queues the work that follows from written rows, such as embedding.
        nesting_max: The deepest nesting that a JSON document may have.
        checks: Checks imported rows as the calls that write such rows do.
        charge: Is charged for pieces until they are written.
        turn: Makes a turn of the fair queue. Each transaction waits for one, since few imports may write at a time.
        take_over: Removes the rows of a context that another import has begun to write.
    """

    def __init__(
        self,
        run: Run,
        tenant: Tenant,
        columns: Columns,
        limits: TenantLimits,
        *,
        imported_by: str,
        provider: str,
        owed: ImportFollowups,
        nesting_max: int,
        checks: RowChecks,
        charge: CallBytes,
        turn: Callable[[], Turn],
        take_over: Callable[[str], Awaitable[None]],
    ) -> None:
        self.run = run  # the progress up to the last written piece
        self.tenant = tenant
        self.limits = limits
        # These three describe the position up to the last piece that was read, which may not be written yet.
        self.has_manifest = bool(run.manifest)
        self.is_in_context = run.open_context is not None
        self.has_end = False
        self._known = columns
        self._source = rows.ImportOrigin(str(run.import_id or ""), imported_by)
        self._provider = provider
        self._owed = owed
        self._nesting_max = nesting_max
        self._checks = checks
        self._held = charge
        self._incoming_bytes = 0  # charged for the piece that is being read
        self._waiting_bytes = 0  # charged for the pieces that wait for the next transaction
        self._writing_bytes = 0  # charged for the pieces whose transaction is under way
        self._turn = turn
        self._take_over = take_over
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None  # the transaction under way
        self._files: set[IncomingFile] = set()  # files whose record is not written yet
        # Erasures of subjects since the archive was begun, each as its id and the subject's hash; None until read.
        self._erasures: list[tuple[UUID, bytes]] | None = None
        self._erased: dict[str, bool] = {}  # by owner: whether the owner was erased

    async def make_room(self, size_bytes: int) -> None:
        """Charge for the memory of the next piece of the archive, before it is read.

        Before a large piece, all waiting pieces are written to the database, so that it is alone in memory.

        Raises:
            HeldBytesExceeded: the bytes exceed a limit.
            Errors of `write`: a large piece came, and a piece before it could not be written.
        """
        is_large = size_bytes > _LARGE_BYTES
        if is_large:
            await self.write()
        self._incoming_bytes = size_bytes * (_LARGE_COPIES if is_large else _COPIES)
        self._charge()

    def _charge(self) -> None:
        self._held.set(self._incoming_bytes + self._waiting_bytes + self._writing_bytes)

    async def begin_file(self, size_bytes: int, begin: Callable[[], IncomingFile]) -> IncomingFile:
        """Begin to store a file, and return it.

        If the waiting files together would be too large, this first begins to write the waiting pieces. So it may
        raise the errors of `write`, from the transaction before that one.
        """
        files = [item.file.size_bytes for item in self._waiting if item.file]
        if self._waiting and sum(files) + size_bytes > FILES_TOGETHER_BYTES:
            await self._hand_over()
        file = begin()
        self._files.add(file)
        return file

    async def add(
        self,
        piece: ArchivePiece,
        counts: Mapping[str, tuple[int, int]] | None = None,
        *,
        file: IncomingFile | None = None,
    ) -> None:
        """Take a piece, and begin to write the waiting pieces if there are enough; raises the errors of `write`.

        Args:
            piece: The piece to write, checked.
            counts: For a piece of a graph, how many lines were written and how many existed, by kind.
            file: For a piece of records, the file that belongs to its record.
        """
        if piece.kind == "manifest":
            self.has_manifest = True
        elif piece.kind in ("context", "context_end"):
            self.is_in_context = piece.kind == "context"
        self.has_end = piece.kind == "end"
        self._waiting_bytes += self._incoming_bytes
        self._incoming_bytes = 0
        self._waiting.append(_Waiting(piece=piece, counts=counts or {}, file=file))
        files = [item.file.size_bytes for item in self._waiting if item.file]
        if (
            len(self._waiting) >= _TOGETHER
            or len(files) >= _FILES_TOGETHER
            or sum(files) >= FILES_TOGETHER_BYTES
            or sum(len(item.piece.data) for item in self._waiting) >= TOGETHER_BYTES
        ):
            await self._hand_over()

    async def write(self) -> None:
        """Write all waiting pieces; if one is refused, write only the pieces before it.

        Raises:
            ArchiveRefused, LimitExceeded: the first piece that is refused, and why.
            StorageFull, Unavailable, UploadExpired: a file could not be stored.
        """
        await self._hand_over()
        await self._settle()

    async def close(self) -> None:
        """Wait for the running transaction to end, and remove files that are not kept."""
        if self._writing is not None:
            await background.ended(self._writing)
        for file in self._files:
            await file.drop()

    async def _hand_over(self) -> None:
        """Wait for the transaction under way, and begin one that writes the waiting pieces."""
        await self._settle()
        waiting, self._waiting = self._waiting, []
        self._writing_bytes, self._waiting_bytes = self._waiting_bytes, 0
        if waiting:
            self._writing = asyncio.create_task(self._write(waiting))

    async def _settle(self) -> None:
        """Wait for the transaction under way; if it fails, drop the waiting pieces."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        try:
            await writing
        except BaseException:
            self._waiting, self._waiting_bytes = [], 0
            raise
        finally:
            self._writing_bytes = 0
            self._charge()

    async def _write(self, waiting: Sequence[_Waiting]) -> None:
        """Write waiting pieces in one transaction; if a piece is refused or its file fails, only the pieces before it.

        Raises:
            ArchiveRefused, LimitExceeded: a piece is refused.
            Errors of `IncomingFile.written`: the file of a piece could not be stored.
        """
        count, failure = await _durable_count(waiting)
        refused: list[int] = []

        async def work(transaction: Transaction, count: int) -> Run:
            """Make the files live, apply the first `count` pieces, and save the progress, all in one transaction."""
            run = copy.deepcopy(self.run)
            live_ids: list[UUID] = []
            for place, item in enumerate(waiting[:count]):
                try:
                    if item.file is not None:
                        live_ids.append(await self._publish(transaction, item.file))
                        _count(run, "blob", written=1)
                    await self._apply(transaction, run, item.piece, item.counts)
                except (ArchiveRefused, LimitExceeded):
                    refused.append(place)
                    raise
            if live_ids:
                # The sweeper removes those of the new files that no record points to, because the record existed.
                await blob_rows.release(transaction, [(live_id, "") for live_id in live_ids], grace_s=0)
            await self._save(transaction, run)
            return run

        async def written(count: int) -> None:
            """Write the first `count` pieces, and keep their files.

            If another import holds a context of these pieces, remove that import's rows of it first, and try again.
            """
            while count:
                try:
                    self.run = await blob_rows.publishing(
                        self.tenant, lambda transaction: work(transaction, count), across=ALL
                    )
                except ContextHeld as error:
                    await self._take_over(error.metadata["context_id"])
                else:
                    break
            for file in [item.file for item in waiting[:count] if item.file]:
                await file.keep()
                self._files.discard(file)

        async with self._turn() as turn:
            await turn.take()
            try:
                await written(count)
            except (ArchiveRefused, LimitExceeded):
                await written(refused[-1] if refused else 0)
                raise
        if failure is not None:
            raise failure

    async def _publish(self, transaction: Transaction, file: IncomingFile) -> UUID:
        """Make a file live, and return the id of its blob.

        Raises:
            UploadExpired: the sweeper has taken the file.
        """
        written = await file.written()
        live_id = await blob_rows.publish(transaction, written.id, provider=written.provider, digest=written.digest)
        if live_id is None:
            raise upload_expired()
        return live_id

    async def finish(self) -> None:
        """Mark the import as done."""

        async def work(transaction: Transaction) -> Run:
            manifest = self.run.manifest
            if manifest["scope"]["kind"] == "user":  # the row of a finished import must not keep the user's id
                manifest = {**manifest, "scope": {"kind": "user", "id": ""}}
            run = replace(self.run, state="DONE", manifest=manifest)
            await self._save(transaction, run, pieces_before=self.run.pieces)
            return run

        self.run = await self._transaction(work)

    async def _transaction(self, work: Callable[[Transaction], Awaitable[Any]]) -> Any:
        return await self.tenant.transaction(work, across=ALL)

    async def _save(self, transaction: Transaction, run: Run, *, pieces_before: int | None = None) -> None:
        """Store the state of the import; a dry run stores nothing.

        Raises:
            ImportMoved: another call has continued the import.
        """
        if run.import_id is None:
            return
        before = self.run.pieces if pieces_before is None else pieces_before
        if not await imports.save(transaction, run, pieces_before=before):
            raise _import_moved(run)

    async def _apply(
        self, transaction: Transaction, run: Run, piece: ArchivePiece, counts: Mapping[str, tuple[int, int]]
    ) -> None:
        """Apply a piece: write its rows, or begin or end a context.

        Raises:
            ArchiveRefused: the piece cannot be applied.
        """
        try:
            with rows.refusing_values(piece.refused):
                await self._apply_kind(transaction, run, piece, counts)
        except InvalidArgument as error:
            if isinstance(error, ArchiveRefused):
                raise
            raise piece.refused(error.message) from error
        run.pieces, run.offset_bytes, run.seal = piece.number + 1, piece.end_bytes, piece.seal

    async def _apply_kind(
        self, transaction: Transaction, run: Run, piece: ArchivePiece, counts: Mapping[str, tuple[int, int]]
    ) -> None:
        """Apply a piece by its kind; kinds without an effect on rows only update the report."""
        if piece.number == 0 or piece.kind == "manifest":
            _manifest(run, piece)
        elif piece.kind == "rows":
            await self._rows(transaction, run, piece)
        elif piece.kind == "context":
            await self._begin_context(transaction, run, piece)
        elif piece.kind == "context_end":
            await self._end_context(transaction, run, piece)
        elif piece.kind == "graph":
            for kind, (written, existed) in counts.items():
                _count(run, f"graph.{kind}", written=written, present=existed)
        elif piece.kind == "end":
            if run.open_context is not None:
                raise piece.refused(
                    f"the end of context {run.context_id} is missing: the archive is incomplete, so export it again"
                )
            run.report["left_out"] = _omissions(piece)
            run.report["ended"] = True

    async def _rows(self, transaction: Transaction, run: Run, piece: ArchivePiece) -> None:
        """Write the rows of a piece, or compare them in a dry run or with an existing context."""
        if piece.says.get("table") in RETIRED and run.open_context is not None:
            return
        table = _table_of(run, piece)
        if run.is_there == "erased":
            return
        batch = await self._batch(transaction, run, piece, table)
        if batch is None:
            return
        only = run.import_id is None or run.is_there == "there"
        if table.name == RECORDS.name:
            await self._room(transaction, batch.rows, batch.fixed_values)
        # In a dry run, the rows of a new context need no comparison: a context that does not exist has no rows.
        if run.import_id is None and table.name in _OF_CONTEXT and not run.is_there:
            _count(run, table.name, written=len(batch.rows))
            return
        result = await self._put(transaction, run, batch, compare_only=only)
        if run.is_there == "there":  # an existing context gets no rows: a missing row is a difference
            conflicts = [*result.conflicts, *[(0, "different")] * result.written]
            result = rows.Put(written=0, present=result.present, conflicts=conflicts)
        _count(run, table.name, written=result.written, present=result.present)
        for place, why in result.conflicts:
            _conflict(run, piece, table, batch.rows[place - 1] if place else {"context_id": run.context_id}, why)
        if not only:
            await self._follow_up(transaction, run, batch)

    async def _batch(self, transaction: Transaction, run: Run, piece: ArchivePiece, table: Table) -> _Batch | None:
        """Parse the rows of a piece, and add the values that they have in this tenant, such as the id of a blob.

        Returns:
            The rows; None if the owners of all rows were erased here.

        Raises:
            ArchiveRefused: a row is malformed, or the file of a record is not stored.
        """
        names, parsed = await beside_the_loop(len(piece.data), self._parse, piece, table)
        is_of_context = table.name in _OF_CONTEXT
        if not is_of_context and "owner_user_id" in names:
            parsed = await self._without_erased_owners(transaction, run, piece, table, parsed)
            if not parsed:
                return None
        fixed_values: dict[str, Any] = _fixed_values(run) if is_of_context else {}
        if table is RECORDS and "blob" in piece.says:
            table = RECORDS_WITH_FILE
            sha256, size_bytes = file_of(piece)
            fixed_values = {"sha256": sha256, "size_bytes": size_bytes, "provider": self._provider, "blob_id": None}
            if run.import_id is not None:
                fixed_values["blob_id"] = await blob_rows.hold_content(
                    transaction, provider=self._provider, sha256=sha256, size_bytes=size_bytes
                )
                if fixed_values["blob_id"] is None:
                    raise piece.refused("its file is neither in the archive before it nor stored here")
        return _Batch(piece=piece, table=table, names=names, rows=parsed, fixed_values=fixed_values)

    async def _put(self, transaction: Transaction, run: Run, batch: _Batch, *, compare_only: bool) -> rows.Put:
        """Write or compare the rows of a batch."""
        table, names, parsed = batch.table, batch.names, batch.rows
        if not compare_only:
            await self._owed.prepare(transaction, table, parsed)
        if table.name == "wiki_page":
            names = [*names, "scope_id"]
            for row in parsed:
                row["scope_id"] = str(scope_of(transaction.tenant_id, row["owner_user_id"]).id)
        if table.numbered:
            numbers = [_number(batch.piece, row) for row in parsed]
            if not compare_only:
                await rows.number_after(transaction, table, numbers)
        result = await rows.put(
            transaction,
            table,
            self._known,
            names,
            orjson.dumps(parsed),
            count=len(parsed),
            fixed_values=batch.fixed_values,
            source=self._source,
            compare_only=compare_only,
        )
        if table.is_renumbered and not compare_only:
            result = await self._renumber(
                transaction, run, batch.piece, table, names, parsed, batch.fixed_values, result
            )
        return result

    async def _follow_up(self, transaction: Transaction, run: Run, batch: _Batch) -> None:
        """Queue the work that written rows need, such as embedding, and write counts and names."""
        await self._owed.queue(transaction, batch.table, batch.rows)
        if batch.table.name == "memory":
            await self._count_memories(transaction, batch.rows)
        elif batch.table.name == "wiki_page":
            await self._name_pages(transaction, run, batch.piece, batch.rows)

    async def _without_erased_owners(
        self, transaction: Transaction, run: Run, piece: ArchivePiece, table: Table, parsed: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the rows without those of subjects that were erased here after the archive was begun."""
        remaining = []
        for row in parsed:
            if await self._is_erased(transaction, run, row["owner_user_id"]):
                _conflict(run, piece, table, row, "erased")
            else:
                remaining.append(row)
        return remaining

    async def _is_erased(self, transaction: Transaction, run: Run, owner: object) -> bool:
        """Tell whether a subject was erased here after the archive was begun."""
        if not isinstance(owner, str) or not owner:
            return False
        if self._erasures is None:
            self._erasures = await imports.erased_since(transaction, _start_of(run))
        if owner not in self._erased:
            self._erased[owner] = any(hash_of(erasure_id, owner) == sha256 for erasure_id, sha256 in self._erasures)
        return self._erased[owner]

    async def _renumber(
        self,
        transaction: Transaction,
        run: Run,
        piece: ArchivePiece,
        table: Table,
        names: list[str],
        parsed: list[dict[str, Any]],
        fixed_values: Mapping[str, Any],
        result: rows.Put,
    ) -> rows.Put:
        """Write again the rows whose `seq` is taken or too high; the tenant's next numbers replace it.

        Args:
            transaction: The transaction of the first attempt.
            run: The progress, whose report gets an entry for each renumbered row.
            piece: The piece that has the rows.
            table: The table of the rows.
            names: The names of the members of each row.
            parsed: All rows of the piece.
            fixed_values: The values for columns that the rows do not have.
            result: The result of the first attempt.

        Returns:
            The result of both attempts together.
        """
        taken_rows = [place for place, why in result.conflicts if why == "taken"]
        if not taken_rows:
            return result
        again = [{name: value for name, value in parsed[place - 1].items() if name != "seq"} for place in taken_rows]
        second_put = await rows.put(
            transaction,
            table,
            self._known,
            [name for name in names if name != "seq"],
            orjson.dumps(again),
            count=len(again),
            fixed_values=fixed_values,
            source=self._source,
        )
        still = {taken_rows[place - 1] for place, _ in second_put.conflicts}
        for place in taken_rows:
            if place not in still:
                _report_conflict(run, piece, table, parsed[place - 1], "renumbered")
        conflicts = [(place, why) for place, why in result.conflicts if why != "taken" or place in still]
        return rows.Put(written=result.written + second_put.written, present=result.present, conflicts=conflicts)

    def _parse(self, piece: ArchivePiece, table: Table) -> tuple[list[str], list[dict[str, Any]]]:
        """Return the column names of a piece's rows, and the rows.

        Raises:
            ArchiveRefused: a row is malformed, or has a column that its table does not have.
        """
        allowed = {item.name: item for item in rows.carried(table, self._known)}
        documents = [item for item in allowed.values() if item.is_document]
        rows_found: list[dict[str, Any]] = []
        names: list[str] = []
        for number, line in enumerate(archive.lines_of(piece), 1):
            # A valid row has few lists and objects, since its documents are JSON inside of strings. Counting brackets
            # is cheap; only a line with many of them is checked exactly.
            if line.count(b"[") + line.count(b"{") > CONTAINERS_MAX:
                check_containers(f"line {number}", line.decode(errors="replace"))
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                raise piece.refused("it is not valid JSON", line=number) from None
            if not isinstance(row, dict):
                raise piece.refused("it is not a JSON object", line=number)
            for name in table.retired & row.keys():
                del row[name]
            if not names:
                names = list(row)
                self._check_names(piece, table, allowed, names)
            elif row.keys() != set(names):
                raise piece.refused("its members differ from those of the first row", line=number)
            for item in documents:
                self._check_document(piece, table, item, row.get(item.name), number)
            try:
                self._checks.check(table.name, row)
            except (InvalidArgument, LimitExceeded) as error:
                raise piece.refused(error.message, line=number) from error
            rows_found.append(row)
        if not rows_found:
            raise piece.refused("it has no rows")
        return names, rows_found

    def _check_names(self, piece: ArchivePiece, table: Table, allowed: Mapping[str, Column], names: list[str]) -> None:
        """Check the members of a table's rows.

        Raises:
            ArchiveRefused: a member is not allowed, or a required one is missing.
        """
        for name in names:
            if name not in allowed:
                raise piece.refused(f"rows of this table must not have the member {name[:100]!r}", line=1)
        lacking = [name for name in (*table.rest_of_key, *(["seq"] if table.numbered else [])) if name not in names]
        if lacking:
            raise piece.refused(f"its rows lack the member {lacking[0]!r}", line=1)

    def _check_document(self, piece: ArchivePiece, table: Table, item: Column, text: object, line: int) -> None:
        """Check a JSON document in a row: its nesting, its size and, for some columns, its form.

        Raises:
            ArchiveRefused: the document is malformed.
        """
        if text is None:
            return
        if not isinstance(text, str):
            raise piece.refused(f"{item.name} must be a document as a text", line=line)
        try:
            if table.name in _UNCHECKED:
                check_containers(item.name, text, containers_max=_CONTAINERS_MAX)
                orjson.loads(text)
            else:
                document = parse_json(
                    item.name, text, size_bytes_max=archive.PIECE_BYTES_MAX, nesting_max=self._nesting_max
                )
                if check := table.forms.get(item.name):
                    check(document)
        except (ValueError, InvalidArgument, LimitExceeded) as error:  # `orjson.JSONDecodeError` is a ValueError
            raise piece.refused(f"{item.name} is not a valid document: {error}", line=line) from None

    async def _begin_context(self, transaction: Transaction, run: Run, piece: ArchivePiece) -> None:
        """Begin a context: check its header, and find out whether the context exists or was erased here.

        Rows of an existing context are only compared, and rows of an erased one are skipped.

        Raises:
            ArchiveRefused: the header is malformed, or the context before it is incomplete.
        """
        if run.open_context is not None:
            raise piece.refused(
                f"the end of context {run.context_id} is missing: the archive is incomplete, so export it again"
            )
        document = dict(piece.says, rows=1)
        names, (header,) = await beside_the_loop(len(piece.data), self._parse, replace(piece, says=document), CONTEXT)
        _check_header(piece, header)
        if header["context_id"] != piece.says.get("context"):
            raise piece.refused("its header has another context_id than its line")
        run.open_context = header
        run.is_there = await imports.there(transaction, header["context_id"])
        if not run.is_there and await self._is_erased(transaction, run, header["owner_user_id"]):
            run.is_there = "erased"
        if not run.is_there:
            if run.import_id is None:
                _count(run, CONTEXT.name, written=1)
            return
        if run.is_there == "erased":
            _conflict(run, piece, CONTEXT, header, "erased")
            return
        result = await rows.put(
            transaction,
            CONTEXT,
            self._known,
            names,
            orjson.dumps([header]),
            count=1,
            fixed_values={},
            source=self._source,
            compare_only=True,
        )
        _count(run, CONTEXT.name, present=result.present)
        for _, why in result.conflicts:
            _conflict(run, piece, CONTEXT, header, why)

    async def _end_context(self, transaction: Transaction, run: Run, piece: ArchivePiece) -> None:
        """End a context: check its numbers, and write its header, which makes it visible.

        If its external id is taken here, the context is written without one, and the conflict is reported.

        Raises:
            ArchiveRefused: no such context is open, or its numbers do not fit its messages.
            ImportMoved: the context was created by another call meanwhile.
        """
        if run.open_context is None or piece.says.get("context") != run.context_id:
            raise piece.refused("it ends a context that is not open")
        header, is_there = run.open_context, run.is_there
        run.open_context, run.is_there = None, ""
        if is_there or run.import_id is None:
            return
        context_id = header["context_id"]
        first_seq, last_seq = await imports.reached(transaction, context_id)
        if not last_seq <= header["last_seq"] <= rows.NUMBER_MAX:
            raise piece.refused(
                f"last_seq of its header is {header['last_seq']}, but it must be from {last_seq}, the seq of its last "
                f"message, to {rows.NUMBER_MAX}"
            )
        if first_seq < 1:
            raise piece.refused(f"seq of its messages must be 1 or more (got {first_seq})")
        result = await self._header(transaction, header)
        if result.conflicts and header.get("only_id") is not None:  # another context here has the external id
            _conflict(run, piece, CONTEXT, header, "taken")
            result = await self._header(transaction, {**header, "only_system": None, "only_id": None})
        if not result.written:
            raise ImportMoved(
                "the context was created during the import; start the import again", context_id=context_id
            )
        await imports.agree(transaction, context_id)
        _count(run, CONTEXT.name, written=1)

    async def _header(self, transaction: Transaction, header: dict[str, Any]) -> rows.Put:
        """Write the header of a context."""
        item = orjson.dumps([header])
        return await rows.put(
            transaction, CONTEXT, self._known, list(header), item, count=1, fixed_values={}, source=self._source
        )

    async def _room(
        self, transaction: Transaction, records: list[dict[str, Any]], fixed_values: Mapping[str, Any]
    ) -> None:
        """Refuse records for which the tenant has no room; records that exist already need none.

        Raises:
            LimitExceeded: the tenant has less room, or a content is too large.
        """
        ids = [str(row["id"]) for row in records]
        here = await self._owed.here(transaction, ids)
        new = [row for row in records if row["id"] not in here]
        size_bytes = 0
        for row in new:
            content = row.get("content") or row.get("content_text") or ""
            if not isinstance(content, str):
                continue
            if "size_bytes" not in fixed_values:
                self.limits.check_content("content", content)
            size_bytes += fixed_values.get("size_bytes", len(content.encode()))
        if new:
            await self.limits.take_room(transaction, records=len(new), size_bytes=size_bytes)

    async def _count_memories(self, transaction: Transaction, memories: list[dict[str, Any]]) -> None:
        users = sorted({str(row["owner_user_id"]) for row in memories})
        scopes = [PassageScope.of_user(MEMORY, transaction.tenant_id, user).id for user in users]
        await self._owed.count_memories(transaction, users, scopes)

    async def _name_pages(
        self, transaction: Transaction, run: Run, piece: ArchivePiece, pages: list[dict[str, Any]]
    ) -> None:
        """Write the names by which pages are looked up: their slugs and aliases."""
        for page in await self._owed.pages(transaction, [str(row["page_id"]) for row in pages]):
            owner = Owner(
                tenant_id=transaction.tenant_id,
                user_id=page.owner_user_id,
                app_id=page.app_id,
                agent_bundle_id=page.agent_bundle_id,
            )
            ids = [owner.name_id(name) for name in names_of(compared(page.slug), page.aliases)]
            if not await self._owed.name_page(transaction, page, ids):
                _conflict(run, piece, CARRIED["wiki_page"], {"page_id": str(page.page_id)}, "taken")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """The rows of a piece, and the values for columns that the rows do not have."""

    piece: ArchivePiece
    table: Table
    names: list[str]  # the names of the members that each row has
    rows: list[dict[str, Any]]
    fixed_values: dict[str, Any]


async def _durable_count(waiting: Sequence[_Waiting]) -> tuple[int, ContextKeepError | None]:
    """Wait until the files of pieces are durable; return how many pieces come before a failure, and the failure."""
    for place, item in enumerate(waiting):
        try:
            if item.file is not None:
                await item.file.written()
        except ContextKeepError as error:
            return place, error
    return len(waiting), None


def _table_of(run: Run, piece: ArchivePiece) -> Table:
    """Return the table whose rows a piece has.

    Raises:
        ArchiveRefused: rows of this table are not allowed here.
    """
    table = CARRIED.get(str(piece.says.get("table")))
    if table is None:
        raise piece.refused("its table is unknown; import it with the release that exported it, or a newer one")
    if table is CONTEXT:
        raise piece.refused("a context comes as a header, not as rows of a table")
    is_of_context = table.name in _OF_CONTEXT
    if is_of_context != (run.open_context is not None):
        raise piece.refused("rows of a context must be between its header and its end, without other rows")
    if is_of_context and piece.says.get("context") != run.context_id:
        raise piece.refused(f"its rows belong to another context than {run.context_id}, whose header came last")
    return table


def _manifest(run: Run, piece: ArchivePiece) -> None:
    """Read the manifest of an archive.

    Raises:
        ArchiveRefused: this release cannot read the archive.
    """
    if piece.number or piece.kind != "manifest":
        raise piece.refused("an archive must begin with its only manifest")
    try:
        document = orjson.loads(piece.data)
        scope = document["scope"]
        is_known = document["format"] == FORMAT
        if scope["kind"] not in ("tenant", "context", "user", "graph") or not isinstance(scope["id"], str):
            raise ValueError("no scope")
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        raise piece.refused("the manifest is malformed") from None
    if not is_known:
        raise piece.refused(f"the format of the archive must be {FORMAT}: a newer release wrote it")
    if len(piece.data) > archive.LINE_BYTES_MAX:
        raise piece.refused(f"the manifest has {len(piece.data):,} bytes; the limit is {archive.LINE_BYTES_MAX:,}")
    run.manifest = document
    run.report = {"rows": {}, "conflicts": [], "left_out": []}


def _start_of(run: Run) -> datetime | None:
    """Return when an archive was begun; None if its manifest states no valid time."""
    try:
        begun_at = datetime.fromisoformat(run.manifest["begun_at"])
    except (KeyError, TypeError, ValueError):
        return None
    return begun_at if begun_at.tzinfo else None


def _check_header(piece: ArchivePiece, header: Mapping[str, Any]) -> None:
    """Check that a context's header has the values that all rows of the context take from it.

    Raises:
        ArchiveRefused: the header is malformed.
    """
    texts = ("owner_user_id", "app_id", "agent_bundle_id")
    ancestors = header.get("ancestors")
    try:
        ids = [str(UUID(item)) for item in ancestors] if isinstance(ancestors, list) else []
        is_whole = ids[-1:] == [header["context_id"]] and all(isinstance(header.get(item), str) for item in texts)
    except (ValueError, AttributeError, TypeError):
        is_whole = False
    if not is_whole or type(header.get("last_seq")) is not int:
        raise piece.refused(
            f"the header of context {reprlib.repr(header.get('context_id'))} is malformed; export the archive again"
        )


def _fixed_values(run: Run) -> dict[str, Any]:
    """Return the values that rows of the open context take from its header: its id, its ancestors and its owner."""
    assert run.open_context is not None, "rows of a context have its header"
    header = run.open_context
    return {
        "context_id": header["context_id"],
        "ancestors": [UUID(item) for item in header["ancestors"]],
        **{name: header[name] for name in ("owner_user_id", "app_id", "agent_bundle_id")},
    }


def _omissions(piece: ArchivePiece) -> list[str]:
    """Return the notes in the end of an archive that say which data the archive does not have.

    Raises:
        ArchiveRefused: the last piece of the archive is malformed.
    """
    try:
        document = orjson.loads(piece.data)["left_out"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise piece.refused("the last piece of the archive is malformed; export the archive again") from None
    if (
        not isinstance(document, list)
        or len(document) > CONFLICTS_REPORTED_MAX
        or not all(isinstance(item, str) for item in document)
    ):
        raise piece.refused("the last piece of the archive is malformed; export the archive again")
    return [item[:500] for item in document]


def _number(piece: ArchivePiece, row: Mapping[str, Any]) -> int:
    """Return the `seq` of a row.

    Raises:
        ArchiveRefused: it is not a whole number in the allowed range.
    """
    seq = row["seq"]
    if type(seq) is not int or not 0 < seq <= rows.NUMBER_MAX:
        raise piece.refused(f"seq must be a whole number from 1 to {rows.NUMBER_MAX:,}")
    return int(seq)


def _count(run: Run, table: str, *, written: int = 0, present: int = 0, conflicts: int = 0) -> None:
    """Add to the report's counts of written, present and conflicting rows of a table."""
    counts = run.report["rows"].setdefault(table, [0, 0, 0])
    for place, more in enumerate((written, present, conflicts)):
        counts[place] += more


def _conflict(run: Run, piece: ArchivePiece, table: Table, row: Mapping[str, Any], why: str) -> None:
    """Count a row as a conflict, and report it."""
    _count(run, table.name, conflicts=1)
    _report_conflict(run, piece, table, row, why)


def _report_conflict(run: Run, piece: ArchivePiece, table: Table, row: Mapping[str, Any], why: str) -> None:
    """Add a conflict to the report, with the row's key and the reason, unless it has the most conflicts already."""
    if len(run.report["conflicts"]) < CONFLICTS_REPORTED_MAX:
        key = {name: row[name] for name in (*table.key, "context_id") if name in row}
        if run.context_id:
            key["context_id"] = run.context_id
        conflict = {"table": table.name, "key": orjson.dumps(key).decode()[:1000], "why": why, "piece": piece.number}
        run.report["conflicts"].append(conflict)


def report_of(run: Run) -> Mapping[str, Any]:
    """Return the report of an import; an empty one if nothing was read yet."""
    return {"rows": {}, "conflicts": [], "left_out": [], **run.report}
