"""The SQL of compiled pages: their headers, facets, dependencies and indexed passages, written in one transaction.

A facet is a section of a page, and a passage is a chunk of its text, by which searches find it. Pages of several nodes
are written together, with one statement for each table. Writers of passages of a tenant's facets wait for each other by
a lock that only they take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from context_service.compiled_pages.model import (
    Audience,
    Compiled,
    CompiledPage,
    FacetInput,
    FacetNode,
    KeptFacet,
    KeptPage,
    MentioningPage,
    NamedSource,
    PageCounts,
    Unseen,
    Walls,
)
from context_service.compiled_pages.pure.definition import FacetKind
from context_service.retrieval.model import BRAIN, Passage, PassageScope
from context_service.retrieval.model import Audience as PassageAudience
from context_service.retrieval.pure.sections import Section, cut
from context_service.retrieval.pure.terms import masks
from context_service.retrieval.pure.text_pieces import TextPiece
from context_service.retrieval.room import Passages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database, Row, Tenant, Transaction, json_rows
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import utf8_bytes
from service_runtime.values.copying import copied

KIND = "facet"  # the kind of passages of facets
FORGOTTEN = "text about an erased user was removed; the next compile compiles the page again"
_CUTTING = 16  # cutting a text into passages takes this many times as long as parsing it

SQL = SqlFile.of(__file__)
_TURN = SQL["turn"]
_KNOWN = SQL["known"]
_STAND = SQL["stand"]
_TROUBLED = SQL["troubled"]
_UNSEEN = SQL["unseen"]
_PUT_PAGES = SQL["put_pages"]
_MOVE_PUT = SQL["move_put"]
_FOUND_BY = SQL["found_by"]
_DROP_COMPILED = SQL["drop_compiled"]
_PUT_FACETS = SQL["put_facets"]
_DROP_DEPENDENCIES = SQL["drop_dependencies"]
_PUT_DEPENDENCIES = SQL["put_dependencies"]
_DROP_PAGES = SQL["drop_pages"]
_SAYING = SQL["saying"]
_EMPTY = SQL["empty"]
_OF_NODES = SQL["of_nodes"]
_NOT_APPROVED = SQL["not_approved"]
_DEPENDENT = SQL["dependent"]
DECLASSIFIED = SQL["declassified"]
_READ = SQL["read"]
_LOCK = SQL["lock"]
_FACETS = SQL["facets"]
_LIST = SQL["list"]
_DROP_PUT = SQL["drop_put"]
_COUNT_PUT = SQL["count_put"]
_PASSAGES = SQL["passages"]


FIRST = UUID(int=0)  # a value before the ids of all pages


@dataclass(frozen=True, slots=True, kw_only=True)
class _IndexedFacet:
    """A facet, and the passages by which searches find it."""

    seq: int
    page_id: UUID
    written_at: datetime
    walls: Walls  # the columns that row-level security compares with the bounds of a caller
    pieces: Sequence[tuple[TextPiece, Sequence[int]]]  # each with the numbers of its terms in the index


def scope_of(tenant_id: UUID) -> PassageScope:
    """Return the scope of the texts of a tenant's facets."""
    return PassageScope(kind=BRAIN, id=uuid5(tenant_id, BRAIN))


async def take_turn(transaction: Transaction) -> None:
    """Lock the passages of the tenant's facets for writing until the transaction ends."""
    await transaction.query(_TURN, (transaction.tenant_id,))


