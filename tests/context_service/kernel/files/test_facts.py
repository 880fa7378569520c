"""Facts of files are read in a confined process, from their bytes, whatever their senders say."""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any
from uuid import UUID, uuid4

import psutil
import pytest

from context_service.kernel.files import reading
from context_service.kernel.files.facts import FileFacts, FileKind, facts_of_answer, kind_of, type_of
from context_service.kernel.files.reading import _KEPT_MAX, FactReader, UnreadFile
from contextkeep.errors import Unavailable
from service_runtime.child_processes.kept import KeptChild
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests import media
from tests.context_service.retrieval.files import pdf, pdf_with_password

_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>fetch("/")</script></svg>'


async def _facts(*files: tuple[bytes, str]) -> list[FileFacts]:
    unread = [UnreadFile(data=data, declared_type=declared) for data, declared in files]
    async with aclosing(FactReader(memory_bytes_max=512 * 2**20, timeout_s=20)) as reader:
        return await reader.read(unread, tenant_id=DEFAULT_TENANT_ID)


@pytest.fixture
async def reader() -> AsyncIterator[FactReader]:
    async with aclosing(FactReader(memory_bytes_max=512 * 2**20, timeout_s=20)) as made:
        yield made


async def _width(reader: FactReader, width: int, tenant_id: UUID = DEFAULT_TENANT_ID) -> int:
    """Return the width that a reader finds for a picture that has it."""
    (facts,) = await reader.read([UnreadFile(data=media.png(width, 2))], tenant_id=tenant_id)
    return facts.width


def _waiting(reader: FactReader) -> list[int]:
    """Return the ids of the processes that wait for further files."""
    return [child._process.pid for child in reader._kept.values()]


async def test_a_process_is_kept_for_the_next_pictures_of_its_tenant_alone(reader: FactReader):
    tenants = [uuid4() for _ in range(_KEPT_MAX + 1)]
    assert [await _width(reader, 3 + n, tenants[0]) for n in range(3)] == [3, 4, 5]
    (first,) = _waiting(reader)
    for number, tenant in enumerate(tenants[1:], 6):
        assert await _width(reader, number, tenant) == number
    processes = _waiting(reader)
    assert len(set(processes)) == _KEPT_MAX
    assert first not in processes, "the one that waited longest ended"
    assert await asyncio.gather(*(_width(reader, 20 + n, tenants[1]) for n in range(3))) == [20, 21, 22]
    assert len(_waiting(reader)) == _KEPT_MAX
    await reader.aclose()
    assert not any(map(psutil.pid_exists, processes))


async def test_a_process_that_died_or_read_many_files_is_replaced(reader: FactReader, monkeypatch: pytest.MonkeyPatch):
    assert await _width(reader, 3) == 3
    (process,) = _waiting(reader)
    psutil.Process(process).kill()
    assert await _width(reader, 4) == 4, "the file is not to blame for the end of a process that read others"
    assert _waiting(reader) != [process]

    monkeypatch.setattr(reading, "_FILES_OF_CHILD", 2)
    before = _waiting(reader)
    assert await _width(reader, 5) == 5
    assert _waiting(reader) == []
    assert await _width(reader, 6) == 6
    assert _waiting(reader) != before


async def test_a_file_that_stops_two_processes_has_unknown_facts_and_holds_up_no_others(
    reader: FactReader, monkeypatch: pytest.MonkeyPatch
):
    start, stopped = KeptChild.ask, []

    async def killed_by_seven_pixels(child: KeptChild, question: Any, *, timeout_s: float) -> bytes | None:
        chunks = [chunk async for chunk in question]
        if media.png(7, 2) in chunks:
            stopped.append(child.answered)
            await child.close()

        async def again() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        return await start(child, again(), timeout_s=timeout_s)

    monkeypatch.setattr(KeptChild, "ask", killed_by_seven_pixels)
    unread = [UnreadFile(data=media.png(width, 2)) for width in (3, 7, 5)]
    assert [fact.width for fact in await reader.read(unread, tenant_id=DEFAULT_TENANT_ID)] == [3, 0, 5]
    assert stopped == [1, 0], "once in a used process, and once in a new one"


async def test_a_call_that_is_cancelled_leaves_no_process(reader: FactReader):
    assert await _width(reader, 3) == 3
    (process,) = _waiting(reader)
    large = [UnreadFile(data=media.png(3, 3, pixels=bytes(19 * 2**20)))] * 20
    task = asyncio.create_task(reader.read(large, tenant_id=DEFAULT_TENANT_ID))
    await asyncio.sleep(0.01)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    until = time.monotonic() + 10
    while psutil.pid_exists(process) and time.monotonic() < until:
        await asyncio.sleep(0.01)
    assert not psutil.pid_exists(process)
    assert await _width(reader, 4) == 4


