"""The contract's sentences as cases: calls to the real stack, and what they answer. See tests/cases/calls/README.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.case_files import BadCase, cases, check
from tests.contract.calls import RPCS, calls_of, differences, message_of
from tests.contract.doors import by_doors
from tests.contract.running import Case, Stack

FORM: Any = {"keys": {"nodes", "edges"}, "answers": {"calls"}, "needed": {"contract"}}


@pytest.mark.parametrize(("stack", "case"), by_doors(cases("calls", **FORM), calls_of), indirect=["stack"])
async def test_the_contract_holds(case: dict[str, Any], stack: Stack):
    await Case(stack, case).hold(calls_of(case))


def test_every_rpc_of_the_graph_and_of_histories_has_a_case():
    called = {call.rpc.name for case in cases("calls", **FORM) for call in calls_of(case.values[0]) if call.expects}
    wanted = {rpc.name for rpc in RPCS.values() if rpc.service.endswith((".EntityGraph", ".ChatHistory"))}
    assert wanted <= called


@pytest.mark.parametrize(
    "bad",
    [
        {"calls": [{"GetNode": {}, "answer": {}}]},
        {"name": "x", "calls": [{"GetNode": {}, "answer": {}}]},
        {"name": "x", "contract": "y"},
        {"name": "x", "contract": "", "calls": []},
        {"name": "x", "contract": "y", "calls": []},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}, "answers": {}}]},
        {"name": "x", "contract": "y", "calls": [{"GetNodes": {}, "answer": {}}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}, "answer": {}, "error": "X"}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {}, "answer": {}, "fields": []}]},
        {"name": "x", "contract": "y", "calls": [{"GetNode": {True: 1}, "answer": {}}]},
        {"name": "x", "contract": "y", "cals": [], "calls": [{"GetNode": {}, "error": "X"}]},
    ],
)
def test_a_case_that_is_not_of_the_form_is_refused(bad: dict[str, Any]):
    with pytest.raises(BadCase):
        check(bad, **FORM)
        calls_of(bad)


def test_a_request_with_a_field_that_is_not_there_is_refused():
    with pytest.raises(BadCase):
        message_of(RPCS["GetNode"].request, {"id": "x"}, {})
    with pytest.raises(BadCase):
        message_of(RPCS["GetNode"].request, {"node_id": "$a"}, {})


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"b": 1}),
        ({"a": [1]}, {"a": []}),
        ({"a": [1]}, {"a": [2]}),
        ({"a": None}, {"a": "any"}),
        ({"data_json": '{"a": 1}'}, {"data_json": {"a": True}}),
        ({"data_json": '{"a": 1, "b": 2}'}, {"data_json": {"a": 1}}),
        ({"data_json": ""}, {"data_json": {}}),
        ({"data_json": "9007199254740993"}, {"data_json": 9007199254740992}),
    ],
)
def test_an_answer_that_differs_is_seen(found: dict[str, Any], wanted: dict[str, Any]):
    assert differences(found, wanted)
    assert not differences(found, {})
