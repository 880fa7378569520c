"""What a run printed, put between its markers in `docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
END = "```\n<!-- end -->"


def save(target: str, lines: Sequence[str]) -> None:
    """Replace what the last run of a make target printed."""
    before, begin, rest = DOCUMENT.read_text(encoding="utf-8").partition(f"<!-- make {target} -->\n```text\n")
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{DOCUMENT} has no place for {target}")
    DOCUMENT.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")
