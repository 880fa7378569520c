"""Titles of contexts and nodes in words that people know: the title, else the external id, else the first words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from contextkeep import ChatMessage, Context, FoundContext, Node
from contextkeep.errors import ContextKeepError, Unauthenticated
from contextkeep_console.visit import Visit, take

WORDS_CHARS = 80
# Contexts of a page whose first messages are read, each by a call; later ones without a title show their id.
READ_MAX, READ_AT_ONCE = 50, 8
_FIRST_MESSAGES = 5  # of a context; before the user's there may be a system prompt
_VALUES_MAX = 200  # values of a node's data that are searched for a text


async def titles_of(visit: Visit, contexts: Iterable[Context | FoundContext]) -> dict[str, str]:
    """Return the titles of contexts, by their ids. A context without any words has none."""
    contexts = list(contexts)
    titles = {context.context_id: _own_title(context) for context in contexts}
    turns = asyncio.Semaphore(READ_AT_ONCE)

    async def read(context: Context | FoundContext) -> None:
        async with turns:
            titles[context.context_id] = await _words_of(visit, context.context_id)

    untitled = [context for context in contexts if not titles[context.context_id] and context.message_count]
    await asyncio.gather(*map(read, untitled[:READ_MAX]))
    return titles


def _own_title(context: Context | FoundContext) -> str:
    if context.title or not context.external_ids:
        return context.title
    external_id = context.external_ids[0]
    return f"{external_id.id} ({external_id.system})"


async def _words_of(visit: Visit, context_id: str) -> str:
    """Return the first words of a context: the user's, else anyone's, else the name of a file."""
    try:
        messages: list[ChatMessage]
        messages, _ = await take(
            visit.context.contexts.list_messages(context_id, page_size=_FIRST_MESSAGES, **visit.whose), _FIRST_MESSAGES
        )
    except Unauthenticated:
        raise
    except ContextKeepError:
        return ""  # the page shows the id; a title is not worth an error
    messages.sort(key=lambda message: message.role != "user")
    return next(filter(None, map(_words_of_message, messages)), "")


def _words_of_message(message: ChatMessage) -> str:
    texts = [message.content, *(part.text or (part.file.name if part.file else "") for part in message.parts)]
    return next(filter(None, map(first_words, texts)), "")


def title_of_node(node: Node) -> str:
    """Return the name of a node, else its external id, else its type and the first words of its data."""
    if title := node.name or node.external_id:
        return title
    kind = node.specific_type_name or node.general_type_name
    try:
        words = _words_of_data(json.loads(node.data_json or "null"))
    except (ValueError, RecursionError):
        words = ""
    return f"{kind}: {words}" if words else kind


def _words_of_data(data: Any) -> str:
    """Return the first words of the first text in a JSON value; outer texts come before inner ones."""
    values = [data]
    for value in values:
        if isinstance(value, str) and (words := first_words(value)):
            return words
        if isinstance(value, dict | list) and len(values) < _VALUES_MAX:
            values += list(value.values() if isinstance(value, dict) else value)[:_VALUES_MAX]
    return ""


def first_words(text: str) -> str:
    """Return the first words of a text in a line, cut at a word."""
    line = " ".join(text[: 4 * WORDS_CHARS].split())
    if len(line) <= WORDS_CHARS:
        return line
    cut = line[:WORDS_CHARS]
    return f"{cut.rpartition(' ')[0] or cut}…"
