"""Kinds of strangers: callers who may not see what an owner has, each for another reason.

A stranger names what the owner has, and then what never was. Both calls must have the same answer. `blinded` makes the
services work for the owner while Postgres is told that the call is the stranger's: then every filter of the services
lets the owner's rows pass, and only row-level security keeps them back.
"""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.context.v1.context_query_pb2 import StreamQueryContextResponse
from contextkeep.options_pb2 import Call
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from tests.hostile.calling import Case, Client, Key, Outcome
from tests.hostile.tables import Tables
from tests.hostile.things import OF_STORED_KEYS, Things, cases
from tests.rpcs import Rpc

NOBODY = "ffffffff-ffff-7fff-8fff-ffffffffffff"  # a tenant without anything
OF_NODES = ("node_id", "child_id", "other_id", "edge_id", "external_id", "node_name", "embedding_name")
OF_USERS = (
    *("context_id", "message_id", "task_id", "artifact_id", "window_id", "pin_id", "thread_id", "user_id", "doomed_id"),
    *("erasure_id", "memory_id", "memory_key", "page_id", "page_slug", "file_id"),
)
USERS_SCOPES = ("read", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A kind of caller who may not see what the owner has.

    Args:
        name: Of the kind.
        key: Returns a key of such a caller. The arguments are the owner's key and a context that no request names.
        nothing: Returns names of what never was, except of what such callers may see.
        is_of: Says whether an RPC must keep what it is about from such callers.
        blinded: Tells Postgres that every call is such a caller's, whatever the services believe.
        tools: Of the tools of `ExecuteTool`, those that must: the beginnings of their names.
        reads_something: An RPC that is read may answer such callers as it answers its owner.
    """

    name: str
    key: Callable[[Key, uuid.UUID], object]
    nothing: Callable[[Things], Things]
    is_of: Callable[[Rpc], bool]
    blinded: Callable[[], AbstractContextManager[None]]
    tools: tuple[str, ...] = ("",)
    reads_something: bool = False

    def __str__(self) -> str:
        return self.name

    def pairs(self, rpc: Rpc, things: Things, nothing: Things) -> list[tuple[Case, Case]]:
        """Return the requests that name the owner's things, each with the same request for what never was."""
        return [
            pair
            for pair in zip(cases(rpc, things), cases(rpc, nothing), strict=True)
            if rpc.name != "ExecuteTool" or pair[0].tool_name.startswith(self.tools)  # type: ignore[union-attr]
        ]


@contextmanager
def blinded() -> Iterator[None]:
    """Tell Postgres that every call is of a tenant without anything, whatever the services believe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tenant, "_values", lambda self: {"tenant_id": NOBODY, "timeout": "20000"})
        yield


@contextmanager
def blinded_to(change: Callable[[Tenant], None]) -> Iterator[None]:
    """Change what Postgres is told of every call."""
    unblinded = Database.of

    def of(self: Database, principal: Principal, **about: Any) -> Tenant:
        door = unblinded(self, principal, **about)
        change(door)
        return door

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "of", of)
        yield


def blinded_of(setting: str, value: str) -> AbstractContextManager[None]:
    """Tell Postgres that every call about a user (`subject`) or a `context` is about another."""

    def change(door: Tenant) -> None:
        if door._policy_settings[setting]:
            door._policy_settings[setting] = value

    return blinded_to(change)


def _bound(name: str, **bounds: Callable[[], Any]) -> dict[str, Any]:
    """Return what a stranger has who is bound to something where the owner has nothing."""

    def key(owner: Key, _: uuid.UUID) -> Key:
        return Key(tenant_id=owner.tenant_id, **{field: value() for field, value in bounds.items()})

    def blinded_to_bounds() -> AbstractContextManager[None]:
        of_stranger = key(Key(tenant_id=uuid.uuid4()), uuid.uuid4()).principal.bounds

        def change(door: Tenant) -> None:
            door.bounds = door._policy_settings["bounds"] = of_stranger

        return blinded_to(change)

    return {"name": name, "key": key, "blinded": blinded_to_bounds}


def _never(things: Things, **kept: tuple[str, ...]) -> Things:
    (names,) = kept.values()
    return dataclasses.replace(Things(), **{name: getattr(things, name) for name in names})


def _is_of_apps(rpc: Rpc) -> bool:
    whose = rpc.options.whose
    is_in_services = rpc.service.endswith((".WorkingMemory", ".Contexts"))
    is_of_app = is_in_services or whose == Call.APP or rpc.name in ("ExecuteTool", "ListResources")
    return is_of_app and whose != Call.TENANT


def _is_bounded(rpc: Rpc) -> bool:
    return rpc.options.whose not in (Call.TENANT, Call.APP)  # ListChanges has tests of its own for what it tells a key


def _is_of_users(rpc: Rpc) -> bool:
    return rpc.options.whose in (Call.USER, Call.CONTEXT) or rpc.name == "ExecuteTool"


def _of_user(user_id: str) -> dict[str, Any]:
    def nothing(things: Things) -> Things:
        never = Things()
        return dataclasses.replace(things, **{name: getattr(never, name) for name in OF_USERS})

    return {
        "key": lambda owner, _: dataclasses.replace(owner, user_id=user_id, scopes=USERS_SCOPES),
        "nothing": nothing,
        "is_of": _is_of_users,
        "blinded": lambda: blinded_of("subject", "=somebody else"),
        "tools": ("context_",),
    }


ANOTHER_TENANT = Stranger(
    name="another tenant",
    key=lambda owner, context_id: Key(tenant_id=uuid.uuid4()),
    nothing=lambda things: Things(),
    is_of=lambda rpc: True,
    blinded=blinded,
)
GRAPH, AGENT_BUNDLE = (
    Stranger(
        **_bound(name, **bounds),
        nothing=lambda things: _never(things, kept=("app_id", "mapping_name")),
        is_of=_is_bounded,
    )
    for name, bounds in (
        ("a key of another graph", {"graph_names": lambda: (uuid.uuid4().hex,)}),
        ("a key of another agent bundle", {"agent_bundle_id": lambda: uuid.uuid4().hex}),
    )
)
APP = Stranger(
    **_bound("a key of another app", app_ids=lambda: (uuid.uuid4().hex,)),
    nothing=lambda things: _never(things, kept=("mapping_name", *OF_NODES)),
    is_of=_is_of_apps,
    tools=("wm_", "rag_search_records"),
    reads_something=True,
)
CONTEXT = Stranger(
    **_bound("a key of another context", context_id=uuid.uuid4)
    | {"key": lambda owner, context_id: Key(tenant_id=owner.tenant_id, context_id=context_id)},
    nothing=lambda things: Things(),
    is_of=lambda rpc: rpc.options.whose != Call.TENANT and rpc.options.context_key,
)
ANOTHER_USER = Stranger(name="another user", **_of_user("somebody else"))
NO_USER = Stranger(name="a runtime that may name no user", **_of_user(""))

STRANGERS = (ANOTHER_TENANT, GRAPH, AGENT_BUNDLE, APP, CONTEXT, ANOTHER_USER, NO_USER)

# What differs between any two calls: ids, keys and call ids that the server makes, the order of writing, times, and
# tokens, which are bound to their tenant.
MADE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(blob_)?[0-9a-f]{32}\b|\b[0-9a-f]{16}\b"
    r"|(?<=resume_token: \")[\w-]+"
    r"|(?<=place: \")[\w-]+"
    r"|(?:(?<=_at\\\":\\\")|(?<=valid_from\\\":\\\"))[\d:.TZ-]+"  # in what a tool answers
    r"|(?<=seal\\\":\\\")[0-9a-f]{64}"  # of the pieces of an archive, which say times
)
# A number that is 0 has no line; calls that are counted are one more with each.
COUNTED = re.compile(r"^\s*(seq|duration_us|duration_ms): \d+\n|^minutes \{\n(  .*\n)*\}\n?", re.MULTILINE)


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


def named(outcome: Outcome, things: Things) -> set[str]:
    """Return which of the owner's things an answer names."""
    return set(re.findall(r"<\w+>", shown(outcome, things))) - {"<made>"}


# What background work leaves, whenever it comes.
TRACES = ("context.blob", "context.outbox")


def rows(tables: Tables, tenant_id: uuid.UUID) -> dict[str, set[str]]:
    """Return the rows of a tenant, except counts and what work in the background leaves."""
    left_out = ("context.tenant_usage", *TRACES)
    return {name: texts for name, texts in tables.rows_of(tenant_id).items() if name not in left_out}
