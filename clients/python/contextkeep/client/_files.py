"""Local files, as both worlds see them: sources of uploads and the target of a download.

Plain blocking functions; the async client runs them in threads.
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
    """Return the size of a file, or None where only reading it tells: a pipe, a file of the kernel.

    Raises:
        OSError: it is not there, a directory, or not ours to look at.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return status.st_size or None if stat.S_ISREG(status.st_mode) else None  # /proc says 0 and means nothing by it


class OpenFile:
    """A binary file object of the caller's, from where it stands to its end.

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
        """Return the file's name without its folder; empty where it has none."""
        name = getattr(self._file, "name", "")
        return Path(name).name if isinstance(name, str) else ""  # a number for a descriptor

    def size(self) -> int | None:
        """Return the bytes from here to the end, where that can be known."""
        if not self.seekable:
            return None
        end: int = self._file.seek(0, os.SEEK_END)
        self.rewind()
        return end - self._start

    def rewind(self) -> None:
        """Go back to where the file stood."""
        if self.seekable:
            self._file.seek(self._start)

    def read(self) -> bytes:
        """Return the next bytes; none at the end."""
        data: bytes = self._file.read(CHUNK_BYTES)
        return data


class PartFile:
    """A file that appears under its name when it is complete, or not at all.

    It is written under a temporary name in the same folder, so that the last step is a rename, which replaces an old
    file. The file and the folder are synced, so that the file survives a power cut.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._part = self._path.with_name(f".{secrets.token_hex(8)}.part")
        self._file: BinaryIO | None = None

    def open(self) -> None:
        """Begin.

        Raises:
            OSError: the path is a directory, or in none; or a pipe or a device, which a rename would replace.
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
        # From here on it is there. Some systems sync no folders, and keep names in ways of their own.
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
    """A file that is written in several steps, under a temporary name in the same folder until it is complete.

    Another file in the folder stores how many of its bytes count, and the token to continue after them.

    Args:
        path: Of the file.
        what: Identifies the content; the part of another content is discarded.
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
        """Go on where the file is, or begin.

        Raises:
            OSError: it cannot be written there.
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
        """Append bytes; with a token, all that is there counts from now on."""
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
