"""The work that follows from imported rows: queues, counts and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context_service.contexts.room import queue_of_pointed_records
from context_service.knowledge_bases.room import DOCUMENT_TOPIC
from context_service.transfer.store.tables import Table
from context_service.working_memory.room import EMBEDDING_TOPIC, TEXT_TOPIC, index_records
from service_runtime.background_work.outbox import Outbox
from service_runtime.background_work.queue_room import QUEUED_MAX
from service_runtime.postgres import Row, Transaction
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_HERE = SQL["here"]
_COUNT_MEMORIES = SQL["count_memories"]
_PAGES = SQL["pages"]
_NAME_PAGE = SQL["name_page"]
_NAMED = SQL["named"]
_BUMP_MAPPINGS = SQL["bump_mappings"]
_UNINDEXED = SQL["unindexed"]
_OWE_TEXTS = SQL.filled("owe", table="wm_record", id="id", state="text_state", owed="PENDING")
_OWE_VECTORS = SQL.filled("owe", table="wm_record", id="id", state="index_state", owed="PENDING")
_OWE_DOCUMENTS = SQL.filled("owe", table="knowledge_document", id="document_id", state="state", owed="QUEUED")


class ImportFollowups:
    """Queues the work that imported rows need, and writes the counts and names that follow from them.

    Args:
        embeds_texts: An embedder is configured here, so texts are queued for it.
        queued_max: The most items of a tenant that may wait in each queue.
    """

    def __init__(self, *, embeds_texts: bool, queued_max: int = QUEUED_MAX) -> None:
        self._embeds_texts = embeds_texts
        self._texts = Outbox("context", TEXT_TOPIC, queued_max=queued_max)
        self._vectors = Outbox("context", EMBEDDING_TOPIC, queued_max=queued_max)
        self._documents = Outbox("context", DOCUMENT_TOPIC, queued_max=queued_max)
        self._records_of_messages = queue_of_pointed_records(queued_max)

    async def prepare(self, transaction: Transaction, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Set in rows the states that say which work is still to be done here, and check that the queues have room.

        The rows are changed in place, before they are written.

        Raises:
            LimitExceeded: too much work of the tenant is queued already.
        """
        for row in rows:
            if table.name == "wm_record":
                # The worker that reads queued texts makes the passages of a record again.
                if row.get("text_state") in ("INDEXED", "PENDING"):
                    row["text_state"] = "PENDING"
                if "passage_count" in row:
                    row["passage_count"] = None
                if row.get("index_state") == "PENDING" and not self._embeds_texts:
                    row["index_state"] = "NONE"
            elif table.name == "knowledge_document" and row.get("state") in ("QUEUED", "PARSING"):
                row["state"] = "QUEUED"
        await self._take_room(transaction, table, rows)

    async def _take_room(self, transaction: Transaction, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Check that the background queues have room for the work that imported rows bring.

        Raises:
            LimitExceeded: a queue of the tenant is full.
        """
        if table.name == "wm_record":
            await self._texts.take_room(transaction, items=_count(rows, "text_state", "PENDING"))
            await self._vectors.take_room(transaction, items=_count(rows, "index_state", "PENDING"))
        elif table.name == "knowledge_document":
            await self._documents.take_room(transaction, items=_count(rows, "state", "QUEUED"))
        elif table.name == "message_record" and (items := _count(rows, "state", "PENDING")):
            await self._records_of_messages.take(transaction, items=items)

    async def queue(self, transaction: Transaction, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Queue the work for written rows, and make the terms of written records."""
        owing: tuple[tuple[str, str, str], ...] = ()
        if table.name == "wm_record":
            owing = (("id", _OWE_TEXTS, TEXT_TOPIC), ("id", _OWE_VECTORS, EMBEDDING_TOPIC))
            unindexed = await transaction.query(_UNINDEXED, {"ids": [str(row["id"]) for row in rows]})
            await index_records(transaction, [row.id for row in unindexed])
        elif table.name == "knowledge_document":
            owing = (("document_id", _OWE_DOCUMENTS, DOCUMENT_TOPIC),)
        elif table.name == "mapping":
            await transaction.query(_BUMP_MAPPINGS)
        for key, statement, topic in owing:
            ids = [str(row[key]) for row in rows]
            await transaction.query(statement, {"topic": topic, "ids": ids})

    async def here(self, transaction: Transaction, record_ids: Sequence[str]) -> set[str]:
        """Return the ids of the records that exist here."""
        rows = await transaction.query(_HERE, (transaction.tenant_id, list(record_ids)))
        return {row.id for row in rows}

    async def count_memories(self, transaction: Transaction, users: Sequence[str], scopes: Sequence[UUID]) -> None:
        """Count the memories of users again, after an import."""
        parameters = {"users": list(users), "scopes": list(scopes)}
        await transaction.query(_COUNT_MEMORIES, parameters)

    async def pages(self, transaction: Transaction, page_ids: Sequence[str]) -> list[Row]:
        """Return the newest versions of pages."""
        return await transaction.query(_PAGES, (transaction.tenant_id, list(page_ids)))

    async def name_page(self, transaction: Transaction, page: Row, name_ids: Sequence[UUID]) -> bool:
        """Write the names of a page; return False if another page has one of them."""
        parameters = {
            "page_id": page.page_id,
            "owner_user_id": page.owner_user_id,
            "app_id": page.app_id,
            "agent_bundle_id": page.agent_bundle_id,
            "name_ids": list(name_ids),
        }
        await transaction.query(_NAME_PAGE, parameters)
        (row,) = await transaction.query(_NAMED, (transaction.tenant_id, list(name_ids), page.page_id))
        return not row.others


def _count(rows: Sequence[dict[str, Any]], column: str, value: str) -> int:
    return sum(row.get(column) == value for row in rows)
