"""What a caller may not see is answered as what never was, by every RPC; and Postgres alone would see to it.

One pass over all RPCs, each called by its generated stub, as a bundle calls it. A stranger (`strangers`) makes each
request of `CASES` twice: naming what the owner has, and naming what never was. Both must have the same answer, the
owner's text must not be in it, and the owner's rows must stay as they are. Then the owner makes the requests while
Postgres is told that the stranger calls: what the services select and write is right by every filter of their own, and
only row-level security stands in between.
"""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import grpc
import psycopg
import pytest

from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.context.v1 import tools_pb2 as tools
from contextkeep.options_pb2 import Call
from service_runtime.rpc.methods import method_of
from service_runtime.rpc.principal import CONTEXT_READ, NO_SCOPE, OPERATOR, SCOPES
from tests.conftest import Urls
from tests.hostile.calling import Case, Client, Key, Outcome, faults
from tests.hostile.copies import Copies, Original, written
from tests.hostile.strangers import (
    AGENT_BUNDLE,
    ANOTHER_TENANT,
    ANOTHER_USER,
    CONTEXT,
    NO_USER,
    STRANGERS,
    TRACES,
    USERS_SCOPES,
    Stranger,
    blinded_of,
    named,
    requests,
    rows,
    shown,
    tokens_of,
)
from tests.hostile.tables import Tables, switched_off
from tests.hostile.test_http import HttpClient, http  # noqa: F401
from tests.hostile.things import OF_STORED_KEYS, RPCS, SECRET, Things, cases, seeded
from tests.rpcs import Rpc

# Says nothing of what anybody has. Whose calls are counted, `test_observing_stub` says; what a key is told of itself,
# `test_context_keys`.
ALIKE = {"ListTools", "StartChanges", "ListChanges", "GetRecentCalls", "GetOwned", "GetCaller"}
# What an owner may be told instead of an answer: a folder gives no URLs, a short window has nothing to fold, and no
# changes are kept that nobody asked for.
REFUSED = ("NO_DOWNLOAD_URL", "FOLD_NO_PROGRESS", "FOLD_NOT_PREPARED", "CHANGES_NOT_STARTED")
# Ids are unique in a tenant, and external ids in a graph, whoever asks: that one is taken is all that can be learnt.
GIVES_IDS = {"CreateNode", "WriteGraph", "ImportGraph", "InsertWMRecord", "UploadBlob", "StartUpload"}
TAKEN = {"NODE_EXISTS", "EXTERNAL_ID_TAKEN", "EDGE_EXISTS", "RECORD_EXISTS"}
LISTS = {"ListContexts", "GetContextsByExternalId", "SearchContexts"}  # whichever contexts the caller may see
ACROSS = {"DeleteContext": {"context.context", "context.erasure"}}  # it takes what was forked from the one named


@dataclass(frozen=True, kw_only=True)
class World:
    """An owner and what it has, and a context of its that no request names."""

    key: Key
    original: Original
    context_id: uuid.UUID


@dataclass(frozen=True, kw_only=True)
class Known:
    """An RPC, what an owner has for it to name, and the requests for second pages."""

    rpc: Rpc
    key: Key
    things: Things
    tokens: list[str]
    context_id: uuid.UUID
    tables: Tables

    @functools.cached_property
    def before(self) -> dict[str, tuple[int, str]]:
        """What the owner's rows are before any test of the RPC."""
        return self.sums()

    def sums(self) -> dict[str, tuple[int, str]]:
        """Return what tells whether a row of the owner changed, except what work in the background leaves."""
        return {table: row for table, row in self.tables.sums_of(self.key.tenant_id).items() if table not in TRACES}

    @property
    def strangers(self) -> list[Stranger]:
        return [stranger for stranger in STRANGERS if stranger.is_of(self.rpc)]

    @property
    def seconds(self) -> list[Case]:
        return requests(self.rpc, self.things, self.tokens)[len(cases(self.rpc, self.things)) :]

    def key_of(self, stranger: Stranger) -> object:
        return stranger.key(self.key, self.context_id)


