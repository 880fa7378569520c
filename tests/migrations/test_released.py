"""The last release on the tables of today: what a rollout does between `migrate` and the last old replica's end.

Its own code, with its own SQL, runs its own tests; only the migrations are ours. See `release.py`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.migrations import release

NEEDS_A_RELEASE = pytest.mark.skipif(release.last() is None, reason="nothing is released yet: `make release` stores it")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last release; before the first one, the checkout."""
    if (path := release.last()) is None:
        path = tmp_path_factory.mktemp("stored") / release.ARCHIVE
        release.store(path, preset=0)
    return path


@pytest.fixture(scope="module")
def released(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last release, unpacked, with our migrations in place of its own."""
    folder = tmp_path_factory.mktemp("released")
    release.unpack(archive, folder)
    (folder / "node_modules").symlink_to(release.ROOT / "node_modules")  # emulators, which no release holds
    for package in release.PACKAGES.values():
        shutil.rmtree(folder / package / "migrations")
        shutil.copytree(release.ROOT / package / "migrations", folder / package / "migrations")
    return folder


def test_the_tests_that_a_release_leaves_behind_are_there():
    for line in (release.ROOT / release.STORE_TESTS).read_text().splitlines():
        file, _, name = line.partition("[")[0].partition("::")
        assert f"def {name}(" in (release.ROOT / file).read_text(), line


@NEEDS_A_RELEASE
@pytest.mark.timeout(300)  # a session of tests in one
def test_the_last_release_works_on_the_new_schema(released: Path):
    done = release.run(released, "-m", "pytest", f"@{release.STORE_TESTS}")
    if done.returncode == 1:  # on a slow machine an answer may come late, but no statement fails only once
        done = release.run(released, "-m", "pytest", "--last-failed", f"@{release.STORE_TESTS}")

    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_step_that_drops_what_the_last_release_reads_fails_its_tests(released: Path):
    migrations = released / "entity_service" / "migrations"
    number = len(list(migrations.glob("0*.sql"))) + 1
    contract = migrations / f"{number:04}_contract.sql"
    contract.write_text("ALTER TABLE entity.edge DROP COLUMN data CASCADE;\n")
    try:
        done = release.run(
            released,
            "-m",
            "pytest",
            "tests/entity_service/test_transfer.py::test_an_import_again_changes_nothing",
        )
    finally:
        contract.unlink()

    assert done.returncode == 1, done.stdout + done.stderr
    assert "the database lacks migrations of this version" in done.stdout, done.stdout


def test_what_runs_is_the_code_of_the_release(released: Path):
    names = [*release.PACKAGES.values(), "contextkeep", "tests.conftest"]
    printing = f"import importlib as i; print(*(i.import_module(name).__file__ for name in {names}), sep='\\n')"

    done = release.run(released, "-c", printing)

    files = done.stdout.split()
    assert len(files) == len(names), done.stderr
    assert [file for file in files if not Path(file).is_relative_to(released)] == []


@NEEDS_A_RELEASE
@pytest.mark.parametrize(("schema", "package"), release.PACKAGES.items())
def test_a_released_migration_never_changes(archive: Path, tmp_path: Path, schema: str, package: str):
    """Where it was applied, another text under its number is refused, and nothing can be migrated any more."""
    release.unpack(archive, tmp_path)

    before = sorted((tmp_path / package / "migrations").glob("0*.sql"))
    assert before
    for migration in before:
        now = release.ROOT / package / "migrations" / migration.name
        assert now.exists(), f"{schema}: {migration.name} is gone"
        assert now.read_bytes() == migration.read_bytes(), f"{schema}: {migration.name} was released and is changed"
