"""Blobs in a container of Azure Blob Storage.

A write stages parts and commits their list on condition that the blob does not exist, so a blob is either complete or
absent. Parts that are never committed are invisible, and Azure drops them after a week.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

from aiohttp import ClientError
from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.storage.blob import BlobBlock, BlobSasPermissions, UserDelegationKey, generate_blob_sas
from azure.storage.blob.aio import BlobClient, BlobServiceClient, ContainerClient

from context_service.blobs.container_names import AZURE_ACCOUNT, AZURE_CONTAINER
from context_service.blobs.last_requests import LastRequests
from context_service.blobs.parts import ended, fetched_ahead, in_parts, size_bytes
from context_service.blobs.retries import Retries, asked_delay_s
from context_service.blobs.storage import BlobExists, BlobStat, Download, check_key
from context_service.settings import Settings
from contextkeep.errors import BlobNotFound, NoDownloadUrl, ProviderNotConfigured, Unavailable
from service_runtime.imports.extras import install

PART_BYTES = 4 * 1024 * 1024
PARTS_AT_ONCE = 2  # parts of one transfer at the same time
CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 60.0  # timeout of a request that receives no byte
_WRITER = "writer"  # metadata of a blob: the write that made it, for a commit whose response was lost
_DELEGATION_KEPT = timedelta(hours=12)
_PAST_THE_END = 416


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[AzureBackend]:
    """Open the backend for the block.

    Raises:
        ProviderNotConfigured: a setting is missing or contradicts another.
        Unavailable: the container must be created, and the account does not answer.
    """
    # The SDK logs a line with the headers of every request.
    logging.getLogger("azure").setLevel(logging.WARNING)
    account, container = settings.working_memory_storage_account, settings.working_memory_storage_container
    if not account:
        raise _misconfigured(
            "WORKING_MEMORY_STORAGE_ACCOUNT is required: set it to the name of the Azure storage account"
        )
    if not container:
        raise _misconfigured("WORKING_MEMORY_STORAGE_CONTAINER is required: set it to the name of the Azure container")
    if not settings.working_memory_storage_endpoint:
        AZURE_ACCOUNT.check(account, variable="WORKING_MEMORY_STORAGE_ACCOUNT")
    AZURE_CONTAINER.check(container, variable="WORKING_MEMORY_STORAGE_CONTAINER")
    key = settings.working_memory_storage_key.get_secret_value()
    sas = settings.working_memory_storage_sas.get_secret_value()
    if key and sas:
        raise _misconfigured("WORKING_MEMORY_STORAGE_KEY and WORKING_MEMORY_STORAGE_SAS are both set: choose one")
    async with AsyncExitStack() as stack:
        credential: Any
        if key:
            credential = AzureNamedKeyCredential(account, key)
        elif sas:
            credential = AzureSasCredential(sas.removeprefix("?"))
        else:
            credential = await stack.enter_async_context(_identity())
        try:
            service = await stack.enter_async_context(
                BlobServiceClient(
                    settings.working_memory_storage_endpoint or f"https://{account}.blob.core.windows.net",
                    credential,
                    retry_total=0,
                    connection_timeout=CONNECT_TIMEOUT_S,
                    read_timeout=ANSWER_TIMEOUT_S,
                    max_single_get_size=PART_BYTES,
                    max_chunk_get_size=PART_BYTES,
                )
            )
        except ValueError as error:
            raise _misconfigured(f"the settings of Azure are malformed: {error}") from error
        signer = None if sas else _Signer(service, account, key)
        last_requests = await stack.enter_async_context(LastRequests().running())
        backend = AzureBackend(service.get_container_client(container), signer, last_requests)
        if settings.working_memory_storage_create_container:
            await backend.retries.call(backend.create_container)
        yield backend


def _identity() -> Any:
    """Return the credential that the machine, its workload identity or its environment has."""
    try:
        from azure.identity.aio import DefaultAzureCredential
    except ImportError:
        raise _misconfigured(
            "neither WORKING_MEMORY_STORAGE_KEY nor WORKING_MEMORY_STORAGE_SAS is set, and managed identity needs "
            f"azure-identity: {install('azure-identity')}"
        ) from None
    return DefaultAzureCredential()


class AzureBackend:
    """A `BlobBackend` on a container. The caller opens and closes its client."""

    def __init__(self, container: ContainerClient, signer: _Signer | None, last_requests: LastRequests) -> None:
        self._container = container
        self._signer = signer
        self._last_requests = last_requests
        self.retries = Retries()

    async def create_container(self) -> None:
        """Make the container, if it is missing."""
        with suppress(BlobExists), _our_errors():
            await self._container.create_container()

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        """Store the blocks under `key`."""
        check_key(key)
        blob = self._container.get_blob_client(key)
        writer = secrets.token_hex(16)
        staged: list[BlobBlock] = []
        staging: deque[asyncio.Task[None]] = deque()
        small = b""
        try:
            async with aclosing(in_parts(blocks, part_bytes=PART_BYTES)) as parts:
                async for part in parts:
                    if len(part) <= 1 and not staged:
                        small = b"".join(part)
                        break
                    if not part:
                        break
                    if len(staging) == PARTS_AT_ONCE:
                        await staging.popleft()
                    staged.append(BlobBlock(_block_id(writer, len(staged))))
                    staging.append(asyncio.create_task(self._stage(blob, staged[-1].id, part)))
            while staging:
                await staging.popleft()
        except BaseException:
            await ended(staging)
            raise

        async def publish() -> None:
            metadata = {_WRITER: writer}
            with _our_errors():
                if staged:
                    await blob.commit_block_list(staged, metadata=metadata, match_condition=MatchConditions.IfMissing)
                else:  # a small blob needs one request instead of two
                    await blob.upload_blob(small, metadata=metadata, overwrite=False)

        await self._publish(blob, writer, publish)

    async def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of the blob, one part ahead."""
        check_key(key)
        blob = self._container.get_blob_client(key)
        if start_bytes >= end_bytes:
            with _our_errors():
                await blob.get_blob_properties()
            return
        parts = fetched_ahead(
            partial(_fetch, blob), start_bytes, end_bytes, part_bytes=PART_BYTES, at_once=PARTS_AT_ONCE
        )
        async with aclosing(parts):
            async for chunk in parts:
                yield chunk

    async def delete(self, key: str) -> None:
        """Remove the blob. Azure drops parts that were staged and not committed."""
        check_key(key)
        with suppress(BlobNotFound), _our_errors():
            await self._container.get_blob_client(key).delete_blob(delete_snapshots="include")

    async def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield the blobs whose keys start with `prefix`."""
        # The metadata show which entries are folders, which an account with a hierarchy lists, too.
        listing = self._container.list_blobs(prefix or None, include=["metadata"], results_per_page=page_size)
        pages = listing.by_page()

        async def next_page() -> list[BlobStat] | None:
            """Return the next page of blobs, without the markers of folders; None at the end."""
            with _our_errors():
                page = await anext(pages, None)
                if page is None:
                    return None
                return [
                    BlobStat(key=entry.name, size_bytes=entry.size)
                    async for entry in page
                    if (entry.metadata or {}).get("hdi_isfolder") != "true"
                ]

        while (stats := await self.retries.call(next_page)) is not None:
            if stats:
                yield stats

    async def download_url(self, key: str, download: Download) -> str:
        """Return a URL with a SAS for reading this blob."""
        check_key(key)
        if self._signer is None:
            raise NoDownloadUrl("a SAS cannot sign URLs; use GetBlob", provider="azure", use="GetBlob")
        with _our_errors():
            return await self._signer.url(self._container.get_blob_client(key), download)

    async def check(self) -> None:
        """Ask for a blob that does not exist: any credential may do this, and it detects a missing container."""
        with suppress(BlobNotFound), _our_errors():
            await self._container.get_blob_client("health").get_blob_properties()

    async def _stage(self, blob: BlobClient, block_id: str, part: list[bytes]) -> None:
        """Upload a part of a blob, which is invisible until the blob is published."""

        async def stage() -> None:
            with _our_errors():
                await blob.stage_block(block_id, _body(part), size_bytes(part))  # type: ignore[arg-type]

        await self.retries.call(stage)

    async def _publish(self, blob: BlobClient, writer: str, request: Callable[[], Awaitable[None]]) -> None:
        """Publish the blob; if that fails or is cancelled, remove it again."""

        async def publish() -> None:
            try:
                await request()
            except BlobExists:
                # An earlier attempt may have made it, and its response was lost; aiohttp, too, retries after a broken
                # connection.
                if not await _is_by(blob, writer):
                    raise

        async def withdraw() -> None:
            with suppress(BlobNotFound), _our_errors():
                if await _is_by(blob, writer):
                    await blob.delete_blob()

        await self._last_requests.finish(asyncio.create_task(self.retries.call(publish)), withdraw)


class _Signer:
    """Signs URLs, with the account's key or with one that Azure delegates to an identity."""

    def __init__(self, service: BlobServiceClient, account: str, account_key: str) -> None:
        self._service = service
        self._account = account
        self._account_key = account_key
        self._delegated: tuple[UserDelegationKey, datetime] | None = None

    async def url(self, blob: BlobClient, download: Download) -> str:
        """Return a URL for reading one blob."""
        sas = generate_blob_sas(
            self._account,
            blob.container_name,
            blob.blob_name,
            account_key=self._account_key or None,
            user_delegation_key=None if self._account_key else await self._delegation(download.expires_at),
            permission=BlobSasPermissions(read=True),
            expiry=download.expires_at,
            protocol="https" if blob.url.startswith("https:") else None,
            content_disposition=f"attachment; filename*=UTF-8''{quote(download.file_name, safe='')}",
            content_type=download.content_type,
        )
        return f"{blob.url.partition('?')[0]}?{sas}"

    async def _delegation(self, until: datetime) -> UserDelegationKey:
        """Return a key for signing until a time, which Azure delegates to this identity; it is kept for other URLs."""
        if self._delegated is None or self._delegated[1] < until:
            now = datetime.now(UTC)
            expires_at = max(until, now + _DELEGATION_KEPT)
            key = await self._service.get_user_delegation_key(now - timedelta(minutes=5), expires_at)
            self._delegated = (key, expires_at)
        return self._delegated[0]


