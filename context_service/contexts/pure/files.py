"""Takes the bytes of files out of messages: `data:` URLs, and the media blocks that tools answer.

Results of tools hold files in the forms of several vendors, as base64 in their JSON. Each is taken out into the `files`
of the result, and a small object with its number stays in its place. A block that is not valid stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes

from context_service.contexts.model import FILES_OF_RESULT_MAX, MessageInput
from context_service.kernel.parts import File, Part, ToolResult
from contextkeep.errors import LimitExceeded
from service_runtime.inputs.documents import check_containers

_DATA_URL = re.compile(r"data:(?P<type>[^,;]*)(?:;[^,;]*)*?(?P<base64>;\s*base64)?,", re.IGNORECASE)
# A result without any of these texts has no block. Most results have none, and are not parsed.
_MARKS = ("base64", "inline", "mimeType", "file_data", "input_audio")
_MEDIA_OF_FORMAT = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def with_files_apart(draft: MessageInput) -> MessageInput:
    """Return a message whose `data:` URLs and media blocks of results have become files with their bytes."""
    parts = tuple(_hashed(_with_files_apart(part)) for part in draft.parts)
    return draft if parts == draft.parts else replace(draft, parts=parts)


def bytes_of_files(draft: MessageInput) -> int:
    """Return the bytes that a message has for files, before they are stored."""
    return sum(len(file.data) for part in draft.parts for file in part.files if file.data is not None)


def file_of_data_url(url: str) -> File | None:
    """Return the file of a `data:` URL; None if it is another URL, or is not valid."""
    head = _DATA_URL.match(url)
    if not head:
        return None
    if head["base64"] is None:
        return File(data=unquote_to_bytes(url[head.end() :]), media_type=head["type"] or "text/plain")
    data = _bytes_of(url[head.end() :])
    return None if data is None else File(data=data, media_type=head["type"])


def _hashed(part: Part) -> Part:
    """Return a part whose files with bytes have the hash of these."""
    if all(file.data is None for file in part.files):
        return part
    files = tuple(
        file if file.data is None else replace(file, sha256=hashlib.sha256(file.data).hexdigest())
        for file in part.files
    )
    if part.tool_result:
        return replace(part, tool_result=replace(part.tool_result, files=files))
    return replace(part, file=files[0])


def _with_files_apart(part: Part) -> Part:
    if part.url is not None:
        file = file_of_data_url(part.url)
        if file is None:
            return part
        named = replace(file, media_type=file.media_type or part.media_type, name=part.file_name)
        return Part(file=named, metadata_json=part.metadata_json)
    if part.file and part.file.url is not None and (file := file_of_data_url(part.file.url)):
        media_type = part.file.media_type or file.media_type
        return replace(part, file=replace(part.file, url=None, data=file.data, media_type=media_type))
    if part.tool_result and any(mark in part.tool_result.content_json for mark in _MARKS):
        return replace(part, tool_result=_result_apart(part.tool_result))
    return part


def _result_apart(result: ToolResult) -> ToolResult:
    """Return a result without media blocks in its JSON; the files follow those that it has already."""
    try:
        check_containers("", result.content_json)  # a document with more is refused later, and takes long to parse
        whole = [json.loads(result.content_json)]
    except (LimitExceeded, ValueError, RecursionError):
        return result
    files = list(result.files)
    rest: list[Any] = [whole]
    while rest:
        container = rest.pop()
        places = list(container.items() if isinstance(container, dict) else enumerate(container))
        inner = []
        for place, value in places:
            has_room = len(files) < FILES_OF_RESULT_MAX
            file = _file_of_block(value) if has_room and isinstance(value, dict) else None
            if file is not None:
                files.append(file)
                named = {"file": len(files), "media_type": file.media_type, "name": file.name}
                container[place] = {name: value for name, value in named.items() if value}
            elif isinstance(value, dict | list):
                inner.append(value)
        rest.extend(reversed(inner))  # so that files have numbers in the order of the text
    if len(files) == len(result.files):
        return result
    content_json = json.dumps(whole[0], ensure_ascii=False, separators=(",", ":"))
    if not content_json.isascii():
        try:
            content_json.encode()
        except UnicodeEncodeError:  # half of a pair, which only an escape can hold
            content_json = json.dumps(whole[0], separators=(",", ":"))
    return replace(result, content_json=content_json, files=tuple(files))


def _file_of_block(block: dict[str, Any]) -> File | None:
    """Return the file of a vendor's block of media; None if the object is none."""
    for data, media_type, name in _candidates(block):
        if not isinstance(data, str) or not data:
            continue
        file = file_of_data_url(data)
        if file is None and (decoded := _bytes_of(data)) is not None and not data.startswith("data:"):
            file = File(data=decoded)
        if file is not None and file.data:
            return replace(file, media_type=_text(media_type) or file.media_type, name=_text(name)[:200])
    return None


def _candidates(block: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the places of a block where a vendor puts base64 or a `data:` URL, each with its type and name."""
    kind = block.get("type")
    if (source := _object(block, "source")).get("type") == "base64":  # Anthropic
        yield source.get("data"), source.get("media_type"), block.get("title")
    if kind in ("image", "audio"):  # MCP
        yield block.get("data"), block.get("mimeType"), None
    if kind == "resource" and (resource := _object(block, "resource")):
        yield resource.get("blob"), resource.get("mimeType"), str(resource.get("uri", "")).rpartition("/")[2]
    for name in ("inline_data", "inlineData"):  # Gemini
        if inline := _object(block, name):
            yield inline.get("data"), inline.get("mime_type") or inline.get("mimeType"), inline.get("displayName")
    if kind in ("input_image", "image_url"):  # OpenAI; only a `data:` URL has bytes
        address = _object(block, "image_url").get("url", block.get("image_url"))
        if isinstance(address, str) and address[:5].lower() == "data:":
            yield address, None, None
    if kind in ("input_file", "file"):
        inner = _object(block, "file") or block
        yield inner.get("file_data"), None, inner.get("filename")
    if kind == "input_audio" and (audio := _object(block, "input_audio")):
        yield audio.get("data"), _MEDIA_OF_FORMAT.get(_text(audio.get("format"))), None


def _object(block: dict[str, Any], name: str) -> dict[str, Any]:
    value = block.get(name)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _bytes_of(text: str) -> bytes | None:
    """Return decoded base64, in either alphabet and with or without padding; None if it is not valid."""
    plain = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (BadBase64, ValueError):
        return None
