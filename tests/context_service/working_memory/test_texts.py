"""Contents that are text: given inline and given back as they are, and found by what stands in them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_service.settings import Settings
from context_service.working_memory.pure import beginnings as texts
from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX, Beginning
from context_service.working_memory.pure.fields import RecordInput
from context_service.working_memory.rules.search import terms_of
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import ChecksumMismatch
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL, Urls, cloned
from tests.context_service.working_memory.callers import KIB, MIB, Caller, Start, an_id

HARD = ["# Zebra plan\n", "é😀\u2028 \\u0041 \\n \"'%", "\ufeffbegins with a mark", "\t", "null", '"quoted"', "{}"]


async def found(caller: Caller, text: str, entity: str) -> list[str]:
    request = pb.SearchWMRecordsRequest(text=text, entity_node_ids=[entity], limit=100)
    return sorted(hit.record.name for hit in (await caller.call("SearchWMRecords", request)).hits)


# Inline text.


@pytest.mark.parametrize("text", HARD)
async def test_inline_text_is_given_back_as_it_was_given(caller: Caller, text: str):
    entity = an_id()
    inserted = await caller.insert(name="note", content_text=text, entity_node_id=entity)
    fetched = await caller.fetch(inserted.working_memory_id)
    listing = pb.FetchWMRecordsByEntityRequest(entity_node_id=entity, with_content=True)
    (listed,) = (await caller.call("FetchWMRecordsByEntity", listing)).records
    content = await caller.GetContent(working_memory_id=inserted.working_memory_id)

    assert inserted == fetched == listed
    assert (fetched.content_text, fetched.content_json, fetched.content_type) == (text, "", "text/plain")
    assert (fetched.provider, fetched.blob_key, fetched.size_bytes) == ("postgres", "", len(text.encode()))
    assert fetched.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert content.content == text.encode()
    assert not content.record.content_text


async def test_inline_text_comes_with_a_list_or_a_search_only_if_it_is_asked_for(caller: Caller):
    entity = an_id()
    await caller.insert(content_text="a walrus", entity_node_id=entity)
    for with_content in (False, True):
        listing = pb.FetchWMRecordsByEntityRequest(entity_node_id=entity, with_content=with_content)
        (listed,) = (await caller.call("FetchWMRecordsByEntity", listing)).records
        search = pb.SearchWMRecordsRequest(text="walrus", entity_node_ids=[entity], with_content=with_content)
        (hit,) = (await caller.call("SearchWMRecords", search)).hits
        assert listed.content_text == hit.record.content_text == ("a walrus" if with_content else "")


async def test_the_largest_text_is_stored_and_found_by_its_beginning(caller: Caller):
    entity = an_id()
    text = ("needle " + "x" * 1000 + " ") * 1100
    record = await caller.insert(content_text=text[:MIB], entity_node_id=entity, name="large")
    assert (await caller.fetch(record.working_memory_id)).content_text == text[:MIB]
    assert await found(caller, "needle", entity) == ["large"]


async def test_what_a_document_is_found_by_is_made_in_time_linear_in_its_size(urls: Urls):
    """A MiB of short texts took 18 s of Postgres, four times as long for twice as many."""

    def seconds(texts: int) -> float:
        asked = (json.dumps(["a"] * texts),)
        begun = time.perf_counter()
        connection.execute("SELECT context.beginning_of_texts(%s::json, 50000)", asked)
        return time.perf_counter() - begun

    with psycopg.connect(urls.superuser) as connection:
        few, many = (min(seconds(texts) for _ in range(3)) for texts in (16_000, 128_000))
    assert many < 20 * few  # 8 times as many; it was 64 times as long


# What is found.


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"name": "plan.md"}, b"# Zebra plan\n"),
        ({"name": "plan", "content_type": "text/plain; charset=utf-8"}, b"# Zebra plan\n"),
        ({"name": "plan", "memory_type": "text/markdown"}, b"# Zebra plan\n"),
        ({"name": "plan", "memory_type": "code/python"}, b"zebra = 1\n"),
        ({"name": "stripes.rs"}, b"fn zebra() {}\n"),
        ({"name": "plan.md", "content_type": "application/octet-stream"}, b"# Zebra plan\n"),
        ({"name": "a.json"}, b'{"text": "stripes\\nzebra"}'),
        ({"name": "a.jsonl"}, b'{"text": "stripes\\tzebra"}\n{"te'),
        ({"name": "a.json"}, b'{"text": "\\u007aebra"}'),
        ({"name": "a.xml"}, b"<plan><of>zebra</of></plan>"),
        ({"name": "a.svg"}, b"<svg><text>zebra</text></svg>"),
        ({"name": "a.yaml"}, b"zebra: 1"),
        ({"name": "a.csv"}, b"zebra,1"),
        ({"name": "a.txt"}, b"\xef\xbb\xbfzebra"),
        ({"name": "a.txt"}, b"a\0zebra\0"),
    ],
)
@pytest.mark.parametrize("resumable", [False, True])
async def test_an_uploaded_text_is_found_by_its_words_at_once(
    caller: Caller, fields: dict[str, Any], content: bytes, resumable: bool
):
    entity = an_id()
    if resumable:
        upload_id = await caller.start_upload(entity_node_id=entity, **fields)
        await caller.append(upload_id, 0, content[:5])
        await caller.append(upload_id, 5, content[5:])
        await caller.finish_upload(upload_id)
    else:
        await caller.upload([content[:5], content[5:]], entity_node_id=entity, **fields)
    assert await found(caller, "zebra", entity) == [fields["name"]]


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"name": "a.png"}, b"zebra"),
        ({"name": "a.bin"}, b"zebra"),
        ({"name": "a.txt.gz"}, b"zebra"),
        ({"name": "a.txt"}, b"zebra \xff"),
        ({"name": "a.txt"}, b"zebra \xed\xa0\x80"),
        ({"name": "a.txt"}, b"zebra \xe2\x82"),
        ({"name": "a.txt"}, b"x " * TEXT_CHARS_MAX + b" zebra"),
        ({"name": "a.txt"}, b"zebra" + b"\0" * 1_000),
        ({"name": "a.txt"}, b""),
    ],
    ids=[
        "image",
        "bytes",
        "compressed",
        "no utf-8",
        "half a pair",
        "cut off",
        "past the beginning",
        "mostly nothing",
        "empty",
    ],
)
async def test_what_is_no_text_is_stored_and_not_found_by_what_it_holds(
    caller: Caller, fields: dict[str, Any], content: bytes
):
    entity = an_id()
    uploaded = await caller.upload(content, entity_node_id=entity, **fields)
    assert (await caller.download(working_memory_id=uploaded.working_memory_id))[1] == content
    assert await found(caller, "zebra", entity) == []


WORDS = [f"{number:x}-{number * 7919:x}" for number in range(40_000)]


@pytest.mark.parametrize(
    "text",
    [
        "x" * TEXT_CHARS_MAX,
        "ä" * 2 * TEXT_CHARS_MAX,
        "東" * 2 * TEXT_CHARS_MAX,
        "".join(map(chr, range(0x20000, 0x2A000))),
        "".join(map(chr, range(0xAC00, 0xD7A0))) * 3,
        " ".join(map(chr, range(0x10400, 0x10450))) * 400,
        " ".join(WORDS),
        " ".join(f"{number}ings" for number in range(20_000)),
        "-".join(WORDS[:1_000]),  # Postgres takes the square of its length: 2 s for all that is indexed of a text
        " ".join(f"https://{number}.example/{number}?q={number}" for number in range(3_000)),
        "\n" * TEXT_CHARS_MAX,
        "'" * TEXT_CHARS_MAX,
        "\\" * TEXT_CHARS_MAX,
        "xyz\0" * (TEXT_CHARS_MAX // 4),
    ],
    ids=[
        *("one word", "one word that is folded", "one letter in pairs", "rare letters in pairs", "all of hangul"),
        *("long letters", "words", "words with other forms", "one compound", "urls", "lines", "quotes", "backslashes"),
        "with nothing between",
    ],
)
async def test_no_text_is_refused_for_its_words(caller: Caller, text: str):
    """A vector of words has a largest size in Postgres, as have its words; what would pass it is left out."""
    common = {"entity_node_id": an_id(), "description": " ".join(WORDS)[: 64 * KIB], "memory_type": "text/markdown"}
    await caller.upload(b"needle " + text.encode(), name="uploaded.md", **common)
    await caller.upload(b'"needle ' + text.encode() + b'"', name="uploaded.json", **common)
    await caller.insert(content_text="needle " + text.replace("\0", " "), name="inline", **common)
    await caller.insert(content_json=json.dumps("needle " + text.replace("\0", " ")), name="document", **common)
    names = ["document", "inline", "uploaded.json", "uploaded.md"]
    assert await found(caller, "needle", common["entity_node_id"]) == names


async def test_a_text_is_found_until_it_is_changed_whatever_else_changes(caller: Caller):
    entity = an_id()
    inline = await caller.insert(content_text="a walrus", entity_node_id=entity, name="inline")
    uploaded = await caller.upload(b"a walrus", entity_node_id=entity, name="uploaded.txt")
    for record_id in (inline.working_memory_id, uploaded.working_memory_id):
        await caller.update(record_id, description="an otter", tags=["t"])
    assert await found(caller, "walrus otter", entity) == ["inline", "uploaded.txt"]
    await caller.update(uploaded.working_memory_id, name="renamed.bin")
    await caller.update(inline.working_memory_id, content_text="a narwhal")
    assert await found(caller, "walrus", entity) == ["renamed.bin"]
    assert await found(caller, "narwhal", entity) == ["inline"]


async def test_an_upload_that_fails_leaves_no_text(caller: Caller, database: Database):
    with pytest.raises(ChecksumMismatch):
        await caller.upload(b"a walrus", name="a.txt", header={"sha256": "0" * 64})
    assert await database.tenant(PRINCIPAL.tenant_id).query("SELECT id FROM context.wm_record") == []


async def test_what_is_found_of_a_file_is_of_its_tenant_alone(caller: Caller, stranger: Caller):
    await caller.upload(b"a quokka", name="a.txt")
    request = pb.SearchWMRecordsRequest(text="quokka")
    assert len((await caller.call("SearchWMRecords", request)).hits) == 1
    assert not (await stranger.call("SearchWMRecords", request)).hits


async def test_the_words_of_a_file_go_with_its_record(caller: Caller, database: Database):
    uploaded = await caller.upload(b"a walrus", name="a.txt")
    purge = pb.DeleteWMRecordRequest(working_memory_id=uploaded.working_memory_id, purge=True)
    await caller.call("DeleteWMRecord", purge)
    rows = await database.tenant(PRINCIPAL.tenant_id).query("SELECT blob_text FROM context.wm_record")
    assert rows == []


async def test_the_beginning_of_any_file_is_taken_in_little_time():
    """It is done between two awaits: other callers wait for so long."""
    for name, piece in (("a.json", b"\\u00e4\\n"), ("a.json", b"\\ud83d\\ude00"), ("a.txt", "ä".encode())):
        beginning = Beginning(RecordInput(name=name))
        content = piece * (MIB // len(piece))
        before = asyncio.get_running_loop().time()

        async def chunks(content: bytes = content) -> Any:
            yield content

        assert [chunk async for chunk in beginning.watched(chunks())] == [content]
        assert beginning.text()
        assert asyncio.get_running_loop().time() - before < 0.5  # 0.03 on a machine that does nothing else


@given(text=st.text(), cut=st.integers(0, 20), chars=st.integers(0, 5))
@example(text="😀" * 10, cut=3, chars=2)
def test_the_beginning_of_a_text_is_its_first_characters_however_it_is_cut(text: str, cut: int, chars: int):
    content = text.encode()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(texts, "TEXT_CHARS_MAX", chars)
        monkeypatch.setattr(texts, "_BYTES_MAX", 4 * chars)

        async def taken() -> str | None:
            async def chunks() -> Any:
                yield content[:cut]
                yield content[cut:]

            beginning = Beginning(RecordInput(name="a.txt"))
            assert b"".join([chunk async for chunk in beginning.watched(chunks())]) == content
            return beginning.text()

        with pytest.raises(StopIteration) as stopped:
            taken().send(None)  # it waits for nothing
    if not text.startswith("\ufeff"):
        assert stopped.value.value == text[:chars].replace("\0", " ")


# Languages.


@pytest.fixture(scope="module")
def connection(postgres: EmbeddedPostgres) -> Any:
    """To a database of the module's own, as its owner."""
    with cloned(postgres) as urls, psycopg.connect(urls.admin, autocommit=True) as opened:
        yield opened


