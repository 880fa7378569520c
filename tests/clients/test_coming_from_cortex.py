"""docs/coming-from-cortex.md is true: whatever its columns "here" name is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from context_service.extensions import NAMED_POINTS, POINTS
from context_service.windows.config import STYLES, Config
from context_service.windows.packs import Zones
from context_service.windows.profiles import profile_names
from context_service.windows.task_state import SHARES, WHOLE
from contextkeep import errors
from tests.rpcs import all_rpcs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coming-from-cortex.md").read_text("utf-8")
PROTO = (ROOT / "proto" / "contextkeep" / "context" / "v1" / "context_windows.proto").read_text("utf-8")
KNOWN = {
    *re.findall(r"\w+", re.sub(r"//.*", "", PROTO)),
    *(rpc.name for rpc in all_rpcs()),
    *(one.reason for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "reason")),
    *(field.name for of in (Config, Zones) for field in fields(of)),
    *POINTS,
    *NAMED_POINTS,
    *STYLES,
    *profile_names(),
    *WHOLE,
    *SHARES,
    *("tool", "entity"),
}


def rows() -> Iterator[list[str]]:
    """Yield each row of the page's tables."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and not re.match(r"\| (---|the paper \|)", line):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = [pytest.param(cells, id=cells[0][:60]) for cells in rows()]


def test_the_page_has_its_tables():
    assert len(ROWS) > 60


@pytest.mark.parametrize("cells", ROWS)
def test_every_name_of_a_row_is_there(cells: list[str]):
    theirs, here, _ = cells
    assert theirs
    named = {word for code in re.findall(r"`([^`]+)`", here) for word in re.findall(r"\w+", code)}
    assert named - KNOWN == set()
    assert named or here.startswith("none"), "say what it is here, or none"
