"""Searches of records by words: what a text asks for, and which records meet it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_service.retrieval.pure.terms import findable_terms, terms_of
from context_service.working_memory.pure.record_terms import record_terms
from context_service.working_memory.pure.text_query import Clause, any_word_query, text_query
from context_service.working_memory.store.texts.search import words_sql
from contextkeep.context.v1 import working_memory_pb2 as pb
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.inputs.conditions import Bindings
from tests.conftest import cloned
from tests.context_service.working_memory.callers import Caller, an_id

TENANT = UUID(int=7)


@pytest.fixture(scope="module")
def connection(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    """To a database of the module's own, as its owner."""
    with cloned(postgres) as urls, psycopg.connect(urls.admin, autocommit=True) as opened:
        yield opened


def meets(connection: psycopg.Connection, asked: str, said: str, *, name: str = "", tenant: UUID = TENANT) -> bool:
    """Say whether Postgres finds a record by a text."""
    bindings = Bindings()
    matching, _ = words_sql(text_query(asked), TENANT, bindings)
    terms = record_terms(tenant, name=name, description="", content=said)
    sql = f"SELECT coalesce({matching}, false) FROM (SELECT %(terms)s::integer[] AS terms) r"
    (row,) = connection.execute(sql.encode(), {**bindings.values, "terms": terms}).fetchall()
    return bool(row[0])


@pytest.mark.parametrize(
    ("asked", "said", "is_found"),
    [
        ("dogs", "the lazy dog", True),
        ("dog cat", "the lazy dog", False),
        ("dog or cat", "the lazy dog", True),
        ("cat or dog -lazy", "the lazy dog", False),
        ("dog -cat", "the lazy dog", True),
        ("-cat", "the lazy dog", True),
        ("-dog", "the lazy dog", False),
        ('"lazy dog"', "the lazy dogs", True),
        ('"dog lazy"', "the lazy dog", False),
        ('-"dog lazy" dog', "the lazy dog", True),
        ('-"lazy dog" dog', "the lazy dog", False),
        ('"lazy dog', "the lazy dog", True),
        ("the dog", "a dog", True),
        ("the", "the dog", False),
        ("KD2210", "Order KD-2210 is late", True),
        ("KD-2210", "Order kd2210 is late", True),
        ("kd 2210", "Order KD2210 is late", True),
        ("KD-2211", "Order KD-2210 is late", False),
        ("-KD2210 order", "Order KD-2210 is late", False),
        ("chief complaint", '{"chiefComplaint": "pain"}', True),
        ("chiefComplaint", "the chief complaint", True),
        ("chief_complaint", "chiefComplaint", True),
        ("parse_config(invoices)", "def parse_config", False),
        ("src/InvoiceService.java", "see src/InvoiceService.java:12", True),
        ("InvoiceService.java", "see InvoiceService.py", False),
        ("invoice service", "see InvoiceService.java", True),
        ("call +49 (0)89 5550-1234", "please call 089 55501234", True),
        ("call +49 (0)89 5550-1234", "please call 089 55501235", False),
        ("due 5 March 2024", "due on 05.03.2024", True),
        ("due 5 March 2024", "due on 06.03.2024", False),
        ("DE89370400440532013000 paid", "paid to DE89 3704 0044 0532 0130 00", True),
        ("DE89 3704 0044 0532 0130 00", "paid to DE89370400440532013000", True),
        ("v1.2.3", "release 1.2.3", True),
        ("Zoe Lodz strasse", "Zoë lives in Łódź, Straße 3", True),
        ("Müller", "Frau Mueller", False),
        ("mueller", "Frau Müller", True),
        ("京都", "東京都", True),
        ("都京", "東京都", False),
        ('"京都"', "東京都です", True),
    ],
)
def test_a_record_is_found_by_what_is_asked(connection: psycopg.Connection, asked: str, said: str, is_found: bool):
    assert meets(connection, asked, said) == is_found


@pytest.mark.parametrize(
    ("asked", "name", "is_found"),
    [
        ("rep", "report-2024.pdf", True),
        ("re", "report-2024.pdf", False),
        ("report 20", "report-2024.pdf", False),
        ("report 202", "report-2024.pdf", True),
        ("pdf repo", "report-2024.pdf", True),
        ("repx", "report-2024.pdf", False),
        ("serv", "InvoiceService.java", True),
        ("zoe", "Zoë's list", True),
        ("rep or x", "report-2024.pdf", False),
        ("-rep", "report-2024.pdf", True),
    ],
)
def test_names_are_found_by_the_beginnings_of_their_words(
    connection: psycopg.Connection, asked: str, name: str, is_found: bool
):
    assert meets(connection, asked, "", name=name) == is_found


def test_a_word_of_another_tenant_is_not_a_word_of_this_one(connection: psycopg.Connection):
    assert meets(connection, "walrus", "a walrus")
    assert not meets(connection, "walrus", "a walrus", tenant=UUID(int=8))


