"""Summaries: segments of steps, and digests of segments, both chosen from original lines (units).

A summary stores the best units of its steps, also those that its text does not show. So a digest is always chosen from
original lines and never from the text of a summary. A digest of level 4 covers the steps of many digests of level 3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from context_service.folding.pure.importance import ImportanceInputs, Weights, form_of_line, importance, names_of_line
from context_service.packing.pure.texts.quotation import NOTICE, attributed, is_quoted, role_in
from context_service.packing.pure.texts.units import Unit
from context_service.windows.pure.refs import refs_between

FILES, LAST_WORDS, CONVERSATION, SEGMENT, DIGEST = -1, 0, 1, 2, 3  # levels; deeper digests are higher
BY_RULES = "extractive"
SEGMENT_TOKENS_MAX, DIGEST_TOKENS_MAX = 260, 420
_KEPT_OF_SEGMENT, _KEPT_OF_DIGEST = 40, 80  # the number of units that a summary stores for later digests
_REFERRED_STEPS = 2  # a name matters if at least two steps mention it: its own step, and another
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_READING = "read search grep rg find glob list ls cat view open fetch get browse lookup query show head tail tree look"
_READS = frozenset(_READING.split())
_WRITES = frozenset(["write", "edit", "create", "update", "run", "test", "patch", "replace", "delete", "insert"])
_KEPT_TOKENS = 20  # a summary keeps one more unit for each 20 tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A unit with the number of its step, and whether a tool call of the step failed: the inputs of its importance."""

    unit: Unit
    step: int
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A text that replaces steps.

    Attributes:
        level: The depth: `SEGMENT` for steps, `DIGEST` for segments, more for digests of digests. `CONVERSATION`,
            `LAST_WORDS` and `FILES` for blocks of whole messages and files, which they have in place of units.
        step_from: The number of the first step, from 1.
        step_to: The number of the last step.
        kept: The best units of the steps, in their order.
        method: The author of the text: `BY_RULES`, or a model.
        verdict: The verdict on the model's version: accepted, or the failed check. Empty if no model was asked.
        text: The text that a pack shows; empty if no line is worth showing.
        tokens: The tokens of the text as a piece of a request.
    """

    level: int
    step_from: int
    step_to: int
    seq_from: int
    seq_to: int
    tokens: int
    text: str
    kept: tuple[Scored, ...]
    method: str = BY_RULES
    verdict: str = ""


def summary(
    level: int,
    *,
    steps: tuple[int, int],
    seqs: tuple[int, int],
    units: Sequence[Scored],
    tokens_max: int,
    inputs: ImportanceInputs,
    weights: Weights,
    count: Callable[[str], int],
    chose: Callable[[float, bool], None] | None = None,
) -> Summary:
    """Summarize steps: choose as many of their best units as fit, and show them in their order.

    Lines of tools that search and read are mostly noise: they are chosen last, and are at most a third of the lines. If
    there are no other lines, one of them is shown.

    Args:
        level: The level of the summary, as in `Summary`.
        steps: The numbers of the first and the last step.
        seqs: The `seq` of the first and the last message of the steps.
        units: The units to choose from, in their order.
        tokens_max: The number of tokens that the text may have.
        inputs: The facts from which the importance of units is computed.
        weights: The weights of the features of importance.
        count: A function that counts the tokens of a text.
        chose: Called for each unit with its importance, and with whether the text shows it.
    """
    kept_max = _KEPT_OF_SEGMENT if level == SEGMENT else max(_KEPT_OF_DIGEST, tokens_max // _KEPT_TOKENS)
    worth = [
        importance(unit.unit, step=unit.step, is_error=unit.is_error, inputs=inputs, weights=weights) for unit in units
    ]
    best = _different(worth, units, inputs)
    noise = {number for number in best if is_noise(units[number].unit, inputs)}
    best = sorted(best, key=lambda number: number in noise)[:kept_max]
    head = _head(steps, seqs)
    if any(is_quoted(units[number].unit.speaker) for number in best):
        head = f"{head}\n{NOTICE}"
    room = tokens_max - count(head)
    lines_by_step: dict[int, str] = {}
    for number in best:
        line = line_of(units[number].unit)
        needed = count(line) + 1
        noise_max = max(len(lines_by_step.keys() - noise) // 2, 1)
        if needed <= room and (number not in noise or len(lines_by_step.keys() & noise) < noise_max):
            lines_by_step[number] = line
            room -= needed
    if chose is not None:
        for place, worth_of_one in enumerate(worth):
            chose(worth_of_one, place in lines_by_step)
    text = "\n".join([head, *(lines_by_step[number] for number in sorted(lines_by_step))]) if lines_by_step else ""
    return Summary(
        level=level,
        step_from=steps[0],
        step_to=steps[1],
        seq_from=seqs[0],
        seq_to=seqs[1],
        tokens=count(text) if text else 0,
        text=text,
        kept=tuple(units[number] for number in sorted(best)),
    )


def digest(
    several: Sequence[Summary],
    *,
    tokens_max: int,
    inputs: ImportanceInputs,
    weights: Weights,
    count: Callable[[str], int],
) -> Summary:
    """Summarize consecutive summaries in a digest, whose level is one more than their highest level."""
    first, last = several[0], several[-1]
    return summary(
        max(part.level for part in several) + 1,
        steps=(first.step_from, last.step_to),
        seqs=(min(part.seq_from for part in several), max(part.seq_to for part in several)),
        units=[unit for part in several for unit in part.kept],
        tokens_max=tokens_max,
        inputs=inputs,
        weights=weights,
        count=count,
    )


def join_segments(first: Summary, second: Summary, *, count: Callable[[str], int]) -> Summary:
    """Join two consecutive segments into one. At most one of the two may have lines."""
    seqs = (min(first.seq_from, second.seq_from), max(first.seq_to, second.seq_to))
    of_lines = first if first.text else second
    _, has_lines, lines = of_lines.text.partition("\n")
    text = f"{_head((first.step_from, second.step_to), seqs)}\n{lines}" if has_lines else ""
    return replace(
        of_lines,
        step_from=first.step_from,
        step_to=second.step_to,
        seq_from=seqs[0],
        seq_to=seqs[1],
        text=text,
        tokens=count(text) if text else 0,
        kept=(*first.kept, *second.kept),
    )


def is_noise(unit: Unit, inputs: ImportanceInputs) -> bool:
    """Return whether a line is probably useless.

    It is, if it comes from a tool that only searches or reads, and if it names nothing or a thing that no other step
    mentions.
    """
    words = {word.lower() for word in _WORD_OF_NAME.findall(unit.speaker)}
    if role_in(unit.speaker) != "tool" or not words & _READS or words & _WRITES:
        return False
    names = names_of_line(unit.text)
    return not names or any(inputs.mentions.get(name, 1) < _REFERRED_STEPS for name in names)


def _head(steps: tuple[int, int], seqs: tuple[int, int]) -> str:
    """Return the first line of a summary, which says which steps and messages it covers."""
    return f"[Steps {steps[0]} to {steps[1]}, {refs_between(*seqs)}, in excerpts]"


def _different(worth: Sequence[float], units: Sequence[Scored], inputs: ImportanceInputs) -> list[int]:
    """Return the indexes of the units in the order of their importance, each text once.

    Units that differ only in names and numbers, such as the same warning about two hosts, have the same form. The
    second unit of a form counts with one half of its importance, the third with a third, and so on. Forms that many
    units of the whole window have count less, too.
    """
    texts: set[str] = set()
    often: dict[str, int] = {}
    units_kept = []
    for place in sorted(range(len(units)), key=lambda place: (-worth[place], place)):
        text = units[place].unit.text.casefold()
        if text not in texts:
            texts.add(text)
            form = form_of_line(text)
            often[form] = often.get(form, 0) + 1
            units_kept.append(
                (-worth[place] / (often[form] * (1 + math.log(max(inputs.forms.get(form, 1), 1)))), place)
            )
    return [place for _, place in sorted(units_kept)]


def line_of(unit: Unit) -> str:
    """Return the line of a summary that shows a unit: its speaker, its text and its ref."""
    return f"- {attributed(unit.text, unit.speaker)} ({unit.ref})"
