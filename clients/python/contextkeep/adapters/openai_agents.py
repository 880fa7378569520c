"""Sessions of the OpenAI Agents SDK: a session is a context, and a window can pack it.

    session = ContextSession("thread-1", AsyncContextClient())
    await Runner.run(agent, "Hello", session=session)

An item becomes a message in our words (texts, files, calls, results, reasoning), so that it is found by recall, seen in
the console, and read by an agent of another framework. What else the SDK says of an item is kept in the message's
metadata, so that it comes back as it was.
"""

from __future__ import annotations

import json
import mimetypes
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal, cast

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings

from contextkeep.adapters._media import NO_CONTENTS, Contents, FileCache, contents_in, with_bytes, without_bytes
from contextkeep.adapters._originals import has_original, message_with_original, original_of
from contextkeep.adapters._threads import Thread
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.errors import WindowClosed, WindowNotFound
from contextkeep.inputs import ExternalId, MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep.values import ChatMessage, Part, Reasoning

SYSTEM = "openai-agents"  # the system of external ids, whose id is that of the session
_KEY = "openai_agents"  # in the metadata of a message: what of its item our words do not say
_KEPT_BYTES_MAX = 48 * 1024  # metadata have 64 KiB
_PARTS_MAX = 90  # pieces of content that become parts of a message, which may have 100
_NAME_CHARS_MAX = 200  # of a tool and of its call
_ROLES: Mapping[str, Literal["user", "assistant", "system"]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}


class ContextSession(SessionABC):
    """A session that is a context: durable, isolated, found by words and by meaning."""

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        client: AsyncContextClient,
        *,
        session_settings: SessionSettings | None = None,
        subject_user_id: str = "",
    ) -> None:
        """Name a session; it is begun by its first item.

        Args:
            session_id: The caller's own, up to 400 characters. Each tenant, and each user of it, has its own.
            client: Client of the Context Service; the caller closes it.
            session_settings: Settings of the SDK. `limit` is the number of the newest items that a run sees.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
        """
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._thread = Thread(client, ExternalId(SYSTEM, session_id), subject_user_id=subject_user_id)
        self._files = FileCache(client, subject_user_id=subject_user_id)

    async def context_id(self) -> str | None:
        """Return the id of its context, for recall, windows and the console; None if it has no item yet."""
        return await self._thread.context_id()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, oldest first.

        Args:
            limit: Return only this many of the newest. Default: as in `session_settings`; without a limit there, all.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        messages = await self._thread.messages(newest=limit)
        contents = await self._files.contents_of(messages)
        return [item_of(message, contents) for message in messages]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items in their order: up to 500 and 4 MiB at once, each time all or none."""
        await self._thread.append([message_of(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it, or return None. It is hidden from all readers of the context."""
        while newest := await self._thread.messages(newest=1):
            contents = await self._files.contents_of(newest)
            if await self._thread.retract(newest[0]):
                return item_of(newest[0], contents)
        return None

    async def clear_session(self) -> None:
        """Delete the context with all its items. The session can still be used; it then starts a new context."""
        await self._thread.delete()


