"""Runs the files of `examples/` as somebody would in a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def program(name: str, *arguments: str) -> str:
    """Return a program that is an example with its arguments, for `Commands.run_code`."""
    path = FOLDER / name
    return (
        f"import runpy, sys; sys.path.insert(0, {str(FOLDER)!r}); sys.argv = {[str(path), *arguments]!r}; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )


async def printed_by(lines: str, *, folder: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return what a shell prints that runs some lines: to stdout, and to stderr."""
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-euc", lines),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, errors = await process.communicate()
    return printed.decode(), errors.decode()
