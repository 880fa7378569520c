"""The SQL of wiki pages: a header, the versions that are kept, the names that lead to it, and what it cites.

Writers of one user's pages take turns, by a lock of their own: before the first page there is no row to lock, and
whether a name is free is asked of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from context_service.retrieval.model import WIKI, Audience, Passage, Scope
from context_service.retrieval.pure.sections import PagePiece, Section, cut
from context_service.retrieval.pure.terms import masks
from context_service.retrieval.store.passages import Passages
from context_service.wiki.model import (
    VERSIONS_BYTES_MAX,
    VERSIONS_MAX,
    NamedPage,
    Newest,
    Owner,
    Page,
    PageIndexEntry,
    PageInput,
    PageName,
    PageSource,
    PageVersion,
    compared,
    names_of,
)
from contextkeep.errors import MemoryNotFound
from service_runtime.auth import Principal
from service_runtime.checks import utf8_bytes
from service_runtime.copying import copied
from service_runtime.postgres import Database, Row, Tenant, Transaction

KIND = "page"  # of their passages

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('wiki of ' || %s::text, 0))"

_NAMED = """
SELECT n.name_id, n.page_id, p.slug
FROM context.wiki_page_name n
JOIN context.wiki_page p ON p.tenant_id = n.tenant_id AND p.page_id = n.page_id
WHERE n.tenant_id = %s AND n.name_id = ANY (%s)
"""
_NEWEST = """
SELECT p.page_id, p.version, v.seq, v.passage_count, v.sha256
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE p.tenant_id = %s AND p.page_id = %s
"""
_COUNT = "SELECT count(*) AS pages FROM context.wiki_page WHERE tenant_id = %s AND owner_user_id = %s"

_HOLDS = """
UPDATE context.wiki_page SET as_of = now(), fresh_until = %s WHERE tenant_id = %s AND page_id = %s
"""
_PUT = """
INSERT INTO context.wiki_page (
    tenant_id, page_id, scope_id, fresh_until, version, slug, title, owner_user_id, app_id, agent_bundle_id, created_by
) VALUES (
    %(tenant_id)s, %(page_id)s, %(scope_id)s, %(fresh_until)s, %(version)s, %(slug)s, %(title)s,
    %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, %(created_by)s
)
ON CONFLICT (tenant_id, page_id) DO UPDATE
    SET updated_at = now(), as_of = now(), fresh_until = excluded.fresh_until, version = excluded.version,
        title = excluded.title
