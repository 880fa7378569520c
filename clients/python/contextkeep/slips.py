"""What an author probably meant by a name that is none of those there are."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

_CHARS_MAX = 40  # longer texts are not names, and comparing them is slow


def meant(text: object, names: Collection[str]) -> str:
    """Return what to add to the refusal of `text`: the nearest of `names`; nothing where none is near."""
    near = get_close_matches(str(text)[:_CHARS_MAX].lower(), names, n=1)
    return f"; is it {near[0]}?" if near else ""