def test_every_language_of_the_setting_is_one_of_postgres(connection: psycopg.Connection):
    there = {name for (name,) in connection.execute("SELECT cfgname FROM pg_catalog.pg_ts_config")}
    languages = Settings.model_json_schema()["properties"]["search_language"]["enum"]
    assert set(languages) <= there


async def test_words_are_found_in_the_forms_of_the_language_and_as_they_are(start: Start):
    caller = await start(search_language="german")
    entity = an_id()
    await caller.insert(
        name="a", content_text="Die Häuser und die Bäume waren alt: “Übersicht”, älteste", entity_node_id=entity
    )
    await caller.upload(b"parse_config(invoices)", name="b.py", entity_node_id=entity)
    for text, names in (
        ("haus", ["a"]),
        ("Häuser", ["a"]),
        ("baum alte", ["a"]),
        ("die", []),
        ("das Haus", ["a"]),
        ('"waren alt"', ["a"]),
        ("haus -baum", []),
        ("haus -wald", ["a"]),
        ("invoices", ["b.py"]),
        ("parse_config", ["b.py"]),
        ("parsing", []),
        ("Übersicht", ["a"]),
        ("haus or invoices", ["a", "b.py"]),
    ):
        assert await found(caller, text, entity) == names, text


async def test_after_a_change_of_the_language_what_was_written_is_found_by_its_words_as_they_are(start: Start):
    english, german = await start(), await start(search_language="german")
    entity = an_id()
    record = await english.insert(name="a", content_text="Häuser with invoices", entity_node_id=entity)
    assert await found(english, "invoice", entity) == ["a"]
    assert await found(german, "haus", entity) == []
    assert await found(german, "Häuser invoices", entity) == ["a"]
    await german.update(record.working_memory_id, tags=["touched"])
    assert await found(german, "haus", entity) == ["a"]
    assert await found(english, "Häuser invoices", entity) == ["a"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("東京都", ["zh"]),
        ("京都", ["ja", "zh"]),
        ("東京 タワー", []),
        ("タワー", ["ja"]),
        ("京", ["ja", "zh"]),
        ("ー", ["ja"]),
        ("都は", ["ja"]),
        ("都東", []),
        ("iPhone", ["ja"]),
        ("iPhone版", ["ja"]),
        ("京都 -タワー", ["zh"]),
        ('"京都"', ["ja", "zh"]),
        ("서울", ["ko.txt"]),
        ("날씨가", ["ko.txt"]),
        ("京都 or 서울", ["ja", "ko.txt", "zh"]),
        ("、", []),
    ],
)
async def test_scripts_without_spaces_are_found_by_pairs_of_their_letters(caller: Caller, text: str, names: list[str]):
    entity = an_id()
    await caller.insert(name="zh", content_text="我住在東京都。", entity_node_id=entity)
    await caller.insert(name="ja", content_json='["\\u4eac\\u90fdは、iPhone版タワー"]', entity_node_id=entity)
    await caller.upload("오늘 서울 날씨가 좋다".encode(), name="ko.txt", entity_node_id=entity)
    assert await found(caller, text, entity) == names


