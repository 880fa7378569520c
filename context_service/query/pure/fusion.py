"""Merges the hits of all providers into one list: one scorer scores all texts, and each fact appears once. Pure.

The scores of providers are not used, because scores of different providers cannot be compared. Their ranks are not used
either, because a fusion of ranks would lift the weak hits of a provider that has no good ones. The weight of a query
term follows from how rare it is among the hits. If there are embeddings, their similarity is added. Trust and freshness
decide only between hits whose texts score nearly the same. A hit with an identifier of the question comes before hits
without one, and so does a hit whose source has an alias that the question names.

The best hit's score says how much of the question it answers: the share of the question's words that it has, or what
its similarity stands for. The scores of the others are in proportion to it, so that scores of different questions can
be compared with one threshold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from operator import itemgetter

from context_service.query.model import Hit
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.facts import fact_of, look_of
from context_service.retrieval.pure.identifiers import NamedIn
from context_service.retrieval.pure.terms import analyzed, asked_terms, asked_words, findable_terms, terms_of

TRUST_MAX = 5
FRESH_DAYS = 180.0  # a hit that is this much older than the newest one gets half of the bonus for freshness
TERMS_MAX = 64  # the first terms of a query that count
DISTINCTIVE_MAX = 8  # the most words that the second pass of a deep query adds

# The weights of a score's parts. Their sum is 1, so that a score is between 0 and 1. If there are no embeddings, the
# other parts are scaled up, so that the sum is 1 again.
_COVERAGE, _OFTEN, _BIGRAMS, _MEANING = 0.45, 0.15, 0.10, 0.22
_TRUST, _FRESHNESS = 0.05, 0.03
# Cosine similarities of texts that have nothing to do with each other, and of a question and its answer.
_UNRELATED, _RELATED = 0.15, 0.6
SCORE_MIN = 0.25  # default of mode ANSWER: a hit with less of the question answers another one
_TITLE_TIMES = 2  # a word in the title counts as much as this many in the text
_K = 1.2  # parameter of BM25: the higher it is, the more each further occurrence of a term adds
_PART_SHARE = 0.7  # a hit answers a part of a question from this share of the part's best score on
_DECIMALS = 9  # scores are rounded, so that equal hits have equal scores whatever the order of the additions was


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A hit of a provider."""

    provider_id: str
    place: int  # among the provider's own, from 1
    trust: int  # 1 to `TRUST_MAX`
    hit: Hit
    cosine: float | None = None  # similarity of query and hit; None if the provider compared no vectors

    @property
    def ref(self) -> str:
        """The id of the hit in answers. It contains the provider's id, since two providers may use equal ids."""
        return f"{self.provider_id}:{self.hit.source_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A hit of the answer: the best of several candidates with the same text, and all of them as its sources."""

    best: Candidate
    sources: tuple[Candidate, ...]  # the best first, then by ref
    score: float
    part_numbers: tuple[int, ...] = ()  # the parts of the question that it answers, from 1; empty if it has no parts


def fused(
    query: str, candidates: Sequence[Candidate], *, cosines: Mapping[str, float] | None = None
) -> tuple[list[Fused], Mapping[str, float]]:
    """Rank the hits of all providers, and merge hits that say the same.

    Returns:
        The hits, best first, and the score of each candidate by its ref.

    The order is total, and does not depend on the order of the candidates.

    Args:
        query: The text of the query.
        candidates: The hits of all providers; each ref occurs once.
        cosines: Similarity of the query to each candidate, by ref, from -1 to 1; None to compare words alone.
    """
    by_ref = {candidate.ref: candidate for candidate in candidates}
    refs = sorted(by_ref)
    ordered = [by_ref[ref] for ref in refs]
    texts = [analyzed(candidate.hit.snippet) for candidate in ordered]
    terms = [[*text.terms, *text.forms] for text in texts]
    scores = dict(zip(refs, _scores(query, ordered, refs, terms, cosines), strict=True))
    if ordered:
        best = max(range(len(refs)), key=lambda place: scores[refs[place]])
        texts_of_best = [*terms[best], *findable_terms(_titles(ordered[best].hit))]
        answered = _answered_share(query, texts_of_best, cosines.get(refs[best]) if cosines else None)
        scale = answered / scores[refs[best]] if scores[refs[best]] else 0.0
        scores = {ref: round(score * scale, _DECIMALS) for ref, score in scores.items()}
    together: dict[object, list[str]] = {}
    for ref, fact in zip(refs, _facts(ordered, [text.terms for text in texts]), strict=True):
        together.setdefault(fact or ref, []).append(ref)
    hits = []
    for same in together.values():
        first, others = same[0], same[1:]
        if others:
            first, *others = sorted(same, key=lambda ref: (-scores[ref], -by_ref[ref].trust, ref))
            others.sort()
        sources = (by_ref[first], *[by_ref[ref] for ref in others])
        hits.append((-scores[first], first, Fused(best=sources[0], sources=sources, score=scores[first])))
    return _newest_first([hit for _, _, hit in sorted(hits, key=itemgetter(0, 1))]), scores


