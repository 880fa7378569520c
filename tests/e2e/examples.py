"""Runs the files of `examples/` as somebody would in a terminal."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def program(name: str, *arguments: str) -> str:
    """Return a program that is an example with its arguments, for `Commands.run_code`."""
    path = FOLDER / name
    return (
        f"import runpy, sys; sys.path.insert(0, {str(FOLDER)!r}); sys.argv = {[str(path), *arguments]!r}; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
