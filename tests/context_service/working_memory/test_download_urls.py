"""Download URLs: straight from the provider, to whoever has them, and not for ever."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import context_service.app
from context_service.blobs import azure, gcs, s3
from context_service.blobs.storage import Download
from context_service.settings import Settings
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import (
    BlobNotFound,
    InvalidArgument,
    NoDownloadUrl,
    RecordArchived,
    RecordHasNoBlob,
    RecordNotFound,
)
from service_runtime.rpc.principal import ApiKeys
from tests.conformance.blob_backend import blocks_of
from tests.context_service.blobs.test_azure_backend import azure_settings
from tests.context_service.blobs.test_gcs_backend import gcs_settings
from tests.context_service.blobs.test_s3_backend import s3_settings
from tests.context_service.working_memory.callers import Caller, an_id
from tests.emulators.azurite import Azurite
from tests.emulators.gcs import Gcs
from tests.emulators.moto import Moto
from tests.noise import noise

CONTENT = noise(100_000)


def fetched(url: str) -> tuple[bytes, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read(), answer.headers


def download(lifetime_s: float = 60) -> Download:
    expires_at = datetime.now(UTC) + timedelta(seconds=lifetime_s)
    return Download(expires_at=expires_at, file_name='a "b"; ü\n.txt', content_type="text/plain")


@pytest.fixture
async def on_azure(azurite: Azurite, context_settings: Settings, callers: ApiKeys) -> AsyncIterator[Caller]:
    account = azure_settings(azurite)
    names = [name for name in Settings.model_fields if name.startswith("working_memory_storage_")]
    settings = context_settings.model_copy(
        update={
            **{name: getattr(account, name) for name in names},
            "working_memory_storage_provider": "azure",
            "working_memory_storage_path": None,
        }
    )
    async with context_service.app.running(settings, callers=callers) as port:
        address = f"127.0.0.1:{port}"
        async with grpc.aio.insecure_channel(address) as channel:
            yield Caller(address, channel)


async def test_a_url_gives_the_blob_without_a_key(on_azure: Caller):
    stored = await on_azure.upload(CONTENT, name="Bericht “März”.pdf")

    answer = await on_azure.CreateDownloadUrl(blob_key=stored.blob_key)
    content, headers = await asyncio.to_thread(fetched, answer.url)

    assert content == CONTENT
    assert answer.record == stored.record
    assert headers["content-type"] == "application/pdf"
    assert headers["content-disposition"].startswith("attachment; filename*=UTF-8''Bericht%20")
    lifetime = answer.expires_at.ToDatetime(UTC) - datetime.now(UTC)
    assert timedelta(minutes=14) < lifetime <= timedelta(minutes=15)


async def test_a_url_ends_and_gives_nothing_else(azurite: Azurite):
    async with azure.opened(azure_settings(azurite)) as backend:
        await backend.write("urls/a", blocks_of(CONTENT))
        await backend.write("urls/b", blocks_of(CONTENT))
        url = await backend.download_url("urls/a", download())
        over = await backend.download_url("urls/a", download(-1))

    assert (await asyncio.to_thread(fetched, url))[0] == CONTENT
    for refused in (over, url.replace("urls/a", "urls/b"), url.replace("sp=r", "sp=rw"), url.split("?")[0]):
        with pytest.raises(urllib.error.HTTPError) as error:
            await asyncio.to_thread(fetched, refused)
        assert error.value.code in (403, 404)
        error.value.close()


async def test_a_sas_signs_no_urls_but_reads_and_writes(azurite: Azurite):
    from azure.storage.blob import ContainerSasPermissions, generate_container_sas

    settings = azure_settings(azurite)
    sas = generate_container_sas(
        settings.working_memory_storage_account,
        settings.working_memory_storage_container,
        account_key=settings.working_memory_storage_key.get_secret_value(),
        permission=ContainerSasPermissions(read=True, create=True, write=True, delete=True, list=True),
        expiry=datetime.now(UTC) + timedelta(minutes=5),
    )
    async with azure.opened(settings):  # makes the container
        pass
    with_sas = azure_settings(
        azurite,
        working_memory_storage_key="",
        working_memory_storage_sas=f"?{sas}",
        working_memory_storage_create_container=False,
    )
    async with azure.opened(with_sas) as backend:
        await backend.write("sas/large", blocks_of(noise(5_000_000)))
        assert [stat.size_bytes async for page in backend.list_pages("sas/") for stat in page] == [5_000_000]
        await backend.check()
        with pytest.raises(NoDownloadUrl):
            await backend.download_url("sas/large", download())
        await backend.delete("sas/large")


async def test_s3_signs_urls(moto: Moto):
    async with s3.opened(s3_settings(moto)) as backend:
        await backend.write("urls/a", blocks_of(CONTENT))
        url = await backend.download_url("urls/a", download())

    assert (await asyncio.to_thread(fetched, url))[0] == CONTENT
    assert 55 <= int(parse_qs(urlsplit(url).query)["X-Amz-Expires"][0]) <= 60  # which moto does not look at


async def test_gcs_signs_urls_with_the_key_of_a_service_account(gcs_emulator: Gcs):
    private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    account = {
        "type": "service_account",
        "client_email": "memory@test.iam.gserviceaccount.com",
        "token_uri": "http://127.0.0.1:1/token",
        "private_key": private_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    }
    settings = gcs_settings(
        gcs_emulator,
        google_application_credentials_json=json.dumps(account),
        working_memory_storage_create_container=False,
    )
    async with gcs.opened(settings) as backend:
        url = await backend.download_url("urls/a", download())

    said = parse_qs(urlsplit(url).query)
    assert said["X-Goog-Algorithm"] == ["GOOG4-RSA-SHA256"]
    assert said["X-Goog-Credential"][0].startswith("memory@test.iam.gserviceaccount.com/")
    assert said["response-content-disposition"] == ["attachment; filename*=UTF-8''a%20%22b%22%3B%20%C3%BC%0A.txt"]
    assert 55 <= int(said["X-Goog-Expires"][0]) <= 60


async def test_gcs_without_a_key_signs_none(gcs_emulator: Gcs):
    async with gcs.opened(gcs_settings(gcs_emulator)) as backend:
        with pytest.raises(NoDownloadUrl):
            await backend.download_url("urls/a", download())


async def test_a_file_has_no_url(caller: Caller):
    stored = await caller.upload(CONTENT)

    error = await caller.error("CreateDownloadUrl", pb.CreateDownloadUrlRequest(blob_key=stored.blob_key))

    assert isinstance(error, NoDownloadUrl)
    assert error.metadata["use"] == "GetBlob"


async def test_who_may_not_read_gets_no_url(caller: Caller, stranger: Caller):
    stored = await caller.upload(CONTENT)
    inline = await caller.insert(content_json="1")
    archived = await caller.upload(b"x")
    await caller.DeleteBlob(blob_key=archived.blob_key)

    for who, request, expected in (
        (stranger, {"blob_key": stored.blob_key}, BlobNotFound),
        (stranger, {"working_memory_id": stored.working_memory_id}, RecordNotFound),
        (caller, {"working_memory_id": an_id()}, RecordNotFound),
        (caller, {"working_memory_id": inline.working_memory_id}, RecordHasNoBlob),
        (caller, {"blob_key": archived.blob_key}, RecordArchived),
        (caller, {"blob_key": archived.blob_key, "include_archived": True}, NoDownloadUrl),
        (caller, {}, InvalidArgument),
        (caller, {"blob_key": stored.blob_key, "lifetime_s": -1}, InvalidArgument),
        (caller, {"blob_key": stored.blob_key, "lifetime_s": 604_801}, InvalidArgument),
    ):
        error = await who.error("CreateDownloadUrl", pb.CreateDownloadUrlRequest(**request))
        assert type(error) is expected, request
