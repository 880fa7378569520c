"""The statements of structured questions, made for each call from constants and `service_runtime.inputs.conditions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextkeep.errors import InvalidArgument
from entity_service.model.facets import (
    GROUP,
    NODES,
    EdgeEnd,
    FacetAnswer,
    FacetGroup,
    FacetList,
    FacetQuery,
    FacetValue,
    Function,
    Measure,
    NodeField,
    TypeFacets,
)
from entity_service.store.node_search import FIELDS
from service_runtime.inputs.conditions import Bindings, FieldType, Path
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

TYPES_MAX = 50
_SAMPLED = 100  # nodes of a type whose fields are read
_SAMPLED_BYTES_MAX = 16 * 1024  # larger documents are left out, so that a list reads at most 80 MB
_FACETS_MAX = 100
_TEXT_CHARS_MAX = 256

SQL = SqlFile.of(__file__)
_BY_FIELD, _NAMES, _TYPES, _FIELDS = SQL["by_field"], SQL["names"], SQL["types"], SQL["fields"]
_ENDS = {True: ("from_node_id", "to_node_id"), False: ("to_node_id", "from_node_id")}


class FacetStore:
    """Reads the facets of all tenants; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fields(self, principal: Principal, *, graph_name: str, type_name: str) -> FacetList:
        """Return the fields of nodes by type, the types with the most nodes first."""
        tenant = self._database.of(principal)
        scope = {"graph_name": graph_name}
        counts = await tenant.query(_TYPES, {**scope, "type_name": type_name, "rows": TYPES_MAX + 1})
        names = [row.type_name for row in counts[:TYPES_MAX]]
        bounds = {"sampled": _SAMPLED, "bytes_max": _SAMPLED_BYTES_MAX, "facets": _FACETS_MAX}
        rows = await tenant.query(_FIELDS, {**scope, **bounds, "type_names": names})
        of_type: dict[str, list[Any]] = {name: [] for name in names}
        for row in rows:
            of_type[row.type_name].append(row)
        types = tuple(
            TypeFacets(
                type_name=count.type_name,
                node_count=count.node_count,
                sampled_count=of_type[count.type_name][0].sampled_count,
                fields=tuple(
                    NodeField(f"data.{row.path}", row.kinds, row.node_count, row.examples)
                    for row in of_type[count.type_name]
                    if row.path is not None
                ),
                edges=tuple(of_type[count.type_name][0].edges),
            )
            for count in counts[:TYPES_MAX]
        )
        return FacetList(types=types, is_cut=len(counts) > TYPES_MAX)

    async def groups(self, principal: Principal, query: FacetQuery, condition: str, bindings: Bindings) -> FacetAnswer:
        """Return the groups of the nodes for which a condition holds, with their measures.

        Raises:
            InvalidArgument: a field does not exist, or groups cannot be sorted by `order_by`.
        """
        tenant = self._database.of(principal)
        statement = _groups_statement(query, condition, bindings)
        parameters = {**bindings.values, "graph_name": query.graph_name, "rows": query.limit}
        rows = await tenant.query(statement, parameters, ad_hoc=True)
        found = [row for row in rows if row.key is not None]
        by_edge = isinstance(query.group_by, EdgeEnd)
        ids = [_unquoted(row.key) for row in found if by_edge]
        ids += [value for row in found for name, value in row.measures.items() if name.endswith("_node") and value]
        names = await self._names(tenant, ids)
        groups = tuple(
            FacetGroup(
                value_json=row.key if query.group_by and not by_edge else "",
                node_id=_unquoted(row.key) if by_edge else "",
                node_name=names.get(_unquoted(row.key), "") if by_edge else "",
                node_count=row.nodes,
                values=tuple(_value(row.measures, place, names) for place in range(len(query.measures))),
            )
            for row in found
        )
        return FacetAnswer(
            node_count=rows[0].matched_count,
            groups=groups,
            group_count=rows[0].group_count or 0,
            ungrouped_count=rows[0].ungrouped_count,
        )

    async def _names(self, tenant: Tenant, ids: list[str]) -> Mapping[str, str]:
        """Return the names of nodes by their ids."""
        rows = await tenant.query(_NAMES, {"ids": sorted(set(ids))}, named=False) if ids else []
        return {node_id: name or "" for node_id, name in rows}


def edge_condition(edge: EdgeEnd, bindings: Bindings, *, is_absent: bool) -> str:
    """Return the condition that a node has an edge of a type, or that it has none."""
    own_end, _ = _ENDS[edge.is_outward]
    exists = SQL.filled("has_edge", own_end=own_end, edge_type=bindings.add(edge.edge_type, "text"))
    return f"NOT ({exists})" if is_absent else exists


def _groups_statement(query: FacetQuery, condition: str, bindings: Bindings) -> str:
    """Return the statement that groups nodes.

    Raises:
        InvalidArgument: a field does not exist, or groups cannot be sorted by `order_by`.
    """
    columns, aggregates = [], []
    for place, measure in enumerate(query.measures):
        value = _json_value(measure.field, bindings, at=f"measures[{place}]")
        columns += [
            f"{_number(value)} AS n{place}",
            f"{_text(value)} AS t{place}",
            f"coalesce(jsonb_typeof({value}), 'null') <> 'null' AS h{place}",
        ]
        aggregates += _aggregates(measure, place)
    if isinstance(query.group_by, EdgeEnd):
        own_end, other_end = _ENDS[query.group_by.is_outward]
        names = [column.rpartition(" AS ")[2] for column in columns]
        edge_type = bindings.add(query.group_by.edge_type, "text")
        keyed = SQL.filled(
            "by_edge",
            own_end=own_end,
            other_end=other_end,
            edge_type=edge_type,
            columns="".join(f", m.{name}" for name in names),
        )
        key = "NULL::jsonb"
    else:
        keyed = _BY_FIELD
        key = _key(_json_value(query.group_by, bindings, at="group_by")) if query.group_by else "'true'::jsonb"
    return SQL.filled(
        "groups",
        key=key,
        columns="".join(f", {column}" for column in columns),
        keyed=keyed,
        aggregates="".join(f", {aggregate}" for aggregate in aggregates),
        order=_order(query),
        filter=condition,
    )


