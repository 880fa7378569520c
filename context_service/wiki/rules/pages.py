"""The rules of wiki pages: each belongs to a user, and each write replaces the whole page with a new version.

A put of unchanged content makes no new version; it only renews `as_of`. A writer that passes the version that it has
read (`expected_version`) overwrites no other version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.pure import sections
from context_service.wiki.model import (
    PAGES_MAX,
    SECTIONS_MAX,
    SLUG_CHARS_MAX,
    Newest,
    Owner,
    Page,
    PageIndexEntry,
    PageInput,
    PageName,
    PageVersion,
    check_page,
    names_of,
    slug_of,
)
from context_service.wiki.store.pages import PageRows, cut_of, scope_of
from contextkeep.errors import InvalidArgument, InvalidPageToken, PageNameTaken, PageNotFound, VersionConflict
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_count, check_stored, check_text, utf8_bytes
from service_runtime.values.ids import new_id

VERSION_MAX = 2**31 - 1
_CUTTING = 16  # cutting a text into passages takes this many times as long as parsing it


class Pages:
    """Writes and reads pages; each call acts for its principal, which has a user.

    Args:
        database: The database that holds the pages.
        rows: The store of pages.
        requests: The store of idempotency keys and their answers.
        tokens: Counts the tokens of sections.
    """

    def __init__(self, database: Database, rows: PageRows, *, requests: Requests, tokens: TokenCounter) -> None:
        self._database = database
        self._rows = rows
        self._requests = requests
        self._tokens = tokens
        self._writer_locks = KeyedLocks()

    async def put(
        self, page_input: PageInput, *, expected_version: int | None, principal: Principal, request: Request | None
    ) -> Page:
        """Write a page, or its next version, and return it without its text.

        Args:
            page_input: The whole page, as the caller sends it.
            expected_version: The version that the writer has read; 0 if there must be none. None accepts any.
            principal: The caller, whose user gets the page.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            PageNameTaken: the slug or an alias leads to another page.
            VersionConflict: the page has another version than `expected_version`.
            PageNotFound: the page does not exist, and `expected_version` is above 0.
            MemoryNotFound: the page cites a memory that does not exist.
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too large, or the user has too many pages.
            PermissionDenied: the page names an app or an agent bundle that the principal is not bound to.
            RequestIdReused: another request had the same request id.
        """
        check_page(page_input)
        _check_version("expected_version", expected_version or 0)
        page_input = replace(
            page_input,
            slug=page_input.slug or slug_of(page_input.title),
            memory_ids=list(dict.fromkeys(page_input.memory_ids)),
            app_id=page_input.app_id or principal.app_default,
            agent_bundle_id=page_input.agent_bundle_id or principal.agent_bundle_id,
        )
        principal.check_bounds(graph_name="", agent_bundle_id=page_input.agent_bundle_id, app_id=page_input.app_id)
        owner = Owner(
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            app_id=page_input.app_id,
            agent_bundle_id=page_input.agent_bundle_id,
        )
        scope_id = scope_of(principal.tenant_id, principal.user_id).id
        cut = await beside_the_loop(_CUTTING * utf8_bytes(page_input.markdown), self._cut, page_input, scope_id)

        async def work(transaction: Transaction) -> Page:
            """Lock the user's pages, check the expected version, and write the page.

            If the text is the same as that of the newest version, only note that the version still holds.
            """
            await self._rows.lock(transaction, principal.user_id)
            before = await self._before(transaction, owner, page_input)
            _check_expected(expected_version, before)
            if before and before.sha256 == page_input.sha256:
                await self._rows.still_holds(transaction, owner, before.page_id, page_input)
                page_id, version = before.page_id, before.version
            else:
                if not before:
                    check_stored("pages", await self._rows.count(transaction, principal.user_id) + 1, PAGES_MAX)
                page_id = before.page_id if before else new_id()
                version = await self._rows.put(
                    transaction, owner, page_id, page_input, cut, before=before, created_by=principal.subject
                )
            name = PageName(page_id=page_id, slug="")
            page = await self._rows.read(transaction, name, version=version, principal=principal)
            assert page is not None, "it was written just now"
            return page

        async with self._writer_locks.hold(scope_id):
            return await self._database.of(principal).transaction(self._requests.once(request, work, about_id=scope_id))

    async def _before(self, transaction: Transaction, owner: Owner, page_input: PageInput) -> Newest | None:
        """Return the newest version of the page to write, or None if there is no such page yet.

        Raises:
            PageNameTaken: a name of the page leads to another page.
        """
        named = await self._rows.named(transaction, owner, names_of(page_input.slug, page_input.aliases))
        page = named.get(page_input.slug)
        mine = page.page_id if page and page.slug == page_input.slug else None
        for name, other in named.items():
            if other.page_id != mine:
                raise PageNameTaken(f"{name!r} is already a name of the page {other.slug!r}", slug=other.slug)
        return await self._rows.newest(transaction, mine) if mine else None

    def _cut(self, page_input: PageInput, scope_id: UUID) -> PageIndexEntry:
        """Cut a page into the passages of its index.

        Raises:
            LimitExceeded: the page has too many sections.
        """
        parts: list[sections.Section] = []
        for part in sections.sections(page_input.markdown):
            parts.append(part)
            check_count("page.sections", len(parts), SECTIONS_MAX)
        return cut_of(page_input.title, page_input.aliases, parts, count=self._tokens.count, scope_id=scope_id)

    async def read(self, name: PageName, *, version: int, principal: Principal) -> Page:
        """Return a version of a page; 0 stands for the newest.

        Raises:
            PageNotFound: the page does not exist, or does not have this version, or no longer has it.
            InvalidArgument: the request does not name a page.
        """
        name.check()
        _check_version("version", version)
        page = await self._rows.read(self._database.of(principal), name, version=version, principal=principal)
        if page is None:
            raise not_found()
        return page

    async def page(
        self, page: pages.PageRequest, *, prefix: str, memory_id: UUID | None, principal: Principal
    ) -> tuple[list[Page], str]:
        """Return a page of the list of a user's pages, sorted by slug, without their texts, and the next token.

        Args:
            page: The wanted number of pages, and the token of the page of the list.
            prefix: Return only pages whose slug begins with this; empty returns all.
            memory_id: Return only pages whose newest version cites this memory; None returns all.
            principal: The caller, whose user owns the pages.

        Raises:
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another list.
            LimitExceeded: the prefix is too long.
        """
        check_text("slug_prefix", prefix, chars_max=SLUG_CHARS_MAX)
        query = ("ListPages", principal.tenant_id, principal.user_id, prefix, str(memory_id or ""))
        key = pages.decode_token(query, page.token, parts=2)
        count = pages.page_size(page.size)
        rows = await self._rows.pages(
            principal, prefix=prefix, memory_id=memory_id, after=_place(key) if key else None, count=count + 1
        )
        return pages.cut(query, rows, count, key=lambda page: (page.slug, page.page_id))

    async def versions(
        self, name: PageName, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[Sequence[PageVersion], str]:
        """Return the stored versions of a page, newest first.

        Raises:
            PageNotFound: the page does not exist.
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        name.check()
        query = (
            "ListPageVersions",
            principal.tenant_id,
            principal.user_id,
            str(name.page_id or ""),
            name.slug,
            name.app_id,
            name.agent_bundle_id,
        )
        before = pages.decode_number(query, page.token, number_max=VERSION_MAX) or 0
        count = pages.page_size(page.size)
        page_id, page_versions = await self._rows.versions(name, before=before, count=count + 1, principal=principal)
        if page_id is None and not before:
            raise not_found()
        return pages.cut(query, page_versions, count, key=lambda page: (page.version,))

    async def delete(
        self, name: PageName, *, expected_version: int | None, principal: Principal, request: Request | None
    ) -> None:
        """Remove a page with all its versions.

        Raises:
            PageNotFound: the page does not exist.
            VersionConflict: the page has another version than the expected one.
            InvalidArgument: the request does not name a page, or the version is negative.
            RequestIdReused: another request had the same request id.
        """
        name.check()
        _check_version("expected_version", expected_version or 0)

        async def work(transaction: Transaction) -> None:
            await self._rows.lock(transaction, principal.user_id)
            page = await self._rows.lock_newest(transaction, name, principal)
            if page is None:
                raise not_found()
            _check_expected(expected_version, page)
            await self._rows.delete(transaction, page, principal.user_id)

        scope_id = scope_of(principal.tenant_id, principal.user_id).id
        async with self._writer_locks.hold(scope_id):
            await self._database.of(principal).transaction(self._requests.once(request, work, about_id=scope_id))


