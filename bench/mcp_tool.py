"""What a question to a tool of an MCP server costs through context query, compared with a call by its own client.

`python -m bench.mcp_tool [CALLS]`. In turns: the protocol's own client, which connects to a local server and
calls its tool; and `QueryContext` with that tool as its only provider, which looks the tool up, opens a conversation at
the address that it has checked, compares the tool's definition with the one that was approved, calls it, and scores
what it answers. The target is that the provider takes 15 ms more than the call, in the median.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from context_service.commands import dev
from contextkeep import AsyncContextClient
from tests.fakes.mcp_server import fake_mcp

OVERHEAD_MS_MAX = 15.0
WARMING = 10
LATEST = max(MODERN_PROTOCOL_VERSIONS)
SERVER, TOOL = "tickets", "search_tickets"


async def measured(address: str, url: str, calls: int) -> bool:
    """Print the medians, and say whether they are within the target."""
    own, provider, whole = [], [], []
    async with AsyncContextClient(address, timeout_s=30) as context:
        await context.mcp_servers.put(SERVER, url)
        await context.mcp_servers.discover_tools(SERVER)
        tool = await context.mcp_servers.approve_tool(SERVER, TOOL)
        for number in range(WARMING + calls):
            began = time.perf_counter()
            # As cheaply as can be: without TLS, and in the version of the protocol that it is known to speak.
            async with (
                httpx2.AsyncClient(verify=False, trust_env=False) as http,
                Client(streamable_http_client(url, http_client=http), mode=LATEST) as client,
            ):
                await client.call_tool(TOOL, {"query": "how late?", "limit": 20})
            called = time.perf_counter()
            found = await context.query.ask("how late?", provider_ids=[tool.provider_id])
            ended = time.perf_counter()
            (status,) = found.providers
            assert status.state == "ok", status
            if number >= WARMING:
                own.append((called - began) * 1000)
                provider.append(status.duration_ms)
                whole.append((ended - called) * 1000)
    call, ours, query = map(statistics.median, (own, provider, whole))
    print(f"a tool of a local MCP server, {calls} calls in turns: medians")
    print(f"  by the protocol's client  {call:6.1f} ms")
    print(f"  by the provider           {ours:6.1f} ms: {ours - call:+.1f} (<= {OVERHEAD_MS_MAX:g})")
    print(f"  by QueryContext           {query:6.1f} ms: {query - call:+.1f}")
    return ours - call <= OVERHEAD_MS_MAX


def serve() -> None:
    """Be the MCP server: print its address, and end with standard input."""
    with fake_mcp() as fake:
        print(fake.url, flush=True)
        sys.stdin.read()


def main() -> None:
    """Run the benchmark; exit with 1 if it misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=200)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        return serve()
    os.environ["MCP_SERVERS_ALLOWED"] = '["127.0.0.1"]'
    command = [sys.executable, "-m", "bench.mcp_tool", "--serve"]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdin is not None and server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            with dev.stack(Path(name), keep=False) as services:
                is_met = asyncio.run(measured(services.context_address, url, asked.calls))
        finally:
            server.stdin.close()
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
