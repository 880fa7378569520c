"""The calls of blobs that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import BlobName, ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as working_memory_pb
from contextkeep.values import BlobEntry, DownloadUrl


class Blobs(Noun):
    """The calls of `client.blobs` that are one RPC each."""

    async def create_download_url(
        self, blob: BlobName, *, include_archived: bool = False, lifetime_s: int = 900, timeout_s: float | None = None
    ) -> DownloadUrl:
        """Create a URL from which anyone can download the blob directly from the provider, until it expires.

        Use it for browsers and large files. Protect the URL like the bytes: the service cannot revoke it; even a purge
        of the record stops it only after BLOB_DELETE_GRACE_S. The service does not check the downloaded bytes; compare
        them with the record's sha256.

        Args:
            blob: A record, the id of a record, or the key of a blob.
            include_archived: Also for blobs of archived and expired records.
            lifetime_s: Seconds until the URL expires, at most 604,800 (seven days). 0: 900.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            RecordNotFound: No working memory record that the caller may see has this id.
            BlobNotFound: No blob that the caller may see has this key.
            RecordArchived: The record is archived.
            RecordHasNoBlob: The record has no blob; its content, if any, is inline JSON.
            NoDownloadUrl: the blob is in a folder, or the credentials of the provider cannot sign; use `blobs.get`.
            ProviderNotConfigured: The blob is stored with a provider that the service is not configured for, or that
                refuses its credentials.
            Unavailable: The service, or a dependency of it, does not answer.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = working_memory_pb.CreateDownloadUrlRequest(
            **messages.blob_name(blob), include_archived=include_archived, lifetime_s=lifetime_s
        )
        answer: working_memory_pb.CreateDownloadUrlResponse = await self._call(
            "CreateDownloadUrl", request, timeout_s=timeout_s
        )
        return DownloadUrl.from_proto(answer)

    async def delete(self, blob: BlobName, *, timeout_s: float | None = None) -> str:
        """Archive the record of a blob, as `records.delete` does.

        A repeat is harmless.

        Args:
            blob: A record, the id of a record, or the key of a blob.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            RecordNotFound: No working memory record that the caller may see has this id.
            BlobNotFound: No blob that the caller may see has this key.
            RecordHasNoBlob: The record has no blob; its content, if any, is inline JSON.
        """
        request = working_memory_pb.DeleteBlobRequest(**messages.blob_name(blob))
        answer: working_memory_pb.DeleteBlobResponse = await self._call("DeleteBlob", request, timeout_s=timeout_s)
        return answer.working_memory_id

    async def list(
        self,
        entity_node_id: Id | None = None,
        *,
        include_archived: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[BlobEntry, None]:
        """List the blobs of an entity, newest first.

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
            page: working_memory_pb.ListBlobsResponse = await self._call("ListBlobs", request, timeout_s=timeout_s)
            for item in page.blobs:
                yield BlobEntry.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
