"""JSON as text for people: a line for each field, indented, and the texts in it with their own lines.

invoice: 4711
lines:
  - sku: A-7
    note:
      Sent on Monday.
      Not paid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_INDENT = "  "
_DEPTH_MAX = 20  # deeper values are JSON
_CHARS_MAX = 200_000  # a longer text of JSON is shown as it is
_JSON_IN_TEXT = "arguments"  # where vendors put JSON as a text


def tree(value: Any) -> str:
    """Return a value, or the value of a text of JSON, as an indented text; a text without JSON stays as it is."""
    if not isinstance(value, str):
        return "\n".join(_lines(value, 0))
    if len(value) > _CHARS_MAX:
        return value
    try:
        return "\n".join(_lines(json.loads(value), 0))
    except (ValueError, RecursionError):
        return value


def block_text(block: Any) -> str:
    """Return a block of a vendor's message as text: the text of a text block, else its fields without empty ones."""
    if not isinstance(block, Mapping):
        return tree(block)
    fields = {name: value for name, value in block.items() if name != "cache_control" and value not in ("", None)}
    if isinstance(block.get("text"), str) and set(fields) <= {"type", "text"}:
        return str(block["text"])
    return "\n".join(_lines(fields, 0))


def _lines(value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of a value, without the indent of the field that has it."""
    if isinstance(value, str):
        yield from value.splitlines() or [""]
    elif isinstance(value, Mapping) and value and depth < _DEPTH_MAX:
        for name, each in value.items():
            yield from _field(f"{name}:", _parsed(name, each), depth)
    elif isinstance(value, Sequence) and value and depth < _DEPTH_MAX:
        for each in value:
            first, *rest = _lines(each, depth + 1)
            yield f"- {first}"
            yield from (_INDENT + line for line in rest)
    else:
        yield json.dumps(value, ensure_ascii=False)


def _field(head: str, value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of a field: one, if its value has one line and is no list."""
    lines = list(_lines(value, depth + 1))
    if len(lines) == 1 and not (isinstance(value, Mapping | list) and value):
        yield f"{head} {lines[0]}".rstrip()
        return
    yield head
    yield from (_INDENT + line for line in lines)


def _parsed(name: str, value: Any) -> Any:
    """Return the JSON of a field that holds it as a text; any other value as it is."""
    if name == _JSON_IN_TEXT and isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
