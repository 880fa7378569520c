"""WorkingMemory: parse, one call, render."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from context_service.blobs.storage import BLOCK_BYTES, Declared
from context_service.kernel.embedding import Embedding
from context_service.kernel.wire import times
from context_service.working_memory.api.find import Finders, FindingServicer
from context_service.working_memory.pure.fields import CONTENTS, RecordFilter, RecordInput
from context_service.working_memory.rules.fetch import RecordName, RecordReader
from context_service.working_memory.rules.lifecycle import LifeCycle
from context_service.working_memory.rules.records import WorkingMemory, record_before, with_content
from context_service.working_memory.rules.uploads import ResumableUploads, Upload
from context_service.working_memory.store.actions import Action
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.wire import record_filter, record_message
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import RESPONSE, request_of, unpacked
from service_runtime.values.checks import check_bytes, check_text
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLOB_KEY_CHARS_MAX = 200
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class WorkingMemoryServicer(FindingServicer):
    """Answers the RPCs of `WorkingMemory` that write, read and delete."""

    def __init__(
        self,
        memory: WorkingMemory,
        reader: RecordReader,
        life: LifeCycle,
        uploads: ResumableUploads,
        finders: Finders,
    ) -> None:
        super().__init__(finders)
        self._memory = memory
        self._reader = reader
        self._life = life
        self._uploads = uploads

    async def InsertWMRecord(self, request: pb.InsertWMRecordRequest, context: object) -> pb.InsertWMRecordResponse:
        """Insert a record."""
        draft = _draft("record", request.record)

        def replay(answer: dict[str, Any]) -> pb.InsertWMRecordResponse:
            return pb.InsertWMRecordResponse(record=record_message(with_content(record_before(answer), draft)))

        record = await self._memory.insert(
            draft, principal=calls.principal(), request=request_of("InsertWMRecord", request, replay=replay)
        )
        return pb.InsertWMRecordResponse(record=record_message(record))

    async def FetchWMRecord(self, request: pb.FetchWMRecordRequest, context: object) -> pb.FetchWMRecordResponse:
        """Read a record."""
        record = await self._reader.fetch(
            parse_id("working_memory_id", request.working_memory_id),
            principal=calls.principal(),
            include_archived=request.include_archived,
        )
        return pb.FetchWMRecordResponse(record=record_message(record))

    async def UpdateWMRecord(self, request: pb.UpdateWMRecordRequest, context: object) -> pb.UpdateWMRecordResponse:
        """Change fields of a record."""
        names = tuple(dict.fromkeys(request.update_mask.paths))
        draft = _draft("record", _mask(request.record, names))

        def replay(answer: dict[str, Any]) -> pb.UpdateWMRecordResponse:
            record = record_before(answer)
            if not CONTENTS.isdisjoint(names):
                record = with_content(record, draft)
            return pb.UpdateWMRecordResponse(record=record_message(record))

        record = await self._memory.update(
            parse_id("record.working_memory_id", request.record.working_memory_id),
            draft,
            names,
            principal=calls.principal(),
            expected_version=request.expected_version if request.HasField("expected_version") else None,
            request=request_of("UpdateWMRecord", request, replay=replay),
        )
        return pb.UpdateWMRecordResponse(record=record_message(record))

    async def FetchWMRecordsByEntity(
        self, request: pb.FetchWMRecordsByEntityRequest, context: object
    ) -> pb.FetchWMRecordsByEntityResponse:
        """List the records of an entity."""
        records, next_page_token = await self._reader.list_records(
            "FetchWMRecordsByEntity",
            record_filter(request, entity_node_id=await self._entity(request)),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=calls.principal(),
            with_content=request.with_content,
        )
        return pb.FetchWMRecordsByEntityResponse(records=map(record_message, records), next_page_token=next_page_token)

    async def DeleteWMRecord(self, request: pb.DeleteWMRecordRequest, context: object) -> pb.DeleteWMRecordResponse:
        """Archive or purge a record."""
        record_id = parse_id("working_memory_id", request.working_memory_id)
        if request.purge:
            await self._life.purge(record_id, principal=calls.principal())
            return pb.DeleteWMRecordResponse()
        record = await self._life.archive(RecordName(record_id=record_id), principal=calls.principal())
        return pb.DeleteWMRecordResponse(record=record_message(record))

    async def RestoreWMRecord(self, request: pb.RestoreWMRecordRequest, context: object) -> pb.RestoreWMRecordResponse:
        """Bring a record back."""
        record_id = parse_id("working_memory_id", request.working_memory_id)
        return pb.RestoreWMRecordResponse(
            record=record_message(await self._life.restore(record_id, principal=calls.principal()))
        )

    async def ListWMRecordActions(
        self, request: pb.ListWMRecordActionsRequest, context: object
    ) -> pb.ListWMRecordActionsResponse:
        """List what happened to a record."""
        actions, next_page_token = await self._life.actions(
            parse_id("working_memory_id", request.working_memory_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=calls.principal(),
        )
        return pb.ListWMRecordActionsResponse(actions=map(_action, actions), next_page_token=next_page_token)

    async def UploadBlob(self, requests: AsyncIterator[pb.UploadBlobRequest], context: object) -> pb.UploadBlobResponse:
        """Store a file."""
        header: pb.UploadHeader = await _header(requests)
        async with aclosing(_chunks(requests)) as chunks:
            record = await self._memory.upload_blob(
                _draft("header.record", header.record),
                chunks,
                principal=calls.principal(),
                declared=_declaration(header, "header."),
                request=request_of("UploadBlob", header, replay=lambda answer: _upload_response(record_before(answer))),
            )
        return _upload_response(record)

    async def StartUpload(self, request: pb.StartUploadRequest, context: object) -> pb.StartUploadResponse:
        """Begin a resumable upload."""

        def response(upload: Upload) -> pb.StartUploadResponse:
            return pb.StartUploadResponse(upload=self._upload(upload))

        async def replay(answer: dict[str, str]) -> pb.StartUploadResponse:
            # A retry gets the current state of the upload, not the stored one, so that the caller continues correctly.
            upload = await self._uploads.find(UUID(answer["upload_id"]), principal=calls.principal())
            if upload is None:  # finished long ago, or given up
                return pb.StartUploadResponse.FromString(unpacked(answer[RESPONSE]))
            return response(upload)

        upload = await self._uploads.start(
            _draft("record", request.record),
            principal=calls.principal(),
            declared=_declaration(request, ""),
            request=request_of("StartUpload", request, response=response, replay=replay),
        )
        return response(upload)

    async def AppendUpload(
        self, requests: AsyncIterator[pb.AppendUploadRequest], context: object
    ) -> pb.AppendUploadResponse:
        """Add a part to an upload."""
        header: pb.AppendHeader = await _header(requests)
        async with aclosing(_chunks(requests)) as chunks:
            upload = await self._uploads.append(
                parse_id("header.upload_id", header.upload_id),
                chunks,
                offset_bytes=_not_negative("header.offset_bytes", header.offset_bytes),
                principal=calls.principal(),
            )
        return pb.AppendUploadResponse(upload=self._upload(upload))

    async def AppendUploadPart(
        self, request: pb.AppendUploadPartRequest, context: object
    ) -> pb.AppendUploadPartResponse:
        """Add a part that one request has to an upload."""
        _check_part(request.content)
        upload = await self._uploads.append(
            parse_id("upload_id", request.upload_id),
            _one_chunk(request.content),
            offset_bytes=_not_negative("offset_bytes", request.offset_bytes),
            principal=calls.principal(),
        )
        return pb.AppendUploadPartResponse(upload=self._upload(upload))

    async def GetUpload(self, request: pb.GetUploadRequest, context: object) -> pb.GetUploadResponse:
        """Read the state of an upload."""
        upload = await self._uploads.get(parse_id("upload_id", request.upload_id), principal=calls.principal())
        return pb.GetUploadResponse(upload=self._upload(upload))

    async def FinishUpload(self, request: pb.FinishUploadRequest, context: object) -> pb.FinishUploadResponse:
        """Join the parts of an upload and make a record of them."""
        record = await self._uploads.finish(
            parse_id("upload_id", request.upload_id), declared=_declaration(request, ""), principal=calls.principal()
        )
        return pb.FinishUploadResponse(
            working_memory_id=str(record.id),
            blob_key=record.blob_key,
            size_bytes=record.size_bytes,
            sha256=record.sha256.hex(),
            record=record_message(record),
        )

    async def GetBlob(self, request: pb.GetBlobRequest, context: object) -> AsyncIterator[pb.GetBlobResponse]:
        """Stream a file: its record, then its bytes."""
        record, chunks = await self._reader.open_blob(
            _name(request),
            principal=calls.act_for(request.subject_user_id),
            start_bytes=_not_negative("offset_bytes", request.offset_bytes),
            length_bytes=_not_negative("length_bytes", request.length_bytes),
            include_archived=request.include_archived,
        )
        async with aclosing(chunks):
            yield pb.GetBlobResponse(record=record_message(record))
            async for chunk in chunks:
                yield pb.GetBlobResponse(chunk=chunk)

    async def GetContent(self, request: pb.GetContentRequest, context: object) -> pb.GetContentResponse:
        """Read the content of a record, or a range of it, in one answer."""
        record, content = await self._reader.content(
            _name(request),
            principal=calls.act_for(request.subject_user_id),
            start_bytes=_not_negative("offset_bytes", request.offset_bytes),
            length_bytes=request.length_bytes,
            include_archived=request.include_archived,
        )
        return pb.GetContentResponse(record=record_message(record), content=content)

    async def CreateDownloadUrl(
        self, request: pb.CreateDownloadUrlRequest, context: object
    ) -> pb.CreateDownloadUrlResponse:
        """Make a URL for downloading a file without a key."""
        record, url, expires_at = await self._reader.download_url(
            _name(request),
            principal=calls.principal(),
            lifetime_s=request.lifetime_s,
            include_archived=request.include_archived,
        )
        answer = pb.CreateDownloadUrlResponse(record=record_message(record), url=url)
        answer.expires_at.FromDatetime(expires_at)
        return answer

    async def DeleteBlob(self, request: pb.DeleteBlobRequest, context: object) -> pb.DeleteBlobResponse:
        """Archive the record of a blob."""
        record = await self._life.archive(_name(request), principal=calls.principal(), with_blob=True)
        return pb.DeleteBlobResponse(working_memory_id=str(record.id))

    async def ListBlobs(self, request: pb.ListBlobsRequest, context: object) -> pb.ListBlobsResponse:
        """List the blobs of an entity."""
        which = RecordFilter(
            entity_node_id=await self._entity(request),
            include_archived=request.include_archived,
            blobs_only=True,
        )
        records, next_page_token = await self._reader.list_records(
            "ListBlobs",
            which,
            PageRequest(size=request.page_size, token=request.page_token),
            principal=calls.principal(),
            with_content=False,
        )
        return pb.ListBlobsResponse(blobs=map(_entry, records), next_page_token=next_page_token)

    async def _entity(self, request: pb.FetchWMRecordsByEntityRequest | pb.ListBlobsRequest) -> UUID:
        return await self._finders.names.id_of("entity_node_id", request.entity_node_id, request)

    def _upload(self, upload: Upload) -> pb.Upload:
        """Return a resumable upload as protobuf, with its record if it is finished."""
        return copied(
            pb.Upload,
            upload,
            upload_id=str(upload.id),
            part_bytes_max=self._uploads.part_bytes_max,
            record=None if upload.record is None else record_message(upload.record),
        )


def _draft(path: str, message: pb.WMRecordInput) -> RecordInput:
    """Return the record that a caller describes, parsed and not yet checked."""
    embedding = None
    if message.HasField("embedding"):
        embedding = Embedding(values=tuple(message.embedding.values), model=message.embedding.model)
    return copied(
        RecordInput,
        message,
        id=parse_optional_id(f"{path}.working_memory_id", message.working_memory_id),
        entity_node_id=parse_optional_id(f"{path}.entity_node_id", message.entity_node_id),
        expires_at=times.time_of(f"{path}.expires_at", message.expires_at) if message.HasField("expires_at") else None,
        embedding=embedding,
    )


def _mask(message: pb.WMRecordInput, names: tuple[str, ...]) -> pb.WMRecordInput:
    """Return the message with only the named fields; fields outside the mask are not even parsed."""
    masked = pb.WMRecordInput()
    masked.CopyFrom(message)
    for field in message.DESCRIPTOR.fields:
        if field.name not in names:
            masked.ClearField(field.name)
    return masked


def _name(
    request: pb.GetBlobRequest | pb.GetContentRequest | pb.DeleteBlobRequest | pb.CreateDownloadUrlRequest,
) -> RecordName:
    """Return how a request names a record: by its id or by the key of its blob."""
    return RecordName(
        record_id=parse_optional_id("working_memory_id", request.working_memory_id),
        blob_key=check_text("blob_key", request.blob_key, chars_max=_BLOB_KEY_CHARS_MAX),
    )


def _upload_response(record: Record) -> pb.UploadBlobResponse:
    """Return the answer to an upload."""
    return pb.UploadBlobResponse(
        working_memory_id=str(record.id),
        blob_key=record.blob_key,
        size_bytes=record.size_bytes,
        sha256=record.sha256.hex(),
        record=record_message(record),
    )


async def _header(requests: AsyncIterator[Any]) -> Any:
    """Return the header of an upload or of a part, which is the first message of the stream.

    Raises:
        InvalidArgument: The first message is not a header.
    """
    first = await anext(requests, None)
    if first is None or not first.HasField("header"):
        raise InvalidArgument("the first message of the stream must have a header", field="header")
    return first.header


async def _chunks(requests: AsyncIterator[Any]) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the messages that follow the header.

    Raises:
        InvalidArgument: a message is not a chunk, or its chunk is too large.
    """
    async for request in requests:
        if not request.HasField("chunk"):
            raise InvalidArgument("each message after the header must have a chunk", field="chunk")
        chunk = request.chunk
        if len(chunk) > BLOCK_BYTES:
            raise InvalidArgument(f"a chunk may have up to {BLOCK_BYTES} bytes (got {len(chunk)})", field="chunk")
        if chunk:
            yield chunk


