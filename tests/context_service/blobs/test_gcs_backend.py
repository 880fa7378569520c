"""The GCS backend on gcp-storage-emulator: the suite, and what only GCS has."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from context_service.blobs import gcs
from context_service.blobs.gcs import GcsBackend
from context_service.blobs.storage import BlobExists
from context_service.settings import Settings
from tests.conformance.blob_backend import BlobBackendConformance, blocks_of, keys, read
from tests.conformance.cloud_backend import CONTENT, CloudBackendConformance
from tests.conformance.large_blobs import LargeBlobConformance
from tests.emulators.gcs import Gcs
from tests.emulators.proxy import Answer, Proxy, Request, proxied


def gcs_settings(emulator: Gcs, *, port: int | None = None, **values: Any) -> Settings:
    return Settings(
        **{
            "working_memory_gcs_bucket": "test",
            "storage_emulator_host": emulator.endpoint(port),
            "google_cloud_project": "test",
            "google_application_credentials": "",
            "google_application_credentials_json": "",
            "working_memory_storage_create_container": True,
            **values,
        }
    )


@pytest.fixture(scope="session")
async def gcs_backend(gcs_emulator: Gcs) -> AsyncIterator[GcsBackend]:
    async with gcs.opened(gcs_settings(gcs_emulator)) as opened:
        yield opened


class TestGcs(CloudBackendConformance):
    # GCS can tell, and gives pages; the emulator does neither. See below.
    create_only = False
    pages = False
    takes_1_gib = False

    @pytest.fixture
    async def backend(self, gcs_backend: GcsBackend) -> GcsBackend:
        return gcs_backend

    @pytest.fixture
    async def through(self, gcs_emulator: Gcs, gcs_backend: GcsBackend) -> AsyncIterator[tuple[GcsBackend, Proxy]]:
        async with proxied(gcs_emulator.port) as proxy:
            settings = gcs_settings(gcs_emulator, port=proxy.port, working_memory_storage_create_container=False)
            async with gcs.opened(settings) as backend:
                yield backend, proxy

    @pytest.fixture
    async def without_container(self, through: tuple[GcsBackend, Proxy]) -> GcsBackend:
        """What GCS says of a bucket that is not there; the emulator does not tell it from a blob."""
        body = b'{"error": {"code": 404, "message": "The specified bucket does not exist."}}'
        through[1].fault = lambda request: Answer(status=404, headers={"content-type": "application/json"}, body=body)
        return through[0]

    @pytest.fixture
    async def without_credentials(self, through: tuple[GcsBackend, Proxy]) -> GcsBackend:
        body = b'{"error": {"code": 401, "message": "Invalid Credentials"}}'
        through[1].fault = lambda request: Answer(status=401, headers={"content-type": "application/json"}, body=body)
        return through[0]

    def completes(self, request: Request) -> bool:
        return "content-range" in request.headers and not request.headers["content-range"].endswith("/*")

    async def test_a_read_that_is_given_up_hangs_up(
        self, through: tuple[GcsBackend, Proxy], backend: GcsBackend, key: str, monkeypatch: pytest.MonkeyPatch
    ):
        """A thread cannot be stopped: it hangs up when the place has been silent for its time, here one second."""
        monkeypatch.setattr(gcs, "TIMEOUT_S", (10.0, 1.0))

        await super().test_a_read_that_is_given_up_hangs_up(through, backend, key)


class TestGcsUnderAPrefix(BlobBackendConformance):
    prefix = "some/pre-fix/"
    create_only = False
    pages = False

    @pytest.fixture
    async def backend(self, gcs_backend: GcsBackend) -> GcsBackend:
        return gcs_backend


def noted(body: str) -> Answer:
    return Answer(status=412, headers={"content-type": "application/json"}, body=body.encode())


@pytest.mark.parametrize("content", [b"small", CONTENT], ids=["small", "in parts"])
async def test_every_upload_carries_the_condition_that_there_is_no_such_blob(
    gcs_emulator: Gcs, gcs_backend: GcsBackend, content: bytes
):
    key = f"condition/{len(content)}"
    async with proxied(gcs_emulator.port) as proxy:
        settings = gcs_settings(gcs_emulator, port=proxy.port, working_memory_storage_create_container=False)
        async with gcs.opened(settings) as backend:
            await backend.write(key, blocks_of(content))

            starts = [request for request in proxy.requests if request.method == "POST"]
            assert starts
            assert all("ifGenerationMatch=0" in request.target for request in starts)

            # What GCS answers where there is one: the emulator would replace it.
            proxy.fault = lambda request: noted("{}") if "ifGenerationMatch=0" in request.target else None
            with pytest.raises(BlobExists):
                await backend.write(key, blocks_of(content[::-1]))
    assert await read(gcs_backend, key, 0, len(content)) == content


async def test_a_list_asks_for_pages_and_follows_them(gcs_emulator: Gcs):
    first = b'{"items": [{"name": "a", "size": "1"}], "nextPageToken": "next"}'
    second = b'{"items": [{"name": "b", "size": "2"}]}'
    async with proxied(gcs_emulator.port) as proxy:
        proxy.fault = lambda request: Answer(
            status=200,
            headers={"content-type": "application/json"},
            body=second if "pageToken=next" in request.target else first,
        )
        settings = gcs_settings(gcs_emulator, port=proxy.port, working_memory_storage_create_container=False)
        async with gcs.opened(settings) as backend:
            pages = [page async for page in backend.list_pages("a/b", page_size=7)]

        assert [[(stat.key, stat.size_bytes) for stat in page] for page in pages] == [[("a", 1)], [("b", 2)]]
        # The library also asks for the bucket, once, for its traces.
        lists = [request.target for request in proxy.requests if "/o?" in request.target]
        assert len(lists) == 2
        assert all("maxResults=7" in target and "prefix=a" in target for target in lists)


class RealGcs(LargeBlobConformance):
    """The suite on the bucket that the environment names, in a folder of its own."""

    prefix = f"conformance-{uuid.uuid4().hex}/"

    @pytest.fixture
    async def backend(self) -> AsyncIterator[GcsBackend]:
        async with gcs.opened(Settings()) as opened:
            yield opened
            for key in await keys(opened, self.prefix):
                await opened.delete(key)


if os.environ.get("WORKING_MEMORY_GCS_BUCKET"):

    class TestRealGcs(RealGcs):
        pass
