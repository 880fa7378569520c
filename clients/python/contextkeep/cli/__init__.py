"""The command `contextkeep`: what the clients do, in a shell. Needs the extra `cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command, or say what it lacks."""
    try:
        from contextkeep.cli.commands import contextkeep
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich", "yaml"}:
            raise
        sys.exit("error: the command needs more than the client: pip install './clients/python[cli]' in a checkout")
    contextkeep(prog_name="contextkeep")
