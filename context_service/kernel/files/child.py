"""The program that reads the facts of files: `python -m context_service.kernel.files.child KINDS LIMITS…`.

Each file comes in at descriptor 0, with its length in 8 bytes before it. For each one a line of JSON goes out at
descriptor 1 at once, so that the caller knows which file a hostile one stopped. Pictures are not decoded: their sizes
are in their first bytes. So a picture that unpacks to gigabytes costs nothing here.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from service_runtime.child_processes.confinement import confine

_TEXT_PAGES_MAX = 200  # the text of a longer PDF is not counted
_TEXT_S_MAX = 1.5  # nor that of a PDF whose pages take longer
_PDF_WITHIN_BYTES = 1_024  # a PDF may begin after other bytes
_SIGNATURE_BYTES = 8_192
_PIECE_BYTES = 1024 * 1024

Read = Callable[[bytes], dict[str, Any]]


def main() -> None:
    """Answer a line for each file on standard input, and exit at once, before a library's own clean-up could run."""
    kinds = frozenset(sys.argv[1].split(","))
    file_bytes_max, memory_bytes_max, cpu_s_max = map(int, sys.argv[2:])
    read = _loaded(kinds)
    if not confine(memory_bytes_max=memory_bytes_max, cpu_s_max=cpu_s_max):
        read.pop("pdf", None)  # a parser in C runs only where the kernel confines this process
    while head := _taken(8):
        length = int.from_bytes(head, "big")
        if length > file_bytes_max:
            break
        _write(json.dumps(_facts(_taken(length), read)).encode() + b"\n")
    os._exit(0)


def _loaded(kinds: frozenset[str]) -> dict[str, Read]:
    """Return the readers of some kinds, with all their modules imported."""
    import filetype

    def detected(data: bytes) -> dict[str, Any]:
        return {"type": getattr(filetype.guess(data[:_SIGNATURE_BYTES]), "mime", "")}

    readers: dict[str, Read] = {"type": detected}
    if "image" in kinds:
        import imagesize

        readers["image"] = lambda data: _size(imagesize.get(io.BytesIO(data), exif_rotation=False))
    if "audio" in kinds:
        import tinytag

        readers["audio"] = lambda data: {"seconds": _duration(data, tinytag.TinyTag)}
    if "pdf" in kinds:
        with suppress(ImportError):
            import pypdfium2.raw

            pypdfium2.raw.FPDF_InitLibrary()
            readers["pdf"] = lambda data: _pages(data, pypdfium2.raw)
    return readers


def _facts(data: bytes, readers: dict[str, Read]) -> dict[str, Any]:
    """Return the facts of a file; a library that fails on it leaves them unknown."""
    facts: dict[str, Any] = {"type": ""}
    with suppress(Exception):
        facts |= readers["type"](data)
    if b"%PDF-" in data[:_PDF_WITHIN_BYTES]:
        facts["type"] = "application/pdf"
    kind = "pdf" if facts["type"] == "application/pdf" else facts["type"].partition("/")[0]
    if kind in readers:
        with suppress(Exception):  # MemoryError, too: the facts stay unknown
            facts |= readers[kind](data)
    return facts


def _size(size: tuple[int, int]) -> dict[str, Any]:
    width, height = size
    return {"width": width, "height": height} if width > 0 and height > 0 else {}


def _duration(data: bytes, tag: Any) -> float:
    return float(tag.get(file_obj=io.BytesIO(data), image=False).duration or 0)


def _pages(data: bytes, pdfium: Any) -> dict[str, Any]:
    """Return the number of pages of a PDF, and of characters on them if the PDF is short."""
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        return {}
    pages = pdfium.FPDF_GetPageCount(document)
    facts = {"pages": pages}
    until = time.monotonic() + _TEXT_S_MAX
    chars = 0
    for number in range(pages if pages <= _TEXT_PAGES_MAX else 0):
        if time.monotonic() > until:
            return facts
        page = pdfium.FPDF_LoadPage(document, number)
        if not page:
            continue
        text = pdfium.FPDFText_LoadPage(page)
        chars += max(pdfium.FPDFText_CountChars(text), 0) if text else 0
        pdfium.FPDFText_ClosePage(text)
        pdfium.FPDF_ClosePage(page)
    # A scanned PDF has no characters: 1 tells it apart from an unknown number.
    return facts | ({"chars": max(chars, 1)} if pages <= _TEXT_PAGES_MAX else {})


def _taken(length: int) -> bytes:
    """Return the next bytes of standard input; fewer at its end."""
    taken = bytearray()
    while len(taken) < length and (piece := os.read(0, min(length - len(taken), _PIECE_BYTES))):
        taken += piece
    return bytes(taken) if len(taken) == length else b""


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
