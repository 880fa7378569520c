"""Keys of stacks in development: a client finds that of its own account, and sends it nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextkeep import EntityClient, dev_keys
from contextkeep.address import parse_address
from contextkeep.client import _base as client_base


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"127.0.0.1:50051": {"key": "cgk_of_the_stack", "pid": os.getpid()}}))
    monkeypatch.setenv("CONTEXTKEEP_DEV_KEYS", str(path))
    monkeypatch.delenv("CONTEXT_SERVICE_API_KEY", raising=False)
    return path


def found(address: str, api_key: str | None = None) -> tuple[str, str]:
    where, key = client_base.credential_of(api_key, parse_address(address))
    return str(where), key


def test_the_key_of_an_address_on_loopback_is_found():
    assert found("127.0.0.1:50051") == ("127.0.0.1:50051", "cgk_of_the_stack")


def test_localhost_is_called_where_the_stack_listens():
    """`localhost` may also be ::1, where another account of the machine may listen and read the key."""
    assert found("localhost:50051") == ("127.0.0.1:50051", "cgk_of_the_stack")


@pytest.mark.parametrize(
    "address", ["127.0.0.1:50052", "127.0.0.2:50051", "[::1]:50051", "https://127.0.0.1:50051", "example.com:50051"]
)
def test_the_key_goes_to_no_other_address(address: str):
    assert found(address) == (address, "")


def test_an_argument_and_the_variable_win(monkeypatch: pytest.MonkeyPatch):
    assert found("127.0.0.1:50051", "mine")[1] == "mine"
    assert found("127.0.0.1:50051", "")[1] == ""
    monkeypatch.setenv("CONTEXT_SERVICE_API_KEY", "of the environment")
    assert found("127.0.0.1:50051")[1] == "of the environment"


def test_a_blank_variable_is_as_if_it_were_not_set(monkeypatch: pytest.MonkeyPatch):
    """Hosts of MCP servers set variables to nothing where their own environment has none."""
    monkeypatch.setenv("CONTEXT_SERVICE_API_KEY", "")
    assert found("127.0.0.1:50051")[1] == "cgk_of_the_stack"


def test_a_stack_that_was_killed_leaves_no_key(file: Path):
    """Another program may listen on its port by now."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    file.write_text(json.dumps({"127.0.0.1:50051": {"key": "cgk_of_the_stack", "pid": ended.pid}}))

    assert found("127.0.0.1:50051")[1] == ""


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"127.0.0.1:50051": "cgk_"}', '{"127.0.0.1:50051": {"key": 1, "pid": 1}}', "\udcff"],
)
def test_a_file_that_is_damaged_has_no_keys(file: Path, content: str):
    file.write_bytes(content.encode("utf-8", "surrogateescape"))

    assert found("127.0.0.1:50051")[1] == ""
    EntityClient("127.0.0.1:50051").close()


def test_a_file_of_another_account_has_no_keys(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)

    assert dev_keys.find(parse_address("127.0.0.1:50051"))[1] == ""


def test_without_a_file_there_is_no_key(file: Path):
    file.unlink()

    assert found("127.0.0.1:50051")[1] == ""
