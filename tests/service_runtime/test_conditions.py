"""Condition trees against a model of forty lines, over rows of every kind; and what is no condition."""

from __future__ import annotations

import itertools
import json
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from contextkeep.errors import InvalidArgument, LimitExceeded
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.inputs.conditions import (
    COMPARISONS_MAX,
    CONDITION_BYTES_MAX,
    DEPTH_MAX,
    STEPS_MAX,
    VALUES_MAX,
    Bindings,
    Field,
    Fields,
    FieldType,
    condition_sql,
)
from tests.examples import MORE, examples

FIELDS = Fields(
    columns={
        "name": Field(FieldType.TEXT, "t.name"),
        "type": Field(FieldType.TEXT, "t.name", "t.kind"),
        "size": Field(FieldType.NUMBER, "t.size"),
        "at": Field(FieldType.TIME, "t.at"),
        "done": Field(FieldType.BOOLEAN, "t.done"),
        "owner": Field(FieldType.ID, "t.owner"),
        "tags": Field(FieldType.TEXTS, "t.tags"),
    },
    documents={"data": "t.data"},
    policy="t.is_visible",
)
TYPES = {name: field.type for name, field in FIELDS.columns.items()}

IDS = [str(uuid.UUID(int=number)) for number in (1, 2)]
TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2027-01-01T00:00:00.000001Z"]
TEXTS = ["", "a", "ab", "B", "a%", "a_b", "ä", "a\\b", "𝕫"]
PATTERNS = ["a%", "%b", "_", "a\\%", "A%", "%", "", "a\\\\b", "a__"]
NUMBERS = [0, 1, 1.0, -1, 1.5, 2**60, 2**60 + 1, 1e300]
SCALARS = [None, True, False, *NUMBERS, *TEXTS]
DOCUMENTS: list[Any] = [
    {},
    *({"a": value} for value in SCALARS),
    *({"a": {"b": value}} for value in SCALARS),
    {"a": [1, "a", {"b": 1}]},
    {"a": []},
    {"a": [[1], {"b": "a"}]},
    {"a": {"0": "a", "-1": 1}},
    {"a": {"b": [1, 2]}},
    {"a": {"b": {"c": 1}}},
    {"0": 1},
    {"": 1},
]
PATHS = ["data", "data.a", "data.a.b", "data.a.0", "data.a.-1", "data.a.b.c", "data.0", "data.a. 0", "data.none"]


def rows() -> list[dict[str, Any]]:
    """Return rows in which every value of every column stands beside several of the others."""
    columns = [TEXTS, ["a", "x"], [*NUMBERS[:6], None], [*TIMES, None], [True, False, None], [*IDS, None]]
    tags = [[], ["a"], ["a", "b"], [""], ["ä", "a%"]]
    turning = [itertools.cycle(values) for values in (*columns, tags)]
    names = ("name", "kind", "size", "at", "done", "owner", "tags")
    return [
        {"id": number, "data": document, **dict(zip(names, map(next, turning), strict=True))}
        for number, document in enumerate([*DOCUMENTS, *DOCUMENTS[:7]])
    ]


ROWS = rows()


@pytest.fixture(scope="module")
def connection(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(role="postgres", database="postgres"), autocommit=True) as opened:
        opened.execute(
            "CREATE TEMPORARY TABLE t (id int, name text NOT NULL, kind text NOT NULL, size numeric, at timestamptz,"
            " done boolean, owner uuid, tags text[] NOT NULL, data jsonb NOT NULL, is_visible boolean DEFAULT true)"
        )
        with opened.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [
                    (
                        row["id"],
                        row["name"],
                        row["kind"],
                        row["size"],
                        row["at"],
                        row["done"],
                        row["owner"],
                        row["tags"],
                        Jsonb(row["data"]),
                    )
                    for row in ROWS
                ],
            )
        yield opened


def found(connection: psycopg.Connection, condition: object) -> list[int]:
    text = condition if isinstance(condition, str) else json.dumps(condition)
    bindings = Bindings()
    where = condition_sql("where_json", text, FIELDS, bindings)
    return [
        row[0] for row in connection.execute(f"SELECT t.id FROM t WHERE {where} ORDER BY 1".encode(), bindings.values)
    ]


