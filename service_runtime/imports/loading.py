"""Loading modules without the garbage collector's help."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Import the heavy modules of a command in the block.

    Nearly all objects of an import stay, and the collector would visit them again and again: a fifth of the time. It
    never visits the objects that exist at the end of the block.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
