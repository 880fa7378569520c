"""Responses that are of no use, over running services: what led to them is taken back, and the work goes on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any

import orjson
import pytest
from aiohttp import web

from context_service.packing.rules.pack import Packing
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import (
    FoldNoProgress,
    RequestIdReused,
    Unavailable,
)
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.contexts.callers import opened as services
from tests.context_service.windows.calling import FORMATS, calls, packed, result, said
from tests.context_service.windows.checkpoints.test_checkpoints import (
    SHORT,
    context_id,
    counted,
    kept,
    lineage,
    listed,
    opened,
    ran,
)
from tests.context_service.windows.conftest import Stack
from tests.context_service.windows.folding.test_folding import NOISE, step
from tests.fakes.chat_server import ChatServer, chat_server, says

__all__ = ["context_id"]  # a fixture
STRATEGIES = ("rollback_to_checkpoint", "reread_from_checkpoint")
REREAD = {"recovery_strategy": STRATEGIES[1]}
# What a mask and a segment leave out.
DEEP = "\n".join([*NOISE.splitlines()[:40], "the crimson valve is behind the boiler", *NOISE.splitlines()[40:80]])
_REF = re.compile(r"m[0-9]+(/[0-9]+)?")
_REF_SHOWN = re.compile(r"^\[(m[0-9/]+)\]", re.MULTILINE)


async def reported(
    caller: Caller, window: windows_pb.Window, pack: windows_pb.PackResponse, **fields: Any
) -> windows_pb.ReportResponseResponse:
    said = {"pack_id": pack.pack_id, "invalid": True, **fields}
    return await caller.call("ReportResponse", window_id=window.window_id, **said)


async def answered(caller: Caller, context_id: str, text: str) -> int:
    """Append a response of the model, and return its place."""
    context = await said(caller, context_id, {"role": "assistant", "content": text})
    return int((await caller.call("GetContext", context_id=context)).context.last_seq)


async def entries(caller: Caller, window: windows_pb.Window, *sections: str) -> list[tuple[Any, ...]]:
    """Return the state of a window, but for where it was said."""
    answer = await caller.call("GetState", window_id=window.window_id, sections=sections)
    names = ("section", "key", "value", "source", "count", "failure_count", "last_step")
    return [(_REF.sub("m", one.text), *(getattr(one, name) for name in names)) for one in answer.entries]


@pytest.mark.parametrize("to", FORMATS)
async def test_behind_an_invalid_response_the_pack_is_that_of_the_checkpoint_with_what_was_folded_away_recalled(
    to: Any, caller: Caller, other_replica: Caller, context_id: str
):
    window = await opened(caller, context_id, format=FORMATS[to], config={"checkpoint_every_n_steps": 20})
    await said(caller, context_id, *step(99, DEEP))
    await ran(caller, context_id, window, range(39))
    await said(caller, context_id, {"content": "Open the crimson valve now."})
    pack = await packed(caller, window, without_recall=True)
    assert "boiler" not in pack.messages_json
    last_seq = await answered(caller, context_id, "We decided to flood the cellar.")

    way = next(one for one in await listed(caller, window) if one.last_seq <= pack.last_seq)
    done = await reported(other_replica, window, pack, expected_last_seq=last_seq)
    assert (done.receipt.reason, done.receipt.checkpoint) == ("rolled_back", way.number)
    assert done.left_out_message_count == last_seq - way.last_seq == len(done.left_out_message_ids)
    # A checkpoint before a fold is over the high mark, so that it folds again.
    assert done.pack.last_seq == last_seq
    assert done.pack.epoch == pack.epoch + (2 if way.reason == "fold" else 1)
    assert done.pack.tokens_by_zone.recalled and "behind the boiler" in done.pack.messages_json
    assert "cellar" not in done.pack.messages_json and "valve now" not in done.pack.messages_json
    for replica in (caller, other_replica):
        assert await packed(replica, window) == done.pack
    assert "behind the boiler" not in (await _rolled_back_alone(caller, window, way, last_seq)).messages_json


async def _rolled_back_alone(
    caller: Caller, window: windows_pb.Window, way: windows_pb.Checkpoint, last_seq: int
) -> windows_pb.PackResponse:
    await caller.call("Rollback", window_id=window.window_id, checkpoint=way.number, expected_last_seq=last_seq)
    return await packed(caller, window, without_recall=True)


async def test_what_led_to_the_pack_may_be_read_anew_so_that_the_response_alone_is_left_out(
    caller: Caller, context_id: str
):
    """What callers said behind the checkpoint is undone all the same."""
    window = await opened(caller, context_id, config={"checkpoint_every_n_steps": 20, **REREAD})
    await ran(caller, context_id, window, range(30))
    held = await entries(caller, window)
    lie = {"section": "value", "key": "staging port", "value": "666"}
    await caller.call("PatchState", window_id=window.window_id, set=[lie])
    await said(caller, context_id, {"content": "Which port is it?"})
    pack = await packed(caller, window, without_recall=True)
    assert "666" in pack.messages_json
    last_seq = await answered(caller, context_id, "It is 666.")
    done = await reported(caller, window, pack, expected_last_seq=last_seq)
    assert (done.left_out_message_count, list(done.receipt.left_out_refs)) == (1, [f"m{last_seq}"])
    assert "Which port is it?" in done.pack.messages_json and "666" not in done.pack.messages_json
    assert done.pack.step_count + done.pack.omitted.step_count == 33
    assert {one for one in held if one[1] == "value"} == set(await entries(caller, window, "value"))


async def test_a_window_without_a_checkpoint_reads_its_log_anew_without_the_response(caller: Caller, context_id: str):
    """Pins and what callers said stay: nobody knows when."""
    window = await opened(caller, context_id, config={"checkpoint_every_n_steps": 0})
    await caller.call("Pin", window_id=window.window_id, text="Answer in French.")
    pack = await ran(caller, context_id, window, range(8))
    last_seq = await answered(caller, context_id, "Nonsense.")
    done = await reported(caller, window, pack, expected_last_seq=last_seq)
    assert (done.receipt.checkpoint, done.left_out_message_count) == (0, 1)
    assert done.pack.messages_json == pack.messages_json
    assert [one.reason for one in await lineage(caller, window)] == ["rolled_back", "pinned"]
    # A response that was never appended leaves out nothing.
    again = await reported(caller, window, done.pack)
    assert (again.left_out_message_count, again.pack.messages_json) == (0, pack.messages_json)


async def test_a_response_that_is_valid_changes_nothing(caller: Caller, context_id: str):
    window = await opened(caller, context_id)
    pack = await packed(caller, window)
    answer = await reported(caller, window, pack, invalid=False)
    assert answer == windows_pb.ReportResponseResponse()
    assert await packed(caller, window) == pack and not await lineage(caller, window)


async def test_of_several_reports_of_a_response_one_rolls_back(caller: Caller, other_replica: Caller, context_id: str):
    window = await opened(caller, context_id)
    pack = await ran(caller, context_id, window, range(20))
    await kept(caller, window)
    pack = await ran(caller, context_id, window, range(20, 24))
    request_id = an_id()
    replicas = (caller, other_replica) * 2
    done = await asyncio.gather(*(reported(one, window, pack, request_id=request_id) for one in replicas))
    assert all(one == done[0] for one in done)
    assert done[0].left_out_message_count == 8
    later = await asyncio.gather(*(reported(one, window, pack) for one in replicas))
    for one in later:
        assert (one.pack, one.HasField("receipt"), one.left_out_message_count) == (done[0].pack, False, 0)
    assert sum(one.reason == "rolled_back" for one in await lineage(caller, window)) == 1
    with pytest.raises(RequestIdReused):
        await reported(caller, window, pack, invalid=True, expected_last_seq=9, request_id=request_id)
    # The work goes on, and who is late learns where it is.
    await said(caller, context_id, {"content": "I go on."})
    assert "I go on." in (await reported(caller, window, pack)).pack.messages_json


async def test_a_report_that_ends_before_its_pack_is_answered_recalls_once_when_it_comes_again(
    caller: Caller, context_id: str, monkeypatch: pytest.MonkeyPatch
):
    window = await opened(caller, context_id)
    await said(caller, context_id, *step(99, DEEP))
    await ran(caller, context_id, window, range(40))
    await said(caller, context_id, {"content": "Open the crimson valve now."})
    pack = await packed(caller, window, without_recall=True)
    request_id, packing = an_id(), Packing.pack

    for is_packed in (False, True):

        async def lost(self: Packing, *args: Any, is_packed: bool = is_packed, **fields: Any) -> Any:
            if is_packed:
                await packing(self, *args, **fields)
            raise Unavailable("the connection is gone")

        with monkeypatch.context() as patched:
            patched.setattr(Packing, "pack", lost)
            with pytest.raises(Unavailable):
                await reported(caller, window, pack, request_id=request_id)
    done = await reported(caller, window, pack, request_id=request_id)
    assert done.pack.messages_json.count("behind the boiler") == 1
    assert await packed(caller, window) == done.pack


def script(steps: int, seed: int) -> list[list[dict[str, Any]]]:
    """Return what happens in a run, step by step: users set rules and values, an agent looks, decides and errs."""
    random, made = Random(seed), []
    for n in range(steps):
        kind = random.random()
        if kind < 0.05:
            made.append([{"content": f"Never touch folder-{n}."}])
        elif kind < 0.15:
            key = random.choice(("staging", "admin", "metrics"))
            made.append([{"content": f"The {key} port is {8000 + n}."}])
        elif kind < 0.2:
            made.append([{"role": "assistant", "content": f"We decided to use pages of {n} rows because they fit."}])
        else:
            failed = "Error: connection refused" if kind > 0.95 else f"value of {n} is {n * 7919}"
            made.append(
                [calls(f"c{n}", content=f"I look at src/part_{n % 7}.py."), result(f"c{n}", f"{SHORT}\n{failed}")]
            )
    return made


# What nobody said in a script, whose numbers are below 14,000, or multiples of 7,919.
LIES = re.compile(r"\b(?:31337|47110)\b|delete all|look at anything")
# A step behind which a model reads the same state.
QUIET = [calls("quiet", content="I look at src/part_0.py."), result("quiet", SHORT)]


class Run:
    """A run of a script in a window, in which what goes wrong is taken back, and sent again."""

    def __init__(self, caller: Caller, context_id: str, window: windows_pb.Window, steps: list[Any]) -> None:
        self.caller, self.context_id, self.window, self.steps = caller, context_id, window, steps
        self.done: list[int] = []  # the last message of each step of the script that is in the window
        self.recovered = 0

    async def work(self, until: int) -> windows_pb.PackResponse:
        """Go on to a step of the script."""
        while True:
            while len(self.done) < until:
                await said(self.caller, self.context_id, *self.steps[len(self.done)])
                pack = await packed(self.caller, self.window)
                self.done.append(pack.last_seq)
            return await packed(self.caller, self.window)

    def back(self, last_seq: int, now: int) -> None:
        """Forget the steps behind a message: they are sent again, and everything later is behind `now`."""
        self.done = [one for one in self.done if one <= last_seq]
        self.recovered += 1

    async def lied_to(self, random: Random) -> None:
        """Have a caller lie in the state of the work, work on with it, and take it back."""
        good = (await kept(self.caller, self.window)).number
        lies = [
            {"section": "value", "key": "staging port", "value": "31337"},
            {"section": "constraint", "key": "lie", "text": "Never look at anything."},
        ]
        gone = [{"section": "value", "key": "admin port"}]
        await self.caller.call("PatchState", window_id=self.window.window_id, set=lies, remove=gone)
        pack = await self.work(min(len(self.done) + random.randint(0, 12), len(self.steps)))
        (way,) = [one for one in await listed(self.caller, self.window) if one.number == good]
        await self.caller.call(
            "Rollback", window_id=self.window.window_id, checkpoint=good, expected_last_seq=pack.last_seq
        )
        self.back(way.last_seq, pack.last_seq)

    async def end(self) -> tuple[list[tuple[Any, ...]], str]:
        """Return the state of the work, and how a model reads it when it is written anew."""
        known = await entries(self.caller, self.window)
        while not await self.folded():  # one that has just happened leaves nothing to fold
            await said(self.caller, self.context_id, *QUIET)
        messages = (await packed(self.caller, self.window, without_recall=True)).messages_json
        assert LIES.search(messages) is None
        text = messages.partition("[State of the work after step ")[2].partition('"}')[0]
        return known, _REF.sub("m", text.partition("]")[2])

    async def folded(self) -> bool:
        """Fold, and say whether there was something to fold."""
        try:
            await self.caller.call("Fold", window_id=self.window.window_id)
        except FoldNoProgress:
            return False
        return True

    async def invented(self) -> None:
        """Have the model write of old steps, and fold with what came of that."""
        with suppress(FoldNoProgress):
            await self.caller.call("PrepareFold", window_id=self.window.window_id)
            await self.caller.call("CommitFold", window_id=self.window.window_id)

    async def misled(self) -> None:
        """Have the model answer nonsense, and report it."""
        pack = await packed(self.caller, self.window)
        last_seq = await answered(
            self.caller, self.context_id, "We decided to delete all. The metrics port is 47110. Never mind the rules."
        )
        done = await reported(self.caller, self.window, pack, expected_last_seq=last_seq)
        first = min((int(one[1:].partition("..")[0]) for one in done.receipt.left_out_refs), default=last_seq)
        self.back(first - 1, last_seq)


async def recovers(
    caller: Caller, steps: int, *, seed: int, corruptions: int, configs: list[Any], invents: bool = False
) -> list[Run]:
    """Run a script without corruption and, once for each config, with; and compare what is known at its end."""
    planned, random = script(steps, seed), Random(seed + 1)
    begun = [{"content": "Look after the servers. Never open port 80. The admin port is 8443."}]
    runs = []
    for config in (configs[0], *configs):
        context = await said(caller, "", *begun)
        runs.append(Run(caller, context, await opened(caller, context, config=config), planned))
    clean, *corrupted = runs
    await clean.work(steps)
    for run in corrupted:
        for at in sorted(random.sample(range(1, steps), corruptions)):
            await run.work(max(at, len(run.done)))
            if invents:
                await run.invented()
            await (run.lied_to(random) if random.random() < 0.5 else run.misled())
        await run.work(steps)
        assert run.recovered == corruptions
    expected = await clean.end()
    assert "Never open port 80." in expected[1]
    for run in corrupted:
        assert await run.end() == expected
    return corrupted


async def test_a_run_in_which_things_go_wrong_at_random_ends_as_one_in_which_nothing_does(caller: Caller):
    configs = [{"checkpoint_every_n_steps": 10, "recovery_strategy": one} for one in STRATEGIES]
    await recovers(caller, 80, seed=7, corruptions=5, configs=configs)


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_a_run_of_5_000_steps_in_which_things_go_wrong_at_random_ends_as_one_in_which_nothing_does(
    caller: Caller, stack: Stack
):
    """What is kept of all that stays bounded."""
    (run,) = await recovers(caller, 5_000, seed=1, corruptions=60, configs=[{}])
    assert await counted(stack, run.window, "window_checkpoint") <= 140
    assert await counted(stack, run.window, "window_block", "epoch_to IS NOT NULL") < 5_000


Inventing = tuple[Caller, ChatServer]


@pytest.fixture(scope="module")
async def inventing(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Caller, ChatServer]]:
    """A service whose model invents, each time something else."""
    lies = count()

    def invents(body: dict[str, Any]) -> web.StreamResponse:
        ref = _REF_SHOWN.findall(body["messages"][-1]["content"])[0]
        number = next(lies)
        lines = [
            {"text": f"The metrics port is 47110, as was said {number} times.", "refs": [ref]},
            {"text": "You must delete all.", "refs": [ref]},
        ]
        state = [
            {"section": "constraint", "text": "Never look at anything.", "ref": ref},
            {
                "section": "value",
                "key": "staging port",
                "value": "31337",
                "text": "The staging port is 31337.",
                "ref": ref,
            },
        ]
        wrong = [orjson.dumps({"lines": lines[number % 2 :], "state": state}).decode(), "I cannot help with that.", ""]
        return says(wrong[number % 3])(body)

    async with (
        chat_server() as server,
        services(postgres, tmp_path_factory.mktemp("blobs"), llm_url=server.url, llm_timeout_s=1.0) as made,
    ):
        server.answer = invents
        yield made.caller, server


async def test_a_run_whose_model_invents_is_recovered_and_ends_as_one_in_which_nothing_goes_wrong(inventing: Inventing):
    caller, server = inventing
    config = {"checkpoint_every_n_steps": 5, "low_mark": 0.2, "keep_last_steps": 5}
    await recovers(caller, 40, seed=5, corruptions=3, configs=[config], invents=True)
    assert server.requests


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_a_run_of_5_000_steps_whose_model_invents_ends_as_one_in_which_nothing_goes_wrong(inventing: Inventing):
    caller, _ = inventing
    await recovers(caller, 5_000, seed=2, corruptions=60, configs=[{}], invents=True)
