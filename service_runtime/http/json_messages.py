"""Messages as JSON: small ones are converted in this process, large ones in a few others, in turn by tenant and key.

Python's reader of protobuf's JSON takes 1 to 4 us for each value that it makes. So the size and the number of values of
a message that is read in this process are limited, and reading takes 20 ms at most. A tenant has at most one of the
other processes, so that a message of another tenant never waits for all messages of the first. The CPU time of each
message is limited.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import Message

from contextkeep.errors import InvalidArgument, LimitExceeded, Unavailable
from service_runtime.http import json_process
from service_runtime.http.json_process import (
    DONE,
    LENGTH,
    READ,
    READY,
    TOO_LONG,
    WORK,
    WRITE,
    WRONG,
    WrongJson,
)
from service_runtime.inputs.documents import check_containers
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.principal import Principal

PROCESSES = 2
READ_CPU_S_MAX = 2.0  # CPU seconds of a process for one message; a MiB of the slowest values takes 1 s
WORK_S_MAX = 15.0  # seconds for one message in a process that is ready; 4 MiB of vectors take 3 s of CPU to write
_START_S_MAX = 15.0  # seconds until a process is ready
_SHARES = Shares(of_tenant=0.5, of_key=0.5)  # a tenant may have one of the processes
_HERE_BYTES = 64 * 1024  # bytes of JSON that are read in this process
_HERE_VALUES = 4096  # values in such JSON, counted by its commas and brackets
_HERE_MESSAGE_BYTES = 16 * 1024
_PIECE_BYTES = 1024 * 1024  # bytes that are read from a pipe at once


class JsonMessages:
    """Reads and writes the messages of some protos.

    Args:
        files: The proto files that define the messages.
    """

    def __init__(self, files: Iterable[FileDescriptor]) -> None:
        self._protos = _with_imports(files).SerializeToString()
        self._turns = FairQueue(PROCESSES, _SHARES)
        self._idle: list[Process] = []

    async def read(self, message_class: type[Message], text: bytes, *, of: Principal) -> Message:
        """Return the message that a JSON text describes.

        Args:
            message_class: Generated class of the message.
            text: The JSON text, in UTF-8.
            of: The principal that sent the text; long work waits for its turn.

        Raises:
            InvalidArgument: the text is not JSON of this message.
            LimitExceeded: it holds too many lists and objects, or takes too long.
        """
        values = sum(map(text.count, (b",", b"[", b"{")))
        try:
            if len(text) <= _HERE_BYTES and values <= _HERE_VALUES:
                message: Message = json_process.read(message_class, text)
                return message
            check_containers("request", text.decode(errors="replace"))
            payload = await self._elsewhere(READ, message_class, text, of)
        except WrongJson as wrong:
            error_text = f"the request is not valid JSON of a {message_class.DESCRIPTOR.name}: {wrong}"
            raise InvalidArgument(error_text, field="request") from None
        return message_class.FromString(payload)

    async def write(self, message: Message, *, of: Principal) -> bytes:
        """Return a message as JSON.

        Args:
            message: The message to write as JSON.
            of: The principal that gets the JSON; long work waits for its turn.

        Raises:
            LimitExceeded: it takes too long.
        """
        if message.ByteSize() <= _HERE_MESSAGE_BYTES:
            return json_process.write(message)
        return await self._elsewhere(WRITE, type(message), message.SerializeToString(), of)

    async def close(self) -> None:
        """End all processes that read and write large JSON."""
        while self._idle:
            await _end(self._idle.pop())

    async def _elsewhere(self, kind: int, message_class: type[Message], payload: bytes, principal: Principal) -> bytes:
        """Return the result of work in another process, once it is the principal's turn.

        Raises:
            LimitExceeded: the work takes too long.
            WrongJson: the text is not JSON of the message.
            Unavailable: the process ended.
        """
        async with Turn(self._turns, principal) as turn:
            await turn.take()
            process = self._idle.pop() if self._idle else None
            is_done = False
            try:
                if process is None:
                    process = await self._start_process()
                    await _until_ready(process)
                async with asyncio.timeout(WORK_S_MAX):
                    ended, answer = await _answer_of(process, kind, message_class, payload)
                is_done = True
            except TimeoutError:
                raise _too_long(WORK_S_MAX) from None
            except (OSError, EOFError) as error:
                raise Unavailable(
                    "the process that reads large JSON stopped; send the request again", dependency="json"
                ) from error
            finally:
                # A cancelled call kills the process: it would work on, and its answer would go to the next call.
                if is_done and process is not None:
                    self._idle.append(process)
                elif process is not None:
                    await asyncio.shield(_end(process))
        if ended == TOO_LONG:
            raise _too_long(READ_CPU_S_MAX)
        if ended == WRONG:
            raise WrongJson(answer.decode(errors="replace"))
        return answer

    async def _start_process(self) -> Process:
        """Start a process, and send it the protos that define the messages."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", json_process.__name__),
            stdin=PIPE,
            stdout=PIPE,
            limit=_PIECE_BYTES,
        )
        assert process.stdin is not None
        process.stdin.write(LENGTH.pack(len(self._protos)) + self._protos)
        return process


async def _until_ready(process: Process) -> None:
    """Wait until a process that was begun has read the protos.

    Raises:
        EOFError: it ended.
        Unavailable: it takes too long.
    """
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_START_S_MAX):
            await process.stdout.readexactly(len(READY))
    except TimeoutError:
        raise Unavailable("the process that reads large JSON does not start", dependency="json") from None


async def _answer_of(process: Process, kind: int, message_class: type[Message], payload: bytes) -> tuple[int, bytes]:
    """Send work to a process, and return how it ended, and the result or the reason of a failure.

    Raises:
        EOFError: the process ended.
    """
    assert process.stdin is not None and process.stdout is not None
    name = message_class.DESCRIPTOR.full_name.encode()
    cpu_s_max = READ_CPU_S_MAX if kind == READ else 0
    process.stdin.write(WORK.pack(kind, cpu_s_max, len(name), len(payload)) + name)
    process.stdin.write(payload)
    await process.stdin.drain()
    ended, size = DONE.unpack(await process.stdout.readexactly(DONE.size))
    return ended, await process.stdout.readexactly(size)


def _too_long(limit_s: float) -> LimitExceeded:
    """Return the error for a message that takes too long to parse as JSON."""
    return LimitExceeded(
        f"the message takes more than {limit_s:g} s as JSON: send it as application/proto",
        limit="json_s",
        limit_max=limit_s,
    )


async def _end(process: Process) -> None:
    """Kill a child process that parses JSON, and wait for its end."""
    with suppress(ProcessLookupError):
        process.kill()
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


def _with_imports(files: Iterable[FileDescriptor]) -> FileDescriptorSet:
    """Return files and their imports, each after the files that it needs."""
    file_set = FileDescriptorSet()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name in seen:
            return
        seen.add(file.name)
        for imported in file.dependencies:
            add(imported)
        copy = FileDescriptorProto()
        file.CopyToProto(copy)
        file_set.file.append(copy)

    for file in files:
        add(file)
    return file_set
