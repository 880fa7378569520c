"""Grades: shortened forms of a step. Each text that is not shown whole has a ref, with which a model can expand it.

There are two grades. `mask_step` is for older steps: it reduces tool results to their head, the lines that the profile
keeps whole (such as those of a diff), and the most important units (lines that the profile's rules find). `fit_step` is
for the newest step: if the whole step does not fit, its results, arguments and texts share the room, each with its
head, its tail and its important lines. Names of tools, ids of calls and reasoning stay as they are.
"""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import orjson

from context_service.kernel.parts import ToolCall
from context_service.kernel.rendering import Call, Format, Turn
from context_service.kernel.rendering.turns import arguments, part_text
from context_service.packing.pure.steps.blocks import Block, block_of
from context_service.packing.pure.steps.shortened import LongText
from context_service.packing.pure.steps.step import Step
from context_service.packing.pure.steps.step_files import cleared_of_files
from context_service.packing.pure.texts.units import TEXT_BYTES_MAX, Unit, lines_of
from context_service.profiles.pure.profiles import Profile

TOKENS_SAVED_MIN, SHARE_SAVED_MIN = 100, 0.5  # a text is masked only if this saves so many tokens and this share
SAID_CHARS_MAX = 6_000  # a longer text of a user or the assistant is masked, too
_SAID_CHARS_KEPT = 1_000  # the characters of such a text that its mask keeps
_LINES_MAX = 6  # units that are kept in addition to the head
_OF_WORDS = string.ascii_letters + string.digits + "_.-"  # characters of words and numbers, which no cut may split
_ATTEMPTS_MAX = 8  # renderings of a step until it has nearly as many tokens as it may
# Shares of the room. A rendering that fills the first share is good enough. The second share is the aim: it is a
# little less than the room, so that rounding does not exceed the room.
_FILLED_SHARE, _AIMED_SHARE = 0.97, 0.985
_ALL = "arguments"  # the member that holds arguments as a text, when their values alone cannot be cut enough


def mask_step(step: Step, units: list[Unit], profile: Profile, count: Callable[[str], int]) -> Turn | None:
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
        clearing, chars = profile.clearing_of(call.call.name), profile.trim_of(call.call.name)
        place, result = step.result_refs.get(call.id), call.result
        if result and place and not clearing.never_clear:
            text = _mask_text(result.text, place, of_tools, chars, count)
            result = cleared_of_files(result._replace(text=text or result.text))
        kept_call = _cleared(call, step.call_refs[call.id], chars, profile) if clearing.clear_inputs else call.call
        calls.append(replace(call, call=kept_call, result=result))
    parts = []
    for part, place in zip(turn.parts, step.said_refs, strict=True):
        is_long = part.text is not None and len(part.text) > SAID_CHARS_MAX
        mask = _mask_text(part.text or "", place, of_turn, _SAID_CHARS_KEPT, count) if is_long else ""
        parts.append(replace(part, text=mask) if mask else part)
    if calls == turn.calls and parts == turn.parts:
        return None
    return Turn(turn.role, turn.name, parts, calls)


def _cleared(call: Call, ref: str, chars: int, profile: Profile) -> ToolCall:
    """Return a call of a tool whose arguments have each text shortened to about `chars` characters."""
    kept_call = arguments(call.call)
    texts = [LongText(text, ref, "tool", profile).shorten(chars) for text in _texts_in(kept_call)]
    if texts == list(_texts_in(kept_call)):
        return call.call
    return replace(call.call, arguments_json=orjson.dumps(_with_texts(kept_call, iter(texts))).decode())


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
        lines = []
        for _, line in sorted({number_and_line for rule in rules for number_and_line in lines_of(rule, data)}):
            if len(line) <= room:
                lines.append(line.decode(errors="replace").rstrip())
                room -= len(line) + 1
        return lines

    def heaviest(self, ref: str, room: int, *, besides: str) -> list[str]:
        """Return the units of a part with the greatest weight that the mask does not show already."""
        lines: list[str] = []
        for unit in sorted((unit for unit in self.units if unit.ref == ref), key=lambda unit: -unit.weight):
            if len(lines) < _LINES_MAX and len(unit.text) <= room and unit.text not in besides:
                lines.append(f"… {unit.text}")
                room -= len(unit.text)
        return lines


def _mask_text(text: str, ref: str, lines: _Lines, chars: int, count: Callable[[str], int]) -> str:
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
    # The search begins after the next line break, because the head may end within a line.
    whole = lines.verbatim(text[len(head) :].partition("\n")[2], chars)
    beginning = "\n".join([head, *(["…", *whole] if whole else [])])
    units = lines.heaviest(ref, chars - sum(map(len, whole)), besides=beginning)
    mask = "\n".join([beginning, *units, f"[{len(text) - len(head)} characters more: {ref}]"])
    before, after = count(text), count(mask)
    return mask if before - after >= TOKENS_SAVED_MIN and after <= before * SHARE_SAVED_MIN else ""


def _whole_words(head: str) -> str:
    """Return a text cut at a space or a punctuation mark in its second half, so that no word or number is split."""
    space = max(head.rfind(" "), head.rfind("\n"))
    shorter = head[:space] if space > len(head) // 2 else head.rstrip(_OF_WORDS)
    return shorter if len(shorter) > len(head) // 2 else head


