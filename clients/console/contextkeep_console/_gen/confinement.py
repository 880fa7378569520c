# A copy of `service_runtime.child_processes.confinement`, made by `make proto`.
"""The confinement of a child process that reads files of strangers.

From then on it can read and write the pipes that it has, and use memory and time up to a limit. Nothing else: no file,
no socket, no process, no signal.

The filter lists the allowed system calls, so that calls that kernels add are refused. No process can take it off again.
Linux has it, on x86-64 and 64-bit ARM; elsewhere there are the limits alone, and `confine` says so.

Only the standard library is imported here: an import runs unconfined.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2

# By the headers of Linux: <linux/audit.h>, <asm/unistd.h>. `mmap` and its like are memory; `futex` is a lock.
_ARCHITECTURES = {
    "x86_64": (
        0xC000003E,
        {
            "read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
            "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "mremap": 25, "sched_yield": 24,
            "madvise": 28, "exit": 60, "gettimeofday": 96, "sigaltstack": 131, "futex": 202, "clock_gettime": 228,
            "exit_group": 231, "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "read": 63, "write": 64, "close": 57, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214,
            "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "mremap": 216, "sched_yield": 124,
            "madvise": 233, "exit": 93, "gettimeofday": 169, "sigaltstack": 132, "futex": 98, "clock_gettime": 113,
            "exit_group": 94, "getrandom": 278,
        },
    ),
}  # fmt: skip

_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of the kernel's filters: on a word at an offset, a value
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # in struct seccomp_data
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000


class _Filter(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(*, memory_bytes_max: int, cpu_s_max: int) -> bool:
    """Give up for good every ability of this process but reading, writing and computing.

    Args:
        memory_bytes_max: Largest address space, with the part in use. Beyond it the process gets a MemoryError, or
            dies.
        cpu_s_max: Seconds of CPU time, after which the process is killed.

    Returns:
        Whether the kernel enforces the filter. If not, there are the limits, and descriptors are closed.
    """
    os.closerange(3, 1 << 16)
    _limit(memory_bytes_max=memory_bytes_max, cpu_s_max=cpu_s_max)
    return sys.platform == "linux" and _sealed()


def hide() -> None:
    """Let no other process of this account look into this one: not into its memory, nor its environment.

    So a debugger needs to be root; and there are no core dumps. Elsewhere than on Linux it does nothing.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _limit(*, memory_bytes_max: int, cpu_s_max: int) -> None:
    """Limit memory and CPU time, and forbid writing files, further descriptors, processes and core dumps."""
    import resource

    limits = {
        resource.RLIMIT_AS: (memory_bytes_max, memory_bytes_max),
        resource.RLIMIT_CPU: (cpu_s_max, cpu_s_max + 1),  # told apart by its signal from what the kernel kills
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (3, 3),
        resource.RLIMIT_NPROC: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
    }
    for which, wanted in limits.items():
        most = resource.getrlimit(which)[1]
        soft, hard = wanted if most == resource.RLIM_INFINITY else (min(limit, most) for limit in wanted)
        resource.setrlimit(which, (soft, hard))


def _sealed() -> bool:
    """Install the filter, and say whether the kernel has it."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    hide()
    known = _ARCHITECTURES.get(platform.machine())
    if known is None or prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    instructions = _instructions(*known)
    program = _Filter(len(instructions) // 8, instructions)
    return int(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0)) == 0


def _instructions(architecture: int, calls: dict[str, int]) -> bytes:
    """Return the filter: it allows the listed calls of this architecture, and refuses every other call."""
    numbers = sorted(calls.values())
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        *((_JUMP_IF_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)
