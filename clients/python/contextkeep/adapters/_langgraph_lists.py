"""The lists of a LangGraph thread, such as its messages. Only the additions of a step are stored.

LangGraph gives a saver whole values: at each step, the list of all messages so far. If a list begins like an earlier
one, only the further elements are stored, as messages of the thread's context. So a step costs the same in a long
thread. Each stored message names its list (a version), the version that it extends, and how many elements of that one
it keeps. So branches share their common part, and the messages are read, recalled and searched like those of any other
conversation.
"""

from __future__ import annotations

import base64
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from contextkeep.inputs import MessageInput, PartInput
from contextkeep.values import ChatMessage

KEY = "langgraph"  # key in the metadata of each message that the adapter writes
UNSEEN: Mapping[str, Any] = {"index": False}  # metadata of a part that must not be indexed
TEXT_BYTES_MAX = 512 * 1024  # bytes of a text that is stored as text; a longer one is stored as bytes, as other values
PIECE_CHARACTERS_MAX = 700_000  # characters of base64 in one message; longer data are split over several messages
_NEAR_MAX = 4  # lists of other channels that a new list is compared with
_WHOLE_MAX = 16  # lists that are kept whole in memory: those that were used last

_ROLES: Mapping[str, Literal["user", "assistant", "system", "tool"]] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class Item:
    """A stored element: the bytes of a serializer, and for a message also its text, which the bytes leave out."""

    kind: str
    data: bytes
    text: str | None = None
    role: str = ""


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
            version.added[result["at"]] = Item(kind, data, text, message.role if text is not None else "")

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
    if isinstance(value, BaseMessage) and value.type in _ROLES and _is_plain(value.content):
        text = str(value.content)
        kind, data = serde.dumps_typed(value.model_copy(update={"content": ""}))
        return Item(kind, data, text, _ROLES[value.type])
    kind, data = serde.dumps_typed(value)
    return Item(kind, data)


def value_of(item: Item, serde: SerializerProtocol) -> Any:
    """Return the element from its stored form; the inverse of `item_of`."""
    value = serde.loads_typed((item.kind, item.data))
    return value if item.text is None else value.model_copy(update={"content": item.text})


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
        said
        for place, item in enumerate(added)
        for said in carrying(
            item.kind,
            item.data,
            {**about, "at": place, **({"text": True} if item.text is not None else {})},
            role=item.role or "tool",
            content=item.text or "",
        )
    ]


def carrying(
    kind: str, data: bytes, about: Mapping[str, Any], *, role: Any = "tool", content: str = "", message_id: str = ""
) -> list[MessageInput]:
    """Return the messages that carry bytes: the last one, and before it pieces that do not fit into one message.

    Args:
        kind: The serializer's name for the form of the bytes.
        data: The bytes.
        about: Metadata of the last message; the ids of the pieces are added.
        role: Role of the last message.
        content: Text of the last message.
        message_id: Id of the last message; empty lets the service make one.
    """
    text = base64.b64encode(data).decode()
    cuts = [text[at : at + PIECE_CHARACTERS_MAX] for at in range(0, len(text), PIECE_CHARACTERS_MAX)] or [""]
    before = [
        MessageInput(
            role="tool",
            message_id=f"piece:{uuid.uuid4()}",
            parts=[PartInput(data=[kind, cut], metadata=UNSEEN)],
            metadata={KEY: {"piece": True}},
        )
        for cut in cuts[:-1]
    ]
    pieces = {"pieces": [item.message_id for item in before]} if before else {}
    last = MessageInput(
        content,
        role=role,
        message_id=message_id,
        parts=[PartInput(data=[kind, cuts[-1]], metadata=UNSEEN)],
        metadata={KEY: {**about, **pieces}},
    )
    return [*before, last]
