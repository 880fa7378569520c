"""Blobs in a bucket of S3, or of another service that speaks S3.

A small blob is one request; a large one is a multipart upload, which becomes visible when it completes. S3 has no
condition for streams, so two writers of a key would overwrite each other: keys are random and never used twice.
"""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from context_service.blobs.container_names import S3_BUCKET
from context_service.blobs.last_requests import SETTLE_S, LastRequests
from context_service.blobs.parts import in_parts, size_bytes
from context_service.blobs.retries import RETRIES_MAX, Retries
from context_service.blobs.storage import BLOCK_BYTES, BlobStat, Download, check_key
from context_service.settings import Settings
from contextkeep.errors import BlobNotFound, ContextKeepError, ProviderNotConfigured, StorageFull, Unavailable

PART_BYTES = 8 * 1024 * 1024  # an upload has at most 10,000 parts
PARTS_AT_ONCE = 2  # parts of one upload at the same time
CONNECT_TIMEOUT = timedelta(seconds=10)
ANSWER_TIMEOUT = timedelta(seconds=60)  # timeout of a request that receives no byte
PART_TIMEOUT = timedelta(minutes=5)  # for all of a part
READ_TIMEOUT = timedelta(days=7)  # for all of a blob


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[S3Backend]:
    """Open the backend for the block.

    Raises:
        ProviderNotConfigured: a setting is missing.
        Unavailable: the bucket must be created, and the service does not answer.
    """
    bucket = settings.working_memory_s3_bucket or settings.working_memory_storage_container
    endpoint, region = settings.aws_s3_endpoint, settings.aws_region
    if not bucket:
        raise _misconfigured(
            "set WORKING_MEMORY_STORAGE_CONTAINER or WORKING_MEMORY_S3_BUCKET to the name of the bucket"
        )
    own = "WORKING_MEMORY_S3_BUCKET" if settings.working_memory_s3_bucket else ""
    S3_BUCKET.check(bucket, variable=own or "WORKING_MEMORY_STORAGE_CONTAINER")
    if not endpoint and not region:
        raise _misconfigured("AWS_REGION is required: set it to the region of the bucket")
    key, secret = settings.aws_access_key_id, settings.aws_secret_access_key.get_secret_value()
    if bool(key) != bool(secret):
        raise _misconfigured("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together: set both or neither")
    values: dict[str, Any] = {
        "region": region or "us-east-1",
        "endpoint": endpoint or None,
        "access_key_id": key or None,
        "secret_access_key": secret or None,
        "session_token": settings.aws_session_token.get_secret_value() or None,
        "disable_bulk_delete": "true",  # delete with one request for each blob, which every S3-like service supports
    }
    config: Any = {name: value for name, value in values.items() if value is not None}

    def store(timeout: timedelta, retries_max: int) -> S3Store:
        """Return a client for the bucket with a time limit and a number of retries for each request."""
        return S3Store(
            bucket,
            config=config,
            client_options={
                "allow_http": endpoint.startswith("http:"),
                "connect_timeout": CONNECT_TIMEOUT,
                "read_timeout": ANSWER_TIMEOUT,
                "timeout": timeout,
            },
            retry_config={"max_retries": retries_max, "retry_timeout": PART_TIMEOUT},
        )

    async with LastRequests().running() as last_requests:
        try:
            # The library has the parts of an upload, so only the library can retry them.
            backend = S3Backend(store(READ_TIMEOUT, 0), store(PART_TIMEOUT, RETRIES_MAX), last_requests)
        except (BaseError, ValueError) as error:
            raise _misconfigured(f"the settings of S3 are malformed: {error}") from error
        if settings.working_memory_storage_create_container:
            await backend.retries.call(lambda: backend.create_bucket(region))
        yield backend


