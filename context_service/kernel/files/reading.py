"""Reads the facts of files in child processes.

A child that reads pictures and recordings is kept for the next files of its tenant, because its start takes most of
the time. A PDF is read by a parser in C, so the child that reads one ends with its call.

A file that cannot be read has unknown facts, which is no error. A process that cannot even start is logged, and
`check-config` names it: without facts, each picture counts as the largest there can be.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.kernel.files.facts import FileFacts, FileKind, facts_of_answer, kind_of
from contextkeep.errors import Unavailable
from service_runtime.child_processes import confined
from service_runtime.child_processes.confined import Ended, ProgramResult
from service_runtime.child_processes.kept import KeptChild
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.principal import Principal

FILE_BYTES_MAX = 20 * 2**20

_PROGRAM = ("-m", "context_service.kernel.files.child")
_ANSWER_BYTES_MAX = 1_024  # of each file
_AT_ONCE = 4  # child processes at the same time
_SHARES = Shares(of_tenant=1 / 2, of_key=1 / 2)
_KEPT_MAX = 4  # children that wait for further files, one of a tenant
_KEPT_S = 30.0  # how long a child waits
_FILES_OF_CHILD = 200  # then another child takes its place
_STOPPED_MAX = 2  # files that may each stop a child process; then the facts of the rest of a call stay unknown
_PIECE_BYTES = 1024 * 1024
_PROBE = b"GIF89a" + bytes([2, 0, 3, 0, 0, 0, 0]) + b";"  # 2 x 3 pixels

_log = logging.getLogger("files")
_ENDED_EARLY = "the process that reads files ended early"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """The bytes of a file, and the media type that its sender declared."""

    data: bytes
    declared_type: str = ""


class FactReader:
    """Reads facts of files, those of one call in one child process that has access to nothing else.

    Args:
        memory_bytes_max: The most memory that one child process may use.
        timeout_s: Seconds that the files of a call may take, and seconds of CPU time that one child may use.
    """

    def __init__(self, *, memory_bytes_max: int, timeout_s: float) -> None:
        self._memory_bytes_max = memory_bytes_max
        self._timeout_s = timeout_s
        self._turns = FairQueue(_AT_ONCE, _SHARES)
        self._kept: dict[UUID, KeptChild] = {}  # by tenant, the one that was used last at the end

    async def read(self, files: Sequence[UnreadFile], *, tenant_id: UUID) -> list[FileFacts]:
        """Return the facts of each file.

        Args:
            files: The files of one call, each of at most `FILE_BYTES_MAX` bytes.
            tenant_id: The tenant that owns the files. Tenants take turns.
        """
        if not files:
            return []
        async with Turn(self._turns, Principal(tenant_id=tenant_id, subject="files")) as turn:
            await turn.take()
            if FileKind.PDF.value in _kinds(files):
                lines = await self._lines_of_one_call(files)
            else:
                lines = await self._lines_of_kept_child(files, tenant_id)
        lines += [b""] * (len(files) - len(lines))
        return [facts_of_answer(line, file.declared_type) for line, file in zip(lines, files, strict=True)]

    async def aclose(self) -> None:
        """End the children that wait for further files."""
        while self._kept:
            await self._kept.popitem()[1].close()

    async def _lines_of_one_call(self, files: Sequence[UnreadFile]) -> list[bytes]:
        """Return the answers of children that end with the call; fewer than the files if two files stopped one."""
        lines: list[bytes] = []
        for _ in range(_STOPPED_MAX):
            if len(lines) == len(files):
                break
            lines += await self._lines(files[len(lines) :])
            if len(lines) < len(files):
                lines.append(b"")  # of the file that stopped the process
        return lines

    async def _lines_of_kept_child(self, files: Sequence[UnreadFile], tenant_id: UUID) -> list[bytes]:
        """Return the answers of the tenant's child, or of a new one; fewer than the files as in `_lines_of_one_call`.

        A child may have used most of its CPU time for earlier files. So a file that stops a used child is read again by
        a new one.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout_s
        lines: list[bytes] = []
        child, stopped = self._kept.pop(tenant_id, None), 0
        while len(lines) < len(files) and stopped < _STOPPED_MAX and loop.time() < until:
            if child is None:
                try:
                    child = await self._started()
                except OSError as error:
                    _log.warning(_ENDED_EARLY, extra={"files": len(files), "ended": "broken", "detail": str(error)})
                    return lines
            is_new = not child.answered
            question = _framed([files[len(lines)]])
            line = await child.ask(question, timeout_s=max(until - loop.time(), 0))
            if line is None:
                child = None
                if is_new:
                    stopped += 1
                    lines.append(b"")
                    _log.warning(_ENDED_EARLY, extra={"files": 1, "ended": "broken", "detail": "a file stopped it"})
                continue
            lines.append(line)
            if child.answered >= _FILES_OF_CHILD:
                child.kill()
                child = None
        if child is not None:
            self._keep(child, tenant_id)
        return lines

    async def _started(self) -> KeptChild:
        kinds = ",".join(sorted({FileKind.IMAGE.value, FileKind.AUDIO.value}))
        program = (*_PROGRAM, kinds, *map(str, self._limits()))
        return await KeptChild.start(program, line_bytes_max=_ANSWER_BYTES_MAX)

    def _keep(self, child: KeptChild, tenant_id: UUID) -> None:
        """Keep a child for the next files of its tenant, in the place of the one that waits longest."""
        if (other := self._kept.pop(tenant_id, None)) is not None:  # of another call at the same time
            other.kill()
        while len(self._kept) >= _KEPT_MAX:
            self._kept.pop(next(iter(self._kept))).kill()
        self._kept[tenant_id] = child
        answered = child.answered

        def drop() -> None:
            if self._kept.get(tenant_id) is child and child.answered == answered:
                self._kept.pop(tenant_id).kill()

        asyncio.get_running_loop().call_later(_KEPT_S, drop)

    def _limits(self) -> tuple[int, int, int]:
        return (FILE_BYTES_MAX, self._memory_bytes_max, math.ceil(self._timeout_s))

    async def check(self) -> None:
        """Read the facts of a small picture.

        Raises:
            Unavailable: the child process does not answer.
        """
        lines = await self._lines([UnreadFile(data=_PROBE, declared_type="image/gif")])
        if not lines or facts_of_answer(lines[0], "").width != _PROBE[6]:
            raise Unavailable("the process that reads files does not answer; the log says how it ended")

    async def _lines(self, files: Sequence[UnreadFile]) -> list[bytes]:
        """Return the answers of one child process, which may be fewer than the files."""
        try:
            outcome = await confined.run(
                (*_PROGRAM, ",".join(sorted(_kinds(files))), *map(str, self._limits())),
                _framed(files),
                timeout_s=self._timeout_s,
                output_bytes_max=_ANSWER_BYTES_MAX * len(files),
            )
        except OSError as error:  # the machine has no memory or no process ids left
            outcome = ProgramResult(ended=Ended.BROKEN, output=b"", detail=str(error))
        if outcome.ended is not Ended.WELL:
            values = {"files": len(files), "ended": outcome.ended.value, "detail": outcome.detail}
            _log.warning(_ENDED_EARLY, extra=values)
        return outcome.output.split(b"\n")[:-1][: len(files)]


def _kinds(files: Sequence[UnreadFile]) -> set[str]:
    """Return the kinds of readers that files may need, which takes time to import: by their types and first bytes."""
    kinds = {kind_of(file.declared_type).value for file in files}
    if FileKind.OTHER.value in kinds:
        kinds |= {FileKind.IMAGE.value, FileKind.AUDIO.value}
    if any(b"%PDF-" in file.data[:_PIECE_BYTES][:1_024] for file in files):
        kinds.add(FileKind.PDF.value)
    return kinds - {FileKind.OTHER.value}


async def _framed(files: Sequence[UnreadFile]) -> AsyncIterator[bytes]:
    """Yield the input of the child process: of each file its size in 8 bytes, then its bytes in pieces."""
    for file in files:
        yield len(file.data).to_bytes(8, "big")
        for start in range(0, len(file.data), _PIECE_BYTES):
            yield file.data[start : start + _PIECE_BYTES]
