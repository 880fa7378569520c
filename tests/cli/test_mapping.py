from __future__ import annotations

import json
import re
import uuid
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Run

DOCS = Path(__file__).parents[2] / "docs" / "mappings.md"
SAID = "mappings: {said: {role_field: role, content_field: text}}\n"


@pytest.fixture
def app() -> str:
    """An app of the test's own."""
    return f"app-{uuid.uuid4().hex}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "said.yaml"
    path.write_text(SAID)
    return path


def test_the_file_of_the_docs_is_applied_and_differs_no_more(run: Run, answer: Answer, tmp_path: Path):
    """It is the one that a service reads from MAPPINGS_PATH: tests/context_service/history/test_mapping_files.py."""
    (text,) = re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    (tmp_path / "support.yaml").write_text(text)
    (tmp_path / "notes.txt").write_text("no mapping")

    assert run(f"mapping diff {tmp_path}").exit_code == 8
    applied = answer(f"mapping apply {tmp_path}")
    assert [(each["app_id"], each["mapping_name"], each["change"]) for each in applied] == [
        ("support", "typed", "created"),
        ("support", "tickets", "created"),
    ]
    assert answer(f"mapping diff {tmp_path}") == []
    same = run(f"mapping diff {tmp_path}")
    assert (same.exit_code, same.stdout, same.stderr) == (0, "", "nothing differs\n")
    assert {each["change"] for each in answer(f"mapping apply {tmp_path}")} == {"none"}


def test_a_mapping_that_is_applied_is_the_one_of_histories(run: Run, answer: Answer, app: str, file: Path):
    session = answer("node create Session")["id"]
    said = answer("node create Message --data", '{"role": "user", "text": "Why?"}')["id"]
    answer(f"edge create {session} {said} Contains")
    assert run(f"mapping apply {file} --app-id {app}").exit_code == 0
    history = answer(f"history {session} --mapping said --app-id {app}")
    assert [each["content"] for each in history] == ["Why?"]


def test_other_rules_need_to_be_meant(run: Run, answer: Answer, app: str, file: Path):
    answer(f"mapping apply {file} --app-id {app} --rules-version 2")
    file.write_text(SAID.replace("text", "content"))

    refused = run(f"mapping apply {file} --app-id {app}")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert f"error: {file}: mappings.said: " in refused.stderr
    assert "MAPPING_EXISTS" in refused.stderr
    assert "--replace or a higher --rules-version" in refused.stderr
    assert answer(f"mapping apply {file} --app-id {app} --rules-version 1")[0]["change"] == "none"
    assert run(f"mapping diff {file} --app-id {app}").exit_code == 8
    assert answer(f"mapping apply {file} --app-id {app} --rules-version 3")[0]["change"] == "replaced"
    file.write_text(SAID)
    assert answer(f"mapping apply {file} --app-id {app} --replace")[0]["change"] == "replaced"
    assert run(f"mapping diff {file} --app-id {app}").exit_code == 0


def test_the_name_of_a_built_in_mapping_cannot_be_had(run: Run, file: Path):
    file.write_text(SAID.replace("said", "simple_chat"))
    assert run(f"mapping diff {file}").exit_code == 8
    refused = run(f"mapping apply {file} --replace")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "what to do: choose another name" in refused.stderr


def test_a_difference_is_a_row_for_each_field(run: Run, app: str, file: Path):
    old = {"edge_types": ["Contains"], "messages": [{"role": "'user'", "content": "entity.data.a"}], "direction": "out"}
    new = {"filter": "true", "messages": [{"role": "'user'", "content": "entity.data.b"}], "depth_max": 3}
    file.write_text(json.dumps({"app_id": app, "mappings": {"said": old}}))
    assert run(f"mapping apply {file}").exit_code == 0
    file.write_text(json.dumps({"app_id": app, "mappings": {"said": new, "more": new}}))

    result = run(f"mapping diff {file} --json")

    assert result.exit_code == 8
    name = {"app_id": app, "mapping_name": "said"}
    assert json.loads(result.stdout) == [
        {**name, "field": "rules.edge_types", "registered": ["Contains"], "file": None},
        {**name, "field": "rules.filter", "registered": None, "file": "true"},
        {
            **name,
            "field": "rules.messages[0].content",
            "registered": "entity.data.a",
            "file": "entity.data.b",
        },
        {"app_id": app, "mapping_name": "more", "field": "rules", "registered": None, "file": new},
    ]
    raw = run(f"mapping diff {file} --raw")
    assert (raw.exit_code, raw.stdout.splitlines()[0]) == (8, f"{app}\tsaid\trules.edge_types\tContains\t")


def test_what_is_registered_for_all_apps_is_not_yet_the_apps(run: Run, answer: Answer, app: str, file: Path):
    name = f"m{uuid.uuid4().hex}"
    file.write_text(SAID.replace("said", name))
    assert answer(f"mapping apply {file}")[0]["app_id"] == ""
    assert run(f"mapping diff {file}").exit_code == 0
    assert run(f"mapping diff {file} --app-id {app}").exit_code == 8
    assert answer(f"mapping apply {file} --app-id {app}")[0] == {
        "app_id": app,
        "mapping_name": name,
        "rules_version": 0,
        "change": "created",
    }


def test_what_apply_would_refuse_is_no_difference_but_an_error(run: Run, app: str, file: Path):
    good, bad = ({"messages": [{"role": role, "content": "entity.name"}]} for role in ("'user'", "'bot'"))
    file.write_text(json.dumps({"app_id": app, "mappings": {"said": good}}))
    assert run(f"mapping apply {file}").exit_code == 0

    for mappings in ({"said": bad}, {"other": good, "new": bad}):
        file.write_text(json.dumps({"app_id": app, "mappings": mappings}))
        refused = run(f"mapping diff {file}")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert (
            f"error: {file}: mappings.{[*mappings][-1]}: rules.messages[0].role, line 1, column 1: 'bot' is"
            in refused.stderr
        )


