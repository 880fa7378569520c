"""The terms of records: made with each write, and made again from the stored texts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import orjson

from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX
from context_service.working_memory.pure.record_terms import TERMS_VERSION, content_of, record_terms
from context_service.working_memory.store.record_columns import Record
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Row, Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile

_ANALYZED = 8  # finding the terms of a text takes as long as parsing this many bytes for each character
TOGETHER = 20  # records whose terms are made and written together; a long text has thousands

SQL = SqlFile.of(__file__, text_chars_max=TEXT_CHARS_MAX)
_TEXTS = SQL["texts"]
_PUT = SQL["put"]
_PAGE = SQL["page"]
_FIRST_ID = UUID(int=0)


async def terms_of(tenant_id: UUID, record: Record, *, blob_text: str | None) -> list[int]:
    """Return the terms of a new record.

    Args:
        tenant_id: The tenant of the record.
        record: The record, with its inline content.
        blob_text: The beginning of its file, if that is text.
    """
    text = record.content_text if record.content_text is not None else blob_text
    return await _made(tenant_id, record.name, record.description, record.content_json, text)


async def index_records(transaction: Transaction, ids: Sequence[UUID]) -> None:
    """Make the terms of stored records from their texts, and write them; the rows stay locked."""
    for first in range(0, len(ids), TOGETHER):
        rows = await transaction.query(_TEXTS, {"ids": list(ids[first : first + TOGETHER])})
        terms = await _terms_of_rows(transaction.tenant_id, rows)
        term_rows = [{"id": record_id, "terms": numbers} for record_id, numbers in terms.items()]
        await transaction.query(_PUT, {"found": orjson.dumps(term_rows).decode(), "version": TERMS_VERSION})


async def different_records(tenant: Tenant) -> AsyncIterator[tuple[int, list[UUID]]]:
    """Yield page by page how many records a tenant has, and which of them have other terms than their texts."""
    after = _FIRST_ID
    while rows := await tenant.query(_PAGE, {"after": after, "count": TOGETHER}):
        after = rows[-1].id
        terms = await _terms_of_rows(tenant.tenant_id, rows)
        yield len(rows), [row.id for row in rows if row.terms != terms[row.id] or row.terms_version != TERMS_VERSION]


async def _terms_of_rows(tenant_id: UUID, rows: Sequence[Row]) -> dict[UUID, list[int]]:
    """Return the terms of records by their ids, made from the texts of their rows."""
    return {row.id: await _made(tenant_id, row.name, row.description, row.content_json, row.text) for row in rows}


async def _made(tenant_id: UUID, name: str, description: str, content_json: str | None, text: str | None) -> list[int]:
    content = content_json or text or ""
    searched = len(name) + len(description) + min(len(content), TEXT_CHARS_MAX)

    def work() -> list[int]:
        """Return the terms."""
        return record_terms(tenant_id, name=name, description=description, content=content_of(content_json, text))

    return await beside_the_loop(_ANALYZED * searched + len(content), work)
