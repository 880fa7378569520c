"""The bytes of transfers: cut into chunks, counted, hashed and compared. No I/O here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.errors import BlobCorrupted, InvalidArgument
from contextkeep.values import Record

CHUNK_BYTES = 1024 * 1024  # bytes of a chunk: the most that a message may carry, and the fastest size
SEGMENT_BYTES = 8 * CHUNK_BYTES  # bytes of an import that are kept in memory, in case they must be sent again
PATIENCE_S = 120.0  # seconds that a resumable upload retries without progress: longer than a restart of the service
FINISH_TIMEOUT_S = 3600.0  # deadline for the end of an upload, when the service reads and writes every byte once more
PART_BYTES = 16 * 1024 * 1024  # bytes of a part of a resumable upload: a broken connection costs at most one part

# Called with the number of bytes so far, and the number of all bytes if it is known.
OnProgress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadInput:
    """The source of the bytes of an upload."""

    name: str  # name of the file; empty if the source has none
    size_bytes: int | None  # None if the size is known only at the end
    replayable: bool  # `open` may be called again, and then yields the same bytes from the start
    open: Callable[[], Any]  # returns a generator of bytes-like pieces of any size, async in the async client


class Chunks:
    """Cuts the pieces of a source, large or tiny, into chunks of `CHUNK_BYTES`; the last may be shorter."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes | bytearray | memoryview) -> Iterator[bytes]:
        """Yield the chunks that `piece` completes.

        Raises:
            InvalidArgument: the value is not bytes.
        """
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise InvalidArgument(f"the source gave a {type(piece).__name__}, not bytes", field="chunk")
        view = memoryview(piece).cast("B")
        start = 0
        if self._held:
            start = min(CHUNK_BYTES - len(self._held), len(view))
            self._held += view[:start]
            if len(self._held) < CHUNK_BYTES:
                return
            yield bytes(self._held)
            self._held.clear()
        while len(view) - start >= CHUNK_BYTES:
            yield bytes(view[start : start + CHUNK_BYTES])
            start += CHUNK_BYTES
        self._held += view[start:]

    def rest(self) -> Iterator[bytes]:
        """Yield the last chunk, unless nothing is left."""
        if self._held:
            yield bytes(self._held)


class Parts:
    """Gathers the chunks of a source into the parts of a resumable upload.

    A part is held in memory until the service has it. So the source need not be readable a second time, and at most one
    part is in memory.

    Args:
        offset_bytes: The bytes at the beginning of the source that the service has already; they are skipped.
        part_bytes: Size of each part but the last.
    """

    def __init__(self, offset_bytes: int, part_bytes: int) -> None:
        self.offset_bytes = offset_bytes  # position of the part that is being gathered
        self._part_bytes = part_bytes
        self._seen_bytes = 0
        self._held: list[bytes] = []
        self._held_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[list[bytes]]:
        """Yield the parts that `chunk` completes, as chunks."""
        skipped = max(0, self.offset_bytes + self._held_bytes - self._seen_bytes)
        self._seen_bytes += len(chunk)
        rest = chunk[skipped:] if skipped else chunk
        while rest:
            taken = rest[: self._part_bytes - self._held_bytes]
            rest = rest[len(taken) :]
            self._held.append(taken)
            self._held_bytes += len(taken)
            if self._held_bytes == self._part_bytes:
                yield from self.rest()

    def rest(self) -> Iterator[list[bytes]]:
        """Yield the last part, unless nothing is left."""
        if self._held:
            part, size_bytes = self._held, self._held_bytes
            self._held, self._held_bytes = [], 0
            yield part
            self.offset_bytes += size_bytes


class Segments:
    """Cuts the pieces of a text of lines into segments of whole lines, as lists of chunks."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._held_bytes = 0

    def feed(self, piece: bytes | bytearray | memoryview) -> Iterator[list[bytes]]:
        """Yield the segments that `piece` completes.

        Raises:
            InvalidArgument: the value is not bytes.
        """
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise InvalidArgument(f"the source gave a {type(piece).__name__}, not bytes", field="lines")
        view = memoryview(piece).cast("B")
        for start in range(0, len(view), CHUNK_BYTES):
            chunk = bytes(view[start : start + CHUNK_BYTES])
            if self._held_bytes + len(chunk) < SEGMENT_BYTES:
                self._hold(chunk)
                continue
            end = chunk.rfind(b"\n") + 1
            if end:
                self._hold(chunk[:end])
                yield from self.rest()
            self._hold(chunk[end:])

    def rest(self) -> Iterator[list[bytes]]:
        """Yield the last segment, unless nothing is left."""
        if self._held:
            yield self._held
        self._held, self._held_bytes = [], 0

    def _hold(self, chunk: bytes) -> None:
        if chunk:
            self._held.append(chunk)
            self._held_bytes += len(chunk)


class Tally:
    """Counts and hashes the bytes of a transfer, and reports them to `on_progress`.

    Args:
        total_bytes: The expected number of bytes, if it is known.
        on_progress: Called by `report`; an error that it raises ends the transfer.
    """

    def __init__(self, total_bytes: int | None, on_progress: OnProgress | None) -> None:
        self.size_bytes = 0
        self._total_bytes = total_bytes
        self._on_progress = on_progress
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Return the checksum so far, in hexadecimal."""
        return self._hash.hexdigest()

    def add(self, chunk: bytes) -> None:
        """Count and hash a chunk."""
        self._hash.update(chunk)
        self.size_bytes += len(chunk)

    def report(self, done_bytes: int | None = None) -> None:
        """Report the progress to the caller: the counted bytes, unless another number is given."""
        if self._on_progress is not None:
            self._on_progress(self.size_bytes if done_bytes is None else done_bytes, self._total_bytes)


def check_upload(answer: memory_pb.UploadBlobResponse | memory_pb.FinishUploadResponse, tally: Tally) -> None:
    """Compare the stored bytes with those that were sent.

    Raises:
        BlobCorrupted: the size or the hash differs.
    """
    if (answer.size_bytes, answer.sha256.lower()) != (tally.size_bytes, tally.sha256):
        raise BlobCorrupted(
            "the service stored other bytes than were sent; delete the record and send them again",
            working_memory_id=answer.working_memory_id,
            size_bytes=answer.size_bytes,
            size_bytes_sent=tally.size_bytes,
            sha256=answer.sha256,
            sha256_sent=tally.sha256,
        )


def range_bytes(record: Record, *, offset_bytes: int, length_bytes: int) -> int:
    """Return the number of bytes in a range of a record's blob; a length of 0 reads to the end."""
    to_end = max(0, record.size_bytes - offset_bytes)
    return min(length_bytes, to_end) if length_bytes else to_end


def check_download(record: Record, tally: Tally, *, expected_bytes: int) -> None:
    """Check the number of the received bytes and, for a whole blob, their sha256 against the record.

    Raises:
        BlobCorrupted: they differ. The caller must throw the received bytes away.
    """
    whole = expected_bytes == record.size_bytes
    if tally.size_bytes != expected_bytes or (whole and tally.sha256 != record.sha256.lower()):
        raise BlobCorrupted(
            "the bytes that arrived are not those of the blob; throw them away and read again",
            working_memory_id=record.working_memory_id,
            size_bytes=expected_bytes,
            size_bytes_received=tally.size_bytes,
            sha256=record.sha256,
            sha256_received=tally.sha256,
        )
