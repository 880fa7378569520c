"""docs/coming-from-firefoundry.md is true: whatever its columns "here" name is there.

Its tables name RPCs, methods of the TypeScript client, variables and commands of ours. A name that goes, or that was
never there, fails here with its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from context_service.mcp.api import TOOLS
from context_service.settings import Settings as ContextSettings
from contextkeep.cli.commands import contextkeep
from contextkeep.client import _base as clients
from entity_service.settings import Settings as EntitySettings
from tests.rpcs import all_rpcs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coming-from-firefoundry.md").read_text("utf-8")
NONE = "none"

RPCS = {rpc.name for rpc in all_rpcs()}
VARIABLES = {
    *(name.upper() for settings in (ContextSettings, EntitySettings) for name in settings.model_fields),
    *(value for name, value in vars(clients).items() if name.endswith("_VARIABLE")),
}
SOURCES = sorted((ROOT / "clients" / "typescript" / "src").glob("**/*.ts"))
TYPESCRIPT = "\n".join(path.read_text("utf-8") for path in SOURCES if "gen" not in path.parts)
METHOD = re.compile(r"^  (?:async )?\*?(\w+)\((?:$|.*[{,(]$)", re.MULTILINE)
NOUNS = {
    name.lower(): noun for noun, name in re.findall(r"^  readonly (\w+) = new (\w+)\(this\)", TYPESCRIPT, re.MULTILINE)
}


def method_names() -> Iterator[str]:
    """Yield the methods of the TypeScript client: those of its nouns as "windows.pack"."""
    for path in SOURCES:
        source = path.read_text("utf-8")
        noun = next(
            (
                NOUNS.get(name.lower(), "")
                for name in re.findall(r"^export class (?:Generated)?(\w+) extends", source, re.MULTILINE)
            ),
            "",
        )
        yield from (f"{noun}.{name}" if noun else name for name in METHOD.findall(source))


METHOD_NAMES = set(method_names())
CLASSES = set(re.findall(r"^export (?:abstract )?class (\w+)", TYPESCRIPT, re.MULTILINE))
PROPERTIES = set(re.findall(r"\b([a-z]\w*)\??:", TYPESCRIPT))


def rows() -> Iterator[tuple[str, list[str]]]:
    """Yield each row of the page's tables with the heading above it."""
    heading = ""
    for line in PAGE.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| ") and not line.startswith(("| ---", "| FireFoundry |")):
            yield heading, [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = list(rows())


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def options_of(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def unknown_of_command(code: str) -> str:
    """Return what of a command line is not there; empty: all of it is."""
    command: click.Command = contextkeep
    for word in code.split():
        if isinstance(command, click.Group):
            if word not in command.commands:
                return word
            command = command.commands[word]
        elif word not in options_of(command):
            return word
    return "" if not isinstance(command, click.Group) else "a group, not a command"


def unknown_of_method(code: str) -> str:
    name, _, given = code.partition("(")
    if given:
        if name not in METHOD_NAMES:
            return name
        named = re.findall(r"\w+", "".join(re.findall(r"\{(.*?)\}", given)))
        return next((one for one in named if one not in PROPERTIES), "")
    return "" if name in METHOD_NAMES | CLASSES | PROPERTIES else name


UNKNOWN = {
    "RPCs": lambda code: "" if code in RPCS else code,
    "The TypeScript client": unknown_of_method,
    "Environment": lambda code: "" if code in VARIABLES else code,
    "The Entity Service's routes": lambda code: "" if code in RPCS else code,
    "The tools' commands": unknown_of_command,
}


def test_what_each_row_names_as_ours_is_there():
    for heading, cells in ROWS:
        here, *_ = codes(cells[1]) or [""]
        assert len(cells) == 3, f"{cells}: a row has three cells; a bar in one of them ends it"
        assert here or cells[1] == NONE, f"{cells}: a row names something of ours, or says that there is none"
        unknown = [UNKNOWN[heading](code) for code in codes(cells[1])]
        assert not any(unknown), f"there is no {', '.join(filter(None, unknown))}"
        assert cells[1] != NONE or len(cells[2]) > 20, f"{cells}: say what to do instead"


def test_what_the_remarks_name_is_there():
    """Of the last column, what reads as one of ours: a command, a tool, a message's field, an RPC."""
    options = {option for command in leaves(contextkeep) for option in options_of(command)}
    for code in (code for _, cells in ROWS for code in codes(cells[2])):
        first = code.split()[0]
        if code.startswith("--"):
            assert first in options, code
        elif " " in code and first in contextkeep.commands:
            assert not unknown_of_command(code), code
        elif re.fullmatch(r"(wm|history|rag)_\w+", code):
            assert code in TOOLS, code
        elif re.fullmatch(r"[A-Z][a-z]+[A-Z]\w+", code):
            assert code in RPCS, code


def test_all_tables_are_read():
    assert len(ROWS) > 130
    assert set(UNKNOWN) == {heading for heading, _ in rows()}
    assert len(METHOD_NAMES) > 60


def test_a_false_row_would_be_found():
    assert unknown_of_command("wm get --nothing") == "--nothing"
    assert unknown_of_command("node get-batch") == "get-batch"
    assert unknown_of_command("node") != ""
    assert unknown_of_method("blobs.getAsBytes(id)") == "blobs.getAsBytes"
    assert unknown_of_method("tools.list({ contextTypes })") == "contextTypes"
    assert {UNKNOWN[heading]("Nothing") for heading in ("RPCs", "Environment")} == {"Nothing"}


def leaves(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from leaves(below)
    else:
        yield command
