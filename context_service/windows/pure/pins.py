"""Pins: texts that every pack shows word for word, right after the system prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from context_service.contexts.model import Message
from context_service.kernel.parts import Part
from context_service.kernel.rendering import Rendered, Source
from context_service.kernel.rendering.turns import part_text, result_text
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.state.task_state import Entry
from context_service.packing.pure.steps.blocks import text_pieces, tokens_of
from context_service.packing.pure.texts.quotation import is_quoted, quotation, speaker_of, trust_of, with_notice
from context_service.packing.pure.texts.sources import CALLER
from context_service.windows.model import WindowInput

PINS_MAX = 100
PIN_BYTES_MAX = 16 * 1024


class Pinned(NamedTuple):
    """All pins of a window, rendered for a model, and their tokens."""

    pieces: list[Rendered]
    tokens: int


def render_pins(pins: Iterable[Entry], window: WindowInput) -> Pinned:
    """Return the rendered pins, oldest first."""
    to = window.format
    sections = [
        piece._replace(sources=(Source(pin.speaker or CALLER, pin.ref, trust_of(pin.speaker).value),))
        for pin in pins
        for piece in text_pieces(_pin_text(pin), to)
    ]
    return Pinned(sections, tokens_of(sections, to, TokenCounter(window.tokens_family).count))


def said_in(message: Message, part: int | None) -> str | None:
    """Return the text of a message, or of one of its parts, or None if it has no such part.

    Args:
        message: A message of the log that the window reads.
        part: The number of the part; 0 is the content, and None is the whole message.
    """
    texts = [message.content, *map(_text, message.parts)]
    if part is None:
        return "\n\n".join(filter(None, texts))
    return texts[part] if part < len(texts) else None


def speaker_in(message: Message, part: int | None) -> str:
    """Return the speaker of a message, or of one of its parts.

    If the part, or any part of the whole message, is the result of a tool, the speaker is the tool.

    Args:
        message: A message of the log that the window reads.
        part: The number of a part, from 1; 0 is the content of the message, and None the whole message.
    """
    parts = message.parts if part is None else message.parts[max(part - 1, 0) : part]  # none for the content
    of_tool = any(item.tool_result for item in parts)
    if message.role == "tool" or not of_tool:
        return speaker_of(message.role, message.name, is_imported=message.is_imported)
    return speaker_of("tool", is_imported=message.is_imported)


def _pin_text(pin: Entry) -> str:
    """Return a pin as a model reads it: a heading with its ref and speaker, then its text, quoted if it is data."""
    head_words = [name for name in ("Pinned", pin.ref, pin.speaker if pin.speaker != "user" else "") if name]
    text = with_notice(quotation(pin.text, "", trust_of(pin.speaker))) if is_quoted(pin.speaker) else pin.text
    return f"[{', '.join(head_words)}]\n{text}"


def _text(part: Part) -> str:
    """Return the text of a part: of a result, of the arguments of a call, of reasoning, or of anything else."""
    if part.tool_result:
        return result_text(part.tool_result.content_json)
    if part.tool_call:
        return part.tool_call.arguments_json
    if part.reasoning:
        return part.reasoning.text
    return part_text(part)
