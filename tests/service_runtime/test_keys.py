"""Keys in Postgres: made by an operator, checked by both services."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import context_service.app
import entity_service.app
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.errors import NodeNotFound, Overloaded, PermissionDenied, Unauthenticated, Unavailable
from contextkeep.options_pb2 import Call
from service_runtime.auth import access, keys
from service_runtime.auth.access import Access
from service_runtime.auth.derived_keys import DerivedKeys, make_context_key
from service_runtime.auth.keys import KeyAdministration, NewKey, NoSuchKey, NoSuchTenant, StoredKeys
from service_runtime.postgres import Database
from service_runtime.postgres.administration import CannotAdminister
from service_runtime.rpc import unproven
from service_runtime.rpc.methods import method_of
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.commands import Commands
from tests.conftest import Addresses, Urls
from tests.hostile.calling import Client
from tests.rpcs import all_rpcs

NOT_ONE = "cgk_" + "x" * 43
READS = (
    "Get",
    "BatchGet",
    "Fetch",
    "List",
    "Search",
    "Count",
    "Query",
    "Traverse",
    "Stream",
    "Export",
    "Assemble",
    "Test",
    "ExecuteTool",  # and for a tool that writes, `write` as well
    "CreateDownloadUrl",  # of bytes that the caller may read; nothing is written
)


@pytest.fixture
def administration(urls: Urls) -> KeyAdministration:
    return KeyAdministration(urls.admin)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered and nobody is made to wait, where a test is not about that."""
    monkeypatch.setattr(keys, "CACHE_S", -1.0)
    monkeypatch.setattr(access, "FAILURE_DELAY_S", 0.0)


@pytest.fixture
async def stack(context_settings, entity_settings, request: pytest.FixtureRequest) -> AsyncIterator[Addresses]:
    """Both services, with the authentication that an operator gets; a parameter is further settings of both."""
    async with AsyncExitStack() as opened:
        changes = getattr(request, "param", {})
        entity_settings = entity_settings.model_copy(update=changes)
        context_settings = context_settings.model_copy(update=changes)
        entity = f"127.0.0.1:{await opened.enter_async_context(entity_service.app.running(entity_settings))}"
        settings = context_settings.model_copy(update={"entity_service_url": entity})
        context = f"127.0.0.1:{await opened.enter_async_context(context_service.app.running(settings))}"
        yield Addresses(context=context, entity=entity)


