"""Walks through the graph: bounded, free of cycles, streamed in pages.

An indexed walk reads the children of one node off an index, in their order, page by page. Any other walk visits
first, level by level and ids only, sorts what it found, and then reads the documents page by page. A page is one
statement in either, so that no connection and no snapshot waits for a slow reader.

The newest few of two or three levels are visited from the newest end: `edge.newest_below` says how new what is below
an edge can be, so the rest of a conversation is not looked at.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Context, DecimalException
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from contextgraph.errors import InvalidArgument, InvalidPageToken, NodeBudgetExceeded, NodeNotFound
from entity_service.model import Direction, Node, iso
from entity_service.store import id_array
from service_runtime import background
from service_runtime.auth import Principal
from service_runtime.pages import decode_token, encode_token
from service_runtime.postgres import Database, Tenant

PAGE_ROWS_MAX = 1000
PAGE_BYTES_MAX = 1000 * 1024  # a little less than a message holds, so that a page is one message
ROW_BYTES = 400  # what a row takes besides its documents, about

_T = TypeVar("_T")
_AT_ONCE = 5000  # nodes of a large walk that are looked at before other calls have their turn
_SAMPLES = 20  # of as many
_NUMBER, _TEXT, _OTHER, _NONE = range(4)  # kinds of order values, in their order
_DIGITS = Context(prec=40)
_TEXT_CHARS_MAX = 256

BOUNDED_EDGE_TYPES = frozenset({"Contains", "InResponseTo"})  # whose `newest_below` is kept: as the migration says
NEWEST_MAX = 200  # nodes that are looked for from the newest end; for more, a plain visit is as fast
# How many edges above them are looked at for one wanted node, and how many more; how many children of one node for one.
_LOOKS = ((1, 20, 1), (8, 160, 2))

# In all of these, `OFFSET 0` keeps the planner from turning look-ups by key into a hash of all that a tenant has,
# which it prefers for a thousand keys, and always where there are no statistics yet.

# One page of an indexed walk: the children of a node in the order of `created_at`, then `seq`. Each edge type is an
# index scan of its own that stops after `rows`; so the first `rows` different children of all types are exact, and
# so is the edge of each that comes first. A page ends where its documents pass `bytes_max` too. Children that a
# filter hides come as their key alone: the next page starts behind them.
_CHILDREN = """
WITH RECURSIVE start AS MATERIALIZED (
    SELECT context_id FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(start_id)s
), present (edge_type) AS (
    -- Without edge types: hop from each type in the index to the next.
    (
        SELECT e.edge_type FROM entity.edge e
        WHERE %(all_edge_types)s AND e.tenant_id = %(tenant_id)s AND e.from_node_id = %(start_id)s
        ORDER BY e.edge_type LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT e.edge_type FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id = %(start_id)s AND e.edge_type > p.edge_type
        ORDER BY e.edge_type LIMIT 1
    )
    FROM present p WHERE p.edge_type IS NOT NULL
), wanted (edge_type) AS (
    SELECT unnest(%(edge_types)s::text[])
    UNION ALL
    SELECT edge_type FROM present WHERE edge_type IS NOT NULL
), child AS (
    SELECT DISTINCT ON (e.child_created_at, e.child_seq)
        e.id, e.edge_type, e.to_node_id, e.child_created_at, e.child_seq, e.data
    FROM wanted w
    CROSS JOIN LATERAL (
        SELECT e.id, e.edge_type, e.to_node_id, e.child_created_at, e.child_seq, e.created_at, e.data
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id = %(start_id)s AND e.edge_type = w.edge_type
            AND (e.child_created_at, e.child_seq) > (%(after_at)s::timestamptz, %(after_seq)s::bigint)
            AND e.to_node_id <> %(start_id)s
        ORDER BY e.child_created_at ASC, e.child_seq ASC
        LIMIT %(rows)s
    ) e
    ORDER BY e.child_created_at ASC, e.child_seq ASC, e.created_at, e.id
    LIMIT %(rows)s
), page AS (
    SELECT
        c.id AS edge_id, c.edge_type, c.data AS edge_data, c.child_created_at, c.child_seq,
        n.id, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
        n.status, n.data, n.is_archived, n.modified_at, n.version, n.created_by, n.owner_user_id, n.agent_id,
        n.context_id,
        sum(entity.document_bytes(n.data) + entity.document_bytes(c.data) + %(row_bytes)s) OVER (
            ORDER BY c.child_created_at ASC, c.child_seq ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM child c
    LEFT JOIN LATERAL (
        SELECT
            n.id, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
            n.status, n.data, n.is_archived, n.modified_at, n.version, n.created_by, n.owner_user_id, n.agent_id,
            n.context_id
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = c.to_node_id
            AND (%(include_archived)s OR NOT n.is_archived)
            AND (
                %(all_node_types)s
                OR n.general_type_name = ANY (%(node_types)s::text[])
                OR n.specific_type_name = ANY (%(node_types)s::text[])
            )
            AND coalesce((SELECT s.context_id FROM start s) = n.context_id, (SELECT s.context_id IS NULL FROM start s))
        OFFSET 0
    ) n ON true
)
SELECT
    (SELECT count(*) FROM child), 1 AS depth, p.edge_id::text, p.edge_type, %(start_id)s::text, p.edge_data::text,
    p.id::text, p.external_id, p.graph_name, p.agent_bundle_id, p.general_type_name, p.specific_type_name, p.name,
    p.status, p.data::text, p.is_archived, p.child_seq, (extract(epoch FROM p.child_created_at) * 1000000)::bigint,
    (extract(epoch FROM p.modified_at) * 1000000)::bigint, p.version, p.created_by, p.owner_user_id, p.agent_id,
    p.context_id::text
FROM page p
WHERE coalesce(p.bytes_before, 0) < %(bytes_max)s
ORDER BY p.child_created_at ASC, p.child_seq ASC
"""
# The same page from the other end.
_CHILDREN_DESCENDING = _CHILDREN.replace(" ASC", " DESC").replace("child_seq) > (", "child_seq) < (")


def _with_io(statement: str) -> str:
    """Return a statement that reads documents with two more columns: each node's input and output.

    A statement of its own, so that a walk that does not ask for them pays nothing. They count for the page's end too.
    """
    return (
        statement.replace(" ON true\n)", f" ON true\n{_IO}\n)")
        .replace("%(row_bytes)s", "%(row_bytes)s + coalesce(io.bytes, 0)")
        .replace(" AS bytes_before", " AS bytes_before, io.input, io.output")
        .replace("p.context_id::text", "p.context_id::text, p.input::text, p.output::text")
    )


_IO = """\
    LEFT JOIN LATERAL (
        SELECT
            io.input, io.output,
            coalesce(entity.document_bytes(io.input), 0) + coalesce(entity.document_bytes(io.output), 0) AS bytes
        FROM entity.node_io io
        WHERE io.tenant_id = %(tenant_id)s AND io.node_id = n.id
        OFFSET 0
    ) io ON true"""

_CHILDREN_IO = _with_io(_CHILDREN)
_CHILDREN_IO_DESCENDING = _with_io(_CHILDREN_DESCENDING)

# The nodes one edge away from some nodes, each once, with the edge that is said to have reached it. Ends and types are
# compared as ranges, which only the index of that end serves. For equalities the planner reads all edges of a type that
# the tenant has, once for each node, while it knows nothing of a new table; and all of the table once it has seen that
# most edges have one end.
_LEVEL = """
SELECT
    n.id::text, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq,
    (%(include_archived)s OR NOT n.is_archived) AND (
        %(all_node_types)s
        OR n.general_type_name = ANY (%(node_types)s::text[])
        OR n.specific_type_name = ANY (%(node_types)s::text[])
    ),
    jsonb_typeof(n.data #> %(order_path)s::text[]), left(n.data #>> %(order_path)s::text[], 400),
    reached.edge_id::text, reached.near_id::text
FROM (
    SELECT DISTINCT ON (e.far_id) e.far_id, e.edge_id, near.id AS near_id
    FROM unnest(%(near_ids)s::uuid[]) AS near (id)
    CROSS JOIN LATERAL (
        SELECT e.to_node_id AS far_id, e.id AS edge_id, e.created_at
        FROM entity.edge e
        WHERE %(outward)s AND %(all_edge_types)s AND e.tenant_id = %(tenant_id)s
            AND e.from_node_id >= near.id AND e.from_node_id <= near.id
        UNION ALL
        SELECT e.to_node_id, e.id, e.created_at
        FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
        CROSS JOIN LATERAL (
            SELECT e.to_node_id, e.id, e.created_at
            FROM entity.edge e
            WHERE %(outward)s AND e.tenant_id = %(tenant_id)s
                AND e.from_node_id >= near.id AND e.from_node_id <= near.id
                AND (e.from_node_id, e.edge_type) >= (near.id, w.edge_type)
                AND (e.from_node_id, e.edge_type) <= (near.id, w.edge_type)
            OFFSET 0
        ) e
        UNION ALL
        SELECT e.from_node_id, e.id, e.created_at
        FROM entity.edge e
        WHERE %(inward)s AND %(all_edge_types)s AND e.tenant_id = %(tenant_id)s
            AND e.to_node_id >= near.id AND e.to_node_id <= near.id
        UNION ALL
        SELECT e.from_node_id, e.id, e.created_at
        FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
        CROSS JOIN LATERAL (
            SELECT e.from_node_id, e.id, e.created_at
            FROM entity.edge e
            WHERE %(inward)s AND e.tenant_id = %(tenant_id)s
                AND e.to_node_id >= near.id AND e.to_node_id <= near.id
                AND (e.to_node_id, e.edge_type) >= (near.id, w.edge_type)
                AND (e.to_node_id, e.edge_type) <= (near.id, w.edge_type)
            OFFSET 0
        ) e
    ) e
    ORDER BY e.far_id, e.created_at, e.edge_id
    LIMIT %(rows)s
) reached
CROSS JOIN LATERAL (
    SELECT
        n.id, n.created_at, n.seq, n.is_archived, n.general_type_name, n.specific_type_name, n.data, n.context_id
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = reached.far_id
    OFFSET 0
) n
WHERE %(context_id)s::uuid IS NULL OR n.context_id = %(context_id)s::uuid
"""

# What lies up to three steps below a node, from the newest on. Of each node that is looked at, and each edge type, the
# newest `rows` children are read, and what is below those edges that may have the newest below them: `parents` of the
# first node's, and as many of those of which it is not known. Whatever was not read is as old as `unread_at` or older:
# behind it, no node, no depth and no edge is missing. The columns are those of `_LEVEL`, then the depth, and whether
# this is all. One row at least.
_NEWEST = """
WITH child AS MATERIALIZED (
    SELECT 1 AS depth, %(start_id)s::uuid AS near_id, e.*
    FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT
            e.id, e.to_node_id, e.created_at, e.child_created_at, e.child_seq,
            row_number() OVER newest AS number
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id >= %(start_id)s AND e.from_node_id <= %(start_id)s
            AND (e.from_node_id, e.edge_type) >= (%(start_id)s, w.edge_type)
            AND (e.from_node_id, e.edge_type, e.child_created_at, e.child_seq)
                < (%(start_id)s, w.edge_type, %(after_at)s::timestamptz, %(after_seq)s::bigint)
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.child_created_at DESC, e.child_seq DESC
            ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(rows)s
    ) e
), parent AS MATERIALIZED (
    SELECT e.*
    FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT e.to_node_id, e.newest_below, row_number() OVER newest AS number
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id >= %(start_id)s AND e.from_node_id <= %(start_id)s
            AND (e.from_node_id, e.edge_type) >= (%(start_id)s, w.edge_type)
            AND (e.from_node_id, e.edge_type) <= (%(start_id)s, w.edge_type)
            AND e.newest_below > '-infinity' AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.newest_below DESC ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(parents)s
    ) e
    UNION ALL
    (
        SELECT e.to_node_id, 'infinity', row_number() OVER ()
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id >= %(start_id)s AND e.from_node_id <= %(start_id)s
            AND e.newest_below IS NULL AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
            AND (e.edge_type = ANY (%(edge_types)s::text[])) IS TRUE
        LIMIT %(parents)s
    )
), parent2 AS MATERIALIZED (
    SELECT e.*
    FROM (SELECT DISTINCT p.to_node_id AS id FROM parent p WHERE p.to_node_id <> %(start_id)s) p
    CROSS JOIN unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT e.to_node_id, e.newest_below, row_number() OVER newest AS number
        FROM entity.edge e
        WHERE %(depth_max)s = 3 AND e.tenant_id = %(tenant_id)s AND e.from_node_id >= p.id AND e.from_node_id <= p.id
            AND (e.from_node_id, e.edge_type) >= (p.id, w.edge_type)
            AND (e.from_node_id, e.edge_type) <= (p.id, w.edge_type)
            AND e.newest_below > '-infinity' AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.newest_below DESC ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(rows)s
    ) e
    UNION ALL
    SELECT e.to_node_id, 'infinity', e.number
    FROM (SELECT DISTINCT p.to_node_id AS id FROM parent p WHERE p.to_node_id <> %(start_id)s) p
    CROSS JOIN LATERAL (
        SELECT e.to_node_id, row_number() OVER () AS number
        FROM entity.edge e
        WHERE %(depth_max)s = 3 AND e.tenant_id = %(tenant_id)s AND e.from_node_id >= p.id AND e.from_node_id <= p.id
            AND e.newest_below IS NULL AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
            AND (e.edge_type = ANY (%(edge_types)s::text[])) IS TRUE
        LIMIT %(rows)s
    ) e
), below AS MATERIALIZED (
    SELECT p.depth, p.id AS near_id, e.*
    FROM (
        SELECT min(p.depth) AS depth, p.id
        FROM (SELECT 2 AS depth, to_node_id AS id FROM parent UNION ALL SELECT 3, to_node_id FROM parent2) p
        WHERE p.id <> %(start_id)s
        GROUP BY p.id
    ) p
    CROSS JOIN unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT
            e.id, e.to_node_id, e.created_at, e.child_created_at, e.child_seq,
            row_number() OVER newest AS number
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id >= p.id AND e.from_node_id <= p.id
            AND (e.from_node_id, e.edge_type) >= (p.id, w.edge_type)
            AND (e.from_node_id, e.edge_type, e.child_created_at, e.child_seq)
                < (p.id, w.edge_type, %(after_at)s::timestamptz, %(after_seq)s::bigint)
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.child_created_at DESC, e.child_seq DESC
            ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(rows)s
    ) e
), unread AS MATERIALIZED (
    SELECT greatest(
        (SELECT max(child_created_at) FROM child WHERE number = %(rows)s),
        (SELECT max(child_created_at) FROM below WHERE number = %(rows)s),
        (SELECT max(newest_below) FROM parent WHERE number = %(parents)s),
        (SELECT max(newest_below) FROM parent2 WHERE number = %(rows)s),
        '-infinity'
    ) AS unread_at
)
SELECT
    n.id::text, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq,
    (%(include_archived)s OR NOT n.is_archived) AND (
        %(all_node_types)s
        OR n.general_type_name = ANY (%(node_types)s::text[])
        OR n.specific_type_name = ANY (%(node_types)s::text[])
    ),
    NULL::text, NULL::text, reached.edge_id::text, reached.near_id::text, reached.depth, unread.unread_at = '-infinity'