LETTERS = "京都東あのアー서울ㅏ𠀀𠀁"
ROWS = st.text(LETTERS, min_size=1, max_size=8)


@given(rows=st.lists(ROWS, min_size=1, max_size=4), between=st.sampled_from([" ", "。", "x", "、 "]), data=st.data())
def test_every_piece_of_a_row_of_letters_is_found(
    connection: psycopg.Connection, rows: list[str], between: str, data: st.DataObject
):
    """Index and question cut pairs in different ways; whatever is written, they agree."""
    row = data.draw(st.sampled_from(rows))
    begin = data.draw(st.integers(0, len(row) - 1))
    piece = row[begin : data.draw(st.integers(begin + 1, len(row)))]
    absent = data.draw(ROWS)
    asked = "SELECT context.words_of('english', %s) @@ context.words_asked('english', %s)"
    said = between.join(rows)
    assert connection.execute(asked, (said, piece)).fetchone() == (True,)
    pairs = {one[place : place + 2] for one in rows for place in range(len(one) - 1)}
    wanted = {absent[place : place + 2] for place in range(len(absent) - 1)}
    if len(absent) > 1:
        assert connection.execute(asked, (said, absent)).fetchone() == (wanted <= pairs,)


@given(
    said=st.text("ab 'é京\\&|!()<->:*\"\t", max_size=30) | st.text(max_size=30),
    asked=st.text("ab 'é京\\&|!()<->:*\"\t-or", max_size=30) | st.text(max_size=30),
    language=st.sampled_from(["english", "german", "simple"]),
)
def test_whatever_is_asked_is_a_question(connection: psycopg.Connection, said: str, asked: str, language: str):
    """What stands in front of the wall of the rows raises nothing."""
    parameters = {**terms_of(asked.replace("\0", "")), "language": language, "said": said.replace("\0", "")}
    connection.execute(
        "SELECT context.words_of(%(language)s, %(said)s) @@ context.search_asked("
        "%(language)s, %(terms)s::text[], %(are_not)s::boolean[], %(behind_or)s::boolean[])",
        parameters,
    )


