"""Sources of the company that are other systems: its customers and tickets, installed, and its catalogue, a tool.

Each searches by words, as such systems do, and scores in its own way: the customers between 0 and 1, the tickets by
points that go into the thousands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from bench.company.generated import CATALOGUE, CRM, TICKETS, Company, Fact, company
from context_service.query.providers import Answered, Hit, ProviderInfo, ProviderQuery
from context_service.retrieval.pure.terms import asked_terms, findable_terms
from service_runtime.rpc.principal import Principal

SEED_VARIABLE, CUSTOMERS_VARIABLE = "COMPANY_SEED", "COMPANY_CUSTOMERS"


class _Rows:
    """Rows of a system.

    Args:
        made: The generated company; it has the facts.
        source: Name of the system whose rows these are.
    """

    def __init__(self, made: Company, source: str) -> None:
        self._rows = [fact for fact in made.facts if fact.source == source]
        self._terms = [frozenset(findable_terms(row.text)) for row in self._rows]

    def found(self, query: str, limit: int) -> Sequence[tuple[int, Fact, float]]:
        """Return the rows that share words with a question, those with most of them first: place, row, share."""
        words = frozenset(asked_terms(query))
        shares = [len(words & terms) / max(len(words), 1) for terms in self._terms]
        order = sorted((place for place, share in enumerate(shares) if share), key=lambda place: -shares[place])
        return [(place, self._rows[place], shares[place]) for place in order[:limit]]


def catalogue(made: Company, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of the catalogue's tool."""
    found = _Rows(made, CATALOGUE).found(arguments["query"], arguments["limit"])
    return {
        "results": [
            {"id": str(place), "title": row.about, "snippet": row.text, "score": share} for place, row, share in found
        ]
    }


class _Installed:
    """A system of the company, as a provider of context query."""

    source = name = ""
    points = 1.0

    def __init__(self) -> None:
        made = company(int(os.environ[SEED_VARIABLE]), customers=int(os.environ[CUSTOMERS_VARIABLE]))
        self._rows = _Rows(made, self.source)

    @property
    def info(self) -> ProviderInfo:
        """The provider's id, family and name."""
        return ProviderInfo(id=self.source, family="external", display_name=self.name)

    async def search(self, asked: ProviderQuery, principal: Principal) -> Answered:
        """Return the rows that share a word with the question."""
        hits = [self._hit(*item) for item in self._rows.found(asked.query, asked.limit)]
        return Answered(hits=hits, mode="words")

    def _hit(self, place: int, row: Fact, share: float) -> Hit:
        return Hit(
            source_id=str(place), title=row.about, snippet=row.text, score=self.points * share, as_of=row.said_at
        )


class Customers(_Installed):
    """The customers of the company, as a system that is installed as a provider."""

    source, name = CRM, "Customers"


class Tickets(_Installed):
    """The tickets of the company, as a system that is installed as a provider."""

    source, name, points = TICKETS, "Tickets", 1_234.0
