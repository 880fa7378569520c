"""Find memories for a question, ranked as recall ranks passages, or summarize them in one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from uuid import UUID

from context_service.memories.model import (
    LIMIT_MAX,
    Memory,
    MemoryFilter,
    MemoryQuery,
    RecalledMemories,
    ReflectedMemories,
)
from context_service.memories.pure.checks import check_filter, check_question
from context_service.memories.pure.reflection import reflected
from context_service.memories.store.memories import MemoryRows, scope_of
from context_service.retrieval.pure.calibration import relevant_count
from context_service.retrieval.pure.ranking import RANKED_MAX, Ranked
from context_service.retrieval.pure.rows import Row
from context_service.retrieval.room import Meaning, Passages, best
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_between

SENTENCES_DEFAULT, SENTENCES_MAX = 3, 20
STATEMENT_TOKENS_DEFAULT, STATEMENT_TOKENS_MAX = 400, 4_000
_REFLECTED_ON = 40  # the most memories that one statement summarizes
_SUCCESSORS_MAX = 8  # the longest chain of superseded memories that is followed to the one that holds
_SEARCHED = 4  # searching a text for words of a question takes this many times as long as parsing it


class MemoryRecalling:
    """Finds memories; each call acts for its principal, which has a user.

    Args:
        database: The database that holds the memories.
        rows: The store of memories.
        passages: The store of passages, which indexes the memories.
        meaning: Compares texts by their embeddings, or None to search by words only.
        count: Counts the tokens of a text.
    """

    def __init__(
        self,
        database: Database,
        rows: MemoryRows,
        passages: Passages,
        *,
        meaning: Meaning | None,
        count: Callable[[str], int],
    ) -> None:
        self._database = database
        self._rows = rows
        self._passages = passages
        self._meaning = meaning
        self._count = count

    async def recall(self, query: MemoryQuery, *, principal: Principal) -> RecalledMemories:
        """Return the memories that answer a question, best first.

        Raises:
            InvalidArgument: the question is blank, or the limit, the filter or the least score is not valid.
            LimitExceeded: the question or the key of the filter is too long.
        """
        check_question(query.query, limit=query.limit, limit_max=LIMIT_MAX)
        check_between("score_min", query.score_min, 0, 1)
        check_filter(query.which)
        return await self._matches(query, limit=query.limit, principal=principal)

    async def reflect(
        self, query: MemoryQuery, *, principal: Principal, tokens_max: int = STATEMENT_TOKENS_DEFAULT
    ) -> ReflectedMemories:
        """Answer a question with up to `limit` sentences of memories, the most relevant first; raises as `recall`.

        Superseded memories are left out, unless the filter asks for what held at a time.
        """
        check_question(query.query, limit=query.limit, limit_max=SENTENCES_MAX)
        check_between("tokens_max", tokens_max, 1, STATEMENT_TOKENS_MAX)
        check_filter(query.which)
        found = await self._matches(query, limit=_REFLECTED_ON, principal=principal)
        size = sum(len(memory.text) for memory, _ in found.memories)
        statement, rests_on = await beside_the_loop(
            _SEARCHED * size,
            reflected,
            query.query,
            [memory for memory, _ in found.memories if query.which.as_of or memory.superseded_by is None],
            by_meaning=found.by_meaning,
            limit=query.limit,
            tokens_max=tokens_max,
            count=self._count,
            earlier=_earlier([memory for memory, _ in found.memories]),
        )
        return ReflectedMemories(
            statement=statement,
            memories=rests_on,
            superseded_ids=[memory.memory_id for memory, _ in found.memories if memory.superseded_by],
            recalled=found,
        )

    async def read(self, memory_ids: Sequence[UUID], *, principal: Principal) -> dict[UUID, Memory]:
        """Return memories of the user by their ids; those that the caller may not see are left out."""
        principal = principal.without_admin()
        return await self._rows.read(self._database.of(principal), principal.user_id, memory_ids)

    async def _matches(self, query: MemoryQuery, *, limit: int, principal: Principal) -> RecalledMemories:
        """Find memories by words and embeddings, and return the best `limit` of them.

        A current memory comes before those that it supersedes.

        Args:
            query: The question, with its filter.
            limit: The largest number of memories to return.
            principal: The caller, whose user's memories are searched.
        """
        principal = principal.without_admin()
        scope = scope_of(principal.tenant_id, principal.user_id)
        kinds = frozenset(kind.value for kind in query.which.kinds)
        # A passage does not show the key, the successor, the validity and the labels of its memory.
        tenant, which = self._database.of(principal), query.which
        among = await self._rows.seqs(tenant, principal.user_id, which) if which.reads_rows else None
        matches = await best(
            self._passages,
            self._meaning,
            scope,
            query.query,
            wanted=lambda row: (among is None or row.seq in among) and _admits(which, kinds, row),
            limit=RANKED_MAX,
            principal=principal,
        )
        by_seq: dict[int, Ranked] = {}
        scores = [ranked.score for ranked in matches.ranked]
        count = relevant_count(scores, query.score_min, by_meaning=matches.by_meaning)
        for ranked in matches.ranked[:count]:  # best first, so a long memory is represented by its best passage
            by_seq.setdefault(ranked.row.seq, ranked)
        by_seq = dict(islice(by_seq.items(), limit))
        there = await self._rows.at(tenant, principal.user_id, list(by_seq)) if by_seq else {}
        # A memory may be forgotten between the statements.
        memories = [(there[seq], ranked.score) for seq, ranked in by_seq.items() if seq in there]
        if which.selects_all:
            memories += await self._holding(memories, principal=principal)
        return RecalledMemories(
            memories=_holding_first(memories)[:limit],
            by_meaning=matches.by_meaning,
            error=matches.error,
            cosines=dict.fromkeys((memory.memory_id for memory, _ in memories), None)
            | {there[seq].memory_id: ranked.cosine for seq, ranked in by_seq.items() if seq in there},
        )

    async def _holding(
        self, scored_memories: Sequence[tuple[Memory, float]], *, principal: Principal
    ) -> list[tuple[Memory, float]]:
        """Return the memories that hold instead of superseded ones, each with the score of the one that was found.

        "Where do I live?" has a word of "I live in Bergen", and none of "I moved to Oslo", which superseded it.
        """
        known = {memory.memory_id for memory, _ in scored_memories}
        sought = {
            memory.superseded_by: score
            for memory, score in reversed(scored_memories)  # so that the best score remains
            if memory.superseded_by and memory.superseded_by not in known
        }
        holding: list[tuple[Memory, float]] = []
        for _ in range(_SUCCESSORS_MAX):
            if not sought:
                break
            read = await self.read(list(sought), principal=principal)
            found = [(memory, sought[memory_id]) for memory_id, memory in read.items()]
            known |= read.keys()
            holding += [(memory, score) for memory, score in found if memory.superseded_by is None]
            sought = {
                memory.superseded_by: score
                for memory, score in found
                if memory.superseded_by and memory.superseded_by not in known
            }
        return holding


def _admits(which: MemoryFilter, kinds: frozenset[str], row: Row) -> bool:
    return (not kinds or row.kind in kinds) and row.is_said_within(which.happened_from, which.happened_to)


def _holding_first(scored_memories: Sequence[tuple[Memory, float]]) -> list[tuple[Memory, float]]:
    """Return memories in their order, except that a current memory comes before those that it supersedes."""
    holding = {
        _key_of(scored[0]): scored
        for scored in scored_memories
        if scored[0].subject and scored[0].superseded_by is None
    }
    ordered: dict[UUID, tuple[Memory, float]] = {}
    for scored in scored_memories:
        first = holding.get(_key_of(scored[0]), scored)
        ordered.setdefault(first[0].memory_id, first)
        ordered.setdefault(scored[0].memory_id, scored)
    return list(ordered.values())


def _earlier(memories: Sequence[Memory]) -> dict[UUID, list[Memory]]:
    """Return, by the id of a memory that holds, the superseded ones that it holds instead of."""
    holding = {_key_of(memory): memory.memory_id for memory in memories if memory.subject and not memory.superseded_by}
    earlier: dict[UUID, list[Memory]] = {}
    for memory in memories:
        if memory.superseded_by and (memory_id := holding.get(_key_of(memory))):
            earlier.setdefault(memory_id, []).append(memory)
    return earlier


def _key_of(memory: Memory) -> tuple[str, str, str]:
    return memory.app_id, memory.agent_bundle_id, memory.subject