def bearer(key: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {key}")]


def checking(database: Database, count_failure: Callable[[], None] = lambda: None) -> Access:
    return Access([StoredKeys(database)], open_while_empty=None, count_failure=count_failure)


def new_key(**changes: object) -> NewKey:
    return NewKey(**{"tenant": "default", "subject": "an agent", "scopes": ["read", "write"], **changes})


def test_only_calls_that_change_nothing_need_no_more_than_read():
    """But for ExecuteTool, which asks for more once it knows the tool; what is a read by its name is one."""
    for rpc in all_rpcs():
        if method_of(rpc.path).scope in ("read", "context:read"):
            assert rpc.reads != (rpc.name == "ExecuteTool"), rpc.path
        if rpc.process == "entity" and rpc.name.startswith(READS):
            assert rpc.reads, rpc.path


async def test_a_key_is_its_principal(administration: KeyAdministration, database: Database):
    administration.add_tenant("acme")
    key = administration.create(new_key(tenant="acme", scopes=["read"], user_id="u1", agent_id="a1"))
    (tenant,) = (one for one in administration.tenants() if one.name == "acme")

    principal = await checking(database).authenticate(bearer(key))

    assert principal.tenant_id == tenant.id != DEFAULT_TENANT_ID
    assert (principal.subject, principal.user_id, principal.agent_id) == ("an agent", "u1", "a1")
    assert principal.scopes == {"read"}


def test_a_tenant_that_is_there_is_not_said_to_be_made(run):
    told = [run("tenants", "create", "acme", *options).stdout for options in ((), (), ("--json",))]

    assert told == ["created\n", "there is one already, which stays as it is\n", '{"created": false}\n']


async def test_a_key_may_be_bound(run, administration: KeyAdministration, database: Database):
    options = ["--app-id", "crm", "--app-id", "erp", "--agent-bundle", "billing", "--graph", "sales"]
    key = run("keys", "create", "--subject", "x", *options).stdout.strip()

    principal = await checking(database).authenticate(bearer(key))

    assert principal.app_ids == {"crm", "erp"}
    assert (principal.agent_bundle_id, principal.graph_names) == ("billing", {"sales"})
    (listed,) = (json.loads(line) for line in run("keys", "list", "--json").stdout.splitlines())
    assert (listed["app_ids"], listed["agent_bundle_id"]) == (["crm", "erp"], "billing")
    assert "crm,erp" in run("keys", "list").stdout
    for option in ("--app-id", "--agent-bundle", "--graph"):
        assert run("keys", "create", "--subject", "x", option, "").returncode == 2


async def test_a_key_may_be_of_a_user_or_name_users(run, administration: KeyAdministration, database: Database):
    of_ada = run("keys", "create", "--subject", "x", "--user-id", "ada").stdout.strip()
    of_runtime = run("keys", "create", "--subject", "x", "--scope", "write", "--scope", "delegate").stdout.strip()
    ada, runtime = [await checking(database).authenticate(bearer(key)) for key in (of_ada, of_runtime)]

    assert ada.acting_for("").user_id == runtime.acting_for("ada").user_id == "ada"
    asked = "SELECT current_setting('app.subject', true) AS subject"
    for principal, subject in ((ada, "=ada"), (runtime, "="), (runtime.acting_for("ada"), "=ada")):
        assert (await database.of(principal).query(asked))[0].subject == subject


async def test_a_list_says_which_key_a_key_was_made_by(administration: KeyAdministration, database: Database):
    """Who finds that a key has leaked finds those that it made: they live on."""
    parent = administration.create(new_key(scopes=["read", "admin"]))
    asking = await checking(database).authenticate(bearer(parent))
    child = await DerivedKeys(database).make(asking, new_key(scopes=["read"]))
    administration.revoke(parent)

    first, second = administration.keys("default")

    assert (first.prefix, first.made_by) == (parent[:12], "")
    assert (second.prefix, second.made_by, second.revoked_at) == (child[:12], parent[:12], None)


async def test_a_list_shows_keys_without_their_secret_and_when_they_were_used(
    administration: KeyAdministration, database: Database
):
    key = administration.create(new_key())
    (before,) = administration.keys("default")
    assert before.last_used_at is None

    await checking(database).authenticate(bearer(key))

    (after,) = administration.keys("default")
    assert after.last_used_at is not None
    assert key.startswith(after.prefix)
    assert len(after.prefix) == 12
    assert administration.keys("nobody") == []


@pytest.mark.usefixtures("at_once")
async def test_a_revoked_an_expired_and_an_unknown_key_are_refused_alike(
    administration: KeyAdministration, database: Database
):
    revoked, expired = administration.create(new_key()), administration.create(new_key(lifetime=timedelta(seconds=-1)))
    failures: list[None] = []
    authenticator = checking(database, lambda: failures.append(None))
    await authenticator.authenticate(bearer(revoked))
    administration.revoke(revoked)
    administration.revoke(revoked[:12])  # again is harmless

    answers = set()
    for key in (revoked, expired, NOT_ONE, "", revoked[:-1], "é" * 40):
        with pytest.raises(Unauthenticated) as caught:
            await authenticator.authenticate(bearer(key))
        answers.add(str(caught.value))

    assert len(answers) == 1
    assert len(failures) == 6


class Later:
    """The clock, some time later."""

    def __init__(self, *, by_s: float) -> None:
        self._by_s = by_s

    def monotonic(self) -> float:
        return time.monotonic() + self._by_s


async def test_revoking_takes_no_longer_than_what_is_remembered(
    administration: KeyAdministration, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keys, "CACHE_S", 3600)
    key = administration.create(new_key())
    authenticator = checking(database)
    await authenticator.authenticate(bearer(key))
    administration.revoke(key)
    await authenticator.authenticate(bearer(key))  # remembered

    monkeypatch.setattr(keys, "time", Later(by_s=3601))
    with pytest.raises(Unauthenticated):
        await authenticator.authenticate(bearer(key))


async def test_a_wrong_key_waits_is_counted_and_is_in_no_log(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    untenanted = database.untenanted

    async def counted(sql: str, parameters: object = (), **options: object) -> object:
        asked.append(sql)
        return await untenanted(sql, parameters, **options)

    monkeypatch.setattr(database, "untenanted", counted)
    authenticator = checking(database)
    with caplog.at_level(logging.DEBUG, logger="access"):
        for _ in range(2):
            started = asyncio.get_running_loop().time()
            with pytest.raises(Unauthenticated):
                await authenticator.authenticate(bearer(NOT_ONE))
            assert asyncio.get_running_loop().time() - started >= access.FAILURE_DELAY_S * 0.9

    assert len(asked) == 1
    assert len(caplog.records) == 2
    assert NOT_ONE not in str([vars(record) for record in caplog.records])


@pytest.mark.usefixtures("at_once")
async def test_guesses_do_not_take_the_database_from_keys_that_are_known(
    database: Database, administration: KeyAdministration
):
    """A flood of wrong keys had every connection to the database."""
    key = administration.create(new_key())
    late_key = administration.create(new_key())
    stored = keys.StoredKeys(database)
    assert await stored.find(key) is not None
    statements: list[int] = []  # of how many keys each is
    goes = asyncio.Event()

    class Slow:
        async def untenanted(self, sql: str, parameters: Mapping[str, Any], **options: Any) -> Sequence[Any]:
            statements.append(len(parameters.get("sha256s", ())))
            await goes.wait()
            return await database.untenanted(sql, parameters, **options)

    stored._database = Slow()  # type: ignore[assignment] # the database, that answers when it is told to
    guesses = [asyncio.create_task(stored.find(f"guess {number}")) for number in range(keys.GUESSES_WAITING_MAX - 1)]
    late = asyncio.create_task(stored.find(late_key))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await stored.find("one guess too many")
    stored._valid = {sha256: (0.0, principal) for sha256, (_, principal) in stored._valid.items()}  # time passed
    known = asyncio.create_task(stored.find(key))
    await asyncio.sleep(0.05)
    assert statements == [keys.GUESSES_OF_STATEMENT_MAX, 1]  # and the known key: it does not wait

    goes.set()
    assert (await known, await late) != (None, None)
    assert await asyncio.gather(*guesses) == [None] * len(guesses)
    assert len(statements) <= keys.GUESSES_WAITING_MAX / keys.GUESSES_OF_STATEMENT_MAX + 2


async def test_callers_of_unknown_keys_are_told_that_the_database_is_away(database: Database):
    """All who wait for one statement; the next ones ask again."""
    stored = keys.StoredKeys(database)
    fails = True

    class Away:
        async def untenanted(self, *arguments: Any, **options: Any) -> Sequence[Any]:
            if fails:
                raise Unavailable("away", dependency="postgres")
            return await database.untenanted(*arguments, **options)

    stored._database = Away()  # type: ignore[assignment]
    found = await asyncio.gather(*(stored.find(f"guess {number}") for number in range(5)), return_exceptions=True)
    assert [type(one) for one in found] == [Unavailable] * 5
    fails = False
    assert await stored.find("guess 1") is None
    assert stored._guesses == {}


async def test_calls_without_a_valid_key_share_a_budget_and_hold_up_no_correct_key_and_no_probe(
    stack: Addresses, administration: KeyAdministration, monkeypatch: pytest.MonkeyPatch
):
    """They had all of a core: each was answered after 0.25 s at most."""
    monkeypatch.setattr(unproven, "UNITS_PER_S", 40.0)
    monkeypatch.setattr(unproven, "_of_loops", WeakKeyDictionary())
    monkeypatch.setattr(access, "FAILURE_DELAY_S", 0.05)
    answers: Counter[str] = Counter()
    kinds = {
        "wrong": ("/contextkeep.entity.v1.EntityGraph/GetNode", lambda: bearer(secrets.token_hex())),
        "none": ("/contextkeep.entity.v1.EntityGraph/GetNode", list),
        "unknown": ("/contextkeep.entity.v1.EntityGraph/NoSuchRpc", list),
        "health": ("/grpc.health.v1.Health/Check", list),
    }

    async def flood(channel: grpc.aio.Channel, kind: str) -> None:
        path, metadata = kinds[kind]
        call = channel.unary_unary(path)
        while True:
            try:
                await call(b"", metadata=metadata())
            except grpc.aio.AioRpcError as error:
                assert error.code() is grpc.StatusCode.UNAUTHENTICATED, error
            answers[kind] += 1

    known = administration.create(new_key())
    async with AsyncExitStack() as opened:
        channels = [await opened.enter_async_context(grpc.aio.insecure_channel(stack.entity)) for _ in kinds]
        graph = await opened.enter_async_context(AsyncEntityClient(stack.entity, api_key=known, retries=0))
        await graph.operations.get_recent_calls()
        floods = [
            asyncio.create_task(flood(channel, kind))
            for channel, kind in zip(channels, kinds, strict=True)
            for _ in range(25)
        ]
        began = time.monotonic()
        await asyncio.sleep(0.3)
        for _ in range(3):
            late = graph.with_credential(administration.create(new_key()))
            await asyncio.gather(graph.operations.get_recent_calls(), late.operations.get_recent_calls())
        probes = grpc.aio.insecure_channel(stack.entity, options=[("grpc.use_local_subchannel_pool", 1)])
        probe = await opened.enter_async_context(probes)
        await health_pb2_grpc.HealthStub(probe).Check(health_pb2.HealthCheckRequest(service="liveness"))
        await asyncio.sleep(max(0.0, began + 1 - time.monotonic()))
        async with asyncio.timeout(30):
            while set(answers) != set(kinds):  # each kind gets its answers from the budget
                await asyncio.sleep(0.05)
        answered, waited_s = answers.total(), time.monotonic() - began
        for task in floods:
            task.cancel()
        results = await asyncio.gather(*floods, return_exceptions=True)

    assert all(isinstance(result, asyncio.CancelledError) for result in results), results
    assert answered <= unproven.UNITS_AT_ONCE + unproven.UNITS_PER_S * waited_s + 1


async def test_without_any_key_every_call_is_refused(stack: Addresses):
    """Another account of the machine reaches the port, too."""
    async with (
        AsyncEntityClient(stack.entity, api_key="") as graph,
        AsyncContextClient(stack.context, api_key="") as context,
    ):
        with pytest.raises(Unauthenticated):
            await graph.graph.create_node("Session")
        with pytest.raises(Unauthenticated):
            await context.mappings.get("simple_chat")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("stack", [{"allow_anonymous": True}], indirect=True, ids=["ALLOW_ANONYMOUS"])
async def test_calls_without_a_key_that_are_allowed_end_with_the_first_key_for_good(
    stack: Addresses, administration: KeyAdministration
):
    async with AsyncEntityClient(stack.entity) as anybody:
        node = await anybody.graph.create_node("Session")
        key = administration.create(new_key())

        with pytest.raises(Unauthenticated):
            await anybody.graph.get_node(node.id)
        assert (await anybody.with_credential(key).graph.get_node(node.id)).created_by == "anonymous"
        administration.revoke(key)
        with pytest.raises(Unauthenticated):
            await anybody.graph.get_node(node.id)


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, True),
        ({"allow_anonymous": True}, False),
        ({"allow_insecure": True}, False),
        ({"allow_anonymous": True, "api_key": "s3cret"}, True),
        ({"environment": "production", "allow_anonymous": True}, True),
        ({"environment": "production", "allow_insecure": True}, False),
    ],
)
def test_a_key_is_needed_unless_the_settings_say_otherwise(entity_settings, changes: dict[str, object], needed: bool):
    settings = type(entity_settings).model_validate({**entity_settings.model_dump(), **changes})

    assert access.needs_key(settings) is needed


