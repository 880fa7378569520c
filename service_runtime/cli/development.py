"""How operators' commands in the same folder, and clients of the same account, find the development stack.

The Postgres of the stack gets another port and other passwords at each start. So the running stack keeps the variables
that a command needs in its state folder; a command that names a database of its own ignores them. The stack also writes
its key, by address, to a file of the account, where clients look for it (`contextkeep.dev_keys`).
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contextkeep import dev_keys
from service_runtime.auth.keys import DEFAULT_TENANT, KeyAdministration, NewKey
from service_runtime.databases.embedded_postgres import is_running
from service_runtime.rpc.principal import OPERATOR, SCOPES
from service_runtime.settings import state_folder

_FILE = "running.json"
_KEY_FILE = "dev.key"
_NAMES_A_DATABASE = ("DATABASE_URL", "DATABASE_ADMIN_URL", "WORKING_MEMORY_DATABASE_URL")


@contextmanager
def announced(folder: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Keep the variables of a running stack in its state folder, for the block."""
    path = folder / _FILE
    _replace(path, json.dumps(dict(variables)))  # passwords are in it
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def key_of(folder: Path, admin_url: str) -> str:
    """Return a key with all scopes for the person who starts the stack; the last one is kept while it is valid.

    Args:
        folder: The stack's state folder, where the key stays next to the data that it opens.
        admin_url: URL of the database, as the owner of the tables.
    """
    path, administration = folder / _KEY_FILE, KeyAdministration(admin_url)
    if path.exists() and administration.is_valid(key := path.read_text("utf-8").strip()):
        return key
    key = administration.create(
        NewKey(tenant=DEFAULT_TENANT, subject=f"dev-{getpass.getuser()}", scopes=(*SCOPES, OPERATOR))
    )
    _replace(path, key)
    return key


@contextmanager
def key_kept(key: str, addresses: Sequence[str]) -> Iterator[None]:
    """Keep the key of a stack where clients of this account look for it, for the block.

    Args:
        key: The key of the stack, with all scopes.
        addresses: The addresses at which it can be called, as `127.0.0.1:port`.

    Raises:
        OSError: the file cannot be written.
    """
    pid = os.getpid()
    mine = {address: {"key": key, "pid": pid, "started": dev_keys.started(pid)} for address in addresses}
    _change_keys(lambda kept: {**kept, **mine})
    try:
        yield
    finally:
        _change_keys(lambda kept: {address: entry for address, entry in kept.items() if mine.get(address) != entry})


def _change_keys(change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change the file with the keys of running stacks, one process at a time."""
    path = dev_keys.path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Two stacks may start at once; the lock is a file of its own, since the other one is replaced.
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(lock, "w") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        _replace(path, json.dumps(change(dev_keys.entries(path)), indent=1))


def _replace(path: Path, text: str) -> None:
    """Write a file that only this account can read, whole or not at all."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)


def join(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let this command work on the stack that runs here, if no database is set; say so on standard error.

    A killed stack leaves its file. It does not run: the lock of its Postgres ended with it.
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
