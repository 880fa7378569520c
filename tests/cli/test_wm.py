from __future__ import annotations

import json
import re
import uuid
from pathlib import Path

import pytest
from rich.console import Console

from contextkeep.cli import _output
from tests.cli.conftest import Answer, Run

UNKNOWN = "0197f1f2-0000-7000-8000-00000000ffff"


def test_a_file_goes_up_is_listed_and_comes_down_again(run: Run, answer: Answer, tmp_path: Path):
    (tmp_path / "a.md").write_bytes(b"# \xc3\xa4\n" * 1000)
    entity = str(uuid.uuid4())

    put = answer(f"wm put {tmp_path / 'a.md'} --type text/markdown --entity {entity} --tag draft")
    listed = answer(f"wm list {entity} --tag draft")
    blobs = answer(f"wm blobs {entity}")
    down = run(f"wm get {put['working_memory_id']} -o {tmp_path / 'b.md'}")
    raw = run(f"wm get {put['working_memory_id']} --raw")

    assert [each["name"] for each in listed] == ["a.md"]
    assert [each["sha256"] for each in blobs] == [put["sha256"]]
    assert (down.exit_code, raw.exit_code) == (0, 0), raw.stderr
    assert (tmp_path / "b.md").read_bytes() == raw.stdout_bytes == (tmp_path / "a.md").read_bytes()


def test_a_blob_is_named_by_its_key_too(run: Run, answer: Answer, tmp_path: Path):
    """Lists of blobs have keys, and FireFoundry's users know blobs by nothing else."""
    put = answer("wm put - --name piped --reasoning because --content-type text/csv", stdin=b"a,b")
    key = answer(f"wm get {put['working_memory_id']}")["blob_key"]

    found = answer(f"wm get {key}")
    assert (found["working_memory_id"], found["reasoning"]) == (put["working_memory_id"], "because")
    assert found["content_type"] == "text/csv"
    assert run(f"wm get {key} --raw").stdout == "a,b"
    assert run(f"wm get {key} -o {tmp_path / 'a'}").exit_code == 0
    assert run(f"wm get {key[:-1]}x").exit_code == 3
    assert answer(f"wm delete {key}")["working_memory_id"] == put["working_memory_id"]
    assert answer(f"wm delete {key} --purge --yes")["status"] == "purged"


def test_records_are_listed_by_what_they_are_for(answer: Answer, node: str):
    for purpose in ("plan", "report"):
        answer(f"wm record {purpose} --entity {node} --purpose {purpose}")
    assert [each["name"] for each in answer(f"wm list {node} --purpose plan")] == ["plan"]
    (entity,) = answer(f"wm manifest {node} --purpose report")
    assert [group["record_count"] for group in entity["groups"]] == [1]


def test_stdin_goes_up_and_needs_a_name(run: Run, answer: Answer):
    assert answer("wm put - --name piped", stdin=b"bytes")["size_bytes"] == 5
    refused = run("wm put -", stdin=b"bytes")
    assert refused.exit_code == 2
    assert "--name" in refused.stderr


def test_a_text_is_written_found_and_printed_as_it_is(run: Run, answer: Answer):
    made = answer("wm record note", "--text", "# Quokka\n  plan")
    assert made["memory_type"] == "text/plain"
    assert answer(f"wm get {made['working_memory_id']}")["content_text"] == "# Quokka\n  plan"
    assert run(f"wm get {made['working_memory_id']} --raw").stdout == "# Quokka\n  plan"
    assert [hit["record"]["name"] for hit in answer("wm search quokkas")] == ["note"]