@pytest.fixture(scope="module")
def world(client: Client, nothing_kept: None, finds_documents: Callable[[uuid.UUID, object, Things], None]) -> World:
    things = Things()
    key = Key(tenant_id=uuid.uuid4(), user_id=things.user_id)
    first = contexts.SendMessageRequest(message=message_pb.MessageInput(content="of another context"))
    (sent,) = client.call(RPCS["SendMessage"], first, key=Key(tenant_id=key.tenant_id)).answers
    original = written(key.tenant_id, lambda: seeded(client, key, things))
    finds_documents(key.tenant_id, key, original.things)
    return World(key=key, original=original, context_id=uuid.UUID(sent.context_id))


@pytest.fixture(scope="module", params=list(RPCS.values()), ids=str)
def known(request: pytest.FixtureRequest, client: Client, world: World, copies: Copies, tables: Tables) -> Known:
    """Of one RPC; one that writes has a copy of all that the owner has, for the owner calls it last."""
    rpc: Rpc = request.param
    key, things = world.key, world.original.things
    if not rpc.reads:
        tenant_id, things = copies.of(world.original)
        key = dataclasses.replace(key, tenant_id=tenant_id)
    tokens = tokens_of(client, rpc, things, key)
    return Known(rpc=rpc, key=key, things=things, tokens=tokens, context_id=world.context_id, tables=tables)


def test_the_services_connect_as_a_role_that_passes_no_policy(world: World, shared_urls: Urls):
    """Else all that follows would prove nothing."""
    with psycopg.connect(shared_urls.superuser) as connection:
        roles = connection.execute(
            "SELECT DISTINCT a.application_name, r.rolsuper, r.rolbypassrls,"
            " EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            "  WHERE n.nspname IN ('access', 'context', 'entity') AND pg_has_role(r.oid, c.relowner, 'MEMBER'))"
            " FROM pg_stat_activity a JOIN pg_roles r ON r.rolname = a.usename"
            " WHERE a.datname = current_database() AND a.application_name LIKE '%-service'"
        ).fetchall()
    assert sorted(roles) == [("context-service", False, False, False), ("entity-service", False, False, False)]


def test_row_level_security_alone_keeps_strangers_out(known: Known, client: Client):
    """No row is another afterwards, of whichever stranger's the call is."""
    before = known.before
    for stranger in known.strangers:
        if stranger is NO_USER:
            continue  # Postgres is told the same of it as of another user
        key = dataclasses.replace(known.key, scopes=USERS_SCOPES) if stranger is ANOTHER_USER else known.key
        # The owner calls, and may name no other user.
        nothing = dataclasses.replace(stranger.nothing(known.things), user_id=known.things.user_id)
        with stranger.blinded():
            for theirs, never in stranger.pairs(known.rpc, known.things, nothing):
                _assert_told_nothing(known, stranger, client, key, key, nothing, theirs, never)
            for second in known.seconds:
                _assert_names_no_more(known, stranger, client, key, second)
    assert known.sums() == before


