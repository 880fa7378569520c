"""A long run, by the rules alone, in small: `make bench-window` has all of it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from bench.long_run.coding import Coding
from bench.long_run.measured import ALWAYS, Measured, Sample, answers, measured
from bench.long_run.operations import Operations
from bench.long_run.ours import Folding
from bench.long_run.prepared import Prepared, Step, prepared
from bench.long_run.strategies import Shown
from bench.long_run.workload import Log, Probe
from context_service.contexts.model import Message
from context_service.folding.pure.summaries import Summary
from context_service.kernel.rendering.turns import result_text
from context_service.kernel.tokens import TokenCounter
from context_service.windows.pure.refs import parse_ref

STEPS, LIMIT, EVERY = {Coding: 1_000, Operations: 500}, 24_000, 50
KINDS = pytest.mark.parametrize("kind", [Coding, Operations])

_PRINTED = re.compile(
    r"^- .*\((m[0-9/]+)\)$"
    r"|^\[[0-9]+ characters more: (m[0-9/]+)\]$"
    r"|^\[Steps [0-9]+ to [0-9]+, (m[0-9.m]+), in excerpts\]$",
    re.MULTILINE,
)
_EXCERPT = re.compile(r"^- (?:(?:user|assistant|system): (.*)|tool[^«\n]*: «(.*)») \((m[0-9]+/[0-9]+)\)$", re.MULTILINE)


class Watched(Folding):
    """What a window shows at each step, and whatever it ever showed."""

    def __init__(self, ready: Prepared, limit: int) -> None:
        super().__init__(ready, limit, cache(TokenCounter().count))
        self.breaks: list[int] = []  # steps behind which a pack begins otherwise, without a fold
        self.texts: dict[Hashable, str] = {}
        self.summaries: dict[Summary, None] = {}
        self.not_tiled: list[int] = []
        self.not_told: list[tuple[int, Probe]] = []  # superseded values, and where nothing said so
        self.current: list[tuple[int, Probe]] = []  # superseded values that state or summaries have as current
        self._before: list[Hashable] = []
        self._at: dict[int, list[Probe]] = {}
        for probe in ready.workload.probes:
            if probe.kind == "value" and probe.until_seq:
                self._at.setdefault(probe.until_seq, []).append(probe)
        self._superseded: list[Probe] = []

    def after(self, step: Step) -> Sequence[Shown]:
        pack = super().after(step)
        keys = [one.key for one in pack]
        is_fold = step.number in self.folded.steps[-1:]
        if not is_fold and keys[: len(self._before)] != self._before:
            self.breaks.append(step.number)
        self._before = keys
        self.texts |= {one.key: one.text for one in pack if one.key not in self.texts}
        self._look_at_values(step, pack, is_fold=is_fold)
        if is_fold:
            self.summaries |= dict.fromkeys(self.view.summaries)
            steps = [n for one in self.view.summaries for n in range(one.step_from, one.step_to + 1)]
            steps += [one.step for one in self.view.blocks if not one.is_appended]
            if steps != list(range(1, step.number + 1)):
                self.not_tiled.append(step.number)
        return pack

    def _look_at_values(self, step: Step, pack: Sequence[Shown], *, is_fold: bool) -> None:
        """Behind the step that supersedes a value a note says so, and behind the next fold only the new one stands."""
        now = [
            one for seq in range(step.made.block.seq_from, step.made.block.seq_to + 1) for one in self._at.get(seq, [])
        ]
        self._superseded += now
        for probe in now:
            note = next((one.text for one in reversed(pack) if one.text.startswith("[What has changed]")), "")
            if not is_fold and not answers(note.replace("no longer:", "\n"), probe.needle):
                self.not_told.append((step.number, probe))
        if is_fold:
            text = "\n".join([self._state, *(one.text for one in self.view.summaries)])
            self.current += [(step.number, one) for one in self._superseded if answers(text, one.needle)]


@dataclass(frozen=True)
class Ran:
    """A run, and its figures."""

    ready: Prepared
    ours: Watched
    figures: Measured

    def message(self, seq: int) -> Message:
        return self.ready.workload.messages[seq - 1]


@cache
def ran(kind: type[Log]) -> Ran:
    ready = prepared(kind(seed=7, steps=STEPS[kind]).workload(), cache(TokenCounter().count), lambda _: None)
    ours = Watched(ready, LIMIT)
    return Ran(ready, ours, measured(ours, ready, every=EVERY, progress=lambda _: None))


@KINDS
def test_packs_of_a_long_run_fit_grow_at_their_end_and_hold_every_rule_and_value(kind: type[Log]):
    """Between folds a vendor's cache holds all of the pack before, and nothing that is always true is ever missing."""
    run = ran(kind)

    assert run.figures.over == 0
    assert run.ours.breaks == []
    assert [one for sample in run.figures.samples for always in ALWAYS for one in sample.missing(always)] == []
    assert len(run.ours.folded.steps) > 10
    assert run.ours.view.summaries


