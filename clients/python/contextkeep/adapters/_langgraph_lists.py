"""The lists of a LangGraph thread, such as its messages. Only the additions of a step are stored.

LangGraph gives a saver whole values: at each step, the list of all messages so far. If a list begins like an earlier
one, only the further elements are stored, as messages of the thread's context. So a step costs the same in a long
thread. Each stored message names its list (a version), the version that it extends, and how many elements of that one
it keeps. So branches share their common part, and the messages are read, recalled and searched like those of any other
conversation.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from contextkeep.adapters._media import files_of, with_bytes, without_bytes
from contextkeep.adapters._originals import bytes_part, is_storable, readable
from contextkeep.inputs import FileInput, MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep.values import ChatMessage

KEY = "langgraph"  # key in the metadata of each message that the adapter writes
UNSEEN: Mapping[str, Any] = {"index": False}  # metadata of a part that must not be indexed
TEXT_BYTES_MAX = 512 * 1024  # bytes of a text that is stored as text; a longer one is stored as bytes, as other values
PIECE_BYTES_MAX = 1_000_000  # bytes in one message, which may have 2 MiB; longer data are split over several messages
_READ_CHARS_MAX = 100_000  # characters of a text over `TEXT_BYTES_MAX` that searches read: to index more takes seconds
_FILES_MAX = 90  # files of one element that are stored as files; a message may have 100 parts
_NAME_CHARS_MAX = 200  # of a tool and of its call
_NEAR_MAX = 4  # lists of other channels that a new list is compared with
_WHOLE_MAX = 16  # lists that are kept whole in memory: those that were used last

_ROLES: Mapping[str, Literal["user", "assistant", "system", "tool"]] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file of an element: its bytes, or the id of the record that has them."""

    sha256: str
    data: bytes | None = field(default=None, compare=False, repr=False)
    working_memory_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Item:
    """A stored element: the bytes of a serializer, and what the bytes leave out: a message's text, and its files."""

    kind: str
    data: bytes
    text: str | None = None
    role: str = ""
    files: tuple[HeldFile, ...] = ()
    # What models and searches read of a message, with its files. Known only until the element is stored.
    parts: tuple[PartInput, ...] = field(default=(), compare=False, repr=False)


@dataclass(slots=True)
class _Version:
    """A list, stored as the beginning of another list and the elements that it adds."""

    on: str  # key of the list that it extends; empty if it extends none
    keep: int  # number of elements that it keeps of that list
    count: int  # number of elements that it adds
    added: dict[int, Item] = field(default_factory=dict)


