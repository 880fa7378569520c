"""The command `contextgraph`: what the clients do, in a shell. Needs the extra `cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command, or say what it lacks."""
    try:
        from contextgraph.cli.commands import contextgraph
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich", "yaml"}:
            raise
        sys.exit("error: the command needs more than the client does: pip install 'contextgraph[cli]'")
    contextgraph(prog_name="contextgraph")