FROM unread
LEFT JOIN LATERAL (
    SELECT DISTINCT ON (e.to_node_id) e.to_node_id, e.id AS edge_id, e.near_id, e.depth
    FROM (
        SELECT c.to_node_id, c.id, c.near_id, c.depth, c.created_at, c.child_created_at FROM child c
        UNION ALL
        SELECT b.to_node_id, b.id, b.near_id, b.depth, b.created_at, b.child_created_at FROM below b
    ) e
    WHERE e.to_node_id <> %(start_id)s AND e.child_created_at > unread.unread_at
    ORDER BY e.to_node_id, e.depth, e.created_at, e.id
) reached ON true
LEFT JOIN LATERAL (
    SELECT n.id, n.created_at, n.seq, n.is_archived, n.general_type_name, n.specific_type_name
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = reached.to_node_id
    OFFSET 0
) n ON true
"""

# The nodes that a walk starts from: the columns of `_LEVEL`, without an edge.
_STARTS = """
SELECT
    n.id::text, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq,
    (%(include_archived)s OR NOT n.is_archived) AND (
        %(all_node_types)s
        OR n.general_type_name = ANY (%(node_types)s::text[])
        OR n.specific_type_name = ANY (%(node_types)s::text[])
    ),
    jsonb_typeof(n.data #> %(order_path)s::text[]), left(n.data #>> %(order_path)s::text[], 400),
    n.graph_name, n.context_id::text
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = ANY (%(start_ids)s::uuid[])
"""

# The documents of nodes that were visited, in the order given: the columns of `_CHILDREN`.
_DOCUMENTS = """
SELECT
    p.position, p.depth, p.edge_id::text, p.edge_type, p.near_id::text, p.edge_data::text,
    p.id::text, p.external_id, p.graph_name, p.agent_bundle_id, p.general_type_name, p.specific_type_name, p.name,
    p.status, p.data::text, p.is_archived, p.seq, (extract(epoch FROM p.created_at) * 1000000)::bigint,
    (extract(epoch FROM p.modified_at) * 1000000)::bigint, p.version, p.created_by, p.owner_user_id, p.agent_id,
    p.context_id::text
FROM (
    SELECT
        v.position, v.depth, v.edge_id, v.near_id, e.edge_type, e.data AS edge_data,
        n.id, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
        n.status, n.data, n.is_archived, n.seq, n.created_at, n.modified_at, n.version, n.created_by,
        n.owner_user_id, n.agent_id, n.context_id,
        sum(entity.document_bytes(n.data) + coalesce(entity.document_bytes(e.data), 0) + %(row_bytes)s) OVER (
            ORDER BY v.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM unnest(%(ids)s::uuid[], %(depths)s::integer[], %(edge_ids)s::uuid[], %(near_ids)s::uuid[])
        WITH ORDINALITY AS v (id, depth, edge_id, near_id, position)
    CROSS JOIN LATERAL (
        SELECT
            n.id, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
            n.status, n.data, n.is_archived, n.seq, n.created_at, n.modified_at, n.version, n.created_by,
            n.owner_user_id, n.agent_id, n.context_id
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = v.id
        OFFSET 0
    ) n
    LEFT JOIN LATERAL (
        SELECT e.edge_type, e.data FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.id = v.edge_id
        OFFSET 0
    ) e ON true
) p
WHERE coalesce(p.bytes_before, 0) < %(bytes_max)s
ORDER BY p.position
"""
_DOCUMENTS_IO = _with_io(_DOCUMENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a caller wants to walk."""

    start_ids: Sequence[str]
    edge_types: Sequence[str]  # empty: all
    direction: Direction
    depth_max: int
    node_types: Sequence[str]  # empty: all
    include_archived: bool
    include_start: bool
    include_io: bool
    order_path: Sequence[str]  # empty: `created_at`
    descending: bool
    limit: int  # 0: all
    after: tuple[int, int] | None  # begin behind this `created_at` and `seq`
    page_token: str  # wins over `after`
    node_budget: int

    @property
    def indexed(self) -> bool:
        """Whether an index has the answer in its order."""
        return (
            len(self.start_ids) == 1 and self.direction is Direction.OUT and self.depth_max == 1 and not self.order_path
        )

    @property
    def newest_few(self) -> bool:
        """Whether the answer may be found from the newest end, without visiting the rest."""
        return (
            len(self.start_ids) == 1
            and self.direction is Direction.OUT
            and self.descending
            and not self.order_path
            and 2 <= self.depth_max <= 3
            and 1 <= self.limit <= NEWEST_MAX
            and bool(self.edge_types)
            and BOUNDED_EDGE_TYPES.issuperset(self.edge_types)
        )


class Reached(NamedTuple):
    """A row of a walk: how a node was reached, then the columns of `Node`, starting at `NODE`."""

    scanned: int
    depth: int
    edge_id: str | None
    edge_type: str | None
    near_id: str | None
    edge_data_json: str | None


NODE = len(Reached._fields)
SEQ = NODE + 10
CREATED_AT = NODE + 11
IO = NODE + len(Node._fields)  # then, with `include_io`, input and output as JSON


class WalkPage(NamedTuple):
    """Some rows of a walk, as tuples of `Reached` and `Node` together, and of input and output if asked for."""

    rows: Sequence[Any]
    next_page_token: str = ""  # on the last page, if the limit cut the walk
    indexed: bool = False  # read off an index


class Traversal:
    """Walks through the graphs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def walk(self, principal: Principal, walk: Walk) -> AsyncGenerator[WalkPage, None]:
        """Yield the pages of a walk, at least one; the next is read while the caller is busy with the last.

        Raises:
            NodeNotFound: a start node is missing.
            InvalidArgument: the start nodes are of several graphs or contexts.
            NodeBudgetExceeded: there is more to visit than the caller wants; an indexed walk has yielded until then.
            InvalidPageToken: the token is of another walk.
        """
        tenant = self._database.of(principal)
        pages = self._children(tenant, walk) if walk.indexed else self._visited(tenant, walk)
        async with aclosing(_ahead(pages)) as ready:
            async for page in ready:
                yield page

    async def reached_ids(self, principal: Principal, walk: Walk) -> list[str]:
        """Return the ids of what a walk returns, for searches among them; errors as of `walk`."""
        tenant = self._database.of(principal)
        return [hit.id for hit in await self._visit(tenant, walk, await self._starts(tenant, walk))]

    async def _children(self, tenant: Tenant, walk: Walk) -> AsyncGenerator[WalkPage, None]:
        """Read the index, page by page."""
        key = _decode(tenant, walk)
        after_at, after_seq = _after(walk, key)
        start = await self._start_row(tenant, walk, key) if walk.include_start else None
        if walk.include_io:
            statement = _CHILDREN_IO_DESCENDING if walk.descending else _CHILDREN_IO
        else:
            statement = _CHILDREN_DESCENDING if walk.descending else _CHILDREN
        parameters = _filters(tenant, walk) | {
            "start_id": walk.start_ids[0],
            "bytes_max": PAGE_BYTES_MAX,
            "row_bytes": ROW_BYTES,
        }
        remaining, visited, first = walk.limit, 1, True
        last = (0, 0)  # of what was returned
        # One more than wanted says whether the limit cut anything.
        rows_max = min(walk.limit + 1, PAGE_ROWS_MAX) if walk.limit else PAGE_ROWS_MAX
        while True:
            rows = await tenant.query(
                statement, parameters | {"after_at": after_at, "after_seq": after_seq, "rows": rows_max}, named=False
            )
            if not rows and first:
                await self._starts(tenant, walk)  # no children, or no such node: only then it is worth asking
            first = False
            complete = not rows or len(rows) == rows[0][0] < rows_max
            shown = [row for row in rows if row[NODE] is not None]
            if start is not None and (complete or not _before(walk, _key(rows[-1]), _key(start))):
                shown = sorted([*shown, start], key=_key, reverse=walk.descending)
                start = None
            cut = walk.limit > 0 and len(shown) > remaining
            if cut:
                shown = shown[:remaining]
            if shown:
                last = _key(shown[-1])
            visited += sum(not _before(walk, last, _key(row)) for row in rows) if cut else len(rows)
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
            after_at, after_seq = _position(_key(rows[-1]))
            rows_max = _rows_next(rows_max, looked_at=rows[0][0], read=len(rows))

    async def _visited(self, tenant: Tenant, walk: Walk) -> AsyncGenerator[WalkPage, None]:
        """Visit, sort, read."""
        key = _decode(tenant, walk)
        starts = await self._starts(tenant, walk)
        newest = await self._newest(tenant, walk, starts[0], key) if walk.newest_few else None
        indexed = newest is not None
        hits = await _sorted(walk, await self._visit(tenant, walk, starts) if newest is None else newest)
        if key is not None:
            hits = _behind(walk, hits, key)
        token = ""
        if walk.limit and len(hits) > walk.limit:
            token = _encode(tenant, walk, _hit_key(walk, hits[walk.limit - 1]))
        while walk.limit and len(hits) > walk.limit:
            await asyncio.sleep(0)
            del hits[max(walk.limit, len(hits) - _AT_ONCE) :]  # a hundred thousand at once take a while
        rows_max = PAGE_ROWS_MAX
        while True:
            page = hits[:rows_max]
            rows = await self._documents(tenant, walk, page) if page else []
            # What is missing between two rows was deleted since; what is missing at the end may be the page's border.
            read = rows[-1][0] if rows else len(page)
            del hits[:read]
            rows_max = _rows_next(rows_max, looked_at=len(page), read=read)
            if not hits:
                yield WalkPage(rows, token, indexed)
                return
            if rows:
                yield WalkPage(rows, indexed=indexed)

    async def _visit(self, tenant: Tenant, walk: Walk, starts: list[Any]) -> list[_Hit]:
        """Return every node that the walk returns, in the order of visiting."""
        parameters = _filters(tenant, walk) | {
            "order_path": list(walk.order_path) or None,
            "outward": walk.direction is not Direction.IN,
            "inward": walk.direction is not Direction.OUT,
            "context_id": starts[0][7],
            "rows": walk.node_budget + 1,
        }
        hits = [_hit(row, depth=0, edge_id=None, near_id=None) for row in starts if row[3] and walk.include_start]
        visited = {row[0] for row in starts}
        frontier = list(visited)
        for depth in range(1, walk.depth_max + 1):
            if len(visited) > walk.node_budget:
                raise _too_many(walk, len(visited))
            if not frontier:
                break
            rows = await tenant.query(_LEVEL, parameters | {"near_ids": id_array(frontier)}, named=False)
            frontier = []
            async for some in _in_turns(rows):
                new = [row for row in some if row[0] not in visited]
                new_ids = [row[0] for row in new]
                visited.update(new_ids)
                frontier += new_ids
                hits += [_hit(row, depth=depth, edge_id=row[6], near_id=row[7]) for row in new if row[3]]
        if len(visited) > walk.node_budget:
            raise _too_many(walk, len(visited))
        return hits

    async def _newest(self, tenant: Tenant, walk: Walk, start: Any, key: Sequence[Any] | None) -> list[_Hit] | None:
        """Return what the walk returns first, one node more than its limit, or None if that took too much looking.

        Twice: most conversations need no more than a few edges above the wanted nodes; late answers need more.
        """
        if start[7] is not None:
            return None  # what lies between might be outside of the context
        after_at, after_seq = _after(walk, key)
        parameters = _filters(tenant, walk) | {
            "start_id": walk.start_ids[0],
            "depth_max": walk.depth_max,
            "after_at": after_at,
            "after_seq": after_seq,
        }
        for times, more, rows_times in _LOOKS:
            looked = {"parents": times * walk.limit + more, "rows": rows_times * (walk.limit + 1)}
            rows = await tenant.query(_NEWEST, parameters | looked, named=False)
            if len(rows) > walk.node_budget:
                break
            hits = [_hit(row, depth=row[8], edge_id=row[6], near_id=row[7]) for row in rows if row[0] and row[3]]
            if len(hits) > walk.limit or rows[0][9]:
                if walk.include_start and start[3]:
                    hits.append(_hit(start, depth=0, edge_id=None, near_id=None))
                return hits
        return None

    async def _starts(self, tenant: Tenant, walk: Walk) -> list[Any]:
        """Return the start nodes.

        Raises:
            NodeNotFound: one is missing.
            InvalidArgument: they are of several graphs or contexts.
        """
        rows = await tenant.query(
            _STARTS,
            _filters(tenant, walk)
            | {"start_ids": id_array(walk.start_ids), "order_path": list(walk.order_path) or None},
            named=False,
        )
        found = {row[0] for row in rows}
        for start_id in walk.start_ids:
            if start_id not in found:
                raise NodeNotFound("no node has the id of a start node", node_id=start_id, field="start_node_ids")
        if len({(row[6], row[7]) for row in rows}) > 1:
            raise InvalidArgument("the start nodes are of several graphs or contexts", field="start_node_ids")
        return rows

    async def _start_row(self, tenant: Tenant, walk: Walk, key: Sequence[Any] | None) -> Any:
        """Return the row of the start node, or None if the walk does not return it behind `key`."""
        (start,) = await self._starts(tenant, walk)
        hit = _hit(start, depth=0, edge_id=None, near_id=None)
        if not start[3] or (key is not None and not _before(walk, tuple(key), (hit.created_at, hit.seq))):
            return None
        rows = await self._documents(tenant, walk, [hit])
        return rows[0] if rows else None

    async def _documents(self, tenant: Tenant, walk: Walk, hits: Sequence[_Hit]) -> list[Any]:
        return await tenant.query(
            _DOCUMENTS_IO if walk.include_io else _DOCUMENTS,
            {
                "tenant_id": tenant.tenant_id,
                "ids": id_array([hit.id for hit in hits]),
                "depths": [hit.depth for hit in hits],
                "edge_ids": id_array([hit.edge_id for hit in hits]),
                "near_ids": id_array([hit.near_id for hit in hits]),
                "bytes_max": PAGE_BYTES_MAX,
                "row_bytes": ROW_BYTES,
            },
            named=False,
        )


class _Hit(NamedTuple):
    """A visited node that the walk returns: first what it is sorted by."""

    kind: int  # of the order value: number, text, other, none
    value: Any  # Decimal, str, or 0
    created_at: int
    seq: int
    id: str
    depth: int
    edge_id: str | None
    near_id: str | None


def _hit(row: Any, *, depth: int, edge_id: str | None, near_id: str | None) -> _Hit:
    kind, value = _order_value(row[4], row[5])
    return _Hit(kind, value, row[1], row[2], row[0], depth, edge_id, near_id)


def _order_value(json_type: str | None, text: str | None) -> tuple[int, Any]:
    """Return the kind and the comparable value of what a node is ordered by.

    Numbers compare by their first 40 digits and texts by their first 256 characters, so that a page token can hold
    them.
    """
    if json_type is None or text is None:  # JSON null has no text
        return _NONE, 0
    if json_type == "number":
        return _NUMBER, _DIGITS.create_decimal(text)
    if json_type == "string":
        return _TEXT, text[:_TEXT_CHARS_MAX]
    return _OTHER, 0


async def _sorted(walk: Walk, hits: list[_Hit]) -> list[_Hit]:
    """Return the hits in the order of the walk: descending turns values and ties around, never the kinds."""
    kinds: list[list[_Hit]] = [[], [], [], []]
    async for some in _in_turns(hits):
        for hit in some:
            kinds[hit.kind].append(hit)
    return [hit for kind in kinds for hit in await _sorted_kind(kind, reverse=walk.descending)]


async def _sorted_kind(hits: list[_Hit], *, reverse: bool) -> list[_Hit]:
    """Return hits of one kind as `sorted` does, in steps.

    Some of them after the other are sorted to runs; all runs are cut at the same places; what is between two cuts is
    put together. No two hits are equal, so the other order is this one turned around.
    """
    runs = [sorted(some) async for some in _in_turns(hits)]
    ordered = runs[0] if runs else []
    if len(runs) > 1:
        samples = sorted(hit for run in runs for hit in run[:: _AT_ONCE // _SAMPLES])
        ordered, starts = [], [0] * len(runs)
        for cut in [*samples[_SAMPLES::_SAMPLES], None]:
            await asyncio.sleep(0)
            ends = [len(run) if cut is None else bisect_left(run, cut) for run in runs]
            parts = (run[start:end] for run, start, end in zip(runs, starts, ends, strict=True))
            ordered += sorted(chain.from_iterable(parts))
            starts = ends
    if reverse:
        ordered.reverse()
    return ordered


def _behind(walk: Walk, hits: list[_Hit], key: Sequence[Any]) -> list[_Hit]:
    """Return the hits, which are in the order of the walk, that come behind a key."""

    def is_behind(hit: _Hit) -> bool:
        if not walk.order_path:
            return _before(walk, tuple(key), _hit_at(hit))
        kind, value = key[:2]
        return hit.kind > kind or (hit.kind == kind and _before(walk, (value, *key[2:]), _hit_value(hit)))

    return hits[bisect_left(hits, True, key=is_behind) :]


async def _in_turns(items: Sequence[_T]) -> AsyncGenerator[Sequence[_T], None]:
    """Yield some items after the other, with a turn for other calls between them."""
    for start in range(0, len(items), _AT_ONCE):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + _AT_ONCE]


def _hit_at(hit: _Hit) -> tuple[int, int]:
    return hit.created_at, hit.seq


def _hit_value(hit: _Hit) -> tuple[Any, int, int]:
    return hit.value, hit.created_at, hit.seq


def _hit_key(walk: Walk, hit: _Hit) -> tuple[Any, ...]:
    if not walk.order_path:
        return _hit_at(hit)
    value = str(hit.value) if hit.kind == _NUMBER else hit.value
    return hit.kind, value, hit.created_at, hit.seq


def _key(row: Any) -> tuple[int, int]:
    return row[CREATED_AT], row[SEQ]


def _before(walk: Walk, key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Say whether a key comes before another in the direction of the walk."""
    return other < key if walk.descending else key < other


def _rows_next(rows_max: int, *, looked_at: int, read: int) -> int:
    """Return how many rows the next page looks at.

    Where documents ended the last page, about as many as it held. Else more and more: a filter that hides most
    rows makes for larger pages instead of ever more of them.
    """
    return min(read + read // 8 + 1 if read < looked_at else rows_max * 2, PAGE_ROWS_MAX)


def _filters(tenant: Tenant, walk: Walk) -> dict[str, Any]:
    return {
        "tenant_id": tenant.tenant_id,
        "edge_types": list(walk.edge_types),
        "all_edge_types": not walk.edge_types,
        "node_types": list(walk.node_types),
        "all_node_types": not walk.node_types,
        "include_archived": walk.include_archived,
    }


def _too_many(walk: Walk, visited: int) -> NodeBudgetExceeded:
    return NodeBudgetExceeded(
        f"the walk visits more than {walk.node_budget} nodes; narrow it, or raise node_budget",
        node_budget=walk.node_budget,
        limit="node_budget",
        limit_max=walk.node_budget,
        value=visited,
    )


def _query(tenant: Tenant, walk: Walk) -> tuple[object, ...]:
    """Return what a page token of the walk is bound to."""
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


def _decode(tenant: Tenant, walk: Walk) -> Sequence[Any] | None:
    """Return the key behind which the walk begins, if any: (created_at, seq), behind kind and value in an order path.

    Raises:
        InvalidPageToken: it is malformed, or of another walk.
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
            if type(kind) is not int or not isinstance(value, str if kind in (_NUMBER, _TEXT) else int):
                raise ValueError("not an order value")
            if kind == _NUMBER:
                key[1] = _DIGITS.create_decimal(value)
                if not key[1].is_finite():
                    raise ValueError("not a number")
    except (ValueError, OverflowError, DecimalException):
        raise InvalidPageToken("page_token is malformed", field="page_token") from None
    return key


def _after(walk: Walk, key: Sequence[Any] | None) -> tuple[str, int]:
    if key is None:
        return ("infinity" if walk.descending else "-infinity"), 0
    return _position((key[0], key[1]))


def _position(key: tuple[int, int]) -> tuple[str, int]:
    return iso(key[0]), key[1]


async def _ahead(items: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
    """Yield the items; while the caller is busy with one, the next are made: one waits, one is on its way."""
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
