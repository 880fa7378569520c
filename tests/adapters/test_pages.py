"""The examples of docs/adapters run as printed, in the environment of the frameworks, and print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "adapters"
BLOCK = re.compile(r"<!-- run -->\n```python\n(?P<code>.*?)```\n+(?:```text\n(?P<output>.*?)```)?", re.DOTALL)


def examples() -> list[object]:
    """Of the pages of the frameworks that are tested now."""
    names = [*os.environ.get("CONTEXTKEEP_TEST_ADAPTERS", "").split(), "functions"]  # these need no framework
    return [
        pytest.param(match["code"], match["output"], id=f"{name}-{number}")
        for name in names
        for number, match in enumerate(BLOCK.finditer((PAGES / f"{name}.md").read_text("utf-8")), 1)
    ]


@pytest.mark.parametrize(("code", "output"), examples())
def test_an_example_runs_as_printed(code: str, output: str | None, tmp_path: Path):
    code = code.replace('"thread-', f'"{uuid.uuid4().hex}-')
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert output is None or done.stdout == output


def test_every_link_of_the_pages_leads_somewhere():
    for page in PAGES.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
