"""The longest work that a call may leave to a thread, at the largest input that the limits allow."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import orjson

from context_service.folding.pure.folds import FoldableBlock, Limits, View, fold
from context_service.kernel.parts import Part, ToolCall, ToolResult
from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.packing.pure.texts.units import Unit
from context_service.profiles.pure.profiles import profile
from context_service.retrieval.pure.cuts import cut
from context_service.retrieval.pure.terms import terms_of
from context_service.windows.pure.config import DEFAULT
from service_runtime.inputs.documents import parse_json
from tests.context_service.windows.messages import message
from tests.hostile.attacks import DOCUMENTS

MIB = 1024 * 1024
BLOCKS = 20_000  # that a window of ten million tokens shows, of some hundred tokens each
LINES = "a\n" * (MIB // 2)
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def catching_up() -> object:
    """Read a transaction's worth of results of tools: four of a MiB."""
    text = ("alpha failed: error in module_7.py, use 7 instead of 8\n" * (MIB // 55))[: MIB - 1_000]
    content_json = json.dumps({"out": text})
    messages = []
    for seq in range(1, 9, 2):
        call = Part(tool_call=ToolCall(id=f"{seq}", name="look", arguments_json="{}"))
        result = Part(tool_result=ToolResult(tool_call_id=f"{seq}", content_json=content_json))
        messages += [message("assistant", "", call, seq=seq), message("tool", "", result, seq=seq + 1)]
    return caught_up(
        messages,
        to=Format.OPENAI,
        profile=profile("general"),
        count=_counter().count,
        is_end=True,
        last_seq=messages[-1].seq,
    )


def folding() -> object:
    """Fold a window of very many small steps."""
    limits = Limits.of(int(20 * BLOCKS / 0.9), DEFAULT)
    return fold(
        View(head=100, blocks=_blocks()),
        limits,
        state_tokens=10,
        goal="mend the module",
        count=_counter().count,
        cost=_counter().count,
        weights=DEFAULT.weights,
    )


@cache
def _blocks() -> tuple[FoldableBlock, ...]:
    """Return the blocks, made once: the time in which they are made must not count as the fold's."""
    return tuple(_block(number) for number in range(BLOCKS))


def _block(number: int) -> FoldableBlock:
    text = f"We decided {number} to use module_{number}.py"
    unit = Unit(kind="decision", text=text, ref=f"m{number}", seq=number, weight=0.5)
    return FoldableBlock(
        number=number,
        step=number + 1,
        seq_from=2 * number + 1,
        seq_to=2 * number + 2,
        tokens=20,
        masked_tokens=17,
        units=(unit, replace(unit, text=f"{text} at once")),
        names=frozenset({f"module_{number}.py"}),
    )


def counting() -> object:
    """Count the tokens of dashes, which take the tokenizer longest."""
    return _counter().count("-" * MIB)


def cutting() -> object:
    """Cut a message of a MiB into passages, and find their terms."""
    return [terms_of(LINES[start:end]) for start, end in cut(LINES, _counter().count)]


def checking() -> object:
    """Parse as many documents of as many objects as a request holds, and write them."""
    text = DOCUMENTS["as many objects as may be"]
    values = [parse_json("data_json", text, size_bytes_max=MIB, nesting_max=100) for _ in range(4 * MIB // len(text))]
    return [orjson.dumps(value) for value in values]


@cache
def _counter() -> TokenCounter:
    return TokenCounter()


WORKS: dict[str, Callable[[], object]] = {
    work.__name__: work for work in (catching_up, folding, counting, cutting, checking)
}
