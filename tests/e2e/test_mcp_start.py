"""`context-service mcp` is started by a coding agent at each start of its own, and somebody waits."""

from __future__ import annotations

import json
import subprocess
import sys

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
SERVERS_OWN = {
    "context_service.app",
    "context_service.history",
    "service_runtime.grpc_server.server",
    "psycopg",
    "celpy",
}


def test_mcp_answers_with_no_part_of_the_server_loaded():
    """The server is half of the time, and none of the work."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "context_service", "mcp"],
        input=json.dumps(HELLO) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["result"]["serverInfo"]
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "context_service.mcp.remote" in loaded
    assert loaded & SERVERS_OWN == set()
