"""Blobs in a bucket of Google Cloud Storage.

A small blob is one request; a large one is a resumable upload, which becomes visible with its last part. Both have the
condition that the blob does not exist. Google's library blocks, so its calls run in threads, a bounded number.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import google.auth
import requests
import urllib3
from google.api_core.exceptions import GoogleAPICallError
from google.auth.credentials import AnonymousCredentials, Signing
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, RefreshError
from google.auth.transport.requests import AuthorizedSession, Request
from google.cloud.storage import Blob, Bucket, Client
from google.oauth2.service_account import Credentials as ServiceAccount
from requests.adapters import HTTPAdapter

from context_service.blobs.container_names import GCS_BUCKET
from context_service.blobs.last_requests import LastRequests
from context_service.blobs.parts import ended, fetched_ahead, in_parts, size_bytes
from context_service.blobs.retries import Retries, asked_delay_s
from context_service.blobs.storage import BlobExists, BlobStat, Download, check_key
from context_service.settings import Settings
from contextkeep.errors import BlobNotFound, NoDownloadUrl, ProviderNotConfigured, Unavailable

_T = TypeVar("_T")

PART_BYTES = 8 * 1024 * 1024  # size of a part of an upload
FETCH_BYTES = 4 * 1024 * 1024  # size of a part of a read
FETCHES_AT_ONCE = 2  # parts of one read at the same time
THREADS_MAX = 32
TIMEOUT_S = (10.0, 60.0)  # for connecting, and for a request that receives no byte
_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
_WRITER = "writer"  # metadata of a blob: the write that made it, for an upload whose last response was lost
_RESUME_INCOMPLETE = 308


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[GcsBackend]:
    """Open the backend for the block.

    Raises:
        ProviderNotConfigured: a setting is missing or malformed, or there are no credentials.
        Unavailable: the bucket must be created, and GCS does not answer.
    """
    name = settings.working_memory_gcs_bucket or settings.working_memory_storage_container
    if not name:
        raise _misconfigured(
            "set WORKING_MEMORY_STORAGE_CONTAINER or WORKING_MEMORY_GCS_BUCKET to the name of the bucket"
        )
    own = "WORKING_MEMORY_GCS_BUCKET" if settings.working_memory_gcs_bucket else ""
    GCS_BUCKET.check(name, variable=own or "WORKING_MEMORY_STORAGE_CONTAINER")
    credentials = await asyncio.to_thread(_credentials, settings)
    threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="gcs")
    with AuthorizedSession(credentials) as api, requests.Session() as uploads:
        for session in (api, uploads):
            for scheme in ("https://", "http://"):
                session.mount(scheme, HTTPAdapter(pool_maxsize=THREADS_MAX))
        client = Client(
            project=settings.google_cloud_project or None,
            credentials=credentials,
            _http=api,
            client_options={"api_endpoint": settings.storage_emulator_host} if settings.storage_emulator_host else None,
        )
        try:
            async with LastRequests().running() as last_requests:
                backend = GcsBackend(client.bucket(name), uploads, threads, last_requests)
                if settings.working_memory_storage_create_container:
                    await backend.retries.call(backend.create_bucket)
                yield backend
        finally:
            # A thread whose request gets no response ends with its timeout; the shutdown does not wait for it.
            threads.shutdown(wait=False, cancel_futures=True)


def _credentials(settings: Settings) -> Any:
    """Return the key of a service account if the settings have one, else the credentials of the environment."""
    key = settings.google_application_credentials_json.get_secret_value()
    variable = "GOOGLE_APPLICATION_CREDENTIALS" + ("_JSON" if key else "")
    try:
        if not key and settings.google_application_credentials:
            key = Path(settings.google_application_credentials).read_text()
        account = json.loads(key) if key else {}
        if account.get("type") == "service_account":
            return ServiceAccount.from_service_account_info(account, scopes=_SCOPES)
        if not key and settings.storage_emulator_host:
            return AnonymousCredentials()
        # The library finds other kinds of files, such as those of workload identity federation.
        return google.auth.default(scopes=_SCOPES)[0]
    except DefaultCredentialsError as error:
        raise _misconfigured(
            f"{variable} is not set, and there are no application default credentials; provide one of the two"
        ) from error
    except (GoogleAuthError, ValueError, AttributeError, OSError) as error:
        raise _misconfigured(f"{variable} has no valid Google credentials: {type(error).__name__}") from error


class GcsBackend:
    """A `BlobBackend` on a bucket. The caller opens and closes its sessions and threads."""

    def __init__(
        self, bucket: Bucket, uploads: requests.Session, threads: ThreadPoolExecutor, last_requests: LastRequests
    ) -> None:
        self._bucket = bucket
        self._uploads = uploads
        self._threads = threads
        self._last_requests = last_requests
        self._checking: asyncio.Future[None] | None = None
        self.retries = Retries()

    async def create_bucket(self) -> None:
        """Make the bucket, if it is missing."""
        with suppress(BlobExists):
            await self._run(self._bucket.create, timeout=TIMEOUT_S, retry=None)

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        """Store the blocks under `key`."""
        check_key(key)
        writer = secrets.token_hex(16)
        async with aclosing(in_parts(blocks, part_bytes=PART_BYTES)) as parts:
            part_before = await anext(parts)
            if size_bytes(part_before) < PART_BYTES:
                await self._publish(key, writer, partial(self._put, key, writer, b"".join(part_before)))
                return
            url = await self.retries.call(partial(self._run, self._start, key, writer))
            upload = _Upload(self._uploads, url)
            sending: deque[asyncio.Task[None]] = deque()
            try:
                async for part in parts:
                    while sending:
                        await sending.popleft()
                    if not part:
                        break
                    sending.append(asyncio.create_task(self._send(upload, b"".join(part_before), last=False)))
                    part_before = part
                while sending:
                    await sending.popleft()
            except BaseException:
                await ended(sending)
                self._threads.submit(upload.abandon)
                raise
        await self._publish(key, writer, partial(self._finish, key, writer, upload, b"".join(part_before)))

    async def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of the blob, one part ahead."""
        check_key(key)
        if start_bytes >= end_bytes:
            await self._run(self._bucket.blob(key).reload, timeout=TIMEOUT_S, retry=None)
            return

        async def fetch(position: int, length: int) -> bytes:
            return await self._run(self._fetch, key, position, length)

        parts = fetched_ahead(fetch, start_bytes, end_bytes, part_bytes=FETCH_BYTES, at_once=FETCHES_AT_ONCE)
        async with aclosing(parts):
            async for chunk in parts:
                yield chunk

    async def delete(self, key: str) -> None:
        """Remove the blob. Parts of a killed upload are invisible, and GCS drops them after a week."""
        check_key(key)
        with suppress(BlobNotFound):
            await self._run(self._bucket.blob(key).delete, timeout=TIMEOUT_S, retry=None)

    async def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield the blobs whose keys start with `prefix`."""
        listing = self._bucket.list_blobs(
            prefix=prefix or None,
            page_size=page_size,
            fields="items(name,size),nextPageToken",
            timeout=TIMEOUT_S,
            retry=None,
        )
        pages = listing.pages

        def next_page() -> list[BlobStat] | None:
            page = next(pages, None)
            return None if page is None else [BlobStat(key=blob.name, size_bytes=blob.size) for blob in page]

        while (stats := await self.retries.call(partial(self._run, next_page))) is not None:
            if stats:
                yield stats

    async def download_url(self, key: str, download: Download) -> str:
        """Return a V4 signed URL for reading this blob."""
        check_key(key)
        return await self._run(self._sign, key, download)

    async def check(self) -> None:
        """Ask for a blob that does not exist: this detects a missing bucket."""
        # The check runs in another thread than uploads, so that it does not wait for them. Only one check runs at a
        # time: if the network hangs, one thread waits for it, and not another one for each call.
        if self._checking is not None and not self._checking.done():
            raise _silent()
        self._checking = asyncio.ensure_future(asyncio.to_thread(self._check))
        self._checking.add_done_callback(_overlook)  # a caller that gave up does not see its error
        await asyncio.shield(self._checking)

    def _run(self, call: Callable[..., _T], *arguments: Any, **options: Any) -> asyncio.Future[_T]:
        """Start a blocking call in a thread; its errors are raised as ours."""

        def translated() -> _T:
            with _our_errors():
                return call(*arguments, **options)

        return asyncio.get_running_loop().run_in_executor(self._threads, translated)

    async def _publish(self, key: str, writer: str, request: Callable[[], Any]) -> None:
        """Publish the blob; if that fails or is cancelled, remove it again."""

        async def publish() -> None:
            try:
                await request()
            except BlobExists:
                # An earlier attempt may have made it, and its response was lost.
                if not await self._run(self._is_by, key, writer):
                    raise

        async def withdraw() -> None:
            with suppress(BlobNotFound):
                if await self._run(self._is_by, key, writer):
                    await self.delete(key)

        await self._last_requests.finish(asyncio.create_task(self.retries.call(publish)), withdraw)

    async def _send(self, upload: _Upload, part: bytes, *, last: bool) -> None:
        await self.retries.call(partial(self._run, upload.send, part, last=last))
        upload.position += len(part)

    async def _put(self, key: str, writer: str, content: bytes) -> None:
        """Upload a small blob in one request, on condition that the key is free."""

        def put() -> None:
            """Send the request, from a thread."""
            self._blob(key, writer).upload_from_string(
                content,
                "application/octet-stream",
                if_generation_match=0,
                timeout=TIMEOUT_S,
                checksum=None,
                retry=None,
            )

        await self._run(put)

    async def _finish(self, key: str, writer: str, upload: _Upload, part: bytes) -> None:
        """Send the last part of an upload. If the session is over but this write made the blob, that is a success."""
        try:
            await self._run(upload.send, part, last=True)
        except _UploadOver:
            # If the last response was lost, the blob exists.
            with suppress(BlobNotFound):
                if await self._run(self._is_by, key, writer):
                    return
            raise

    def _start(self, key: str, writer: str) -> str:
        """Start a resumable upload, and return its URL."""
        url: str = self._blob(key, writer).create_resumable_upload_session(
            "application/octet-stream", if_generation_match=0, timeout=TIMEOUT_S, checksum=None, retry=None
        )
        return url

    def _fetch(self, key: str, position: int, length: int) -> bytes:
        """Return `length` bytes of a blob from `position`: fewer at the end of the blob, and none after it."""
        try:
            part: bytes = self._bucket.blob(key).download_as_bytes(
                start=position,
                end=position + length - 1,
                raw_download=True,
                checksum=None,
                timeout=TIMEOUT_S,
                retry=None,
            )
            return part
        except GoogleAPICallError as error:
            if error.code == requests.codes.requested_range_not_satisfiable:
                return b""
            raise

    def _blob(self, key: str, writer: str) -> Blob:
        blob = self._bucket.blob(key)
        blob.metadata = {_WRITER: writer}
        return blob

    def _is_by(self, key: str, writer: str) -> bool:
        """Say whether a write made the blob: a response may be lost although the request succeeded.

        Raises:
            BlobNotFound: there is no blob under the key.
        """
        blob = self._bucket.blob(key)
        blob.reload(timeout=TIMEOUT_S, retry=None)
        return (blob.metadata or {}).get(_WRITER) == writer

    def _sign(self, key: str, download: Download) -> str:
        """Return a V4 signed URL for downloading a blob.

        Raises:
            NoDownloadUrl: the credentials cannot sign URLs.
        """
        credentials = self._bucket.client._credentials
        options: dict[str, Any] = {}
        if not isinstance(credentials, Signing):
            # A role of the machine has no key: Google signs for it, given iam.serviceAccounts.signBlob.
            if not getattr(credentials, "service_account_email", None):
                raise NoDownloadUrl("these credentials cannot sign URLs; use GetBlob", provider="gcs", use="GetBlob")
            credentials.refresh(Request())
            options = {"service_account_email": credentials.service_account_email, "access_token": credentials.token}
        url: str = self._bucket.blob(key).generate_signed_url(
            expiration=download.expires_at - datetime.now(UTC),
            version="v4",
            response_disposition=f"attachment; filename*=UTF-8''{quote(download.file_name, safe='')}",
            response_type=download.content_type or None,
            **options,
        )
        return url

    def _check(self) -> None:
        with suppress(BlobNotFound), _our_errors():
            self._bucket.blob("health").reload(timeout=TIMEOUT_S, retry=None)


def _overlook(checking: asyncio.Future[None]) -> None:
    """Retrieve a future's error, so that asyncio does not report it as unhandled."""
    if not checking.cancelled():
        checking.exception()


