"""Retrieval over a conversation in memory: the rows that `Passages.matching` reads, and their ranking."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import partial

from bench.quality.conversations import Ask, Conversation, Searcher
from context_service.retrieval.profiles import Profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.features import Candidates, feature
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.ranking import at_once, ranked
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching, Row, Totals
from context_service.retrieval.pure.terms import terms_of
from context_service.retrieval.store.passages import COMMON_SHARE, FOUND_MAX, READ_WHOLE, SEARCHED_MAX


class Index:
    """The passages of a conversation: a turn each.

    Args:
        conversation: The messages to search; each is a passage.
        read_whole: Larger conversations are not read whole; see `Passages`.
        common_share: Part of the turns. A term in more turns than this is too common to find passages by.
    """

    def __init__(
        self, conversation: Conversation, *, read_whole: int = READ_WHOLE, common_share: float = COMMON_SHARE
    ) -> None:
        """Work out the terms, lengths and places of all turns once, for all questions."""
        self._terms = [terms_of(turn.indexed) for turn in conversation.turns]
        self._seqs: dict[str, list[int]] = defaultdict(list)
        for seq, terms in enumerate(self._terms):
            for term in set(terms):
                self._seqs[term].append(seq)
        self._read_whole, self._common_share = read_whole, common_share
        lengths: Counter[int] = Counter()
        places: Counter[int] = Counter()
        last: dict[int, int] = defaultdict(int)
        rows = []
        before_all = after_all = 0
        for seq, (turn, terms) in enumerate(zip(conversation.turns, self._terms, strict=True)):
            is_said = turn.kind == "text"
            length_before = last[turn.session] if is_said else 0
            rows.append((seq, turn, places[turn.session] if is_said else None, len(terms), length_before))
            lengths[turn.session] += len(terms)
            before_all += length_before
            if is_said:
                after_all += len(terms) if places[turn.session] else 0
                places[turn.session] += 1
                last[turn.session] = len(terms)
        self._rows = [
            Row(
                seq=seq,
                ordinal=0,
                session=turn.session,
                place=place,
                length=length,
                length_before=length_before,
                session_length=lengths[turn.session],
                session_places=places[turn.session],
                marks=marks_of(turn.text),
                kind=turn.kind,
                role=turn.role,
                author=turn.author,
                task_id=None,
                said_at=turn.said_at,
                found=(),
            )
            for seq, turn, place, length, length_before in rows
        ]
        self._by_place = {(row.session, row.place): row.seq for row in self._rows if row.place is not None}
        self._totals = Totals(
            passages=len(self._rows),
            sessions=len(lengths),
            length=sum(lengths.values()),
            length_before=before_all,
            length_after=after_all,
            first_seq=0,
            last_seq=len(self._rows) - 1,
            authors=frozenset(turn.author for turn in conversation.turns if turn.author),
        )

    def matching(self, question: AnalyzedQuery) -> Matching:
        """Return the rows that a question is ranked by, as the service reads them."""
        numbers = {term: number for number, term in enumerate(question.terms[:ASKED_TERMS_MAX])}
        if not numbers:
            return Matching(totals=self._totals, rows=(), is_whole=False, estimated={})
        if len(self._rows) <= self._read_whole:
            rows = [self._row(seq, numbers) for seq in range(len(self._rows))]
            return Matching(totals=self._totals, rows=rows, is_whole=True, estimated={})
        often = {term: len(self._seqs.get(term, ())) for term in numbers}
        finding = self._finding(often)
        left_out = sorted(numbers.keys() - finding, key=often.__getitem__)
        seqs = self._having(finding)
        if not seqs and left_out:
            finding = {left_out.pop(0)}
            seqs = self._having(finding)
        wanted = SEARCHED_MAX if len(finding) > 1 or left_out else FOUND_MAX
        if max(often[term] for term in finding) ** 2 > wanted * len(self._rows):  # looked for from the end on
            seqs = set(heapq.nlargest(wanted, seqs))
        estimated = {*left_out, *(finding if len(seqs) >= FOUND_MAX else ())}
        best = self._best(seqs, often)
        beside = {other for seq in best for other in self._beside(seq, numbers)}
        return Matching(
            totals=self._totals,
            rows=[self._row(seq, numbers) for seq in sorted(best | beside)],
            is_whole=False,
            estimated={numbers[term]: float(often[term]) for term in estimated},
        )

    def _finding(self, often: Mapping[str, int]) -> set[str]:
        """Return the terms to find passages by: the rarest ones, until their passages are too many together."""
        finding: set[str] = set()
        together = 0
        for term in sorted(often, key=often.__getitem__):
            together += often[term]
            if finding and (often[term] > self._common_share * len(self._rows) or together > SEARCHED_MAX):
                break
            finding.add(term)
        return finding

    def _having(self, terms: Collection[str]) -> set[int]:
        return {seq for term in terms for seq in self._seqs.get(term, ())}

    def _best(self, seqs: Collection[int], often: Mapping[str, int]) -> set[int]:
        """Return the passages that have most of the rarest terms; of equal ones, the newest."""
        if len(seqs) <= FOUND_MAX:
            return set(seqs)
        weights: dict[int, float] = dict.fromkeys(seqs, 0.0)
        for term, count in often.items():
            for seq in self._seqs.get(term, ()):
                if seq in weights:
                    weights[seq] -= math.log(count / len(self._rows))
        return set(heapq.nlargest(FOUND_MAX, weights, key=lambda seq: (weights[seq], seq)))

    def _row(self, seq: int, numbers: Mapping[str, int]) -> Row:
        found = [(place, numbers[term]) for place, term in enumerate(self._terms[seq]) if term in numbers]
        return self._rows[seq]._replace(found=found)

    def _beside(self, seq: int, asked: Collection[str]) -> list[int]:
        """Return the message after a message, and the one before it if that has a term of the question."""
        row = self._rows[seq]
        if row.place is None:
            return []
        behind = self._by_place.get((row.session, row.place + 1))
        before = self._by_place.get((row.session, row.place - 1))
        return [
            *([] if behind is None else [behind]),
            *([] if before is None or not set(self._terms[before]).intersection(asked) else [before]),
        ]


def by_profile(profile: Profile, conversation: Conversation) -> Ask:
    """Return a function that answers a question by a profile's words."""
    index = Index(conversation)

    def ask(text: str) -> list[str]:
        question = AnalyzedQuery.of(text)
        found = ranked(question, index.matching(question), profile)
        return [conversation.turns[item.row.seq].id for item in found]

    return ask


def by_bm25(conversation: Conversation) -> Ask:
    """Return a function that answers a question by BM25 of turns alone."""
    index = Index(conversation)

    def ask(text: str) -> list[str]:
        question = AnalyzedQuery.of(text)
        candidates = at_once(Candidates.read(question, index.matching(question), {}))
        scored = zip(candidates.bm25, candidates.rows, strict=True)
        best = sorted((-score, row.seq) for score, row in scored if score > 0)
        return [conversation.turns[seq].id for _, seq in best]

    return ask


def searcher(profile: Profile) -> Searcher:
    """Return a searcher by a profile."""
    return partial(by_profile, profile)


def columns(index: Index, text: str, features: Mapping[str, object]) -> tuple[list[int], dict[str, list[float]]]:
    """Return the turns that are candidates, by their numbers, and each feature of them."""
    question = AnalyzedQuery.of(text)
    candidates = at_once(Candidates.read(question, index.matching(question), {}))
    return [row.seq for row in candidates.rows], {name: at_once(feature(name, candidates)) for name in features}
