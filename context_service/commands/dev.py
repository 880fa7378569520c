"""The whole stack on one machine: embedded Postgres, the two services and the console, each a process of its own.

For development and the demo. The services are started as an operator would start them, from their command lines
and environment; this process only watches them. When it ends, for any reason, the kernel signals them to end.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contextkeep import dev_keys
from service_runtime.child_processes.children import die_with_us
from service_runtime.cli import development
from service_runtime.databases import embedded_postgres
from service_runtime.databases.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from service_runtime.network.ports import free_port
from service_runtime.settings import state_folder

CONTEXT_PORT = 50051
ENTITY_PORT = 50052
MCP_PORT = 50053
HTTP_PORT = 50054  # the Context Service's; the Entity Service has the next one
CONSOLE_PORT = 50080
READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 25.0
_POLL_S = 0.02
KEY_VARIABLE = "CONTEXT_SERVICE_API_KEY"  # the key that clients use
_CONSOLE = "contextkeep_console"  # a separate distribution, which the services never import


class StackError(Exception):
    """The stack cannot run; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A running stack."""

    context_address: str
    entity_address: str
    mcp_port: int | None  # None if MCP is not served
    http_ports: tuple[int, int] | None  # of the Context Service and of the Entity Service
    console_port: int | None  # None if there is no console
    console_link: str  # its address, with a token that signs in once; empty without a console
    key: str = field(repr=False)  # the API key; empty if calls need no key
    metrics_ports: tuple[int, int] | None  # of the Context Service and of the Entity Service
    blobs: Path  # the folder of the local blob provider
    postgres: EmbeddedPostgres  # the home database's
    environment: Mapping[str, str]  # variables with which operators' commands use this stack
    processes: Mapping[str, subprocess.Popen[bytes]]  # the processes by the names of their logs


@contextmanager
def stack(
    folder: Path,
    *,
    context_port: int = 0,
    entity_port: int = 0,
    mcp_port: int | None = None,
    http_ports: tuple[int, int] | None = None,
    console_port: int | None = None,
    keep: bool = True,
    others: Sequence[str] = (),
    run_with: Sequence[str] = ("-m",),
) -> Iterator[Stack]:
    """Run the stack during the block. Both services get the environment, and each a port of its own from METRICS_PORT.

    It makes a key with all scopes, unless API_KEY or ALLOW_ANONYMOUS is set. A stack that is kept stores the key where
    clients of this account find it; otherwise the key is in this process's environment during the block.

    Args:
        folder: The folder of the stack's data and logs.
        context_port: The port of the Context Service; 0 takes any free one.
        entity_port: The port of the Entity Service; 0 takes any free one.
        mcp_port: The port of MCP; None takes that of MCP_PORT.
        http_ports: HTTP ports of the Context Service and of the Entity Service; None turns HTTP off.
        console_port: The port of the console; None starts no console.
        keep: Whether the database and the key stay when the stack ends.
        others: The names of other databases; each gets a Postgres of its own.
        run_with: Arguments of Python before a service's name, such as a module that watches it.

    Raises:
        StackError: Postgres, a service or the console did not start.
    """
    _require_plaintext()
    metrics_ports = _ports("METRICS_PORT")
    with ExitStack() as opened:
        try:
            postgres = opened.enter_context(embedded_postgres.running(folder, keep=keep))
            named = {name: opened.enter_context(embedded_postgres.running(folder / name, keep=keep)) for name in others}
        except EmbeddedPostgresError as error:
            raise StackError(str(error)) from error
        context_port, entity_port = context_port or free_port(), entity_port or free_port()
        _require_free(
            ("the Context Service", "CONTEXT_SERVICE_PORT", context_port),
            ("the Entity Service", "ENTITY_SERVICE_PORT", entity_port),
            ("MCP", "MCP_PORT", mcp_port),
            ("the Context Service's HTTP", "HTTP_PORT", http_ports and http_ports[0]),
            ("the Entity Service's HTTP", "HTTP_PORT", http_ports and http_ports[1]),
            ("the console", "CONSOLE_PORT", console_port),
            ("the Context Service's metrics", "METRICS_PORT", metrics_ports and metrics_ports[0]),
            ("the Entity Service's metrics", "METRICS_PORT", metrics_ports and metrics_ports[1]),
        )
        blobs = Path(os.environ.get("WORKING_MEMORY_STORAGE_PATH") or folder / "blobs").resolve()
        # Operators' commands need these, too.
        shared = {
            "DATABASE_URL": postgres.service_url,
            "DATABASE_ADMIN_URL": postgres.admin_url,
            "ENTITY_SERVICE_URL": f"127.0.0.1:{entity_port}",
            "WORKING_MEMORY_STORAGE_PATH": str(blobs),
        }
        if named:
            shared["DATABASE_URLS"] = " ".join(f"{name}={other.service_url}" for name, other in named.items())
            shared["DATABASE_ADMIN_URLS"] = " ".join(f"{name}={other.admin_url}" for name, other in named.items())
        inherited = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
        entity_environment = {**inherited, **shared, "ENTITY_SERVICE_PORT": str(entity_port)}
        context_environment = {**entity_environment, "CONTEXT_SERVICE_PORT": str(context_port)}
        if mcp_port is not None:
            context_environment["MCP_PORT"] = str(mcp_port)
        context_environment["HTTP_PORT"], entity_environment["HTTP_PORT"] = map(str, http_ports or ("", ""))
        if metrics_ports is not None:
            context_environment["METRICS_PORT"], entity_environment["METRICS_PORT"] = map(str, metrics_ports)
        entity_command, context_command = (
            [sys.executable, *run_with, name, "serve", "--migrate"] for name in ("entity_service", "context_service")
        )
        entity_log, context_log = folder / "entity-service.log", folder / "context-service.log"
        entity = opened.enter_context(_service(entity_command, entity_log, entity_environment))
        context = opened.enter_context(_service(context_command, context_log, context_environment))
        _wait_until_ready("the Entity Service", f"127.0.0.1:{entity_port}", entity, entity_log)
        _wait_until_ready("the Context Service", f"127.0.0.1:{context_port}", context, context_log)
        processes = {"entity-service": entity, "context-service": context}
        called = [context_port, entity_port, *(http_ports or ()), *([] if mcp_port is None else [mcp_port])]
        key = opened.enter_context(_key(folder, postgres.admin_url, called, keep=keep))
        console_link = ""
        if console_port is not None:
            processes["console"], console_link = opened.enter_context(
                _console(folder, context_port, entity_port, console_port, key)
            )
        opened.enter_context(development.announced(folder, shared))
        yield Stack(
            context_address=f"127.0.0.1:{context_port}",
            entity_address=f"127.0.0.1:{entity_port}",
            mcp_port=mcp_port,
            http_ports=http_ports,
            console_port=console_port,
            console_link=console_link,
            key=key,
            metrics_ports=metrics_ports,
            blobs=blobs,
            postgres=postgres,
            environment=shared,
            processes=processes,
        )


def stay_up(fill: Callable[[Stack], None] | None = None) -> None:
    """Run the stack until Ctrl-C, for `make run`.

    Args:
        fill: Called with the running stack before the welcome text, to write example data; None writes none.
    """
    folder = state_folder()
    started = time.monotonic()
    print("starting Postgres, the Entity Service and the Context Service", flush=True)
    for number in (signal.SIGTERM, signal.SIGINT):  # set both, because a shell may have started us with SIGINT ignored
        signal.signal(number, _interrupt)
    os.environ.setdefault("LEARNING_DEFAULT", "rules")
    os.environ.setdefault("EMBEDDING_PROVIDER", "auto")  # meaning counts, too, where the local model is installed
    try:
        with stack(
            folder,
            context_port=_port("CONTEXT_SERVICE_PORT", CONTEXT_PORT),
            entity_port=_port("ENTITY_SERVICE_PORT", ENTITY_PORT),
            mcp_port=_mcp_port(),
            http_ports=_http_ports(),
            console_port=_console_port(),
        ) as running:
            seconds = time.monotonic() - started
            if fill is not None:
                fill(running)
            print(_welcome(running, folder, seconds), flush=True)
            while all(process.poll() is None for process in running.processes.values()):
                time.sleep(0.2)
            ended = next(name for name, process in running.processes.items() if process.poll() is not None)
            raise StackError(f"{ended} ended unexpectedly; {_end_of(folder / f'{ended}.log')}")
    except StackError as error:
        sys.exit(f"cannot run: {error}")
    except KeyboardInterrupt:
        print("\nstopped; the data stays (`make clean DATA=1` removes it)")


def _port(variable: str, default: int, *, highest: int = 65535) -> int:
    """Return the port that a variable of the environment names, or the default.

    Raises:
        StackError: the value is not a port.
    """
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= highest:
        raise StackError(f"{variable}={text} must be a port from 1 to {highest}")
    return int(text)


def _ports(variable: str) -> tuple[int, int] | None:
    """Return the port of a variable and the next one, for the two services; None if the variable is not set."""
    if not os.environ.get(variable):
        return None
    port = _port(variable, 0, highest=65534)
    return port, port + 1


def _http_ports() -> tuple[int, int] | None:
    """Return the HTTP ports: the usual ones if they are free, so that two checkouts can run."""
    if ports := _ports("HTTP_PORT"):
        return ports
    if importlib.util.find_spec("uvicorn") is None:
        return None
    usual = HTTP_PORT, HTTP_PORT + 1
    return usual if all(map(_is_free, usual)) else (free_port(), free_port())


def _mcp_port() -> int | None:
    """Return the port of MCP: the usual one if it is free, so that two checkouts can run."""
    if os.environ.get("MCP_PORT"):
        return _port("MCP_PORT", MCP_PORT)
    if importlib.util.find_spec("mcp") is None:
        return None
    return MCP_PORT if _is_free(MCP_PORT) else free_port()


def _console_port() -> int | None:
    """Return the port of the console: the usual one if it is free, so that two checkouts can run."""
    if os.environ.get("CONSOLE_PORT"):
        return _port("CONSOLE_PORT", CONSOLE_PORT)
    if importlib.util.find_spec(_CONSOLE) is None:
        return None
    return CONSOLE_PORT if _is_free(CONSOLE_PORT) else free_port()


@contextmanager
def _console(
    folder: Path, context_port: int, entity_port: int, console_port: int, key: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the console; yield its process and its address, which signs in once with the key if there is one.

    Raises:
        StackError: the console did not start.
    """
    # The console does not get the keys of this process's environment, because its users sign in with their own.
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("API_KEY", "_URL"))}
    environment |= {"CONTEXT_SERVICE_ADDRESS": f"127.0.0.1:{context_port}"}
    environment |= {"ENTITY_SERVICE_ADDRESS": f"127.0.0.1:{entity_port}"}
    environment |= {"CONSOLE_HOST": "127.0.0.1", "CONSOLE_PORT": str(console_port)}
    link = f"http://127.0.0.1:{console_port}"
    if key:
        token = secrets.token_urlsafe(16)
        environment |= {"CONSOLE_LINK_TOKEN": token, "CONSOLE_LINK_KEY": key}
        link += f"/sign-in?link={token}"
    log = folder / "console.log"
    with _service([sys.executable, "-m", _CONSOLE], log, environment) as process:
        _wait_until_listening("the console", console_port, process, log)
        yield process, link


