"""How many examples a property is tried with: few, in CI the same ones each time. `make examples` tries many others."""

from __future__ import annotations

import os

MORE = int(os.environ.get("EXAMPLES") or 0)  # of each property; 0: those of `make test`


def examples(count: int) -> int:
    """Return how many, where `make test` takes `count`."""
    return MORE or count
