"""Reads the text of a file in a child process. A file without text is a normal result, not an error."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from uuid import UUID

from context_service.retrieval.documents.kinds import PAGE_END, PAGED, Kind, Reason, Unread
from service_runtime.child_processes import confined
from service_runtime.child_processes.confined import Ended
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.principal import Principal

FILE_BYTES_MAX = 64 * 2**20
TEXT_CHARS_MAX = 2_000_000  # about 1,000 pages; only the beginning of a longer text is kept

_PROGRAM = ("-m", "context_service.retrieval.documents.child")
_HEAD_BYTES_MAX = 4_096
_AT_ONCE = 2  # child processes at the same time; each may use a CPU core
_CHILD_BYTES_MIN = 96 * 2**20  # if the memory would be less than this for each of two children, only one runs
# A file may take as long as its child process may. So a tenant may use only one of the two child processes, however
# many files it has, and the file of another tenant can begin at once.
_SHARES = Shares(of_tenant=1 / _AT_ONCE, of_key=1 / _AT_ONCE)
_WHY = {
    Ended.TIMEOUT: (Reason.TIMEOUT, "it takes longer to read than it may"),
    Ended.OUTPUT: (Reason.BROKEN, "the parser answered more than it may"),
    Ended.KILLED: (Reason.MEMORY, "the parser was killed: the machine had no memory left"),
    Ended.BROKEN: (Reason.BROKEN, "the parser broke on it"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """The text of a file."""

    text: str  # without NUL, which Postgres does not store
    is_cut: bool  # whether the file has more text
    page_starts: Sequence[int] = ()  # where pages begin, in characters; empty if this is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordText:
    """The text of a record, including its file."""

    text: str
    unread: Unread | None  # why its file has no text; None if it was read or there is no file


class DocumentReader:
    """Reads texts from files, each in a child process of its own that has access to nothing else.

    Args:
        memory_bytes_max: The most memory that one child process may use.
        together_bytes_max: Memory of all child processes together; None limits each alone.
        timeout_s: Seconds that a child process may take, and seconds of CPU time that it may use.
    """

    def __init__(self, *, memory_bytes_max: int, together_bytes_max: int | None = None, timeout_s: float) -> None:
        together = together_bytes_max or _AT_ONCE * memory_bytes_max
        at_once = min(_AT_ONCE, max(1, together // _CHILD_BYTES_MIN))
        self._memory_bytes_max = min(memory_bytes_max, together // at_once)
        self._timeout_s = timeout_s
        self._turns = FairQueue(at_once, _SHARES)

    async def read(
        self, kind: Kind, chunks: AsyncIterable[bytes], *, tenant_id: UUID, charset: str = ""
    ) -> FileText | Unread:
        """Return the text of a file, or the reason why it has none.

        Args:
            kind: The kind of the file, which decides how it is read.
            chunks: The bytes of the file, in order.
            tenant_id: The tenant that owns the file. Tenants take turns, and one may use at most half of the child
                processes.
            charset: The declared charset of a text file; empty if none was declared.

        Raises:
            Errors of `chunks`.
        """
        limits = (FILE_BYTES_MAX, TEXT_CHARS_MAX, self._memory_bytes_max, math.ceil(self._timeout_s))
        async with Turn(self._turns, Principal(tenant_id=tenant_id, subject="indexing")) as turn:
            await turn.take()
            outcome = await confined.run(
                (*_PROGRAM, kind.value, charset, *map(str, limits)),
                chunks,
                timeout_s=self._timeout_s,
                output_bytes_max=4 * TEXT_CHARS_MAX + _HEAD_BYTES_MAX,
            )
        if outcome.ended is not Ended.WELL:
            reason, detail = _WHY[outcome.ended]
            return Unread(reason=reason, detail=f"{detail} ({outcome.detail})" if outcome.detail else detail)
        return _answer(kind, outcome.output)


def _answer(kind: Kind, output: bytes) -> FileText | Unread:
    """Return the answer of a child process. It is checked, because a malicious file may have taken the child over."""
    head, _, text = output.partition(b"\n")
    try:
        answer = json.loads(head[:_HEAD_BYTES_MAX])
        if "reason" in answer:
            detail = str(answer["detail"])[:300].encode(errors="replace").decode().replace("\0", " ")
            return Unread(reason=Reason(answer["reason"]), detail=detail)
        decoded = text.decode(errors="replace").replace("\0", " ")
        pages = decoded.split(PAGE_END) if kind in PAGED else []
        return FileText(
            text="\n".join(pages) if pages else decoded,
            is_cut=answer["is_cut"] is True,
            page_starts=tuple(accumulate((len(page) + 1 for page in pages[:-1]), initial=0)) if pages else (),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return Unread(reason=Reason.BROKEN, detail="the parser answered nothing that can be read")
