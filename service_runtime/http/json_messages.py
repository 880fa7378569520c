"""Messages as JSON: small ones here, large ones in processes of their own, few and each key in its turn.

What Python's reader of protobuf's JSON takes is a matter of the values that it makes: 1 to 4 us each. So what is done
here is bounded by their number, too, and takes 20 ms at most.
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
from service_runtime.auth import Principal
from service_runtime.documents import check_containers
from service_runtime.http import json_process
from service_runtime.http.json_process import DONE, LENGTH, READ, WORK, WRITE, WrongJson
from service_runtime.places import Shares
from service_runtime.turns import Turn, Turns

PROCESSES = 2
WORK_S_MAX = 15.0  # that one piece may take in a process; a MiB of what it is slowest at takes a few
_SHARES = Shares(of_tenant=1, of_key=0.5)  # a key has one of them
_HERE_BYTES = 64 * 1024  # of JSON
_HERE_VALUES = 4096  # that it may hold, by its commas and brackets
_HERE_MESSAGE_BYTES = 16 * 1024
_PIECE_BYTES = 1024 * 1024  # that a pipe is read by


class JsonMessages:
    """Reads and writes the messages of some protos.

    Args:
        files: The protos.
    """

    def __init__(self, files: Iterable[FileDescriptor]) -> None:
        self._protos = _with_imports(files).SerializeToString()
        self._turns = Turns(PROCESSES, _SHARES)
        self._idle: list[Process] = []

    async def read(self, message_class: type[Message], text: bytes, *, of: Principal) -> Message:
        """Return the message that JSON says.

        Args:
            message_class: Its class.
            text: The JSON.
            of: Who sends it.

        Raises:
            InvalidArgument: it is no JSON of the message.
            LimitExceeded: it holds too many lists and objects, or takes too long.
        """
        values = sum(map(text.count, (b",", b"[", b"{")))
        try:
            if len(text) <= _HERE_BYTES and values <= _HERE_VALUES:
                found: Message = json_process.read(message_class, text)
                return found
            check_containers("request", text.decode(errors="replace"))
            made = await self._elsewhere(READ, message_class, text, of)
        except WrongJson as wrong:
            told = f"the request is no JSON of a {message_class.DESCRIPTOR.name}: {wrong}"
            raise InvalidArgument(told, field="request") from None
        return message_class.FromString(made)

    async def write(self, message: Message, *, of: Principal) -> bytes:
        """Return a message as JSON.

        Args:
            message: It.
            of: Who reads it.

        Raises:
            LimitExceeded: it takes too long.
        """
        if message.ByteSize() <= _HERE_MESSAGE_BYTES:
            return json_process.write(message)
        return await self._elsewhere(WRITE, type(message), message.SerializeToString(), of)

    async def close(self) -> None:
        """End the processes."""
        while self._idle:
            await _end(self._idle.pop())

    async def _elsewhere(self, kind: int, message_class: type[Message], given: bytes, principal: Principal) -> bytes:
        async with Turn(self._turns, principal) as turn:
            await turn.take()
            process = self._idle.pop() if self._idle else None
            is_done = False
            try:
                async with asyncio.timeout(WORK_S_MAX):
                    if process is None:
                        process = await self._begun()
                    done, made = await _asked(process, kind, message_class, given)
                is_done = True
            except TimeoutError:
                raise LimitExceeded(
                    "the message takes too long as JSON: send it as application/proto",
                    limit="json_s",
                    limit_max=WORK_S_MAX,
                ) from None
            except (OSError, EOFError) as error:
                raise Unavailable("the process that reads large JSON ended", dependency="json") from error
            finally:
                # Whoever gives up has the process killed: it would work on, and its answer be another's.
                if is_done and process is not None:
                    self._idle.append(process)
                elif process is not None:
                    await asyncio.shield(_end(process))
        if not done:
            raise WrongJson(made.decode(errors="replace"))
        return made

    async def _begun(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", json_process.__name__),
            stdin=PIPE,
            stdout=PIPE,
            limit=_PIECE_BYTES,
        )
        assert process.stdin is not None
        process.stdin.write(LENGTH.pack(len(self._protos)) + self._protos)
        return process


async def _asked(process: Process, kind: int, message_class: type[Message], given: bytes) -> tuple[bool, bytes]:
    assert process.stdin is not None and process.stdout is not None
    name = message_class.DESCRIPTOR.full_name.encode()
    process.stdin.write(WORK.pack(kind, len(name), len(given)) + name)
    process.stdin.write(given)
    await process.stdin.drain()
    done, size = DONE.unpack(await process.stdout.readexactly(DONE.size))
    return done, await process.stdout.readexactly(size)


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


def _with_imports(files: Iterable[FileDescriptor]) -> FileDescriptorSet:
    """Return files and what they import, each behind what it needs."""
    found = FileDescriptorSet()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name in seen:
            return
        seen.add(file.name)
        for imported in file.dependencies:
            add(imported)
        copy = FileDescriptorProto()
        file.CopyToProto(copy)
        found.file.append(copy)

    for file in files:
        add(file)
    return found
