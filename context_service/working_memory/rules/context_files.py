"""Stores the files of messages, artifacts and tasks: each becomes a record of its context, with the bytes in a blob.

The bytes are written first, as blobs with a lease. The transaction of the messages makes them live and inserts the
records, so a kill at any step leaves neither a message without its bytes nor bytes without an owner. The id of a
record follows from the context and the hash of the bytes: the same bytes are one record of a context.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from context_service.blobs.storage import BlobStorage, Declared
from context_service.kernel.files.facts import FileFacts, FileKind, kind_of
from context_service.kernel.files.reading import FILE_BYTES_MAX, FactReader, UnreadFile
from context_service.kernel.parts import File, Part
from context_service.working_memory.rules.blobs import BlobWriter, WrittenBlob, upload_expired
from context_service.working_memory.rules.fetch import RecordName
from context_service.working_memory.rules.retention import Purges
from context_service.working_memory.store import context_files as rows
from context_service.working_memory.store.blobs import blob_rows
from context_service.working_memory.store.context_files import MESSAGE_FILE, FoundFile, NewFile
from context_service.working_memory.store.tenant_limits import Limits
from contextkeep.errors import Aborted
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_bytes

# Called in the transaction that writes the messages, after their context exists.
Store = Callable[[Transaction], Awaitable[None]]

UNNAMED = "file"  # the name of the record of a file without a name
_CHUNK_BYTES = 1024 * 1024
_FACTS = ("width", "height", "page_count", "text_chars", "duration_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """The source of the bytes of a file, and their known facts."""

    sha256: bytes
    size_bytes: int
    facts: FileFacts
    name: str = ""
    data: bytes | None = None  # the bytes that the caller sent
    found: FoundFile | None = None  # the record that the caller named

    @property
    def is_owned(self) -> bool:
        """Whether the context gets a record of its own; otherwise the message only points at a record."""
        return self.found is None or self.found.context_id is not None or self.is_upload

    @property
    def is_upload(self) -> bool:
        """Whether the caller uploaded the file for a message that was not sent yet."""
        return self.found is not None and self.found.context_id is None and self.found.memory_type == MESSAGE_FILE


# By the hash of the bytes that the caller sent, or by the id of the record that it named.
FileSources = Mapping[bytes | UUID, FileSource]


class ContextFiles:
    """Stores files of messages, for all tenants; each call acts for its principal.

    Args:
        database: The database that holds the records.
        storage: Reads the bytes of records whose facts are not known yet.
        writer: Writes the bytes of blobs.
        limits: The limits of tenants, such as the number of records.
        facts: Reads the type and the dimensions of files in a confined process.
        purges: Removes an upload that has become the file of a context.
    """

    def __init__(
        self,
        database: Database,
        *,
        storage: BlobStorage,
        writer: BlobWriter,
        limits: Limits,
        facts: FactReader,
        purges: Purges,
    ) -> None:
        self._database = database
        self._storage = storage
        self._writer = writer
        self._limits = limits
        self._facts = facts
        self._purges = purges

    async def sources_of(self, parts: Sequence[Part], *, principal: Principal) -> FileSources:
        """Return the source of each file of parts that has bytes, with their hash, or names a record.

        One child process reads the facts of all files of the call.

        Raises:
            RecordNotFound: a part names a record that the caller does not see.
            BlobTooLarge: a file is larger than a blob of the tenant may be.
        """
        sent = {bytes.fromhex(file.sha256): file for part in parts for file in part.files if file.data is not None}
        ids = {UUID(record_id) for part in parts for record_id in _named_by(part)}
        if not sent and not ids:
            return {}
        records = await rows.find(self._database.of(principal), sorted(ids)) if ids else {}
        for record_id in sorted(ids - records.keys()):
            raise RecordName(record_id=record_id).not_found()
        for record in records.values():
            if record.memory_type == MESSAGE_FILE:
                check_bytes("a file of a message", record.size_bytes, FILE_BYTES_MAX)
        if sent:
            limits = await self._limits.of(principal)
            for file in sent.values():
                limits.check_blob(len(file.data or b""))
        unread: dict[bytes | UUID, UnreadFile] = {
            sha256: UnreadFile(data=file.data or b"", declared_type=file.media_type) for sha256, file in sent.items()
        }
        for record in filter(_is_unread, records.values()):
            unread[record.id] = UnreadFile(data=await self._bytes_of(record), declared_type=record.content_type)
        facts = await self._facts.read(list(unread.values()), tenant_id=principal.tenant_id) if unread else []
        read = dict(zip(unread, facts, strict=True))
        sources: dict[bytes | UUID, FileSource] = {
            sha256: FileSource(sha256=sha256, size_bytes=len(file.data or b""), facts=read[sha256], data=file.data)
            for sha256, file in sent.items()
        }
        return sources | {record.id: _source_of(record, read.get(record.id)) for record in records.values()}

    async def _bytes_of(self, record: FoundFile) -> bytes:
        """Return the bytes of a record, which has at most `FILE_BYTES_MAX`."""
        assert record.stored is not None, "a record whose facts are read has a blob"
        data = bytearray()
        chunks = self._storage.read(record.stored, start_bytes=0, end_bytes=record.stored.size_bytes)
        async with aclosing(chunks):
            async for chunk in chunks:
                data += chunk
        return bytes(data)

    def with_files(self, parts: Sequence[Part], sources: FileSources) -> tuple[Part, ...]:
        """Return parts in which a part that names a file of a context, or an upload for a message, is a file."""

        def changed(part: Part) -> Part:
            source = sources.get(UUID(part.working_memory_id)) if part.working_memory_id else None
            if source is None or not source.is_owned:
                return part
            file = File(working_memory_id=part.working_memory_id, media_type=part.media_type, name=part.file_name)
            return Part(file=file, metadata_json=part.metadata_json)

        return tuple(map(changed, parts))

    def hashed(self, parts: Sequence[Part], sources: FileSources) -> tuple[Part, ...]:
        """Return parts in which the hash of its bytes stands for each file that the context owns.

        So a message that is sent again is the same message, even if its file was uploaded again.
        """

        def by_hash(file: File) -> File:
            source = source_of(file, sources)
            if source is None or not source.is_owned:
                return file
            return File(sha256=source.sha256.hex(), media_type=file.media_type, name=file.name, alt=file.alt)

        return tuple(_mapped(part, by_hash, {}) for part in parts)

    def placed(
        self, parts: Sequence[Part], context_id: UUID, sources: FileSources, *, tenant_id: UUID
    ) -> tuple[Part, ...]:
        """Return parts as they are stored: each file has its record and its facts, and none has bytes."""

        def stored(file: File) -> File:
            source = source_of(file, sources)
            if source is None:
                return file
            record_id = file.working_memory_id
            if source.is_owned:
                record_id = str(id_of_file(tenant_id, context_id, source.sha256))
            facts = {name: getattr(source.facts, name) for name in _FACTS}
            return replace(
                file,
                data=None,
                working_memory_id=record_id,
                media_type=source.facts.media_type or file.media_type,
                name=file.name or source.name,
                sha256=source.sha256.hex(),
                size_bytes=source.size_bytes,
                **facts,
            )

        return tuple(_mapped(part, stored, sources) for part in parts)

    async def remove(self, transaction: Transaction, record_ids: Sequence[UUID], *, principal: Principal) -> None:
        """Delete files of a context that nothing names any more."""
        await self._purges.purge(transaction, record_ids, principal=principal.subject, why="nothing names it any more")

    @asynccontextmanager
    async def stored(
        self, context_id: UUID, parts: Iterable[Part], sources: FileSources, *, principal: Principal
    ) -> AsyncIterator[Store | None]:
        """Write the bytes that a context does not have yet, and yield to a block that writes the messages.

        The block calls the yielded function in its transaction, after the context exists. If it does not, the bytes are
        removed again. None is yielded if the context gets no file.

        Raises:
            LimitExceeded: the tenant has no room for the files.
            StorageFull, Unavailable: the storage provider has no room, or it or Postgres does not answer.
        """
        owned: dict[UUID, tuple[File, FileSource]] = {}
        for part in parts:
            for file in part.files:
                source = source_of(file, sources)
                if source and source.is_owned:
                    owned.setdefault(id_of_file(principal.tenant_id, context_id, source.sha256), (file, source))
        if not owned:
            yield None
            return
        tenant = self._database.of(principal, context_id=context_id)
        known = await rows.find(tenant, sorted(owned))
        new = {record_id: of for record_id, of in owned.items() if record_id not in known}
        limits = await self._limits.of(principal)
        size_bytes = sum(source.size_bytes for _, source in new.values())
        await limits.check_room(tenant, records=len(new), size_bytes=size_bytes)
        async with AsyncExitStack() as stack:
            written: dict[UUID, WrittenBlob] = {}
            for record_id, (_, source) in new.items():
                if source.data is not None:
                    declared = Declared(size_bytes=source.size_bytes, sha256=source.sha256)
                    blob = self._writer.written(tenant, _chunks(source.data), declared=declared)
                    written[record_id] = await stack.enter_async_context(blob)

            async def store(transaction: Transaction) -> None:
                await limits.take_room(transaction, records=len(new), size_bytes=size_bytes)
                files = []
                for record_id, (file, source) in new.items():
                    blob = await self._live_blob(transaction, source, written.get(record_id))
                    files.append(_new_file(record_id, file, source, blob))
                await rows.insert(transaction, context_id, files, created_by=principal.subject)
                hashes = {record_id: source.sha256 for record_id, (_, source) in owned.items()}
                if len(await rows.hold(transaction, context_id, hashes)) < len(hashes):
                    raise Aborted("a file of the message was removed meanwhile; send the message again")
                if uploads := [source.found.id for _, source in owned.values() if source.found and source.is_upload]:
                    await self._purges.purge(transaction, uploads, principal=principal.subject, why="sent in a message")

            yield store
            for written_blob in written.values():  # one that is live stays
                await blob_rows.give_up(tenant, written_blob.id)

    async def _live_blob(
        self, transaction: Transaction, source: FileSource, blob: WrittenBlob | None
    ) -> tuple[UUID, str]:
        """Return the live blob of a new file, locked until the transaction ends, and its provider."""
        if blob is not None:
            live_id = await blob_rows.publish(transaction, blob.id, provider=blob.provider, digest=blob.digest)
            if live_id is None:
                raise upload_expired()
            return live_id, blob.provider
        record = source.found
        assert record is not None, "a file has bytes or a record"
        if record.blob_id is None or not record.stored or not await rows.hold_blobs(transaction, [record.blob_id]):
            raise RecordName(record_id=record.id).not_found()
        return record.blob_id, record.stored.provider


def _is_unread(record: FoundFile) -> bool:
    """Return whether the facts of a record have to be read from its bytes; the record of a context's file has them."""
    if record.context_id is not None or record.stored is None or record.stored.size_bytes > FILE_BYTES_MAX:
        return False
    return record.memory_type == MESSAGE_FILE or kind_of(record.content_type) is not FileKind.OTHER