@pytest.mark.usefixtures("at_once")
async def test_both_services_check_the_callers_own_key_and_its_scopes(
    stack: Addresses, administration: KeyAdministration
):
    administration.add_tenant("acme")
    reads, writes = (administration.create(new_key(tenant="acme", scopes=[scope])) for scope in ("read", "write"))
    elsewhere = administration.create(new_key(scopes=["read", "write", "admin"]))
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"user_input": "hello"})
    async with AsyncEntityClient(stack.entity, api_key=writes) as graph, AsyncContextClient(stack.context) as context:
        await graph.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])

        with pytest.raises(PermissionDenied) as caught:
            await graph.graph.get_node(session.id)
        assert caught.value.metadata["scope"] == "read"
        with pytest.raises(PermissionDenied):
            await graph.with_credential(reads).graph.create_node("Session")
        # The history needs `read` of both services, and the same key goes to both.
        (message,) = await context.with_credential(reads).history.stream(session.id)
        assert message.content == "hello"
        with pytest.raises(PermissionDenied):
            await context.with_credential(writes).history.stream(session.id)
        with pytest.raises(NodeNotFound):
            await graph.with_credential(elsewhere).graph.get_node(session.id)
        with pytest.raises(NodeNotFound):
            await context.with_credential(elsewhere).history.stream(session.id)


