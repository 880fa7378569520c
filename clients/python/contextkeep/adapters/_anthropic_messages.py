"""Turns of Anthropic's Messages API as messages of a context, and back.

A block becomes a part in our words: text, a file, a call, a result, thinking. Recall finds it, windows show it, and an
agent of another framework reads it. The other fields of a block are kept in the metadata of the message, so that it
comes back as it was.
"""

from __future__ import annotations

import json
import mimetypes
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, cast

from contextkeep.adapters._media import NO_CONTENTS, Contents, FileCache, contents_in, with_bytes, without_bytes
from contextkeep.adapters._originals import has_original, message_with_original, original_of
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.inputs import MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep.values import ChatMessage, Part, Reasoning

if TYPE_CHECKING:
    from anthropic.types import Message, MessageParam
    from anthropic.types.beta import BetaMessage, BetaMessageParam

_KEY = "anthropic"  # in the metadata of a message: the fields of its blocks that no part has
_KEPT_BYTES_MAX = 48 * 1024  # metadata have 64 KiB
_PARTS_MAX = 90  # blocks of one message, which may have 100 parts
_NAME_CHARS_MAX = 200  # of a tool and of its call
_URL_TYPES = {"image": "image/jpeg", "document": "application/pdf"}
_Block = dict[str, Any]


def message_inputs(message: Message | BetaMessage | MessageParam | BetaMessageParam) -> list[MessageInput]:
    """Return the messages of a turn, to append to a context in this order.

    A turn of a user that answers calls becomes a message of role "tool" and, for the rest, one of the user. A response
    keeps its id, so that appending it twice stores it once. A turn without content has no message.

    Args:
        message: A response of the Messages API, or a turn of a request.
    """
    values = _plain(message)
    role: Literal["user", "assistant"] = "assistant" if values.get("role") == "assistant" else "user"
    content = values.get("content") or ""
    groups = [content] if isinstance(content, str) else _groups([_plain(block) for block in content])
    inputs = [
        message_with_original({"role": role, "content": blocks}, partial(_converted, is_joined=number > 0))
        for number, blocks in enumerate(groups)
        if blocks
    ]
    if inputs and isinstance(values.get("id"), str):
        inputs[0] = replace(inputs[0], message_id=values["id"])
    return inputs


def message_params(messages: Iterable[ChatMessage], contents: Contents = NO_CONTENTS) -> list[MessageParam]:
    """Return the turns of messages for a request. Those that `message_inputs` made come back as they were.

    Messages of role "system" are left out: the API takes them as `system`, and the pack of a window has them there.

    Args:
        messages: Messages of a context, oldest first.
        contents: The bytes of their files, by the ids of the records.
    """
    turns: list[_Block] = []
    for message in messages:
        if message.role == "system":
            continue
        kept = message.metadata.get(_KEY)
        kept = kept if isinstance(kept, dict) else None
        turn = original_of(message, contents) or _turn(message, None if has_original(message) else kept, contents)
        if turns and kept and kept.get("joined") and turns[-1]["role"] == turn["role"]:
            turns[-1] = {**turns[-1], "content": [*turns[-1]["content"], *turn["content"]]}
        elif turn["content"]:
            turns.append(turn)
    return cast("list[MessageParam]", turns)


async def read_messages(
    client: AsyncContextClient, context_id: str, *, subject_user_id: str = ""
) -> list[MessageParam]:
    """Return all turns of a context for a request, with the bytes of their files.

    For a conversation that outgrows the model, pack a window instead.
    """
    listed = client.contexts.list_messages(context_id, subject_user_id=subject_user_id)
    messages = [message async for message in listed]
    contents = await FileCache(client, subject_user_id=subject_user_id).contents_of(messages)
    return message_params(messages, contents)


def _plain(block: Any) -> _Block:
    """Return a turn or a block as JSON; those of a response are objects of the SDK."""
    plain: _Block = dict(block) if isinstance(block, Mapping) else block.to_dict(mode="json")
    return plain


