"""An agent works for 10,000 steps through a window of 24,000 tokens, without a model; the run is drawn as a chart.

    .venv/bin/python examples/long_run.py --steps 10000 --chart long_run.svg

Needs `make run` in another terminal. Beside the window stands what other ways to show the same run would cost.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from long_run_chart import chart
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scripted_agent import CONSTRAINT, VALUE, VALUES, ScriptedAgent, Step

from contextkeep import ContextClient, ContextInput, MessageInput, Pack, StateEntryInput, Window
from contextkeep.values.conversions import ZONES

WINDOW_TOKENS, ANSWER_TOKENS = 24_000, 4_096
READ, WRITTEN, PLAIN = 0.1, 1.25, 1.0  # prices of a token of a prompt: from a vendor's cache, into it, past it
WORTH = {"user": 1.0, "error": 0.8, "edit": 0.5, "test": 0.3}  # to who ranks
HALF_LIFE, RECENT_STEPS = 30, 360

SHOWN_AT = (1, 10, 50, 100, 250, 500, 1_000, 1_500, 2_000, 5_000, 10_000)  # steps
SIDE_LINES = 24  # lines of the packs that are shown next to each other
ERROR, ERROR_QUESTION = "SyntaxError: ", "Which SyntaxError did textwrap.py have?"
REF = re.compile(r"\bm(\d+)/\d+\b")

Shown = Sequence[tuple[object, int]]  # pieces of a prompt and their tokens: the same piece is the same bytes


@dataclass(slots=True)
class Bill:
    """What the prompts of a run cost, in tokens at the price of one that no cache holds."""

    name: str
    price: float = WRITTEN  # of a token that the cache does not hold
    tokens: int = 0
    cached: int = 0
    hits: int = 0  # prompts that begin with the whole of the one before
    costs: list[float] = field(default_factory=list)  # of each prompt

    def add(self, tokens: int, cached: int, *, is_hit: bool) -> None:
        """Add a prompt whose first tokens also began the prompt before."""
        self.tokens += tokens
        self.cached += cached
        self.hits += is_hit
        self.costs.append(READ * cached + self.price * (tokens - cached))

    @property
    def mean(self) -> float:
        """What a prompt costs."""
        return sum(self.costs) / len(self.costs)

    @property
    def cached_share(self) -> float:
        """The share of all tokens that a cache holds."""
        return self.cached / self.tokens


class Rival(ABC):
    """Another way to show a model a long run, within the same limit.

    Args:
        head_tokens: Tokens of the part before all messages.
        limit: Tokens of a prompt.
    """

    name: str
    price = WRITTEN

    def __init__(self, head_tokens: int, limit: int) -> None:
        self.bill = Bill(self.name, self.price)
        self._head, self._room = ("head", head_tokens), limit - head_tokens
        self._shown: Shown = []
        self._number = 0

    def see(self, step: Step, tokens: int) -> None:
        """Take the next step. One that is larger than all is cut."""
        self._number += 1
        self._add(step, min(tokens, self._room))

    def show(self) -> None:
        """Return a prompt of the steps so far."""
        before, self._shown = self._shown, [self._head, *self._now()]
        same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(self._shown, before, strict=False)))
        tokens, cached = (sum(item for _, item in pieces) for pieces in (self._shown, self._shown[:same]))
        self.bill.add(tokens, cached, is_hit=same == len(before))

    def shows(self, step: int) -> bool:
        """Say whether the last prompt has a step."""
        return any(number == step for number, _ in self._shown)

    @abstractmethod
    def _add(self, step: Step, tokens: int) -> None: ...

    @abstractmethod
    def _now(self) -> Shown: ...


class Sliding(Rival):
    """The newest steps that fit: the oldest goes as a new one comes."""

    name = "sliding window"
    left = 1.0  # of the room, when it is full

    def __init__(self, head_tokens: int, limit: int) -> None:
        super().__init__(head_tokens, limit)
        self._seen: deque[tuple[int, int]] = deque()
        self._tokens = 0

    def _add(self, step: Step, tokens: int) -> None:
        self._seen.append((self._number, tokens))
        self._tokens += tokens

    def _now(self) -> Shown:
        if self._tokens > self._room:
            while self._tokens > self._room or (self._tokens > self.left * self._room and len(self._seen) > 1):
                self._tokens -= self._seen.popleft()[1]
        return list(self._seen)


class SlidingByHalves(Sliding):
    """When it is full, half of it goes: a cache holds the rest until it is full again."""

    name = "sliding, half at a time"
    left = 0.5


class Ranking(Rival):
    """The newest steps have 40 % of the limit, those that matter most 35, those about the same 25; ranked each time.

    It changes in the middle, so writing it to a cache does not pay.
    """

    name = "ranked at each step"
    price = PLAIN

    def __init__(self, head_tokens: int, limit: int) -> None:
        super().__init__(head_tokens, limit)
        self._newest: deque[_Ranked] = deque(maxlen=RECENT_STEPS)
        self._lasting: list[_Ranked] = []
        self._about: dict[str, list[_Ranked]] = defaultdict(list)
        self._wish: frozenset[str] = frozenset()

    def _add(self, step: Step, tokens: int) -> None:
        ranked = _Ranked(self._number, tokens, WORTH.get(step.kind, 0.1))
        self._newest.append(ranked)
        if ranked.worth >= WORTH["edit"]:
            self._lasting.append(ranked)
        for name in step.names:
            self._about[name].append(ranked)
        if step.kind == "user":
            self._wish = step.names

    def _now(self) -> Shown:
        hot = _taken(reversed(self._newest), 0.4 * self._room) or [self._newest[-1]]
        older = {item for item in (*self._newest, *self._lasting) if item.number < hot[-1].number}
        warm = _taken(sorted(older, key=self._score, reverse=True), 0.35 * self._room)
        about = {item for name in self._wish for item in self._about[name]}.difference(hot, warm)
        cold = _taken(sorted(about, reverse=True), 0.25 * self._room)
        return [(item.number, item.tokens) for item in (*warm, *cold, *reversed(hot))]

    def _score(self, item: _Ranked) -> tuple[float, int]:
        return item.worth + 0.5 ** ((self._number - item.number) / HALF_LIFE), item.number


class _Ranked(NamedTuple):
    number: int
    tokens: int
    worth: float


def _taken(steps: Iterable[_Ranked], room: float) -> list[_Ranked]:
    """Return the first steps, as many as there is room for."""
    taken = []
    for step in steps:
        room -= step.tokens
        if room < 0:
            break
        taken.append(step)
    return taken


class _Packed(NamedTuple):
    epoch: int
    tokens: int


@dataclass(slots=True, kw_only=True)
class Run:
    """What a run was like."""

    agent: ScriptedAgent
    window: Window
    rivals: Sequence[Rival]
    pack: Pack  # the last
    bill: Bill = field(default_factory=lambda: Bill("the window"))
    log_tokens: int = 0  # tokens of all messages
    packed_at: list[int] = field(default_factory=list)  # after which steps
    zones: list[Mapping[str, int]] = field(default_factory=list)  # of each pack
    folded_at: list[int] = field(default_factory=list)  # after which steps
    files: dict[int, Path] = field(default_factory=dict)  # by the `seq` of a result that is a whole file
    first_fold: list[str] = field(default_factory=list)  # the packs before and after it, side by side

    @property
    def bills(self) -> list[Bill]:
        """The window's, and those of the others."""
        return [self.bill, *(rival.bill for rival in self.rivals)]


