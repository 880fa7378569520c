"""What a JSONPath implies: never more than it says, and nothing where it is not understood."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entity_service.pure import json_paths
from entity_service.pure.json_paths import INDEX_CHARS_MAX
from entity_service.store.node_search import JSON_PATH
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.examples import examples

SCALARS: list[Any] = [None, True, 1, 1.5, "x", "y", ""]
LEAVES = st.sampled_from(SCALARS)
DOCUMENTS = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@pytest.fixture(scope="module")
def connection(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(role="postgres", database="postgres"), autocommit=True) as opened:
        yield opened


def written(connection: psycopg.Connection, json_path: str) -> str:
    """Return a JSONPath as Postgres writes it."""
    row = connection.execute("SELECT %s::jsonpath::text", (json_path,)).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize(
    ("json_path", "index"),
    [
        ('$.kind == "x"', '$."kind" == "x"'),
        ('"x" == $.kind', '"x" == $."kind"'),
        ("strict $.a.b == null", '$."a"."b" == null'),
        ('$.kind == "x" && $.secret starts with "s" && $.n > 3', '$."kind" == "x"'),
        ("$.a == 1 && ($.b == 2 || $.c == 3)", '($."a" == 1 && ($."b" == 2 || $."c" == 3))'),
        ("$.a == 1 || $.b > 2", ""),
        ("$.a == 1 || $.b == 2 && $.c > 3", '($."a" == 1 || $."b" == 2)'),
        ("!($.a == 1)", ""),
        ("$.a == 1 && ($.b == 1) is unknown", '$."a" == 1'),
        ('$.tags[*] ? (@ == "t9")', '$."tags"[*][*] == "t9"'),
        (
            '$.a.b[0] ? (@.x == 1 && @.y > 2).z ? (@ == "q")',
            '($."a"."b"[*][*]."x" == 1 && $."a"."b"[*][*]."z"[*] == "q")',
        ),
        ("$ ? (exists(@.a ? (@.b == 1)) && $.c == 2)", '($[*]."a"[*]."b" == 1 && $."c" == 2)'),
        ("exists($.a ? (@ == 1))", '$."a"[*] == 1'),
        ('$.a == "é\\"\\\\ && $.b" && $.c like_regex "x" flag "i"', '$."a" == "é\\"\\\\ && $.b"'),
        ("$.** ? (@.x == 1)", ""),
        ("$.*.a == 1", ""),
        ('$.a.type() == "object" && $.b == 1', '$."b" == 1'),
        ('$.t.datetime("YYYY") == $.u && $.v == true', '$."v" == true'),
        ("$.a == $.b", ""),
        ("$ == 1", ""),
        ("$.a == -1", ""),
        ("($.a + 1) == 2", ""),
        ("$.a[$.b] == 1", ""),
        ("$.a[last] ? (@ == 1)", '$."a"[*][*] == 1'),
        ("$.a == 1500e-2", '$."a" == 15.00'),
        ("1 + 1", ""),
        ("$", ""),
    ],
)
def test_what_a_json_path_implies(connection: psycopg.Connection, json_path: str, index: str):
    known = json_paths.read(written(connection, json_path))
    assert known.index == index
    assert not known.has_variable


@pytest.mark.parametrize("json_path", ["$y == 1", '$.a == 1 && $."b"[$"x y"] == 2', "$.a ? (@.b == $n)", "exists($v)"])
def test_a_variable_is_found_wherever_it_stands(connection: psycopg.Connection, json_path: str):
    assert json_paths.read(written(connection, json_path)).has_variable


@pytest.mark.parametrize("json_path", ['$.a == "$y"', '$."$y" == 1', '$.a == "\\"$\\"y\\""', '$.a starts with "$"'])
def test_a_text_with_a_dollar_is_no_variable(connection: psycopg.Connection, json_path: str):
    assert not json_paths.read(written(connection, json_path)).has_variable


@pytest.mark.parametrize(
    "json_path",
    [
        "(" * 1000 + "$.a == 1" + ")" * 1000,
        "!(" * 1000 + "$.a == 1" + ")" * 1000,
        "$" + " ? (@.a == 1" * 200 + ")" * 200,
        "$" + ".abcdefghij" * 60 + " ? (" + " && ".join(["@.a == 1"] * 200) + ")",
        "$.a" + "[*]" * 1000 + " == 1",
    ],
)
def test_a_large_json_path_is_read_in_bounds(connection: psycopg.Connection, json_path: str):
    assert len(json_path) <= 4096
    index = json_paths.read(written(connection, json_path)).index
    assert len(index) <= INDEX_CHARS_MAX


KEYS = st.sampled_from([".a", ".b", ".c", "[*]", "[0]", ".*", ".**", "[last]", "[0 to 1]", ".size()", '."a"'])
FILTERED = st.deferred(lambda: PREDICATES.map(lambda inner: f" ? ({inner})"))


def paths(root: str) -> st.SearchStrategy[str]:
    return st.lists(KEYS | FILTERED, max_size=3).map(lambda steps: root + "".join(steps))


COMPARISONS = st.tuples(
    paths("$") | paths("@"),
    st.sampled_from(["==", "==", "==", "!=", "<", ">="]),
    st.sampled_from(SCALARS).map(json.dumps) | paths("@"),
).map(" ".join) | paths("@").map(lambda path: f'{path} starts with "x"')
PREDICATES = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"{two[0]} && {two[1]}"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}) || {two[1]}"),
        inner.map(lambda one: f"!({one})"),
        inner.map(lambda one: f"({one}) is unknown"),
        paths("@").map(lambda path: f"exists({path})"),
    ),
    max_leaves=4,
)
JSON_PATHS = st.tuples(
    st.sampled_from(["", "strict "]),
    PREDICATES.map(lambda inner: inner.replace("@", "$")) | PREDICATES.map(lambda inner: f"$ ? ({inner})") | paths("$"),
).map("".join)


@settings(max_examples=examples(100))
@given(json_path=JSON_PATHS, documents=st.lists(DOCUMENTS, min_size=1, max_size=20))
def test_what_a_json_path_means_is_in_what_it_implies(
    connection: psycopg.Connection, json_path: str, documents: list[Any]
):
    """Else a search by the index would lose a node; and it raises nothing, for it runs on documents of anybody."""
    asked = {"json_path": json_path, "chars_max": INDEX_CHARS_MAX}
    known = connection.execute(JSON_PATH, asked).fetchone()
    assert known is not None
    is_valid, is_predicate, canonical = known
    if not is_valid:  # such as @ outside of a filter
        return
    index = json_paths.read(canonical).index
    if not index:
        return
    lost = connection.execute(
        f"SELECT d FROM unnest(%(documents)s::jsonb[]) d WHERE d {'@@' if is_predicate else '@?'}"
        " %(json_path)s::jsonpath AND (d @@ %(index)s::jsonpath) IS NOT TRUE".encode(),
        {"documents": [json.dumps(one) for one in documents], "json_path": json_path, "index": index},
    ).fetchall()
    assert lost == [], f"{json_path} is taken to imply {index}"
