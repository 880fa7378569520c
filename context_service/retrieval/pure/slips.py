"""Finds the words of a scope that may be meant by an unknown word: by a common prefix, or by a typing error.

A typing error ("slip") is an extra, missing or wrong letter, or two swapped letters (Damerau-Levenshtein distance,
each place changed once). Numbers are never replaced by others: error 4712 is not error 4713. But the beginning of a
long word of letters and digits stands for the word, as with commit ids.

A caller chooses the words on both sides, so the work for one word is bounded: `relatives` takes at most some 5 ms, and
`similar_words` lets its caller give the event loop back between two words.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from itertools import islice

CHARS_MIN = 4  # shorter words are never replaced by similar ones
_ROW_CHARS_MIN = 6  # the same for words with digits, such as commit ids
_FIRST_TOO_CHARS_MIN = 6  # in words of this length, the first letter may be the wrong one
_TWO_SLIPS_CHARS_MIN = 8  # words of this length may have two typing errors, shorter ones only one
_PREFIX_SHARE = 0.6  # a prefix stands for a longer word only if it has at least this share of the word's letters
RELATIVES_MAX = 3  # the most words that may replace one word
WORDS_MAX = 20_000  # the most words of a vocabulary
# Among 20,000 English words, at most 1,500 have the same first letter and nearly the same length.
LOOKED_AT_MAX = 2_000  # the most words whose sets of letters are compared, which takes 1 us each
COMPARED_MAX = 500  # the most words that are compared letter by letter, which takes 8 us each


def is_tried(word: str) -> bool:
    """Say whether similar words may replace a word: it must be long enough, and not a number."""
    if any(letter.isdigit() for letter in word):
        return len(word) >= _ROW_CHARS_MIN and not word.isdigit()
    return len(word) >= CHARS_MIN


class Vocabulary:
    """Different words, by their first letter and their length; `WORDS_MAX` at most."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._by_letter: dict[str, dict[int, dict[str, None]]] = {}
        self._room = WORDS_MAX
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Add words, as long as there is room."""
        for word in words:
            if not self._room:
                return
            alike = self._by_letter.setdefault(word[0], {}).setdefault(len(word), {})
            if word not in alike:
                alike[word] = None
                self._room -= 1

    def alike(self, letter: str, length: int) -> Collection[str]:
        """Return the words that have this first letter and length, in the order in which they were added."""
        return self._by_letter.get(letter, {}).get(length, {})

    def __contains__(self, word: str) -> bool:
        return word in self.alike(word[:1], len(word))


def relatives(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return the words that may be meant by an unknown word, likeliest first, at most `RELATIVES_MAX`.

    Only words with the fewest typing errors count, and they come before words that begin alike. The first letter is
    assumed to be right, except in long words with one typing error.

    Args:
        word: The unknown word, in lower case, for which `is_tried` is true.
        vocabulary: The known words. If many have the same first letter and nearly the same length, only the first
            `LOOKED_AT_MAX` are considered, and at most `COMPARED_MAX` of them are compared letter by letter.
    """
    is_row = any(letter.isdigit() for letter in word)
    slips_max = 0 if is_row else 2 if len(word) >= _TWO_SLIPS_CHARS_MIN else 1
    matches = [(slips_max + 1, abs(len(other) - len(word)), other) for other in _by_beginning(word, vocabulary)]
    for slips, other in _by_slips(word, vocabulary, slips_max):
        matches.append((slips, abs(len(other) - len(word)), other))
    if not is_row and len(word) >= _FIRST_TOO_CHARS_MIN:
        for other in {
            other_first_letter for other_first_letter in _other_first_letters(word) if other_first_letter in vocabulary
        }:
            matches.append((1, abs(len(other) - len(word)), other))
    least = min((entry[0] for entry in matches), default=0)
    return [other for slips, _, other in sorted(matches) if slips in (least, slips_max + 1)][:RELATIVES_MAX]


def similar_words(words: Iterable[str], vocabulary: Vocabulary) -> Generator[None, None, dict[str, Sequence[str]]]:
    """Return, for each word that has any, the words that may be meant; yield after each word (`calls.in_slices`)."""
    matches: dict[str, Sequence[str]] = {}
    for word in words:
        if others := relatives(word, vocabulary):
            matches[word] = others
        yield
    return matches


def one_slip_away(word: str) -> Iterator[str]:
    """Yield the words that one typing error or another ending makes of a word: some hundreds, of ASCII letters only."""
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


def _other_first_letters(word: str) -> Iterator[str]:
    """Yield the words of `one_slip_away` that have another first letter."""
    ends = [word[1:]] if word[1] != word[0] else []
    ends += [letter + end for letter in string.ascii_lowercase if letter != word[0] for end in (word[1:], word)]
    yield from ends
    if word[1] != word[0]:
        yield word[1] + word[0] + word[2:]


def _by_beginning(word: str, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the known words that a word begins with, and those that begin with it."""
    letter = word[0]
    for end in range(CHARS_MIN, len(word)):
        if _is_beginning(word[:end], word) and word[:end] in vocabulary:
            yield word[:end]
    for length in range(len(word) + 1, int(len(word) / _PREFIX_SHARE) + 2):
        if len(word) >= _PREFIX_SHARE * length:
            yield from [other for other in vocabulary.alike(letter, length) if other.startswith(word)]


def _is_beginning(part: str, whole: str) -> bool:
    """Say whether a word is a prefix of another one and long enough to stand for it."""
    return len(part) >= _PREFIX_SHARE * len(whole) and is_tried(part) and whole.startswith(part)


def _by_slips(word: str, vocabulary: Vocabulary, slips_max: int) -> Iterator[tuple[int, str]]:
    """Yield known words with the same first letter and few typing errors, each with the number of errors."""
    if not slips_max:
        return
    letters = set(word)
    alike = (
        other
        for length in sorted(range(len(word) - slips_max, len(word) + slips_max + 1), key=lambda n: abs(n - len(word)))
        for other in vocabulary.alike(word[0], length)
        if other != word
    )
    # A typing error adds at most one letter to the set of a word's letters, and removes at most one.
    near = (
        word_letters
        for word_letters in islice(alike, LOOKED_AT_MAX)
        if len(letters.symmetric_difference(word_letters)) <= 2 * slips_max
    )
    for other in islice(near, COMPARED_MAX):
        slips = slips_between(word, other, slips_max)
        if slips <= slips_max and not _is_beginning(word, other) and not _is_beginning(other, word):
            yield slips, other


def slips_between(word: str, other: str, slips_max: int) -> int:
    """Return the number of typing errors between two words; above `slips_max` the number is not exact.

    A common beginning costs nothing, and after it there are four kinds of errors: so the time grows with 4 **
    `slips_max` and the logarithm of the length.
    """
    if word == other:
        return 0
    if abs(len(word) - len(other)) > slips_max or not slips_max:
        return slips_max + 1
    same = _same_beginning(word, other)
    word, other = word[same:], other[same:]
    if not word or not other:
        return len(word) + len(other)
    after_one, after_other = word[1:], other[1:]
    left = slips_max - 1
    fewest = min(
        slips_between(after_one, after_other, left),
        slips_between(after_one, other, left),
        slips_between(word, after_other, left),
    )
    if word[0] == other[1:2] and word[1:2] == other[0]:
        fewest = min(fewest, slips_between(word[2:], other[2:], left))
    return fewest + 1


def _same_beginning(word: str, other: str) -> int:
    """Return the number of letters at the beginning that two words share."""
    same, end = 0, min(len(word), len(other))
    while same < end:
        middle = (same + end + 1) // 2
        if word[same:middle] == other[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same
