"""The provider `workspace`: passages of the files and documents in working memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from uuid import UUID

import orjson

from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import Walk
from context_service.query.model import WORKSPACE, SearchRoots
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.working_memory.room import EDGE_TYPES, ENTITIES_MAX, FILES_COUNTED, RecordQuote, RecordQuotes
from contextkeep.errors import NodeNotFound
from service_runtime.rpc.principal import Principal

TRUST = 2
WHOLE_CHARS_MAX = 1024 * 1024  # the most characters of all records that one call expands


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """The nodes whose records are searched."""

    node_ids: Sequence[UUID] = ()  # empty searches the records of all nodes
    what: str  # the description for the status, such as "all records"
    left_out: str = ""  # which nodes are left out and why; empty if none is


class Workspace:
    """The provider that searches records: those of named nodes, else below the target, else all the caller may see.

    Args:
        records: Finds passages of records.
        graph: Walks the entity graph to the nodes below a node.
        depth_max: How many levels below a node are searched.
    """

    info = ProviderInfo(id=WORKSPACE, family=WORKSPACE, display_name="Workspace files", filters_metadata=True)

    def __init__(self, records: RecordQuotes, graph: EntityGraph, *, depth_max: int) -> None:
        self._records = records
        self._graph = graph
        self._depth_max = depth_max

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of records."""
        principal = principal.without_admin()
        if request.scopes == {QueryScope.PERSONAL} and not principal.user_id:
            return Answered(state=State.SKIPPED, reason="the key has no user, who could own something")
        where = await self._where(request)
        if isinstance(where, Answered):
            return where
        deep: list[RecordQuote] = []
        if where.node_ids and not request.metadata:  # passages do not know the metadata of their records
            deep = await self._records.in_passages(
                request.query, where.node_ids, limit=request.limit, principal=principal
            )
        results = await self._records.in_columns(
            request.query,
            where.node_ids,
            where_json=_where_json(request, principal),
            limit=request.limit,
            principal=principal,
            without={quote.record_id for quote in deep},
        )
        if where.node_ids:
            # Scores of passages and of columns cannot be compared, so the two lists are interleaved by rank.
            results = [quote for pair in zip_longest(deep, results) for quote in pair if quote is not None]
        hits = [_hit(quote, principal) for quote in results]
        hits = [hit for hit in hits if hit.scope in request.scopes][: request.limit]
        files = await self._records.count(where.node_ids, principal=principal)
        return Answered(
            hits=hits,
            state=State.STALE if where.left_out else State.OK,
            reason=where.left_out,
            target=f"{where.what}: {_files(files)}",
            mode="words",
        )

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the records that hits were taken from; for an agent's query, only records below its target."""
        principal = principal.without_admin()
        there = None
        if request.agent_id:
            there = set((await self.below(request.target))[0]) if request.target else set()
        left_chars = WHOLE_CHARS_MAX
        expanded = []
        for source_id in source_ids:
            record_id = _record_id(source_id)
            record = record_id and await self._records.whole(record_id, chars_max=left_chars, principal=principal)
            if not record or (there is not None and record.entity_node_id not in there):
                continue
            left_chars -= len(record.text)
            expanded.append(
                Expanded(
                    source_id=source_id,
                    text=record.text,
                    title=record.name,
                    scope=_scope(record.owner_user_id, principal),
                    as_of=record.updated_at,
                    is_cut=record.is_cut,
                )
            )
        return expanded

    async def _where(self, request: ProviderQuery) -> _Where | Answered:
        """Return the nodes to search, or the answer that says why nothing is searched.

        A query of an agent may search only below the agent's target: other nodes that it names are left out.
        """
        if request.node_ids and not request.agent_id:
            return _Where(node_ids=request.node_ids, what=f"records of {_nodes(len(request.node_ids))}")
        if request.target is None:
            return _Where(what="all records")
        if not request.target.node_ids:
            reason = f"no node is attached to agent {request.agent_id}, to its template or to the tenant"
            return Answered(state=State.SKIPPED, reason=reason)
        below, is_whole = await self.below(request.target)
        whose = request.target.whose
        if request.node_ids:
            there = set(below)
            named = [node_id for node_id in request.node_ids if node_id in there]
            others = [str(node_id) for node_id in request.node_ids if node_id not in there]
            left_out = f"not below the nodes of {whose}: {', '.join(others)}" if others else ""
            if not named:
                return Answered(state=State.SKIPPED, reason=left_out)
            return _Where(node_ids=named, what=f"{whose}, records of {_nodes(len(named))}", left_out=left_out)
        return _Where(
            node_ids=below,
            what=f"{whose}, records of {_nodes(len(below))}",
            left_out="" if is_whole else f"only the first {len(below)} nodes of {whose} are searched",
        )

    async def below(self, target: SearchRoots) -> tuple[list[UUID], bool]:
        """Return a target's nodes and the nodes below them that the caller sees, and whether these are all."""
        below: dict[UUID, None] = dict.fromkeys(target.node_ids)  # a record may be written before its node
        for node_id in target.node_ids:
            walk = Walk(
                node_id=str(node_id),
                edge_types=EDGE_TYPES,
                direction="out",
                depth_max=self._depth_max,
                entity_types=(),
                include_start=False,
                include_archived=True,  # otherwise nodes below an archived node would not be found
                fields=frozenset(),
                with_edges=False,
            )
            try:
                async for page in self._graph.walk(walk, limit=ENTITIES_MAX):
                    below |= dict.fromkeys(UUID(node.node_id) for node in page.nodes)
                    if page.next_page_token or len(below) > ENTITIES_MAX:
                        return list(below)[:ENTITIES_MAX], False
            except NodeNotFound:
                continue  # the node does not exist, or the caller may not see it; its records are checked anyway
        return list(below), True


