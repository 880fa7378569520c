"""Features of each candidate for an answer, computed from rows alone.

The candidates are the rows that have a term of the question, and the rows directly after them, since an answer seldom
repeats the words of its question. Each feature gives each candidate a number, which is nearly always between 0 and 1.

BM25 counts how often terms occur in a document. A document is a passage (`turn`), a passage with the one before it
(`prev`), with both neighbours (`win`), or a session (`sess`). The totals of a scope, and the number of documents with
a term, come from the rows and counters (`matching`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.marks import (
    DAY_AGO,
    MONTH_AGO,
    MONTH_AHEAD,
    NUMBER,
    PLACE,
    PREFERENCE,
    QUESTION,
    RULE,
    TIME,
    WEEK_AGO,
    WEEK_AHEAD,
    YEAR_AGO,
)
from context_service.retrieval.pure.rows import Matching, Row
from context_service.retrieval.pure.terms import terms_of

# The parameters of BM25: the higher `K1`, the more each further occurrence of a term adds; the higher `B`, the more a
# long document loses.
K1, B = 1.2, 0.75
# The shares of a neighbour's value that a candidate gets, from one place and from two places away.
_NEIGHBOUR, _NEIGHBOUR_2 = 0.3, 0.1
_BIGRAM_TERMS = 2  # two terms of a pair may be at most this many terms apart
_BIGRAMS_MAX = 2  # more pairs than this count no more
_SESSION_PLACES = 20  # all places from this one on count as late in their session

# The similarity of texts that have nothing to do with each other, and of a question and its answer.
UNRELATED, RELATED = 0.1, 0.6

# How much less the meaning of a passage counts where words alone find the whole query: then they are the better guide.
# Where the best passage has none of the query's words, meaning counts fully.
_LESS_MEANING = 0.6
# Words count fully if the best passage has this share of the query, and with the square of the share below it: the only
# passage with "project" is the best by words, though it may have nothing else of the query.
_SURE_OF_WORDS = 0.6

# All candidates stand on one number line, where neighbours are 1 apart. Passages of other sessions, and passages that
# were not spoken (such as calls of tools), stand so far apart that they are never neighbours.
_SESSION_STEP, _UNSAID, _UNSAID_STEP = 10**9, 5 * 10**8, 3

# Up to this many terms are counted in a loop. A `Counter` takes longer to begin, but counts ten times as fast.
_COUNTED_ONE_BY_ONE = 16

# A user's passage of this many terms or more counts fully as a user's word: "Go on." says less than a sentence.
_TERMS_OF_A_SENTENCE = 12

# How many days before the day on which it is said a time lies that is named by its distance.
_DAYS_AGO = {DAY_AGO: 1, WEEK_AGO: 7, MONTH_AGO: 30, YEAR_AGO: 365, WEEK_AHEAD: -7, MONTH_AHEAD: -30}
_DISTANCES = sum(_DAYS_AGO)

# An identifier is rare in a scope if it is in at most so many passages, or in this share of them.
_RARE_PASSAGES, _RARE_SHARE = 2, 0.1

_Counts = Mapping[int, int]  # how often each term is there, by its number


class Candidates:
    """The candidates of a query, and the values that features are computed from.

    Each list has one value for each candidate.

    Args:
        question: The analyzed query.
        matching: The rows that were found, and the totals of their scope (passages that are searched together).
        cosines: Similarity to the query by `seq` and `ordinal`: of the passage, and of it with the one before.
    """

    def __init__(
        self, question: AnalyzedQuery, matching: Matching, cosines: Mapping[tuple[int, int], tuple[float, float]]
    ) -> None:
        self.question, self.matching, self.cosines = question, matching, cosines
        self.totals = totals = matching.totals
        self.passages = max(totals.passages, len(matching.rows), 1)
        self.mean = max(totals.length / self.passages, 1.0)
        self.rows: list[Row] = []
        self.counts: list[_Counts] = []
        self.sessions: list[
            tuple[int, int, _Counts]
        ] = []  # index of its first candidate, index after its last, its terms
        self._stands: list[int] = []

    @classmethod
    def read(
        cls, question: AnalyzedQuery, matching: Matching, cosines: Mapping[tuple[int, int], tuple[float, float]]
    ) -> Generator[None, None, Candidates]:
        """Read the candidates of a query, in short steps."""
        read = cls(question, matching, cosines)
        sessions: dict[int, list[Row]] = {}
        for row in sorted(matching.rows):
            sessions.setdefault(row.session, []).append(row)
        for rows in sessions.values():
            yield from read._add_session(rows)
        return read

    def _add_session(self, rows: Sequence[Row]) -> Iterator[None]:
        """Add the rows of a session, in the order of their places.

        Rows without a term are skipped, except those directly after a row with a term, the question that an assistant's
        row with a term answers, standing rules, and those with a near vector.
        """
        question_places = {question_place(row) for row in rows if row.found}
        first, base = len(self.rows), len(self.sessions) * _SESSION_STEP
        terms: dict[int, int] = {}
        unsaid = []
        answered = -1  # the place after the last row that has a term
        for row in rows:
            yield
            place = row.place
            if row.found:
                counts = _term_counts(row.found)
                for number, often in counts.items():
                    terms[number] = terms.get(number, 0) + often
                if place is None:
                    unsaid.append((row, counts))
                    continue
                answered = place + 1
            elif place is not None and (
                place == answered or place in question_places or is_rule(row) or (row.seq, row.ordinal) in self.cosines
            ):
                counts = {}
            else:
                if (row.seq, row.ordinal) in self.cosines:
                    unsaid.append((row, {}))
                continue
            self.rows.append(row)
            self.counts.append(counts)
            self._stands.append(base + place)
        for number, (row, counts) in enumerate(unsaid):
            self.rows.append(row)
            self.counts.append(counts)
            self._stands.append(base + _UNSAID + number * _UNSAID_STEP)
        if len(self.rows) > first:
            self.sessions.append((first, len(self.rows), terms))

    # Neighbours.

    @cached_property
    def followers(self) -> Sequence[int]:
        """The indexes of the candidates that directly follow the candidate before them."""
        stands = self._stands
        return [index for index in range(1, len(stands)) if stands[index] - stands[index - 1] == 1]

    @cached_property
    def two_apart(self) -> Sequence[tuple[int, int]]:
        """Pairs of candidates that stand two places apart."""
        stands = self._stands
        return [
            (other, index)
            for index in range(1, len(stands))
            for other in (index - 1, index - 2)
            if other >= 0 and stands[index] - stands[other] == 2
        ]

    def with_neighbours(self, values: Sequence[float]) -> list[float]:
        """Return each value with shares of its neighbours' values, one and two places away."""
        together = list(values)
        for follower in self.followers:
            value, other = values[follower], values[follower - 1]
            if other:
                together[follower] += _NEIGHBOUR * other
            if value:
                together[follower - 1] += _NEIGHBOUR * value
        for pair, other in self.two_apart:
            together[pair] += _NEIGHBOUR_2 * values[other]
            together[other] += _NEIGHBOUR_2 * values[pair]
        return together

    @cached_property
    def counts_previous(self) -> Sequence[_Counts]:
        """The terms of each candidate, together with those of the passage before it."""
        together = list(self.counts)
        for follower in self.followers:
            together[follower] = _both(self.counts[follower], self.counts[follower - 1])
        return together

    @cached_property
    def counts_window(self) -> Sequence[_Counts]:
        """The terms of each candidate, together with those of the passages before and after it."""
        together = list(self.counts_previous)
        for follower in self.followers:
            together[follower - 1] = _both(together[follower - 1], self.counts[follower])
        return together

    @cached_property
    def lengths(self) -> Sequence[float]:
        """The length of each candidate, in terms."""
        return [row.length for row in self.rows]

    @cached_property
    def lengths_previous(self) -> Sequence[float]:
        """The length of each candidate together with the passage before it, in terms."""
        return [row.length + row.length_before for row in self.rows]

    @cached_property
    def lengths_window(self) -> Sequence[float]:
        """The length of each candidate with both neighbours; an unread neighbour counts with the mean length."""
        lengths = [
            length + (self.mean if row.place is not None and row.place + 1 < row.session_places else 0.0)
            for row, length in zip(self.rows, self.lengths_previous, strict=True)
        ]
        for follower in self.followers:
            lengths[follower - 1] += self.rows[follower].length - self.mean
        return lengths

    # BM25 of each kind of document.

    @cached_property
    def bm25(self) -> list[float]:
        """The BM25 score of each candidate alone."""
        return self.bm25_of(self.counts, self.lengths, self.mean, self.in_turns, self.passages)

    @cached_property
    def bm25_previous(self) -> list[float]:
        """The BM25 score of each candidate together with the passage before it."""
        mean = self.mean + self.totals.length_before / self.passages
        df = self._in_documents(self.counts_previous, 2)
        return self.bm25_of(self.counts_previous, self.lengths_previous, mean, df, self.passages)

    @cached_property
    def bm25_window(self) -> list[float]:
        """The BM25 score of each candidate together with the passages before and after it."""
        mean = self.mean + (self.totals.length_before + self.totals.length_after) / self.passages
        df = self._in_documents(self.counts_window, 3)
        return self.bm25_of(self.counts_window, self.lengths_window, mean, df, self.passages)

    @cached_property
    def in_turns(self) -> Sequence[float]:
        """The number of passages that have each term of the query."""
        return self._in_documents(self.counts, 1)

    def _in_documents(self, documents: Sequence[_Counts], passages: int) -> Sequence[float]:
        """Return the number of documents that have each term; a document consists of `passages` passages."""
        df = [0.0] * len(self.question.terms)
        for counts in documents:
            for number in counts:
                df[number] += 1
        for number, count in self.matching.estimated.items():
            df[number] = min(max(df[number], count * passages), self.passages)
        return df

    def bm25_of(
        self, documents: Sequence[_Counts], lengths: Sequence[float], mean: float, df: Sequence[float], count: int
    ) -> list[float]:
        """Return the BM25 score of each document for the query.

        Args:
            documents: The terms of each document, with their counts.
            lengths: The length of each document, in terms.
            mean: The mean length of all such documents in the scope.
            df: For each term of the query, the number of documents that have it.
            count: The number of such documents in the scope.
        """
        weights = [(K1 + 1) * math.log(1 + (count - df_of_term + 0.5) / (df_of_term + 0.5)) for df_of_term in df]
        short, by_length = K1 * (1 - B), K1 * B / max(mean, 1.0)
        scores = []
        for counts, length in zip(documents, lengths, strict=True):
            score = 0.0
            if counts:
                slow = short + by_length * length
                for number, often in counts.items():
                    score += weights[number] * often / (often + slow)
            scores.append(score)
        return scores

    def scaled(self, values: Sequence[float]) -> list[float]:
        """Return values scaled to 0 to 1; passages that are not candidates count as 0, the least value."""
        least = min(values, default=0.0) if len(values) >= self.passages else 0.0
        return _scale(values, least)

    # What the question says of the scope.

    @cached_property
    def named(self) -> tuple[Sequence[str], frozenset[int]]:
        """The authors that the query names, and the indexes of the query's terms that are authors' names."""
        numbers = {term: number for number, term in enumerate(self.question.terms)}
        names = {
            author: {numbers[term] for term in terms_of(author) if term in numbers} for author in self.totals.authors
        }
        return [author for author, of in names.items() if of], frozenset().union(*names.values())

    @cached_property
    def idf(self) -> Mapping[int, float]:
        """The weight of each term of the query, without authors' names.

        A word that is nowhere weighs most. A further form of a word that is nowhere weighs nothing.
        """
        most = math.log(self.passages) if self.passages > 1 else 1.0
        return {
            number: math.log(1 + (self.passages - in_turn + 0.5) / (in_turn + 0.5)) if in_turn else most
            for number, in_turn in enumerate(self.in_turns)
            if number not in self.named[1] and (in_turn or number < self.question.word_count)
        }

    def covered(self, documents: Sequence[_Counts]) -> list[float]:
        """Return for each document the share of the query's terms that it has, by their weights."""
        idf = self.idf
        whole = sum(idf.values()) or 1.0
        return [sum([idf.get(number, 0.0) for number in counts]) / whole if counts else 0.0 for counts in documents]

    @cached_property
    def covered_previous(self) -> list[float]:
        """The share of the query that each candidate has, together with the passage before it."""
        return self.covered(self.counts_previous)

    @cached_property
    def identified(self) -> Sequence[int]:
        """How many of the rare identifiers that the query names each candidate has.

        The reply to a question that has one is about it, too.
        """
        often, matched = self.in_turns, [0] * len(self.rows)
        for whole, parts in self.question.identifiers:
            rare = max(_RARE_PASSAGES, _RARE_SHARE * self.passages)
            if not 0 < often[whole] <= rare or 2 * often[whole] > self.passages > 1:
                continue
            having = [whole in counts and (not parts or not parts.isdisjoint(counts)) for counts in self.counts]
            for follower in self.followers:
                asks, answers = self.rows[follower - 1], self.rows[follower]
                if having[follower - 1] and asks.marks & QUESTION and asks.role != answers.role:
                    having[follower] = True
            matched = [count + has for count, has in zip(matched, having, strict=True)]
        return matched

    @cached_property
    def trust_in_words(self) -> float:
        """How much the words of passages count next to their meaning: 0 to 1."""
        return min(1.0, max(self.covered_previous, default=0.0) / _SURE_OF_WORDS) ** 2

    def marked(self, mark: int) -> list[float]:
        """Return 1 for each candidate that has the mark, else 0."""
        return [1.0 if row.marks & mark else 0.0 for row in self.rows]

    def of_users(self, mark: int = 0) -> list[float]:
        """Return 1 for each candidate that a user said, and that has the mark if one is given, else 0."""
        return [1.0 if row.role == "user" and (not mark or row.marks & mark) else 0.0 for row in self.rows]

    def none(self) -> list[float]:
        """Return 0 for each candidate."""
        return [0.0] * len(self.rows)


