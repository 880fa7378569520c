"""Which provider new blobs go to, and what is said when there is none."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import context_service.app
from context_service.blobs.providers import chosen_provider, open_storage
from context_service.settings import Settings
from contextgraph.errors import ProviderNotConfigured
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL, Addresses
from tests.context_service.working_memory import Caller

URL = "postgresql://nobody@127.0.0.1:1/none"


def settings(**values: Any) -> Settings:
    return Settings(database_url=URL, **values)


@pytest.mark.parametrize(
    ("values", "variable"),
    [
        ({}, "ENVIRONMENT"),
        ({"working_memory_storage_provider": "local"}, "WORKING_MEMORY_STORAGE_PROVIDER"),
        ({"blob_storage_provider": "local"}, "BLOB_STORAGE_PROVIDER"),
        ({"environment": "production", "working_memory_storage_provider": "local"}, "WORKING_MEMORY_STORAGE_PROVIDER"),
    ],
)
async def test_the_variable_that_decided_is_named_at_the_start(
    values: dict[str, Any], variable: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    chosen = settings(**values, working_memory_storage_path=tmp_path)
    assert chosen_provider(chosen) == ("local", variable)

    with caplog.at_level(logging.INFO, logger="blobs"):
        async with open_storage(chosen):
            pass

    (record,) = caplog.records
    assert (record.provider, record.decided_by) == ("local", variable)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"environment": "production"}, "WORKING_MEMORY_STORAGE_PROVIDER is required in production"),
        (
            {"environment": "production", "working_memory_storage_provider": "local"},
            "WORKING_MEMORY_STORAGE_PATH is required in production",
        ),
        ({"working_memory_storage_provider": "azure"}, "WORKING_MEMORY_STORAGE_PROVIDER=azure"),
        ({"blob_storage_provider": "gcs"}, "BLOB_STORAGE_PROVIDER=gcs: this version has no backend for gcs"),
        ({"working_memory_storage_path": Path("/dev/null/x")}, "WORKING_MEMORY_STORAGE_PATH=/dev/null/x: cannot make"),
    ],
)
async def test_a_place_that_cannot_be_used_is_said_with_its_variable(values: dict[str, Any], sentence: str):
    with pytest.raises(ProviderNotConfigured) as error:
        async with open_storage(settings(**values)):
            pass

    assert error.value.message.startswith(sentence)


async def test_a_service_without_a_place_for_blobs_does_not_start(context_settings: Settings):
    with pytest.raises(ProviderNotConfigured):
        async with context_service.app.running(
            context_settings.model_copy(update={"working_memory_storage_provider": "s3"})
        ):
            pass


def test_the_command_line_says_it_in_one_sentence():
    done = subprocess.run(
        [sys.executable, "-m", "context_service", "serve"],
        env={**os.environ, "DATABASE_URL": URL, "WORKING_MEMORY_STORAGE_PROVIDER": "azure"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == 1
    assert "context-service: WORKING_MEMORY_STORAGE_PROVIDER=azure: this version has no backend" in done.stderr
    assert "Traceback" not in done.stderr


async def test_blobs_of_a_provider_that_is_not_configured_are_said_to_be_there(caller: Caller, database: Database):
    stored = await caller.upload(b"abc")
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query("UPDATE context.blob SET provider = 'azure'")

    with pytest.raises(ProviderNotConfigured) as error:
        await caller.download(blob_key=stored.blob_key)

    assert error.value.metadata["provider"] == "azure"
    assert (await caller.fetch(stored.working_memory_id)).name == "notes.txt"  # what Postgres knows is readable


async def test_a_place_that_went_away_is_seen_by_the_probe(services: Addresses, context_settings: Settings):
    folder = context_settings.working_memory_storage_path
    assert folder is not None
    serving, not_serving = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
    request = health_pb2.HealthCheckRequest(service="contextgraph.context.v1.WorkingMemory")
    async with grpc.aio.insecure_channel(services.context) as channel:
        watching = health_pb2_grpc.HealthStub(channel).Watch(request, timeout=10)

        async def until(status: int) -> None:
            async for answer in watching:
                if answer.status == status:
                    return

        await until(serving)
        shutil.rmtree(folder)
        await until(not_serving)
        folder.mkdir()
        await until(serving)
        watching.cancel()
