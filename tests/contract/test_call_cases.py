"""The contract's sentences as cases: calls to the real stack, and what they answer. See tests/cases/calls/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor

from contextkeep.options_pb2 import rule
from tests.case_files import BadCase, cases, check
from tests.contract.calls import RPCS, calls_of, differences, message_of
from tests.contract.doors import DOORS, by_doors, held
from tests.contract.running import Case, Stack

FORM: Any = {"keys": {"nodes", "edges"}, "answers": {"calls"}, "needed": {"contract"}}


CASES = by_doors(cases("calls", **FORM), calls_of)
# Only a store that signs URLs answers; the files of these tests are local.
ANSWERED_ELSEWHERE = {"CreateDownloadUrl": "tests/context_service/working_memory/test_download_urls.py"}


@pytest.mark.parametrize(("stack", "case"), CASES, indirect=["stack"])
async def test_the_contract_holds(case: dict[str, Any], stack: Stack):
    await Case(stack, case).hold(calls_of(case))


@pytest.mark.parametrize("door", DOORS)
def test_every_rpc_answers_and_refuses_in_some_case(door: str):
    holds = set[tuple[str, str]]().union(
        *(held(calls_of(case), door) for by, case in (param.values for param in CASES) if by == door)
    )
    for rpc in RPCS.values():
        for kind in ("answer", "refusal"):
            if DOORS[door].has(rpc) and not (kind == "answer" and rpc.name in ANSWERED_ELSEWHERE):
                where = f"add a call of it to a file of tests/cases/calls, such as the one of {rpc.service}"
                assert (rpc.name, kind) in holds, f"no case has an {kind} of {rpc} over {door}: {where}"
    for name, path in ANSWERED_ELSEWHERE.items():
        assert name in Path(path).read_text("utf-8")


def _empty_though_required(descriptor: Descriptor, fields: dict[str, Any]) -> Iterator[str]:
    """Yield the required fields that a part of a request leaves empty."""
    for field in descriptor.fields:
        value = fields.get(field.name)
        if field.GetOptions().Extensions[rule].required and value in (None, "", [], {}):
            yield field.full_name
        is_message = field.message_type is not None and not field.message_type.GetOptions().map_entry
        for part in value if isinstance(value, list) else [value]:
            if is_message and isinstance(part, dict):
                yield from _empty_though_required(field.message_type, part)


def test_no_answered_request_leaves_a_required_field_empty():
    """Clients may refuse what an option forbids, so an option must not be stricter than the service."""
    for case in {case["name"]: case for _, case in (param.values for param in CASES)}.values():
        for call in calls_of(case):
            descriptor = call.rpc.request.DESCRIPTOR
            if call.error or "update_mask" in descriptor.fields_by_name:  # an update needs only what its mask names
                continue
            for message in call.request if isinstance(call.request, list) else [call.request]:
                assert not list(_empty_though_required(descriptor, message)), f"{case['name']}: {call.rpc}"


def test_every_call_that_takes_a_node_answers_its_external_id():
    takes = {
        rpc.name for rpc in RPCS.values() if {"external_id", "graph_name"} <= set(rpc.request.DESCRIPTOR.fields_by_name)
    }
    named = {
        call.rpc.name
        for _, case in (param.values for param in CASES)
        for call in calls_of(case)
        if not call.error and isinstance(call.request, dict) and call.request.get("external_id")
    }
    assert takes <= named, f"add a call with an external_id to tests/cases/calls/without_ids.yaml: {takes - named}"


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
