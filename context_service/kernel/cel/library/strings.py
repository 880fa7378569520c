"""Functions on texts: the standard ones, regular expressions, and the strings extension.

Indexes and sizes count code points. Functions that build a text charge its size
first, and functions that search charge the text that they may pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import re2

from context_service.kernel.cel.budget import COPY_CHARS, ITEM_BYTES, STRING_BYTES, CallBudget
from context_service.kernel.cel.errors import EvaluationError
from context_service.kernel.cel.values import no_overload, total_chars

# Unicode's White_Space; Python's own strip takes the separators U+001C to U+001F too.
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_PIECE_CHARS: Final = 256  # characters that trim examines at a time
_QUOTED: Final = (
    ("\\", "\\\\"),  # first: the others bring backslashes
    ('"', '\\"'),
    ("\a", "\\a"),
    ("\b", "\\b"),
    ("\f", "\\f"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
    ("\v", "\\v"),
)


def size(budget: CallBudget, value: Any) -> int:
    """Return how many code points, bytes, elements or entries the value has."""
    if type(value) in _SIZED:
        return len(value)
    raise no_overload("size", value)


def contains(budget: CallBudget, text: Any, part: Any) -> bool:
    """Return whether `part` is somewhere in `text`."""
    _check("contains", (text, part), (str, str))
    budget.charge_search(len(text), len(part))
    return part in text


def starts_with(budget: CallBudget, text: Any, part: Any) -> bool:
    """Return whether `text` starts with `part`."""
    _check("startsWith", (text, part), (str, str))
    budget.charge(len(part) // COPY_CHARS)
    return bool(text.startswith(part))


def ends_with(budget: CallBudget, text: Any, part: Any) -> bool:
    """Return whether `text` ends with `part`."""
    _check("endsWith", (text, part), (str, str))
    budget.charge(len(part) // COPY_CHARS)
    return bool(text.endswith(part))


def char_at(budget: CallBudget, text: Any, index: Any) -> str:
    """Return the character at `index`; at the very end, an empty text."""
    _check("charAt", (text, index), (str, int))
    _check_index(index, len(text))
    return str(text[index : index + 1])


def index_of(budget: CallBudget, text: Any, part: Any, start: Any = 0) -> int:
    """Return where `part` first is at or after `start`; -1 if nowhere."""
    _check("indexOf", (text, part, start), (str, str, int))
    _check_index(start, len(text))
    budget.charge_search(len(text), len(part))
    return int(text.find(part, start))


def last_index_of(budget: CallBudget, text: Any, part: Any, last: Any = None) -> int:
    """Return where `part` last is at or before `last`; -1 if nowhere."""
    if last is None:
        _check("lastIndexOf", (text, part), (str, str))
        last = len(text)
    else:
        _check("lastIndexOf", (text, part, last), (str, str, int))
        _check_index(last, len(text))
    if len(part) > len(text):
        return -1
    budget.charge_search(2 * len(text), len(part))
    budget.charge_scan(len(text))
    # Python searches backwards in time up to the product of both lengths; so reverse both.
    head = text[: last + len(part)]
    reversed_index = head[::-1].find(part[::-1])
    return -1 if reversed_index < 0 else len(head) - reversed_index - len(part)


def lower_ascii(budget: CallBudget, text: Any) -> str:
    """Return the text with A to Z in lower case."""
    _check("lowerAscii", (text,), (str,))
    return _ascii_cased(budget, text, bytes.lower)


def upper_ascii(budget: CallBudget, text: Any) -> str:
    """Return the text with a to z in upper case."""
    _check("upperAscii", (text,), (str,))
    return _ascii_cased(budget, text, bytes.upper)


def _ascii_cased(budget: CallBudget, text: str, change: Callable[[bytes], bytes]) -> str:
    """Return the text changed as bytes are: they know ASCII only, and it is fast."""
    budget.charge_scan(len(text))
    budget.charge_bytes(len(text))
    return change(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def replace(budget: CallBudget, text: Any, old: Any, new: Any, limit: Any = -1) -> str:
    """Return the text with the first `limit` (negative: all) of `old` replaced by `new`."""
    _check("replace", (text, old, new, limit), (str, str, str, int))
    budget.charge_search(2 * len(text), len(old))
    count = text.count(old)
    if 0 <= limit < count:
        count = limit
    budget.charge_bytes(len(text) + count * (len(new) - len(old)))
    return str(text.replace(old, new, count))


def split(budget: CallBudget, text: Any, separator: Any, limit: Any = -1) -> list[str]:
    """Return the parts between separators, at most `limit` (negative: all) of them."""
    _check("split", (text, separator, limit), (str, str, int))
    if limit == 0:
        return []
    budget.charge_search(2 * len(text), len(separator))
    count = text.count(separator) + 1 if separator else len(text)
    if 0 < limit < count:
        count = limit
    budget.charge(count // 8)
    budget.charge_bytes(len(text) + count * (ITEM_BYTES + STRING_BYTES))
    if separator:
        return list(text.split(separator, count - 1))
    if count == 0:
        return []
    return [*text[: count - 1], text[count - 1 :]]


def substring(budget: CallBudget, text: Any, start: Any, end: Any = None) -> str:
    """Return the characters from `start` to before `end`, or to the text's end."""
    if end is None:
        _check("substring", (text, start), (str, int))
        end = len(text)
    else:
        _check("substring", (text, start, end), (str, int, int))
    _check_index(start, len(text))
    _check_index(end, len(text))
    if end < start:
        raise EvaluationError(f"the end must not be before the start {start} (got {end})")
    budget.charge_bytes(end - start)
    return str(text[start:end])


