"""`contextkeep window`: a pack as text."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Run
from tests.media import png

SAID = [
    {"content": "Where is it?"},
    {"role": "assistant", "parts": [{"tool_call": {"id": "c", "name": "look", "arguments": {"at": "/"}}}]},
    {"role": "tool", "parts": [{"tool_result": {"tool_call_id": "c", "content": "a.txt"}}]},
]


@pytest.fixture
def context_id(answer: Answer) -> str:
    return answer("context append", stdin="\n".join(map(json.dumps, SAID)))[0]["context_id"]


@pytest.mark.parametrize("given", ["openai", "openai_responses", "anthropic", "gemini"])
def test_a_pack_is_shown_message_by_message_whoevers_it_is(answer: Answer, run: Run, context_id: str, given: str):
    opened = answer(f"window open {context_id} gpt-5 --system Brief. --format {given} --tools '[]' --tokens 9000")
    assert (opened["message_format"], opened["token_limit"]) == (given, 4904)

    shown = run(f"window pack {opened['window_id']}")

    lines = shown.stdout.splitlines()
    assert lines[:6] == ["── system", "Brief.", "", "── user", "Where is it?", ""]
    assert [line.replace(" ", "") for line in lines if line.startswith("calls ")] == ['callslook{"at":"/"}']
    assert "a.txt" in shown.stdout
    assert [line.split() for line in lines if line.startswith(("step_count", "last_seq"))] == [
        ["step_count", "2"],
        ["last_seq", "3"],
    ]
    body = json.loads(run(f"window pack {opened['window_id']} --body").stdout)
    assert answer(f"window pack {opened['window_id']}")["messages"] == body
    expanded = run(f"window expand {opened['window_id']} m2..m3").stdout
    assert 'calls look {"at":"/"}' in expanded
    assert "a.txt" in expanded
    assert run(f"window expand {opened['window_id']} m3/1").stdout == "a.txt"
    assert answer(f"window list {context_id}")[0]["window_id"] == opened["window_id"]
    assert answer(f"window close {opened['window_id']} --yes")["is_closed"]
    assert run(f"window pack {opened['window_id']}").exit_code == 4


def test_the_files_of_a_pack_are_listed_and_its_body_has_their_bytes(answer: Answer, run: Run, tmp_path: Path):
    path = tmp_path / "Größe.png"
    path.write_bytes(png(30, 20, pixels=os.urandom(4_500_000)))  # more than an answer of the service may have
    context_id = answer("context send", "What is it?", "--file", str(path))["context_id"]
    window_id = answer(f"window open {context_id} gemini-2.5-pro")["window_id"]
    (file,) = answer(f"window pack {window_id} --files")
    assert (file["media_type"], file["size_bytes"]) == ("image/png", path.stat().st_size)
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert file["sha256"][:8] in run(f"window pack {window_id} --files").stdout
    body = json.loads(run(f"window pack {window_id} --body").stdout)
    data = [part["inlineData"]["data"] for part in body["contents"][0]["parts"] if "inlineData" in part]
    assert list(map(b64decode, data)) == [path.read_bytes()]


def test_what_stands_in_front_is_changed_and_pinned(answer: Answer, run: Run, context_id: str):
    window_id = answer(f"window open {context_id} gpt-5 --system Brief.")["window_id"]
    assert answer(f"window update {window_id} --goal Find")["goal"] == "Find"
    pin_id = answer(f"window pin {window_id} French.")["pin_id"]
    answer(f"window pin {window_id} --ref m1")
    shown = run(f"window pack {window_id}").stdout
    assert "[Pinned]\nFrench." in shown and "[Pinned, m1]\nWhere is it?" in shown
    answer(f"window unpin {window_id} {pin_id}")
    assert [one["text"] for one in answer(f"window state {window_id} pin")] == ["Where is it?"]


def test_a_window_is_opened_with_a_config(answer: Answer, run: Run, context_id: str):
    config = json.dumps({"keep_last_steps": 4, "tier_ratios": {"hot": 0.3}}, separators=(",", ":"))
    opened = answer(f"window open {context_id} gpt-5 --config '{config}'")
    assert (opened["config"]["keep_last_steps"], opened["config"]["tier_ratios"]["hot"]) == (4, 0.3)

    changed = answer(f"window update {opened['window_id']} --budget 0.5 --reserve 5000 --config '{{\"low_mark\":0.3}}'")
    assert changed["token_limit"] < opened["token_limit"]
    now = answer(f"window get {opened['window_id']}")["config"]
    assert (now["low_mark"], now["keep_last_steps"]) == (0.3, opened["config"]["keep_last_steps"])
    unknown = run(f"window open {context_id} gpt-5 --config '{{\"keep_first_steps\":4}}'")
    assert unknown.exit_code == 2 and "keep_first_steps" in unknown.stderr
    assert "importance_weights, tier_ratios, high_mark" in unknown.stderr
    unknown = run(f"window open {context_id} a-model")
    assert "context_tokens" in unknown.stderr


def test_a_profile_is_put_from_a_file_and_listed(answer: Answer, run: Run, context_id: str, tmp_path: Path):
    file = tmp_path / "tickets.yaml"
    file.write_text("extends: general")
    assert answer(f"window profile put {file}")["version"] == 1
    assert answer("window profile put - --name tickets", stdin="extends: coding")["version"] == 2

    assert [one["text"] for one in answer("window profiles tickets --text")] == ["extends: coding", "extends: general"]
    assert {"coding", "tickets"} <= {one["name"] for one in answer("window profiles")}
    opened = answer(f"window open {context_id} gpt-5 --profile tickets")
    assert opened["compression_profile"] == "tickets@2"
    file.write_bytes(b"\xff")
    assert run(f"window profile put {file}").exit_code == 2


def test_a_message_is_traced_in_words(answer: Answer, run: Run, context_id: str):
    noise = "\n".join(f"line {n} of a listing of the harbour" for n in range(400))
    steps = [
        {"role": "assistant", "parts": [{"tool_call": {"id": f"d{n}", "name": "look", "arguments": {"at": n}}}]}
        | {"result": {"role": "tool", "parts": [{"tool_result": {"tool_call_id": f"d{n}", "content": noise}}]}}
        for n in range(6)
    ]
    lines = [json.dumps(one) for step in steps for one in (step, step.pop("result"))]
    answer(f"context append --context {context_id}", stdin="\n".join(lines))
    window_id = answer(f"window open {context_id} gpt-5 --tokens 60000 --config '{{\"keep_last_steps\":2}}'")[
        "window_id"
    ]
    assert run(f"window trace {window_id} m1").stdout.split()[-2:] == ["unread", "0"]
    run(f"window pack {window_id}")
    run(f"window fold {window_id}")

    traced = run(f"window trace {window_id} m5 --text 'line 222 of'").stdout
    assert "cleared" in traced and "m5 masked: line 0 of a listing of the harbour" in traced
    assert (
        "The text of m5 was last in packs of epoch 0 (then epoch 1, requested: mask all but the last 2 steps)."
        in traced
    )
    assert "is in the current pack" in run(f"window trace {window_id} m1 --text 'where is it'").stdout
    assert answer(f"window trace {window_id} m1")["messages"][0]["place"] == "verbatim"


def test_callers_say_what_holds(answer: Answer, context_id: str):
    window_id = answer(f"window open {context_id} gpt-5")["window_id"]
    assert answer(f"window patch {window_id} value port --value 80") == {"changed_count": 1}
    assert [(one["key"], one["value"]) for one in answer(f"window state {window_id} value")] == [("port", "80")]
    assert answer(f"window patch {window_id} value port --remove") == {"changed_count": 1}
    assert answer(f"window state {window_id}") == []


def test_a_window_is_shown_in_numbers(answer: Answer, run: Run, context_id: str):
    window_id = answer(f"window open {context_id} gpt-5")["window_id"]
    run(f"window pack {window_id}")
    run(f"window pin {window_id} French.")
    run(f"window usage {window_id} --input 200 --cached 100 --tokens 200")
    assert answer(f"window outcome {window_id} --quality 0.5")["step_to"] == 2

    shown = dict(line.split(maxsplit=1) for line in run(f"window stats {window_id}").stdout.splitlines())
    assert (shown["breaks"], shown["step_count"]) == ("1 pinned", "2")
    assert (shown["billed_call_count"], shown["billed_cached_share"]) == ("1", "0.5")
    assert shown["pins"].endswith("█")
    assert answer(f"window stats {window_id}")["usage"]["input_tokens"] == 200


def test_a_window_goes_back_to_a_checkpoint(answer: Answer, run: Run, context_id: str):
    window_id = answer(f"window open {context_id} gpt-5")["window_id"]
    before = answer(f"window pack {window_id}")["messages"]
    made = answer(f"window checkpoint {window_id} --label here")
    answer(f"context append --context {context_id}", stdin=json.dumps({"role": "user", "content": "Nonsense."}))
    last = answer(f"window pack {window_id}")["last_seq"]
    assert "here" in run(f"window checkpoints {window_id}").stdout
    done = answer(f"window rollback {window_id} {made['number']} --last {last}")
    assert done["receipt"]["left_out_refs"] == [f"m{last}"]
    assert answer(f"window pack {window_id}")["messages"] == before
    pack_id = answer(f"window pack {window_id}")["pack_id"]
    assert answer(f"window report {window_id} {pack_id}") == {"recovered": False}
    recovered = answer(f"window report {window_id} {pack_id} --invalid")
    assert recovered["rolled_back"]["receipt"]["checkpoint"] == made["number"]
    assert "left_out" in run(f"window report {window_id} {pack_id} --invalid").stdout
    assert "CHECKPOINT_NOT_FOUND" in run(f"window rollback {window_id} 9 --last {last}").stderr


def test_a_window_is_forked_and_what_came_of_it_comes_back(answer: Answer, run: Run, context_id: str):
    window_id = answer(f"window open {context_id} gpt-5")["window_id"]
    made = answer(f"window fork {window_id} Count. --inherits nothing --system Count! --ttl 60")
    assert made["ref"] == "f1" and made["key"].startswith("cgc_")
    fork = f"context append --context {made['context_id']}"
    answer(fork, stdin=json.dumps({"role": "assistant", "content": "There are 7."}))
    assert '"Count!"' in json.dumps(answer(f"window get {made['window_id']}"))
    done = answer(f"window merge {made['window_id']} --max 100 --call c")
    assert (done["fork_ref"], done["is_whole"]) == ("f1", True)
    assert answer(f"window get {window_id}")["forks"][0]["merged_ref"] == done["ref"]
    assert "There are 7." in run(f"window expand {window_id} f1:m2").stdout
    assert "INVALID_ARGUMENT" in run(f"window merge {window_id}").stderr


def test_a_fold_is_prepared_and_committed(answer: Answer, run: Run, context_id: str):
    window_id = answer(f"window open {context_id} gpt-5")["window_id"]
    refused = run(f"window commit {window_id}")
    assert refused.exit_code and "FOLD_NOT_PREPARED" in refused.stderr
    rows = [{"role": "assistant", "content": "\n".join(f"row {n} of a list" for n in range(400))} for _ in range(14)]
    answer(f"context append --context {context_id}", stdin="\n".join(map(json.dumps, rows)))
    told = answer(f"window prepare {window_id} --epoch 0")
    done = answer(f"window commit {window_id} --epoch 0")
    assert (done["reason"], done["masked_steps"]) == ("prepared", told["masked_steps"])
    assert "FOLD_STALE" in run(f"window commit {window_id}").stderr
