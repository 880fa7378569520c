"""Reads the texts of Office files: XML in a zip file, parsed as a stream, so that no tree is held in memory."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from context_service.retrieval.documents.kinds import Kind, Reason, Refused

MEMBERS_MAX = 20_000
# The most bytes of all members that are read, unpacked. A member is unpacked only up to the size that it declares.
UNPACKED_BYTES_MAX = 128 * 2**20

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # how older Office files begin, and files with a password
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PIECE_BYTES = 64 * 1024

_WORD = re.compile(r"word/(?:document|footnotes|endnotes|comments|header\d*|footer\d*)\.xml")
_SHEET = re.compile(r"xl/worksheets/sheet(\d+)\.xml")
_SLIDE = re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide)(\d+)\.xml")
_PARTS = {Kind.DOCX: "word/document.xml", Kind.XLSX: "xl/workbook.xml", Kind.PPTX: "ppt/presentation.xml"}

MakeParser = Callable[..., Any]


def load() -> MakeParser:
    """Import the XML parser, before the process is barred from opening files.

    Raises:
        ImportError: the parser is not installed.
    """
    from defusedxml.ElementTree import DefusedXMLParser

    codecs.lookup("cp437")  # the charset of names in zip files
    parser: MakeParser = DefusedXMLParser
    return parser


def text_of_office(data: bytes, kind: Kind, make_parser: MakeParser) -> Iterator[str]:
    """Yield the text of a document, of a workbook's sheets, or of slides and their notes.

    Raises:
        Refused: the file has another format, needs a password, or is too large when unpacked.
    """
    if data.startswith(_OLE):
        if _ENCRYPTED in data:
            raise Refused(Reason.PASSWORD, "it is protected by a password")
        raise Refused(Reason.NOT_AS_SAID, f"it is an older Office file, not {kind.value}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            package = _Package(packed, make_parser)
            if _PARTS[kind] not in package.names:
                raise Refused(Reason.NOT_AS_SAID, f"it is not {kind.value}: it has no {_PARTS[kind]} inside")
            yield from _TEXTS[kind](package)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise Refused(Reason.NOT_AS_SAID, f"it is damaged, or no {kind.value}: {error}"[:200]) from None


class _Package:
    """The members of a zip file, and how much of them may still be unpacked."""

    def __init__(self, packed: zipfile.ZipFile, make_parser: MakeParser) -> None:
        members = packed.infolist()
        if len(members) > MEMBERS_MAX:
            raise Refused(Reason.TOO_LARGE, f"it has {len(members)} files inside; the limit is {MEMBERS_MAX}")
        if any(member.flag_bits & 1 for member in members):
            raise Refused(Reason.PASSWORD, "it is protected by a password")
        self.names = [member.filename for member in members]
        self._packed = packed
        self._make_parser = make_parser
        self._room = UNPACKED_BYTES_MAX

    def numbered(self, which: re.Pattern[str]) -> list[str]:
        """Return members by the number in their names."""
        matches = [match for name in self.names if (match := which.fullmatch(name))]
        return [match[0] for match in sorted(matches, key=lambda match: int(match[1][:9]))]

    def read(self, name: str, target: _Target) -> Iterator[str]:
        """Parse a member of the zip file, and yield the text that a target collects from it.

        Raises:
            Refused: the member is not XML, defines entities, or is too large when unpacked.
        """
        from defusedxml.common import DefusedXmlException  # there since `load`

        parser = self._make_parser(target=target, forbid_dtd=True)
        try:
            self._room -= self._packed.getinfo(name).file_size
            if self._room < 0:
                raise Refused(Reason.TOO_LARGE, f"unpacked it has more than {UNPACKED_BYTES_MAX} bytes")
            with self._packed.open(name) as member:
                while piece := member.read(_PIECE_BYTES):
                    parser.feed(piece)
                    yield target.take()
            parser.close()
        except DefusedXmlException:
            raise Refused(
                Reason.FORBIDDEN, "its XML defines entities or a document type, which may not be safe"
            ) from None
        except (SyntaxError, ValueError, LookupError) as error:  # ParseError is a SyntaxError
            raise Refused(Reason.NOT_AS_SAID, f"there is no XML in {name}: {error}"[:200]) from None
        yield target.take()


class _Target:
    """Collects the texts of elements named `t`, and ends paragraphs."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._in_text = False

    def take(self) -> str:
        """Return the text that was collected since the last call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        name = _bare(tag)
        self._in_text = name == "t"
        if name == "tab":
            self._pieces.append("\t")
        elif name in {"br", "cr"}:
            self._pieces.append("\n")

    def end(self, tag: str) -> None:
        """End an element."""
        name = _bare(tag)
        self._in_text = False
        if name == "p":
            self._pieces.append("\n")
        elif name == "tc":
            self._pieces.append("\t")

    def data(self, text: str) -> None:
        """Take a text."""
        if self._in_text:
            self._pieces.append(text)

    def close(self) -> None:
        """End the document; the parser requires this method."""


class _Strings(_Target):
    """The texts that a workbook's cells share, by their numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.strings: list[str] = []
        self._string: list[str] = []
        self._phonetic = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element; texts that say how to pronounce a word are skipped."""
        self._phonetic = self._phonetic or _bare(tag) == "rPh"
        self._in_text = _bare(tag) == "t" and not self._phonetic

    def end(self, tag: str) -> None:
        """End an element."""
        self._in_text = False
        if _bare(tag) == "rPh":
            self._phonetic = False
        elif _bare(tag) == "si":
            self.strings.append("".join(self._string))
            self._string.clear()

    def data(self, text: str) -> None:
        """Take a piece of a text."""
        if self._in_text:
            self._string.append(text)


class _Sheet(_Target):
    """Collects the rows of a sheet as lines, with tabs between the cells; a formula counts by its value."""

    def __init__(self, strings: list[str]) -> None:
        super().__init__()
        self._strings = strings
        self._value: list[str] = []
        self._type = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin a cell, or its value."""
        name = _bare(tag)
        if name == "c":
            self._type = attributes.get("t", "")
        self._in_text = name in {"v", "t"}

    def end(self, tag: str) -> None:
        """End a value, a cell, a row."""
        name = _bare(tag)
        self._in_text = False
        if name == "row":
            self._pieces.append("\n")
        elif name == "c":
            value = "".join(self._value)
            self._value.clear()
            if self._type == "s":
                number = int(value) if value.isdecimal() and len(value) < 10 else -1
                value = self._strings[number] if 0 <= number < len(self._strings) else ""
            if value:
                self._pieces.append(value + "\t")

    def data(self, text: str) -> None:
        """Take a value."""
        if self._in_text:
            self._value.append(text)