def trim(budget: CallBudget, text: Any) -> str:
    """Return the text without white space at its ends."""
    _check("trim", (text,), (str,))
    start = _spaces(budget, text)
    if start == len(text):
        return ""
    end = len(text) - _spaces(budget, text, backwards=True)
    budget.charge_bytes(end - start)
    return str(text[start:end])


def _spaces(budget: CallBudget, text: str, *, backwards: bool = False) -> int:
    """Return how many characters at the text's start or end are white space, and charge for reading them."""
    count = 0
    while count < len(text):
        if backwards:
            piece = text[max(len(text) - count - _PIECE_CHARS, 0) : len(text) - count]
            left = len(piece.rstrip(_SPACE))
        else:
            piece = text[count : count + _PIECE_CHARS]
            left = len(piece.lstrip(_SPACE))
        count += len(piece) - left
        if left:
            break
        budget.charge_scan(8 * len(piece))
    return count


def join(budget: CallBudget, items: Any, separator: Any = "") -> str:
    """Return the texts of a list, joined."""
    if type(items) is not list or type(separator) is not str:
        raise no_overload("join", items, separator)
    budget.charge(len(items) // 8)
    for item in items:
        if type(item) is not str:
            raise no_overload("join", items, item)
    budget.charge_bytes(total_chars(items) + len(items) * len(separator) - (len(separator) if items else 0))
    return str(separator.join(items))


def reverse(budget: CallBudget, text: Any) -> str:
    """Return the text's characters in reverse order."""
    _check("reverse", (text,), (str,))
    budget.charge_scan(len(text))
    budget.charge_bytes(len(text))
    return str(text[::-1])


def quote(budget: CallBudget, text: Any) -> str:
    """Return the text as a literal in double quotes."""
    _check("strings.quote", (text,), (str,))
    budget.charge_scan(4 * len(text))
    budget.charge_bytes(2 * len(text) + 2)
    for character, escaped in _QUOTED:
        text = text.replace(character, escaped)
    return f'"{text}"'


def _check(name: str, values: tuple[Any, ...], kinds: tuple[type, ...]) -> None:
    if tuple(map(type, values)) != kinds[: len(values)]:
        raise no_overload(name, *values)


def _check_index(index: int, length: int) -> None:
    if not 0 <= index <= length:
        raise EvaluationError(f"the index {index} is outside the string of {length} characters")


_SIZED: Final = frozenset({str, bytes, list, dict})


# Regular expressions: RE2, in bounded time and memory. It is linear in the text, but with a factor as large as the
# pattern's program when its automaton does not fit its memory: up to four nanoseconds for a byte and an instruction,
# measured. The charge is that worst case.

_MEMORY_BYTES_MAX: Final = 128 * 1024  # memory of a pattern: its program, and the cache of its automaton
_WORK_PER_STEP: Final = 128  # work of one step, as bytes of text times instructions
_MATCH_STEPS: Final = 10
_COMPILE_STEPS: Final = 1000  # up to a millisecond, depending on the program's size
_COMPILE_STEPS_PER_CHAR: Final = 64  # a class like \pL takes 60 us
_COMPILE_SYMBOLS: Final = 50  # symbols of an expression that take as long to compile
_CLASSES_MAX: Final = 100  # like \pL: up to 0.2 ms each, and while RE2 compiles no other thread runs


class BadPattern(ValueError):
    """Not RE2, or too large for the memory that a pattern may take."""


class Pattern:
    """A compiled regular expression. Safe to share between threads."""

    __slots__ = ("_search", "_size")

    def __init__(self, text: str) -> None:
        """Compile `text`.

        Raises:
            BadPattern: `text` is not an RE2 pattern, or is too large.
        """
        if _classes(text) > _CLASSES_MAX:
            raise BadPattern(f"the regular expression names more than {_CLASSES_MAX} classes such as \\pL")
        options = re2.Options()
        options.max_mem = _MEMORY_BYTES_MAX
        options.log_errors = False
        options.never_capture = True
        try:
            compiled = re2.compile(text.encode(), options)
        except (re2.error, UnicodeEncodeError) as error:
            reason = error.args[0] if error.args else "not valid"
            if isinstance(reason, bytes):
                reason = reason.decode(errors="replace")
            raise BadPattern(f"the regular expression is not valid: {reason}") from None
        self._search: Any = compiled.search
        self._size = max(compiled.programsize, compiled.reverseprogramsize)

    def matches(self, budget: CallBudget, text: Any) -> bool:
        """Return whether the pattern matches anywhere in `text`."""
        if type(text) is not str:
            raise no_overload("matches", text, "")
        budget.charge(_MATCH_STEPS)
        budget.charge_scan(len(text))
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise EvaluationError("the string has half of a surrogate pair") from None
        budget.charge(len(data) * self._size // _WORK_PER_STEP)
        return self._search(data) is not None


def symbols_of(pattern: str) -> int:
    """Return how many symbols of an expression take as long to compile as a pattern does."""
    return _COMPILE_SYMBOLS + 4 * _classes(pattern)


def _classes(pattern: str) -> int:
    return pattern.count("\\p") + pattern.count("\\P")


def matches(budget: CallBudget, text: Any, pattern: Any) -> bool:
    """Return whether a pattern that is computed by the expression matches anywhere in `text`."""
    if type(text) is not str or type(pattern) is not str:
        raise no_overload("matches", text, pattern)
    budget.charge(_COMPILE_STEPS + _COMPILE_STEPS_PER_CHAR * len(pattern))
    try:
        compiled = Pattern(pattern)
    except BadPattern as error:
        raise EvaluationError(str(error)) from None
    return compiled.matches(budget, text)