def test_a_record_is_written_read_archived_restored_and_purged(run: Run, answer: Answer):
    made = answer("wm record plan", "--content", '{"n": 9007199254740993}', "--metadata", '{"a": 1}')
    one = made["working_memory_id"]

    assert answer(f"wm get {one}")["content"] == {"n": 9007199254740993}
    assert json.loads(run(f"wm get {one} --raw").stdout) == {"n": 9007199254740993}
    assert answer(f"wm delete {one}")["status"] == "archived"
    archived = run(f"wm get {one}")
    assert (archived.exit_code, "RECORD_ARCHIVED" in archived.stderr, "--archived" in archived.stderr) == (
        4,
        True,
        True,
    )
    assert answer(f"wm restore {one}")["status"] == "active"
    assert run(f"wm delete {one} --purge", stdin="n\n").exit_code == 1
    assert answer(f"wm get {one}")["name"] == "plan"
    assert answer(f"wm delete {one} --purge --yes")["status"] == "purged"
    kinds = [each["kind"] for each in answer(f"wm log {one}")]
    assert sorted(kinds) == ["archived", "created", "purged", "restored"]


def test_records_are_searched_and_counted(run: Run, answer: Answer):
    word = f"word{uuid.uuid4().hex}"
    answer(f"wm record {word} --type notes/{word}")

    assert [hit["record"]["name"] for hit in answer(f"wm search {word}")] == [word]
    where = json.dumps({"memory_type": {"$eq": f"notes/{word}"}})
    assert len(answer("wm query name", "--where", where)) == 1
    assert word in run("wm query name", "--where", where).stdout


def test_a_manifest_lists_what_is_below_a_node(run: Run, answer: Answer, node: str):
    answer(f"wm record below --entity {node}")
    (entity,) = answer(f"wm manifest {node}")
    assert entity["groups"][0]["records"][0]["name"] == "below"
    assert "data/json" in run(f"wm manifest {node}").stdout


def test_a_list_says_that_there_is_more(run: Run, answer: Answer):
    entity = str(uuid.uuid4())
    for name in ("one", "two"):
        answer(f"wm record {name} --entity {entity}")
    result = run(f"wm list {entity} --limit 1")
    assert "more than 1" in result.stderr
    assert len(run(f"wm list {entity} --raw").stdout.splitlines()) == 2


def test_what_a_caller_stored_cannot_steer_the_terminal(run: Run, answer: Answer):
    entity = str(uuid.uuid4())
    answer("wm record", "--entity", entity, "\x1b[2J[red]x")
    shown = run(f"wm list {entity}").stdout
    assert "\x1b" not in shown
    assert "\\x1b[2J[red]x" in shown


def test_what_is_not_there_is_said_with_a_reason_and_what_to_do(run: Run):
    result = run(f"wm get {UNKNOWN}")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "reason: RECORD_NOT_FOUND" in result.stderr
    assert "what to do: " in result.stderr


def test_each_kind_of_error_has_its_exit_code(run: Run):
    assert run("wm get no-id").exit_code == 2
    assert run("wm record x --content {").exit_code == 2
    assert run("wm put /no/such/file").exit_code == 2
    assert run(f"wm get {UNKNOWN} --api-key wrong").exit_code == 5
    unreachable = run(f"wm get {UNKNOWN} --context-address 127.0.0.1:1")
    assert unreachable.exit_code == 6
    assert "CONTEXT_SERVICE_ADDRESS" in unreachable.stderr


def test_a_list_is_a_table_that_can_be_read_and_copied_from(run: Run, answer: Answer, monkeypatch: pytest.MonkeyPatch):
    """Numbers stand right, times end with the second, and an id is not broken while half of the width is left."""
    entity = str(uuid.uuid4())
    for name, content in (("a-long-name-of-a-record-that-gives-way", "1"), ("b", '"0123456789"')):
        answer(f"wm record {name} --entity {entity}", "--content", content)
    ids = [each["working_memory_id"] for each in answer(f"wm list {entity}")]

    lines = run(f"wm list {entity}").stdout.splitlines()
    assert lines == [line.rstrip() for line in lines]
    heading, newest, oldest = lines
    assert newest[heading.index("size_bytes") :].startswith("        12  active")
    assert oldest[heading.index("size_bytes") :].startswith("         1  active")
    assert re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$", newest)

    monkeypatch.setenv("COLUMNS", "80")
    table = _output._table(("id", "name"), [[id_, "a name " * 20] for id_ in ids])
    console = Console()
    with console.capture() as captured:
        console.print(table)
    assert all(id_ in captured.get() for id_ in ids)
