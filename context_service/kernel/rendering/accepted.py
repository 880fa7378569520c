"""The files that a model accepts.

The module of each vendor knows the blocks of the vendor's format. A model of the vendor may accept fewer of them.
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = frozenset({"image", "pdf", "audio", "video"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The files that a model accepts.

    Attributes:
        kinds: The kinds of files, from `KINDS`.
        in_results: Whether results of tools may have files. If not, they follow in a turn of the user.
    """

    kinds: frozenset[str] = KINDS
    in_results: bool = True


EVERYTHING = Accepted()


def kind_of(media_type: str) -> str:
    """Return the kind of a file, from `KINDS`; empty if no vendor accepts such a file."""
    if media_type == "application/pdf":
        return "pdf"
    kind = media_type.partition("/")[0]
    return kind if kind in KINDS else ""
