"""Tables that operators' commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded where something is shown: a server starts without it
    from rich.table import Table

_WIDTH = 1000  # more than any row


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal; in a file or a pipe a row is a line, so that grep finds it whole."""
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        console.print(table)
        return
    console.width = _WIDTH
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))  # noqa: T201
