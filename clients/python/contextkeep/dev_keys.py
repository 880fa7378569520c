"""Keys of stacks in development, which clients on the same machine find by themselves.

`make run` makes a key for the person who started it and keeps it, by address, in a file that only this account can
read: `~/.config/contextkeep/dev.json`, or what `CONTEXTKEEP_DEV_KEYS` names. An entry is
`{"key": ..., "pid": ..., "started": ...}`. It counts as long as its process runs, so that a key never goes to another
program that listens on the port later. `started` tells the process from a later one with the same pid.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from contextkeep.address import Address

PATH_VARIABLE = "CONTEXTKEEP_DEV_KEYS"
HOST = "127.0.0.1"  # `localhost` may also be ::1, where another account may listen
_PROC = Path("/proc")


def path() -> Path:
    """Return where the keys are kept; the file may be missing."""
    return Path(os.environ.get(PATH_VARIABLE) or Path.home() / ".config" / "contextkeep" / "dev.json")


def entries(file: Path) -> dict[str, dict[str, object]]:
    """Return the entries of running stacks by address, such as `127.0.0.1:50051`; none if the file cannot be read."""
    try:
        if hasattr(os, "getuid") and file.stat().st_uid != os.getuid():
            return {}  # another account's keys are not ours to send
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {address: entry for address, entry in content.items() if isinstance(entry, dict) and _runs(entry)}


def find(address: Address) -> tuple[Address, str]:
    """Return the key of a stack in development, and the address to send it to.

    Args:
        address: The address of the service. `localhost` becomes `127.0.0.1` if there is a key.

    Returns:
        The address as it is and an empty key, if no stack of this account runs there.
    """
    if address.tls or address.host not in (HOST, "localhost"):
        return address, ""
    try:
        keys = entries(path())
    except RuntimeError:  # this account has no home folder
        return address, ""
    result = Address(HOST, address.port)
    key = keys.get(result.target, {}).get("key")
    return (result, key) if isinstance(key, str) and key else (address, "")


def started(pid: int) -> str:
    """Return when a process started, as text that no later process with this pid has; empty if there is none.

    Linux says it in clock ticks since boot, other systems as a date. On Windows it is always "unknown".
    """
    if os.name == "nt":
        return "unknown"
    try:
        # The name of the program, in brackets, may have spaces and brackets.
        return (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        if _PROC.exists():
            return ""
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    try:
        shown = subprocess.run(
            command, check=False, capture_output=True, env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}
        )
    except OSError:
        return ""
    return " ".join(shown.stdout.decode("utf-8", "replace").split())


def _runs(entry: dict[str, object]) -> bool:
    """Return whether the stack that wrote an entry still runs.

    A later process can have the same pid, so the time when it started is compared, too.
    """
    pid = entry.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < 2**31:
        return False
    if os.name != "nt":  # os.kill would end the process there
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, PermissionError):  # it ended, or another account's process has the number now
            return False
    return entry.get("started") == started(pid) != ""
