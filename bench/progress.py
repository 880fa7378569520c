"""A progress bar for measurements that take minutes."""

from __future__ import annotations

import sys


class Progress:
    """A progress bar on the terminal; without a terminal it prints nothing."""

    _CELLS = 30

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._what = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.ends()

    def begins(self, what: str) -> None:
        """Begin the bar of a piece of work."""
        self._what = what
        self.shows(0.0)

    def shows(self, share: float) -> None:
        """Show the share of the work that is done."""
        if self._is_shown:
            done = int(share * self._CELLS)
            print(f"\r{'█' * done}{'░' * (self._CELLS - done)} {self._what:60.60}", end="", file=sys.stderr, flush=True)

    def ends(self) -> None:
        """Clear the line of the bar."""
        if self._is_shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
