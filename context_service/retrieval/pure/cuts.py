"""Cuts texts into passages, so that a search finds a few sentences and not a whole document.

A passage ends at the end of a paragraph, else of a line, else of a sentence, as late as it may. Where there is none of
these, as in base64, it ends between words or anywhere. Passages tile their text: nothing is left out or repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

TOKENS_MAX = 256  # the most tokens of a passage

# The ends of a paragraph, a line and a sentence, with the space after them. Possessive quantifiers (`++`) keep the
# search from reading a run of points or spaces more than once.
_ENDS, _CLOSING = ".!?\u2026", "\"'\u201d\u2019\xbb)\\]"
_WIDE_ENDS, _WIDE_CLOSING = "\u3002\uff01\uff1f", "\u300d\u300f\u201d\u2019\uff09"  # no space follows these
_BORDER = re.compile(
    r"(?P<paragraph>\n[ \t\r]*\n\s*)|(?P<line>\n)"
    rf"|(?<![{_ENDS}])[{_ENDS}]++[{_CLOSING}]*+[^\S\n]++"
    rf"|(?<![{_WIDE_ENDS}])[{_WIDE_ENDS}]++[{_WIDE_CLOSING}]*+"
)
_HARD, _SENTENCE, _LINE, _PARAGRAPH = range(4)
_SEARCHED_CHARS = 16 * 1024  # searched by one call of `re`, which lets no other thread run before it returns
_UNIT_CHARS_MIN = 40  # a shorter sentence is joined with the next one, since each unit is a call of the tokenizer
_UNIT_CHARS_MAX = 1_000  # a longer sentence is split before its tokens are counted
_WHOLE_CHARS = 6  # characters of a token: a text with more of them than `tokens_max` allows is not counted as a whole


class TextSpan(NamedTuple):
    """A piece of a text: `text[start:end]`."""

    start: int
    end: int


class _Unit(NamedTuple):
    """A unit of text that is not split, unless it is too long alone."""

    end: int
    tokens: int
    border: int  # how it ends, such as `_SENTENCE`; a higher number is a better place to cut


def cut(text: str, count: Callable[[str], int], *, tokens_max: int = TOKENS_MAX) -> list[TextSpan]:
    """Cut a text into pieces at the best borders; an empty text has no pieces.

    Every character is counted at most twice, so the time grows linearly: about .3 s a MiB.

    Args:
        text: The text to cut, of any length.
        count: Returns the number of tokens of a text, which is never above its UTF-8 bytes.
        tokens_max: The most tokens of a piece, summed over its sentences or counted as a whole; at least 8.
    """
    if not text:
        return []
    if len(text) * 4 <= tokens_max or len(text.encode(errors="replace")) <= tokens_max:
        return [TextSpan(0, len(text))]  # no token is shorter than a byte
    if len(text) <= _WHOLE_CHARS * tokens_max and count(text) <= tokens_max:
        return [TextSpan(0, len(text))]  # this is so for most messages, which saves the search for sentences
    ends, tokens = [0], 0
    units: list[_Unit] = []
    for unit in _units(text, count, tokens_max):
        if units and tokens + unit.tokens > tokens_max:  # the passage is full: end it at the best border so far
            taken = _best(units, tokens_max)
            ends.append(units[taken - 1].end)
            units = units[taken:]
            tokens = sum(left.tokens for left in units)
            if tokens + unit.tokens > tokens_max and units:  # the rest and the new unit do not fit into one passage
                ends.append(units[-1].end)
                units, tokens = [], 0
        units.append(unit)
        tokens += unit.tokens
    if units:
        ends.append(units[-1].end)
    return [TextSpan(start, end) for start, end in pairwise(ends)]


def _best(units: list[_Unit], tokens_max: int) -> int:
    """Return how many units make up the next passage: up to the last of the best borders in its second half."""
    best, strength, tokens = len(units), -1, 0
    for number, unit in enumerate(units, start=1):
        tokens += unit.tokens
        if tokens * 2 >= tokens_max and unit.border >= strength:
            best, strength = number, unit.border
    return best


def _units(text: str, count: Callable[[str], int], tokens_max: int) -> Iterator[_Unit]:
    """Yield the units of a text: short sentences are joined with the next one, and long ones are split."""
    start = 0
    for end, border in _borders(text):
        if end - start < _UNIT_CHARS_MIN and border == _SENTENCE:
            continue
        while end - start > _UNIT_CHARS_MAX:
            middle = _between_words(text, start, start + _UNIT_CHARS_MAX)
            yield from _halves(text, start, middle, _HARD, count, tokens_max)
            start = middle
        yield from _halves(text, start, end, border, count, tokens_max)
        start = end


def _borders(text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions where sentences, lines and paragraphs end, and last the end of the text."""
    for start in range(0, len(text), _SEARCHED_CHARS):
        for border in _BORDER.finditer(text, start, start + _SEARCHED_CHARS):
            if border.end() < len(text):
                strength = _PARAGRAPH if border["paragraph"] else _LINE if border["line"] else _SENTENCE
                yield border.end(), strength
    yield len(text), _PARAGRAPH


def _halves(
    text: str, start: int, end: int, border: int, count: Callable[[str], int], tokens_max: int
) -> Iterator[_Unit]:
    """Yield the text between two positions, split in halves until each has few enough tokens."""
    tokens = count(text[start:end])
    if tokens <= tokens_max or end - start == 1:
        yield _Unit(end, tokens, border)
        return
    middle = _between_words(text, start, (start + end + 1) // 2)
    yield from _halves(text, start, middle, _HARD, count, tokens_max)
    yield from _halves(text, middle, end, border, count, tokens_max)


def _between_words(text: str, start: int, end: int) -> int:
    """Return a position to cut between `start` and `end`: after the last space of the second half, if there is one."""
    half = (start + end) // 2
    return max(text.rfind(" ", half, end), text.rfind("\t", half, end)) + 1 or end
