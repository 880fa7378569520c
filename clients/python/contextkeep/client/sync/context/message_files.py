# Generated from aio/context/message_files.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Uploads of files in messages, artifacts and tasks that are too large for a request."""

from __future__ import annotations

from typing import Any

from contextkeep.client import _context_messages as contexts
from contextkeep.client.sync.client import Client, Noun
from contextkeep.client.sync.context.blobs import Blobs
from contextkeep.memory_types import MemoryType


class WithUploads(Noun):
    """A noun whose requests have parts: of a request that is too large, it uploads the largest files first."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._blobs = Blobs(client)
        self._sent = self._call
        self._call = self._with_uploads

    def _with_uploads(self, rpc: str, request: Any, **settings: Any) -> Any:
        """Call an RPC, after the uploads that its request needs."""
        for request_id, file in contexts.files_to_upload(request):
            record = self._blobs.upload(
                file.data,
                name=file.name or "file",
                memory_type=MemoryType.MESSAGE_FILE,
                content_type=file.media_type,
                request_id=request_id,
            )
            file.working_memory_id = record.working_memory_id
        return self._sent(rpc, request, **settings)
