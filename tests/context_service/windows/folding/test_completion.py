"""A task is done with folds as it is without: what an agent needs of its past is in its packs, or found by asking."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson

from contextkeep.context.v1 import context_windows_pb2 as pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, result, said

STEPS, SHORT, LONG = 70, 4_000, 900_000
NOISE = "\n".join(f"row {n}: nothing that is of any use" for n in range(24))
_PORT = re.compile(r"staging port is (?:now )?([0-9]+)")
_NO_LONGER = re.compile(r"no longer: .*")


@dataclass
class Agent:
    """Does what users ask, by what its packs say; it has no memory of its own.

    Attributes:
        done: What it did, in order.
        searched: How often it had to look for what it did not see.
    """

    caller: Caller
    window: pb.Window
    done: list[str] = field(default_factory=list)
    searched: int = 0

    def texts(self, pack: pb.PackResponse) -> str:
        """Return what a model reads, a line a line."""

        def strings(value: Any) -> list[str]:
            if isinstance(value, str):
                return [value]
            return [
                text for one in (value.values() if isinstance(value, dict) else value or ()) for text in strings(one)
            ]

        return "\n".join(strings(orjson.loads(pack.messages_json)["messages"])).replace("\\n", "\n")

    async def deployed(self) -> None:
        text = self.texts(await packed(self.caller, self.window))
        ports = _PORT.findall(_NO_LONGER.sub("", text))
        forbidden = sorted(set(re.findall(r"Never touch (folder-[0-9]+)\.", text)))
        self.done.append(f"deploy to {ports[-1]} without {', '.join(forbidden)}")

    async def answered(self, ticket: int) -> None:
        wanted = re.compile(rf"secret of ticket t{ticket}q is ([a-z0-9]+)")
        text = self.texts(await packed(self.caller, self.window))
        if not wanted.search(text):
            self.searched += 1
            query = f"secret of ticket t{ticket}q"
            found = await self.caller.call("SearchWindow", window_id=self.window.window_id, query=query, limit=50)
            text = "\n".join(one.item.text for one in found.hits)
        match = wanted.search(text)
        self.done.append(f"ticket {ticket}: {match[1] if match else 'unknown'}")


async def completed(caller: Caller, limit: int) -> tuple[Agent, list[str], int]:
    """Let an agent work through the script within a limit; return it, what it should have done, and its folds."""
    random, expected = Random(3), []
    context_id = await said(caller, "", {"content": "Look after the tickets. The staging port is 8000."})
    window = await opened(caller, context_id, limit)
    agent = Agent(caller, window)
    port, secrets, forbidden = 8000, {}, set()
    for n in range(STEPS):
        secrets[n] = f"{random.getrandbits(40):x}"
        looked = f"{NOISE}\nThe secret of ticket t{n}q is {secrets[n]}.\n{NOISE}"
        await said(caller, context_id, calls(f"c{n}", content=f"I look at ticket {n}."), result(f"c{n}", looked))
        if n % 17 == 5:
            forbidden.add(f"folder-{n}")
            await said(caller, context_id, {"content": f"Never touch folder-{n}."})
        if n % 13 == 7:
            port = 8001 + n
            await said(caller, context_id, {"content": f"The staging port is now {port}."})
        if n % 11 == 10:
            asked = random.randrange(n)
            await said(caller, context_id, {"content": f"What is the secret of ticket t{asked}q?"})
            await agent.answered(asked)
            expected.append(f"ticket {asked}: {secrets[asked]}")
            await said(caller, context_id, {"role": "assistant", "content": "I have told it."})
        if n % 9 == 8:
            await agent.deployed()
            expected.append(f"deploy to {port} without {', '.join(sorted(forbidden))}")
            await said(caller, context_id, {"role": "assistant", "content": "I have deployed it."})
    breaks = (await caller.call("WindowStats", window_id=window.window_id)).breaks
    return agent, expected, sum(one.count for one in breaks)


async def test_a_scripted_task_is_done_with_folds_as_it_is_without(caller: Caller):
    folded, expected, folds = await completed(caller, SHORT)
    whole, _, none = await completed(caller, LONG)
    assert folds > 5 and none == 0
    assert whole.done == expected and whole.searched == 0
    assert folded.done == whole.done