SEARCHES = st.lists(
    st.sampled_from(["the", "dogs", "dog", "invoice", "-fox", "or", "OR", '"brown fox"', '-"lazy dog"', "well-known"]),
    max_size=6,
)


@given(asked=SEARCHES, said=st.sampled_from(["the lazy dogs", "a brown fox", "invoices, well-known", "dog or fox"]))
@example(asked=["the"], said="the lazy dogs")
@example(asked=["dogs", "-fox", "or", "invoice"], said="invoices, well-known")
def test_in_english_a_search_means_what_postgres_means(connection: psycopg.Connection, asked: list[str], said: str):
    """`websearch_to_tsquery` is the law; a word as it is stands beside its forms."""
    text = " ".join(asked)
    row = connection.execute(
        "SELECT context.words_of('english', %(said)s) @@ context.search_asked('english', %(terms)s::text[],"
        " %(are_not)s::boolean[], %(behind_or)s::boolean[]),"
        " to_tsvector('english', %(said)s) @@ websearch_to_tsquery('english', %(text)s)",
        {**terms_of(text), "said": said, "text": text},
    ).fetchone()
    assert row is not None
    assert row[0] == row[1]


async def test_a_replica_of_the_version_before_goes_on_writing(urls: Urls, caller: Caller, database: Database):
    """It names none of the new columns; and what it wrote is found."""
    tenant = database.tenant(PRINCIPAL.tenant_id)
    record_id = an_id()
    await tenant.query(
        "INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, content)"
        " VALUES (%s, %s, 'data/json', 'old', '', '[\"a walrus\"]')",
        (PRINCIPAL.tenant_id, record_id),
    )
    text = await caller.insert(name="new", content_text="a walrus")
    await tenant.query(
        "UPDATE context.wm_record SET content = '[\"a narwhal\"]', size_bytes = 13 WHERE id = %s",
        (text.working_memory_id,),
    )
    request = pb.SearchWMRecordsRequest(text="walrus")
    assert [hit.record.name for hit in (await caller.call("SearchWMRecords", request)).hits] == ["old"]
    fetched = await caller.fetch(text.working_memory_id)
    assert (fetched.content_json, fetched.content_text) == ('["a narwhal"]', "")


