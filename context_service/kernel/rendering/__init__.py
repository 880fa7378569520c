"""Renders conversations in the request formats of model vendors.

A conversation is a list of turns (`turns`). The module of each vendor splits a turn into pieces, and describes the
shape of the list of pieces (`bodies`). The pieces of a turn depend on nothing but the turn. So text that was sent
before stays the same byte for byte, and the vendor's prompt cache stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType

from context_service.kernel.parts import Part
from context_service.kernel.rendering import anthropic, gemini, openai_chat, openai_responses
from context_service.kernel.rendering.bodies import Body, Rendered, Source, Span
from context_service.kernel.rendering.files import apart
from context_service.kernel.rendering.formats import Format
from context_service.kernel.rendering.left_out import without_files
from context_service.kernel.rendering.speakers import in_place, roles_shared, with_speaker
from context_service.kernel.rendering.turns import Call, RequestPart, Result, Turn
from context_service.kernel.rendering.written import PlacedFile

__all__ = [
    "BEGINNING",
    "RENDERER",
    "Body",
    "Call",
    "Format",
    "PlacedFile",
    "Rendered",
    "RequestPart",
    "Result",
    "Source",
    "Span",
    "Turn",
    "beginning",
    "body",
    "empty",
    "in_place",
    "needs_beginning",
    "pieces",
    "roles_shared",
    "with_speaker",
    "without_files",
]

RENDERER = 1  # version of the pieces of turns; pieces that were stored with an older one stay as they are


# A request that begins with the model's turn is refused by Claude on Bedrock ("first message must use the user role";
# Anthropic's own API accepts it) and by Gemini if that turn is a function call ("ensure that function call turn comes
# immediately after a user turn or after a function response turn"). No reference states it, but reports do:
# https://github.com/anthropics/anthropic-sdk-typescript/issues/622,
# https://github.com/google-gemini/gemini-cli/issues/11814
BEGINNING = "[The conversation begins with the assistant.]"


_MODULES: dict[Format, ModuleType] = {
    Format.OPENAI: openai_chat,
    Format.ANTHROPIC: anthropic,
    Format.GEMINI: gemini,
    Format.OPENAI_RESPONSES: openai_responses,
}


_USER_FIRST = frozenset({Format.ANTHROPIC, Format.GEMINI})


def pieces(turn: Turn, to: Format) -> list[RequestPart]:
    """Return the pieces of a turn, and of the turns with files that follow it; none if the vendor accepts nothing.

    Args:
        turn: The turn.
        to: The vendor's format.
    """
    module = _MODULES[to]
    if _is_blank(turn):
        return []
    if not turn.has_files:
        return list(module.pieces(turn))
    shown, following = apart(turn, module.file_block)
    request_parts: list[RequestPart] = module.pieces(shown)
    for later in following:
        request_parts += [piece._replace(call_id=later.call_id) for piece in module.pieces(later.turn)]
    return request_parts


def _is_blank(turn: Turn) -> bool:
    """Return whether a turn has only blank texts. Some vendors refuse it, and it tells no model anything."""
    blank = (part.text is not None and not part.text.strip() for part in turn.parts)
    return bool(turn.parts) and not turn.calls and all(blank)


def empty(to: Format, start: str = "") -> Body:
    """Return a body without pieces; `start` is the text with which its JSON object begins."""
    return Body(_MODULES[to].SHAPE, start.encode())


def body(turns: Iterable[Turn], to: Format) -> Body:
    """Return the body of a request.

    It has `messages`, for Anthropic also `system`; for Gemini `contents` and `systemInstruction`; for OpenAI's
    Responses `input`.
    """
    return empty(to).with_pieces(Rendered.of(piece) for turn in turns for piece in pieces(turn, to))


def beginning(turns: Iterable[Turn], to: Format) -> list[Turn]:
    """Return a user's turn to put before others, if the vendor requires one because they begin with the assistant."""
    if to not in _USER_FIRST:
        return []
    rendered_turns = ([Rendered.of(piece) for piece in pieces(turn, to)] for turn in turns if turn.role != "system")
    first = next((rendered for rendered in rendered_turns if rendered), [])
    return [Turn("user", parts=[Part(text=BEGINNING)])] if needs_beginning(first) else []


def needs_beginning(rendered: Sequence[Rendered]) -> bool:
    """Return whether pieces begin with a turn of the assistant."""
    return bool(rendered) and rendered[0].role in ("assistant", "model")