def _nodes(count: int) -> str:
    return "a node" if count == 1 else f"{count} nodes"


def _files(count: int) -> str:
    if count > FILES_COUNTED:
        return f"more than {FILES_COUNTED:,} files"
    return "1 file" if count == 1 else f"{count:,} files"


def _where_json(request: ProviderQuery, principal: Principal) -> str:
    """Return the condition on records that follows from the times and scopes of a query; empty if there is none."""
    conditions: list[dict[str, object]] = []
    if request.time_from:
        conditions.append({"updated_at": {"$gte": request.time_from.isoformat()}})
    if request.time_to:
        conditions.append({"updated_at": {"$lt": request.time_to.isoformat()}})
    if request.scopes == {QueryScope.PERSONAL}:
        conditions.append({"owner_user_id": principal.user_id})
    elif request.scopes == {QueryScope.TEAM} and principal.user_id:
        conditions.append({"owner_user_id": {"$ne": principal.user_id}})
    conditions += [{f"metadata.{name}": value} for name, value in request.metadata.items()]
    return orjson.dumps({"$and": conditions}).decode() if conditions else ""


def _hit(hit: RecordQuote, principal: Principal) -> Hit:
    """Return a passage of a record as a hit, with the record's node and types in the metadata."""
    return Hit(
        source_id=f"{hit.record_id}.{hit.ordinal}" if hit.ordinal >= 0 else str(hit.record_id),
        title=hit.name,
        snippet=hit.text,
        scope=_scope(hit.owner_user_id, principal),
        score=hit.score,
        label=hit.name,
        uri=f"wm://{hit.record_id}",
        metadata={
            "working_memory_id": str(hit.record_id),
            "entity_node_id": str(hit.entity_node_id or ""),
            "memory_type": hit.memory_type,
            "content_type": hit.content_type,
        },
        as_of=hit.updated_at,
    )


def _scope(owner_user_id: str, principal: Principal) -> QueryScope:
    return QueryScope.PERSONAL if owner_user_id and owner_user_id == principal.user_id else QueryScope.TEAM


def _record_id(source_id: str) -> UUID | None:
    """Return the id of the record of a hit, or None for an id of another form."""
    name, _, ordinal = source_id.partition(".")
    if ordinal and not ordinal.isdecimal():
        return None
    try:
        record_id = UUID(name)
    except ValueError:
        return None
    return record_id if str(record_id) == name else None
