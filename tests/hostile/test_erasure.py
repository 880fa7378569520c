"""A word planted in every field that a user may write: when the user is erased, nothing has it any more.

Every RPC that writes is found by reflection, and each text of its requests (`CASES`) is replaced once. What is the
tenant's and not the user's, as the options in the proto say, is not planted.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import time
import uuid
from collections.abc import Iterator, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from contextkeep.context.v1 import contexts_pb2, memories_pb2, message_pb2, pages_pb2, working_memory_pb2
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from contextkeep.options_pb2 import Call
from service_runtime.auth import audit
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.methods import method_of
from service_runtime.statements.requests import RESPONSE, unpacked
from tests.conftest import Urls, cloned
from tests.hostile.calling import WHOLE_SHARES, AnyTenant, Case, Client, Key
from tests.hostile.stalls import PROBES, watched
from tests.hostile.tables import reading
from tests.hostile.things import RPCS, Things, cases, seeded
from tests.rpcs import Rpc

TENANT = uuid.UUID("00000000-0000-7000-8000-00000000e7a5")
WORD = "zyzzogeton"
_RESPONSES = re.compile(rf"{RESPONSE}\W+([A-Za-z0-9+/]{{8,}}=*)")
DONE_S = 60

# Whatever is the tenant's or an application's is not planted, but for these, whose requests may quote users.
QUOTE_USERS = {"RunSourceTest", "DeleteSourceTest", "StartChanges", "SetLearning"}
# And a page that was compiled from the graph, a document of a base, which administrators add for all.
COMPILED = {"PutFacet"}
BASES = {"PutKnowledgeBase", "DeleteKnowledgeBase", "AddDocument", "RemoveDocument"}


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as opened:
        with psycopg.connect(opened.superuser) as connection:
            connection.execute("INSERT INTO access.tenant (id, name) VALUES (%s, 'erased')", (TENANT,))
        yield opened


def test_nothing_is_left_of_a_word_that_was_planted_in_every_field(
    urls: Urls, tmp_path: Path, postgres: EmbeddedPostgres, caplog: pytest.LogCaptureFixture
):
    ada, bob = (Key(tenant_id=TENANT, user_id=f"{name}-{uuid.uuid4().hex}") for name in ("ada", "bob"))
    administrator = Key(tenant_id=TENANT)
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "blobs"
    with (
        # The erasure of a user waits for the next sweep of files.
        watched("erasure", urls.service, folder, callers=AnyTenant(), sweep_interval_s=2, **WHOLE_SHARES) as addresses,
        PROBES["erasure"].nobody_waits(),
        Client.open(addresses) as client,
        reading(urls) as tables,
    ):
        assert client.call(RPCS["StartChanges"], graph.StartChangesRequest(), key=administrator).ok
        of_bob = seeded(client, bob, replace(Things(), user_id=bob.user_id))
        of_ada = seeded(client, ada, replace(Things(), user_id=ada.user_id))
        planted = {rpc.name: _plant(client, rpc, of_ada, ada) for rpc in RPCS.values() if _is_planted(rpc)}
        taken = {name for name, count in planted.items() if count}
        repeats = {name: _answered_of(client, RPCS[name], ada) for name in REPEATED}
        assert len(taken) > len(planted) / 2, sorted(set(planted) - taken)
        found = _holding(tables.rows_of(TENANT), WORD)
        assert found >= {
            "context.request",
            "context.message",
            "context.wm_record",
            "context.memory",
            "entity.node",
            "entity.progress",
        }
        before = tables.rows_of(TENANT)
        with psycopg.connect(urls.of(TENANT).superuser) as connection:  # what he has deleted himself
            going = [str(one) for (one,) in connection.execute("SELECT context_id FROM context.erasure").fetchall()]

        erasing = pb.EraseRequest(subject=ada.user_id)
        (answer,) = client.call(RPCS["Erase"], erasing, key=administrator).answers
        _wait(client, answer.erasure.erasure_id, administrator)

        after = tables.rows_of(TENANT)
        for name, repeat in repeats.items():
            outcome = client.call(RPCS[name], repeat, key=ada)
            assert outcome.reason == "ERASED", f"{name}: {outcome}"
        assert _holding(after, WORD) == set(), [row for rows in after.values() for row in rows if WORD in row.lower()][
            :9
        ]
        for table, rows in before.items():
            lost = {row for row in rows if bob.user_id in row and not any(one in row for one in going)} - after[table]
            assert not lost or table in CHANGING, table
        (one,) = client.call(RPCS["GetNode"], graph.GetNodeRequest(node_id=of_bob.node_id), key=bob).answers
        assert one.node.name == of_bob.node_name
    dumped = "".join(_dump(postgres, one) for one in urls.all)
    stored = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for left in (dumped, stored.decode("latin-1")):
        assert WORD not in left.lower()
        assert ada.user_id not in left
    assert bob.user_id in dumped
    said = [
        (one.name, key) for one in caplog.records for key, value in _said(one).items() if WORD in str(value).lower()
    ]
    assert not said


# Of each service, and of what goes with a context and what goes with its user.
REPEATED: dict[str, Message] = {
    "CreateNode": graph.CreateNodeRequest(node=graph.NodeInput(general_type_name=WORD)),
    "SendMessage": contexts_pb2.SendMessageRequest(message=message_pb2.MessageInput(content=WORD)),
    "InsertWMRecord": working_memory_pb2.InsertWMRecordRequest(
        record=working_memory_pb2.WMRecordInput(memory_type="file", name=WORD, content_json="[1]")
    ),
    "RetainMemory": memories_pb2.RetainMemoryRequest(memory=memories_pb2.MemoryInput(text=WORD)),
    "PutPage": pages_pb2.PutPageRequest(page=pages_pb2.PageInput(title=WORD, markdown=WORD)),
}


def _answered_of(client: Client, rpc: Rpc, key: Key) -> Any:
    """Return a request that was answered, to be repeated."""
    request = _copied(REPEATED[rpc.name])
    request.request_id = str(uuid.uuid4())
    outcome = client.call(rpc, request, key=key)
    assert outcome.ok, f"{rpc}: {outcome}"
    return request


def _said(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a line says, but what the tenant's things are called, and the text of a refusal, which may quote."""
    said = dict(vars(record))
    if record.name == "calls":
        said.pop("error", None)
    ids = said.pop("ids", {})
    return said | {path: values for path, values in ids.items() if path.rpartition(".")[2] not in audit.OF_TENANTS}


