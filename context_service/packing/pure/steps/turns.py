"""Renders turns of windows: with `rendering`, or with an extension that an operator installed."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import orjson

from context_service.kernel import rendering
from context_service.kernel.extensions import Guarded, Unusable, installed
from context_service.kernel.rendering import Format, Rendered, RequestPart, Turn

_OWN_CALL_S = 0.05  # of a renderer that an operator installed, for a turn


def pieces(turn: Turn, to: Format) -> list[RequestPart]:
    """Render a turn as parts of a request in the vendor's format.

    The list is empty if the vendor accepts nothing in the turn. If an installed renderer fails, the built-in one is
    used.
    """
    if own := _own_renderer(to):
        with suppress(Unusable):
            return own(_pieces_of, turn)
    return rendering.pieces(turn, to)


@cache
def _own_renderer(to: Format) -> Guarded | None:
    """Return the installed renderer of turns for a vendor, or None if there is none."""
    own = installed(f"message_renderer.{to.value}")
    return Guarded(f"message_renderer.{to.value}", own, call_s=_OWN_CALL_S) if own else None


def _pieces_of(answer: object) -> list[RequestPart]:
    """Return the answer of an installed renderer as the pieces of a turn.

    Raises:
        TypeError: the answer is not a list of `RequestPart`, or a part is not a JSON object.
    """
    if not isinstance(answer, list) or not all(isinstance(part, RequestPart) for part in answer):
        raise TypeError("it must be a list of RequestPart")
    if not all(isinstance(orjson.loads(Rendered.of(part).json), dict) for part in answer):
        raise TypeError("each part must be a JSON object")
    return answer