def worked(context: ContextClient, step_count: int, *, behind_each: Callable[[int], object] = int) -> Run:
    """Let the agent work, and pack its window as if a model were asked.

    Args:
        context: A client.
        step_count: At least 100.
        behind_each: Called with the number of steps that are done.

    Raises:
        SystemExit: a pack is over its limit, or does not begin as it says.
    """
    agent = ScriptedAgent(step_count)
    steps = agent.steps()
    begun = next(steps)
    (result,) = context.contexts.append(begun.messages, context=ContextInput(title="a long run"))
    window = context.windows.open(
        result.context_id,
        "gpt-5",
        system_prompt="You are a careful engineer.",
        compression_profile="coding",
        context_tokens=WINDOW_TOKENS + ANSWER_TOKENS,
        token_budget=1.0,
        output_reservation=ANSWER_TOKENS,
    )
    pack = context.windows.pack(window.window_id)
    rivals = [rival(pack.tokens_by_zone["system"], window.token_limit) for rival in (Sliding, SlidingByHalves, Ranking)]
    run = Run(agent=agent, window=window, rivals=rivals, pack=pack, log_tokens=result.tokens)
    for rival in rivals:
        rival.see(begun, result.tokens)

    packed = [_Packed(pack.epoch, pack.tokens)]
    for number, step in enumerate(steps, 2):
        written = context.contexts.append(step.messages, window.context_id)
        tokens = sum(item.tokens for item in written)
        run.log_tokens += tokens
        if step.file:
            run.files[written[-1].seq] = step.file
        before, run.pack = run.pack, context.windows.pack(window.window_id)
        if run.pack.tokens > window.token_limit or begins(run.pack, before) != (run.pack.epoch == before.epoch):
            raise SystemExit("a pack is over its limit, or does not begin as it says")
        if not run.first_fold and run.pack.epoch > before.epoch:
            run.first_fold = side_by_side(before, run.pack)
        for rival in rivals:
            rival.see(step, tokens)
            rival.show()
        run.packed_at.append(number)
        run.zones.append(run.pack.tokens_by_zone)
        packed.append(_Packed(run.pack.epoch, run.pack.tokens))
        behind_each(number)

    kept = {fold.epoch: fold.tokens_kept for fold in context.windows.get_lineage(window.window_id)}
    for before, now, step_number in zip(packed, packed[1:], run.packed_at, strict=False):
        is_hit = now.epoch == before.epoch
        run.bill.add(now.tokens, before.tokens if is_hit else kept[now.epoch], is_hit=is_hit)
        if not is_hit:
            run.folded_at.append(step_number)
    return run


