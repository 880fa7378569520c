"""gcp-storage-emulator, an emulator of Google Cloud Storage, from PyPI.

It takes any credentials and enforces no `ifGenerationMatch`. Its 404 are bare; here they say what those of GCS say.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.process import emulator
from tests.ports import free_port

_WITH_REASONS = """
import sys
from gcp_storage_emulator import server
from gcp_storage_emulator.__main__ import main

close = server.Response.close

def close_with_reason(self):
    if self.status == 404 and not self._content and "upload_id=" not in self._handler.path:
        message = "No such object: test/blob"
        if "alt=media" in self._handler.path:
            self.write_file(message.encode(), "text/html; charset=UTF-8")
        else:
            errors = [{"message": message, "domain": "global", "reason": "notFound"}]
            self.json({"error": {"code": 404, "message": message, "errors": errors}})
    close(self)

server.Response.close = close_with_reason
sys.exit(main())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gcs:
    """A running emulator."""

    port: int

    def endpoint(self, port: int | None = None) -> str:
        return f"http://127.0.0.1:{port or self.port}"


@contextmanager
def running(folder: Path) -> Iterator[Gcs]:
    port = free_port()
    command = [sys.executable, "-c", _WITH_REASONS, "start"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--in-memory"]
    with emulator(command, port, folder / "gcs.log"):
        yield Gcs(port=port)