class CompiledRows:
    """The SQL statements on compiled pages.

    Args:
        database: The database that holds the pages.
        passages: The search index of the facets.
        count: A function that counts the tokens of a text.
    """

    def __init__(self, database: Database, passages: Passages, *, count: Callable[[str], int]) -> None:
        self._database = database
        self._passages = passages
        self._count = count

    # Writing

    async def write(
        self,
        transaction: Transaction,
        results: Sequence[Compiled],
        audience: Audience,
        compile_id: UUID,
        *,
        read_ago_s: float,
    ) -> PageCounts:
        """Write the results of compiling some nodes, and return how many pages were written, unchanged or removed.

        Args:
            transaction: The transaction that holds the row of the running compile.
            results: The results; each page is in it once.
            audience: The bounds of the keys that see these pages.
            compile_id: The id of the running compile.
            read_ago_s: Seconds since the first of the nodes was read.
        """
        by_id = {audience.page_id(node.definition_name, node.node_id): node for node in results}
        named: dict[str, Any] = {
            "tenant_id": transaction.tenant_id,
            "audience_id": audience.id,
            "is_unbound": audience.is_unbound,
            "compile_id": compile_id,
            "read_ago_s": read_ago_s,
        }
        known = {
            row.page_id: (bytes(row.sha256), row.definition_version)
            for row in await transaction.query(_KNOWN, {**named, "page_ids": list(by_id)})
        }
        troubled = {page_id: compiled_page.trouble for page_id, compiled_page in by_id.items() if compiled_page.trouble}
        pages = {
            page_id: (compiled_page, compiled_page.page)
            for page_id, compiled_page in by_id.items()
            if compiled_page.page is not None
        }
        standing = [
            page_id
            for page_id, (compiled_page, page) in pages.items()
            if known.get(page_id) == (page.sha256, compiled_page.definition_version)
        ]
        gone = [page_id for page_id in known if page_id not in pages and page_id not in troubled]
        written = {page_id: both for page_id, both in pages.items() if page_id not in standing}
        if standing:
            await transaction.query(_STAND, {**named, "page_ids": standing})
        if troubled:
            rows = json_rows({"page_id": page_id, "trouble": text} for page_id, text in troubled.items())
            await transaction.query(_TROUBLED, {**named, "troubles": rows})
        if written:
            await self._put(transaction, written, named)
        removed = await self.drop(transaction, gone)
        return PageCounts(written=len(written), unchanged=len(standing), removed=removed, failed=len(troubled))

    async def _put(
        self,
        transaction: Transaction,
        pages: Mapping[UUID, tuple[Compiled, CompiledPage]],
        parameters: Mapping[str, Any],
    ) -> None:
        """Replace pages with their facets, dependencies and passages.

        Old passages and rows are removed first. Added facets stay, and their passages are written again, because the
        title of their page may have changed.

        Args:
            transaction: The transaction of the compile.
            pages: The results and pages to write, by page id.
            parameters: The parameters that all statements share, such as the compile.
        """
        scope = scope_of(transaction.tenant_id)
        ids = {**parameters, "page_ids": list(pages)}
        size_bytes = sum(utf8_bytes(facet.text) for _, page in pages.values() for facet in page.facets)
        pieces = await beside_the_loop(_CUTTING * size_bytes, self._cut_all, pages, scope)
        await take_turn(transaction)
        seqs = [row.seq for row in await transaction.query(_FOUND_BY, ids)]
        if seqs:
            await self._passages.remove_documents(transaction, scope, seqs)
        await transaction.query(_DROP_COMPILED, ids)
        await transaction.query(_DROP_DEPENDENCIES, ids)
        await transaction.query(_PUT_PAGES, {**parameters, "pages": json_rows(map(_page_row, pages, pages.values()))})
        facets = json_rows(
            _facet_row(page_id, one, page, place, len(pieces[page_id, facet.slug]), parameters["compile_id"])
            for page_id, (one, page) in pages.items()
            for place, facet in enumerate(page.facets)
        )
        placed = await transaction.query(_PUT_FACETS, {**parameters, "facets": facets})
        await transaction.query(
            _PUT_DEPENDENCIES,
            {
                **parameters,
                "dependencies": json_rows(
                    {
                        "node_id": node_id,
                        "page_id": page_id,
                        "bits": bits,
                        "node_owner_id": page.owners.get(node_id, ""),
                        **_page_walls(one, page),
                    }
                    for page_id, (one, page) in pages.items()
                    for node_id, bits in page.depends_on.items()
                ),
            },
        )
        walls = {
            (page_id, facet.slug): Walls(
                **_facet_walls(one, page, facet.bundles, is_declassified=facet.is_declassified)
            )
            for page_id, (one, page) in pages.items()
            for facet in page.facets
        }
        found = [
            copied(_IndexedFacet, row, walls=walls[row.page_id, row.slug], pieces=pieces[row.page_id, row.slug])
            for row in placed
        ]
        for row in await transaction.query(_MOVE_PUT, ids):
            found.append(await self._again(transaction, row))
        await self._find(transaction, scope, found)

    def _cut_all(
        self, pages: Mapping[UUID, tuple[Compiled, CompiledPage]], scope: PassageScope
    ) -> dict[tuple[UUID, str], list[tuple[TextPiece, Sequence[int]]]]:
        """Cut the facets of pages into passages, by page id and slug."""
        return {
            (page_id, facet.slug): cut_of(
                page.title, page.aliases, facet.heading, facet.text, count=self._count, scope_id=scope.id
            )
            for page_id, (_, page) in pages.items()
            for facet in page.facets
        }

    async def _again(self, transaction: Transaction, row: Row) -> _IndexedFacet:
        """Return an added facet with its current passages, which change with the title of its page."""
        pieces = await self._pieces(transaction, row.title, row.aliases, row.heading, row.text)
        counts = json_rows([{"seq": row.seq, "passage_count": len(pieces)}])
        await transaction.query(_PASSAGES, {"counts": counts})
        return copied(_IndexedFacet, row, walls=walls_of(row), pieces=pieces)

    async def _pieces(
        self, transaction: Transaction, title: str, aliases: Sequence[str], heading: str, text: str
    ) -> list[tuple[TextPiece, Sequence[int]]]:
        """Cut the text of one facet into passages, off the event loop if it is long."""
        scope_id = scope_of(transaction.tenant_id).id

        def work() -> list[tuple[TextPiece, Sequence[int]]]:
            return cut_of(title, aliases, heading, text, count=self._count, scope_id=scope_id)

        return await beside_the_loop(_CUTTING * utf8_bytes(text), work)

    async def _find(self, transaction: Transaction, scope: PassageScope, facets: Iterable[_IndexedFacet]) -> None:
        """Write the passages of facets, so that searches find them; passages of one audience are written together."""
        together: dict[Walls, list[Passage]] = {}
        for found_page in facets:
            together.setdefault(found_page.walls, []).extend(
                passage(
                    piece,
                    found_page.page_id,
                    ordinal=ordinal,
                    seq=found_page.seq,
                    said_at=found_page.written_at,
                    numbers=numbers,
                )
                for ordinal, (piece, numbers) in enumerate(found_page.pieces)
            )
        for walls in sorted(together, key=lambda walls: (walls.graph_name, walls.agent_bundle_id, walls.app_id)):
            await self._passages.put(transaction, scope, audience_of(walls), together[walls])

    async def drop(self, transaction: Transaction, page_ids: Sequence[UUID]) -> int:
        """Remove pages with their facets, dependencies and passages; return how many pages there were."""
        if not page_ids:
            return 0
        ids = {"page_ids": list(page_ids)}
        await take_turn(transaction)
        seqs = [row.seq for row in await transaction.query(_FOUND_BY, ids)]
        if seqs:
            await self._passages.remove_documents(transaction, scope_of(transaction.tenant_id), seqs)
        await transaction.query(_DROP_DEPENDENCIES, ids)
        return len(await transaction.query(_DROP_PAGES, ids))

    async def of_nodes(self, transaction: Transaction, node_ids: Sequence[str]) -> list[UUID]:
        """Return the ids of the pages of nodes, of all audiences (keys with the same bounds) that the caller sees."""
        parameters = {"node_ids": list(node_ids)}
        return [row.page_id for row in await transaction.query(_OF_NODES, parameters)]

    async def saying(self, tenant: Tenant, owner_id: str, pages: Mapping[str, str]) -> list[MentioningPage]:
        """Return the pages that have text from a user's nodes.

        Args:
            tenant: The tenant of the pages.
            owner_id: The id of the user.
            pages: The SQL parameters of the part of the table that is read.
        """
        parameters = {"owner_id": owner_id, **pages}
        return [MentioningPage(*row) for row in await tenant.query(_SAYING, parameters)]

    async def forget(self, transaction: Transaction, owner_id: str, those: Sequence[MentioningPage]) -> int:
        """Remove the pages of a user's nodes, and empty other pages with text from such nodes; return their number.

        Added facets of an emptied page stay; searches find them again after the next compile.
        """
        removed = await self.drop(transaction, [mentioning.page_id for mentioning in those if mentioning.is_own])
        emptied = [mentioning for mentioning in those if not mentioning.is_own]
        if not emptied:
            return removed
        parameters = {
            "page_ids": [mentioning.page_id for mentioning in emptied],
            "unnamed_ids": [mentioning.page_id for mentioning in emptied if mentioning.may_be_own],
            "owner_id": owner_id,
            "trouble": FORGOTTEN,
        }
        await take_turn(transaction)
        seqs = [row.seq for row in await transaction.query(_FOUND_BY, parameters)]
        if seqs:
            await self._passages.remove_documents(transaction, scope_of(transaction.tenant_id), seqs)
        await transaction.query(_DROP_COMPILED, parameters)
        return removed + len(await transaction.query(_EMPTY, parameters))

    async def not_approved(self, transaction: Transaction, names: Sequence[str], *, count: int) -> list[UUID]:
        """Return the ids of pages whose definition has none of these names, `count` at most."""
        parameters = {"names": list(names), "count": count}
        return [row.page_id for row in await transaction.query(_NOT_APPROVED, parameters)]

    async def unseen(
        self,
        principal: Principal,
        definition_name: str,
        audience: Audience,
        compile_id: UUID,
        *,
        after: UUID,
        count: int,
    ) -> list[Unseen]:
        """Return pages of a definition that a compile of all nodes did not meet, after an id, `count` at most."""
        parameters = {
            "definition_name": definition_name,
            "audience_id": audience.id,
            "compile_id": compile_id,
            "after": after,
            "count": count,
        }
        return [Unseen(*row) for row in await self._database.of(principal).query(_UNSEEN, parameters)]

    async def dependent(
        self, principal: Principal, audience: Audience, touched: Mapping[str, int]
    ) -> list[tuple[str, str]]:
        """Return the definitions and the nodes of pages that depend on changed nodes."""
        rows = json_rows({"node_id": node_id, "bits": bits} for node_id, bits in touched.items())
        parameters = {"audience_id": audience.id, "touched": rows}
        page_rows = await self._database.of(principal).query(_DEPENDENT, parameters)
        return [(row.definition_name, str(row.node_id)) for row in page_rows]

    # Facets that callers add

    async def lock(self, transaction: Transaction, page_id: UUID) -> KeptPage | None:
        """Lock a page until the transaction ends, and return it, or None if the caller sees none."""
        rows = await transaction.query(_LOCK, {"page_id": page_id})
        return _page(rows[0]) if rows else None

    async def put(self, transaction: Transaction, page: KeptPage, facet_input: FacetInput, *, by: str) -> int:
        """Add a facet to a locked page, or delete it; return how many added facets the page has then."""
        scope = scope_of(transaction.tenant_id)
        ids = {"page_id": page.page_id, "slug": facet_input.slug}
        await take_turn(transaction)
        for row in await transaction.query(_DROP_PUT, ids):
            if row.passage_count:
                await self._passages.remove_documents(transaction, scope, [row.seq])
        if facet_input.text:
            pieces = await self._pieces(transaction, page.title, page.aliases, facet_input.heading, facet_input.text)
            walls = copied(Walls, page)
            row_put = _put_row(page, facet_input, walls, len(pieces), by)
            (row,) = await transaction.query(_PUT_FACETS, {**ids, "facets": json_rows([row_put])})
            found = _IndexedFacet(
                seq=row.seq, page_id=page.page_id, written_at=row.written_at, walls=walls, pieces=pieces
            )
            await self._find(transaction, scope, [found])
        (count,) = await transaction.query(_COUNT_PUT, ids)
        return int(count.facets)

    # Reading

    async def read(self, connection: Tenant | Transaction, page_id: UUID) -> KeptPage | None:
        """Return a page with the facets that the caller may see, or None if it sees no such page."""
        parameters = {"page_id": page_id}
        rows = await connection.query(_READ, parameters)
        if not rows:
            return None
        return _page(rows[0], [_facet(row, rows[0]) for row in await connection.query(_FACETS, parameters)])

    async def page(
        self,
        principal: Principal,
        *,
        definition_name: str,
        node_id: UUID | None,
        after: tuple[str, UUID] | None,
        count: int,
    ) -> list[KeptPage]:
        """Return pages by the name of their definition, from the one after `after`, without their facets."""
        after_name, after_id = after or ("", FIRST)
        parameters = {
            "definition_name": definition_name,
            "node_id": node_id,
            "after": after_name,
            "after_id": after_id,
            "count": count,
        }
        return [_page(row) for row in await self._database.of(principal).query(_LIST, parameters)]


