"""`contextkeep console` and `python -m contextkeep_console`: they say where they are, and stop when told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import httpx2 as httpx
import pytest
from click.testing import CliRunner

from contextkeep.cli.commands import contextkeep

COMMANDS = {
    "command": ["-c", "from contextkeep.cli import main; main()", "console", "--port", "0"],
    "module": ["-m", "contextkeep_console"],
}


@pytest.mark.parametrize("how", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_says_where_it_is_and_stops_when_it_is_told_to(how: str, number: signal.Signals):
    environment = {**os.environ, "CONSOLE_PORT": "0", "CONTEXT_SERVICE_API_KEY": "a-key-of-the-environment"}
    process = subprocess.Popen(
        [sys.executable, *COMMANDS[how]], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        url = process.stdout.readline().split()[-1]
        assert httpx.get(f"{url}/healthz").text == "ok"
        process.send_signal(number)
        printed, told = process.communicate(timeout=60)

    assert (process.returncode, printed, told) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "in plaintext"),
        (["--port", "fifty"], "is not a port"),
        (["--host", "192.0.2.1", "--port", "0"], "in plaintext"),
    ],
)
def test_what_it_cannot_do_is_told_in_a_line(arguments: list[str], said: str):
    result = CliRunner().invoke(contextkeep, ["console", *arguments])

    assert result.exit_code == 1
    assert said in result.stderr
    assert "Traceback" not in result.stderr
