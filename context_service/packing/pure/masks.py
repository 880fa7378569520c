"""Masks: a step whose tool results are cleared to their important lines, each with a ref to the whole result.

A masked result keeps its head, the lines that the profile keeps whole, such as those of a diff, and the units of most
worth. Calls, reasoning and texts of users stay as they are; very long texts are cut.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, replace

from context_service.kernel.rendering import Result, Turn
from context_service.packing.pure.steps import Step
from context_service.packing.pure.units import TEXT_BYTES_MAX, Unit, lines_of
from context_service.profiles.pure.profiles import Profile

TOKENS_SAVED_MIN, SHARE_SAVED_MIN = 100, 0.5  # or it is no mask
SAID_CHARS_MAX = 6_000  # of a speaker's text in one part
_SAID_CHARS_KEPT = 1_000
_LINES_MAX = 6  # units that are kept in addition to the head
_OF_WORDS = string.ascii_letters + string.digits + "_.-"


def masked(step: Step, units: list[Unit], profile: Profile, count: Callable[[str], int]) -> Turn | None:
    """Return the masked turn of a step, or None if a mask would save too little.

    Args:
        step: The step to mask, which is closed.
        units: The units of its messages: their lines are kept, the heaviest first.
        profile: The compression profile, which says how much is kept.
        count: Returns the number of tokens of a text.
    """
    turn = step.turn
    of_tools, of_turn = _Lines("tool", units, profile), _Lines(turn.role, units, profile)
    calls = []
    for call in turn.calls:
        place, result = step.result_refs.get(call.id), call.result
        if result and place and (kept := _cut(result.text, place, of_tools, profile.trim_of(call.call.name), count)):
            calls.append(replace(call, result=Result(kept, result.is_error)))
        else:
            calls.append(call)
    parts = []
    for part, place in zip(turn.parts, step.said_refs, strict=True):
        is_long = part.text is not None and len(part.text) > SAID_CHARS_MAX
        kept = _cut(part.text or "", place, of_turn, _SAID_CHARS_KEPT, count) if is_long else ""
        parts.append(replace(part, text=kept) if kept else part)
    if calls == turn.calls and parts == turn.parts:
        return None
    return Turn(turn.role, turn.name, parts, calls)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a text that a mask keeps in addition to the text's beginning, and the text's speaker."""

    role: str
    units: list[Unit]
    profile: Profile

    def verbatim(self, text: str, room: int) -> list[str]:
        """Return the lines that the profile keeps whole, in their order, as long as there is room."""
        data = text.encode(errors="replace")[:TEXT_BYTES_MAX]
        rules = [rule for rule in self.profile.verbatim if self.role in rule.roles]
        kept = []
        for _, line in sorted({found for rule in rules for found in lines_of(rule, data)}):
            if len(line) <= room:
                kept.append(line.decode(errors="replace").rstrip())
                room -= len(line) + 1
        return kept

    def heaviest(self, ref: str, room: int, *, besides: str) -> list[str]:
        """Return the units of a part with the greatest weight that the mask does not show already."""
        kept: list[str] = []
        for unit in sorted((unit for unit in self.units if unit.ref == ref), key=lambda unit: -unit.weight):
            if len(kept) < _LINES_MAX and len(unit.text) <= room and unit.text not in besides:
                kept.append(f"… {unit.text}")
                room -= len(unit.text)
        return kept


def _cut(text: str, ref: str, lines: _Lines, chars: int, count: Callable[[str], int]) -> str:
    """Return the mask of a text: its beginning, its important lines, and the ref of the whole.

    The mask is empty if it would save too few tokens.

    Args:
        text: The whole text of a part.
        ref: The ref with which a model can expand the whole text.
        lines: Selects the lines to keep after the beginning.
        chars: The most characters of the beginning, and of the lines that are kept.
        count: Returns the number of tokens of a text.
    """
    if len(text) <= chars:
        return ""
    head = _whole_words(text[:chars])
    whole = lines.verbatim(text[len(head) :].partition("\n")[2], chars)  # what the head cuts is no whole line
    seen = "\n".join([head, *(["…", *whole] if whole else [])])
    units = lines.heaviest(ref, chars - sum(map(len, whole)), besides=seen)
    kept = "\n".join([seen, *units, f"[{len(text) - len(head)} characters more: {ref}]"])
    before, after = count(text), count(kept)
    return kept if before - after >= TOKENS_SAVED_MIN and after <= before * SHARE_SAVED_MIN else ""


def _whole_words(head: str) -> str:
    """Return a text cut at a space or sign near its end, if there is one, so that no number is cut in two."""
    space = max(head.rfind(" "), head.rfind("\n"))
    shorter = head[:space] if space > len(head) // 2 else head.rstrip(_OF_WORDS)
    return shorter if len(shorter) > len(head) // 2 else head
