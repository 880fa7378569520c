"""What every test stands on: a real Postgres, both services in process on real sockets, two tenants.

The Postgres is the embedded one, without fsync. Each test that asks for a database gets a clone of a migrated
template, and each service a free port, so tests share nothing.

What only a stack needs is imported by its fixture: a test of a rule starts in half of the time.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import psycopg
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from psycopg import sql

import tests.commands
import tests.emulators.azurite
import tests.emulators.gcs
import tests.emulators.moto
from service_runtime.databases.embedded_postgres import OWNER_ROLE, SERVICE_ROLE, EmbeddedPostgres
from service_runtime.imports.loading import loading
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, ApiKeys, Principal
from tests import databases
from tests.commands import Commands
from tests.databases import TEMPLATE, Clones
from tests.emulators.azurite import Azurite
from tests.emulators.gcs import Gcs
from tests.emulators.moto import Moto
from tests.examples import MORE, examples

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    import context_service.settings
    import entity_service.settings
    from service_runtime.postgres import Database

# A slow machine is no counterexample. In CI Hypothesis knows that, and loads a profile of its own, in which examples
# are the same ones each time.
hypothesis.settings.register_profile(
    "any machine",
    hypothesis.settings(),
    max_examples=examples(40),
    derandomize=hypothesis.settings().derandomize and not MORE,
    deadline=None,
    suppress_health_check=[*hypothesis.settings().suppress_health_check, hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine")

CLONES: dict[EmbeddedPostgres, Clones] = {}  # of the session's server
ARE_MANY = os.environ.get("CONTEXTKEEP_TEST_DATABASES") == "2"
# A file with the names of tests that passed before, in another environment, and need not run here. It receives others.
PASSED = os.environ.get("CONTEXTKEEP_TEST_PASSED")
BESIDE: dict[str, Urls] = {}  # by URLs of the services' role: the database beside each
KEY = "key-of-the-first-tenant"
OTHER_KEY = "key-of-the-other-tenant"
METADATA = (("authorization", f"Bearer {KEY}"),)
OTHERS = (("authorization", f"Bearer {OTHER_KEY}"),)
PRINCIPAL = Principal(tenant_id=DEFAULT_TENANT_ID, subject="first")
OTHER_PRINCIPAL = Principal(tenant_id=uuid.UUID("00000000-0000-7000-8000-000000000002"), subject="other")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector, which looked at 8,500 tests again and again: an eighth of the CPU.

    Then let it look as rarely as the services do (`service_runtime/grpc_server/process.py`): it took a thirtieth.
    """
    with loading():
        outcome = yield
    gc.set_threshold(50_000, 20, 50)
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a worker that hangs between tests, or at its end, say where, and end; pytest itself does so within tests."""
    outcome = yield
    if timeout_s := float(item.config.getini("faulthandler_timeout")):
        file = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(timeout_s, file=file, exit=True)
    return outcome


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()


_RUNNING: set[str] = set()


def pytest_runtest_logstart(nodeid: str) -> None:
    _RUNNING.add(nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    _RUNNING.discard(nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what ran in any worker: whoever interrupts the tests may do so because one hangs. Write what passed."""
    for nodeid in sorted(_RUNNING):
        terminalreporter.write_line(f"began and did not end: {nodeid}")
    if PASSED and not hasattr(config, "workerinput"):
        failed = {report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])}
        passed = {report.nodeid for report in terminalreporter.stats.get("passed", [])} - failed
        # At the end only: a worker that takes the place of another one must collect the same tests.
        with Path(PASSED).open("a", encoding="utf-8") as file:
            file.writelines(f"{nodeid}\n" for nodeid in sorted(passed))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before, and run files that wait more than they compute among the many that compute.

    Side by side as their folders are, some such files would leave both cores idle.
    """
    if PASSED:
        passed = set(Path(PASSED).read_text("utf-8").splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]
    rooms = {_file(item): item.nodeid.split("/")[:2][-1] for item in items}
    places: dict[str, float] = {file: place for place, file in enumerate(rooms)}
    waiting = [file for file, room in rooms.items() if room in ("e2e", "faults")]
    among = [file for file, room in rooms.items() if room == "context_service"]
    if among:
        for number, file in enumerate(waiting):
            places[file] = places[among[number * len(among) // len(waiting)]] + 0.5
    items.sort(key=lambda item: places[_file(item)])


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Urls:
    """One database, seen by both roles."""

    service: str
    admin: str
    superuser: str

    @property
    def all(self) -> list[Urls]:
        """This one, and the one beside it."""
        return [self, *([BESIDE[self.service]] if self.service in BESIDE else [])]

    def of(self, tenant_id: uuid.UUID) -> Urls:
        """Return the one of them in which a tenant lives."""
        return self.all[-1] if lives_beside(tenant_id) else self


def lives_beside(tenant_id: uuid.UUID) -> bool:
    """Say whether a tenant lives in the database beside, where there is one: the other one does, and half of all."""
    return tenant_id != DEFAULT_TENANT_ID and (tenant_id == OTHER_PRINCIPAL.tenant_id or tenant_id.int % 2 == 1)


def neighbour_of(tenant_id: uuid.UUID) -> uuid.UUID:
    """Return a new tenant, who lives in the same database."""
    return uuid.UUID(int=uuid.uuid4().int & ~1 | lives_beside(tenant_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Both services, running in this process."""

    context: str
    entity: str
    http_ports: tuple[tuple[str, int], ...] = ()  # of the unary RPCs, by process


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    import context_service.app
    import entity_service.app
    from service_runtime.databases.migrate import migrate

    _look_seldom()
    version = os.environ.get("CONTEXTKEEP_TEST_PG") or "18"
    with databases.in_memory(version) as server:
        with psycopg.connect(server.url(role="postgres", database="postgres"), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(TEMPLATE), sql.Identifier(OWNER_ROLE))
            )
        with psycopg.connect(server.url(role="postgres", database=TEMPLATE), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        everything = {m.name: m for m in (*entity_service.app.migrations(), *context_service.app.migrations())}
        admin_url = server.url(role=OWNER_ROLE, database=TEMPLATE)
        migrate(admin_url, list(everything.values()), service_role=SERVICE_ROLE)
        with psycopg.connect(admin_url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO access.tenant (id, name) VALUES (%s, 'other')", (OTHER_PRINCIPAL.tenant_id,)
            )
        if ARE_MANY:
            from tests.spread import switch_on

            switch_on()
        with databases.running(server) as clones:
            CLONES[server] = clones
            yield server


def _look_seldom() -> None:
    """Lengthen the pauses of what every service does all the time.

    Stacks are up for whole files, and an idle one takes over 1 % of a core. Tests that wait for one of these loops
    set its interval to what they need.
    """
    from context_service.history.rules import registry
    from service_runtime.grpc_server import server
    from service_runtime.rpc import held_bytes
    from service_runtime.telemetry import loop_waits

    loop_waits.INTERVAL_S = 0.5
    held_bytes._WATCH_S = 2.0
    server.CHECK_INTERVAL_S = 5.0
    registry.POLL_S = 2.0


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    if reason := tests.emulators.azurite.missing():
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    with tests.emulators.azurite.running(tmp_path_factory.mktemp("azurite")) as running:
        yield running


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    with tests.emulators.moto.running(tmp_path_factory.mktemp("moto")) as running:
        yield running


@pytest.fixture(scope="session")
def gcs_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gcs]:
    with tests.emulators.gcs.running(tmp_path_factory.mktemp("gcs")) as running:
        yield running


