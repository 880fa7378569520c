"""Questions with the features of their candidates, computed once, so that any weights can be tried on them."""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.conversations import Asked, Conversation
from bench.quality.corpora import PARAPHRASES
from bench.quality.in_memory import Index
from bench.quality.vectors import Similarities
from context_service.kernel.courtesies import asks_nothing
from context_service.retrieval import pure
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.calibration import Evidence
from context_service.retrieval.pure.features import FEATURES, Candidates, feature
from context_service.retrieval.pure.ranking import at_once
from context_service.retrieval.rules.search import chosen_profile

FIRST = 100  # the most messages of a ranking
OTHERS_MAX = 40  # the most questions of other conversations for each conversation
FUSION = 60  # the constant of reciprocal rank fusion

Matrix = Any  # of numpy
Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question to a conversation: its candidates in the order of their messages."""

    conversation: str  # its name
    kind: str
    profile: str  # the name of the profile that the service chooses
    features: Matrix  # a row for each candidate, a column for each of `NAMES`
    seqs: Matrix  # the message of each candidate
    evidence: frozenset[int]  # the messages that answer; empty for a question without an answer
    by_bm25: Sequence[int]  # messages, the best first
    by_cosine: Sequence[int]  # the same; empty without vectors
    scope: Evidence  # what the calibration reads of the question as a whole

    def ranked(self, weights: Matrix) -> list[int]:
        """Return the messages by their weighted features, each once; of equal ones, the oldest is first."""
        order = np.argsort(-(self.features @ weights), kind="stable")
        return list(dict.fromkeys(self.seqs[order].tolist()))[:FIRST]

    @property
    def fused(self) -> list[int]:
        """The messages by reciprocal rank fusion of BM25 and the cosine."""
        scores: dict[int, float] = {}
        for ranking in (self.by_bm25, self.by_cosine):
            for place, seq in enumerate(ranking):
                scores[seq] = scores.get(seq, 0.0) + 1 / (FUSION + place)
        return sorted(scores, key=lambda seq: -scores[seq])[:FIRST]


NAMES = tuple(FEATURES)


def vector(weights: Weights) -> Matrix:
    """Return weights as a column for `Case.features`."""
    return np.array([weights.get(name, 0.0) for name in NAMES])


def cases(
    name: str,
    conversations: Sequence[Conversation],
    never_mentioned: Sequence[str],
    *,
    folder: Path | None,
    with_model: bool,
) -> list[Case]:
    """Return all questions of a corpus, and some without an answer: of other conversations, or about other things.

    Args:
        name: The name of the corpus.
        conversations: Its conversations.
        never_mentioned: Questions about things that no corpus mentions.
        folder: Keeps the cases for a later run; None keeps nothing.
        with_model: Also compare vectors of the local model.
    """
    key = hashlib.sha256(_sources() + pickle.dumps([name, conversations, never_mentioned, with_model])).hexdigest()[:24]
    path = folder / f"cases-{key}.pickle" if folder else None
    if path and path.exists():
        found: list[Case] = pickle.loads(path.read_bytes())
        return found
    found = [
        case
        for conversation in conversations
        for case in _of(name, conversation, conversations, never_mentioned, folder, with_model)
    ]
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(found))
    return found


def _sources() -> bytes:
    """Return the code that decides about features: another code gives other cases."""
    paths = [*Path(pure.__path__[0]).glob("*.py"), *Path(__file__).parent.glob("*.py")]
    decisive = {"cases.py", "in_memory.py", "vectors.py"}
    return b"".join(path.read_bytes() for path in sorted(paths) if "quality" not in path.parts or path.name in decisive)


def _of(
    name: str,
    conversation: Conversation,
    conversations: Sequence[Conversation],
    never_mentioned: Sequence[str],
    folder: Path | None,
    with_model: bool,
) -> Iterable[Case]:
    """Yield the questions to one conversation."""
    # All conversations of paraphrases hold the same statements, so a question of another one is answered in each.
    others = [
        asked for other in conversations if other is not conversation and name != PARAPHRASES for asked in other.asked
    ]
    unanswered = [
        *(("of others", asked.text) for asked in others[:: len(others) // OTHERS_MAX + 1]),
        *(("never", text) for text in never_mentioned),
    ]
    asked = [*conversation.asked, *(Asked(text=text, kind=kind, evidence=frozenset()) for kind, text in unanswered)]
    index = Index(conversation)
    similarities = Similarities(index, [question.text for question in asked], folder) if with_model else None
    seqs = {turn.id: seq for seq, turn in enumerate(conversation.turns)}
    for question in asked:
        found = _case(index, question, frozenset(seqs[id] for id in question.evidence), similarities)
        yield replace(found, conversation=conversation.name)


def _case(index: Index, asked: Asked, evidence: frozenset[int], similarities: Similarities | None) -> Case:
    question = AnalyzedQuery.of(asked.text)
    matching = index.matching(question)
    cosines: Mapping[tuple[int, int], tuple[float, float]] = {}
    by_cosine: list[int] = []
    if similarities:
        near = similarities.near(asked.text)
        if not matching.is_whole:
            matching = index.with_near(matching, question, near.nearest)
        read = {(row.seq, row.ordinal) for row in matching.rows}
        cosines = {place: both for place, both in near.cosines.items() if place in read}
        best = sorted(near.cosines.items(), key=lambda item: -item[1][0])
        by_cosine = list(dict.fromkeys(seq for (seq, _), _ in best))[:FIRST]
    candidates = at_once(Candidates.read(question, matching, cosines))
    order = sorted(range(len(candidates.rows)), key=lambda at: (candidates.rows[at].seq, candidates.rows[at].ordinal))
    columns = [at_once(feature(name, candidates)) for name in NAMES]
    features = np.array(columns, dtype=np.float64).reshape(len(NAMES), -1).T[order]
    if asks_nothing(asked.text):
        features = features[:0]
    scored = sorted((-score, candidates.rows[at].seq) for at, score in enumerate(candidates.bm25) if score > 0)
    return Case(
        conversation="",
        kind=asked.kind,
        profile=chosen_profile(matching.rows),
        features=features,
        seqs=np.array([candidates.rows[at].seq for at in order]),
        evidence=evidence,
        by_bm25=list(dict.fromkeys(seq for _, seq in scored))[:FIRST],
        by_cosine=by_cosine,
        scope=Evidence.of(candidates),
    )


def recall(case: Case, ranking: Sequence[int], places: int) -> float:
    """Return the share of the evidence among the first messages."""
    return len(case.evidence.intersection(ranking[:places])) / len(case.evidence)


def interval(values: Sequence[float], *, samples: int = 1_000) -> float:
    """Return half the width of the bootstrap interval of 95 % of a mean."""
    if not values:
        return math.nan
    source = np.random.default_rng(1)
    drawn = source.choice(np.array(values), size=(samples, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(high - low) / 2