def side_by_side(before: Pack, after: Pack) -> list[str]:
    """Return the messages of two packs next to each other, a line each, with their sizes."""
    columns = [list(map(_line_of, pack.body["messages"])) for pack in (before, after)]
    lines = [f"{left:56} | {right}" for left, right in zip_longest(*columns, fillvalue="")]
    titles = [f"before the first fold: {before.tokens:,} tokens", f"after it: {after.tokens:,} tokens"]
    lines = [f"{titles[0]:56} | {titles[1]}", *lines]
    return [*lines[:SIDE_LINES], f"... and {len(lines) - SIDE_LINES} lines more"] if len(lines) > SIDE_LINES else lines


def _line_of(message: Mapping[str, Any]) -> str:
    """Return the role, the number of characters and the beginning of a message."""
    text = text_of(message.get("content")) or text_of(message.get("tool_calls"))
    return f"{message['role']:9} {len(text):6,} {' '.join(text.split())[:39]}"


def begins(pack: Pack, before: Pack) -> bool:
    """Say whether a pack begins with the bytes of the one before."""
    prefix = pack.messages_json.encode()[: before.prefix_bytes]
    return hashlib.sha256(prefix).hexdigest() == before.prefix_sha


def report(run: Run) -> Iterator[str]:
    """Yield what a run was like, line by line."""
    yield f"{run.agent.step_count:,} steps, {run.log_tokens:,} tokens; at most {run.window.token_limit:,} are seen"
    rows = sorted({min(bisect_left(run.packed_at, at), len(run.zones) - 1) for at in SHOWN_AT})
    zones = [zone for zone in ZONES if any(zone in run.zones[row] for row in rows)]
    yield "".join(["  step", *(f"{name:>13}" for name in (*zones, "tokens", "folds"))])
    for row in rows:
        seen, step = run.zones[row], run.packed_at[row]
        numbers = [*(seen.get(zone, 0) for zone in zones), sum(seen.values()), bisect_right(run.folded_at, step)]
        yield "".join([f"{step:>6,}", *(f"{number:>13,}" for number in numbers)])
    yield f"{'':>24}{'cost a prompt':>15}{'cached':>9}{'prefix kept':>15}{'rule':>8}{'value':>8}{'error':>8}"
    agent, result = run.agent, text_of(run.pack.body)
    facts = {agent.constraint_step: CONSTRAINT, agent.value_steps[-1]: VALUES[-1], agent.error_step: ERROR}
    for bill, rival in zip(run.bills, (None, *run.rivals), strict=True):
        there = [rival.shows(step) if rival else text in result for step, text in facts.items()]
        answers = "".join(f"{'yes' if item else 'no' if rival else 'asked':>8}" for item in there)
        kept = f"{bill.hits:,} of {len(bill.costs):,}"
        yield f"{bill.name:>24}{bill.mean:>15,.0f}{bill.cached_share:>9.1%}{kept:>15}{answers}"
    yield "cost: in tokens; 0.1 from a vendor's cache, 1.25 into it, 1 past it"
    yield "rule, value, error: whether the last prompt has them, or a search finds them"