class _UploadOver(Unavailable):
    """GCS no longer knows the upload."""


class _Upload:
    """A resumable upload; its methods block. Its secret URL replaces credentials."""

    def __init__(self, session: requests.Session, url: str) -> None:
        self._session = session
        self._url = url
        self._unsure = False  # a response was lost: ask how many bytes arrived
        self.position = 0  # the offset of the part to send next

    def send(self, part: bytes, *, last: bool) -> None:
        """Send a part at `position`, or the rest of it that has not arrived."""
        end = self.position + len(part)
        total = str(end) if last else "*"
        start = self.position
        if self._unsure:
            arrived = self._arrived(total)
            if arrived is None or arrived >= end:
                return
            start = max(start, arrived)
        self._unsure = True
        answer = self._put(f"bytes {start}-{end - 1}/{total}", memoryview(part)[start - self.position :])
        if answer.status_code == _RESUME_INCOMPLETE and (last or _arrived(answer) < end):
            raise _silent()  # the next attempt sends the rest
        self._unsure = False

    def abandon(self) -> None:
        """Cancel the upload; if GCS does not receive that, it drops the upload after a week."""
        with suppress(requests.RequestException):
            self._session.delete(self._url, timeout=TIMEOUT_S)

    def _arrived(self, total: str) -> int | None:
        """Ask how many bytes have arrived; None if all have, and the blob exists."""
        answer = self._put(f"bytes */{total}", b"")
        return _arrived(answer) if answer.status_code == _RESUME_INCOMPLETE else None

    def _put(self, content_range: str, body: bytes | memoryview) -> requests.Response:
        """Send a range of the upload's bytes, and return the response.

        Raises:
            _UploadOver: the upload has ended.
            ContextKeepError: the answer is an error of Google Cloud Storage, as `_of_status` translates it.
        """
        headers = {"Content-Range": content_range, "Content-Length": str(len(body))}
        answer = self._session.put(self._url, data=body, headers=headers, timeout=TIMEOUT_S)
        if answer.status_code in (404, 410):
            raise _UploadOver("the upload ended before its last part", dependency="gcs")
        if answer.status_code not in (200, 201, _RESUME_INCOMPLETE):
            raise _of_status(answer.status_code, answer.text, answer.headers.get("Retry-After"))
        return answer


