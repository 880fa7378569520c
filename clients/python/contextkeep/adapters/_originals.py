"""Values of frameworks that the service cannot store as they are: texts with NUL or half a character, or too large.

Such a value has a *readable* copy, which becomes a message as any other value does: searches and models read it. The
value itself is stored next to it as bytes, and `original_of` returns it unchanged.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from contextkeep.adapters._media import NO_CONTENTS, Contents, contents_in, with_bytes, without_bytes
from contextkeep.inputs import FileInput, MessageInput, PartInput
from contextkeep.values import ChatMessage, Part, Reasoning

BYTES_PROVIDER = "contextkeep"  # of bytes in a message: it is no vendor's name, so no model and no reader gets them

_KEY = "original"  # key in the metadata of a message that has an original
_VALUE_BYTES_MAX = 900_000  # JSON of a value that is stored as it is; a text may have 1 MiB
_READABLE_BYTES_MAX = 500_000  # JSON of a readable copy; with the bytes of its original it fits into the 2 MiB
_INSIDE_BYTES_MAX = 1_000_000  # an original that is stored inside its message; a larger one is stored as files
_FILE_BYTES_MAX = 16 * 2**20
_INTEGER_MAX = 2**63
_DEPTH_MAX = 60  # levels of a value that is stored as it is; the service takes 100, and our message adds some
# Characters of a text and items of a list that a readable copy has. The next pair is tried while it is too large.
_SIZES = ((400_000, 40_000), (20_000, 2_000), (1_000, 100), (100, 20), (10, 3))
_CUT = " […]"
_SECRET_TYPES = ("token", "credentials")  # types of objects that the service does not store
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Of JSON within a text, such as the arguments of a call: NUL, and characters of which half may be missing.
_ESCAPED = re.compile(r"\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})")
_LONG_NUMBER = re.compile(r"\d{19}")


def message_with_original(value: Any, convert: Callable[[Any], MessageInput]) -> MessageInput:
    """Return the message of a JSON value.

    If the service cannot store the value, it is the message of its readable copy, with the value attached as bytes.

    Args:
        value: The value, of any size. Its texts may have NUL or half a character, and its numbers may be NaN.
        convert: Returns the message of a value that the service can store.
    """
    if is_storable(value):
        return convert(value)
    value_without_bytes, files = without_bytes(value)
    if is_storable(value_without_bytes):  # `convert` sends its bytes as files
        return convert(value)
    data = [bytes(file.data) for file in files if isinstance(file.data, bytes)]
    message = convert(with_bytes(readable(value_without_bytes), data))
    if has_secret(value_without_bytes):  # the service removes it from the copy, and would not find it in bytes
        return message
    copy_has_files = _count_files(message) == len(files)
    original = json.dumps(value_without_bytes if copy_has_files else value, separators=(",", ":")).encode()
    note = {"files": copy_has_files, "pieces": 0}  # 0 pieces: the original is inside the message
    if len(original) <= _INSIDE_BYTES_MAX:
        added = [bytes_part(original)]
    else:
        pieces = [original[at : at + _FILE_BYTES_MAX] for at in range(0, len(original), _FILE_BYTES_MAX)]
        added = [
            PartInput(file=FileInput(data=piece, media_type="application/octet-stream", name="original"))
            for piece in pieces
        ]
        note["pieces"] = len(pieces)
    return replace(message, parts=[*message.parts, *added], metadata={**(message.metadata or {}), _KEY: note})


def original_of(message: ChatMessage, contents: Contents = NO_CONTENTS) -> Any:
    """Return the value that a message was written for, or None if the message itself is the value.

    Args:
        message: The message.
        contents: The bytes of its files, from `FileCache`. If one is missing, the result is None.
    """
    if not has_original(message):
        return None
    about = message.metadata[_KEY]
    count = about.get("pieces") or 1
    copy, added = message.parts[:-count], message.parts[-count:]
    data = [bytes_of(part) if part.reasoning is not None else b"".join(contents_in(part, contents)) for part in added]
    if not all(data):
        return None
    value = json.loads(b"".join(data))
    return (
        with_bytes(value, [item for part in copy for item in contents_in(part, contents)]) if about["files"] else value
    )


def stored_json(value: Any) -> Any:
    """Return a value as JSON that the service can store; `restored_json` returns the value from it."""
    is_plain = is_storable(value) and not (isinstance(value, dict) and value.keys() == {_KEY})
    return value if is_plain else {_KEY: json.dumps(value)}


def restored_json(stored: Any) -> Any:
    """Return the value of a result of `stored_json`."""
    is_text = isinstance(stored, dict) and stored.keys() == {_KEY} and isinstance(stored[_KEY], str)
    return json.loads(stored[_KEY]) if is_text else stored


def has_original(message: ChatMessage) -> bool:
    """Return whether a message is the readable copy of a value."""
    return isinstance(message.metadata.get(_KEY), dict)


def readable_text(text: str) -> str:
    """Return a text with a replacement character in the place of NUL and of half a character."""
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def bytes_part(data: bytes) -> PartInput:
    """Return a part with bytes that only their adapter reads: nothing indexes them, and no pack shows them."""
    return PartInput(reasoning=Reasoning(provider=BYTES_PROVIDER, data=data))


def bytes_of(part: Part) -> bytes:
    """Return the bytes of a part of `bytes_part`."""
    return part.reasoning.data if part.reasoning is not None else b""


def is_storable(value: Any) -> bool:
    """Return whether the service takes a value as JSON, and returns it unchanged."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if len(text.encode()) > _VALUE_BYTES_MAX or _ESCAPED.search(text):
            return False
    except (ValueError, RecursionError):  # NaN, or half a character: a UnicodeEncodeError is a ValueError
        return False
    may_be_deep = text.count("{") + text.count("[") > _DEPTH_MAX
    return not (may_be_deep or _LONG_NUMBER.search(text)) or _fits(value)


