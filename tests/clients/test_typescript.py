"""The TypeScript client's own tests, against both real services; where Node is missing, one line says so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import KEY, OTHER_KEY, Addresses

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/typescript"
TSC = ROOT / "node_modules/.bin/tsc"


@pytest.fixture(scope="module")
def node() -> str:
    """Node, with what `make npm` installs."""
    found = shutil.which("node")
    if found is None or not TSC.exists():
        reason = "Node is not installed" if found is None else "TypeScript is not installed: run `make npm`"
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def built(node: str) -> Path:
    """The folder of the compiled client, its tests and its example."""
    run(str(TSC), environment={})
    return CLIENT / "dist"


def test_the_client_does_what_its_tests_say(node: str, built: Path, stack: Addresses):
    run(node, "--test", "--test-reporter=dot", f"{built}/test/", environment=environment(stack))


def test_the_example_of_its_readme_runs_as_printed(node: str, built: Path, stack: Addresses):
    blocks = re.findall(r"```(typescript|text)\n(.*?)```", (CLIENT / "README.md").read_text("utf-8"), re.DOTALL)
    (_, code), (_, output) = blocks
    assert (CLIENT / "examples/chat.ts").read_text("utf-8").endswith(code)  # which `built` has compiled

    assert run(node, f"{built}/examples/chat.js", environment=environment(stack)) == output


def run(*command: str, environment: dict[str, str]) -> str:
    """Run a command in the client's folder and return what it prints."""
    done = subprocess.run(
        command, cwd=CLIENT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(addresses: Addresses) -> dict[str, str]:
    return {
        "CONTEXT_SERVICE_ADDRESS": addresses.context,
        "ENTITY_SERVICE_ADDRESS": addresses.entity,
        "CONTEXT_SERVICE_API_KEY": KEY,
        "OTHER_API_KEY": OTHER_KEY,
    }