def _groups(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Yield blocks that become one message: results, or others, and not too many."""
    for _, group in groupby(blocks, key=lambda block: block.get("type") == "tool_result"):
        of_group = list(group)
        for start in range(0, len(of_group), _PARTS_MAX):
            yield of_group[start : start + _PARTS_MAX]


def _converted(turn: _Block, *, is_joined: bool) -> MessageInput:
    """Return the message of a turn that the service can store."""
    kept: _Block = {"joined": True} if is_joined else {}
    content = turn["content"]
    if isinstance(content, str):
        return MessageInput(content, role=turn["role"], metadata={_KEY: kept})
    are_results = all(block.get("type") == "tool_result" for block in content)
    role: Literal["user", "assistant", "tool"] = "tool" if are_results else turn["role"]
    pieces = [_piece(dict(block)) for block in content]
    rest = [left for _, left in pieces]
    if len(_json(rest)) > _KEPT_BYTES_MAX:
        pieces = [(PartInput(data=block), {}) for block in content]
        rest = [{} for _ in content]
    return MessageInput(role=role, parts=[part for part, _ in pieces], metadata={_KEY: {**kept, "blocks": rest}})


def _piece(block: _Block) -> tuple[PartInput, _Block]:
    """Return our part for a block, and the fields that the part has no place for."""
    whole = dict(block)
    match block.get("type"):
        case "text" if block.get("text"):
            return PartInput(text=block.pop("text")), block
        case "tool_use" if _are_names(block, "id", "name") and isinstance(block.get("input"), dict):
            call = ToolCallInput(id=block.pop("id"), name=block.pop("name"), arguments=block.pop("input"))
            return PartInput(tool_call=call), block
        case "tool_result" if _are_names(block, "tool_use_id"):
            content, files = without_bytes(block.pop("content", None))
            if (text := _only_text(content)) is not None:
                block["content"] = [_without_text(inner) for inner in content]
                content = text
            result = ToolResultInput(
                tool_call_id=block.pop("tool_use_id"),
                content=content,
                is_error=bool(block.get("is_error")),
                files=files,
            )
            return PartInput(tool_result=result), block
        case "thinking" | "redacted_thinking":
            thoughts = Reasoning(provider="anthropic", data_json=_json(whole), text=str(block.get("thinking") or ""))
            return PartInput(reasoning=thoughts), {}
        case "image" | "document" as kind:
            bare, files = without_bytes(block)
            if len(files) == 1:
                return PartInput(file=files[0]), bare
            source = block.get("source")
            if isinstance(source, dict) and source.get("type") == "url" and isinstance(source.get("url"), str):
                media_type = mimetypes.guess_type(source["url"])[0] or _URL_TYPES[kind]
                rest = {key: value for key, value in source.items() if key != "url"}
                return PartInput(url=source["url"], media_type=media_type), {**block, "source": rest}
    return PartInput(data=whole), {}


def _only_text(content: Any) -> str | None:
    """Return the text of the content of a result if it has one block of text, next to pictures; else None."""
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return None
    kinds = [block.get("type") for block in content]
    if kinds.count("text") != 1 or not set(kinds) <= {"text", "image", "document"}:
        return None
    text = content[kinds.index("text")].get("text")
    return text if isinstance(text, str) and text else None


def _without_text(block: _Block) -> _Block:
    """Return a block of a result without the text of a block of text."""
    return {key: value for key, value in block.items() if key != "text" or block["type"] != "text"}


def _turn(message: ChatMessage, kept: _Block | None, contents: Contents) -> _Block:
    """Return the turn of a message.

    Args:
        message: The message.
        kept: The fields of the blocks that its parts have no place for; None if another program wrote the message.
        contents: The bytes of its files.
    """
    role = "assistant" if message.role == "assistant" else "user"
    rest = (kept or {}).get("blocks")
    if kept is not None and rest is None and not message.parts:
        return {"role": role, "content": message.content}
    if not isinstance(rest, list) or len(rest) != len(message.parts):
        blocks = [block for part in message.parts if (block := _in_their_words(part, role, contents))]
        words = [{"type": "text", "text": message.content}] if message.content else []
        return {"role": role, "content": [*words, *blocks]}
    return {
        "role": role,
        "content": [_block(part, left, contents) for part, left in zip(message.parts, rest, strict=True)],
    }


def _block(part: Part, left: Mapping[str, Any], contents: Contents) -> _Block:
    """Return the block that a part was made of."""
    if part.file is not None:
        return dict(with_bytes(dict(left), contents_in(part, contents)))
    if part.kind == "text":
        return {**left, "text": part.text}
    if part.kind == "url":
        return {**left, "source": {**left["source"], "url": part.url}}
    if part.tool_call is not None:
        call = part.tool_call
        return {**left, "id": call.id, "name": call.name, "input": json.loads(call.arguments_json or "{}")}
    if part.tool_result is not None:
        content = part.tool_result.content
        if "content" in left:  # the blocks, whose only text is the content of the result
            content = [{**block, "text": content} if block["type"] == "text" else block for block in left["content"]]
        content = with_bytes(content, contents_in(part, contents))
        answer = {} if content is None else {"content": content}
        return {**left, "tool_use_id": part.tool_result.tool_call_id, **answer}
    whole: _Block = json.loads(part.reasoning.data_json) if part.reasoning is not None else part.data
    return whole


def _in_their_words(part: Part, role: str, contents: Contents) -> _Block | None:
    """Return a block for a part of a message that another program wrote; None if the API has none."""
    if part.reasoning is not None:
        is_theirs = part.reasoning.provider == "anthropic" and part.reasoning.data_json and role == "assistant"
        return json.loads(part.reasoning.data_json) if is_theirs else None
    if part.tool_call is not None:
        return _block(part, {"type": "tool_use"}, contents)
    if part.tool_result is not None:
        files = [_file_block(file.media_type, content) for file, content in _files(part, contents)]
        content = part.tool_result.content
        words = content if isinstance(content, str) else "" if content is None else _json(content)
        texts = [{"type": "text", "text": words}] if words else []
        result = {"type": "tool_result", "tool_use_id": part.tool_result.tool_call_id, "content": [*texts, *files]}
        return {**result, "is_error": True} if part.tool_result.is_error else result
    if part.file is not None and role == "user":
        for file, content in _files(part, contents):
            return _file_block(file.media_type, content)
        return {"type": "text", "text": part.file.url or part.file.name or "file"}
    text = part.text or part.data_json or part.url or (part.file.name if part.file else "")
    return {"type": "text", "text": text} if text else None


def _files(part: Part, contents: Contents) -> Iterator[tuple[Any, bytes]]:
    """Yield the pictures and PDFs of a part that have bytes."""
    files = part.tool_result.files if part.tool_result is not None else [part.file]
    for file, content in zip(files, contents_in(part, contents), strict=True):
        if file and content and (file.media_type.startswith("image/") or file.media_type == "application/pdf"):
            yield file, content


def _file_block(media_type: str, content: bytes) -> _Block:
    source = {"type": "base64", "media_type": media_type, "data": b64encode(content).decode()}
    return {"type": "image" if media_type.startswith("image/") else "document", "source": source}


def _are_names(values: Mapping[str, Any], *keys: str) -> bool:
    """Return whether fields are texts that the service takes as names."""
    return all(isinstance(name := values.get(key), str) and 0 < len(name) <= _NAME_CHARS_MAX for key in keys)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
