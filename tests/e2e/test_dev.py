"""`make run`: one stack, that starts, says what is wrong, and leaves nothing behind."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from contextkeep import EntityClient
from contextkeep.errors import ContextKeepError, Unauthenticated
from tests.commands import Commands
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
CLEAN = f"make -s -f {shlex.quote(str(ROOT / 'Makefile'))} clean DATA=1"


class Run:
    """A `make run` in a folder of its own, with a space in its name."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder = folder
        self.environment = {
            **os.environ,
            "CONTEXT_SERVICE_PORT": str(free_port()),
            "ENTITY_SERVICE_PORT": str(free_port()),
            "MCP_PORT": str(free_port()),
            "HTTP_PORT": str(two_free_ports()),
            "CONSOLE_PORT": str(free_port()),
            "CONTEXTKEEP_DEV_KEYS": str(folder / "keys of development.json"),
        }
        self.running: list[subprocess.Popen[str]] = []
        self.printed: list[str] = []  # until it was ready

    @property
    def entity_address(self) -> str:
        return f"127.0.0.1:{self.environment['ENTITY_SERVICE_PORT']}"

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "context_service", "dev"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.running.append(process)
        return process

    def refused(self, commands: Commands) -> str:
        """Return what it printed, and check that it refused to run."""
        done = commands.run("context_service", "dev", environment=self.environment, folder=self.folder)
        assert done.returncode == 1
        return done.stdout + done.stderr

    def operate(self, commands: Commands, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run an operator's command as in another terminal of the same account, where only `variables` are set."""
        return commands.run("context_service", *arguments, environment=variables, has_ours=False, folder=self.folder)

    def start_until_ready(self) -> subprocess.Popen[str]:
        process = self.start()
        self.printed = []
        for line in process.stdout:
            if "Ctrl-C" in line:
                return process
            self.printed.append(line.strip())
        raise AssertionError("it ended instead")

    @property
    def keys(self) -> Path:
        """The file where clients of this account look for the key."""
        return Path(self.environment["CONTEXTKEEP_DEV_KEYS"])

    def client(self, *, keys: Path | None = None) -> EntityClient:
        """Return a client that looks for its key in a file: this account's, unless another one is named."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CONTEXTKEEP_DEV_KEYS", str(keys or self.keys))
            return EntityClient(self.entity_address)

    def shell(self, *lines: str) -> subprocess.CompletedProcess[str]:
        """Run lines as in another terminal of the same account, where no variable of ours is set."""
        return subprocess.run(
            ["/bin/sh", "-ec", "\n".join(lines)],
            cwd=self.folder,
            env={"CONTEXTKEEP_DEV_KEYS": str(self.keys)},
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def ended(stack: Run) -> Iterator[Run]:
    """End what was started in the block."""
    yield stack
    for process in stack.running:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all that refuse to run: its database is made once."""
    return tmp_path_factory.mktemp("refused") / "a path with a space"


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    with ended(Run(folder)) as stack:
        yield stack


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One that runs, with metrics, for what changes nothing of it."""
    with ended(Run(tmp_path_factory.mktemp("shared") / "a path with a space")) as stack:
        stack.environment["METRICS_PORT"] = str(two_free_ports())
        stack.start_until_ready()
        yield stack


def two_free_ports() -> int:
    """Return the first of two neighbours that are free."""
    while True:
        port = free_port()
        with socket.socket() as neighbour:
            try:
                neighbour.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        return port


def descendants(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process], *, timeout_s: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=timeout_s)
    return not alive


@dataclass(slots=True)
class Seen:
    """What was seen of one folder's three runs."""

    children: list[int] = field(default_factory=list)  # how many processes each run had
    ended: list[int | None] = field(default_factory=list)  # what each run ended with; None: it was killed
    last_words: list[str] = field(default_factory=list)
    left_behind: list[bool] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of the node of the first run, in the second and in the third
    keys: list[str] = field(default_factory=list)  # of the first run, and of the third
    modes: dict[str, int] = field(default_factory=dict)  # of the files of the running stack
    links: list[tuple[int, str]] = field(default_factory=list)  # status and target of the console's link, twice
    after_the_end: str = ""  # the file of keys once the stack was stopped
    shell: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)
    operated: list[subprocess.CompletedProcess[str]] = field(default_factory=list)
    keyless: type[ContextKeepError] | None = None  # how a call of another account ended
    folders: dict[Path, list[bool]] = field(default_factory=dict)  # of its data, whether they are there


