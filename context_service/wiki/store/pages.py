"""The SQL of wiki pages: a header, the versions that are kept, the names that lead to it, and the memories it cites.

Writers of one user's pages wait for each other by a lock on the user. A lock on a row would not do, because before the
first page there is no row, and because a new name must differ from the names of all pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from context_service.retrieval.model import WIKI, Audience, Passage, PassageScope
from context_service.retrieval.pure.sections import PagePiece, Section, cut
from context_service.retrieval.pure.terms import masks
from context_service.retrieval.room import Passages
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
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import utf8_bytes
from service_runtime.values.copying import copied

KIND = "page"  # the kind of the passages (chunks of text, for search) of pages

SQL = SqlFile.of(__file__)
_LOCK = SQL["lock"]
_NAMED = SQL["named"]
_NEWEST = SQL["newest"]
_COUNT = SQL["count"]
_HOLDS = SQL["holds"]
_PUT = SQL["put"]
_PUT_VERSION = SQL["put_version"]
_PUT_NAMES = SQL["put_names"]
_PUT_CITATIONS = SQL["put_citations"]
_FORGET_VERSIONS = SQL["forget_versions"]
CITED = SQL["cited"]
_READ = SQL["read"]
_LIST = SQL["list"]
_VERSIONS = SQL["versions"]
_HEADER = SQL["header"]
_DELETE = SQL["delete"]


_FIRST = UUID(int=0)  # a value before the ids of all pages
_REASONS_MAX = 5  # cited memories that are named for each kind of reason; further ones are only counted


async def lock(transaction: Transaction, scope: PassageScope) -> None:
    """Lock a scope of pages for writing until the transaction ends."""
    await transaction.query(_LOCK, (scope.id,))


def scope_of(tenant_id: UUID, user_id: str) -> PassageScope:
    """Return the scope in which a user's pages are searched."""
    return PassageScope.of_user(WIKI, tenant_id, user_id)


