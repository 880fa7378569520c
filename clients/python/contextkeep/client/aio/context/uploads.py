"""Resumable uploads: blobs in parts that each survive on their own."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import TypeVar, Unpack

from contextkeep.client import _aio_io as io
from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id, RecordFields
from contextkeep.client._transfer import (
    FINISH_TIMEOUT_S,
    PART_BYTES,
    PATIENCE_S,
    Chunks,
    OnProgress,
    Parts,
    Tally,
    UploadInput,
)
from contextkeep.client.aio._gen import uploads as gen
from contextkeep.client.aio.chunks import chunks_of
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.errors import Cancelled, DeadlineExceeded, InvalidArgument, Unavailable, UploadPartExists
from contextkeep.memory_types import MemoryType
from contextkeep.retries import Attempts
from contextkeep.values import Record, Upload

_T = TypeVar("_T")


class Uploads(gen.Uploads):
    """Resumable uploads."""

    async def upload(
        self,
        source: io.UploadSource,
        *,
        name: str = "",
        memory_type: str = MemoryType.FILE,
        working_memory_id: Id | None = None,
        sha256: str = "",
        request_id: Id | None = None,
        on_started: Callable[[str], None] | None = None,
        on_progress: OnProgress | None = None,
        part_bytes: int = PART_BYTES,
        patience_s: float = PATIENCE_S,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Store a file as `blobs.upload` does, but in parts that each survive on their own, and return its record.

        A broken connection or a restart of the service costs one part, not the whole. Keep the id that `on_started`
        gets: should this process end, `resume` goes on in another.

        Args:
            source: Bytes, a path (a text is a path), an open binary file, or an iterator of bytes.
            name: A label. Empty: the file's name, where the source has one.
            memory_type: A `MemoryType`, or your own text.
            working_memory_id: A UUID. By default the server creates one.
            sha256: In hexadecimal, where you know it: the service then refuses other bytes.
            request_id: A UUID. The same one again goes on with the same upload. Default: a new one.
            on_started: Called with the upload's id before the first part.
            on_progress: Called with the bytes that are durable and, where known, all bytes.
            part_bytes: The size of a part; one is held in memory.
            patience_s: How long to go on trying while nothing gets through.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            InvalidArgument: the source has no name and none is given.
            Unavailable: the service was away for too long. `resume` goes on.
            BlobTooLarge, SizeMismatch, ChecksumMismatch, RecordExists: see `finish`.
            OSError: the source cannot be read.
        """
        reader = await io.source_of(source)
        name = name or reader.name
        if not name:
            raise InvalidArgument("the source has no name of its own: give one", field="record.name")
        start_id = messages.new_request_id(request_id)
        upload = await self._patiently(
            patience_s,
            lambda: self.start(
                name,
                memory_type=memory_type,
                size_bytes=reader.size_bytes,
                sha256=sha256,
                working_memory_id=working_memory_id,
                request_id=start_id,
                **fields,
            ),
        )
        if on_started is not None:
            on_started(upload.id)
        return await self._send(upload, reader, on_progress=on_progress, part_bytes=part_bytes, patience_s=patience_s)

    async def resume(
        self,
        upload_id: Id,
        source: io.UploadSource,
        *,
        on_progress: OnProgress | None = None,
        part_bytes: int = PART_BYTES,
        patience_s: float = PATIENCE_S,
    ) -> Record:
        """Go on with an upload, in this process or another, and return its record; of a finished one, at once.

        The source is read from its start, so that all of it is compared with what the service has, and sent from where
        the upload is.

        Args:
            upload_id: Which.
            source: The same bytes again: as for `upload`.
            on_progress: Called with the bytes that are durable and, where known, all bytes.
            part_bytes: The size of a part; one is held in memory.
            patience_s: How long to go on trying while nothing gets through.

        Raises:
            UploadNotFound: it was given up, after a day without a new part.
            ChecksumMismatch, SizeMismatch: the source is not the one that the upload was begun with.
            ContextKeepError: those of `upload`.
        """
        reader = await io.source_of(source)
        upload = await self._patiently(patience_s, lambda: self.get(upload_id))
        return await self._send(upload, reader, on_progress=on_progress, part_bytes=part_bytes, patience_s=patience_s)

    async def start(
        self,
        name: str,
        *,
        memory_type: str = MemoryType.FILE,
        size_bytes: int | None = None,
        sha256: str = "",
        working_memory_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RecordFields],
    ) -> Upload:
        """Begin an upload that survives broken connections and restarts. `resume` does the rest of it.

        Args:
            name: A label.
            memory_type: A `MemoryType`, or your own text.
            size_bytes: Of the whole, where you know it.
            sha256: Of the whole, in hexadecimal, where you know it.
            working_memory_id: A UUID. By default the server creates one.
            request_id: A UUID. The same one again answers the same upload. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            BlobTooLarge: `size_bytes` is over the limit.
            RecordExists: the id is taken.
        """
        request = memory_pb.StartUploadRequest(
            record=messages.record_input(
                memory_type=memory_type,
                name=name,
                working_memory_id=working_memory_id,
                **messages.with_app(self._options.app_id, fields),
            ),
            size_bytes=size_bytes,
            sha256=sha256,
            request_id=messages.new_request_id(request_id),
        )
        response: memory_pb.StartUploadResponse = await self._call("StartUpload", request, timeout_s=timeout_s)
        return Upload.from_proto(response.upload)

    async def append(self, upload_id: Id, offset_bytes: int, part: bytes | Sequence[bytes]) -> Upload:
        """Add one part to a resumable upload and return how far it is. `resume` does this for a whole file.

        It is sent once: after an error, `get` tells whether it arrived.

        Args:
            upload_id: Which.
            offset_bytes: Where the part begins: at the upload's `offset_bytes`.
            part: Its bytes, in one piece or several; up to the upload's `part_bytes_max`.

        Raises:
            UploadNotFound: there is none, or it is finished.
            UploadPartExists: the upload is past this offset: `offset_bytes` in the metadata.
            UploadGap: it is not there yet: `offset_bytes` in the metadata.
        """
        pieces = [part] if isinstance(part, bytes) else part
        header = memory_pb.AppendHeader(upload_id=messages.to_id(upload_id), offset_bytes=offset_bytes)
        outgoing = _part_messages(header, pieces)
        async with aclosing(outgoing):
            answer: memory_pb.AppendUploadResponse = await self._connection.upload(
                "AppendUpload", outgoing, idle_timeout_s=self._options.idle_timeout_s, metadata=self._metadata
            )
        return Upload.from_proto(answer.upload)

    async def finish(
        self,
        upload_id: Id,
        *,
        size_bytes: int | None = None,
        sha256: str = "",
        timeout_s: float = FINISH_TIMEOUT_S,
    ) -> Record:
        """Make a record of a resumable upload and return it. Again answers the same.

        Args:
            upload_id: Which.
            size_bytes: What the parts must add up to, where you know it.
            sha256: In hexadecimal, where you know it.
            timeout_s: Deadline. The service reads and writes all bytes once more, which may take minutes.

        Raises:
            UploadNotFound: there is none.
            SizeMismatch: the parts are not as many bytes. They stay, and others may be added.
            ChecksumMismatch: the parts are other bytes.
            RecordExists: the record's id was taken meanwhile.
        """
        request = memory_pb.FinishUploadRequest(
            upload_id=messages.to_id(upload_id), size_bytes=size_bytes, sha256=sha256
        )
        response: memory_pb.FinishUploadResponse = await self._call("FinishUpload", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    async def _send(
        self, upload: Upload, source: UploadInput, *, on_progress: OnProgress | None, part_bytes: int, patience_s: float
    ) -> Record:
        """Send what an upload lacks, finish it, and return its record."""
        if not part_bytes > 0:
            raise InvalidArgument("part_bytes is not above 0", field="part_bytes")
        tally = Tally(source.size_bytes, on_progress)
        parts = Parts(upload.offset_bytes, min(part_bytes, upload.part_bytes_max))
        if upload.offset_bytes:
            tally.report(upload.offset_bytes)
        chunks = chunks_of(source)
        async with aclosing(chunks):
            async for chunk in chunks:
                tally.add(chunk)
                for part in parts.feed(chunk):
                    await self._append(upload.id, parts.offset_bytes, part, tally, patience_s)
        for part in parts.rest():
            await self._append(upload.id, parts.offset_bytes, part, tally, patience_s)
        return await self._patiently(
            patience_s,
            lambda: self.finish(upload.id, size_bytes=tally.size_bytes, sha256=tally.sha256),
        )

    async def _append(
        self, upload_id: str, offset_bytes: int, part: list[bytes], tally: Tally, patience_s: float
    ) -> None:
        """Send one part until the service has it."""
        end_bytes = offset_bytes + sum(map(len, part))
        attempts = 0

        async def attempt() -> None:
            nonlocal attempts
            attempts += 1
            if attempts > 1 and (await self.get(upload_id)).offset_bytes == end_bytes:
                return  # it had arrived, and only the answer was lost
            try:
                await self.append(upload_id, offset_bytes, part)
            except UploadPartExists as error:
                # The attempt before was still on its way when we asked.
                if attempts == 1 or error.metadata.get("offset_bytes") != str(end_bytes):
                    raise

        await self._patiently(patience_s, attempt)
        tally.report(end_bytes)

    async def _patiently(self, patience_s: float, attempt: Callable[[], Awaitable[_T]]) -> _T:
        """Return what `attempt` returns, trying again for `patience_s` while nothing gets through."""
        attempts = Attempts(None, retries=sys.maxsize, timeout_s=patience_s)
        while True:
            try:
                return await attempt()
            except (Unavailable, DeadlineExceeded, Cancelled) as error:  # Cancelled: by a service that stops
                delay_s = attempts.delay_s(error)
                if delay_s is None or self._connection.closed:
                    raise
            await io.sleep(delay_s)


async def _part_messages(
    header: memory_pb.AppendHeader, pieces: Iterable[bytes]
) -> AsyncGenerator[memory_pb.AppendUploadRequest, None]:
    """Yield the messages of one part."""
    yield memory_pb.AppendUploadRequest(header=header)
    chunks = Chunks()
    for piece in pieces:
        for chunk in chunks.feed(piece):
            yield memory_pb.AppendUploadRequest(chunk=chunk)
    for chunk in chunks.rest():
        yield memory_pb.AppendUploadRequest(chunk=chunk)
