"""A searcher that asks the running services: messages are appended, and `SearchContext` finds them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial

from bench.quality.conversations import Ask, Conversation, Searcher, Turn
from context_service.kernel.parts import Part
from contextkeep import ContextClient, MessageInput, PartInput, ToolCallInput, ToolResultInput

BATCH = 500  # messages of a call
FOUND = 100


class Contexts:
    """Conversations as contexts of a service, each written once.

    Args:
        client: A client of the Context Service.
    """

    def __init__(self, client: ContextClient) -> None:
        self._client = client
        self._written: dict[str, str] = {}
        self.embedded = 0  # passages, and how long they were waited for
        self.embedding_s = 0.0

    def searcher(self, profile: str) -> Searcher:
        """Return a searcher by a profile."""
        return partial(self._asking, profile)

    def _asking(self, profile: str, conversation: Conversation) -> Ask:
        context_id = self.of(conversation)

        def ask(text: str) -> Sequence[str]:
            found = self._client.contexts.search(context_id, text, limit=FOUND, profile=profile)
            return list(dict.fromkeys(item.message_id for item in found))  # a long message has several passages

        return ask

    def of(self, conversation: Conversation) -> str:
        """Return the id of the context of a conversation; write the conversation first if that was not done yet."""
        if conversation.name not in self._written:
            self._written[conversation.name] = self._write(conversation)
        return self._written[conversation.name]

    def _write(self, conversation: Conversation) -> str:
        """Append a conversation to a new context, wait until it is indexed, and return the id of the context."""
        context_id = None
        for start in range(0, len(conversation.turns), BATCH):
            messages = map(message_of, conversation.turns[start : start + BATCH])
            sent, *_ = self._client.contexts.append(messages, context_id)
            context_id = sent.context_id
        assert context_id is not None
        began = time.monotonic()
        while not (index := self._client.contexts.wait_for_index(context_id, wait_s=300)).is_complete:
            print(index, flush=True)
        self.embedded += index.indexed_count
        self.embedding_s += time.monotonic() - began
        return str(context_id)


def message_of(turn: Turn) -> MessageInput:
    """Return a turn as its author would send it."""
    return MessageInput(
        "" if turn.part else turn.text,
        parts=[_part(turn.part)] if turn.part else [],
        role=turn.role,
        name=turn.author,
        message_id=turn.id,
        said_at=turn.said_at,
        session=str(turn.session),
    )


def _part(part: Part) -> PartInput:
    if call := part.tool_call:
        return PartInput(tool_call=ToolCallInput(id=call.id, name=call.name, arguments=call.arguments_json))
    if result := part.tool_result:
        content = json.loads(result.content_json)
        given = ToolResultInput(tool_call_id=result.tool_call_id, content=content, is_error=result.is_error)
        return PartInput(tool_result=given)
    return PartInput(text=part.text)
