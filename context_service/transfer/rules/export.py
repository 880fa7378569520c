"""Exports the rows and files of a tenant, a context, a user or a graph as one archive.

The order is: rows of the tenant, graphs, records with their files, rows of users, contexts. Rows are read in batches;
each batch is one snapshot that ends before its first byte is sent, so no transaction waits for a slow reader. In memory
are one batch and, while its second half is sent, the next one. A context that fits a batch is read in one snapshot. Of
a larger one the header and the windows are read first, in one snapshot, and its messages up to the `last_seq` of the
header in further ones.

An interrupted export resumes at a position: the part, the key of the last row, the seal and the counts so far. All of
that is in the resume token; the server keeps nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import orjson

from context_service.blobs.storage import BlobStorage, StoredBlob
from context_service.kernel.graph import EntityGraph
from context_service.transfer import pure as archive
from context_service.transfer.pure import BLOB_BYTES, CHUNK_BYTES, FIRST_SEAL, FORMAT, PIECE_BYTES
from context_service.transfer.rules.read_ahead import ArchiveChunk, ahead
from context_service.transfer.store import rows
from context_service.transfer.store.export import BEGUN, FILE, FILES, RECORDS_OF, RECORDS_OF_USER, TREE, WINDOWS_NOW
from context_service.transfer.store.rows import ALL, Columns
from context_service.transfer.store.tables import (
    CONTEXT,
    CONTEXT_ROWS,
    FIRST,
    LEFT_OUT_NOTES,
    OF_RECORDS,
    RECORDS,
    TENANT,
    USERS,
    Table,
)
from contextkeep.errors import Aborted, ContextNotFound, InvalidPageToken, PermissionDenied
from contextkeep.version import __version__
from service_runtime.background_work import background
from service_runtime.inputs.pages import decode_token, encode_token
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.held_bytes import CallBytes, HeldBytes
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

ScopeKind = Literal["tenant", "context", "user", "graph"]

BATCH_BYTES = 4 * 1024 * 1024  # a snapshot reads about this many bytes of rows, and then ends
AHEAD_BYTES = 2 * 1024 * 1024  # bytes that are produced while earlier ones are sent
_FIRST_BYTES = 32 * 1024 * 1024  # limit of a batch within a context's header and windows, which need one snapshot
_EXPORT_BYTES = 3 * AHEAD_BYTES  # charged for each export, whose bytes wait, are being sent or are being produced
_BATCH_COPIES = 2  # copies of a batch in memory: the rows as Postgres sent them, and the rows as texts
_GROUP_BYTES = 8 * 1024 * 1024  # about as many bytes of files are between two positions at which an export can resume
_SENT_MAX = 100_000  # hashes of sent files that an export remembers, to send each file once
_MESSAGE_BYTES = CHUNK_BYTES // 4  # a message with a resume token has at least this many bytes, except the last one


# The rows to export, by the kind of scope. Records without an owner are exported with the contexts that point at them.
_RECORDS_WHERE = {
    "tenant": "true",
    "context": f"({RECORDS_OF})",
    "user": RECORDS_OF_USER,
    "graph": "t.graph_name = %(graph_name)s",
}
_CONTEXTS_WHERE = {
    "tenant": "t.deleted_at IS NULL",
    "context": "t.deleted_at IS NULL AND t.context_id = ANY (%(context_ids)s::uuid[])",
    "user": "t.deleted_at IS NULL AND t.owner_user_id = %(user_id)s",
}
_USERS_WHERE = {"tenant": "true", "user": "t.owner_user_id = %(user_id)s"}

# The parts of an archive, in their order.
_PARTS: dict[str, tuple[str, ...]] = {
    "tenant": ("tenant", "graphs", "records", "users", "contexts"),
    "context": ("records", "contexts"),
    "user": ("records", "users", "contexts"),
    "graph": ("graphs", "records"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveScope:
    """The scope of an export: the whole tenant, or a part of it."""

    kind: ScopeKind
    id: str = ""  # the id of the context or user, or the name of the graph; empty for the tenant


@dataclass(slots=True, kw_only=True)
class _Place:
    """The position of an export, from which it can resume."""

    number: int = 0  # the number of the next piece
    seal: bytes = FIRST_SEAL  # the hash over all pieces before it
    part: int = 0  # the index of the current part in `_PARTS`
    at: list[Any] = field(default_factory=list)  # the position within the part; empty at its beginning
    counts: dict[str, int] = field(default_factory=dict)  # by table: rows so far, and also files and their bytes

    def piece(self, kind: archive.Kind, data: bytes, **says: object) -> bytes:
        """Return the bytes of the next piece, and advance the position."""
        pieces, self.seal = archive.sealed(self.seal, {"piece": self.number, "kind": kind, **says}, data)
        self.number += 1
        return pieces

    def rows(self, table: str, lines: Sequence[str], **says: object) -> bytes:
        """Return the next pieces, each with as many of these rows as fit in it."""
        self.count(table, len(lines))
        pieces: list[bytes] = []
        together: list[bytes] = []
        together_bytes = 0
        for line in lines:
            row = line.encode() + b"\n"
            if together and together_bytes + len(row) > PIECE_BYTES:
                pieces.append(self.piece("rows", b"".join(together), table=table, rows=len(together), **says))
                together, together_bytes = [], 0
            together.append(row)
            together_bytes += len(row)
        pieces.append(self.piece("rows", b"".join(together), table=table, rows=len(together), **says))
        return b"".join(pieces)

    def count(self, what: str, more: int) -> None:
        """Add to the counts of rows, files and bytes that the last piece states."""
        self.counts[what] = self.counts.get(what, 0) + more


_Output = tuple[bytes, bool]  # pieces of an archive, and whether an export can resume after them


class Exporting:
    """Exports archives, for administrators.

    Args:
        database: The database that holds the rows.
        storage: The providers that hold the files.
        graph: The client of the Entity Service, which holds the graphs.
        charge: Is charged for bytes that the reader has not received yet.
    """

    def __init__(self, database: Database, storage: BlobStorage, graph: EntityGraph, *, charge: HeldBytes) -> None:
        self._database = database
        self._held = charge
        self._storage = storage
        self._graph = graph

    async def messages(
        self, principal: Principal, scope: ArchiveScope, resume_token: str
    ) -> AsyncGenerator[tuple[bytes, str], None]:
        """Yield the bytes of an archive, up to a mebibyte at a time, with the token that resumes after them, if any.

        Raises:
            PermissionDenied: the key is bound, so it sees only a part of the tenant.
            ContextNotFound: the context of the scope does not exist.
            InvalidPageToken: the token belongs to another export.
            Aborted: a large window changed meanwhile.
            BlobCorrupted, Unavailable: see `BlobStorage.read`.
            HeldBytesExceeded: the service holds too many bytes for the caller.
        """
        check_unbound(principal)
        with self._held.charged(principal, _EXPORT_BYTES):
            async with aclosing(self._messages(principal, scope, resume_token)) as messages:
                async for message in messages:
                    yield message

    async def _messages(
        self, principal: Principal, scope: ArchiveScope, resume_token: str
    ) -> AsyncGenerator[tuple[bytes, str], None]:
        """Yield the archive in chunks, some with a resume token; only a limited part is read ahead of the caller."""
        binding = ("ExportArchive", principal.tenant_id, scope.kind, scope.id)
        place = _decode(binding, resume_token, _PARTS[scope.kind])
        charge, token = bytearray(), ""
        pieces = ahead(self._with_tokens(self._pieces(principal, scope, place), binding, place), bytes_max=AHEAD_BYTES)
        async with aclosing(pieces):
            async for data, token in pieces:
                charge += data
                while len(charge) > CHUNK_BYTES:
                    yield bytes(charge[:CHUNK_BYTES]), ""
                    del charge[:CHUNK_BYTES]
                if token and len(charge) >= _MESSAGE_BYTES:
                    yield bytes(charge), token
                    charge.clear()
        if charge:
            yield bytes(charge), token

    async def _with_tokens(
        self, pieces: AsyncGenerator[_Output, None], binding: tuple[object, ...], place: _Place
    ) -> AsyncGenerator[ArchiveChunk, None]:
        """Yield pieces, each with the token that resumes after it; the token is empty if an export cannot resume there.

        The token is made at once, because `place` moves on when the next piece is produced.
        """
        async with aclosing(pieces):
            async for data, goes_on in pieces:
                yield ArchiveChunk(data, _encode(binding, place) if goes_on else "")

    async def _pieces(self, principal: Principal, scope: ArchiveScope, place: _Place) -> AsyncGenerator[_Output, None]:
        """Yield the pieces of an archive, from a position on: the manifest, the parts of the scope, and the end.

        Each element also says whether an export can resume after it.
        """
        tenant = self._database.of(principal)
        known = await rows.columns(tenant)
        parameters = await self._parameters(tenant, scope)
        if place.number == 0:
            yield await self._manifest(tenant, scope, place), True
        parts = _PARTS[scope.kind]
        while place.part < len(parts):
            name = parts[place.part]
            if name == "tenant":
                part = self._tables(tenant, known, TENANT, "true", parameters, place)
            elif name == "graphs":
                part = self._graphs(scope, place)
            elif name == "records":
                part = self._records(tenant, known, _RECORDS_WHERE[scope.kind], parameters, place)
            elif name == "users":
                part = self._tables(tenant, known, USERS, _USERS_WHERE[scope.kind], parameters, place)
            else:
                where = _CONTEXTS_WHERE[scope.kind]
                part = self._contexts(tenant, known, where, parameters, place, self._held.for_caller(principal))
            async with aclosing(part):
                async for pieces in part:
                    yield pieces
            place.part, place.at = place.part + 1, []
        if place.part == len(parts):
            counts = dict(sorted(place.counts.items()))
            document = {"finished_at": _text(datetime.now(UTC)), "counts": counts, "left_out": LEFT_OUT_NOTES}
            place.part += 1
            yield place.piece("end", orjson.dumps(document) + b"\n"), True

    async def _parameters(self, tenant: Tenant, scope: ArchiveScope) -> dict[str, Any]:
        """Return the SQL parameters that select the rows of the scope.

        Raises:
            ContextNotFound: the context of the scope does not exist.
        """
        if scope.kind == "context":
            rows_found = await tenant.query(TREE, (tenant.tenant_id, scope.id))
            if not rows_found:
                raise ContextNotFound(f"context {scope.id} does not exist", context_id=scope.id)
            return {"context_ids": [row.context_id for row in rows_found]}
        return {"user": {"user_id": scope.id}, "graph": {"graph_name": scope.id}}.get(scope.kind, {})

    async def _manifest(self, tenant: Tenant, scope: ArchiveScope, place: _Place) -> bytes:
        """Return the first piece of an archive: its format, release, schema and scope, and when it was begun."""
        (row,) = await tenant.query(BEGUN)
        document = {
            "format": FORMAT,
            "archive_id": str(new_id()),
            "release": __version__,
            "schema": {"context": row.version},
            "scope": {"kind": scope.kind, "id": scope.id},
            "begun_at": _text(row.begun_at),
        }
        return place.piece("manifest", orjson.dumps(document) + b"\n")

    async def _tables(
        self,
        tenant: Tenant,
        columns: Columns,
        tables: Sequence[Table],
        where: str,
        parameters: Mapping[str, Any],
        place: _Place,
    ) -> AsyncGenerator[_Output, None]:
        """Yield the rows of tables, table by table; the position is the table and the key of the last row."""
        number, after = place.at or (0, [])
        rows_max = 50
        while number < len(tables):
            table = tables[number]

            async def read(
                transaction: Transaction,
                table: Table = table,
                after: list[str] = after,
                rows_max: int = rows_max,
            ) -> rows.Page:
                """Read the next page of rows of this table."""
                return await rows.page(
                    transaction,
                    table,
                    columns,
                    where=where,
                    parameters=parameters,
                    after=after,
                    rows_max=rows_max,
                )

            page = await tenant.snapshot(read, across=ALL)
            pieces = place.rows(table.name, page.lines) if page.lines else b""
            if page.is_last:
                number, after, rows_max = number + 1, [], 50
            else:
                after, rows_max = page.keys[-1], rows.next_rows_max(page)
            place.at = [number, after]
            if pieces:
                yield pieces, True

    async def _graphs(self, scope: ArchiveScope, place: _Place) -> AsyncGenerator[_Output, None]:
        """Yield graphs by name; the position is the graph and the token of its next page."""
        begin, token = place.at or ("", "")
        names = [scope.id] if scope.kind == "graph" else sorted(await self._graph.names())
        for name in names:
            if name < begin:
                continue
            async with aclosing(self._graph.lines(name, token if name == begin else "")) as pages:
                async for page in pages:
                    for kind, count in page.counts.items():
                        place.count(f"graph.{kind}", count)
                    place.at = [name, page.resume_token]
                    yield place.piece("graph", page.lines, graph=name), True
            token = ""

    async def _records(
        self, tenant: Tenant, columns: Columns, where: str, parameters: Mapping[str, Any], place: _Place
    ) -> AsyncGenerator[_Output, None]:
        """Yield records, each after its file; the position is the key of the last one."""
        after: list[str] = place.at
        rows_max, is_last = 50, False
        sent: set[bytes] = set()
        while not is_last:

            async def read(
                transaction: Transaction, after: list[str] = after, rows_max: int = rows_max
            ) -> tuple[rows.Page, dict[str, Any]]:
                """Read the next page of records and where their files are stored, in one snapshot."""
                page = await rows.page(
                    transaction,
                    RECORDS,
                    columns,
                    where=where,
                    parameters=parameters,
                    after=after,
                    rows_max=rows_max,
                )
                ids = [UUID(key[0]) for key in page.keys]
                files = await transaction.query(FILES, (transaction.tenant_id, ids))
                return page, {str(row.id): row for row in files}

            page, files = await tenant.snapshot(read, across=ALL)
            is_last = page.is_last
            group: list[str] = []  # ids of records whose other rows, such as actions, are not sent yet
            plain: list[str] = []  # records of the group that have no file
            group_bytes = 0
            for line, (record_id,) in zip(page.lines, page.keys, strict=True):
                file = files.get(record_id)
                if file is None:
                    plain.append(line)
                    group.append(record_id)
                    continue
                if file.is_damaged:
                    place.count("damaged", 1)
                    continue
                document = {"sha256": bytes(file.sha256).hex(), "size": file.size_bytes}
                if file.sha256 not in sent:
                    async with aclosing(self._file(tenant, record_id, document, place)) as pieces:
                        async for some in pieces:
                            yield some, False
                    if len(sent) >= _SENT_MAX:
                        sent.clear()  # an import does not write a repeated file again
                    sent.add(file.sha256)
                    group_bytes += file.size_bytes
                yield place.rows(RECORDS.name, [line], blob=document), False
                group.append(record_id)
                if group_bytes >= _GROUP_BYTES:
                    # Enough files were sent: complete the rows of these records, so that the export can resume here.
                    async for made_rest in self._end_group(tenant, columns, plain, group, place):
                        yield made_rest, False
                    place.at = [record_id]
                    yield b"", True
                    group, plain, group_bytes = [], [], 0
            async for made_rest in self._end_group(tenant, columns, plain, group, place):
                yield made_rest, False
            if page.keys:
                after, rows_max = page.keys[-1], rows.next_rows_max(page)
                place.at = after
                yield b"", True

    async def _end_group(
        self, tenant: Tenant, columns: Columns, plain: list[str], record_ids: list[str], place: _Place
    ) -> AsyncGenerator[bytes, None]:
        """Yield the records of a group that have no file, and the other rows of all records of the group."""
        if plain:
            yield place.rows(RECORDS.name, plain)
        ids = {"record_ids": [UUID(part_of_key) for part_of_key in record_ids]}
        for table in OF_RECORDS if record_ids else ():
            whose = "record_id" if table.name == "action" else "owner_id"
            where = f"t.{whose} = ANY (%(record_ids)s::uuid[])"
            if table.name == "embedding":
                where += " AND t.owner_kind = 'record'"
            after: list[str] = []
            is_last = False
            while not is_last:

                async def read(
                    transaction: Transaction, table: Table = table, where: str = where, after: list[str] = after
                ) -> rows.Page:
                    return await rows.page(
                        transaction, table, columns, where=where, parameters=ids, after=after, rows_max=500
                    )

                page = await tenant.snapshot(read, across=ALL)
                if page.lines:
                    yield place.rows(table.name, page.lines)
                    after = page.keys[-1]
                is_last = page.is_last

    async def _file(
        self, tenant: Tenant, record_id: str, document: Mapping[str, Any], place: _Place
    ) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a record's file; an empty file has one empty piece.

        Raises:
            Aborted: the record was removed meanwhile.
        """
        rows_found = await tenant.query(FILE, (tenant.tenant_id, record_id))
        if not rows_found:
            raise Aborted("a record was removed while it was read; resume with the last token", record_id=record_id)
        (row,) = rows_found
        stored = copied(StoredBlob, row, crc32c=bytes(row.crc32c or b""))
        place.count("blob", 1)
        place.count("blob_bytes", row.size_bytes)
        at = 0
        async with aclosing(self._storage.read(stored, start_bytes=0, end_bytes=row.size_bytes)) as chunks:
            async for chunk in chunks:
                assert len(chunk) <= BLOB_BYTES
                yield place.piece("blob", chunk, sha256=document["sha256"], size=document["size"], at=at)
                at += len(chunk)
        if not at:
            yield place.piece("blob", b"", sha256=document["sha256"], size=0, at=0)

    async def _contexts(
        self,
        tenant: Tenant,
        columns: Columns,
        where: str,
        parameters: Mapping[str, Any],
        place: _Place,
        charge: CallBytes,
    ) -> AsyncGenerator[_Output, None]:
        """Yield contexts in the order of their ids, each with all its rows; `_Reading.at` describes the position."""
        at = place.at or ["", -1, [], 0, ""]
        reading = _Reading(known=columns, where=where, parameters=parameters, at=at, charge=charge)

        def read() -> asyncio.Task[list[_Raw]]:
            # A retry after a lost connection begins where the batch began.
            return asyncio.create_task(tenant.snapshot(reading.batch, across=ALL))

        following: asyncio.Task[list[_Raw]] | None = read()
        try:
            while following is not None:
                pieces = deque(await following)
                charge.set(reading.size_bytes * _BATCH_COPIES)  # the previous batch was sent
                at, goes_on, following = list(reading.at), not reading.is_within_first, None
                is_last, half = reading.is_last, max(len(pieces) // 2, 1)
                while pieces:
                    # The next batch is read while the second half of this one is sent.
                    if following is None and not is_last and len(pieces) <= half:
                        following = read()
                    kind, table, lines, says = pieces.popleft()
                    if kind == "rows":
                        yield place.rows(table, lines, **says), False
                    else:
                        data = "\n".join([*lines, ""]).encode() if lines else b""
                        if kind == "context":
                            place.count("context", 1)
                        yield place.piece(kind, data, **says), False
                place.at = at
                yield b"", goes_on
        finally:
            if following is not None:
                await background.ended(following)
            charge.release()


_Raw = tuple[archive.Kind, str, list[str], dict[str, object]]


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Reads contexts one after the other, batch by batch."""

    known: Columns
    where: str
    parameters: Mapping[str, Any]
    # The position: the id of the context; how many of its tables are done, or -1 if the next context comes next; the
    # key of the last row that was read; the `last_seq` of the header; and a hash of its windows' state when the header
    # was read.
    at: list[Any]
    charge: CallBytes
    is_last: bool = False  # no context is left
    size_bytes: int = 0  # the size of the batch that was read last

    @property
    def is_within_first(self) -> bool:
        """Whether the position is within the tables of one snapshot, where an export cannot resume."""
        done: int = self.at[1]
        return 0 <= done < len(FIRST)

    async def batch(self, transaction: Transaction) -> list[_Raw]:
        """Read the next rows of contexts, in one snapshot.

        Raises:
            Aborted: the windows of a context that is larger than a batch have changed.
        """
        pieces: list[_Raw] = []
        context_id, done, after, last_seq, windows = self.at
        size_bytes = 0
        rows_max = 50
        is_last = False
        if self.is_within_first and await self._windows_now(transaction, context_id) != windows:
            raise Aborted("a large window changed while it was read; resume with the last token", context_id=context_id)
        while size_bytes < (_FIRST_BYTES if 0 <= done < len(FIRST) else BATCH_BYTES):
            if done < 0:
                page = await rows.page(
                    transaction,
                    CONTEXT,
                    self.known,
                    where=self.where,
                    parameters=self.parameters,
                    after=[context_id] if context_id else [],
                    rows_max=1,
                )
                if not page.lines:
                    is_last = True
                    break
                ((context_id,),) = page.keys
                pieces.append(("context", "context", page.lines, {"table": "context", "context": context_id}))
                size_bytes += len(page.lines[0])
                last_seq = orjson.loads(page.lines[0])["last_seq"]
                done, after, rows_max = 0, [], 50
                windows = await self._windows_now(transaction, context_id)
            elif done == len(CONTEXT_ROWS):
                pieces.append(("context_end", "", [], {"context": context_id}))
                done, after = -1, []
            else:
                table = CONTEXT_ROWS[done]
                page = await rows.page(
                    transaction,
                    table,
                    self.known,
                    where=_where_of(table),
                    parameters={"context_id": context_id, "last_seq": last_seq},
                    after=after,
                    rows_max=rows_max,
                )
                if page.lines:
                    pieces.append(("rows", table.name, page.lines, {"context": context_id}))
                    page_bytes = sum(map(len, page.lines))
                    self.charge.add(page_bytes * _BATCH_COPIES)
                    size_bytes += page_bytes
                if page.is_last:
                    done, after, rows_max = done + 1, [], 50
                else:
                    after, rows_max = page.keys[-1], rows.next_rows_max(page)
        self.at, self.is_last = [context_id, done, after, last_seq, windows], is_last
        self.size_bytes = size_bytes
        return pieces

    async def _windows_now(self, transaction: Transaction, context_id: str) -> str:
        """Return a hash of the state of a context's windows, which differs after each change of a window."""
        (row,) = await transaction.query(WINDOWS_NOW, (transaction.tenant_id, context_id))
        state: str = row.state
        return state


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _where_of(table: Table) -> str:
    """Return the SQL condition for the rows of one context in a table.

    Messages after the header's `last_seq` are left out: they arrived after the header was read.
    """
    if table.name.startswith("passage"):
        bound = " AND t.seq <= %(last_seq)s" if table.name in ("passage", "passage_vector") else ""
        return f"t.scope_id = %(context_id)s::uuid AND t.scope_kind = 'context'{bound}"
    bound = " AND t.seq <= %(last_seq)s" if table.name in ("message", "message_record") else ""
    return f"t.context_id = %(context_id)s::uuid{bound}"


def check_unbound(principal: Principal) -> None:
    """Refuse callers that see only a part of the tenant.

    Raises:
        PermissionDenied: the key is bound, so it sees only a part of the tenant.
    """
    if principal.bounds:
        raise PermissionDenied("exports and imports need a key without bounds, which sees the whole tenant")


def _encode(binding: tuple[object, ...], place: _Place) -> str:
    return encode_token(binding, [place.number, place.seal.hex(), place.part, place.at, place.counts])


def _decode(binding: tuple[object, ...], token: str, parts: Sequence[str]) -> _Place:
    """Return the position that a resume token stands for.

    Raises:
        InvalidPageToken: the token is malformed, or belongs to another export.
    """
    document = decode_token(binding, token, parts=5, field="resume_token")
    if document is None:
        return _Place()
    number, seal, part, at, counts = document
    try:
        place = _Place(number=number, seal=bytes.fromhex(seal), part=part, at=at, counts=counts)
        if not _is_number(number) or not _is_number(part) or not all(map(_is_number, counts.values())):
            raise ValueError("no place")
        if at:
            _check_at(parts[part], at)
    except (ValueError, TypeError, AttributeError, IndexError):
        raise InvalidPageToken("resume_token is malformed", field="resume_token") from None
    return place


def _check_at(part: str, at: list[Any]) -> None:
    """Refuse a position that no export can have reached.

    Raises:
        ValueError, TypeError, IndexError: the position is malformed.
    """
    after: Any = []
    if part in ("tenant", "users"):
        number, after = at
        tables = TENANT if part == "tenant" else USERS
        if not _is_number(number) or number > len(tables) or (after and len(after) != len(tables[number].rest_of_key)):
            raise ValueError("no table")
    elif part == "graphs":
        name, behind_page = at
        after = [name, behind_page]
    elif part == "records":
        (record_id,) = after = at
        UUID(record_id)
    else:
        context_id, done, after, last_seq, windows = at
        if context_id:
            UUID(context_id)
        table_key = CONTEXT_ROWS[done].rest_of_key if 0 <= done < len(CONTEXT_ROWS) else ()
        if type(done) is not int or not -1 <= done <= len(CONTEXT_ROWS) or (after and len(after) != len(table_key)):
            raise ValueError("no table")
        if not _is_number(last_seq) or not isinstance(windows, str):
            raise ValueError("no header")
    if not isinstance(after, list) or not all(
        isinstance(part_of_key, str) and "\0" not in part_of_key for part_of_key in after
    ):
        raise ValueError("no key")


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63
