"""Reading working memory: records, pages of them, and their contents, inline or blob."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from context_service.blobs.storage import BlobStorage, Download, StoredBlob
from context_service.working_memory.pure.fields import FieldChecks, RecordFilter
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.store.records import Records
from contextkeep.errors import (
    AnswerTooLarge,
    BlobNotFound,
    ContextKeepError,
    InvalidArgument,
    InvalidPageToken,
    RecordArchived,
    RecordHasNoBlob,
    RecordNotFound,
)
from service_runtime.inputs import pages
from service_runtime.rpc.calls import hold_bytes
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_between

CONTENT_BYTES_MAX = 3 * 1024 * 1024  # the most content of a response of 4 MiB; the rest is for the record
URL_LIFETIME_S = 900  # the default lifetime of a download URL
URL_LIFETIME_S_MAX = 7 * 24 * 3600  # the longest lifetime of a URL that all three clouds can sign


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordName:
    """How a caller names a record: either by its id or by the key of its blob."""

    record_id: UUID | None = None
    blob_key: str = ""

    def __post_init__(self) -> None:
        if (self.record_id is None) == (not self.blob_key):
            raise InvalidArgument("set either working_memory_id or blob_key", field="working_memory_id")

    def not_found(self) -> ContextKeepError:
        """Return the error to raise if no record has this name."""
        if self.record_id is None:
            return BlobNotFound(f"no blob has the key {self.blob_key!r}")
        return RecordNotFound(f"record {self.record_id} does not exist")


class RecordReader:
    """Reads records and blobs of all tenants; each call acts for its principal.

    Args:
        records: The store of records.
        storage: The providers that hold the bytes of blobs.
        checks: Checks the filters of a caller.
    """

    def __init__(self, *, records: Records, storage: BlobStorage, checks: FieldChecks) -> None:
        self._records = records
        self._storage = storage
        self._checks = checks

    async def fetch(self, record_id: UUID, *, principal: Principal, include_archived: bool) -> Record:
        """Return a record with its inline content.

        Raises:
            RecordNotFound: no record has this id.
            RecordArchived: the record is archived or has expired, and `include_archived` is not set.
        """
        record, _ = await self._find(
            RecordName(record_id=record_id),
            principal=principal,
            include_archived=include_archived,
            with_content=True,
        )
        return record

    async def list_records(
        self, rpc: str, which: RecordFilter, page: pages.PageRequest, *, principal: Principal, with_content: bool
    ) -> tuple[list[Record], str]:
        """Return a page of an entity's records, newest first, and the token of the next one, empty at the end.

        Args:
            rpc: Name of the RPC, to which page tokens are bound.
            which: The entity whose records are wanted, and the filters.
            page: The wanted number of records, and the token of the page.
            principal: The caller; its tenant and bounds limit the records.
            with_content: Return the inline contents of the records too.

        Raises:
            InvalidPageToken: the token belongs to another query.
            InvalidArgument: a filter is malformed.
            LimitExceeded: a filter is too long.
        """
        self._checks.check_filter(which)
        query = (rpc, principal.tenant_id, *dataclasses.astuple(which))
        record_page = await self._records.page(
            principal,
            which,
            after=_position(pages.decode_token(query, page.token, parts=2)),
            count_max=pages.page_size(page.size),
            bytes_max=pages.PAGE_BYTES_MAX,
            with_content=with_content,
        )
        if not record_page.has_more:
            return record_page.records, ""
        last = record_page.records[-1]
        return record_page.records, pages.encode_token(query, (last.created_at, last.seq))

    async def open_blob(
        self, name: RecordName, *, principal: Principal, start_bytes: int, length_bytes: int, include_archived: bool
    ) -> tuple[Record, AsyncGenerator[bytes, None]]:
        """Return a record and a range of its blob, in checked chunks of up to 1 MiB.

        Args:
            name: The record's id, or the key of its blob.
            principal: The caller; it must be allowed to read the record.
            start_bytes: The first byte to read. It must be before the blob's end, except 0 for an empty blob.
            length_bytes: Bytes to read. 0, or more than the blob has, reads to the end.
            include_archived: Also read archived and expired records.

        Raises:
            RecordNotFound, BlobNotFound: no record has this id, or no blob has this key.
            RecordArchived: the record is archived or has expired, and `include_archived` is not set.
            RecordHasNoBlob: the content of the record is inline, or it has none.
            RangePastEnd: `start_bytes` is past the end of the blob.
            BlobCorrupted: raised by the chunks; the stored bytes are damaged.
            ProviderNotConfigured: raised by the chunks; the settings have no provider of the kind that holds the blob.
            Unavailable: raised by the chunks; the storage provider does not answer.
            HeldBytesExceeded: raised by the chunks; the service holds too many bytes for the caller.
        """
        record, stored = await self._find(name, principal=principal, include_archived=include_archived, with_blob=True)
        if stored is None:
            raise record_has_no_blob(record)
        end_bytes = self._storage.end_of_range(stored.size_bytes, start_bytes, length_bytes)
        return record, self._charge(stored, start_bytes, end_bytes)

    async def _charge(self, stored: StoredBlob, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of a blob, and charge the caller for the bytes that are read ahead."""
        with hold_bytes() as charge:
            charge.set(self._storage.reading_bytes(stored.provider, end_bytes - start_bytes))
            chunks = self._storage.read(stored, start_bytes=start_bytes, end_bytes=end_bytes)
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk

    async def content(
        self, name: RecordName, *, principal: Principal, start_bytes: int, length_bytes: int, include_archived: bool
    ) -> tuple[Record, bytes]:
        """Return a record and a range of its content, inline or from its blob; it is empty if the record has neither.

        Args:
            name: The record's id, or the key of its blob.
            principal: The caller; it must be allowed to read the record.
            start_bytes: The first byte to read. It must be before the end, except 0 for an empty content.
            length_bytes: Bytes to read. 0, or more than the content has, reads to the end.
            include_archived: Also read archived and expired records.

        Raises:
            InvalidArgument: the range is malformed, or longer than an answer.
            AnswerTooLarge: the blob has no range, and does not fit one answer.
            RangePastEnd: `start_bytes` is past the end of the content.
            RecordNotFound, BlobNotFound, RecordArchived, BlobCorrupted, ProviderNotConfigured, Unavailable: as in
                `open_blob`.
        """
        check_between("length_bytes", length_bytes, 0, CONTENT_BYTES_MAX)
        record, stored = await self._find(
            name, principal=principal, include_archived=include_archived, with_content=True, with_blob=True
        )
        if stored is None:
            inline = (record.content_json or record.content_text or "").encode()
            end_bytes = self._storage.end_of_range(len(inline), start_bytes, length_bytes)
            return dataclasses.replace(record, content_json=None, content_text=None), inline[start_bytes:end_bytes]
        end_bytes = self._storage.end_of_range(stored.size_bytes, start_bytes, length_bytes)
        if end_bytes - start_bytes > CONTENT_BYTES_MAX:
            raise AnswerTooLarge(
                f"the blob has {stored.size_bytes} bytes; an answer may have up to {CONTENT_BYTES_MAX}: set"
                " length_bytes, or use GetBlob",
                use="GetBlob",
                size_bytes=stored.size_bytes,
                size_bytes_max=CONTENT_BYTES_MAX,
            )
        content = bytearray()
        async with aclosing(self._storage.read(stored, start_bytes=start_bytes, end_bytes=end_bytes)) as chunks:
            async for chunk in chunks:
                content += chunk
        return record, bytes(content)

    async def download_url(
        self, name: RecordName, *, principal: Principal, lifetime_s: int, include_archived: bool
    ) -> tuple[Record, str, datetime]:
        """Return a record, a URL from which anyone can download its blob, and when the URL expires.

        Args:
            name: The record's id, or the key of its blob.
            principal: The caller; it must be allowed to read the record.
            lifetime_s: How long the URL works, in seconds; 0 means 15 minutes.
            include_archived: Also read archived and expired records.

        Raises:
            InvalidArgument: the lifetime is negative, or too long.
            NoDownloadUrl: the provider, or its credentials, cannot sign one.
            RecordNotFound, BlobNotFound, RecordArchived, RecordHasNoBlob, ProviderNotConfigured, Unavailable: as in
                `open_blob`.
        """
        check_between("lifetime_s", lifetime_s, 0, URL_LIFETIME_S_MAX)
        record, stored = await self._find(name, principal=principal, include_archived=include_archived, with_blob=True)
        if stored is None:
            raise record_has_no_blob(record)
        expires_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=lifetime_s or URL_LIFETIME_S)
        download = Download(expires_at=expires_at, file_name=record.name, content_type=record.content_type)
        return record, await self._storage.download_url(stored, download), expires_at

    async def _find(
        self,
        name: RecordName,
        *,
        principal: Principal,
        include_archived: bool,
        with_content: bool = False,
        with_blob: bool = False,
    ) -> tuple[Record, StoredBlob | None]:
        """Return the named record, and the place of its blob if `with_blob` is set.

        Raises:
            RecordNotFound, BlobNotFound: no record has this name.
            RecordArchived: it is archived or expired, and `include_archived` is not set.
        """
        record_and_blob = await self._records.find(
            principal,
            record_id=name.record_id,
            blob_key=name.blob_key,
            with_content=with_content,
            with_blob=with_blob,
        )
        if record_and_blob is None:
            raise name.not_found()
        if record_and_blob[0].is_archived and not include_archived:
            raise record_archived(record_and_blob[0])
        return record_and_blob


