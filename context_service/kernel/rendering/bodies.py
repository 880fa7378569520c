"""The body of a request: its messages, joined piece by piece.

A body is as long as a prompt, and each prompt is the one before with more text after it. So pieces that were joined
stay joined, and only new ones are added. With some vendors, each piece is a message. With others, roles alternate and a
message has all pieces of a turn; these vendors have a list of system prompts before all messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

from context_service.kernel.rendering.turns import RequestPart
from context_service.kernel.rendering.written import PlacedFile, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of a vendor's request body.

    Attributes:
        messages: The name of the member with the list of messages.
        pieces: The name of a message's member with the list of its pieces; empty if each piece is a message.
        system: The JSON before and after the system prompts; empty if they are messages.
        system_at: The JSON Pointer of the list of system prompts.
        results_apart: Whether tool results have messages of their own.
    """

    messages: str
    pieces: str = ""
    system: tuple[str, str] = ("", "")
    system_at: str = ""
    results_apart: bool = False


class Source(NamedTuple):
    """Who wrote a piece, or some lines of its text. Lines count from 1; 0 is the whole piece."""

    author: str
    ref: str
    trust: str
    first_line: int = 0
    last_line: int = 0


@dataclass(slots=True)
class Span:
    """A source, and the piece that it wrote.

    Attributes:
        pointer: The piece, as a JSON Pointer into the body.
        begins_at: The position of the piece after the start of the messages; 0 for a part of the system prompt.
        written: The span as it was written into the first answer that has it: later answers repeat it. It is no part of
            the value.
    """

    pointer: str
    source: Source
    begins_at: int = 0
    written: bytes = field(default=b"", compare=False, repr=False)


class Rendered(NamedTuple):
    """A piece as it was rendered; later requests repeat it byte for byte.

    Attributes:
        files: The files whose base64 the JSON lacks. Their positions and pointers are within the piece.
        call_id: The call whose result has these files, if the piece is no result itself.
    """

    role: str
    json: str
    is_result: bool
    sources: tuple[Source, ...] = ()
    files: tuple[PlacedFile, ...] = ()
    call_id: str = ""

    @classmethod
    def of(cls, piece: RequestPart) -> Rendered:
        """Return the rendered form of a piece."""
        json, files = written(piece.value)
        return cls(piece.role, json.decode(), piece.is_result, files=files, call_id=piece.call_id)


@dataclass(frozen=True, slots=True)
class Body:
    """The beginning of a request body, with the messages so far. It is immutable: `with_pieces` returns a longer one.

    Attributes:
        shape: The shape of the vendor's request body.
        start: The text with which the JSON object begins, before the messages.
        spans: The sources of the pieces, in their order.
    """

    shape: Shape
    start: bytes = b""
    spans: tuple[Span, ...] = ()
    _files: tuple[PlacedFile, ...] = ()  # their positions count from the first message
    _system: bytes = b""
    _messages: bytes = b""
    _last: tuple[str, bool] | None = None  # the role whose message is still open
    _counts: tuple[int, int, int] = (0, 0, 0)  # system prompts, messages, and pieces of the last message

    def with_pieces(self, pieces: Iterable[Rendered]) -> Body:
        """Return a body with more pieces at its end."""
        shape, last = self.shape, self._last
        system, messages = [self._system] if self._system else [], [self._messages]
        systems, count, within = self._counts
        spans: list[Span] = []
        files: list[PlacedFile] = []
        size = len(self._messages)
        for role, json, is_result, sources, of_piece, _ in pieces:
            if role == "system" and shape.system[0]:
                system.append(json.encode())
                systems += 1
                spans += [Span(f"{shape.system_at}/{systems - 1}", source) for source in sources]
                continue
            whose = (role, is_result and shape.results_apart)
            if not shape.pieces:
                messages.append(b"," if last else b"")
            elif whose == last:
                messages.append(b",")
            else:
                messages.append(f'{"]}," if last else ""}{{"role":"{role}","{shape.pieces}":['.encode())
            begins_at = size + len(messages[-1])
            messages.append(json.encode())
            size = begins_at + len(messages[-1])
            is_another = not shape.pieces or whose != last
            count, within = (count + 1, 1) if is_another else (count, within + 1)
            last = whose
            if sources or of_piece:
                pointer = self._pointer_of(count, within)
                spans += [Span(pointer, source, begins_at) for source in sources]
                files += [file.within(pointer, begins_at) for file in of_piece]
        return replace(
            self,
            spans=(*self.spans, *spans),
            _files=(*self._files, *files),
            _system=b",".join(system),
            _messages=b"".join(messages),
            _last=last,
            _counts=(systems, count, within),
        )

    @property
    def pointer(self) -> str:
        """The JSON Pointer (RFC 6901) of the last piece; empty if there is none."""
        systems, count, within = self._counts
        if count:
            return self._pointer_of(count, within)
        return f"{self.shape.system_at}/{systems - 1}" if systems else ""

    def _pointer_of(self, count: int, within: int) -> str:
        """Return the JSON Pointer of the piece of this number within the message of this number, both from 1."""
        place = f"/{self.shape.messages}/{count - 1}"
        return f"{place}/{self.shape.pieces}/{within - 1}" if self.shape.pieces else place

    @property
    def files(self) -> list[PlacedFile]:
        """The files whose base64 the body lacks, in their order, with their positions and pointers in the body."""
        begins_at = len(self._head) if self._files else 0
        return [file.within("", begins_at) for file in self._files]

    def spans_before(self, offset: int) -> int:
        """Return how many of the spans are of pieces that begin before a position in the body."""
        begins_at = len(self._head)
        return sum(1 for _ in takewhile(lambda span: begins_at + span.begins_at < offset, self.spans))

    @property
    def _head(self) -> bytes:
        """The body up to the first message."""
        before, after = self.shape.system
        system = f"{before}[".encode() + self._system + f"]{after},".encode() if self._system else b""
        return b"".join([b"{", self.start, system, f'"{self.shape.messages}":['.encode()])

    @property
    def prefix(self) -> bytes:
        """The body without its closing brackets: pieces are added after it."""
        return self._head + self._messages

    @property
    def end(self) -> bytes:
        """The closing brackets of the body."""
        return b"]}]}" if self._last and self.shape.pieces else b"]}"

    @property
    def json(self) -> bytes:
        """The whole body, as a JSON object."""
        return self.prefix + self.end

    def __len__(self) -> int:
        return len(self.start) + len(self._system) + len(self._messages)
