# Generated from aio/_gen/uploads.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of uploads that are one RPC each, made by `make proto`."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as working_memory_pb
from contextkeep.values import Upload


class Uploads(Noun):
    """The calls of `client.uploads` that are one RPC each."""

    def get(self, upload_id: Id, *, timeout_s: float | None = None) -> Upload:
        """Return the progress of an upload; for one that finished within the last day, its record.

        Args:
            upload_id: The upload to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            UploadNotFound: it never existed, it expired, or it finished longer ago.
        """
        request = working_memory_pb.GetUploadRequest(upload_id=messages.to_id(upload_id))
        answer: working_memory_pb.GetUploadResponse = self._call("GetUpload", request, timeout_s=timeout_s)
        return Upload.from_proto(answer.upload)
