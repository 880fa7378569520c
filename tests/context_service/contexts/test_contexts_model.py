"""Contexts against a dictionary: whatever is done in whatever order, the log, its index and the model say the same.

Postgres ends the connection of whatever writes, in the middle of a transaction, at a place that the machine chooses; an
operator verifies the index in between, and makes it anew where it was damaged.
"""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from context_service.contexts.store.log_passages import log_source
from context_service.kernel.tokens import TokenCounter
from context_service.resources import open_database
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from context_service.settings import Settings
from contextkeep import ContextClient, MessageInput
from contextkeep.errors import ContextClosed, ContextNotFound, MessageExists, Unavailable
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.conftest import KEY, Urls, cloned

TABLES = (
    *("context.context", "context.message", "context.passage", "context.passage_session", "context.passage_scope"),
    *("context.request", "context.erasure"),
)
# Each write to a table counts, of transactions that are undone, too; whose turn it is ends itself.
KILLER = """
CREATE SEQUENCE public.writes;
CREATE SEQUENCE public.kills;
CREATE TABLE public.killed (write bigint NOT NULL);
INSERT INTO public.killed VALUES (0);
CREATE FUNCTION public.kill() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF nextval('public.writes') = (SELECT write FROM public.killed) THEN
        PERFORM nextval('public.kills'), pg_terminate_backend(pg_backend_pid());
    END IF;
    RETURN NULL;
END
$$;
"""
WRITES_MAX = 6  # of one call
COMMON = "weather"


@dataclass(slots=True)
class Said:
    """What the model knows of a message."""

    message_id: str
    content: str
    word: str  # that no other message has
    is_retracted: bool = False


@dataclass(slots=True)
class Entry:
    """What the model knows of a context."""

    messages: list[Said] = field(default_factory=list)
    is_closed: bool = False

    @property
    def live(self) -> list[Said]:
        return [one for one in self.messages if not one.is_retracted]


class Operator:
    """What an operator does beside the services, and what kills them."""

    def __init__(self, urls: Urls, folder: Path) -> None:
        self._settings = Settings(database_url=urls.service, working_memory_storage_path=folder)
        self._source = log_source(TokenCounter().count)
        self._superuser = psycopg.connect(urls.superuser, autocommit=True)
        self._superuser.execute(KILLER)
        for table in TABLES:
            trigger = f"CREATE TRIGGER kill AFTER INSERT OR UPDATE OR DELETE ON {table} EXECUTE FUNCTION public.kill()"
            self._superuser.execute(trigger.encode())

    def close(self) -> None:
        self._superuser.close()

    def kill(self, *, writes: int) -> None:
        """Let the connection end that does this one of the writes from now on; 0: none."""
        self._superuser.execute(
            "UPDATE public.killed SET write = CASE WHEN %s > 0 THEN nextval('public.writes') + %s ELSE 0 END",
            (writes, writes),
        )

    def kills(self) -> int:
        """Return how many connections were ended."""
        (row,) = self._superuser.execute("SELECT last_value FROM public.kills").fetchall()
        return int(row[0])

    def verify(self, *, mend: bool = False) -> Verified:
        """Compare the index of all contexts with their logs."""

        async def run() -> Verified:
            async with open_database(self._settings) as database:
                check = Verifying(database, Passages(database), [self._source])
                return await check.run(await database.tenants(), mend=mend, on_progress=lambda verified: None)

        return asyncio.run(run())

    def damage(self, context_id: str, *, every: int) -> int:
        """Remove some passages of a context, and return how many there were."""
        statement = "DELETE FROM context.passage WHERE scope_id = %s AND seq %% %s = 0"
        return self._superuser.execute(statement, (context_id, every)).rowcount

    def rows_of(self, context_id: str) -> int:
        """Return how many rows of the log and its index there are of a context."""
        (row,) = self._superuser.execute(
            "SELECT (SELECT count(*) FROM context.context WHERE context_id = %(id)s)"
            " + (SELECT count(*) FROM context.message WHERE context_id = %(id)s)"
            " + (SELECT count(*) FROM context.passage WHERE scope_id = %(id)s)"
            " + (SELECT count(*) FROM context.passage_session WHERE scope_id = %(id)s)"
            " + (SELECT count(*) FROM context.passage_scope WHERE scope_id = %(id)s)",
            {"id": context_id},
        ).fetchall()
        return int(row[0])


