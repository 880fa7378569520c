"""Files in the messages of frameworks: their base64 is taken out on the way in, and put back on the way out.

A block of a framework holds a file as base64, alone or in a `data:` URL. Our messages hold it as a file, so that models
see a picture and not text. The rest of the block stays as it is, with `{"file": 1}` in the place of the base64.
"""

from __future__ import annotations

import asyncio
import threading
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import RecordNotFound
from contextkeep.inputs import FileInput
from contextkeep.values import ChatMessage, File, Part

Contents = Mapping[str, bytes]  # bytes of files by the ids of their records
NO_CONTENTS: Contents = {}

_FILE, _HEAD, _ALPHABET = "file", "head", "alphabet"  # members of the object in the place of a base64
_BASE64_KEYS = frozenset({"data", "bytes", "blob", "base64", "raw", "file_data"})
_TYPE_KEYS = ("media_type", "mime_type", "mimeType", "mediaType", "format")
_NAME_KEYS = ("filename", "name", "display_name", "displayName", "title")
_OF_FORMAT = {"mp3": "audio/mpeg", "wav": "audio/wav", "pdf": "application/pdf"} | {
    name: f"image/{name}" for name in ("png", "jpeg", "gif", "webp")
}
_AT_ONCE = 8
_CACHED_BYTES_MAX = 64 * 2**20


def without_bytes(value: Any) -> tuple[Any, list[FileInput]]:
    """Return a JSON value without the base64 of its files, and the files; `with_bytes` makes the same value again.

    Only base64 that can be made again character for character is taken out.
    """
    files: list[FileInput] = []
    bare = _walked(value, files, {})
    # A value with an object like ours would come back with a file that it never had.
    return (value, []) if _count(bare) != len(files) else (bare, files)


