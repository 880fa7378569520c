"""Searching nodes: what a caller asks of them, as one statement made up for the call.

The statements read the tenant's view, where Postgres may use indexes for jsonb; what the caller says runs behind the
view's wall (`service_runtime.walls`). It is a parameter; the text around it is made of the constants here and of
`service_runtime.conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from psycopg import errors as pg

from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded
from entity_service import json_paths
from entity_service.model import Direction, Node, iso
from entity_service.store import NODE_COLUMNS, id_array
from entity_service.traversal import Traversal, Walk
from service_runtime.auth import Principal
from service_runtime.checks import utf8_bytes
from service_runtime.conditions import Bindings, Field, Fields, FieldType, Path, condition_sql
from service_runtime.copying import copied
from service_runtime.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Tenant
from service_runtime.walls import behind

CREATED_AT = "created_at"
JSON_PATH_CHARS_MAX = 4096
JSON_PATH_WRITTEN_CHARS_MAX = 64 * 1024  # as Postgres writes it: 1e1000 has a thousand digits there

FIELDS = Fields(
    columns={
        "id": Field(FieldType.ID, "n.id"),
        "external_id": Field(FieldType.TEXT, "n.external_id"),
        "graph_name": Field(FieldType.TEXT, "n.graph_name"),
        "agent_bundle_id": Field(FieldType.TEXT, "n.agent_bundle_id"),
        "type": Field(FieldType.TEXT, "n.general_type_name", "n.specific_type_name"),
        "general_type_name": Field(FieldType.TEXT, "n.general_type_name"),
        "specific_type_name": Field(FieldType.TEXT, "n.specific_type_name"),
        "name": Field(FieldType.TEXT, "n.name"),
        "status": Field(FieldType.TEXT, "n.status"),
        "is_archived": Field(FieldType.BOOLEAN, "n.is_archived"),
        "seq": Field(FieldType.NUMBER, "n.seq"),
        CREATED_AT: Field(FieldType.TIME, "n.created_at"),
        "modified_at": Field(FieldType.TIME, "n.modified_at"),
        "version": Field(FieldType.NUMBER, "n.version"),
        "created_by": Field(FieldType.TEXT, "n.created_by"),
        "owner_user_id": Field(FieldType.TEXT, "n.owner_user_id"),
        "agent_id": Field(FieldType.TEXT, "n.agent_id"),
        "context_id": Field(FieldType.ID, "n.context_id"),
    },
    documents={"data": "n.data"},
    wall="n.is_visible",
)

_ORDERED = (FieldType.TEXT, FieldType.NUMBER, FieldType.TIME)
_TEXT_CHARS_MAX = 256  # of a text that nodes are ordered by
_KINDS_COUNT = 4
_TIME_MICROS = "(extract(epoch FROM {sql}) * 1000000)::bigint"

# As of all readers of nodes: no more documents than fit a page are read, and `found` says whether that left any out.
_PAGE = f"""
SELECT n.found, n.kind, n.number::text, n.text, {NODE_COLUMNS}
FROM (
    SELECT
        n.*, count(*) OVER () AS found,
        sum(entity.document_bytes(n.data)) OVER (
            ORDER BY {{order}} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT n.*, {{kind}} AS kind, {{number}} AS number, {{text}} AS text
        FROM entity.node_of_tenant n
        WHERE n.tenant_id = %(tenant_id)s AND {{filter}}
    ) n
    WHERE {{after}}
    ORDER BY {{order}}
    LIMIT %(rows)s
) n
WHERE coalesce(n.bytes_before, 0) < %(bytes_max)s
ORDER BY {{order}}
"""  # noqa: S608

_COUNT = """
SELECT count(*) FROM entity.node_of_tenant n WHERE n.tenant_id = %(tenant_id)s AND {filter}
"""

# A predicate gives one item for any document: true, false, or null for unknown. A path gives none for an empty one, or
# items of other types. The text is a parameter, so that only what is valid is ever read as a JSONPath.
_JSON_PATH = """
SELECT
    pg_input_is_valid(p.text, 'jsonpath') AS is_valid,
    CASE WHEN pg_input_is_valid(p.text, 'jsonpath') THEN (
        SELECT count(*) = 1 AND coalesce(bool_and(jsonb_typeof(item) IN ('boolean', 'null')), false)
        FROM jsonb_path_query('{}'::jsonb, p.text::jsonpath, '{}', true) AS item
    ) END AS is_predicate,
    CASE WHEN pg_input_is_valid(p.text, 'jsonpath') THEN left(p.text::jsonpath::text, %(chars_max)s + 1) END AS written