def _check_part(content: bytes) -> None:
    """Refuse a part that one request cannot have.

    Raises:
        InvalidArgument: the part is empty.
        LimitExceeded: the part is too large.
    """
    if not content:
        raise InvalidArgument("a part must have at least one byte", field="content")
    check_bytes("content", len(content), BLOCK_BYTES)


async def _one_chunk(content: bytes) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a part."""
    yield content


def _declaration(header: pb.UploadHeader | pb.StartUploadRequest | pb.FinishUploadRequest, path: str) -> Declared:
    """Return the declared size and hash of a message that is at `path` of its request.

    Raises:
        InvalidArgument: the hash is malformed, or the size is negative.
    """
    sha256 = None
    if header.sha256:
        if not _SHA256.fullmatch(header.sha256):
            raise InvalidArgument("sha256 must be 64 hexadecimal digits", field=f"{path}sha256")
        sha256 = bytes.fromhex(header.sha256)
    size_bytes = None
    if header.HasField("size_bytes"):
        size_bytes = _not_negative(f"{path}size_bytes", header.size_bytes)
    return Declared(size_bytes=size_bytes, sha256=sha256)


def _not_negative(field: str, value: int) -> int:
    if value < 0:
        raise InvalidArgument(f"{field} must be 0 or more (got {value})", field=field)
    return value


def _action(action: Action) -> pb.WMRecordAction:
    return copied(pb.WMRecordAction, action, kind=f"RECORD_ACTION_KIND_{action.kind.upper()}")


def _entry(record: Record) -> pb.BlobEntry:
    return copied(pb.BlobEntry, record, working_memory_id=str(record.id), sha256=record.sha256.hex())
