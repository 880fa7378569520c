"""Keys of stacks in development: a client finds that of its own account, and sends it nowhere else."""

from __future__ import annotations

import json
import os
import re
import shutil
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
    path.write_text(json.dumps(entry(os.getpid(), dev_keys.started(os.getpid()))))
    monkeypatch.setenv("CONTEXTKEEP_DEV_KEYS", str(path))
    monkeypatch.delenv("CONTEXT_SERVICE_API_KEY", raising=False)
    return path


def entry(pid: int, started: str) -> dict[str, dict[str, object]]:
    return {"127.0.0.1:50051": {"key": "cgk_of_the_stack", "pid": pid, "started": started}}


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
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = dev_keys.started(process.pid)
        file.write_text(json.dumps(entry(process.pid, started)))
        assert found("127.0.0.1:50051")[1] == "cgk_of_the_stack"
    file.write_text(json.dumps(entry(process.pid, started)))

    assert found("127.0.0.1:50051")[1] == ""


@pytest.mark.parametrize("started", ["1", "", "Thu Jan  1 00:00:00 1970"])
def test_a_later_process_with_the_number_of_a_killed_stack_has_no_key(file: Path, started: str):
    """It may be of this account while a program of another account listens on the port."""
    file.write_text(json.dumps(entry(os.getpid(), started)))

    assert found("127.0.0.1:50051")[1] == ""


@pytest.mark.skipif(shutil.which("ps") is None, reason="no ps")
def test_systems_without_proc_tell_processes_apart_by_the_date_of_their_start(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(dev_keys, "_PROC", file / "missing")

    assert re.fullmatch(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ [\d:]{8} \d{4}", dev_keys.started(os.getpid()))
    assert dev_keys.started(2**22 + 1) == ""


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
