"""Random operations on the stores of frameworks and on ours: the answers are the same.

An example is a list of operations. Some of its texts have NUL or half a character, and some are larger than a message.
The summary of the run counts operations, and examples by what is hostile in them.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agents.memory import SQLiteSession
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from google.adk.events import Event, EventActions
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from strands.session.file_session_manager import FileSessionManager
from strands.types.session import SessionAgent, SessionMessage

from contextkeep import AsyncContextClient, ContextClient
from contextkeep.adapters.adk import ContextSessionService
from contextkeep.adapters.anthropic import MemoryTool
from contextkeep.adapters.langgraph import ContextSaver, ContextStore
from contextkeep.adapters.openai_agents import ContextSession
from contextkeep.adapters.strands import ContextSessionManager
from tests.examples import examples

LARGE = 1_100_000  # characters
MANY = 120
COUNTS: Counter[str] = Counter()

PLAIN = st.sampled_from(
    ["Where is order 4711?", "", " ", "茶 ⚓", "a\r\nb", "<b>'\"\\</b>", "\u202eabc", '{"file": 1}']
)
NUL = st.sampled_from(["\0", "PK\x03\0\0", "a\0b"])
HALF = st.sampled_from(["\ud83d", "cat \udc00", "\ud800x"])
HUGE = st.sampled_from(["x", "wörd ", "\0y"]).map(lambda text: text * (LARGE // len(text)))


def texts(*, has_halves: bool = True, has_large: bool = True) -> st.SearchStrategy[str]:
    """Return texts, every third of them hostile."""
    hostile = [NUL, HALF] if has_halves else [NUL]
    return st.integers(0, 29).flatmap(
        lambda n: (
            HUGE
            if n == 0
            else st.one_of(hostile)
            if n < 8
            else st.text(max_size=8, alphabet="ab\té")
            if n < 14
            else PLAIN
        )
    )


def hostile_in(operations: Any) -> set[str]:
    """Return what is hostile in the operations of an example."""
    text = json.dumps(operations, default=str)
    found = {"NUL"} if "\\u0000" in text else set()
    found |= {"half a character"} if "\\ud8" in text or "\\udc" in text else set()
    found |= {"1 MiB"} if len(text) > 2**20 else set()
    return found | ({"100 items"} if len(operations) > 100 else set())


def counted(of: str, operations: Any, count: int) -> None:
    """Count an example with its operations."""
    found = hostile_in(operations)
    COUNTS.update({f"{of} examples": 1, f"{of} operations": count, "examples": 1, "hostile": bool(found)})
    COUNTS.update(found)


def like(count: int) -> Callable[[Any], Any]:
    """Return the settings of a test, with a number of examples."""
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    return settings(
        max_examples=examples(count),
        deadline=None,
        derandomize=examples(0) == 0,
        suppress_health_check=slow,
        phases=[Phase.explicit, Phase.generate],  # to shrink an example of some MiB takes minutes
    )


@pytest.fixture(scope="module")
def blocking() -> Iterator[ContextClient]:
    with ContextClient() as opened:
        yield opened


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Callable[[AsyncContextClient], Coroutine[Any, Any, None]]], None]]:
    """Return a function that runs a coroutine with one client on one loop, which all examples share."""
    with asyncio.Runner() as runner:

        async def opened() -> AsyncContextClient:
            return AsyncContextClient()

        client = runner.run(opened())
        yield lambda make: runner.run(make(client))
        runner.run(client.close())


ITEMS = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts()),
    st.builds(lambda text: {"type": "function_call_output", "call_id": "c1", "output": text}, texts()),
    st.builds(
        lambda text: {"type": "function_call", "call_id": "c1", "name": "f", "arguments": json.dumps({"a": text})},
        texts(),
    ),
    st.builds(
        lambda many: {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": one} for one in many],
        },
        st.lists(texts(), min_size=1, max_size=3),
    ),
    st.sampled_from(['{"a": "\\ud83d"}', '{"a": "\\ud83d\\ude00\\\\u0000"}', '{"a": "\\u0000']).map(
        lambda text: {"type": "function_call", "call_id": "c2", "name": "f", "arguments": text}
    ),
    st.builds(lambda text: {"role": "assistant", "content": "x", "more": {text: [1.5, None, 2**70]}}, texts()),
)
OF_SESSION = st.one_of(
    st.tuples(st.just("add"), st.lists(ITEMS, max_size=3)),
    st.tuples(st.just("add"), ITEMS.map(lambda item: [item] * MANY if len(str(item)) < 1_000 else [item])),
    st.tuples(st.just("get"), st.sampled_from([None, 0, 1, 3, 110])),
    st.tuples(st.just("pop"), st.none()),
    st.tuples(st.just("at once"), st.integers(2, 5)),
    st.tuples(st.just("clear"), st.none()),
)


@like(16)
@given(operations=st.lists(OF_SESSION, min_size=2, max_size=6))
def test_a_session_of_openai_agents_is_as_one_in_sqlite(run: Any, operations: list[Any]):
    counted("openai-agents", [item for kind, given in operations if kind == "add" for item in given], len(operations))

    async def played(client: AsyncContextClient) -> None:
        name = uuid.uuid4().hex
        ours, theirs = ContextSession(name, client), SQLiteSession(name)
        for kind, argument in [*operations, ("get", None)]:
            answers = []
            for session in (ours, theirs):
                match kind:
                    case "add":
                        answers.append(await session.add_items(argument))
                    case "get":
                        answers.append(await session.get_items(argument))
                    case "pop":
                        answers.append(await session.pop_item())
                    case "clear":
                        answers.append(await session.clear_session())
                    case _:  # the same item, so their order is nothing
                        item = {"role": "user", "content": "at once\0"}
                        answers.append(await asyncio.gather(*(session.add_items([item]) for _ in range(argument))))
            assert answers[0] == answers[1], kind

    run(played)


VALUES = st.dictionaries(
    st.sampled_from(["t", "u", "of\0", "v"]), st.one_of(texts(), st.integers(-5, 5), st.booleans()), max_size=3
)
OF_STORE = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("abc"), VALUES, st.integers(-5, 5)),
    st.tuples(st.just("many"), st.sampled_from("def"), st.integers(0, 3), st.integers(-5, 5)),
    st.tuples(st.just("delete"), st.sampled_from("abc"), st.none(), st.none()),
    st.tuples(
        st.just("filter"), st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), st.none(), st.integers(-5, 5)
    ),
    st.tuples(st.just("text"), st.sampled_from("abc"), texts(), st.none()),
)


@like(12)
@given(operations=st.lists(OF_STORE, min_size=2, max_size=8))
def test_a_store_of_langgraph_is_as_one_in_memory(blocking: ContextClient, operations: list[Any]):
    counted(
        "langgraph store",
        [*operations, *([0] * 101 if any(one[0] == "many" for one in operations) else ())],
        len(operations),
    )
    at = (uuid.uuid4().hex, "of\ud83d")
    ours, theirs = ContextStore(blocking), InMemoryStore()

    def answered(store: Any, kind: str, key: str, value: Any, number: Any) -> Any:
        match kind:
            case "put":
                return store.put(at, key, value | {"n": number})
            case "many":
                with ThreadPoolExecutor(4) as pool:
                    list(pool.map(lambda n: store.put((*at, key), str(n), {"n": number, "m": value}), range(MANY)))
                return [len(store.search((*at, key), offset=offset, limit=50)) for offset in (0, 50, 100, 150)]
            case "delete":
                return store.delete(at, key)
            case "filter":
                found = store.search(at, filter={"n": {key: number}}, limit=1_000)
            case _:
                found = store.search(at, filter={"t": value}, limit=1_000)
        return sorted((one.namespace, one.key, json.dumps(one.value, sort_keys=True)) for one in found)

    for operation in [*operations, ("filter", "$gte", None, -5)]:
        assert answered(ours, *operation) == answered(theirs, *operation), operation[:2]
    # Theirs also has the namespace of a delete that found nothing.
    assert set(ours.list_namespaces(prefix=at)) - {at} == set(theirs.list_namespaces(prefix=at)) - {at}
    for key in "abc":
        mine, other = ours.get(at, key), theirs.get(at, key)
        assert (mine and mine.value) == (other and other.value)


MESSAGES = st.one_of(
    texts().map(HumanMessage),
    texts().map(
        lambda text: AIMessage(
            [{"type": "text", "text": text}], tool_calls=[{"id": "c", "name": "f", "args": {"a": 1}}]
        )
    ),
    texts().map(lambda text: ToolMessage(text, tool_call_id="c")),
)
OF_SAVER = st.tuples(
    st.sampled_from(["messages", "other"]), st.lists(MESSAGES, max_size=3), texts(), st.integers(0, 3), st.booleans()
)


@like(16)
@given(operations=st.lists(OF_SAVER, min_size=1, max_size=6))
def test_a_checkpointer_of_langgraph_is_as_one_in_memory(blocking: ContextClient, operations: list[Any]):
    counted(
        "langgraph saver",
        [[str(one) for one in operation[1]] + [operation[2]] for operation in operations],
        len(operations),
    )
    savers: list[Any] = [ContextSaver(blocking), InMemorySaver()]
    begun: Any = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
    config, past = begun, [begun]
    values: dict[str, Any] = {"messages": [], "other": [], "text": ""}
    versions: dict[str, Any] = {}
    for step, (channel, added, text, back, writes) in enumerate(operations):
        values = values | {channel: [*values[channel], *added], "text": text}
        versions = {name: savers[1].get_next_version(versions.get(name), None) for name in values}
        checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": versions}
        about: Any = {"source": "loop", "step": step, "parents": {}}
        made = [saver.put(config, checkpoint, about, versions) for saver in savers]
        assert made[0] == made[1]
        if writes:
            for saver in savers:
                saver.put_writes(made[0], [("messages", added), ("text", text)], f"task {step}")
        past.append(made[0])
        config = past[-1 - min(back, step)]
    for saver in (savers[0], ContextSaver(blocking)):
        for asked in (begun, *past[1:]):
            assert shown(saver.get_tuple(asked)) == shown(savers[1].get_tuple(asked))
        assert [shown(one) for one in saver.list(begun)] == [shown(one) for one in savers[1].list(begun)]


def shown(found: Any) -> Any:
    return found and (found.config, found.checkpoint, found.metadata, found.parent_config, found.pending_writes)


OF_ADK = st.tuples(
    st.sampled_from(["user", "clerk"]),
    st.lists(texts(), max_size=2),
    st.dictionaries(
        st.sampled_from(["a", "user:b", "app:c", "temp:d"]),
        st.one_of(texts(has_large=False), st.integers(), st.none()),
        max_size=2,
    ),
)


@like(12)
@given(
    begun=st.dictionaries(st.sampled_from(["a", "user:b"]), texts(has_large=False), max_size=1),
    operations=st.lists(OF_ADK, max_size=5),
)
def test_a_session_of_adk_is_as_one_in_memory(run: Any, begun: dict[str, Any], operations: list[Any]):
    counted("google-adk", [begun, *operations], len(operations))

    async def played(client: AsyncContextClient) -> None:
        place: Any = {"app_name": uuid.uuid4().hex, "user_id": "anna", "session_id": "s"}
        found = []
        for service in (ContextSessionService(client), InMemorySessionService()):
            session = await service.create_session(**place, state=begun)
            for number, (author, said, delta) in enumerate(operations):
                content = Content(role="user", parts=[Part(text=text) for text in said]) if said else None
                actions = EventActions(state_delta=delta)
                event = Event(id=f"e{number}", author=author, timestamp=number + 1.0, content=content, actions=actions)
                await service.append_event(session, event)
            read = await service.get_session(**place)
            assert read is not None
            found.append((read.state, [(one.id, one.author, one.content) for one in read.events]))
        assert found[0] == found[1]

    run(played)


# Files only: of a folder without files there is nothing here, as the page says.
PATHS = st.sampled_from(["/memories/a.md", "/memories/b.md", "/memories/of/c.md"])
LINES = st.lists(st.sampled_from(["one", "two", "", "три", "x" * 2_000]), max_size=4).map("\n".join)
OF_MEMORY = st.one_of(
    st.builds(lambda path, text: {"command": "create", "path": path, "file_text": text}, PATHS, LINES),
    st.builds(lambda path: {"command": "view", "path": path}, PATHS),
    st.builds(lambda path: {"command": "delete", "path": path}, PATHS),
    st.builds(lambda path, to: {"command": "rename", "old_path": path, "new_path": to}, PATHS, PATHS),
    st.builds(
        lambda path, old: {"command": "str_replace", "path": path, "old_str": old, "new_str": "ON\nE"}, PATHS, LINES
    ),
    st.builds(
        lambda path, line, text: {"command": "insert", "path": path, "insert_line": line, "insert_text": text},
        *(PATHS, st.integers(0, 3), LINES),
    ),
)


@like(16)
@given(operations=st.lists(OF_MEMORY, min_size=4, max_size=12))
def test_a_memory_of_anthropic_is_as_one_in_files(blocking: ContextClient, operations: list[Any]):
    counted("anthropic", operations, len(operations))
    with tempfile.TemporaryDirectory() as folder:
        tools = [MemoryTool(uuid.uuid4().hex, blocking), BetaLocalFilesystemMemoryTool(folder)]
        views = [
            {"command": "view", "path": path} for path in ("/memories/a.md", "/memories/b.md", "/memories/of/c.md")
        ]
        for command in [*operations, *views]:
            answers = [answer_of(tool, command) for tool in tools]
            assert answers[0] == answers[1], command


def answer_of(tool: Any, command: dict[str, Any]) -> Any:
    """Return what a model sees: of an error only that it is one; nothing of a folder, since theirs shows empty ones."""
    try:
        answer = str(tool.call(command))
    except ToolError:
        return "error"
    return None if "directories up to 2 levels" in answer else answer


OF_STRANDS = st.tuples(
    st.sampled_from(["user", "assistant"]), st.lists(texts(has_halves=False), min_size=1, max_size=2), st.booleans()
)


@like(12)
@given(
    operations=st.lists(OF_STRANDS, min_size=1, max_size=5),
    limit=st.sampled_from([None, 1, 3]),
    offset=st.integers(0, 3),
)
def test_a_session_of_strands_is_as_one_in_files(
    blocking: ContextClient, operations: list[Any], limit: int | None, offset: int
):
    counted("strands", operations, len(operations))
    name, at = uuid.uuid4().hex, "2026-01-02T03:04:05+00:00"
    with tempfile.TemporaryDirectory() as folder:
        answers = []
        for manager in (ContextSessionManager(name, blocking), FileSessionManager(name, storage_dir=folder)):
            manager.create_agent(name, SessionAgent("clerk", {"a": [text[:100] for text in operations[0][1]]}, {}))
            for place, (role, said, is_changed) in enumerate(operations):
                message: Any = {"role": role, "content": [{"text": text} for text in said]}
                manager.create_message(name, "clerk", SessionMessage(message, place, created_at=at, updated_at=at))
                if is_changed:
                    message = {"role": role, "content": [{"text": "changed\0"}]}
                    manager.update_message(name, "clerk", SessionMessage(message, place, created_at=at, updated_at=at))
            listed = manager.list_messages(name, "clerk", limit, offset)
            agent = manager.read_agent(name, "clerk")
            assert agent is not None
            answers.append((agent.state, [(one.message_id, one.to_message()) for one in listed]))
        assert answers[0] == answers[1]


def test_the_examples_are_hostile_enough(record_property: Any):
    """At least three of ten have NUL, half a character, more than 1 MiB or more than 100 items."""
    for name, count in sorted(COUNTS.items()):
        record_property(name, count)
    assert COUNTS["hostile"] >= 0.3 * COUNTS["examples"]