FROM (SELECT %(json_path)s::text AS text OFFSET 0) p
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedTo:
    """Where nodes are to be reached from."""

    node_id: str
    edge_types: Sequence[str]  # empty: all
    direction: Direction
    depth_max: int
    node_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """Which nodes a caller means; everything that is said must hold."""

    graph_name: str  # empty, with `connected_to` only: that node's
    condition_json: str  # empty: any
    contains_json: str
    json_path: str
    connected_to: ConnectedTo | None
    agent_bundle_id: str
    include_archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSearch:
    """Which nodes a caller wants to read, and in which order."""

    filter: NodeFilter
    order_by: str  # a field, or a path into the data
    descending: bool
    page_size: int
    page_token: str


class NodePage(NamedTuple):
    """Some nodes, in the order asked for."""

    nodes: list[Node]
    next_page_token: str


class _Order(NamedTuple):
    """What nodes are ordered by: the kind of a value, then a number or a text; see `SearchNodesRequest.order_by`."""

    kind: str
    number: str
    text: str


class Search:
    """Searches the nodes of all tenants; every method sees the principal's."""

    def __init__(self, database: Database, traversal: Traversal) -> None:
        self._database = database
        self._traversal = traversal

    async def page(self, principal: Principal, search: NodeSearch) -> NodePage:
        """Return a page of the nodes that are meant.

        Raises:
            InvalidArgument: a condition or a path is malformed, or there is no such field.
            InvalidPageToken: the token is of another search.
            NodeNotFound, NodeBudgetExceeded: `connected_to` names no node, or reaches too many.
        """
        tenant = self._database.of(principal)
        bindings = Bindings()
        order = _order(search, bindings)
        parts = {
            **order._asdict(),
            "order": _order_by(search),
            "after": _after(tenant, search, bindings),
            "filter": await self._filter(principal, search.filter, bindings),
        }
        parameters = {
            **bindings.values,
            "rows": search.page_size + 1,  # one more than wanted says whether there are more
            "bytes_max": PAGE_BYTES_MAX,
        }
        with _refusing_json_path():
            rows = await tenant.query(_PAGE.format_map(parts), parameters, named=False, ad_hoc=True)
        nodes: list[Node] = []
        size_bytes = 0
        for row in rows[: search.page_size]:
            node = Node._make(row[4:])
            size_bytes += utf8_bytes(node.data_json)
            if nodes and size_bytes > PAGE_BYTES_MAX:
                break
            nodes.append(node)
        if not rows or len(nodes) == rows[0][0]:
            return NodePage(nodes, "")
        last = rows[len(nodes) - 1]
        return NodePage(
            nodes, encode_token(_binding(tenant, search), (*last[1:4], nodes[-1].created_at, nodes[-1].seq))
        )

    async def count(self, principal: Principal, wanted: NodeFilter) -> int:
        """Return how many nodes are meant; errors as of `page`."""
        tenant = self._database.of(principal)
        bindings = Bindings()
        statement = _COUNT.format(filter=await self._filter(principal, wanted, bindings))
        parameters = {**bindings.values}
        with _refusing_json_path():
            (row,) = await tenant.query(statement, parameters, named=False, ad_hoc=True)
        count: int = row[0]
        return count

    async def _filter(self, principal: Principal, wanted: NodeFilter, bindings: Bindings) -> str:
        """Return what must hold of a node, as SQL."""
        parts = []
        if wanted.graph_name:
            parts.append(f"n.graph_name = {bindings.add(wanted.graph_name, 'text')}")
        if not wanted.include_archived:
            parts.append("NOT n.is_archived")
        if wanted.agent_bundle_id:
            parts.append(f"n.agent_bundle_id = {bindings.add(wanted.agent_bundle_id, 'text')}")
        if wanted.condition_json:
            parts.append(condition_sql("filter.condition_json", wanted.condition_json, FIELDS, bindings))
        if wanted.contains_json:
            parts.append(f"n.data @> {bindings.add(wanted.contains_json, 'jsonb')}")
        if wanted.json_path:
            parts.append(await self._json_path(principal, wanted.json_path, bindings))
        if wanted.connected_to is not None:
            ids = await self._connected(principal, wanted.connected_to, include_archived=wanted.include_archived)
            parts.append(f"n.id = ANY ({bindings.add(id_array(ids), 'uuid[]')})")
        return " AND ".join(parts) or "TRUE"

    async def _json_path(self, principal: Principal, json_path: str, bindings: Bindings) -> str:
        """Return what a JSONPath wants of a node, as SQL.

        Raises:
            InvalidArgument: it is none, or has a variable.
            LimitExceeded: its numbers have too many digits.
        """
        tenant = self._database.of(principal)
        parameters = {"json_path": json_path, "chars_max": JSON_PATH_WRITTEN_CHARS_MAX}
        with _refusing_json_path():
            (row,) = await tenant.query(_JSON_PATH, parameters)
        if not row.is_valid:
            raise InvalidArgument("filter.json_path is no JSONPath", field="filter.json_path")
        if len(row.written) > JSON_PATH_WRITTEN_CHARS_MAX:
            raise LimitExceeded(
                f"filter.json_path has more than {JSON_PATH_WRITTEN_CHARS_MAX} characters, its numbers written out",
                limit="filter.json_path",
                limit_max=JSON_PATH_WRITTEN_CHARS_MAX,
                value=len(row.written),
            )
        known = json_paths.read(row.written)
        if known.has_variable:
            raise InvalidArgument(
                "filter.json_path has a variable, which nothing gives a value", field="filter.json_path"
            )
        operator = "@@" if row.is_predicate else "@?"
        return behind(
            FIELDS.wall,
            f"n.data {operator} {bindings.add(json_path, 'jsonpath')}",
            index=f"n.data @@ {bindings.add(known.index, 'jsonpath')}" if known.index else "",
        )

    async def _connected(self, principal: Principal, wanted: ConnectedTo, *, include_archived: bool) -> list[str]:
        """Return the ids of what can be reached."""
        walk = copied(
            Walk,
            wanted,
            start_ids=[wanted.node_id],
            node_types=(),
            include_archived=include_archived,
            include_start=False,
            include_io=False,
            columns=(),
            order_path=(),
            descending=False,
            limit=0,
            page_token="",
            after=None,
        )
        return await self._traversal.reached_ids(principal, walk)


