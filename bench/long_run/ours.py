"""The pack of a context window at each step of a long run: the pure rules, put together without a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from bench.long_run.prepared import FORMAT, Prepared, Step, text_of
from bench.long_run.strategies import Shown, Strategy
from context_service.folding.pure.folds import CLOSE_STEPS, Fold, FoldableBlock, Limits, View, fold, room_of_newest
from context_service.folding.pure.importance import Weights
from context_service.folding.pure.last_words import SHARE, LastWords
from context_service.folding.pure.utterances import utterances_of
from context_service.packing.pure.state.recall_marks import Superseded, noted, seq_of, up_to_date
from context_service.packing.pure.state.task_state import Entry, after, note_of, render_state
from context_service.packing.pure.steps.blocks import Block
from context_service.packing.pure.steps.grades import fit_step
from context_service.packing.rules.recall_after_step import RECALLED_SHARE, RECALLED_TOKENS

RECALL_EVERY = 10  # steps, unless a user or an error calls for it before
ASKED_TOKENS = 4_000
_QUERY_CHARS = 1_500


@dataclass(slots=True)
class Folded:
    """The folds of a run: the seconds of CPU of each, and its step."""

    cpu_s: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The parts of a pack that show a block, plain and masked."""

    plain: Shown
    masked: Shown | None