def see_the_end(seen: Seen, process: subprocess.Popen[str], end: Callable[[], None]) -> None:
    children = descendants(process)
    seen.children.append(len(children))
    end()
    code = process.wait(60)
    seen.ended.append(None if code < 0 else code)
    seen.last_words.append(process.stdout.read())
    seen.left_behind.append(not gone(children, timeout_s=60))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> Iterator[tuple[Run, Seen]]:
    """A stack that is stopped by Ctrl-C, started, killed, started, stopped by SIGTERM, and removed.

    To start one takes 4 s of CPU, so what is seen of these is what all tests of a life ask.
    """
    with ended(Run(tmp_path_factory.mktemp("lived") / "a path with a space")) as run:
        seen = Seen()

        process = run.start_until_ready()
        with run.client() as graph:
            node_id = graph.graph.create_node("Session", name="kept").id
        with run.client(keys=run.folder / "of another account") as graph:
            try:
                graph.graph.create_node("Session")
            except ContextKeepError as refused:
                seen.keyless = type(refused)
        seen.keys.append(key_in(run))
        seen.modes = {path.name: path.stat().st_mode & 0o777 for path in secret_files(run)}
        (link,) = [word for line in run.printed for word in line.split() if "?link=" in word]
        seen.links = [opened_link(link), opened_link(link)]
        seen.shell["try"] = run.shell(*commands_to_try(run))
        see_the_end(seen, process, lambda: process.send_signal(signal.SIGINT))
        seen.after_the_end = run.keys.read_text()

        process = run.start_until_ready()
        seen.names.append(name_of(run, node_id))
        seen.shell["make key"] = run.operate(commands, "keys", "create", "--subject", "me")
        seen.operated = [
            run.operate(commands, *words) for words in (("storage", "fsck"), ("migrate",), ("check-config",))
        ]
        elsewhere = {"DATABASE_ADMIN_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
        seen.shell["operate elsewhere"] = run.operate(commands, "keys", "list", **elsewhere)
        key = seen.shell["make key"].stdout.strip()
        see_the_end(seen, process, process.kill)
        seen.shell["operate behind the kill"] = run.operate(commands, "keys", "list")

        process = run.start_until_ready()
        seen.keys.append(key_in(run))
        seen.names.append(name_of(run, node_id, key))
        (line,) = [line for line in run.printed if line.startswith("Data")]
        folders = [Path(name) for name in line.removeprefix("Data").strip().split(", ")]
        seen.folders = {folder: [folder.exists()] for folder in [*folders, run.folder / ".contextkeep"]}
        seen.shell["clean too early"] = run.shell(CLEAN)
        see_the_end(seen, process, lambda: process.send_signal(signal.SIGTERM))
        seen.shell["clean"] = run.shell(CLEAN)
        for folder, there in seen.folders.items():
            there.append(folder.exists())
        yield run, seen


def test_ctrl_c_stops_all_of_it_and_the_data_survives(lived: tuple[Run, Seen]):
    _, seen = lived
    assert seen.children[0] > 3
    assert (seen.ended[0], seen.left_behind[0]) == (0, False)
    assert "the data stays" in seen.last_words[0]
    assert seen.names[0] == "kept"


def test_a_kill_of_the_supervisor_leaves_no_process_behind_and_the_data_survives(lived: tuple[Run, Seen]):
    _, seen = lived
    assert seen.children[1] > 3
    assert (seen.ended[1], seen.left_behind[1]) == (None, False)
    assert seen.names[1] == "kept"


def name_of(run: Run, node_id: str, key: str | None = None) -> str:
    with EntityClient(run.entity_address, api_key=key) if key else run.client() as graph:
        return graph.graph.get_node(node_id).name


def key_in(run: Run) -> str:
    entry = json.loads(run.keys.read_text())[run.entity_address]
    assert entry["pid"] == run.running[-1].pid
    return entry["key"]


def secret_files(run: Run) -> list[Path]:
    state = run.folder / ".contextkeep"
    return [run.keys, *state.glob("*.log"), *state.glob("*.password"), *state.glob("*.key"), *state.glob("*.json")]


def opened_link(link: str) -> tuple[int, str]:
    """Open a link as a browser without a session does; return the status and where it leads."""
    address = urlsplit(link)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    connection.request("GET", f"{address.path}?{address.query}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers.get("location", "")


def test_a_second_run_beside_it_says_what_is_wrong(shared: Run, commands: Commands):
    assert f"process {shared.running[0].pid} already runs Postgres" in shared.refused(commands)


def test_the_services_of_another_checkout_are_not_taken_for_its_own(shared: Run, run: Run, commands: Commands):
    run.environment = shared.environment
    assert "ready" not in run.refused(commands)


def test_one_port_of_metrics_is_one_for_each_service(shared: Run):
    port = int(shared.environment["METRICS_PORT"])
    (line,) = [line for line in shared.printed if line.startswith("Metrics")]
    for number in (port, port + 1):
        assert str(number) in line
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics") as answer:
            assert b"contextkeep_healthy" in answer.read()


def test_the_console_is_where_it_says(shared: Run):
    (link,) = [line.split()[1] for line in shared.printed if line.startswith("Console")]
    address = link.partition("?")[0]

    with urllib.request.urlopen(address) as answer:
        assert "Where keys come from" in answer.read().decode()


def test_mcp_listens_where_it_says(shared: Run):
    (address,) = [line.split()[-1] for line in shared.printed if line.startswith("MCP")]

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(address)

    with refused.value as answer:
        assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    "variable", ["CONTEXT_SERVICE_PORT", "ENTITY_SERVICE_PORT", "MCP_PORT", "HTTP_PORT", "CONSOLE_PORT"]
)
def test_a_taken_port_is_named(run: Run, variable: str, commands: Commands):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(run.environment[variable])))
        taken.listen()
        printed = run.refused(commands)
    assert f"another process listens on 127.0.0.1:{run.environment[variable]}" in printed
    assert f"set {variable}" in printed
    assert "ready" not in printed