class S3Backend:
    """A `BlobBackend` on a bucket.

    Args:
        store: The client for requests that this backend retries.
        parts: The client for uploads in parts, which the library retries.
        last_requests: Cleans up after writes that are cancelled while they publish.
    """

    def __init__(self, store: S3Store, parts: S3Store, last_requests: LastRequests) -> None:
        self._store = store
        self._parts = parts
        self._last_requests = last_requests
        self.retries = Retries()

    async def create_bucket(self, region: str) -> None:
        """Make the bucket, if it is missing."""
        with _our_errors():
            url = await obstore.sign_async(self._store, "PUT", "", timedelta(minutes=1))
        elsewhere = region and region != "us-east-1"
        body = (
            f"<CreateBucketConfiguration><LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
        )

        def put() -> None:
            request = urllib.request.Request(url, data=body.encode() if elsewhere else b"", method="PUT")  # noqa: S310
            with urllib.request.urlopen(request, timeout=CONNECT_TIMEOUT.total_seconds()):  # noqa: S310
                pass

        try:
            await asyncio.to_thread(put)
        except urllib.error.HTTPError as error:
            error.close()  # the error holds the response and its connection
            if error.code != 409:  # the bucket exists
                raise _misconfigured(f"S3 did not create the bucket: status {error.code}") from error
        except OSError as error:
            raise _silent() from error

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        """Store the blocks under `key`."""
        check_key(key)
        async with aclosing(in_parts(blocks, part_bytes=PART_BYTES)) as parts:
            part = await anext(parts)
            if size_bytes(part) < PART_BYTES:
                content = b"".join(part)
                putting = asyncio.create_task(self.retries.call(lambda: self._put(key, content)))
                await self._last_requests.finish(putting, lambda: self.delete(key))
                return
            feed = _Feed()
            putting = asyncio.create_task(self._put_parts(key, feed))
            putting.add_done_callback(feed.stop)
            try:
                while part:
                    for block in part:
                        await feed.give(block)
                    if putting.done():
                        break
                    part = await anext(parts, [])
                await feed.give(b"")
            except BaseException as error:
                # The library aborts an upload whose source fails, so none of its parts stay in the bucket.
                feed.fail(error)
                await asyncio.wait([putting], timeout=SETTLE_S)
                putting.cancel()  # a part got no response: the bucket's lifecycle rule removes the upload
                await asyncio.gather(putting, return_exceptions=True)
                raise
            await self._last_requests.finish(putting, lambda: self.delete(key))

    async def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of the blob."""
        check_key(key)
        with _our_errors():
            # S3 refuses an empty range; request the whole blob then, and do not read it.
            options: Any = {"range": (start_bytes, end_bytes)} if start_bytes < end_bytes else {}
            try:
                response = await obstore.get_async(self._store, key, options=options)
            except BaseError as error:
                if "InvalidRange" in str(error):
                    return
                raise
            if start_bytes >= end_bytes:
                return
            chunks = aiter(response.stream(min_chunk_size=BLOCK_BYTES))
        while True:
            with _our_errors():
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            block_bytes = memoryview(chunk)
            for start in range(0, len(block_bytes), BLOCK_BYTES):
                yield bytes(block_bytes[start : start + BLOCK_BYTES])

    async def delete(self, key: str) -> None:
        """Remove the blob. A lifecycle rule of the bucket must remove the parts of killed uploads."""
        check_key(key)
        with suppress(BlobNotFound), _our_errors():
            await obstore.delete_async(self._store, key)

    async def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield the blobs whose keys start with `prefix`."""
        after = ""
        while page := await self.retries.call(partial(self._page, prefix, after, page_size)):
            after = page[-1].key
            # The library's prefixes end at slashes.
            if stats := [stat for stat in page if stat.key.startswith(prefix)]:
                yield stats

    async def download_url(self, key: str, download: Download) -> str:
        """Return a presigned URL for reading this blob."""
        check_key(key)
        with _our_errors():
            return await obstore.sign_async(self._store, "GET", key, download.expires_at - datetime.now(UTC))

    async def check(self) -> None:
        """Ask for a blob that does not exist: this detects a missing bucket."""
        with suppress(BlobNotFound), _our_errors():
            await obstore.get_async(self._store, "health")

    async def _page(self, prefix: str, after: str, page_size: int) -> list[BlobStat]:
        """Return a page of the blobs in the folder of the prefix, after a key."""
        folder = prefix.rpartition("/")[0]
        with _our_errors():
            pages = obstore.list(self._store, folder or None, offset=after or None, chunk_size=page_size)
            page: Sequence[Any] = await anext(aiter(pages), [])
        return [BlobStat(key=entry["path"], size_bytes=entry["size"]) for entry in page]

    async def _put(self, key: str, content: bytes) -> None:
        with _our_errors():
            await obstore.put_async(self._store, key, content, use_multipart=False)

    async def _put_parts(self, key: str, feed: _Feed) -> None:
        """Upload a large blob in parts, whose bytes come from `feed` while the library sends earlier ones."""
        with _our_errors():
            await obstore.put_async(
                self._parts,
                key,
                feed.blocks(),
                use_multipart=True,
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE,
            )


class _Feed:
    """A queue of up to two blocks to the library, which runs in parallel."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[bytes | BaseException] = asyncio.Queue(2)
        self._stopped = False

    async def give(self, block: bytes) -> None:
        """Enqueue a block; an empty block marks the end. Does nothing once the library has stopped."""
        if not self._stopped:
            await self._waiting.put(block)

    def fail(self, error: BaseException) -> None:
        """Make the library's next read raise."""
        self._empty()
        self._waiting.put_nowait(error if isinstance(error, Exception) else _GivenUp())

    def stop(self, _: object) -> None:
        """Mark the library as stopped, and wake a writer that waits for space."""
        self._stopped = True
        self._empty()

    async def blocks(self) -> AsyncIterator[bytes]:
        """Yield the blocks of the queue."""
        while block := await self._waiting.get():
            if isinstance(block, BaseException):
                raise block
            yield block

    def _empty(self) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait()


class _GivenUp(Exception):
    """The upload was cancelled. Unlike a cancellation, this exception passes through the library."""


def _misconfigured(message: str) -> ProviderNotConfigured:
    return ProviderNotConfigured(message, provider="s3")


def _silent() -> Unavailable:
    return Unavailable("S3 does not answer", dependency="s3")


@contextmanager
def _our_errors() -> Iterator[None]:
    """Turn an error of the library into ours; the text of S3 stays in the cause, which is logged and never sent."""
    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        raise _ours(error) from error


def _ours(error: Exception) -> ContextKeepError:
    """Return our exception for an error of the library, which says what S3 answered only in its text."""
    message = str(error)
    if "NoSuchBucket" in message:
        return _misconfigured("the bucket of S3 does not exist: WORKING_MEMORY_STORAGE_CONTAINER")
    # Only S3's own code means that the blob is missing: a bare 404 may come from a proxy or gateway.
    if isinstance(error, FileNotFoundError) and "<Code>NoSuchKey</Code>" in message:
        return BlobNotFound("no blob has this key")
    # For a listing, the library has no error class for a 403, so the text is searched.
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or "status code: 403" in message:
        return _misconfigured("S3 refuses our credentials, or they lack permission")
    if "507 Insufficient Storage" in message or "StorageFull" in message or "QuotaExceeded" in message:
        return StorageFull("the bucket has no room left", dependency="s3")
    return _silent()