async def test_facts_are_read_from_the_bytes():
    assert await _facts(
        (media.png(1_280, 720), "image/png"),
        (media.jpeg(640, 480), "image/png"),
        (media.gif(3, 2), ""),
        (media.webp(800, 600), "image/webp"),
        (media.wav(3), "audio/x-wav"),
        (pdf(["Größe", "zwei"]), "application/x-pdf"),
        (b"name,size\nSchraube,4\n", "text/csv; charset=utf-8"),
    ) == [
        FileFacts(media_type="image/png", width=1_280, height=720),
        FileFacts(media_type="image/jpeg", width=640, height=480),
        FileFacts(media_type="image/gif", width=3, height=2),
        FileFacts(media_type="image/webp", width=800, height=600),
        FileFacts(media_type="audio/wav", duration_seconds=3.0),
        FileFacts(media_type="application/pdf", page_count=2, text_chars=9),
        FileFacts(media_type="text/csv"),
    ]


async def test_hostile_files_have_facts_at_once():
    """Nothing is unpacked, so a picture that would fill the memory is only a large picture."""
    bomb = media.png(50_000, 50_000, pixels=zlib.compress(bytes(50_000_000), 9))
    began = time.monotonic()
    facts = await _facts(
        (bomb, "image/png"),
        (media.png(100_000, 100_000, pixels=b""), "image/png"),
        (pdf(["x"] * 10_000), "application/pdf"),
        (pdf_with_password(), "application/pdf"),
    )
    assert [(fact.width, fact.page_count) for fact in facts] == [(50_000, 0), (100_000, 0), (0, 10_000), (0, 0)]
    assert time.monotonic() - began < 15


async def test_a_file_that_is_no_picture_is_none_whatever_its_sender_says():
    facts = await _facts(
        (_SVG, "image/svg+xml"),
        (_SVG, "image/png"),
        (b"<html><script>alert(1)</script>", "image/jpeg"),
        (b"", "image/png"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
    )
    assert [kind_of(fact.media_type) for fact in facts] == [FileKind.OTHER] * 4 + [FileKind.IMAGE]
    assert (facts[-1].width, facts[-1].height) == (0, 0), "a picture without a size has an unknown one"


async def test_no_bytes_stop_the_reader():
    """Each of 200 damaged files gets an answer, and the good file after them its facts."""
    chance = random.Random(7)
    whole = [media.png(30, 20), media.jpeg(30, 20), media.webp(3, 2), media.wav(1), pdf(["a", "b"])]
    damaged = []
    for _ in range(200):
        data = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        damaged.append((bytes(data[: chance.randint(1, len(data))]), chance.choice(["image/png", "", "audio/wav"])))
    facts = await _facts(*damaged, (media.png(7, 5), "image/png"))
    assert len(facts) == 201
    assert facts[-1] == FileFacts(media_type="image/png", width=7, height=5)


async def test_a_reader_without_memory_knows_nothing_and_refuses_nothing():
    unread = [UnreadFile(data=media.png(7, 5), declared_type="image/png")] * 3
    async with aclosing(FactReader(memory_bytes_max=2**20, timeout_s=20)) as reader:
        assert len(await reader.read(unread, tenant_id=DEFAULT_TENANT_ID)) == 3


async def test_a_process_that_cannot_start_is_logged_and_named_by_the_check(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    await FactReader(memory_bytes_max=512 * 2**20, timeout_s=20).check()
    assert not caplog.records

    monkeypatch.setattr("sys.executable", "/no/such/python")
    reader = FactReader(memory_bytes_max=512 * 2**20, timeout_s=20)
    with pytest.raises(Unavailable, match="the process that reads files does not answer"):
        await reader.check()
    (facts,) = await reader.read(
        [UnreadFile(data=media.png(7, 5), declared_type="image/png")], tenant_id=DEFAULT_TENANT_ID
    )
    assert facts.width == 0
    assert {record.message for record in caplog.records} == {"the process that reads files ended early"}
    assert "No such file" in caplog.records[0].detail


@pytest.mark.parametrize(
    ("detected", "declared", "media_type"),
    [
        ("image/png", "image/jpeg", "image/png"),
        ("audio/x-flac", "", "audio/flac"),
        ("", "image/png", "application/octet-stream"),
        ("application/zip", "image/png", "application/octet-stream"),
        ("application/zip", "application/vnd.ms-excel", "application/vnd.ms-excel"),
        ("application/zip", "", "application/zip"),
        ("video/mp4", "image/png", "video/mp4"),
        ("", "Text/Plain; charset=utf-8", "text/plain"),
        ("", "", "application/octet-stream"),
    ],
)
def test_bytes_decide_what_a_model_sees_and_the_sender_decides_the_rest(detected, declared, media_type):
    assert type_of(detected, declared) == media_type


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"type": 7}',
        b'{"type": "image/png\\n", "width": 3}',
        b'{"type": "' + b"x" * 1_000 + b'"}',
        b"[" * 100_000,
    ],
)
def test_an_answer_of_a_process_that_a_file_took_over_is_no_fact(line):
    assert facts_of_answer(line, "image/png") == FileFacts(media_type="application/octet-stream")


def test_numbers_of_an_answer_are_bounded():
    line = (
        b'{"type": "image/png", "width": -4, "height": 1e999, "pages": true, "seconds": NaN, "chars": 99999999999999}'
    )
    facts = facts_of_answer(line, "")
    assert facts == FileFacts(media_type="image/png", text_chars=2**31 - 1)