def _arrived(answer: requests.Response) -> int:
    last = answer.headers.get("Range", "").rpartition("-")[2]
    # GCS keeps multiples of 256 KiB; an emulator says 0-0 for nothing.
    return int(last) + 1 if last.isdigit() and last != "0" else 0


def _misconfigured(message: str) -> ProviderNotConfigured:
    return ProviderNotConfigured(message, provider="gcs")


def _silent() -> Unavailable:
    return Unavailable("Google Cloud Storage does not answer", dependency="gcs")


@contextmanager
def _our_errors() -> Iterator[None]:
    """Turn an error of the library into ours; Google's text stays in the cause, which is logged and never sent."""
    try:
        yield
    except GoogleAPICallError as error:
        retry_after = getattr(error.response, "headers", {}).get("Retry-After")
        reasons = {detail.get("reason") for detail in error.errors if isinstance(detail, Mapping)}
        raise _of_status(error.code or 0, error.message, retry_after, reasons) from error
    except (RefreshError, DefaultCredentialsError) as error:
        if getattr(error, "retryable", False):
            raise _silent() from error
        raise _misconfigured(
            "Google did not give a token for the configured credentials; check that they are still valid"
        ) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, GoogleAuthError, OSError) as error:
        raise _silent() from error
    except (AttributeError, TypeError) as error:  # the library reads a gateway's JSON error as one of GCS
        raise _silent() from error


def _of_status(
    status: int, message: str | None, retry_after: str | None, reasons: Collection[str | None] = ()
) -> Exception:
    """Return our exception for an HTTP status of GCS.

    Args:
        status: The HTTP status of the answer.
        message: Body of the answer, or the message in it.
        retry_after: The `Retry-After` header of the answer, if there is one.
        reasons: Reasons that the JSON of the answer lists.
    """
    message = message or ""
    if status == 404 and "bucket does not exist" in message:
        return _misconfigured("the bucket of GCS does not exist: WORKING_MEMORY_STORAGE_CONTAINER")
    # Only GCS's own text means that the blob is missing: JSON with a reason, or a line of text for a download. A bare
    # 404 may come from a proxy or gateway.
    if status == 404 and ("notFound" in reasons or "No such object" in message):
        return BlobNotFound("no blob has this key")
    if status in (409, 412):
        return BlobExists("a blob with this key exists already")
    if status in (401, 403):
        return _misconfigured("Google refuses our credentials, or they lack permission")
    # Other statuses, such as a redirect or a 400, come from something between us and GCS.
    return Unavailable(f"GCS does not answer ({status})", dependency="gcs", retry_after_s=asked_delay_s(retry_after))
