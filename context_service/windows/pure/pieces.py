"""The stored form of rendered pieces (parts of a request to a model): JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from context_service.kernel.rendering import PlacedFile, Rendered, Source


def pieces_json(pieces: Iterable[Rendered]) -> str:
    """Return pieces as JSON to store.

    The JSON has the exact bytes that are sent to the vendor, so that packs stay equal after an update of this service.
    """
    return orjson.dumps([_stored(piece) for piece in pieces]).decode()


def parsed_pieces(text: str) -> list[Rendered]:
    """Return the pieces that `pieces_json` wrote."""
    return [
        Rendered(
            role,
            json,
            is_result,
            tuple(Source(*source) for source in sources),
            tuple(PlacedFile(*file) for file in files[0]) if files else (),
        )
        for role, json, is_result, sources, *files in orjson.loads(text)
    ]


def _stored(piece: Rendered) -> list[Any]:
    """Return the values of a piece; most pieces have no files, and no place for them."""
    values = [piece.role, piece.json, piece.is_result, list(map(tuple, piece.sources))]
    return [*values, list(map(tuple, piece.files))] if piece.files else values
