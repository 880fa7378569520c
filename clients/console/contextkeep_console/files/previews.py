"""Drawings of files: a picture made smaller, or a page of a PDF. A confined process makes each; the newest are kept.

A drawing is kept by the tenant and the hash of the file. The services have checked before that the visitor may read
the file: a page asks them for it each time.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Any

from contextkeep_console._gen import confined
from contextkeep_console.files.kinds import FILE_BYTES_MAX, Kind, type_of

THUMBNAIL_EDGE, PAGE_EDGE = 320, 1_200  # pixels: of the longer side of a thumbnail, and of the width of a page

KEPT_BYTES_MAX = 32 * 2**20  # of all drawings of this process
_DRAWING_BYTES_MAX = 12 * 2**20
_AT_ONCE = 2
_MEMORY_BYTES_MAX = 512 * 2**20  # address space of a child process, with its libraries
_TIMEOUT_S = 10.0
_CPU_S = 5
_OVERHEAD_BYTES = 512  # of a drawing that is kept
_PIXELS_MOST = 2**31 - 1
_PROGRAM = ("-m", "contextkeep_console.files.child")
_TYPES = {Kind.PICTURE: "image/webp", Kind.PDF: "image/png"}
_TROUBLES = {
    "damaged": "The file is damaged, so it cannot be drawn.",
    "memory": "It would take too much memory to draw it.",
    "page": "The PDF has no such page.",
    "password": "The PDF needs a password, so it cannot be drawn.",
    "pixels": "It has too many pixels to be drawn.",
    "time": "It took too long to draw it.",
    "unconfined": "The console draws files on Linux only, where the kernel confines the process that reads them.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A drawing of a file, or why there is none. A fact of 0 is unknown."""

    data: bytes = b""
    media_type: str = ""
    width: int = 0  # of the picture itself, or of the drawing of a page
    height: int = 0
    page_count: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A drawing that a page asks for."""

    tenant_id: str
    sha256: str
    kind: Kind
    page: int  # of a PDF, from 1; 0 for a picture
    edge: int


class Previews:
    """Draws files, and keeps the drawings that were used last.

    Args:
        bytes_max: Largest size of all kept drawings.
    """

    def __init__(self, *, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._kept: OrderedDict[Wanted, Preview] = OrderedDict()
        self._size_bytes = 0
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def kept(self, wanted: Wanted) -> Preview | None:
        """Return a drawing that is kept, or None."""
        preview = self._kept.get(wanted)
        if preview is not None:
            self._kept.move_to_end(wanted)
        return preview

    async def drawn(self, wanted: Wanted, chunks: AsyncIterable[bytes], size_bytes: int) -> Preview:
        """Draw a file.

        Args:
            wanted: The drawing.
            chunks: The bytes of the file. They are read when it is this drawing's turn.
            size_bytes: Their number.

        Raises:
            The errors of `chunks`.
        """
        if size_bytes > FILE_BYTES_MAX:
            return Preview(trouble=f"It has more than {FILE_BYTES_MAX >> 20} MiB, so it is not drawn.")
        async with self._turns:
            result = await confined.run(
                (*_PROGRAM, wanted.kind.value, *map(str, (wanted.page, wanted.edge, _MEMORY_BYTES_MAX, _CPU_S))),
                chunks,
                timeout_s=_TIMEOUT_S,
                output_bytes_max=_DRAWING_BYTES_MAX,
            )
        if result.ended is confined.Ended.TIMEOUT:
            return Preview(trouble=_TROUBLES["time"])  # a busy machine may be the cause: it is not kept
        preview = _preview(result, _TYPES[wanted.kind])
        self._keep(wanted, preview)
        return preview

    def _keep(self, wanted: Wanted, preview: Preview) -> None:
        """Keep a drawing, and forget those that were not used for longest."""
        if (replaced := self._kept.pop(wanted, None)) is not None:
            self._size_bytes -= len(replaced.data) + _OVERHEAD_BYTES
        self._kept[wanted] = preview
        self._size_bytes += len(preview.data) + _OVERHEAD_BYTES
        while self._size_bytes > self._bytes_max:
            _, forgotten = self._kept.popitem(last=False)
            self._size_bytes -= len(forgotten.data) + _OVERHEAD_BYTES


def _preview(result: confined.ProgramResult, media_type: str) -> Preview:
    """Return the drawing in a child's answer. It is checked: a hostile file may have taken the child over."""
    if result.ended is not confined.Ended.WELL:
        return Preview(trouble=_TROUBLES["memory" if result.ended is confined.Ended.KILLED else "damaged"])
    head, _, data = result.output.partition(b"\n")
    try:
        facts: dict[str, Any] = json.loads(head)
        width, height, page_count = (_whole(facts.get(name, 0)) for name in ("width", "height", "pages"))
        trouble = _TROUBLES[facts["reason"]] if "reason" in facts else ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Preview(trouble=_TROUBLES["damaged"])
    if not trouble and type_of(data) != media_type:
        trouble = _TROUBLES["damaged"]
    return Preview(
        data=b"" if trouble else data,
        media_type="" if trouble else media_type,
        width=width,
        height=height,
        page_count=page_count,
        trouble=trouble,
    )


def _whole(number: Any) -> int:
    return min(number, _PIXELS_MOST) if type(number) is int and number > 0 else 0
