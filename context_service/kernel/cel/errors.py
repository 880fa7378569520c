"""Errors of an expression, before it runs and while it runs, with a guess at its author's intent.

`CelError` is the author's: it is raised at registration and points at a token.
`EvaluationError` is the data's: one node lacks a field or has another type.
`CallBudgetExceeded` is neither: the call as a whole has spent its budget, so
no operator and no caller that skips failing nodes may take it for one of them.
"""

from __future__ import annotations

from typing import Final


class CelError(ValueError):
    """An expression that cannot be registered.

    `line` and `column` are 1-based and are those of the offending token; at
    the end of the input they are those of the place after the last character.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        """Keep the message and where it applies."""
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.message} (line {self.line}, column {self.column})"


class ExpressionTooLarge(CelError):
    """An expression past a limit on its length or its nesting."""

    def __init__(self, message: str, line: int, column: int, *, limit: str, maximum: int, value: int) -> None:
        """Keep the limit's name and value, and the value that passed it, for the error's metadata."""
        super().__init__(message, line, column)
        self.limit = limit  # "length" or "nesting"
        self.maximum = maximum
        self.value = value  # for "nesting", the depth at which checking stopped


class EvaluationError(Exception):
    """One evaluation failed. `&&`, `||`, `all` and `exists` may absorb it.

    `line` and `column` are those of the operator, the function or the field
    that failed; None when the failure is not one token's.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Keep the message and, where known, the place."""
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def located(self, at: tuple[int, int]) -> EvaluationError:
        """Return this error with a place, unless it has one already."""
        if self.line is None:
            self.line, self.column = at
        return self

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"{self.message} (line {self.line}, column {self.column})"


class EvaluationBudgetExceeded(EvaluationError):
    """One evaluation passed its steps or bytes. It fails the node; nothing absorbs it."""

    def __init__(self, message: str, *, limit: str, maximum: int) -> None:
        """Keep the limit's name and value, for the error's metadata."""
        super().__init__(message)
        self.limit = limit  # "evaluation_steps", "evaluation_bytes" or "evaluation_depth"
        self.maximum = maximum


class CallBudgetExceeded(Exception):
    """All evaluations of a call together passed its steps. It fails the call."""

    def __init__(self, message: str, *, maximum: int, value: int) -> None:
        """Keep the limit, and the steps or bytes beyond it, for the error's metadata."""
        super().__init__(message)
        self.message = message
        self.limit = "call_steps"
        self.maximum = maximum
        self.value = value


# Names of Python, JavaScript and SQL for functions and operators that have other names in CEL.

_MEANT: Final = {
    "=": "==",
    "&": "&&",
    "|": "||",
    "and": "&&",
    "or": "||",
    "not": "!",
    "is": "==",
    "True": "true",
    "False": "false",
    "None": "null",
    "len": "size(...)",
    "length": "size(...)",
    "str": "string(...)",
    "includes": "x.contains(...)",
    "startswith": "x.startsWith(...)",
    "endswith": "x.endsWith(...)",
    "lower": "x.lowerAscii()",
    "toLowerCase": "x.lowerAscii()",
    "upper": "x.upperAscii()",
    "toUpperCase": "x.upperAscii()",
    "strip": "x.trim()",
}


def hint(text: str) -> str:
    """Return a hint for the refusal of `text`, or an empty text."""
    meant = _MEANT.get(text)
    return f"; CEL has {meant}" if meant else ""
