"""Resumable uploads: blobs that are sent in parts, each of which is stored at once."""

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
        """Store a file like `blobs.upload`, but in parts that are each stored at once, and return its record.

        A broken connection or a restart of the service costs one part, not the whole file. Store the id that
        `on_started` gets: if this process ends, another process continues the upload with `resume`.

        Args:
            source: Bytes, a path (a text is a path), an open binary file, or an iterator of bytes.
            name: A label. Empty takes the file's name, if the source has one.
            memory_type: A `MemoryType`, or your own text.
            working_memory_id: A UUID. By default the server creates one.
            sha256: Hash of the file in hexadecimal, if you know it. The service then refuses other bytes.
            request_id: A UUID. A repeat with the same one continues the same upload. Default: a new one.
            on_started: Called with the upload's id before the first part.
            on_progress: Called with the number of durable bytes and, if it is known, of all bytes.
            part_bytes: The size of a part; one part is held in memory.
            patience_s: Seconds for which to retry while no call succeeds.
            **fields: Further fields of the record: `RecordFields`.

        Raises:
            InvalidArgument: the source has no name and none is given.
            Unavailable: the service did not answer for `patience_s`. `resume` continues the upload.
            BlobTooLarge: the file is over the size limit.
            SizeMismatch, ChecksumMismatch, RecordExists: see `finish`.
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
        """Continue an upload that was started in this or another process, and return its record.

        The source is read from its start, so that its hash is compared with that of the stored bytes. Only the bytes
        that the service does not have yet are sent.

        Args:
            upload_id: Id of the upload.
            source: The same bytes as for `upload`.
            on_progress: Called with the number of durable bytes and, if it is known, of all bytes.
            part_bytes: The size of a part; one part is held in memory.
            patience_s: Seconds for which to retry while no call succeeds.

        Raises:
            UploadNotFound: the upload was discarded, after a day without a new part.
            ChecksumMismatch, SizeMismatch: the source differs from the one that the upload was started with.
            ContextKeepError: the errors of `upload`.
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
        """Start an upload that survives broken connections and restarts, and return it; `resume` sends the bytes.

        Args:
            name: A label.
            memory_type: A `MemoryType`, or your own text.
            size_bytes: Size of the whole file, if you know it.
            sha256: Hash of the whole file in hexadecimal, if you know it.
            working_memory_id: A UUID. By default the server creates one.
            request_id: A UUID. A repeat with the same one returns the same upload. Default: a new one.
            timeout_s: Deadline in seconds. None takes the client's.
            **fields: Further fields of the record: `RecordFields`.

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
        """Add one part to a resumable upload, and return the upload with its new offset.

        `resume` does this for a whole file. The part is sent once: after an error, `get` shows whether it arrived.

        Args:
            upload_id: Id of the upload.
            offset_bytes: Position of the part: the upload's `offset_bytes`.
            part: The bytes, in one piece or several; at most the upload's `part_bytes_max`.

        Raises:
            UploadNotFound: there is no such upload, or it is finished.
            UploadPartExists: the upload has bytes beyond this offset. Its offset is `offset_bytes` in the metadata.
            UploadGap: the upload has not reached this offset. Its offset is `offset_bytes` in the metadata.
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
        """Make a record of a resumable upload, and return the record. A repeat returns the same record.

        Args:
            upload_id: Id of the upload.
            size_bytes: Size of all parts together, if you know it.
            sha256: Hash of all parts together in hexadecimal, if you know it.
            timeout_s: Deadline. The service reads and writes all bytes once more, which may take minutes.

        Raises:
            UploadNotFound: there is no such upload.
            SizeMismatch: the parts have another number of bytes. They stay, and further parts may be added.
            ChecksumMismatch: the parts have another hash.
            RecordExists: another record got the id meanwhile.
        """
        request = memory_pb.FinishUploadRequest(
            upload_id=messages.to_id(upload_id), size_bytes=size_bytes, sha256=sha256
        )
        response: memory_pb.FinishUploadResponse = await self._call("FinishUpload", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    async def _send(
        self, upload: Upload, source: UploadInput, *, on_progress: OnProgress | None, part_bytes: int, patience_s: float
    ) -> Record:
        """Send the bytes that an upload does not have yet, finish it, and return its record."""
        if not part_bytes > 0:
            raise InvalidArgument("part_bytes must be above 0", field="part_bytes")
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
        """Send one part, and repeat it until the service has it."""
        end_bytes = offset_bytes + sum(map(len, part))
        attempts = 0

        async def attempt() -> None:
            nonlocal attempts
            attempts += 1
            if attempts > 1 and (await self.get(upload_id)).offset_bytes == end_bytes:
                return  # the part had arrived, and only its answer was lost
            try:
                await self.append(upload_id, offset_bytes, part)
            except UploadPartExists as error:
                # The part of an earlier attempt arrived after `get` had answered.
                if attempts == 1 or error.metadata.get("offset_bytes") != str(end_bytes):
                    raise

        await self._patiently(patience_s, attempt)
        tally.report(end_bytes)

    async def _patiently(self, patience_s: float, attempt: Callable[[], Awaitable[_T]]) -> _T:
        """Return the result of `attempt`; repeat it for `patience_s` while the service does not answer."""
        attempts = Attempts(None, retries=sys.maxsize, timeout_s=patience_s)
        while True:
            try:
                return await attempt()
            except (Unavailable, DeadlineExceeded, Cancelled) as error:  # a service that stops cancels its calls
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
