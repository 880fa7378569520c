"""How ranking travels: weights and calibrations that are learned on all corpora but one, measured on that one.

`python -m bench.quality.held_out [--locomo FOLDER] [--beam FOLDER] [--with-model] [--quick] [--cache FOLDER]` prints
for each corpus the recall of BM25, of the cosine and of their rank fusion, of the profiles of the service, and of
weights learned without it; what each feature adds; and how far scores are off. Everything is computed in memory, so
that a run needs no services.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from bench.quality.cases import NAMES, Case, cases, interval, recall, vector
from bench.quality.corpora import BY_MEANING_ONLY, corpora, with_few_passages
from context_service.retrieval.profiles import CONVERSATION, DEFAULT, Profile, profile
from context_service.retrieval.pure.calibration import PARAMETERS, SIZE, Evidence, probabilities, relevant_count

L2 = 3e-3
NEGATIVES = 60  # candidates of a question that are learned from: the best by the profile of the service
ROUNDS, ROUNDS_AGAIN = 120, 40  # of learning; from other weights on
STEP, MOMENTUM, SMOOTHING = 0.15, 0.9, 0.99
# What a corpus whose speakers ask for another profile counts: people among themselves, or talk with an assistant.
OF_OTHER_PROFILE = 0.5
NEWTON_ROUNDS, RIDGE = 30, 1e-3
THIRDS = 3
BINS, SCORED = 10, 10  # of the calibration error: bins, and passages of a question
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

Matrix = Any  # of numpy
Ranking = Callable[[Case], Sequence[int]]
Corpus = Sequence[Case]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What weights are learned from: candidates of many questions, one after the other."""

    features: Matrix
    starts: Matrix  # the first candidate of each question
    of_question: Matrix  # the question of each candidate
    evidence: Matrix  # the candidates that are evidence
    message: Matrix  # for each of these, the number of its message
    share: Matrix  # for each message, what it counts


def lesson(of: Mapping[str, Corpus], profile_name: str) -> Lesson:
    """Return what weights of a profile are learned from; each corpus counts the same, whatever its size."""
    start = vector(_weights(profile(profile_name), of))
    features: list[Matrix] = []
    starts: list[int] = []
    of_question, evidence, message = list[int](), list[int](), list[int]()
    share: list[float] = []
    count = 0
    for corpus in of.values():
        answered = [case for case in corpus if case.evidence.intersection(case.seqs.tolist())]
        for case in answered:
            is_evidence = np.isin(case.seqs, list(case.evidence))
            kept = np.unique([*np.argsort(-(case.features @ start))[:NEGATIVES], *np.flatnonzero(is_evidence)])
            numbers: dict[int, int] = {}
            for at in np.flatnonzero(is_evidence[kept]):
                seq = int(case.seqs[kept[at]])
                evidence.append(count + int(at))
                message.append(numbers.setdefault(seq, len(share) + len(numbers)))
            counts = 1.0 if case.profile == profile_name else OF_OTHER_PROFILE
            share += [counts / len(answered) / len(numbers)] * len(numbers)
            of_question += [len(starts)] * len(kept)
            starts.append(count)
            features.append(case.features[kept])
            count += len(kept)
    return Lesson(
        features=np.concatenate(features),
        starts=np.array(starts),
        of_question=np.array(of_question),
        evidence=np.array(evidence),
        message=np.array(message),
        share=np.array(share) / sum(share),
    )


