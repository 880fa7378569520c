"""Vectors for passages that have none of the embedder's model: from before there was one, or of another model.

Scope by scope they are owed as a write owes them, and the services make them. Only a few scopes are owed at a time, so
that what is written meanwhile waits behind few. Breaking off loses nothing, and starting again finds what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from context_service.retrieval.model import Backfilled
from context_service.retrieval.store.vector_outbox import IS_OWED, OF_PASSAGES, TOGETHER, owing_topic
from service_runtime.outbox import Outbox
from service_runtime.postgres import Across, Database, Tenant

BATCH = 100  # scopes that are looked at in one statement
WAITING_MAX = 8  # scopes of a tenant that are owed; more when the services have come so far
POLL_S = 0.5

_FIRST_ID = UUID(int=0)
_WHY = "an operator has vectors made anew, whoever wrote what they are of"

# What is owed already is left out.
_LACKING = Across(
    sql=f"""
        SELECT s.scope_id, l.passages, l.owed
        FROM (
            SELECT DISTINCT scope_id FROM context.passage_scope
            WHERE tenant_id = %(tenant_id)s AND scope_kind = %(scope_kind)s AND scope_id > %(behind)s
            ORDER BY scope_id
            LIMIT %(count_max)s
        ) s
        LEFT JOIN context.outbox o
            ON o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = s.scope_id
        CROSS JOIN LATERAL (
            SELECT count(*) AS passages, ({OF_PASSAGES})::text AS owed
            FROM context.passage p
            WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = s.scope_id AND p.scope_kind = %(scope_kind)s
                AND NOT ({IS_OWED})
                AND NOT EXISTS (
                    SELECT FROM context.passage_vector v
                    WHERE v.tenant_id = %(tenant_id)s AND v.scope_id = s.scope_id AND v.scope_kind = %(scope_kind)s
                        AND v.seq = p.seq AND v.ordinal = p.ordinal AND v.model = %(model)s
                )
        ) l
        ORDER BY s.scope_id
    """,  # noqa: S608 - constants
    contexts=True,
    subjects=True,
    why=_WHY,
)
# Unless it was deleted since.
_OWE = Across(
    sql=f"""
        INSERT INTO context.outbox AS o (tenant_id, id, topic, subject_id, payload)
        SELECT %(tenant_id)s, gen_random_uuid(), %(topic)s, %(scope_id)s, %(owed)s::jsonb
        WHERE EXISTS (
            SELECT FROM context.passage_scope
            WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
        )
        ON CONFLICT (tenant_id, topic, subject_id) DO UPDATE SET id = excluded.id, payload = {TOGETHER}
    """,  # noqa: S608
    contexts=True,
    subjects=True,
    why=_WHY,
)


class PassageBackfill:
    """Owes vectors of the scopes of one kind, of all tenants.

    Args:
        database: Where passages and outbox are.
        kind: Of the scopes.
        model: The embedder's. Vectors that another one made are made again.
    """

    def __init__(self, database: Database, kind: str, *, model: str) -> None:
        self._database = database
        self._outbox = Outbox("context", owing_topic(kind))
        self._parameters = {"scope_kind": kind, "topic": owing_topic(kind), "model": model}

    async def run(self, *, dry_run: bool, on_progress: Callable[[Backfilled], None]) -> Backfilled:
        """Owe every vector that is lacking; returns when the last is owed.

        Args:
            dry_run: Only count.
            on_progress: Told after each scope.

        Raises:
            Unavailable: Postgres does not answer.
        """
        tenants = await self._database.tenants(reachable=True)
        lacking = [(tenant, *scope) for tenant in tenants for scope in await self._lacking(tenant)]
        to_do = sum(passages for _, _, passages, _ in lacking)
        done = Backfilled(to_do=to_do, databases_away=self._database.away)
        if dry_run:
            return done
        for tenant, scope_id, passages, owed in lacking:
            on_progress(done)
            named = {**self._parameters, "scope_id": scope_id, "owed": owed}
            await self._outbox.wait_for_room(tenant, due_max=WAITING_MAX, poll_s=POLL_S)
            await tenant.query(_OWE, named)
            done = replace(done, owed=done.owed + passages)
        on_progress(done)
        return done

    async def _lacking(self, tenant: Tenant) -> list[tuple[UUID, int, str]]:
        """Return the scopes of a tenant that lack vectors: how many, and where (`owed_vectors`)."""
        found: list[tuple[UUID, int, str]] = []
        behind = _FIRST_ID
        while rows := await tenant.query(_LACKING, {**self._parameters, "behind": behind, "count_max": BATCH}):
            found += [(row.scope_id, row.passages, row.owed) for row in rows if row.passages]
            behind = rows[-1].scope_id
        return found