@KINDS
def test_a_value_that_is_superseded_is_told_at_once_and_never_again_as_what_holds(kind: type[Log]):
    run = ran(kind)

    assert any(one.until_seq for one in run.ready.workload.probes if one.kind == "value")
    assert run.ours.not_told == []
    assert run.ours.current == []


@KINDS
def test_summaries_and_steps_tile_the_log_behind_every_fold(kind: type[Log]):
    assert ran(kind).ours.not_tiled == []


@KINDS
def test_what_is_saved_grows_with_the_log(kind: type[Log]):
    saved = ran(kind).figures.savings

    assert max(saved) >= STEPS[kind]
    assert saved[50] > 0.25
    assert saved[100] > 0.5
    assert saved[200] > 0.8
    assert saved[max(saved)] > 0.9
    assert saved.get(1_000, 1) > 0.95


@KINDS
def test_what_was_said_long_ago_is_found_as_what_was_said_of_late(kind: type[Log]):
    """At the end within ten per cent of step 100."""
    began, *_, last = (one for one in ran(kind).figures.samples if one.asked is not None)

    assert began.step == 100
    assert last.step >= STEPS[kind]
    assert began.share(asked=True) - last.share(asked=True) <= 0.1
    assert last.share(asked=True) >= 0.95
    assert last.share() >= 0.45
    assert old(last).share(asked=True) >= 0.9


def old(sample: Sample) -> Sample:
    """Return a sample of what was said in the first half."""
    half = max(one.seq for one in sample.probes) // 2
    kept = [number for number, one in enumerate(sample.probes) if one.seq <= half]
    assert kept

    def of(found: frozenset[int] | None) -> frozenset[int]:
        return frozenset(kept.index(number) for number in found or () if number in kept)

    return Sample(sample.step, [sample.probes[number] for number in kept], of(sample.shown), of(sample.asked))


@KINDS
def test_whatever_a_summary_says_its_source_says(kind: type[Log]):
    """Identifiers, numbers, paths and quotes with it: a line is its source's, word for word."""
    run = ran(kind)
    found = [excerpt.groups() for one in run.ours.summaries for excerpt in _EXCERPT.finditer(one.text)]
    lines = [(own or quoted, ref) for own, quoted, ref in found]

    assert len(lines) > 200
    assert max(one.level for one in run.ours.summaries) > 2
    assert [
        (text, ref)
        for text, ref in lines
        if any(piece.strip() not in " ".join(source(run, ref)) for piece in text.split("…"))
    ] == []


@KINDS
def test_every_ref_that_was_ever_printed_is_of_something_in_the_log(kind: type[Log]):
    run = ran(kind)
    printed = {next(filter(None, one)) for text in run.ours.texts.values() for one in _PRINTED.findall(text)}

    assert len(printed) > 200
    for text in printed:
        ref = parse_ref(text)
        assert ref
        assert 1 <= ref.seq <= ref.last_seq <= len(run.ready.workload.messages)
        assert ref.part is None or any(source(run, text))


def source(run: Ran, text: str) -> Iterator[str]:
    """Yield what a ref is of: a content, a text, a result, or a call with the values that it is called with."""
    ref = parse_ref(text)
    assert ref
    message = run.message(ref.seq)
    if not ref.part:
        yield message.content
        return
    part = message.parts[ref.part - 1]
    if part.tool_result:
        yield result_text(part.tool_result.content_json)
    elif part.tool_call:
        yield part.tool_call.name
        yield from re.findall(r'"[^"]*":"([^"]*)"', part.tool_call.arguments_json)
    else:
        yield part.text or ""
