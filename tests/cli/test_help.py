from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from contextgraph.cli.commands import contextgraph


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from paths(below, (*path, name))


def the_command_of(words: list[str]) -> click.Command:
    command: click.Command = contextgraph
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.commands[word]
    return command


@pytest.mark.parametrize("path", list(paths(contextgraph)), ids=" ".join)
def test_the_help_of_every_command_has_an_example_that_it_understands(path: tuple[str, ...]):
    result = CliRunner().invoke(contextgraph, [*path, "--help"])

    assert result.exit_code == 0
    lines = [line.strip() for line in result.output.partition("Example:")[2].splitlines()]
    examples = [line for line in lines if line.startswith("contextgraph ")]
    assert examples, result.output
    for example in examples:
        assert the_command_of(example.split()[1:]) is not contextgraph
        if path:
            assert example.startswith(" ".join(("contextgraph", *path)))
