"""Prefetch, off and on: what the things at hand were last used with, before anybody asks for it."""

from __future__ import annotations

from context_service.packing.pure.texts.prefetch import NAMES_MAX, at_hand
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, result, said

NOISE = "\n".join(f"nothing in particular in line {n}" for n in range(60))


def test_what_is_at_hand_are_things_of_sub_goals_then_those_spoken_of_most():
    steps = [["a.py", "b.py"], ["b.py"], []]
    assert at_hand(["Mend src/lift.py.", "Look at b.py"], steps)[:1] == ["src/lift.py"]
    assert at_hand([], steps) == ["b.py", "a.py"]
    assert len(at_hand([], [[f"{n}.py" for n in range(100)]])) == NAMES_MAX
    assert at_hand([], []) == []


async def test_what_a_sub_goal_names_comes_back_with_what_it_was_used_with(caller: Caller, other_replica: Caller):
    context_id = await said(caller, "", {"content": "The house has lifts."})
    await said(caller, context_id, calls("lift"), result("lift", "src/lift.py wants the key LIFT_KEY_OF_HOUSE_9"))
    for n in range(30):
        await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", f"{NOISE}\nfound in {n}"))
    config = windows_pb.WindowConfig(prefetch=True)
    plain, ahead = [await opened(caller, context_id, 12_000, config=one) for one in (None, config)]
    for window in (plain, ahead):
        await packed(caller, window)
        sub_goal = windows_pb.StateEntryInput(section="sub_goal", key="lift", text="Mend src/lift.py", value="open")
        await caller.call("PatchState", window_id=window.window_id, set=[sub_goal])
    await said(caller, context_id, {"content": "Thank you, go on."})

    without, pack = await packed(caller, plain), await packed(other_replica, ahead)
    assert "LIFT_KEY_OF_HOUSE_9" not in without.messages_json
    assert "LIFT_KEY_OF_HOUSE_9" in pack.messages_json
    assert any(ref.startswith("m3") for ref in pack.recalled_refs)
    assert len(set(pack.recalled_refs)) == len(pack.recalled_refs)
    assert pack == await packed(caller, ahead)  # once, from whichever replica
    await said(caller, context_id, {"role": "assistant", "content": "I mend it."})
    more = await packed(caller, ahead)
    assert more.messages_json.encode()[: pack.prefix_bytes] == pack.messages_json.encode()[: pack.prefix_bytes]
