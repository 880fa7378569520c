"""Resumable uploads: parts that each survive on their own, put together at the end.

A part is a blob, written like any other, and committed as a row of its upload. Nothing has to be remembered between two
calls but these rows, so a client goes on behind any error: a broken connection, a restart of the service, its own. The
end reads the parts through sha256 into a blob of its own and goes on as `UploadBlob` does; it is the request with the
upload's id, so that a repeat answers as the first time.
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
from context_service.working_memory.store import upload_rows
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.store.tenant_limits import Limits, TenantLimits
from context_service.working_memory.store.upload_rows import OpenUpload, upload_not_found
from contextkeep.errors import (
    ChecksumMismatch,
    InvalidArgument,
    LimitExceeded,
    SizeMismatch,
    UploadGap,
    UploadNotFound,
    UploadPartExists,
)
from service_runtime.auth import Principal
from service_runtime.calls import raise_if_cancelled
from service_runtime.ids import new_id
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.requests import Request, Requests

PARTS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """How far an upload is, as its caller sees it."""

    id: UUID
    offset_bytes: int
    size_bytes: int | None = None  # as it was declared
    expires_at: datetime | None = None  # None: it is finished
    record: Record | None = None  # once it is finished


class ResumableUploads:
    """Resumable uploads of all tenants; each call acts for its principal.

    Args:
        database: Where the uploads are.
        requests: The request ids of this service.
        memory: Where a finished upload becomes a record.
        writer: Writes blobs.
        storage: Reads them.
        limits: Of the tenants.
        part_bytes_max: Of one part.
        lease_s: How long an upload may stay without a new part.
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
        self, said: RecordInput, *, principal: Principal, declared: Declared, request: Request | None
    ) -> Upload:
        """Begin an upload.

        Raises:
            RecordExists: the id is taken.
            BlobTooLarge: it says itself that it will be.
            RequestIdReused, InvalidArgument, LimitExceeded: see the contract.
        """
        self._memory.check_header(said, path="record")
        said = within_bounds(said, principal)
        tenant = self._database.of(principal)
        await self._memory.check_room(principal, said, declared)
        upload_id = new_id()

        async def work(transaction: Transaction) -> Upload:
            due_at = await upload_rows.start(transaction, upload_id, said, declared, lease_s=self._lease_s)
            return Upload(id=upload_id, offset_bytes=0, size_bytes=declared.size_bytes, expires_at=due_at)

        write = self._requests.once(request, work, values=lambda upload: {"upload_id": str(upload.id)})
        return await tenant.transaction(write)

    async def append(
        self, upload_id: UUID, chunks: AsyncIterable[bytes], *, offset_bytes: int, principal: Principal
    ) -> Upload:
        """Add a part.

        Args:
            upload_id: To which.
            chunks: Its bytes; not read if it cannot be added.
            offset_bytes: Where it begins in the whole.
            principal: Who sends it.

        Raises:
            UploadNotFound: there is no such upload, or it is finished.
            UploadPartExists, UploadGap: the upload is not at this offset; the metadata says where it is.
            LimitExceeded, BlobTooLarge, SizeMismatch: a part, the parts, the whole or what the tenant has would be too
                large.
            UploadExpired, StorageFull, Unavailable: see the contract. None of all this ends the upload.
        """
        tenant = self._database.of(principal)
        upload = _check_position(await upload_rows.find(tenant, upload_id), upload_id, offset_bytes)
        limits = await self._limits.of(principal)
        await limits.check_room(tenant, records=0, size_bytes=1)  # before the bytes, not only behind them

        async with (
            aclosing(self._part(upload, chunks, limits)) as checked,
            aclosing(self._kept(tenant, upload, checked)) as kept,
            self._writer.written(tenant, kept, declared=Declared()) as written,
        ):
            if not written.digest.size_bytes:
                raise InvalidArgument("a part has at least one byte", field="chunk")

            async def work(transaction: Transaction) -> Upload:
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
        """Tell how far an upload is.

        Raises:
            UploadNotFound: there is none, and none was finished lately.
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
            raise upload_not_found(upload_id)
        return Upload(id=upload_id, offset_bytes=record.size_bytes, size_bytes=record.size_bytes, record=record)

    async def finish(self, upload_id: UUID, *, declared: Declared, principal: Principal) -> Record:
        """Put the parts together and insert the record; again, it answers as the first time.

        Args:
            upload_id: Which.
            declared: What the parts must add up to, beside what was declared at the start.
            principal: Who finishes.

        Raises:
            UploadNotFound: there is no such upload.
            SizeMismatch, ChecksumMismatch: the parts are something else. They stay.
            Aborted: a part was added meanwhile.
            RecordExists, BlobCorrupted, UploadExpired, ProviderNotConfigured, StorageFull, Unavailable.
        """
        tenant = self._database.of(principal)
        request = _finish_request(upload_id)
        found = await tenant.transaction(lambda transaction: self._with_parts(transaction, upload_id))
        if found is None:
            return await self._finished(principal, request, declared)
        upload, parts = found
        whole = Declared(size_bytes=upload.offset_bytes, sha256=upload.declared.sha256 or declared.sha256)
        for one in (upload.declared, declared):
            _check_declared(one, whole)
        beginning = Beginning(upload.said)
        try:
            async with (
                aclosing(self._joined(parts)) as joined,
                aclosing(self._kept(tenant, upload, joined)) as kept,
                aclosing(beginning.watched(kept)) as watched,
                self._writer.written(tenant, watched, declared=whole) as written,
            ):
                return await self._memory.publish(
                    written,
                    upload.said,
                    text=beginning.text(),
                    principal=principal,
                    request=request,
                    upload=upload,
                )
        except UploadNotFound:
            return await self._finished(principal, request, declared)  # a twin of this call was faster

    async def _with_parts(
        self, transaction: Transaction, upload_id: UUID
    ) -> tuple[OpenUpload, Sequence[StoredBlob]] | None:
        """Return an upload and its parts as they were at one moment; None if there is none."""
        await upload_rows.lock(transaction, upload_id)
        upload = await upload_rows.find(transaction, upload_id)
        return None if upload is None else (upload, await upload_rows.parts(transaction, upload_id))

    async def _finished(self, principal: Principal, request: Request, declared: Declared) -> Record:
        """Return the record of an upload that was finished before.

        Raises:
            UploadNotFound: none was.
            SizeMismatch, ChecksumMismatch: it has other content.
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
            LimitExceeded: they are more than a part may have, or it is one part too many.
            BlobTooLarge, SizeMismatch: they are more than the whole may have.
        """
        if upload.parts >= PARTS_MAX:
            raise LimitExceeded(
                f"an upload has up to {PARTS_MAX} parts; make them larger",
                limit="parts",
                limit_max=PARTS_MAX,
                value=upload.parts + 1,
            )
        size_bytes = 0
        async for chunk in chunks:
            size_bytes += len(chunk)
            if size_bytes > self.part_bytes_max:
                raise LimitExceeded(
                    f"a part has up to {self.part_bytes_max} bytes",
                    limit="part",
                    limit_max=self.part_bytes_max,
                    value=size_bytes,
                )
            whole_bytes = upload.offset_bytes + size_bytes
            limits.check_blob(whole_bytes)
            if upload.declared.size_bytes is not None and whole_bytes > upload.declared.size_bytes:
                raise _size_mismatch(whole_bytes, upload.declared.size_bytes)
            yield chunk

    async def _joined(self, parts: Sequence[StoredBlob]) -> AsyncGenerator[bytes, None]:
        for part in parts:
            async with aclosing(self._storage.read(part, start_bytes=0, end_bytes=part.size_bytes)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _kept(
        self, tenant: Tenant, upload: OpenUpload, chunks: AsyncIterable[bytes]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, keeping the upload from being given up while they come.

        Raises:
            UploadNotFound: it was given up, or finished.
        """
        renew_at = 0.0  # before the first one, too: all of its lease may have passed
        async for chunk in chunks:
            if time.monotonic() >= renew_at:
                if not await upload_rows.renew(tenant, upload.id, lease_s=self._lease_s):
                    raise upload_not_found(upload.id)
                renew_at = time.monotonic() + self._lease_s / 3
            yield chunk


