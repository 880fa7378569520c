"""Calls at the same time: twins of one request id are one call, and of two writers with one version one wins.

Both walk the RPCs by reflection: every one that takes a `request_id`, every one that takes an `expected_version`.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.protobuf.message import Message

from contextkeep.context.v1 import memories_pb2 as memories
from contextkeep.context.v1 import pages_pb2 as pages
from contextkeep.context.v1 import tasks_pb2 as tasks
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.values.ids import new_id
from tests.hostile.calling import Client, Outcome
from tests.hostile.copies import Another
from tests.hostile.tables import Tables
from tests.hostile.test_cases import HOW
from tests.hostile.things import RPCS, Things, cases
from tests.rpcs import Rpc, fields

TWINS = 4
ROUNDS = 3

ONCE = [rpc for rpc in RPCS.values() if any(path[-1].name == "request_id" for path in fields(rpc.request.DESCRIPTOR))]
VERSIONED = [rpc for rpc in RPCS.values() if "expected_version" in rpc.request.DESCRIPTOR.fields_by_name]

# Calls that write only with more than `seeded` has. Folds are in context_service/windows/folding/test_preparing.py,
# tools in context_service/query/test_mcp_tools.py, erasures in context_service/erasure/test_erasures.py.
ELSEWHERE = {"CommitFold", "UnapproveMcpTool", "Erase"}

# Of each RPC with an `expected_version`: one of its requests, and another that changes the same thing.
RIVALS: dict[str, Callable[[Things], tuple[Message, Message]]] = {
    "UpdateNodeData": lambda t: (
        graph.UpdateNodeDataRequest(node_id=t.node_id, data_json='{"a": 1}', expected_version=1),
        graph.UpdateNodeDataRequest(node_id=t.node_id, data_json='{"b": 1}', expected_version=1),
    ),
    "UpdateNodeStatus": lambda t: (
        graph.UpdateNodeStatusRequest(node_id=t.node_id, status="a", expected_version=1),
        graph.UpdateNodeStatusRequest(node_id=t.node_id, status="b", expected_version=1),
    ),
    "ArchiveNode": lambda t: (graph.ArchiveNodeRequest(node_id=t.node_id, expected_version=1), _status(t)),
    "ResetNode": lambda t: (graph.ResetNodeRequest(node_id=t.node_id, expected_version=1), _status(t)),
    "DeleteNode": lambda t: (graph.DeleteNodeRequest(node_id=t.node_id, expected_version=1), _status(t)),
    "UpdateEdgeData": lambda t: (
        graph.UpdateEdgeDataRequest(edge_id=t.edge_id, data_json='{"a": 1}', expected_version=1),
        graph.UpdateEdgeDataRequest(edge_id=t.edge_id, data_json='{"b": 1}', expected_version=1),
    ),
    "DeleteEdge": lambda t: (
        graph.DeleteEdgeRequest(edge_id=t.edge_id, expected_version=1),
        graph.UpdateEdgeDataRequest(edge_id=t.edge_id, data_json='{"b": 1}', expected_version=1),
    ),
    "UpdateWMRecord": lambda t: (_rename(t, "a"), _rename(t, "b")),
    "UpdateTask": lambda t: (_metadata(t, "a"), _metadata(t, "b")),
    "UpdateMemory": lambda t: (_said_otherwise(t, "a"), _said_otherwise(t, "b")),
    "PutPage": lambda t: (_another_page(t, "a"), _another_page(t, "b")),
    "DeletePage": lambda t: (
        pages.DeletePageRequest(page_id=t.page_id, expected_version=2, subject_user_id=t.user_id),
        _another_page(t, "b"),
    ),
}


# A key is shown once: nobody can read the first one again, so whoever repeats a call that gives one is given another.
KEY = re.compile(r'key: "cgc_[^"]*"\n|key_expires_at \{\n(  .*\n)*\}\n?')


@pytest.mark.parametrize("rpc", ONCE, ids=str)
def test_twins_of_a_request_id_are_one_call(rpc: Rpc, client: Client, tables: Tables, another: Another):
    """The same answer for all, and no more rows than one call writes."""
    made = cases(rpc, Things())
    assert made, f"{rpc} has no request: {HOW}"
    wrote: set[str] = set()
    for position, case in enumerate(made):
        if with_request_id(case, "") is None:
            continue  # it has one of its own
        if getattr(case, "standalone", False):
            continue  # nothing is kept of it, and no request either
        alone = written_by(1, rpc, position, client, tables, another)
        together = written_by(TWINS, rpc, position, client, tables, another)
        assert together == alone
        wrote |= set(alone) - {"entity.request", "context.request"}
    assert wrote or rpc.name in ELSEWHERE, f"no request of {rpc} without a request id writes anything: {HOW}"


def written_by(twins: int, rpc: Rpc, position: int, client: Client, tables: Tables, another: Another) -> dict[str, int]:
    """Return the tables that changed when one request was made several times at once, and how many rows they won."""
    (key, things), request_id = another(), str(new_id())
    case = with_request_id(cases(rpc, things)[position], request_id)
    before = tables.sums_of(key)
    outcomes = at_once(client, [(rpc, case)] * twins, key)
    after = tables.sums_of(key)
    if any(not outcome.ok for outcome in outcomes):  # what is refused is refused to all
        assert len({outcome.reason for outcome in outcomes}) == 1, [str(outcome) for outcome in outcomes]
    else:
        again = client.call(rpc, case, key=key)
        assert len({KEY.sub("", str(outcome.answers)) for outcome in (*outcomes, again)}) == 1
        other = unlike(case, rpc, position, request_id)
        assert client.call(rpc, other, key=key).reason == "REQUEST_ID_REUSED"
        assert without_keys(tables.sums_of(key)) == without_keys(after)
    # Bytes that a twin wrote in vain go by the sweeper; a tenant's usage has a row for each connection that wrote.
    wrote = {table for table in without_keys(after) if after[table] != before[table]}
    changed = wrote - {"context.blob", "context.tenant_usage"}
    return {table: after[table][0] - before[table][0] for table in changed}


def unlike(case: Any, rpc: Rpc, position: int, request_id: str) -> Any:
    """Return the request at a position with other names, or the next one if it has none in it, with a request id."""
    made = cases(rpc, Things())
    others = [with_request_id(one, request_id) for one in (*made[position:], *made[:position])]
    return next(one for one in others if one is not None and one != case)


def without_keys(sums: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """Return what is not a key that was given: each twin is shown one of its own."""
    return {table: of_table for table, of_table in sums.items() if table != "access.context_key"}


@pytest.mark.parametrize("rpc", VERSIONED, ids=str)
def test_of_two_writers_with_one_version_one_wins(rpc: Rpc, client: Client, another: Another):
    assert rpc.name in RIVALS, f"no two writers of one thing with {rpc}: add them to RIVALS"
    for _ in range(ROUNDS):
        key, things = another()
        requests: Any = RIVALS[rpc.name](things)
        outcomes = at_once(client, [(rpc_of(request), request) for request in requests], key)
        lost = [outcome for outcome in outcomes if not outcome.ok]
        assert len(lost) == 1, [str(outcome) for outcome in outcomes]
        version = requests[0].expected_version
        gone = rpc.name.startswith("Delete") and outcomes[0].ok
        assert gone == lost[0].reason.endswith("_NOT_FOUND"), lost[0]
        assert gone or (lost[0].reason, lost[0].metadata["version"]) == ("VERSION_CONFLICT", str(version + 1))


def with_request_id(case: Any, request_id: str) -> Any:
    """Return a request with a request id, or None if it has one of its own."""
    message: Any = case if isinstance(case, Message) else case[0]
    (path, *_) = (path for path in fields(message.DESCRIPTOR) if path[-1].name == "request_id")
    for field in path[:-1]:
        message = getattr(message, field.name)
    if message.request_id:
        return None
    message.request_id = request_id
    return case


def at_once(client: Client, calls: list[tuple[Rpc, Any]], key: uuid.UUID) -> list[Outcome]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: client.call(call[0], call[1], key=key), calls))


def rpc_of(request: Message) -> Rpc:
    return next(rpc for rpc in RPCS.values() if isinstance(request, rpc.request))


def _status(t: Things) -> graph.UpdateNodeStatusRequest:
    return graph.UpdateNodeStatusRequest(node_id=t.node_id, status="b", expected_version=1)


def _said_otherwise(t: Things, text: str) -> memories.UpdateMemoryRequest:
    request = memories.UpdateMemoryRequest(
        memory_id=t.memory_id,
        memory=memories.MemoryInput(text=text),
        expected_version=3,  # two updates are among the seeds
        subject_user_id=t.user_id,
    )
    request.update_mask.paths.append("text")
    return request


def _another_page(t: Things, markdown: str) -> pages.PutPageRequest:
    page = pages.PageInput(slug=t.page_slug, title="x", markdown=markdown)
    return pages.PutPageRequest(page=page, expected_version=2, subject_user_id=t.user_id)


def _metadata(t: Things, name: str) -> tasks.UpdateTaskRequest:
    request = tasks.UpdateTaskRequest(
        task_id=t.task_id, task=tasks.TaskInput(metadata_json=json.dumps({"name": name})), expected_version=1
    )
    request.update_mask.paths.append("metadata_json")
    return request


def _rename(t: Things, name: str) -> memory.UpdateWMRecordRequest:
    request = memory.UpdateWMRecordRequest(
        record=memory.WMRecordInput(working_memory_id=t.record_id, name=name), expected_version=2
    )
    request.update_mask.paths.append("name")
    return request
