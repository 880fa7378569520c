"""Archives in and out of files through both clients, against a small real server that breaks off."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from contextkeep import retries
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.context.v1.transfer_pb2_grpc import TransferServicer
from contextkeep.errors import Unavailable
from tests.clients.serving import serving
from tests.clients.worlds import ASYNC, SYNC, World

# Behind the second and the last it can be gone on with.
PARTS = [(b"one ", ""), (b"two ", "2"), (b"three ", ""), (b"four", "4")]
WHOLE = b"".join(data for data, _ in PARTS)


class Breaking(TransferServicer):
    """Every export breaks off behind three messages, every import behind ten bytes more."""

    def __init__(self, *, down_after: int = 99) -> None:
        self.tokens: list[str] = []
        self.offsets: list[int] = []
        self.taken = b""
        self.down_after = down_after

    async def ExportArchive(self, request, context):
        self.tokens.append(request.resume_token)
        if len(self.tokens) > self.down_after:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        begin = int(request.resume_token or 0)
        for data, token in PARTS[begin : begin + 3]:
            yield pb.ExportArchiveResponse(data=data, resume_token=token)
        if begin + 3 < len(PARTS):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    async def ImportArchive(self, requests, context):
        first = await anext(requests)
        self.offsets.append(first.header.offset_bytes)
        assert first.header.offset_bytes == len(self.taken)
        came = b"".join([message.data async for message in requests])
        self.taken += came[:10]
        if len(came) > 10:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return pb.ImportArchiveResponse(imported=self._imported(first.header.import_id))

    async def GetImport(self, request, context):
        return pb.GetImportResponse(imported=self._imported(request.import_id))

    def _imported(self, import_id: str) -> pb.ImportedArchive:
        return pb.ImportedArchive(import_id=import_id, state=pb.IMPORT_STATE_RUNNING, offset_bytes=len(self.taken))


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
async def test_an_archive_goes_on_behind_its_last_token(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What came behind that comes again, and is there once."""
    monkeypatch.setattr(retries, "BACKOFF_S", 0.001)
    server, path = Breaking(), tmp_path / "ada.archive"
    async with serving(server) as address, world.context(address) as client:
        done = await world.run(client.archives.export, path, user_id="ada")

    assert (path.read_bytes(), done.size_bytes, server.tokens) == (WHOLE, len(WHOLE), ["", "2"])
    assert [one.name for one in tmp_path.iterdir()] == ["ada.archive"]


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
async def test_another_process_goes_on_with_an_archive(world: World, tmp_path: Path):
    """If it is of the same: else it is begun anew."""
    path = tmp_path / "archive"
    for user in ("ada", "bob"):
        async with serving(Breaking(down_after=1)) as address, world.context(address, retries=0) as client:
            with pytest.raises(Unavailable):
                await world.run(client.archives.export, path, user_id=user)
        assert sorted(one.name for one in tmp_path.iterdir()) == ["archive.part", "archive.part.json"]
    server = Breaking()
    async with serving(server) as address, world.context(address, retries=0) as client:
        await world.run(client.archives.export, path, user_id="bob")
    assert (path.read_bytes(), server.tokens) == (WHOLE, ["2"])


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
async def test_an_import_goes_on_where_the_service_is(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retries, "BACKOFF_S", 0.001)
    server, archive = Breaking(), bytes(range(35))
    async with serving(server) as address, world.context(address) as client:
        await world.run(client.archives.import_archive, archive)
    assert (server.taken, server.offsets) == (archive, [0, 10, 20, 30])
