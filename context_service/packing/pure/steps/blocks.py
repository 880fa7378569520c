"""Blocks: steps of a window, rendered in a vendor's message format. Values in, values out.

A fold is one compaction of a window. Between two folds each pack repeats the earlier pack byte for byte and only adds
blocks at its end, so the vendor's prompt cache stays valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from context_service.kernel.files.limits import NO_FILES, FileUse
from context_service.kernel.parts import Part
from context_service.kernel.rendering import Format, Rendered, Turn, in_place
from context_service.packing.pure.steps.step import Step
from context_service.packing.pure.steps.step_files import tokens_of_files
from context_service.packing.pure.steps.turns import pieces
from context_service.packing.pure.texts.quotation import attributed, with_notice
from context_service.packing.pure.texts.sources import of_step, of_text

# The JSON around the blocks of one message, whose tokens are counted, too. Only for vendors that put several blocks
# into one message, because their roles must alternate.
_AROUND = {Format.ANTHROPIC: '{"role":"assistant","content":[]},', Format.GEMINI: '{"role":"model","parts":[]},'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A step rendered for a model. It is made once, and then never changes.

    Attributes:
        seq_from: The `seq` of the first message of the step.
        seq_to: The `seq` of the last message of the step.
        tokens: The tokens of the rendered step.
        pieces: The rendered step, in the order of the request.
        is_cut: The step waits for results of tools and is shortened, so it will look different when it is closed.
        files: What the files of the step use of the vendor's limits.
    """

    seq_from: int
    seq_to: int
    tokens: int
    pieces: tuple[Rendered, ...]
    is_cut: bool = False
    files: FileUse = NO_FILES


def block_of(step: Step, to: Format, count: Callable[[str], int]) -> Block:
    """Render a step for a model, and count its tokens.

    Args:
        step: The step. If it is not closed, it has results only up to the first missing one.
        to: The vendor's message format.
        count: Returns the number of tokens of a text.
    """
    turn = in_place(step.turn, to)
    if step.speaker:  # the text is quoted after all shortening, so that no cut can remove the quotation marks
        turn = replace(turn, parts=[_quoted(part, step) for part in turn.parts])
    elif step.is_open:
        results = list(takewhile(lambda call: call.result is not None, turn.calls))
        calls = results + [replace(call, result=None) for call in turn.calls[len(results) :]]
        turn = Turn(turn.role, turn.name, turn.parts, calls)
    turns = tuple(of_step(list(map(Rendered.of, pieces(turn, to))), step))
    return Block(
        seq_from=step.seqs[0],
        seq_to=step.seqs[-1],
        tokens=tokens_of(turns, to, count) + tokens_of_files(turn),
        pieces=turns,
    )


def _quoted(part: Part, step: Step) -> Part:
    return part if part.file else replace(part, text=_quotation(part.text or "", step))


def _quotation(text: str, step: Step) -> str:
    """Return a text of a step as a quotation of the step's speaker, below the step's note if it has one."""
    marked = with_notice(attributed(text, step.speaker))
    return f"{step.note}\n{marked}" if step.note else marked


def tokens_of(turns: Sequence[Rendered], to: Format, count: Callable[[str], int]) -> int:
    """Return the tokens that pieces add to a request at most, including the JSON around them."""
    messages = sum(1 for _ in groupby(turns, key=lambda turn: (turn.role, turn.is_result)))
    return sum(count(piece.json) for piece in turns) + messages * count(_AROUND.get(to, ""))


def text_pieces(text: str, to: Format) -> list[Rendered]:
    """Render a text of the service itself, such as a note, as a user's message in the vendor's format.

    An empty text has no pieces.
    """
    if not text:
        return []
    sources = of_text(text)
    return [Rendered.of(piece)._replace(sources=sources) for piece in pieces(Turn("user", parts=[Part(text=text)]), to)]