# The model: a row and a condition, by the letter of the module's rules.

MISSING = object()


def holds(condition: dict[str, Any], row: dict[str, Any]) -> bool:
    return all(entry_holds(name, value, row) for name, value in condition.items())


def entry_holds(name: str, value: Any, row: dict[str, Any]) -> bool:
    if name == "$and":
        return all(holds(one, row) for one in value)
    if name == "$or":
        return any(holds(one, row) for one in value)
    if name == "$not":
        return not holds(value, row)
    stored = [row["name"], row["kind"]] if name == "type" else [stored_at(name, row)]
    return field_holds(name, stored, value)


def field_holds(name: str, stored: list[Any], value: Any) -> bool:
    if not isinstance(value, dict) or not any(key.startswith("$") for key in value):
        value = {"$eq": value}
    return all(operator_holds(name, stored, operator, said) for operator, said in value.items())


def operator_holds(name: str, stored: list[Any], operator: str, said: Any) -> bool:
    if operator == "$not":
        return not field_holds(name, stored, said)
    if operator in ("$ne", "$nin"):
        return not operator_holds(name, stored, {"$ne": "$eq", "$nin": "$in"}[operator], said)
    if operator == "$exists":
        return any(is_there(name, one) for one in stored) == said
    if operator == "$in":
        return any(operator_holds(name, stored, "$eq", one) for one in said)
    return any(compares(name, one, operator, said) for one in stored)


def is_there(name: str, stored: Any) -> bool:
    return stored is not MISSING and (name not in TYPES or stored not in (None, "", []))


def compares(name: str, stored: Any, operator: str, said: Any) -> bool:
    if name in TYPES and said is None:
        return not is_there(name, stored)
    if TYPES.get(name) is FieldType.TEXT and stored == "":  # nothing is there, and an empty text asks for that
        return operator == "$eq" and said == ""
    if stored is MISSING or (name in TYPES and stored is None):
        return False
    if name == "tags":
        return said in stored
    if operator in ("$like", "$ilike"):
        return isinstance(stored, str) and like(stored, said, ignore_case=operator == "$ilike")
    left, right = comparable(name, stored), comparable(name, said)
    if operator == "$eq":
        return bool(left == right)
    if left[0] != right[0] or left[0] not in ("number", "text", "time"):
        return False
    return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]


def comparable(name: str, value: Any) -> Any:
    if TYPES.get(name) is FieldType.TIME:
        return "time", datetime.fromisoformat(value).astimezone(UTC)
    match value:
        case None | bool():
            return "constant", value
        case int() | float():
            return "number", Decimal(str(value))
        case str():
            return "text", value
        case list():
            return "list", [comparable("", one) for one in value]
        case _:
            return "object", {key: comparable("", one) for key, one in value.items()}


def like(text: str, pattern: str, *, ignore_case: bool) -> bool:
    tokens = re.findall(r"\\(.)|(.)", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    expression = "".join(
        re.escape(quoted) if quoted else wild.get(plain) or re.escape(plain) for quoted, plain in tokens
    )
    return re.fullmatch(expression, text, re.DOTALL | (re.IGNORECASE | re.ASCII if ignore_case else 0)) is not None


def stored_at(name: str, row: dict[str, Any]) -> Any:
    if name in row and name != "data":
        return row[name]
    value = row["data"]
    for step in name.split(".")[1:]:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"\s*[+-]?\d+", step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


# Conditions of every form.

VALUES = st.sampled_from([*SCALARS, [1, 2], [], {"b": 1}, {"c": 1}, {}])
OF_TYPE = {
    FieldType.TEXT: st.sampled_from(TEXTS),
    FieldType.TEXTS: st.sampled_from(TEXTS),
    FieldType.NUMBER: st.sampled_from(NUMBERS),
    FieldType.TIME: st.sampled_from(TIMES),
    FieldType.BOOLEAN: st.booleans(),
    FieldType.ID: st.sampled_from(IDS),
}
ORDERS = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
LIKES = st.dictionaries(st.sampled_from(["$like", "$ilike"]), st.sampled_from(PATTERNS), min_size=1)


def operators(values: Any, *, ordered: Any, like: bool) -> Any:
    choices = [
        st.dictionaries(st.sampled_from(["$eq", "$ne"]), values, min_size=1),
        st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=4), min_size=1),
        st.fixed_dictionaries({"$exists": st.booleans()}),
    ]
    if ordered is not None:
        choices.append(st.dictionaries(ORDERS, ordered, min_size=1, max_size=2))
    if like:
        choices.append(LIKES)
    simple = st.one_of(choices)
    return st.one_of(values, simple, simple, st.fixed_dictionaries({"$not": st.one_of(values, simple)}))


