"""Another tenant's id is answered exactly as one that never was, by every RPC; and Postgres alone would see to it.

Each request of `CASES` is made three times: by its owner; by a tenant that has nothing, naming what the owner has; and
by another such tenant, naming what never was. The last two must have the same answer, the owner's text must not be in
it, and the owner's rows must stay as they are. Before that the owner makes them while the services believe that they
work for it but Postgres is told another tenant: what they select and write is right by every filter of their own,
and only row-level security stands in between.
"""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.context.v1.context_query_pb2 import StreamQueryContextResponse
from service_runtime.postgres import Tenant
from tests.conftest import Urls
from tests.hostile.calling import Case, Client, Outcome
from tests.hostile.copies import Another
from tests.hostile.tables import Tables, switched_off
from tests.hostile.things import OF_STORED_KEYS, RPCS, SECRET, Things, cases, invented, seeded
from tests.rpcs import Rpc

NOBODY = "ffffffff-ffff-7fff-8fff-ffffffffffff"  # a tenant without anything

# Says nothing of what anybody has. Whose calls are counted, `test_observing_stub` says; what a key is told of itself,
# `test_context_keys`.
ALIKE = {"ListTools", "StartChanges", "ListChanges", "GetRecentCalls", "GetOwned", "GetCaller"}

# What differs between any two calls: ids, keys and call ids that the server makes, the order of writing, times, and
# tokens, which are bound to their tenant.
MADE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(blob_)?[0-9a-f]{32}\b|\b[0-9a-f]{16}\b"
    r"|(?<=resume_token: \")[\w-]+"
    r"|(?<=place: \")[\w-]+"
    r"|(?<=_at\\\":\\\")[\d:.TZ-]+"  # in what a tool answers
    r"|(?<=seal\\\":\\\")[0-9a-f]{64}"  # of the pieces of an archive, which say times
)
# A number that is 0 has no line; calls that are counted are one more with each.
COUNTED = re.compile(r"^\s*(seq|duration_us|duration_ms): \d+\n|^minutes \{\n(  .*\n)*\}\n?", re.MULTILINE)


@dataclass(kw_only=True)
class Known:
    """An RPC, what an owner has for it to name, and names of what never was."""

    rpc: Rpc
    owner: uuid.UUID
    things: Things
    nothing: Things
    tokens: list[str]  # of second pages


# What an owner may be told instead of an answer: a folder gives no URLs, a short window has nothing to fold, and no
# changes are kept that nobody asked for.
REFUSED = ("NO_DOWNLOAD_URL", "FOLD_NO_PROGRESS", "FOLD_NOT_PREPARED", "CHANGES_NOT_STARTED")


@pytest.fixture(scope="module")
def to_read(client: Client, finds_documents: Callable[[uuid.UUID, object, Things], None]) -> tuple[uuid.UUID, Things]:
    """An owner and what it has, shared by what changes nothing."""
    owner = uuid.uuid4()
    things = seeded(client, owner)
    finds_documents(owner, owner, things)
    return owner, things


@pytest.fixture(scope="module", params=list(RPCS.values()), ids=str)
def known(
    request: pytest.FixtureRequest,
    client: Client,
    nothing_kept: None,
    to_read: tuple[uuid.UUID, Things],
    another: Another,
) -> Known:
    """Of one RPC, for the tests that walk them all: the first changes nothing."""
    rpc: Rpc = request.param
    owner, things = to_read if rpc.reads else another()
    tokens = tokens_of(client, rpc, things, owner)
    return Known(rpc=rpc, owner=owner, things=things, nothing=invented(), tokens=tokens)


def test_the_services_connect_as_a_role_that_passes_no_policy(client: Client, shared_urls: Urls):
    """Else all that follows would prove nothing."""
    seeded(client, uuid.uuid4())  # both are connected
    with psycopg.connect(shared_urls.superuser) as connection:
        roles = connection.execute(
            "SELECT DISTINCT a.application_name, r.rolsuper, r.rolbypassrls,"
            " EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            "  WHERE n.nspname IN ('access', 'context', 'entity') AND pg_has_role(r.oid, c.relowner, 'MEMBER'))"
            " FROM pg_stat_activity a JOIN pg_roles r ON r.rolname = a.usename"
            " WHERE a.datname = current_database() AND a.application_name LIKE '%-service'"
        ).fetchall()
    assert sorted(roles) == [("context-service", False, False, False), ("entity-service", False, False, False)]


def test_row_level_security_alone_keeps_tenants_apart(known: Known, client: Client, tables: Tables):
    rpc, owner, things, nothing = known.rpc, known.owner, known.things, known.nothing
    before = tables.sums_of(owner)
    with blinded():
        for theirs, never in zip(cases(rpc, things), cases(rpc, nothing), strict=True):
            assert_told_nothing(rpc, client, owner, things, nothing, theirs, never)
        for second in requests(rpc, things, known.tokens)[len(cases(rpc, things)) :]:
            of_second = shown(client.call(rpc, second, key=owner), things)
            asked_for = {f"<{field}>" for field in re.findall(r"<(\w+)>", shown(Outcome(answers=[second]), things))}
            assert SECRET not in of_second
            assert set(re.findall(r"<\w+>", of_second)) - {"<made>"} <= asked_for
    assert tables.sums_of(owner) == before


