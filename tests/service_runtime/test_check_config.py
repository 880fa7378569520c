"""`check-config` explains every setting, shows no secret, and says what is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from context_service.settings import Settings
from tests.commands import Commands
from tests.conftest import Addresses, Urls

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(commands: Commands, urls: Urls, tmp_path: Path) -> Run:
    """Run it as an operator would, with these variables besides a database and a folder."""

    def command(
        *arguments: str, service: str = "context_service", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            "COLUMNS": "200",
            "DATABASE_URL": urls.service,
            "DATABASE_ADMIN_URL": urls.admin,
            "WORKING_MEMORY_STORAGE_PATH": str(tmp_path / "blobs"),
            **variables,
        }
        return commands.run(service, "check-config", *arguments, environment=environment)

    return command


async def test_all_is_well_where_everything_answers(run: Run, services: Addresses):
    done = await asyncio.to_thread(run, ENTITY_SERVICE_URL=services.entity, API_KEY="s3cret-key")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 6
    for name in Settings.model_fields:
        assert name.upper() in done.stdout
    assert "s3cret-key" not in done.stdout + done.stderr


def test_a_database_that_is_not_set_is_named(run: Run):
    for service in ("context_service", "entity_service"):
        done = run("--json", service=service, DATABASE_URL="")

        assert done.returncode == 1, done.stderr
        problems = {one["name"]: one["problem"] for one in json.loads(done.stdout)["checks"]}
        assert problems["Postgres, as DATABASE_URL"].startswith("DATABASE_URL is not set")


def test_what_does_not_answer_is_named(run: Run):
    done = run("--json", ENTITY_SERVICE_URL="127.0.0.1:1", DATABASE_URL="postgresql://nobody:pa55word@127.0.0.1:1/none")

    assert done.returncode == 1
    answers = {one["name"]: one["problem"] for one in json.loads(done.stdout)["checks"]}
    assert answers["Postgres, as DATABASE_URL"]
    assert answers["the Entity Service at 127.0.0.1:1"]
    assert not answers["the place of the blobs"]
    assert "pa55word" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"CONTEXT_SERVICE_PORT": "fifty"}, "valid integer"),
        ({"TLS_KEY_PATH": "key.pem"}, "TLS needs both"),
        ({"ENVIRONMENT": "production", "DATABASE_URL": ""}, "DATABASE_URL is required"),
        ({"DATABASE_URL": "mysql://u:pa55word@h/d"}, "DATABASE_URL: must be a postgresql:// URL"),
        ({"DATABASE_URL": "postgresql://u:pa55word@h:p0rt/d?x"}, "DATABASE_URL: must be a URL that Postgres reads"),
        ({"DATABASE_ADMIN_URL": "contextkeep"}, "DATABASE_ADMIN_URL: must be a postgresql:// URL"),
        ({"ENTITY_SERVICE_URL": "ftp://graph"}, "ENTITY_SERVICE_URL: 'ftp://graph' is not an address: use host:port"),
        ({"EMBEDDING_URL": "api.openai.com"}, "EMBEDDING_URL: must be an http:// or https:// URL"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"},
            "OTEL_EXPORTER_OTLP_ENDPOINT: must be an http:// or https:// URL",
        ),
        ({"RECORD_RETENTION_BY_TYPE_S": "file=1"}, "RECORD_RETENTION_BY_TYPE_S: must be valid JSON"),
        ({"RECORD_RETENTION_BY_TYPE_S": '{"file": -1}'}, "RECORD_RETENTION_BY_TYPE_S: file: Input should be greater"),
        ({"MCP_ALLOWED_ORIGINS": "https://chat.example.com"}, "MCP_ALLOWED_ORIGINS: must be valid JSON"),
    ],
)
def test_a_wrong_setting_is_told_and_nobody_is_asked(run: Run, variables: dict[str, str], told: str):
    done = run(**variables)

    assert done.returncode == 1
    assert told in done.stdout
    assert "ok  " not in done.stdout
    assert "Traceback" not in done.stderr
    assert "pa55word" not in done.stdout + done.stderr


def test_where_one_setting_is_wrong_the_others_show_what_they_are(run: Run):
    good, wrong = (
        {one["name"]: one["value"].removesuffix(".0") for one in json.loads(done.stdout)["settings"]}
        for done in (run("--json", "--offline", DRAIN_S="7"), run("--json", DRAIN_S="7", CALLS_MAX="many"))
    )

    assert wrong.pop("CALLS_MAX") == "many"
    assert good.pop("CALLS_MAX") == "1000"
    assert wrong == good
    assert good["DRAIN_S"] == "7"


@pytest.mark.parametrize(
    ("service", "variables", "told"),
    [
        (
            "context_service",
            {"CONTEXT_SERVICE_HOST": "0.0.0.0", "ALLOW_ANONYMOUS": "true"},
            "would open the data to the network: unset ALLOW_ANONYMOUS",
        ),
        (
            "entity_service",
            {"ENTITY_SERVICE_HOST": "0.0.0.0", "ALLOW_ANONYMOUS": "true"},
            "would open the data to the network: unset ALLOW_ANONYMOUS",
        ),
        ("entity_service", {"TLS_CERTIFICATE_PATH": "/none", "TLS_KEY_PATH": "/none"}, "cannot read /none"),
    ],
)
def test_what_a_start_would_refuse_is_told(run: Run, service: str, variables: dict[str, str], told: str):
    done = run(service=service, **variables)

    assert done.returncode == 1
    assert told in done.stdout


def test_postgres_is_quoted_where_it_refuses_the_role(run: Run, urls: Urls):
    for service in ("context_service", "entity_service"):
        done = run(service=service, DATABASE_URL=urls.service.replace("postgresql://", "postgresql://no"))

        assert done.returncode == 1
        assert "cannot connect at DATABASE_URL" in done.stdout
        assert "nocontextkeep_service" in done.stdout
        assert done.stderr == ""


def test_a_row_is_a_line_where_nobody_looks_at_a_terminal(run: Run):
    done = run("--offline", COLUMNS="40", DATABASE_POOL_MAX="7")

    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["DATABASE_POOL_MAX", "7", "environment"] in [line[:3] for line in lines]
    assert ["DATABASE_PREPARED_STATEMENTS", "true", "default"] in [line[:3] for line in lines]


def test_migrations_that_are_missing_are_named(run: Run, urls: Urls):
    with psycopg.connect(urls.admin) as connection:
        connection.execute("DELETE FROM entity.migration")

    done = run(service="entity_service")

    assert done.returncode == 1
    assert "wrong  migrations, as DATABASE_ADMIN_URL: not applied yet: entity 0001_entity.sql" in done.stdout
    assert "is not applied: run `migrate`" in done.stdout  # also for who has no DATABASE_ADMIN_URL


def test_offline_asks_nobody(run: Run):
    done = run("--offline", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")

    assert (done.returncode, "ok  " in done.stdout) == (0, False)


def test_a_reader_who_goes_away_ends_a_command_quietly():
    for service in ("context_service", "entity_service"):
        read_end, write_end = os.pipe()
        os.close(read_end)
        try:
            command = [sys.executable, "-m", service, "check-config", "--offline"]
            done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
        finally:
            os.close(write_end)

        assert (done.returncode, done.stderr) == (1, "")
