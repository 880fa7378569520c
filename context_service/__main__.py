"""Command line of the Context Service: `context-service serve`, and the commands of an operator."""

from __future__ import annotations

import argparse
import sys

from service_runtime.cli.commands import printing
from service_runtime.imports.loading import loading


@printing()
def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(
        prog="context-service",
        description="Context Service: contexts, windows, memories, working memory and chat history of agents.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    if sys.argv[1:2] == ["mcp"]:  # a coding agent waits for it at each start: it loads no part of the server
        with loading():
            from context_service.commands.mcp import add_mcp, run_mcp
        add_mcp(commands)
        run_mcp(parser.parse_args())
        return

    with loading():
        from context_service.commands.mcp import add_mcp
        from context_service.commands.server import add_server_commands, run_server_command

    add_server_commands(commands)
    add_mcp(commands)
    run_server_command(parser.parse_args())


if __name__ == "__main__":
    main()
