"""The stored form of rendered pieces (parts of a request to a model): JSON."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from context_service.kernel.rendering import Rendered, Source


def pieces_json(pieces: Iterable[Rendered]) -> str:
    """Return pieces as JSON to store.

    The JSON has the exact bytes that are sent to the vendor, so that packs stay equal after an update of this service.
    """
    return orjson.dumps([(*piece[:3], list(map(tuple, piece.sources))) for piece in pieces]).decode()


def parsed_pieces(text: str) -> list[Rendered]:
    """Return the pieces that `pieces_json` wrote."""
    return [
        Rendered(role, json, is_result, tuple(Source(*source) for source in sources))
        for role, json, is_result, sources in orjson.loads(text)
    ]
