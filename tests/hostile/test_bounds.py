"""What is outside of a key's bounds is answered as what never was, by every RPC; and Postgres alone would see to it.

The requests of `CASES` are made by keys of the owner's own tenant, which are bound to a graph, an agent bundle, an app
or a context in which the owner has nothing: naming what the owner has, and naming what never was. Both must have the
same answer, the owner's text must not be in it, and the owner's rows must stay as they are. Then they are made by a key
without bounds while Postgres is told that it has some: what the services select and write is right by every filter of
their own, and only row-level security stands in between.
"""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from contextkeep.context.v1 import tools_pb2
from contextkeep.options_pb2 import Call
from service_runtime.auth import CONTEXT_READ, NO_SCOPE, SCOPES, Principal
from service_runtime.methods import method_of
from service_runtime.postgres import Database, Tenant
from tests.conftest import Urls
from tests.hostile.calling import Case, Client, Key, Outcome
from tests.hostile.tables import Tables, switched_off
from tests.hostile.test_two_tenants import ALIKE, requests, shown, tokens_of
from tests.hostile.things import RPCS, SECRET, Things, cases, invented, seeded
from tests.rpcs import Rpc

KINDS = ("graph", "agent bundle", "app", "context")

OF_NODES = ("node_id", "child_id", "other_id", "edge_id", "external_id", "node_name", "embedding_name")

# Ids are unique in a tenant, and external ids in a graph, whoever asks: that one is taken is all that can be learnt.
GIVES_IDS = {"CreateNode", "WriteGraph", "ImportGraph", "InsertWMRecord", "UploadBlob", "StartUpload"}
TAKEN = {"NODE_EXISTS", "EXTERNAL_ID_TAKEN", "EDGE_EXISTS", "RECORD_EXISTS"}


def _holds(rpc: Rpc, kind: str) -> bool:
    """Return whether bounds of a kind hold for what an RPC is about."""
    whose = rpc.options.whose
    if whose == Call.TENANT:
        return False  # ListChanges has tests of its own for what it tells a key
    if kind == "app":
        in_services = rpc.service.endswith((".WorkingMemory", ".Contexts"))
        return in_services or whose == Call.APP or rpc.name in ("ExecuteTool", "ListResources")
    return kind == "context" or whose != Call.APP


# All kinds of an RPC in one test: what the owner has is read twice for all of them, and not for each.
HELD = {rpc: [kind for kind in KINDS if _holds(rpc, kind)] for rpc in RPCS.values()}
of_held = pytest.mark.parametrize(
    ("rpc", "kinds"), [pytest.param(rpc, kinds, id=str(rpc)) for rpc, kinds in HELD.items() if kinds]
)


@dataclass(kw_only=True)
class Owned:
    """What the owner has."""

    tenant_id: uuid.UUID
    things: Things
    tokens: dict[str, list[str]] = field(default_factory=dict)  # of second pages, by RPC


@pytest.fixture(scope="module")
def owned(client: Client, nothing_kept: None) -> Owned:
    """One for all: nothing that is done here may change it."""
    tenant_id = uuid.uuid4()
    return Owned(tenant_id=tenant_id, things=seeded(client, tenant_id))


@of_held
def test_what_is_outside_is_answered_as_what_never_was(
    rpc: Rpc, kinds: list[str], owned: Owned, client: Client, tables: Tables
):
    things = owned.things
    before = rows(tables, owned.tenant_id)
    for kind in kinds:
        nothing = unseen(kind, things)
        for theirs, never in pairs(rpc, kind, things, nothing):
            of_theirs = client.call(rpc, theirs, key=bound(kind, owned.tenant_id))
            of_never = client.call(rpc, never, key=bound(kind, owned.tenant_id))
            assert SECRET not in shown(of_theirs, things), kind
            if of_theirs.reason in TAKEN and rpc.name in GIVES_IDS:
                assert named(of_theirs, things) <= named(Outcome(answers=flat(theirs)), things), kind
            else:
                assert shown(of_theirs, things) == shown(of_never, nothing), f"{rpc} tells a {kind} apart: {theirs}"
        for second in second_pages(rpc, owned, client):
            answered = client.call(rpc, second, key=bound(kind, owned.tenant_id))
            assert SECRET not in shown(answered, things), kind
            assert named(answered, things) <= named(Outcome(answers=[second]), things), kind
    after = rows(tables, owned.tenant_id)
    for table, texts in before.items():
        assert texts <= after[table], f"{rpc} changed rows outside of its bounds in {table}"


