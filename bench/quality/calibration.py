"""How far scores are off, and what the default threshold of recall costs and saves: by words, in memory.

Scores are compared with the shares of evidence among the first ten passages of all questions, in ten bins (expected
calibration error). Questions without an answer are those of other conversations, and some about things that no corpus
mentions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from bench.quality.conversations import Asked, Conversation
from bench.quality.in_memory import Index
from context_service.retrieval.profiles import profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.calibration import relevant_count
from context_service.retrieval.pure.ranking import ranked
from context_service.retrieval.rules.search import chosen_profile

BINS, FIRST = 10, 10
NEVER_MENTIONED = (
    "What is the capital of France?",
    "Which tyre pressure did the mechanic recommend?",
    "When is the appointment with the glaciologist?",
    "Who won the chess olympiad?",
    "Where did we bury the treasure?",
    "How do I descale the espresso machine?",
    "Which vaccine did the vet give the llama?",
    "What time does the ferry to Gotland leave?",
    "What did I say about my submarine licence?",
    "Did the notary stamp the deed?",
)
HEADER = f"{'':12}{'ECE':>7}{'R@10':>7}{'lost':>7}   at most one item: of others, never mentioned"


@dataclass
class Calibration:
    """The figures of a corpus."""

    scored: list[tuple[float, bool]] = field(default_factory=list)  # the score of a passage, and whether it is evidence
    recall: list[float] = field(default_factory=list)  # share of the evidence among the first ten, of each question
    lost: list[float] = field(default_factory=list)  # share that the threshold removes
    few_of_others: list[bool] = field(default_factory=list)  # at most one item, of each question of others
    few_never: list[bool] = field(default_factory=list)

    @property
    def error(self) -> float:
        """The expected calibration error."""
        bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
        for score, is_evidence in self.scored:
            bins[min(int(score * BINS), BINS - 1)].append((score, is_evidence))
        return sum(
            len(found) / len(self.scored) * abs(fmean(score for score, _ in found) - fmean(hit for _, hit in found))
            for found in bins
            if found
        )

    def line(self, name: str) -> str:
        """Return a row of the table."""
        few_of_others = f"{fmean(self.few_of_others):10.2f}" if self.few_of_others else f"{'':10}"
        return (
            f"{name:12}{self.error:7.3f}{fmean(self.recall):7.3f}{fmean(self.lost):7.3f}   "
            f"{few_of_others}{fmean(self.few_never):12.2f}"
        )


def calibration(conversations: Sequence[Conversation]) -> Calibration:
    """Return the figures of the conversations of a corpus, with the profiles that the service chooses."""
    figures = Calibration()
    for conversation in conversations:
        index = Index(conversation)
        for asked in conversation.asked:
            _add(figures, conversation, asked, _found(index, asked.text))
        others = [asked.text for other in conversations if other is not conversation for asked in other.asked]
        figures.few_of_others += [_is_few(index, text) for text in others[:: len(others) // 100 + 1]]
        figures.few_never += [_is_few(index, text) for text in NEVER_MENTIONED]
    return figures


def _found(index: Index, text: str) -> tuple[list[int], list[float]]:
    """Return the turns and the scores of the passages that a question finds, the best first."""
    question = AnalyzedQuery.of(text)
    matching = index.matching(question)
    found = ranked(question, matching, profile(chosen_profile(matching.rows)), with_features=False)
    return [item.row.seq for item in found], [item.score for item in found]


def _add(figures: Calibration, conversation: Conversation, asked: Asked, found: tuple[list[int], list[float]]) -> None:
    """Add a question to the figures."""
    ids, scores = [conversation.turns[seq].id for seq in found[0]], found[1]
    figures.scored += [(score, id in asked.evidence) for id, score in zip(ids[:FIRST], scores, strict=False)]
    relevant = ids[: relevant_count(scores, None)]
    first, kept = (set(list(dict.fromkeys(some))[:FIRST]) & asked.evidence for some in (ids, relevant))
    figures.recall.append(len(first) / len(asked.evidence))
    figures.lost.append((len(first) - len(kept)) / len(asked.evidence))


def _is_few(index: Index, text: str) -> bool:
    """Say whether a question recalls at most one message by default."""
    seqs, scores = _found(index, text)
    return len(set(seqs[: relevant_count(scores, None)])) <= 1
