"""Wiki pages as a source of the index: what the newest version of each says."""

from __future__ import annotations

from context_service.knowledge import page_rows
from context_service.knowledge.page_rows import KIND, cut_of, passage
from context_service.knowledge.sections import sections
from context_service.knowledge.users_source import UsersSource, statements
from context_service.retrieval.passages import WIKI, Audience, Scope
from context_service.retrieval.sources import Origin
from service_runtime.postgres import Row, Transaction

_PAGES = 5  # each of which may say a mebibyte

_PAGE = """
SELECT p.page_id, p.owner_user_id, p.app_id, p.agent_bundle_id, v.seq, v.created_at, v.title, v.aliases, v.markdown
FROM context.wiki_page p
    JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND v.seq > %(behind)s
ORDER BY v.seq
LIMIT %(count)s
"""


class PageSource(UsersSource):
    """What the pages of users are found by."""

    scope_kind = WIKI
    kinds = frozenset({KIND})
    _statements = statements("context.wiki_page", what="pages")

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """See `Source`."""
        await page_rows.lock(transaction, scope)

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`; a user without pages has none."""
        named = {"tenant_id": transaction.tenant_id, "scope_id": scope.id, "behind": behind, "count": _PAGES}
        return [self._origin(scope, row) for row in await transaction.query(_PAGE, named)]

    def _origin(self, scope: Scope, row: Row) -> Origin:
        found = cut_of(
            row.title, row.aliases, list(sections(row.markdown)), count=self._count_tokens, scope_id=scope.id
        )
        return Origin(
            seq=row.seq,
            audience=Audience(owner_user_id=row.owner_user_id, app_id=row.app_id, agent_bundle_id=row.agent_bundle_id),
            passages=[
                passage(one, row.page_id, ordinal=ordinal, seq=row.seq, said_at=row.created_at, numbers=numbers)
                for ordinal, (one, numbers) in enumerate(zip(found.pieces, found.numbers, strict=True))
            ],
        )
