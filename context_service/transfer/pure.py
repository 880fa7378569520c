r"""The form of an archive: pieces, each a line that says what it is, and bytes.

    {"piece":3,"kind":"rows","table":"message","rows":812,"bytes":1048301,"seal":"9f2c…"}\n<1,048,301 bytes>

The seal is the SHA-256 of the seal before it, the line without the seal, and the bytes: so it covers the piece and all
that came before, and the last one the whole archive. Nothing is compressed, so nothing can swell; who wants that puts
the file through zstd. What comes in is read piece by piece. A piece has a mebibyte at most, but for a row or a node of
a graph that is larger: such a row has a piece of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson

from contextkeep.errors import ArchiveRefused
from service_runtime.documents import beside_the_loop

FORMAT = 1
LINE_BYTES_MAX = 4096
PIECE_BYTES = 1024 * 1024  # of a piece, unless one row or one node of a graph is larger
PIECE_BYTES_MAX = 64 * 1024 * 1024  # what one row may be
BLOB_BYTES = 1024 * 1024  # of a file, in a piece
CHUNK_BYTES = 1024 * 1024  # of a message

Kind = Literal["manifest", "rows", "blob", "context", "context_end", "graph", "end"]
_KINDS = frozenset(get_args(Kind))
_SEAL = b',"seal":"'
_SEAL_CHARS = 64
FIRST_SEAL = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePiece:
    """A piece, as it was read."""

    number: int
    kind: str
    says: dict[str, Any]
    data: bytes
    seal: bytes  # of it, and all before
    end_bytes: int  # where it ends in the archive

    def refused(self, why: str, *, line: int = 0) -> ArchiveRefused:
        """Return the error that names this place."""
        table = str(self.says.get("table", ""))
        place = f"piece {self.number}" + (f", {table}" if table else "") + (f", line {line}" if line else "")
        return ArchiveRefused(f"{place}: {why}", piece=self.number, table=table)


def sealed(before: bytes, says: dict[str, object], data: bytes) -> tuple[bytes, bytes]:
    """Return a piece as it is written, and its seal."""
    line = orjson.dumps({**says, "bytes": len(data)})[:-1]
    seal = _seal_of(before, line, data)
    return b"".join((line, _SEAL, seal.hex().encode(), b'"}\n', data)), seal


def _seal_of(before: bytes, line: bytes, data: bytes) -> bytes:
    hashed = hashlib.sha256(before)
    hashed.update(line)
    hashed.update(data)
    return hashed.digest()


async def pieces(
    chunks: AsyncIterable[bytes],
    *,
    number: int,
    seal: bytes,
    offset_bytes: int,
    room: Callable[[int], Awaitable[None]] | None = None,
) -> AsyncGenerator[ArchivePiece, None]:
    """Yield the pieces of an archive from one on, each checked.

    Args:
        chunks: Its bytes, cut anywhere.
        number: Of the piece that they begin with.
        seal: Of the piece before.
        offset_bytes: Where they begin in the archive.
        room: Waits until so many bytes of a piece may be held next to those that came before, or refuses them.

    Raises:
        HeldBytesExceeded: of `room`.
        ArchiveRefused: a piece is malformed, too large, cut off, or not what its seal says.
    """
    buffer = bytearray()
    async with aclosing(_each(chunks)) as incoming:
        while True:
            end = buffer.find(b"\n")
            while end < 0 and len(buffer) <= LINE_BYTES_MAX:
                chunk = await anext(incoming, None)
                if chunk is None:
                    break
                buffer += chunk
                end = buffer.find(b"\n")
            if end < 0 and not buffer:
                return
            if not 0 <= end <= LINE_BYTES_MAX:
                raise _refused(number, "no line of an archive: it is garbage, too long, or cut off")
            line = bytes(buffer[:end])
            says, unsealed, said_seal = _line(number, line)
            size = says["bytes"]
            if room is not None:
                await room(size)
            del buffer[: end + 1]
            held = bytearray(buffer[:size])
            del buffer[:size]
            while len(held) < size:
                chunk = await anext(incoming, None)
                if chunk is None:
                    raise _refused(number, f"cut off: {len(held)} of {size} bytes came")
                room_bytes = size - len(held)
                held += chunk[:room_bytes]
                buffer += chunk[room_bytes:]
            data = bytes(held)
            del held
            made = await beside_the_loop(len(data), _seal_of, seal, unsealed, data)
            if made != said_seal:
                raise _refused(number, "the checksum is not that of the piece and those before it")
            seal = made
            offset_bytes += end + 1 + size
            yield ArchivePiece(
                number=number, kind=says["kind"], says=says, data=data, seal=seal, end_bytes=offset_bytes
            )
            number += 1


async def _each(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    async for chunk in chunks:
        yield chunk


def _line(number: int, line: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return what the line of a piece says, the line without its seal, and the seal."""
    unsealed, has_seal, rest = line.rpartition(_SEAL)
    if not has_seal or len(rest) != _SEAL_CHARS + 2 or rest[_SEAL_CHARS:] != b'"}':
        raise _refused(number, "no line of an archive: it is garbage, or cut off")
    try:
        says = orjson.loads(line)
        seal = bytes.fromhex(rest[:_SEAL_CHARS].decode())
    except (orjson.JSONDecodeError, ValueError):
        raise _refused(number, "no line of an archive: it is not JSON, or has no checksum") from None
    size, kind = says.get("bytes"), says.get("kind")
    if says.get("piece") != number or type(says["piece"]) is not int:
        raise _refused(number, "a piece of another number is here")
    if kind not in _KINDS:
        raise _refused(number, "a piece of an unknown kind")
    if type(size) is not int or size < 0:
        raise _refused(number, "it does not say how many bytes it has")
    if size > PIECE_BYTES_MAX:
        raise _refused(number, f"it says {size} bytes; {PIECE_BYTES_MAX} are the most")
    if size > PIECE_BYTES and kind != "graph" and not (kind == "rows" and says.get("rows") == 1):
        raise _refused(number, f"it says {size} bytes; {PIECE_BYTES} are the most of a piece that is not one row")
    return says, unsealed, seal


def _refused(number: int, why: str) -> ArchiveRefused:
    return ArchiveRefused(f"piece {number}: {why}", piece=number, table="")


def lines_of(piece: ArchivePiece, *, rows_max: int = 100_000) -> list[bytes]:
    """Return the rows of a piece, as lines.

    Raises:
        ArchiveRefused: they are not as many as it says.
    """
    lines = piece.data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if type(piece.says.get("rows")) is not int or len(lines) != piece.says["rows"] or len(lines) > rows_max:
        raise piece.refused(f"it has {len(lines)} rows, and says other")
    return lines
