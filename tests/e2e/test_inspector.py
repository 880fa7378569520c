"""The tools, by the MCP inspector's command line: a client that is not ours, against both services as processes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contextkeep import new_id
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.faults.processes import Service
from tests.ports import free_port

INSPECTOR = Path(__file__).resolve().parents[2] / "node_modules/.bin/mcp-inspector"
KEY = "key-of-the-inspector"
TIMEOUT_S = 120  # of one run: its own 15 s are too short where all tests run at once
TOOL_FAILED, AUTHENTICATION_NEEDED = 5, 3  # exit codes of the inspector


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Where both ways to the tools begin."""

    grpc: str
    mcp: str
    home: Path  # of the inspector, which keeps files there

    def target(self, transport: str, entity: str) -> list[str]:
        """Return what the inspector is told of the server."""
        if transport == "http":
            headers = (f"Authorization: Bearer {KEY}", f"x-entity-node-id: {entity}")
            return [self.mcp, "--transport", "http", *(word for header in headers for word in ("--header", header))]
        variables = {
            "CONTEXT_SERVICE_ADDRESS": self.grpc,
            "CONTEXT_SERVICE_API_KEY": KEY,
            "MCP_ENTITY_NODE_ID": entity,
        }
        given = (word for name, value in variables.items() for word in ("-e", f"{name}={value}"))
        return [sys.executable, "-m", "context_service", "mcp", *given]

    async def ask(self, target: list[str], method: str, *options: str, status: int = 0) -> Any:
        """Run the inspector, and return what it prints."""
        process = await asyncio.create_subprocess_exec(
            *(
                str(INSPECTOR),
                "--cli",
                *target,
                "--connect-timeout",
                str(TIMEOUT_S * 1000),
                "--method",
                method,
                *options,
            ),
            env={**os.environ, "HOME": str(self.home)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complained = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
        assert process.returncode == status, (said + complained).decode()
        return json.loads(said or complained)


@pytest.fixture(scope="module")
async def running(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    if shutil.which("node") is None or not INSPECTOR.exists():
        reason = "the MCP inspector is not installed: run `make npm`"
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("inspected")
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))
        environment = {"DATABASE_URL": urls.service, "API_KEY": KEY, "DRAIN_S": "1"}
        entity = Service("entity_service", free_port(), environment=environment, log=folder / "entity.log")
        mcp_port = free_port()
        context = Service(
            "context_service",
            free_port(),
            environment={
                **environment,
                "ENTITY_SERVICE_URL": entity.address,
                "MCP_PORT": str(mcp_port),
                "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
            },
            log=folder / "context.log",
        )
        for service in (entity, context):
            stack.push_async_callback(service.kill)
        await asyncio.gather(entity.start(), context.start())
        yield Running(grpc=context.address, mcp=f"http://127.0.0.1:{mcp_port}/mcp", home=folder)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector_calls_and_reads(running: Running, transport: str):
    target = running.target(transport, str(new_id()))

    stored = await call(running, target, "wm_upload", "name=plan.md", "content=# Plan", 'tags=["draft"]')
    resource = await running.ask(target, "resources/read", "--uri", f"wm://{stored['working_memory_id']}")

    assert [one["text"] for one in resource["contents"]] == ["# Plan"]


async def test_the_inspector_lists_and_sees_what_failed(running: Running):
    target = running.target("http", str(new_id()))
    listed, unknown, keyless = await asyncio.gather(
        running.ask(target, "tools/list", "--strict"),  # fails for a schema that some models cannot use
        call(running, target, "wm_read", f"working_memory_id={new_id()}", status=TOOL_FAILED),
        running.ask([running.mcp], "tools/list", "--stored-auth-only", status=AUTHENTICATION_NEEDED),
    )
    assert {"wm_upload", "wm_read", "history_chat", "rag_search_nodes"} < {tool["name"] for tool in listed["tools"]}
    assert unknown["error"]["reason"] == "RECORD_NOT_FOUND"
    assert keyless["error"]["code"] == "auth_required"


async def call(running: Running, target: list[str], tool: str, *arguments: str, status: int = 0) -> Any:
    """Return the JSON that a tool answers."""
    given = (word for argument in arguments for word in ("--tool-arg", argument))
    answer = await running.ask(target, "tools/call", "--tool-name", tool, *given, status=status)
    (content,) = answer["content"]
    return json.loads(content["text"])
