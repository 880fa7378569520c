"""Which provider new blobs go to, and what is said when there is none."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pydantic import SecretStr

import context_service.app
from context_service.blobs.container_names import AZURE_CONTAINER, GCS_BUCKET, S3_BUCKET, NameRule
from context_service.blobs.providers import BACKENDS, chosen_provider, open_storage
from context_service.settings import Settings
from contextkeep.errors import ProviderNotConfigured
from service_runtime.imports.extras import install
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL, Addresses
from tests.context_service.working_memory.callers import Caller

URL = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer may have an account of a cloud."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


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


AZURE: dict[str, Any] = {
    "working_memory_storage_account": "account",
    "working_memory_storage_container": "container",
    "working_memory_storage_key": "a2V5",
}


@pytest.mark.parametrize("environment", ["development", "production"])
@pytest.mark.parametrize(
    ("values", "provider", "variable"),
    [
        ({"working_memory_storage_account": "a"}, "azure", "WORKING_MEMORY_STORAGE_ACCOUNT"),
        ({"working_memory_gcs_bucket": "b"}, "gcs", "WORKING_MEMORY_GCS_BUCKET"),
        (
            {"working_memory_storage_account": "a", "google_cloud_project": "p"},
            "azure",
            "WORKING_MEMORY_STORAGE_ACCOUNT",
        ),
        (
            {"working_memory_storage_provider": "s3", "working_memory_storage_account": "a"},
            "s3",
            "WORKING_MEMORY_STORAGE_PROVIDER",
        ),
        (
            {
                "blob_storage_provider": "gcs",
                "working_memory_storage_account": "a",
                "working_memory_gcs_bucket": "b",
            },
            "gcs",
            "BLOB_STORAGE_PROVIDER",
        ),
    ],
)
def test_a_provider_is_detected_by_its_variables(
    values: dict[str, Any], provider: str, variable: str, environment: str
):
    assert chosen_provider(settings(environment=environment, **values)) == (provider, variable)


def test_two_clouds_are_an_error_that_says_so():
    with pytest.raises(ProviderNotConfigured) as error:
        chosen_provider(settings(working_memory_storage_account="a", working_memory_gcs_bucket="b"))

    assert "WORKING_MEMORY_STORAGE_ACCOUNT and WORKING_MEMORY_GCS_BUCKET are both set" in error.value.message


@pytest.mark.parametrize(
    "name",
    [
        "GOOGLE_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_APPLICATION_CREDENTIALS_JSON",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "AWS_REGION",
        "AWS_ACCESS_KEY_ID",
    ],
)
def test_variables_of_other_products_detect_nothing(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "x")

    assert chosen_provider(settings()) == ("local", "ENVIRONMENT")
    with pytest.raises(ProviderNotConfigured, match="WORKING_MEMORY_STORAGE_PROVIDER is required in production"):
        chosen_provider(settings(environment="production"))


def test_a_container_of_no_provider_is_an_error():
    """Its files would go to a folder that the operator never looks at."""
    with pytest.raises(ProviderNotConfigured, match="set without its provider"):
        chosen_provider(settings(working_memory_storage_container="files", google_cloud_project="p"))


@pytest.mark.parametrize("name", ["ab", "-abc", "abc-", "a--b", "Files", "a_b", "a" * 64, "a/b", "a?b", "$root"])
@pytest.mark.parametrize("provider", ["azure", "s3", "gcs"])
async def test_a_name_that_the_provider_does_not_allow_is_said_with_its_rule(provider: str, name: str):
    if (provider, name) in {("s3", "a--b"), ("gcs", "a--b"), ("gcs", "a_b")}:
        return
    values = {**AZURE, "aws_region": "eu-west-1", "storage_emulator_host": "http://127.0.0.1:1"}
    with pytest.raises(ProviderNotConfigured, match=f"CONTAINER={re.escape(name)} is not a valid name"):
        async with open_storage(
            settings(
                **{**values, "working_memory_storage_provider": provider, "working_memory_storage_container": name}
            )
        ):
            pass


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (AZURE_CONTAINER, "abc"),
        (AZURE_CONTAINER, "a" * 63),
        (AZURE_CONTAINER, "working-memory-1"),
        (S3_BUCKET, "contoso.files-1"),
        (GCS_BUCKET, "contoso_files.example.com"),
        (GCS_BUCKET, "a" * 63 + "." + "b" * 63),
    ],
)
def test_names_that_the_providers_allow_pass(rule: NameRule, name: str):
    rule.check(name, variable="X")


def test_the_older_name_of_the_container_stands_for_the_new_one():
    assert settings(blob_storage_container="c").working_memory_storage_container == "c"
    with pytest.raises(ValueError, match="WORKING_MEMORY_STORAGE_CONTAINER and its older name BLOB_STORAGE_CONTAINER"):
        settings(blob_storage_container="c", working_memory_storage_container="d")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"environment": "production"}, "WORKING_MEMORY_STORAGE_PROVIDER is required in production"),
        (
            {"environment": "production", "working_memory_storage_provider": "local"},
            "WORKING_MEMORY_STORAGE_PATH is required in production",
        ),
        ({"working_memory_storage_provider": "azure"}, "WORKING_MEMORY_STORAGE_ACCOUNT is required"),
        ({"working_memory_storage_account": "a"}, "WORKING_MEMORY_STORAGE_CONTAINER is required"),
        (
            {**AZURE, "working_memory_storage_account": "My Account"},
            "WORKING_MEMORY_STORAGE_ACCOUNT=My Account is not a valid name of a storage account of Azure",
        ),
        (
            {**AZURE, "working_memory_storage_sas": "sv=1"},
            "WORKING_MEMORY_STORAGE_KEY and WORKING_MEMORY_STORAGE_SAS are both set",
        ),
        (
            {"working_memory_storage_path": Path("/dev/null/x")},
            "WORKING_MEMORY_STORAGE_PATH=/dev/null/x: the folder cannot",
        ),
    ],
)
async def test_a_place_that_cannot_be_used_is_said_with_its_variable(values: dict[str, Any], sentence: str):
    with pytest.raises(ProviderNotConfigured) as error:
        async with open_storage(settings(**values)):
            pass

    assert error.value.message.startswith(sentence)


@pytest.mark.parametrize(
    ("values", "module", "said"),
    [
        (AZURE, "azure.storage.blob.aio", install("azure")),
        (
            {**AZURE, "working_memory_storage_key": ""},
            "azure.identity.aio",
            install("azure-identity"),
        ),
    ],
)
async def test_a_library_that_is_missing_is_said_with_its_extra(
    values: dict[str, Any], module: str, said: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, module, None)
    for name in list(sys.modules):
        if name in BACKENDS.values() and name != "context_service.blobs.local":
            monkeypatch.delitem(sys.modules, name)

    with pytest.raises(ProviderNotConfigured, match=re.escape(said)):
        async with open_storage(settings(**values)):
            pass


def test_a_service_imports_no_library_of_a_cloud_that_it_does_not_use():
    program = "import sys, context_service.app; print([n for n in sys.modules if n.split('.')[0] in %r or n in %r])"
    clouds = (("azure", "aiohttp", "obstore", "requests"), ("google.cloud", "google.auth"))

    done = subprocess.run(
        [sys.executable, "-c", program % clouds], capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout.strip() == "[]"


async def test_a_service_without_a_place_for_blobs_does_not_start(context_settings: Settings):
    with pytest.raises(ProviderNotConfigured):
        async with context_service.app.running(
            context_settings.model_copy(update={"working_memory_storage_provider": "azure"})
        ):
            pass


async def test_a_service_whose_provider_is_only_away_starts(
    context_settings: Settings, caplog: pytest.LogCaptureFixture
):
    """A restart during an outage of the provider must not keep all else down."""
    away = {
        "working_memory_storage_provider": "s3",
        "working_memory_s3_bucket": "files",
        "aws_s3_endpoint": "http://127.0.0.1:1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": SecretStr("secret"),
    }
    with caplog.at_level(logging.WARNING):
        async with context_service.app.running(context_settings.model_copy(update=away)):
            pass

    assert "blobs cannot be written" in caplog.messages


def test_the_command_line_says_it_in_one_sentence():
    done = subprocess.run(
        [sys.executable, "-m", "context_service", "serve"],
        env={**os.environ, "DATABASE_URL": URL, "WORKING_MEMORY_STORAGE_PROVIDER": "azure"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 1
    assert "context-service: WORKING_MEMORY_STORAGE_ACCOUNT is required" in done.stderr
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
    request = health_pb2.HealthCheckRequest(service="contextkeep.context.v1.WorkingMemory")
    async with grpc.aio.insecure_channel(services.context) as channel:
        watching = health_pb2_grpc.HealthStub(channel).Watch(request, timeout=60)

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
