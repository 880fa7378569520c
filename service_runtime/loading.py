"""Loading modules without the garbage collector's help."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Import the heavy modules of a command in the block.

    Nearly all that an import makes stays, and the collector would look at it again and again: a fifth of the time. What
    is there at the end of the block it never looks at.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
