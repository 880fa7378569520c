r"""The format of an archive: pieces, each a line of JSON that describes it, and bytes.

    {"piece":3,"kind":"rows","table":"message","rows":812,"bytes":1048301,"seal":"9f2c…"}\n<1,048,301 bytes>

The seal is the SHA-256 of the previous seal, the line without its seal, and the bytes. So it covers the piece and all
pieces before it, and the last seal covers the whole archive. Nothing is compressed, so nothing can expand when read;
compress the file with zstd if you want. An archive is read piece by piece. A piece has at most a mebibyte, except for a
larger row or graph node, which has a piece of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson

from contextkeep.errors import ArchiveRefused
from service_runtime.inputs.documents import beside_the_loop

FORMAT = 1
LINE_BYTES_MAX = 4096
PIECE_BYTES = 1024 * 1024  # a piece has at most this many bytes, unless one row or one node of a graph has more
PIECE_BYTES_MAX = 64 * 1024 * 1024  # the largest piece, which has a single row
BLOB_BYTES = 1024 * 1024  # the most bytes of a file in one piece
CHUNK_BYTES = 1024 * 1024  # the most bytes of a message that carries a part of an archive

Kind = Literal["manifest", "rows", "blob", "context", "context_end", "graph", "end"]
_KINDS = frozenset(get_args(Kind))
_SEAL = b',"seal":"'
_SEAL_CHARS = 64
FIRST_SEAL = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePiece:
    """A piece of an archive that was read and checked."""

    number: int  # from 0, in the order of the archive
    kind: str  # one of `Kind`
    says: dict[str, Any]  # the members of the piece's line
    data: bytes
    seal: bytes  # the hash of this piece and all pieces before it
    end_bytes: int  # the position in the archive where the piece ends

    def refused(self, why: str, *, line: int = 0) -> ArchiveRefused:
        """Return the error that refuses this piece, with its place in the archive."""
        table = str(self.says.get("table", ""))
        place = f"piece {self.number}" + (f", {table}" if table else "") + (f", line {line}" if line else "")
        return ArchiveRefused(f"{place}: {why}", piece=self.number, table=table)


def sealed(before: bytes, says: dict[str, object], data: bytes) -> tuple[bytes, bytes]:
    """Return the bytes of a piece, and its seal, which also covers all pieces before it."""
    line = orjson.dumps({**says, "bytes": len(data)})[:-1]
    seal = _seal_of(before, line, data)
    return b"".join((line, _SEAL, seal.hex().encode(), b'"}\n', data)), seal


def _seal_of(before: bytes, line: bytes, data: bytes) -> bytes:
    """Return the seal of a piece of an archive: a hash over the seal before it, its line and its data."""
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
    """Yield the pieces of an archive, from a given piece on, each checked against its seal.

    Args:
        chunks: The bytes of the archive, cut anywhere.
        number: The number of the first piece that `chunks` holds.
        seal: The seal of the piece before that one.
        offset_bytes: Where `chunks` begins in the archive, in bytes.
        room: Waits until the bytes of a piece may be held in memory in addition to those before, or refuses them.

    Raises:
        HeldBytesExceeded: `room` refused the bytes of a piece.
        ArchiveRefused: a piece is malformed, too large, incomplete, or does not match its seal.
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
                raise _refused(number, "not a line of an archive: it is malformed, too long or incomplete")
            line = bytes(buffer[:end])
            says, unsealed, said_seal = _line(number, line)
            size = says["bytes"]
            if room is not None:
                await room(size)
            del buffer[: end + 1]
            content = bytearray(buffer[:size])
            del buffer[:size]
            while len(content) < size:
                chunk = await anext(incoming, None)
                if chunk is None:
                    raise _refused(number, f"the piece is incomplete: {len(content)} of {size} bytes arrived")
                room_bytes = size - len(content)
                content += chunk[:room_bytes]
                buffer += chunk[room_bytes:]
            data = bytes(content)
            del content
            computed_seal = await beside_the_loop(len(data), _seal_of, seal, unsealed, data)
            if computed_seal != said_seal:
                raise _refused(number, "its checksum does not match the piece and those before it")
            seal = computed_seal
            offset_bytes += end + 1 + size
            yield ArchivePiece(
                number=number, kind=says["kind"], says=says, data=data, seal=seal, end_bytes=offset_bytes
            )
            number += 1


async def _each(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    async for chunk in chunks:
        yield chunk


def _line(number: int, line: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the fields of a piece's line, the line without its seal, and the seal."""
    unsealed, has_seal, rest = line.rpartition(_SEAL)
    if not has_seal or len(rest) != _SEAL_CHARS + 2 or rest[_SEAL_CHARS:] != b'"}':
        raise _refused(number, "not a line of an archive: it is malformed or incomplete")
    try:
        says = orjson.loads(line)
        seal = bytes.fromhex(rest[:_SEAL_CHARS].decode())
    except (orjson.JSONDecodeError, ValueError):
        raise _refused(number, "not a line of an archive: it is not JSON, or its checksum is malformed") from None
    size, kind = says.get("bytes"), says.get("kind")
    if says.get("piece") != number or type(says["piece"]) is not int:
        raise _refused(number, f"its number must be {number} (got {str(says.get('piece'))[:20]})")
    if kind not in _KINDS:
        raise _refused(number, f"its kind {str(kind)[:40]!r} is unknown; a newer release may have written the archive")
    if type(size) is not int or size < 0:
        raise _refused(number, "its number of bytes is missing or malformed")
    if size > PIECE_BYTES_MAX:
        raise _refused(number, f"a piece may have up to {PIECE_BYTES_MAX} bytes (got {size})")
    if size > PIECE_BYTES and kind != "graph" and not (kind == "rows" and says.get("rows") == 1):
        raise _refused(number, f"a piece of several rows may have up to {PIECE_BYTES} bytes (got {size})")
    return says, unsealed, seal


def _refused(number: int, why: str) -> ArchiveRefused:
    return ArchiveRefused(f"piece {number}: {why}", piece=number, table="")


def lines_of(piece: ArchivePiece, *, rows_max: int = 100_000) -> list[bytes]:
    """Return the rows of a piece, as lines.

    Raises:
        ArchiveRefused: their number differs from that in its line.
    """
    lines = piece.data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if type(piece.says.get("rows")) is not int or len(lines) != piece.says["rows"] or len(lines) > rows_max:
        raise piece.refused(
            f"it has {len(lines):,} rows; its line must name this number, and the limit is {rows_max:,}"
        )
    return lines