class _Names(_Target):
    """The names of a workbook's sheets."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take the name of a sheet."""
        if _bare(tag) == "sheet" and (name := attributes.get("name")):
            self._pieces.append(name + "\n")


def _bare(tag: str) -> str:
    return tag.rpartition("}")[2]


def _of_docx(package: _Package) -> Iterator[str]:
    """Yield the text of a Word document, then that of its headers, footers and notes."""
    # The document comes first, because a long text is cut at its end.
    members = sorted(filter(_WORD.fullmatch, package.names), key=lambda name: (name != _PARTS[Kind.DOCX], name))
    for name in members:
        yield from package.read(name, _Target())


def _of_xlsx(package: _Package) -> Iterator[str]:
    """Yield the text of a workbook: the names of its sheets, and then the rows of each sheet.

    Cells refer to shared texts by their numbers, so these texts are read first.
    """
    yield from package.read(_PARTS[Kind.XLSX], _Names())
    strings = _Strings()
    if "xl/sharedStrings.xml" in package.names:
        for _ in package.read("xl/sharedStrings.xml", strings):
            pass
    for name in package.numbered(_SHEET):
        yield "\n"
        yield from package.read(name, _Sheet(strings.strings))


def _of_pptx(package: _Package) -> Iterator[str]:
    for name in package.numbered(_SLIDE):
        yield from package.read(name, _Target())
        yield "\n"


_TEXTS: dict[Kind, Callable[[_Package], Iterator[str]]] = {
    Kind.DOCX: _of_docx,
    Kind.XLSX: _of_xlsx,
    Kind.PPTX: _of_pptx,
}
