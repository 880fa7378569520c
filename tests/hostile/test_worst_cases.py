"""The largest things that callers may own are read, shown, folded and exported while others are served.

Each case makes things of one kind in the largest number that a test has time for, and makes every call whose cost grows
with them; the stall probe watches next to it. What is read by page fits an answer, whatever the page size.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from google.protobuf.message import Message

from contextkeep.context.v1 import chat_history_pb2 as history
from contextkeep.context.v1 import context_query_pb2 as querying
from contextkeep.context.v1 import context_windows_pb2 as windows
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import memories_pb2 as memories_pb
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import summaries_pb2 as summaries_pb
from contextkeep.context.v1 import tools_pb2 as tools
from contextkeep.context.v1 import transfer_pb2 as transfer
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.values.ids import new_id
from tests.conftest import Urls
from tests.hostile.calling import Client
from tests.hostile.things import RPCS

MESSAGES = 4_000
NODES = 1_800
MEMORIES, SOURCES = 1_000, 100
_USER = "alice"
_LINE = "alpha failed: error in module_7.py, use 7 instead of 8\n"
_TENANT = transfer.ExportArchiveRequest(scope=transfer.ArchiveScope(tenant=True))
_QUESTION = querying.QueryContextRequest(query="alpha statement word " * 30, subject_user_id=_USER, tokens_max=20_000)

_Call = Callable[[str, Message], Any]  # of an RPC with a request: its last answer


def many_steps(call: _Call, superuser_url: str) -> None:
    """Show and fold a window of very many small steps."""
    small = [message_pb2.MessageInput(role=("user", "assistant")[n % 2], content=f"word {n}") for n in range(MESSAGES)]
    _window(call, _context(call, small, at_once=500), context_tokens=10_000_000)


def large_results(call: _Call, superuser_url: str) -> None:
    """Show and fold a window of results of tools that are as large as they may be."""
    content_json = json.dumps({"out": (_LINE * (2**20 // len(_LINE)))[: 2**20 - 50_000]})
    messages = []
    for number in range(3):
        looked = message_pb2.ToolCall(id=f"{number}", name="look")
        result = message_pb2.ToolResult(tool_call_id=f"{number}", content_json=content_json)
        messages += [
            message_pb2.MessageInput(role="assistant", parts=[message_pb2.Part(tool_call=looked)]),
            message_pb2.MessageInput(role="tool", parts=[message_pb2.Part(tool_result=result)]),
        ]
    _window(call, _context(call, messages, at_once=2), context_tokens=100_000)


def _context(call: _Call, messages: Sequence[message_pb2.MessageInput], *, at_once: int) -> str:
    context_id = ""
    for start in range(0, len(messages), at_once):
        appending = contexts.AppendMessagesRequest(context_id=context_id, messages=messages[start : start + at_once])
        context_id = call("AppendMessages", appending).context_id
    return context_id


def _window(call: _Call, context_id: str, *, context_tokens: int) -> None:
    goal = "mend module_7"
    opening = windows.OpenWindowRequest(context_id=context_id, model="m", context_tokens=context_tokens, goal=goal)
    window_id = call("OpenWindow", opening).window.window_id
    query = "alpha failed word error"
    options = contexts.RecallOptions(tokens_max=100_000, items_max=200)
    for rpc, request in [
        ("Pack", windows.PackRequest()),
        ("SearchWindow", windows.SearchWindowRequest(query=query, limit=200, step_from=1, step_to=MESSAGES)),
        ("ExplainPack", windows.ExplainPackRequest()),
        ("WindowStats", windows.WindowStatsRequest()),
        ("GetState", windows.GetStateRequest()),
        ("EstimateCost", windows.EstimateCostRequest()),
        ("CreateCheckpoint", windows.CreateCheckpointRequest(label="a")),
        ("PrepareFold", windows.PrepareFoldRequest()),
        ("UpdateWindow", windows.UpdateWindowRequest()),
        ("Fold", windows.FoldRequest()),
        ("GetLineage", windows.GetLineageRequest(page_size=1_000)),
        ("Expand", windows.ExpandRequest(ref="m1..m6")),
        ("Pack", windows.PackRequest()),
    ]:
        request.window_id = window_id
        call(rpc, request)
    reached_seq = call("GetWindow", windows.GetWindowRequest(window_id=window_id)).window.reached_seq
    for text in ("", "word"):
        call("TraceMessage", windows.TraceMessageRequest(window_id=window_id, ref=f"m1..m{reached_seq}", text=text))
    fork_id = call("ForkWindow", windows.ForkWindowRequest(window_id=window_id, task="look")).window.window_id
    call("Pack", windows.PackRequest(window_id=fork_id))
    call("MergeWindow", windows.MergeWindowRequest(window_id=fork_id))
    call("ListMessages", contexts.ListMessagesRequest(context_id=context_id, page_size=1_000))
    call("Recall", contexts.RecallRequest(context_id=context_id, text=query, options=options))
    call("SearchContext", contexts.SearchContextRequest(context_id=context_id, query=query, limit=200))


def memories(call: _Call, superuser_url: str) -> None:
    """Read memories with as many sources as a memory may have, as an archive may bring them."""
    for number in range(20):
        memory = memories_pb.MemoryInput(text=f"alpha statement {number} " + "word " * 1_500)
        retaining = memories_pb.RetainMemoryRequest(memory=memory, subject_user_id=_USER)
        memory_id = call("RetainMemory", retaining).memory.memory_id
    source = {"label": "l" * 30, "uri": "https://example.com/" + "p" * 60, "context_id": str(new_id())}
    sources = json.dumps([source | {"ref": f"m{number}"} for number in range(SOURCES)])
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        (tenant_id,) = connection.execute(
            "SELECT tenant_id FROM context.memory WHERE memory_id = %s", [memory_id]
        ).fetchone() or [None]
        named = [sources, MEMORIES // 20, tenant_id]
        connection.execute(_COPY.format(columns=_columns(connection)), named)
    planning = memories_pb.ConsolidateMemoriesRequest(subject_user_id=_USER)
    assert call("ConsolidateMemories", planning).has_more is False
    count, token = 0, ""
    while count == 0 or token:
        listing = memories_pb.ListMemoriesRequest(subject_user_id=_USER, page_size=1_000, page_token=token)
        listed = call("ListMemories", listing)
        count, token = count + len(listed.memories), listed.next_page_token
    assert count == MEMORIES + 20
    query = "alpha statement word"
    call("RecallMemories", memories_pb.RecallMemoriesRequest(query=query, limit=100, subject_user_id=_USER))
    call("ReflectMemories", memories_pb.ReflectMemoriesRequest(query=query, limit=20, subject_user_id=_USER))
    call("GetUserContext", summaries_pb.GetUserContextRequest(tokens_max=32_000, subject_user_id=_USER))
    call("ExportArchive", _TENANT)
    call("QueryContext", _QUESTION)


_COPY = """
INSERT INTO context.memory (memory_id, sources, {columns})
SELECT gen_random_uuid(), %s::jsonb, {columns}
FROM context.memory m, generate_series(1, %s)
WHERE m.tenant_id = %s
"""


def _columns(connection: psycopg.Connection[Any]) -> str:
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'context' AND table_name = 'memory'"
        " AND is_generated = 'NEVER' AND is_identity = 'NO' AND column_name NOT IN ('memory_id', 'sources', 'seq')"
    )
    return ", ".join(name for (name,) in rows)


def nodes(call: _Call, superuser_url: str) -> None:
    """Write, walk, list, render and export nodes with much data below one."""
    root = str(new_id())
    data = {"role": "user", "content": "alpha word " * 80, "n": list(range(50)), "o": [{"a": 1}] * 20}
    of_root = graph.NodeInput(id=root, general_type_name="Session", data_json="{}")
    ids = [str(new_id()) for _ in range(NODES)]
    for part in (ids[: NODES // 2], ids[NODES // 2 :]):
        below = [graph.NodeInput(id=one, general_type_name="Message", data_json=json.dumps(data)) for one in part]
        edges = [graph.EdgeInput(from_node_id=root, to_node_id=one, edge_type="Contains") for one in part]
        below += [of_root] if part[0] == ids[0] else []
        call("WriteGraph", graph.WriteGraphRequest(nodes=below, edges=edges))
    paths = [" && ".join(["$.a == 1"] * 330), "$.n[*] ? (@ > 3)"]
    for rpc, request in [
        *(("SearchNodes", graph.SearchNodesRequest(filter=graph.NodeFilter(json_path=one))) for one in paths),
        ("BatchGetNodes", graph.BatchGetNodesRequest(node_ids=ids[:1_000])),
        ("ListEdges", graph.ListEdgesRequest(node_id=root, page_size=1_000)),
        ("Traverse", graph.TraverseRequest(start_node_ids=[root], include_start=True, include_io=True)),
        ("ExportGraph", graph.ExportGraphRequest()),
        ("GetChatHistory", history.GetChatHistoryRequest(node_id=root)),
        ("GetChatHistory", history.GetChatHistoryRequest(node_id=root, format=history.MESSAGE_FORMAT_ANTHROPIC)),
        ("StreamChatHistory", history.StreamChatHistoryRequest(node_id=root)),
        ("AssembleContext", history.AssembleContextRequest(node_id=root, data_paths=["content", "n", "o"])),
        ("FetchEntityHistory", history.FetchEntityHistoryRequest(node_id=root)),
        ("ExecuteTool", tools.ExecuteToolRequest(tool_name="history_chat", arguments_json="{}", entity_node_id=root)),
        ("ExportArchive", _TENANT),
        ("QueryContext", _QUESTION),
    ]:
        call(rpc, request)


WORST_CASES: dict[str, Callable[[_Call, str], None]] = {
    "windows of many steps": many_steps,
    "results of tools": large_results,
    "memories": memories,
    "graph": nodes,
}


@pytest.mark.parametrize("name", WORST_CASES)
def test_the_largest_things_hold_up_nobody(name: str, client: Client, shared_urls: Urls):
    key = uuid.uuid4()

    def call(rpc: str, request: Message) -> Any:
        outcome = client.call(RPCS[rpc], request, key=key, timeout_s=60)
        # To show all may take more than an answer, and a fold may have nothing to do; the work is done before that.
        assert outcome.ok or outcome.reason in ("ANSWER_TOO_LARGE", "FOLD_NO_PROGRESS"), f"{rpc}: {outcome}"
        return outcome.answers[-1] if outcome.ok else None

    WORST_CASES[name](call, shared_urls.superuser)