class ContextsMachine(RuleBasedStateMachine):
    """The machine; `client` and `operator` are set by the test."""

    client: ContextClient
    operator: Operator

    contexts = Bundle("contexts")
    numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}
        self.erased: list[str] = []
        self.touched = ""
        self.last: Callable[[], Sequence[int]] | None = None
        self.last_seqs: Sequence[int] = ()
        self.writes = 0  # since the index was verified

    @initialize(target=contexts)
    def begin_two(self) -> Any:
        return multiple(self.begun(3), self.begun(2))

    @precondition(lambda self: len(self.entries) < 4)
    @rule(target=contexts, count=st.integers(1, 4), killed=st.integers(0, WRITES_MAX))
    def begin(self, count: int, killed: int) -> str:
        self.operator.kill(writes=killed)
        return self.begun(count)

    def begun(self, count: int) -> str:
        said, inputs = self.words(count)
        sent = self.client.contexts.append(inputs)
        assert (sent[0].created, [one.seq for one in sent]) == (True, list(range(1, count + 1)))
        self.entries[sent[0].context_id] = Entry(said)
        self.touched = sent[0].context_id
        return sent[0].context_id

    @rule(context=contexts, count=st.integers(1, 5), killed=st.integers(0, WRITES_MAX), alone=st.booleans())
    def send(self, context: str, count: int, killed: int, alone: bool) -> None:
        said, inputs = self.words(1 if alone else count)
        request_id = uuid.uuid4()

        def call() -> Sequence[int]:
            if alone:
                return [self.client.contexts.send(inputs[0], context, recall=False, request_id=request_id).seq]
            return [one.seq for one in self.client.contexts.append(inputs, context, request_id=request_id)]

        self.operator.kill(writes=killed)
        if seqs := self.written(context, call):
            entry = self.entries[context]
            assert seqs == list(range(len(entry.messages) + 1, len(entry.messages) + len(said) + 1))
            entry.messages += said
            self.last, self.last_seqs = call, seqs

    @rule(context=contexts, place=st.integers(0, 30), other=st.booleans())
    def send_what_is_there(self, context: str, place: int, other: bool) -> None:
        """By its id, with a new message behind it; or with other content, which is refused with all of its call."""
        entry = self.entries.get(context)
        if entry is None or entry.is_closed:
            return
        place %= len(entry.messages)
        there = entry.messages[place]
        (said,), (new,) = self.words(1)
        again = MessageInput(there.content + "!" * other, message_id=there.message_id)
        if other:
            with pytest.raises(MessageExists):
                self.client.contexts.append([again, new], context)
            return
        sent = self.client.contexts.append([again, new], context)
        assert [one.seq for one in sent] == [place + 1, len(entry.messages) + 1]
        entry.messages.append(said)
        self.touched = context

    @precondition(lambda self: self.last)
    @rule()
    def repeat_the_last_request(self) -> None:
        assert self.last is not None
        assert self.last() == self.last_seqs

    @rule(context=contexts, places=st.sets(st.integers(0, 30), min_size=1, max_size=4), killed=st.integers(0, 4))
    def retract(self, context: str, places: set[int], killed: int) -> None:
        entry = self.entries.get(context, Entry([Said("none", "", "")]))
        wanted = [entry.messages[place] for place in {place % len(entry.messages) for place in places}]

        def call() -> Sequence[int]:
            return [self.client.contexts.retract_messages(context, [one.message_id for one in wanted])]

        self.operator.kill(writes=killed)
        if hidden := self.written(context, call):
            assert hidden == [sum(not one.is_retracted for one in wanted)]
            for one in wanted:
                one.is_retracted = True

    @precondition(lambda self: any(len(entry.messages) > 9 and not entry.is_closed for entry in self.entries.values()))
    @rule(context=contexts)
    def close(self, context: str) -> None:
        if context in self.entries and len(self.entries[context].messages) > 9:
            self.client.contexts.close(context)
            self.entries[context].is_closed = True
            self.touched = context

    @precondition(lambda self: len(self.entries) > 1)
    @rule(context=contexts, now=st.booleans(), killed=st.integers(0, 8))
    def delete(self, context: str, now: bool, killed: int) -> None:
        self.operator.kill(writes=killed)  # also of what removes the rows behind it
        entry = self.entries.pop(context, None)
        if entry or context in self.erased:
            erasure = self.client.contexts.delete(context, now=now)
            assert entry is None or erasure.message_count == len(entry.messages)
            self.erased += [context] * bool(entry)
            self.last = None

    @rule(context=contexts, every=st.integers(1, 3), killed=st.integers(0, WRITES_MAX))
    def rebuild(self, context: str, every: int, killed: int) -> None:
        if context not in self.entries:
            return
        damaged = self.operator.damage(context, every=every)
        assert self.operator.verify().missing == damaged
        self.operator.kill(writes=killed)
        try:
            self.operator.verify(mend=True)
        except Unavailable:
            self.operator.verify(mend=True)
        self.touched = context

    @precondition(lambda self: self.writes > 4)
    @rule()
    def verify(self) -> None:
        self.writes = 0
        verified = self.operator.verify()
        assert verified.is_equal, verified
        assert verified.passages == sum(len(entry.live) for entry in self.entries.values())

    @invariant()
    def the_context_that_was_touched_is_what_the_model_says(self) -> None:
        self.operator.kill(writes=0)
        if self.touched in self.entries:
            self.check(self.touched)

    def teardown(self) -> None:
        self.operator.kill(writes=0)
        for context_id in self.entries:
            self.check(context_id)
        self.verify()
        for context_id in self.entries:
            self.client.contexts.delete(context_id, now=True)
        for context_id in [*self.erased, *self.entries]:
            with pytest.raises(ContextNotFound):
                self.client.contexts.get(context_id)
            erasure_id = self.client.contexts.delete(context_id, now=True).erasure_id
            self.until(lambda erasure_id=erasure_id: self.client.contexts.get_erasure(erasure_id).state == "finished")
            assert self.operator.rows_of(context_id) == 0

    def check(self, context_id: str) -> None:
        entry = self.entries[context_id]
        found = self.client.contexts.get(context_id, history_length=0).context
        assert (found.last_seq, found.message_count, found.state) == (
            len(entry.messages),
            len(entry.live),
            "closed" if entry.is_closed else "open",
        )
        listed = list(self.client.contexts.list_messages(context_id, page_size=7))
        assert [(one.message_id, one.content) for one in listed] == [
            (one.message_id, one.content) for one in entry.live
        ]
        recalled = self.client.contexts.recall(context_id, COMMON, tokens_max=2_000, items_max=3)
        assert len(recalled.items) + recalled.left_out_count + recalled.irrelevant_count == len(entry.live)
        for said in entry.messages[-3:]:
            found_ids = [one.message_id for one in self.client.contexts.search(context_id, said.word)]
            assert found_ids[:1] == [said.message_id] if not said.is_retracted else said.message_id not in found_ids
        ids = {said.message_id for said in entry.messages}
        for other in self.entries.keys() - {context_id}:
            hits = self.client.contexts.search(other, entry.messages[-1].word)
            assert ids.isdisjoint(one.message_id for one in hits)

    def written(self, context: str, call: Callable[[], Sequence[int]]) -> Sequence[int]:
        """Return what a write answers; of one that is to be refused, nothing."""
        entry = self.entries.get(context)
        if entry and not entry.is_closed:
            self.touched = context
            self.writes += 1
            return call()
        with pytest.raises(ContextClosed if entry else ContextNotFound):
            call()
        return ()

    def words(self, count: int) -> tuple[list[Said], list[MessageInput]]:
        """Return new messages, each with a word of its own and one that all have."""
        said = []
        for _ in range(count):
            number = next(self.numbers)
            word = f"word{number}x"
            said.append(Said(f"m{number}", f"We talk of the {COMMON} and of {word}, said ann{number}.", word))
        return said, [MessageInput(one.content, message_id=one.message_id) for one in said]

    def until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(600):
            if is_so():
                return
            time.sleep(0.05)
        raise AssertionError("it takes too long")


@pytest.fixture
def own_database(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        yield urls


def test_contexts_and_their_index_are_a_dictionary(own_database: Urls, tmp_path: Path):
    operator = Operator(own_database, tmp_path)
    with (
        running_in_a_thread(own_database.service, tmp_path, sweep_interval_s=0.5) as addresses,
        ContextClient(addresses.context, api_key=KEY) as client,
    ):

        class Machine(ContextsMachine):
            pass

        Machine.client = client
        Machine.operator = operator
        try:
            run_state_machine_as_test(
                Machine,
                settings=settings(
                    max_examples=4,
                    stateful_step_count=18,
                    deadline=None,
                    database=None,
                    phases=[Phase.generate],  # a failure is the same each time; to shrink it takes minutes
                    derandomize=True,
                    suppress_health_check=list(HealthCheck),
                ),
            )
            assert operator.kills() > 5
        finally:
            operator.close()