@pytest.mark.usefixtures("at_once")
async def test_a_key_of_a_context_reaches_nothing_that_does_not_know_contexts(
    stack: Addresses, administration: KeyAdministration, database: Database
):
    """Over gRPC, of every RPC of both services, before it looks at the request: whatever is named is alike."""
    parent = administration.create(new_key(scopes=["read", "write", "admin", "delegate", "compile", "operator"]))
    asking = await checking(database).authenticate(bearer(parent))
    made = await database.of(asking).transaction(
        lambda one: make_context_key(one, asking, uuid.uuid4(), scopes=(), lifetime=timedelta(hours=1))
    )
    ordinary = [rpc for rpc in all_rpcs() if not rpc.options.context_key]

    with Client.open(stack) as client:
        for key, refused in ((made.key, {rpc.path for rpc in ordinary}), (parent, set())):
            outcomes = [await asyncio.to_thread(client.call, rpc, rpc.request(), key=key) for rpc in ordinary]
            assert {
                rpc.path
                for rpc, outcome in zip(ordinary, outcomes, strict=True)
                if (outcome.code.name, outcome.answers) == ("PERMISSION_DENIED", [])
            } == refused


WHO_AM_I = "/contextkeep.context.v1.Administration/GetCaller"
ASKING = {rpc.path for rpc in all_rpcs() if rpc.options.scope == Call.CONTEXT_READ}


