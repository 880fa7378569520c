"""Checkpoints of LangGraph: its own conformance suite, and graphs that branch, stop, nest and go back."""

from __future__ import annotations

import itertools
import json
import operator
import os
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import PutOp
from langgraph.types import Command, Send, interrupt

from contextkeep import ContextClient
from contextkeep.adapters.langgraph import ContextSaver, ContextStore
from contextkeep.inputs import ExternalId
from tests.media import png, wav


@pytest.fixture(scope="session")
def calling() -> Iterator[ContextClient]:
    """A client of the sync kind."""
    with ContextClient() as opened:
        yield opened


def thread(name: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


async def test_langgraphs_conformance_suite_passes_whole(calling: ContextClient):
    @checkpointer_test(name="ContextSaver")
    async def made() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield ContextSaver(calling)

    report = await validate(made)
    failed = {name: result.failures for name, result in report.results.items() if result.failures}
    assert not failed
    assert report.passed_all()


class Work(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    found: Annotated[list[str], operator.add]
    plan: dict[str, Any]


def nested() -> Any:
    """A graph within the graph, which shares its messages and stops to ask."""
    builder = StateGraph(MessagesState)

    def ask(state: Any) -> Any:
        answer = interrupt({"question": "Really?"})
        return {"messages": [AIMessage(f"The user said {answer}.", id=f"asked-{len(state['messages'])}")]}

    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile()


def compiled(saver: Any) -> Any:
    """A graph that branches, calls three tasks at once, stops in a nested one, and makes another plan."""

    def look(state: Any) -> Any:
        return {"found": [f"looked at {state['place']}"]}

    def plan(state: Any) -> Any:
        return {"plan": {"of": len(state["messages"]), "nothing": None}}

    def say(state: Any) -> Any:
        count = len(state["messages"])
        return {"messages": [AIMessage(f"Found {sorted(state['found'])}.", id=f"said-{count}")]}

    builder = StateGraph(Work)
    builder.add_node("plan", plan)
    builder.add_node("look", look)
    builder.add_node("nested", nested())
    builder.add_node("say", say)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda state: [Send("look", {"place": place}) for place in "abc"], ["look"])
    builder.add_edge("look", "nested")
    builder.add_edge("nested", "say")
    builder.add_edge("say", END)
    return builder.compile(checkpointer=saver)


def shown(state: Any) -> Any:
    """Return what a state says but for what is made at random."""
    return (state.values, state.next, [task.interrupts and task.interrupts[0].value for task in state.tasks])


def turn(number: int) -> Any:
    return {"messages": [HumanMessage(f"Where is order {number}?", id=f"asks-{number}")]}


def worked(graph: Any, name: str) -> list[Any]:
    """Return what is seen on the way: a turn with a stop, another one, the past, and a branch from there."""
    seen: list[Any] = []
    for number in range(3):
        stopped = graph.invoke(turn(number), thread(name))
        seen.append(stopped["__interrupt__"][0].value)
        seen.append(shown(graph.get_state(thread(name), subgraphs=True)))
        seen.append(graph.invoke(Command(resume=f"yes {number}"), thread(name)))
    history = list(graph.get_state_history(thread(name)))
    seen += [shown(state) for state in history]
    past = next(state for state in history if state.next == ("say",))
    changed = graph.update_state(past.config, {"messages": [AIMessage("Instead.", id="instead")]})
    seen.append(graph.invoke(None, changed))
    seen.append(shown(graph.get_state(past.config)))
    seen.append(len(list(graph.get_state_history(thread(name)))))
    graph.update_state(thread(name), {"messages": [RemoveMessage("asks-0")], "plan": {}})
    seen.append(shown(graph.get_state(thread(name))))
    seen.append([shown(state) for state in graph.get_state_history(thread(name), limit=2)])
    return seen


def test_a_graph_that_branches_stops_nests_and_goes_back_is_as_on_langgraphs_own(calling: ContextClient, name: str):
    ours, theirs = ContextSaver(calling), InMemorySaver()
    assert worked(compiled(ours), name) == worked(compiled(theirs), name)
    places = [
        [one.config["configurable"]["checkpoint_ns"][:6] for one in saver.list(thread(name))]
        for saver in (ours, theirs)
    ]
    assert sorted(places[0]) == sorted(places[1])
    # Another process, which has nothing in memory.
    cold, known = compiled(ContextSaver(calling)), compiled(theirs)
    assert shown(cold.get_state(thread(name))) == shown(known.get_state(thread(name)))
    assert [shown(one) for one in cold.get_state_history(thread(name))] == [
        shown(one) for one in known.get_state_history(thread(name))
    ]


async def test_awaited_it_is_the_same(calling: ContextClient, name: str):
    graph = compiled(ContextSaver(calling))
    await graph.ainvoke(turn(1), thread(name))
    done = await graph.ainvoke(Command(resume="yes"), thread(name))
    assert (await graph.aget_state(thread(name))).values == done
    assert len([state async for state in graph.aget_state_history(thread(name))]) == 6


def stored_bytes(calling: ContextClient, name: str) -> int:
    """Return what a thread has stored."""
    found = calling.contexts.list(metadata_contains={"langgraph": {"thread": name}})
    return sum(
        len(message.content) + len(message.metadata_json) + sum(len(part.data_json) for part in message.parts)
        for context in list(found)
        for message in calling.contexts.list_messages(context.context_id, page_size=500)
    )


def saying(saver: Any, messages: list[AnyMessage]) -> Any:
    """A graph with one node, which says messages."""
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda _: {"messages": messages})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


