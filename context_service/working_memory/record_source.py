"""What records say, as a source of the index: the texts that are in it, each where its record stands now.

They are read but once, as those that contexts point at: what is compared with is what the index has. What no record of
the node has said is too much; of a record that lacks some, the number of its passages tells it.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from uuid import UUID

from context_service.retrieval.marks import marks_of
from context_service.retrieval.part_texts import RECORD
from context_service.retrieval.passages import Audience, Passage, Scope
from context_service.retrieval.pieces import NumberedPiece, Piece
from context_service.retrieval.sources import Origin, OwnedScope
from context_service.retrieval.terms import masks, terms_of
from context_service.working_memory.record_passages import NODE, passage, scope_of, take_turn
from service_runtime.postgres import Row, Tenant, Transaction

_RECORDS = 5  # of a page; each may have thousands of passages

_COUNT = """
SELECT count(DISTINCT entity_node_id) AS nodes FROM context.wm_record WHERE tenant_id = %s AND passage_count > 0
"""
_SCOPES = """
SELECT DISTINCT entity_node_id FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND entity_node_id > %(behind)s AND passage_count > 0
    AND (%(only)s::uuid IS NULL OR entity_node_id = %(only)s)
ORDER BY entity_node_id
LIMIT %(count)s
"""
_OWNED = """
SELECT DISTINCT entity_node_id FROM context.wm_record
WHERE tenant_id = %s AND entity_node_id = ANY (%s) AND passage_count > 0
"""
_PAGE = """
SELECT r.id, r.seq, r.created_at, r.graph_name, r.agent_bundle_id, r.app_id, p.ordinal, p.text
FROM (
    SELECT * FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND entity_node_id = %(node_id)s AND seq > %(behind)s AND passage_count > 0
    ORDER BY seq
    LIMIT %(count)s
) r
LEFT JOIN context.passage p
    ON p.tenant_id = r.tenant_id AND p.scope_id = r.entity_node_id AND p.scope_kind = %(scope_kind)s AND p.seq = r.seq
        AND p.source_id = r.id AND p.ordinal < r.passage_count
ORDER BY r.seq, p.ordinal
"""
_FIRST = UUID(int=0)


class RecordSource:
    """What the records of nodes say."""

    scope_kind = NODE
    kinds = frozenset({RECORD})
    says = False

    async def count(self, tenant: Tenant) -> int:
        """See `Source`."""
        (row,) = await tenant.query(_COUNT, (tenant.tenant_id,))
        return int(row.nodes)

    async def scopes(self, tenant: Tenant, *, behind: UUID, count: int) -> list[OwnedScope]:
        """See `Source`."""
        named = {"tenant_id": tenant.tenant_id, "behind": behind, "only": None, "count": count}
        return [_owned(row) for row in await tenant.query(_SCOPES, named)]

    async def scope(self, tenant: Tenant, scope_id: UUID) -> OwnedScope | None:
        """See `Source`."""
        named = {"tenant_id": tenant.tenant_id, "behind": _FIRST, "only": scope_id, "count": 1}
        return next((_owned(row) for row in await tenant.query(_SCOPES, named)), None)

    async def owned(self, tenant: Tenant, scope_ids: Collection[UUID]) -> set[UUID]:
        """See `Source`."""
        return {row.entity_node_id for row in await tenant.query(_OWNED, (tenant.tenant_id, list(scope_ids)))}

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """See `Source`."""
        await take_turn(transaction, scope.id)

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`; a node is never gone: one without records has none."""
        named = {"tenant_id": transaction.tenant_id, "node_id": scope.id, "scope_kind": scope.kind}
        rows = await transaction.query(_PAGE, {**named, "behind": behind, "count": _RECORDS})
        return [
            Origin(seq=seq, audience=_audience(first), passages=passages)
            for seq, of_one in groupby(rows, key=lambda row: row.seq)
            for first, passages in [_of_record(scope, list(of_one))]
        ]


def _owned(row: Row) -> OwnedScope:
    return OwnedScope(scope=scope_of(row.entity_node_id), owner_user_id="")


def _audience(row: Row) -> Audience:
    return Audience(graph_name=row.graph_name, agent_bundle_id=row.agent_bundle_id, app_id=row.app_id)


def _of_record(scope: Scope, rows: list[Row]) -> tuple[Row, list[Passage]]:
    return rows[0], [_passage(scope, row) for row in rows if row.ordinal is not None]


def _passage(scope: Scope, row: Row) -> Passage:
    terms = tuple(terms_of(row.text))
    piece = NumberedPiece(Piece(row.text, terms, marks_of(row.text)), masks(scope.id, terms))
    return passage(piece, row, row.id, ordinal=row.ordinal)
