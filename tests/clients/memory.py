"""A working memory in a dict, with faults: what the clients' transfers are tested against."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from typing import Any

from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryServicer
from contextkeep.errors import BlobTooLarge, RecordNotFound, Unavailable

MIB = 1024 * 1024


class Memory(WorkingMemoryServicer):
    """Takes uploads and gives them back.

    Args:
        failures: So many calls fail with `Unavailable`, each after `fail_after_bytes`.
        fail_after_bytes: Bytes of a transfer before it fails.
        stall_after_bytes: Bytes of a transfer after which nothing moves any more.
        size_bytes_max: Of an upload.
        corrupt: Send other bytes than were stored.
        sha256: Answer this instead of the truth.
        answers_first: Answer an upload from its header, as a repeated request is.
    """

    def __init__(
        self,
        *,
        failures: int = 0,
        fail_after_bytes: int = 0,
        stall_after_bytes: int | None = None,
        size_bytes_max: int | None = None,
        corrupt: bool = False,
        sha256: str = "",
        answers_first: bytes | None = None,
    ) -> None:
        self.failures = failures
        self.fail_after_bytes = fail_after_bytes
        self.stall_after_bytes = stall_after_bytes
        self.size_bytes_max = size_bytes_max
        self.corrupt = corrupt
        self.sha256 = sha256
        self.answers_first = answers_first
        self.calls = 0
        self.headers: list[pb.UploadHeader] = []
        self.chunks: list[int] = []  # sizes
        self.stored: dict[str, tuple[pb.WMRecord, bytes]] = {}
        self.ended = asyncio.Event()  # the last call is over, however
        self.ended.set()
        self.completed = False  # the last upload came to its end
        self.stalled = asyncio.Event()  # nothing moves any more, in some call

    def put(self, content: bytes, name: str = "file.bin") -> str:
        """Store a blob as if it had been uploaded; return its id."""
        return self._store(pb.WMRecordInput(name=name, memory_type="file"), content).working_memory_id

    def _store(self, said: pb.WMRecordInput, content: bytes) -> pb.WMRecord:
        record = pb.WMRecord(
            working_memory_id=str(uuid.uuid4()),
            entity_node_id=said.entity_node_id,
            name=said.name,
            memory_type=said.memory_type,
            metadata_json=said.metadata_json,
            app_id=said.app_id,
            provider="local",
            blob_key=f"blob-{uuid.uuid4().hex}",
            size_bytes=len(content),
            sha256=self.sha256 or hashlib.sha256(content).hexdigest(),
        )
        self.stored[record.working_memory_id] = (record, content)
        return record

    def _find(self, request: Any) -> tuple[pb.WMRecord, bytes]:
        for record, content in self.stored.values():
            if request.working_memory_id == record.working_memory_id or request.blob_key == record.blob_key:
                return record, content
        raise RecordNotFound("there is no such record")

    async def _moved(self, moved_bytes: int) -> None:
        if self.calls <= self.failures and moved_bytes >= self.fail_after_bytes:
            raise Unavailable("the store is away", dependency="store")
        if self.stall_after_bytes is not None and moved_bytes >= self.stall_after_bytes:
            self.stalled.set()
            await asyncio.sleep(3600)

    async def UploadBlob(self, requests, context):
        self.calls += 1
        self.ended.clear()
        self.completed = False
        content = b""
        try:
            header = (await anext(requests)).header
            self.headers.append(header)
            if self.answers_first is not None:
                return self._answer(self._store(header.record, self.answers_first))
            await self._moved(0)
            async for request in requests:
                self.chunks.append(len(request.chunk))
                content += request.chunk
                if self.size_bytes_max is not None and len(content) > self.size_bytes_max:
                    raise BlobTooLarge("blob exceeds the upload limit", size_bytes_max=self.size_bytes_max)
                await self._moved(len(content))
            self.completed = True
            return self._answer(self._store(header.record, content))
        finally:
            self.ended.set()

    def _answer(self, record: pb.WMRecord) -> pb.UploadBlobResponse:
        return pb.UploadBlobResponse(
            working_memory_id=record.working_memory_id,
            blob_key=record.blob_key,
            size_bytes=record.size_bytes,
            sha256=record.sha256,
            record=record,
        )

    async def GetBlob(self, request, context):
        self.calls += 1
        self.ended.clear()
        try:
            record, content = self._find(request)
            end = request.offset_bytes + request.length_bytes if request.length_bytes else len(content)
            content = content[request.offset_bytes : end]
            if self.corrupt:
                content = content[:-1] + bytes([content[-1] ^ 1])
            await self._moved(-1)
            yield pb.GetBlobResponse(record=record)
            sent = 0
            while sent < len(content):
                await self._moved(sent)
                chunk = content[sent : sent + MIB]
                yield pb.GetBlobResponse(chunk=chunk)
                sent += len(chunk)
        finally:
            self.ended.set()

    async def GetContent(self, request, context):
        record, content = self._find(request)
        return pb.GetContentResponse(record=record, content=content)

    async def DeleteBlob(self, request, context):
        record, _ = self._find(request)
        return pb.DeleteBlobResponse(working_memory_id=record.working_memory_id)
