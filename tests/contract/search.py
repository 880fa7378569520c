"""Searches as cases: the form of `tests/cases/search`, and what they find by the letter of the contract.

Slow and short on purpose: a loop over the nodes, no SQL. What a `json_path` selects is Postgres's to say.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.case_files import BadCase
from tests.contract.calls import Call, graph_request, same
from tests.entity_service import model

FILTER_KEYS = {
    "condition",
    "contains",
    "json_path",
    "connected_to",
    "graph_name",
    "agent_bundle_id",
    "include_archived",
}
ORDER_KEYS = {"order_by", "descending"}
MISSING: Any = object()  # nothing stands at a path
NOTHING: Any = object()  # a column holds nothing


def calls_of(case: dict[str, Any]) -> list[Call]:
    """Return a case's calls: of the search and of the count.

    Raises:
        BadCase: it asks for what there is not.
    """
    said = case.get("search", {})
    if unknown := said.keys() - FILTER_KEYS - ORDER_KEYS:
        raise BadCase(f"{case['name']}: unknown keys {sorted(unknown)}")
    of = {key: value for key, value in said.items() if key in FILTER_KEYS}
    for short, name in (("condition", "condition_json"), ("contains", "contains_json")):
        if short in of:
            of[name] = of.pop(short)
    order = {key: value for key, value in said.items() if key in ORDER_KEYS}
    if "error" in case:
        refusal = {key: case[key] for key in ("error", "fields", "metadata") if key in case}
        both = [{"SearchNodes": {"filter": of, **order}, **refusal}]
        if not order:
            both.append({"CountNodes": {"filter": of}, **refusal})
        return [Call(one) for one in both]
    found = [{"id": f"${letter}"} for letter in case["found"]]
    return [
        Call({"SearchNodes": {"filter": of, **order}, "answer": {"nodes": found}}),
        Call({"CountNodes": {"filter": of}, "answer": {"count": len(found)}}),
    ]


def found(case: dict[str, Any]) -> list[str]:
    """Return the letters of the nodes that a case's search finds, in its order."""
    letters: dict[str, Any] = {}
    rows = graph_request(case, letters)["nodes"]
    for seq, (letter, row) in enumerate(zip(letters, rows, strict=False)):
        row |= {"letter": letter, "seq": seq, "is_archived": case["nodes"][letter].get("archived", False)}
    said = case.get("search", {})
    near = _connected(case, said["connected_to"]) if "connected_to" in said else None
    graph_name = said.get("graph_name") or (
        next(row for row in rows if f"${row['letter']}" == said["connected_to"]["node_id"]).get("graph_name", "default")
        if near is not None
        else "default"
    )
    matching = [
        row
        for row in rows
        if row.get("graph_name", "default") == graph_name
        and (said.get("include_archived") or not row["is_archived"])
        and said.get("agent_bundle_id", "") in ("", row.get("agent_bundle_id", ""))
        and holds(said.get("condition", {}), row)
        and contains(row["data_json"], said.get("contains", {}))
        and (near is None or row["letter"] in near)
    ]
    kinds: list[list[Any]] = [[], [], [], []]
    for row in matching:
        kind, value = _order_value(row, said.get("order_by") or "created_at")
        kinds[kind].append((value, row["created_at"], row["seq"], row["letter"]))
    return [row[-1] for kind in kinds for row in sorted(kind, reverse=said.get("descending", False))]


def _connected(case: dict[str, Any], said: dict[str, Any]) -> set[str]:
    nodes = {letter: model.ModelNode(letter, 0, 0, ("", "")) for letter in case["nodes"]}
    edges = [
        model.ModelEdge(str(place), near, far, kind, place)
        for place, (near, kind, far, *_) in enumerate(case.get("edges", []))
    ]
    reached = model.walk(
        nodes,
        edges,
        [said["node_id"][1:]],
        edge_types=said.get("edge_types", []),
        direction=said.get("direction", "OUT").lower(),
        depth_max=said.get("depth_max", 3),
        node_types=[],
        include_archived=True,
        include_start=False,
        include_io=False,
        order_path="",
        descending=False,
    )
    return {row.id for row in reached}


