"""Conversations as the requests of model vendors want them.

What is said is a row of turns (`turns`); each vendor's module says which pieces a turn becomes, and what they are
together. A turn's pieces depend on nothing but the turn: what was sent before stays as it was, byte for byte, and so
does the vendor's cache of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from types import ModuleType

from context_service.rendering import anthropic, gemini, openai_chat, openai_responses
from context_service.rendering.turns import Call, Piece, Result, Turn

__all__ = ["Call", "Format", "Piece", "Result", "Turn", "assembled", "body", "pieces"]


class Format(Enum):
    """Whose requests."""

    OPENAI = "openai"  # Chat Completions
    ANTHROPIC = "anthropic"  # Messages
    GEMINI = "gemini"  # generateContent
    OPENAI_RESPONSES = "openai_responses"  # Responses


_MODULES: dict[Format, ModuleType] = {
    Format.OPENAI: openai_chat,
    Format.ANTHROPIC: anthropic,
    Format.GEMINI: gemini,
    Format.OPENAI_RESPONSES: openai_responses,
}


def pieces(turn: Turn, to: Format) -> list[Piece]:
    """Return what a turn becomes; nothing, if there is nothing in it that the vendor takes."""
    made: list[Piece] = _MODULES[to].pieces(turn)
    return made


def assembled(pieces: Sequence[Piece], to: Format) -> bytes:
    """Return what pieces are together: see `body`."""
    made: bytes = _MODULES[to].body(pieces)
    return made


def body(turns: Iterable[Turn], to: Format) -> bytes:
    """Return a JSON object for the body of a request.

    It has `messages`, for Anthropic also `system`; for Gemini `contents` and `systemInstruction`; for OpenAI's
    Responses `input`.
    """
    return assembled([piece for turn in turns for piece in pieces(turn, to)], to)
