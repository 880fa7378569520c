"""The result of a fork as text: the last message of its assistant, and its state. Values in, values out.

Every line has a ref to its original in the fork. Lines do not become rules in the parent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from context_service.packing.pure.quotation import attributed, with_notice
from context_service.packing.pure.task_state import Entry
from context_service.windows.pure.refs import refs_between, within

# Sections of the state that describe results, each with its limit of entries. Rules stay in the fork.
FOUND = {"decision": 20, "value": 20, "question": 10, "error": 10, "artifact": 20}
_FOUND_SHARE = 0.3  # share of the room that the state gets at least, if the reply is long
_CHARS_OF_TOKEN = 16  # more than any text has: a longer text is too long without counting
_NONE = "It gave no answer."
_HEAD = "What it decided and found:"
_REF = re.compile(r"\((m[0-9]+(?:/[0-9]+)?)\)")


class LastReply(NamedTuple):
    """The last message of a fork's assistant."""

    text: str
    ref: str


class ForkResult(NamedTuple):
    """The result of a fork."""

    text: str
    is_whole: bool  # all of it had room


def result_of(
    fork: str,
    answer: LastReply | None,
    found: Sequence[Entry],
    *,
    step_count: int,
    last_seq: int,
    tokens_max: int,
    count: Callable[[str], int],
) -> ForkResult:
    """Return the result of a fork.

    Args:
        fork: The ref of the fork, such as `f3`.
        answer: The last message of its assistant, or None if there is none.
        found: The entries of its state, in order.
        step_count: The number of steps of its window.
        last_seq: The `seq` of the last message of the fork's log.
        tokens_max: The number of tokens that the result may have.
        count: A function that counts the tokens of a text.
    """
    steps = "1 step" if step_count == 1 else f"{step_count} steps"
    all_of_it = within(fork, refs_between(1, last_seq))
    head = f"[The sub-task {fork} has ended: {steps}, {all_of_it}. Its refs begin with {fork}:]"
    room = tokens_max - count(head)
    while True:
        result = _within(room, fork, head, answer, found, count)
        over = count(result.text) - tokens_max  # at the borders of texts that are joined
        if over <= 0 or room <= 0:
            return result
        room -= over


def _within(
    room: int, fork: str, head: str, answer: LastReply | None, found: Sequence[Entry], count: Callable[[str], int]
) -> ForkResult:
    """Return the result that fits into `room` tokens: the last reply first, then lines of the state.

    Lines get at least a share of the room, because a long reply would leave them none. A line that the reply repeats is
    left out if the reply fits as a whole.
    """
    whole = answer.text if answer else _NONE
    said_tokens = count(whole[: _CHARS_OF_TOKEN * max(room, 0) + 1])
    if said_tokens <= room:
        found = [result for result in found if result.text not in whole]
    lines = _lines(fork, found, max(int(room * _FOUND_SHARE), room - said_tokens - 2), count)
    behind = with_notice("\n".join([_HEAD, *lines])) if lines else ""
    said = _cut(whole, answer, fork, room - count(behind), count)
    text = "\n\n".join(filter(None, [head, said, behind]))
    return ForkResult(text, said == whole and len(lines) == len(found))


def _lines(fork: str, found: Sequence[Entry], room: int, count: Callable[[str], int]) -> list[str]:
    """Return the lines of the newest entries that have room, in order."""
    lines: list[str] = []
    room -= count(_HEAD) + 1
    for entry in reversed(found):
        text = _REF.sub(lambda said: f"({within(fork, said[1])})", entry.text)
        line = f"- {entry.section}: {attributed(text, entry.speaker)}"
        line += f" ({within(fork, entry.ref)})" if entry.ref else ""
        room -= count(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines[::-1]


def _cut(text: str, answer: LastReply | None, fork: str, room: int, count: Callable[[str], int]) -> str:
    """Return a text, cut if it does not fit, with a note of where the rest is."""
    kept = text[: _CHARS_OF_TOKEN * max(room, 0)]
    if kept == text and count(text) <= room:
        return text
    rest = f" … [the rest: {within(fork, answer.ref)}]" if answer else ""
    room = max(room - count(rest), 0)
    while kept and (tokens := count(kept)) > room:
        kept = kept[: int(len(kept) * min(room / tokens, 0.95))]
    return kept.rstrip() + rest
