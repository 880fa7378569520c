"""Regular expressions: RE2, in bounded time and memory.

RE2 is linear in the text, but with a factor as large as the pattern's program
when its automaton does not fit its memory: up to four nanoseconds for a byte
and an instruction, measured. That worst case is what is charged.
"""

from __future__ import annotations

from typing import Any, Final

import re2

from context_service.cel.budget import CallBudget
from context_service.cel.errors import EvaluationError
from context_service.cel.values import no_overload

_MEMORY_BYTES_MAX: Final = 128 * 1024  # of a pattern: its program, and its automaton's cache
_WORK_PER_STEP: Final = 128  # bytes of text times instructions
_MATCH_STEPS: Final = 10
_COMPILE_STEPS: Final = 1000  # up to a millisecond, of which the program's size decides
_COMPILE_STEPS_PER_CHAR: Final = 64  # a class like \pL takes 60 us
_COMPILE_SYMBOLS: Final = 50  # of an expression take as long
_CLASSES_MAX: Final = 100  # like \pL: up to 0.2 ms each, and while RE2 compiles no other thread runs


class BadPattern(ValueError):
    """Not RE2, or too large for the memory that a pattern may take."""


class Pattern:
    """A compiled regular expression. Safe to share between threads."""

    __slots__ = ("_search", "_size")

    def __init__(self, text: str) -> None:
        """Compile `text`.

        Raises:
            BadPattern: `text` is no RE2 pattern, or too large.
        """
        if _classes(text) > _CLASSES_MAX:
            raise BadPattern(f"the regular expression names more than {_CLASSES_MAX} classes like \\pL")
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
            raise BadPattern(f"the regular expression is refused: {reason}") from None
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
            raise EvaluationError("the string holds half a surrogate pair") from None
        budget.charge(len(data) * self._size // _WORK_PER_STEP)
        return self._search(data) is not None


def symbols_of(pattern: str) -> int:
    """Return how many symbols of an expression take as long to compile as a pattern does."""
    return _COMPILE_SYMBOLS + 4 * _classes(pattern)


def _classes(pattern: str) -> int:
    return pattern.count("\\p") + pattern.count("\\P")


def matches(budget: CallBudget, text: Any, pattern: Any) -> bool:
    """Return whether `pattern`, known only now, matches anywhere in `text`."""
    if type(text) is not str or type(pattern) is not str:
        raise no_overload("matches", text, pattern)
    budget.charge(_COMPILE_STEPS + _COMPILE_STEPS_PER_CHAR * len(pattern))
    try:
        compiled = Pattern(pattern)
    except BadPattern as error:
        raise EvaluationError(str(error)) from None
    return compiled.matches(budget, text)