def cut_of(
    title: str, aliases: Sequence[str], heading: str, text: str, *, count: Callable[[str], int], scope_id: UUID
) -> list[tuple[TextPiece, Sequence[int]]]:
    """Return the passages of a facet, with the numbers of their indexed terms."""
    pieces = cut(title, aliases, [Section(heading, text)], count=count)
    return [(found_page.piece, masks(scope_id, found_page.piece.terms)) for found_page in pieces]


def passage(
    piece: TextPiece, page_id: UUID, *, ordinal: int, seq: int, said_at: datetime, numbers: Sequence[int] | None = None
) -> Passage:
    """Return a passage of a facet at its place in the index."""
    return Passage(
        seq=seq,
        ordinal=ordinal,
        session=seq,  # each is a document of its own
        text=piece.text,
        terms=piece.terms,
        numbers=numbers,
        kind=KIND,
        said_at=said_at,
        is_said=False,
        marks=piece.marks,
        source_id=page_id,
    )


def walls_of(row: Row) -> Walls:
    """Return the columns of a row that row-level security compares with the bounds of a caller."""
    return copied(Walls, row)


def audience_of(walls: Walls) -> PassageAudience:
    """Return the audience of passages with these bounds."""
    return PassageAudience(graph_name=walls.graph_name, agent_bundle_id=walls.agent_bundle_id, app_id=walls.app_id)


