"""Azurite, Microsoft's emulator of Azure Blob Storage, from npm."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.process import emulator
from tests.ports import free_port

# Azurite's own account; its documentation names this key.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SCRIPT = Path(__file__).resolve().parents[2] / "node_modules/azurite/dist/src/blob/main.js"


@dataclass(frozen=True, slots=True, kw_only=True)
class Azurite:
    """A running Azurite."""

    port: int

    def endpoint(self, port: int | None = None) -> str:
        return f"http://127.0.0.1:{port or self.port}/{ACCOUNT}"


def missing() -> str:
    """Say why Azurite cannot run here, in one line; empty if it can."""
    if shutil.which("node") is None:
        return "Azurite needs Node, which is not installed"
    return "" if SCRIPT.exists() else "Azurite is not installed: run `make npm`"


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Azurite]:
    port = free_port()
    command = ["node", str(SCRIPT), "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    # The SDK speaks newer versions of the protocol than Azurite knows; what we use of them is old.
    command += ["--location", str(folder / "azurite"), "--skipApiVersionCheck", "--disableTelemetry", *options]
    with emulator(command, port, folder / "azurite.log"):
        yield Azurite(port=port)
