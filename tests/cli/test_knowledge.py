"""`contextkeep knowledge`: what a file of definitions may say, and what a compile tells."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from contextkeep import EntityClient
from tests.cli.conftest import Run
from tests.conftest import KEY, Addresses


@pytest.fixture
def node_type() -> str:
    return f"T{uuid.uuid4().hex}"


def a_file(folder: Path, node_type: str, text: str = "entity.status") -> Path:
    facet = f"{{slug: state, heading: State, kind: operational, text: {text}}}"
    path = folder / "definitions.yaml"
    path.write_text(f"definitions: {{{node_type}: {{node_type: {node_type}, title: entity.name, facets: [{facet}]}}}}")
    return path


def test_a_definition_is_written_once_and_compiled(run: Run, stack: Addresses, tmp_path: Path, node_type: str):
    file = a_file(tmp_path, node_type)
    with EntityClient(stack.entity, api_key=KEY) as graph:
        graph.graph.create_node(node_type, name="Orrery", status="Renewing")
    told = [run(f"knowledge define {file} --json {more}").stdout for more in ("", "--approve", "--approve")]
    assert [json.loads(one)[0]["change"] for one in told] == ["written", "approved", "none"]
    done = run(f"knowledge compile --definition {node_type} --json")
    assert done.exit_code == 0 and done.stderr == ""
    assert json.loads(done.stdout)["pages_written"] == 1
    (page,) = json.loads(run(f"knowledge pages --definition {node_type} --json").stdout)
    assert json.loads(run(f"knowledge page {page['page_id']} --json").stdout)["facets"][0]["text"] == "Renewing"


def test_a_rule_that_fails_is_told(run: Run, stack: Addresses, tmp_path: Path, node_type: str):
    file = a_file(tmp_path, node_type, text="entity.data.state")
    with EntityClient(stack.entity, api_key=KEY) as graph:
        node = graph.graph.create_node(node_type, name="Orrery")
    assert run(f"knowledge define {file} --approve").exit_code == 0
    done = run(f"knowledge compile --definition {node_type}")
    assert (done.exit_code, f"definition.facets[0].text {node.id}" in done.stderr) == (0, True)
    assert run(f"knowledge retire {node_type}").exit_code == 0


def test_what_a_file_gets_wrong_is_told_with_its_place(run: Run, tmp_path: Path, node_type: str):
    file = a_file(tmp_path, node_type, text="entity.nam")
    done = run(f"knowledge define {file}")
    assert done.exit_code == 2
    assert f"definitions.yaml: definitions.{node_type}" in done.stderr and "entity has no field" in done.stderr
    for text in ("definition: {}", "definitions: []", "definitions: {a: 1}", "definitions: {1: {}}", "a: ["):
        file.write_text(text)
        assert run(f"knowledge define {file}").exit_code == 2