def _newest_first(hits: Sequence[Fused]) -> list[Fused]:
    """Return hits with each newer statement directly before the first one that it supersedes, with its score."""
    place_of = {source.ref: place for place, hit in enumerate(hits) for source in hit.sources}
    ordered: dict[int, Fused] = {}
    for place, hit in enumerate(hits):
        newer = place_of.get(f"{hit.best.provider_id}:{hit.best.hit.superseded_by}")
        if newer is not None and newer not in ordered:
            ordered[newer] = replace(hits[newer], score=max(hit.score, hits[newer].score))
        ordered.setdefault(place, hit)
    return list(ordered.values())


def merged_parts(
    ranked: Sequence[tuple[Sequence[Fused], Mapping[str, float]]],
) -> tuple[list[Fused], Mapping[str, float]]:
    """Merge the rankings of the same candidates for each part of a question.

    The best hit of each part comes first, in the order of the parts; then all others by their best score. A hit answers
    a part if its score is at least `_PART_SHARE` of the part's best one.

    Args:
        ranked: For each part what `fused` returns for it.

    Returns:
        The hits, and the best score of each candidate by its ref.
    """
    scores = {ref: max(its[ref] for _, its in ranked) for ref in (ranked[0][1] if ranked else ())}
    by_sources: dict[frozenset[str], list[tuple[float, int, Fused]]] = {}
    for number, (hits, _) in enumerate(ranked, 1):
        for hit in hits:
            key = frozenset(source.ref for source in hit.sources)
            by_sources.setdefault(key, []).append((hit.score, -number, hit))
    best_scores = [hits[0].score if hits else 0.0 for hits, _ in ranked]
    merged: dict[frozenset[str], Fused] = {}
    for key, variants in by_sources.items():
        _, _, best = max(variants, key=itemgetter(0, 1))
        answered = [-number for score, number, _ in variants if score >= _PART_SHARE * best_scores[-number - 1] > 0]
        merged[key] = replace(best, part_numbers=tuple(sorted(answered)))
    leading = dict.fromkeys(frozenset(source.ref for source in hits[0].sources) for hits, _ in ranked if hits)
    others = sorted(
        (hit for key, hit in merged.items() if key not in leading), key=lambda hit: (-hit.score, hit.best.ref)
    )
    return [*(merged[key] for key in leading), *others], scores


