# Generated from aio/_gen/blobs.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of blobs that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as working_memory_pb
from contextkeep.values import BlobEntry


class Blobs(Noun):
    """The calls of `client.blobs` that are one RPC each."""

    def list(
        self,
        entity_node_id: Id | None = None,
        *,
        include_archived: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[BlobEntry, None, None]:
        """Lists the blobs of an entity, newest first.

        Args:
            entity_node_id: The node whose blobs to list. Required, or `external_id`.
            include_archived: Include blobs of archived and expired records.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            NodeNotFound: no node has this `external_id`.
            Unavailable: the Entity Service does not answer; only with an `external_id`.
        """
        request = working_memory_pb.ListBlobsRequest(
            entity_node_id=messages.given_node_id(entity_node_id, field="entity_node_id", **named),
            include_archived=include_archived,
            page_size=page_size,
            **named,
        )
        while True:
            page: working_memory_pb.ListBlobsResponse = self._call("ListBlobs", request, timeout_s=timeout_s)
            for one in page.blobs:
                yield BlobEntry.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