def test_a_port_that_two_of_ours_want_is_named(run: Run, commands: Commands):
    """Of HTTP_PORT the Entity Service gets the next one."""
    run.environment["CONSOLE_PORT"] = str(int(run.environment["HTTP_PORT"]) + 1)
    assert "the Entity Service's HTTP and the console would both listen on" in run.refused(commands)


@pytest.mark.parametrize("port", ["fifty", "0", "70000"])
def test_what_is_no_port_is_told(run: Run, port: str, commands: Commands):
    run.environment["CONTEXT_SERVICE_PORT"] = port
    told = f"cannot run: CONTEXT_SERVICE_PORT={port} must be a port from 1 to 65535\n"
    assert run.refused(commands).endswith(told)


def commands_to_try(run: Run) -> list[str]:
    """Return what it told us to type, but for the example, which is a file of the checkout."""
    (run.folder / "LICENSE").write_text("a file")
    return [line for line in run.printed if line.startswith((sys.executable, "export ")) and "examples/" not in line]


def test_the_commands_to_try_find_their_key(lived: tuple[Run, Seen]):
    _, seen = lived
    assert seen.shell["try"].returncode == 0, seen.shell["try"].stderr
    assert 'Session "first"' in seen.shell["try"].stdout


def test_another_account_of_the_machine_is_refused(lived: tuple[Run, Seen]):
    """It reaches the port, but not the file with the key."""
    _, seen = lived
    assert seen.keyless is Unauthenticated
    assert {"keys of development.json", "dev.key", "owner.password", "context-service.log"} <= seen.modes.keys()
    assert set(seen.modes.values()) == {0o600}


def test_the_key_stays_with_the_data_and_is_found_only_while_the_stack_runs(lived: tuple[Run, Seen]):
    _, seen = lived
    first, third = seen.keys
    assert first == third
    assert json.loads(seen.after_the_end) == {}


def test_the_link_to_the_console_signs_in_once(lived: tuple[Run, Seen]):
    _, seen = lived
    assert seen.links == [(303, "/"), (401, "")]


def test_an_operators_command_works_on_the_stack_that_runs_in_its_folder(lived: tuple[Run, Seen]):
    """Nobody knows the port and the passwords of its Postgres."""
    _, seen = lived
    shell = seen.shell
    assert "the stack that `make run` runs here" in shell["make key"].stderr
    assert seen.names == ["kept", "kept"]
    for done in seen.operated:
        assert done.returncode == 0, done.stdout + done.stderr
    assert "make run" not in shell["operate elsewhere"].stderr
    assert "127.0.0.1" in shell["operate elsewhere"].stderr
    assert shell["operate behind the kill"].stderr.startswith("DATABASE_ADMIN_URL is not set")


@pytest.mark.parametrize(
    ("variable", "value"), [("TLS_KEY_PATH", "key.pem"), ("METRICS_PORT", "65535"), ("METRICS_PORT", "many")]
)
def test_a_setting_that_cannot_be_of_both_is_told_at_once(run: Run, variable: str, value: str, commands: Commands):
    run.environment[variable] = value
    assert variable in run.refused(commands)


def test_its_data_is_named_and_can_be_removed_after_sigterm_stopped_it(lived: tuple[Run, Seen]):
    """As root it lies outside of the checkout, where nobody would look."""
    run, seen = lived
    assert (seen.ended[2], seen.left_behind[2]) == (0, False)
    assert "the data stays" in seen.last_words[2]
    too_early, afterwards = seen.shell["clean too early"], seen.shell["clean"]
    assert too_early.returncode != 0
    assert f"process {run.running[2].pid} runs on the data" in too_early.stdout
    assert afterwards.returncode == 0, afterwards.stderr
    assert list(seen.folders.values()) == [[True, False]] * len(seen.folders)


def test_a_service_that_ends_by_itself_ends_the_run(shared: Run):
    """The last test of the stack that the others share."""
    (process, *_) = shared.running
    service = next(child for child in descendants(process) if "entity_service" in child.cmdline())

    service.kill()

    assert process.wait(60) == 1
    assert "entity-service ended unexpectedly; .contextkeep/entity-service.log ends with:" in process.stdout.read()