def page_stale(row: Row) -> list[str]:
    """Return why a page is out of date, apart from its facets; an empty list if it is not."""
    reasons = [row.trouble] if row.trouble else []
    if row.definition_version != row.approved_version:
        reasons.append(
            f"version {row.approved_version} of its definition is approved, and it is of {row.definition_version}"
        )
    return reasons


def past(fresh_until: datetime) -> str:
    """Return the reason for staleness of a text that was fresh until a time."""
    return f"it was good until {fresh_until:%Y-%m-%d %H:%M} UTC"


def _page_walls(result: Compiled, page: CompiledPage) -> dict[str, str]:
    """Return the columns for row-level security of a page: the graph and agent bundle of its node, and the app."""
    node = page.node
    return {"graph_name": node.graph_name, "agent_bundle_id": node.agent_bundle_id, "app_id": result.app_id}


def _facet_walls(
    result: Compiled, page: CompiledPage, bundles: Sequence[str], *, is_declassified: bool
) -> dict[str, str]:
    """Return the columns for row-level security of a facet: callers with other bounds must not see its text.

    If the facet read nodes of several bundles, no bound key may see it, because such a key has one bundle.
    """
    walls = _page_walls(result, page)
    if not is_declassified:
        walls["agent_bundle_id"] = bundles[0] if len(bundles) == 1 else ""
    return walls


