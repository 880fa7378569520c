"""`make bench-query`: whether the right source comes first, of one question to every source of a company.

`python -m bench.company [--seeds 3] [--customers 30] [--save]`. Ours through the running services, by words
alone, and, where it is installed, with the local model, compared with: the sources' own scores merged, reciprocal
rank fusion, and each source alone. The target: ahead of each of them by .05 of R@1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from bench.company.filled import Filled, filled
from bench.company.generated import CATALOGUE, CUSTOMERS, SOURCES, TOOL, Question, company
from bench.company.installed import CUSTOMERS_VARIABLE, SEED_VARIABLE, Customers, Tickets, catalogue
from bench.company.rivals import Listed, Merge, alone, by_raw_scores, by_reciprocal_ranks
from bench.document import save
from bench.quality.__main__ import Both
from context_service.commands import dev
from context_service.kernel.llm.local import PACKAGES
from contextkeep import ContextClient, EntityClient
from contextkeep.values import QueriedContext
from tests.fakes.context_providers import written_package
from tests.fakes.mcp_server import FakeTool, fake_mcp

AHEAD_MIN = 0.05
SHOWN = 20
OURS = "one scorer (ours)"
RIVALS: dict[str, Merge] = {
    "own scores merged": by_raw_scores,
    "reciprocal rank fusion": by_reciprocal_ranks,
    **{f"{'catalogue' if source == CATALOGUE else source} alone": alone(source) for source in SOURCES},
}


@dataclass(kw_only=True)
class Figures:
    """The counts of one way of merging."""

    first: Counter[str] = field(default_factory=Counter)  # questions whose first hit is right, by kind
    in_five: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)

    def add(self, question: Question, texts: Sequence[str]) -> None:
        """Count one answer; its texts are in the order of the hits."""
        self.asked[question.kind] += 1
        right = [any(answer.text in text for answer in question.answers) for text in texts[:5]]
        self.first[question.kind] += any(right[:1])
        self.in_five[question.kind] += any(right)

    def share(self, counted: Counter[str]) -> float:
        """Return the share of all questions."""
        return counted.total() / max(self.asked.total(), 1)


@dataclass(kw_only=True)
class Told:
    """Further counts of our own answers."""

    tokens: list[int] = field(default_factory=list)
    of_two: int = 0  # facts that two sources have
    twice: int = 0  # those of them that are shown as two hits
    both_found: int = 0  # contradictions whose sides were both found by their sources
    merged: int = 0  # those of them that became one hit
    cut: int = 0  # those with a side after the limit


def main() -> None:
    """Measure, print; exit with 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--customers", type=int, default=CUSTOMERS)
    parser.add_argument("--words", action="store_true", help="leave the local model out")
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    printed, missed = StringIO(), []
    with redirect_stdout(Both(sys.stdout, printed)):
        models: dict[str, dict[str, str]] = {"words": {}} | (
            {"the local model": _LOCAL} if all(map(find_spec, PACKAGES)) and not asked.words else {}
        )
        for by, environment in models.items():
            missed += measured(by, environment, seeds=asked.seeds, customers=asked.customers)
    if asked.save:
        save("bench-query", printed.getvalue().strip("\n").splitlines())
    if missed:
        sys.exit(f"not ahead by {AHEAD_MIN}: {', '.join(missed)}")


_LOCAL = {"EMBEDDING_PROVIDER": "local", "EMBEDDING_INTERVAL_S": "0.1"}