# Rows that the services change behind every call.
CHANGING = {"context.outbox", "context.message_record", "context.blob"}


def _dump(postgres: EmbeddedPostgres, urls: Urls) -> str:
    return subprocess.run(
        [str(postgres.binaries / "pg_dump"), urls.superuser], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def _is_planted(rpc: Rpc) -> bool:
    is_of_all = rpc.options.whose in (Call.TENANT, Call.APP) and rpc.name not in QUOTE_USERS
    return not (rpc.reads or is_of_all or rpc.name in COMPILED | BASES)


def _plant(client: Client, rpc: Rpc, things: Things, key: Key) -> int:
    """Call an RPC with the word in each text of its requests until it accepts that, and return how many it accepts."""
    taken: set[str] = set()  # paths of fields
    for case in cases(rpc, things):
        many = [case] if isinstance(case, Message) else [one for one in case if isinstance(one, Message)]
        for number, message in enumerate(many):
            # The kept calls of administrators name what the tenant's things are called.
            unplanted = NOT_PLANTED | (audit.OF_TENANTS if method_of(rpc.path).is_administrative else set())
            for path, copy in _planted(message, unplanted):
                case_copy: Case = copy if isinstance(case, Message) else [*many[:number], copy, *many[number + 1 :]]
                if path not in taken and client.call(rpc, case_copy, key=key).ok:
                    taken.add(path)
    return len(taken)


def _planted(message: Message, unplanted: Set[str]) -> Iterator[tuple[str, Message]]:
    """Yield copies of a message, each with the word in the place of one of its texts, and that field's path."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None:
            if field.message_type.GetOptions().map_entry or not _is_set(message, field):
                continue
            for place in range(len(getattr(message, field.name)) if field.is_repeated else 1):
                inner = getattr(message, field.name)[place] if field.is_repeated else getattr(message, field.name)
                for path, changed in _planted(inner, unplanted):
                    copy = _copied(message)
                    target = getattr(copy, field.name)
                    (target[place] if field.is_repeated else target).CopyFrom(changed)
                    yield f"{field.name}.{path}", copy
        elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES) and field.name not in unplanted:
            copy = _copied(message)
            word: Any = _word(field)
            if field.is_repeated:
                getattr(copy, field.name).append(word)
            else:
                setattr(copy, field.name, word)
            if copy.DESCRIPTOR.fields_by_name.get("request_id"):
                copy.request_id = str(uuid.uuid4())  # type: ignore[attr-defined]
            yield field.name, copy


# For whom a call is, and what is no text. Names of graphs and of agent bundles are the tenant's: keys are bound to
# them, and the feed of changes, which says what is gone, is read within them.
NOT_PLANTED = {"subject_user_id", "request_id", "page_token", "graph_name", "graph_names", "agent_bundle_id"}


def _word(field: FieldDescriptor) -> str | bytes:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return f"{WORD} {uuid.uuid4()}".encode()
    if field.name.endswith("_json"):
        return json.dumps({"role": WORD, WORD: f"{WORD} {uuid.uuid4()}"})
    return f"{WORD}-{uuid.uuid4()}"  # some are unique


def _is_set(message: Message, field: FieldDescriptor) -> bool:
    return bool(getattr(message, field.name)) if field.is_repeated else message.HasField(field.name)


def _copied(message: Message) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _holding(rows: dict[str, set[str]], word: str) -> set[str]:
    return {table for table, texts in rows.items() if any(word in _readable(text).lower() for text in texts)}


def _readable(row: str) -> str:
    """Return a row with the whole response that it keeps of a call, as it was sent."""
    return row + "".join(unpacked(one).decode("latin-1") for one in _RESPONSES.findall(row))


def _wait(client: Client, erasure_id: str, key: Key) -> None:
    asking = pb.GetSubjectErasureRequest(erasure_id=erasure_id)
    until = time.monotonic() + DONE_S
    while time.monotonic() < until:
        (answer,) = client.call(RPCS["GetSubjectErasure"], asking, key=key).answers
        if answer.erasure.state == contexts_pb2.ERASURE_STATE_FINISHED:
            return
        time.sleep(0.1)
    pytest.fail(f"not erased in {DONE_S} s: {answer}")
