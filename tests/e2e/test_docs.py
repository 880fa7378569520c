"""The examples of the documentation run as printed, in a process of their own, and print what the page says.

An example is a Python block behind a line `<!-- run -->` (in the README: every Python block); the text block behind
it is its output.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from context_service.commands import dev
from contextkeep.context.v1 import context_windows_pb2
from tests.commands import Commands
from tests.conftest import KEY, Addresses
from tests.e2e.examples import printed_by

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL_BLOCK = re.compile(r"<!-- run -->\n```sh\n(?P<lines>.*?)```\n+```text\n(?P<output>.*?)```", re.DOTALL)
BLOCK = re.compile(
    r"(?P<mark><!-- run -->\n)?```python\n(?P<code>.*?)```\n+(?:```text\n(?P<output>.*?)```)?", re.DOTALL
)


def examples() -> list[object]:
    found = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text("utf-8")), 1):
            if match["mark"] or page.name == "README.md":
                found.append(pytest.param(match["code"], match["output"], id=f"{page.name}-{number}"))
    return found


@pytest.mark.parametrize(("code", "output"), examples())
async def test_an_example_runs_as_printed(
    code: str, output: str | None, shared_services: Addresses, key: str, tmp_path: Path, commands: Commands
):
    (tmp_path / "README.md").write_text("a file to upload\n")
    environment = {
        "CONTEXT_SERVICE_ADDRESS": shared_services.context,
        "ENTITY_SERVICE_ADDRESS": shared_services.entity,
        # What is done in the background is done of the tenants that there are, and that of `key` is made up.
        "CONTEXT_SERVICE_API_KEY": KEY if re.search("wait_for_index|erasures.get", code) else key,
    }

    done = await asyncio.to_thread(commands.run_code, code, environment=environment, folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    if output is not None:
        assert done.stdout == output


async def test_lines_for_a_shell_run_as_printed(shared_services: Addresses, key: str, tmp_path: Path):
    """Of docs/http.md a test of their own, with its servers."""
    blocks = [
        match.groups()
        for page in PAGES
        if page.name != "http.md"
        for match in SHELL_BLOCK.finditer(page.read_text("utf-8"))
    ]
    assert blocks
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CONTEXT_SERVICE_ADDRESS": shared_services.context,
        "CONTEXT_SERVICE_API_KEY": key,
    }
    for lines, output in blocks:
        assert await printed_by(lines, folder=tmp_path, environment=environment) == (output, "")


def test_the_readme_shows_the_examples_that_are_there_to_run():
    shown = [match["code"] for match in BLOCK.finditer((ROOT / "README.md").read_text("utf-8"))]
    for name, code in zip(("chat", "file", "find", "recall"), shown, strict=True):
        assert (ROOT / "examples" / f"{name}.py").read_text("utf-8").endswith(code)
        within = code.partition("with ")[2]
        assert within.count("\n") <= 5, f"{name}: five lines"


async def test_the_examples_print_what_the_readme_says_after_the_demo(
    shared_services: Addresses, key: str, tmp_path: Path, commands: Commands
):
    """`make run DEMO=1` fills the services with what the demo writes."""
    environment = {
        "CONTEXT_SERVICE_ADDRESS": shared_services.context,
        "ENTITY_SERVICE_ADDRESS": shared_services.entity,
        "CONTEXT_SERVICE_API_KEY": key,
    }
    filling = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r}); import demo, pathlib\n"
        "with demo.EntityClient() as graph, demo.ContextClient() as context:\n"
        "    for chapter in (demo.memory, demo.mappings): chapter(graph, context, pathlib.Path('.'))\n"
    )
    readme = [match.groups() for match in BLOCK.finditer((ROOT / "README.md").read_text("utf-8"))]
    for code in (filling, *(code for _, code, _ in readme)):
        done = await asyncio.to_thread(commands.run_code, code, environment=environment, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert code == filling or (code, done.stdout) in [(code, output) for _, code, output in readme]


def test_ports_are_those_of_make_run():
    """A page that names another port does not work when it is copied."""
    ours = {dev.CONTEXT_PORT, dev.ENTITY_PORT, dev.MCP_PORT, dev.HTTP_PORT, dev.HTTP_PORT + 1, dev.CONSOLE_PORT}
    for page in (
        page for page in PAGES if page.name in ("README.md", "mcp.md", "http.md", "quickstart.md", "python.md")
    ):
        named = set(map(int, re.findall(r"(?:127\.0\.0\.1|localhost):([0-9]+)", page.read_text("utf-8"))))
        assert named <= ours, page.name
    urls = re.findall(r"http://127\.0\.0\.1:([0-9]+)/mcp", (ROOT / "docs" / "mcp.md").read_text("utf-8"))
    assert set(urls) == {str(dev.MCP_PORT)}


def test_every_link_to_a_file_of_ours_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_page_of_windows_names_each_of_their_calls():
    page = (ROOT / "docs" / "windows.md").read_text("utf-8")
    services = context_windows_pb2.DESCRIPTOR.services_by_name.values()
    calls = [name for service in services for name in service.methods_by_name]
    snake = {name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in calls}
    assert [name for name in calls if not re.search(rf"\b({name}|{snake[name]})\b", page)] == []


def test_every_file_that_the_picture_of_the_house_names_is_there():
    """Moves are frequent, and a wrong name costs a newcomer more than none."""
    rooms = [
        ROOT,
        *(
            ROOT / name
            for name in ("context_service", "entity_service", "service_runtime", "clients/python", "proto/generator")
        ),
    ]
    for page in ("architecture.md", "contributing.md"):
        named = re.findall(r"(?<![\w*])[\w./]+(?:\.py|(?<=\w)/)(?![\w*])", (ROOT / "docs" / page).read_text("utf-8"))
        assert [name for name in named if not any((room / name).exists() for room in rooms)] == [], page
