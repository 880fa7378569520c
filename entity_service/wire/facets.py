"""Structured questions between messages and values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.facets import (
    EDGES_MAX,
    GROUPS_DEFAULT,
    GROUPS_MAX,
    MEASURES_MAX,
    EdgeEnd,
    FacetAnswer,
    FacetGroup,
    FacetList,
    FacetQuery,
    Function,
    Measure,
)
from entity_service.model.limits import Limits
from entity_service.wire.fields import graph_name
from entity_service.wire.nodes import fill_node
from service_runtime.values.checks import check_at_most, check_count, check_text
from service_runtime.values.copying import copied

_FUNCTIONS = {function.value: function for function in Function}
_MEASURE = re.compile(r"(?P<function>[a-z]+)\((?P<field>.+)\)")
_WAYS = {"out": True, "in": False}


def facets_of(message: pb.ListFacetsRequest, limits: Limits) -> tuple[str, str]:
    """Return the graph and the type of ListFacets.

    Raises:
        LimitExceeded: a name is too long.
    """
    type_name = check_text("type_name", message.type_name, chars_max=limits.type_chars_max)
    return graph_name(message.graph_name, limits), type_name


def facet_query(message: pb.QueryFacetsRequest, limits: Limits) -> FacetQuery:
    """Return the structured question of QueryFacets.

    Raises:
        InvalidArgument: an edge or a measure is malformed.
        LimitExceeded: a field is too long or too large.
    """
    group_by = check_text("group_by", message.group_by, chars_max=limits.name_chars_max)
    if message.limit < 0:
        raise InvalidArgument(f"limit must be 0 or more (got {message.limit})", field="limit")
    check_at_most("limit", message.limit, GROUPS_MAX)
    check_count("measures", len(message.measures), MEASURES_MAX)
    return copied(
        FacetQuery,
        message,
        graph_name=graph_name(message.graph_name, limits),
        with_edges=_edges("with_edges", message.with_edges, limits),
        without_edges=_edges("without_edges", message.without_edges, limits),
        group_by=_edge("group_by", group_by, limits) if group_by.partition(":")[0] in _WAYS else group_by,
        measures=tuple(_measure(f"measures[{place}]", text, limits) for place, text in enumerate(message.measures)),
        order_by=check_text("order_by", message.order_by, chars_max=limits.name_chars_max),
        limit=message.limit or GROUPS_DEFAULT,
    )


def facet_list(found: FacetList) -> pb.ListFacetsResponse:
    """Return the answer to ListFacets."""
    types = [
        copied(pb.TypeFacets, kind, fields=[pb.NodeField(**field._asdict()) for field in kind.fields])
        for kind in found.types
    ]
    return pb.ListFacetsResponse(types=types, is_cut=found.is_cut)


def facet_answer(query: FacetQuery, answer: FacetAnswer) -> pb.QueryFacetsResponse:
    """Return the answer to QueryFacets."""
    groups = [_group(query, group) for group in answer.groups]
    response = copied(pb.QueryFacetsResponse, answer, nodes=[], groups=groups)
    for node in answer.nodes:
        fill_node(response.nodes.add(), node)
    return response


def _group(query: FacetQuery, group: FacetGroup) -> pb.FacetGroup:
    values = [
        pb.FacetValue(measure=measure.text, **value._asdict())
        for measure, value in zip(query.measures, group.values, strict=True)
    ]
    return copied(pb.FacetGroup, group, values=values)


def _edges(field: str, texts: Sequence[str], limits: Limits) -> tuple[EdgeEnd, ...]:
    check_count(field, len(texts), EDGES_MAX)
    return tuple(_edge(f"{field}[{place}]", text, limits) for place, text in enumerate(texts))


def _edge(field: str, text: str, limits: Limits) -> EdgeEnd:
    """Return the edges that a text such as "out:Placed" names.

    Raises:
        InvalidArgument: the text does not begin with "out:" or "in:", or names no type.
        LimitExceeded: the type is too long.
    """
    way, _, edge_type = text.partition(":")
    if way not in _WAYS or not edge_type:
        raise InvalidArgument(f'{field} must be "out:" or "in:" and a type of edges (got {text[:100]!r})', field=field)
    check_text(field, edge_type, chars_max=limits.type_chars_max)
    return EdgeEnd(edge_type=edge_type, is_outward=_WAYS[way])


def _measure(field: str, text: str, limits: Limits) -> Measure:
    """Return the measure that a text such as "sum(data.amount)" names.

    Raises:
        InvalidArgument: the text is no function of a field.
        LimitExceeded: the text is too long.
    """
    check_text(field, text, chars_max=limits.name_chars_max)
    match = _MEASURE.fullmatch(text.strip())
    function = _FUNCTIONS.get(match["function"]) if match else None
    if match is None or function is None:
        raise InvalidArgument(
            f"{field} must be a function of a field, such as sum(data.amount); the functions are "
            f"{', '.join(_FUNCTIONS)} (got {text[:100]!r})",
            field=field,
        )
    return Measure(text=text, function=function, field=match["field"].strip())
