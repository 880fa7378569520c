"""The statements of searches, made for each call from constants and `service_runtime.inputs.conditions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from psycopg import errors as pg

from contextkeep.errors import InvalidArgument, InvalidPageToken
from entity_service.model.search import CREATED_AT, NodeSearch
from entity_service.model.times import iso
from entity_service.store.nodes import SQL as NODES_SQL
from service_runtime.inputs.conditions import Bindings, Field, Fields, FieldType, Path
from service_runtime.inputs.pages import decode_token
from service_runtime.inputs.policies import guarded
from service_runtime.postgres import Tenant
from service_runtime.statements.sql_files import SqlFile

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
    policy="n.is_visible",
)

_ORDERED = (FieldType.TEXT, FieldType.NUMBER, FieldType.TIME)

_TEXT_CHARS_MAX = 256  # characters of a text that count when nodes are ordered by it

_KINDS_COUNT = 4

_TIME_MICROS = "(extract(epoch FROM {sql}) * 1000000)::bigint"


SQL = SqlFile.of(__file__, nodes=NODES_SQL)
JSON_PATH = SQL["json_path"]


class _Order(NamedTuple):
    """The sort key of a search: the kind of a value, then a number or a text; see `SearchNodesRequest.order_by`."""

    kind: str
    number: str
    text: str


def page_statement(parts: Mapping[str, str]) -> str:
    """Return the statement that reads a page of nodes; `parts` has a value for each slot of the text `page`."""
    return SQL.filled("page", **parts)


def count_statement(condition: str) -> str:
    """Return the statement that counts the nodes for which a condition holds."""
    return SQL.filled("count", filter=condition)


@contextmanager
def refusing_json_path() -> Iterator[None]:
    """Turn errors that only running a JSONPath raises into errors of the caller.

    Raises:
        InvalidArgument: the JSONPath compares times with and without a zone, say.
    """
    try:
        yield
    except (pg.UndefinedObject, pg.FeatureNotSupported) as error:
        raise InvalidArgument(
            f"filter.json_path cannot be evaluated: {error.diag.message_primary}", field="filter.json_path"
        ) from None


def order_of(search: NodeSearch, bindings: Bindings) -> _Order:
    """Return the sort key of a search, without the time, which comes last.

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
        # 40 digits fit a page token, and no counter or time has more.
        digits = f"40 - length(trunc(abs({number}))::text)"
        return _Order(
            f"CASE {kind} WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'null' THEN 3 ELSE 2 END",
            f"CASE WHEN {kind} = 'number' THEN round({number}, {digits}) ELSE 0 END",
            f"CASE WHEN {kind} = 'string' THEN left({value} #>> '{{}}', {_TEXT_CHARS_MAX}) ELSE '' END",
        )
    if field.type not in _ORDERED or field.or_sql:
        raise InvalidArgument(
            f"order_by is {search.order_by[:100]!r}, which nodes cannot be ordered by", field="order_by"
        )
    if field.type is FieldType.TEXT:
        kind = f"CASE WHEN {field.sql} <> '' THEN 1 ELSE 3 END"  # as to a condition, an empty one is not there
        return _Order(kind, "0::numeric", f"left(coalesce({field.sql}, ''), {_TEXT_CHARS_MAX})")
    number = _TIME_MICROS.format(sql=field.sql) if field.type is FieldType.TIME else field.sql
    return _Order("0", f"({number})::numeric", "''")


def order_by_sql(search: NodeSearch) -> str:
    """Return the ORDER BY of a search."""
    way = "DESC" if search.descending else "ASC"
    by_time = f"n.created_at {way}, n.seq {way}"
    if search.order_by == CREATED_AT:
        return by_time  # and nothing in front of it: this is the index's order
    return f'n.kind, n.number {way}, n.text COLLATE "C" {way}, {by_time}'


def after_sql(tenant: Tenant, search: NodeSearch, bindings: Bindings) -> str:
    """Return the condition of the nodes after the page token's key.

    Raises:
        InvalidPageToken: the token is malformed, or of another search.
    """
    key: list[Any] | None = decode_token(token_binding(tenant, search), search.page_token, parts=5)
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
    return guarded(FIELDS.policy, f"(n.kind > {same_kind} OR n.kind = {same_kind} AND {of_kind})")


def token_binding(tenant: Tenant, search: NodeSearch) -> Sequence[object]:
    """Return the parts of a search that its page token is bound to: a token of another search is refused."""
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