def column_conditions(name: str) -> Any:
    values = OF_TYPE[TYPES[name]]
    has_order = TYPES[name] in (FieldType.TEXT, FieldType.NUMBER, FieldType.TIME)
    said = operators(
        st.one_of(st.none(), values), ordered=values if has_order else None, like=TYPES[name] is FieldType.TEXT
    )
    return st.fixed_dictionaries({name: said})


PATH_CONDITIONS = st.dictionaries(
    st.sampled_from(PATHS),
    operators(VALUES, ordered=st.sampled_from([*NUMBERS, *TEXTS]), like=True),
    min_size=1,
    max_size=2,
)
CONDITIONS = st.recursive(
    st.one_of(PATH_CONDITIONS, PATH_CONDITIONS, *map(column_conditions, TYPES)),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
        st.tuples(inner, inner).map(lambda two: {**two[0], **two[1]}),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(100), deadline=None, derandomize=not MORE)
@given(condition=CONDITIONS)
def test_the_rows_of_a_condition_are_those_of_the_model(connection: psycopg.Connection, condition: dict[str, Any]):
    assert found(connection, condition) == [row["id"] for row in ROWS if holds(condition, row)]


@settings(max_examples=examples(50), deadline=None, derandomize=not MORE)
@given(condition=CONDITIONS)
def test_a_condition_and_its_negation_part_the_rows(connection: psycopg.Connection, condition: dict[str, Any]):
    both = found(connection, condition) + found(connection, {"$not": condition})
    assert sorted(both) == [row["id"] for row in ROWS]


@pytest.mark.parametrize("nothing", ["", "{}", "  {} "])
def test_no_condition_is_all_rows(connection: psycopg.Connection, nothing: str):
    assert len(found(connection, nothing)) == len(ROWS)


def test_what_a_caller_says_is_never_sql(connection: psycopg.Connection):
    hostile = "'; DROP TABLE t; -- %s %(x)s \" \\"
    bindings = Bindings()
    where = condition_sql(
        "where_json",
        json.dumps(
            {
                "name": hostile,
                "tags": hostile,
                f"data.{hostile}": {hostile: {"$like": hostile}},
                "$not": {"name": {"$in": [hostile]}},
            }
        ),
        FIELDS,
        bindings,
    )
    assert "DROP" not in where
    assert found(connection, {f"data.{hostile}": {"$ne": hostile}}) == [row["id"] for row in ROWS]


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ("[]", ""),
        ("{", ""),
        ('{"none": 1}', ".none"),
        ('{"datax.a": 1}', ".datax.a"),
        ('{"data..a": 1}', ".data..a"),
        ('{"data.": 1}', ".data."),
        ('{"$nor": []}', ".$nor"),
        ('{"$and": []}', ".$and"),
        ('{"$and": {}}', ".$and"),
        ('{"$or": [1]}', ".$or[0]"),
        ('{"$not": []}', ".$not"),
        ('{"$and": [{}, {"name": {"$in": 1}}]}', ".$and[1].name.$in"),
        ('{"$and": [{}, {"$or": [{"size": {"$gt": "1"}}]}]}', ".$and[1].$or[0].size.$gt"),
        ('{"name": 1}', ".name"),
        ('{"name": {"a": 1}}', ".name"),
        ('{"name": {"$eq": "a", "x": 2}}', ".name.x"),
        ('{"name": {"$regex": "a"}}', ".name.$regex"),
        ('{"name": {"$like": 1}}', ".name.$like"),
        ('{"name": {"$like": "a\\\\"}}', ".name.$like"),
        ('{"data.a": {"$ilike": "\\\\\\\\\\\\"}}', ".data.a.$ilike"),
        ('{"name": {"$exists": 1}}', ".name.$exists"),
        ('{"name": {"$in": ["a", 1]}}', ".name.$in"),
        ('{"name": {"$gt": null}}', ".name.$gt"),
        ('{"name": {"$not": {"$in": 1}}}', ".name.$not.$in"),
        ('{"size": true}', ".size"),
        ('{"size": {"$like": "1%"}}', ".size.$like"),
        ('{"done": 1}', ".done"),
        ('{"done": {"$gt": false}}', ".done.$gt"),
        ('{"at": "2026-01-01T00:00:00"}', ".at"),
        ('{"at": {"$lt": "0001-01-01T00:00:00+23:00"}}', ".at.$lt"),
        ('{"at": 1}', ".at"),
        ('{"owner": "x"}', ".owner"),
        ('{"owner": {"$gt": "00000000-0000-0000-0000-000000000001"}}', ".owner.$gt"),
        ('{"tags": ["a"]}', ".tags"),
        ('{"tags": {"$like": "a"}}', ".tags.$like"),
        ('{"data.a": {"$gt": true}}', ".data.a.$gt"),
        ('{"data.a": {"$gte": [1]}}', ".data.a.$gte"),
        ('{"name": "a\\u0000"}', ""),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(condition: str, place: str):
    with pytest.raises(InvalidArgument) as caught:
        condition_sql("where_json", condition, FIELDS, Bindings())
    assert caught.value.violations[0].field == f"where_json{place}"


