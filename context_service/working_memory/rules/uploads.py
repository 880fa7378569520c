"""Resumable uploads: parts that are stored one by one and joined at the end.

A part is a blob, written like any other, and committed as a row of its upload. These rows are all the state between two
calls, so a client can continue after any error: a broken connection, a restart of the service or of the client. The
end reads the parts through sha256 into a new blob and then does the same as `UploadBlob`; the upload's id is its
idempotency key, so a retry returns the first answer.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.blobs.storage import BlobStorage, Declared, StoredBlob
from context_service.working_memory.pure.beginnings import Beginning
from context_service.working_memory.pure.fields import RecordInput
from context_service.working_memory.rules.blobs import BlobWriter, upload_expired
from context_service.working_memory.rules.records import WorkingMemory, within_bounds
from context_service.working_memory.store.blobs import upload_rows
from context_service.working_memory.store.blobs.upload_rows import OpenUpload, upload_not_found
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.store.tenant_limits import Limits, TenantLimits
from contextkeep.errors import (
    ChecksumMismatch,
    InvalidArgument,
    LimitExceeded,
    SizeMismatch,
    UploadGap,
    UploadNotFound,
    UploadPartExists,
)
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.calls import raise_if_cancelled
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.ids import new_id

PARTS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """The state of an upload, as its caller sees it."""

    id: UUID
    offset_bytes: int
    size_bytes: int | None = None  # as it was declared
    expires_at: datetime | None = None  # None if it is finished
    record: Record | None = None  # once it is finished


class ResumableUploads:
    """Resumable uploads of all tenants; each call acts for its principal.

    Args:
        database: The database that holds the uploads and their parts.
        requests: The store of idempotency keys and their answers.
        memory: Inserts the record of a finished upload.
        writer: Writes the bytes of parts and of joined blobs.
        storage: Reads the parts to join them.
        limits: The limits of tenants, such as the size of a blob.
        part_bytes_max: The largest size of a part.
        lease_s: Seconds without a new part after which an upload expires.
    """

    def __init__(
        self,
        database: Database,
        *,
        requests: Requests,
        memory: WorkingMemory,
        writer: BlobWriter,
        storage: BlobStorage,
        limits: Limits,
        part_bytes_max: int,
        lease_s: float,
    ) -> None:
        self._database = database
        self._requests = requests
        self._memory = memory
        self._writer = writer
        self._storage = storage
        self._limits = limits
        self._lease_s = lease_s
        self.part_bytes_max = part_bytes_max

    async def start(
        self, draft: RecordInput, *, principal: Principal, declared: Declared, request: Request | None
    ) -> Upload:
        """Begin an upload.

        Raises:
            RecordExists: the id of the record is taken.
            BlobTooLarge: the declared size is larger than the tenant may store in one blob.
            RequestIdReused: an earlier request with other content had the same request id.
            InvalidArgument: a field of the draft is malformed.
            LimitExceeded: a field is too large, or the tenant has no room for the record.
        """
        self._memory.check_header(draft, path="record")
        draft = within_bounds(draft, principal)
        tenant = self._database.of(principal)
        await self._memory.check_room(principal, draft, declared)
        upload_id = new_id()

        async def work(transaction: Transaction) -> Upload:
            due_at = await upload_rows.start(transaction, upload_id, draft, declared, lease_s=self._lease_s)
            return Upload(id=upload_id, offset_bytes=0, size_bytes=declared.size_bytes, expires_at=due_at)

        write = self._requests.once(request, work, values=lambda upload: {"upload_id": str(upload.id)})
        return await tenant.transaction(write)

    async def append(
        self, upload_id: UUID, chunks: AsyncIterable[bytes], *, offset_bytes: int, principal: Principal
    ) -> Upload:
        """Add a part to an upload, and return the upload's new state.

        Args:
            upload_id: The upload that the part belongs to.
            chunks: The bytes of the part. They are not read if the part cannot be added.
            offset_bytes: Where the part begins in the whole, in bytes.
            principal: The caller; its tenant must own the upload.

        Raises:
            UploadNotFound: there is no such upload, or it is finished.
            UploadPartExists: `offset_bytes` is before the end of the stored parts, which the metadata has.
            UploadGap: `offset_bytes` is after the end of the stored parts, which the metadata has.
            InvalidArgument: the part is empty.
            LimitExceeded: the part is too large, the upload has too many parts, or the tenant has no room.
            BlobTooLarge: the whole would be larger than the tenant may store in one blob.
            SizeMismatch: the whole would be larger than its declared size.
            UploadExpired: no byte arrived for the time of the lease.
            StorageFull, Unavailable: the storage provider has no room, or it or Postgres does not answer.

        None of these errors ends the upload.
        """
        tenant = self._database.of(principal)
        upload = _check_position(await upload_rows.find(tenant, upload_id), upload_id, offset_bytes)
        limits = await self._limits.of(principal)
        await limits.check_room(tenant, records=0, size_bytes=1)  # before the bytes, not only after them

        async with (
            aclosing(self._part(upload, chunks, limits)) as checked,
            aclosing(self._renewing(tenant, upload, checked)) as renewed,
            self._writer.written(tenant, renewed, declared=Declared()) as written,
        ):
            if not written.digest.size_bytes:
                raise InvalidArgument("a part must have at least one byte", field="chunk")

            async def work(transaction: Transaction) -> Upload:
                """Lock the upload, check that the part still follows, take the tenant's room and append the part."""
                await upload_rows.lock(transaction, upload_id)
                current = _check_position(await upload_rows.find(transaction, upload_id), upload_id, offset_bytes)
                await limits.take_room(transaction, records=0, size_bytes=written.digest.size_bytes)
                due_at = await upload_rows.add_part(
                    transaction, current, written.id, written.digest, lease_s=self._lease_s
                )
                if due_at is None:
                    raise upload_expired()
                raise_if_cancelled()
                return Upload(
                    id=upload_id,
                    offset_bytes=offset_bytes + written.digest.size_bytes,
                    size_bytes=current.declared.size_bytes,
                    expires_at=due_at,
                )

            return await tenant.transaction(work)

    async def get(self, upload_id: UUID, *, principal: Principal) -> Upload:
        """Return the state of an upload.

        Raises:
            UploadNotFound: no upload has this id, or it was finished so long ago that its answer is not stored.
        """
        upload = await self.find(upload_id, principal=principal)
        if upload is None:
            raise upload_not_found(upload_id)
        return upload

    async def find(self, upload_id: UUID, *, principal: Principal) -> Upload | None:
        """Return the state of an upload.

        Returns:
            The state; None if no upload has this id, or if it was finished so long ago that its answer is not stored.
        """
        upload = await upload_rows.find(self._database.of(principal), upload_id)
        if upload is not None:
            return Upload(
                id=upload_id,
                offset_bytes=upload.offset_bytes,
                size_bytes=upload.declared.size_bytes,
                expires_at=upload.due_at,
            )
        record = await self._memory.answered(principal, _finish_request(upload_id))
        if record is None:
            return None
        return Upload(id=upload_id, offset_bytes=record.size_bytes, size_bytes=record.size_bytes, record=record)

    async def finish(self, upload_id: UUID, *, declared: Declared, principal: Principal) -> Record:
        """Join the parts and insert the record; idempotent: a retry returns the same record.

        Args:
            upload_id: The upload whose parts are joined.
            declared: Size and hash that the parts must have, in addition to those declared at the start.
            principal: The caller; its tenant must own the upload.

        Raises:
            UploadNotFound: there is no such upload.
            SizeMismatch, ChecksumMismatch: the parts have another size or hash than declared. They are kept.
            Aborted: a part was added meanwhile.
            RecordExists: the id of the record is taken.
            BlobCorrupted: the stored bytes of a part are damaged.
            UploadExpired: the sweeper (background work) has taken the new blob, because its lease ended.
            ProviderNotConfigured: the settings have no provider of the kind that holds a part.
            StorageFull, Unavailable: the storage provider has no room, or it or Postgres does not answer.
        """
        tenant = self._database.of(principal)
        request = _finish_request(upload_id)
        upload_and_parts = await tenant.transaction(lambda transaction: self._with_parts(transaction, upload_id))
        if upload_and_parts is None:
            return await self._finished_record(principal, request, declared)
        upload, parts = upload_and_parts
        whole = Declared(size_bytes=upload.offset_bytes, sha256=upload.declared.sha256 or declared.sha256)
        _check_declared(upload.declared, whole)
        _check_declared(declared, whole)
        beginning = Beginning(upload.draft)
        try:
            async with (
                aclosing(self._join(parts)) as joined,
                aclosing(self._renewing(tenant, upload, joined)) as renewed,
                aclosing(beginning.watched(renewed)) as watched,
                self._writer.written(tenant, watched, declared=whole) as written,
            ):
                return await self._memory.publish(
                    written,
                    upload.draft,
                    text=beginning.text(),
                    principal=principal,
                    request=request,
                    upload=upload,
                )
        except UploadNotFound:
            return await self._finished_record(principal, request, declared)  # a concurrent call was faster

    async def _with_parts(
        self, transaction: Transaction, upload_id: UUID
    ) -> tuple[OpenUpload, Sequence[StoredBlob]] | None:
        """Return a consistent snapshot of an upload and its parts; None if there is none."""
        await upload_rows.lock(transaction, upload_id)
        upload = await upload_rows.find(transaction, upload_id)
        return None if upload is None else (upload, await upload_rows.parts(transaction, upload_id))

    async def _finished_record(self, principal: Principal, request: Request, declared: Declared) -> Record:
        """Return the record of an upload that was finished before.

        Raises:
            UploadNotFound: no such upload was finished.
            SizeMismatch, ChecksumMismatch: the finished upload has other content.
        """
        record = await self._memory.answered(principal, request)
        if record is None:
            raise upload_not_found(request.request_id)
        _check_declared(declared, Declared(size_bytes=record.size_bytes, sha256=record.sha256))
        return record

    async def _part(
        self, upload: OpenUpload, chunks: AsyncIterable[bytes], limits: TenantLimits
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of a part.

        Raises:
            LimitExceeded: the part is too large, or the upload has too many parts.
            BlobTooLarge, SizeMismatch: the whole becomes too large.
        """
        if upload.parts >= PARTS_MAX:
            raise LimitExceeded(
                f"an upload may have up to {PARTS_MAX} parts; send larger parts",
                limit="parts",
                limit_max=PARTS_MAX,
                value=upload.parts + 1,
            )
        size_bytes = 0
        async for chunk in chunks:
            size_bytes += len(chunk)
            if size_bytes > self.part_bytes_max:
                raise LimitExceeded(
                    f"a part may have up to {self.part_bytes_max} bytes (got {size_bytes} or more): send smaller parts",
                    limit="part",
                    limit_max=self.part_bytes_max,
                    value=size_bytes,
                )
            whole_bytes = upload.offset_bytes + size_bytes
            limits.check_blob(whole_bytes)
            if upload.declared.size_bytes is not None and whole_bytes > upload.declared.size_bytes:
                raise _size_mismatch(whole_bytes, upload.declared.size_bytes)
            yield chunk

    async def _join(self, parts: Sequence[StoredBlob]) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of all parts, one part after the other."""
        for part in parts:
            async with aclosing(self._storage.read(part, start_bytes=0, end_bytes=part.size_bytes)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _renewing(
        self, tenant: Tenant, upload: OpenUpload, chunks: AsyncIterable[bytes]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, and renew the upload's lease while they arrive.

        Raises:
            UploadNotFound: the upload was given up or finished meanwhile.
        """
        renew_at = 0.0  # renew the lease at the first chunk too, because it may be about to end
        async for chunk in chunks:
            if time.monotonic() >= renew_at:
                if not await upload_rows.renew(tenant, upload.id, lease_s=self._lease_s):
                    raise upload_not_found(upload.id)
                renew_at = time.monotonic() + self._lease_s / 3
            yield chunk


def _finish_request(upload_id: UUID) -> Request:
    """Return the request that makes `FinishUpload` idempotent."""
    return Request(request_id=upload_id, rpc="FinishUpload", fingerprint=upload_id.bytes)


def _check_position(upload: OpenUpload | None, upload_id: UUID, offset_bytes: int) -> OpenUpload:
    """Return the upload if its next part begins at `offset_bytes`.

    Raises:
        UploadNotFound: there is no such upload.
        UploadPartExists, UploadGap: its next part begins elsewhere.
    """
    if upload is None:
        raise upload_not_found(upload_id)
    if offset_bytes < upload.offset_bytes:
        raise UploadPartExists(
            f"the next part must begin at byte {upload.offset_bytes}: byte {offset_bytes} is already stored",
            offset_bytes=upload.offset_bytes,
        )
    if offset_bytes > upload.offset_bytes:
        raise UploadGap(
            f"the next part must begin at byte {upload.offset_bytes}, not at {offset_bytes}: bytes are missing",
            offset_bytes=upload.offset_bytes,
        )
    return upload


def _check_declared(declared: Declared, whole: Declared) -> None:
    """Compare the declared size and hash with the actual ones.

    Raises:
        SizeMismatch: the sizes differ.
        ChecksumMismatch: the hashes differ.
    """
    if declared.size_bytes not in (None, whole.size_bytes):
        raise _size_mismatch(whole.size_bytes, declared.size_bytes)
    if declared.sha256 not in (None, whole.sha256):
        raise ChecksumMismatch("the sha256 of the uploaded bytes differs from the declared one; upload them again")


def _size_mismatch(size_bytes: int | None, declared_bytes: int | None) -> SizeMismatch:
    """Return the error for an upload with another size than was declared."""
    return SizeMismatch(
        f"the upload has {size_bytes} bytes, but {declared_bytes} were declared",
        size_bytes=size_bytes,
        size_bytes_declared=declared_bytes,
    )