def _page_row(page_id: UUID, both: tuple[Compiled, CompiledPage]) -> dict[str, object]:
    """Return the row of a page for the insert."""
    key, page = both
    return {
        "page_id": page_id,
        "node_id": key.node_id,
        "definition_version": key.definition_version,
        "definition_name": key.definition_name,
        "node_type": page.node.entity["type"],
        "title": page.title,
        "aliases": page.aliases,
        "sha256": page.sha256.hex(),
        **_page_walls(key, page),
    }


def _facet_row(
    page_id: UUID, result: Compiled, page: CompiledPage, place: int, passage_count: int, compile_id: UUID
) -> dict[str, object]:
    """Return the row of a facet that a definition made, at `place` in its page."""
    facet = page.facets[place]
    return {
        "page_id": page_id,
        "compile_id": compile_id,
        "as_of": facet.as_of,
        "fresh_until": facet.fresh_until,
        "confidence": facet.confidence,
        "place": place,
        "definition_version": result.definition_version,
        "passage_count": passage_count,
        "is_put": False,
        "is_cut": facet.is_cut,
        "is_declassified": facet.is_declassified,
        "slug": facet.slug,
        "heading": facet.heading,
        "kind": facet.kind.value,
        "put_by": "",
        "bundles": facet.bundles,
        "sources": [list(source) for source in facet.sources],
        "text": facet.text,
        **_facet_walls(result, page, facet.bundles, is_declassified=facet.is_declassified),
    }


