"""Local files for the sync and the async client: sources of uploads, and targets of downloads.

The functions block; the async client runs them in threads.
"""

from __future__ import annotations

import errno
import io
import json
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from contextkeep.client._transfer import CHUNK_BYTES
from contextkeep.errors import InvalidArgument


def size_of(path: Path) -> int | None:
    """Return the size of a file, or None if only reading it would tell: for a pipe, or a file of the kernel.

    Raises:
        OSError: the file does not exist, is a directory, or may not be read by this account.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return status.st_size or None if stat.S_ISREG(status.st_mode) else None  # files in /proc have the size 0


class OpenFile:
    """A binary file object of the caller, read from its present position to its end.

    Raises:
        InvalidArgument: it was opened in text mode.
    """

    def __init__(self, file: Any) -> None:
        if isinstance(file, io.TextIOBase):
            raise InvalidArgument('the file is open in text mode; open it with "rb"', field="source")
        self._file = file
        self.seekable = bool(getattr(file, "seekable", lambda: False)())
        self._start = file.tell() if self.seekable else 0

    @property
    def name(self) -> str:
        """Return the file's name without its folder; empty if it has none."""
        name = getattr(self._file, "name", "")
        return Path(name).name if isinstance(name, str) else ""  # the name of a file descriptor is a number

    def size(self) -> int | None:
        """Return the number of bytes from the first position to the end; None if the file cannot seek."""
        if not self.seekable:
            return None
        end: int = self._file.seek(0, os.SEEK_END)
        self.rewind()
        return end - self._start

    def rewind(self) -> None:
        """Go back to the position that the file had at first."""
        if self.seekable:
            self._file.seek(self._start)

    def read(self) -> bytes:
        """Return the next bytes; none at the end."""
        data: bytes = self._file.read(CHUNK_BYTES)
        return data


class PartFile:
    """A file that gets its name when it is complete, or is removed.

    It is written under a temporary name in the same folder, so that the last step is a rename, which replaces an old
    file. The file and the folder are synced, so that the file survives a power cut.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._part = self._path.with_name(f".{secrets.token_hex(8)}.part")
        self._file: BinaryIO | None = None

    def open(self) -> None:
        """Create the temporary file.

        Raises:
            OSError: the path is a directory, its folder does not exist, or it is a pipe or a device, which the rename
                would replace.
        """
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self._path))
        if self._path.exists() and not self._path.is_file():
            raise OSError(errno.EINVAL, "Not a regular file", str(self._path))
        if not self._path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "No such directory", str(self._path.parent))
        self._file = self._part.open("xb")

    def write(self, chunk: bytes) -> None:
        """Append bytes."""
        assert self._file is not None
        self._file.write(chunk)

    def commit(self) -> None:
        """Give the file its name.

        Raises:
            OSError: the disk did not take all of it.
        """
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._path)
        self._file = None
        # The file has its name now. Some systems cannot sync folders; they store names in other ways.
        with suppress(OSError):
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self) -> None:
        """Remove the written bytes, unless they were committed."""
        if self._file is not None:
            try:
                self._file.close()  # may fail too, on a full disk
            finally:
                self._part.unlink(missing_ok=True)
                self._file = None


class KeptFile:
    """A file that is written in several runs, under a temporary name in the same folder until it is complete.

    A second file in the folder stores how many of the written bytes are valid, and the token to continue after them.

    Args:
        path: Path of the complete file.
        what: Identifies the content; a part that was written for another content is discarded.
    """

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self._path = Path(path)
        self._part = self._path.with_name(f"{self._path.name}.part")
        self._note = self._path.with_name(f"{self._path.name}.part.json")
        self._what = what
        self._file: BinaryIO | None = None
        self._kept_bytes = 0
        self.size_bytes = 0
        self.resume_token = ""

    def open(self) -> None:
        """Open the written part to continue it, or create it.

        Raises:
            OSError: the path is a directory, or the file cannot be written.
        """
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self._path))
        with suppress(OSError, ValueError, KeyError, TypeError):
            result = json.loads(self._note.read_text())
            if result["what"] == self._what and self._part.stat().st_size >= result["bytes"]:
                self._kept_bytes, self.resume_token = int(result["bytes"]), str(result["resume_token"])
        self._file = self._part.open("r+b" if self._kept_bytes else "wb")
        self.back()

    def write(self, chunk: bytes, resume_token: str) -> None:
        """Append bytes; a token makes all bytes that were written so far valid."""
        assert self._file is not None
        self._file.write(chunk)
        self.size_bytes += len(chunk)
        if resume_token:
            self._file.flush()
            self._kept_bytes, self.resume_token = self.size_bytes, resume_token
            note = self._note.with_name(f"{self._note.name}.new")
            note.write_text(json.dumps({"what": self._what, "bytes": self.size_bytes, "resume_token": resume_token}))
            note.replace(self._note)

    def back(self) -> None:
        """Remove everything after the last token."""
        assert self._file is not None
        self._file.seek(self._kept_bytes)
        self._file.truncate()
        self.size_bytes = self._kept_bytes

    def commit(self) -> None:
        """Give the file its name.

        Raises:
            OSError: the disk did not take all of it.
        """
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        self._part.replace(self._path)
        self._note.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file. The written part stays if it can be continued."""
        if self._file is None:
            return
        try:
            self._file.close()
        finally:
            self._file = None
            if not self._kept_bytes:
                self._part.unlink(missing_ok=True)