def _require_free(*ports: tuple[str, str, int | None]) -> None:
    """Refuse a port that two of our listeners want, or that another process has, whose health would pass for ours.

    Args:
        *ports: The name of a listener, the variable of its port, and the port; None if it does not listen.
    """
    ours: dict[int, str] = {}
    for name, variable, port in ports:
        if port is None:
            continue
        if port in ours:
            raise StackError(f"{ours[port]} and {name} would both listen on 127.0.0.1:{port}: set {variable}")
        if not _is_free(port):
            raise StackError(
                f"another process listens on 127.0.0.1:{port}, the port of {name}: stop it, or set {variable}"
            )
        ours[port] = name


def _is_free(port: int) -> bool:
    """Say whether no process listens on a port of this machine."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # ignore connections of a process that ended
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _require_plaintext() -> None:
    """Refuse settings of TLS: the two services, and this process, could not reach each other."""
    for variable in ("TLS_CERTIFICATE_PATH", "TLS_KEY_PATH"):
        if os.environ.get(variable):
            raise StackError(f"{variable} is set, but this stack uses plaintext on loopback: unset it")


def _end_of(log_path: Path) -> str:
    lines = log_path.read_text(errors="replace").splitlines() or ["(empty)"]
    return f"{log_path} ends with:\n  {lines[-1]}"


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _welcome(running: Stack, folder: Path, seconds: float) -> str:
    """Return the text that `make run` prints when the stack is ready: addresses, folders, and what to try next."""
    python = ".venv/bin/python" if Path(".venv/bin/python").exists() else shlex.quote(sys.executable)
    addresses = []
    if running.context_address != f"127.0.0.1:{CONTEXT_PORT}":
        addresses.append(f"CONTEXT_SERVICE_ADDRESS={running.context_address}")
    if running.entity_address != f"127.0.0.1:{ENTITY_PORT}":
        addresses.append(f"ENTITY_SERVICE_ADDRESS={running.entity_address}")
    if running.key:
        keys = f"clients of your account find theirs in {dev_keys.path()}; `contextkeep key show` prints it"
    else:
        keys = "ALLOW_ANONYMOUS is set: until a key is made, every account of this machine may do everything"
    exports = f"  export {' '.join(addresses)}\n" if addresses else ""
    where = {"Context Service": running.context_address, "Entity Service": running.entity_address}
    if running.console_port is not None:
        where["Console"] = running.console_link + ("   (the link signs in once)" if running.key else "")
    if running.mcp_port is not None:
        where["MCP"] = f"http://127.0.0.1:{running.mcp_port}/mcp"
    if running.http_ports is not None:
        of_context, of_entity = running.http_ports
        where["HTTP"] = f"http://127.0.0.1:{of_context}, of the Entity Service :{of_entity} (docs/http.md)"
    if running.metrics_ports is not None:
        of_context, of_entity = running.metrics_ports
        where["Metrics"] = f"http://127.0.0.1:{of_context}/metrics, of the Entity Service :{of_entity}"
    where["Postgres"] = f"127.0.0.1:{running.postgres.port}"
    where["Data"] = f"{running.postgres.data_folder}" + (f", {blobs}" if (blobs := running.blobs).is_dir() else "")
    where["Logs"] = f"{folder}/*.log"
    where["Keys"] = keys
    table = "\n".join(f"  {name:<17} {value}" for name, value in where.items())
    return f"""
