"""The databases of tests: clones of a migrated one, made ahead.

While a test runs, a thread copies the database of the next one, and drops those of earlier ones: on a second core, that
takes no time of the tests.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import sql

from service_runtime.databases import embedded_postgres
from service_runtime.databases.embedded_postgres import OWNER_ROLE, EmbeddedPostgres
from tests.ports import free_port

TEMPLATE = "migrated"
_MEMORY = Path("/dev/shm")
_PREFIX = "contextkeep-tests-"


@contextmanager
def in_memory(version: str) -> Iterator[EmbeddedPostgres]:
    """Run a Postgres of tests for the block, in memory where there is a file system for it.

    A clone is 400 files. ext4 does not give a file that was deleted in the last minutes to the next that is made, and
    looks for another through all of them: a clone cost 0.2 s of CPU there, and in memory 0.02.
    """
    root = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 * 2**30 else None
    if root is not None:
        _remove_what_was_killed(root)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=root) as folder:
        state = Path(folder)
        if root is not None:
            state.chmod(0o711)  # as root, Postgres is another account
        with embedded_postgres.running(
            state, version=version, durable=False, keep=False, port=free_port(), data_root=root and state
        ) as server:
            yield server


def _remove_what_was_killed(root: Path) -> None:
    """Remove what tests left that were killed, so that it does not fill the memory."""
    for left in root.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # of tests that just end
            if left.stat().st_mtime < time.time() - 60 and not embedded_postgres.is_running(left):
                shutil.rmtree(left)


class Clones:
    """Makes clones of the template of one server; made by `running`."""

    def __init__(self, connection: psycopg.Connection, worker: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._worker = worker
        self._next = worker.submit(self._make)
        self._dropping: list[Future[None]] = []

    def take(self) -> str:
        """Return the name of a new one."""
        made, self._next = self._next, self._worker.submit(self._make)
        return made.result()

    def drop(self, name: str) -> None:
        """Let one go, whoever is still connected to it."""
        self._dropping.append(self._worker.submit(self._drop, name))

    def end(self) -> None:
        """Wait for what is under way.

        Raises:
            psycopg.Error: one could not be dropped.
        """
        self._next.result()
        for dropping in self._dropping:
            dropping.result()

    def _make(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        self._connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY FILE_COPY").format(
                sql.Identifier(name), sql.Identifier(TEMPLATE), sql.Identifier(OWNER_ROLE)
            )
        )
        return name

    def _drop(self, name: str) -> None:
        with suppress(psycopg.errors.ObjectInUse):  # a session did not end in 5 s: it goes with the server
            self._connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def running(server: EmbeddedPostgres) -> Iterator[Clones]:
    """Make clones for the block, of a template that is there."""
    maintenance = server.url(role="postgres", database="postgres")
    with (
        psycopg.connect(maintenance, autocommit=True) as connection,
        ThreadPoolExecutor(1, thread_name_prefix="clones") as worker,
    ):
        clones = Clones(connection, worker)
        yield clones
        clones.end()
