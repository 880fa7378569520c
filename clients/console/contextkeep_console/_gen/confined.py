# A copy of `service_runtime.child_processes.confined`, made by `make proto`.
"""Programs that read files of strangers, each in a process of its own that can do nothing else.

The program confines itself (`confinement.confine`) after its imports. This side gives it an empty
environment, no descriptor but its pipes, a process that the child cannot look into, and an end to time and output.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from enum import Enum

from contextkeep_console._gen.confinement import hide

_READ_BYTES = 64 * 1024


class Ended(Enum):
    """How a program ended."""

    WELL = "well"
    TIMEOUT = "it took too long"
    OUTPUT = "its answer is too large"
    KILLED = "it was killed"  # by the kernel: the machine had no more memory
    BROKEN = "it broke"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """The outcome of a program."""

    ended: Ended
    output: bytes  # its answer until its end
    detail: str = ""  # signal or exit status of a program that broke


async def run(
    program: Sequence[str], chunks: AsyncIterable[bytes], *, timeout_s: float, output_bytes_max: int
) -> ProgramResult:
    """Run a Python program with the chunks as its input, and return its answer after its end.

    Args:
        program: Arguments of the Python interpreter: the program and its own arguments.
        chunks: The input of the program; no more are taken once it stops reading.
        timeout_s: Longest time between the program's first instruction and its last.
        output_bytes_max: Largest answer; the program is ended if it writes more.

    Raises:
        The errors of `chunks`.
    """
    child = await start(program, line_bytes_max=_READ_BYTES)
    output = bytearray()
    feeding = asyncio.create_task(_feed(child, chunks))
    try:
        async with asyncio.timeout(timeout_s):
            if not await _read(child, output, output_bytes_max):
                return ProgramResult(ended=Ended.OUTPUT, output=bytes(output[:output_bytes_max]))
            status = await child.wait()
        if feeding.done():
            feeding.result()  # raises if the input was incomplete: then the answer is not for the whole
    except TimeoutError:
        if feeding.done():
            feeding.result()
        return ProgramResult(ended=Ended.TIMEOUT, output=bytes(output))
    finally:
        await _end(child, feeding)
    return _outcome(status, bytes(output))


async def start(program: Sequence[str], *, line_bytes_max: int) -> Process:
    """Start a Python program in a process that knows nothing of this one; `line_bytes_max` bounds `readline`."""
    hide()
    # In a session of its own: Ctrl-C is for us. No `preexec_fn`, which is not safe in a process with threads.
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        *program,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={},
        start_new_session=True,
        limit=line_bytes_max,
    )


def _outcome(status: int, output: bytes) -> ProgramResult:
    """Return how a confined child process ended, from its exit status."""
    if status == 0:
        return ProgramResult(ended=Ended.WELL, output=output)
    if status == -signal.SIGXCPU:
        return ProgramResult(ended=Ended.TIMEOUT, output=output)
    if status == -signal.SIGKILL:
        return ProgramResult(ended=Ended.KILLED, output=output)
    detail = f"signal {-status}" if status < 0 else f"status {status}"
    return ProgramResult(ended=Ended.BROKEN, output=output, detail=detail)


async def _feed(child: Process, chunks: AsyncIterable[bytes]) -> None:
    """Write the chunks to a child's input until it reads no more; an error of `chunks` kills the child."""
    assert child.stdin is not None
    try:
        async for chunk in chunks:
            if child.stdin.is_closing():
                return  # it has read enough; uvloop raises RuntimeError for such a write
            child.stdin.write(chunk)
            await child.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # it has read enough
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        raise
    child.stdin.close()


async def _read(child: Process, output: bytearray, bytes_max: int) -> bool:
    """Read the whole answer of a child; return False if it is too long."""
    assert child.stdout is not None
    while chunk := await child.stdout.read(_READ_BYTES):
        output += chunk
        if len(output) > bytes_max:
            return False
    return True


async def _end(child: Process, feeding: asyncio.Task[None]) -> None:
    """End a child process for good, even if this task is cancelled meanwhile."""
    feeding.cancel()
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    await asyncio.shield(asyncio.gather(child.wait(), feeding, return_exceptions=True))
