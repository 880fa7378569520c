"""The texts of a message: what a model reads of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from context_service.contexts.model import MessageInput

_TOKENS_BESIDE = 4  # role and borders of a message, as vendors count them


def tokens_of(said: MessageInput, *, count: Callable[[str], int]) -> int:
    """Return about how many tokens a message takes of a model's context.

    Args:
        said: The message. Of files and pictures that it points at, nothing is counted.
        count: Counts those of a text.
    """
    return _TOKENS_BESIDE + sum(count(text) for text in _texts(said) if text)


def _texts(said: MessageInput) -> Iterator[str | None]:
    yield said.content
    for part in said.parts:
        yield part.text
        yield part.data_json
        yield part.url
        if part.tool_call:
            yield part.tool_call.name
            yield part.tool_call.arguments_json
        if part.tool_result:
            yield part.tool_result.content_json
        if part.reasoning:
            yield part.reasoning.data_json or part.reasoning.text