PNG = b64encode(png(120, 80)).decode()
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>"
)
WITH_FILES: list[AnyMessage] = [
    HumanMessage(
        [
            {"type": "text", "text": "Что на снимке?"},
            {"type": "image", "base64": PNG, "mime_type": "image/png"},
            {
                "type": "file",
                "base64": b64encode(PDF).decode(),
                "mime_type": "application/pdf",
                "extras": {"filename": "счёт.pdf"},
            },
            {"type": "audio", "base64": b64encode(wav(1)).decode(), "mime_type": "audio/wav"},
            {"type": "image", "url": "https://example.org/a.png"},
        ],
        id="asks",
    ),
    HumanMessage([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}], id="again"),
    AIMessage("I look.", tool_calls=[{"id": "c1", "name": "shot", "args": {"of": "x\0"}}], id="calls"),
    ToolMessage(
        [{"type": "text", "text": "done"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}],
        tool_call_id="c1",
        id="answers",
    ),
    AIMessage("a\0b", id="says"),
]


def test_files_come_out_as_they_went_in_and_are_pictures_in_a_window(calling: ContextClient, name: str):
    saver = ContextSaver(calling)
    saying(saver, WITH_FILES[2:]).invoke({"messages": WITH_FILES[:2]}, thread(name))
    saver.copy_thread(name, f"{name}-copy")
    (context,) = calling.contexts.get_by_external_id(ExternalId("langgraph", name))
    messages = list(calling.contexts.list_messages(context.context_id))
    assert len(messages) == len(WITH_FILES)
    shown = [part.file for part in messages[0].parts if part.file]
    assert [(file.media_type, file.width, file.name) for file in shown] == [
        ("image/png", 120, ""),
        ("application/pdf", 0, "счёт.pdf"),
        ("audio/wav", 0, ""),
    ]
    window = calling.windows.open(context.context_id, "gpt-5", message_format="openai_responses")
    packed = json.dumps(calling.windows.pack(window.window_id).body)
    assert packed.count(f"data:image/png;base64,{PNG}") == 3
    assert packed.count('"input_image"') == 3
    assert packed.count('"input_file"') == 1
    assert '"function_call_output"' in packed
    assert "msgpack" not in packed
    # A copy has files of its own.
    saver.delete_thread(name)
    copied = saying(ContextSaver(calling), []).get_state(thread(f"{name}-copy"))
    assert copied.values["messages"] == WITH_FILES


def talking(saver: Any, channel: Any = add_messages) -> Any:
    builder = StateGraph(TypedDict("Talk", {"messages": Annotated[list, channel]}))
    builder.add_node(
        "model", lambda state: {"messages": [AIMessage(f"Answer {len(state['messages'])}. " + "word " * 40)]}
    )
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


def test_a_turn_takes_as_many_bytes_in_a_long_thread_as_in_a_short_one(calling: ContextClient, name: str):
    graph = talking(ContextSaver(calling))
    sizes = [0]
    for _ in range(6):
        for number in range(10):
            graph.invoke(turn(number), thread(name))
        sizes.append(stored_bytes(calling, name))
    grown = [after - before for before, after in itertools.pairwise(sizes)]
    assert grown[-1] < 1.05 * grown[0]
    assert len(graph.get_state(thread(name)).values["messages"]) == 10 + 60


