"""How the nodes of a large walk are put in order: as `sorted` does, and without holding up other calls."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal

import pytest

from entity_service.model.edges import Direction
from entity_service.model.walks import Walk
from entity_service.pure.walk_order import Hit
from entity_service.rules.traverse import _AT_ONCE, _sort

WALK = Walk(
    start_ids=["a"],
    edge_types=[],
    direction=Direction.OUT,
    depth_max=3,
    node_types=[],
    include_archived=False,
    include_start=False,
    include_io=False,
    columns=(),
    order_path=["n"],
    descending=False,
    limit=0,
    after=None,
    page_token="",
    node_budget=100_000,
)


def hits(count: int) -> list[Hit]:
    """Return hits of all kinds, many with equal values and times, in no order; `seq` alone is of each its own."""
    chance = random.Random(count)
    made = []
    for seq in chance.sample(range(10 * count), count):
        value: object
        kind, value = chance.choice([(0, Decimal(chance.randrange(100))), (1, chance.choice("abc")), (2, 0), (3, 0)])
        made.append(Hit(kind, value, chance.randrange(50), seq, str(seq), 1, None, None))
    return made


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("count", [0, 1, 500, 4 * _AT_ONCE, 11 * _AT_ONCE + 7])
async def test_hits_are_in_the_order_of_kind_then_value_then_time(count: int, descending: bool):
    found = hits(count)

    ordered = await _sort(replace(WALK, descending=descending), found)

    of_kinds = [sorted((hit for hit in found if hit.kind == kind), reverse=descending) for kind in range(4)]
    assert ordered == [hit for kind in of_kinds for hit in kind]


async def test_others_have_their_turn_while_many_hits_are_sorted():
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    calls = asyncio.create_task(other())
    await _sort(WALK, hits(8 * _AT_ONCE))
    calls.cancel()
    with suppress(asyncio.CancelledError):
        await calls

    assert turns > 8
