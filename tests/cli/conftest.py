"""One stack for all commands, which run in this process."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextkeep import EntityClient
from contextkeep.cli.commands import contextkeep
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread, store_keys
from tests.conftest import KEY, Addresses, cloned

Run = Callable[..., Result]
Answer = Callable[..., Any]


@pytest.fixture(scope="package")
def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    with cloned(postgres) as urls:
        store_keys(urls.admin)
        with running_in_a_thread(urls.service, tmp_path_factory.mktemp("blobs"), callers=None) as addresses:
            yield addresses


@pytest.fixture
def run(stack: Addresses, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line and return what it did."""
    monkeypatch.setenv("CONTEXT_SERVICE_ADDRESS", stack.context)
    monkeypatch.setenv("ENTITY_SERVICE_ADDRESS", stack.entity)
    monkeypatch.setenv("CONTEXT_SERVICE_API_KEY", KEY)

    def run(line: str, *more: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(contextkeep, [*shlex.split(line), *more], input=stdin)

    return run


@pytest.fixture
def answer(run: Run) -> Answer:
    """Run a command line that must succeed and return what it says as JSON."""

    def answer(line: str, *more: str, stdin: str | bytes | None = None) -> Any:
        result = run(line, *more, "--json", stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return answer


@pytest.fixture
def node(stack: Addresses) -> str:
    """A conversation with one turn."""
    with EntityClient(stack.entity, api_key=KEY) as graph:
        session = graph.graph.create_node("Session")
        turn = graph.graph.create_node("Turn", data={"user_input": "Where?", "assistant_output": "Here."})
        graph.graph.create_edge(session.id, turn.id, "Contains")
    return session.id