class Lists:
    """The lists of one thread, as far as its messages were read.

    Hold `lock` while reading or changing them.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.begin(None)

    def begin(self, context_id: str | None) -> None:
        """Start to read another context, and forget the old one."""
        self.context_id = context_id
        self.read_seq = 0  # `seq` of the last message that was read
        self.latest: dict[tuple[str, str], str] = {}  # key of a channel's newest list, by namespace and channel name
        self._versions: dict[str, _Version] = {}
        self._whole: OrderedDict[str, Sequence[Item]] = OrderedDict()

    def near(self, channel: tuple[str, str]) -> list[str]:
        """Return the keys of lists that a new list of a channel may extend: the channel's newest, then others'."""
        mine = self.latest.get(channel)
        others = [key for key in reversed(self.latest.values()) if key != mine]
        return ([] if mine is None else [mine]) + others[:_NEAR_MAX]

    def read(self, message: ChatMessage, payload: Callable[[ChatMessage], tuple[str, bytes]]) -> None:
        """Read a message of the thread's context into the lists; messages of other programs are ignored.

        Args:
            message: The message. Call this for messages in the order of their `seq`.
            payload: Returns the kind and the bytes that a message carries.
        """
        self.read_seq = max(self.read_seq, message.seq)
        result = message.metadata.get(KEY)
        if not isinstance(result, dict) or "list" not in result:
            return
        version = self._versions.setdefault(result["list"], _Version(result["on"], result["keep"], result["count"]))
        if version.count:
            kind, data = payload(message)
            text = message.content if result.get("text") else None
            files = tuple(
                HeldFile(file.sha256, working_memory_id=file.working_memory_id)
                for part in message.parts
                for file in files_of(part)
                if file.working_memory_id
            )
            version.added[result["at"]] = Item(kind, data, text, message.role if result.get("role") else "", files)

    def __contains__(self, key: str) -> bool:
        version = self._versions.get(key)
        return version is not None and len(version.added) == version.count

    def items(self, key: str) -> Sequence[Item]:
        """Return all elements of a list, which must be complete (`key in self`)."""
        if key in self._whole:
            self._whole.move_to_end(key)
            return self._whole[key]
        pieces: list[list[Item]] = []
        # Follow the versions back. `limit` is how many elements count of the list that is read; None for all of them.
        at, limit = key, None
        while at and limit != 0:
            version = self._versions[at]
            added = [version.added[place] for place in range(version.count)]
            pieces.append(added if limit is None else added[: max(0, limit - version.keep)])
            limit = version.keep if limit is None else min(limit, version.keep)
            at = version.on
        items = [item for piece in reversed(pieces) for item in piece]
        self._remember(key, items)
        return items

    def add(self, key: str, items: Sequence[Item], near: Iterable[str]) -> tuple[str, int, Sequence[Item]]:
        """Add a new list, as an extension of the list that shares most of its beginning.

        Args:
            key: Key of the new list.
            items: All its elements.
            near: Keys of lists that it may extend.

        Returns:
            The key of the list that it extends, the number of elements that it keeps of that list, and its further
            elements. The key is empty if it extends none.
        """
        on, keep = "", 0
        for candidate in near:
            if candidate in self and (common := _common(self.items(candidate), items)) > keep:
                on, keep = candidate, common
        added = items[keep:]
        self._versions[key] = _Version(on, keep, len(added), dict(enumerate(added)))
        self._remember(key, items)
        return on, keep, added

    def forget(self, key: str) -> None:
        """Forget a list that was added, because it could not be stored."""
        self._versions.pop(key, None)
        self._whole.pop(key, None)

    def reached(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of these lists and of all lists that they extend, directly or not."""
        items: set[str] = set()
        for key in keys:
            at = key
            while at and at not in items and at in self._versions:
                items.add(at)
                at = self._versions[at].on
        return items

    def _remember(self, key: str, items: Sequence[Item]) -> None:
        """Cache a whole list, and drop the lists that were used longest ago."""
        self._whole[key] = items
        self._whole.move_to_end(key)
        while len(self._whole) > _WHOLE_MAX:
            self._whole.popitem(last=False)


def _common(items: Sequence[Item], other: Sequence[Item]) -> int:
    """Return how many of the first elements two lists share."""
    count = 0
    for mine, theirs in zip(items, other, strict=False):
        if mine is not theirs and mine != theirs:
            break
        count += 1
    return count


def item_of(value: Any, serde: SerializerProtocol) -> Item:
    """Return an element as it is stored. The text of a message is stored as text, so that searches find it."""
    if not isinstance(value, BaseMessage) or value.type not in _ROLES:
        kind, data = serde.dumps_typed(value)
        return Item(kind, data)
    role = _ROLES[value.type]
    if _is_plain(value.content):
        text = str(value.content)
        kind, data = serde.dumps_typed(value.model_copy(update={"content": ""}))
        return Item(kind, data, text, role, parts=tuple(_calls_of(value)))
    bare, files = without_bytes(value.content)
    if not 0 < len(files) <= _FILES_MAX:
        bare, files = value.content, []
    held = tuple(HeldFile(hashlib.sha256(data).hexdigest(), data) for data in map(_data_of, files))
    kind, data = serde.dumps_typed(value.model_copy(update={"content": bare}))
    return Item(kind, data, None, role, held, tuple(_parts_of(value, bare, files)))


def value_of(item: Item, serde: SerializerProtocol, data_of: Callable[[HeldFile], bytes]) -> Any:
    """Return the element from its stored form; the inverse of `item_of`.

    Args:
        item: The element.
        serde: The serializer that it was stored with.
        data_of: Returns the bytes of a file.
    """
    value = serde.loads_typed((item.kind, item.data))
    if item.text is not None:
        return value.model_copy(update={"content": item.text})
    if item.files:
        content = with_bytes(value.content, [data_of(file) for file in item.files])
        return value.model_copy(update={"content": content})
    return value


def _data_of(file: FileInput) -> bytes:
    assert isinstance(file.data, bytes), "`without_bytes` decoded it"
    return file.data