class PackedSession(ContextSession):
    """A session whose items are packed by a window: within the model's budget, at step 10,000 as at step 10.

    What a run sees begins with what the run before saw, so that the vendor's prompt cache holds; calls and results stay
    together. Of the steps that are left out, the pack states rules, values and decisions, and has refs to the rest. No
    model is needed.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncContextClient,
        *,
        model: str,
        context_tokens: int = 0,
        token_budget: float = 0.0,
        compression_profile: str = "",
        subject_user_id: str = "",
    ) -> None:
        """Name a session.

        Args:
            session_id: See `ContextSession`.
            client: See `ContextSession`.
            model: Whose tokens count, such as "gpt-5"; a session has a window for each.
            context_tokens: Context size of the model, answer included. 0: the known size of the model.
            token_budget: The share of it that the items may have. 0: 0.8. Instructions and tools of the agent are not
                counted, since the SDK does not say them: leave room for them.
            compression_profile: The profile of compactions. Empty: "general".
            subject_user_id: See `ContextSession`.
        """
        super().__init__(session_id, client, subject_user_id=subject_user_id)
        self._opening: dict[str, Any] = {
            "context_tokens": context_tokens,
            "token_budget": token_budget,
            "compression_profile": compression_profile,
        }
        self._model = model
        self._window_id: str | None = None

    async def window_id(self) -> str | None:
        """Return the id of the window, for `expand`, pins and statistics; None if there is no item yet."""
        context_id = await self.context_id()
        if context_id is None:
            self._window_id = None
        elif self._window_id is None:
            client, subject = self._thread.client, self._thread.subject_user_id
            async for item in client.windows.list(context_id, subject_user_id=subject):
                if item.model == self._model and item.message_format == "openai_responses" and not item.is_closed:
                    self._window_id = item.window_id
            if self._window_id is None:
                opened = await client.windows.open(
                    context_id,
                    self._model,
                    message_format="openai_responses",
                    subject_user_id=subject,
                    **self._opening,
                )
                self._window_id = opened.window_id
        return self._window_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the part of the session that the model should see.

        Args:
            limit: Return this many of the newest items unchanged instead, as in `ContextSession`. Default: the pack.
        """
        if limit is not None:
            return await super().get_items(limit)
        window_id = await self.window_id()
        if window_id is None:
            return []
        try:
            pack = await self._thread.client.windows.pack(window_id, subject_user_id=self._thread.subject_user_id)
        except (WindowNotFound, WindowClosed):  # another caller cleared the session or closed its window
            self._thread.forget()
            self._window_id = None
            return await self.get_items()
        return cast("list[TResponseInputItem]", pack.body.get("input", []))

    async def clear_session(self) -> None:
        """See `ContextSession`; the window goes with its context."""
        await super().clear_session()
        self._window_id = None


def message_of(item: TResponseInputItem) -> MessageInput:
    """Return the message of an item; `item_of` makes it the same item again."""
    return message_with_original(dict(cast("Mapping[str, Any]", item)), _converted)


def _converted(values: dict[str, Any]) -> MessageInput:
    """Return the message of an item that the service can store."""
    result = _in_our_words(dict(values))
    if result is None or len(_json(result.metadata)) > _KEPT_BYTES_MAX:
        role = _ROLES.get(str(values.get("role")), "assistant")
        return MessageInput(role=role, parts=[PartInput(data=values)], metadata={_KEY: {}})
    return result


def _in_our_words(values: dict[str, Any]) -> MessageInput | None:
    """Return our message for an item, with the rest as metadata; None if there is no equivalent."""
    match values.get("type", "message"):
        case "message" if values.get("role") in _ROLES:
            return _of_message(values)
        case "function_call" if _is_object(values.get("arguments")) and _are_names(values, "call_id", "name"):
            call = ToolCallInput(id=values.pop("call_id"), name=values.pop("name"), arguments=values.pop("arguments"))
            return MessageInput(role="assistant", parts=[PartInput(tool_call=call)], metadata={_KEY: values})
        case "function_call_output" if values.get("output") and _are_names(values, "call_id"):
            output, files = without_bytes(values.pop("output"))
            result = ToolResultInput(tool_call_id=values.pop("call_id"), content=output, files=files)
            return MessageInput(role="tool", parts=[PartInput(tool_result=result)], metadata={_KEY: values})
        case "reasoning":
            texts = [item.get("text", "") for item in values.get("summary") or ()]
            block = Reasoning(provider="openai", data_json=_json(values), text="\n\n".join(texts))
            return MessageInput(role="assistant", parts=[PartInput(reasoning=block)], metadata={_KEY: {}})
    return None


def _of_message(values: dict[str, Any]) -> MessageInput | None:
    """Return the message for an item of the SDK, or None if its content is not a text or a list of blocks.

    Fields that a message has no place for go into its metadata, so that the item can be restored exactly.
    """
    role, content = _ROLES[values["role"]], values.pop("content", None)
    if not content or not isinstance(content, str | list) or (len(content) > _PARTS_MAX and isinstance(content, list)):
        return None
    if isinstance(content, str):
        return MessageInput(content, role=role, metadata={_KEY: values})
    pieces = [_piece(dict(block)) for block in content]
    values["content"] = [left for _, left in pieces]
    if len(pieces) == 1 and (text := pieces[0][0].text):
        return MessageInput(text, role=role, metadata={_KEY: values})
    return MessageInput(role=role, parts=[part for part, _ in pieces], metadata={_KEY: values})


