"""Folds that are prepared ahead: what the pack of their step takes, over gRPC and Postgres.

`python -m bench.prepared [STEPS]`. An agent works as in `bench.packs`. When a pack says that a fold is
near, it is prepared, which an agent does while its model answers, and committed in front of a later pack.
"""

from __future__ import annotations

import os
import random
import sys

from bench.packs import LIMIT, Calls, step
from bench.stack import Beside, measured
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient

STEPS = 1_500
NEAR_STEPS = 4
PACK_P95_MS = 20


async def run(stack: dev.Stack, context: AsyncContextClient, floor: Beside, steps: int) -> bool:
    """Work, and print what it took; say whether the target is met."""
    randomly = random.Random(1)
    context_id = (await context.contexts.send("Read all of it.", recall=False)).context_id
    given = {"context_tokens": LIMIT + 1, "token_budget": 1.0, "output_reservation": 1}
    window = await context.windows.open(context_id, "m", compression_profile="coding", **given)
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    calls, is_prepared, unprepared = Calls(processes, floor), False, 0
    pack = await context.windows.pack(window.window_id, without_recall=True)
    for number in range(1, steps + 1):
        await context.contexts.append(step(number, randomly), context_id)
        name = "pack"
        if is_prepared and pack.fold_eta_steps <= 1:
            await calls.measured("commit", context.windows.commit_fold(window.window_id))
            name, is_prepared = "pack of its step", False
        before = pack
        pack = await calls.measured(name, context.windows.pack(window.window_id, without_recall=True))
        unprepared += name == "pack" and pack.epoch != before.epoch
        if not is_prepared and pack.fold_eta_steps <= NEAR_STEPS:
            await calls.measured("prepare", context.windows.prepare_fold(window.window_id))
            is_prepared = True
    print(f"load {os.getloadavg()[0]:.1f}; {unprepared} folds that were not prepared\n{calls}")
    taken = sorted(calls.seconds["pack of its step"])
    p95 = taken[int((len(taken) - 1) * 0.95)] * 1000
    print(f"pack in the step of a fold that was prepared, p95 {floor.said(p95, PACK_P95_MS)}")
    return floor.scaled(p95) <= PACK_P95_MS


if __name__ == "__main__":
    sys.exit(measured(run, STEPS))
