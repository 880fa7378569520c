"""Two sources of the company that an operator would install: its customers, and its tickets.

Each searches by words, as such systems do, and scores in its own way: the customers between 0 and 1, the tickets by
points that go into the thousands.
"""

from __future__ import annotations

import os

from context_service.query.providers import Answered, Asked, Hit, ProviderInfo
from context_service.retrieval.terms import asked_terms, terms_of
from service_runtime.auth import Principal
from tests.bench.company.generated import CRM, TICKETS, Fact, company

SEED_VARIABLE, CUSTOMERS_VARIABLE = "COMPANY_SEED", "COMPANY_CUSTOMERS"


class _Rows:
    """Finds rows of a system, those first that have most words of a question."""

    source = name = ""
    points = 1.0

    def __init__(self) -> None:
        made = company(int(os.environ[SEED_VARIABLE]), customers=int(os.environ[CUSTOMERS_VARIABLE]))
        self._rows = [one for one in made.facts if one.source == self.source]
        self._terms = [frozenset(terms_of(one.text)) for one in self._rows]

    @property
    def info(self) -> ProviderInfo:
        """What it is."""
        return ProviderInfo(id=self.source, family="external", display_name=self.name)

    async def search(self, asked: Asked, principal: Principal) -> Answered:
        """Return the rows that share a word with the question."""
        words = frozenset(asked_terms(asked.query))
        shares = [len(words & terms) / max(len(words), 1) for terms in self._terms]
        order = sorted((place for place, share in enumerate(shares) if share), key=lambda place: -shares[place])
        return Answered(
            hits=[self._hit(place, self._rows[place], shares[place]) for place in order[: asked.limit]], mode="words"
        )

    def _hit(self, place: int, row: Fact, share: float) -> Hit:
        return Hit(
            source_id=str(place), title=row.about, snippet=row.text, score=self.points * share, as_of=row.said_at
        )


class Customers(_Rows):
    """The customers."""

    source, name = CRM, "Customers"


class Tickets(_Rows):
    """The tickets."""

    source, name, points = TICKETS, "Tickets", 1_234.0
