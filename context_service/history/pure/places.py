"""The order of nodes by a mapping: by a value of each, with groups standing together."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from context_service.kernel.cel import Timestamp
from service_runtime.rpc.calls import give_way

_T = TypeVar("_T")
OrderKey = tuple[Any, ...]
Group = tuple[str, ...]  # from the outermost group to the innermost

_CHARS_MAX = 512  # characters of a key; all keys are in memory until the nodes are sorted
_GROUPS_MAX = 100  # groups in groups, as many as a walk has levels
_AT_ONCE = 2048  # rows, between two turns of the loop: some ms


class Place(NamedTuple):
    """The place of a node in the order of its mapping."""

    key: OrderKey | None  # None: it has no value to order by, and comes last
    group: Group = ()  # empty: it is in no group


async def in_order(rows: Sequence[tuple[Place, _T]], *, descending: bool) -> list[_T]:
    """Return values by their places: sorted by key, and each group where its first value stands.

    Values without a key come last, in their given order.
    """
    ordered = await sorted_by_key([(place.key, (place.group, value)) for place, value in rows], descending=descending)
    if not any(group for group, _ in ordered):
        return [value for _, value in ordered]
    firsts: dict[Group, int] = {}  # of each group, the number of its first value
    keyed: list[tuple[OrderKey | None, _T]] = []
    for number, (group, value) in enumerate(ordered):
        outer = [firsts.setdefault(group[:depth], number) for depth in range(1, len(group) + 1)]
        keyed.append(((*outer, number), value))
        if number % _AT_ONCE == 0:
            await give_way()
    return await sorted_by_key(keyed, descending=False)


def order_key(value: object) -> OrderKey | None:
    """Return a sort key: numbers before texts before times. None for a value without an order."""
    match value:
        case bool():
            return None
        case int() | float():
            return None if math.isnan(value) else (0, value)
        case str():
            return 1, value[:_CHARS_MAX]
        case datetime() | Timestamp():
            return 2, Timestamp.of(value).ns
        case _:
            return None


def group_of(value: object) -> Group:
    """Return the group that a value names: a text, an integer, or a list of them. Empty for any other value."""
    names = value if isinstance(value, list) else [None if value == "" else value]
    if len(names) > _GROUPS_MAX or not all(
        isinstance(name, str | int) and not isinstance(name, bool) for name in names
    ):
        return ()
    return tuple(map(_group_name, names))


def _group_name(name: str | int) -> str:
    """Return a name that no other value has; it is short, but as different as the whole."""
    text = f"{type(name).__name__[0]}{name}"
    return text if len(text) <= _CHARS_MAX else sha256(text.encode()).hexdigest()


async def sorted_by_key(rows: Sequence[tuple[OrderKey | None, _T]], *, descending: bool) -> list[_T]:
    """Return values with keys, sorted by them, then values without keys in their given order.

    Rows are sorted in small groups and then merged, so that the event loop never waits for a long sort.
    """
    with_key = [pair for pair in rows if pair[0] is not None]
    runs = []
    for start in range(0, len(with_key), _AT_ONCE):
        runs.append(sorted(with_key[start : start + _AT_ONCE], key=_key_of_pair, reverse=descending))
        await give_way()
    ordered: list[_T] = []
    for _, row in heapq.merge(*runs, key=_key_of_pair, reverse=descending):
        ordered.append(row)
        if len(ordered) % _AT_ONCE == 0:
            await give_way()
    return ordered + [row for key, row in rows if key is None]


_key_of_pair: Callable[[tuple[Any, Any]], Any] = itemgetter(0)
