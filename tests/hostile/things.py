"""What a tenant has, and at least one request of each RPC that names it.

`tests/cases/strangers` is the one table of these tests that knows the RPCs: fuzzing starts from its requests, and the
walks over two tenants make them as another caller. A test says which new RPC or field needs a line there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import Message

from context_service.transfer.pure import FIRST_SEAL, sealed
from contextkeep.options_pb2 import Call
from service_runtime.values.ids import new_id
from tests.case_files import FOLDER, BadCase, loaded
from tests.contract.calls import at_path, parsed, plain
from tests.fakes.mcp_server import FakeMcp, FakeTool, fake_mcp
from tests.hostile.calling import Case, Client, Key
from tests.rpcs import Rpc, all_rpcs

RPCS = {rpc.name: rpc for rpc in all_rpcs()}

SECRET = "what nobody else may read"
CASES: dict[str, Any] = loaded(FOLDER / "strangers" / "requests.yaml")
WRITES: list[dict[str, Any]] = loaded(FOLDER / "strangers" / "things.yaml")


def _id() -> str:
    return field(default_factory=lambda: str(new_id()))


def _text(form: str) -> str:
    return field(default_factory=lambda: form.format(uuid.uuid4().hex))


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """Names of a tenant's things, each unlike any other text; by default, of what never was."""

    node_id: str = _id()
    child_id: str = _id()
    other_id: str = _id()
    edge_id: str = _id()
    external_id: str = _text("external {}")
    node_name: str = _text("node {}")
    embedding_name: str = _text("embedding {}")
    record_id: str = _id()
    blob_record_id: str = _id()
    file_id: str = _id()  # of a file that a context has
    blob_key: str = _text("blob_{}")
    upload_id: str = _id()
    record_name: str = _text("record {}")
    app_id: str = _text("app {}")
    mapping_name: str = _text("mapping {}")
    context_id: str = _id()
    message_id: str = _text("message {}")
    task_id: str = _id()
    artifact_id: str = _text("artifact {}")
    window_id: str = _id()
    fork_id: str = _id()
    profile_name: str = _text("profile-{}")
    agent_id: str = _text("agent {}")
    template_id: str = _text("template {}")
    server_id: str = _text("s-{}")
    specialist_id: str = _text("a-{}")
    pin_id: str = _id()
    memory_id: str = _id()
    memory_key: str = _text("key {}")
    plan: str = _text("plan {}")  # of consolidating memories
    page_id: str = _id()
    page_slug: str = _text("page-{}")
    base_name: str = _text("base {}")
    document_id: str = _id()
    definition_name: str = _text("definition {}")
    compiled_page_id: str = _id()
    test_id: str = _id()  # of sources
    thread_id: str = _text("thread {}")  # what another system calls the context
    user_id: str = _text("user {}")  # who may own some
    doomed_id: str = _id()  # a context of which no other request knows
    erasure_id: str = _id()  # of one that is gone
    subject_erasure_id: str = _id()  # of one that never was
    held_user_id: str = _text("held {}")
    hold_id: str = _id()
    call_id: str = _text("{}")  # of an administrator
    job_id: str = _id()
    import_id: str = _id()
    request_id: str = _id()  # was used, in both services

    def values(self) -> list[str]:
        return [getattr(self, name) for name in self.__slots__]


# Only a key in Postgres makes and revokes keys, and operates; those of these tests are none. What such keys may is in
# `test_given_keys` and `test_operators`. What goes on behind its answer would change what these tests compare, so who
# is named here is held: whom an erasure reaches is in context_service/erasure/test_erasures.py.
OF_STORED_KEYS = {
    *("Erase", "GetSubjectErasure", "EraseOwned", "CreateKey", "RevokeKey"),
    *(rpc.name for rpc in RPCS.values() if rpc.options.scope == Call.OPERATOR),
}

OF_ADMINS = {"ImportArchive", "RunSourceTest"}


