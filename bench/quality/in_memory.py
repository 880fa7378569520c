"""Retrieval over a conversation in memory: the rows that `Passages.matching` reads, and their ranking."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from bench.quality.conversations import Ask, Conversation, Searcher
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.profiles import Profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.features import Candidates, is_rule, question_place
from context_service.retrieval.pure.ranking import at_once, ranked
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching, Row, Totals
from context_service.retrieval.pure.terms import length_of
from context_service.retrieval.pure.text_pieces import pieces
from context_service.retrieval.store.passages import COMMON_SHARE, FOUND_MAX, READ_WHOLE, RULES_MAX, SEARCHED_MAX


class Index:
    """The passages of a conversation, cut as the service cuts messages.

    Args:
        conversation: The messages to search. The `seq` of a passage is the position of its message.
        read_whole: Larger conversations are not read whole; see `Passages`.
        common_share: Part of the turns. A term in more turns than this is too common to find passages by.
    """

    def __init__(
        self, conversation: Conversation, *, read_whole: int = READ_WHOLE, common_share: float = COMMON_SHARE
    ) -> None:
        """Work out the terms, lengths and places of all passages once, for all questions."""
        count = TokenCounter().count
        passages = [
            (seq, ordinal, turn, piece)
            for seq, turn in enumerate(conversation.turns)
            for ordinal, piece in enumerate(pieces(turn.text, count=count, name=turn.author))
        ]
        # The author's name is embedded, too.
        self.texts = [f"{turn.author}: {piece.text}" if turn.author else piece.text for _, _, turn, piece in passages]
        self._terms = [piece.terms for _, _, _, piece in passages]
        self._passages_with: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(self._terms):
            for term in set(terms):
                self._passages_with[term].append(number)
        self._read_whole, self._common_share = read_whole, common_share
        lengths: Counter[int] = Counter()
        places: Counter[int] = Counter()
        last: dict[int, int] = defaultdict(int)
        placed = []
        before_all = after_all = 0
        for _, _, turn, piece in passages:
            is_said, length = turn.kind == "text", length_of(piece.terms)
            length_before = last[turn.session] if is_said else 0
            placed.append((places[turn.session] if is_said else None, length, length_before))
            lengths[turn.session] += length
            before_all += length_before
            if is_said:
                after_all += length if places[turn.session] else 0
                places[turn.session] += 1
                last[turn.session] = length
        self.rows = [
            Row(
                seq=seq,
                ordinal=ordinal,
                session=turn.session,
                place=place,
                length=length,
                length_before=length_before,
                session_length=lengths[turn.session],
                session_places=places[turn.session],
                marks=piece.marks,
                kind=turn.kind,
                role=turn.role,
                author=turn.author,
                task_id=None,
                said_at=turn.said_at,
                found=(),
            )
            for (seq, ordinal, turn, piece), (place, length, length_before) in zip(passages, placed, strict=True)
        ]
        self._by_place = {
            (row.session, row.place): number for number, row in enumerate(self.rows) if row.place is not None
        }
        self._rules = [number for number, row in enumerate(self.rows) if is_rule(row)][-RULES_MAX:]
        self._totals = Totals(
            passages=len(self.rows),
            sessions=len(lengths),
            length=sum(lengths.values()),
            length_before=before_all,
            length_after=after_all,
            first_seq=0,
            last_seq=self.rows[-1].seq if self.rows else 0,
            authors=frozenset(turn.author for turn in conversation.turns if turn.author),
        )

    def matching(self, question: AnalyzedQuery) -> Matching:
        """Return the rows that a question is ranked by, as the service reads them."""
        numbers = {term: number for number, term in enumerate(question.terms[:ASKED_TERMS_MAX])}
        numbers |= {exact: numbers[term] for term, exact in question.spellings.items() if term in numbers}
        if not numbers:
            return Matching(totals=self._totals, rows=(), is_whole=False, estimated={})
        if len(self.rows) <= self._read_whole:
            rows = [self._row(passage, numbers) for passage in range(len(self.rows))]
            return Matching(totals=self._totals, rows=rows, is_whole=True, estimated={})
        often = {term: len(self._passages_with.get(term, ())) for term in numbers}
        finding = self._finding(often)
        left_out = sorted(numbers.keys() - finding, key=often.__getitem__)
        found = self._having(finding)
        if not found and left_out:
            finding = {left_out.pop(0)}
            found = self._having(finding)
        wanted = SEARCHED_MAX if len(finding) > 1 or left_out else FOUND_MAX
        if max(often[term] for term in finding) ** 2 > wanted * len(self.rows):  # looked for from the end on
            found = set(heapq.nlargest(wanted, found))
        estimated = {*left_out, *(finding if len(found) >= FOUND_MAX else ())}
        best = self._best(found, often)
        beside = {other for passage in best for other in self._beside(passage, numbers)}.union(self._rules)
        return Matching(
            totals=self._totals,
            rows=[self._row(passage, numbers) for passage in sorted(best | beside)],
            is_whole=False,
            estimated={numbers[term]: float(often[term]) for term in estimated},
        )

    def with_near(self, matching: Matching, question: AnalyzedQuery, near: Collection[tuple[int, int]]) -> Matching:
        """Return the rows with the passages that are near by their vectors, which may have no word of the question."""
        numbers = {term: number for number, term in enumerate(question.terms[:ASKED_TERMS_MAX])}
        unread = set(near) - {(row.seq, row.ordinal) for row in matching.rows}
        found = [self._row(number, numbers) for number, row in enumerate(self.rows) if (row.seq, row.ordinal) in unread]
        return replace(matching, rows=[*matching.rows, *found])

    def _finding(self, often: Mapping[str, int]) -> set[str]:
        """Return the terms to find passages by: the rarest ones, until their passages are too many together."""
        finding: set[str] = set()
        together = 0
        for term in sorted(often, key=often.__getitem__):
            together += often[term]
            if finding and (often[term] > self._common_share * len(self.rows) or together > SEARCHED_MAX):
                break
            finding.add(term)
        return finding

    def _having(self, terms: Collection[str]) -> set[int]:
        return {passage for term in terms for passage in self._passages_with.get(term, ())}

    def _best(self, found: Collection[int], often: Mapping[str, int]) -> set[int]:
        """Return the passages that have most of the rarest terms; of equal ones, the newest."""
        if len(found) <= FOUND_MAX:
            return set(found)
        weights: dict[int, float] = dict.fromkeys(found, 0.0)
        for term, count in often.items():
            for passage in self._passages_with.get(term, ()):
                if passage in weights:
                    weights[passage] -= math.log(count / len(self.rows))
        return set(heapq.nlargest(FOUND_MAX, weights, key=lambda passage: (weights[passage], passage)))

    def _row(self, passage: int, numbers: Mapping[str, int]) -> Row:
        places = [(place, numbers[term]) for place, term in enumerate(self._terms[passage]) if term in numbers]
        return self.rows[passage]._replace(found=places)

    def _beside(self, passage: int, terms: Collection[str]) -> list[int]:
        """Return the passage after a passage, the end of what it answers, and the one before if it has a term."""
        row = self.rows[passage]
        if row.place is None:
            return []
        behind = self._by_place.get((row.session, row.place + 1))
        before = self._by_place.get((row.session, row.place - 1))
        asked = self._by_place.get((row.session, question_place(row)))
        return [
            *([] if asked is None else [asked]),
            *([] if behind is None else [behind]),
            *([] if before is None or not set(self._terms[before]).intersection(terms) else [before]),
        ]


def by_profile(profile: Profile, conversation: Conversation) -> Ask:
    """Return a function that answers a question by a profile's words."""
    index = Index(conversation)

    def ask(text: str) -> list[str]:
        question = AnalyzedQuery.of(text)
        best = ranked(question, index.matching(question), profile)
        return _ids(conversation, [item.row.seq for item in best])

    return ask


def by_bm25(conversation: Conversation) -> Ask:
    """Return a function that answers a question by BM25 of turns alone."""
    index = Index(conversation)

    def ask(text: str) -> list[str]:
        question = AnalyzedQuery.of(text)
        candidates = at_once(Candidates.read(question, index.matching(question), {}))
        scored = zip(candidates.bm25, candidates.rows, strict=True)
        best = sorted((-score, row.seq) for score, row in scored if score > 0)
        return _ids(conversation, [seq for _, seq in best])

    return ask


def _ids(conversation: Conversation, seqs: Sequence[int]) -> list[str]:
    """Return the ids of the messages of passages, each once: a long message has several passages."""
    return [conversation.turns[seq].id for seq in dict.fromkeys(seqs)]


def searcher(profile: Profile) -> Searcher:
    """Return a searcher by a profile."""
    return partial(by_profile, profile)
