"""`context-service mcp`: a model's tools over stdio, for a coding agent that starts us as its child.

Like any client it needs only the service's address and a key, not the service's settings. Standard output carries the
protocol; messages for people go to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from context_service.settings import McpSettings
from contextkeep.client.aio import AsyncContextClient
from contextkeep.errors import ContextKeepError
from service_runtime.cli.commands import Subparsers
from service_runtime.imports.extras import install
from service_runtime.imports.loading import loading
from service_runtime.settings import load
from service_runtime.telemetry import logs


def add_mcp(commands: Subparsers) -> None:
    """Add `mcp`."""
    mcp = commands.add_parser(
        "mcp",
        help="serve tools to a model over stdio",
        description="Serve the Model Context Protocol over standard input and output, for a coding agent. It calls the "
        "service at CONTEXT_SERVICE_ADDRESS with the key in CONTEXT_SERVICE_API_KEY.",
        epilog="example: context-service mcp --read-only",
    )
    mcp.add_argument("--entity", metavar="NODE_ID", help="the current entity (default: MCP_ENTITY_NODE_ID)")
    mcp.add_argument("--user", metavar="USER_ID", help="the user to call for (default: MCP_SUBJECT_USER_ID)")
    mcp.add_argument("--read-only", action="store_true", help="offer only tools that read (default: MCP_READ_ONLY)")
    mcp.add_argument(
        "--ca",
        type=Path,
        metavar="FILE",
        help="PEM file of the authorities to trust for https://",
    )


def run_mcp(arguments: argparse.Namespace) -> None:
    """Serve until the input ends."""
    try:
        with loading():
            from context_service.mcp.remote import serve_stdio
    except ImportError:
        sys.exit(f"context-service: this needs the package mcp: {install('mcp')}")
    settings = load(McpSettings)
    logs.configure("WARNING")

    async def serve() -> None:
        """Connect to the service, and serve MCP on standard input and output."""
        root = arguments.ca.read_bytes() if arguments.ca else None
        async with AsyncContextClient(root_certificates=root) as client:
            await serve_stdio(
                client,
                entity_node_id=arguments.entity or settings.mcp_entity_node_id,
                subject_user_id=arguments.user or settings.mcp_subject_user_id,
                read_only=arguments.read_only or settings.mcp_read_only,
            )

    try:
        asyncio.run(serve())
    except ContextKeepError as error:
        sys.exit(f"context-service: {error.message}")
    except OSError as error:
        sys.exit(f"context-service: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