def _fits(value: Any) -> bool:
    """Return whether all numbers of a value have 64 bits, and it is not too deep."""
    rest = [(value, 0)]
    while rest:
        item, depth = rest.pop()
        if depth > _DEPTH_MAX or (type(item) is int and abs(item) >= _INTEGER_MAX):
            return False
        rest += [(inner, depth + 1) for inner in _inner(item)]
    return True


def _inner(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def readable(value: Any) -> Any:
    """Return a copy of a value that the service can store and models can read; long texts and lists are cut."""
    copy: Any = None
    for chars_max, items_max in _SIZES:
        copy = _copied(value, chars_max, items_max, 0)
        if len(json.dumps(copy, ensure_ascii=False).encode()) <= _READABLE_BYTES_MAX:
            break
    return copy


def _copied(value: Any, chars_max: int, items_max: int, depth: int) -> Any:
    """Return a copy of a value with texts of at most `chars_max` characters and lists of at most `items_max` items."""
    if isinstance(value, str):
        text = _ESCAPED.sub(_REPLACEMENT, readable_text(value))
        return text if len(text) <= chars_max + len(_CUT) else text[:chars_max] + _CUT
    if isinstance(value, dict | list) and depth > _DEPTH_MAX:
        return _CUT.strip()
    if isinstance(value, dict):
        pairs = list(value.items())[: items_max * 10]
        return {readable_text(key): _copied(item, chars_max, items_max, depth + 1) for key, item in pairs}
    if isinstance(value, list):
        return [_copied(item, chars_max, items_max, depth + 1) for item in value[:items_max]]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value)[:chars_max] if type(value) is int and abs(value) >= _INTEGER_MAX else value


def _count_files(message: MessageInput) -> int:
    """Return the number of files in the parts of a message."""
    results = [part.tool_result for part in message.parts if part.tool_result is not None]
    return sum(part.file is not None for part in message.parts) + sum(len(list(result.files)) for result in results)


def has_secret(value: Any) -> bool:
    """Return whether a value has an object of the kinds that the service does not store, or one that says so."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            kind = item.get("type")
            if item.get("secret") not in (None, False) or (
                isinstance(kind, str) and kind.strip().lower() in _SECRET_TYPES
            ):
                return True
        rest += _inner(item)
    return False
