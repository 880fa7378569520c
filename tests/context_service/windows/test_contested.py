"""Rules and values that may have changed, in stored windows: when they are listed, and how callers decide."""

from __future__ import annotations

from typing import Any

import pytest

from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import opened, packed, said

RULE = "Never restart the broker during the day."
LATER = "Restarting the broker is fine at any hour now."
VALUE = "The reminder lead time is 72 hours."
NEWER = "Dr. Brandt wants the reminder lead time at 36."


async def state(caller: Caller, window: windows_pb.Window) -> dict[str, list[str]]:
    entries = (await caller.call("GetState", window_id=window.window_id)).entries
    sections = ("constraint", "value", "contested")
    return {section: [one.text for one in entries if one.section == section] for section in sections}


async def contested(caller: Caller) -> windows_pb.Window:
    """Return a window in which a rule and a value may have changed; each message was packed alone."""
    context_id = await said(caller, "", {"content": RULE})
    window = await opened(caller, context_id)
    await packed(caller, window)
    for text in (VALUE, NEWER, LATER):
        await said(caller, context_id, {"content": text})
        await packed(caller, window)
    return window


async def test_what_other_words_may_have_changed_is_listed_also_if_each_message_is_packed_alone(caller: Caller):
    window = await contested(caller)

    assert await state(caller, window) == {
        "constraint": [],
        "value": [],
        "contested": [
            f"user: {NEWER} (m3/0); before: user: {VALUE} (m2/0)",
            f"user: {LATER} (m4/0); before: user: {RULE} (m1/0)",
        ],
    }
    body = (await packed(caller, window)).messages_json
    assert f"- may have changed: user: {NEWER} (m3/0); before: user: {VALUE} (m2/0)" in body


@pytest.mark.parametrize(
    "name",
    [
        {"section": "contested", "key": "reminderLeadTime"},
        {"section": "contested", "text": f"user: {NEWER} (m3/0); before: user: {VALUE} (m2/0)"},
        {"section": "value", "key": "reminder lead time"},
    ],
)
async def test_a_caller_removes_a_value_that_may_have_changed(caller: Caller, name: dict[str, Any]):
    window = await contested(caller)
    await caller.call("PatchState", window_id=window.window_id, remove=[windows_pb.StateEntryName(**name)])

    assert (await state(caller, window))["value"] == []
    assert [text.startswith("user: Restarting") for text in (await state(caller, window))["contested"]] == [True]


@pytest.mark.parametrize(
    "name",
    [
        {"section": "contested", "text": f"user: {LATER} (m4/0); before: user: {RULE} (m1/0)"},
        {"section": "constraint", "text": RULE},
    ],
)
async def test_a_caller_removes_a_rule_that_may_have_changed_and_only_its_user_makes_it_again(
    caller: Caller, name: dict[str, Any]
):
    window = await contested(caller)
    await caller.call("PatchState", window_id=window.window_id, remove=[windows_pb.StateEntryName(**name)])
    assert RULE not in str((await state(caller, window)).values())

    await said(caller, window.context_id, {"content": RULE})
    await packed(caller, window)
    assert (await state(caller, window))["constraint"] == [RULE]


async def test_a_caller_decides_on_a_value_that_may_have_changed(caller: Caller):
    window = await contested(caller)
    entry = windows_pb.StateEntryInput(section="value", key="reminder lead time", value="48")
    await caller.call("PatchState", window_id=window.window_id, set=[entry])

    now = await state(caller, window)
    assert now["value"] == ["reminder lead time: 48"]
    assert NEWER not in str(now["contested"])


async def test_a_recalled_passage_says_in_its_head_that_its_statement_was_replaced_lifted_or_perhaps_changed(
    caller: Caller,
):
    """The newer statements are recalled, too, or stand in the state; the older ones must not mislead."""
    told = [
        "The interloan fee is 2.75 CHF.",
        "Use tabs in all interloan templates.",
        "The interloan discount is 40 percent.",
        *("Archive sheet " + " ".join(f"{word}{n}" for word in ("lorem", "ipsum", "dolor") * 60) for n in range(40)),
        "The interloan fee is 3.25 CHF.",
        "Forget the rule about tabs in all interloan templates.",
        "Ann wants the interloan discount at 60 percent.",
    ]
    context_id = await said(caller, "", {"content": told[0]})
    window = await opened(caller, context_id, 12_000, config={"conversation_share": 0.05})
    for text in told[1:]:
        await said(caller, context_id, {"role": "user", "content": text})
        await packed(caller, window)
    await said(caller, context_id, {"content": "Which interloan fee, templates and discount do we have?"})
    body = (await packed(caller, window)).messages_json
    recalled = body[body.index("Recalled from earlier") :].split("\\n")

    heads = {line[: line.index("]") + 1]: line for line in recalled if line.startswith("[m")}
    assert heads["[m1.0]"].endswith(f", superseded by m{len(told) - 2}")
    assert heads["[m2.0]"].endswith(f", lifted by m{len(told) - 1}")
    assert heads["[m3.0]"].endswith(f", perhaps changed by m{len(told)}")


async def test_a_pack_recalls_a_passage_once_and_again_when_it_no_longer_holds(caller: Caller):
    """A second copy tells a model nothing, but the first one lacks the mark of what came after it."""
    told = [
        "The interloan fee is 2.75 CHF.",
        *("Archive sheet " + " ".join(f"{word}{n}" for word in ("lorem", "ipsum", "dolor") * 60) for n in range(40)),
    ]
    context_id = await said(caller, "", {"content": told[0]})
    window = await opened(caller, context_id, 12_000, config={"conversation_share": 0.05})
    for text in told[1:]:
        await said(caller, context_id, {"role": "user", "content": text})
        await packed(caller, window)

    async def asked() -> list[str]:
        await said(caller, context_id, {"content": "Which interloan fee do we have?"})
        lines = (await packed(caller, window)).messages_json.split("\\n")
        return [line for line in lines if line.startswith("[m1.0]")]

    assert len(await asked()) == 1
    assert len(await asked()) == 1
    await said(caller, context_id, {"content": "The interloan fee is 3.25 CHF."})
    first, second = await asked()
    assert "superseded" not in first
    assert "superseded by" in second
    assert len(await asked()) == 2
