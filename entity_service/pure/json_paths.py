"""Derives a weaker condition from a caller's JSONPath: an index finds candidates with it before the JSONPath runs.

A JSONPath can raise an error on some documents and be slow on others, so it must not run on a document that its caller
may not see. An index of jsonb would run it on all candidates, of any tenant. So the index gets the weaker condition:
keys, and equalities with scalars, which raise no error on any document. The condition is in lax mode, where a
comparison looks into arrays on its way. So if a JSONPath, strict or lax, selects a document, its equalities hold there.

The input is the text that Postgres writes of a JSONPath that it has parsed: keys quoted, one space around each
operator, brackets where they are needed. A part that this module does not understand implies nothing: then the index
does not help, and the answer stays right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

INDEX_CHARS_MAX = 16 * 1024

_DEPTH_MAX = 50  # deepest nesting of brackets

_STRING = r'"(?:[^"\\]|\\.)*"'

_VARIABLE = re.compile(rf"\$?{_STRING}")  # or a string, so that its content is skipped

_TOKEN = re.compile(
    rf"\s*(?:(?P<string>{_STRING})|(?P<number>\d[\w.+-]*)|(?P<word>[A-Za-z_]+)"
    r'|(?P<sign>\[[^\[\]"]*\]|&&|\|\||==|!=|<>|<=|>=|\*\*|[$@.?()!<>*+/%,{}-]))'
)

_SCALARS = frozenset({"true", "false", "null"})

_AND_OR_END = frozenset({"&&", "||", ")", ""})

_COMPARED = frozenset({"==", "!=", "<>", "<", "<=", ">", ">="})

_END = ("", "")


class _NotUnderstoodError(Exception):
    """The JSONPath has a part that this module does not understand."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """The facts about a JSONPath that a search needs."""

    has_variable: bool  # it names a variable; callers cannot give variables values
    index: str  # a predicate that is true for all documents that match; empty if none is known


def read(canonical: str) -> JsonPath:
    """Return the facts about a JSONPath.

    Args:
        canonical: The JSONPath as Postgres writes it: `jsonpath::text`.
    """
    has_variable = any(variable[0].startswith("$") for variable in _VARIABLE.finditer(canonical))
    try:
        index = _Reader(_tokens(canonical)).index()
    except _NotUnderstoodError:
        index = ""
    return JsonPath(has_variable, index if len(index) <= INDEX_CHARS_MAX else "")


def _tokens(canonical: str) -> Sequence[tuple[str, str]]:
    """Return the tokens of a JSONPath, each as its kind and its text.

    Raises:
        _NotUnderstoodError: a part of the text is not a known token.
    """
    tokens, at = [], 0
    while at < len(canonical):
        token = _TOKEN.match(canonical, at)
        if token is None:
            raise _NotUnderstoodError
        assert token.lastgroup is not None
        tokens.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return tokens


class _Reader:
    """Reads one JSONPath from left to right, and collects the conditions that it implies.

    A condition is implied if it holds for each document for which the JSONPath is true or selects a value. In the
    methods, `base` is the path so far, in lax mode, and empty where its keys are unknown. An implied condition is a
    predicate, and empty if nothing is implied.
    """

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def index(self) -> str:
        """Return the condition that the whole JSONPath implies.

        Raises:
            _NotUnderstoodError: this module does not understand a part of the JSONPath.
        """
        if self._next() in ("strict", "lax"):
            self._take()
        implied = self._either("") if self._next() != "$" else self._path("")[1]
        if self._next():
            raise _NotUnderstoodError
        return implied

    def _next(self) -> str:
        """Return the text of the next token without taking it; empty at the end."""
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> tuple[str, str]:
        """Take the next token, and return its kind and text.

        Raises:
            _NotUnderstoodError: there is no further token, or it is not one of the expected ones.
        """
        token = self._tokens[self._at] if self._at < len(self._tokens) else _END
        if token == _END or (wanted and token[1] not in wanted):
            raise _NotUnderstoodError
        self._at += 1
        return token

    def _either(self, here: str) -> str:
        """Read predicates joined by `||`, and return the condition that they imply, or none.

        Args:
            here: The path that `@` stands for; empty where its keys are unknown.
        """
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise _NotUnderstoodError
        several = [self._all(here)]
        while self._next() == "||":
            self._take()
            several.append(self._all(here))
        self._depth -= 1
        return several[0] if len(several) == 1 else f"({' || '.join(several)})" if all(several) else ""

    def _all(self, here: str) -> str:
        """Read predicates joined by `&&`, and return the condition that they imply, or none."""
        several = [self._predicate(here)]
        while self._next() == "&&":
            self._take()
            several.append(self._predicate(here))
        return _conjunction(several)

    def _predicate(self, here: str) -> str:
        """Read one predicate without `&&` and `||`, and return the condition that it implies, or none."""
        if self._next() == "!":
            self._take()
            self._read_predicates(here)
            return ""
        if self._next() == "exists":
            self._take()
            self._take("(")
            _, implied = self._path(here)
            self._take(")")
            return implied
        if self._next() == "(":
            implied = self._read_predicates(here)
            if self._next() == "is":
                self._take()
                self._take("unknown")
                return ""
            if self._next() not in _AND_OR_END:
                raise _NotUnderstoodError  # the brackets are part of an arithmetic expression
            return implied
        return self._comparison(here)

    def _read_predicates(self, here: str) -> str:
        """Read predicates in brackets, and return the condition that they imply, or none."""
        self._take("(")
        implied = self._either(here)
        self._take(")")
        return implied

    def _comparison(self, here: str) -> str:
        """Read a comparison, and return the conditions that it and the filters in its operands imply."""
        left, of_left = self._operand(here)
        operator = self._take()[1]
        if operator == "starts":
            self._take("with")
            self._operand(here)
            return of_left
        if operator == "like_regex":
            self._take()
            if self._next() == "flag":
                self._take()
                self._take()
            return of_left
        if operator not in _COMPARED:
            raise _NotUnderstoodError
        right, of_right = self._operand(here)
        # An equality is implied only between a path and a scalar: two paths or two scalars help no index.
        is_decided = operator == "==" and left and right and _has_key(left) != _has_key(right)
        return _conjunction([of_left, of_right, f"{left} == {right}" if is_decided else ""])

    def _operand(self, here: str) -> tuple[str, str]:
        """Read an operand: a scalar or a path.

        Returns:
            The scalar, or the path, which is empty where its keys are unknown; and the condition that filters in the
            path imply, or none.
        """
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else _END
        if kind in ("string", "number") or text in _SCALARS:
            self._take()
            return text, ""
        return self._path(here)

    def _path(self, here: str) -> tuple[str, str]:
        """Read a path; return it, empty where its keys are unknown, and the condition that its filters imply."""
        base = "$" if self._take("$", "@")[1] == "$" else here
        implied = []
        while True:
            if self._next() == "?":
                self._take()
                # In lax mode a filter runs on each element of an array. So its condition is about the elements.
                base = base and f"{base}[*]"
                implied.append(self._read_predicates(base))
            elif self._next().startswith("["):
                self._take()
                base = base and f"{base}[*]"
            elif self._next() == ".":
                self._take()
                base = self._step(base)
            else:
                return base, _conjunction(implied)

    def _step(self, base: str) -> str:
        """Take a step after a `.`, and return the longer path; empty after a wildcard or a method."""
        kind, text = self._take()
        if kind == "string":
            return base and f"{base}.{text}"
        if kind == "word":
            self._take("(")
            while self._next() != ")":
                self._take()
            self._take(")")
        elif text not in ("*", "**"):
            raise _NotUnderstoodError
        return ""


def _has_key(operand: str) -> bool:
    return operand.startswith("$") and "." in operand


def _conjunction(several: Sequence[str]) -> str:
    known = [condition for condition in several if condition]
    return known[0] if len(known) == 1 else f"({' && '.join(known)})" if known else ""