@pytest.mark.usefixtures("at_once")
async def test_a_key_that_may_only_ask_context_query_reaches_nothing_else(stack: Addresses, run):
    key = run("keys", "create", "--subject", "x", "--scope", "context:read").stdout.strip()
    with Client.open(stack) as client:
        outcomes = {rpc.path: await asyncio.to_thread(client.call, rpc, rpc.request(), key=key) for rpc in all_rpcs()}
    let_in = {path for path, outcome in outcomes.items() if outcome.code.name != "PERMISSION_DENIED"}
    assert let_in == {*ASKING, WHO_AM_I}
    refused = [outcome for path, outcome in outcomes.items() if path not in let_in]
    scopes = ("read", "write", "admin", "compile", "operator")
    assert all(outcome.metadata.get("scope") in scopes for outcome in refused)


# They show a key of a context the files of that context alone: tests/hostile/test_context_keys.py.
READING_FILES = {f"/contextkeep.context.v1.WorkingMemory/{name}" for name in ("GetBlob", "GetContent")}


def test_no_rpc_of_the_entity_service_and_none_that_makes_keys_takes_a_key_of_a_context():
    windows = ("Windows", "Packing", "Folding", "Checkpoints", "Forks", "CompressionProfiles", "Usage")
    names = ("Contexts", "Artifacts", "Tasks", *windows, "ContextQuery", "Tools", "Summaries")
    services = tuple(f"/contextkeep.context.v1.{name}/" for name in names)
    taking = [rpc.path for rpc in all_rpcs() if rpc.options.context_key]
    others = [path for path in taking if not path.startswith(services) or "Key" in path]
    assert sorted(others) == sorted([WHO_AM_I, *READING_FILES])