def _json_value(name: str, bindings: Bindings, *, at: str) -> str:
    """Return the SQL of a field's value as jsonb.

    Raises:
        InvalidArgument: there is no such field.
        LimitExceeded: the path is too long.
    """
    field = FIELDS.find(name, at=at)
    if isinstance(field, Path):
        return field.sql(bindings)
    if field.or_sql:  # `type`: the general name of a node that has two
        return f"to_jsonb({field.sql})"
    if field.type is FieldType.TIME:
        return f"""to_jsonb(to_char({field.sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))"""
    return f"to_jsonb(nullif({field.sql}, ''))" if field.type is FieldType.TEXT else f"to_jsonb({field.sql})"


def _number(value: str) -> str:
    """Return the SQL of the number that a jsonb value is, by its first 40 digits; null for others and above 10^100."""
    number = f"({value})::numeric"
    rounded = f"round({number}, 40 - length(trunc(abs({number}))::text))"
    return f"CASE WHEN jsonb_typeof({value}) = 'number' THEN CASE WHEN abs({number}) < 1e100 THEN {rounded} END END"


def _text(value: str) -> str:
    return f"CASE WHEN jsonb_typeof({value}) = 'string' THEN left({value} #>> '{{}}', {_TEXT_CHARS_MAX}) END"


def _key(value: str) -> str:
    """Return the SQL of the key of a group: a text, a number or a boolean, as jsonb."""
    return (
        f"CASE jsonb_typeof({value}) WHEN 'string' THEN to_jsonb({_text(value)}) "
        f"WHEN 'number' THEN to_jsonb(trim_scale({_number(value)})) WHEN 'boolean' THEN {value} END"
    )


def _aggregates(measure: Measure, place: int) -> list[str]:
    """Return the columns of a measure: what groups are sorted by, its result, how many were counted, and the node."""
    number, text, has = f"k.n{place}", f'k.t{place} COLLATE "C"', f"count(*) FILTER (WHERE k.h{place})"
    used, result, of_text, node = f"count({number})", "", "NULL::text", "NULL::uuid"
    match measure.function:
        case Function.COUNT:
            used, result = has, has
        case Function.SUM:
            result = f"sum({number})"
        case Function.AVG:
            result = f"round(avg({number}), 10)"
        case Function.MIN | Function.MAX:
            way = "ASC" if measure.function is Function.MIN else "DESC"
            function = measure.function.value
            result, of_text = f"{function}({number})", f"{function}({text})"
            used = f"CASE WHEN {used} > 0 THEN {used} ELSE count({text}) END"
            node = (
                f"(array_agg(k.id ORDER BY {number} {way} NULLS LAST, {text} {way} NULLS LAST, k.id) "
                f"FILTER (WHERE {number} IS NOT NULL OR {text} IS NOT NULL))[1]"
            )
    value = f"coalesce(trim_scale(({result})::numeric)::text, to_json({of_text})::text)"
    return [
        f"({result})::numeric AS a{place}_number",
        f"({of_text})::text AS a{place}_text",
        f"{value} AS a{place}_value",
        f"{used} AS a{place}_counted",
        f"{has} - ({used}) AS a{place}_skipped",
        f"{node} AS a{place}_node",
    ]


def _order(query: FacetQuery) -> str:
    """Return the ORDER BY of groups; the key decides between equal ones.

    Raises:
        InvalidArgument: groups cannot be sorted by `order_by`.
    """
    if not query.order_by:
        return "g.nodes DESC, g.key"
    way = "DESC" if query.descending else "ASC"
    if query.order_by == NODES:
        return f"g.nodes {way}, g.key"
    if query.order_by == GROUP:
        return f"g.key {way}"
    for place, measure in enumerate(query.measures):
        if measure.text == query.order_by:
            text = f'g.a{place}_text COLLATE "C"'
            return f"g.a{place}_number {way} NULLS LAST, {text} {way} NULLS LAST, g.key"
    known = ", ".join([NODES, GROUP, *(measure.text for measure in query.measures)])
    raise InvalidArgument(
        f"order_by must be one of {known} for groups (got {query.order_by[:100]!r})", field="order_by"
    )


def _value(measures: Mapping[str, Any], place: int, names: Mapping[str, str]) -> FacetValue:
    """Return a measure of a group, from the columns of `_aggregates`."""
    prefix = f"a{place}_"
    node_id = measures[f"{prefix}node"] or ""
    return FacetValue(
        measures[f"{prefix}value"] or "",
        measures[f"{prefix}counted"],
        measures[f"{prefix}skipped"],
        node_id,
        names.get(node_id, ""),
    )


def _unquoted(key: str) -> str:
    """Return the id in a JSON text."""
    return key.strip('"')