@contextmanager
def cloned(postgres: EmbeddedPostgres, *, is_alone: bool = False) -> Iterator[Urls]:
    """Make a migrated database for the block; with `make test DATABASES=2` another one is beside it.

    Args:
        postgres: Where.
        is_alone: None is: the test is about what two tenants have in one database.
    """
    name, beside = CLONES[postgres].take(), CLONES[postgres].take() if ARE_MANY and not is_alone else None
    made = _urls(postgres, name)
    if beside is not None:
        from tests.spread import settle

        BESIDE[made.service] = _urls(postgres, beside)
        settle(made, BESIDE[made.service])
    yield made
    BESIDE.pop(made.service, None)
    for one in filter(None, (name, beside)):
        CLONES[postgres].drop(one)


def _urls(postgres: EmbeddedPostgres, name: str) -> Urls:
    return Urls(
        service=postgres.url(role=SERVICE_ROLE, database=name),
        admin=postgres.url(role=OWNER_ROLE, database=name),
        superuser=postgres.url(role="postgres", database=name),
    )


@pytest.fixture
def urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    """A database of the test's own, migrated."""
    with cloned(postgres) as made:
        yield made


@pytest.fixture
async def database(urls: Urls) -> AsyncIterator[Database]:
    """The pool of a service, as its own role."""
    from service_runtime.postgres import Database

    async with Database.open(urls.service, connections_max=5, name="test") as opened:
        yield opened


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    """Our commands, each a process."""
    with tests.commands.loaded() as running:
        yield running