@pytest.fixture
def run(commands: Commands, urls: Urls) -> Callable[..., subprocess.CompletedProcess[str]]:
    return partial(commands.run, "context_service", environment={"DATABASE_ADMIN_URL": urls.admin})


async def test_an_operator_makes_lists_and_revokes_keys(run, database: Database):
    assert run("tenants", "create", "acme").stdout == "created\n"
    made = run(
        "keys", "create", "--tenant", "acme", "--subject", "billing agent", "--scope", "read", "--expires-in", "90d"
    )
    key = made.stdout.strip()
    assert made.stdout.count("\n") == 1
    assert "not shown again" in made.stderr
    assert (await checking(database).authenticate(bearer(key))).scopes == {"read"}

    table = run("keys", "list", "--tenant", "acme").stdout
    assert "billing agent" in table
    assert key[:12] in table
    assert key not in table
    (listed,) = (json.loads(line) for line in run("keys", "list", "--tenant", "acme", "--json").stdout.splitlines())
    assert (listed["subject"], listed["scopes"]) == ("billing agent", ["read"])

    assert run("keys", "revoke", key[:12]).stdout == "revoked\n"
    with pytest.raises(Unauthenticated):
        await checking(database).authenticate(bearer(key))


def test_what_is_not_there_is_said(run, administration: KeyAdministration):
    with pytest.raises(NoSuchTenant):
        administration.create(new_key(tenant="nobody"))
    with pytest.raises(NoSuchKey):
        administration.revoke("cgk_nothing!")

    wrong = run("keys", "create", "--tenant", "nobody", "--subject", "x")

    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "tenants create" in wrong.stderr
    assert "Traceback" not in wrong.stderr


async def test_the_services_role_can_neither_make_nor_change_a_key(
    database: Database, administration: KeyAdministration
):
    administration.create(new_key())
    for statement in (
        "UPDATE access.api_key SET revoked_at = NULL",
        "UPDATE access.api_key SET scopes = '{admin}'",
        "DELETE FROM access.api_key",
        "INSERT INTO access.api_key SELECT * FROM access.api_key",
    ):
        with pytest.raises(Exception, match="permission denied"):
            await database.untenanted(statement)


def test_what_postgres_refuses_an_operator_is_told_with_what_to_do(urls: Urls):
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute("ALTER TABLE access.api_key RENAME TO later")

    with pytest.raises(CannotAdminister, match="run `migrate` of both services"):
        KeyAdministration(urls.admin).keys()
    with pytest.raises(CannotAdminister, match="must name the role that owns the database"):
        KeyAdministration(urls.service).add_tenant("new")
    with pytest.raises(CannotAdminister, match=r"cannot reach Postgres at DATABASE_ADMIN_URL: .*nobody"):
        KeyAdministration(urls.admin.replace("postgresql://", "postgresql://nobody")).tenants()
