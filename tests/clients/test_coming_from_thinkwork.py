"""docs/coming-from-thinkwork.md is true: whatever its columns "here" name is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_service.mcp.query_tools import FAMILY_TOOLS
from context_service.query.hits import State
from contextkeep import errors
from tests.rpcs import all_rpcs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coming-from-thinkwork.md").read_text("utf-8")
PROTOS = ROOT / "proto" / "contextkeep" / "context" / "v1"
DECLARED = re.sub(r"//.*", "", "\n".join(one.read_text("utf-8") for one in sorted(PROTOS.glob("*.proto"))))
KNOWN = {
    *re.findall(r"\w+", DECLARED),
    *(rpc.name for rpc in all_rpcs()),
    *(one.reason for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "reason")),
    *(state.value for state in State),
    *FAMILY_TOOLS,
    *("overloaded", "memory", "brain", "wiki", "workspace", "knowledge", "base", "bedrock", "mcp", "sub", "agent"),
    *("query_context", "list_context_providers"),
}


def rows() -> Iterator[list[str]]:
    """Yield each row of the page's tables."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and not re.match(r"\| (---|ThinkWork )", line):
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
