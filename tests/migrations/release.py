"""What a release leaves behind for later versions: its code and the tests that send every statement of its stores.

While a version is rolled out, services of the last one work on tables that were migrated already. So the code of the
last release is kept in `tests/released/<version>/store.tar.xz`, with its migrations and its schema, and
`test_released.py` runs it on the migrations of today. Written by `make release`, in the commit that is released. One
release is kept: a step may take away what the one before it did not read any more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "released"
ARCHIVE = "store.tar.xz"
PACKAGES = {"access": "service_runtime", "context": "context_service", "entity": "entity_service"}  # by schema
CODE = [*PACKAGES.values(), "clients/python/contextkeep", "pyproject.toml", "tests", "docs/operations.md"]
# Arguments of pytest, one a line: few tests that between them send every statement, and wait for no clock. They were
# found by noting what each store test sends; a new statement that none of them sends wants a line.
STORE_TESTS = "tests/migrations/store_tests.txt"


def store(version: str) -> Path:
    """Store the checkout's code and tests as this version's, in place of the last one's, and return the file."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    path = FOLDER / version / ARCHIVE
    path.parent.mkdir(parents=True)
    listed = ["git", "ls-files", "-z", "--", *CODE, ":!tests/released"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name in sorted(filter(None, names)):
            content = (ROOT / name).read_bytes()
            member = tarfile.TarInfo(name)  # no times and no owners: the same checkout is the same file
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
    return path


def unpack(folder: Path) -> str:
    """Unpack the stored release into a folder, and return its version."""
    (path,) = FOLDER.glob(f"*/{ARCHIVE}")
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    return path.parent.name


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the code of an unpacked release instead of ours."""
    path = os.pathsep.join([str(folder), str(folder / "clients" / "python")])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> None:
    """Store this version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    path = store(project["project"]["version"])
    print(f"wrote {path.relative_to(ROOT)}, {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
