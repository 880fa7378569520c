"""The S3 backend on moto: the suite, and what only S3 has."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from context_service.blobs import s3
from context_service.blobs.s3 import S3Backend
from context_service.settings import Settings
from contextkeep.errors import ProviderNotConfigured
from tests.conformance.blob_backend import BlobBackendConformance, blocks_of, keys
from tests.conformance.cloud_backend import CONTENT, CloudBackendConformance
from tests.conformance.large_blobs import LargeBlobConformance
from tests.emulators.moto import Moto
from tests.emulators.proxy import Answer, Proxy, Request, proxied


def s3_settings(moto: Moto, *, port: int | None = None, **values: Any) -> Settings:
    return Settings(
        **{
            "working_memory_s3_bucket": "test",
            "aws_s3_endpoint": moto.endpoint(port),
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
            "aws_session_token": "",
            "aws_region": "eu-west-1",
            "working_memory_storage_create_container": True,
            **values,
        }
    )


@pytest.fixture(scope="session")
async def s3_backend(moto: Moto) -> AsyncIterator[S3Backend]:
    async with s3.opened(s3_settings(moto)) as opened:
        yield opened


class TestS3(CloudBackendConformance):
    create_only = False

    @pytest.fixture
    async def backend(self, s3_backend: S3Backend) -> S3Backend:
        return s3_backend

    @pytest.fixture
    async def through(self, moto: Moto, s3_backend: S3Backend) -> AsyncIterator[tuple[S3Backend, Proxy]]:
        async with proxied(moto.port) as proxy:
            settings = s3_settings(moto, port=proxy.port, working_memory_storage_create_container=False)
            async with s3.opened(settings) as backend:
                yield backend, proxy

    @pytest.fixture
    async def without_container(self, moto: Moto) -> AsyncIterator[S3Backend]:
        settings = s3_settings(moto, working_memory_s3_bucket="nowhere", working_memory_storage_create_container=False)
        async with s3.opened(settings) as backend:
            yield backend

    @pytest.fixture
    async def without_credentials(self, through: tuple[S3Backend, Proxy]) -> S3Backend:
        """Moto takes any credentials; this is what S3 says of wrong ones."""
        code = "<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message></Error>"
        through[1].fault = lambda request: Answer(status=403, body=code.encode())
        return through[0]

    def completes(self, request: Request) -> bool:
        return request.method == "POST" and "uploadId=" in request.target


class TestS3UnderAPrefix(BlobBackendConformance):
    prefix = "some/pre-fix/"
    create_only = False

    @pytest.fixture
    async def backend(self, s3_backend: S3Backend) -> S3Backend:
        return s3_backend


class RealS3(LargeBlobConformance):
    """The suite on the account that the environment names, in a folder of its own."""

    prefix = f"conformance-{uuid.uuid4().hex}/"
    create_only = False

    @pytest.fixture
    async def backend(self) -> AsyncIterator[S3Backend]:
        async with s3.opened(Settings()) as opened:
            yield opened
            for key in await keys(opened, self.prefix):
                await opened.delete(key)


if os.environ.get("WORKING_MEMORY_S3_BUCKET"):

    class TestRealS3(RealS3):
        pass


async def test_a_failed_upload_leaves_no_parts_to_pay_for(s3_backend: S3Backend, moto: Moto):
    async def blocks() -> AsyncIterator[bytes]:
        async for block in blocks_of(CONTENT):
            yield block
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await s3_backend.write("failed/upload", blocks())

    assert "failed/upload" not in moto.uploads("test")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"working_memory_s3_bucket": ""}, "set WORKING_MEMORY_STORAGE_CONTAINER or WORKING_MEMORY_S3_BUCKET"),
        ({"aws_region": "", "aws_s3_endpoint": ""}, "AWS_REGION is required"),
        ({"aws_secret_access_key": ""}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together"),
    ],
)
async def test_a_setting_that_is_missing_is_said(moto: Moto, values: dict[str, Any], sentence: str):
    with pytest.raises(ProviderNotConfigured) as error:
        async with s3.opened(s3_settings(moto, **values)):
            pass

    assert error.value.message.startswith(sentence)