def _source_of(record: FoundFile, facts: FileFacts | None) -> FileSource:
    """Return the source of a record, with the facts that were read from its bytes or that the record has."""
    if facts is None:
        known = orjson.loads(record.metadata_json) if record.context_id else {}
        facts = FileFacts(media_type=record.content_type, **{name: known[name] for name in _FACTS if name in known})
    # A file of a context has a name in each message; its record has that of the first.
    name = "" if record.context_id or record.name == UNNAMED else record.name
    return FileSource(sha256=record.sha256, size_bytes=record.size_bytes, facts=facts, name=name, found=record)


def source_of(file: File, sources: FileSources) -> FileSource | None:
    """Return the source of a file; None if it is an address."""
    if file.data is not None:
        return sources.get(bytes.fromhex(file.sha256))
    return sources.get(UUID(file.working_memory_id)) if file.working_memory_id else None


def id_of_file(tenant_id: UUID, context_id: UUID, sha256: bytes) -> UUID:
    """Return the id of the record of a context for some bytes."""
    digest = hashlib.sha256(b"file" + tenant_id.bytes + context_id.bytes + sha256).digest()
    return UUID(bytes=digest[:16], version=5)


def _named_by(part: Part) -> list[str]:
    """Return the ids of the records that a part names."""
    named = [part.working_memory_id, *(file.working_memory_id for file in part.files)]
    return [record_id for record_id in named if record_id]