async def _fetch(blob: BlobClient, start_bytes: int, length_bytes: int) -> bytes:
    """Return a part of a blob: shorter at the end of the blob, and empty after it."""
    answers: list[Any] = []
    with _our_errors():
        try:
            download = await blob.download_blob(start_bytes, length_bytes, raw_response_hook=answers.append)
            return await download.readall()
        except HttpResponseError as error:
            if error.status_code == _PAST_THE_END:
                return b""
            raise
        except ValueError as error:  # the SDK's error for a response that is not a range of a blob
            raise Unavailable("Azure Blob Storage does not answer", dependency="azure") from error
        finally:
            # The SDK closes the connection when a response ends or breaks, but not when it stalls or we stop reading.
            for answer in answers:
                await answer.http_response.close()


async def _is_by(blob: BlobClient, writer: str) -> bool:
    with _our_errors():
        properties = await blob.get_blob_properties()
    return properties.metadata.get(_WRITER) == writer


async def _body(part: list[bytes]) -> AsyncIterator[bytes]:
    """Yield a part block by block: it is never copied whole, and never blocks the event loop for long."""
    for block in part:
        yield block


def _block_id(writer: str, number: int) -> str:
    # All block ids of a blob must have the same length; two writers of a key never use the same id.
    return base64.b64encode(f"{writer}-{number:05}".encode()).decode()


