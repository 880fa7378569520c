"""Strands Agents on contexts: beside its sessions in files, agents and a graph with a scripted model; and its tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.models import Model
from strands.multiagent import GraphBuilder
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from contextkeep import AsyncContextClient, ContextClient, MessageInput
from contextkeep.adapters.functions import functions, functions_async
from contextkeep.adapters.strands import ContextSessionManager, tools
from contextkeep.ids import new_id

MESSAGES: list[Any] = [
    {"role": "user", "content": [{"text": "Where is order 4711?"}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "Look it up.", "signature": "s"}}},
            {"text": "One moment."},
            {"toolUse": {"toolUseId": "t1", "name": "find", "input": {"order": 4711, "ratio": 1.0}}},
            {"toolUse": {"toolUseId": "t2", "name": "list", "input": {}}},
        ],
        "metadata": {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}},
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "At the harbour. ⚓"}]}},
            {
                "toolResult": {
                    "toolUseId": "t2",
                    "status": "error",
                    "content": [{"json": {"a": [1]}}, {"image": {"format": "png", "source": {"bytes": b"\x89P\0"}}}],
                }
            },
        ],
    },
    {"role": "assistant", "content": [{"text": ""}]},
    {"role": "user", "content": []},
    {
        "role": "user",
        "content": [{"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF\0" * 20_000}}}],
    },
    {"role": "user", "content": [{"text": "x"}] * 120},
    {"role": "assistant", "content": [{"text": "My card is 1234."}]},
]


@pytest.fixture(scope="module")
def blocking() -> Iterator[ContextClient]:
    with ContextClient() as opened:
        yield opened


def seen(message: SessionMessage | None) -> Any:
    return message and (message.message_id, message.to_message(), message.created_at)


def play(manager: Any, name: str) -> list[Any]:
    """Make the same calls on any repository, and return what it answered."""
    said: list[Any] = [manager.read_session(name), manager.read_session("nothing")]
    said[0].created_at = said[0].updated_at = ""
    with pytest.raises(SessionException):
        manager.create_session(Session(name, SessionType.AGENT))
    at = "2026-01-02T03:04:05+00:00"
    state = {"basket": [1, None]}
    agent = SessionAgent("clerk", state, {"removed": 0}, {"model_state": {}}, created_at=at, updated_at=at)
    said.append(manager.read_agent(name, "clerk"))
    with pytest.raises(SessionException):
        manager.update_agent(name, agent)
    with pytest.raises(SessionException):
        manager.list_messages(name, "clerk")
    manager.create_agent(name, agent)
    manager.create_agent(name, SessionAgent("other", {}, {}))
    said.append(manager.list_messages(name, "clerk"))
    for place, message in enumerate(MESSAGES):
        manager.create_message(name, "clerk", SessionMessage(message, place, created_at=at, updated_at=at))
    for limit, offset in ((None, 0), (2, 0), (3, 2), (None, 5), (None, 50), (0, 0)):
        said.append([seen(one) for one in manager.list_messages(name, "clerk", limit, offset)])
    said += [seen(manager.read_message(name, "clerk", place)) for place in (0, 2, 7, 8)]
    redacted = SessionMessage(MESSAGES[7], 7, {"role": "assistant", "content": [{"text": "[gone]"}]})
    manager.update_message(name, "clerk", redacted)
    with pytest.raises(SessionException):
        manager.update_message(name, "clerk", SessionMessage(MESSAGES[0], 99))
    manager.create_message(name, "clerk", SessionMessage(MESSAGES[0], 8, created_at=at))
    said.append([seen(one) for one in manager.list_messages(name, "clerk", None, 6)])
    said.append(seen(manager.read_message(name, "clerk", 7)))
    manager.update_agent(name, SessionAgent("clerk", {"basket": []}, {"removed": 2}, updated_at=at))
    said.append(manager.read_agent(name, "clerk"))
    said.append(manager.list_messages(name, "other"))
    manager.delete_session(name)
    said.append(manager.read_session(name))
    with pytest.raises(SessionException):
        manager.delete_session(name)
    return said


def test_sessions_answer_as_strands_own(blocking: ContextClient, name: str, tmp_path: Path):
    ours = play(ContextSessionManager(name, blocking), name)
    expected = play(FileSessionManager(name, storage_dir=str(tmp_path)), name)
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected, strict=True):
        assert one == other


def test_what_a_guardrail_took_out_is_not_found(blocking: ContextClient, name: str):
    manager = ContextSessionManager(name, blocking)
    manager.create_message(name, "clerk", SessionMessage(MESSAGES[7], 0))
    context_id = manager.context_id("clerk")
    assert context_id is not None
    assert blocking.contexts.recall(context_id, "card").items
    redacted = SessionMessage(MESSAGES[7], 0, {"role": "assistant", "content": [{"text": "[gone]"}]})
    manager.update_message(name, "clerk", redacted)
    assert not blocking.contexts.recall(context_id, "card").items
    assert "1234" not in str([(one.content, one.metadata_json) for one in blocking.contexts.list_messages(context_id)])


class Scripted(Model):
    """Answers what the script says, and remembers what it was shown."""

    def __init__(self, script: list[Any]) -> None:
        self.script = script
        self.shown: list[list[Any]] = []

    def update_config(self, **model_config: Any) -> None:
        return

    def get_config(self) -> Any:
        return {"model_id": "scripted"}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.shown.append(json.loads(json.dumps(messages)))
        answer = self.script.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(answer, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": answer}}}
        else:
            name, arguments = answer
            use = {"name": name, "toolUseId": new_id()}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(answer, str) else "tool_use"}}


def agent(model: Model, **options: Any) -> Agent:
    return Agent(agent_id="clerk", model=model, callback_handler=None, **options)


def test_an_agent_goes_on_from_its_session_and_uses_its_tools(blocking: ContextClient, name: str):
    first = ContextSessionManager(name, blocking)
    one = agent(Scripted(["Noted."]), session_manager=first)
    one.state.set("basket", [4711])
    one("Order 4711 goes to the lighthouse.")
    context_id, entity_node_id = first.context_id("clerk"), new_id()
    assert context_id is not None
    model = Scripted(
        [
            ("context_recall", {"query": "lighthouse"}),
            ("wm_upload", {"name": "note.md", "content": "4711: lighthouse"}),
            ("wm_list", {}),
            ("query_context", {"query": "lighthouse"}),
            ("wm_read", {"working_memory_id": "no id"}),
            "It goes to the lighthouse.",
        ]
    )
    offered = tools(blocking, entity_node_id=entity_node_id, context_id=context_id)
    second = agent(model, session_manager=ContextSessionManager(name, blocking), tools=offered)
    assert second.state.get("basket") == [4711]
    assert str(second("Where does it go?")).strip() == "It goes to the lighthouse."
    results = [
        block["toolResult"] for message in second.messages for block in message["content"] if "toolResult" in block
    ]
    assert [result["status"] for result in results] == ["success"] * 4 + ["error"]
    assert "lighthouse" in str(results[0]) and "note.md" in str(results[2]) and "lighthouse" in str(results[3])
    again = agent(Scripted(["Yes."]), session_manager=ContextSessionManager(name, blocking))
    assert [message["content"] for message in again.messages] == [message["content"] for message in second.messages]
    blocking.contexts.send(MessageInput("It was delivered.", role="assistant"), context_id)
    third = agent(Scripted([]), session_manager=ContextSessionManager(name, blocking))
    assert third.messages[-1]["content"] == [{"text": "It was delivered."}]


def test_a_graph_of_agents_keeps_its_state(blocking: ContextClient, name: str):
    def graph() -> Any:
        builder = GraphBuilder()
        builder.add_node(agent(Scripted(["Found."])), "find")
        builder.add_node(Agent(agent_id="writer", model=Scripted(["Written."]), callback_handler=None), "write")
        builder.add_edge("find", "write")
        builder.set_graph_id("work").set_max_node_executions(9)
        return builder.set_session_manager(ContextSessionManager(name, blocking)).build()

    assert graph()("Where is 4711?").status.value == "completed"
    kept = ContextSessionManager(name, blocking).read_multi_agent(name, "work")
    assert kept is not None
    assert sorted(kept["completed_nodes"]) == ["find", "write"]
    graph()


async def test_functions_are_the_same_for_both_clients_and_bind_what_a_model_may_not_choose(
    client: AsyncContextClient, blocking: ContextClient
):
    sent = await client.contexts.send(MessageInput("The harbour closes at nine."))
    entity_node_id = new_id()
    bound: dict[str, Any] = {"entity_node_id": entity_node_id, "context_id": sent.context_id}
    now, later = functions(blocking, **bound), await functions_async(client, **bound)
    assert [(one.name, one.parameters) for one in now] == [(one.name, one.parameters) for one in later]
    by_name = {one.name: one for one in later}
    assert list(by_name)[:4] == ["query_context", "query_memory_context", "query_wiki_context", "query_brain_context"]
    for one in later:
        assert one.parameters["type"] == "object"
        assert one.description
        assert not {"context_id", "entity_node_id"} & set(one.parameters["properties"])
    recalled = await by_name["context_recall"](query="harbour", context_id=new_id())
    assert "closes at nine" in json.dumps(recalled)
    assert "error" not in await by_name["wm_upload"](name="a.md", content="x", entity_node_id=new_id())
    assert "a.md" in json.dumps(await by_name["wm_list"]())
    found = await by_name["query_context"](query="harbour", mode="answer")
    assert "closes at nine" in json.dumps(found["hits"])
    assert found["answer"]
    only_reading = await functions_async(client, read_only=True)
    assert all(one.read_only for one in only_reading)
    assert not {one.name for one in only_reading} & {"wm_upload", "context_recall"}


@pytest.mark.parametrize(
    ("name_of", "arguments"),
    [
        ("query_context", {}),
        ("query_context", {"query": ""}),
        ("query_context", {"query": 7}),
        ("query_context", {"query": "a", "limit": "many"}),
        ("query_context", {"query": "a", "limit": 10**30}),
        ("query_context", {"query": "a", "scope": "everybody's"}),
        ("query_context", {"query": "a", "subject_user_id": "somebody"}),
        ("query_context", {"query": "\ud800"}),
        ("wm_read", {"working_memory_id": new_id()}),
        ("wm_read", {"working_memory_id": {"$ne": 1}}),
        ("wm_list", {"nothing": 1}),
    ],
)
def test_what_a_model_says_wrongly_is_told_to_it(blocking: ContextClient, name_of: str, arguments: dict[str, Any]):
    function = {one.name: one for one in functions(blocking)}[name_of]
    assert function(**arguments)["error"]["reason"]


def test_texts_that_postgres_keeps_not_and_large_ones_come_out_as_they_went_in(blocking: ContextClient, name: str):
    """Strands' own file manager refuses half a character; NUL and large ones it keeps."""
    messages: list[Any] = [
        {"role": "user", "content": [{"text": "chat \ud83d noir"}]},
        {"role": "user", "content": [{"text": "a\0b"}, {"image": {"format": "png", "source": {"bytes": b"\x89P\0"}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "PK\0"}], "status": "error"}}],
        },
        {"role": "assistant", "content": [{"text": "茶" * 500_000}]},
    ]
    manager = ContextSessionManager(name, blocking)
    manager.create_agent(name, SessionAgent("clerk", {"of\0": "\ud83d"}, {}))
    for place, message in enumerate(messages):
        manager.create_message(name, "clerk", SessionMessage(message, place))
    again = ContextSessionManager(name, blocking)
    assert [one.to_message() for one in again.list_messages(name, "clerk")] == messages
    agent = again.read_agent(name, "clerk")
    assert agent is not None
    assert agent.state == {"of\0": "\ud83d"}
