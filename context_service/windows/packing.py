"""Packing: which blocks of a window a model sees, within its budget, and when what is before them is left out.

Between two folds a pack is the one before with more behind it, byte for byte, so that a vendor's cache of the prompt
holds. When the blocks are over the high mark, a fold leaves out the oldest until what is left is under the low mark:
rarely, and much at once, since each break of the cache is paid for in full. Values in, values out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from typing import NamedTuple

import orjson

from context_service.parts import Part
from context_service.rendering import Format, Piece, Turn, assembled, pieces
from context_service.windows.steps import Step

HIGH_MARK, LOW_MARK = 0.97, 0.50  # of the limit
KEEP_LAST = 10  # blocks that a fold leaves, if they are under the high mark

# What a message costs beside its blocks, for vendors whose roles take turns.
_AROUND = {Format.ANTHROPIC: '{"role":"assistant","content":[]},', Format.GEMINI: '{"role":"model","parts":[]},'}
_NO_SYSTEM_BETWEEN = frozenset({Format.ANTHROPIC, Format.GEMINI})  # they have one place for it, in front of all


class Rendered(NamedTuple):
    """A piece as it was rendered: it is sent so for ever."""

    role: str
    json: str
    is_result: bool

    @classmethod
    def of(cls, piece: Piece) -> Rendered:
        """Return a piece, rendered."""
        return cls(piece.role, orjson.dumps(piece.value).decode(), piece.is_result)

    def piece(self) -> Piece:
        """Return what goes into a request."""
        return Piece(self.role, orjson.Fragment(self.json), self.is_result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A step as a model reads it: made once, and never again."""

    seq_from: int
    seq_to: int
    tokens: int
    pieces: tuple[Rendered, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much of a window may be seen.

    Attributes:
        limit: Tokens of a request, at most.
        head: Tokens of what stands in front of the blocks, with a note on what is left out.
    """

    limit: int
    head: int


class DoesNotFit(Exception):
    """The last block does not fit, with what stands in front of it.

    Attributes:
        least: The limit with which it would.
    """

    def __init__(self, least: int) -> None:
        super().__init__(f"the least is {least}")
        self.least = least


def block_of(step: Step, to: Format, count: Callable[[str], int]) -> Block:
    """Return a step as a block.

    Args:
        step: Of one that is not closed, results are there up to the first that is missing.
        to: Whose messages.
        count: Counts the tokens of a text.
    """
    turn = step.turn
    if turn.role == "system" and to in _NO_SYSTEM_BETWEEN:
        turn = Turn("user", turn.name, [Part(text="[system]"), *turn.parts])
    elif step.is_open:
        answered = list(takewhile(lambda call: call.result is not None, turn.calls))
        calls = answered + [replace(call, result=None) for call in turn.calls[len(answered) :]]
        turn = Turn(turn.role, turn.name, turn.parts, calls)
    rendered = tuple(map(Rendered.of, pieces(turn, to)))
    return Block(
        seq_from=step.seqs[0],
        seq_to=step.seqs[-1],
        tokens=tokens_of(rendered, to, count),
        pieces=rendered,
    )


def tokens_of(rendered: Sequence[Rendered], to: Format, count: Callable[[str], int]) -> int:
    """Return how many tokens pieces add to a request: those of their JSON, and at most so many of what is around it."""
    messages = sum(1 for _ in groupby(rendered, key=lambda one: (one.role, one.is_result)))
    return sum(count(one.json) for one in rendered) + messages * count(_AROUND.get(to, ""))


def packed(head: Sequence[Rendered], blocks: Sequence[Block], to: Format) -> bytes:
    """Return the messages of a request: what stands in front, and the blocks."""
    return assembled([one.piece() for one in (*head, *(piece for block in blocks for piece in block.pieces))], to)


def first_seen(tokens: Sequence[int], budget: Budget, *, first: int) -> int:
    """Return the number of the first block that is seen.

    Args:
        tokens: Of all blocks.
        budget: Of the window.
        first: Which was the first in the pack before: it is that, as long as all from it on fit.

    Raises:
        DoesNotFit: not even the last one does.
    """
    seen = budget.head + sum(tokens[first:])
    if seen <= math.floor(HIGH_MARK * budget.limit):
        return first
    least = budget.head + (tokens[-1] if tokens else 0)
    if least > budget.limit:
        raise DoesNotFit(least)
    if not tokens:
        return first
    low, high = math.floor(LOW_MARK * budget.limit), math.floor(HIGH_MARK * budget.limit)
    left, together = len(tokens) - 1, least
    while left > first:
        more = together + tokens[left - 1]
        if more > high or (more > low and len(tokens) - left >= KEEP_LAST):
            break
        left, together = left - 1, more
    return left