def fit_step(
    step: Step,
    room: int,
    *,
    to: Format,
    profile: Profile,
    count: Callable[[str], int],
    only: AbstractSet[str] | None = None,
) -> Block:
    """Render a step in at most `room` tokens if its fixed parts fit, and else in as few tokens as possible.

    Args:
        step: The step. If it is not closed, it has results only up to the first missing one.
        room: The most tokens of the block.
        to: The vendor's message format.
        profile: The compression profile, which says which lines matter.
        count: Returns the number of tokens of a text.
        only: The ids of the calls whose results may be shortened, while all else stays whole; None shortens all texts.
    """
    block = block_of(step, to, count)
    if block.tokens <= room:
        return block
    # First keep the form of the arguments; only if that never fits, show all arguments of a call as one text.
    several = [_Grades(step, profile, count, only=only, splits_arguments=splits) for splits in (True, False)]
    leasts = [block_of(grades.step({}), to, count) for grades in several]
    grades, least = next(
        (pair for pair in zip(several, leasts, strict=True) if pair[1].tokens <= room),
        min(zip(several, leasts, strict=True), key=lambda pair: pair[1].tokens),
    )
    best, fixed_tokens = least, least.tokens
    aimed = share = _AIMED_SHARE * (room - fixed_tokens)
    for _ in range(_ATTEMPTS_MAX):
        short_block = block_of(grades.step(grades.levels(share)), to, count)
        if best.tokens < short_block.tokens <= room:
            best = short_block
        if _FILLED_SHARE * room <= short_block.tokens <= room or short_block.tokens <= fixed_tokens:
            break
        share *= aimed / (short_block.tokens - fixed_tokens)
    return best


# Where a text is in a step: its kind ("said", "argument" or "result"), the id of its call, and its number.
_Place = tuple[str, str, int]


class _Grades:
    """The texts of a step that can be shown at any length, and the step with these texts shortened.

    Args:
        step: The whole step.
        profile: The compression profile, which says which lines matter.
        count: Returns the number of tokens of a text.
        only: The ids of the calls whose results may be shortened; None shortens all texts of the step.
        splits_arguments: Each text within the arguments of a call is shortened by itself, so that the arguments keep
            their form. If not, they become one text.
    """

    def __init__(
        self,
        step: Step,
        profile: Profile,
        count: Callable[[str], int],
        *,
        only: AbstractSet[str] | None,
        splits_arguments: bool,
    ) -> None:
        self._step = step
        self._splits_arguments = splits_arguments
        self._texts: dict[_Place, LongText] = {}
        turn = step.turn
        for number, (part, ref) in enumerate(zip(turn.parts, step.said_refs, strict=True)):
            if only is None and (part.text is not None or part.data_json is not None):
                self._texts["said", "", number] = LongText(part_text(part), ref, turn.role, profile)
        for call in turn.calls:
            for number, text in enumerate(self._arguments_of(call) if only is None else ()):
                self._texts["argument", call.id, number] = LongText(text, step.call_refs[call.id], "tool", profile)
            if call.result and call.id in step.result_refs and (only is None or call.id in only):
                result_ref = step.result_refs[call.id]
                self._texts["result", call.id, 0] = LongText(call.result.text, result_ref, "tool", profile)
        self._tokens = {place: count(orjson.dumps(long.text).decode()) for place, long in self._texts.items()}

    def levels(self, tokens: float) -> dict[_Place, int]:
        """Return how many characters of each text to show so that all texts together have a number of tokens.

        Short texts stay whole, and long ones get equally many tokens.
        """
        room, level = tokens, 0.0
        sizes = sorted(self._tokens.values())
        for number, size in enumerate(sizes):
            level = room / (len(sizes) - number)
            if size > level:
                break
            room -= size
        return {
            place: len(long.text) if (size := self._tokens[place]) <= level else int(len(long.text) * level / size)
            for place, long in self._texts.items()
        }

    def step(self, levels: Mapping[_Place, int]) -> Step:
        """Return the step with its texts shortened to these lengths.

        A text that `levels` does not name is replaced by a note with its ref.
        """
        texts = {place: long.shorten(levels.get(place, 0)) for place, long in self._texts.items()}
        turn = self._step.turn
        parts = [
            replace(part, text=texts["said", "", number], data_json=None) if ("said", "", number) in texts else part
            for number, part in enumerate(turn.parts)
        ]
        texts_of: defaultdict[str, list[str]] = defaultdict(list)
        for (kind, call_id, _), text in texts.items():
            if kind == "argument":
                texts_of[call_id].append(text)
        calls = []
        for call in turn.calls:
            result = call.result
            if result and ("result", call.id, 0) in texts:
                result = result._replace(text=texts["result", call.id, 0])
            calls.append(replace(call, call=self._with_arguments(call, texts_of[call.id]), result=result))
        return replace(self._step, turn=Turn(turn.role, turn.name, parts, calls))

    def _arguments_of(self, call: Call) -> Iterator[str]:
        """Yield the texts within the arguments of a call, or all of the arguments as one text."""
        if self._splits_arguments:
            yield from _texts_in(arguments(call.call))
        else:
            yield orjson.dumps(arguments(call.call)).decode()

    def _with_arguments(self, call: Call, texts: Sequence[str]) -> ToolCall:
        """Return a call with other texts in its arguments, in the order of `_arguments_of`."""
        if not texts or texts == list(self._arguments_of(call)):
            return call.call
        kept_call = _with_texts(arguments(call.call), iter(texts)) if self._splits_arguments else {_ALL: texts[0]}
        return replace(call.call, arguments_json=orjson.dumps(kept_call).decode())


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value in their order, without the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    """Return a JSON value with its texts replaced, in the order of `_texts_in`."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, dict):
        return {name: _with_texts(member, texts) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_texts(item, texts) for item in value]
    return value