@pytest.mark.parametrize("rpc", [rpc for rpc in RPCS.values() if not rpc.options.context_key], ids=str)
def test_what_does_not_know_contexts_refuses_a_key_of_one(rpc: Rpc, owned: Owned, client: Client):
    for case in cases(rpc, owned.things):
        outcome = client.call(rpc, case, key=bound("context", owned.tenant_id))
        assert (outcome.reason, outcome.answers) == ("PERMISSION_DENIED", [])


@of_held
def test_row_level_security_alone_keeps_bounds(
    rpc: Rpc, kinds: list[str], owned: Owned, client: Client, tables: Tables
):
    things = owned.things
    before = tables.sums_of(owned.tenant_id)
    seconds = second_pages(rpc, owned, client)
    made = {}
    for kind in kinds:
        nothing = unseen(kind, things)
        made[kind] = pairs(rpc, kind, things, nothing)
        with blinded(kind):
            for theirs, never in made[kind]:
                assert_told_nothing(rpc, client, owned, nothing, theirs, never)
            for second in seconds:
                answered = client.call(rpc, second, key=owned.tenant_id)
                assert SECRET not in shown(answered, things), kind
                assert named(answered, things) <= named(Outcome(answers=[second]), things), kind
    after = tables.sums_of(owned.tenant_id)
    assert {t: row for t, row in after.items() if t not in TRACES} == {
        t: row for t, row in before.items() if t not in TRACES
    }
    for kind in kinds:
        if rpc.reads and made[kind] and rpc.name not in ALIKE and kind != "app":
            told_apart = any(
                shown(client.call(rpc, theirs, key=owned.tenant_id), things)
                != shown(client.call(rpc, theirs, key=bound(kind, owned.tenant_id)), things)
                for theirs, _ in made[kind]
            )
            assert told_apart, f"{rpc} answers its owner like a stranger of a {kind}: its requests prove nothing"


@pytest.mark.parametrize(
    ("table", "name"),
    [("entity.node", "GetNode"), ("entity.edge", "GetEdge"), ("context.wm_record", "FetchWMRecord")],
)
def test_without_its_policy_a_table_would_be_open(
    table: str, name: str, owned: Owned, client: Client, shared_urls: Urls
):
    """So the test above can fail."""
    rpc, nothing = RPCS[name], invented()
    theirs, never = cases(rpc, owned.things)[0], cases(rpc, nothing)[0]
    with blinded("agent bundle"):
        with switched_off(shared_urls, table), pytest.raises(AssertionError):
            assert_told_nothing(rpc, client, owned, nothing, theirs, never)
        assert_told_nothing(rpc, client, owned, nothing, theirs, never)


WITH_A_SCOPE = [rpc for rpc in RPCS.values() if method_of(rpc.path).scope != NO_SCOPE]


@pytest.mark.parametrize("rpc", WITH_A_SCOPE, ids=str)
def test_a_key_without_the_scope_is_refused_and_changes_nothing(rpc: Rpc, owned: Owned, client: Client, tables: Tables):
    scope = method_of(rpc.path).scope
    includes = {scope, "read"} if scope == CONTEXT_READ else {scope}
    key = Key(tenant_id=owned.tenant_id, scopes=tuple(one for one in SCOPES if one not in includes))
    before = tables.sums_of(owned.tenant_id)
    for theirs, never in zip(cases(rpc, owned.things), cases(rpc, invented()), strict=True):
        for case in (theirs, never):
            outcome = client.call(rpc, case, key=key)
            assert outcome.reason == "PERMISSION_DENIED"
            assert outcome.metadata == {"scope": scope}
    assert tables.sums_of(owned.tenant_id) == before


