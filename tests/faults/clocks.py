"""Clocks of processes that can be set, forward and back, while the processes run."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("clock.c")


class Clock:
    """The time of day in processes that are started with its environment."""

    def __init__(self, library: Path, path: Path) -> None:
        self._path = path
        self.environment = {"LD_PRELOAD": str(library), "FAULTY_CLOCK": str(path)}
        self.set(0)
        path.chmod(0o644)  # Postgres runs under an account of its own

    def set(self, offset_s: float) -> None:
        """Let it go so many seconds ahead of the machine's."""
        with self._path.open("r+b" if self._path.exists() else "wb") as file:  # in place: it is mapped
            file.write(struct.pack("=q", round(offset_s * 1e9)))


class Clocks:
    """Makes clocks in a folder that every account can enter; without a C compiler, the test is skipped."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("there is no C compiler to make a clock with")
        self._folder = folder
        self._library = folder / "clock.so"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(_SOURCE), "-ldl"], check=True
        )

    def make(self, name: str) -> Clock:
        """Return a new clock."""
        return Clock(self._library, self._folder / name)