def measured(by: str, environment: Mapping[str, str], *, seeds: int, customers: int) -> list[str]:
    """Print the figures of some companies, and return the rivals that we do not beat."""
    figures = {name: Figures() for name in [OURS, *RIVALS]}
    told = Told()
    for seed in range(1, seeds + 1):
        made = company(seed, customers=customers)
        with fake_mcp() as server, asking(seed, customers, environment) as (client, graph):
            server.tools = {TOOL: FakeTool(answer=partial(catalogue, made))}
            there = filled(client, graph, made, server.url)
            for question in made.questions:
                asked_one(client, there, question, figures, told)
    total = figures[OURS].asked
    print(f"\nby {by}: {seeds} companies of {customers} customers, {total.total():,} questions")
    kinds = sorted(total)
    print(f"{'':24}{'R@1':>8}{'R@5':>8}" + "".join(f"{kind + ' @1':>14}" for kind in kinds))
    for name, one in figures.items():
        shares = "".join(f"{one.first[kind] / total[kind]:14.3f}" for kind in kinds)
        print(f"{name:24}{one.share(one.first):8.3f}{one.share(one.in_five):8.3f}{shares}", flush=True)
    print(f"of {told.of_two} facts of two sources {told.twice} were shown twice")
    print(
        f"of {told.both_found} contradictions whose sides were both found {told.merged} became one, "
        f"and {told.cut} have one after the limit"
    )
    print(f"{statistics.fmean(told.tokens):,.0f} tokens a question")
    ours = figures[OURS].share(figures[OURS].first)
    return [f"{name} by {by}" for name in RIVALS if ours < figures[name].share(figures[name].first) + AHEAD_MIN]


def asked_one(
    client: ContextClient, there: Filled, question: Question, figures: Mapping[str, Figures], told: Told
) -> None:
    """Ask one question in our way, and each source alone, for the other ways to merge."""
    found = client.query.ask(
        question.text,
        limit=SHOWN,
        tokens_max=4_000,
        provider_ids=SOURCES,
        context_ids=there.context_ids,
        explain=True,
        subject_user_id=there.user_id,
    )
    figures[OURS].add(question, [hit.snippet for hit in found.hits])
    lists = {source: _listed(client, there, question, source) for source in SOURCES}
    for name, merge in RIVALS.items():
        figures[name].add(question, merge(lists))
    told.tokens.append(found.prompt_tokens)
    if question.planted == "twice":
        told.of_two += 1
        told.twice += sum(question.answers[0].text in hit.snippet for hit in found.hits) > 1
    if question.planted == "against":
        became = {hit.ref: hit.shown_in for hits in found.explained.values() for hit in hits}
        sides = [_refs(lists.get(fact.source, ()), fact.text) & became.keys() for fact in question.answers]
        if all(sides):
            told.both_found += 1
            shown = [{became[ref] for ref in refs} - {""} for refs in sides]
            told.merged += bool(shown[0] & shown[1])
            told.cut += not all(shown)


def _refs(hits: Sequence[Listed], text: str) -> set[str]:
    return {hit.ref for hit in hits if text in hit.text}


def _listed(client: ContextClient, there: Filled, question: Question, source: str) -> list[Listed]:
    """Return the hits of one source for a question, in the source's order and with its own scores."""
    found: QueriedContext = client.query.ask(
        question.text,
        limit=SHOWN,
        provider_ids=[source],
        context_ids=there.context_ids if source == "context" else (),
        explain=True,
        subject_user_id=there.user_id,
    )
    texts = {item.ref: hit.snippet for hit in found.hits for item in hit.sources}
    return [
        Listed(ref=item.ref, place=item.place, own_score=item.own_score or 0.0, text=texts[item.ref])
        for item in found.explained.get(source, ())
        if item.ref in texts
    ]


@contextmanager
def asking(seed: int, customers: int, environment: Mapping[str, str]) -> Iterator[tuple[ContextClient, EntityClient]]:
    """Run the services with the company's own providers for the block; yield a client of each service."""
    before = dict(os.environ)
    try:
        with tempfile.TemporaryDirectory() as name:
            values = [f"{item.__module__}:{item.__name__}" for item in (Customers, Tickets)]
            packages = written_package(Path(name) / "packages", values)
            os.environ.update(environment)
            os.environ["PYTHONPATH"] = os.pathsep.join([str(packages), str(Path.cwd())])
            os.environ |= {SEED_VARIABLE: str(seed), CUSTOMERS_VARIABLE: str(customers)}
            os.environ["MCP_SERVERS_ALLOWED"] = '["127.0.0.1"]'
            with (
                dev.stack(Path(name), keep=False) as stack,
                ContextClient(stack.context_address, timeout_s=60) as client,
                EntityClient(stack.entity_address, timeout_s=60) as graph,
            ):
                yield client, graph
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    main()