@contextmanager
def _refusing_json_path() -> Iterator[None]:
    """Say of what only running it tells that it is the caller's fault.

    Raises:
        InvalidArgument: the JSONPath compares times with and without a zone, say.
    """
    try:
        yield
    except (pg.UndefinedObject, pg.FeatureNotSupported) as error:
        raise InvalidArgument(
            f"filter.json_path cannot be evaluated: {error.diag.message_primary}", field="filter.json_path"
        ) from None


def _order(search: NodeSearch, bindings: Bindings) -> _Order:
    """Return what nodes are ordered by, before their time.

    Raises:
        InvalidArgument: there is no such field, or nothing that could be ordered by.
    """
    if search.order_by == CREATED_AT:
        return _Order("0", "0::numeric", "''")
    field = FIELDS.find(search.order_by, at="order_by")
    if isinstance(field, Path):
        value = field.sql(bindings)
        kind = f"coalesce(jsonb_typeof({value}), 'null')"
        number = f"({value})::numeric"
        # 40 digits: so many fit a page token, and no counter or time has more.
        digits = f"40 - length(trunc(abs({number}))::text)"
        return _Order(
            f"CASE {kind} WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'null' THEN 3 ELSE 2 END",
            f"CASE WHEN {kind} = 'number' THEN round({number}, {digits}) ELSE 0 END",
            f"CASE WHEN {kind} = 'string' THEN left({value} #>> '{{}}', {_TEXT_CHARS_MAX}) ELSE '' END",
        )
    if field.type not in _ORDERED or field.or_sql:
        raise InvalidArgument(f"nodes are not ordered by {search.order_by}", field="order_by")
    if field.type is FieldType.TEXT:
        kind = f"CASE WHEN {field.sql} <> '' THEN 1 ELSE 3 END"  # as to a condition, an empty one is not there
        return _Order(kind, "0::numeric", f"left(coalesce({field.sql}, ''), {_TEXT_CHARS_MAX})")
    number = _TIME_MICROS.format(sql=field.sql) if field.type is FieldType.TIME else field.sql
    return _Order("0", f"({number})::numeric", "''")


