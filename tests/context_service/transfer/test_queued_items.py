"""An import queues no more for background work than its tenant may, and goes on where it is when some is done."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path

import grpc
import psycopg
import pytest

from context_service.retrieval.documents.reading import DocumentReader
from context_service.retrieval.store.passages import Passages
from context_service.transfer.pure import ArchivePiece
from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX
from context_service.working_memory.rules.file_texts import FileTexts
from context_service.working_memory.rules.record_texts import RecordTexts
from context_service.working_memory.store.texts.passages import RecordPassages
from contextkeep import AsyncContextClient
from contextkeep.errors import LimitExceeded
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from tests.clients.stack import running
from tests.conftest import PRINCIPAL, cloned
from tests.context_service.contexts.callers import KEYS
from tests.context_service.transfer.archives import Opened, counts, cut, export, get, joined, put
from tests.context_service.transfer.conftest import Keys

QUEUED_MAX = 4


async def test_an_import_queues_no_more_than_its_tenant_may_and_goes_on(
    postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def nothing(self: FileTexts) -> None:
        return

    monkeypatch.setattr(FileTexts, "keep_reading", nothing)
    keys = dict(KEYS)
    with cloned(postgres) as urls:
        async with (
            running(urls.service, tmp_path, callers=Keys(keys), queued_items_max=QUEUED_MAX) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            stack = Opened(channel=channel, database=database, urls=urls, addresses=addresses, keys=keys)
            keys.update({key: replace(PRINCIPAL, tenant_id=uuid.uuid4()) for key in ("from", "to")})
            with psycopg.connect(urls.superuser, autocommit=True) as connection:
                for name in ("from", "to"):
                    named = (keys[name].tenant_id, name)
                    connection.execute("INSERT INTO access.tenant (id, name) VALUES (%s, %s)", named)
            teller, victim = stack.caller.of("from"), stack.caller.of("to")
            async with AsyncContextClient(addresses.context, api_key="from") as client:
                await client.records.insert("data/text", "long", content="word " * (TEXT_CHARS_MAX // 4))
            archive = joined(
                [
                    copy
                    for piece in await cut(await export(teller, tenant=True))
                    for copy in ([piece] if piece.says.get("table") != "wm_record" else copies(piece, QUEUED_MAX + 2))
                ]
            )
            import_id = str(uuid.uuid4())
            with pytest.raises(LimitExceeded) as refused:
                await put(victim, archive, import_id=import_id)
            assert refused.value.metadata["limit"] == "queued_items"
            assert refused.value.metadata["limit_max"] == str(QUEUED_MAX)
            under_way = await get(victim, import_id)
            assert counts(under_way)["wm_record"] == (QUEUED_MAX, 0, 0)

            texts: RecordTexts = RecordTexts(None, DocumentReader(memory_bytes_max=2**28, timeout_s=60))  # type: ignore[arg-type]
            worker = FileTexts(database, texts, RecordPassages(Passages(database)), count=len)
            assert await worker.read_due() == QUEUED_MAX + 1  # with that of the tenant that told
            done = await put(victim, archive, import_id=import_id, offset=under_way.offset_bytes)
            assert counts(done)["wm_record"] == (QUEUED_MAX + 2, 0, 0)


def copies(piece: ArchivePiece, count: int) -> list[ArchivePiece]:
    """Return pieces with one record each, which is the piece's under other ids."""
    (line,) = piece.data.splitlines()
    rows = [{**json.loads(line), "id": str(uuid.uuid4())} for _ in range(count)]
    return [replace(piece, data=json.dumps(row).encode() + b"\n") for row in rows]
