"""The long run of an agent (`examples/long_run.py`), a short one: it holds itself to what it prints."""

from __future__ import annotations

import asyncio
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.commands import Commands
from tests.conftest import Addresses
from tests.e2e.examples import program

STEPS = 200
SVG = "{http://www.w3.org/2000/svg}"


async def test_it_finds_again_what_was_said_long_ago_and_draws_what_it_showed(
    shared_services: Addresses, key: str, tmp_path: Path, commands: Commands
):
    environment = {"CONTEXT_SERVICE_ADDRESS": shared_services.context, "CONTEXT_SERVICE_API_KEY": key}
    code = program("long_run.py", "--steps", str(STEPS), "--chart", "chart.svg")

    done = await asyncio.to_thread(commands.run_code, code, environment=environment, folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    (window, *rivals) = (line.split() for line in told if re.search(r"[0-9] of [0-9]", line))
    assert window[-3:-1] == ["yes", "yes"]
    assert [line[-3:] for line in rivals[:2]] == [["no", "no", "no"]] * 2
    assert int(window[2].replace(",", "")) < int(rivals[0][2].replace(",", ""))
    sums = [line.split()[-1] for line in told if " sha256 " in line]
    assert len(sums) == 2
    assert sums[0] == sums[1]
    is_a_chart(tmp_path / "chart.svg")


def is_a_chart(path: Path) -> None:
    """It has zones, folds and what each way costs, and draws nothing outside of the picture."""
    root = ET.parse(path).getroot()
    _, _, width, height = map(float, root.get("viewBox").split())
    named = [element.text for element in root.iter(f"{SVG}text")]
    for name in ("verbatim", "segments", "state", "limit, 24,000", "the window", "sliding window"):
        assert name in named
    assert len(root.findall(f"{SVG}polyline[@class='line']")) == 4
    assert [mark.get("d")[:1] for mark in root.findall(f"{SVG}path[@class='fold']")] == ["M", "M"]
    shapes = [*root.iter(f"{SVG}polygon"), *root.iter(f"{SVG}polyline")]
    for x, y in (map(float, point.split(",")) for shape in shapes for point in shape.get("points").split()):
        assert 0 <= x <= width
        assert 0 <= y <= height