def not_found() -> PageNotFound:
    """Return the error for a page that does not exist, belongs to another user, or lacks this version.

    It is the same error for all three, so that callers cannot find out about other users' pages.
    """
    return PageNotFound("the page, or this version of it, does not exist")


def _check_expected(expected_version: int | None, before: Newest | None) -> None:
    """Refuse a change if the page has another version than the caller expects.

    Raises:
        PageNotFound: a version is expected, but there is no page.
        VersionConflict: the page has another version.
    """
    if expected_version and before is None:
        raise not_found()
    version = before.version if before else 0
    if expected_version is not None and expected_version != version:
        raise VersionConflict(
            f"the page has version {version}, not the expected {expected_version}; read it again", version=version
        )


def _check_version(field: str, version: int) -> None:
    if not 0 <= version <= VERSION_MAX:
        raise InvalidArgument(f"{field} must be between 0 and {VERSION_MAX:,} (got {version:,})", field=field)


def _place(key: Sequence[object]) -> tuple[str, UUID]:
    """Return the slug and the page id that a page token holds.

    Raises:
        InvalidPageToken: the token holds something else.
    """
    slug, page_id = key
    try:
        if type(slug) is str and len(slug) <= SLUG_CHARS_MAX and "\0" not in slug and type(page_id) is str:
            return slug, UUID(page_id)
    except ValueError:
        pass
    raise InvalidPageToken("page_token is malformed", field="page_token")
