"""The index of words on a real Postgres: what is written is found, counted, hidden and gone."""

from __future__ import annotations

import asyncio
import itertools
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure.rows import Matching, Totals
from context_service.retrieval.pure.terms import MASK_BITS, mask, terms_of
from context_service.retrieval.store import passages as passages_module
from context_service.retrieval.store.passages import Passages
from contextkeep.errors import PermissionDenied
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Urls, cloned
from tests.examples import examples

BEGAN = datetime(2026, 1, 1, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def shared(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as made:
        yield made


@pytest.fixture(scope="module")
async def database(shared: Urls) -> AsyncIterator[Database]:
    """One for all: each test has scopes of its own."""
    async with Database.open(shared.service, connections_max=4, name="passages") as opened:
        yield opened


@pytest.fixture
def passages(database: Database) -> Passages:
    return Passages(database)


def context() -> PassageScope:
    return PassageScope.of_context(uuid.uuid4())


def said(seq: int, text: str, *, session: int = 1, **more: Any) -> Passage:
    at = BEGAN + timedelta(minutes=seq)
    fields = {"seq": seq, "ordinal": 0, "session": session, "text": text, "terms": terms_of(text), "said_at": at}
    return Passage(**(fields | {"kind": "text", "role": "user", "author": "ann"} | more))


async def put(
    database: Database,
    scope: PassageScope,
    written: Sequence[Passage],
    *,
    principal: Principal = PRINCIPAL,
    **audience: Any,
) -> None:
    if scope.context_id is not None:
        audience = {"ancestors": (scope.context_id,)} | audience

    async def work(transaction: Transaction) -> None:
        await Passages(database).put(transaction, scope, Audience(**audience), written)

    await database.of(principal, context_id=scope.context_id).transaction(work)


async def remove(database: Database, scope: PassageScope, *seqs: int) -> int:
    door = database.of(PRINCIPAL, context_id=scope.context_id)
    return await door.transaction(lambda transaction: Passages(database).remove(transaction, scope, seqs))


def finding(matching: Matching) -> list[int]:
    """Return the messages that have one of the terms."""
    return [row.seq for row in matching.rows if row.found]


async def found(
    passages: Passages, scope: PassageScope, question: str, *, principal: Principal = PRINCIPAL
) -> list[int]:
    return finding(await passages.matching(principal, scope, terms_of(question)))


@pytest.fixture(params=["whole", "by terms"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small scope is read as it is; others are read by terms. What is found is the same."""
    if request.param == "by terms":
        monkeypatch.setattr(passages_module, "READ_WHOLE", 0)
        monkeypatch.setattr(passages_module, "COMMON_SHARE", 2)


@pytest.mark.usefixtures("read")
async def test_what_is_written_is_found_by_its_words_newest_first(database: Database, passages: Passages):
    scope = context()
    await put(database, scope, [said(1, "The dog is ill."), said(2, "Which dog?"), said(3, "Rex, since yesterday")])
    await put(database, scope, [said(4, "Give the dogs water")])

    assert await found(passages, scope, "dogs") == [4, 2, 1]
    assert await found(passages, scope, "water for Rex") == [4, 3]
    assert await found(passages, scope, "cat") == []
    assert await found(passages, scope, "") == []
    assert await found(passages, context(), "dogs") == []


@pytest.mark.usefixtures("read")
async def test_a_row_tells_where_it_has_what_was_asked_and_where_it_stands(database: Database, passages: Passages):
    scope, task = context(), uuid.uuid4()
    at = BEGAN + timedelta(days=2)
    await put(database, scope, [said(1, "green apples")])
    await put(
        database,
        scope,
        [
            said(2, "red pears and red plums", marks=5, role="assistant", author="bob", said_at=at, task_id=task),
            said(3, "a red file", kind="tool_result", is_said=False),
            said(4, "ripe plums, ripe pears"),
            said(5, "plums", session=5),
        ],
    )

    matching = await passages.matching(PRINCIPAL, scope, terms_of("plums red"))
    five, four, three, two, *before = matching.rows
    # Without a term, but said before one of an assistant that was found: it may be the question to this answer.
    assert [(one.place, one.length, one.found) for one in before] == [(0, 2, [])]
    assert (two.place, two.length, two.length_before, two.found) == (1, 4, 2, [(0, 1), (2, 1), (3, 0)])
    assert (two.marks, two.kind, two.role, two.author) == (5, "text", "assistant", "bob")
    assert (two.said_at, two.task_id) == (at, task)
    assert (three.place, three.length_before, three.found, three.kind) == (None, 0, [(0, 1)], "tool_result")
    assert (four.place, four.length_before, four.found) == (2, 4, [(1, 0)])
    assert {(row.session, row.session_length, row.session_places) for row in (two, three, four)} == {(1, 12, 3)}
    assert (five.session, five.place, five.length_before, five.session_length, five.session_places) == (5, 0, 0, 1, 1)
    assert matching.totals.authors == {"ann", "bob"}
    assert matching.estimated == {}


async def test_texts_are_read_of_what_is_shown(database: Database, passages: Passages):
    scope = context()
    await put(database, scope, [said(1, "one"), said(1, "two", ordinal=1), said(2, "three")])

    assert await passages.texts(PRINCIPAL, scope, [(1, 1), (2, 0), (3, 0)]) == {(1, 1): "two", (2, 0): "three"}
    assert await passages.texts(PRINCIPAL, context(), [(1, 1)]) == {}


@pytest.mark.usefixtures("read")
async def test_what_is_undone_was_never_written(database: Database, passages: Passages):
    scope = context()

    async def work(transaction: Transaction) -> None:
        await passages.put(transaction, scope, Audience(ancestors=(scope.id,)), [said(1, "dog")])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.of(PRINCIPAL, context_id=scope.id).transaction(work)
    assert await found(passages, scope, "dog") == []
    assert await passages.totals(PRINCIPAL, scope) == Totals()


STEPS = st.lists(
    st.one_of(
        st.lists(
            st.tuples(st.integers(1, 3), st.booleans(), st.sampled_from(["", "x", "x y", "x y z"])),
            min_size=1,
            max_size=4,
        ),
        st.integers(0, 12),
    ),
    max_size=8,
)


@given(steps=STEPS)
@settings(max_examples=examples(25))
async def test_counters_are_what_a_look_at_all_passages_counts(database: Database, steps: list[Any]):
    """A list is said together; a number takes back what was said so many messages before."""
    scope, seq = context(), itertools.count(1)
    there: dict[int, Passage] = {}
    for step in steps:
        if isinstance(step, int):
            gone = max(there, default=0) - step
            assert await remove(database, scope, gone) == (there.pop(gone, None) is not None)
        else:
            batch = [said(next(seq), text, session=session, is_said=is_said) for session, is_said, text in step]
            await put(database, scope, batch)
            there |= {one.seq: one for one in batch}
    totals = await Passages(database).totals(PRINCIPAL, scope)
    rows = [row for row in (await Passages(database).matching(PRINCIPAL, scope, ["x"])).rows if row.found]

    lengths = {one.seq: len(one.terms) for one in there.values()}
    assert (totals.passages, totals.length) == (len(there), sum(lengths.values()))
    assert totals.sessions == len({one.session for one in there.values()})
    assert {row.seq for row in rows} == {one for one, length in lengths.items() if length}
    for row in rows:
        assert row.length == lengths[row.seq]
        assert row.session_length == sum(lengths[one.seq] for one in there.values() if one.session == row.session)


@given(
    batches=st.lists(st.lists(st.tuples(st.integers(1, 2), st.booleans(), st.integers(1, 3)), max_size=4), max_size=4)
)
@settings(max_examples=examples(25))
async def test_neighbours_are_the_same_however_what_was_said_was_written(database: Database, batches: list[Any]):
    """In one call or in many, with what nobody said in between."""
    seq = itertools.count(1)
    written = [
        [said(next(seq), "x " * length, session=session, is_said=is_said) for session, is_said, length in batch]
        for batch in batches
    ]
    everything = [one for batch in written for one in batch]
    in_many, at_once = context(), context()
    for batch in written:
        await put(database, in_many, batch)
    await put(database, at_once, everything)
    rows, totals = [], []
    for scope in (in_many, at_once):
        matching = await Passages(database).matching(PRINCIPAL, scope, ["x"])
        rows.append(matching.rows)
        totals.append(matching.totals)

    assert rows[0] == rows[1]
    assert totals[0] == totals[1]
    before = {}
    for session in (1, 2):
        spoken = [one for one in everything if one.session == session and one.is_said]
        before |= {one.seq: (place, len(spoken[place - 1].terms) if place else 0) for place, one in enumerate(spoken)}
    assert {row.seq: (row.place, row.length_before) for row in rows[0]} == {
        one.seq: before.get(one.seq, (None, 0)) for one in everything
    }
    assert totals[0].length_before == sum(length for _, length in before.values())
    lengths = {one.seq: len(one.terms) for one in everything}
    assert totals[0].length_after == sum(lengths[one] for one, (place, _) in before.items() if place)


@pytest.mark.usefixtures("read")
async def test_a_source_that_is_removed_is_not_found_and_what_stood_beside_it_is_not_together(
    database: Database, passages: Passages
):
    scope = context()
    await put(database, scope, [said(1, "dog"), said(2, "dog cat"), said(2, "dog", ordinal=1), said(3, "dog")])

    assert await remove(database, scope, 2, 7) == 2
    assert await remove(database, scope, 2) == 0

    matching = await passages.matching(PRINCIPAL, scope, ["dog"])
    assert [(row.seq, row.place) for row in matching.rows] == [(3, 3), (1, 0)]
    assert (matching.totals.passages, matching.totals.length) == (2, 2)
    await put(database, scope, [said(2, "wolf")])
    assert await found(passages, scope, "wolf") == [2]


async def test_writers_of_one_scope_take_turns(database: Database, passages: Passages):
    """Whatever they write: places are dense, and counters miss nothing."""
    scope = context()
    batches = [[said(seq * 3 + more, "x", session=1 + (seq + more) % 2) for more in range(3)] for seq in range(16)]
    await asyncio.gather(*(put(database, scope, batch) for batch in batches))

    matching = await passages.matching(PRINCIPAL, scope, ["x"])
    for session in (1, 2):
        places = sorted(row.place for row in matching.rows if row.session == session and row.place is not None)
        assert places == list(range(24))
    assert (matching.totals.passages, matching.totals.length, matching.totals.sessions) == (48, 48, 2)
    assert (matching.totals.length_before, matching.totals.length_after) == (46, 46)


async def test_no_statement_is_given_more_than_a_portion(database: Database, monkeypatch: pytest.MonkeyPatch):
    """The interpreter is kept while a statement is handed over: of twenty mebibytes of terms for 50 ms."""
    scope, sizes = context(), []
    query = Transaction.query

    async def noted(self: Transaction, sql: str, parameters: Any = (), **options: Any) -> Any:
        if isinstance(parameters, dict) and "passages" in parameters:
            sizes.append(len(parameters["passages"]))
        return await query(self, sql, parameters, **options)

    monkeypatch.setattr(Transaction, "query", noted)
    terms = [f"term{number}" for number in range(4_000)]
    await put(database, scope, [replace(said(seq, "many terms"), terms=terms) for seq in range(1, 101)])

    assert sum(sizes) > 2 * 2**20
    assert max(sizes) < 1.2 * 2**20
    assert (await Passages(database).totals(PRINCIPAL, scope)).passages == 100


async def test_a_source_is_written_once(database: Database):
    scope = context()
    await put(database, scope, [said(1, "dog")])
    with pytest.raises(psycopg.errors.UniqueViolation):
        await put(database, scope, [said(1, "dog")])


async def test_a_dropped_scope_is_gone_and_no_other(
    database: Database, passages: Passages, monkeypatch: pytest.MonkeyPatch, shared: Urls
):
    """In steps, whoever owned it; and again, after it ended half-way."""
    monkeypatch.setattr(passages_module, "DROP_STEP", 3)
    gone, kept = context(), context()
    ada = replace(PRINCIPAL, user_id="ada")
    for scope in (gone, kept):
        written = [said(seq, f"dog {seq}", session=seq) for seq in range(1, 9)]
        await put(database, scope, written, principal=ada, owner_user_id="ada")

    assert await passages.drop_scope(OTHER_PRINCIPAL.tenant_id, gone) == (0, 0, True)
    assert await passages.drop_scope(PRINCIPAL.tenant_id, gone, until=0) == (3, 0, False)
    assert await passages.drop_scope(PRINCIPAL.tenant_id, gone) == (5, 0, True)
    assert await passages.drop_scope(PRINCIPAL.tenant_id, gone) == (0, 0, True)
    assert await found(passages, gone, "dog", principal=ada) == []
    assert len(await found(passages, kept, "dog", principal=ada)) == 8
    with psycopg.connect(shared.superuser) as connection:
        for table in ("passage", "passage_session", "passage_scope"):
            statement = f"SELECT count(*) FROM context.{table} WHERE scope_id = %s"
            assert connection.execute(statement.encode(), (gone.id,)).fetchone() == (0,)


@given(
    batch=st.lists(
        st.tuples(st.integers(1, 2), st.booleans(), st.sampled_from(["x", "y", "z"])), min_size=1, max_size=12
    )
)
@settings(max_examples=examples(25))
async def test_terms_find_what_has_them_and_what_was_said_behind_it(
    database: Database, batch: list[tuple[int, bool, str]]
):
    """As in a scope that is read whole, but for the rest."""
    scope = context()
    written = [
        said(seq, text, session=session, is_said=is_said) for seq, (session, is_said, text) in enumerate(batch, 1)
    ]
    await put(database, scope, written)
    whole = await Passages(database).matching(PRINCIPAL, scope, ["x"])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(passages_module, "READ_WHOLE", 0)
        found = await Passages(database).matching(PRINCIPAL, scope, ["x"])

    places = {(row.session, row.place) for row in whole.rows if row.found and row.place is not None}
    behind = {(session, place + 1) for session, place in places}
    assert found.rows == [row for row in whole.rows if row.found or (row.session, row.place) in behind]
    assert whole.is_whole
    assert not found.is_whole


class TestLargeScopes:
    """Terms that many passages have find nothing where there are many passages, and are told of what was found."""

    @pytest.fixture
    async def scope(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> PassageScope:
        monkeypatch.setattr(passages_module, "READ_WHOLE", 50)
        scope = context()
        texts = [f"talk {'even' if seq % 2 else 'odd'} {'tenth' if seq % 10 == 0 else ''} n{seq}" for seq in range(100)]
        written = [said(seq, text, session=seq // 5) for seq, text in enumerate(texts)]
        await put(database, scope, written)
        return scope

    async def test_a_common_term_does_not_find(self, passages: Passages, scope: PassageScope):
        matching = await passages.matching(PRINCIPAL, scope, terms_of("talk tenth odd"))

        assert [row.seq for row in matching.rows] == sorted([*range(0, 100, 10), *range(1, 100, 10)], reverse=True)
        for row in matching.rows:
            assert [asked for _, asked in row.found] == ([0, 2, 1] if row.seq % 10 == 0 else [0])
        assert set(matching.estimated) == {0, 2}
        assert matching.estimated[0] == 100
        assert matching.estimated[2] == pytest.approx(50, abs=20)

    async def test_what_was_said_before_is_read_if_it_has_a_term_that_did_not_find(
        self, passages: Passages, scope: PassageScope
    ):
        for question, seqs in (("n7", [8, 7]), ("n7 talk", [8, 7, 6]), ("n7 even", [8, 7]), ("n7 odd", [8, 7, 6])):
            matching = await passages.matching(PRINCIPAL, scope, terms_of(question))
            assert [row.seq for row in matching.rows] == seqs, question

    async def test_of_common_terms_only_the_rarest_finds(self, passages: Passages, scope: PassageScope):
        for question in ("talk odd", "talk odd unheard"):
            matching = await passages.matching(PRINCIPAL, scope, terms_of(question))
            assert len([row for row in matching.rows if 1 in {asked for _, asked in row.found}]) == 50
            assert 0 in matching.estimated
        assert await found(passages, scope, "talk") == list(range(99, -1, -1))

    async def test_of_too_many_those_with_most_of_the_rarest_terms_are_read(
        self, passages: Passages, scope: PassageScope, monkeypatch: pytest.MonkeyPatch
    ):
        """Of equal ones the newest."""
        monkeypatch.setattr(passages_module, "FOUND_MAX", 20)
        matching = await passages.matching(PRINCIPAL, scope, ["talk"])
        assert [row.seq for row in matching.rows] == list(range(99, 79, -1))
        assert matching.estimated == {0: 100}
        monkeypatch.setattr(passages_module, "FOUND_MAX", 2)
        matching = await passages.matching(PRINCIPAL, scope, ["tenth", "n7", "n20"])
        assert finding(matching) == [20, 7]
        assert matching.estimated.keys() == {0, 1, 2}
        monkeypatch.setattr(passages_module, "FOUND_MAX", 3)
        matching = await passages.matching(PRINCIPAL, scope, ["n7", "n8"])
        assert finding(matching) == [8, 7]
        assert matching.estimated == {}

    async def test_a_term_that_is_nearly_everywhere_is_looked_for_from_the_end_on(
        self, database: Database, passages: Passages, scope: PassageScope, monkeypatch: pytest.MonkeyPatch
    ):
        """The index would give half of the scope, however large it is."""
        monkeypatch.setattr(passages_module, "SEARCHED_MAX", 10)
        monkeypatch.setattr(passages_module, "FOUND_MAX", 5)
        for question, seqs in (("talk", list(range(99, 94, -1))), ("odd unheard", list(range(98, 88, -2)))):
            matching = await passages.matching(PRINCIPAL, scope, terms_of(question))
            assert finding(matching) == seqs
            assert matching.estimated[0] == pytest.approx(100 if question == "talk" else 50, abs=20)

        at_end = passages_module._at_end(0.5, matching.totals, count=10)
        assert at_end == {"seq_from": 59, "searched_max": 10}
        assert passages_module._at_end(0.3, matching.totals, count=10) == {}
        asked = [mask(scope.id, "odd")]
        parameters = {
            "asked": asked,
            "different": asked,
            "weights": [1.0],
            "finding": asked,
            "is_left_out": False,
            "rows_max": 10,
        }
        named = {"tenant_id": PRINCIPAL.tenant_id, "scope_id": scope.id, "scope_kind": scope.kind, **at_end}
        door = database.of(PRINCIPAL, context_id=scope.id)
        for one in (passages_module._MATCHING_AT_END, passages_module._MATCHING_SAID_AT_END):
            explained = await door.query(f"EXPLAIN {one}", {**named, **parameters}, ad_hoc=True)
            plan = "\n".join(row[0] for row in explained)
            assert re.search(r"passage_pkey.*\n\s+Index Cond: .*seq >= ", plan), plan

    async def test_what_was_often_said_and_not_of_late_is_found(
        self, database: Database, passages: Passages, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(passages_module, "READ_WHOLE", 50)
        monkeypatch.setattr(passages_module, "SEARCHED_MAX", 10)
        monkeypatch.setattr(passages_module, "FOUND_MAX", 5)
        scope = context()
        await put(database, scope, [said(seq, "early" if seq < 50 else "late", session=seq) for seq in range(100)])
        assert await found(passages, scope, "early") == list(range(49, 44, -1))

    async def test_a_scope_is_sampled_again_when_it_has_grown(
        self, database: Database, passages: Passages, scope: PassageScope, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(passages_module, "SAMPLES_MAX", 1)
        assert set((await passages.matching(PRINCIPAL, scope, ["tenth", "new"])).estimated) == set()
        await put(database, scope, [said(seq, "new", session=seq) for seq in range(100, 400)])
        assert set((await passages.matching(PRINCIPAL, scope, ["tenth", "new"])).estimated) == {1}
        other = context()
        await put(database, other, [said(seq, "dog") for seq in range(60)])
        assert await found(passages, other, "dog")
        assert len(passages._samples) == 1


@pytest.mark.usefixtures("read")
async def test_asked_terms_have_a_largest_number(database: Database, passages: Passages):
    scope = context()
    await put(database, scope, [said(1, "first last")])
    asked = ["first", *(f"t{number}" for number in range(10_000)), "last"]

    ((row,), more) = [(await passages.matching(PRINCIPAL, scope, terms)).rows for terms in (asked, asked[1:])]
    assert row.found == [(0, 0)]
    assert [one for one in more if one.found] == []


# The walls. Row-level security alone, and the application's conditions alone.


def colliding(scope: PassageScope, term: str, other: PassageScope) -> str:
    """Return a term that is in one scope the number that another one is in the other."""
    number = mask(scope.id, term)
    return next(one for one in map(str, itertools.count()) if mask(other.id, one) == number)


@pytest.mark.usefixtures("read")
async def test_terms_of_another_scope_that_have_the_same_number_find_nothing(database: Database, passages: Passages):
    ours, theirs = context(), context()
    stranger = colliding(ours, "dog", theirs)
    assert MASK_BITS < 32
    await put(database, ours, [said(1, "dog")])
    await put(database, theirs, [said(1, stranger), said(2, stranger)])
    records = PassageScope(kind="record", id=ours.id)
    await put(database, records, [said(1, "dog"), said(2, "dog")])

    assert await found(passages, ours, "dog") == [1]
    assert await found(passages, theirs, stranger) == [2, 1]
    assert await found(passages, records, "dog") == [2, 1], "of the same id, and another kind"
    assert (await passages.totals(PRINCIPAL, ours)).passages == 1


@pytest.mark.usefixtures("read")
async def test_another_tenant_finds_nothing_in_a_scope_of_the_same_id(database: Database, passages: Passages):
    scope = context()
    await put(database, scope, [said(1, "dog")])

    assert await found(passages, scope, "dog", principal=OTHER_PRINCIPAL) == []
    await put(database, scope, [said(7, "dog")], principal=OTHER_PRINCIPAL)
    assert await found(passages, scope, "dog", principal=OTHER_PRINCIPAL) == [7]
    assert await found(passages, scope, "dog") == [1]


@pytest.mark.usefixtures("read")
async def test_what_a_key_or_a_user_may_not_see_is_neither_found_nor_counted(database: Database, passages: Passages):
    scope = PassageScope(kind="record", id=uuid.uuid4())
    ada, bob = (replace(PRINCIPAL, user_id=one) for one in ("ada", "bob"))
    bound = replace(PRINCIPAL, graph_names=frozenset({"mine"}))
    await put(database, scope, [said(1, "dog", session=1)], graph_name="mine")
    await put(database, scope, [said(2, "dog", session=2)], graph_name="other")
    await put(database, scope, [said(3, "dog", session=3)], principal=ada, graph_name="mine", owner_user_id="ada")

    for principal, seqs in (
        (PRINCIPAL, [2, 1]),
        (ada, [3, 2, 1]),
        (bob, [2, 1]),
        (bound, [1]),
        (replace(PRINCIPAL, context_id=uuid.uuid4()), []),
    ):
        assert [row.seq for row in (await passages.matching(principal, scope, ["dog"])).rows] == seqs
        totals = await passages.totals(principal, scope)
        assert (totals.passages, totals.sessions, totals.length) == (len(seqs),) * 3
        assert len(await passages.texts(principal, scope, [(1, 0), (2, 0), (3, 0)])) == len(seqs)


async def test_nothing_is_written_that_could_not_be_seen(database: Database):
    scope = context()
    other, bound = uuid.uuid4(), replace(PRINCIPAL, graph_names=frozenset({"mine"}))
    for principal, where, audience in (
        (PRINCIPAL, scope, {"owner_user_id": "ada"}),
        (bound, PassageScope(kind="record", id=scope.id), {"graph_name": "other"}),
        (bound, scope, {}),
        (replace(PRINCIPAL, context_id=other), scope, {}),
    ):
        with pytest.raises((psycopg.errors.InsufficientPrivilege, PermissionDenied)):
            await put(database, where, [said(1, "dog")], principal=principal, **audience)
    for where, audience in (
        (scope, {"ancestors": (other,)}),
        (PassageScope(kind="context", id=scope.id), {}),
        (PassageScope(kind="record", id=scope.id), {"ancestors": (scope.id,)}),
        (PassageScope(kind="context", id=scope.id, context_id=other), {}),
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            await put(database, where, [said(1, "dog")], **audience)


TABLES = ("passage", "passage_session", "passage_scope", "passage_of_tenant")


@pytest.mark.parametrize("table", TABLES)
async def test_row_level_security_alone_keeps_contexts_apart(urls: Urls, table: str):
    """Whatever a statement forgets: it names no scope, no tenant, no user here."""
    mine, beside = context(), context()
    async with Database.open(urls.service, connections_max=1, name="walls") as database:
        for scope in (mine, beside, PassageScope(kind="record", id=uuid.uuid4())):
            await put(database, scope, [said(1, "dog")])
    said_of_all = {"app.tenant": str(PRINCIPAL.tenant_id), "app.context": str(mine.id), "app.subject": "="}

    def seen(**settings_said: str) -> list[uuid.UUID | None]:
        with psycopg.connect(urls.service) as connection:
            for name, value in (said_of_all | {f"app.{key}": value for key, value in settings_said.items()}).items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            return [one for (one,) in connection.execute(f"SELECT context_id FROM context.{table}".encode())]

    assert sorted(map(str, seen())) == sorted(map(str, [mine.id, None]))
    assert seen(context="") == [None]
    assert seen(context=str(uuid.uuid4())) == [None]
    assert len(seen(context="*")) == 3
    assert seen(subject="") == seen(tenant="") == []
    assert seen(tenant=str(OTHER_PRINCIPAL.tenant_id)) == []
    assert seen(bounds='{"graph_names": [""]}') == [None]
    assert seen(bounds=f'{{"context_id": "{mine.id}"}}') == [mine.id]
    assert seen(bounds=f'{{"context_id": "{beside.id}"}}') == []
    assert seen(bounds='{"unheard_of": 1}') == []


async def test_terms_are_found_by_their_index_alone(database: Database, shared: Urls):
    """Beside it the primary key would be read whole: fifty thousand entries for a hundred rows."""
    scopes = [context() for _ in range(20)]
    for scope in scopes:
        await put(database, scope, [said(seq, f"talk of n{seq} and m{seq % 50}") for seq in range(1, 400)])
    with psycopg.connect(shared.admin, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE context.passage")
    asked = [mask(scopes[3].id, "m7"), mask(scopes[3].id, "n9")]
    parameters = {
        "tenant_id": PRINCIPAL.tenant_id,
        "scope_id": scopes[3].id,
        "scope_kind": "context",
        "asked": asked,
        "different": asked,
        "weights": [1.0, 2.0],
        "finding": asked,
        "is_left_out": True,
        "rows_max": 100,
    }
    door = database.of(PRINCIPAL, context_id=scopes[3].id)
    for one in (passages_module._MATCHING, passages_module._MATCHING_SAID):
        statement = f"EXPLAIN (ANALYZE, COSTS off, TIMING off) {one}"
        plan = "\n".join(row[0] for row in await door.query(statement, parameters, named=False, ad_hoc=True))
        assert "Bitmap Index Scan on passage_terms" in plan, plan
        assert "Bitmap Index Scan on passage_pkey" not in plan
        assert "Seq Scan on passage" not in plan
        assert "Gather" not in plan
    behind, before = re.findall(r"Index Scan using passage_place .*\n\s+Index Cond: \((.*)\)", plan)
    for column in ("tenant_id", "scope_id", "session", "place"):
        assert f"{column} = " in behind and f"{column} = " in before, plan


async def test_texts_are_looked_up_where_nobody_has_counted_the_passages(database: Database):
    """A scope that was written just now would be read whole for a hundred texts."""
    scope = context()
    await put(database, scope, [said(seq, f"n{seq}") for seq in range(1, 3_000)])
    parameters = {
        "tenant_id": PRINCIPAL.tenant_id,
        "scope_id": scope.id,
        "scope_kind": "context",
        "seqs": list(range(1, 3_000, 30)),
        "ordinals": [0] * 100,
    }
    door = database.of(PRINCIPAL, context_id=scope.id)
    plan = "\n".join(row[0] for row in await door.query(f"EXPLAIN {passages_module._TEXTS}", parameters, ad_hoc=True))

    (condition,) = re.findall(r"Index Scan using passage_pkey .*\n\s+Index Cond: \((.*)\)", plan)
    assert "seq = " in condition and "ordinal = " in condition, plan
