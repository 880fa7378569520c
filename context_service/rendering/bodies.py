"""What pieces are together: the messages of a request, piece by piece.

A body is as long as a prompt, and each prompt is the one before with more behind it: so what is joined once stays, and
only what is new is added. Some vendors want a message for a piece; with others roles take turns, and a message has all
pieces of a turn; those have a place for system prompts in front of all messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from context_service.rendering.turns import Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a vendor wants pieces.

    Attributes:
        messages: What the list of messages is called.
        pieces: What the list of a message's pieces is called; empty: a piece is a message.
        system: What stands around system prompts, in front and behind; empty: they are messages.
        results_apart: Results have messages of their own.
    """

    messages: str
    pieces: str = ""
    system: tuple[str, str] = ("", "")
    results_apart: bool = False


class Rendered(NamedTuple):
    """A piece as it was rendered: it is sent so for ever."""

    role: str
    json: str
    is_result: bool

    @classmethod
    def of(cls, piece: Piece) -> Rendered:
        """Return a piece, rendered."""
        return cls(piece.role, orjson.dumps(piece.value).decode(), piece.is_result)


@dataclass(frozen=True, slots=True)
class Body:
    """The messages of a request, as far as they go. It does not change: `with_pieces` returns a longer one.

    Attributes:
        shape: Whose request.
        start: Of the object, in front of everything.
    """

    shape: Shape
    start: bytes = b""
    _system: bytes = b""
    _messages: bytes = b""
    _last: tuple[str, bool] | None = None  # whose message is open

    def with_pieces(self, pieces: Iterable[Rendered]) -> Body:
        """Return a body with more behind it."""
        shape, last = self.shape, self._last
        system, messages = [self._system] if self._system else [], [self._messages]
        for role, json, is_result in pieces:
            if role == "system" and shape.system[0]:
                system.append(json.encode())
                continue
            whose = (role, is_result and shape.results_apart)
            if not shape.pieces:
                messages.append(b"," if last else b"")
            elif whose == last:
                messages.append(b",")
            else:
                messages.append(f'{"]}," if last else ""}{{"role":"{role}","{shape.pieces}":['.encode())
            messages.append(json.encode())
            last = whose
        return replace(self, _system=b",".join(system), _messages=b"".join(messages), _last=last)

    @property
    def prefix(self) -> bytes:
        """All of it, without what closes it: whatever is added stands behind that."""
        before, behind = self.shape.system
        system = f"{before}[".encode() + self._system + f"]{behind},".encode() if self._system else b""
        return b"".join([b"{", self.start, system, f'"{self.shape.messages}":['.encode(), self._messages])

    @property
    def end(self) -> bytes:
        """What closes it."""
        return b"]}]}" if self._last and self.shape.pieces else b"]}"

    @property
    def json(self) -> bytes:
        """The whole: a JSON object."""
        return self.prefix + self.end

    def __len__(self) -> int:
        return len(self.start) + len(self._system) + len(self._messages)