@pytest.fixture
async def of_before(caller: Caller, urls: Urls) -> str:
    """A record as the version before this migration wrote it; returns its entity."""
    entity = an_id()
    await caller.insert(name="old", content_json='["two invoices"]', entity_node_id=entity)
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # no trigger
        connection.execute(
            "UPDATE context.wm_record SET search_language = '', search = array_to_tsvector(ARRAY['tenant ' ||"
            " tenant_id]) || json_to_tsvector('pg_catalog.english', content, '[\"string\"]')"
        )
    return entity


async def test_what_was_written_before_is_found_as_it_was(caller: Caller, of_before: str):
    assert await found(caller, "invoice", of_before) == ["old"]
    assert await found(caller, "two -walrus", of_before) == ["old"]


async def test_the_statement_of_the_docs_brings_records_up_to_date(
    caller: Caller, of_before: str, start: Start, urls: Urls
):
    page = (Path(__file__).parents[3] / "docs" / "search.md").read_text("utf-8")
    (statement,) = re.findall(r"^UPDATE context.*?;", page, re.MULTILINE | re.DOTALL)
    german = await start(search_language="german")
    await caller.insert(name="new", content_text="viele Häuser", entity_node_id=of_before)
    await caller.insert(name="other")
    assert await found(german, "haus", of_before) == []

    with psycopg.connect(urls.admin, autocommit=True) as connection:
        assert connection.execute(statement.encode()).rowcount == 3
        assert connection.execute(statement.encode()).rowcount == 0

    assert await found(german, "haus", of_before) == ["new"]
    assert await found(german, "invoices", of_before) == ["old"]