WORDS = ["dog", "dogs", "fox", "lazy", "KD-2210", "kd2210", "parseConfig", "config", "Zoë", "京都", "a-b", "the"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
ITEMS = st.sampled_from([*WORDS, "-dog", "-Zoë", "or", "OR", '"lazy dog"', '-"fox dog"', '"'])


@given(asked=st.lists(ITEMS, max_size=6).map(" ".join), said=TEXTS)
@example(asked="-dog or fox", said="dog fox")
@example(asked="or", said="or")
def test_postgres_finds_what_the_conditions_say(connection: psycopg.Connection, asked: str, said: str):
    """The law is read from the conditions and the terms of the text, without numbers and without an index."""
    there, order = set(findable_terms(said)), terms_of(said)

    def is_met(clause: Clause) -> bool:
        met = any(terms <= there for terms in clause.alternatives) and (not clause.phrase or follows(clause.phrase))
        return met != clause.is_negated

    def follows(phrase: Sequence[str]) -> bool:
        size = len(phrase)
        return any(tuple(order[place : place + size]) == tuple(phrase) for place in range(len(order)))

    query = text_query(asked)
    assert meets(connection, asked, said) == any(all(map(is_met, clauses)) for clauses in query.any_of)


@given(said=st.text(max_size=30), asked=st.text(max_size=30) | st.text("ab 'é京\\&|!()<->:*\"\t-or", max_size=30))
def test_whatever_is_asked_is_a_question(connection: psycopg.Connection, said: str, asked: str):
    """No text makes Postgres raise an error, which could tell of rows that the caller does not see."""
    meets(connection, asked, said)
    any_word_query(asked)


@given(said=st.text(max_size=40) | TEXTS)
@example(said="(0)89 5550-1234 or 5 March 2024")
def test_a_text_without_operators_finds_itself(connection: psycopg.Connection, said: str):
    plain = said.replace('"', " ").replace("-", " ")
    if terms_of(plain):
        assert meets(connection, " ".join(word for word in plain.split() if word.lower() != "or") or "x", plain + " x")


LANGUAGES = [
    ("José vive en Málaga, calle Núñez de Balboa 7", "nunez jose"),
    ("Réunion à l'hôtel Élysée le 3 août 2026", "hotel elysee 2026-08-03"),
    ("Übergabe an Frau Größmann, IBAN DE89 3704 0044 0532 0130 00", "DE89370400440532013000 grossmann"),
    ("Zażółć gęślą jaźń, ul. Łąkowa 5", "lakowa zazolc"),
    ("Příliš žluťoučký kůň, objednávka č. OBJ-00417", "obj00417 zlutoucky"),
    ("Smørrebrød på Nørrebro, tlf. +45 33 12 34 56", "norrebro 4533123456"),
    ("İstanbul'da toplantı, sipariş TR-9981", "istanbul TR9981"),
    ("Αθήνα, συνάντηση στις 10", "αθηνα συναντηση"),
    ("Встреча в Королёве, заказ ЗК-2210", "королеве зк2210"),
    ("פגישה בתל אביב, הזמנה 40017", "אביב 40017"),
    ("اجتماع في القاهرة، طلب رقم ٤٠٠١٧", "القاهره 40017"),
    ("東京都で会議、注文番号 AB-1234", "東京 AB1234"),
    ("서울에서 회의, 주문 AB-1234", "서울 ab1234"),
    ("การประชุมที่กรุงเทพ รหัส ORA-00942", "กรุงเทพ ora00942"),
    ("दिल्ली में बैठक, आदेश ४००१७", "दिल्ली 40017"),
]


@pytest.mark.parametrize(("said", "asked"), LANGUAGES)
def test_records_are_found_as_people_ask_in_their_language(connection: psycopg.Connection, said: str, asked: str):
    assert meets(connection, asked, said)


async def names_of(caller: Caller, text: str, entity: str, **options: Any) -> list[str]:
    request = pb.SearchWMRecordsRequest(text=text, entity_node_ids=[entity], limit=100, **options)
    return [hit.record.name for hit in (await caller.call("SearchWMRecords", request)).hits]


async def test_a_name_comes_before_a_description_and_that_before_a_content(caller: Caller):
    entity = an_id()
    await caller.insert(name="a", content_text="the harbour and other things", entity_node_id=entity)
    await caller.insert(name="b", description="the harbour and other things", entity_node_id=entity)
    await caller.insert(name="harbours", content_text="other things", entity_node_id=entity)
    await caller.insert(name="c", content_text="other things", entity_node_id=entity)
    assert await names_of(caller, "harbour", entity) == ["harbours", "b", "a"]


async def test_a_short_text_that_says_it_often_comes_before_a_long_one(caller: Caller):
    entity = an_id()
    await caller.insert(name="once", content_text="harbour " + "filler words go on " * 50, entity_node_id=entity)
    await caller.insert(name="often", content_text="harbour, and again harbour", entity_node_id=entity)
    assert await names_of(caller, "harbour", entity) == ["often", "once"]


async def test_the_exact_spelling_comes_first(caller: Caller):
    entity = an_id()
    await caller.insert(name="exact", content_text="José called", entity_node_id=entity)
    await caller.insert(name="plain", content_text="Jose called", entity_node_id=entity)
    assert await names_of(caller, "José", entity) == ["exact", "plain"]
    assert sorted(await names_of(caller, "jose", entity)) == ["exact", "plain"]