def learned(of: Lesson, names: Iterable[str], start: Matrix | None = None) -> Matrix:
    """Return weights of some features: each message of the evidence should have its share of the softmax (Adam).

    Args:
        of: The questions to learn from.
        names: The features; all others have no weight.
        start: Weights that are nearly right; None begins with none.
    """
    columns = [NAMES.index(name) for name in names]
    features = of.features[:, columns]
    weights = np.zeros(len(columns)) if start is None else start[columns].copy()
    speed, square = np.zeros(len(columns)), np.zeros(len(columns))
    of_each = np.zeros(len(of.starts))
    np.add.at(of_each, of.of_question[of.evidence[np.unique(of.message, return_index=True)[1]]], of.share)
    for number in range(1, (ROUNDS if start is None else ROUNDS_AGAIN) + 1):
        scores = features @ weights
        shares = np.exp(scores - np.maximum.reduceat(scores, of.starts)[of.of_question])
        shares /= np.add.reduceat(shares, of.starts)[of.of_question]
        wrong = shares * of_each[of.of_question]
        found = shares[of.evidence] + 1e-12
        together = np.bincount(of.message, found)
        np.add.at(wrong, of.evidence, -found / together[of.message] * of.share[of.message])
        gradient = features.T @ wrong + 2 * L2 * weights / len(columns)
        speed = MOMENTUM * speed + (1 - MOMENTUM) * gradient
        square = SMOOTHING * square + (1 - SMOOTHING) * gradient**2
        steep = np.sqrt(square / (1 - SMOOTHING**number)) + 1e-9
        weights -= STEP * speed / (1 - MOMENTUM**number) / steep
    return vector(dict(zip([NAMES[column] for column in columns], weights.tolist(), strict=True)))


def left_out(all_of: Mapping[str, Corpus], name: str) -> dict[str, Corpus]:
    """Return the corpora that weights for a corpus may be learned on; the sizes of office talk are one corpus."""
    family = name.split(",")[0]
    return {other: corpus for other, corpus in all_of.items() if other.split(",")[0] != family}


def _has_model(of: Mapping[str, Corpus]) -> bool:
    return any(case.by_cosine for corpus in of.values() for case in corpus)


def _weights(of_profile: Profile, of: Mapping[str, Corpus]) -> Mapping[str, float]:
    return of_profile.with_meaning if _has_model(of) else of_profile.words


def profiles_without(
    all_of: Mapping[str, Corpus], name: str, without: str = "", start: Mapping[str, Matrix] | None = None
) -> dict[str, Matrix]:
    """Return the weights of each profile's features, learned without a corpus and perhaps without a feature.

    Args:
        all_of: All corpora.
        name: The corpus that is left out; empty for none.
        without: The feature that is left out; empty for none.
        start: Weights to begin with; None begins with none.
    """
    others = left_out(all_of, name)
    found = {}
    for profile_name in {case.profile for case in all_of.get(name, ())} or (DEFAULT, CONVERSATION):
        names = [feature for feature in _weights(profile(profile_name), others) if feature != without]
        found[profile_name] = learned(lesson(others, profile_name), names, start and start[profile_name])
    return found


def by_thirds(all_of: Mapping[str, Corpus], name: str) -> Ranking | None:
    """Return a ranking by weights that were learned on everything but a third of a corpus, which holds the question.

    Returns:
        None if the corpus has too few conversations.
    """
    conversations = list(dict.fromkeys(case.conversation for case in all_of[name]))
    if len(conversations) < THIRDS:
        return None
    weights: dict[tuple[str, str], Matrix] = {}
    for third in range(THIRDS):
        asked = conversations[third::THIRDS]
        rest = [case for case in all_of[name] if case.conversation not in asked]
        for profile_name, found in profiles_without({**all_of, name: rest}, "").items():
            weights |= dict.fromkeys(((conversation, profile_name) for conversation in asked), found)
    return lambda case: case.ranked(weights[case.conversation, case.profile])


def print_recall(all_of: Mapping[str, Corpus]) -> None:
    """Print R@5 and R@10 of each corpus, with intervals of 95 %."""
    shipped = {name: vector(_weights(profile(name), all_of)) for name in (DEFAULT, CONVERSATION)}
    has_model = _has_model(all_of)
    print(f"\n{'with the local model' if has_model else 'by words':40}{'R@5':>14}{'R@10':>14}")
    for name, corpus in all_of.items():
        answered = [case for case in corpus if case.evidence]
        print(f"{name}: {len(answered):,} questions")
        rankings: dict[str, Ranking] = {"BM25": lambda case: case.by_bm25}
        if has_model:
            rankings |= {"cosine": lambda case: case.by_cosine, "rank fusion": lambda case: case.fused}
        rankings |= {
            **{f"`{one}`": _by(dict.fromkeys(shipped, by)) for one, by in shipped.items()},
            "the profile that the service chooses": _by(shipped),
            "the same features, learned without it": _by(profiles_without(all_of, name)),
        }
        if thirds := by_thirds(all_of, name):
            rankings["learned without a third of it"] = thirds
        for of, ranking in rankings.items():
            print(_line(f"  {of}", answered, ranking), flush=True)
        for kind in sorted({case.kind for case in answered}) if len({case.kind for case in answered}) > 1 else ():
            of_kind = [case for case in answered if case.kind == kind]
            print(_line(f"    {kind}", of_kind, rankings["the profile that the service chooses"]), flush=True)