def _misconfigured(message: str) -> ProviderNotConfigured:
    return ProviderNotConfigured(message, provider="azure")


@contextmanager
def _our_errors() -> Iterator[None]:
    """Turn an error of the SDK into ours; Azure's text stays in the cause, which is logged and never sent."""
    try:
        yield
    except HttpResponseError as error:
        raise _ours(error) from error
    except (AzureError, ClientError, TimeoutError, OSError) as error:
        raise Unavailable("Azure Blob Storage does not answer", dependency="azure") from error


def _ours(error: HttpResponseError) -> Exception:
    """Return our exception for an error of the Azure SDK, by its code and status."""
    code, status = str(getattr(error, "error_code", "") or ""), error.status_code
    if code == "ContainerNotFound":
        return _misconfigured("the container of Azure does not exist: WORKING_MEMORY_STORAGE_CONTAINER")
    # Only Azure's own code means that the blob is missing: a bare 404 may come from a proxy or gateway.
    if status == 404 and code in ("BlobNotFound", "ResourceNotFound"):
        return BlobNotFound("no blob has this key")
    if code in ("BlobAlreadyExists", "ContainerAlreadyExists", "InvalidBlockList", "ConditionNotMet"):
        # Another writer of the key was faster; its commit drops our parts.
        return BlobExists("a blob with this key exists already")
    if status in (401, 403) or isinstance(error, ClientAuthenticationError):
        return _misconfigured(f"Azure refuses our credentials, or they lack permission ({code or 'no token'})")
    # Other statuses, such as a redirect or a 400, come from something between us and Azure.
    headers = getattr(error.response, "headers", None) or {}
    return Unavailable(
        f"Azure Blob Storage does not answer ({code or status})",
        dependency="azure",
        retry_after_s=asked_delay_s(headers.get("Retry-After")),
    )
