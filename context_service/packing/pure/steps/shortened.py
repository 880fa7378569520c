"""Shortened texts: the head and the tail of a text, with the lines that matter between them, and a ref to the whole.

A model that reads a test run or a file should see its beginning, its end, and the errors in its middle. So up to a
quarter of the room is for lines that the compression profile calls important, each with its neighbours. The head and
the tail get the rest in equal parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from context_service.packing.pure.texts.units import TEXT_BYTES_MAX, lines_of
from context_service.profiles.pure.profiles import Profile
from service_runtime.inputs.documents import check_wanted

_LINES_SHARE = 0.25  # the share of the room for lines that matter
_LINE_BYTES_MAX = 400  # a longer line is not shown between head and tail
_CANDIDATES_MAX = 100  # if a rule matches more lines, only the first and the last half of this number are considered
_GAP = "…"
_BORDER_CHARS = 200  # within this many characters, a head ends and a tail begins at a border of a line or a word

_Span = tuple[int, int]  # the first byte of a line, and the first byte after it


@dataclass(frozen=True)
class LongText:
    """A text that can be shown at any length.

    Attributes:
        text: The whole text.
        ref: The ref with which a model can expand the whole text.
        role: The role whose rules of the profile say which lines matter.
        profile: The compression profile, with these rules.
    """

    text: str
    ref: str
    role: str
    profile: Profile

    def shorten(self, chars: int) -> str:
        """Return the text in about `chars` characters, with a note on what is left out.

        The text is returned whole if the note would be longer than the part that it replaces. If there is room only
        for the note, the note alone is returned.
        """
        note = _note(len(self.text), self.ref)
        if len(self.text) <= max(chars, 0) + len(note) + 2:
            return self.text
        if chars <= len(note):
            return note
        room = math.floor(_LINES_SHARE * chars)
        used_tokens = self._room_of(self._best_lines(*self._ends(chars - room), room))
        head, tail = self._ends(chars - used_tokens)
        lines = self._with_gaps(self._best_lines(head, tail, used_tokens))
        left_out = _note(len(self.text) - len(head) - len(tail), self.ref)
        return "\n".join(filter(None, [head.rstrip("\r\n"), *lines, left_out, tail.lstrip("\r\n")]))

    def _ends(self, chars: int) -> tuple[str, str]:
        """Return the text's head and tail, at most `chars` characters in all, cut between lines or words if it can."""
        half = chars // 2
        head, tail = self.text[:half], self.text[len(self.text) - half :]
        cut_area = head[-_BORDER_CHARS:]
        cut = cut_area.rfind("\n") if "\n" in cut_area else cut_area.rfind(" ")
        if cut > 0 and len(cut_area) < len(head):
            head = head[: len(head) - len(cut_area) + cut]
        cut_area = tail[:_BORDER_CHARS]
        cut = cut_area.find("\n") if "\n" in cut_area else cut_area.find(" ")
        if cut >= 0 and len(cut_area) < len(tail):
            tail = tail[cut + 1 :]
        return head, tail

    def _best_lines(self, head: str, tail: str, room: int) -> list[_Span]:
        """Return lines between head and tail, in the order of the text.

        The most important lines are chosen first, as long as there is room.
        """
        begin, end = len(head.encode(errors="replace")), len(self._data) - len(tail.encode(errors="replace"))
        spans: set[_Span] = set()
        for span in self._candidates:
            more = {
                (start, stop)
                for start, stop in _with_neighbours(self._data, span)
                if begin <= start and stop <= end and stop - start <= _LINE_BYTES_MAX
            }
            if span in more and self._room_of([*spans, *more]) <= room:
                spans |= more
        return sorted(spans)

    @staticmethod
    def _room_of(spans: Sequence[_Span]) -> int:
        """Return the room that lines take at most: each with a line break and a mark for a gap."""
        return sum(stop - start + len(_GAP) + 2 for start, stop in set(spans))

    def _with_gaps(self, spans: Sequence[_Span]) -> list[str]:
        """Return lines as they are shown, with a mark for each gap between them."""
        lines, last = [], -1
        for start, stop in spans:
            if start != last + 1:
                lines.append(_GAP)
            lines.append(self._data[start:stop].decode(errors="replace"))
            last = stop
        return [*lines, _GAP] if lines else []

    @cached_property
    def _data(self) -> bytes:
        return self.text.encode(errors="replace")

    @cached_property
    def _candidates(self) -> Sequence[_Span]:
        """The lines that matter, the most important first. The more lines a rule matches, the less each line weighs."""
        data = self._data[:TEXT_BYTES_MAX]
        low = [rule.line for rule in self.profile.low if self.role in rule.roles]
        weights: dict[_Span, float] = {}
        for rule in self.profile.high:
            if self.role not in rule.roles:
                continue
            check_wanted()
            lines = lines_of(rule, data)
            weight = rule.weight / math.sqrt(len(lines) or 1)
            if len(lines) > _CANDIDATES_MAX:
                lines = lines[: _CANDIDATES_MAX // 2] + lines[-_CANDIDATES_MAX // 2 :]
            for start, line in lines:
                if not any(pattern.is_in(line) for pattern in low):
                    span = start, start + len(line)
                    weights[span] = max(weights.get(span, 0.0), weight)
        return sorted(weights, key=lambda span: (-weights[span], span))


def _note(count: int, ref: str) -> str:
    """Return the note that stands for the characters that are left out, with the ref of the whole text."""
    return f"[{count} characters left out: {ref}]"


def _with_neighbours(data: bytes, span: _Span) -> list[_Span]:
    """Return a line with the lines before and after it, as far as these are short."""
    start, stop = span
    lines = [span]
    if start > 0:
        before = data.rfind(b"\n", max(start - 2 - _LINE_BYTES_MAX, 0), start - 1) + 1
        if before or start <= _LINE_BYTES_MAX:
            lines.append((before, start - 1))
    after = data.find(b"\n", stop + 1, stop + 2 + _LINE_BYTES_MAX)
    if after >= 0:
        lines.append((stop + 1, after))
    return lines