def _facts(candidates: Sequence[Candidate], terms: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return a key of the statement in each candidate; empty if it states no fact, or no other one looks alike."""
    looks = [look_of(candidate.hit.snippet, its) for candidate, its in zip(candidates, terms, strict=True)]
    shared = Counter(looks)
    return [
        fact_of(candidate.hit.snippet) if shared[look] > 1 else ()
        for candidate, look in zip(candidates, looks, strict=True)
    ]


def _scores(
    query: str,
    candidates: Sequence[Candidate],
    refs: Sequence[str],
    terms_of_texts: Sequence[Sequence[str]],
    cosines: Mapping[str, float] | None,
) -> Iterator[float]:
    """Yield the score of each candidate, 0 to 1.

    The score adds the share of the query's terms that a hit has, how often it has them, word pairs, the similarity of
    embeddings, and priors for trust and freshness.

    Args:
        query: The text of the query.
        candidates: The hits to score.
        refs: The ref of each candidate, in the same order.
        terms_of_texts: The terms of each candidate's text, in the same order.
        cosines: Similarity of the query to each candidate, by ref; None to compare words alone.
    """
    words = [word.term for word in asked_words(query)]
    terms = list(dict.fromkeys(asked_terms(query)))[:TERMS_MAX]
    query_terms = frozenset(terms)
    phrases = {pair for pair in pairwise(words) if pair[0] in query_terms and pair[1] in query_terms}
    named = _named(query, candidates, terms_of_texts)
    counts: list[dict[str, int]] = []
    pairs: list[int] = []
    titles: dict[str, tuple[set[tuple[str, str]], dict[str, int]]] = {}  # passages of one source have one title
    for candidate, text in zip(candidates, terms_of_texts, strict=True):
        names = _titles(candidate.hit)
        if (title := titles.get(names)) is None:
            title = titles[names] = _matching_terms(findable_terms(names), query_terms, phrases)
        phrased, counted = _matching_terms(text, query_terms, phrases)
        for term, count in title[1].items():
            counted[term] = counted.get(term, 0) + count * _TITLE_TIMES
        counts.append(counted)
        pairs.append(len(phrased | title[0]))
    in_hits = Counter([term for counted in counts for term in counted])
    total = len(candidates)
    # A term that no hit has cannot distinguish hits, so it is left out.
    idf = {term: math.log(1 + (total - in_hits[term] + 0.5) / (in_hits[term] + 0.5)) for term in terms if in_hits[term]}
    weight = math.fsum(idf.values()) or 1.0
    newest = max((candidate.hit.as_of for candidate in candidates if candidate.hit.as_of), default=None)
    scale = 1.0 if cosines is not None else 1.0 / (1.0 - _MEANING)
    most = max(named, default=0) + 1.0
    for candidate, ref, counted, phrased_count, names_count in zip(candidates, refs, counts, pairs, named, strict=True):
        covered = math.fsum([idf[term] for term in counted]) / weight
        often = math.fsum([idf[term] * count / (count + _K) for term, count in counted.items()]) / weight
        phrase = min(phrased_count, 2) / min(len(phrases), 2) if phrases else covered
        meaning = _MEANING * max(cosines.get(ref, 0.0), 0.0) if cosines is not None else 0.0
        texts = _COVERAGE * covered + _OFTEN * often + _BIGRAMS * phrase + meaning
        priors = _TRUST * min(max(candidate.trust, 0), TRUST_MAX) / TRUST_MAX + _FRESHNESS * _freshness(
            candidate.hit.as_of, newest
        )
        # The rest of the score is at most 1, so a hit that has more of the question's names comes first.
        yield round((names_count + (texts + priors) * scale) / most, _DECIMALS)


def _named(query: str, candidates: Sequence[Candidate], terms_of_texts: Sequence[Sequence[str]]) -> list[int]:
    """Return how many identifiers of the question each hit has, and one more if the question has an alias of it.

    Args:
        query: The text of the query.
        candidates: The hits to score.
        terms_of_texts: The terms of each hit's text, in the same order.
    """
    identifiers, names_in_query = AnalyzedQuery.of(query).identifier_terms, NamedIn(query)
    counts = []
    for candidate, text in zip(candidates, terms_of_texts, strict=True):
        has_alias = any(alias in names_in_query for alias in candidate.hit.aliases)
        there = {*text, *findable_terms(_titles(candidate.hit))} if identifiers else set()
        counts.append(has_alias + sum(term in there for term in identifiers))
    least = min(counts, default=0)  # names that all hits have do not distinguish them
    return [count - least for count in counts]


def _titles(hit: Hit) -> str:
    """Return the title of a hit and the other names of its source."""
    return " ".join([hit.title, *hit.aliases])


def _answered_share(query: str, terms: Sequence[str], cosine: float | None) -> float:
    """Return how much of the question a text answers, 0 to 1; words that no hit has count, too.

    Args:
        query: The text of the query.
        terms: The terms of the text.
        cosine: The similarity of query and text; None if no vectors were compared.
    """
    words = {word.term for word in asked_words(query)}
    share = len(words.intersection(terms)) / len(words) if words else 0.0
    near = ((cosine or 0.0) - _UNRELATED) / (_RELATED - _UNRELATED)
    return max(share, min(near, 1.0))


def _matching_terms(
    text: Sequence[str], query_terms: frozenset[str], phrases: set[tuple[str, str]]
) -> tuple[set[tuple[str, str]], dict[str, int]]:
    """Return the word pairs of the query that a text has, and how often it has each of the query's terms."""
    there = query_terms.intersection(text)
    return phrases.intersection(pairwise(text)) if there else set(), {term: text.count(term) for term in there}


def _freshness(as_of: datetime | None, newest: datetime | None) -> float:
    """Return the freshness: 1 for the newest hit, 0.5 for one `FRESH_DAYS` older or without a time."""
    if as_of is None or newest is None:
        return 0.5
    return 1.0 / (1.0 + (newest - as_of).total_seconds() / 86_400 / FRESH_DAYS)


def distinctive(query: str, hits: Sequence[Fused]) -> list[str]:
    """Return words of the hits that the question does not have; words in most hits come first."""
    query_terms = set(asked_terms(query))
    shared: Counter[str] = Counter()
    for hit in hits:
        shared.update(list(dict.fromkeys(term for term in terms_of(hit.best.hit.snippet) if term not in query_terms)))
    return [term for term, _ in shared.most_common(DISTINCTIVE_MAX)]
