"""What goes with rows that were put in: what is owed behind them, counted of them, and found by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context_service.contexts.room import queue_of_pointed_records
from context_service.knowledge_bases.room import DOCUMENT_TOPIC
from context_service.transfer.store.tables import Table
from context_service.working_memory.room import EMBEDDING_TOPIC, TEXT_TOPIC
from service_runtime.outbox import Outbox
from service_runtime.postgres import Row, Transaction
from service_runtime.queue_room import QUEUED_MAX

_OWE = """
INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
SELECT r.tenant_id, gen_random_uuid(), %(topic)s, r.{id} FROM context.{table} r
WHERE r.tenant_id = %(tenant_id)s AND r.{id} = ANY (%(ids)s::uuid[]) AND r.{state} = '{owed}'
ON CONFLICT (tenant_id, topic, subject_id) DO NOTHING
"""
_OWE_TEXTS = _OWE.format(table="wm_record", id="id", state="text_state", owed="PENDING")
_OWE_VECTORS = _OWE.format(table="wm_record", id="id", state="index_state", owed="PENDING")
_OWE_DOCUMENTS = _OWE.format(table="knowledge_document", id="document_id", state="state", owed="QUEUED")
_HERE = "SELECT id::text AS id FROM context.wm_record WHERE tenant_id = %s AND id = ANY (%s::uuid[])"
_COUNT_MEMORIES = """
INSERT INTO context.memory_user (tenant_id, scope_id, owner_user_id, app_id, agent_bundle_id, memory_count)
SELECT m.tenant_id, u.scope_id, m.owner_user_id, m.app_id, m.agent_bundle_id, count(*)
FROM unnest(%(users)s::text[], %(scopes)s::uuid[]) u (user_id, scope_id)
    JOIN context.memory m ON m.tenant_id = %(tenant_id)s AND m.owner_user_id = u.user_id
GROUP BY m.tenant_id, u.scope_id, m.owner_user_id, m.app_id, m.agent_bundle_id
ON CONFLICT (tenant_id, owner_user_id, app_id, agent_bundle_id) DO UPDATE SET memory_count = excluded.memory_count
"""
_PAGES = """
SELECT p.page_id, p.slug, p.owner_user_id, p.app_id, p.agent_bundle_id, v.aliases
FROM context.wiki_page p
    JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE p.tenant_id = %s AND p.page_id = ANY (%s::uuid[])
"""
_NAME_PAGE = """
INSERT INTO context.wiki_page_name (tenant_id, name_id, page_id, owner_user_id, app_id, agent_bundle_id)
SELECT %(tenant_id)s, n, %(page_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s
FROM unnest(%(name_ids)s::uuid[]) n
ON CONFLICT (tenant_id, name_id) DO NOTHING
"""
_NAMED = """
SELECT count(*) AS others FROM context.wiki_page_name
WHERE tenant_id = %s AND name_id = ANY (%s) AND page_id <> %s
"""
_BUMP_MAPPINGS = "UPDATE context.mapping_revision SET revision = revision + 1"


class ImportFollowups:
    """What belongs to rows that an import writes.

    Args:
        embeds_texts: Somebody makes vectors here.
        queued_max: Items of a tenant that wait in each queue.
    """

    def __init__(self, *, embeds_texts: bool, queued_max: int = QUEUED_MAX) -> None:
        self._embeds_texts = embeds_texts
        self._texts = Outbox("context", TEXT_TOPIC, queued_max=queued_max)
        self._vectors = Outbox("context", EMBEDDING_TOPIC, queued_max=queued_max)
        self._documents = Outbox("context", DOCUMENT_TOPIC, queued_max=queued_max)
        self._records_of_messages = queue_of_pointed_records(queued_max)

    async def prepare(self, transaction: Transaction, table: Table, found: Sequence[dict[str, Any]]) -> None:
        """Let rows say what is to be done here, of what was done where they come from, and let that into its queues.

        Raises:
            LimitExceeded: too much of the tenant waits.
        """
        for row in found:
            if table.name == "wm_record":
                # The passages of a record are made anew: by whoever reads those that are owed.
                if row.get("text_state") in ("INDEXED", "PENDING"):
                    row["text_state"] = "PENDING"
                if "passage_count" in row:
                    row["passage_count"] = None
                if row.get("index_state") == "PENDING" and not self._embeds_texts:
                    row["index_state"] = "NONE"
            elif table.name == "knowledge_document" and row.get("state") in ("QUEUED", "PARSING"):
                row["state"] = "QUEUED"
        await self._take_room(transaction, table, found)

    async def _take_room(self, transaction: Transaction, table: Table, found: Sequence[dict[str, Any]]) -> None:
        if table.name == "wm_record":
            await self._texts.take_room(transaction, items=_count(found, "text_state", "PENDING"))
            await self._vectors.take_room(transaction, items=_count(found, "index_state", "PENDING"))
        elif table.name == "knowledge_document":
            await self._documents.take_room(transaction, items=_count(found, "state", "QUEUED"))
        elif table.name == "message_record" and (items := _count(found, "state", "PENDING")):
            await self._records_of_messages.take(transaction, items=items)

    async def behind(self, transaction: Transaction, table: Table, found: Sequence[dict[str, Any]]) -> None:
        """Owe what is to be done for rows that are written."""
        owing: tuple[tuple[str, str, str], ...] = ()
        if table.name == "wm_record":
            owing = (("id", _OWE_TEXTS, TEXT_TOPIC), ("id", _OWE_VECTORS, EMBEDDING_TOPIC))
        elif table.name == "knowledge_document":
            owing = (("document_id", _OWE_DOCUMENTS, DOCUMENT_TOPIC),)
        elif table.name == "mapping":
            await transaction.query(_BUMP_MAPPINGS)
        for key, statement, topic in owing:
            ids = [str(row[key]) for row in found]
            await transaction.query(statement, {"topic": topic, "ids": ids})

    async def here(self, transaction: Transaction, record_ids: Sequence[str]) -> set[str]:
        """Return which of some records are here."""
        found = await transaction.query(_HERE, (transaction.tenant_id, list(record_ids)))
        return {row.id for row in found}

    async def count_memories(self, transaction: Transaction, users: Sequence[str], scopes: Sequence[UUID]) -> None:
        """Count the memories of users anew."""
        named = {"users": list(users), "scopes": list(scopes)}
        await transaction.query(_COUNT_MEMORIES, named)

    async def pages(self, transaction: Transaction, page_ids: Sequence[str]) -> list[Row]:
        """Return the newest version of pages that are here."""
        return await transaction.query(_PAGES, (transaction.tenant_id, list(page_ids)))

    async def name_page(self, transaction: Transaction, page: Row, name_ids: Sequence[UUID]) -> bool:
        """Give a page its names; False: one of them is another page's."""
        named = {
            "page_id": page.page_id,
            "owner_user_id": page.owner_user_id,
            "app_id": page.app_id,
            "agent_bundle_id": page.agent_bundle_id,
            "name_ids": list(name_ids),
        }
        await transaction.query(_NAME_PAGE, named)
        (row,) = await transaction.query(_NAMED, (transaction.tenant_id, list(name_ids), page.page_id))
        return not row.others


def _count(found: Sequence[dict[str, Any]], column: str, value: str) -> int:
    return sum(row.get(column) == value for row in found)