ready in {seconds:.1f} s

{table}

Try, in another terminal:

{exports}  {python} -c 'from contextkeep import EntityClient as E; \
print(E().graph.create_node("Session", name="first"))'
  {python} -c 'from contextkeep import ContextClient as C; print(C().blobs.upload("LICENSE").working_memory_id)'
  {python} examples/chat.py

Press Ctrl-C to stop everything."""


@contextmanager
def _key(folder: Path, admin_url: str, ports: Sequence[int], *, keep: bool) -> Iterator[str]:
    """Yield the key of a stack, which clients find during the block; empty if calls need no key.

    Raises:
        StackError: the key cannot be stored where clients look for it.
    """
    key = os.environ.get("API_KEY", "").strip()
    if not key and os.environ.get("ALLOW_ANONYMOUS", "").lower() in {"1", "true", "yes", "on"}:
        yield ""
        return
    key = key or development.key_of(folder, admin_url)
    with ExitStack() as opened:
        if keep:
            try:
                opened.enter_context(development.key_kept(key, [f"{dev_keys.HOST}:{port}" for port in ports]))
            except OSError as error:
                raise StackError(
                    f"the key cannot be stored in {dev_keys.path()} ({error.strerror}): set {dev_keys.PATH_VARIABLE} to"
                    " another file"
                ) from error
        else:
            opened.enter_context(_in_environment(KEY_VARIABLE, key))
        yield key


@contextmanager
def _in_environment(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment during the block, and restore it afterwards."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


@contextmanager
def _service(command: Sequence[str], log_path: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a service as a child process during the block, and yield the process.

    Its output goes to a log file. At the end it gets SIGTERM, and is killed if it has not ended after `STOP_TIMEOUT_S`.
    """
    with embedded_postgres.open_log(log_path) as log:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_us(signal.SIGTERM),
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(name: str, address: str, process: subprocess.Popen[bytes], log_path: Path) -> None:
    """Wait until the health check of a service answers that it serves.

    Raises:
        StackError: the process ended, or was not ready within `READY_TIMEOUT_S`.
    """
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    key = os.environ.get("API_KEY")
    metadata = [("authorization", f"Bearer {key}")] if key else None  # HEALTH_WITHOUT_KEY=false asks for it
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while True:
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise StackError(f"{name} did not start; {_end_of(log_path)}")
            try:
                # gRPC waits for the connection: otherwise it remembers a first refusal for a second.
                answer = stub.Check(
                    health_pb2.HealthCheckRequest(), timeout=0.2, wait_for_ready=True, metadata=metadata
                )
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            except grpc.RpcError:
                pass
            time.sleep(_POLL_S)


def _wait_until_listening(name: str, port: int, process: subprocess.Popen[bytes], log_path: Path) -> None:
    """Wait until a process listens on a port.

    Raises:
        StackError: the process ended, or did not listen within `READY_TIMEOUT_S`.
    """
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while _is_free(port):
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise StackError(f"{name} did not start; {_end_of(log_path)}")
        time.sleep(_POLL_S)
