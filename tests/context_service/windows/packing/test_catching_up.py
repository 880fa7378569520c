"""Windows that are opened on long logs: they pack the newest steps at once, and read the rest in the background."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from context_service.packing.rules import newest_steps, pack
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, calls, opened, packed, result, said
from tests.vendors import broken

STEPS = 80


@pytest.fixture(autouse=True)
def is_behind_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (newest_steps, pack):
        monkeypatch.setattr(module, "BEHIND_MAX", 100)


async def worked(caller: Caller, **fields: Any) -> str:
    """Return a context of 161 messages, in the words of a beekeeper."""
    first = await caller.send("Die Königin nie füttern. The feeder holds 12 litres.", **fields)
    steps = [(calls(f"c{n}", content=f"Hive {n}."), result(f"c{n}", f"weight {n} kg " * 30)) for n in range(STEPS)]
    return await said(caller, first.context_id, *chain.from_iterable(steps))


async def caught_up(caller: Caller, window: windows_pb.Window) -> windows_pb.PackResponse:
    """Return the first pack that has all of the log."""
    async with asyncio.timeout(20):
        while (answer := await packed(caller, window)).is_catching_up:
            await asyncio.sleep(0.05)
    return answer


@pytest.mark.parametrize("format", list(FORMATS))
async def test_a_window_on_a_long_log_packs_the_newest_steps_at_once_and_soon_all_of_it(format: Format, caller: Caller):
    context_id = await worked(caller)
    window = await opened(caller, context_id, 6_000, format=FORMATS[format], system_prompt="You keep bees.")
    first = await packed(caller, window)
    assert first.is_catching_up and first.last_seq == 2 * STEPS + 1
    assert f"Hive {STEPS - 1}." in first.messages_json and "Königin" not in first.messages_json
    assert "You keep bees." in first.messages_json
    assert 2_000 < first.calibrated_tokens <= window.token_limit
    assert not first.tokens_by_zone.state
    body = orjson.loads(first.messages_json)
    (turns,) = (body[name] for name in ("messages", "input", "contents") if name in body)
    assert broken(turns, format) == []

    whole = await caught_up(caller, window)

    assert "Königin nie füttern" in whole.messages_json
    assert f"Hive {STEPS - 1}." in whole.messages_json
    assert whole.omitted.step_count > 0 and whole.epoch > 0


async def test_the_pack_of_a_window_that_is_behind_ends_with_what_waits_for_results(caller: Caller):
    context_id = await worked(caller)
    window = await opened(caller, context_id, 6_000)
    await said(caller, context_id, calls("open", content="Look at the last hive."))
    first = await packed(caller, window)
    assert first.is_catching_up and first.is_waiting
    assert orjson.loads(first.messages_json)["messages"][-1]["content"] == "Look at the last hive."


async def test_a_window_of_a_user_is_read_for_the_user_alone(caller: Caller):
    ada, bob = caller.of("ada"), caller.of("bob")
    context_id = await worked(ada)
    window = await opened(ada, context_id, 6_000)
    assert (await packed(ada, window)).is_catching_up
    assert "Königin" in (await caught_up(ada, window)).messages_json
    with pytest.raises(Exception, match="does not exist"):
        await packed(bob, window)


async def test_a_newest_step_that_is_too_large_is_read_with_the_log(caller: Caller):
    context_id = await worked(caller)
    await said(caller, context_id, calls("big", content="All hives."), result("big", "frame of brood " * 6_000))
    window = await opened(caller, context_id, 6_000)
    first = await packed(caller, window)
    assert not first.is_catching_up and "frame of brood" in first.messages_json
