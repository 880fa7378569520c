"""Any condition tree, any containment and any order: the service finds what the contract in plain Python finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract import search
from tests.contract.running import Case, Stack
from tests.examples import MORE, examples

VALUES: list[Any] = [
    0,
    1,
    1.0,
    -1,
    2.5,
    2**53,
    2**53 + 1,
    2**63 - 1,
    "",
    "a",
    "A",
    "b",
    "ab",
    "a%",
    "a_b",
    "ä",
    "\U0001f600",
    "\uffff",
    "1",
    True,
    False,
    None,
    [],
    [1],
    [1, "a"],
    {},
    {"b": 1},
    {"b": {"c": "a"}},
]
NAMES = ["", "a", "A", "ab", "ä", "%"]
# One node for each value, in pairs of equal times, and some with two paths or none.
CASE: dict[str, Any] = {
    "name": "any search",
    "nodes": {
        **{
            f"n{place}": {
                "at": place // 2,
                "name": NAMES[place % len(NAMES)],
                "type": "T" if place % 3 else "U",
                "general_type": "U" if place % 4 else "V",
                "archived": place % 7 == 0,
                "data": {"a": value, "l": [value, place]},
            }
            for place, value in enumerate(VALUES)
        },
        "none": {"data": {}},
        "other": {"data": {"b": {"c": "a"}, "l": {"0": 1}}},
    },
}
FIELDS = ["name", "type", "general_type_name", "status", "external_id"]
PATHS = ["data.a", "data.a.b", "data.a.b.c", "data.a.0", "data.l.0", "data.l.1", "data.l.-1", "data.none"]

texts = st.sampled_from([value for value in VALUES if isinstance(value, str)] + ["T", "U", "Created"])
# No capital letter past ASCII: what ILIKE folds of those is for the locale of the database to say.
patterns = st.sampled_from(["%", "a%", "_", "a_", "%b", "\\%", "a\\%", "a\\_b", "", "B", "%\U0001f600"])
values = st.sampled_from(VALUES)
ordered = st.sampled_from(
    [value for value in VALUES if isinstance(value, str | int | float) and not isinstance(value, bool)]
)


def operators(value: Any, comparable: Any) -> Any:
    """Return what may be said of a field: an operator and its operand, or several, or a `$not` of them."""
    one = st.one_of(
        st.tuples(st.sampled_from(["$eq", "$ne"]), value),
        st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), comparable),
        st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(value, max_size=3)),
        st.tuples(st.sampled_from(["$like", "$ilike"]), patterns),
        st.tuples(st.just("$exists"), st.booleans()),
    )
    several = st.lists(one, min_size=1, max_size=2).map(dict)
    return st.one_of(several, several.map(lambda said: {"$not": said}))


leaves = st.one_of(
    st.dictionaries(st.sampled_from(FIELDS), operators(texts, texts), min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(PATHS), operators(values, ordered), min_size=1, max_size=2),
    st.dictionaries(
        st.sampled_from(PATHS), values.filter(lambda value: not isinstance(value, dict)), min_size=1, max_size=1
    ),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda name, some: {name: some}, st.sampled_from(["$and", "$or"]), st.lists(inner, min_size=1, max_size=3)
        ),
        inner.map(lambda one: {"$not": one}),
    ),
    max_leaves=5,
)
containments = st.one_of(
    st.builds(lambda value: {"a": value}, values),
    st.builds(lambda some: {"l": some}, st.lists(values, max_size=2)),
    st.just({}),
)
orders = st.sampled_from(["", "created_at", "name", "external_id", *PATHS])
searches = st.fixed_dictionaries(
    {},
    optional={
        "condition": trees,
        "contains": containments,
        "order_by": orders,
        "descending": st.booleans(),
        "include_archived": st.booleans(),
    },
)


@pytest.fixture(scope="module")
async def written(both: Stack) -> AsyncIterator[Case]:
    """Over gRPC alone: what HTTP makes of a search is in its cases."""
    running = Case(both, CASE)
    await running.hold([])
    yield running


@settings(max_examples=examples(25), deadline=None, derandomize=not MORE)
@given(said=searches)
async def test_the_service_finds_what_the_contract_says(said: dict[str, Any], written: Case):
    case = CASE | {"search": said}
    case["found"] = search.found(case)
    for call in search.calls_of(case):
        await written.run(call)
