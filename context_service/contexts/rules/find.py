"""Search over all conversations that a caller may find, with the best passages of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from uuid import UUID

from context_service.contexts.model import Artifact, Context, ContextFilter
from context_service.contexts.pure.checks import MessageChecks
from context_service.contexts.pure.refs import ref_of
from context_service.contexts.rules.messages import place_of_token
from context_service.contexts.rules.recall import ByMeaning, Filter, RecalledItem, check_profile, item_of
from context_service.contexts.store.artifacts import ArtifactRows
from context_service.contexts.store.findable import Candidate, FindableContexts
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.calibration import relevant_count
from context_service.retrieval.pure.ranking import Ranked
from context_service.retrieval.pure.restatements import (
    NEWEST_AMONG,
    READING,
    Place,
    newest_first,
    replaced,
    said_of,
    spoken,
)
from context_service.retrieval.pure.rows import Row
from context_service.retrieval.room import (
    CONTEXTS_MAX,
    AcrossContexts,
    Meaning,
    SearchedContexts,
    best_across,
    few_of_each,
)
from contextkeep.errors import InvalidArgument
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_at_most, check_between

LIMIT_DEFAULT, LIMIT_MAX = 10, 100  # contexts of an answer
PASSAGES_DEFAULT, PASSAGES_MAX = 3, 20  # passages of each
_RANKED_MAX = 400  # passages that are ranked, before they are grouped by context


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextsQuery:
    """A question to all findable contexts."""

    text: str
    limit: int = LIMIT_DEFAULT
    passages_max: int = PASSAGES_DEFAULT
    profile: str = ""  # empty chooses one by who speaks
    contexts: ContextFilter = ContextFilter()
    passages: Filter = Filter()
    cursor: str = ""
    score_min: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContext:
    """A context, and its passages that answer the question, the best first."""

    context: Context
    score: float  # of its best passage
    passages: Sequence[RecalledItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContexts:
    """The contexts that answer a question, the best first."""

    contexts: Sequence[FoundContext]
    searched_count: int
    meaning: ByMeaning
    next_cursor: str


class ContextsFinding:
    """Searches all contexts that a principal may find; each call acts for its principal.

    A principal with a user finds the contexts of this user, another one those that have no owner. Row-level security
    holds this and the bounds of the key: the key of a context finds that context and its forks.

    Args:
        findable: The contexts that may be found.
        across: The passages of several contexts.
        artifacts: The artifacts of their tasks.
        tokens: Counts the tokens of passages.
        checks: Checks the filter.
        meaning: Compares texts by their vectors; None compares words only.
    """

    def __init__(
        self,
        findable: FindableContexts,
        across: AcrossContexts,
        artifacts: ArtifactRows,
        tokens: TokenCounter,
        *,
        checks: MessageChecks,
        meaning: Meaning | None,
    ) -> None:
        self._findable = findable
        self._across = across
        self._artifacts = artifacts
        self._tokens = tokens
        self._checks = checks
        self._meaning = meaning

    async def find(self, query: ContextsQuery, *, principal: Principal) -> FoundContexts:
        """Return the contexts that answer a question, of the newest `CONTEXTS_MAX` that pass the filter.

        Raises:
            InvalidArgument: a field of the request is malformed or out of range.
            InvalidPageToken: the cursor is malformed, or belongs to another query.
            LimitExceeded: a field of the request is too large.
        """
        principal = principal.without_admin()
        self._check(query)
        if query.profile:
            check_profile(query.profile)
        which = replace(query.contexts, owner_user_id=principal.user_id)
        binding = (
            "SearchContexts",
            principal.tenant_id,
            query.text,
            *(str(getattr(part, field.name)) for part in (which, query.passages) for field in fields(part)),
        )
        after = place_of_token(pages.decode_token(binding, query.cursor, parts=2, field="cursor"), field="cursor")
        candidates = await self._findable.candidates(which, after=after, count=CONTEXTS_MAX + 1, principal=principal)
        next_cursor = ""
        if len(candidates) > CONTEXTS_MAX:
            candidates = candidates[:CONTEXTS_MAX]
            next_cursor = pages.encode_token(binding, (candidates[-1].created_at, candidates[-1].context_id))
        question = AnalyzedQuery.of(query.text)
        searched = _searched(candidates, question)
        best = await best_across(
            self._across,
            self._meaning,
            searched,
            question,
            wanted=query.passages.admits,
            limit=_RANKED_MAX,
            principal=principal,
            profile_name=query.profile,
        )
        ranked, replaced_by, texts = await self._newest_first(best.ranked, searched, principal)
        count = relevant_count([item.score for item in ranked], query.score_min, by_meaning=best.by_meaning)
        chosen = _grouped(ranked[:count], searched, limit=query.limit, passages_max=query.passages_max)
        return FoundContexts(
            contexts=await self._contexts(chosen, searched, replaced_by, texts, principal),
            searched_count=len(candidates),
            meaning=ByMeaning(is_compared=best.by_meaning, error=best.error, pending=0),
            next_cursor=next_cursor,
        )

    def _check(self, query: ContextsQuery) -> None:
        """Check a query; raises as `find`."""
        if not query.text.strip():
            raise InvalidArgument("query must not be empty", field="query")
        for name, value, most in (
            ("limit", query.limit, LIMIT_MAX),
            ("passages_max", query.passages_max, PASSAGES_MAX),
        ):
            if value <= 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {value})", field=name)
            check_at_most(name, value, most)
        check_between("score_min", query.score_min, 0, 1)
        self._checks.check_filter(query.contexts)

    async def _newest_first(
        self, ranked: Sequence[Ranked], searched: SearchedContexts, principal: Principal
    ) -> tuple[list[Ranked], Mapping[Place, Place], Mapping[Place, str]]:
        """Return ranked passages with newer statements before those that they replace.

        Only statements of one context are compared: another context may be about another person.

        Returns:
            The passages, the places of the newer ones by those that they replace, and the texts that were read.
        """
        of_context: dict[UUID, list[Row]] = {}
        for row in spoken(ranked[:NEWEST_AMONG]):
            of_context.setdefault(searched.context_and_seq(row.seq)[0], []).append(row)
        several = [rows for rows in of_context.values() if len(rows) > 1]
        places = [(row.seq, row.ordinal) for rows in several for row in rows]
        texts = await self._across.texts(searched, places, principal=principal)
        by: dict[Place, Place] = {}
        for rows in several:
            said = said_of(rows, texts)
            by |= await beside_the_loop(READING * sum(len(one.text) for one in said), replaced, said)
        return newest_first(ranked, by), by, texts

    async def _contexts(
        self,
        chosen: Mapping[UUID, Sequence[Ranked]],
        searched: SearchedContexts,
        replaced_by: Mapping[Place, Place],
        texts: Mapping[Place, str],
        principal: Principal,
    ) -> list[FoundContext]:
        """Return contexts with the texts of their passages; deleted contexts and retracted messages are left out."""
        if not chosen:
            return []
        headers = await self._findable.headers(chosen, principal=principal)
        rows = [item.row for items in chosen.values() for item in items]
        unread = [at for row in rows if (at := (row.seq, row.ordinal)) not in texts]
        if unread:
            texts = {**texts, **await self._across.texts(searched, unread, principal=principal)}
        originals = await self._originals([searched.context_and_seq(row.seq) for row in rows], principal)
        contexts = []
        for context_id, items in chosen.items():
            passages = []
            for item in items:
                place = searched.context_and_seq(item.row.seq)
                text = texts.get((item.row.seq, item.row.ordinal))
                if text is not None and place in originals:
                    row = item.row._replace(seq=place[1])
                    newer = replaced_by.get((item.row.seq, item.row.ordinal))
                    superseded_by = ref_of(searched.context_and_seq(newer[0])[1], newer[1]) if newer else ""
                    passages.append(
                        item_of(item._replace(row=row), text, originals[place], superseded_by=superseded_by)
                    )
            if passages and context_id in headers:
                contexts.append(FoundContext(context=headers[context_id], score=passages[0].score, passages=passages))
        counts = iter(await self._tokens.counts([item.text for of_one in contexts for item in of_one.passages]))
        return [
            replace(of_one, passages=[replace(item, tokens=next(counts)) for item in of_one.passages])
            for of_one in contexts
        ]

    async def _originals(
        self, places: Sequence[tuple[UUID, int]], principal: Principal
    ) -> dict[tuple[UUID, int], str | Artifact]:
        """Return the ids of messages, and the artifacts, at places; those that are gone are left out."""
        messages = list(dict.fromkeys(place for place in places if place[1] > 0))
        originals: dict[tuple[UUID, int], str | Artifact] = {}
        if messages:
            originals.update(await self._findable.message_ids(messages, principal=principal))
        of_artifacts: dict[UUID, list[int]] = {}
        for context_id, seq in dict.fromkeys(places):
            if seq < 0:
                of_artifacts.setdefault(context_id, []).append(seq)
        for context_id, seqs in of_artifacts.items():
            artifacts = await self._artifacts.at(context_id, seqs, principal=principal)
            originals.update({(context_id, seq): artifact for seq, artifact in artifacts.items()})
        return originals


def _searched(candidates: Sequence[Candidate], question: AnalyzedQuery) -> SearchedContexts:
    """Return the contexts that have passages, for a search."""
    with_passages = [candidate for candidate in candidates if candidate.totals.passages]
    return SearchedContexts(
        ids=[candidate.context_id for candidate in with_passages],
        totals=[candidate.totals for candidate in with_passages],
        terms=question.terms,
    )


def _grouped(
    ranked: Sequence[Ranked], searched: SearchedContexts, *, limit: int, passages_max: int
) -> dict[UUID, list[Ranked]]:
    """Return the best passages of the best contexts: `limit` contexts with `passages_max` each, best first."""
    groups: dict[UUID, list[Ranked]] = {}
    for item in few_of_each(
        ranked, lambda ranked_row: searched.context_and_seq(ranked_row.row.seq)[0], each_max=passages_max
    ):
        context_id, _ = searched.context_and_seq(item.row.seq)
        if context_id in groups or len(groups) < limit:
            groups.setdefault(context_id, []).append(item)
    return groups
