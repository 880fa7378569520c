"""A confined program that answers question after question, so that a start is paid once.

The program reads a question from its input, and answers one line. See `confined` for what it cannot do. It ends when
its input ends, so it does not outlive this process.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import AsyncIterable, Sequence

from service_runtime.child_processes import confined


class KeptChild:
    """A running program, made by `start`. It answers one question at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.answered = 0  # questions

    @classmethod
    async def start(cls, program: Sequence[str], *, line_bytes_max: int) -> KeptChild:
        """Start a Python program.

        Args:
            program: Arguments of the Python interpreter: the program and its own arguments.
            line_bytes_max: Longest answer. A program that writes more without an end of line is killed.

        Raises:
            OSError: the machine has no memory or no process ids left.
        """
        return cls(await confined.start(program, line_bytes_max=line_bytes_max))

    async def ask(self, question: AsyncIterable[bytes], *, timeout_s: float) -> bytes | None:
        """Return the answer to a question, without the end of its line. None if the program ended: it was killed then.

        Args:
            question: The chunks of the question.
            timeout_s: The time for the answer; after it the program is killed.
        """
        answer = b""
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._answer(question)
        except (OSError, TimeoutError, ValueError):  # a broken pipe, or a line that is too long
            pass
        finally:
            if not answer.endswith(b"\n"):
                self.kill()
        if not answer.endswith(b"\n"):
            return None
        self.answered += 1
        return answer[:-1]

    async def _answer(self, question: AsyncIterable[bytes]) -> bytes:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        async for chunk in question:
            if stdin.is_closing():  # the program ended; uvloop raises RuntimeError for such a write
                return b""
            stdin.write(chunk)
            await stdin.drain()
        return await stdout.readline()

    def kill(self) -> None:
        """End the program at once; `wait` returns soon after."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """End the program, and wait for its end."""
        self.kill()
        await self._process.wait()
