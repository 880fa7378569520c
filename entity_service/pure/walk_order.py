"""The order of the nodes of a walk, and the positions in it where pages end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Context
from typing import Any, NamedTuple

from entity_service.model.walks import PAGE_ROWS_MAX, Walk

Key = Sequence[Any]  # a position in the order: (created_at, seq), after kind and value with an order path

Steps = dict[str, tuple[str, str]]  # for each visited node: the edge that led to it, and the node that edge came from

NUMBER, TEXT, _OTHER, _NONE = range(4)  # kinds of order values, in their order

DIGITS = Context(prec=40)

_TEXT_CHARS_MAX = 256


class Hit(NamedTuple):
    """A visited node that the walk returns; its sort key comes first."""

    kind: int  # kind of the order value: `NUMBER`, `TEXT`, `_OTHER` or `_NONE`
    value: Any  # the order value: a Decimal, a str, or 0 for the other kinds
    created_at: int
    seq: int
    id: str
    depth: int
    edge_id: str | None
    near_id: str | None


def hit_of(row: Any, *, depth: int, edge_id: str | None, near_id: str | None) -> Hit:
    """Return a visited node as the walk sorts it, from a row of `LEVEL` or `STARTS`."""
    kind, value = _order_value(row[4], row[5])
    return Hit(kind, value, row[1], row[2], row[0], depth, edge_id, near_id)


def _order_value(json_type: str | None, text: str | None) -> tuple[int, Any]:
    """Return the kind and the comparable value of the document's value at the order path.

    Numbers compare by their first 40 digits and texts by their first 256 characters, so that a page token can hold
    them.
    """
    if json_type is None or text is None:  # JSON null has no text
        return _NONE, 0
    if json_type == "number":
        return NUMBER, DIGITS.create_decimal(text)
    if json_type == "string":
        return TEXT, text[:_TEXT_CHARS_MAX]
    return _OTHER, 0


def hits_after(walk: Walk, hits: list[Hit], key: Sequence[Any]) -> list[Hit]:
    """Return the hits after a key; `hits` must be in the order of the walk."""

    def is_behind(hit: Hit) -> bool:
        if not walk.order_path:
            return comes_before(walk, tuple(key), _hit_at(hit))
        kind, value = key[:2]
        return hit.kind > kind or (hit.kind == kind and comes_before(walk, (value, *key[2:]), _hit_value(hit)))

    return hits[bisect_left(hits, True, key=is_behind) :]


def _hit_at(hit: Hit) -> tuple[int, int]:
    return hit.created_at, hit.seq


def _hit_value(hit: Hit) -> tuple[Any, int, int]:
    return hit.value, hit.created_at, hit.seq


def hit_key(walk: Walk, hit: Hit) -> tuple[Any, ...]:
    """Return the position of a hit in the order of the walk, for a page token."""
    if not walk.order_path:
        return _hit_at(hit)
    value = str(hit.value) if hit.kind == NUMBER else hit.value
    return hit.kind, value, hit.created_at, hit.seq


def comes_before(walk: Walk, key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Say whether a key comes before another in the direction of the walk."""
    return other < key if walk.descending else key < other


def rows_next(rows_max: int, *, looked_at: int, read: int) -> int:
    """Return how many rows the statement of the next page reads.

    If the size of the documents ended the last page, it is a little more than that page had. Otherwise it is twice the
    previous number: if a filter hides most rows, fewer statements with more rows are needed.

    Args:
        rows_max: The number of rows for the last page.
        looked_at: The number of rows that the last statement examined.
        read: The number of rows that fitted into the last page.
    """
    return min(read + read // 8 + 1 if read < looked_at else rows_max * 2, PAGE_ROWS_MAX)


def path_to(node_id: str, steps: Steps) -> list[tuple[str, str]]:
    """Return the edges from the start to a visited node, each with the node that it led to; none for a start node."""
    path = []
    while node_id in steps:
        edge_id, near_id = steps[node_id]
        path.append((edge_id, node_id))
        node_id = near_id
    return path[::-1]
