"""The text of a record: its name, its description and its content, inline or in a file."""

from __future__ import annotations

from contextlib import aclosing
from uuid import UUID

from context_service.blobs.storage import BlobStorage, StoredBlob
from context_service.retrieval.documents.kinds import Reason, Unread, charset_of, kind_of
from context_service.retrieval.documents.reading import FILE_BYTES_MAX, DocumentReader, FileText, RecordText
from context_service.retrieval.pure.part_texts import json_text
from context_service.working_memory.pure.fields import content_type_of_name
from context_service.working_memory.store.texts.record_texts import READ
from contextkeep.errors import BlobCorrupted
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Row, Tenant
from service_runtime.values.copying import copied


class RecordTexts:
    """Reads the texts of records.

    Args:
        storage: The providers that hold the records' files.
        reader: Extracts the text of a file in a separate process.
    """

    def __init__(self, storage: BlobStorage, reader: DocumentReader) -> None:
        self._storage = storage
        self._reader = reader

    async def read(self, tenant: Tenant, record_id: UUID) -> RecordText | None:
        """Return the text of a record; None if there is no record.

        Raises:
            ProviderNotConfigured, Unavailable: the record's file cannot be read at present.
        """
        for row in await tenant.query(READ, (tenant.tenant_id, record_id)):
            inline = row.content_json or ""
            content = await beside_the_loop(len(inline), json_text, inline) if inline else row.content_text or ""
            of_file = await self._of_file(tenant, row) if row.key else FileText(text="", is_cut=False)
            unread = of_file if isinstance(of_file, Unread) else None
            content = content if isinstance(of_file, Unread) else content + of_file.text
            text = "\n".join(part for part in (row.name, row.description, content) if part)
            return RecordText(text=text, unread=unread)
        return None

    async def content(self, tenant: Tenant, record_id: UUID) -> FileText | Unread | None:
        """Return the content of a record, inline or from its file, as text; None if there is no record.

        Raises:
            ProviderNotConfigured, Unavailable: the record's file cannot be read at present.
        """
        for row in await tenant.query(READ, (tenant.tenant_id, record_id)):
            if row.key:
                return await self._of_file(tenant, row)
            inline = row.content_json or ""
            text = await beside_the_loop(len(inline), json_text, inline) if inline else row.content_text or ""
            return FileText(text=text.replace("\0", " "), is_cut=False)
        return None

    async def _of_file(self, tenant: Tenant, row: Row) -> FileText | Unread:
        """Read the text of a record's file; return the reason instead if the file has no text that can be read."""
        types = [row.content_type, content_type_of_name(row.name), row.memory_type]
        kind = kind_of(types, row.name)
        if kind is None:
            media_type = row.content_type or "this type"
            return Unread(reason=Reason.UNSUPPORTED, detail=f"no text is read from files of {media_type}")
        if row.size_bytes > FILE_BYTES_MAX:
            return Unread(reason=Reason.TOO_LARGE, detail=f"the file has more than {FILE_BYTES_MAX} bytes")
        blob = copied(StoredBlob, row, crc32c=bytes(row.crc32c or b""))
        try:
            async with aclosing(self._storage.read(blob, start_bytes=0, end_bytes=blob.size_bytes)) as chunks:
                charset = charset_of(row.content_type)
                return await self._reader.read(kind, chunks, tenant_id=tenant.tenant_id, charset=charset)
        except BlobCorrupted as error:
            return Unread(reason=Reason.BROKEN, detail=error.message)
