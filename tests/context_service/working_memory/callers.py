"""What the tests of working memory share: a stub that carries a key, and the three steps of a blob."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from context_service.settings import Settings
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import ContextKeepError
from service_runtime.postgres import Database
from service_runtime.values.ids import new_id
from tests.calling import AnyRpc
from tests.conftest import KEY, PRINCIPAL
from tests.errors import raised

KIB = 1024
MIB = 1024 * KIB

Start = Callable[..., Any]  # of the fixture `start`


class Caller(AnyRpc):
    """Calls with one key; failed calls raise what they mean."""

    def __init__(self, address: str, channel: grpc.aio.Channel, key: str = KEY) -> None:
        super().__init__(channel, key=key)
        self.address = address
        self.stub = WorkingMemoryStub(channel)

    async def call(self, name: str, request: Any) -> Any:
        try:
            return await getattr(self.stub, name)(request, metadata=self.metadata, timeout=30)
        except grpc.aio.AioRpcError as error:
            raise raised(error) from None

    async def insert(self, request_id: str = "", **fields: Any) -> pb.WMRecord:
        return (await self.InsertWMRecord(record=record_input(**fields), request_id=request_id)).record

    async def fetch(self, working_memory_id: str, **options: Any) -> pb.WMRecord:
        return (await self.FetchWMRecord(working_memory_id=working_memory_id, **options)).record

    async def update(self, working_memory_id: str, *paths: str, **values: Any) -> pb.WMRecord:
        options = {name: values.pop(name) for name in ("expected_version", "request_id") if name in values}
        record = {"working_memory_id": working_memory_id, **values}
        return (await self.UpdateWMRecord(record=record, update_mask={"paths": paths or [*values]}, **options)).record

    async def upload(
        self, content: bytes | Iterable[bytes] = b"", *, header: dict[str, Any] | None = None, **fields: Any
    ) -> pb.UploadBlobResponse:
        """Upload; bytes are cut into chunks of 1 MiB, anything else is sent as it is."""
        chunks = cut(content) if isinstance(content, bytes) else content
        first = pb.UploadHeader(record=record_input(**fields), **(header or {}))
        return await self.send(
            [pb.UploadBlobRequest(header=first), *(pb.UploadBlobRequest(chunk=chunk) for chunk in chunks)]
        )

    async def send(self, messages: Iterable[pb.UploadBlobRequest] | AsyncIterator[pb.UploadBlobRequest]) -> Any:
        """Send the messages of an upload.

        A plain iterable goes through a sync stub: where the server answers before it has read everything, an async
        one sometimes hears "Internal error from Core" instead of the answer.
        """
        if isinstance(messages, AsyncIterator):
            return await self.call("UploadBlob", messages)
        return await asyncio.to_thread(self._send, "UploadBlob", iter(messages))

    def _send(self, rpc: str, messages: Iterator[Any]) -> Any:
        with grpc.insecure_channel(self.address) as channel:
            try:
                return getattr(WorkingMemoryStub(channel), rpc)(messages, metadata=self.metadata, timeout=30)
            except grpc.RpcError as error:
                raise raised(error) from None

    async def start_upload(self, *, header: dict[str, Any] | None = None, **fields: Any) -> str:
        return (await self.StartUpload(record=record_input(**fields), **(header or {}))).upload.upload_id

    async def append(self, upload_id: str, offset_bytes: int, content: bytes | Iterable[bytes]) -> pb.Upload:
        """Send one part; bytes are cut into chunks of 1 MiB, anything else is sent as it is."""
        chunks = cut(content) if isinstance(content, bytes) else content
        first = pb.AppendUploadRequest(header=pb.AppendHeader(upload_id=upload_id, offset_bytes=offset_bytes))
        messages = [first, *(pb.AppendUploadRequest(chunk=chunk) for chunk in chunks)]
        return (await asyncio.to_thread(self._send, "AppendUpload", iter(messages))).upload

    async def get_upload(self, upload_id: str) -> pb.Upload:
        return (await self.GetUpload(upload_id=upload_id)).upload

    async def finish_upload(self, upload_id: str, **declared: Any) -> pb.FinishUploadResponse:
        return await self.FinishUpload(upload_id=upload_id, **declared)

    async def download(self, **request: Any) -> tuple[pb.WMRecord, bytes]:
        record, content = pb.WMRecord(), b""
        try:
            async for answer in self.stub.GetBlob(pb.GetBlobRequest(**request), metadata=self.metadata, timeout=30):
                if answer.HasField("record"):
                    record = answer.record
                content += answer.chunk
        except grpc.aio.AioRpcError as error:
            raise raised(error) from None
        return record, content

    async def error(self, name: str, request: Any) -> ContextKeepError:
        try:
            await self.call(name, request)
        except ContextKeepError as error:
            return error
        raise AssertionError(f"{name} did not fail")


def record_input(**fields: Any) -> pb.WMRecordInput:
    return pb.WMRecordInput(**{"memory_type": "file", "name": "notes.txt", **fields})


def cut(content: bytes) -> list[bytes]:
    return [content[start : start + MIB] for start in range(0, len(content), MIB)]


def at(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def an_id() -> str:
    return str(new_id())


def files(settings: Settings) -> list[Path]:
    assert settings.working_memory_storage_path is not None
    return [path for path in settings.working_memory_storage_path.rglob("*") if path.is_file()]


async def blobs(database: Database) -> list[Any]:
    return await database.tenant(PRINCIPAL.tenant_id).query("SELECT state, due_at <= now() AS due FROM context.blob")


async def records(database: Database) -> int:
    return len(await database.tenant(PRINCIPAL.tenant_id).query("SELECT id FROM context.wm_record"))


def header(**fields: Any) -> pb.UploadBlobRequest:
    return pb.UploadBlobRequest(header=pb.UploadHeader(record=record_input(), **fields))


def chunk(content: bytes) -> pb.UploadBlobRequest:
    return pb.UploadBlobRequest(chunk=content)


async def until(condition: Callable[[], Any], *, timeout_s: float = 60) -> None:
    async with asyncio.timeout(timeout_s):
        while not await condition():
            await asyncio.sleep(0.01)