def _piece(block: dict[str, Any]) -> tuple[PartInput, dict[str, Any]]:
    """Return our part for a piece of content, and the rest of it."""
    bare, files = without_bytes(block)
    if len(files) == 1:
        return PartInput(file=files[0]), bare
    match block.get("type"):
        case "input_text" | "output_text" if block.get("text"):
            return PartInput(text=block.pop("text")), block
        case "input_image" if block.get("image_url"):
            url = block.pop("image_url")
            media_type = mimetypes.guess_type(url)[0] or ""  # of a `data:` URL what it says
            return PartInput(url=url, media_type=media_type if media_type.startswith("image/") else "image/jpeg"), block
    return PartInput(data=block), {}


def item_of(message: ChatMessage, contents: Contents = NO_CONTENTS) -> TResponseInputItem:
    """Return the item of a message, as it was; of one that no session wrote, what the SDK says for it.

    Args:
        message: A message of a context.
        contents: The bytes of its files, by the ids of their records.
    """
    kept = message.metadata.get(_KEY)
    item: Any = original_of(message, contents)
    if item is not None:
        return cast("TResponseInputItem", item)
    if not isinstance(kept, dict) or has_original(message):  # of an original whose files were deleted, the words stay
        item = _in_their_words(message, contents)
    elif not message.parts:
        pieces = kept.get("content")
        item = kept | {"content": [pieces[0] | {"text": message.content}] if pieces else message.content}
    elif "content" in kept:
        blocks = [_block(part, left, contents) for part, left in zip(message.parts, kept["content"], strict=True)]
        item = kept | {"content": blocks}
    else:
        item = _of_part(message.parts[0], contents) | kept
    return cast("TResponseInputItem", item)


def _block(part: Part, left: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    """Return a block of the SDK's content from a part, and the fields that the part has no place for."""
    if part.kind == "file":
        return dict(with_bytes(left, contents_in(part, contents)))
    if part.kind == "text":
        return {**left, "text": part.text}
    if part.kind == "url":
        return {**left, "image_url": part.url}
    return dict(part.data)


def _of_part(part: Part, contents: Contents = NO_CONTENTS) -> dict[str, Any]:
    """Return the fields of the SDK's item that a part was made of."""
    if part.tool_call is not None:
        call = part.tool_call
        return {"call_id": call.id, "name": call.name, "arguments": call.arguments_json or "{}"}
    if part.tool_result is not None:
        output = with_bytes(part.tool_result.content, contents_in(part, contents))
        return {"call_id": part.tool_result.tool_call_id, "output": output}
    whole: dict[str, Any] = json.loads(part.reasoning.data_json) if part.reasoning is not None else part.data
    return whole


def _in_their_words(message: ChatMessage, contents: Contents) -> dict[str, Any]:
    """Return the item of a message that others wrote."""
    for part in message.parts:
        if part.tool_call is not None:
            return {"type": "function_call", **_of_part(part)}
        if part.tool_result is not None:
            output = part.tool_result.content
            result = _of_part(part) | {"output": output if isinstance(output, str) else _json(output)}
            return {"type": "function_call_output", **result}
    texts = [message.content, *(part.text or part.data_json or part.url for part in message.parts)]
    role = message.role if message.role in ("user", "system") else "assistant"
    files = [_file_block(part, contents) for part in message.parts if part.file and role == "user"]
    if files:
        words = [{"type": "input_text", "text": text} for text in texts if text]
        return {"type": "message", "role": role, "content": [*words, *files]}
    return {"role": role, "content": "\n\n".join(text for text in texts if text)}


def _file_block(part: Part, contents: Contents) -> dict[str, Any]:
    """Return the piece of content for a file that others wrote: a picture, or another file."""
    assert part.file is not None
    file = part.file
    (content,) = contents_in(part, contents)
    address = file.url or f"data:{file.media_type};base64,{b64encode(content).decode()}"
    if file.media_type.startswith("image/"):
        return {"type": "input_image", "detail": "auto", "image_url": address}
    return {"type": "input_file", "file_data": address, "filename": file.name or "file"}


def _are_names(values: Mapping[str, Any], *keys: str) -> bool:
    """Return whether fields are texts that the service takes as names."""
    return all(isinstance(name := values.get(key), str) and 0 < len(name) <= _NAME_CHARS_MAX for key in keys)


def _is_object(text: Any) -> bool:
    """Return whether a model's arguments are an object, as they are where nothing went wrong."""
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