class Folding(Strategy):
    """Folds a window from .97 to .50 of its limit, and shows the state.

    Recalled passages are appended once, after the step that they are for.
    """

    name = "a window: folds, state, recall appended once"

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(prepared, limit, count)
        self.limits = Limits.of(limit)
        self.folded = Folded()
        self.view = View(head=self.head.tokens)
        self.entries: list[Entry] = []
        self._said: list[Entry] = []  # entries that are not in `entries` yet
        self._ended: list[Superseded] = []
        self._recalled: dict[int, dict[str, int]] = {}  # by the number of a block, its passages and when it came
        self._state = ""
        self._seen: dict[int, _Seen] = {}
        self._number = 0
        self._wish = prepared.workload.goal
        self._recalled_at = self._folded_at = 0
        self._seq = 0

    def after(self, step: Step) -> Sequence[Shown]:
        """Add a step to the window, recall passages for it, fold if the window is too full, and return the pack."""
        made = step.made
        self._seq = made.block.seq_to
        self._add(
            Shown(("step", step.number), made.block.tokens, made.block),
            step,
            masked=Shown(("masked", step.number), made.mask.tokens, made.mask) if made.mask else None,
        )
        self._said += made.entries
        if made.entries and (superseded := self._caught_up()):
            self._append(note_of(superseded), step)
        self._recall(step)
        if self.view.tokens > self.limits.high:
            began = time.process_time()
            self._fold(step)
            self.folded.cpu_s.append(time.process_time() - began)
            self.folded.steps.append(step.number)
        return self._pack()

    def is_state(self, shown: Shown) -> bool:
        return shown.text == self._state

    def answering(self, question: str) -> str:
        found = self.prepared.index.recalled(question, tokens_max=ASKED_TOKENS, seq_to=self._seq)
        return "\n".join(item.text for item in found)

    def _caught_up(self) -> list[tuple[Entry, Entry]]:
        self.entries, superseded = after(self.entries, self._said)
        self._said = []
        self._ended += [Superseded(old, new, new.seq) for old, new in superseded]
        return superseded

    def _ended_of(self, seqs: Collection[int]) -> list[Superseded]:
        """Return the entries of some messages that no longer hold."""
        return [ended for ended in self._ended if ended.old.seq in seqs]

    def _add(self, plain: Shown, step: Step, *, masked: Shown | None = None, is_appended: bool = False) -> None:
        """Append a part to the window as a block that a later fold may mask, summarise or drop."""
        self._number += 1
        self._seen[self._number] = _Seen(plain, masked)
        standing = FoldableBlock(
            number=self._number,
            step=step.number,
            seq_from=step.made.block.seq_from,
            seq_to=step.made.block.seq_to,
            tokens=plain.tokens,
            masked_tokens=masked.tokens if masked else plain.tokens,
            is_appended=is_appended,
            is_error=step.made.is_error,
            units=() if is_appended else step.made.units,
            names=frozenset() if is_appended else step.made.names,
            tools=() if is_appended else tuple(use.name for use in step.made.tools),
            speaker="" if is_appended else step.made.speaker,
            said="" if is_appended else step.made.said,
        )
        self.view = replace(self.view, blocks=(*self.view.blocks, standing))

    def _append(self, text: str, step: Step) -> None:
        self._add(Shown(("appended", step.number, text), self.count(text), text), step, is_appended=True)

    def _recall(self, step: Step) -> None:
        """Recall the hidden passages that the step calls for."""
        if step.made.role == "user":
            self._wish = step.said
        is_called = step.made.role == "user" or step.made.is_error
        if not (is_called or step.number - self._recalled_at >= RECALL_EVERY) or not self.view.summaries:
            return
        self._recalled_at = step.number
        text = f"{self._wish}\n{_end_of(step.made.block) if step.made.is_error else step.said}"[:_QUERY_CHARS]
        shown = {ref: seq for number in self._seen for ref, seq in self._recalled.get(number, {}).items()}
        found = self.prepared.index.recalled(
            text,
            tokens_max=min(RECALLED_TOKENS, self.limit // RECALLED_SHARE),
            seq_to=self._seq,
            known_from=self.view.blocks[0].seq_from,
            known_refs=up_to_date(shown, self._ended_of({seq_of(ref) for ref in shown})),
        )
        if found:
            passages = {item.ref: (item.seq, item.text) for item in found}
            recalled = "\n".join(["[Recalled]", *(item.quoted for item in sorted(found))])
            self._append(noted(recalled, passages, self._ended_of({item.seq for item in found})), step)
            self._recalled[self._number] = dict.fromkeys(passages, self._seq)

    def _fold(self, step: Step) -> Fold:
        """Fold the window to its lower limit, and forget the parts that are not shown any more."""
        self._caught_up()
        self._state = render_state(self.entries, tokens_max=self.limits.state, count=self.count).text
        done = fold(
            self.view,
            self.limits,
            state_tokens=self.count(self._state),
            goal=self.prepared.workload.goal,
            count=self.count,
            cost=self.count,
            weights=Weights(),
            last_words=[
                LastWords(
                    utterances_of(self.view.blocks, self.view.last_words, None),
                    tokens_max=int(SHARE * self.limit),
                    count=self.count,
                    cost=self.count,
                )
            ],
            is_close=bool(self._folded_at) and step.number - self._folded_at < CLOSE_STEPS,
        )
        self._folded_at = step.number
        self.view = done.view
        if self.view.tokens > self.limits.high:
            self._cut_newest(step)
        left = {block.number for block in done.view.blocks}
        self._seen = {number: seen for number, seen in self._seen.items() if number in left}
        return done

    def _cut_newest(self, step: Step) -> None:
        """Cut the newest step to the room that the fold leaves, as the service does."""
        blocks = self.view.blocks
        place = max((place for place, block in enumerate(blocks) if not block.is_appended), default=None)
        if place is None or blocks[place].is_masked:
            return
        without = replace(self.view, blocks=blocks[: place + 1])
        room = room_of_newest(without, self.limits, waiting=self.view.tokens - without.tokens)
        block = fit_step(step.whole, room, to=FORMAT, profile=self.prepared.profile, count=self.count)
        if block.tokens >= blocks[place].tokens:
            return
        shorter = replace(blocks[place], tokens=block.tokens)
        self.view = replace(self.view, blocks=(*blocks[:place], shorter, *blocks[place + 1 :]))
        number = shorter.number
        self._seen[number] = replace(self._seen[number], plain=Shown(("cut", step.number), block.tokens, block))

    def _pack(self) -> list[Shown]:
        pack = [self.head]
        pack += [Shown(summary.text, summary.tokens, summary.text) for summary in self.view.rows]
        if self.view.state:
            pack.append(Shown(self._state, self.view.state, self._state))
        for block in self.view.blocks:
            seen = self._seen[block.number]
            pack.append(seen.masked if block.is_masked and seen.masked else seen.plain)
        return pack


def _end_of(block: Block) -> str:
    """Return the end of a block's text, where an error has its message."""
    return text_of(block)[-_QUERY_CHARS // 3 :]