def nested(depth: int) -> str:
    return '{"$not":' * (depth - 1) + "{}" + "}" * (depth - 1)


@pytest.mark.parametrize(
    ("fits", "too_much"),
    [
        (nested(DEPTH_MAX), nested(DEPTH_MAX + 1)),
        (
            '{"name":' + '{"$not":' * (DEPTH_MAX - 1) + '"a"' + "}" * DEPTH_MAX,
            '{"name":' + '{"$not":' * DEPTH_MAX + '"a"' + "}" * (DEPTH_MAX + 1),
        ),
        (
            json.dumps({"$or": [{"name": "a"}] * COMPARISONS_MAX}),
            json.dumps({"$or": [{"name": "a"}] * (COMPARISONS_MAX + 1)}),
        ),
        (
            json.dumps({"$and": [{"$or": [{"size": 1}] * 100}, {"$or": [{"size": 1}] * 100}]}),
            json.dumps({"$and": [{"$or": [{"size": 1}] * 100}, {"$or": [{"size": 1}] * 101}]}),
        ),
        (json.dumps({"size": {"$in": [1] * VALUES_MAX}}), json.dumps({"size": {"$in": [1] * (VALUES_MAX + 1)}})),
        (json.dumps({"data" + ".a" * STEPS_MAX: 1}), json.dumps({"data" + ".a" * (STEPS_MAX + 1): 1})),
        ('{"name": "a"}' + " " * (CONDITION_BYTES_MAX - 13), '{"name": "a"}' + " " * (CONDITION_BYTES_MAX - 12)),
        (json.dumps({"name": {"$like": "a" * 1000}}), json.dumps({"name": {"$like": "a" * 1001}})),
    ],
)
def test_a_condition_is_bounded(connection: psycopg.Connection, fits: str, too_much: str):
    found(connection, fits)
    with pytest.raises(LimitExceeded):
        condition_sql("where_json", too_much, FIELDS, Bindings())


def test_an_index_serves_what_a_path_equals(connection: psycopg.Connection):
    connection.execute(
        "CREATE TEMPORARY TABLE u AS SELECT n AS id, jsonb_build_object('a', n) AS data FROM generate_series(1, 5000) n"
    )
    connection.execute("CREATE INDEX u_data ON u USING gin (data jsonb_path_ops)")
    connection.execute("ANALYZE u")
    bindings = Bindings()
    where = condition_sql(
        "where_json", '{"data.a": 7}', Fields(columns={}, documents={"data": "u.data"}, policy="TRUE"), bindings
    )
    plan = connection.execute(f"EXPLAIN SELECT id FROM u WHERE {where}".encode(), bindings.values).fetchall()
    assert "u_data" in str(plan)