def with_bytes(value: Any, contents: Sequence[bytes]) -> Any:
    """Return a value with the base64 of its files again."""
    if isinstance(value, list):
        return [with_bytes(item, contents) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_place(value) and 0 < value[_FILE] <= len(contents):
        encode = urlsafe_b64encode if value.get(_ALPHABET) == "url" else b64encode
        return value.get(_HEAD, "") + encode(contents[value[_FILE] - 1]).decode()
    return {key: with_bytes(item, contents) for key, item in value.items()}


def contents_in(part: Part, contents: Contents) -> list[bytes]:
    """Return the bytes of the files of a part, in their order; those of a file that is gone are empty."""
    return [contents.get(file.working_memory_id, b"") for file in files_of(part)]


def files_of(part: Part) -> list[File]:
    """Return the files of a part, or of its tool result."""
    if part.tool_result is not None:
        return list(part.tool_result.files)
    return [part.file] if part.file is not None else []


def read_contents(client: ContextClient, message: ChatMessage) -> Contents:
    """Return the bytes of the files of a message that the service stores. Deleted files are left out."""
    contents = {}
    for part in message.parts:
        for file in files_of(part):
            with suppress(RecordNotFound):
                if file.working_memory_id:
                    with client.blobs.get(file.working_memory_id) as reader:
                        contents[file.working_memory_id] = b"".join(reader)
    return contents


class LastBytes:
    """Bytes by their hashes: those that were used last, up to a size in all. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, sha256: str) -> bytes | None:
        """Return the bytes with a hash, or None."""
        with self._lock:
            content = self._known.get(sha256)
            if content is not None:
                self._known.move_to_end(sha256)
            return content

    def put(self, sha256: str, content: bytes) -> None:
        """Remember bytes, and forget those that were used longest ago."""
        with self._lock:
            if not sha256 or sha256 in self._known:
                return
            self._known[sha256] = content
            self._size += len(content)
            while self._size > _CACHED_BYTES_MAX:
                self._size -= len(self._known.popitem(last=False)[1])


class FileCache:
    """Reads the bytes of files, and remembers the last ones by their hashes."""

    def __init__(self, client: AsyncContextClient, *, subject_user_id: str = "") -> None:
        """Take a client. Makes no call."""
        self._client = client
        self._subject_user_id = subject_user_id
        self._known = LastBytes()

    async def contents_of(self, messages: Iterable[ChatMessage]) -> Contents:
        """Return the bytes of all files of messages that the service stores. Deleted files are left out."""
        return await self.contents_of_parts(part for message in messages for part in message.parts)

    async def contents_of_parts(self, parts: Iterable[Part]) -> Contents:
        """Return the bytes of all files of parts that the service stores. Deleted files are left out."""
        files = {file.working_memory_id: file for part in parts for file in files_of(part) if file.working_memory_id}
        turns = asyncio.Semaphore(_AT_ONCE)

        async def read(file: File) -> tuple[str, bytes] | None:
            async with turns:
                content = await self._content(file)
            return None if content is None else (file.working_memory_id, content)

        return dict(filter(None, await asyncio.gather(*map(read, files.values()))))

    async def _content(self, file: File) -> bytes | None:
        """Return the bytes of a file from the cache or the service, or None if its record was deleted."""
        if (known := self._known.get(file.sha256)) is not None:
            return known
        try:
            reader = await self._client.blobs.get(file.working_memory_id, subject_user_id=self._subject_user_id)
        except RecordNotFound:
            return None
        async with reader:
            content = b"".join([chunk async for chunk in reader])
        self._known.put(file.sha256, content)
        return content


def _is_place(value: dict[str, Any]) -> bool:
    """Return whether an object is one that stands in the place of a base64."""
    return type(value.get(_FILE)) is int and value.keys() <= {_FILE, _HEAD, _ALPHABET}


def _count(value: Any) -> int:
    """Return how many objects of a value are in the form of those that stand in the place of a base64."""
    if isinstance(value, list):
        return sum(map(_count, value))
    if not isinstance(value, dict):
        return 0
    return 1 if _is_place(value) else sum(map(_count, value.values()))


def _walked(value: Any, files: list[FileInput], around: Mapping[str, Any]) -> Any:
    """Return a value without its files, which are put into `files`; `around` are the fields that surround it."""
    if isinstance(value, list):
        return [_walked(item, files, around) for item in value]
    if not isinstance(value, dict):
        return value
    found_files = {}
    extras = value.get("extras")  # where LangChain's blocks have the names of files
    fields = {**around, **(extras if isinstance(extras, dict) else {}), **value}
    for key, item in value.items():
        if isinstance(item, str) and (taken := _taken(key, item, fields)):
            file, place = taken
            files.append(file)
            found_files[key] = {_FILE: len(files), **place}
        else:
            found_files[key] = _walked(item, files, fields)
    return found_files


def _taken(key: str, text: str, around: Mapping[str, Any]) -> tuple[FileInput, dict[str, str]] | None:
    """Return the file of a text, and how its base64 is written; None if the text is not a file."""
    head, comma, rest = text.partition(",")
    if text[:5].lower() == "data:" and comma and head.endswith(";base64"):
        media_type = head[5:].partition(";")[0]
        place, body = {_HEAD: f"{head},"}, rest
    elif key in _BASE64_KEYS:
        media_type, place, body = _type_in(around), {}, text
    else:
        return None
    if "/" not in media_type:
        return None
    decoded = _decoded(body, b64encode) or _decoded(body, urlsafe_b64encode)
    if not decoded:
        return None
    if b64encode(decoded).decode() != body:
        place = {**place, _ALPHABET: "url"}
    return FileInput(data=decoded, media_type=media_type, name=_named(around, _NAME_KEYS)[:200]), place


def _decoded(text: str, encode: Callable[[bytes], bytes]) -> bytes:
    """Return the bytes of a base64 that `encode` writes in the same way; empty if there is none."""
    try:
        decoded = b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        return b""
    return decoded if encode(decoded).decode() == text else b""


def _type_in(around: Mapping[str, Any]) -> str:
    media_type = _named(around, _TYPE_KEYS)
    return _OF_FORMAT.get(media_type, media_type)


def _named(around: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((value for key in keys if isinstance(value := around.get(key), str)), "")