def _put_row(page: KeptPage, facet_input: FacetInput, walls: Walls, passage_count: int, by: str) -> dict[str, object]:
    """Return the row of a facet that a caller added to a page."""
    assert facet_input.kind is not None, "FacetInput.check requires one"
    return {
        "page_id": page.page_id,
        "as_of": facet_input.as_of,
        "fresh_until": facet_input.fresh_until,
        "confidence": facet_input.confidence,
        "place": 0,
        "definition_version": page.definition_version,
        "passage_count": passage_count,
        "is_put": True,
        "is_cut": False,
        "is_declassified": False,
        "slug": facet_input.slug,
        "heading": facet_input.heading,
        "kind": facet_input.kind.value,
        "put_by": by,
        "bundles": [walls.agent_bundle_id],
        "sources": [[facet_input.source.label, facet_input.source.uri]],
        "text": facet_input.text,
        "graph_name": walls.graph_name,
        "agent_bundle_id": walls.agent_bundle_id,
        "app_id": walls.app_id,
    }


def _page(row: Row, facets: Sequence[KeptFacet] = ()) -> KeptPage:
    """Return a page as it is stored, with the reasons why it or a facet is out of date."""
    stale = page_stale(row)
    stale += [f"{facet.heading}: {why}" for facet in facets for why in facet.stale if why not in stale]
    stale += [past(time) for time in getattr(row, "past", ())]
    return copied(KeptPage, row, stale=stale, facets=facets)


def facet_stale(row: Row, *, of_page: Sequence[str]) -> list[str]:
    """Return why a facet is out of date.

    A facet that a caller added does not depend on the graph, so the reasons of the page do not apply to it.
    """
    return [*(() if row.is_put else of_page), *([past(row.fresh_until)] if row.is_past else ())]


def _facet(row: Row, page: Row) -> KeptFacet:
    """Return a facet as it is stored; its sources are named ones if a caller added it, else nodes of the graph."""
    sources: Sequence[FacetNode | NamedSource]
    if row.is_put:
        sources = [NamedSource(label=label, uri=uri) for label, uri in row.sources]
    else:
        sources = [FacetNode(*source) for source in row.sources]
    return copied(
        KeptFacet, row, kind=FacetKind(row.kind), stale=facet_stale(row, of_page=page_stale(page)), sources=sources
    )
