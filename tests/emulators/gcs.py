"""gcp-storage-emulator, an emulator of Google Cloud Storage, from PyPI.

It takes any credentials and enforces no `ifGenerationMatch`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.process import emulator
from tests.ports import free_port


@dataclass(frozen=True, slots=True, kw_only=True)
class Gcs:
    """A running emulator."""

    port: int

    def endpoint(self, port: int | None = None) -> str:
        return f"http://127.0.0.1:{port or self.port}"


@contextmanager
def running(folder: Path) -> Iterator[Gcs]:
    port = free_port()
    command = [sys.executable, "-m", "gcp_storage_emulator", "start"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--in-memory"]
    with emulator(command, port, folder / "gcs.log"):
        yield Gcs(port=port)
