"""The calls of uploads that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as working_memory_pb
from contextkeep.values import Upload


class Uploads(Noun):
    """The calls of `client.uploads` that are one RPC each."""

    async def append_part(
        self, upload_id: Id, content: bytes, *, offset_bytes: int = 0, timeout_s: float | None = None
    ) -> Upload:
        """Add one part of up to 1 MiB to an upload, in one request.

        Use it where `uploads.append`, a stream, is not at hand: over HTTP. A part in JSON has up to 750 kB, because its
        base64 counts against the size of a body.

        The part is added as by `uploads.append`, and the errors are the same.

        None of them ends the upload.

        Args:
            upload_id: The upload to add to.
            content: The bytes of the part, from 1 byte to 1 MiB.
            offset_bytes: Where the part begins in the whole file.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            UploadNotFound: No resumable upload has this id: it never existed, was given up, or was finished more than a
                day ago.
            UploadPartExists: The upload already has the bytes at the offset of this part.
            UploadGap: The upload does not have the bytes before the offset of this part yet.
            LimitExceeded: A value exceeds a limit.
            SizeMismatch: The upload has more or fewer bytes than its header declared. Nothing was stored.
            BlobTooLarge: The upload exceeds the size limit. Nothing was stored.
            UploadExpired: No byte of the upload arrived for so long that it was given up. Nothing was stored.
            Unavailable: The service, or a dependency of it, does not answer.
            StorageFull: The disk, the bucket or the database has no room left.
        """
        request = working_memory_pb.AppendUploadPartRequest(
            upload_id=messages.to_id(upload_id), offset_bytes=offset_bytes, content=content
        )
        answer: working_memory_pb.AppendUploadPartResponse = await self._call(
            "AppendUploadPart", request, timeout_s=timeout_s
        )
        return Upload.from_proto(answer.upload)

    async def get(self, upload_id: Id, *, timeout_s: float | None = None) -> Upload:
        """Return the progress of an upload; for one that finished within the last day, its record.

        Args:
            upload_id: The upload to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            UploadNotFound: it never existed, it expired, or it finished longer ago.
        """
        request = working_memory_pb.GetUploadRequest(upload_id=messages.to_id(upload_id))
        answer: working_memory_pb.GetUploadResponse = await self._call("GetUpload", request, timeout_s=timeout_s)
        return Upload.from_proto(answer.upload)
