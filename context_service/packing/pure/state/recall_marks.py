"""Marks of recalled passages: a passage whose statement no longer holds says so in the line above it.

A recalled passage is old, and the model may not see the newer statement. So the head of a passage names the message
that replaced, lifted or perhaps changed what it says, and a note after the passages has the newer statement. A pack
shows a passage once: again only if its mark has changed since.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_service.packing.pure.state.task_state import CONTESTED, Entry, note_of


class Superseded(NamedTuple):
    """An entry of the state that no longer holds.

    Attributes:
        old: The entry.
        now: The entry that holds instead, or None if there is none.
        by_seq: The `seq` of the message that ended it; 0 if a caller ended it.
    """

    old: Entry
    now: Entry | None
    by_seq: int


def up_to_date(shown: Mapping[str, int], superseded: Sequence[Superseded]) -> frozenset[str]:
    """Return the refs of those passages in a pack that have the marks they would have now.

    Args:
        shown: The last message of the log when the pack showed a passage, by the passage's ref.
        superseded: The entries of the messages of these passages that no longer hold.
    """
    ended = dict[int, float]()
    for old, _, by_seq in superseded:
        ended[old.seq] = max(ended.get(old.seq, 0), by_seq or math.inf)  # a caller's removal has no time
    return frozenset(ref for ref, seq in shown.items() if ended.get(seq_of(ref), 0) <= seq)


def seq_of(ref: str) -> int:
    """Return the `seq` of the message that has a passage; 0 for a passage of an artifact."""
    kind, place = ref[:1], ref[1:].partition(".")[0].partition("/")[0]
    return int(place) if kind == "m" else 0


def noted(text: str, passages: Mapping[str, tuple[int, str]], superseded: Sequence[Superseded]) -> str:
    """Return the text of recalled passages with marks, and below it a note with the statements that hold instead.

    Args:
        text: As in `with_marks`.
        passages: As in `with_marks`.
        superseded: As in `with_marks`.
    """
    if not superseded:
        return text
    note = note_of([(ended.old, ended.now) for ended in superseded])
    return f"{with_marks(text, passages, superseded)}\n\n{note}"


def with_marks(text: str, passages: Mapping[str, tuple[int, str]], superseded: Sequence[Superseded]) -> str:
    """Return the text of recalled passages with a mark in the head of each passage that no longer holds.

    Args:
        text: The passages, each below a head that begins with its ref in brackets. All lines of a passage are quoted,
            so none of them is taken for a head.
        passages: The `seq` and the text of each passage, by its ref.
        superseded: The entries of these messages that no longer hold.
    """
    lines = []
    for line in text.split("\n"):
        ref = line[1 : line.find("]")] if line.startswith("[") else ""
        seq, passage = passages.get(ref, (0, ""))
        plain = " ".join(passage.split())
        marks = [_mark(one) for one in superseded if one.old.seq == seq and " ".join(one.old.text.split()) in plain]
        # The recall may have marked the passage with the same message already.
        lines.append(", ".join([line, *(mark for mark in dict.fromkeys(marks) if f", {mark}." not in line)]))
    return "\n".join(lines)


def _mark(superseded: Superseded) -> str:
    """Return the words that say what became of an entry."""
    old, now, by_seq = superseded
    if not by_seq:
        return "removed by the caller"
    if now and now.section == CONTESTED:
        return f"perhaps changed by m{now.seq}"
    return f"lifted by m{by_seq}" if old.section == "constraint" else f"superseded by m{now.seq if now else by_seq}"
