from __future__ import annotations

import json

from tests.cli.conftest import Answer, Run


def test_a_history_is_printed_as_a_table_as_json_and_for_a_model(run: Run, answer: Answer, node: str):
    assert [each["content"] for each in answer(f"history {node}")] == ["Where?", "Here."]
    assert [each["content"] for each in answer(f"history {node} --max 1")] == ["Here."]
    table = run(f"history {node}").stdout
    assert table.index("role") < table.index("Where?") < table.index("Here.")
    body = json.loads(run(f"history {node} --format openai").stdout)
    assert [each["role"] for each in body["messages"]] == ["user", "assistant"]


def test_an_unknown_mapping_is_said_with_what_to_do(run: Run, node: str):
    result = run(f"history {node} --mapping none")
    assert result.exit_code == 3
    assert "MAPPING_NOT_FOUND" in result.stderr


def test_the_mappings_that_are_built_in_are_listed(answer: Answer):
    assert "simple_chat" in [each["mapping_name"] for each in answer("mapping list")]