def _order_by(search: NodeSearch) -> str:
    way = "DESC" if search.descending else "ASC"
    by_time = f"n.created_at {way}, n.seq {way}"
    if search.order_by == CREATED_AT:
        return by_time  # and nothing in front of it: this is the index's order
    return f'n.kind, n.number {way}, n.text COLLATE "C" {way}, {by_time}'


def _after(tenant: Tenant, search: NodeSearch, bindings: Bindings) -> str:
    """Return what holds of the nodes behind the token's.

    Raises:
        InvalidPageToken: the token is malformed, or of another search.
    """
    key: list[Any] | None = decode_token(_binding(tenant, search), search.page_token, parts=5)
    if key is None:
        return "TRUE"
    way = "<" if search.descending else ">"
    try:
        kind, number, text, created_at, seq = key
        if kind not in range(_KINDS_COUNT) or type(kind) is not int or type(created_at) is not int:
            raise ValueError("not a kind and a time")
        if type(seq) is not int or abs(seq) >= 2**63 or not isinstance(text, str) or "\0" in text:
            raise ValueError("not a text and a place")
        value = Decimal(number)
        if not value.is_finite() or not abs(value.adjusted()) < 1000:
            raise ValueError("not a number that nodes are ordered by")
        at = f"{bindings.add(iso(created_at), 'timestamptz')}, {bindings.add(seq, 'bigint')}"
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        raise InvalidPageToken("page_token is malformed", field="page_token") from None
    if search.order_by == CREATED_AT:
        return f"(n.created_at, n.seq) {way} ({at})"
    place = f"{bindings.add(value, 'numeric')}, {bindings.add(text, 'text')}, {at}"
    same_kind = bindings.add(kind, "int")
    of_kind = f'(n.number, n.text COLLATE "C", n.created_at, n.seq) {way} ({place})'
    return behind(FIELDS.wall, f"(n.kind > {same_kind} OR n.kind = {same_kind} AND {of_kind})")


def _binding(tenant: Tenant, search: NodeSearch) -> Sequence[object]:
    wanted, connected = search.filter, search.filter.connected_to
    return (
        "SearchNodes",
        tenant.tenant_id,
        wanted.graph_name,
        wanted.condition_json,
        wanted.contains_json,
        wanted.json_path,
        connected and (connected.node_id, list(connected.edge_types), connected.direction.value, connected.depth_max),
        wanted.agent_bundle_id,
        wanted.include_archived,
        search.order_by,
        search.descending,
    )
