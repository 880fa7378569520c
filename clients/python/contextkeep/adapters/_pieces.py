"""Messages of a framework as our messages. Fields without an equivalent are stored as metadata and restored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from contextkeep.inputs import MessageInput, PartInput
from contextkeep.values import ChatMessage, Part

Block = dict[str, Any]  # a piece of content, as the framework writes it as JSON

NOT_FOUND = {"index": False}  # metadata of a part that recall leaves aside
_KEPT_BYTES_MAX = 48 * 1024  # metadata have 64 KiB
_PARTS_MAX = 99  # parts of a message; one more holds the rest
_LAST_PART = {"is_last_part": True}  # where the rest is, if it is too large for metadata


class Pieces:
    """The words of one framework."""

    def __init__(
        self, key: str, *, part_of: Callable[[Block], tuple[PartInput, Block]], block_of: Callable[[Part, Block], Block]
    ) -> None:
        """Say how a piece of content is one of ours.

        Args:
            key: In the metadata of a message, under which the rest is.
            part_of: Returns the part of a block and the rest of the block; may change its argument.
            block_of: The block again.
        """
        self._key = key
        self._part_of = part_of
        self._block_of = block_of

    def message(self, rest: Block, blocks: Sequence[Block], **fields: Any) -> MessageInput:
        """Return our message for a message of a framework.

        Args:
            rest: All but its content.
            blocks: Its content.
            **fields: Others of the message.
        """
        pieces = [self._part_of(dict(block)) for block in blocks] if len(blocks) <= _PARTS_MAX else []
        parts = [part for part, _ in pieces]
        kept: Block = {"rest": rest, "lefts": [left for _, left in pieces]}
        if blocks and not pieces:
            kept["blocks"] = blocks
        is_large = len(compact(kept)) > _KEPT_BYTES_MAX
        if len(parts) == 1 and parts[0].text and not parts[0].metadata and not is_large:
            return MessageInput(parts[0].text, metadata={self._key: kept}, **fields)
        if is_large or not parts:
            parts.append(PartInput(data=kept, metadata=NOT_FOUND))
            kept = _LAST_PART
        return MessageInput(parts=parts, metadata={self._key: kept}, **fields)

    def rest(self, message: ChatMessage) -> Block | None:
        """Return the rest that `message` was written with; None if another program wrote it."""
        kept = self._kept(message)
        return None if kept is None else dict(kept["rest"])

    def blocks(self, message: ChatMessage) -> list[Block]:
        """Return what `message` was given as its content."""
        kept = self._kept(message) or {}
        if "blocks" in kept:
            return list(kept["blocks"])
        lefts = kept.get("lefts", ())
        if message.content and lefts:
            return [self._block_of(Part(kind="text", text=message.content), lefts[0])]
        return [self._block_of(part, left) for part, left in zip(message.parts, lefts, strict=False)]

    def _kept(self, message: ChatMessage) -> Block | None:
        kept = message.metadata.get(self._key)
        if kept == _LAST_PART:
            kept = message.parts[-1].data
        return kept if isinstance(kept, dict) and "rest" in kept else None


def foreign_texts(message: ChatMessage) -> str:
    """Return all that can be read of a message, but calls and results."""
    texts = [message.content, *(part.text or part.data_json or part.url for part in message.parts)]
    return "\n\n".join(text for text in texts if text)


def is_redacted(part: Part) -> bool:
    """Return whether a part held a secret: nothing of it is kept."""
    return part.kind == "data_json" and part.data == {"redacted": True}


def compact(value: Any) -> str:
    """Return a value as JSON, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