def _parts_of(message: BaseMessage, bare: Any, files: Sequence[FileInput]) -> list[PartInput]:
    """Return what models and searches read of a message whose content is a list, or cannot be stored as a text.

    Args:
        message: The message.
        bare: Its content without the base64 of files.
        files: The files. All of them are in the result, in their order.
    """
    blocks = bare if isinstance(bare, list) else [bare]
    texts = [text for block in blocks if (text := _text_of(block)).strip()]
    words = readable("\n\n".join(texts)[:_READ_CHARS_MAX])
    if isinstance(message, ToolMessage) and _is_name(message.tool_call_id):
        result = ToolResultInput(tool_call_id=message.tool_call_id, content=words, files=files)
        return [PartInput(tool_result=result)]
    parts = [PartInput(text=words)] if words.strip() else []
    return [*parts, *(PartInput(file=file) for file in files), *_calls_of(message)]


def _calls_of(message: BaseMessage) -> list[PartInput]:
    """Return the tool calls of a message."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return [
        PartInput(tool_call=ToolCallInput(id=str(call["id"]), name=call["name"], arguments=readable(call["args"])))
        for call in calls[: 99 - _FILES_MAX]
        if _is_name(call["id"]) and _is_name(call["name"])
    ]


def _text_of(block: Any) -> str:
    """Return the text of a block of content, or the address of a file that it names; empty if it has neither."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    address = block.get("image_url")
    address = address.get("url") if isinstance(address, dict) else address or block.get("url")
    return next((text for text in (block.get("text"), address) if isinstance(text, str)), "")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _NAME_CHARS_MAX and is_storable(value)


def _is_plain(content: Any) -> bool:
    """Say whether content can be stored as text: a text that is not blank, can be encoded, and is not too long."""
    if not isinstance(content, str) or not content.strip() or "\x00" in content:
        return False
    try:
        return len(content.encode()) <= TEXT_BYTES_MAX
    except UnicodeEncodeError:
        return False


def messages_of(key: str, on: str, keep: int, added: Sequence[Item]) -> list[MessageInput]:
    """Return the messages to store for the elements that a list adds to another one.

    A list without new elements has one message, so that it exists.

    Args:
        key: Key of the list.
        on: Key of the list that it extends; empty for none.
        keep: Number of elements that it keeps of that list.
        added: The elements that it adds.
    """
    about = {"list": key, "on": on, "keep": keep, "count": len(added)}
    if not added:
        return [MessageInput(role="tool", parts=[PartInput(data={}, metadata=UNSEEN)], metadata={KEY: about})]
    return [
        message_input
        for place, item in enumerate(added)
        for message_input in carrying(
            item.kind,
            item.data,
            {
                **about,
                "at": place,
                **({"text": True} if item.text is not None else {}),
                **({"role": True} if item.role else {}),
            },
            role=item.role or "tool",
            content=item.text or "",
            parts=item.parts,
        )
    ]


def carrying(
    kind: str,
    data: bytes,
    about: Mapping[str, Any],
    *,
    role: Any = "tool",
    content: str = "",
    parts: Sequence[PartInput] = (),
    message_id: str = "",
) -> list[MessageInput]:
    """Return the messages that carry bytes: the last one, and before it pieces that do not fit into one message.

    Args:
        kind: The serializer's name for the form of the bytes.
        data: The bytes.
        about: Metadata of the last message; the kind, and the ids of the pieces, are added.
        role: Role of the last message.
        content: Text of the last message.
        parts: Parts of the last message before its bytes.
        message_id: Id of the last message; empty lets the service make one.
    """
    cuts = [data[at : at + PIECE_BYTES_MAX] for at in range(0, len(data), PIECE_BYTES_MAX)] or [b""]
    before = [
        MessageInput(
            role="tool",
            message_id=f"piece:{uuid.uuid4()}",
            parts=[bytes_part(cut)],
            metadata={KEY: {"piece": True}},
        )
        for cut in cuts[:-1]
    ]
    pieces = {"pieces": [item.message_id for item in before]} if before else {}
    last = MessageInput(
        content,
        role=role,
        message_id=message_id,
        parts=[*parts, bytes_part(cuts[-1])],
        metadata={KEY: {**about, "kind": kind, **pieces}},
    )
    return [*before, last]