def _mapped(part: Part, change: Callable[[File], File], sources: FileSources) -> Part:
    """Return a part with changed files. A part that names the record of a picture, a PDF or audio gets that file."""
    if part.file:
        return replace(part, file=change(part.file))
    if part.tool_result and part.tool_result.files:
        files = tuple(map(change, part.tool_result.files))
        return replace(part, tool_result=replace(part.tool_result, files=files))
    if part.working_memory_id and (source := sources.get(UUID(part.working_memory_id))):
        has_blob = source.found is not None and source.found.stored is not None
        if has_blob and kind_of(source.facts.media_type) is not FileKind.OTHER:
            file = File(working_memory_id=part.working_memory_id, media_type=part.media_type, name=part.file_name)
            return replace(part, file=change(file))
    return part


def _new_file(record_id: UUID, file: File, source: FileSource, blob: tuple[UUID, str]) -> NewFile:
    """Return the record to write for a file of a message."""
    facts = {name: value for name in _FACTS if (value := getattr(source.facts, name))}
    return NewFile(
        id=record_id,
        blob_id=blob[0],
        provider=blob[1],
        sha256=source.sha256,
        size_bytes=source.size_bytes,
        name=file.name or source.name or UNNAMED,
        description=file.alt,
        content_type=source.facts.media_type or file.media_type,
        metadata_json=orjson.dumps(facts).decode(),
    )


async def _chunks(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), _CHUNK_BYTES):
        yield data[start : start + _CHUNK_BYTES]