def question_place(row: Row) -> int | None:
    """Return the place of the passage before the message of an assistant's passage: the end of what it answers."""
    return row.place - row.ordinal - 1 if row.place is not None and row.role == "assistant" else None


def is_rule(row: Row) -> bool:
    """Say whether a row is a user's standing rule, which may matter whatever the words of a question are."""
    return bool(row.marks & RULE) and row.role == "user"


def _turn(candidates: Candidates) -> list[float]:
    return candidates.scaled(candidates.bm25)


def _prev(candidates: Candidates) -> list[float]:
    return candidates.scaled(candidates.bm25_previous)


def _win(candidates: Candidates) -> list[float]:
    return candidates.scaled(candidates.bm25_window)


def _nb(candidates: Candidates) -> list[float]:
    return candidates.scaled(candidates.with_neighbours(candidates.bm25))


def _nbp(candidates: Candidates) -> list[float]:
    return candidates.scaled(candidates.with_neighbours(candidates.bm25_previous))


def _sess(candidates: Candidates) -> list[float]:
    """Return the BM25 score of each candidate's whole session, scaled to 0 to 1.

    A term's document frequency is counted over the sessions that were read; for common terms, it is estimated from
    passages.
    """
    totals, sessions = candidates.totals, candidates.sessions
    count = max(totals.sessions, len(sessions), 1)
    df = [0.0] * len(candidates.question.terms)
    for _, _, terms in sessions:
        for number in terms:
            df[number] += 1
    for number, passages in candidates.matching.estimated.items():
        df[number] = min(max(df[number], passages), count)
    lengths = [candidates.rows[first].session_length for first, _, _ in sessions]
    scores = candidates.bm25_of([terms for _, _, terms in sessions], lengths, totals.length / count, df, count)
    scaled = _scale(scores, min(scores, default=0.0) if len(sessions) == count else 0.0)
    values = candidates.none()
    for (first, after_last, _), score in zip(sessions, scaled, strict=True):
        values[first:after_last] = [score] * (after_last - first)
    return values


