"""What is near a question: of a scope that is looked at once, as of one of which all vectors are told."""

from __future__ import annotations

import math
import random

import psycopg
import pytest

from context_service.retrieval.model import PassageScope
from context_service.retrieval.store import nearest as nearest_module
from context_service.retrieval.store.nearest import Nearest
from context_service.retrieval.store.passage_vectors import BESIDE
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import PRINCIPAL, Urls
from tests.context_service.retrieval.test_passages import context, put, said

DIMENSION = 8
PASSAGES = 120
MODEL = "tests"

_VECTOR = """
INSERT INTO context.passage_vector (
    tenant_id, scope_id, scope_kind, context_id, ancestors, seq, ordinal, previous_seq, previous_ordinal,
    previous_cosine, owner_user_id, graph_name, agent_bundle_id, app_id, model, vector
) VALUES (%s, %s, 'context', %s, ARRAY[%s], %s, %s, %s, %s, %s, '', '', '', '', %s, %s::public.halfvec)
"""

Vectors = dict[tuple[int, int], list[float]]


def unit(source: random.Random) -> list[float]:
    vector = [source.gauss(0, 1) for _ in range(DIMENSION)]
    length = math.hypot(*vector)
    return [value / length for value in vector]


def product(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def filled(database: Database, urls: Urls) -> tuple[PassageScope, Vectors]:
    """Return a scope of messages of two passages, ten of a session, with their vectors."""
    scope, source = context(), random.Random(4)
    places = [(seq, ordinal) for seq in range(1, PASSAGES // 2 + 1) for ordinal in (0, 1)]
    await put(database, scope, [said(seq, f"n{seq}", ordinal=ordinal, session=seq // 10) for seq, ordinal in places])
    vectors = {place: unit(source) for place in places}
    with psycopg.connect(urls.superuser) as connection:
        for before, place in zip([None, *places], places, strict=False):
            previous = before if before and before[0] // 10 == place[0] // 10 else None
            between = product(vectors[place], vectors[previous]) if previous else None
            row = (*place, *(previous or (None, None)), between, MODEL, str(vectors[place]))
            connection.execute(_VECTOR, (DEFAULT_TENANT_ID, scope.id, scope.id, scope.id, *row))
    return scope, vectors


async def test_what_is_looked_up_is_what_all_vectors_say(
    database: Database, urls: Urls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(nearest_module, "NEAREST_MAX", 12)
    scope, vectors = await filled(database, urls)
    nearest, source = Nearest(database, model=MODEL, unrelated=0.0), random.Random(9)
    for _ in range(5):
        question, asked = unit(source), source.sample(sorted(vectors), 9)
        where = {"principal": PRINCIPAL, "scope": scope, "places": asked, "seq_from": 5, "seq_to": 50}
        every = await nearest.to(question, whole=True, **where)
        some = await nearest.to(question, whole=False, **where)

        assert every.cosines.keys() == vectors.keys()
        assert some.cosines.keys() >= {*asked, *some.nearest}
        for place, cosines in some.cosines.items():
            assert cosines == pytest.approx(every.cosines[place])
        assert every.cosines[1, 1][0] == pytest.approx(product(question, vectors[1, 1]), abs=0.01)
        together = [a + BESIDE * b for a, b in zip(vectors[1, 1], vectors[1, 0], strict=True)]
        assert every.cosines[1, 1][1] == pytest.approx(product(question, together) / math.hypot(*together), abs=0.01)

        # The nearest by themselves, and with what was said before them, of those and what was said behind.
        inside = [place for place in vectors if 5 <= place[0] <= 50]
        best = sorted(inside, key=lambda place: -every.cosines[place][0])
        assert some.nearest >= {place for place in best[:6] if every.cosines[place][0] > 0}
        near = set(best[:12])
        order = sorted(vectors)
        behind = {order[order.index(place) + 1] for place in near if place != order[-1]}
        assert {*asked, *near} <= some.cosines.keys() <= {*asked, *near, *behind}
