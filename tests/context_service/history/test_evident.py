"""What is evidently wrong with rules that compile: roles and parts, refused before anybody reads through them."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from context_service.history.model import PART_FIELDS, PART_FIELDS_COMMON, parts
from context_service.history.pure.limits import DEFAULTS
from context_service.history.pure.mapping_faults import check_evident
from context_service.history.pure.mapping_rules import MessageRule, Rules
from context_service.history.pure.mappings import built_in, built_in_names, compile_mapping
from context_service.history.rules.mapping_files import load
from context_service.kernel.cel import CallBudget, CompileBudget, EvaluationError
from context_service.kernel.parts import Part
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.errors import InvalidArgument
from tests.conftest import METADATA
from tests.errors import refused

BOT = pb.MappingRules(messages=[pb.MessageRule(role="'bot'", content="entity.data.text")])
CALL = {"type": "tool_call", "id": "1", "name": "get"}


def parts_of(value: list[object]) -> tuple[Part, ...]:
    budget = CallBudget()
    budget.resume(budget.call_steps_left)
    return parts(value, budget)


def check_rules(rules: Rules) -> None:
    budget = CompileBudget()
    check_evident(compile_mapping(rules, budget=budget), budget)


def check(**rule: str) -> None:
    check_rules(Rules(messages=(MessageRule(**{"role": "'user'", **rule}),)))


def fault(**rule: str) -> str:
    with pytest.raises(InvalidArgument) as caught:
        check(**rule)
    (violation,) = caught.value.violations
    assert violation.field == f"rules.messages[0].{next(iter(rule))}"
    return caught.value.message


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("'bot'", "line 1, column 1: 'bot' is not a role (user, assistant, system, tool); is it assistant?"),
        ("'User'", "column 1: 'User' is not a role (user, assistant, system, tool); is it user?"),
        ("'asistant'", "is it assistant?"),
        ("''", "column 1: '' is not a role (user, assistant, system, tool); `when` says which nodes give no message"),
        ("entity.data.mine ? 'user' : 'model'", "column 29: 'model' is not a role"),
        ("entity.data.mine ? 'me' : 'assistant'", "column 20: 'me' is not a role"),
        ("entity.data.a ? 'user' :\n entity.data.b ? 'tool' : 'it'", "line 2, column 27: 'it' is not a role"),
        ("{'human': 'user', 'ai': 'ai'}[entity.data.by]", "column 25: 'ai' is not a role"),
        ("cel.bind(by, entity.data.by, by == 'me' ? 'user' : 'other')", "column 52: 'other' is not a role"),
        ("'" + "x" * 1000 + "'", "'" + "x" * 40 + "...' is not a role"),
    ],
)
def test_a_role_that_is_written_out_is_one(role: str, told: str):
    assert told in fault(role=role, content="entity.data.text")


@pytest.mark.parametrize(
    "role",
    [
        "'tool'",
        "entity.data.role",
        "entity.data.mine ? 'user' : entity.data.role",
        "{'human': 'user', 'ai': 'assistant'}[entity.data.by]",
        "entity.data.by == 'bot' ? 'assistant' : 'user'",
        "entity.data.role.lowerAscii()",
    ],
)
def test_a_role_that_is_read_or_computed_may_be_anything(role: str):
    check(role=role, content="entity.data.text")


@pytest.mark.parametrize(
    ("parts_written", "told"),
    [
        (
            "[{'type': 'tool_call', 'id': entity.id, 'name': entity.name, 'args': entity.data}]",
            "line 1, column 62: a part of type tool_call has no field 'args', only id, name, arguments, type,"
            " media_type, file_name, metadata; is it arguments?",
        ),
        ("[{'type': 'tool_call', 'id': 'a', 'name': 'b', 'input': {}}]", "has no field 'input'"),
        ("[{'type': 'tool_call', 'name': 'b'}]", "column 2: a part of type tool_call needs id"),
        ("[{'type': 'tool_call'}]", "a part of type tool_call needs id and name"),
        ("[{'type': 'tool_result', 'id': 'a'}]", "a part of type tool_result has no field 'id', only tool_call_id"),
        ("[{'type': 'tool_use', 'id': 'a'}]", "column 11: 'tool_use' is not a type of a part (text, data"),
        ("[{'type': 'txt', 'text': 'a'}]", "'txt' is not a type of a part"),
        ("[{'type': null}]", "None is not a type of a part"),
        ("[{'txt': 'a'}]", "column 3: a part of type text has no field 'txt', only text"),
        ("[{}]", "a part of type text needs text"),
        ("[{'type': entity.data.kind, 'texxt': ''}]", "a part has no field 'texxt', only text, data"),
        ("[{entity.name: '', 'texxt': ''}]", "a part has no field 'texxt'"),
        ("[{1: ''}]", "has no field 1"),
        ("['one', {'txt': 'a'}]", "column 10: "),
        ("entity.data.files.map(f, {'type': 'record', 'id': f})", "a part of type record has no field 'id'"),
        ("entity.data.files.map(f, f != '', {'type': 'record'})", "a part of type record needs working_memory_id"),
        ("[{'type': 'uri', 'url': ''}].filter(p, entity.data.n > 1)", "'uri' is not a type of a part"),
        ("entity.data.parts + ['a'] + [{'txt': 'a'}]", "has no field 'txt'"),
        ("entity.data.n > 1 ? ['a'] : [{'txt': 'a'}]", "has no field 'txt'"),
        ("[entity.data.n > 1 ? 'a' : {'txt': 'a'}]", "has no field 'txt'"),
        ("cel.bind(n, entity.data.n, [{'txt': n}])", "has no field 'txt'"),
    ],
)
def test_a_part_that_is_written_out_has_the_form_of_its_type(parts_written: str, told: str):
    assert told in fault(parts=parts_written)


@pytest.mark.parametrize(
    "parts_written",
    [
        "['text', entity.name, {'text': 'a'}, {'type': 'text', 'text': 'a', 'media_type': 'text/markdown'}]",
        "[{'type': 'tool_call', 'id': entity.id, 'name': entity.name, 'arguments': {'args': 1}, 'metadata': {'x': 1}}]",
        "[{'type': entity.data.kind, 'text': '', 'data': {}}]",
        "[{entity.data.kind: entity.data.value}]",
        "[{'type': entity.data.n > 1 ? 'text' : 'data', 'text': '', 'data': 1}]",
        "entity.data.parts",
        "entity.data.parts.map(p, p)",
        "[]",
    ],
)
def test_what_is_read_or_computed_of_a_part_may_be_anything(parts_written: str):
    check(parts=parts_written)


def test_fields_of_parts_are_those_that_messages_read():
    for kind, fields in PART_FIELDS.items():
        whole = {"type": kind, **dict.fromkeys([*fields.required, *fields.optional], "x"), "is_error": True}
        assert parts_of([whole]) != parts_of([{**whole, **dict.fromkeys(fields.required, "y")}])
        for name in fields.required:
            with pytest.raises(EvaluationError, match=name):
                parts_of([{key: value for key, value in whole.items() if key != name}])
    assert parts_of([{**CALL, "arguments": {}}]) == parts_of([CALL]) != parts_of([{**CALL, "arguments": {"a": 1}}])
    common = dict(zip(PART_FIELDS_COMMON, ["tool_call", "a/b", "c", {"d": 1}], strict=True))
    assert parts_of([{**CALL, **common}]) != parts_of([CALL])


def test_a_part_that_a_node_keeps_may_have_more_than_is_read():
    """As some model's API gave it."""
    assert parts_of([{**CALL, "index": 0, "function": {}}]) == parts_of([CALL])