def _spk(candidates: Candidates) -> list[float]:
    """Return 1 for each candidate whose author is the one person that the question names, else 0."""
    named, _ = candidates.named
    if len(named) != 1:
        return candidates.none()
    return [1.0 if row.author == named[0] else 0.0 for row in candidates.rows]


def _is_spoken(candidates: Candidates) -> list[float]:
    return [0.0 if row.place is None else 1.0 for row in candidates.rows]


def _time(candidates: Candidates) -> list[float]:
    """Return how close the time of each candidate is to the days that the question names."""
    days = candidates.question.days
    if not days:
        return candidates.none()
    dates = [row.said_at.date() for row in candidates.rows]
    closeness = {date: max(day.closeness(date) for day in days) for date in set(dates)}
    return [closeness[date] for date in dates]


def _timerel(candidates: Candidates) -> list[float]:
    """Return how close a time is to the days that the question names, if the candidate names it by its distance."""
    days = candidates.question.days
    if not days:
        return candidates.none()
    return [
        max(
            (
                day.closeness(date_of_text)
                for date_of_text in _distant_dates(row.said_at.date(), row.marks)
                for day in days
            ),
            default=0.0,
        )
        if row.marks & _DISTANCES
        else 0.0
        for row in candidates.rows
    ]


def _distant_dates(said_on: date, marks: int) -> list[date]:
    """Return the dates that a text names by their distance from the day on which it is said."""
    ordinal = said_on.toordinal()
    return [
        said_on - timedelta(days)
        for mark, days in _DAYS_AGO.items()
        if marks & mark and 1 <= ordinal - days <= date.max.toordinal()
    ]


