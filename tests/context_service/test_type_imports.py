"""import-linter leaves out imports for type checking, so that they need a check of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import context_service

ROOT = Path(context_service.__file__).parent


def type_imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports for type checking only."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from (part.module or "" for part in node.body if isinstance(part, ast.ImportFrom))


def test_types_of_other_rooms_come_from_what_their_room_py_exports():
    """Else a room could know the store of another, where no lint sees it. mypy holds what a `room.py` exports."""
    found = set()
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0]
        for module in type_imports(path):
            parts = module.split(".")
            if parts[0] == "context_service" and parts[1] != room and parts[2:] != ["room"]:
                found.add(str(path.relative_to(ROOT)))
    assert found == {"kernel/dependencies.py"}
