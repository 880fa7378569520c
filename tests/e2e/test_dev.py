"""`make run`: one stack, that starts, says what is wrong, and leaves nothing behind."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from contextkeep import EntityClient
from contextkeep.errors import Unauthenticated
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
OPERATOR = f"{shlex.quote(sys.executable)} -m context_service"


class Run:
    """A `make run` in a folder of its own, with a space in its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "CONTEXT_SERVICE_PORT": str(free_port()),
            "ENTITY_SERVICE_PORT": str(free_port()),
            "MCP_PORT": str(free_port()),
            "HTTP_PORT": str(two_free_ports()),
        }
        self.running: list[subprocess.Popen[str]] = []
        self.printed: list[str] = []  # until it was ready

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "context_service", "dev"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.running.append(process)
        return process

    def start_until_ready(self) -> subprocess.Popen[str]:
        process = self.start()
        self.printed = []
        for line in process.stdout:
            if "Ctrl-C" in line:
                return process
            self.printed.append(line.strip())
        raise AssertionError("it ended instead")

    def shell(self, *commands: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run what somebody would type in another terminal, where only `variables` are set."""
        environment = {name: value for name, value in os.environ.items() if name not in self.environment} | variables
        return subprocess.run(
            ["/bin/sh", "-ec", "\n".join(commands)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    folder = tmp_path / "a path with a space"
    folder.mkdir(mode=0o700)
    stack = Run(folder)
    yield stack
    for process in stack.running:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()


def two_free_ports() -> int:
    """Return the first of two neighbours that are free."""
    while True:
        port = free_port()
        with socket.socket() as neighbour:
            try:
                neighbour.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        return port


def descendants(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process], *, timeout_s: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=timeout_s)
    return not alive


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_stop_all_of_it(run: Run, number: signal.Signals):
    process = run.start_until_ready()
    children = descendants(process)
    assert len(children) > 3

    process.send_signal(number)

    assert process.wait(60) == 0
    assert "the data stays" in process.stdout.read()
    assert gone(children, timeout_s=30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_data_survives_the_next_run(run: Run, number: signal.Signals):
    address = f"127.0.0.1:{run.environment['ENTITY_SERVICE_PORT']}"
    first = run.start_until_ready()
    children = descendants(first)
    with EntityClient(address) as graph:
        node_id = graph.create_node("Session", name="kept").id
    first.send_signal(number)
    assert gone(children, timeout_s=60)

    run.start_until_ready()

    with EntityClient(address) as graph:
        assert graph.get_node(node_id).name == "kept"


def test_a_kill_of_the_supervisor_leaves_no_process_behind(run: Run):
    process = run.start_until_ready()
    children = descendants(process)

    process.kill()

    assert gone(children, timeout_s=60)


def test_a_second_run_beside_it_says_what_is_wrong(run: Run):
    first = run.start_until_ready()

    second = run.start()

    assert second.wait(60) == 1
    assert f"process {first.pid} already runs Postgres" in second.stdout.read()


@pytest.mark.parametrize("variable", ["CONTEXT_SERVICE_PORT", "ENTITY_SERVICE_PORT", "MCP_PORT", "HTTP_PORT"])
def test_a_taken_port_is_named(run: Run, variable: str):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(run.environment[variable])))
        taken.listen()
        process = run.start()
        assert process.wait(60) == 1

    printed = process.stdout.read()
    assert f"another process listens on 127.0.0.1:{run.environment[variable]}" in printed
    assert f"set {variable}" in printed
    assert "ready" not in printed


def test_the_services_of_another_checkout_are_not_taken_for_its_own(run: Run, tmp_path: Path):
    run.start_until_ready()
    (tmp_path / "other").mkdir()
    other = Run(tmp_path / "other")
    other.environment = run.environment
    process = other.start()

    assert process.wait(60) == 1
    assert "ready" not in process.stdout.read()
    process.stdout.close()


@pytest.mark.parametrize("port", ["fifty", "0", "70000"])
def test_what_is_no_port_is_told(run: Run, port: str):
    run.environment["CONTEXT_SERVICE_PORT"] = port
    process = run.start()

    assert process.wait(60) == 1
    told = f"cannot run: CONTEXT_SERVICE_PORT={port} is not a port: a number from 1 to 65535\n"
    assert process.stdout.read().endswith(told)


def commands_to_try(run: Run) -> list[str]:
    """Return what it told us to type, but for the example, which is a file of the checkout."""
    (run.folder / "README.md").write_text("a file")
    return [line for line in run.printed if line.startswith((sys.executable, "export ")) and "examples/" not in line]


def test_the_commands_to_try_reach_the_stack_before_and_after_the_first_key(run: Run):
    """Who made a key may have lost it: the stack of yesterday still says how to call it."""
    first = run.start_until_ready()
    without_key = run.shell(*commands_to_try(run))
    made = run.shell(f"{OPERATOR} keys create --subject me")
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 0
    run.start_until_ready()
    with_key = run.shell(*commands_to_try(run))

    assert (without_key.returncode, made.returncode, with_key.returncode) == (0, 0, 0), with_key.stderr
    assert 'Session "first"' in without_key.stdout
    assert 'Session "first"' in with_key.stdout
    assert any("keys create" in line for line in run.printed if line.startswith("export "))


def test_an_operators_command_works_on_the_stack_that_runs_in_its_folder(run: Run):
    """Nobody knows the port and the passwords of its Postgres."""
    process = run.start_until_ready()
    address = f"127.0.0.1:{run.environment['ENTITY_SERVICE_PORT']}"
    with EntityClient(address) as graph:
        graph.create_node("Session")

    first = run.shell(f"{OPERATOR} keys create --subject me")
    second = run.shell(f"{OPERATOR} keys create --subject me")
    checked = run.shell(f"{OPERATOR} storage fsck", f"{OPERATOR} migrate", f"{OPERATOR} check-config")
    elsewhere = run.shell(f"{OPERATOR} keys list", DATABASE_ADMIN_URL="postgresql://nobody@127.0.0.1:1/nothing")
    process.kill()
    gone(descendants(process), timeout_s=60)
    process.wait()
    after_the_kill = run.shell(f"{OPERATOR} keys list")

    assert "the stack that `make run` runs here" in first.stderr
    assert "calls without a key" in first.stderr
    assert "first key" not in second.stderr
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "make run" not in elsewhere.stderr
    assert "127.0.0.1" in elsewhere.stderr
    assert after_the_kill.stderr.startswith("DATABASE_ADMIN_URL is not set")


def test_what_the_first_key_says_is_so(run: Run):
    run.start_until_ready()
    address = f"127.0.0.1:{run.environment['ENTITY_SERVICE_PORT']}"

    key = run.shell(f"{OPERATOR} keys create --subject me").stdout.strip()
    time.sleep(2.5)  # both services follow within two seconds

    with EntityClient(address) as graph, pytest.raises(Unauthenticated):
        graph.create_node("Session")
    with EntityClient(address, api_key=key) as graph:
        graph.create_node("Session")


def test_one_port_of_metrics_is_one_for_each_service(run: Run):
    run.environment["METRICS_PORT"] = port = str(free_port())
    run.start_until_ready()

    (line,) = [line for line in run.printed if line.startswith("Metrics")]
    for number in (int(port), int(port) + 1):
        assert str(number) in line
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics") as answer:
            assert b"contextkeep_healthy" in answer.read()


def test_mcp_listens_where_it_says(run: Run):
    run.start_until_ready()
    (address,) = [line.split()[-1] for line in run.printed if line.startswith("MCP")]

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(address)

    with refused.value as answer:
        assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    ("variable", "value"), [("TLS_KEY_PATH", "key.pem"), ("METRICS_PORT", "65535"), ("METRICS_PORT", "many")]
)
def test_a_setting_that_cannot_be_of_both_is_told_at_once(run: Run, variable: str, value: str):
    run.environment[variable] = value
    process = run.start()

    assert process.wait(60) == 1
    assert variable in process.stdout.read()


def test_its_data_is_named_and_can_be_removed(run: Run):
    """As root it lies outside of the checkout, where nobody would look."""
    clean = f"make -s -f {shlex.quote(str(ROOT / 'Makefile'))} clean DATA=1"
    process = run.start_until_ready()
    (line,) = [line for line in run.printed if line.startswith("Data")]
    folders = [Path(name) for name in line.removeprefix("Data").strip().split(", ")]
    assert all(folder.exists() for folder in folders)

    too_early = run.shell(clean)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    afterwards = run.shell(clean)

    assert too_early.returncode != 0
    assert f"process {process.pid} runs on the data" in too_early.stdout
    assert afterwards.returncode == 0, afterwards.stderr
    assert not any(folder.exists() for folder in [*folders, run.folder / ".contextkeep"])


def test_a_service_that_ends_by_itself_ends_the_run(run: Run):
    process = run.start_until_ready()
    service = next(child for child in descendants(process) if "entity_service" in child.cmdline())

    service.kill()

    assert process.wait(60) == 1
    assert "entity-service ended by itself; .contextkeep/entity-service.log ends with:" in process.stdout.read()
