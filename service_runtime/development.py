"""How the stack of development is found by an operator's commands that run in the same folder.

Its Postgres has another port each time and passwords that nobody typed. So the stack keeps, in its state folder and for
as long as it runs, the variables that a command would need; whoever names a database of their own is left alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from service_runtime.embedded_postgres import is_running
from service_runtime.settings import state_folder

_FILE = "running.json"
_NAMES_A_DATABASE = ("DATABASE_URL", "DATABASE_ADMIN_URL", "WORKING_MEMORY_DATABASE_URL")


@contextmanager
def announced(folder: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Keep the variables of a running stack in its state folder, for the block."""
    path, temporary = folder / _FILE, folder / f"{_FILE}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # passwords are in it
    with os.fdopen(descriptor, "w") as file:
        json.dump(dict(variables), file)
    temporary.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def join(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let this command work on the stack that runs here, if it is told of no database; say so on standard error.

    A stack that was killed left its file behind. It does not run: the lock of its Postgres went with it.
    """
    if any(environment.get(name) for name in _NAMES_A_DATABASE) or environment.get("ENVIRONMENT") == "production":
        return
    folder = state_folder()
    try:
        variables: dict[str, str] = json.loads((folder / _FILE).read_text("utf-8"))
    except (FileNotFoundError, PermissionError):  # it does not run, or is another account's
        return
    if not is_running(folder):
        return
    for name, value in variables.items():
        environment.setdefault(name, value)
    postgres = urlsplit(variables["DATABASE_ADMIN_URL"])
    print(  # noqa: T201
        f"This is about the stack that `make run` runs here, with Postgres at {postgres.hostname}:{postgres.port}; "
        "for another one set DATABASE_URL and DATABASE_ADMIN_URL.",
        file=sys.stderr,
    )
