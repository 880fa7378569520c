"""Walks through the graph: bounded, free of cycles, streamed in pages.

An indexed walk reads the children of one node from an index, in their order, page by page. Any other walk first visits
the nodes level by level, reading only ids and sort keys, then sorts them, and then reads their documents page by page.
In both, a page is one statement, so that no connection and no snapshot waits for a slow reader.

The newest few of two or three levels are visited from the newest end: `edge.newest_below` is an upper bound of the
times below an edge, so the walk skips the rest of a conversation.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from decimal import DecimalException
from itertools import chain
from typing import Any, TypeVar

from contextkeep.errors import InvalidArgument, InvalidPageToken, NodeBudgetExceeded, NodeNotFound
from entity_service.model.edges import Direction
from entity_service.model.times import iso
from entity_service.model.walks import NEWEST_MAX, PAGE_BYTES_MAX, PAGE_ROWS_MAX, ROW_BYTES, Column, Walk, WalkPage
from entity_service.pure.walk_order import (
    DIGITS,
    NUMBER,
    TEXT,
    Hit,
    Key,
    Steps,
    comes_before,
    hit_key,
    hit_of,
    hits_after,
    path_to,
    rows_next,
)
from entity_service.store import walks
from entity_service.store.nodes import id_array
from entity_service.store.walks import LEVEL, STARTS
from service_runtime.background_work import background
from service_runtime.inputs.pages import decode_token, encode_token
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.calls import give_way
from service_runtime.rpc.principal import Principal

_T = TypeVar("_T")

_AT_ONCE = 5000  # nodes of a large walk that are processed before other calls have their turn

_SAMPLES = 20  # samples taken from `_AT_ONCE` sorted nodes


# The two attempts of `_look`, each with three numbers. For each wanted node, the first is the number of children of one
# node to read, and the second the number of edges above them; the third is a number of edges that is added.
_LOOKS = ((1, 8, 160), (8, 64, 160))


class Traversal:
    """Walks through the graphs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def walk(self, principal: Principal, walk: Walk) -> AsyncGenerator[WalkPage, None]:
        """Yield the pages of a walk, at least one; the next page is read while the caller handles the last one.

        Raises:
            NodeNotFound: a start node does not exist.
            InvalidArgument: the start nodes are in several graphs or contexts.
            NodeBudgetExceeded: the walk would visit more nodes than the caller allows. An indexed walk yields the pages
                before.
            InvalidPageToken: the token belongs to another walk.
        """
        tenant = self._database.of(principal)
        key = _decode(tenant, walk)
        if walk.indexed:
            pages = self._children(tenant, walk, key)
        elif walk.newest_few:
            pages = self._newest(tenant, walk, key)
        else:
            pages = self._pages_without_index(tenant, walk, key, walk.limit)
        is_one_page = 1 <= walk.limit <= NEWEST_MAX  # usually; then reading ahead would not help
        async with aclosing(pages if is_one_page else _ahead(pages)) as ready:
            async for page in ready:
                yield page

    async def reached_ids(self, principal: Principal, walk: Walk) -> list[str]:
        """Return the ids of the nodes of a walk, for searches among them; it raises the errors of `walk`."""
        tenant = self._database.of(principal)
        return [hit.id for hit in await self._visit(tenant, walk, await self._starts(tenant, walk), {})]

    async def _children(self, tenant: Tenant, walk: Walk, key: Key | None) -> AsyncGenerator[WalkPage, None]:
        """Yield the children of one node off the index, page by page."""
        after_at, after_seq = _after(walk, key)
        start = await self._start_row(tenant, walk, key) if walk.include_start else None
        statement = walks.children(descending=walk.descending, columns=walk.columns, with_io=walk.include_io)
        key_of = walk.layout.key
        parameters = _filters(tenant, walk) | {
            "start_id": walk.start_ids[0],
            "bytes_max": PAGE_BYTES_MAX,
            "row_bytes": ROW_BYTES,
        }
        remaining, visited, first = walk.limit, 1, True
        last = (0, 0)  # key of the last returned row
        # One row more than wanted shows whether there are more.
        rows_max = min(walk.limit + 1, PAGE_ROWS_MAX) if walk.limit else PAGE_ROWS_MAX
        while True:
            rows = await tenant.query(
                statement, parameters | {"after_at": after_at, "after_seq": after_seq, "rows": rows_max}, named=False
            )
            if not rows and first:
                await self._starts(tenant, walk)  # there are no children: raise an error if there is no such node
            first = False
            complete = not rows or len(rows) == rows[0][0] < rows_max
            shown = [row for row in rows if row[walk.layout.shown] is not None]
            if start is not None and (complete or not comes_before(walk, key_of(rows[-1]), key_of(start))):
                shown = sorted([*shown, start], key=key_of, reverse=walk.descending)
                start = None
            cut = walk.limit > 0 and len(shown) > remaining
            if cut:
                shown = shown[:remaining]
            if shown:
                last = key_of(shown[-1])
            visited += sum(not comes_before(walk, last, key_of(row)) for row in rows) if cut else len(rows)
            if visited > walk.node_budget:
                raise _too_many(walk, visited)
            if cut:
                yield WalkPage(shown, _encode(tenant, walk, last), indexed=True)
                return
            if complete:
                yield WalkPage(shown, indexed=True)
                return
            if shown:
                yield WalkPage(shown, indexed=True)
            remaining -= len(shown)
            after_at, after_seq = _position(key_of(rows[-1]))
            rows_max = rows_next(rows_max, looked_at=rows[0][0], read=len(rows))

    async def _pages_without_index(
        self, tenant: Tenant, walk: Walk, key: Key | None, limit: int
    ) -> AsyncGenerator[WalkPage, None]:
        """Yield the pages of a walk without an index: visit all nodes, sort them, then read their documents."""
        steps: Steps = {}
        hits = await _sort(walk, await self._visit(tenant, walk, await self._starts(tenant, walk), steps))
        if key is not None:
            hits = hits_after(walk, hits, key)
        token = ""
        if limit and len(hits) > limit:
            token = _encode(tenant, walk, hit_key(walk, hits[limit - 1]))
        while limit and len(hits) > limit:
            await give_way()
            del hits[max(limit, len(hits) - _AT_ONCE) :]  # in parts: to free a hundred thousand at once takes long
        rows_max = PAGE_ROWS_MAX
        while True:
            page = hits[:rows_max]
            rows = await self._documents(tenant, walk, page, steps) if page else []
            # A row that is missing between two others was deleted meanwhile. Rows that are missing at the end may only
            # have exceeded the page's size; so go on after the last row that was read.
            read = rows[-1][0] if rows else len(page)
            del hits[:read]
            rows_max = rows_next(rows_max, looked_at=len(page), read=read)
            if not hits:
                yield WalkPage(rows, token)
                return
            if rows:
                yield WalkPage(rows)

    async def _visit(self, tenant: Tenant, walk: Walk, starts: list[Any], steps: Steps) -> list[Hit]:
        """Return every node that the walk returns, in the order of visiting.

        Args:
            tenant: The tenant of the nodes.
            walk: The walk.
            starts: Rows of the start nodes, from `_starts`.
            steps: Gets, for each visited node, the edge and the node that led to it, if the walk returns paths.

        Raises:
            NodeBudgetExceeded: more nodes would be visited than the walk allows.
        """
        parameters = _filters(tenant, walk) | {
            "order_path": list(walk.order_path) or None,
            "outward": walk.direction is not Direction.IN,
            "inward": walk.direction is not Direction.OUT,
            "context_id": starts[0][7],
            "rows": walk.node_budget + 1,
        }
        hits = [hit_of(row, depth=0, edge_id=None, near_id=None) for row in starts if row[3] and walk.include_start]
        visited = {row[0] for row in starts}
        frontier = list(visited)
        # For such walks, a row's last column says whether nothing is below the node; then it need not be followed.
        known = walk.direction is Direction.OUT and walk.bounded
        for depth in range(1, walk.depth_max + 1):
            if len(visited) > walk.node_budget:
                raise _too_many(walk, len(visited))
            if not frontier:
                break
            rows = await tenant.query(LEVEL, parameters | {"near_ids": id_array(frontier)}, named=False)
            frontier = []
            async for some in _in_turns(rows):
                new = [row for row in some if row[0] not in visited]
                visited.update([row[0] for row in new])
                if Column.PATH in walk.columns:
                    steps.update((row[0], (row[6], row[7])) for row in new)
                frontier += [row[0] for row in new if not (known and row[8])]
                hits += [hit_of(row, depth=depth, edge_id=row[6], near_id=row[7]) for row in new if row[3]]
        if len(visited) > walk.node_budget:
            raise _too_many(walk, len(visited))
        return hits

    async def _newest(self, tenant: Tenant, walk: Walk, key: Key | None) -> AsyncGenerator[WalkPage, None]:
        """Yield the newest nodes, page by page; if that would read too many rows, visit all nodes instead."""
        remaining = walk.limit
        while True:
            rows = await self._look(tenant, walk, key, remaining)
            if rows is None:
                async for page in self._pages_without_index(tenant, walk, key, remaining):
                    yield page
                return
            count = rows[0][0]
            shown = [row for row in rows[:remaining] if row[walk.layout.shown] is not None]
            if shown:
                key = walk.layout.key(shown[-1])
            if len(shown) == min(count, remaining):
                yield WalkPage(shown, _encode(tenant, walk, key) if key and count > remaining else "", indexed=True)
                return
            yield WalkPage(shown, indexed=True)  # the other rows did not fit into the page's size
            remaining -= len(shown)

    async def _look(self, tenant: Tenant, walk: Walk, key: Key | None, limit: int) -> list[Any] | None:
        """Return the first page of the newest nodes after a key, or None if that would read too many rows.

        There are two attempts. The second one reads more rows, because a filter may hide most nodes.
        """
        after_at, after_seq = _after(walk, key)
        parameters = _filters(tenant, walk) | {
            "start_id": walk.start_ids[0],
            "include_start": walk.include_start,
            "depth_max": walk.depth_max,
            "after_at": after_at,
            "after_seq": after_seq,
            "limit": limit,
            "node_budget": walk.node_budget,
            "bytes_max": PAGE_BYTES_MAX,
            "row_bytes": ROW_BYTES,
        }
        statement = walks.newest(columns=walk.columns, with_io=walk.include_io)
        for rows, parents, more in _LOOKS:
            # One row more than needed: further children may have the same time as the oldest one that is read, so that
            # one is not returned.
            looked = {"rows": rows * (limit + 1) + 1, "parents": parents * (limit + 1) + more}
            page_rows = await tenant.query(statement, parameters | looked, named=False)
            if not page_rows:
                break  # the start node does not exist: the visit raises the error
            if page_rows[0][0] is not None:
                return page_rows
        return None

    async def _starts(self, tenant: Tenant, walk: Walk) -> list[Any]:
        """Return the start nodes.

        Raises:
            NodeNotFound: a start node does not exist.
            InvalidArgument: the start nodes are in several graphs or contexts.
        """
        rows = await tenant.query(
            STARTS,
            _filters(tenant, walk)
            | {"start_ids": id_array(walk.start_ids), "order_path": list(walk.order_path) or None},
            named=False,
        )
        start_row_ids = {row[0] for row in rows}
        for start_id in walk.start_ids:
            if start_id not in start_row_ids:
                raise NodeNotFound(f"start node {start_id} does not exist", node_id=start_id, field="start_node_ids")
        if len({(row[6], row[7]) for row in rows}) > 1:
            raise InvalidArgument("start_node_ids must be nodes of one graph and one context", field="start_node_ids")
        return rows

    async def _start_row(self, tenant: Tenant, walk: Walk, key: Key | None) -> Any:
        """Return the start node as a result, or None if the filters hide it or the page that ended at `key` had it."""
        (start,) = await self._starts(tenant, walk)
        is_wanted = start[3]  # by the filters; see the statement `starts`
        hit = hit_of(start, depth=0, edge_id=None, near_id=None)
        if not is_wanted or (key is not None and not comes_before(walk, tuple(key), (hit.created_at, hit.seq))):
            return None
        rows = await self._documents(tenant, walk, [hit], {})
        return rows[0] if rows else None

    async def _documents(self, tenant: Tenant, walk: Walk, hits: Sequence[Hit], steps: Steps) -> list[Any]:
        """Return the documents of the first visited nodes in `hits`, as many as fit into a page, in this order."""
        paths = [path_to(hit.id, steps) for hit in hits] if steps else []
        return await tenant.query(
            walks.documents(columns=walk.columns, with_io=walk.include_io),
            {
                "ids": id_array([hit.id for hit in hits]),
                "depths": [hit.depth for hit in hits],
                "edge_ids": id_array([hit.edge_id for hit in hits]),
                "near_ids": id_array([hit.near_id for hit in hits]),
                "paths_edge_ids": _array_of_arrays([[edge_id for edge_id, _ in path] for path in paths]),
                "paths_node_ids": _array_of_arrays([[node_id for _, node_id in path] for path in paths]),
                "bytes_max": PAGE_BYTES_MAX,
                "row_bytes": ROW_BYTES,
            },
            named=False,
        )