def test_a_file_and_the_option_must_not_name_different_apps(run: Run, app: str, file: Path):
    file.write_text(f"app_id: {app}\n{SAID}")
    for line in (f"mapping apply {file}", f"mapping diff {file}"):
        result = run(f"{line} --app-id other")
        assert (result.exit_code, result.stdout) == (2, "")
        assert app in result.stderr
    assert run(f"mapping apply {file} --app-id {app}").exit_code == 0


def test_nothing_is_registered_where_a_file_is_wrong(run: Run, app: str, file: Path, tmp_path: Path):
    wrong = tmp_path / "wrong.yaml"
    for text in ("mappings: [", "mappings: {x: {filtr: y}}", "mappings: {x: {depth_max: deep}}", SAID):
        wrong.write_text(text)
        result = run(f"mapping apply {file} {wrong} --app-id {app}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(wrong) in result.stderr
    assert run(f"mapping diff {file} --app-id {app}").exit_code == 8


def test_rules_that_do_not_compile_are_named_and_what_came_before_is_said(run: Run, app: str, tmp_path: Path):
    rules = {"role_field": "role", "content_field": "text"}
    file = tmp_path / "two.yaml"
    file.write_text(json.dumps({"app_id": app, "mappings": {"sound": rules, "broken": {**rules, "filter": "1 +"}}}))
    for output_format in ("", "--raw"):
        result = run(f"mapping apply {file} {output_format}")
        assert result.exit_code == 2
        assert f"{file}: mappings.broken: " in result.stderr
        assert "rule=rules.filter" in result.stderr
        assert ("sound" in result.stdout, "broken" in result.stdout) == (True, False)


def test_rules_of_a_file_are_tried_on_a_conversation(run: Run, answer: Answer, node: str, file: Path):
    file.write_text("mappings: {asked: {messages: [{role: \"'user'\", content: entity.data.user_input}]}}")
    (trial,) = answer(f"mapping test {file} --node {node}")
    assert trial["messages"][0]["message"]["content"] == "Where?"
    assert "user: Where?" in run(f"mapping test {file} --node {node}").stdout
    assert "asked" not in [each["mapping_name"] for each in answer("mapping list --limit 0")]


def test_rules_of_a_file_are_tried_on_nodes_that_do_not_exist(run: Run, answer: Answer, file: Path):
    samples = [
        {"id": "one", "data": {"role": "user", "text": "Why?"}, "created_at": "2026-01-02T03:04:05Z"},
        {"id": "two", "data": {"role": "user"}},
    ]
    trials = answer(f"mapping test {file} --samples", json.dumps(samples))
    assert [(each["node_id"], each["included"]) for each in trials] == [("one", True), ("two", False)]
    assert trials[0]["messages"][0]["message"]["created_at"] == "2026-01-02T03:04:05Z"
    rows = [
        line.split("\t")
        for line in run(f"mapping test {file} --raw --samples", json.dumps(samples)).stdout.splitlines()
    ]
    assert [row[:2] for row in rows] == [["one", "yes"], ["two", "no"]]
    assert "text" in rows[1][4]


def test_a_trial_needs_to_know_which_rules_and_which_nodes(run: Run, node: str, file: Path):
    assert run(f"mapping test {file}").exit_code == 2
    assert run(f"mapping test {file} --node {node} --samples []").exit_code == 2
    for samples in ("[1]", '[{"no": 1}]', '[{"id": 1}]', '[{"created_at": "soon"}]', '[{"data": 1}]', '[{"io": 1}]'):
        result = run(f"mapping test {file} --samples", samples)
        assert result.exit_code == 2, samples
        assert "samples[0]" in result.stderr, samples
    file.write_text("mappings:\n  said: &rules {role_field: role, content_field: text}\n  heard: *rules\n")
    several = run(f"mapping test {file} --node {node}")
    assert (several.exit_code, "said, heard" in several.stderr) == (2, True)
    assert run(f"mapping test {file} --node {node} --mapping heard").exit_code == 0
    assert run(f"mapping test {file} --node {node} --mapping none").exit_code == 2


def test_a_folder_without_files_is_no_success(run: Run, tmp_path: Path):
    (tmp_path / "mappings.json").write_text("{}")
    for command in ("apply", "diff"):
        refused = run(f"mapping {command} {tmp_path}")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "has no *.yaml or *.yml files" in refused.stderr


def test_a_fault_of_yaml_is_told_in_a_line_with_its_place(run: Run, tmp_path: Path):
    (tmp_path / "a.yaml").write_text("app_id: x\n  mappings: {}\n")
    refused = run(f"mapping apply {tmp_path}")
    assert refused.exit_code == 2
    assert "a.yaml cannot be read: line 2, column 11: mapping values are not allowed here\n" in refused.stderr


def test_a_sample_with_a_field_that_there_is_not_is_told_of_those_there_are(run: Run, file: Path):
    for samples in ('[{"typ": "Ticket"}]', "[1]"):
        refused = run(f"mapping test {file} --samples", samples)
        assert refused.exit_code == 2
        assert "samples[0] is not a node; give an object with data, type, general_type, id" in refused.stderr


def test_a_text_where_a_list_belongs_is_told_with_the_list(run: Run, file: Path):
    file.write_text("mappings: {said: {edge_types: Contains, role_field: role, content_field: text}}\n")
    refused = run(f"mapping apply {file}")
    assert refused.exit_code == 2
    assert f'error: {file}: mappings.said: rules.edge_types is a list, as in ["Contains"]\n' in refused.stderr
