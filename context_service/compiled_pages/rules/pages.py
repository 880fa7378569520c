"""The rules of compiled pages: reading them, and adding facets. A caller sees a page if it may see the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context_service.compiled_pages.model import PUT_MAX, FacetInput, KeptFacet, KeptPage
from context_service.compiled_pages.pure.definition import NAME_CHARS_MAX
from context_service.compiled_pages.store.pages import CompiledRows
from contextkeep.errors import CompiledPageNotFound, InvalidPageToken
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_stored, check_text


class CompiledPages:
    """Reads compiled pages, and adds facets to them; each call acts for its principal.

    Args:
        database: The database that holds the compiled pages.
        rows: The SQL statements on compiled pages.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
    """

    def __init__(self, database: Database, rows: CompiledRows, *, requests: Requests) -> None:
        self._database = database
        self._rows = rows
        self._requests = requests

    async def read(self, page_id: UUID, *, principal: Principal) -> KeptPage:
        """Return a page with the facets that the principal may see.

        Raises:
            CompiledPageNotFound: it sees no such page.
        """
        page = await self._rows.read(self._database.of(principal), page_id)
        if page is None:
            raise _not_found()
        return page

    async def page(
        self, page: pages.PageRequest, *, definition_name: str, node_id: UUID | None, principal: Principal
    ) -> tuple[list[KeptPage], str]:
        """Return a page of the pages that the principal sees, without facets, and the token of the next one.

        Raises:
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another list.
            LimitExceeded: the name of the definition is too long.
        """
        check_text("definition_name", definition_name, chars_max=NAME_CHARS_MAX)
        query = ("ListCompiledPages", principal.tenant_id, definition_name, str(node_id or ""))
        key = pages.decode_token(query, page.token, parts=2)
        count = pages.page_size(page.size)
        rows = await self._rows.page(
            principal,
            definition_name=definition_name,
            node_id=node_id,
            after=_place(key) if key else None,
            count=count + 1,
        )
        return pages.cut(query, rows, count, key=lambda page: (page.definition_name, page.page_id))

    async def put_facet(
        self, page_id: UUID, facet_input: FacetInput, *, principal: Principal, request: Request | None
    ) -> KeptFacet | None:
        """Add a facet to a page, and return it, or None if it was deleted.

        Raises:
            CompiledPageNotFound: the principal sees no such page.
            InvalidArgument: a field of the facet is malformed.
            LimitExceeded: a field is too long, or the page has too many facets that callers added.
            RequestIdReused: another request had the same request id.
        """
        facet_input.check()

        async def work(transaction: Transaction) -> KeptFacet | None:
            """Lock the page, add or delete the facet, and return it as it is stored; None if it was deleted."""
            page = await self._rows.lock(transaction, page_id)
            if page is None:
                raise _not_found()
            check_stored("facets", await self._rows.put(transaction, page, facet_input, by=principal.subject), PUT_MAX)
            row = await self._rows.read(transaction, page_id)
            facets = row.facets if row else ()
            return next(
                (facet for facet in facets if facet.compile_id is None and facet.slug == facet_input.slug), None
            )

        return await self._database.of(principal).transaction(self._requests.once(request, work))


def _not_found() -> CompiledPageNotFound:
    return CompiledPageNotFound("the compiled page does not exist")


def _place(key: Sequence[Any]) -> tuple[str, UUID]:
    """Return the name and the page id that a page token holds.

    Raises:
        InvalidPageToken: the token holds something else.
    """
    name, page_id = key
    try:
        if type(name) is str and len(name) <= NAME_CHARS_MAX and "\0" not in name and type(page_id) is str:
            return name, UUID(page_id)
    except ValueError:
        pass
    raise InvalidPageToken("page_token is malformed", field="page_token")
