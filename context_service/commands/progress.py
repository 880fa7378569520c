"""The progress bar of long commands, shown on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar during the block; yield the function that sets the done and total counts.

    Args:
        what: The plural of what is counted, as the bar shows it.
        quiet: Whether nothing is shown.
    """
    from rich.console import Console  # `serve` starts without it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, to_do: bar.update(task, completed=done, total=to_do)
