"""The provider `memory`: memories of the user, one by one, or as one statement that cites them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

import orjson

from context_service.memories.model import LIMIT_MAX, Memory, MemoryFilter, ReflectedMemories
from context_service.memories.model import MemoryQuery as MemoriesAsked
from context_service.memories.room import SENTENCES_DEFAULT, MemoryRecalling
from context_service.query.model import MEMORY, MemoryMode, with_words_only, without_user
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, QueryScope
from service_runtime.rpc.principal import Principal

TRUST = 3
_TARGET = "memories of the user"
_IDS_MAX = 20  # the metadata of a statement name at most this many of the memories that it rests on


class UserMemories:
    """The provider that searches the memories of the user for whom the call is made.

    Args:
        remembering: Finds memories that answer a question.
    """

    info = ProviderInfo(
        id=MEMORY,
        family=MEMORY,
        display_name="Memories",
        scopes=frozenset({QueryScope.PERSONAL}),
        filters_metadata=True,
    )

    def __init__(self, remembering: MemoryRecalling) -> None:
        self._remembering = remembering

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return memories or, in that mode, one statement made of them."""
        mode = request.memory_mode or MemoryMode.REFLECT
        if not principal.user_id:
            return without_user(_TARGET, mode=mode.name)
        which = MemoryFilter(
            happened_from=request.time_from,
            happened_to=request.time_to,
            metadata_contains_json=orjson.dumps(request.metadata).decode() if request.metadata else "",
        )
        if mode is MemoryMode.RECALL:
            of = MemoriesAsked(query=request.query, limit=min(request.limit, LIMIT_MAX), which=which)
            results = await self._remembering.recall(of, principal=principal)
            hits = [_memory_hit(memory, score, results.cosines[memory.memory_id]) for memory, score in results.memories]
            answer = Answered(hits=hits, target=_TARGET, mode=f"{mode.name} ({results.mode})")
            return with_words_only(answer, results.error)
        if request.is_second_pass:  # the statement is made already
            return Answered(target=_TARGET, mode=mode.name)
        of = MemoriesAsked(query=request.query, limit=SENTENCES_DEFAULT, which=which)
        reflected = await self._remembering.reflect(of, principal=principal)
        hits = [_statement_hit(reflected)] if reflected.memories else []
        answer = Answered(hits=hits, target=_TARGET, mode=f"{mode.name} ({reflected.recalled.mode})")
        return with_words_only(answer, reflected.recalled.error)

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the memories that hits show. A statement names the memories it rests on in its metadata."""
        if not principal.user_id:
            return []
        results = await self._remembering.read(
            [memory_id for memory_id in map(_memory_id, source_ids) if memory_id], principal=principal
        )
        return [
            Expanded(
                source_id=str(memory.memory_id),
                text=memory.text,
                title=_title(memory),
                scope=QueryScope.PERSONAL,
                as_of=memory.happened_at,
            )
            for memory in results.values()
        ]


def _memory_id(source_id: str) -> UUID | None:
    """Parse the id of a memory, or return None if it is malformed."""
    try:
        return UUID(source_id)
    except ValueError:
        return None


def _title(memory: Memory) -> str:
    return f"{memory.kind.value} {memory.key}".strip() + (" (superseded)" if memory.superseded_by else "")


def _memory_hit(memory: Memory, score: float, cosine: float | None) -> Hit:
    """Return a recalled memory as a hit, with its key and its confidence in the metadata."""
    return Hit(
        source_id=str(memory.memory_id),
        title=_title(memory),
        snippet=memory.text,
        scope=QueryScope.PERSONAL,
        score=score,
        label=memory.sources[0].label if memory.sources else "",
        uri=memory.sources[0].uri if memory.sources else "",
        superseded_by=str(memory.superseded_by or ""),
        metadata={
            "memory_id": str(memory.memory_id),
            "kind": memory.kind.value,
            "key": memory.key,
            "confidence": memory.confidence,
            "superseded_by": str(memory.superseded_by or ""),
            "contradicts": ",".join(map(str, memory.contradicts)),
        },
        as_of=memory.happened_at,
        cosine=cosine,
    )


def _statement_hit(reflected: ReflectedMemories) -> Hit:
    """Return a statement made of memories as one hit, whose metadata name the memories."""
    memories, cosines = reflected.memories, reflected.recalled.cosines
    ids = [str(memory.memory_id) for memory in memories]
    return Hit(
        source_id=f"reflection-{hashlib.sha256(','.join(ids).encode()).hexdigest()[:32]}",
        title=f"what {len(ids)} memories say" if len(ids) > 1 else "what a memory says",
        snippet=reflected.statement,
        scope=QueryScope.PERSONAL,
        metadata={"memory_ids": ",".join(ids[:_IDS_MAX]), "memory_count": len(ids)},
        as_of=max(memory.happened_at for memory in memories),
        # The statement is as similar to the query as the most similar of its memories.
        cosine=max((known for memory in memories if (known := cosines[memory.memory_id]) is not None), default=None),
    )