def cases(rpc: Rpc, t: Things) -> list[Case]:
    """Return the requests of an RPC: those of the table, or else one whose fields name the things of the same names."""
    letters = {name: getattr(t, name) for name in Things.__slots__}
    if rpc.name in CASES:
        return [_request(rpc, request, letters) for request in CASES[rpc.name]]
    named = {field.name for field in rpc.request.DESCRIPTOR.fields if field.type == field.TYPE_STRING}
    return [rpc.request(**{name: value for name, value in letters.items() if name in named - {"request_id"}})]


def seeded(client: Client, key: object, named: Things | None = None) -> Things:
    """Write everything that `CASES` names, with `SECRET` in all that can hold a text, and return the names.

    Args:
        client: Calls the services.
        key: Whose it is to be.
        named: What the caller can choose has these names.
    """
    t = named or Things()
    letters = {name: getattr(t, name) for name in Things.__slots__}
    is_admin = True  # as far as the calls say
    for call in WRITES:
        (name,) = call.keys() - {"keep", "of_admins"}
        if call.get("of_admins") and not is_admin:
            continue
        outcome = client.call(RPCS[name], _request(RPCS[name], call[name], letters), key=_writer(key, name))
        if call.get("of_admins") and outcome.reason == "PERMISSION_DENIED":
            is_admin = False
            continue
        assert outcome.ok, f"{name}: {outcome}"
        for letter, path in call.get("keep", {}).items():
            letters[letter] = at_path(plain(outcome.answers[0]), path)
    return replace(t, **{name: value for name, value in letters.items() if name in Things.__slots__})


def _writer(key: object, name: str) -> object:
    """Return who seeds by an RPC: of a key for less, an administrator of its bounds what only they may write."""
    return replace(key, scopes=(*key.scopes, "admin")) if isinstance(key, Key) and name in OF_ADMINS else key


def _request(rpc: Rpc, said: Any, letters: Mapping[str, str]) -> Case:
    if isinstance(said, list):
        return [parsed(rpc.request, _with_letters(message, letters)) for message in said]
    message: Message = parsed(rpc.request, _with_letters(said, letters))
    return message


def _with_letters(value: Any, letters: Mapping[str, str]) -> Any:
    match value:
        case {"archive_of": context_id, **owner}:
            return _archive(_with_letters(context_id, letters), **_with_letters(owner, letters))
        case dict():
            return {name: _with_letters(one, letters) for name, one in value.items()}
        case list():
            return [_with_letters(one, letters) for one in value]
        case str():
            return re.sub(r"<(\w+)>", lambda found: _letter(found[1], letters), value)
    return value


def _letter(name: str, letters: Mapping[str, str]) -> str:
    if name in letters:
        return letters[name]
    made: dict[str, Callable[[], str]] = {
        "secret": lambda: SECRET,
        "new": lambda: str(new_id()),
        "mcp_url": lambda: _tools().url,
    }
    if name not in made:
        raise BadCase(f"nothing is called <{name}>")
    return made[name]()


_SERVERS = contextlib.ExitStack()  # they stay up as long as the process


@functools.cache
def _tools() -> FakeMcp:
    """Return an MCP server, one for the whole process: no call changes it."""
    server = _SERVERS.enter_context(fake_mcp(json_response=True))
    server.tools = {name: FakeTool(description=SECRET) for name in ("search", "search_2")}
    return server


def _archive(context_id: str, owner: str = "") -> bytes:
    """Return the archive of a context without messages."""
    header = {"context_id": context_id, "ancestors": [context_id], "last_said_at": "2026-01-01T00:00:00Z"}
    owned = {"last_seq": 0, "owner_user_id": owner, "app_id": "", "agent_bundle_id": "", "created_by": "somebody"}
    manifest = {"format": 1, "scope": {"kind": "context", "id": context_id}}
    whole, seal = b"", FIRST_SEAL
    for number, (kind, fields, data) in enumerate(
        [
            ("manifest", {}, json.dumps(manifest)),
            ("context", {"table": "context", "context": context_id}, json.dumps({**header, **owned}) + "\n"),
            ("context_end", {"context": context_id}, ""),
            ("end", {}, json.dumps({"left_out": []})),
        ]
    ):
        piece, seal = sealed(seal, {"piece": number, "kind": kind, **fields}, data.encode())
        whole += piece
    return whole