def _user(candidates: Candidates) -> list[float]:
    """Return 1 for each sentence of a user, less for a shorter passage of one, else 0."""
    return [share * _fullness(row) for share, row in zip(candidates.of_users(), candidates.rows, strict=True)]


def _fullness(row: Row) -> float:
    """Return how much a passage says: 1 for a sentence, less for a shorter one."""
    return min(1.0, row.length / _TERMS_OF_A_SENTENCE)


def _rule(candidates: Candidates) -> list[float]:
    return candidates.of_users(RULE)


def _pref(candidates: Candidates) -> list[float]:
    return candidates.of_users(PREFERENCE)


def _reply(candidates: Candidates) -> list[float]:
    """Return for each passage that an assistant answers how well the best passage of the answer matches.

    A passage that is shorter than a sentence gets less: "Read on." is not what a page is about.
    """
    answers: dict[tuple[int, int], float] = {}
    for row, turn in zip(candidates.rows, _turn(candidates), strict=True):
        if turn and (place := question_place(row)) is not None:
            answers[row.session, place] = max(turn, answers.get((row.session, place), 0.0))
    return [
        answers.get((row.session, row.place), 0.0) * _fullness(row) if row.place is not None else 0.0
        for row in candidates.rows
    ]


def _covp(candidates: Candidates) -> list[float]:
    return candidates.covered_previous


