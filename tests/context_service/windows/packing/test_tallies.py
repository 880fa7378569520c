"""What is counted of a window's steps: tools and the things that are spoken of, over folds and retractions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import Any
from uuid import uuid4

import pytest

from context_service.kernel.parts import Part, ToolCall
from context_service.kernel.rendering import Call, Result
from context_service.packing.pure.texts.tallies import (
    ENTITIES_MAX,
    NO_TALLIES,
    TOOLS_MAX,
    StepTally,
    Tally,
    ToolUse,
    add_tallies,
    kind_of,
    nodes_in,
    parse_tallies,
    tallies_json,
    uses_of,
)
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import opened, packed, said
from tests.context_service.windows.messages import message

NODE = "0197f1f2-0000-7000-8000-000000000001"
TOOLS = ("read_file", "run_tests", "edit_file")


def call(name: str, result: Result | None = None) -> Call:
    return Call(ToolCall(id="c", name=name, arguments_json="{}"), "call_1_0", result)


def step(number: int, *names: str, tools: tuple[ToolUse, ...] = ()) -> StepTally:
    return StepTally(step=number, seq=10 * number, names=names, tools=tools)


def test_a_steps_calls_are_counted_by_tool_with_those_that_failed():
    """A call without a result has not failed; a name as long as a text is cut."""
    failed, answered = Result("no", True), Result("yes", False)
    made = [call("look", failed), call("look", answered), call("look"), call("a", answered), call("x" * 5_000)]
    assert uses_of(made) == [ToolUse("a", 1, 0), ToolUse("look", 3, 1), ToolUse("x" * 200, 1, 0)]
    assert len(uses_of([call(f"t{n}") for n in range(1_000)])) == 100


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"metadata_json": json.dumps({"entity_node_id": NODE})}, {NODE}),
        ({"metadata_json": json.dumps({"node_ids": [NODE.upper(), NODE, "none", 7, None]})}, {NODE}),
        ({"parts": (Part(text="a", metadata_json=json.dumps({"node_id": NODE})),)}, {NODE}),
        ({"parts": (Part(data_json=json.dumps({"node_id": NODE, "a": 1})),)}, {NODE}),
        ({"message_id": f"history:{NODE}:rule:0:7"}, {NODE}),
        ({"message_id": f"history:{NODE[:20]}:0"}, set()),
        ({"content": f'{{"node_id": "{NODE}"}}'}, set()),  # it is said, and not named
        ({"metadata_json": "{}"}, set()),
        ({"parts": (Part(data_json=f'["node_id", "{NODE}"]'),)}, set()),
        ({"parts": (Part(data_json=json.dumps({"node_id": NODE, "a": "x" * 70_000})),)}, set()),
        ({"parts": (Part(data_json=json.dumps({"node_id": {"node_id": NODE}})),)}, set()),
    ],
    ids=str,
)
def test_nodes_are_those_that_an_id_metadata_or_data_name(fields: dict[str, Any], found: set[str]):
    assert nodes_in(replace(message("user"), **fields)) == found


def test_a_message_that_names_very_many_nodes_is_about_the_first():
    nodes = [str(uuid4()) for _ in range(1_000)]
    named = nodes_in(replace(message("user"), metadata_json=json.dumps({"node_ids": nodes})))
    assert named == set(nodes[:20])


def test_what_a_thing_is_its_name_says():
    names = {
        NODE: "node",
        "src/app.py": "path",
        "app.py": "path",
        "keep_last": "name",
        "#12": "name",
        "keepLast": "name",
    }
    assert {one: kind_of(one) for one in names} == names


def test_counts_of_several_steps_add_up_wherever_they_are_parted():
    steps = [step(n, "a.py", *(["b.py"] * (n % 2)), tools=(ToolUse("look", 2, n % 2),)) for n in range(1, 8)]
    assert add_tallies(NO_TALLIES, [step(1, "a.py", "a.py.")]).entities == {"a.py": Tally(1, 0, 1, 10)}
    whole = add_tallies(NO_TALLIES, steps)
    assert whole.tools == {"look": Tally(14, 4, 7, 70)}
    assert list(whole.entities.items()) == [("a.py", Tally(7, 0, 7, 70)), ("b.py", Tally(4, 0, 7, 70))]
    for at in range(8):
        parted = add_tallies(parse_tallies(tallies_json(add_tallies(NO_TALLIES, steps[:at]))), steps[at:])
        assert parted == whole
    assert add_tallies(whole, []) == whole == parse_tallies(tallies_json(whole))


def test_of_very_many_names_the_most_frequent_are_kept_and_then_the_latest():
    steps = [step(n, f"n{n}", tools=(ToolUse(f"t{n}", 1, 0),)) for n in range(1, 2_001)]
    before = add_tallies(NO_TALLIES, [step(1, "often"), step(2, "often")])
    kept = parse_tallies(tallies_json(add_tallies(before, steps)))
    assert (len(kept.tools), len(kept.entities)) == (TOOLS_MAX, ENTITIES_MAX)
    assert list(kept.entities)[:3] == ["often", "n2000", "n1999"]
    assert len(tallies_json(kept)) < 64 * 1024


def worked(n: int) -> list[dict[str, Any]]:
    """Return a step of an agent: it calls a tool, now and then in vain, and speaks of a file."""
    name, file = TOOLS[n % 3], f"src/part_{n % 7}.py"
    made = message_pb2.ToolCall(id=f"c{n}", name=name, arguments_json=json.dumps({"path": file}))
    text = f"line {n} of {file}\n" * 60
    answered = message_pb2.ToolResult(tool_call_id=f"c{n}", content_json=json.dumps(text), is_error=n % 5 == 0)
    return [
        {"role": "assistant", "content": f"I look at {file}.", "parts": [message_pb2.Part(tool_call=made)]},
        {"role": "tool", "parts": [message_pb2.Part(tool_result=answered)], "message_id": f"r{n}"},
    ]


async def counted(
    caller: Caller, window: windows_pb.Window, *sections: str
) -> dict[tuple[str, str], tuple[int, int, int]]:
    answer = await caller.call("GetState", window_id=window.window_id, sections=sections or ("tool", "entity"))
    return {(one.section, one.key): (one.count, one.failure_count, one.last_step) for one in answer.entries}


async def test_tools_and_things_are_counted_over_folds(caller: Caller, other_replica: Caller):
    """Of steps that are masked, in summaries and as they were alike; by whichever replica."""
    about = message_pb2.Part(text="It is about her.", metadata_json=json.dumps({"entity_node_id": NODE}))
    context_id = await said(caller, "", {"content": "Begin.", "parts": [about]})
    window = await opened(caller, context_id, 4_000)
    for start in range(0, 60, 6):
        await said(caller, context_id, *chain.from_iterable(worked(n) for n in range(start, start + 6)))
        await packed((caller, other_replica)[start % 4 // 2], window)
    assert (await packed(caller, window)).omitted.step_count > 20

    found = await counted(caller, window)

    calls, failed, last = Counter(), Counter(), {}
    for n in range(60):
        calls[TOOLS[n % 3]] += 1
        failed[TOOLS[n % 3]] += n % 5 == 0
        last[TOOLS[n % 3]] = n + 2
    assert {key: counts for (section, key), counts in found.items() if section == "tool"} == {
        name: (calls[name], failed[name], last[name]) for name in TOOLS
    }
    files = {f"src/part_{k}.py": len(range(k, 60, 7)) for k in range(7)}
    assert {key: count for (section, key), (count, _, _) in found.items() if key in files} == files
    assert found["entity", NODE] == (1, 0, 1)
    assert found == await counted(other_replica, window)
    assert {section for section, _ in await counted(caller, window, "tool")} == {"tool"}
    fresh = await opened(caller, context_id, 1_000_000)
    await packed(caller, fresh)
    assert await counted(caller, fresh) == found


async def test_an_entry_of_what_is_counted_leads_to_where_it_was_last(caller: Caller):
    context_id = await said(caller, "", {"content": "Mind src/part_5.py."}, *worked(5))
    window = await opened(caller, context_id)
    assert not await counted(caller, window)  # it has read nothing
    await packed(caller, window)
    entries = (await caller.call("GetState", window_id=window.window_id)).entries
    described = {one.key: (one.section, one.text, one.value, one.source) for one in entries}
    assert described["edit_file"] == ("tool", "edit_file (1 call, 1 failed)", "", "rule")
    assert described["src/part_5.py"] in [
        ("artifact", "src/part_5.py (edited)", "edited", "rule"),
        ("entity", "src/part_5.py (2 steps)", "path", "rule"),
    ]
    assert {one.section for one in entries} == {"artifact", "tool", "entity"}
    (tool,) = (one for one in entries if one.section == "tool")
    original = await caller.call("Expand", window_id=window.window_id, ref=tool.ref)
    assert original.messages[0].content == "I look at src/part_5.py."
    await caller.call("CloseWindow", window_id=window.window_id)
    assert not (await caller.call("GetState", window_id=window.window_id)).entries


@pytest.mark.parametrize("limit", [100_000, 3_000])
async def test_nothing_is_counted_of_what_was_retracted(limit: int, caller: Caller):
    """At once, whether a fold has it or not; the next pack counts anew."""
    secret = {"content": "Look into vault/secret_plan.txt.", "message_id": "secret"}
    again = {"content": "It is in vault/secret_plan.txt."}
    context_id = await said(caller, "", again, secret, *chain.from_iterable(map(worked, range(20))))
    window = await opened(caller, context_id, limit)
    assert ((await packed(caller, window)).epoch > 0) == (limit == 3_000)
    assert ("entity", "vault/secret_plan.txt") in await counted(caller, window)
    await caller.call("RetractMessages", context_id=context_id, message_ids=["secret"])
    assert not await counted(caller, window)
    await packed(caller, window)
    left = await counted(caller, window)
    assert left and ("entity", "vault/secret_plan.txt") not in left
    assert sum(count for (section, _), (count, _, _) in left.items() if section == "tool") == 20


async def test_no_more_than_fifty_of_each_are_answered(caller: Caller):
    names = " ".join(f"src/file_{n}.py" for n in range(30))
    others = " ".join(f"lib/file_{n}.py" for n in range(30))
    context_id = await said(
        caller, "", *[{"content": text} for text in (names, others) * 2], {"content": "lib/file_7.py again"}
    )
    window = await opened(caller, context_id)
    await packed(caller, window)
    found = await counted(caller, window)
    assert len(found) == 50
    assert next(iter(found.items())) == (("entity", "lib/file_7.py"), (3, 0, 5))


async def test_what_is_counted_is_seen_by_who_sees_the_context(caller: Caller):
    ada = caller.of("ada")
    context_id = await said(ada, "", {"content": "See src/of_ada.py."}, {"content": "I mean src/of_ada.py."})
    window = await opened(ada, context_id)
    await packed(ada, window)
    assert await counted(ada, window)
    of_bob = await opened(caller.of("bob"), await said(caller.of("bob"), "", {"content": "Hello."}))
    await packed(caller.of("bob"), of_bob)
    assert not await counted(caller.of("bob"), of_bob)
