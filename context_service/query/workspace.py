"""The provider `workspace`: what the files and documents of working memory say."""

from __future__ import annotations

from itertools import zip_longest

import orjson

from context_service.query.providers import Answered, Asked, Hit, ProviderInfo, Scope, State
from context_service.working_memory.asked import NODES_MAX, AskedRecords, SaidByRecord
from service_runtime.auth import Principal

WORKSPACE = "workspace"
TRUST = 2

__all__ = ["NODES_MAX", "TRUST", "WORKSPACE", "Workspace"]


class Workspace:
    """Searches the records of nodes that are named, else all that the caller sees.

    Args:
        records: Finds them.
    """

    info = ProviderInfo(id=WORKSPACE, family=WORKSPACE, display_name="Workspace files")

    def __init__(self, records: AskedRecords) -> None:
        self._records = records

    async def search(self, asked: Asked, principal: Principal) -> Answered:
        """Return passages of records."""
        principal = principal.without_admin()
        if asked.scopes == {Scope.PERSONAL} and not principal.user_id:
            return Answered(state=State.SKIPPED, reason="the key has no user, who could own something")
        found = await self._records.in_columns(
            asked.query,
            asked.node_ids,
            where_json=_where_json(asked, principal),
            limit=asked.limit,
            principal=principal,
        )
        target = "all records"
        if asked.node_ids:
            deep = await self._records.in_passages(asked.query, asked.node_ids, limit=asked.limit, principal=principal)
            there = {one.record_id for one in deep}
            others = [one for one in found if one.record_id not in there]
            # Their ranks do not compare: each second one is of the other kind, until there are enough.
            found = [one for pair in zip_longest(deep, others) for one in pair if one is not None]
            target = f"records of {len(asked.node_ids)} nodes" if len(asked.node_ids) > 1 else "records of a node"
        hits = [_hit(one, principal) for one in found]
        hits = [one for one in hits if one.scope in asked.scopes][: asked.limit]
        return Answered(hits=hits, target=target, mode="words")


def _where_json(asked: Asked, principal: Principal) -> str:
    conditions: list[dict[str, object]] = []
    if asked.time_from:
        conditions.append({"updated_at": {"$gte": asked.time_from.isoformat()}})
    if asked.time_to:
        conditions.append({"updated_at": {"$lt": asked.time_to.isoformat()}})
    if asked.scopes == {Scope.PERSONAL}:
        conditions.append({"owner_user_id": principal.user_id})
    elif asked.scopes == {Scope.TEAM} and principal.user_id:
        conditions.append({"owner_user_id": {"$ne": principal.user_id}})
    return orjson.dumps({"$and": conditions}).decode() if conditions else ""


def _hit(one: SaidByRecord, principal: Principal) -> Hit:
    is_own = bool(one.owner_user_id) and one.owner_user_id == principal.user_id
    return Hit(
        source_id=f"{one.record_id}.{one.ordinal}" if one.ordinal >= 0 else str(one.record_id),
        title=one.name,
        snippet=one.text,
        scope=Scope.PERSONAL if is_own else Scope.TEAM,
        score=one.score,
        label=one.name,
        uri=f"wm://{one.record_id}",
        metadata={
            "working_memory_id": str(one.record_id),
            "entity_node_id": str(one.entity_node_id or ""),
            "memory_type": one.memory_type,
            "content_type": one.content_type,
        },
        as_of=one.updated_at,
    )
