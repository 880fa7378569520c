"""Reads the facts of files in a child process.

A file that cannot be read has unknown facts, which is no error. A process that cannot even start is logged, and
`check-config` names it: without facts, each picture counts as the largest there can be.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.kernel.files.facts import FileFacts, FileKind, facts_of_answer, kind_of
from contextkeep.errors import Unavailable
from service_runtime.child_processes import confined
from service_runtime.child_processes.confined import Ended, ProgramResult
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.principal import Principal

FILE_BYTES_MAX = 20 * 2**20

_PROGRAM = ("-m", "context_service.kernel.files.child")
_ANSWER_BYTES_MAX = 1_024  # of each file
_AT_ONCE = 4  # child processes at the same time
_SHARES = Shares(of_tenant=1 / 2, of_key=1 / 2)
_STOPPED_MAX = 2  # files that may each stop a child process; then the facts of the rest of a call stay unknown
_PIECE_BYTES = 1024 * 1024
_PROBE = b"GIF89a" + bytes([2, 0, 3, 0, 0, 0, 0]) + b";"  # 2 x 3 pixels

_log = logging.getLogger("files")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """The bytes of a file, and the media type that its sender declared."""

    data: bytes
    declared_type: str = ""


class FactReader:
    """Reads facts of files, those of one call in one child process that has access to nothing else.

    Args:
        memory_bytes_max: The most memory that one child process may use.
        timeout_s: Seconds that a child process may take, and seconds of CPU time that it may use.
    """

    def __init__(self, *, memory_bytes_max: int, timeout_s: float) -> None:
        self._memory_bytes_max = memory_bytes_max
        self._timeout_s = timeout_s
        self._turns = FairQueue(_AT_ONCE, _SHARES)

    async def read(self, files: Sequence[UnreadFile], *, tenant_id: UUID) -> list[FileFacts]:
        """Return the facts of each file.

        Args:
            files: The files of one call, each of at most `FILE_BYTES_MAX` bytes.
            tenant_id: The tenant that owns the files. Tenants take turns.
        """
        lines: list[bytes] = []
        async with Turn(self._turns, Principal(tenant_id=tenant_id, subject="files")) as turn:
            await turn.take()
            for _ in range(_STOPPED_MAX):
                if len(lines) == len(files):
                    break
                lines += await self._lines(files[len(lines) :])
                if len(lines) < len(files):
                    lines.append(b"")  # of the file that stopped the process
        lines += [b""] * (len(files) - len(lines))
        return [facts_of_answer(line, file.declared_type) for line, file in zip(lines, files, strict=True)]

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
        limits = (FILE_BYTES_MAX, self._memory_bytes_max, math.ceil(self._timeout_s))
        try:
            outcome = await confined.run(
                (*_PROGRAM, ",".join(sorted(_kinds(files))), *map(str, limits)),
                _framed(files),
                timeout_s=self._timeout_s,
                output_bytes_max=_ANSWER_BYTES_MAX * len(files),
            )
        except OSError as error:  # the machine has no memory or no process ids left
            outcome = ProgramResult(ended=Ended.BROKEN, output=b"", detail=str(error))
        if outcome.ended is not Ended.WELL:
            values = {"files": len(files), "ended": outcome.ended.value, "detail": outcome.detail}
            _log.warning("the process that reads files ended early", extra=values)
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
