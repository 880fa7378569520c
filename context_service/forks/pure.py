"""The result of a fork (a sub-task) as text: the last message of its assistant, and its state. Values in, values out.

Each line of the state has a ref to its original in the fork. Rules of the fork are not part of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from context_service.packing.pure.state.task_state import Entry
from context_service.packing.pure.texts.quotation import attributed, with_notice
from context_service.windows.pure.refs import refs_between, within

# Sections of the state that describe results, each with the most entries that a result has of it.
FOUND = {"decision": 20, "value": 20, "question": 10, "error": 10, "artifact": 20}
_FOUND_SHARE = 0.3  # if the reply is long, the state gets this share of the room
_CHARS_OF_TOKEN = 16  # no text has more characters for each token, so a longer text needs no counting to be cut
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
    is_whole: bool  # neither the reply nor the state was cut


def result_of(
    fork: str,
    answer: LastReply | None,
    entries: Sequence[Entry],
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
        entries: The entries of its state, in order.
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
        result = _within(room, fork, head, answer, entries, count)
        over = count(result.text) - tokens_max  # joined texts may have more tokens than their parts together
        if over <= 0 or room <= 0:
            return result
        room -= over


def _within(
    room: int, fork: str, head: str, answer: LastReply | None, entries: Sequence[Entry], count: Callable[[str], int]
) -> ForkResult:
    """Return the result that fits into `room` tokens: the last reply first, then lines of the state.

    The lines get at least a share of the room, because a long reply would leave no room for them. If the whole reply
    fits, lines that it contains are left out.
    """
    whole = answer.text if answer else _NONE
    said_tokens = count(whole[: _CHARS_OF_TOKEN * max(room, 0) + 1])
    if said_tokens <= room:
        entries = [result for result in entries if result.text not in whole]
    lines = _lines(fork, entries, max(int(room * _FOUND_SHARE), room - said_tokens - 2), count)
    behind = with_notice("\n".join([_HEAD, *lines])) if lines else ""
    last_part = _shorten(whole, answer, fork, room - count(behind), count)
    text = "\n\n".join(filter(None, [head, last_part, behind]))
    return ForkResult(text, last_part == whole and len(lines) == len(entries))


def _lines(fork: str, entries: Sequence[Entry], room: int, count: Callable[[str], int]) -> list[str]:
    """Return the newest entries that have room, each as a line with its section and its ref, the oldest first."""
    lines: list[str] = []
    room -= count(_HEAD) + 1
    for entry in reversed(entries):
        text = _REF.sub(lambda entry_text: f"({within(fork, entry_text[1])})", entry.text)
        line = f"- {entry.section}: {attributed(text, entry.speaker)}"
        line += f" ({within(fork, entry.ref)})" if entry.ref else ""
        room -= count(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines[::-1]


def _shorten(text: str, answer: LastReply | None, fork: str, room: int, count: Callable[[str], int]) -> str:
    """Return a text; if it does not fit, return its beginning with the ref of the whole message."""
    head = text[: _CHARS_OF_TOKEN * max(room, 0)]
    if head == text and count(text) <= room:
        return text
    rest = f" … [the rest: {within(fork, answer.ref)}]" if answer else ""
    room = max(room - count(rest), 0)
    while head and (tokens := count(head)) > room:
        head = head[: int(len(head) * min(room / tokens, 0.95))]
    return head.rstrip() + rest
