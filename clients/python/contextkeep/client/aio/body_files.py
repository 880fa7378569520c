"""Reading the files of a body."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from contextkeep.client import _aio_io as io
from contextkeep.client._body_files import FileCache
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values import BodyFile


async def contents_of(
    files: Sequence[BodyFile],
    cache: FileCache,
    stream: Callable[..., AsyncGenerator[Any, None]],
    *,
    subject_user_id: str = "",
) -> tuple[bytes, ...]:
    """Return the bytes of files, each read once.

    Args:
        files: The files of a body.
        cache: The bytes that are kept.
        stream: Calls an RPC that streams.
        subject_user_id: The user for whom the files are read.

    Raises:
        RecordNotFound: a file was deleted meanwhile.
        BlobCorrupted: the bytes that arrived are not those of the file.
    """
    contents = cache.kept(files)
    missing = {file.sha256: file for file in files if file.sha256 not in contents}

    async def read(file: BodyFile) -> None:
        content = bytearray()
        request = memory_pb.GetBlobRequest(working_memory_id=file.working_memory_id, subject_user_id=subject_user_id)
        answers = stream("GetBlob", request)
        async with aclosing(answers):
            async for answer in answers:
                content += answer.chunk
        contents[file.sha256] = bytes(content)
        cache.keep(file, contents[file.sha256])

    await io.each(read, list(missing.values()))
    return tuple(contents[file.sha256] for file in files)