def holds(condition: dict[str, Any], row: dict[str, Any]) -> bool:
    """Return whether a condition is true of a node."""
    return all(_entry(name, value, row) for name, value in condition.items())


def _entry(name: str, value: Any, row: dict[str, Any]) -> bool:
    if name == "$and":
        return all(holds(one, row) for one in value)
    if name == "$or":
        return any(holds(one, row) for one in value)
    if name == "$not":
        return not holds(value, row)
    return _of_field(_values(name, row), value)


def _of_field(values: list[Any], said: Any) -> bool:
    if not isinstance(said, dict) or not any(name.startswith("$") for name in said):
        return any(_compare("$eq", one, said) for one in values)
    return all(_operator(values, name, one) for name, one in said.items())


def _operator(values: list[Any], name: str, said: Any) -> bool:
    if name == "$not":
        return not _of_field(values, said)
    if name in ("$ne", "$nin"):
        return not any(_compare({"$ne": "$eq", "$nin": "$in"}[name], one, said) for one in values)
    if name == "$exists":
        return any(one is not MISSING and one is not NOTHING for one in values) == said
    return any(_compare(name, one, said) for one in values)


def _compare(name: str, value: Any, said: Any) -> bool:
    if name == "$in":
        return any(_compare("$eq", value, one) for one in said)
    if value is MISSING:
        return False
    if value is NOTHING:
        return name == "$eq" and said in (None, "")
    if name == "$eq":
        return same(value, _time(said) if isinstance(value, datetime) else said)
    if name in ("$like", "$ilike"):
        return isinstance(value, str) and _like(said, ignore_case=name == "$ilike").fullmatch(value) is not None
    if isinstance(value, datetime):
        said = _time(said)
    elif not (isinstance(value, str) and isinstance(said, str)) and not (is_number(value) and is_number(said)):
        return False
    return {"$gt": value > said, "$gte": value >= said, "$lt": value < said, "$lte": value <= said}[name]


def _like(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    meant = {"%": ".*", "_": "."}
    text = "".join(meant.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(text, re.DOTALL | (re.IGNORECASE if ignore_case else re.NOFLAG))


def _values(name: str, row: dict[str, Any]) -> list[Any]:
    """Return what a field holds, or what its two do; an empty text in a column is not there."""
    if name.startswith("data"):
        return [_at(row["data_json"], name.split(".")[1:])]
    names = ["general_type_name", "specific_type_name"] if name == "type" else [name]
    defaults = {
        "graph_name": "default",
        "status": "Created",
        "version": 1 + row["is_archived"],
        "created_by": "somebody",
    }
    columns = defaults | row
    values = [columns.get(one, "") for one in names]
    if name == "created_at":
        return [_time(values[0])]
    return [NOTHING if one == "" else one for one in values]


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def contains(document: Any, part: Any) -> bool:
    """Return whether a document contains another, as Postgres's `@>`."""
    if isinstance(part, dict):
        return isinstance(document, dict) and all(
            name in document and contains(document[name], one) for name, one in part.items()
        )
    if isinstance(part, list):
        return isinstance(document, list) and all(any(contains(there, one) for there in document) for one in part)
    return not isinstance(document, dict | list) and same(document, part)


def _order_value(row: dict[str, Any], order_by: str) -> tuple[int, Any]:
    """Return the kind of the value that a node is ordered by (numbers, texts, others, none), and what compares."""
    (value,) = _values(order_by, row)
    if value is MISSING or value is NOTHING or value is None:
        return 3, 0
    if is_number(value):
        return 0, Decimal(str(value))
    if isinstance(value, datetime):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, 0)


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