def _position(key: list[Any] | None) -> tuple[datetime, int] | None:
    """Return `created_at` and `seq` from a page token's key; check it, because a caller may have made it up."""
    if key is None:
        return None
    try:
        created_at, seq = datetime.fromisoformat(key[0]), key[1]
        if created_at.tzinfo is None or type(seq) is not int or not 0 <= seq < 2**63:
            raise ValueError("not a position")
    except (TypeError, ValueError):
        raise InvalidPageToken("page_token is malformed", field="page_token") from None
    return created_at, seq


def record_archived(record: Record) -> RecordArchived:
    """Return the error for a record that is archived."""
    return RecordArchived(
        f"record {record.id} is archived; set include_archived to read it, or restore it", working_memory_id=record.id
    )


def record_expired(record: Record) -> RecordArchived:
    """Return the error for a record that has expired."""
    return RecordArchived(
        f"record {record.id} has expired; change expires_at in the same update, or restore it first",
        working_memory_id=record.id,
    )


def record_has_no_blob(record: Record) -> RecordHasNoBlob:
    """Return the error for a record without a blob, which names the call that reads inline content."""
    return RecordHasNoBlob(
        f"record {record.id} has no blob; read inline content with GetContent",
        working_memory_id=record.id,
        use="GetContent",
    )
