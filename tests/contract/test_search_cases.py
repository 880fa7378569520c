"""Searches by cases in YAML, against what the contract says in the plainest Python, and against the real service."""

from __future__ import annotations

from typing import Any

import pytest

from tests.case_files import BadCase, cases
from tests.contract import search
from tests.contract.doors import by_doors
from tests.contract.running import Case, Stack

FORM: Any = {
    "keys": {"nodes", "edges", "search", "fields", "metadata"},
    "answers": {"found", "error"},
    "needed": {"contract"},
}
CASES = cases("search", **FORM)


def modelled(case: dict[str, Any]) -> bool:
    """Return whether the model knows the answer: refusals and JSONPath are the service's."""
    return "found" in case and "json_path" not in case.get("search", {})


@pytest.mark.parametrize("case", [one for one in CASES if modelled(one.values[0])])
def test_the_model_finds_it(case: dict[str, Any]):
    assert search.found(case) == case["found"]


@pytest.mark.parametrize(("stack", "case"), by_doors(CASES, search.calls_of), indirect=["stack"])
async def test_the_service_finds_it(case: dict[str, Any], stack: Stack):
    await Case(stack, case).hold(search.calls_of(case))


def test_a_search_that_is_not_of_the_form_is_refused():
    with pytest.raises(BadCase):
        search.calls_of({"name": "x", "search": {"conditions": {}}, "found": []})
