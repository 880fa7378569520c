"""Words that a scope does not have, and those of it that may be meant: by a prefix, or by a slip of the hand.

A slip is a letter too many, too few or another, or two letters that changed places (the distance of Damerau and
Levenshtein, each place changed once). Numbers are never taken for others: error 4712 is not error 4713; but the
beginning of a long row of letters and digits is one of it, as of a commit.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Iterator, Sequence

CHARS_MIN = 4  # of a word that is looked for by others
_ROW_CHARS_MIN = 6  # of one with digits
_FIRST_TOO_CHARS_MIN = 6
_TWO_SLIPS_CHARS_MIN = 8
_PREFIX_SHARE = 0.6  # of a longer word, that a word which is its beginning has at least
RELATIVES_MAX = 3
WORDS_MAX = 20_000  # of a vocabulary
COMPARED_MAX = 500  # words, letter by letter: 40 us each


def is_tried(word: str) -> bool:
    """Return whether other words may stand for a word: if it is long enough, and no number."""
    if any(letter.isdigit() for letter in word):
        return len(word) >= _ROW_CHARS_MIN and not word.isdigit()
    return len(word) >= CHARS_MIN


class Vocabulary:
    """Different words, by their first letter; `WORDS_MAX` at most."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._by_letter: dict[str, dict[str, None]] = {}
        self._room = WORDS_MAX
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Add words, as long as there is room."""
        for word in words:
            beside = self._by_letter.setdefault(word[0], {})
            if self._room and word not in beside:
                beside[word] = None
                self._room -= 1

    def beside(self, word: str) -> Collection[str]:
        """Return its words that begin with the same letter, in the order in which they came."""
        return self._by_letter.get(word[:1], {})

    def __contains__(self, word: str) -> bool:
        return word in self.beside(word)


def relatives(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return those words that may be meant by one that is not among them, the likeliest first, `RELATIVES_MAX` at most.

    Of slips only those of the smallest number count, and before prefixes. The first letter is seldom wrong: what begins
    otherwise is another word, but of long words with one slip.

    Args:
        word: In small letters; one that `is_tried`.
        vocabulary: Of very many words that are alike, the first `COMPARED_MAX` are compared.
    """
    is_row = any(letter.isdigit() for letter in word)
    slips_max = 0 if is_row else 2 if len(word) >= _TWO_SLIPS_CHARS_MIN else 1
    letters = set(word)
    found: list[tuple[int, int, str]] = []
    compared = []
    for other in vocabulary.beside(word):
        longer = abs(len(other) - len(word))
        if _is_beginning(word, other) or _is_beginning(other, word):
            found.append((slips_max + 1, longer, other))
        elif longer <= slips_max and len(letters.symmetric_difference(other)) <= 2 * slips_max:
            compared.append(other)
    for other in compared[:COMPARED_MAX]:
        slips = _slips(word, other, slips_max)
        if slips <= slips_max:
            found.append((slips, abs(len(other) - len(word)), other))
    if not is_row and len(word) >= _FIRST_TOO_CHARS_MIN:
        for other in {one for one in one_slip_away(word) if one[0] != word[0] and one in vocabulary}:
            found.append((1, abs(len(other) - len(word)), other))
    least = min((one[0] for one in found), default=0)
    return [other for slips, _, other in sorted(found) if slips in (least, slips_max + 1)][:RELATIVES_MAX]


def meant(words: Iterable[str], vocabulary: Vocabulary) -> dict[str, Sequence[str]]:
    """Return the words that may be meant, of each for which there are any."""
    return {word: others for word in words if (others := relatives(word, vocabulary))}


def one_slip_away(word: str) -> Iterator[str]:
    """Yield what a word may be that one slip, or an ending, made another of: some hundreds; letters of ASCII only."""
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
        if place:
            yield word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]
        for letter in string.ascii_lowercase:
            yield word[:place] + letter + word[place + 1 :]
            yield word[:place] + letter + word[place:]
    for letter in string.ascii_lowercase:
        yield word + letter
    for end in range(max(CHARS_MIN, int(len(word) * _PREFIX_SHARE)), len(word)):
        yield word[:end]


def _is_beginning(part: str, whole: str) -> bool:
    return is_tried(part) and whole.startswith(part) and len(part) >= _PREFIX_SHARE * len(whole)


def _slips(one: str, other: str, slips_max: int) -> int:
    """Return the number of slips between two words; more than `slips_max` is only known to be more."""
    before: Sequence[int] = ()
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        before, last, row = row, before, [place]
        for column, beside in enumerate(other, start=1):
            best = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != beside))
            if place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == beside:
                best = min(best, last[column - 2] + 1)
            row.append(best)
        if min(row) > slips_max:
            return slips_max + 1
    return row[-1]
