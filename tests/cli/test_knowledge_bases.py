"""Knowledge bases and MCP servers in a shell: what the commands add to the clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Run
from tests.fakes.mcp_server import fake_mcp

SECRET = "the-secret-of-the-tickets"


def test_a_document_comes_from_a_file_or_stdin_and_has_a_name(run: Run, answer: Answer, tmp_path: Path):
    answer("kb put papers")
    file = tmp_path / "paper.md"
    file.write_bytes("Grüße".encode())
    added = answer(f"kb add papers {file} --uri https://papers.example")
    assert (added["name"], added["size_bytes"], added["state"]) == ("paper.md", 7, "queued")
    assert answer("kb add papers - --name said.md", stdin="Hello")["size_bytes"] == 5
    assert [one["name"] for one in answer("kb documents papers")] == ["said.md", "paper.md"]
    for wrong in ("kb add papers", f"kb add papers {file} --record {added['document_id']}", "kb add papers -"):
        assert run(wrong, stdin="Hello").exit_code == 2
    answer(f"kb remove papers {added['document_id']}")
    assert run("kb delete papers", stdin="n\n").exit_code == 1
    assert answer("kb delete papers --yes") == {"name": "papers", "is_deleted": True}


def test_a_secret_is_read_from_a_file_so_that_no_list_of_processes_has_it(run: Run, answer: Answer, tmp_path: Path):
    file = tmp_path / "secret"
    with fake_mcp(secret=SECRET) as tickets:
        file.write_text(f"{SECRET}\n")
        put = run(f"mcp put desk {tickets.url} --secret {file} --json")
        assert (put.exit_code, SECRET in put.output, '"has_secret": true' in put.output) == (0, False, True)
        (tool,) = answer("mcp discover desk")
        arguments = ["--arguments", '{"query": "{question}"}', "--sha256", tool["definition_sha256"]]
        approved = answer("mcp approve desk search_tickets", *arguments)
        assert (approved["state"], approved["arguments"]) == ("approved", {"query": "{question}"})
        assert run("mcp approve desk search_tickets --arguments []").exit_code == 2
        file.write_text("\n")
        assert run(f"mcp put desk {tickets.url} --secret {file}").exit_code == 2
        answer(f"mcp put desk {tickets.url} --clear-secret")
        failed = run("mcp discover desk")
        assert (failed.exit_code, "asks for authentication" in failed.stderr) == (4, True)
    answer("mcp delete desk --yes")


@pytest.mark.parametrize("line", ["kb get no-such-base", "mcp discover no-such-server"])
def test_what_is_not_there_is_said_to_be_missing(run: Run, line: str):
    assert run(line).exit_code == 3