def test_what_a_thread_said_is_a_conversation_that_is_recalled(calling: ContextClient, name: str):
    graph = compiled(ContextSaver(calling))
    graph.invoke({"messages": [HumanMessage("The staging port is 8443.")]}, thread(name))
    graph.invoke(Command(resume="yes"), thread(name))
    (context,) = calling.contexts.get_by_external_id(ExternalId("langgraph", name))
    recalled = calling.contexts.recall(context.context_id, "which port?")
    assert recalled.items[0].text == "The staging port is 8443."
    assert {one.role for one in calling.contexts.list_messages(context.context_id) if one.content} == {
        "user",
        "assistant",
    }


def test_any_value_comes_back_however_large_or_strange(calling: ContextClient, name: str):
    values = [
        "\x00",
        "a\x00b",
        "",
        "x" * 3_000_000,
        b"\xff" * 1_000_000,
        ("a", 1),
        {1, 2},
        float("nan"),
        2**60,
        None,
        [[]],
    ]
    builder = StateGraph(TypedDict("Any", {"value": Any, "values": list}))
    builder.add_node("keep", lambda _: {"value": values[3], "values": values[1:]})
    builder.add_edge(START, "keep")
    read = []
    for saver, cold in [(ContextSaver(calling), ContextSaver(calling)), [InMemorySaver()] * 2]:
        builder.compile(checkpointer=saver).invoke({"value": values[0]}, thread(name))
        read.append(repr(builder.compile(checkpointer=cold).get_state(thread(name)).values))
    assert read[0] == read[1]


def test_a_delta_channel_is_put_together_again(calling: ContextClient, name: str):
    from langgraph.channels import DeltaChannel
    from langgraph.graph.message import _messages_delta_reducer

    graph = talking(ContextSaver(calling), DeltaChannel(_messages_delta_reducer))
    for number in range(4):
        graph.invoke(turn(number), thread(name))
    cold = talking(ContextSaver(calling), DeltaChannel(_messages_delta_reducer))
    read = cold.get_state(thread(name)).values["messages"]
    assert [one.type for one in read] == ["human", "ai"] * 4
    with pytest.raises(NotImplementedError):
        ContextSaver(calling).prune([name])


def test_threads_of_users_are_apart_and_a_deleted_one_is_gone(calling: ContextClient, name: str):
    mine, others = (talking(ContextSaver(calling, subject_user_id=f"{name}-{user}")) for user in ("a", "b"))
    mine.invoke(turn(1), thread(name))
    assert others.get_state(thread(name)).values == {}
    others.invoke(turn(2), thread(name))
    assert len(mine.get_state(thread(name)).values["messages"]) == 2
    mine.checkpointer.delete_thread(name)
    assert mine.get_state(thread(name)).values == {}
    assert len(others.get_state(thread(name)).values["messages"]) == 2
    mine.invoke(turn(3), thread(name))
    assert mine.get_state(thread(name)).values["messages"][0].id == "asks-3"


def test_a_pruned_thread_keeps_its_newest_state_and_goes_on(calling: ContextClient, name: str):
    saver = ContextSaver(calling)
    graph = talking(saver)
    for number in range(3):
        graph.invoke(turn(number), thread(name))
    before = graph.get_state(thread(name)).values
    saver.prune([name])
    assert len(list(graph.get_state_history(thread(name)))) == 1
    assert talking(ContextSaver(calling)).get_state(thread(name)).values == before
    graph.invoke(turn(9), thread(name))
    assert len(graph.get_state(thread(name)).values["messages"]) == len(before["messages"]) + 2


def stored(store: Any, at: tuple[str, ...]) -> list[Any]:
    """Return what a store answers on the way."""
    seen: list[Any] = []
    for n, (user, kind) in enumerate([("ann", "facts"), ("ann", "rules"), ("bob", "facts")]):
        for key in ("a", "b"):
            value = {"text": f"{user} has {kind} {key}", "rank": n, "deep": {"list": [1, None]}}
            store.put((*at, user, kind), key, value)
    store.put((*at, "ann", "facts"), "a", {"text": "ann likes herrings", "rank": 7})
    store.put((*at, "bob", "facts"), "large", {"text": "x" * 100_000})
    store.delete((*at, "ann", "rules"), "a")
    store.delete((*at, "ann", "rules"), "never")
    store.put((*at, "ann", "rules"), "c", {"again": True, "rank": 5})
    store.delete((*at, "ann", "rules"), "c")
    store.put((*at, "ann", "rules"), "c", {"again": False, "rank": 6})
    for key in ("a", "b", "none"):
        seen.append((one := store.get((*at, "ann", "facts"), key)) and (one.namespace, one.key, one.value))
    for how in (
        *(
            {"filter": {"rank": 2}},
            {"filter": {"rank": {"$gte": 1, "$lt": 7}}},
            {"filter": {"deep": {"list": [1, None]}}},
        ),
        *({}, {"limit": 100}),
    ):
        found = store.search((*at, "ann"), limit=how.pop("limit", 50), **how)
        seen.append(sorted((one.namespace, one.key) for one in found))
    seen.append(len(store.search(at, limit=2, offset=5)))
    seen.append(store.list_namespaces(prefix=at))
    seen.append(store.list_namespaces(prefix=(*at, "*", "facts")))
    seen.append(store.list_namespaces(prefix=at, suffix=("rules",)))
    seen.append(store.list_namespaces(prefix=at, max_depth=2, limit=1, offset=1))
    seen.append(store.get((*at, "bob", "facts"), "large").value["text"][-3:])
    return seen


