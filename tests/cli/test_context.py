"""`contextkeep context`: what is printed, and what is read of lines."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from contextkeep import new_id
from tests.cli.conftest import Answer, Run
from tests.media import png


@pytest.fixture
def context_id(answer: Answer) -> str:
    """A context with one message."""
    return answer("context send Hello --message-id greeting --title support")["context_id"]


def lines(*messages: object) -> str:
    return "\n".join(map(json.dumps, messages))


def test_a_first_message_begins_a_context_and_another_goes_on(answer: Answer, context_id: str):
    sent = answer(f"context send Hi --role assistant --agent-id helper --context {context_id}")
    assert (sent["context_id"], sent["seq"], sent["created"]) == (context_id, 2, False)

    shown = answer(f"context show {context_id}")
    assert (shown["title"], shown["message_count"], shown["agent_ids"]) == ("support", 2, ["helper"])
    listed = answer(f"context messages {context_id}")
    assert [(each["seq"], each["role"], each["content"]) for each in listed] == [
        (1, "user", "Hello"),
        (2, "assistant", "Hi"),
    ]
    assert answer(f"context message {context_id} greeting") == listed[0]


def test_stdin_is_a_message_as_it_is(answer: Answer, run: Run):
    sent = answer("context send -", stdin="one\ntwö\n")
    assert answer(f"context messages {sent['context_id']}")[0]["content"] == "one\ntwö\n"
    refused = run("context send -", stdin=b"\xff")
    assert (refused.exit_code, "must be text in UTF-8" in refused.stderr) == (2, True)


def test_one_context_is_found_by_an_id_of_ones_own_and_several_by_that_of_another_system(answer: Answer):
    thread = new_id()
    first = answer(f"context send a --get-or-create threads {thread}")
    assert answer(f"context send b --get-or-create threads {thread}")["context_id"] == first["context_id"]

    begun = [answer(f"context send a --external shop {thread} --external crm 7")["context_id"] for _ in range(2)]
    listed = answer(f"context list --external shop {thread} --state open --from 2026-01-31T00:00:00Z")
    assert [each["context_id"] for each in listed] == begun[::-1]
    assert listed[0]["external_ids"] == [{"system": "shop", "id": thread}, {"system": "crm", "id": "7"}]
    assert answer(f"context list --external shop {thread} --to 2026-01-31T00:00:00+01:00") == []


def test_messages_are_appended_from_lines_with_whatever_a_message_has(answer: Answer, run: Run):
    block = {"provider": "anthropic", "data": base64.b64encode(b"\0\xff").decode(), "text": "thinking"}
    call = {"id": "c-1", "name": "find", "arguments": {"name": "a.md"}}
    result = {"tool_call_id": "c-1", "content": ["a.md"], "is_error": True}
    said = lines(
        {"content": "Where?", "name": "Ann", "metadata": {"n": 1}, "said_at": "2026-01-31T12:00:00Z", "session": None},
        {"role": "assistant", "parts": [{"reasoning": block}, {"text": "Let me look."}, {"tool_call": call}]},
        {"role": "tool", "parts": [{"tool_result": result, "metadata": {"index": False}}]},
    )
    sent = answer("context append", stdin=f"\n{said}\n")
    assert [each["seq"] for each in sent] == [1, 2, 3]
    context_id = sent[0]["context_id"]

    first, second, third = answer(f"context messages {context_id}")
    assert (first["name"], first["metadata"], first["said_at"]) == ("Ann", {"n": 1}, "2026-01-31T12:00:00Z")
    assert second["parts"][0]["reasoning"] == {**block, "data_json": ""}
    assert second["parts"][2]["tool_call"] == call
    assert third["parts"][0]["tool_result"] == {**result, "files": []}
    assert third["parts"][0]["metadata"] == {"index": False}
    table = run(f"context messages {context_id}").stdout
    assert "[reasoning] Let me look. [tool_call find]" in table
    assert "thinking" not in table


def test_files_are_sent_from_paths_and_from_lines(answer: Answer, run: Run, tmp_path: Path):
    path = tmp_path / "shot.png"
    path.write_bytes(png(3, 2))
    sent = answer(f"context send 'What is on it?' --file {path} --file {path}")
    data = base64.b64encode(b"hello").decode()
    shots = [{"url": "https://example.com/x.png"}, {"data": data, "name": "a.txt"}]
    line = lines({"role": "tool", "parts": [{"tool_result": {"tool_call_id": "c", "files": shots}}]})
    answer(f"context append --context {sent['context_id']}", stdin=line)

    first, second = answer(f"context messages {sent['context_id']}")
    assert [(part["file"]["name"], part["file"]["width"]) for part in first["parts"]] == [("shot.png", 3)] * 2
    assert "[file shot.png] [file shot.png]" in run(f"context messages {sent['context_id']}").stdout
    address, bytes_sent = second["parts"][0]["tool_result"]["files"]
    assert address["url"] == "https://example.com/x.png"
    assert bytes_sent["sha256"] == hashlib.sha256(b"hello").hexdigest()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{", "line 1 is not valid JSON"),
        (lines({"content": "a"}, [1]), "line 2: the message must be a JSON object"),
        (lines({"text": "a"}), "the message has no field 'text'; its fields are content, role, parts"),
        (lines({"contents": "a"}), "; is it content?"),
        (lines({"parts": {"text": "a"}}), "parts must be a list"),
        (lines({"parts": [{"tool_call": {"id": "c"}}]}), "parts[0].tool_call missing 1 required keyword-only argument"),
        (lines({"parts": [{"reasoning": {"provider": "p", "data": "?"}}]}), "parts[0].reasoning.data must be base64"),
        (lines({"content": "a", "said_at": "today"}), "said_at must be a time such as"),
        (lines({"content": "a", "said_at": "2026-01-31T12:00:00"}), "(got '2026-01-31T12:00:00')"),
        (lines({"content": "a"}, {"content": 5}), "messages[1].content must be a text"),
        ("", "messages must have at least one message"),
    ],
)
def test_a_line_of_another_form_is_told_with_its_place_and_nothing_is_sent(run: Run, said: str, told: str):
    result = run("context append", stdin=said)
    assert result.exit_code == 2
    assert told in result.stderr


def test_what_matters_is_recalled_with_the_reason_why(run: Run, answer: Answer):
    said = lines({"content": "The cat is black."}, {"content": "It rains.", "role": "assistant"}, {"content": "A cat."})
    context_id = answer("context append", stdin=said)[0]["context_id"]

    recalled = answer(f"context recall {context_id} 'Which colour has the cat?' --tokens 500 --explain")
    assert [item["ref"] for item in recalled["items"]] == ["m3.0", "m1.0"]
    assert "> The cat is black." in recalled["prompt_text"]
    assert recalled["items"][0]["features"] and 0 < recalled["items"][0]["score"] < 1
    assert [item["ref"] for item in answer(f"context recall {context_id} rain --role user")["items"]] == ["m1.0"]
    assert [item["ref"] for item in answer(f"context recall {context_id} rain --role tool")["items"]] == []
    assert answer(f"context recall {context_id} cat --about {new_id()}")["items"] == []

    table = run(f"context recall {context_id} cat --items 1")
    heading, row = table.stdout.splitlines()
    assert heading.split() == ["ref", "score", "role", "said_at", "text"]
    assert row.startswith("m3.0")
    assert "1 more passages did not fit" in table.stderr
    heading = run(f"context recall {context_id} cat --explain --raw").stdout.splitlines()[0]
    assert len(heading.split("\t")) > len(("ref", "score", "role", "said_at", "text"))
    assert "turn" in run(f"context recall {context_id} cat --explain").stdout.splitlines()[0].split()
    assert "nothing found" in run(f"context recall {context_id} elephants").stderr


def test_passages_are_found_by_their_words(run: Run, answer: Answer, context_id: str):
    (hit,) = answer(f"context search {context_id} hello")
    assert (hit["ref"], hit["message_id"], hit["text"], hit["features"]) == ("m1.0", "greeting", "Hello", {})
    assert answer(f"context search {context_id} hello --kind data") == []
    assert "Hello" in run(f"context search {context_id} hello --explain").stdout
    unknown = run(f"context search {context_id} hello --profile none")
    assert (unknown.exit_code, "INVALID_ARGUMENT" in unknown.stderr) == (2, True)


def test_fields_are_set_and_cleared(run: Run, answer: Answer, context_id: str):
    answer(f"context update {context_id} --expires-at 2100-01-31T12:00:00Z --metadata '{{\"a\": 1}}'")
    changed = answer(f"context update {context_id} --clear expires_at --clear title --entity {context_id}")
    assert (changed["title"], changed["expires_at"], changed["metadata"]) == ("", None, {"a": 1})
    assert changed["entity_node_id"] == context_id

    for line, told in {
        "": "nothing to change",
        "--title a --clear title": "give a new value or --clear, not both",
        "--expires-at today": "'today' is not a time with a zone",
    }.items():
        refused = run(f"context update {context_id} {line}")
        assert (refused.exit_code, told in refused.stderr) == (2, True)


def test_what_cannot_be_undone_asks_first(run: Run, answer: Answer, context_id: str):
    for line in (f"context retract {context_id} greeting", f"context close {context_id}"):
        refused = run(line, stdin="n\n")
        assert (refused.exit_code, "This cannot be undone" in refused.stderr) == (1, True)

    assert answer(f"context retract {context_id} greeting --yes")["retracted"] == 1
    assert answer(f"context messages {context_id}") == []
    assert answer(f"context close {context_id} --yes")["state"] == "closed"
    closed = run(f"context send more --context {context_id}")
    assert (closed.exit_code, "CONTEXT_CLOSED" in closed.stderr) == (4, True)


def test_a_deleted_context_is_gone_and_its_receipt_is_read(run: Run, answer: Answer, context_id: str):
    refused = run(f"context delete {context_id}", stdin="n\n")
    assert (refused.exit_code, "This cannot be undone" in refused.stderr) == (1, True)
    receipt = answer(f"context delete {context_id} --now --yes")
    assert (receipt["context_id"], receipt["message_count"]) == (context_id, 1)
    assert answer(f"context erasure {receipt['erasure_id']}")["erasure_id"] == receipt["erasure_id"]
    gone = run(f"context show {context_id}")
    assert "CONTEXT_NOT_FOUND" in gone.stderr


def test_a_key_of_a_context_is_printed_once(answer: Answer, context_id: str):
    issued = answer(f"context key {context_id} --scope read --ttl 60")
    assert sorted(issued) == ["expires_at", "key"]
    assert issued["key"] != answer(f"context key {context_id}")["key"]


def test_a_context_may_be_a_users(run: Run, answer: Answer):
    context_id = answer("context send Hello --user ada")["context_id"]
    assert answer(f"context show {context_id} --user ada")["owner_user_id"] == "ada"
    assert run(f"context show {context_id} --user bob").exit_code == 3


def test_what_is_not_there_is_told(run: Run, context_id: str):
    assert run(f"context show {new_id()}").exit_code == 3
    assert run(f"context message {context_id} none").exit_code == 3
    late = run(f"context send x --context {context_id} --title new")
    assert (late.exit_code, "context update" in late.stderr) == (2, True)
    told = run(f"context show {new_id()}").stderr
    assert "give --user" in told


def test_a_person_reads_how_far_the_index_is(run: Run, context_id: str):
    assert "0 of 1 passages have vectors" in run(f"context show {context_id}").stdout


def test_what_happens_is_a_line_each(run: Run, context_id: str):
    run(f"context retract {context_id} greeting --yes")
    run(f"context update {context_id} --title cough")
    run(f"context send Hi --context {context_id}")
    told = run(f"context watch {context_id} --until-now").stdout.splitlines()
    assert told == ["message 2\tHi", "message 1\tretracted", "context\tcough (1 messages)"]
    behind = run(f"context watch {context_id} --until-now --from 3 --after 1").stdout
    assert behind == "context\tcough (1 messages)\n"
