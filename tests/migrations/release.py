"""What a release leaves behind for later versions: its code and the tests that send every statement of its stores.

While a version is rolled out, services of the last one work on tables that were migrated already. So the code of the
last release is kept in `tests/released/<version>/store.tar.xz`, with its migrations, and
`test_released.py` runs it on the migrations of today. Written by `make release`, in the commit that is released. One
release is kept: a step may take away what the one before it did not read any more. Before the first release there is
none, and the checkout stands in for it where a test is about how releases are stored and run.
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
CODE = [
    *PACKAGES.values(),
    "clients/python/contextkeep",
    "pyproject.toml",
    "tests",
    "bench",
    "soak",
    "docs/operations.md",
]
# Arguments of pytest, one a line: few tests that between them send every statement, and wait for no clock. They were
# found by noting what each store test sends; a new statement that none of them sends wants a line.
STORE_TESTS = "tests/migrations/store_tests.txt"


def store(path: Path, *, preset: int = 9) -> None:
    """Store the checkout's code and tests in a file.

    Args:
        path: Where.
        preset: How hard to compress: 9 takes a minute.
    """
    listed = ["git", "ls-files", "-z", "--", *CODE, ":!tests/released"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    with tarfile.open(path, "w:xz", preset=preset) as archive:
        for name in sorted(filter(None, names)):
            content = (ROOT / name).read_bytes()
            member = tarfile.TarInfo(name)  # no times and no owners: the same checkout is the same file
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


def last() -> Path | None:
    """Return the archive of the last release, if anything was released."""
    return next(FOLDER.glob(f"*/{ARCHIVE}"), None)


def unpack(path: Path, folder: Path) -> None:
    """Unpack an archive into a folder."""
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the code of an unpacked release instead of ours."""
    path = os.pathsep.join([str(folder), str(folder / "clients" / "python")])
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("CONTEXTKEEP_TEST_PASSED", None)  # what passed with our code
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> None:
    """Store this version in place of the last one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shutil.rmtree(FOLDER, ignore_errors=True)
    path = FOLDER / project["project"]["version"] / ARCHIVE
    path.parent.mkdir(parents=True)
    store(path)
    print(f"wrote {path.relative_to(ROOT)}, {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