def test_the_store_answers_as_langgraphs_own(calling: ContextClient, name: str):
    from langgraph.store.memory import InMemoryStore

    assert stored(ContextStore(calling), (name,)) == stored(InMemoryStore(), (name,))


async def test_items_are_found_by_their_words(calling: ContextClient, name: str):
    store = ContextStore(calling, index=["text"])
    await store.aput((name, "ann"), "1", {"text": "She likes pickled herrings.", "other": "a bicycle"})
    await store.aput((name, "ann"), "2", {"text": "He lives by the harbour."})
    await store.aput((name, "bob"), "3", {"text": "Herrings are hated."})
    await store.aput((name, "ann"), "4", {"text": "Secret herrings"}, index=False)
    found = await store.asearch((name, "ann"), query="who eats herrings?")
    assert [one.key for one in found] == ["1"]
    assert found[0].score > 0
    assert await store.asearch((name, "ann"), query="bicycle") == []
    assert (await store.aget((name, "ann"), "1")).value["other"] == "a bicycle"


@pytest.mark.parametrize(
    "query", ["herrings", "which herrings?", "likes", "second line", "harbour " * 400, "Ωμέγα", "text"]
)
def test_without_an_index_every_text_of_a_value_is_found(calling: ContextClient, name: str, query: str):
    store = ContextStore(calling)
    store.put((name,), "a", {"text": "She likes\nherrings.", "more": [{"deep": "a second line, the harbour, Ωμέγα"}]})
    assert [one.key for one in store.search((name,), query=query)] == ["a"]
    assert store.search((name,), query="bicycle") == []
    assert store.search((name,), query="?!") == []


@pytest.mark.parametrize("index", [None, ["t"]])
@pytest.mark.parametrize("size", [10, 30_000, 600_000])
def test_a_value_of_any_size_is_found_and_comes_back(
    calling: ContextClient, name: str, index: list[str] | None, size: int
):
    store = ContextStore(calling, index=index)
    value = {"a": "pad " * size, "t": "harbour"}
    store.put((name,), "small", {"t": "harbour"})
    store.put((name,), "large", value)
    for query in ("harbour", None):
        assert {one.key: one.value["t"] for one in store.search((name,), query=query)} == {
            "small": "harbour",
            "large": "harbour",
        }
    assert bool(store.search((name,), query="pad")) is (index is None)
    assert store.get((name,), "large").value == value
    store.put((name,), "large", {"t": "lighthouse"} | {"a": value["a"]}, index=False)
    assert [one.key for one in store.search((name,), query="lighthouse harbour pad")] == ["small"]
    assert store.get((name,), "large").value["t"] == "lighthouse"


def test_a_word_far_behind_in_an_item_is_found(calling: ContextClient, name: str):
    """A search reads 50,000 characters of a record."""
    store = ContextStore(calling)
    store.put((name,), "long", {"a": " ".join(f"word{n % 3_000}" for n in range(40_000)), "z": "the lighthouse"})
    assert [one.key for one in store.search((name,), query="lighthouse")] == ["long"]


@pytest.mark.parametrize("value", [{"t": "a\0b"}, {"t": "cat \ud83d"}, {"t": "x", "n": float("inf")}, {"\0": 1}])
def test_a_value_that_postgres_keeps_not_as_json_comes_back(calling: ContextClient, name: str, value: dict[str, Any]):
    store = ContextStore(calling)
    store.put((name, "of\ud83d"), "a\ud83d", value)
    for item in (store.get((name, "of\ud83d"), "a\ud83d"), *store.search((name, "of\ud83d"))):
        assert (item.namespace, item.key, item.value) == ((name, "of\ud83d"), "a\ud83d", value)
    assert store.list_namespaces(prefix=(name, "of\ud83d")) == [(name, "of\ud83d")]


