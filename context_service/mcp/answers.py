"""Answers of tools: messages as plain JSON values, never more than a model can read.

A page that is too large is read again with fewer rows, so that its next_page_token is right. A list without pages is
cut. If a single row is too large, its long texts are cut.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.errors import AnswerTooLarge, InvalidPageToken
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import decode_token, encode_token

Document = dict[str, Any]

ARGUMENTS = "arguments_json"  # where ExecuteTool takes the arguments of a tool

_JSON = "_json"
_PAGE_FIELD = f"{ARGUMENTS}.page_token"
UTF8_BYTES_MAX = 4  # the most bytes of one character in UTF-8
_CHARS_MIN = 64  # no text is cut to less than this, so that ids stay whole
_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")


async def plain(message: Message) -> Document:
    """Return a protobuf message as JSON values, without empty fields and with embedded JSON documents parsed."""
    return await beside_the_loop(message.ByteSize(), _document, message)


def _document(message: Message) -> Document:
    """Return a message as JSON values. A field whose name ends in `_json` is parsed, and loses that ending."""
    document: Document = {}
    for field, value in message.ListFields():
        name = field.name
        if name.endswith(_JSON):
            name = name.removesuffix(_JSON)
            document[name] = [orjson.loads(text) for text in value] if field.is_repeated else orjson.loads(value)
        else:
            document[name] = [_plain(field, item) for item in value] if field.is_repeated else _plain(field, value)
    return document


def size_bytes_of(answer: Document) -> int:
    """Return the size of an answer when it is sent as JSON."""
    return len(orjson.dumps(answer))


async def fitting_page(
    load: Callable[[int], Awaitable[tuple[Document, int]]], *, page_size: int, bytes_max: int
) -> Document:
    """Return a page of at most `bytes_max`; read fewer rows until it fits.

    Args:
        load: Reads a page with the given number of rows; returns the answer and the number of rows in it.
        page_size: The number of rows of the first try.
        bytes_max: The largest size of the answer, in bytes.

    Raises:
        AnswerTooLarge: a single row is too large, even with its texts cut.
    """
    while True:
        answer, rows = await load(page_size)
        size_bytes = size_bytes_of(answer)
        if size_bytes <= bytes_max:
            return answer
        if rows <= 1:
            return await shortened(answer, bytes_max=bytes_max)
        page_size = max(1, min(rows - 1, rows * bytes_max // size_bytes))


def place_of_token(query: Sequence[object], page_token: str) -> int:
    """Return the place where a page begins; 0 without a token.

    Raises:
        InvalidPageToken: the token belongs to another list.
    """
    (start,) = decode_token(query, page_token, parts=1, field=_PAGE_FIELD) or (0,)
    if type(start) is not int or start < 0:
        raise InvalidPageToken("page_token is malformed", field=_PAGE_FIELD)
    return start


def readable(content: bytes, *, is_last: bool) -> tuple[str, int, str]:
    """Return bytes as text, how many of the bytes the text covers, and the encoding.

    Args:
        content: The bytes to show; they may end inside a character.
        is_last: No bytes follow, so `content` must not end inside a character.
    """
    for cut in range(1 if is_last else UTF8_BYTES_MAX):
        try:
            text = content[: len(content) - cut].decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text and (text or not content):
            return text, len(content) - cut, "utf-8"
        break
    return base64.b64encode(content).decode(), len(content), "base64"


async def page_of(
    rows: Sequence[Any],
    name: str,
    answer: Document,
    *,
    query: Sequence[object],
    page_size: int,
    page_token: str,
    bytes_max: int,
) -> Document:
    """Return an answer with a page of `rows` as its list `name`.

    Args:
        rows: All rows of the list, of which the page is a part.
        name: The name of the list's field in the answer.
        answer: The other fields of the answer.
        query: The values that identify the list; a page token made for other values is refused.
        page_size: The largest number of rows on the page.
        page_token: The token that the previous page returned; empty for the first page.
        bytes_max: The largest size of the answer, in bytes.

    Raises:
        InvalidPageToken: the token belongs to another list.
        AnswerTooLarge: a single row is too large, even with its texts cut.
    """
    start = place_of_token(query, page_token)
    if start > len(rows):
        raise InvalidPageToken("page_token is malformed", field=_PAGE_FIELD)

    async def read(page_size: int) -> tuple[Document, int]:
        page = rows[start : start + page_size]
        document = {**answer, name: page}
        if (end := start + len(page)) < len(rows):
            document["next_page_token"] = encode_token(query, [end])
        return document, len(page)

    return await fitting_page(read, page_size=page_size, bytes_max=bytes_max)


async def first_rows(answer: Document, name: str, *, bytes_max: int) -> Document:
    """Return an answer with as many rows of its list `name` as fit, and the number of rows left out.

    Raises:
        AnswerTooLarge: the first row alone does not fit, even with its texts cut.
    """
    rows = kept = answer[name]
    cut = answer
    while (size_bytes := size_bytes_of(cut)) > bytes_max and len(kept) > 1:
        kept = kept[: max(1, min(len(kept) - 1, len(kept) * bytes_max // size_bytes))]
        cut = {**answer, name: kept, "left_out": len(rows) - len(kept)}
    return await shortened(cut, bytes_max=bytes_max)


async def shortened(answer: Document, *, bytes_max: int) -> Document:
    """Return an answer whose long texts and lists are cut until it fits.

    Raises:
        AnswerTooLarge: the answer does not fit although nothing long is left in it.
    """
    size_bytes = size_bytes_of(answer)
    if size_bytes <= bytes_max:
        return answer
    return await beside_the_loop(size_bytes, _shorten, answer, bytes_max)


def _shorten(answer: Document, bytes_max: int) -> Document:
    """Cut the texts and lists of an answer, to half the length at each try, until it fits.

    Texts at the top level, such as a page token, are never cut.

    Raises:
        AnswerTooLarge: the answer does not fit although nothing long is left in it.
    """
    chars_max = bytes_max
    while chars_max >= _CHARS_MIN:
        cut = {name: value if isinstance(value, str) else _cut(value, chars_max) for name, value in answer.items()}
        cut["shortened"] = True
        if size_bytes_of(cut) <= bytes_max:
            return cut
        chars_max //= 2
    raise AnswerTooLarge(
        f"a row has more bytes than an answer may have ({bytes_max:,}); ask for fewer of its fields",
        size_bytes_max=bytes_max,
    )


def _cut(value: Any, chars_max: int) -> Any:
    """Return a value with texts of at most `chars_max` characters, and with shorter lists and objects."""
    if isinstance(value, str):
        return value if len(value) <= chars_max else value[: chars_max - 1] + "…"
    if isinstance(value, list):
        return [_cut(item, chars_max) for item in value[: chars_max // 4]]
    if isinstance(value, dict):
        return {_cut(key, chars_max): _cut(item, chars_max) for key, item in list(value.items())[: chars_max // 2]}
    return value


def _plain(field: Any, value: Any) -> Any:
    """Return the value of a field as JSON: a time as text, an enum as its name without prefix, bytes as base64."""
    if isinstance(value, Timestamp):
        return value.ToJsonString()
    if isinstance(value, Message):
        return _document(value)
    if field.type == FieldDescriptor.TYPE_ENUM:
        known = field.enum_type.values_by_number.get(value)
        prefix = _CAPITALS.sub("_", field.enum_type.name).upper() + "_"
        return known.name.removeprefix(prefix).lower() if known else value
    if field.type == FieldDescriptor.TYPE_BYTES:
        return base64.b64encode(value).decode()
    return value
