"""Bytes that the process holds for its callers, counted against the limits of a key, of a tenant and of the process.

A caller decides how long the process holds some bytes: an answer until the caller has read it, a request body until the
caller has sent it, a line until it ends. Such bytes are charged here while the process holds them, and a charge past a
limit is refused. So no caller fills the memory of a process, and none takes the room of all others.

A charge is an estimate. A second guard measures: while the process uses more memory than its limit, large charges are
refused and the allocator gives freed memory back to the kernel.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from contextkeep.errors import HeldBytesExceeded
from service_runtime.rpc.admission import RETRY_AFTER_S, Shares, key_of
from service_runtime.rpc.principal import Principal
from service_runtime.telemetry.metrics import Metrics

_log = logging.getLogger("memory")

MIB = 1024 * 1024
RESERVE = 1 / 16  # part of the cgroup's limit for the kernel's buffers of sockets and files, which count as the pod's
WORK = 1 / 4  # part of MEMORY_BYTES_MAX for calls that are answered right now
PENDING = 1 / 8  # part of MEMORY_BYTES_MAX, out of `WORK`, for calls that the service has not taken over from gRPC yet
PENDING_CALL_BYTES = 16 * 1024  # bytes that gRPC's core holds for one such call
PARSERS = 1 / 4  # part of MEMORY_BYTES_MAX for the children that read documents
KEPT = 1 / 16  # part of MEMORY_BYTES_MAX for packs that are kept for the next call
KEPT_BYTES_MAX = 64 * MIB
HELD_MIN = 1 / 16  # part of MEMORY_BYTES_MAX that callers get at least, however much the process has already
HELD_MAX = 1 / 2  # part of MEMORY_BYTES_MAX that callers get at most
_MACHINE = 1 / 2  # part of the machine's memory to use where no cgroup has a limit
_MACHINE_BYTES_MAX = 8 * 1024 * MIB
_CGROUP_NONE = 1 << 60  # larger limits are none: cgroup v1 writes "no limit" as a number near 2^63
_WATCH_S = 0.25  # seconds between two measurements of the memory
_TRIM_BYTES = 32 * MIB  # growth since the last trim after which freed memory goes back to the system
_TRIM = 1 / 16  # the same limit as a part of MEMORY_BYTES_MAX; the larger of the two counts
_TRIM_S = 2.0  # seconds between two trims: each walks the heap
_SMALL_BYTES = 64 * 1024  # charges up to this size are not refused for the measured memory, so that most calls go on


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """The memory limit of a process, and how it is divided between callers and other parts."""

    process_bytes_max: int  # memory of the process with the children that read documents
    held_bytes_max: int  # bytes that may be held for callers
    shares: Shares  # shares of a tenant and of a key in these bytes
    parsers_bytes_max: int = 0  # memory of all children that read documents
    kept_bytes_max: int = 0  # memory of packs that are kept for the next call

    @property
    def own_bytes_max(self) -> int:
        """Largest memory of the process itself, without its children."""
        return self.process_bytes_max - self.parsers_bytes_max

    @property
    def pending_calls_max(self) -> int:
        """Number of calls that gRPC may keep until the service takes them over."""
        return int(self.process_bytes_max * PENDING) // PENDING_CALL_BYTES


class CallBytes:
    """The bytes held for one caller: none at first. `release` gives all of them back.

    Args:
        ledger: The ledger of the process; None charges no caller.
        principal: The caller; None charges no caller.
    """

    __slots__ = ("_bytes", "_key", "_ledger", "_tenant_id")

    def __init__(self, ledger: HeldBytes | None, principal: Principal | None) -> None:
        self._ledger = ledger if principal is not None else None
        self._tenant_id = principal.tenant_id if principal is not None else None
        self._key = key_of(principal) if principal is not None else ()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """The number of bytes that are charged now."""
        return self._bytes

    def set(self, size_bytes: int) -> None:
        """Charge this number of bytes instead of the previous number; after a refusal, the previous charge stays.

        Raises:
            HeldBytesExceeded: the number is larger than the previous one, and a limit would be exceeded. The error's
                `limit` says which.
        """
        if self._ledger is None:
            return
        more = size_bytes - self._bytes
        if more > 0:
            self._ledger.check(self._tenant_id, self._key, more)
        self._ledger.count(self._tenant_id, self._key, more)
        self._bytes = size_bytes

    def add(self, size_bytes: int) -> None:
        """Charge more bytes, in addition to those that are charged.

        Raises:
            HeldBytesExceeded: a limit would be exceeded.
        """
        self.set(self._bytes + size_bytes)

    def release(self, _context: object = None) -> None:
        """Give all bytes back; a repeat is harmless. gRPC calls this with the context of the RPC that is over."""
        if self._ledger is not None and self._bytes:
            self._ledger.count(self._tenant_id, self._key, -self._bytes)
            self._bytes = 0

    def __enter__(self) -> CallBytes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class HeldBytes:
    """The ledger of one process: the bytes that it holds for its callers, by key and by tenant.

    Args:
        limits: The bytes that may be held, and the share of a tenant and of a key.
    """

    def __init__(self, limits: MemoryLimits) -> None:
        self.limits = limits
        self.held = 0
        self.is_short = False  # the process has more memory than it may
        self._tenant_max = int(limits.held_bytes_max * limits.shares.of_tenant)
        self._key_max = int(limits.held_bytes_max * limits.shares.of_key)
        self._of_tenant: Counter[Any] = Counter()
        self._of_key: Counter[Any] = Counter()

    def for_caller(self, principal: Principal) -> CallBytes:
        """Return the counter of bytes held for a caller; it begins at zero."""
        return CallBytes(self, principal)

    @contextmanager
    def charged(self, principal: Principal, size_bytes: int) -> Iterator[CallBytes]:
        """Charge bytes for the block, and yield the charge.

        Raises:
            HeldBytesExceeded: a limit would be exceeded.
        """
        with CallBytes(self, principal) as held_bytes:
            held_bytes.set(size_bytes)
            yield held_bytes

    def check(self, tenant_id: object, key: object, more: int) -> None:
        """Check that a key of a tenant may hold `more` bytes; this charges nothing.

        Raises:
            HeldBytesExceeded: a limit would be exceeded. The error's `limit` names it: `held_bytes_of_key`,
                `held_bytes_of_tenant`, `held_bytes` or `memory_bytes`.
        """
        of_key = self._of_key[key] + more
        if of_key > self._key_max:
            raise _refusal("the key", "held_bytes_of_key", self._key_max, of_key)
        of_tenant = self._of_tenant[tenant_id] + more
        if of_tenant > self._tenant_max:
            raise _refusal("the tenant", "held_bytes_of_tenant", self._tenant_max, of_tenant)
        held_bytes_max = self.limits.held_bytes_max
        if self.held + more > held_bytes_max:
            raise _refusal("all callers together", "held_bytes", held_bytes_max, self.held + more)
        if self.is_short and more > _SMALL_BYTES:
            raise _refusal("itself and all callers", "memory_bytes", self.limits.own_bytes_max, memory_bytes() + more)

    def count(self, tenant_id: object, key: object, change: int) -> None:
        """Add bytes to the counts of a key, its tenant and the process; a negative number subtracts them."""
        self.held += change
        for counter, whose in ((self._of_tenant, tenant_id), (self._of_key, key)):
            left = counter[whose] + change
            if left:
                counter[whose] = left
            else:
                del counter[whose]

    def show(self, metrics: Metrics) -> None:
        """Add the held bytes and their limit to the metrics."""
        metrics.watch("contextkeep_held_bytes", "Bytes held for callers", lambda: self.held)
        metrics.watch(
            "contextkeep_held_bytes_max", "Bytes that may be held for callers", lambda: self.limits.held_bytes_max
        )

    async def keep_watching(self) -> None:
        """Compare the memory of the process with its limit, and return freed memory to the system, until cancelled."""
        loop = asyncio.get_running_loop()
        bytes_max = self.limits.own_bytes_max
        growth_max = max(_TRIM_BYTES, int(self.limits.process_bytes_max * _TRIM))
        trimmed_at, least_bytes = loop.time(), memory_bytes()  # time of the last trim, and the least memory since then
        while True:
            await asyncio.sleep(_WATCH_S)
            now_bytes = memory_bytes()
            if (now_bytes > least_bytes + growth_max or now_bytes > bytes_max) and loop.time() - trimmed_at > _TRIM_S:
                await asyncio.to_thread(trim)
                trimmed_at, least_bytes = loop.time(), memory_bytes()
                now_bytes = least_bytes
            least_bytes = min(least_bytes, now_bytes)
            if (is_short := now_bytes > bytes_max) != self.is_short:
                self.is_short = is_short
                extra = {"is_short": is_short, "memory_bytes": now_bytes, "held_bytes": self.held}
                _log.warning("large calls are refused" if is_short else "large calls are answered again", extra=extra)


def _refusal(whose: str, limit: str, limit_max: int, value: int) -> HeldBytesExceeded:
    """Return the error for bytes beyond a limit.

    Args:
        whose: For whom the bytes are held, as the message says it.
        limit: Name of the limit.
        limit_max: The limit in bytes.
        value: Bytes that would be held.
    """
    return HeldBytesExceeded(
        f"the process would hold {value} bytes for {whose}; the limit is {limit_max}: read answers, send requests to "
        "their end, or make fewer calls at once",
        limit=limit,
        limit_max=limit_max,
        value=value,
        retry_after_s=RETRY_AFTER_S,
    )


def memory_limits(
    memory_bytes_max: int | None, shares: Shares, *, has_windows: bool, children_bytes: int = 0
) -> MemoryLimits:
    """Return the limits of a running process. Memory that the process uses already is not given to callers.

    Args:
        memory_bytes_max: Largest memory of the process and its children; None takes the limit of its cgroup, or half of
            the machine.
        shares: The part of the bytes held for callers that a tenant and a key may have.
        has_windows: The process packs windows, and its children read documents.
        children_bytes: Memory of other children, such as the one with the local model.
    """
    process_bytes_max = (memory_bytes_max or available_bytes()) - children_bytes
    parsers_bytes_max = int(process_bytes_max * PARSERS) if has_windows else 0
    kept_bytes_max = min(int(process_bytes_max * KEPT), KEPT_BYTES_MAX) if has_windows else 0
    rest = process_bytes_max * (1 - WORK) - memory_bytes() - parsers_bytes_max - kept_bytes_max
    held_bytes_max = min(max(rest, process_bytes_max * HELD_MIN), process_bytes_max * HELD_MAX)
    return MemoryLimits(
        process_bytes_max=process_bytes_max,
        held_bytes_max=int(held_bytes_max),
        parsers_bytes_max=parsers_bytes_max,
        kept_bytes_max=kept_bytes_max,
        shares=shares,
    )


def available_bytes() -> int:
    """Return the default memory limit of a process: its cgroup's limit less a reserve, or half of the machine."""
    limit = _cgroup_limit()
    machine = _machine_bytes()
    if limit is not None and limit < machine:
        return int(limit * (1 - RESERVE))
    return min(int(machine * _MACHINE), _MACHINE_BYTES_MAX)


