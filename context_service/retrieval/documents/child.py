"""The program that reads one file: `python -m context_service.retrieval.documents.child KIND CHARSET LIMITS…`.

The file comes in at descriptor 0. A line of JSON, `{"is_cut": …}` or `{"reason": …, "detail": …}`, goes out at
descriptor 1, and then the text. The program first imports what it needs, then confines itself, then reads the file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator

from context_service.retrieval.documents import encodings, office, pdf, plain
from context_service.retrieval.documents.html import text_of_html
from context_service.retrieval.documents.kinds import WITH_EXTRA, Kind, Reason, Refused
from service_runtime.child_processes.confinement import confine

_PIECE_BYTES = 1024 * 1024


def main() -> None:
    """Read the file on standard input, write its text, and exit at once, before a parser's own clean-up could run."""
    kind, charset = Kind(sys.argv[1]), sys.argv[2]
    file_bytes_max, text_chars_max, memory_bytes_max, cpu_s_max = map(int, sys.argv[3:])
    try:
        texts = _load(kind, charset)
        if not confine(memory_bytes_max=memory_bytes_max, cpu_s_max=cpu_s_max) and kind in WITH_EXTRA:
            # Parsers in C are run only where the kernel confines this process.
            raise Refused(
                Reason.NO_PARSER,
                f"{kind.value} is read only on Linux, whose kernel can confine the process that reads it",
            )
        text, is_cut = _first_chars(texts(_read(file_bytes_max)), text_chars_max)
        answer: dict[str, object] = {"is_cut": is_cut}
    except Refused as refused:
        text, answer = "", {"reason": refused.reason.value, "detail": refused.detail}
    except MemoryError:
        text, answer = "", {"reason": Reason.MEMORY.value, "detail": "it takes more memory than it may"}
    _write(json.dumps(answer).encode() + b"\n" + text.encode(errors="replace"))
    os._exit(0)


def _load(kind: Kind, charset: str) -> Callable[[bytes], Iterator[str]]:
    """Return the function that reads files of a kind, with all its modules imported."""
    if kind not in WITH_EXTRA:
        encodings.load()
    try:
        if kind is Kind.PDF:
            pdfium = pdf.load()
            return lambda data: pdf.text_of_pdf(data, pdfium)
        if kind in WITH_EXTRA:
            make_parser = office.load()
            return lambda data: office.text_of_office(data, kind, make_parser)
    except ImportError:
        raise Refused(Reason.NO_PARSER, f"{kind.value} needs the extra `documents`, which is not installed") from None
    of_text = {Kind.HTML: text_of_html, Kind.JSON: plain.text_of_json}.get(kind, plain.text_of)
    return lambda data: of_text(data, charset)


def _read(bytes_max: int) -> bytes:
    """Return the bytes on standard input.

    Raises:
        Refused: there are more bytes than the limit.
    """
    data = bytearray()
    while piece := os.read(0, _PIECE_BYTES):
        data += piece
        if len(data) > bytes_max:
            raise Refused(Reason.TOO_LARGE, f"it has more than {bytes_max} bytes")
    return bytes(data)


def _first_chars(pieces: Iterator[str], chars_max: int) -> tuple[str, bool]:
    """Return the first characters of a text, up to a limit, and say whether there are more."""
    taken, room = [], chars_max
    for piece in pieces:
        taken.append(piece[:room])
        room -= len(piece)
        if room < 0:
            return "".join(taken), True
    return "".join(taken), False


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