def test_whoever_may_not_call_it_is_refused_and_changes_nothing(known: Known, client: Client):
    """Without a key, without its scope, and with the key of a context if the RPC knows no contexts."""
    rpc, scope = known.rpc, method_of(known.rpc.path).scope
    before = known.before
    for case in cases(rpc, known.things):
        outcome = client.call(rpc, case, key="")
        assert (outcome.code, outcome.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
        if scope != NO_SCOPE:
            includes = {scope, "read"} if scope == CONTEXT_READ else {scope}
            scopes = tuple(other for other in (*SCOPES, OPERATOR) if other not in includes)
            outcome = client.call(rpc, case, key=Key(tenant_id=known.key.tenant_id, scopes=scopes))
            assert (outcome.reason, outcome.metadata) == ("PERMISSION_DENIED", {"scope": scope})
        if not rpc.options.context_key:
            outcome = client.call(rpc, case, key=known.key_of(CONTEXT))
            assert (outcome.reason, outcome.answers) == ("PERMISSION_DENIED", [])
    assert known.sums() == before


def test_row_level_security_alone_keeps_contexts_apart(known: Known, client: Client):
    """Whichever context a statement names, it has the rows of the one that the call is about, and of no other.

    Statements that look across contexts find which one is meant, by a task or an external id of the caller's own: so an
    answer may name it.
    """
    if not ANOTHER_USER.is_of(known.rpc) or known.rpc.options.whose == Call.USER:
        return  # it is of no context
    key = dataclasses.replace(known.key, scopes=USERS_SCOPES)
    before = known.before
    with blinded_of("context", str(uuid.uuid4())):
        for theirs, _ in ANOTHER_USER.pairs(known.rpc, known.things, known.things):
            answered = shown(client.call(known.rpc, theirs, key=key), known.things)
            assert SECRET not in answered or known.rpc.name in LISTS, theirs
    after = known.sums()
    assert {table for table in before if after[table] != before[table]} <= ACROSS.get(known.rpc.name, set())


def test_what_is_anothers_is_answered_as_what_never_was(
    known: Known,
    client: Client,
    http: HttpClient,  # noqa: F811
    tables: Tables,
):
    """To every kind of stranger; and the owner, who calls last, is answered otherwise, by each door alike."""
    rpc, things = known.rpc, known.things
    before = rows(tables, known.key.tenant_id)
    told: dict[Stranger, list[tuple[Case, str]]] = {}
    for stranger in known.strangers:
        nothing = stranger.nothing(things)
        pairs = stranger.pairs(rpc, things, nothing)
        if stranger is ANOTHER_TENANT:  # whose second pages have tokens, too, that nobody was given
            tokens = [f"{token[4:]}{token[:4]}" for token in known.tokens]
            never_seconds = requests(rpc, nothing, tokens)[len(cases(rpc, nothing)) :]
            pairs += zip(known.seconds, never_seconds, strict=True)
        told[stranger] = [
            (
                theirs,
                _assert_told_nothing(
                    known, stranger, client, known.key_of(stranger), known.key_of(stranger), nothing, theirs, never
                ),
            )
            for theirs, never in pairs
        ]
        if stranger is ANOTHER_TENANT:
            assert rows(tables, known.key.tenant_id) == before, f"{rpc} changed another tenant's rows"
        else:
            for second in known.seconds:
                _assert_names_no_more(known, stranger, client, known.key_of(stranger), second)
    after = rows(tables, known.key.tenant_id)
    for table, texts in before.items():
        assert texts <= after[table], f"{rpc} changed rows of its owner in {table}"

    of_owners = []
    for number, theirs in enumerate(requests(rpc, things, known.tokens)):
        outcome = client.call(rpc, theirs, key=known.key)
        # A file has no URL; that is found out behind everything that is refused to others.
        assert number or outcome.ok or outcome.reason in REFUSED or rpc.name in OF_STORED_KEYS, (
            f"{rpc} refuses its owner: {outcome}"
        )
        of_owners.append((theirs, shown(outcome, things)))
        if not number and not rpc.client_streaming and not rpc.server_streaming:  # what HTTP serves, too
            over_http = http.call(rpc, theirs, key=known.key)
            assert not faults(over_http), over_http
            assert shown(over_http, things) == of_owners[0][1] or not rpc.reads
    for stranger, answers in told.items():
        may_be_alike = rpc.name in ALIKE or stranger.reads_something or not answers
        if stranger is ANOTHER_TENANT:
            may_be_alike = rpc.name in ALIKE | OF_STORED_KEYS
        elif not rpc.reads:
            continue
        is_told_apart = any(
            answer != of_owner for theirs, answer in answers for case, of_owner in of_owners if case == theirs
        )
        assert is_told_apart or may_be_alike, f"{rpc} answers its owner like {stranger}: its requests prove nothing"


@pytest.mark.parametrize(
    ("stranger", "table", "name"),
    [
        (ANOTHER_TENANT, "entity.node", "GetNode"),
        (ANOTHER_TENANT, "context.wm_record", "FetchWMRecord"),
        (ANOTHER_TENANT, "context.mapping", "ListMappings"),
        (AGENT_BUNDLE, "entity.node", "GetNode"),
        (AGENT_BUNDLE, "entity.edge", "GetEdge"),
        (AGENT_BUNDLE, "context.wm_record", "FetchWMRecord"),
        (ANOTHER_USER, "context.context", "GetContext"),
    ],
    ids=str,
)
def test_without_its_policy_a_table_would_be_open(
    stranger: Stranger, table: str, name: str, world: World, client: Client, shared_urls: Urls
):
    """So the tests above can fail."""
    key = dataclasses.replace(world.key, scopes=USERS_SCOPES)
    things = world.original.things
    case = cases(RPCS[name], things)[0]
    asked = named(Outcome(answers=[case]), things)
    with stranger.blinded():
        with switched_off(shared_urls, table):
            assert named(client.call(RPCS[name], case, key=key), things) - asked
        assert not named(client.call(RPCS[name], case, key=key), things) - asked


def test_without_its_policy_a_context_would_be_open_to_others(world: World, client: Client, shared_urls: Urls):
    key = dataclasses.replace(world.key, scopes=USERS_SCOPES)
    case = cases(RPCS["GetContext"], world.original.things)[0]
    with blinded_of("context", str(uuid.UUID(int=1))):
        with switched_off(shared_urls, "context.context"):
            assert SECRET in str(client.call(RPCS["GetContext"], case, key=key).answers)
        assert client.call(RPCS["GetContext"], case, key=key).reason == "CONTEXT_NOT_FOUND"


def test_a_key_that_may_only_read_runs_no_tool_that_writes(world: World, client: Client, tables: Tables):
    rpc, key = RPCS["ExecuteTool"], Key(tenant_id=world.key.tenant_id, scopes=("read",))
    before = tables.sums_of(world.key.tenant_id)
    refused = set()
    for case in cases(rpc, world.original.things):
        assert isinstance(case, tools.ExecuteToolRequest)
        if case.subject_user_id:
            continue  # for which it needs the scope `delegate`
        if client.call(rpc, case, key=key).reason == "PERMISSION_DENIED":
            refused.add(case.tool_name)
    assert refused == {"wm_upload", "wm_archive", "context_send", "window_pack", "task_state_update"}
    assert tables.sums_of(world.key.tenant_id) == before


@pytest.mark.parametrize("stranger", [ANOTHER_USER, NO_USER], ids=str)
@pytest.mark.parametrize("name", ["SendMessage", "AppendMessages", "GetBlob", "GetContent"])
def test_a_file_of_a_context_is_no_other_users(name: str, stranger: Stranger, world: World, client: Client):
    """Records are of the tenant, but those of a user's context are the user's."""
    rpc, things = RPCS[name], world.original.things
    about_file = [case for case in cases(rpc, things) if things.file_id in str(case)]
    assert about_file
    for case in about_file:
        answered = client.call(rpc, case, key=stranger.key(world.key, world.context_id))
        assert answered.reason in ("RECORD_NOT_FOUND", "PERMISSION_DENIED"), (case, answered)
        assert client.call(rpc, case, key=world.key).ok, case


def _assert_told_nothing(
    known: Known,
    stranger: Stranger,
    client: Client,
    key: object,
    another_key: object,
    nothing: Things,
    theirs: Case,
    never: Case,
) -> str:
    """Fail unless both requests have the same answer, which says nothing of the owner's; return it."""
    rpc, things = known.rpc, known.things
    of_theirs, of_never = client.call(rpc, theirs, key=key), client.call(rpc, never, key=another_key)
    told = shown(of_theirs, things)
    assert SECRET not in told, stranger
    if of_theirs.reason in TAKEN and rpc.name in GIVES_IDS and stranger is not ANOTHER_TENANT:
        many = list(theirs) if isinstance(theirs, list) else [theirs]
        assert named(of_theirs, things) <= named(Outcome(answers=many), things), stranger
    else:
        assert told == shown(of_never, nothing), f"{rpc} tells {stranger} apart: {theirs}"
    return told


def _assert_names_no_more(known: Known, stranger: Stranger, client: Client, key: object, second: Case) -> None:
    """Fail if the answer to a request for a second page names more of the owner's things than the request."""
    answered = client.call(known.rpc, second, key=key)
    assert SECRET not in shown(answered, known.things), stranger
    assert named(answered, known.things) <= named(Outcome(answers=[second]), known.things), stranger