async def _sort(walk: Walk, hits: list[Hit]) -> list[Hit]:
    """Return the hits in the order of the walk: numbers, texts, other values, no value, each kind sorted by itself.

    A descending order reverses the hits within each kind, but not the order of the kinds.
    """
    kinds: list[list[Hit]] = [[], [], [], []]
    async for some in _in_turns(hits):
        for hit in some:
            kinds[hit.kind].append(hit)
    return [hit for kind in kinds for hit in await _sorted_kind(kind, reverse=walk.descending)]


async def _sorted_kind(hits: list[Hit], *, reverse: bool) -> list[Hit]:
    """Return hits of one kind as `sorted` does, in steps between which other calls run.

    At most `_AT_ONCE` hits at a time are sorted to a run. All runs are cut at the same values, and the parts between
    two cuts are sorted together. No two hits are equal, so the descending order is the reverse of the ascending one.
    """
    runs = [sorted(some) async for some in _in_turns(hits)]
    ordered = runs[0] if runs else []
    if len(runs) > 1:
        samples = sorted(hit for run in runs for hit in run[:: _AT_ONCE // _SAMPLES])
        ordered, starts = [], [0] * len(runs)
        for cut in [*samples[_SAMPLES::_SAMPLES], None]:
            await give_way()
            ends = [len(run) if cut is None else bisect_left(run, cut) for run in runs]
            parts = (run[start:end] for run, start, end in zip(runs, starts, ends, strict=True))
            ordered += sorted(chain.from_iterable(parts))
            starts = ends
    if reverse:
        ordered.reverse()
    return ordered


async def _in_turns(items: Sequence[_T]) -> AsyncGenerator[Sequence[_T], None]:
    """Yield the items in parts of at most `_AT_ONCE`; between two parts, other calls run."""
    for start in range(0, len(items), _AT_ONCE):
        if start:
            await give_way()
        yield items[start : start + _AT_ONCE]


def _filters(tenant: Tenant, walk: Walk) -> dict[str, Any]:
    """Return the parameters that all statements of walks have: the tenant, and the wanted types."""
    return {
        "tenant_id": tenant.tenant_id,
        "edge_types": list(walk.edge_types),
        "all_edge_types": not walk.edge_types,
        "node_types": list(walk.node_types),
        "all_node_types": not walk.node_types,
        "include_archived": walk.include_archived,
    }


def _array_of_arrays(lists: Sequence[Sequence[str]]) -> str:
    """Return lists of ids as an array of texts; each text is an array of ids.

    An array of arrays would not do: in Postgres, all its inner arrays must have the same length.
    """
    return "{" + ",".join([f'"{id_array(ids)}"' for ids in lists]) + "}"


def _too_many(walk: Walk, visited: int) -> NodeBudgetExceeded:
    """Return the error for a walk that visits more nodes than it may."""
    return NodeBudgetExceeded(
        f"the walk visits more than {walk.node_budget} nodes; narrow it, or raise node_budget",
        node_budget=walk.node_budget,
        limit="node_budget",
        limit_max=walk.node_budget,
        value=visited,
    )


def _query(tenant: Tenant, walk: Walk) -> tuple[object, ...]:
    """Return the parts of a walk that its page token is bound to."""
    return (
        "Traverse",
        tenant.tenant_id,
        walk.start_ids,
        walk.edge_types,
        walk.direction.value,
        walk.depth_max,
        walk.node_types,
        walk.include_archived,
        walk.include_start,
        walk.order_path,
        walk.descending,
    )


def _encode(tenant: Tenant, walk: Walk, key: Sequence[Any]) -> str:
    return encode_token(_query(tenant, walk), key)


def _decode(tenant: Tenant, walk: Walk) -> Key | None:
    """Return the key after which the walk begins, or None for its beginning.

    Raises:
        InvalidPageToken: the token is malformed or belongs to another walk.
    """
    key = decode_token(_query(tenant, walk), walk.page_token, parts=4 if walk.order_path else 2)
    if key is None:
        return walk.after
    try:
        for number in key[-2:]:
            if type(number) is not int or abs(number) >= 2**63:
                raise ValueError("not a bigint")
        iso(key[-2])
        if walk.order_path:
            kind, value = key[:2]
            if type(kind) is not int or not isinstance(value, str if kind in (NUMBER, TEXT) else int):
                raise ValueError("not an order value")
            if kind == NUMBER:
                key[1] = DIGITS.create_decimal(value)
                if not key[1].is_finite():
                    raise ValueError("not a number")
    except (ValueError, OverflowError, DecimalException):
        raise InvalidPageToken("page_token is malformed", field="page_token") from None
    return key


def _after(walk: Walk, key: Key | None) -> tuple[str, int]:
    """Return the time and the `seq` after which an indexed walk continues; without a key, before all rows."""
    if key is None:
        return ("infinity" if walk.descending else "-infinity"), 0
    return _position((key[0], key[1]))


def _position(key: tuple[int, int]) -> tuple[str, int]:
    return iso(key[0]), key[1]


async def _ahead(items: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
    """Yield the items, and read two ahead: while the caller handles one, one is ready and another is being made."""
    ready: asyncio.Queue[_T | Exception | None] = asyncio.Queue(maxsize=1)

    async def make() -> None:
        try:
            async for item in items:
                await ready.put(item)
        except Exception as error:
            await ready.put(error)
        else:
            await ready.put(None)

    async with aclosing(items), background.running(make()):
        while (item := await ready.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
