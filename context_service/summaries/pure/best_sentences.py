"""Selects sentences that together tell the most about a user, within a number of tokens.

Later questions are unknown, so a sentence counts by the rare words that it adds to those that are chosen already:
names, places and things, each for the room that it needs. Questions count as statements do: "Which train gets me to my
sister in Lyon?" tells as much. A newer sentence counts a little more than an older one. The age is measured from the
newest sentence, so the choice stays while there are no new messages.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from service_runtime.inputs.documents import check_wanted

TERMS_MIN = 3  # a sentence with fewer words tells too little by itself
_HALF_LIFE = timedelta(days=1_500)
_SAID_AGAIN = 0.5  # a word counts for this share of its weight each further time
_LEFT_MIN = 12  # with fewer tokens left, no sentence fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A sentence that may be chosen.

    Attributes:
        terms: Its analyzed words.
        message: The message that it is from: words count as rare by the number of messages that have them.
        group: The sentences that share a heading.
        said_at: The time of the message.
        tokens: The tokens of its line.
        heading_tokens: The tokens of the heading that the first chosen sentence of the group needs.
    """

    terms: frozenset[str]
    message: Hashable
    group: Hashable
    said_at: datetime
    tokens: int
    heading_tokens: int


def best_sentences(
    candidates: Sequence[Candidate], *, tokens_max: int, known: Collection[frozenset[str]] = ()
) -> list[int]:
    """Return the indexes of the sentences to show, in their order.

    Args:
        candidates: The sentences.
        tokens_max: The tokens of all their lines and headings together.
        known: The words of texts that are shown anyway.
    """
    return sorted(_Selection(candidates, known).chosen(tokens_max))


class _Selection:
    """A greedy choice: always the sentence that adds the most weight for each token."""

    def __init__(self, candidates: Sequence[Candidate], known: Collection[frozenset[str]]) -> None:
        self._candidates = candidates
        self._weights = _weights(candidates)
        self._often = Counter(term for terms in known for term in terms)
        self._headed: set[Hashable] = set()
        self._of_sentence = _sentence_weights(candidates)

    def chosen(self, tokens_max: int) -> list[int]:
        """Return the indexes of the chosen sentences, the best first."""
        groups: dict[Hashable, list[int]] = {}
        for number, candidate in enumerate(self._candidates):
            groups.setdefault(candidate.group, []).append(number)
        # A worth in the heap may be out of date. Words that were chosen since make it too high, so it is computed again
        # when it comes up; a heading that was chosen since makes it too low, so its group is entered again.
        heap = [(-self._worth(number), number) for number in range(len(self._candidates))]
        heapq.heapify(heap)
        chosen: dict[int, None] = {}
        while heap and tokens_max >= _LEFT_MIN:
            check_wanted()
            entered, number = heapq.heappop(heap)
            if number in chosen or self._cost(number) > tokens_max:
                continue
            worth = -self._worth(number)
            if heap and heap[0] < (worth, number) and worth > entered:
                heapq.heappush(heap, (worth, number))
                continue
            candidate = self._candidates[number]
            tokens_max -= self._cost(number)
            chosen[number] = None
            self._often.update(candidate.terms)
            if candidate.group not in self._headed:
                self._headed.add(candidate.group)
                for other in groups[candidate.group]:
                    heapq.heappush(heap, (-self._worth(other), other))
        return list(chosen)

    def _cost(self, number: int) -> int:
        candidate = self._candidates[number]
        return candidate.tokens + (0 if candidate.group in self._headed else candidate.heading_tokens)

    def _worth(self, number: int) -> float:
        """Return what a sentence adds for each token."""
        candidate = self._candidates[number]
        added = sum(self._weights[term] * _SAID_AGAIN ** self._often[term] for term in sorted(candidate.terms))
        return self._of_sentence[number] * added / self._cost(number)


def _weights(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return the weight of each word: the fewer messages have it, the more it tells."""
    messages: dict[str, set[Hashable]] = {}
    for candidate in candidates:
        for term in candidate.terms:
            messages.setdefault(term, set()).add(candidate.message)
    count = len({candidate.message for candidate in candidates})
    return {term: math.log(1 + count / len(having)) for term, having in messages.items()}


def _sentence_weights(candidates: Sequence[Candidate]) -> list[float]:
    """Return the weight of each sentence by its age."""
    newest = max((candidate.said_at for candidate in candidates), default=None)
    return [0.5 ** ((newest - candidate.said_at) / _HALF_LIFE) for candidate in candidates if newest is not None]
