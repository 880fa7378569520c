"""moto's server, an emulator of S3, from PyPI. It checks no credentials."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.process import emulator
from tests.ports import free_port


@dataclass(frozen=True, slots=True, kw_only=True)
class Moto:
    """A running moto."""

    port: int

    def endpoint(self, port: int | None = None) -> str:
        return f"http://127.0.0.1:{port or self.port}"

    def uploads(self, bucket: str) -> str:
        """Return what the service says of multipart uploads that are neither complete nor aborted."""
        with urllib.request.urlopen(f"{self.endpoint()}/{bucket}?uploads") as answer:
            text: str = answer.read().decode()
            return text


@contextmanager
def running(folder: Path) -> Iterator[Moto]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with emulator(command, port, folder / "moto.log"):
        yield Moto(port=port)