def memory_bytes() -> int:
    """Return the memory of this process without the pages of files; 0 if the system has no /proc."""
    try:
        _, resident, shared, *_ = Path("/proc/self/statm").read_bytes().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def trim() -> None:
    """Give freed memory back to the kernel; without this call, glibc keeps it (see `process.tune_malloc`)."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # musl has no malloc_trim
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def _cgroup_limit() -> int | None:
    """Return the lowest memory limit of this process's cgroup and its ancestors, or None without a limit."""
    limits_of_files = []
    for folder, name in _cgroup_folders():
        with suppress(OSError, ValueError):  # a file may be missing, or have "max" for no limit
            limits_of_files.append(int((folder / name).read_text()))
    limits = [limit for limit in limits_of_files if 0 < limit < _CGROUP_NONE]
    return min(limits, default=None)


def _cgroup_folders() -> list[tuple[Path, str]]:
    """Return the folders of this process's cgroup and its ancestors, each with the name of the file of its limit.

    The names differ between version 1 and version 2 of cgroups.
    """
    root = Path("/sys/fs/cgroup")
    folders = [(root, "memory.max"), (root / "memory", "memory.limit_in_bytes")]  # a container sees its cgroup as root
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return folders
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = base / path.strip("/")
        folders += [(parent, name) for parent in (folder, *folder.parents) if parent.is_relative_to(base)]
    return folders


def _machine_bytes() -> int:
    """Return the memory of the machine in bytes, or a large number if the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return _MACHINE_BYTES_MAX