class PageRows:
    """The stored pages of users. Each call reads the pages of its principal's user.

    Args:
        database: The database that holds the pages.
        passages: The store of passages, which indexes the pages' sections.
    """

    def __init__(self, database: Database, passages: Passages) -> None:
        self._database = database
        self._passages = passages

    async def lock(self, transaction: Transaction, user_id: str) -> None:
        """Lock a user's pages for writing until the transaction ends."""
        await lock(transaction, scope_of(transaction.tenant_id, user_id))

    async def named(self, transaction: Transaction, owner: Owner, names: Sequence[str]) -> dict[str, NamedPage]:
        """Return the pages that some names lead to; names that lead to none are left out."""
        by_id = {owner.name_id(name): name for name in names}
        rows = await transaction.query(_NAMED, (transaction.tenant_id, list(by_id)))
        return {by_id[row.name_id]: NamedPage(page_id=row.page_id, slug=row.slug) for row in rows}

    async def newest(self, transaction: Transaction, page_id: UUID) -> Newest:
        """Return the newest version of a page that exists."""
        (row,) = await transaction.query(_NEWEST, (transaction.tenant_id, page_id))
        return Newest(**row._asdict())

    async def count(self, transaction: Transaction, user_id: str) -> int:
        """Return how many pages of a user the caller may see."""
        (row,) = await transaction.query(_COUNT, (transaction.tenant_id, user_id))
        return int(row.pages)

    async def still_holds(self, transaction: Transaction, owner: Owner, page_id: UUID, page_input: PageInput) -> None:
        """Note that the newest version was confirmed by a write of the same text.

        Raises:
            MemoryNotFound: the page cites a memory that no longer exists.
        """
        await transaction.query(_HOLDS, (page_input.fresh_until, transaction.tenant_id, page_id))
        await self._cite(transaction, owner, page_id, page_input)

    async def _cite(self, transaction: Transaction, owner: Owner, page_id: UUID, page_input: PageInput) -> None:
        """Store which memories a page cites.

        Raises:
            MemoryNotFound: the page cites a memory that the user does not have.
        """
        parameters = {
            "page_id": page_id,
            "memory_ids": list(page_input.memory_ids),
            "owner_user_id": owner.user_id,
            "app_id": owner.app_id,
            "agent_bundle_id": owner.agent_bundle_id,
        }
        there = {row.memory_id for row in await transaction.query(_PUT_CITATIONS, parameters)}
        for memory_id in page_input.memory_ids:
            if memory_id not in there:
                raise MemoryNotFound(
                    f"the page cites the memory {memory_id}, which does not exist: cite an existing memory of the user,"
                    " or leave it out",
                    memory_id=memory_id,
                )

    async def put(
        self,
        transaction: Transaction,
        owner: Owner,
        page_id: UUID,
        page_input: PageInput,
        found_by: PageIndexEntry,
        *,
        before: Newest | None,
        created_by: str,
    ) -> int:
        """Write the next version of a page and index it; the previous version is no longer found.

        Args:
            transaction: The transaction, which has locked the user's pages.
            owner: The user that owns the page, and its app and agent bundle.
            page_id: The id of the page.
            page_input: The content of the page, with its slug.
            found_by: The passages and names by which the page is found.
            before: The newest version until now; None for a new page.
            created_by: The subject of the principal that writes.

        Returns:
            The number of the new version.

        Raises:
            MemoryNotFound: the page cites a memory that does not exist.
        """
        version = before.version + 1 if before else 1
        scope = scope_of(transaction.tenant_id, owner.user_id)
        parameters = {
            "page_id": page_id,
            "scope_id": scope.id,
            "version": version,
            "fresh_until": page_input.fresh_until,
            "slug": page_input.slug,
            "title": page_input.title,
            "owner_user_id": owner.user_id,
            "app_id": owner.app_id,
            "agent_bundle_id": owner.agent_bundle_id,
            "created_by": created_by,
            "size_bytes": utf8_bytes(page_input.markdown),
            "passage_count": len(found_by.pieces),
            "sha256": page_input.sha256,
            "aliases": list(page_input.aliases),
            "memory_ids": list(page_input.memory_ids),
            "sources": orjson.dumps([[source.label, source.uri, source.id] for source in page_input.sources]).decode(),
            "headings": list(found_by.headings),
            "markdown": page_input.markdown,
            "name_ids": [owner.name_id(name) for name in names_of(page_input.slug, page_input.aliases)],
            "versions_max": VERSIONS_MAX,
            "bytes_max": VERSIONS_BYTES_MAX,
        }
        await transaction.query(_PUT, parameters)
        (written,) = await transaction.query(_PUT_VERSION, parameters)
        for statement in (_PUT_NAMES, _FORGET_VERSIONS):
            await transaction.query(statement, parameters)
        await self._cite(transaction, owner, page_id, page_input)
        if before and before.passage_count:
            await self._passages.remove_documents(transaction, scope, [before.seq])
        audience = Audience(owner_user_id=owner.user_id, app_id=owner.app_id, agent_bundle_id=owner.agent_bundle_id)
        placed = [
            passage(piece, page_id, ordinal=ordinal, seq=written.seq, said_at=written.created_at, numbers=numbers)
            for ordinal, (piece, numbers) in enumerate(zip(found_by.pieces, found_by.numbers, strict=True))
        ]
        await self._passages.put(transaction, scope, audience, placed)
        return version

    async def read(
        self, connection: Tenant | Transaction, name: PageName, *, version: int, principal: Principal
    ) -> Page | None:
        """Return a version of a page, 0 being the newest; None if there is none."""
        rows = await connection.query(_READ, {**_which(name, principal), "version": version})
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
        """Return the pages of a user by slug, after a given page, in their newest versions and without texts."""
        after_slug, after_id = after or ("", _FIRST)
        parameters = {
            "user_id": principal.user_id,
            "prefix": prefix,
            "memory_id": memory_id,
            "after": after_slug,
            "after_id": after_id,
            "count": count,
        }
        return [_page(row) for row in await self._database.of(principal).query(_LIST, parameters)]

    async def versions(
        self, name: PageName, *, before: int, count: int, principal: Principal
    ) -> tuple[UUID | None, list[PageVersion]]:
        """Return the id of a page, and its stored versions, newest first, that are older than `before`.

        The id is None if the page has no such version.
        """
        parameters = {**_which(name, principal), "before": before, "count": count}
        rows = await self._database.of(principal).query(_VERSIONS, parameters)
        page_versions = [copied(PageVersion, row) for row in rows]
        return (rows[0].page_id if rows else None), page_versions

    async def lock_newest(self, transaction: Transaction, name: PageName, principal: Principal) -> Newest | None:
        """Lock the named page and return its newest version, or None if there is no such page."""
        rows = await transaction.query(_HEADER, _which(name, principal))
        return await self.newest(transaction, rows[0].page_id) if rows else None

    async def delete(self, transaction: Transaction, page: Newest, user_id: str) -> None:
        """Delete a page with its versions, passages and names."""
        scope = scope_of(transaction.tenant_id, user_id)
        if page.passage_count:
            await self._passages.remove_documents(transaction, scope, [page.seq])
        await transaction.query(_DELETE, {"page_id": page.page_id})


def passage(
    piece: PagePiece, page_id: UUID, *, ordinal: int, seq: int, said_at: datetime, numbers: Sequence[int] | None = None
) -> Passage:
    """Return the passage that indexes a section; for `numbers` see the class `Passage`."""
    return Passage(
        seq=seq,
        ordinal=ordinal,
        session=seq,  # a page is a document of its own
        text=piece.piece.text,
        terms=piece.piece.terms,
        numbers=numbers,
        kind=KIND,
        said_at=said_at,
        is_said=False,
        marks=piece.piece.marks,
        part=piece.section,
        source_id=page_id,
    )


def cut_of(
    title: str, aliases: Sequence[str], parts: Sequence[Section], *, count: Callable[[str], int], scope_id: UUID
) -> PageIndexEntry:
    """Return the passages and names by which a page is found; `count` counts the tokens of a text."""
    pieces = list(cut(title, aliases, parts, count=count))
    return PageIndexEntry(
        headings=[part.heading for part in parts],
        pieces=pieces,
        numbers=[masks(scope_id, piece.piece.terms) for piece in pieces],
    )


def _which(name: PageName, principal: Principal) -> Mapping[str, Any]:
    """Return the SQL parameters that find a page of the principal's user, by its id or by its slug."""
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
    """Return why the newest version of a page is out of date; the row needs `is_past`, `fresh_until` and `CITED`."""
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
