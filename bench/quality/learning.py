"""Weights of features learned from questions and their evidence, in plain Python.

Listwise: the scores of a question's candidates are made shares by softmax, and evidence should have them all, in equal
parts. L2 keeps weights small where a feature tells little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.quality.conversations import Conversation
from bench.quality.in_memory import Index, columns
from context_service.retrieval.profiles import Profile

L2 = 3e-3
NEGATIVES = 60  # of a question: the best by the profile that learning begins with
ROUNDS = 120
STEP, MOMENTUM, SMOOTHING = 0.15, 0.9, 0.99


@dataclass(frozen=True)
class Example:
    """A question: the features of candidates, and which of them are evidence."""

    features: Sequence[Sequence[float]]
    evidence: Sequence[bool]
    weight: float


def examples(
    conversation: Conversation, features: Sequence[str], start: Profile, *, weight: float = 1.0
) -> list[Example]:
    """Return the training data; questions whose evidence is not among the candidates are left out."""
    index = Index(conversation)
    found = []
    for asked in conversation.asked:
        seqs, values = columns(index, asked.text, dict.fromkeys([*features, *start.words]))
        evidence = [conversation.turns[seq].id in asked.evidence for seq in seqs]
        if not any(evidence):
            continue
        scores = [sum(by * values[name][item] for name, by in start.words.items()) for item in range(len(seqs))]
        hard = sorted(range(len(seqs)), key=lambda one: -scores[one])[:NEGATIVES]
        kept = sorted({*hard, *(item for item, is_evidence in enumerate(evidence) if is_evidence)})
        found.append(
            Example(
                [[values[name][item] for name in features] for item in kept], [evidence[item] for item in kept], weight
            )
        )
    return found


def learned(examples: Sequence[Example], features: Sequence[str], start: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that fit the examples best (Adam, the whole batch each round)."""
    weights = [start.get(name, 0.0) for name in features]
    count, total = len(features), sum(example.weight for example in examples)
    speed, square = [0.0] * count, [0.0] * count
    for round_number in range(1, ROUNDS + 1):
        gradient = [2 * L2 * weight for weight in weights]
        for example in examples:
            scores = [sum(map(float.__mul__, weights, row)) for row in example.features]
            most = max(scores)
            shares = [math.exp(score - most) for score in scores]
            whole, each = sum(shares), 1 / sum(example.evidence)
            for share, is_evidence, row in zip(shares, example.evidence, example.features, strict=True):
                wrong = (share / whole - (each if is_evidence else 0.0)) * example.weight / total
                if abs(wrong) > 1e-7:
                    for feature in range(count):
                        gradient[feature] += wrong * row[feature]
        for feature in range(count):
            speed[feature] = MOMENTUM * speed[feature] + (1 - MOMENTUM) * gradient[feature]
            square[feature] = SMOOTHING * square[feature] + (1 - SMOOTHING) * gradient[feature] ** 2
            steep = math.sqrt(square[feature] / (1 - SMOOTHING**round_number)) + 1e-9
            weights[feature] -= STEP * speed[feature] / (1 - MOMENTUM**round_number) / steep
    return dict(zip(features, weights, strict=True))
