"""A small disk of its own, that can be full and get more room."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_MS_REMOUNT = 32
_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


class Disk:
    """A file system in memory; made by `small`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, size_bytes: int) -> None:
        """Give it another size."""
        if not _mount(self.path, _MS_REMOUNT, f"size={size_bytes}"):
            raise OSError(ctypes.get_errno(), "cannot resize the disk")

    def used_bytes(self) -> int:
        """Return how much of it is taken."""
        stat = os.statvfs(self.path)
        return (stat.f_blocks - stat.f_bfree) * stat.f_frsize

    def fill(self) -> Path:
        """Use all the room that is left for a file, and return it."""
        path = self.path / "ballast"
        with path.open("wb") as file:
            try:
                while True:
                    file.write(bytes(65536))
                    file.flush()
            except OSError:
                return path


@contextmanager
def small(path: Path, size_bytes: int, *, files_max: int = 0) -> Iterator[Disk]:
    """Mount a disk on a new folder for the block; where that is not allowed, the test is skipped."""
    path.mkdir()
    if not _mount(path, 0, f"size={size_bytes},nr_inodes={files_max}"):
        pytest.skip(f"cannot mount a small disk here: {os.strerror(ctypes.get_errno())}")
    try:
        yield Disk(path)
    finally:
        _libc.umount2(os.fsencode(path), _MNT_DETACH)


def _mount(path: Path, flags: int, options: str) -> bool:
    done: int = _libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", flags, options.encode())
    return done == 0