def test_an_items_large_value_goes_with_it(calling: ContextClient, name: str):
    """Values that were replaced or deleted leave no file."""
    store = ContextStore(calling)

    def files() -> set[str]:
        rows = calling.records.query(["working_memory_id"], where={"memory_type": "langgraph/value"}, limit=1_000)
        return {row["working_memory_id"] for row in rows}

    before = files()
    for word in ("one", "two", "three"):
        store.put((name,), "a", {"t": word, "pad": "x " * 30_000})
    assert len(files() - before) == 1
    store.delete((name,), "a")
    assert files() == before


def test_puts_of_an_item_at_once_leave_a_value_that_is_there(calling: ContextClient, name: str):
    store = ContextStore(calling)

    def put(n: int) -> None:
        store.put((name,), "a", {"n": n, "pad": "x " * 30_000})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(12)))
    assert store.get((name,), "a").value["n"] in range(12)


ITEMS: dict[str, dict[str, Any]] = {
    "a": {"n": 3, "day": "2026-01-01", "is": True, "list": [1, None], "deep": {"er": 1}},
    "b": {"n": "unknown", "day": "2025-06-30", "is": False, "list": []},
    "c": {"n": 7.5, "day": "", "is": None},
    "d": {"day": "2026-01-01T10:00:00Z", "is": 1},
    "e": {"n": 2, "of.dots": 1, "": 2, "pad": "x " * 30_000, "list": [1, None]},
    "f": {"n": None, "large": "y" * 3_000, "pad": "x " * 30_000},
}
FILTERS: list[dict[str, Any]] = [
    *({"n": {name: 3}} for name in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")),
    *({"day": {name: "2026-01-01"}} for name in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")),
    *({"is": value} for value in (True, False, None, 1)),
    *({"is": {"$ne": value}} for value in (True, None)),
    *({"list": value} for value in ([1, None], [])),
    {"n": {"$gte": 3, "$lt": 8}, "day": {"$gt": "2025"}},
    {"of.dots": 1},
    {"": {"$ne": 1}},
    {"large": "y" * 3_000},
    {"large": {"$gt": "x"}},
    {"none": {"$ne": 1}},
    {"n": "unknown"},
    {"n": 3.0},
]


def test_filters_are_those_of_langgraphs_postgres_store(calling: ContextClient, name: str):
    """Also of values that are in a file, and of a field whose name is no path."""
    from langgraph.store.postgres import PostgresStore

    ours = ContextStore(calling, index=["none"])
    with PostgresStore.from_conn_string(os.environ["CONTEXTKEEP_TEST_POSTGRES"]) as theirs:
        theirs.setup()
        for key, value in ITEMS.items():
            ours.put((name,), key, value)
            theirs.put((name,), key, value)
        for wanted in [{}, *FILTERS]:
            for page in ({}, {"offset": 1, "limit": 2}):
                found = [[one.key for one in store.search((name,), filter=wanted, **page)] for store in (ours, theirs)]
                assert found[0] == found[1], (wanted, page)
        for store in (ours, theirs):
            with pytest.raises(ValueError, match="like"):
                store.search((name,), filter={"n": {"$like": 1}})


def test_a_number_is_compared_by_its_value(calling: ContextClient, name: str):
    """As in LangGraph's stores in memory and of SQLite; its Postgres store compares the texts of numbers."""
    store = ContextStore(calling)
    for number in (9, 10, 100, -5):
        store.put((name,), str(number), {"n": number})
    assert {one.key for one in store.search((name,), filter={"n": {"$gt": 9}})} == {"10", "100"}
    assert [one.key for one in store.search((name,), filter={"n": {"$lt": 0}})] == ["-5"]


def test_pages_of_a_filter_and_of_a_query_reach_past_100_hits(calling: ContextClient, name: str):
    store = ContextStore(calling, index=["t"])
    puts = [PutOp((name,), f"n{n}", {"t": "harbour harbour", "kind": "noise"}) for n in range(120)]
    puts += [PutOp((name,), f"w{n}", {"t": "harbour " + "other words " * 60, "kind": "want"}) for n in range(5)]
    store.batch(puts)
    wanted = {f"w{n}" for n in range(5)}
    assert {one.key for one in store.search((name,), query="harbour", filter={"kind": "want"}, limit=5)} == wanted
    pages = [store.search((name,), query="harbour", offset=at, limit=25) for at in range(0, 150, 25)]
    assert [len(page) for page in pages] == [25] * 5 + [0]
    assert len({one.key for page in pages for one in page}) == 125
    newest = [one.key for at in (0, 100) for one in store.search((name,), offset=at, limit=100)]
    assert newest == [op.key for op in reversed(puts)]