def asked(context: ContextClient, run: Run) -> Iterator[str]:
    """Ask for messages from long ago, and yield the questions with their answers.

    Raises:
        SystemExit: something is missing, or another.
    """
    agent, window_id = run.agent, run.window.window_id
    result = text_of(run.pack.body)
    yield f"the rule of step {agent.constraint_step}"
    yield f"  in the pack    {line_with(CONSTRAINT, result)}"

    yield f"the {VALUE}, set in the steps {', '.join(f'{step:,}' for step in agent.value_steps)}"
    yield f"  in the pack    {line_with(VALUES[-1], result)}"
    (value,) = (item for item in context.windows.get_state(window_id, ["value"]) if item.key == VALUE)
    yield f"  in the state   {value}"
    if value.text != VALUES[-1]:
        raise SystemExit("the state has a value that was superseded")

    yield f"the error of step {agent.error_step}"
    if ERROR in result:
        yield f"  in the pack    {line_with(ERROR, result)}"
    (hit,) = context.windows.search(window_id, ERROR_QUESTION, limit=1)
    steps = f"of the steps {hit.step_from:,} to {hit.step_to:,}"
    yield f"  searched       {line_with(ERROR, hit.item.text)} ({hit.item.ref}, {steps})"

    ref, file = next((ref[0], run.files[int(ref[1])]) for ref in REF.finditer(result) if int(ref[1]) in run.files)
    content = context.windows.expand(window_id, ref).text.encode()
    sums = [hashlib.sha256(item).hexdigest() for item in (content, file.read_bytes())]
    yield f"{ref}: the pack has an excerpt: {file.parent.name}/{file.name}, {len(content):,} bytes"
    yield f"  expanded       sha256 {sums[0]}"
    yield f"  the file       sha256 {sums[1]}"
    if sums[0] != sums[1]:
        raise SystemExit(f"{file.name} did not come back as it was")


def taken_back(context: ContextClient, run: Run) -> Iterator[str]:
    """Lead the agent astray, take it back, and yield what became of the state and of the pack.

    Raises:
        SystemExit: the pack is not what it was.
    """
    window_id, context_id = run.window.window_id, run.window.context_id
    before = context.windows.pack(window_id)
    yield str(context.windows.create_checkpoint(window_id, "before it went astray"))
    context.windows.patch_state(window_id, [StateEntryInput("value", VALUE, value="20")])
    for text in ("The limit is 20 now.", "We decided to cut all lines."):
        context.contexts.send(MessageInput(text, role="assistant"), context_id)
    astray = context.windows.pack(window_id)
    context.windows.fold(window_id)  # which hides steps
    yield f"  astray         {_value_now(context, window_id)}"
    (checkpoint, *_) = (item for item in context.windows.list_checkpoints(window_id) if item.reason == "caller")
    done = context.windows.rollback(window_id, checkpoint.number, expected_last_seq=astray.last_seq)
    yield f"  rolled back    {_value_now(context, window_id)}"
    if context.windows.pack(window_id).messages_json != before.messages_json:
        raise SystemExit("the pack is not that of the checkpoint")
    left_out = f"{done.left_out_message_count} messages left out: {', '.join(done.receipt.left_out_refs)}"
    yield f"  the pack       that of before, byte for byte; {left_out}"


def _value_now(context: ContextClient, window_id: str) -> str:
    return next(str(item) for item in context.windows.get_state(window_id, ["value"]) if item.key == VALUE)


def text_of(value: Any) -> str:
    """Return all that a pack says, as a model reads it."""
    if isinstance(value, str):
        return value
    return "\n".join(map(text_of, value.values() if isinstance(value, dict) else value or ()))


def line_with(words: str, text: str) -> str:
    """Return the first line of a text that has some words.

    Raises:
        SystemExit: none has.
    """
    for line in text.splitlines():
        if words in line:
            return line.strip()
    raise SystemExit(f"{words!r} is not there")


def main() -> None:
    """Run it, print what it was like, and draw it."""
    parser = argparse.ArgumentParser(description="An agent without a model works through a window.")
    parser.add_argument("--steps", type=int, default=10_000, help="at least 100")
    parser.add_argument("--chart", type=Path, default=Path("long_run.svg"), help="where the chart is written")
    result = parser.parse_args()
    if result.steps < 100:
        parser.error("--steps is less than 100")
    shown = (TextColumn("steps"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with ContextClient() as context:
        with Progress(*shown) as progress:
            bar = progress.add_task("steps", total=result.steps)
            run = worked(context, result.steps, behind_each=lambda done: progress.update(bar, completed=done))
        for line in (*run.first_fold, "", *report(run), "", *asked(context, run), "", *taken_back(context, run)):
            print(line)
    drawn = chart(
        packed_at=run.packed_at,
        zones=run.zones,
        limit=run.window.token_limit,
        folded_at=run.folded_at,
        costs={bill.name: bill.costs for bill in run.bills},
    )
    result.chart.write_text(drawn, "utf-8")
    print(f"the chart is in {result.chart}")


if __name__ == "__main__":
    main()
