"""The lines of docs/http.md run in a shell as printed, with the real curl, and print what the page says."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import context_service.settings
import entity_service.settings
from tests.commands import Commands
from tests.conftest import KEY, Addresses
from tests.e2e.examples import printed_by, program
from tests.ports import free_port

PAGE = Path(__file__).resolve().parents[2] / "docs" / "http.md"
BLOCK = re.compile(r"<!-- run -->\n```sh\n(?P<lines>.*?)```\n+```text\n(?P<output>.*?)```", re.DOTALL)
BLOCKS = [match.groups() for match in BLOCK.finditer(PAGE.read_text("utf-8"))]


@pytest.fixture
def entity_settings(entity_settings: entity_service.settings.Settings) -> entity_service.settings.Settings:
    return entity_settings.model_copy(update={"http_port": free_port()})


@pytest.fixture
def context_settings(context_settings: context_service.settings.Settings) -> context_service.settings.Settings:
    return context_settings.model_copy(update={"http_port": free_port()})


@pytest.fixture
async def environment(
    services: Addresses,
    entity_settings: entity_service.settings.Settings,
    context_settings: context_service.settings.Settings,
) -> AsyncIterator[dict[str, str]]:
    if shutil.which("curl") is None:
        assert os.environ.get("CI") != "true", "curl is missing"
        pytest.skip("curl is not installed")
    ports = {"CONTEXT": context_settings.http_port, "ENTITY": entity_settings.http_port}
    yield {**os.environ, "KEY": KEY, **{name: f"http://127.0.0.1:{port}" for name, port in ports.items()}}


def test_the_page_has_lines_to_run():
    assert len(BLOCKS) == 5
    assert PAGE.read_text("utf-8").count("<!-- run -->") == 5


async def test_the_lines_run_as_printed(
    environment: dict[str, str], tmp_path: Path, services: Addresses, commands: Commands
):
    """Twice, and after the examples of the README: a newcomer tries those first."""
    addresses = {
        "CONTEXT_SERVICE_ADDRESS": services.context,
        "ENTITY_SERVICE_ADDRESS": services.entity,
        "CONTEXT_SERVICE_API_KEY": KEY,
    }
    for name in ("chat.py", "file.py", "find.py"):
        done = await asyncio.to_thread(commands.run_code, program(name), environment=addresses, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    for lines, output in [*BLOCKS, *BLOCKS]:
        assert await printed_by(lines, folder=tmp_path, environment=environment) == (output, "")
