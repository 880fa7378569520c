"""Rendered pieces as JSON, as the rows of windows store them."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from context_service.kernel.rendering import Rendered


def pieces_json(pieces: Iterable[Rendered]) -> str:
    """Return pieces as JSON to store: the exact bytes that are sent, whatever a later release would render."""
    return orjson.dumps([tuple(piece) for piece in pieces]).decode()


def parsed_pieces(text: str) -> list[Rendered]:
    """Return the pieces that `pieces_json` wrote."""
    return [Rendered(*load) for load in orjson.loads(text)]
