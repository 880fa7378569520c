"""What a program that reads what strangers wrote may do, had one of them taken it over: nothing."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from service_runtime.child_processes import confined, confinement
from service_runtime.child_processes.confined import Ended, ProgramResult

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux holds a process to that")

_PR_CAPBSET_DROP = 24

_BEFORE = """
import ctypes, mmap, os, signal, socket, subprocess, sys, time
from service_runtime.child_processes.confinement import confine
parent, here = os.getppid(), os.getpid()
assert confine(memory_bytes_max=1 << 30, cpu_s_max=5)
"""


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield


async def _for_ever() -> AsyncIterator[bytes]:
    await asyncio.sleep(3600)
    yield b""


async def _run(
    path: Path, attempt: str, *, before: str = _BEFORE, chunks: AsyncIterator[bytes] | None = None
) -> ProgramResult:
    program = path / "program.py"
    program.write_text(before + attempt)
    return await confined.run([str(program)], chunks or _nothing(), timeout_s=20, output_bytes_max=1 << 16)


@pytest.mark.parametrize(
    "attempt",
    [
        "open(f'/proc/{parent}/environ', 'rb').read()",
        "open(f'/proc/{parent}/mem', 'rb').read()",
        "os.listdir(f'/proc/{parent}/fd')",
        "open('/etc/passwd').read()",
        "os.stat('/etc/passwd')",
        "open('written', 'w')",
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair()",
        "os.fork()",
        "subprocess.run(['true'])",
        "os.execv('/bin/true', ['true'])",
        "os.kill(parent, 0)",
        "os.kill(here, signal.SIGTERM)",
        "os.pipe()",
        "os.dup(1)",
        "os.memfd_create('code')",
        "os.pidfd_open(parent)",
        "os.setuid(0)",
        "os.unlink('/tmp/nothing')",
    ],
)
async def test_a_confined_program_is_refused(tmp_path, attempt):
    """Each of these succeeds, or fails otherwise, in a program that is not confined."""
    told = f"""
try:
    {attempt}
except PermissionError:
    os.write(1, b'refused')
else:
    os.write(1, b'done')
os._exit(0)
"""
    assert await _run(tmp_path, told) == ProgramResult(ended=Ended.WELL, output=b"refused")


async def test_a_program_has_an_empty_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "hunter2")
    outcome = await _run(tmp_path, "print(sorted(os.environ))", before="import os\n")
    assert b"SECRET" not in outcome.output
    assert b"PATH" not in outcome.output


async def test_a_descriptor_of_the_parent_is_not_the_childs(tmp_path):
    """Also one that the parent lets its children have: a library may have opened it so."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        attempt = f"""
try:
    os.write({write}, b'kept')
except OSError as error:
    os.write(1, str(error.errno).encode())
os._exit(0)
"""
        outcome = await _run(tmp_path, attempt)
        os.set_blocking(read, False)
        with pytest.raises(BlockingIOError):
            os.read(read, 1)
        assert outcome.output == b"9"
    finally:
        os.close(read)
        os.close(write)


def test_a_hidden_process_is_not_looked_into_by_its_children():
    """The second wall, for a program that is not confined yet: its parent's environment is not shown to it.

    Without the capabilities of root, which may look into everything.
    """
    program = """
import subprocess, sys
look = "import os; print(len(open(f'/proc/{os.getppid()}/environ', 'rb').read()))"
for number in range(2):
    print(subprocess.run([sys.executable, "-I", "-c", look], env={}, capture_output=True).returncode)
    hide()
"""
    source = inspect.getsource(confinement)
    prctl = ctypes.CDLL(None).prctl
    done = subprocess.run(
        [sys.executable, "-I", "-c", source + program],
        preexec_fn=lambda: [prctl(_PR_CAPBSET_DROP, one, 0, 0, 0) for one in range(64)],
        env={"SECRET": "1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["0", "1"], done.stderr


async def test_a_program_that_wants_too_much_memory_gets_none(tmp_path):
    attempt = """
try:
    bytearray(2 << 30)
except MemoryError:
    os.write(1, b'no memory')
os._exit(0)
"""
    assert (await _run(tmp_path, attempt)).output == b"no memory"


async def test_a_program_that_computes_too_long_is_killed(tmp_path):
    before = _BEFORE.replace("cpu_s_max=5", "cpu_s_max=1")
    assert (await _run(tmp_path, "while True: pass", before=before)).ended is Ended.TIMEOUT


async def test_a_program_that_waits_too_long_is_killed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\nos.write(1, str(os.getpid()).encode())\nos.read(0, 1)")
    outcome = await confined.run([str(program)], _for_ever(), timeout_s=2, output_bytes_max=100)
    assert outcome.ended is Ended.TIMEOUT
    assert not psutil.pid_exists(int(outcome.output))


async def test_a_program_that_answers_too_much_is_killed(tmp_path):
    outcome = await _run(tmp_path, "while True: os.write(1, bytes(1000))")
    assert outcome == ProgramResult(ended=Ended.OUTPUT, output=bytes(1 << 16))


async def test_how_a_program_broke_is_said(tmp_path):
    outcome = await _run(tmp_path, "ctypes.string_at(0)")
    assert outcome == ProgramResult(ended=Ended.BROKEN, output=b"", detail="signal 11")
    assert (await _run(tmp_path, "os.abort()")).ended is Ended.BROKEN
    assert (await _run(tmp_path, "sys.exit(3)")).detail == "status 3"
    killed = await _run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", before="")
    assert killed.ended is Ended.KILLED


async def test_what_fails_while_a_program_is_fed_is_raised(tmp_path):
    """A file that could not be read is not one that breaks its parser."""

    async def breaking() -> AsyncIterator[bytes]:
        yield b"a"
        raise ConnectionError("the storage is gone")

    with pytest.raises(ConnectionError, match="the storage is gone"):
        await _run(tmp_path, "os.write(1, os.read(0, 9) + os.read(0, 9))", chunks=breaking())


async def test_a_program_that_reads_no_further_is_left_alone(tmp_path):
    async def long() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield bytes(1 << 20)

    outcome = await _run(tmp_path, "os.write(1, b'enough'); os._exit(0)", chunks=long())
    assert outcome == ProgramResult(ended=Ended.WELL, output=b"enough")


async def test_a_program_ends_with_the_call_that_waits_for_it(tmp_path):
    pid_path = tmp_path / "pid"
    program = tmp_path / "program.py"
    program.write_text(f"import os\nopen({str(pid_path)!r}, 'w').write(str(os.getpid()))\nos.read(0, 1)")
    task = asyncio.create_task(confined.run([str(program)], _for_ever(), timeout_s=60, output_bytes_max=9))
    while not (pid_path.exists() and pid_path.read_text()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(int(pid_path.read_text()))


@pytest.mark.parametrize("service", ["context_service", "entity_service"])
def test_a_service_keeps_grpcs_handlers_of_fork_out_of_its_children(service):
    """With them, about two of a hundred children that uvloop starts next to calls die of signal 11."""
    program = f"""
import os, sys

class Watch:
    def find_spec(self, name, *_):
        if name == "grpc":
            print(os.environ.get("GRPC_ENABLE_FORK_SUPPORT"))

sys.meta_path.insert(0, Watch())
import {service}.__main__, grpc
"""
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == ["0"]
