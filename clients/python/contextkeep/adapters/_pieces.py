"""Messages of a framework as our messages. Fields without an equivalent are stored as metadata and restored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from contextkeep.adapters._media import NO_CONTENTS, Contents, contents_in, with_bytes, without_bytes
from contextkeep.adapters._originals import has_secret, message_with_original, original_of, readable_text
from contextkeep.inputs import MessageInput, PartInput, ToolResultInput
from contextkeep.values import ChatMessage, Part

Block = dict[str, Any]  # a piece of content, as the framework writes it as JSON

NOT_FOUND = {"index": False}  # metadata of a part that is not indexed, so that recall does not find it
BLANK = " "  # content of a message that has nothing to read; models are not shown it
_KEPT_BYTES_MAX = 48 * 1024  # bytes of the rest in the metadata, which may have 64 KiB
_PARTS_MAX = 95  # parts of a message, which may have 100; further ones hold the rest, and an original
_LAST_PART = {"is_last_part": True}  # stands in the metadata if the rest is too large for them and is in the last part


class Pieces:
    """Converts messages of one framework to our messages and back.

    A message of a framework has fields and a list of blocks, the pieces of its content. A block becomes a part of our
    message. Everything that our message has no field for is its *rest*, which is stored in the metadata.
    """

    def __init__(
        self,
        key: str,
        *,
        part_of: Callable[[Block], tuple[PartInput, Block]],
        block_of: Callable[[Part, Block], Block],
        has_files: bool = False,
    ) -> None:
        """Take the conversions of blocks.

        Args:
            key: Key in the metadata of a message, under which the rest is stored.
            part_of: Returns the part for a block, and the rest of the block; it may change its argument.
            block_of: Returns the block again, from the part and the rest.
            has_files: Files in blocks become files of our messages. Then `blocks` needs their bytes.
        """
        self._key = key
        self._part_of = part_of
        self._block_of = block_of
        self._has_files = has_files

    def message(self, rest: Block, blocks: Sequence[Block], **fields: Any) -> MessageInput:
        """Return our message for a message of a framework.

        Args:
            rest: The fields of the framework's message that ours has no field for, without the content.
            blocks: The content of the message.
            **fields: Further fields of our message.
        """
        fields = {key: readable_text(value) if isinstance(value, str) else value for key, value in fields.items()}
        value = {"rest": rest, "blocks": list(blocks)}
        return message_with_original(value, lambda copy: self._message(copy["rest"], copy["blocks"], fields))

    def _message(self, rest: Block, blocks: Sequence[Block], fields: dict[str, Any]) -> MessageInput:
        """Return the message of a value that the service can store."""
        pieces = [self._piece(block) for block in blocks] if len(blocks) <= _PARTS_MAX else []
        parts = [part for part, _ in pieces]
        kept: Block = {"rest": rest, "lefts": [left for _, left in pieces]}
        if blocks and not pieces:
            kept["blocks"] = blocks
        is_large = len(compact(kept)) > _KEPT_BYTES_MAX
        if len(parts) == 1 and parts[0].text and not parts[0].metadata and not is_large:
            return MessageInput(parts[0].text, metadata={self._key: kept}, **fields)
        if not parts and not is_large and not blocks:
            return MessageInput(BLANK, metadata={self._key: kept}, **fields)
        if is_large or not parts:
            parts.append(PartInput(data=kept, metadata=NOT_FOUND))
            kept = _LAST_PART
        return MessageInput(parts=parts, metadata={self._key: kept}, **fields)

    def rest(self, message: ChatMessage, contents: Contents = NO_CONTENTS) -> Block | None:
        """Return the rest that a message was written with; None if another program wrote the message.

        Args:
            message: The message.
            contents: The bytes of its files. Without them, the texts of a large rest may be cut.
        """
        kept = self._kept(message)
        if kept is None:
            return None
        original = original_of(message, contents)
        return dict(kept["rest"] if original is None else original["rest"])

    def _piece(self, block: Block) -> tuple[PartInput, Block]:
        """Return the part for a block, and the rest of the block. Files of the block become files of the part."""
        takes_files = self._has_files and not has_secret(block)  # a secret is redacted, and must leave no file
        bare, files = without_bytes(block) if takes_files else (block, [])
        part, left = self._part_of(dict(bare))
        if files and isinstance(part.tool_result, ToolResultInput):
            return replace(part, tool_result=replace(part.tool_result, files=files)), left
        if len(files) == 1:
            return PartInput(file=files[0]), bare
        return self._part_of(dict(block)) if files else (part, left)

    def blocks(self, message: ChatMessage, contents: Contents = NO_CONTENTS) -> list[Block]:
        """Return the blocks that a message was written with; none if another program wrote the message.

        Args:
            message: The message.
            contents: The bytes of its files, from `FileCache`.
        """
        kept = self._kept(message) or {}
        if kept and (original := original_of(message, contents)) is not None:
            return list(original["blocks"])
        if "blocks" in kept:
            return list(kept["blocks"])
        lefts = kept.get("lefts", ())
        if message.content and lefts:
            return [self._block_of(Part(kind="text", text=message.content), lefts[0])]
        blocks = []
        for part, left in zip(message.parts, lefts, strict=False):
            block = left if part.kind == "file" else self._block_of(part, left)
            files = contents_in(part, contents)
            blocks.append(with_bytes(block, files) if files else block)
        return blocks

    def _kept(self, message: ChatMessage) -> Block | None:
        """Return the framework's fields that were stored with a message, or None if another program wrote it."""
        kept = message.metadata.get(self._key)
        if kept == _LAST_PART:
            kept = next((part.data for part in reversed(message.parts) if part.kind == "data_json"), None)
        return kept if isinstance(kept, dict) and "rest" in kept else None


def foreign_texts(message: ChatMessage) -> str:
    """Return the texts, data and URLs of a message that another program wrote, without tool calls and results."""
    texts = [message.content, *(part.text or part.data_json or part.url for part in message.parts)]
    return "\n\n".join(text for text in texts if text)


def is_redacted(part: Part) -> bool:
    """Say whether a part held a secret, whose content the service does not store."""
    return part.kind == "data_json" and part.data == {"redacted": True}


def compact(value: Any) -> str:
    """Return a value as JSON, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
