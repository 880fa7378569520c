from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from contextkeep import EdgeInput, EntityClient, NodeInput
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphServicer, add_EntityGraphServicer_to_server
from tests.cli.conftest import Answer, Run
from tests.conftest import KEY, Addresses


@pytest.fixture
def name(stack: Addresses) -> str:
    """A graph of its own: two nodes, an edge, an envelope and a vector."""
    name = f"g{uuid.uuid4().hex}"
    session, turn = NodeInput("Session", graph_name=name), NodeInput("Turn", graph_name=name, data={"text": "Grüße"})
    with EntityClient(stack.entity, api_key=KEY) as graph:
        graph.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains", graph_name=name)])
        graph.progress.append(turn.id, message="half done")
        graph.embeddings.upsert(turn.id, [1, 0])
    return name


@pytest.fixture
def breaking() -> Iterator[str]:
    """The address of a service whose exports fail for good behind a message."""

    class Breaking(EntityGraphServicer):
        def ExportGraph(self, request, context):
            yield pb.ExportGraphResponse(lines=b'{"half": 1}\n', resume_token="1", nodes=1)
            context.abort(grpc.StatusCode.DATA_LOSS, "gone")

    server = grpc.server(ThreadPoolExecutor(2))
    add_EntityGraphServicer_to_server(Breaking(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


def test_what_is_in_graphs_is_counted(run: Run, answer: Answer, name: str):
    assert answer(f"graph types --graph {name}") == [{"edge_type": "Contains", "edges": 1}]
    assert {"graph_name": name, "nodes": 2, "edges": 1} in answer("graph stats --limit 0")
    assert f"{name}\t2\t1" in run("graph stats --limit 0 --raw").stdout.splitlines()
    none = run("graph types --graph none")
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "nothing found\n")


def test_nodes_are_counted_by_group_at_the_command_line(run: Run, answer: Answer, name: str):
    assert run(f"graph ask --graph {name} --group-by type --raw").exit_code == 0
    asked = answer(f"graph ask --graph {name} --group-by in:Contains --measure count(created_at)")
    assert [(group["node_count"], group["values"][0]["value"]) for group in asked["groups"]] == [(1, 1)]
    assert (asked["node_count"], asked["ungrouped_count"]) == (2, 1)
    assert run(f"graph ask --graph {name} --without-edge in:Contains --raw").stdout.count("\n") == 1
    assert "out:Contains" in run(f"graph fields --graph {name} --raw").stdout


def test_what_changed_is_listed_from_a_place_on(run: Run, answer: Answer):
    place = answer("graph changes --start")["next_place"]
    ids = [answer(f"node create Customer --graph changes-{n}")["id"] for n in range(3)]

    def listed(options: str) -> dict[str, Any]:
        found: dict[str, Any] = answer(f"graph changes {options}")
        return found

    eventually(lambda: [row["node_id"] for row in listed(f"--from {place}")["changes"]], ids)
    first = listed(f"--from {place} --limit 2")
    assert ([row["node_id"] for row in first["changes"]], first["has_more"]) == (ids[:2], True)
    shown = run(f"graph changes --from {first['next_place']} --raw")
    assert shown.stdout.split("\t")[:4] == ["changed", ids[2], "", "changes-2"]
    again = re.fullmatch(r"continue with --from (\S+)\n", shown.stderr)
    assert again
    assert listed(f"--from {again[1]}")["changes"] == []
    here = run("graph changes")
    assert (here.exit_code, here.stdout.split()[0]) == (0, "next_place")


def test_a_place_is_not_given_to_who_starts(run: Run):
    assert run("graph changes --start --from x").exit_code == 2
    assert "INVALID_PAGE_TOKEN" in run("graph changes --from x").stderr


def eventually(asked: Callable[[], object], wanted: object) -> None:
    """Expect an answer once nothing else runs in Postgres."""
    give_up_at = time.monotonic() + 5
    while (found := asked()) != wanted:
        assert time.monotonic() < give_up_at, found
        time.sleep(0.05)


def test_a_graph_goes_out_and_in_again_and_says_what_was_there(run: Run, answer: Answer, name: str, tmp_path: Path):
    file = tmp_path / "graph.ndjson"
    written = answer(f"graph export {file} --graph {name}")
    assert written == {
        "size_bytes": file.stat().st_size,
        "nodes": 2,
        "edges": 1,
        "embeddings": 1,
        "envelopes": 1,
    }
    assert run(f"graph export - --graph {name}").stdout_bytes == file.read_bytes()
    rows = [f"{name}\t{kind}\t0\t{count}" for kind, count in zip(("nodes", "edges"), (2, 1), strict=True)]
    assert run(f"graph import {file} --raw").stdout.splitlines()[:2] == rows
    more = json.dumps({"node": {"id": str(uuid.uuid4()), "general_type_name": "Turn"}})
    again = answer("graph import -", stdin=file.read_text("utf-8") + more)
    assert (again["graph_name"], again["nodes"]) == (name, {"written": 1, "existed": 2})
    assert again["edges"] == again["embeddings"] == again["envelopes"] == {"written": 0, "existed": 1}


def test_an_import_goes_into_the_graph_that_is_named(answer: Answer):
    line = json.dumps({"node": {"id": str(uuid.uuid4()), "general_type_name": "Turn"}})
    name = f"g{uuid.uuid4().hex}"
    assert answer(f"graph import - --graph {name}", stdin=line)["graph_name"] == name
    assert {"graph_name": name, "nodes": 1, "edges": 0} in answer("graph stats --limit 0")


def test_a_line_that_is_wrong_is_named_with_how_many_are_written(run: Run):
    node = json.dumps({"node": {"id": str(uuid.uuid4()), "general_type_name": "Turn"}})
    result = run("graph import -", stdin=f"{node}\n{{}}\n")
    assert result.exit_code == 2
    assert ("lines[2]" in result.stderr, "lines_done=0" in result.stderr) == (True, True)  # one batch: all or none
    assert run("graph import /no/such/file").exit_code == 2


def test_an_export_that_breaks_leaves_the_file_that_was_there(run: Run, breaking: str, tmp_path: Path):
    file = tmp_path / "graph.ndjson"
    file.write_text("the old one")
    result = run(f"graph export {file} --entity-address {breaking}")
    assert (result.exit_code, result.stdout) == (7, "")
    assert file.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [file]
    assert run(f"graph export {tmp_path}/none/graph.ndjson").exit_code == 1
