"""What is another user's, or of another context, comes out of no call; and Postgres alone would see to it.

The requests of `CASES` are made in the owner's own tenant: by another user, and by a runtime that may name none; and by
the owner himself while Postgres is told that the call is about another user, or another context. What the services
select and write then is right by every filter of their own, and only row-level security stands in between.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from contextkeep.context.v1 import tools_pb2
from contextkeep.options_pb2 import Call
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Tenant
from tests.conftest import Urls
from tests.hostile.calling import Case, Client, Key, Outcome
from tests.hostile.copies import Copies, Original, written
from tests.hostile.tables import Tables, switched_off
from tests.hostile.test_bounds import TRACES, named, rows
from tests.hostile.test_two_tenants import requests, shown, tokens_of
from tests.hostile.things import RPCS, SECRET, Things, cases, invented, seeded
from tests.rpcs import Rpc

OF_USERS = [rpc for rpc in RPCS.values() if rpc.options.whose in (Call.USER, Call.CONTEXT) or rpc.name == "ExecuteTool"]
NAMES = (
    *("context_id", "message_id", "task_id", "artifact_id", "window_id", "pin_id", "thread_id", "user_id", "doomed_id"),
    *("erasure_id", "memory_id", "memory_key", "page_id", "page_slug"),
)
LISTS = {"ListContexts", "GetContextsByExternalId"}  # headers, of whichever contexts
ACROSS = {"DeleteContext": {"context.context", "context.erasure"}}  # it takes what was forked from the one named
SCOPES = ("read", "write")


@dataclasses.dataclass(kw_only=True)
class Known:
    """An RPC, and what a user has for it to name."""

    rpc: Rpc
    key: Key
    things: Things
    tokens: list[str]  # of second pages

    @property
    def nothing(self) -> Things:
        """Names of what never was, of all that belongs to users."""
        never = invented()
        return dataclasses.replace(self.things, **{name: getattr(never, name) for name in NAMES})

    def cases(self, things: Things) -> list[Case]:
        """Return the requests about what belongs to users."""
        made = cases(self.rpc, things)
        if self.rpc.name != "ExecuteTool":
            return made
        return [
            case for case in made if isinstance(case, tools_pb2.ExecuteToolRequest) and "context_" in case.tool_name
        ]

    @property
    def seconds(self) -> list[Case]:
        """The requests for second pages."""
        return requests(self.rpc, self.things, self.tokens)[len(cases(self.rpc, self.things)) :]


@pytest.fixture(scope="module")
def original(client: Client) -> tuple[Key, Original]:
    """A user and what it has, for copies."""
    things = invented()
    key = Key(tenant_id=uuid.uuid4(), scopes=SCOPES, user_id=things.user_id)
    return key, written(key.tenant_id, lambda: seeded(client, key, things))


@pytest.fixture(scope="module")
def to_read(original: tuple[Key, Original]) -> tuple[Key, Things]:
    """A user and what it has, shared by what changes nothing."""
    return original[0], original[1].things


@pytest.fixture(scope="module", params=OF_USERS, ids=str)
def known(
    request: pytest.FixtureRequest, client: Client, nothing_kept: None, original: tuple[Key, Original], copies: Copies
) -> Known:
    """Of one RPC, for the tests that walk them all: only the last one changes something, for others."""
    rpc: Rpc = request.param
    key, things = original[0], original[1].things
    if not rpc.reads:
        tenant_id, things = copies.of(original[1])
        key = dataclasses.replace(key, tenant_id=tenant_id)
    return Known(rpc=rpc, key=key, things=things, tokens=tokens_of(client, rpc, things, key))


def test_row_level_security_alone_keeps_users_apart(known: Known, client: Client, tables: Tables):
    things = known.things
    nothing = dataclasses.replace(known.nothing, user_id=things.user_id)  # it is the owner who calls
    before = sums(tables, known)
    with said("subject", "=somebody else"):
        for theirs, never in zip(known.cases(things), known.cases(nothing), strict=True):
            assert_told_nothing(known, client, known.key, nothing, theirs, never)
        for second in known.seconds:
            assert_names_no_more(known, client, known.key, second)
    assert sums(tables, known) == before


def test_row_level_security_alone_keeps_contexts_apart(known: Known, client: Client, tables: Tables):
    """Whichever context a statement names, it has the rows of the one that the call is about, and of no other.

    Statements that look across contexts find which one is meant, by a task or an external id of the caller's own: so an
    answer may name it.
    """
    if known.rpc.service.endswith(".Knowledge"):
        pytest.skip("it is of users, and of no context")
    before = sums(tables, known)
    with said("context", str(uuid.uuid4())):
        for case in known.cases(known.things):
            answered = shown(client.call(known.rpc, case, key=known.key), known.things)
            assert SECRET not in answered or known.rpc.name in LISTS, case
    after = sums(tables, known)
    assert {table for table in before if after[table] != before[table]} <= ACROSS.get(known.rpc.name, set())


def test_what_is_a_users_is_answered_to_others_as_what_never_was(known: Known, client: Client, tables: Tables):
    """To another user, and to who is none and may name none."""
    rpc, things, nothing = known.rpc, known.things, known.nothing
    before = rows(tables, known.key.tenant_id)
    told_apart = not rpc.reads
    for user_id in ("somebody else", ""):
        stranger = dataclasses.replace(known.key, user_id=user_id)
        for theirs, never in zip(known.cases(things), known.cases(nothing), strict=True):
            of_theirs = assert_told_nothing(known, client, stranger, nothing, theirs, never)
            told_apart = told_apart or shown(client.call(rpc, theirs, key=known.key), things) != of_theirs
        for second in known.seconds:
            assert_names_no_more(known, client, stranger, second)
    assert told_apart, f"{rpc} answers its owner like a stranger: its requests prove nothing"
    after = rows(tables, known.key.tenant_id)
    for table, texts in before.items():
        assert texts <= after[table], f"{rpc} changed what is another user's in {table}"


@pytest.mark.parametrize(("wall", "value"), [("subject", "=somebody else"), ("context", str(uuid.UUID(int=1)))])
def test_without_its_policies_a_table_would_be_open(
    wall: str, value: str, to_read: tuple[Key, Things], client: Client, shared_urls: Urls
):
    """So the tests above can fail."""
    key, things = to_read
    case = cases(RPCS["GetContext"], things)[0]
    with said(wall, value):
        with switched_off(shared_urls, "context.context"):
            assert SECRET in str(client.call(RPCS["GetContext"], case, key=key).answers)
        assert client.call(RPCS["GetContext"], case, key=key).reason == "CONTEXT_NOT_FOUND"


@contextmanager
def said(wall: str, value: str) -> Iterator[None]:
    """Tell Postgres that every call is about another user or context, whatever the services believe."""
    unblinded = Database.of

    def of(self: Database, principal: Principal, **about: Any) -> Tenant:
        door = unblinded(self, principal, **about)
        if door._said[wall]:
            door._said[wall] = value
        return door

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "of", of)
        yield


def assert_told_nothing(known: Known, client: Client, key: Key, nothing: Things, theirs: Case, never: Case) -> str:
    of_theirs, of_never = (client.call(known.rpc, case, key=key) for case in (theirs, never))
    told = shown(of_theirs, known.things)
    assert SECRET not in told
    assert told == shown(of_never, nothing), f"{known.rpc} tells them apart: {theirs}"
    return told


def assert_names_no_more(known: Known, client: Client, key: Key, second: Case) -> None:
    answered = client.call(known.rpc, second, key=key)
    assert SECRET not in shown(answered, known.things)
    assert named(answered, known.things) <= named(Outcome(answers=[second]), known.things)


def sums(tables: Tables, known: Known) -> dict[str, Any]:
    """Return what tells whether a row of the tenant changed, but for what the background sees to."""
    return {table: row for table, row in tables.sums_of(known.key.tenant_id).items() if table not in TRACES}
