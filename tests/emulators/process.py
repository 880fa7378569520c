"""An emulator as a child process that never outlives the tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from service_runtime.child_processes.children import die_with_us

START_TIMEOUT_S = 60.0


@contextmanager
def emulator(command: Sequence[str], port: int, log_path: Path, **environment: str) -> Iterator[None]:
    """Run a command for the block, from when it listens on its port."""
    with (
        log_path.open("wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment},
            preexec_fn=die_with_us(signal.SIGKILL),
        ) as process,
    ):
        try:
            _wait_for(process, port, log_path)
            yield
        finally:
            process.kill()


def _wait_for(process: subprocess.Popen[bytes], port: int, log_path: Path) -> None:
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while True:
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise RuntimeError(f"{process.args!r} did not start: {log_path.read_text(errors='replace')[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