def test_a_key_that_may_only_read_runs_no_tool_that_writes(owned: Owned, client: Client, tables: Tables):
    rpc, key = RPCS["ExecuteTool"], Key(tenant_id=owned.tenant_id, scopes=("read",))
    before = tables.sums_of(owned.tenant_id)
    refused = set()
    for case in cases(rpc, owned.things):
        assert isinstance(case, tools_pb2.ExecuteToolRequest)
        if case.subject_user_id:
            continue  # for which it needs the scope `delegate`
        if client.call(rpc, case, key=key).reason == "PERMISSION_DENIED":
            refused.add(case.tool_name)
    assert refused == {"wm_upload", "wm_archive", "context_send", "window_pack", "task_state_update"}
    assert tables.sums_of(owned.tenant_id) == before


# What background work leaves, whenever it comes.
TRACES = ("context.blob", "context.outbox")


def bound(kind: str, tenant_id: uuid.UUID) -> Key:
    """Return a key that is bound to something of which nobody ever heard."""
    name = uuid.uuid4().hex
    match kind:
        case "graph":
            return Key(tenant_id=tenant_id, graph_names=(name,))
        case "agent bundle":
            return Key(tenant_id=tenant_id, agent_bundle_id=name)
        case "context":
            return Key(tenant_id=tenant_id, context_id=uuid.uuid4())
        case _:
            return Key(tenant_id=tenant_id, app_ids=(name,))


@contextmanager
def blinded(kind: str) -> Iterator[None]:
    """Tell Postgres that every call is bound, whatever the services believe."""
    bounds = bound(kind, uuid.uuid4()).principal.bounds
    unblinded = Database.of

    def of(self: Database, principal: Principal, **said: Any) -> Tenant:
        """Say what it is about as the service does, and of the bounds another thing."""
        door = unblinded(self, principal, **said)
        door.bounds = door._said["bounds"] = bounds
        return door

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "of", of)
        yield


def unseen(kind: str, things: Things) -> Things:
    """Return names of what never was, but for those that bounds of a kind leave open."""
    if kind == "context":
        return invented()
    open_to = ("mapping_name", *OF_NODES) if kind == "app" else ("app_id", "mapping_name")
    return dataclasses.replace(invented(), **{name: getattr(things, name) for name in open_to})


def pairs(rpc: Rpc, kind: str, things: Things, nothing: Things) -> list[tuple[Case, Case]]:
    """Return the requests for which bounds of a kind hold: those that name the owner's things, and their twins."""
    made = list(zip(cases(rpc, things), cases(rpc, nothing), strict=True))
    if rpc.name == "ExecuteTool" and kind == "app":
        return [pair for pair in made if pair[0].tool_name.startswith(("wm_", "rag_search_records"))]  # type: ignore[union-attr]
    return made


def second_pages(rpc: Rpc, owned: Owned, client: Client) -> list[Case]:
    """Return the requests for the second pages of what the owner reads."""
    if rpc.name == "ExecuteTool":
        return []
    if rpc.name not in owned.tokens:
        owned.tokens[rpc.name] = tokens_of(client, rpc, owned.things, owned.tenant_id)
    return requests(rpc, owned.things, owned.tokens[rpc.name])[len(cases(rpc, owned.things)) :]


def assert_told_nothing(rpc: Rpc, client: Client, owned: Owned, nothing: Things, theirs: Case, never: Case) -> None:
    of_theirs, of_never = (client.call(rpc, case, key=owned.tenant_id) for case in (theirs, never))
    assert SECRET not in shown(of_theirs, owned.things)
    assert shown(of_theirs, owned.things) == shown(of_never, nothing), f"{rpc} tells them apart: {theirs}"


def named(outcome: Outcome, things: Things) -> set[str]:
    """Return which of the owner's things an answer names."""
    return set(re.findall(r"<\w+>", shown(outcome, things))) - {"<made>"}


def flat(case: Case) -> list[object]:
    return list(case) if isinstance(case, list) else [case]


def rows(tables: Tables, tenant_id: uuid.UUID) -> dict[str, set[str]]:
    """Return the rows of a tenant, but for what counts them and what the background sees to."""
    left_out = ("context.tenant_usage", *TRACES)
    return {name: texts for name, texts in tables.rows_of(tenant_id).items() if name not in left_out}
