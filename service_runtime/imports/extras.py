"""How to install a package that only some settings need."""

from __future__ import annotations


def install(extra: str) -> str:
    """Return the command that installs an extra of the services: from a checkout, until they are published."""
    return f"pip install ./clients/python '.[{extra}]' in a checkout"
