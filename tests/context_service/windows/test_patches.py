"""The state of the work as callers say it, over two replicas: told at once, kept through folds and retractions."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from context_service.packing.store.views import ViewRows
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import (
    BudgetTooSmall,
    Internal,
    InvalidArgument,
    LimitExceeded,
    RequestIdReused,
    WindowClosed,
    WindowNotFound,
)
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import calls, opened, packed, result, said
from tests.context_service.windows.folding.test_folding import step
from tests.context_service.windows.test_editing import begins_with
from tests.context_service.windows.test_windows import FORMATS, checked, run

RULE = {"section": "constraint", "key": "vendor", "text": 'Never touch "vendor/" — 終わり 🏃.'}
PORT = {"section": "value", "key": "staging port", "value": "9001"}


async def patch(caller: Caller, window: windows_pb.Window, *entries: dict[str, str], **fields: Any) -> int:
    answer = await caller.call("PatchState", window_id=window.window_id, set=entries, **fields)
    return int(answer.changed_count)


async def removed(caller: Caller, window: windows_pb.Window, *entries: dict[str, str]) -> int:
    return await patch(caller, window, remove=entries)


async def state(caller: Caller, window: windows_pb.Window, *sections: str) -> list[tuple[str, ...]]:
    entries = (await caller.call("GetState", window_id=window.window_id, sections=sections)).entries
    return [(one.section, one.key, one.text, one.value, one.source) for one in entries]


@pytest.mark.parametrize("to", FORMATS)
async def test_what_callers_say_is_in_the_next_pack_and_through_folds(
    to: Format, caller: Caller, other_replica: Caller
):
    """Behind the last step, so that the prefix holds, as long as no step waits; then in the state."""
    context_id = await said(caller, "", {"content": "Go."})
    window = await opened(caller, context_id, 1_200, format=FORMATS[to])
    before = await packed(caller, window)
    assert await patch(caller, window, RULE, {"section": "sub_goal", "key": "1", "text": "Look."}) == 2
    replicas, epochs = [caller, other_replica], set()
    for number, message in enumerate(chain.from_iterable(run(range(10)))):
        await said(caller, context_id, message)
        if number == 7:
            await patch(caller, window, {"section": "sub_goal", "key": "1", "text": "Look.", "value": "done"})
        replicas.reverse()
        pack, again = [await packed(replica, window) for replica in replicas]
        assert pack == again
        body = checked(pack, window, to).decode()
        assert begins_with(pack, before) or pack.epoch > before.epoch
        assert orjson.dumps(RULE["text"])[1:-1].decode() in body
        if number > 7 and not pack.is_waiting:
            assert body[: body.rindex("Look.")].endswith(("(done): ", "[done] "))
        epochs.add(pack.epoch)
        before = pack
    assert len(epochs) > 1 and before.epoch == len(epochs) - 1


async def test_a_patch_while_a_step_waits_is_told_behind_its_results(caller: Caller):
    context_id = await said(caller, "", {"content": "Go."}, calls("c"))
    window = await opened(caller, context_id)
    waiting = await packed(caller, window)
    await patch(caller, window, RULE)
    assert await packed(caller, window) == waiting
    await said(caller, context_id, result("c", "there"))
    pack = await packed(caller, window)
    assert begins_with(pack, waiting) and pack.epoch == waiting.epoch
    *_, answered, note = orjson.loads(pack.messages_json)["messages"]
    assert (answered["role"], RULE["text"] in note["content"]) == ("tool", True)
    assert await packed(caller, window) == pack


async def test_who_speaks_last_is_right(caller: Caller):
    """A caller takes the place of what the log said before, and the log of what a caller said before."""
    context_id = await said(caller, "", {"content": "The staging port is 8443."})
    window = await opened(caller, context_id)
    await packed(caller, window)
    assert await patch(caller, window, PORT) == 1
    assert await state(caller, window) == [("value", "staging port", "staging port: 9001", "9001", "caller")]
    await packed(caller, window)
    await said(caller, context_id, {"content": "The staging port is now 7000."})
    pack = await packed(caller, window)
    assert "now: user: The staging port is now 7000. (m2/0); no longer: staging port: 9001" in pack.messages_json
    # Said before the window has read what is in the log already: it is the later one all the same.
    await said(caller, context_id, {"content": "The staging port is now 7001."})
    await patch(caller, window, {**PORT, "key": "STAGING_PORT", "value": "7002"})
    pack = await packed(caller, window)
    assert [one[3:] for one in await state(caller, window)] == [("7002", "caller")]
    assert orjson.loads(pack.messages_json)["messages"][-1]["content"].endswith("\n- value: STAGING_PORT: 7002")


async def test_what_was_outdone_before_it_was_told_is_not_told(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    await patch(caller, window, PORT)
    await said(caller, context_id, {"content": "The staging port is now 7000."})
    pack = await packed(caller, window)
    assert "9001" not in pack.messages_json.partition("[What has changed]")[0]
    assert "The caller says" not in pack.messages_json
    assert [one[3] for one in await state(caller, window)] == ["7000"]
    assert await packed(caller, window) == pack


async def test_what_is_removed_holds_no_longer_whoever_said_it(caller: Caller):
    context_id = await said(
        caller,
        "",
        {"content": "Never touch the vendor folder. The staging port is 8443."},
        {"content": "to be retracted", "message_id": "m"},
    )
    window = await opened(caller, context_id)
    before = await packed(caller, window)
    await patch(caller, window, RULE)
    await packed(caller, window)
    gone = (
        {"section": "constraint", "text": "Never touch the vendor folder."},
        {"section": "constraint", "key": "vendor"},
        {"section": "value", "key": "the stagingPort"},
        {"section": "decision", "key": "that is not there"},
    )
    assert await removed(caller, window, *gone) == 3
    assert await state(caller, window) == []
    pack = await packed(caller, window)
    assert begins_with(pack, before)
    assert orjson.loads(pack.messages_json)["messages"][-1]["content"].splitlines()[1:] == [
        "- no longer: constraint: Never touch the vendor folder.",
        f"- no longer: constraint: {RULE['text']}",
        "- no longer: value: The staging port is 8443.",
    ]
    assert await removed(caller, window, *gone) == 0
    # The log is read again from its beginning.
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m"])
    again = await packed(caller, window)
    assert again.epoch == pack.epoch + 1
    assert await state(caller, window) == []
    await said(caller, context_id, {"content": "The staging port is now 7000."})
    await packed(caller, window)
    assert [one[3] for one in await state(caller, window)] == ["7000"]


async def test_what_callers_said_outlives_a_retraction(caller: Caller):
    """Also what the retracted message took the place of; and the log before it does not win when it is read again."""
    context_id = await said(caller, "", {"content": "The staging port is 8443."})
    window = await opened(caller, context_id)
    await packed(caller, window)
    await patch(caller, window, PORT, RULE)
    await packed(caller, window)
    await said(caller, context_id, {"content": "The staging port is now 7000.", "message_id": "m"})
    await packed(caller, window)
    assert [one[3] for one in await state(caller, window, "value")] == ["7000"]

    await caller.call("RetractMessages", context_id=context_id, message_ids=["m"])

    pack = await packed(caller, window)
    assert "7000" not in pack.messages_json
    assert [(one[3], one[4]) for one in await state(caller, window, "value")] == [("9001", "caller")]
    note = orjson.loads(pack.messages_json)["messages"][-1]["content"]
    assert "staging port: 9001" in note and RULE["text"] in note
    # Of several that a caller said of the same, only the last.
    await patch(caller, window, {**PORT, "value": "9002"})
    await said(caller, context_id, {"content": "to be retracted", "message_id": "n"})
    await caller.call("RetractMessages", context_id=context_id, message_ids=["n"])
    await packed(caller, window)
    assert [(one[3], one[4]) for one in await state(caller, window, "value")] == [("9002", "caller")]


async def test_what_callers_said_survives_when_a_window_goes_back_to_a_step(caller: Caller):
    """Said before a fold, behind it, removed, or outdone by what is retracted; what it replaced stays out."""
    context_id = await said(caller, "", {"content": "The staging port is 8443."}, *chain.from_iterable(run(range(12))))
    window = await opened(caller, context_id, 1_500)
    await packed(caller, window)
    await patch(caller, window, RULE, {**RULE, "key": "gone", "text": "Never mind."})
    await packed(caller, window)
    await caller.call("Fold", window_id=window.window_id)
    await said(caller, context_id, {"content": "I go on."})
    await packed(caller, window)
    await patch(caller, window, PORT, remove=[{"section": "constraint", "key": "gone"}])
    await said(caller, context_id, {"content": "The staging port is now 7000.", "message_id": "m"})
    before = await packed(caller, window)
    assert [one[3] for one in await state(caller, window, "value")] == ["7000"]

    await caller.call("RetractMessages", context_id=context_id, message_ids=["m"])

    pack = await packed(caller, window)
    receipts = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    assert [
        one.rules[0].startswith("read the log again after step") for one in receipts if one.reason == "retracted"
    ] == [True]
    assert pack.epoch == before.epoch + 1 and "7000" not in pack.messages_json
    assert await state(caller, window, "value", "constraint") == [
        (*RULE.values(), "", "caller"),
        ("value", "staging port", "staging port: 9001", "9001", "caller"),
    ]
    note = orjson.loads(pack.messages_json)["messages"][-1]["content"]
    assert "staging port: 9001" in note and "- constraint: Never mind." not in note
    assert await packed(caller, window) == pack


async def test_a_constraint_that_is_given_while_a_window_folds_is_in_the_next_pack(
    caller: Caller, other_replica: Caller, monkeypatch: pytest.MonkeyPatch
):
    context_id = await said(caller, "", *chain.from_iterable(step(n) for n in range(20)))
    window = await opened(caller, context_id, 100_000)
    await packed(caller, window)
    reading = ViewRows.entries

    async def patching(self: ViewRows, *args: Any, **fields: Any) -> Any:
        held = await reading(self, *args, **fields)
        monkeypatch.setattr(ViewRows, "entries", reading)
        await patch(other_replica, window, RULE)  # the fold has read what holds
        return held

    monkeypatch.setattr(ViewRows, "entries", patching)
    await caller.call("Fold", window_id=window.window_id)
    pack = await packed(caller, window)
    assert pack.tokens_by_zone.masked and orjson.dumps(RULE["text"])[1:-1].decode() in pack.messages_json


async def test_the_same_again_changes_nothing_and_a_request_happens_once(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)
    request_id = an_id()
    both = (caller, other_replica) * 3
    counts = await asyncio.gather(*(patch(one, window, RULE, PORT, request_id=request_id) for one in both))
    assert counts == [2] * 6
    pack = await packed(caller, window)
    assert await patch(caller, window, PORT, RULE) == 0
    assert await packed(caller, window) == pack
    with pytest.raises(RequestIdReused):
        await patch(caller, window, PORT, request_id=request_id)
    assert len(await state(caller, window)) == 2


async def test_two_replicas_patch_at_once_and_nothing_is_lost(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", *chain.from_iterable(run(range(3))))
    window = await opened(caller, context_id)
    await asyncio.gather(
        *(
            patch(one, window, {"section": "decision", "key": f"{n}{name}", "text": f"decision {n}{name};"})
            for n in range(4)
            for name, one in (("a", caller), ("b", other_replica))
        ),
        packed(caller, window),
        packed(other_replica, window),
    )
    packs = [await packed(one, window) for one in (caller, other_replica)]
    assert packs[0] == packs[1]
    for name in "ab":
        assert [packs[0].messages_json.count(f"decision {n}{name};") for n in range(4)] == [1] * 4
    assert len(await state(caller, window, "decision")) == 8


async def test_a_kill_before_a_note_is_there_leaves_it_to_be_told(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id)

    async def dying(*_: Any, **__: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(ViewRows, "tell_later", dying)
        with pytest.raises(Internal):
            await patch(caller, window, PORT)
    assert await state(caller, window) == []
    await patch(caller, window, RULE)
    with monkeypatch.context() as patched:
        patched.setattr(ViewRows, "clear_tell_later", dying)
        with pytest.raises(Internal):
            await packed(caller, window)
    pack = await packed(caller, window)
    assert pack.messages_json.count("Never touch") == 1
    assert await packed(caller, window) == pack


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"section": "nonsense", "key": "k", "text": "t"}, "set[0].section"),
        ({"section": "removed", "key": "k", "text": "t"}, "set[0].section"),
        ({"section": "pin", "key": "k", "text": "t"}, "set[0].section"),
        ({"section": "lifted", "key": "k", "text": "t"}, "set[0].section"),
        ({"section": "constraint", "text": "t"}, "set[0].key"),
        ({"section": "value", "key": "_-.", "value": "t"}, "set[0].key"),
        ({"section": "goal", "key": "k", "text": "t"}, "set[0].key"),
        ({"section": "constraint", "key": "k", "text": " "}, "set[0].text"),
        ({"section": "value", "key": "k", "text": "t"}, "set[0].value"),
        ({"section": "sub_goal", "key": "k", "text": "t", "value": "begun"}, "set[0].value"),
        ({"section": "constraint", "key": "k", "text": "a\nConstraints:"}, "set[0].text"),
        ({"section": "constraint", "key": "k\x1b", "text": "t"}, "set[0].key"),
        ({"section": "constraint", "key": "k", "text": "a\0"}, "set[0].text"),
        ({"section": "constraint", "key": "k", "text": "a\u2028b"}, "set[0].text"),
    ],
    ids=str,
)
async def test_what_no_entry_can_be_is_refused_with_its_field(entry: dict[str, str], field: str, caller: Caller):
    window = await opened(caller, (await caller.send()).context_id)
    with pytest.raises(InvalidArgument) as error:
        await patch(caller, window, entry)
    assert error.value.violations[0].field == field
    assert ("artifact, constraint, decision, error, goal, next, progress" in str(error.value)) == field.endswith(
        ".section"
    )
    assert await state(caller, window) == []


async def test_what_callers_say_is_bounded(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    context_id = (await caller.send()).context_id
    window = await opened(caller, context_id, 2_000)
    for entries in (
        [{**RULE, "text": "x" * 2_001}],
        [{**RULE, "key": "x" * 201}],
        [{**PORT, "value": "x" * 2_001}],
        [{**RULE, "key": f"{n}"} for n in range(101)],
    ):
        with pytest.raises(LimitExceeded):
            await patch(caller, window, *entries)
    monkeypatch.setattr("context_service.windows.rules.update_window.ENTRIES_MAX", 3)
    await patch(caller, window, *({"section": "decision", "key": f"{n}", "text": "t"} for n in range(3)))
    with pytest.raises(LimitExceeded) as error:
        await patch(caller, window, RULE)
    assert error.value.metadata == {"limit": "entries", "limit_max": "3", "value": "4"}
    monkeypatch.undo()
    with pytest.raises(BudgetTooSmall) as too_small:
        await patch(caller, window, *({**RULE, "key": f"{n}", "text": f"{n} word" * 100} for n in range(20)))
    least = int(too_small.value.metadata["least"])
    assert least > 2_000
    fitting = await opened(caller, context_id, least)
    await patch(caller, fitting, *({**RULE, "key": f"{n}", "text": f"{n} word" * 100} for n in range(20)))
    assert await packed(caller, window)


async def test_the_state_is_patched_by_who_sees_the_context(caller: Caller):
    ada = caller.of("ada")
    window = await opened(ada, (await ada.send("of ada")).context_id)
    await patch(ada, window, RULE)
    for key in ("bob", "plain", "other", "app", "graph", "admin"):
        with pytest.raises(WindowNotFound):
            await patch(caller.of(key), window, PORT)
    await patch(caller.of("runtime"), window, PORT, subject_user_id="ada")
    assert [one[0] for one in await state(ada, window)] == ["constraint", "value"]
    await ada.call("CloseWindow", window_id=window.window_id)
    assert await state(ada, window) == []
    with pytest.raises(WindowClosed):
        await patch(ada, window, PORT)
