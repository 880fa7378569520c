"""Blobs: files in working memory, streamed both ways."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Self, Unpack

from contextkeep.client import _aio_io as io
from contextkeep.client import _messages as messages
from contextkeep.client._messages import BlobName, Id, RecordFields
from contextkeep.client._tracing import ClientSpan
from contextkeep.client._transfer import OnProgress, Tally, UploadInput, check_download, check_upload, range_bytes
from contextkeep.client.aio._gen import blobs as gen
from contextkeep.client.aio.chunks import chunks_of
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.errors import Internal, InvalidArgument
from contextkeep.memory_types import MemoryType
from contextkeep.values import Record


class Blobs(gen.Blobs):
    """Blobs: files that are uploaded and downloaded, whole or in part."""

    async def upload(
        self,
        source: io.UploadSource,
        *,
        name: str = "",
        memory_type: str = MemoryType.FILE,
        working_memory_id: Id | None = None,
        sha256: str = "",
        request_id: Id | None = None,
        on_progress: OnProgress | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Store a file and return its record. When it returns, the bytes are durable; until then nothing is visible.

        The bytes are streamed, never held at once, and hashed on the way; the answer is compared with the sent bytes.
        An upload that failed with `Unavailable` is repeated only if the source can be read again: bytes, the path of
        a file, a seekable file.

        Args:
            source: Bytes, a path (a text is a path), an open binary file, or an iterator of bytes.
            name: A label. Empty takes the file's name, if the source has one.
            memory_type: A `MemoryType`, or your own text.
            working_memory_id: A UUID. By default the server creates one.
            sha256: Hash of the file in hexadecimal, if you know it. The service then refuses other bytes.
            request_id: As in `records.insert`.
            on_progress: Called with the number of sent bytes and, if it is known, of all bytes. The numbers begin at 0
                again if the upload is repeated.
            **fields: Further fields of the record: `RecordFields`.

        Raises:
            InvalidArgument: the source has no name and none is given.
            BlobTooLarge: the file is over the size limit. Nothing was stored.
            ChecksumMismatch: the bytes have another hash than `sha256`. Nothing was stored.
            BlobCorrupted: the stored bytes differ from the sent ones.
            OSError: the source cannot be read.
        """
        reader = await io.source_of(source)
        name = name or reader.name
        if not name:
            raise InvalidArgument("the source has no name of its own: give one", field="header.record.name")
        record = messages.record_input(
            memory_type=memory_type,
            name=name,
            working_memory_id=working_memory_id,
            **messages.with_app(self._options.app_id, fields),
        )
        header = memory_pb.UploadHeader(
            record=record,
            size_bytes=reader.size_bytes,
            sha256=sha256,
            request_id=messages.new_request_id(request_id),
        )

        async def attempt() -> Record:
            tally = Tally(reader.size_bytes, on_progress)
            outgoing = _upload_messages(header, reader, tally)
            async with aclosing(outgoing):
                with ClientSpan("UploadBlob", self._metadata) as span:
                    answer: memory_pb.UploadBlobResponse = await self._connection.upload(
                        "UploadBlob", outgoing, idle_timeout_s=self._options.idle_timeout_s, metadata=span.metadata
                    )
                async for _ in outgoing:
                    pass  # a repeated request is answered before it is read; its bytes must be the same
            check_upload(answer, tally)
            return Record.from_proto(answer.record)

        return await self._repeated(self._attempts(None, may_repeat=reader.replayable), attempt)

    async def get(
        self,
        blob: BlobName,
        *,
        offset_bytes: int = 0,
        length_bytes: int = 0,
        include_archived: bool = False,
        subject_user_id: str = "",
    ) -> AsyncBlobReader:
        """Open a blob, or a range of it, for reading: its record, then its bytes as they arrive.

        Args:
            blob: A record, a record's id, or a blob key.
            offset_bytes: Position of the first byte.
            length_bytes: Number of bytes. 0 reads to the end, as does a number beyond it.
            include_archived: Read the blob even if its record is archived.
            subject_user_id: The user for whom to read a file of a context.

        Raises:
            RecordNotFound: there is no such record.
            BlobNotFound: no blob has this key.
            RecordArchived: the record is archived, and `include_archived` is not set.
            RecordHasNoBlob: the record's content is inline: see `get_content`.
            RangePastEnd: the range starts past the end.
        """
        request = memory_pb.GetBlobRequest(
            **messages.blob_name(blob),
            offset_bytes=offset_bytes,
            length_bytes=length_bytes,
            include_archived=include_archived,
            subject_user_id=subject_user_id,
        )
        return await _reader_of(request, self._stream("GetBlob", request))

    async def download(
        self,
        blob: BlobName,
        path: str | os.PathLike[str],
        *,
        include_archived: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Record:
        """Write a blob to a file and return its record.

        The bytes go into a temporary file next to `path` and are checked against the record's sha256. Then the file is
        renamed, and replaces a file with that name. If anything fails, no file is left, and an old one is unchanged.
        When this returns, the file is on disk.

        Args:
            blob: A record, a record's id, or a blob key.
            path: The file. Its folder must exist.
            include_archived: Read the blob even if its record is archived.
            on_progress: Called with the bytes written and all bytes. It starts again if the download does.

        Raises:
            BlobCorrupted: the bytes that arrived are not those of the blob.
            OSError: the file cannot be written.
            ContextKeepError: the same errors as `get`.
        """
        request = memory_pb.GetBlobRequest(**messages.blob_name(blob), include_archived=include_archived)
        attempts = self._attempts(None)

        async def attempt() -> Record:
            async with io.Target(path) as target:
                reader = await _reader_of(request, self._streamed("GetBlob", request, attempts))
                async with reader:
                    written_bytes = 0
                    async for chunk in reader:
                        await target.write(chunk)
                        written_bytes += len(chunk)
                        if on_progress is not None:
                            on_progress(written_bytes, reader.size_bytes)
                await target.commit()
                return reader.record

        return await self._repeated(attempts, attempt)

    async def get_content(
        self,
        blob: BlobName,
        *,
        offset_bytes: int = 0,
        length_bytes: int = 0,
        include_archived: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> bytes:
        """Return the content of a record or a range of it, up to 3 MiB, whether it is a blob or inline.

        Args:
            blob: The record or its id, or the key of its blob.
            offset_bytes: The first byte to read.
            length_bytes: Bytes to read. 0, or more than the content has, reads to its end.
            include_archived: Also read content of archived and expired records.
            subject_user_id: The user for whom to read a file of a context.
            timeout_s: Deadline in seconds. None takes the client's.

        Raises:
            AnswerTooLarge: the content is larger: use `get`, or read it in ranges.
            RangePastEnd: `offset_bytes` is past the end of the content.
            ContextKeepError: the same errors as `get`.
        """
        request = memory_pb.GetContentRequest(
            **messages.blob_name(blob),
            offset_bytes=offset_bytes,
            length_bytes=length_bytes,
            include_archived=include_archived,
            subject_user_id=subject_user_id,
        )
        response: memory_pb.GetContentResponse = await self._call("GetContent", request, timeout_s=timeout_s)
        return response.content


class AsyncBlobReader:
    """The bytes of a blob as they arrive; `get` returns it.

    Iterate it once. At the end the number of bytes is checked, and of a whole blob the sha256: if that raises
    `BlobCorrupted`, discard the bytes that came before. Close the reader, or use it in a `with` block, if you do not
    read to the end.
    """

    def __init__(
        self, record: Record, size_bytes: int, answers: AsyncGenerator[memory_pb.GetBlobResponse, None]
    ) -> None:
        self.record = record
        self.size_bytes = size_bytes  # of this read: the blob's, or the range's
        self._answers = answers
        self._chunks = _checked(record, size_bytes, answers)  # not a method: a forgotten reader must not hold itself

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def close(self) -> None:
        """Cancel the rest of the stream."""
        await self._chunks.aclose()
        await self._answers.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()


async def _reader_of(
    request: memory_pb.GetBlobRequest, answers: AsyncGenerator[memory_pb.GetBlobResponse, None]
) -> AsyncBlobReader:
    """Return a reader of the answers after the first one."""
    first: memory_pb.GetBlobResponse | None = await anext(answers, None)
    if first is None or not first.HasField("record"):
        await answers.aclose()
        raise Internal("the service sent no record before the bytes of a blob")
    record = Record.from_proto(first.record)
    expected_bytes = range_bytes(record, offset_bytes=request.offset_bytes, length_bytes=request.length_bytes)
    return AsyncBlobReader(record, expected_bytes, answers)


async def _checked(
    record: Record, size_bytes: int, answers: AsyncGenerator[memory_pb.GetBlobResponse, None]
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of `answers`, then compare them with the record."""
    tally = Tally(size_bytes, None)
    async with aclosing(answers):
        async for answer in answers:
            tally.add(answer.chunk)
            yield answer.chunk
    check_download(record, tally, expected_bytes=size_bytes)


async def _upload_messages(
    header: memory_pb.UploadHeader, source: UploadInput, tally: Tally
) -> AsyncGenerator[memory_pb.UploadBlobRequest, None]:
    """Yield the messages of an upload; report progress after each chunk."""
    yield memory_pb.UploadBlobRequest(header=header)
    chunks = chunks_of(source)
    async with aclosing(chunks):
        async for chunk in chunks:
            tally.add(chunk)
            yield memory_pb.UploadBlobRequest(chunk=chunk)
            tally.report()