def test_a_role_mapping_gives_roles():
    rules = Rules(content_field="text", role_mapping={"Question": "user", "Answer": "bot"})

    with pytest.raises(InvalidArgument) as caught:
        check_rules(rules)

    assert caught.value.message == (
        "rules.role_mapping: 'bot', of 'Answer', is not a role (user, assistant, system, tool); is it assistant?"
    )
    assert caught.value.violations[0].field == "rules.role_mapping"


def test_built_in_mappings_have_nothing_wrong():
    for name in built_in_names():
        mapping = built_in(name)
        assert mapping is not None
        check_rules(mapping.rules)


def test_a_file_with_such_a_mapping_is_refused(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("mappings: {said: {content_field: text, role_mapping: {Turn: bot}}}")

    with pytest.raises(InvalidArgument, match=r"a\.yaml: mappings\.said: rules\.role_mapping: 'bot'"):
        load(tmp_path, DEFAULTS)


@pytest.fixture
def history(shared_channels: tuple[grpc.aio.Channel, grpc.aio.Channel]) -> ChatHistoryStub:
    return ChatHistoryStub(shared_channels[0])


async def test_such_rules_are_neither_registered_nor_tried(history: ChatHistoryStub):
    register = pb.RegisterMappingRequest(app_id="evident", mapping_name="bot", rules=BOT)
    trial = pb.TestMappingRequest(rules=BOT, nodes=[pb.SampleNode(data_json='{"text": "a"}')])

    for method, request in ((history.RegisterMapping, register), (history.TestMapping, trial)):
        async with refused(InvalidArgument, violations=["rules.messages[0].role"], line=1, column=1):
            await method(request, metadata=METADATA)
    listed = await history.ListMappings(pb.ListMappingsRequest(app_id="evident"), metadata=METADATA)
    assert not listed.mappings
