from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from contextkeep.cli.commands import contextkeep


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from paths(below, (*path, name))


def examples(path: tuple[str, ...]) -> list[str]:
    """Return the lines of a help's example that run a command of ours."""
    result = CliRunner().invoke(contextkeep, [*path, "--help"])
    assert result.exit_code == 0
    example = result.output.partition("Example:")[2].partition("\n\n")[0]
    lines = [line.strip() for line in example.splitlines()]
    return [line for line in lines if "contextkeep " in line]


@pytest.mark.parametrize("path", list(paths(contextkeep)), ids=" ".join)
def test_every_help_has_an_example_of_its_own_command(path: tuple[str, ...]):
    """What the examples do is in test_examples.py."""
    assert any(" ".join(("contextkeep", *path)) in line for line in examples(path))


@pytest.mark.parametrize("path", list(paths(contextkeep)), ids=" ".join)
def test_what_a_command_does_stands_whole_in_the_list_of_its_group(path: tuple[str, ...]):
    output = CliRunner().invoke(contextkeep, [*path, "--help"], terminal_width=80).output
    listed = output.partition("Commands:")[2].partition("\n\n")[0]

    assert "..." not in listed


def test_a_help_explains_the_words_that_it_uses():
    helps = {
        name: " ".join(CliRunner().invoke(contextkeep, ["window", name, "--help"]).output.split())
        for name in ("rollback", "pack", "commit")
    }
    assert "The seq of a message is its number in the context" in helps["rollback"]
    assert "The epoch of a window is" not in helps["rollback"], "the help does not use the word"
    assert "A pack is the list of messages" not in helps["pack"], "the help itself explains the word"
    assert "A compaction replaces old messages" in helps["commit"]