def _covw(candidates: Candidates) -> list[float]:
    return candidates.covered(candidates.counts_window)


def _maxidf(candidates: Candidates) -> list[float]:
    idf = candidates.idf
    most = max(idf.values(), default=1.0) or 1.0
    return [max([idf.get(number, 0.0) for number in counts]) / most if counts else 0.0 for counts in candidates.counts]


def _bigram(candidates: Candidates) -> Generator[None, None, list[float]]:
    """Return how many of the query's word pairs each candidate has close together, scaled to 0 to 1.

    Names of authors are left out. It yields after each candidate, because this is slow for long passages.
    """
    question, (_, names) = candidates.question, candidates.named
    numbers = {term: number for number, term in enumerate(question.terms)}
    query_numbers = [numbers[term] for term in question.words if numbers[term] not in names]
    pairs = set(pairwise(query_numbers))
    values = candidates.none()
    for index, row in enumerate(candidates.rows):
        positions = row.found
        if len(positions) < 2:
            continue
        yield
        there = set()
        for start, (place, number) in enumerate(positions):
            for other_place, other in positions[start + 1 : start + 1 + _BIGRAM_TERMS]:
                if other_place - place <= _BIGRAM_TERMS and (number, other) in pairs:
                    there.add((number, other))
        values[index] = min(len(there), _BIGRAMS_MAX) / _BIGRAMS_MAX
    return values


def _isq(candidates: Candidates) -> list[float]:
    return candidates.marked(QUESTION)


def _prevq(candidates: Candidates) -> list[float]:
    """Return for each candidate that follows a question how well that question matches."""
    asks, turn, values = candidates.marked(QUESTION), _turn(candidates), candidates.none()
    for follower in candidates.followers:
        values[follower] = asks[follower - 1] * turn[follower - 1]
    return values


def _len(candidates: Candidates) -> list[float]:
    return _scale([math.log1p(length) for length in candidates.lengths], 0.0)


def _when(candidates: Candidates) -> list[float]:
    return candidates.marked(TIME) if candidates.question.asks_when else candidates.none()


def _num(candidates: Candidates) -> list[float]:
    return candidates.marked(NUMBER) if candidates.question.asks_number else candidates.none()


def _loc(candidates: Candidates) -> list[float]:
    return candidates.marked(PLACE) if candidates.question.asks_place else candidates.none()


def _sesspos(candidates: Candidates) -> list[float]:
    return [min(row.place or 0, _SESSION_PLACES) / _SESSION_PLACES for row in candidates.rows]


def _cos(candidates: Candidates) -> list[float]:
    return _cosines(candidates, 0)


def _cosw(candidates: Candidates) -> list[float]:
    return _cosines(candidates, 1)


