"""The assistant's last words: its last two statements and its newest plan, which stay in packs after a fold.

A fold (one compaction of a window) masks and merges old steps. The last statements of the assistant and its newest
call of a planning tool say where the work stands, so packs repeat them word for word after the state, unless their
steps still show them. The zone has one block. Each fold makes it again together with the state, so the cached prompt
breaks no earlier because of it. If the block would have more than its share of the limit, its longest texts become
their head and tail. Values in, values out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from context_service.folding.pure.summaries import LAST_WORDS, Scored, Summary
from context_service.packing.pure.texts.conversation import head_and_tail, is_quotation, joined, shown

TITLE = (
    "[The last statements of the assistant and its newest plan, word for word, from steps that are no longer shown in "
    "full.]"
)
STATEMENTS_MAX = 2
SHARE = 0.10  # the share of the limit that the zone may have
PLAN, FILE = "plan", "file"  # kinds of units; statements have the kinds of the conversation zone
_PLAN_SHARE = 0.5  # of the zone: a longer plan is cut
_TEXT_TOKENS_MIN = 50  # a text that must be cut to fewer tokens is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A statement or a plan of the assistant that packs must show after a fold.

    Attributes:
        number: The number of the block that shows its step, or None if no block does.
        is_masked: The block is masked.
        is_lost_in_mask: The masked form of the step does not show all of the text.
        line: The text with its heading, and its place in the log.
    """

    number: int | None
    is_masked: bool
    is_lost_in_mask: bool
    line: Scored


class Plan(NamedTuple):
    """The newest call of a planning tool in the blocks of a window.

    Attributes:
        number: The number of the block that has the call.
        tool: The name of the tool.
        arguments_json: The arguments of the call, as the log has them.
        ref: The ref of the call.
        is_lost_in_mask: Masks cut the arguments of the tool.
    """

    number: int
    tool: str
    arguments_json: str
    ref: str
    is_lost_in_mask: bool


class LastWords:
    """The candidates for a block after the state. Each plan of a fold takes those that its steps do not show.

    Args:
        utterances: At most one plan and `STATEMENTS_MAX` statements, or files.
        level: The level of the block.
        title: The first lines of the block.
        tokens_max: The most tokens of the zone.
        count: Counts the tokens of a text.
        cost: Counts the tokens of a text as a piece of a request.
    """

    def __init__(
        self,
        utterances: Sequence[Utterance],
        *,
        tokens_max: int,
        count: Callable[[str], int],
        cost: Callable[[str], int],
        level: int = LAST_WORDS,
        title: str = TITLE,
    ) -> None:
        self._utterances = utterances
        self._level, self._title = level, title
        self._tokens_max, self._count, self._cost = tokens_max, count, cost
        self._blocks: dict[tuple[bool, ...], tuple[Summary, ...]] = {}

    def block(self, *, masked: Collection[int], merged: Collection[int]) -> tuple[Summary, ...]:
        """Return the block of the zone after a fold; empty if the steps show everything.

        Args:
            masked: The numbers of the blocks that the fold masks.
            merged: The numbers of the blocks that the fold removes from packs.
        """
        hidden = tuple(
            utterance.number is None
            or utterance.number in merged
            or (utterance.is_lost_in_mask and (utterance.is_masked or utterance.number in masked))
            for utterance in self._utterances
        )
        if hidden not in self._blocks:  # a fold asks after each of its steps
            lines = [utterance.line for utterance, hides in zip(self._utterances, hidden, strict=True) if hides]
            self._blocks[hidden] = self._block_of(lines)
        return self._blocks[hidden]

    def _block_of(self, lines: Sequence[Scored]) -> tuple[Summary, ...]:
        """Return a block with some lines, cut to the room of the zone."""
        room = self._tokens_max - self._cost(self._title)
        kept: list[Scored] = []
        # The plan has room first, then the newest statement.
        for line in sorted(lines, key=lambda line: (line.unit.kind != PLAN, -line.unit.seq)):
            most = math.floor(room * _PLAN_SHARE) if line.unit.kind == PLAN and len(lines) > 1 else room
            if fitted := self._fitted(line, most):
                kept.append(fitted)
                room -= self._count(shown(fitted.unit.text)) + 1
        if not kept:
            return ()
        kept.sort(key=lambda line: (line.unit.seq, line.unit.kind == PLAN))
        text = joined(self._title, kept)
        return (
            Summary(
                level=self._level,
                step_from=min(line.step for line in kept),
                step_to=max(line.step for line in kept),
                seq_from=min(line.unit.seq for line in kept),
                seq_to=max(line.unit.seq for line in kept),
                tokens=self._cost(text),
                text=text,
                kept=tuple(kept),
            ),
        )

    def _fitted(self, line: Scored, tokens_max: int) -> Scored | None:
        """Return a line with its text cut to a number of tokens, or None if that leaves nothing worth showing.

        Files are not cut.
        """
        unit = line.unit
        if self._count(shown(unit.text)) < tokens_max:
            return line
        heading, _, body = unit.text.partition("\n")
        room = tokens_max - self._count(heading) - 2
        room = room * 2 // 3 if is_quotation(unit.text) else room  # its lines will begin with a mark
        if room < _TEXT_TOKENS_MIN or unit.kind == FILE:
            return None
        text = f"{heading}\n{head_and_tail(body, unit.ref, room, self._count)}"
        return replace(line, unit=replace(unit, text=text))
