"""Our commands as an operator starts them, and programs of callers, but forked from a process that has loaded them.

A start takes 0.6 s of CPU, a fork 0.05. Each is still a process with an environment, a folder and streams of its own.
What a cold start loads, and that it works, is in `tests/e2e`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_LOADED = (
    "contextkeep.client.sync",
    "context_service.app",
    "context_service.commands.server",
    "entity_service.app",
    "service_runtime.cli.check_config",
)
_BYTES_MAX = 2**17  # an environment, too
_TIMEOUT_S = 120.0


class Started:
    """A process that runs, as `subprocess.Popen` is one.

    Args:
        pid: Its id.
        commands: What forked it.
    """

    def __init__(self, pid: int, commands: Commands) -> None:
        self.pid = pid
        self._commands = commands
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the code that it ended with; None: it runs."""
        if self._code is None:
            self._code = self._commands.code_of(self.pid)
        return self._code

    def wait(self, timeout: float = _TIMEOUT_S) -> int:
        """Wait for its end, and return its code.

        Raises:
            subprocess.TimeoutExpired: it takes longer.
        """
        give_up_at = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > give_up_at:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs. Its id is nobody else's until its end was asked for."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Commands:
    """Runs one command at a time, or starts processes; made by `loaded`."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._turn = threading.Lock()

    def run(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        has_ours: bool = True,
        folder: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m module` with its arguments, and wait for its end.

        Args:
            module: "context_service" or "entity_service".
            arguments: What follows it.
            environment: Its variables.
            has_ours: Whether it has our variables, too.
            folder: Where it runs; None: where we do.

        Raises:
            TimeoutError: it takes two minutes.
        """
        variables = {**(os.environ if has_ours else {}), **(environment or {})}
        asked = {"module": module, "arguments": arguments, "environment": variables, "folder": str(folder or ".")}
        return self._forked([module, *arguments], asked)

    def run_code(self, code: str, *, environment: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run `python -W error -c code` in a folder, and wait for its end.

        Raises:
            TimeoutError: it takes two minutes.
        """
        asked = {"code": code, "arguments": (), "environment": {**os.environ, **environment}, "folder": str(folder)}
        return self._forked(["-c", code], asked)

    def start(self, *arguments: str, environment: Mapping[str, str], log: Path) -> Started:
        """Run `python -m` with a module and its arguments, which dies with us, and do not wait for its end.

        Args:
            arguments: The module, and what follows it.
            environment: Variables besides ours.
            log: What it prints is added to this file.
        """
        module, *others = arguments
        asked = {
            "module": module,
            "arguments": others,
            "environment": {**os.environ, **environment},
            "is_started": True,
        }
        with log.open("ab") as file:
            return Started(int(self._ask(asked, file.fileno(), file.fileno())), self)

    def code_of(self, pid: int) -> int | None:
        """Return the code that a started process ended with; None: it runs."""
        told = self._ask({"ended": pid})
        return int(told) if told else None

    def _ask(self, asked: Mapping[str, object], *files: int) -> str:
        with self._turn:
            socket.send_fds(self._channel, [json.dumps(asked).encode()], list(files))
            return self._channel.recv(16).decode().strip()

    def _forked(self, arguments: list[str], asked: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            code = int(self._ask(asked, out.fileno(), err.fileno()))
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


@contextmanager
def loaded() -> Iterator[Commands]:
    """Keep a process for the block that has loaded our commands."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.settimeout(_TIMEOUT_S)
        process = subprocess.Popen([sys.executable, "-m", "tests.commands"], stdin=theirs)
        theirs.close()
        try:
            yield Commands(ours)
        finally:
            ours.close()  # which it reads as the end
            process.wait(_TIMEOUT_S)


def _asked(channel: socket.socket) -> dict[str, Any]:
    """Fork for each request; return in the child, as the process that was asked for, what it is to run."""
    while True:
        request, files, _, _ = socket.recv_fds(channel, _BYTES_MAX, 2)
        if not request:
            sys.exit()
        asked = json.loads(request)
        if "ended" in asked:
            ended, status = os.waitpid(asked["ended"], os.WNOHANG)
            channel.send(str(os.waitstatus_to_exitcode(status)).encode() if ended else b" ")
            continue
        assert threading.active_count() == 1, "a thread would be missing in the child"
        if child := os.fork():
            for file in files:
                os.close(file)
            if "is_started" in asked:
                channel.send(str(child).encode())
                continue
            _, status = os.waitpid(child, 0)
            channel.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        channel.close()
        if "is_started" in asked and sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with us, and we with who asked
        for file, stream in zip((os.open(os.devnull, os.O_RDONLY), *files), (0, 1, 2), strict=True):
            os.dup2(file, stream)
            if file > 2:
                os.close(file)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked.get("folder", "."))
        sys.argv = [asked.get("module", "-c"), *asked["arguments"]]
        return dict(asked)


def _run(asked: Mapping[str, Any]) -> int:
    """Run a module or a program as Python would, and return the code that it ends with."""
    try:
        if "module" in asked:
            runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
        else:
            warnings.simplefilter("error")
            exec(asked["code"], {"__name__": "__main__"})
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    for module in _LOADED:
        importlib.import_module(module)
    gc.freeze()  # what is shared stays so
    code = _run(_asked(socket.socket(fileno=os.dup(0))))
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # at Python's own end all that was loaded would be taken apart, for half of what a command takes