def _cosines(candidates: Candidates, which: int) -> list[float]:
    """Return the scaled cosine similarity of each candidate, the less the more of the query the best passage has.

    A candidate without a vector, such as a message that was sent a moment ago, is taken for as similar as the share of
    the query is that its words have: from the lowest similarity that is known, or that of unrelated texts if it is
    lower, up to the highest that is known.
    """
    known = [cosines[which] for cosines in candidates.cosines.values()]
    if not known:
        return candidates.none()
    least = min(*known, UNRELATED)
    shares = candidates.covered(candidates.counts)
    values = [
        candidates.cosines[row.seq, row.ordinal][which]
        if (row.seq, row.ordinal) in candidates.cosines
        else min(least + share * (RELATED - UNRELATED), max(known))
        for row, share in zip(candidates.rows, shares, strict=True)
    ]
    counts = 1 - _LESS_MEANING * max(candidates.covered_previous, default=0.0)
    return [counts * value for value in _scale(values, least)]


# What profiles may name.
FEATURES: Mapping[str, Callable[[Candidates], list[float] | Generator[None, None, list[float]]]] = {
    "turn": _turn,  # BM25 of the passage
    "prev": _prev,  # with the passage before it
    "win": _win,  # with the passages before and after it
    "nb": _nb,  # `turn`, with shares of its neighbours
    "nbp": _nbp,  # `prev`, with shares of its neighbours
    "sess": _sess,  # BM25 of its session
    "spk": _spk,  # its author is the one whom the question names
    "said": _is_spoken,  # it was spoken: not a call of a tool, nor a result
    "time": _time,  # its time is the one that the question names
    "timerel": _timerel,  # it names the time that the question names by its distance, such as "last month"
    "user": _user,  # a user said it, in a sentence or more
    "rule": _rule,  # it is a user's standing rule
    "pref": _pref,  # it says what a user likes or decided
    "reply": _reply,  # an assistant's answer to it matches
    "covp": _covp,  # share of the question in `prev`
    "covw": _covw,  # share of the question in `win`
    "maxidf": _maxidf,  # the rarest of the question's terms is in it
    "bigram": _bigram,  # terms stand together as in the question
    "isq": _isq,  # it asks something
    "prevq": _prevq,  # the passage before it is a question, in words of this question
    "len": _len,  # it says much
    "when": _when,  # it has a time, and the question asks for one
    "num": _num,  # it has a number, and the question asks for one
    "loc": _loc,  # it has a place, and the question asks for one
    "sesspos": _sesspos,  # it is late in its session
    "cos": _cos,  # it means what the question means
    "cosw": _cosw,  # the same, together with the passage before it
}


# Features that compare words, and so count less next to meaning if the best passage has few of the query's words.
_OF_WORDS = frozenset({"turn", "prev", "win", "nb", "nbp", "sess", "reply", "covp", "covw", "maxidf"})


def feature(name: str, candidates: Candidates) -> Generator[None, None, list[float]]:
    """Return a feature of each candidate, in steps of some milliseconds.

    A passage without a vector is found by its words alone, so these always count fully.
    """
    found = FEATURES[name](candidates)
    yield
    values = found if isinstance(found, list) else (yield from found)
    if name not in _OF_WORDS or not candidates.cosines:
        return values
    trust, cosines = candidates.trust_in_words, candidates.cosines
    return [
        value * trust if (row.seq, row.ordinal) in cosines else value
        for value, row in zip(values, candidates.rows, strict=True)
    ]


def _term_counts(positions: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return how often each term was found."""
    if len(positions) > _COUNTED_ONE_BY_ONE:
        return Counter(map(itemgetter(1), positions))
    counts: dict[int, int] = {}
    for _, number in positions:
        counts[number] = counts.get(number, 0) + 1
    return counts


def _both(counts: _Counts, other: _Counts) -> _Counts:
    """Return the summed counts of terms of two texts."""
    if not other:
        return counts
    if not counts:
        return other
    together = dict(counts)
    for number, often in other.items():
        together[number] = together.get(number, 0) + often
    return together


def _scale(values: Sequence[float], least: float) -> list[float]:
    """Return values scaled so that `least` becomes 0 and the largest value 1; all are 0 if none is above `least`."""
    span = max(values, default=0.0) - least
    if span <= 0:
        return [0.0] * len(values)
    return [(value - least) / span for value in values]
