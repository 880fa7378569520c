"""The files of packs and histories, whose bytes the client inserts: which are kept, and which have to be read."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from contextkeep.errors import BlobCorrupted
from contextkeep.values import BodyFile

BYTES_MAX = 64 * 1024 * 1024


class FileCache:
    """The bytes of files, by their sha256. All views of a client share it, and threads may.

    The service names the sha256 of a file only to callers that may read the file.

    Args:
        bytes_max: The most bytes of all files. The file that was used longest ago is dropped first.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def kept(self, files: Sequence[BodyFile]) -> dict[str, bytes]:
        """Return the bytes of those files that are kept."""
        with self._lock:
            contents = {file.sha256: self._kept[file.sha256] for file in files if file.sha256 in self._kept}
            for sha256 in contents:
                self._kept.move_to_end(sha256)
        return contents

    def keep(self, file: BodyFile, content: bytes) -> None:
        """Keep the bytes of a file that was read.

        Raises:
            BlobCorrupted: they are not those of the file.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 != file.sha256:
            raise BlobCorrupted(
                f"the bytes of file {file.working_memory_id} have the sha256 {sha256}, not {file.sha256}",
                working_memory_id=file.working_memory_id,
            )
        with self._lock:
            if sha256 not in self._kept:
                self._kept[sha256] = content
                self._bytes += len(content)
            while self._bytes > self._bytes_max:
                self._bytes -= len(self._kept.popitem(last=False)[1])