def _finish_request(upload_id: UUID) -> Request:
    """Return what makes the end of an upload happen once."""
    return Request(request_id=upload_id, rpc="FinishUpload", fingerprint=upload_id.bytes)


def _check_position(upload: OpenUpload | None, upload_id: UUID, offset_bytes: int) -> OpenUpload:
    """Return the upload if its next part begins at `offset_bytes`.

    Raises:
        UploadNotFound, UploadPartExists, UploadGap: it does not.
    """
    if upload is None:
        raise upload_not_found(upload_id)
    if offset_bytes < upload.offset_bytes:
        raise UploadPartExists(
            f"the upload is at byte {upload.offset_bytes}, past {offset_bytes}", offset_bytes=upload.offset_bytes
        )
    if offset_bytes > upload.offset_bytes:
        raise UploadGap(
            f"the upload is at byte {upload.offset_bytes}, not yet at {offset_bytes}", offset_bytes=upload.offset_bytes
        )
    return upload


def _check_declared(declared: Declared, whole: Declared) -> None:
    """Compare what was declared with what there is.

    Raises:
        SizeMismatch, ChecksumMismatch: they differ.
    """
    if declared.size_bytes not in (None, whole.size_bytes):
        raise _size_mismatch(whole.size_bytes, declared.size_bytes)
    if declared.sha256 not in (None, whole.sha256):
        raise ChecksumMismatch("the sha256 of the upload is not the declared one")


def _size_mismatch(size_bytes: int | None, declared_bytes: int | None) -> SizeMismatch:
    return SizeMismatch(
        f"the upload has {size_bytes} bytes; declared were {declared_bytes}",
        size_bytes=size_bytes,
        size_bytes_declared=declared_bytes,
    )
