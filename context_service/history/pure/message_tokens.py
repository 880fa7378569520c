"""Counts the tokens of messages as the vendor of a format does: their texts, and their files."""

from __future__ import annotations

from collections.abc import Callable

from context_service.history.model import ChatMessage
from context_service.kernel.files.facts import FileFacts
from context_service.kernel.files.models import MediaModel
from context_service.kernel.files.tokens import tokens_of_file
from context_service.kernel.parts import File, Part, tokens_of
from context_service.kernel.rendering.files import file_of
from context_service.kernel.rendering.turns import inline_file


def tokens_of_message(message: ChatMessage, model: MediaModel, *, count: Callable[[str], int]) -> int:
    """Return the tokens of a message; a file that the model does not take counts as the text that names it.

    Args:
        message: The message, in which files stand for the records that have them.
        model: How the vendor's models count files.
        count: A function that counts the tokens of a text.
    """
    texts = [part for part in message.parts if not inline_file(part.url or "")]
    files = sum(_tokens_of_file(file, model) for part in message.parts for file in _files_of(part))
    return tokens_of(message.content, texts, count=count) + files


def _files_of(part: Part) -> tuple[File, ...]:
    file = file_of(part)
    return (file,) if file else part.files


def _tokens_of_file(file: File, model: MediaModel) -> int:
    facts = FileFacts(
        media_type=file.media_type,
        width=file.width,
        height=file.height,
        page_count=file.page_count,
        text_chars=file.text_chars,
        duration_seconds=file.duration_seconds,
    )
    return tokens_of_file(facts, model, size_bytes=file.size_bytes)
