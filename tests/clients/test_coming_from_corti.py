"""docs/coming-from-corti.md is true: whatever its columns "here" name is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextkeep import errors
from tests.rpcs import all_rpcs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coming-from-corti.md").read_text("utf-8")
PROTOS = ROOT / "proto" / "contextkeep" / "context" / "v1"
DECLARED = re.sub(
    r"//.*", "", "\n".join((PROTOS / name).read_text("utf-8") for name in ("contexts.proto", "message.proto"))
)
KNOWN = {
    *re.findall(r"\w+", DECLARED),
    *(rpc.name for rpc in all_rpcs()),
    *(one.reason for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "reason")),
    *("user", "assistant", "system", "tool", "agent"),
}


def rows() -> Iterator[list[str]]:
    """Yield each row of the page's tables."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and not re.match(r"\| (---|Corti \||A2A 1.0 \|)", line):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = [pytest.param(cells, id=cells[0][:60]) for cells in rows()]


def test_the_page_has_its_tables():
    assert len(ROWS) > 35


@pytest.mark.parametrize("cells", ROWS)
def test_every_name_of_a_row_is_there(cells: list[str]):
    theirs, here, different = cells
    assert theirs
    assert different
    named = {word for code in re.findall(r"`([^`]+)`", here) for word in re.findall(r"\w+", code)}
    assert named - KNOWN == set()
    assert named or here.startswith("none"), "say what it is here, or none"
