"""The log's statements, as Postgres gets them."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from context_service.contexts.model import ContextInput, MessageInput, NewMessage
from context_service.contexts.pure.passages import passages_of
from context_service.contexts.store import erasures
from context_service.contexts.store import log as log_module
from context_service.contexts.store.log import Log
from context_service.retrieval.model import CONTEXT, PassageScope
from context_service.retrieval.store.passages import Passages
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.statements.requests import Request
from tests.conftest import PRINCIPAL, Urls
from tests.faults import proxy


def a_message() -> NewMessage:
    said = MessageInput(message_id=str(uuid.uuid4()), role="user", content="A zebra. Another zebra.", name="ada")
    return NewMessage(
        draft=said,
        said_at=datetime.now(UTC),
        tokens=7,
        size_bytes=23,
        sha256=bytes(32),
        passages=passages_of(said, count=len),
    )


async def test_a_context_begins_and_goes_on_in_one_round_trip_each(postgres: EmbeddedPostgres, urls: Urls):
    """Messages, passages, the answer to the request: with more of them, a connection is held that others need."""
    async with proxy.running(postgres.port) as network:
        url = urls.service.replace(f":{postgres.port}/", f":{network.port}/")
        async with Database.open(url, connections_max=1, name="turns") as database:
            passages = Passages(database, embedded_kinds=[CONTEXT])
            log = Log(database, passages)
            context_id = uuid.uuid4()
            await database.of(PRINCIPAL).query("SELECT")  # the connection is there
            turns = [network.turns]

            request = Request(request_id=uuid.uuid4(), rpc="SendMessage", fingerprint=bytes(32))
            await log.begin(context_id, ContextInput(), [a_message()], principal=PRINCIPAL, only=None, request=request)
            turns.append(network.turns)
            for _ in range(7):  # prepared from the sixth on
                request = Request(request_id=uuid.uuid4(), rpc="SendMessage", fingerprint=bytes(32))
                two = [a_message(), a_message()]
                await log.append(context_id, two, known=[], principal=PRINCIPAL, request=request)
                turns.append(network.turns)

            assert [after - before for before, after in pairwise(turns)] == [2] * 8
            totals = await passages.totals(PRINCIPAL, PassageScope.of_context(context_id))
            assert (totals.passages, totals.last_seq) == (15, 15)


async def test_the_ids_of_messages_are_found_by_their_places_in_a_context_that_nobody_has_counted(database: Database):
    """By the index of ids, all messages of the context would be read for twenty of them."""
    log, context_id = Log(database, Passages(database)), uuid.uuid4()
    messages = [a_message() for _ in range(500)]
    await log.begin(context_id, ContextInput(), messages, principal=PRINCIPAL, only=None, request=None)
    seqs = list(range(1, 501, 25))
    parameters = {"tenant_id": PRINCIPAL.tenant_id, "context_id": context_id, "seqs": seqs}
    door = database.of(PRINCIPAL, context_id=context_id)
    plan = "\n".join(row[0] for row in await door.query(f"EXPLAIN {log_module._IDS}", parameters, ad_hoc=True))

    (condition,) = re.findall(r"Index Scan using message_pkey .*\n\s+Index Cond: \((.*)\)", plan)
    assert "seq >= s.seq" in condition and "seq <= s.seq" in condition, plan
    found = await log.message_ids(context_id, [*seqs, 999, 1], principal=PRINCIPAL)
    assert found == {seq: messages[seq - 1].draft.message_id for seq in seqs}


@pytest.mark.parametrize("of", ["a context that closes", "contexts that go"])
async def test_what_is_below_a_context_is_found_among_what_was_forked_from_its_root(of: str, database: Database):
    """By an index that no other context is in: deleting one among very many reads none of those."""
    log = Log(database, Passages(database))
    for _ in range(50):
        context_id = uuid.uuid4()
        await log.begin(context_id, ContextInput(), [a_message()], principal=PRINCIPAL, only=None, request=None)
    statement = log_module._CLOSE_BELOW_SEEN if of == "a context that closes" else erasures._BEGIN
    named = {"erasure_id": uuid.uuid4(), "requested_by": "", "request_key": None, "rpc": None, "fingerprint": None}
    named |= {"subject": ""}
    named |= {"tenant_id": PRINCIPAL.tenant_id, "context_id": context_id}
    explained = replace(statement, sql=f"EXPLAIN {statement.sql}")
    door = database.of(PRINCIPAL, context_id=context_id)
    plan = "\n".join(row[0] for row in await door.query(explained, named))
    (condition,) = re.findall(r"Index Scan using context_forked .*\n\s+Index Cond: \((.*)\)", plan)
    assert "tenant_id =" in condition and "ancestors[1]" in condition, plan
