"""`make run`: one stack, that starts, says what is wrong, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from contextgraph import EntityClient
from tests.ports import free_port


class Run:
    """A `make run` in a folder of its own, with a space in its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "CONTEXT_SERVICE_PORT": str(free_port()),
            "ENTITY_SERVICE_PORT": str(free_port()),
        }
        self.running: list[subprocess.Popen[str]] = []

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
        for line in process.stdout:
            if "Ctrl-C" in line:
                return process
        raise AssertionError("it ended instead")


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


@pytest.mark.parametrize("variable", ["CONTEXT_SERVICE_PORT", "ENTITY_SERVICE_PORT"])
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
    assert process.stdout.read() == f"cannot run: CONTEXT_SERVICE_PORT={port} is not a port: a number from 1 to 65535\n"


def test_the_commands_to_try_reach_the_stack_whatever_its_ports(run: Run):
    process = run.start()
    printed = []
    for line in process.stdout:
        printed.append(line.strip())
        if "Ctrl-C" in line:
            break
    export = next(line for line in printed if line.startswith("export "))
    commands = [line for line in printed if line.startswith(sys.executable) and " -c " in line]
    (run.folder / "README.md").write_text("a file")

    done = subprocess.run(
        ["/bin/sh", "-c", "; ".join([export, *commands])], cwd=run.folder, capture_output=True, text=True, check=False
    )

    assert len(commands) == 2
    assert done.returncode == 0, done.stderr
    assert 'Session "first"' in done.stdout


def test_a_service_that_ends_by_itself_ends_the_run(run: Run):
    process = run.start_until_ready()
    service = next(child for child in descendants(process) if "entity_service" in child.cmdline())

    service.kill()

    assert process.wait(60) == 1
    assert "entity-service ended by itself; .contextgraph/entity-service.log ends with:" in process.stdout.read()