def test_what_is_anothers_is_answered_as_what_never_was(known: Known, client: Client, tables: Tables):
    rpc, owner, things, nothing = known.rpc, known.owner, known.things, known.nothing
    theirs_all = requests(rpc, things, known.tokens)
    never_all = requests(rpc, nothing, [f"{token[4:]}{token[:4]}" for token in known.tokens])
    before = tables.sums_of(owner)
    told = [
        tuple(client.call(rpc, case, key=uuid.uuid4()) for case in two)
        for two in zip(theirs_all, never_all, strict=True)
    ]
    assert tables.sums_of(owner) == before, f"{rpc} changed another tenant's rows"

    told_apart = 0
    for number, (theirs, (of_theirs, of_never)) in enumerate(zip(theirs_all, told, strict=True)):
        assert shown(of_theirs, things) == shown(of_never, nothing), f"{rpc} tells them apart: {theirs}"
        assert SECRET not in shown(of_theirs, things)

        of_owner = client.call(rpc, theirs, key=owner)
        # A file has no URL; that is found out behind everything that is refused to others.
        assert number or of_owner.ok or of_owner.reason in REFUSED or rpc.name in OF_STORED_KEYS, (
            f"{rpc} refuses its owner: {of_owner}"
        )
        told_apart += shown(of_owner, things) != shown(of_theirs, things)
    assert told_apart or rpc.name in ALIKE | OF_STORED_KEYS, (
        f"{rpc} answers its owner like a stranger: its requests prove nothing"
    )


@pytest.mark.parametrize(
    ("table", "name"),
    [("entity.node", "GetNode"), ("context.wm_record", "FetchWMRecord"), ("context.mapping", "ListMappings")],
)
def test_without_its_policy_a_table_would_be_open(table: str, name: str, client: Client, shared_urls: Urls):
    """So the test above can fail."""
    rpc, owner = RPCS[name], uuid.uuid4()
    things, nothing = seeded(client, owner), invented()
    theirs, never = cases(rpc, things)[0], cases(rpc, nothing)[0]
    with switched_off(shared_urls, table), blinded(), pytest.raises(AssertionError):
        assert_told_nothing(rpc, client, owner, things, nothing, theirs, never)
    with blinded():
        assert_told_nothing(rpc, client, owner, things, nothing, theirs, never)


def assert_told_nothing(
    rpc: Rpc, client: Client, owner: uuid.UUID, things: Things, nothing: Things, theirs: Case, never: Case
) -> None:
    of_theirs, of_never = client.call(rpc, theirs, key=owner), client.call(rpc, never, key=owner)
    assert shown(of_theirs, things) == shown(of_never, nothing), f"{rpc} tells them apart: {theirs}"
    assert SECRET not in shown(of_theirs, things)


@contextmanager
def blinded() -> Iterator[None]:
    """Tell Postgres that every call is of a tenant without anything, whatever the services believe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tenant, "_values", lambda self: {"tenant_id": NOBODY, "timeout": "20000"})
        yield


def tokens_of(client: Client, rpc: Rpc, things: Things, owner: uuid.UUID) -> list[str]:
    """Return the token of the second page of each request of an RPC that has pages."""
    if "page_token" not in rpc.request.DESCRIPTOR.fields_by_name:
        return []
    tokens = []
    for case in cases(rpc, things):
        answers = client.call(rpc, changed(case, **{page_size(rpc): 1}), key=owner).answers
        tokens.append(next((answer.next_page_token for answer in answers if answer.next_page_token), ""))
    assert any(tokens) or rpc.name in OF_STORED_KEYS, f"no request of {rpc} has two pages: what would be on the second?"
    return tokens


def requests(rpc: Rpc, things: Things, tokens: list[str]) -> list[Case]:
    """Return the requests of an RPC, and those for their second pages."""
    made = cases(rpc, things)
    second = [changed(case, **{page_size(rpc): 1}, page_token=token) for case, token in zip(made, tokens, strict=False)]
    return made + second


def page_size(rpc: Rpc) -> str:
    return "page_size" if "page_size" in rpc.request.DESCRIPTOR.fields_by_name else "limit"


def changed(case: Any, **values: Any) -> Any:
    message = type(case)()
    message.CopyFrom(case)
    for name, value in values.items():
        setattr(message, name, value)
    return message


def shown(outcome: Outcome, things: Things) -> str:
    """Return all that a caller is told, with what differs between any two calls taken out."""
    answers = sorted(outcome.answers, key=_place)
    if outcome.ok:
        parts = [str(_timeless(answer)) for answer in answers]
    else:
        parts = [outcome.code.name, *(str(_timeless(answer)) for answer in answers), *outcome.texts]
    text = "\n".join(parts)
    for field in dataclasses.fields(things):
        text = text.replace(getattr(things, field.name), f"<{field.name}>")
    return COUNTED.sub("", MADE.sub("<made>", text))


def _place(answer: Message) -> tuple[object, ...]:
    """Return where an answer belongs among those of its stream; what comes when it is ready, where no time puts it."""
    if not isinstance(answer, StreamQueryContextResponse):
        return ()
    return answer.HasField("answer"), answer.provider.is_second_pass, answer.provider.status.provider_id


def _timeless(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    _clear_times(copy)
    return copy


def _clear_times(message: Message) -> None:
    for field, value in message.ListFields():
        if isinstance(value, Timestamp):
            message.ClearField(field.name)
        elif isinstance(value, Message):
            _clear_times(value)
        elif field.is_repeated and field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for one in value:
                _clear_times(one)
