"""Walks through a graph, and the layout of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from entity_service.model.edges import Direction
from entity_service.model.nodes import Node


class Column(Enum):
    """A column of a row that a caller asks for."""

    ID = "id"
    EXTERNAL_ID = "external_id"
    GENERAL_TYPE_NAME = "general_type_name"
    SPECIFIC_TYPE_NAME = "specific_type_name"
    NAME = "name"
    STATUS = "status"
    DATA = "data"
    CREATED_AT = "created_at"
    MODIFIED_AT = "modified_at"
    SEQ = "seq"
    IS_ARCHIVED = "is_archived"
    VERSION = "version"
    AGENT_BUNDLE_ID = "agent_bundle_id"
    OWNER_USER_ID = "owner_user_id"
    DEPTH = "depth"
    EDGE_ID = "edge_id"
    EDGE_TYPE = "edge_type"
    FROM_NODE_ID = "from_node_id"
    EDGE_DATA = "edge_data"
    EDGE_VERSION = "edge_version"
    IO = "io"
    EDGES = "edges"
    PATH = "path"


class Reached(NamedTuple):
    """A row of a walk: how a node was reached, then the columns of `Node`, starting at `NODE`."""

    scanned: int
    depth: int
    edge_id: str | None
    edge_type: str | None
    near_id: str | None
    edge_data_json: str | None


# The types of edges with a `newest_below`. Functions and indexes of the migrations repeat them.
BOUNDED_EDGE_TYPES = ("Contains", "InResponseTo")

NODE = len(Reached._fields)

IO = NODE + len(Node._fields)  # then, if asked for, input and output as JSON


class Layout(NamedTuple):
    """The positions of columns in a row: those of its order, and one that is null if a filter hides the node."""

    created_at: int
    seq: int
    shown: int

    def key(self, row: Any) -> tuple[int, int]:
        """Return the place of a row in the order of `created_at`, then `seq`."""
        return row[self.created_at], row[self.seq]


NODES = Layout(created_at=NODE + 11, seq=NODE + 10, shown=NODE)

ROWS = Layout(created_at=1, seq=2, shown=3)  # the last is the row as JSON

ROW_BYTES = 400  # estimated bytes of a row without its documents

PAGE_ROWS_MAX = 1000

PAGE_BYTES_MAX = 1000 * 1024  # a little less than a message holds, so that a page is one message


EDGES_MAX = 1000  # edges of a node in a row

EDGE_BYTES_MAX = 256 * 1024  # bytes of their data together

NEWEST_MAX = 200  # nodes that are looked for from the newest end; for more, a plain visit is as fast


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A request for a walk."""

    start_ids: Sequence[str]
    edge_types: Sequence[str]  # empty follows all types
    direction: Direction
    depth_max: int
    node_types: Sequence[str]  # empty returns all types
    include_archived: bool
    include_start: bool
    include_io: bool
    columns: tuple[Column, ...]  # columns to return; empty returns whole nodes
    order_path: Sequence[str]  # path into the data to order by; empty orders by `created_at`
    descending: bool
    limit: int  # most nodes to return; 0 returns all
    after: tuple[int, int] | None  # begin after this `created_at` and `seq`
    page_token: str  # wins over `after`
    node_budget: int

    @property
    def layout(self) -> Layout:
        """The positions of the columns that the walk needs of a row."""
        return ROWS if self.columns else NODES

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
            and self.bounded
            and Column.PATH not in self.columns  # the look does not know the nodes between
        )

    @property
    def bounded(self) -> bool:
        """Whether `newest_below` of an edge is a bound for all nodes that the walk may find below the edge."""
        return bool(self.edge_types) and set(BOUNDED_EDGE_TYPES).issuperset(self.edge_types)


class WalkPage(NamedTuple):
    """Some rows of a walk: tuples of `Reached` and `Node` together, and of input and output if asked for.

    Or, of a walk with columns, those of `ROWS`.
    """

    rows: Sequence[Any]
    next_page_token: str = ""  # on the last page, if the limit cut the walk
    indexed: bool = False  # read off an index
