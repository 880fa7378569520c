"""Contents that are text: given inline and given back as they are, and found by what stands in them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_service.commands import maintenance
from context_service.retrieval.rules.verify import Verified
from context_service.settings import Settings
from context_service.working_memory.pure import beginnings as texts
from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX, Beginning
from context_service.working_memory.pure.fields import RecordInput
from context_service.working_memory.pure.record_terms import content_of, record_terms
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import ChecksumMismatch
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL
from tests.context_service.working_memory.callers import KIB, MIB, Caller, an_id, until

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


def test_the_terms_of_a_document_are_made_in_time_linear_in_its_size():
    """A MiB of short texts took 18 s once, four times as long for twice as many."""

    def seconds(texts: int) -> float:
        document = json.dumps(["a"] * texts)
        begun = time.process_time()
        record_terms(UUID(int=1), name="", description="", content=content_of(document, None))
        return time.process_time() - begun

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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("東京都", ["zh"]),
        ("京都", ["ja", "zh"]),
        ("東京 タワー", []),
        ("タワー", ["ja"]),
        ("京", ["ja", "zh"]),
        ("ー", []),  # a syllable is no word
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


async def test_a_record_without_terms_is_found_after_a_rebuild(
    caller: Caller, database: Database, context_settings: Settings
):
    """A version before wrote it: it names none of the new columns."""
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query(
        "INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, content)"
        " VALUES (%s, %s, 'data/json', 'old', '', '[\"a walrus\"]')",
        (PRINCIPAL.tenant_id, an_id()),
    )
    await caller.insert(name="new", content_text="a narwhal")
    search = pb.SearchWMRecordsRequest(text="walrus")
    assert not (await caller.call("SearchWMRecords", search)).hits

    compared = await rebuilt(context_settings, mend=False)
    assert (compared.records, compared.records_different, compared.is_equal) == (2, 1, False)
    assert not (await caller.call("SearchWMRecords", search)).hits
    assert (await rebuilt(context_settings, mend=True)).records_different == 1

    assert [hit.record.name for hit in (await caller.call("SearchWMRecords", search)).hits] == ["old"]
    assert (await rebuilt(context_settings, mend=False)).is_equal


async def rebuilt(settings: Settings, *, mend: bool) -> Verified:
    return await maintenance.verify_index(settings, tenant=None, context_id=None, mend=mend, on_progress=lambda _: None)


async def test_a_rebuild_of_the_index_changes_nothing_that_was_written(caller: Caller, context_settings: Settings):
    """Each way in writes the same terms as a rebuild makes of the stored texts."""
    inline = await caller.insert(name="Zoë's Plan.md", description="für Łódź", content_text="KD-2210 \0".strip("\0"))
    await caller.insert(name="doc", content_json='{"chiefComplaint": ["Chest pain", 72, null], "t": "\\ud83d\\ude00"}')
    await caller.insert(name="text", content_json='"only a text"')
    await caller.insert(name="long", content_text="word " * 12_000 + "needle")
    uploaded = await caller.upload(b"# Plan\r\n\0 a walrus", name="a.txt")
    await caller.upload(b"\xff\xfe" + "Größe".encode("utf-16-le"), name="b.txt")
    await caller.upload(b"\x89PNG", name="c.png")
    await caller.update(inline.working_memory_id, content_text="a narwhal, 5 March 2024")
    await caller.update(inline.working_memory_id, name="renamed", tags=["t"])
    await caller.update(uploaded.working_memory_id, description="an otter")

    async def is_read() -> bool:
        request = pb.SearchWMRecordsRequest(text="Größe")
        return bool((await caller.call("SearchWMRecords", request)).hits)

    await until(is_read)
    compared = await rebuilt(context_settings, mend=False)
    assert (compared.records, compared.records_different) == (7, 0)
