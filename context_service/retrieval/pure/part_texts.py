"""The text by which a part of a message is found: its own text, or the values of its JSON as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from context_service.kernel.parts import Part

RECORD = "record"  # the kind of a record that a part refers to; its text is read after the message is written
KINDS = ("text", "data", "tool_call", "tool_result", "file", RECORD)

_PATH_CHARS_MAX = 200  # a line shows only the end of a longer path
# All paths of a document together may have this many characters, or this multiple of the document's length if that is
# more. Without a limit, each leaf of a deeply nested document would repeat a long path.
_PATHS_CHARS_MIN = 4_096
_PATHS_SHARE = 2


class PartText(NamedTuple):
    """A text of a message's part that passages are cut from."""

    kind: str  # one of KINDS
    text: str


def part_text(part: Part) -> PartText | None:
    """Return the text by which a part is found; None for reasoning, for a part without text, or if it opts out.

    A part opts out with `"index": false` in its metadata. JSON becomes a line for each leaf, `path = value`, so that
    keys and values are found; a single text in it stays as it is. Files and addresses are not read: only their names
    are indexed.
    """
    if part.reasoning is not None or not is_indexed(part.metadata_json):
        return None
    if part.text is not None:
        kind, text = "text", part.text
    elif part.data_json is not None:
        kind, text = "data", json_text(part.data_json)
    elif part.tool_call is not None:
        kind, text = "tool_call", f"{part.tool_call.name}\n{json_text(part.tool_call.arguments_json)}"
    elif part.tool_result is not None:
        kind, text = "tool_result", json_text(part.tool_result.content_json)
        text = f"error\n{text}" if part.tool_result.is_error else text
    else:
        kind, text = "file", part.url or ""
    described = (text for file in part.files for text in (file.name, file.alt, file.url))
    text = "\n".join(filter(None, [part.file_name, *described, text]))
    return PartText(kind, text) if text and not text.isspace() else None


def json_text(document: str) -> str:
    """Return the leaves of a JSON document, one a line; a single text, or text that is not JSON, stays unchanged.

    Lists of plain values become one line. The text is at most a few times the size of the document.
    """
    if not document:
        return ""
    try:
        value = orjson.loads(document)
    except orjson.JSONDecodeError:
        return document
    if isinstance(value, str):
        return value
    return "\n".join(_lines(value, max(_PATHS_CHARS_MIN, _PATHS_SHARE * len(document))))


def _lines(document: Any, paths_chars: int) -> Iterator[str]:
    """Yield a line for each leaf of a document, in order.

    Args:
        document: The parsed JSON. It may be nested to any depth, because the walk is not recursive.
        paths_chars: The most characters of all paths together. After that, lines show only their own key.
    """
    stack: list[tuple[str, str, Any]] = [("", "", document)]  # path, key, value
    while stack:
        path, key, value = stack.pop()
        inside: list[tuple[str, Any]] | None = None
        if isinstance(value, dict) and value:
            inside = [(name, item) for name, item in value.items()]
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            inside = [(f"[{number}]", item) for number, item in enumerate(value)]
        paths_chars -= len(path)
        name = path if paths_chars > 0 else key
        if inside is None:
            leaf_text = _plain_text(value)
            yield f"{name} = {leaf_text}" if name and leaf_text else name or leaf_text
            continue
        if paths_chars <= 0 and key:
            yield key
        stack.extend((_path(path, name, paths_chars), name, item) for name, item in reversed(inside))


def _path(path: str, name: str, paths_chars: int) -> str:
    """Return the path of a nested value, or only its own name once the paths together are long enough."""
    if paths_chars <= 0:
        return name
    longer = f"{path}{name}" if name.startswith("[") or not path else f"{path}.{name}"
    return longer[-_PATH_CHARS_MAX:] if len(longer) > _PATH_CHARS_MAX + len(name) else longer


def _plain_text(value: Any) -> str:
    """Return a plain value, or several, as text."""
    if isinstance(value, list):
        return ", ".join(map(_plain_text, value))
    if isinstance(value, str):
        return value
    return "" if value == {} else orjson.dumps(value).decode()


def is_indexed(metadata_json: str) -> bool:
    """Say whether a part is indexed, which is so unless its metadata have `"index": false`."""
    if '"index"' not in metadata_json:
        return True
    try:
        metadata = orjson.loads(metadata_json)
    except orjson.JSONDecodeError:
        return True
    return not (isinstance(metadata, dict) and metadata.get("index") is False)