"""
_PUT_VERSION = """
INSERT INTO context.wiki_page_version (
    tenant_id, page_id, version, size_bytes, passage_count, owner_user_id, app_id, agent_bundle_id, created_by, sha256,
    title, aliases, memory_ids, sources, headings, markdown
) VALUES (
    %(tenant_id)s, %(page_id)s, %(version)s, %(size_bytes)s, %(passage_count)s, %(owner_user_id)s, %(app_id)s,
    %(agent_bundle_id)s, %(created_by)s, %(sha256)s, %(title)s, %(aliases)s, %(memory_ids)s, %(sources)s::json,
    %(headings)s, %(markdown)s
)
RETURNING seq, created_at
"""
_PUT_NAMES = """
WITH gone AS (
    DELETE FROM context.wiki_page_name
    WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s AND name_id <> ALL (%(name_ids)s::uuid[])
)
INSERT INTO context.wiki_page_name (tenant_id, name_id, page_id, owner_user_id, app_id, agent_bundle_id)
SELECT %(tenant_id)s, n, %(page_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s
FROM unnest(%(name_ids)s::uuid[]) n
ON CONFLICT (tenant_id, name_id) DO NOTHING
"""
# A memory that is not there, or not the caller's to see, gives no row.
_PUT_CITATIONS = """
WITH gone AS (
    DELETE FROM context.wiki_citation
    WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s AND memory_id <> ALL (%(memory_ids)s::uuid[])
)
INSERT INTO context.wiki_citation (
    tenant_id, memory_id, page_id, memory_version, was_superseded, owner_user_id, app_id, agent_bundle_id
)
SELECT m.tenant_id, m.memory_id, %(page_id)s, m.version, m.superseded_by IS NOT NULL, %(owner_user_id)s, %(app_id)s,
    %(agent_bundle_id)s
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s
    AND m.memory_id = ANY (%(memory_ids)s::uuid[])
ON CONFLICT (tenant_id, memory_id, page_id) DO UPDATE
    SET memory_version = excluded.memory_version, was_superseded = excluded.was_superseded
RETURNING memory_id
"""
# The newest version stays, whatever it takes.
_FORGET_VERSIONS = """
DELETE FROM context.wiki_page_version v
USING (
    SELECT version, sum(size_bytes) OVER (ORDER BY version DESC) AS bytes_upto,
        row_number() OVER (ORDER BY version DESC) AS place
    FROM context.wiki_page_version
    WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
) one
WHERE v.tenant_id = %(tenant_id)s AND v.page_id = %(page_id)s AND v.version = one.version
    AND one.place > 1 AND (one.place > %(versions_max)s OR one.bytes_upto > %(bytes_max)s)
"""

_COLUMNS = """
    p.page_id, p.slug, v.title, v.version, p.version AS newest_version, v.aliases, v.memory_ids, v.size_bytes,
    CASE WHEN v.version = p.version THEN p.as_of ELSE v.created_at END AS as_of,
    CASE WHEN v.version = p.version THEN p.fresh_until END AS fresh_until,
    CASE WHEN v.version = p.version THEN p.fresh_until < now() END AS is_past,
    p.owner_user_id, p.app_id, p.agent_bundle_id, p.created_by, v.created_by AS written_by, p.created_at,
    v.created_at AS updated_at, f.gone, f.changed, f.superseded,
    CASE WHEN p.imported IS NOT NULL OR v.imported IS NOT NULL THEN jsonb_strip_nulls(
        coalesce(p.imported, '{}') || coalesce(v.imported - 'created_by', '{}')
        || jsonb_build_object('written_by', v.imported -> 'created_by')
    )::text END AS imported_json
"""
# What became of the memories that the newest version of the page `p` rests on, since it was put.
CITED = """
LEFT JOIN LATERAL (
    SELECT array_agg(c.memory_id ORDER BY c.memory_id) FILTER (WHERE m.memory_id IS NULL) AS gone,
        array_agg(c.memory_id ORDER BY c.memory_id) FILTER (WHERE m.version <> c.memory_version) AS changed,
        array_agg(c.memory_id ORDER BY c.memory_id)
            FILTER (WHERE m.superseded_by IS NOT NULL AND NOT c.was_superseded) AS superseded
    FROM context.wiki_citation c
    LEFT JOIN context.memory m ON m.tenant_id = c.tenant_id AND m.memory_id = c.memory_id
    WHERE c.tenant_id = p.tenant_id AND c.page_id = p.page_id
) f ON true
"""
_MEANT = """
    p.tenant_id = %(tenant_id)s AND p.owner_user_id = %(user_id)s AND p.page_id = coalesce(%(page_id)s::uuid, (
        SELECT n.page_id FROM context.wiki_page_name n WHERE n.tenant_id = %(tenant_id)s AND n.name_id = %(name_id)s
    ))
"""
_READ = f"""
SELECT {_COLUMNS}, v.sources::text AS sources, v.markdown
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id
    AND v.version = CASE WHEN %(version)s = 0 THEN p.version ELSE %(version)s END
{CITED}
WHERE {_MEANT}
"""  # noqa: S608 - constants
# No slug has what comes behind a prefix and a brace.
_LIST = f"""
SELECT {_COLUMNS}
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
{CITED}
WHERE p.tenant_id = %(tenant_id)s AND p.owner_user_id = %(user_id)s
    AND p.slug COLLATE "C" >= %(prefix)s AND p.slug COLLATE "C" < %(prefix)s || '{{'
    AND (p.slug COLLATE "C", p.page_id) > (%(after)s, %(after_id)s::uuid)
    AND (%(memory_id)s::uuid IS NULL OR EXISTS (
        SELECT FROM context.wiki_citation c
        WHERE c.tenant_id = p.tenant_id AND c.memory_id = %(memory_id)s AND c.page_id = p.page_id
    ))
ORDER BY p.slug COLLATE "C", p.page_id
LIMIT %(count)s
"""  # noqa: S608
# The page beside them: it has a version always.
_VERSIONS = f"""
SELECT p.page_id, v.version, v.title, v.created_by, v.created_at, v.size_bytes, CASE WHEN v.imported IS NOT NULL THEN (
        v.imported - 'created_by' || jsonb_build_object('written_by', v.imported -> 'created_by')
    )::text END AS imported_json
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id
WHERE {_MEANT} AND (%(before)s = 0 OR v.version < %(before)s)
ORDER BY v.version DESC
LIMIT %(count)s
"""  # noqa: S608
_HEADER = f"SELECT p.page_id, p.version FROM context.wiki_page p WHERE {_MEANT} FOR UPDATE"  # noqa: S608
_DELETE = """
WITH page AS (
    DELETE FROM context.wiki_page WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
), names AS (
    DELETE FROM context.wiki_page_name WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
), cited AS (
    DELETE FROM context.wiki_citation WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
)
DELETE FROM context.wiki_page_version WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
"""

# The answer goes with the user's pages.

_FIRST = UUID(int=0)
_REASONS_MAX = 5  # of a kind


async def lock(transaction: Transaction, scope: Scope) -> None:
    """Let nobody else write to a scope of pages until the transaction ends."""
    await transaction.query(_LOCK, (scope.id,))


def scope_of(tenant_id: UUID, user_id: str) -> Scope:
    """Return the scope of what a user's pages say."""
    return Scope.of_user(WIKI, tenant_id, user_id)


class PageRows:
    """The pages of users; what is read is the principal's user's.

    Args:
        database: Where they are.
        passages: What they are found by.
    """

    def __init__(self, database: Database, passages: Passages) -> None:
        self._database = database
        self._passages = passages

    async def lock(self, transaction: Transaction, user_id: str) -> None:
        """Let nobody else write a user's pages until the transaction ends."""
        await lock(transaction, scope_of(transaction.tenant_id, user_id))

    async def named(self, transaction: Transaction, owner: Owner, names: Sequence[str]) -> dict[str, NamedPage]:
        """Return what names lead to, of those that lead somewhere."""
        by_id = {owner.name_id(name): name for name in names}
        rows = await transaction.query(_NAMED, (transaction.tenant_id, list(by_id)))
        return {by_id[row.name_id]: NamedPage(page_id=row.page_id, slug=row.slug) for row in rows}

    async def newest(self, transaction: Transaction, page_id: UUID) -> Newest:
        """Return the newest version of a page that is there."""
        (row,) = await transaction.query(_NEWEST, (transaction.tenant_id, page_id))
        return Newest(**row._asdict())

    async def count(self, transaction: Transaction, user_id: str) -> int:
        """Return how many pages a user has, of those that the caller may see."""
        (row,) = await transaction.query(_COUNT, (transaction.tenant_id, user_id))
        return int(row.pages)

    async def still_holds(self, transaction: Transaction, owner: Owner, page_id: UUID, said: PageInput) -> None:
        """Note that the newest version was put again.

        Raises:
            MemoryNotFound: it cites one that is not there any more.
        """
        await transaction.query(_HOLDS, (said.fresh_until, transaction.tenant_id, page_id))
        await self._cite(transaction, owner, page_id, said)

    async def _cite(self, transaction: Transaction, owner: Owner, page_id: UUID, said: PageInput) -> None:
        parameters = {
            "page_id": page_id,
            "memory_ids": list(said.memory_ids),
            "owner_user_id": owner.user_id,
            "app_id": owner.app_id,
            "agent_bundle_id": owner.agent_bundle_id,
        }
        there = {row.memory_id for row in await transaction.query(_PUT_CITATIONS, parameters)}
        for memory_id in said.memory_ids:
            if memory_id not in there:
                raise MemoryNotFound("the page cites a memory that is not there", memory_id=memory_id)

    async def put(
        self,
        transaction: Transaction,
        owner: Owner,
        page_id: UUID,
        said: PageInput,
        found_by: PageIndexEntry,
        *,
        before: Newest | None,
        created_by: str,
    ) -> int:
        """Write the next version of a page with what it is found by; the one before is found no more.

        Args:
            transaction: In which the pages of the user are locked.
            owner: Whose page it is.
            page_id: Which.
            said: With its slug.
            found_by: What finds it.
            before: The newest version until now; None: it is the first.
            created_by: Who writes.

        Returns:
            The version.

        Raises:
            MemoryNotFound: it cites one that is not there.
        """
        version = before.version + 1 if before else 1
        scope = scope_of(transaction.tenant_id, owner.user_id)
        parameters = {
            "page_id": page_id,
            "scope_id": scope.id,
            "version": version,
            "fresh_until": said.fresh_until,
            "slug": said.slug,
            "title": said.title,
            "owner_user_id": owner.user_id,
            "app_id": owner.app_id,
            "agent_bundle_id": owner.agent_bundle_id,
            "created_by": created_by,
            "size_bytes": utf8_bytes(said.markdown),
            "passage_count": len(found_by.pieces),
            "sha256": said.sha256,
            "aliases": list(said.aliases),
            "memory_ids": list(said.memory_ids),
            "sources": orjson.dumps([[one.label, one.uri, one.id] for one in said.sources]).decode(),
            "headings": list(found_by.headings),
            "markdown": said.markdown,
            "name_ids": [owner.name_id(name) for name in names_of(said.slug, said.aliases)],
            "versions_max": VERSIONS_MAX,
            "bytes_max": VERSIONS_BYTES_MAX,
        }
        await transaction.query(_PUT, parameters)
        (written,) = await transaction.query(_PUT_VERSION, parameters)
        for statement in (_PUT_NAMES, _FORGET_VERSIONS):
            await transaction.query(statement, parameters)
        await self._cite(transaction, owner, page_id, said)
        if before and before.passage_count:
            await self._passages.remove_documents(transaction, scope, [before.seq])
        audience = Audience(owner_user_id=owner.user_id, app_id=owner.app_id, agent_bundle_id=owner.agent_bundle_id)
        placed = [
            passage(one, page_id, ordinal=ordinal, seq=written.seq, said_at=written.created_at, numbers=numbers)
            for ordinal, (one, numbers) in enumerate(zip(found_by.pieces, found_by.numbers, strict=True))
        ]
        await self._passages.put(transaction, scope, audience, placed)
        return version

    async def read(
        self, door: Tenant | Transaction, name: PageName, *, version: int, principal: Principal
    ) -> Page | None:
        """Return a version of a page, 0 the newest; None: there is none."""
        rows = await door.query(_READ, {**_which(name, principal), "version": version})
        return _page(rows[0], markdown=rows[0].markdown, sources=_sources(rows[0].sources)) if rows else None

    async def pages(
        self,
        principal: Principal,
        *,
        prefix: str,
        memory_id: UUID | None,
        after: tuple[str, UUID] | None,
        count: int,
    ) -> list[Page]:
        """Return the pages of a user by slug, from behind one on, each in its newest version without what it says."""
        after_slug, after_id = after or ("", _FIRST)
        said = {
            "user_id": principal.user_id,
            "prefix": prefix,
            "memory_id": memory_id,
            "after": after_slug,
            "after_id": after_id,
            "count": count,
        }
        return [_page(row) for row in await self._database.of(principal).query(_LIST, said)]

    async def versions(
        self, name: PageName, *, before: int, count: int, principal: Principal
    ) -> tuple[UUID | None, list[PageVersion]]:
        """Return the id of a page, and the versions that are kept, the newest first, from the one before `before` on.

        Without such a version, the id is None.
        """
        said = {**_which(name, principal), "before": before, "count": count}
        rows = await self._database.of(principal).query(_VERSIONS, said)
        found = [copied(PageVersion, row) for row in rows]
        return (rows[0].page_id if rows else None), found

    async def meant(self, transaction: Transaction, name: PageName, principal: Principal) -> Newest | None:
        """Return the newest version of the page that is meant, which is locked; None: there is no such page."""
        rows = await transaction.query(_HEADER, _which(name, principal))
        return await self.newest(transaction, rows[0].page_id) if rows else None

    async def delete(self, transaction: Transaction, page: Newest, user_id: str) -> None:
        """Remove a page, with its versions and what it is found by."""
        scope = scope_of(transaction.tenant_id, user_id)
        if page.passage_count:
            await self._passages.remove_documents(transaction, scope, [page.seq])
        await transaction.query(_DELETE, {"page_id": page.page_id})


def passage(
    one: PagePiece, page_id: UUID, *, ordinal: int, seq: int, said_at: datetime, numbers: Sequence[int] | None = None
) -> Passage:
    """Return a passage of a page where it stands; `numbers` as of `Passage`."""
    return Passage(
        seq=seq,
        ordinal=ordinal,
        session=seq,  # a page is a document of its own
        text=one.piece.text,
        terms=one.piece.terms,
        numbers=numbers,
        kind=KIND,
        said_at=said_at,
        is_said=False,
        marks=one.piece.marks,
        part=one.section,
        source_id=page_id,
    )


def cut_of(
    title: str, aliases: Sequence[str], parts: Sequence[Section], *, count: Callable[[str], int], scope_id: UUID
) -> PageIndexEntry:
    """Return what a page is found by; `count` counts the tokens of a text."""
    found = list(cut(title, aliases, parts, count=count))
    return PageIndexEntry(
        headings=[part.heading for part in parts],
        pieces=found,
        numbers=[masks(scope_id, one.piece.terms) for one in found],
    )


def _which(name: PageName, principal: Principal) -> Mapping[str, Any]:
    owner = Owner(
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        app_id=name.app_id or principal.app_default,
        agent_bundle_id=name.agent_bundle_id or principal.agent_bundle_id,
    )
    return {
        "tenant_id": principal.tenant_id,
        "user_id": principal.user_id,
        "page_id": name.page_id,
        "name_id": owner.name_id(compared(name.slug)),
    }


def stale_of(row: Row) -> list[str]:
    """Return why the newest version of a page is out of date, of a row with `is_past`, `fresh_until` and `CITED`."""
    reasons = [f"it was good until {row.fresh_until:%Y-%m-%d %H:%M} UTC"] if row.is_past else []
    for memory_ids, what in (
        (row.gone, "is not there any more"),
        (row.superseded, "is superseded"),
        (row.changed, "was changed"),
    ):
        for memory_id in (memory_ids or ())[:_REASONS_MAX]:
            reasons.append(f"the memory {memory_id}, which it cites, {what}")
        if memory_ids and len(memory_ids) > _REASONS_MAX:
            reasons.append(f"so it is of {len(memory_ids) - _REASONS_MAX} more")
    return reasons


def _page(row: Row, *, markdown: str = "", sources: Sequence[PageSource] = ()) -> Page:
    is_newest = row.version == row.newest_version
    stale = stale_of(row) if is_newest else [f"version {row.newest_version} is newer"]
    return copied(Page, row, sources=sources, markdown=markdown, stale=stale)


def _sources(text: str) -> list[PageSource]:
    return [PageSource(label=label, uri=uri, id=source_id) for label, uri, source_id in orjson.loads(text)]
