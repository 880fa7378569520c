"""The pages docs/coming-from-*.md are true: whatever their columns "here" name is there.

`test_coming_from_firefoundry` reads the page whose tables name methods, commands and variables.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from context_service.kernel.extensions import NAMED_POINTS, POINTS
from context_service.mcp.tools.query import TOOLS_BY_NAME
from context_service.packing.model import Zones
from context_service.packing.pure.state.task_state import SHARES, WHOLE
from context_service.profiles.pure.profiles import profile_names
from context_service.query.model import State
from context_service.windows.pure.config import STYLES, Config
from contextkeep import errors
from tests.rpcs import all_rpcs

ROOT = Path(__file__).parents[2]
PROTOS = ROOT / "proto" / "contextkeep" / "context" / "v1"
EVERYWHERE = {
    *(rpc.name for rpc in all_rpcs()),
    *(error.reason for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "reason")),
}
OF_CORTEX = {
    *Config.__dataclass_fields__,
    *Zones.__dataclass_fields__,
    *(*POINTS, *NAMED_POINTS, *STYLES, *profile_names(), *WHOLE, *SHARES),
    *("tool", "entity"),
}
OF_THINKWORK = {
    *(state.value for state in State),
    *TOOLS_BY_NAME,
    *("overloaded", "memory", "brain", "wiki", "workspace", "knowledge", "base", "bedrock", "mcp", "sub", "agent"),
    *("query_context", "list_context_providers"),
}


@pytest.mark.parametrize(
    ("page", "protos", "known", "rows_min"),
    [
        ("cortex", "context_windows.proto", OF_CORTEX, 60),
        (
            "corti",
            "contexts.proto message.proto tasks.proto artifacts.proto",
            {"user", "assistant", "system", "tool", "agent"},
            35,
        ),
        ("thinkwork", "*.proto", OF_THINKWORK, 35),
    ],
    ids=["cortex", "corti", "thinkwork"],
)
def test_every_name_of_every_row_is_there(page: str, protos: str, known: set[str], rows_min: int):
    paths = [path for pattern in protos.split() for path in PROTOS.glob(pattern)]
    declared = re.sub(r"//.*", "", "\n".join(path.read_text("utf-8") for path in paths))
    known = known | EVERYWHERE | set(re.findall(r"\w+", declared))
    tables = re.findall(r"(?:^\| .*\n)+", (ROOT / "docs" / f"coming-from-{page}.md").read_text("utf-8"), re.MULTILINE)
    rows = [line.strip("|").split(" | ") for table in tables for line in table.splitlines()[2:]]
    assert len(rows) > rows_min
    for theirs, here, different in rows:
        named = {word for code in re.findall(r"`([^`]+)`", here) for word in re.findall(r"\w+", code)}
        assert theirs.strip() and (different.strip() or page == "cortex"), theirs
        assert named - known == set(), theirs
        assert named or here.strip().startswith("none"), f"{theirs}: say what it is here, or none"