def _by(weights: Mapping[str, Matrix]) -> Ranking:
    return lambda case: case.ranked(weights[case.profile])


def _line(name: str, answered: Sequence[Case], ranking: Ranking) -> str:
    found = [ranking(case) for case in answered]
    figures = []
    for places in (5, 10):
        values = [recall(case, ranking_of, places) for case, ranking_of in zip(answered, found, strict=True)]
        figures.append(f"{fmean(values):8.3f} ±{interval(values):.3f}")
    return f"{name:40}{''.join(figures)}"


def print_ablation(all_of: Mapping[str, Corpus]) -> None:
    """Print the loss of R@10 on each corpus if a feature is left out and the others are learned again without it."""
    names = dict.fromkeys(name for key in (DEFAULT, CONVERSATION) for name in _weights(profile(key), all_of))
    print(f"\nloss of R@10 without a feature, held out\n{'':12}{''.join(f'{name[:13]:>14}' for name in all_of)}")
    with_all = {name: profiles_without(all_of, name) for name in all_of}
    for feature in names:
        losses = [
            _recall_at_10(corpus, with_all[name])
            - _recall_at_10(corpus, profiles_without(all_of, name, feature, with_all[name]))
            for name, corpus in all_of.items()
        ]
        print(f"{feature:12}{''.join(f'{loss:14.3f}' for loss in losses)}", flush=True)


def _recall_at_10(corpus: Corpus, weights: Mapping[str, Matrix]) -> float:
    return fmean(recall(case, case.ranked(weights[case.profile]), 10) for case in corpus if case.evidence)