@pytest.fixture
def callers() -> ApiKeys:
    return ApiKeys({KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL})


@pytest.fixture
def entity_settings(urls: Urls) -> entity_service.settings.Settings:
    import entity_service.settings

    return entity_service.settings.Settings(database_url=urls.service, entity_service_port=0, drain_s=2)


@pytest.fixture
def metrics_ports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ports on which servers that are started from now on expose their metrics."""
    ports: list[int] = []
    from service_runtime.telemetry.metrics import Metrics

    exposed = Metrics.exposed

    @contextmanager
    def noting(self: Metrics, host: str, port: int) -> Iterator[int]:
        with exposed(self, host, port) as opened:
            ports.append(opened)
            yield opened

    monkeypatch.setattr(Metrics, "exposed", noting)
    return ports


@pytest.fixture
def context_settings(urls: Urls, tmp_path: Path) -> context_service.settings.Settings:
    import context_service.settings

    return context_service.settings.Settings(
        database_url=urls.service,
        context_service_port=0,
        working_memory_storage_provider="local",
        working_memory_storage_path=tmp_path / "blobs",
        drain_s=2,
    )


@pytest.fixture
async def services(
    entity_settings: entity_service.settings.Settings,
    context_settings: context_service.settings.Settings,
    callers: ApiKeys,
) -> AsyncIterator[Addresses]:
    """Both services on real sockets; two keys, of two tenants."""
    import context_service.app
    import entity_service.app

    async with AsyncExitStack() as stack:
        entity_port = await stack.enter_async_context(entity_service.app.running(entity_settings, callers=callers))
        entity = f"127.0.0.1:{entity_port}"
        settings = context_settings.model_copy(update={"entity_service_url": entity})
        context_port = await stack.enter_async_context(context_service.app.running(settings, callers=callers))
        yield Addresses(context=f"127.0.0.1:{context_port}", entity=entity)


@pytest.fixture(scope="session")
async def shared_services(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Addresses]:
    """Both services in this loop, shared by tests that are tenants of their own."""
    from tests.clients.stack import running
    from tests.contract.running import AnyPrincipal

    with cloned(postgres) as urls:
        async with running(urls.service, tmp_path_factory.mktemp("blobs"), callers=AnyPrincipal()) as addresses:
            yield addresses


@pytest.fixture
def key() -> str:
    """Of a tenant that only this test has, for `shared_services`."""
    from tests.contract.running import key_of

    return key_of(tenant_id=str(uuid.uuid4()))


@pytest.fixture
def other_key() -> str:
    """Of another tenant."""
    from tests.contract.running import key_of

    return key_of(tenant_id=str(uuid.uuid4()))


@pytest.fixture(scope="session")
def exporter() -> InMemorySpanExporter:
    """Of the provider, which a process has for good."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    made = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)
    return made


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    """What is traced during the test."""
    from service_runtime.telemetry import tracing

    exporter.clear()
    with tracing.switched_on():
        yield exporter
