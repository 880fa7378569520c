"""The lists of a LangGraph thread. Only additions of a step are stored, so a turn costs the same in a long thread.

A saver is handed whole values: at each step all messages so far. Of a list that begins as one before, only what follows
is stored, as messages of the thread's context. Each names its version, the version that it extends, and how much of
that it keeps. So branches share their common part, and the messages are read, recalled and searched like those of any
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

KEY = "langgraph"  # in the metadata of each message of ours
UNSEEN: Mapping[str, Any] = {"index": False}  # of a part that must not be indexed
TEXT_BYTES_MAX = 512 * 1024  # of a message's 1 MiB; longer ones are bytes like anything else
PIECE_CHARACTERS_MAX = 700_000  # of bytes as base64; longer ones are split over several messages
_NEAR_MAX = 4
_WHOLE_MAX = 16  # lists that are kept whole, the last ones used

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
    """A list: what it keeps of another one, and what it adds."""

    on: str  # the key of the other one; empty: none
    keep: int
    count: int  # number of elements that it adds
    added: dict[int, Item] = field(default_factory=dict)


class Lists:
    """The lists of one thread, as far as they were read."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held by who reads or changes them
        self.begin(None)

    def begin(self, context_id: str | None) -> None:
        """Start to read another context, and forget the old one."""
        self.context_id = context_id
        self.read_seq = 0  # up to which it was read
        self.latest: dict[tuple[str, str], str] = {}  # the list of a channel, by its namespace and its name
        self._versions: dict[str, _Version] = {}
        self._whole: OrderedDict[str, Sequence[Item]] = OrderedDict()

    def near(self, channel: tuple[str, str]) -> list[str]:
        """Return the lists that one of a channel may go on from: its own last one, then those of others."""
        mine = self.latest.get(channel)
        others = [key for key in reversed(self.latest.values()) if key != mine]
        return ([] if mine is None else [mine]) + others[:_NEAR_MAX]

    def read(self, message: ChatMessage, payload: Callable[[ChatMessage], tuple[str, bytes]]) -> None:
        """Take in a message of the thread's context; what others wrote is left aside.

        Args:
            message: In the order of `seq`.
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
        """Return a list, which is there."""
        if key in self._whole:
            self._whole.move_to_end(key)
            return self._whole[key]
        pieces: list[list[Item]] = []
        at, limit = key, None  # limit of the first list only
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
        """Record a new list; return the version that it extends, the part of that to keep, and the new elements.

        Args:
            key: Of the list.
            items: All of it.
            near: Keys of lists that it may go on from.
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
        """Forget a list that was not written after all."""
        self._versions.pop(key, None)
        self._whole.pop(key, None)

    def reached(self, keys: Iterable[str]) -> set[str]:
        """Return which lists are needed for some, with themselves."""
        items: set[str] = set()
        for key in keys:
            at = key
            while at and at not in items and at in self._versions:
                items.add(at)
                at = self._versions[at].on
        return items

    def _remember(self, key: str, items: Sequence[Item]) -> None:
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
    """Return an element as it is stored. The text of a message stays text, so that it is found."""
    if isinstance(value, BaseMessage) and value.type in _ROLES and _is_plain(value.content):
        text = str(value.content)
        kind, data = serde.dumps_typed(value.model_copy(update={"content": ""}))
        return Item(kind, data, text, _ROLES[value.type])
    kind, data = serde.dumps_typed(value)
    return Item(kind, data)


def value_of(item: Item, serde: SerializerProtocol) -> Any:
    """Return the element that was stored."""
    value = serde.loads_typed((item.kind, item.data))
    return value if item.text is None else value.model_copy(update={"content": item.text})


def _is_plain(content: Any) -> bool:
    """Return whether a text can be stored as one: there is some, it can be encoded, and it is not too long."""
    if not isinstance(content, str) or not content.strip() or "\x00" in content:
        return False
    try:
        return len(content.encode()) <= TEXT_BYTES_MAX
    except UnicodeEncodeError:
        return False


def messages_of(key: str, on: str, keep: int, added: Sequence[Item]) -> list[MessageInput]:
    """Return the messages of the elements that a list adds to another one.

    A list without new elements has one message.
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
    """Return the messages that carry bytes.

    Bytes that are too large for one message are split; the last one names the others.
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
