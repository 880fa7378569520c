"""Folds that a model prepares in the background: their number, their cost, and the refused lines.

`python -m bench.ahead [STEPS]`. An agent works as in `bench.packs`, and the service has a scripted model that
answers after `ANSWER_S`. Every third answer has a line with an invented number, and every tenth request fails. A second
window on the same log asks no model. While a fold is near, each step takes `STEP_S`, as an agent's calls do.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

from bench.packs import LIMIT, Calls, step
from bench.stack import Beside, measured
from bench.table import Processes
from context_service.commands import dev
from context_service.kernel.tokens import TokenCounter
from contextkeep import AsyncContextClient, WindowConfig
from tests.ports import free_port

STEPS = 300
ANSWER_S, STEP_S, NEAR_STEPS = 0.5, 0.4, 5
_MUST = re.compile(r"^- (.+) \((m[0-9/]+)\)$", re.MULTILINE)
_LOOKED = re.compile(r"^\[(m[0-9]+/0)\] assistant\n> (I look at part [0-9]+\.)$", re.MULTILINE)


class Model:
    """An endpoint of `POST /chat/completions` with scripted answers."""

    def __init__(self) -> None:
        self.requests = 0
        self.tokens: Counter[str] = Counter()
        self._count = TokenCounter().count

    async def answer(self, request: web.Request) -> web.Response:
        """Answer with lines of the sources; now and then with an invented one, or not at all."""
        body = await request.json()
        self.requests += 1
        self.tokens["asked"] += sum(self._count(message["content"]) for message in body["messages"])
        await asyncio.sleep(ANSWER_S)
        if self.requests % 10 == 0:
            return web.json_response({"error": "overloaded"}, status=503)
        text = body["messages"][-1]["content"]
        found = [*_MUST.findall(text.partition("Sources:")[0]), *((said, ref) for ref, said in _LOOKED.findall(text))]
        lines = [{"section": "standing", "text": said, "refs": [ref]} for said, ref in found[:12]]
        if self.requests % 3 == 0 and lines:
            lines.append({"section": "value", "text": "The port is 99999.", "refs": lines[0]["refs"]})
        content = orjson.dumps({"lines": lines, "state": []}).decode()
        self.tokens["answered"] += self._count(content)
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": content}}]})


async def run(stack: dev.Stack, context: AsyncContextClient, floor: Beside, steps: int) -> bool:
    """Work, and print what came of the folds; say whether most of them had a model's summary."""
    model, app = Model(), web.Application()
    app.router.add_post("/v1/chat/completions", model.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    randomly = random.Random(1)
    context_id = (await context.contexts.send("Read all of it.", recall=False)).context_id
    given: dict[str, Any] = {"context_tokens": LIMIT + 1, "token_budget": 1.0, "output_reservation": 1}
    ours = await context.windows.open(context_id, "m", compression_profile="coding", **given)
    without = WindowConfig(summarization_model="none")
    rules = await context.windows.open(context_id, "m", compression_profile="coding", config=without, **given)
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    calls = Calls(processes, floor)
    tokens: Counter[str] = Counter()
    for number in range(1, steps + 1):
        await context.contexts.append(step(number, randomly), context_id)
        for name, window in (("with a model", ours), ("by rules", rules)):
            pack = await calls.measured(f"pack, {name}", context.windows.pack(window.window_id, without_recall=True))
            tokens[name] += pack.tokens
            if window is ours and pack.fold_eta_steps <= NEAR_STEPS:
                await asyncio.sleep(STEP_S)
    receipts = [receipt async for receipt in context.windows.get_lineage(ours.window_id)]
    folds = [fold for fold in receipts if fold.reason == "high_mark"]
    taken = [fold for fold in folds if fold.prepared_last_seq]
    written = [summary.verdict for fold in folds for summary in fold.summaries if summary.verdict]
    verdicts = Counter(verdict.split(":")[0] for verdict in written)
    refused = Counter(re.findall(r"; (\w+):", " ".join(written)))
    print(f"{steps} steps, {len(folds)} folds, {len(taken)} of them prepared by the model; verdicts {dict(verdicts)}")
    print(f"summaries of each fold: {[len(fold.summaries) for fold in folds]}")
    print(f"lines refused, by check: {dict(refused)}; {model.requests} requests, tokens {dict(model.tokens)}")
    print(f"tokens of all packs: {dict(tokens)}\n{calls}")
    await runner.cleanup()
    return len(taken) > len(folds) / 2


if __name__ == "__main__":
    PORT = free_port()
    os.environ |= {"LLM_URL": f"http://127.0.0.1:{PORT}/v1", "LLM_MODEL": "m1"}
    sys.exit(measured(run, STEPS))