# Scores.


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The best passages of a question, with the sums that order them."""

    case: Case
    seqs: Sequence[int]
    sums: Sequence[float]


def scored(corpus: Corpus, weights: Mapping[str, Matrix]) -> list[Scored]:
    """Return the best passages of each question."""
    found = []
    for case in corpus:
        sums = case.features @ weights[case.profile]
        best = np.argsort(-sums, kind="stable")[:100]
        found.append(Scored(case=case, seqs=case.seqs[best].tolist(), sums=sums[best].tolist()))
    return found


def calibrated(of: Iterable[tuple[Scored, float]], *, size: float) -> dict[str, float]:
    """Return the parameters of a calibration that fit the first passages of questions (Newton, logistic).

    Args:
        of: Questions, each with its weight.
        size: The parameter of the size, which is not fitted: all corpora here are large, so it would tell them apart
            instead of large scopes from small ones.
    """
    rows, sizes, right, counts = [], [], [], []
    for question, weight in of:
        scope: Evidence = question.case.scope
        for place, (seq, value) in enumerate(zip(question.seqs[:SCORED], question.sums, strict=False), 1):
            rows.append((1.0, value, -np.log(place), scope.coverage, scope.information))
            sizes.append(size * scope.size)
            right.append(seq in question.case.evidence)
            counts.append(weight)
    x, y, w = np.array(rows), np.array(right, dtype=float), np.array(counts) / sum(counts) * len(counts)
    parameters = np.zeros(x.shape[1])
    for _ in range(NEWTON_ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(x @ parameters + np.array(sizes), -30, 30)))
        gradient = x.T @ (w * (p - y)) + RIDGE * parameters
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(len(parameters))
        parameters -= np.linalg.solve(hessian, gradient)
    return dict(zip(PARAMETERS, [*parameters.tolist(), size], strict=True))


def print_scores(all_of: Mapping[str, Corpus]) -> None:
    """Print how far scores are off, and what the default threshold costs and saves, as shipped and held out."""
    print(f"\n{'scores':40}{'ECE':>7}{'lost':>7}{'others':>8}{'never':>7}   (others, never: at most one item)")
    has_model = _has_model(all_of)
    profiles = {name: profile(name) for name in (DEFAULT, CONVERSATION)}
    weights = {name: vector(_weights(of, all_of)) for name, of in profiles.items()}
    shipped = {name: of.meaning_calibration if has_model else of.words_calibration for name, of in profiles.items()}
    for name, corpus in all_of.items():
        print(f"{name}\n{_scores_line('  as the service does', scored(corpus, weights), shipped)}")
        others, own = left_out(all_of, name), profiles_without(all_of, name)
        fitted = {}
        for chosen, by in own.items():
            shown = [
                (question, (1.0 if question.case.profile == chosen else OF_OTHER_PROFILE) / len(other))
                for other in others.values()
                for question in scored(other, dict.fromkeys((DEFAULT, CONVERSATION), by))
            ]
            fitted[chosen] = calibrated(shown, size=shipped[chosen][SIZE])
        print(_scores_line("  learned without it", scored(corpus, own), fitted), flush=True)


def _scores_line(name: str, found: Sequence[Scored], parameters: Mapping[str, Mapping[str, float]]) -> str:
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    lost, few = [], defaultdict(list)
    for question in found:
        scores = probabilities(parameters[question.case.profile], question.case.scope, question.sums)
        relevant = relevant_count(scores, None, by_meaning=bool(question.case.by_cosine))
        if not question.case.evidence:
            few[question.case.kind].append(len(set(question.seqs[:relevant])) <= 1)
            continue
        for score, seq in zip(scores[:SCORED], question.seqs, strict=False):
            bins[min(int(score * BINS), BINS - 1)].append((score, seq in question.case.evidence))
        first, kept = (list(dict.fromkeys(some))[:10] for some in (question.seqs, question.seqs[:relevant]))
        lost.append(recall(question.case, first, 10) - recall(question.case, kept, 10))
    count = sum(map(len, bins))
    error = sum(
        len(some) / count * abs(fmean(score for score, _ in some) - fmean(hit for _, hit in some))
        for some in bins
        if some
    )
    shares = "".join(f"{fmean(few[kind]):8.2f}" if few[kind] else f"{'':8}" for kind in ("of others", "never"))
    return f"{name:40}{error:7.3f}{fmean(lost):7.3f}{shares}"


def measured(
    locomo: Path | None, beam: Path | None, *, with_model: bool, quick: bool, folder: Path | None
) -> dict[str, Corpus]:
    """Compute the questions of all corpora, and print all tables."""
    all_of: dict[str, Corpus] = {}
    for name, conversations in corpora(locomo, beam, quick=quick).items():
        if with_model or name not in BY_MEANING_ONLY:
            few = with_few_passages(name, conversations) if with_model else conversations
            all_of[name] = cases(name, few, NEVER_MENTIONED, folder=folder, with_model=with_model)
    print_recall(all_of)
    print_scores(all_of)
    if not quick:
        print_ablation(all_of)
    return all_of


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="measure ranking on corpora that it was not learned on")
    parser.add_argument("--locomo", type=Path, help="a folder with conversations of LoCoMo")
    parser.add_argument("--beam", type=Path, help="a folder with conversations of BEAM")
    parser.add_argument("--with-model", action="store_true", help="also compare vectors of the local model")
    parser.add_argument("--quick", action="store_true", help="fewer conversations, and no table of features")
    parser.add_argument("--cache", type=Path, help="a folder that keeps vectors and features for the next run")
    given = parser.parse_args()
    for with_model in (False, True) if given.with_model else (False,):
        measured(given.locomo, given.beam, with_model=with_model, quick=given.quick, folder=given.cache)


if __name__ == "__main__":
    main()
