"""Reading fields of documents, and testing for fields: `entity.data.content` as one closure.

A JSON object is a dict and nothing else in JSON takes a string as an index, so
Python's own errors report a missing field; the exact path is computed only
when the error needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from context_service.kernel.cel.errors import EvaluationError
from context_service.kernel.cel.syntax import Position
from context_service.kernel.cel.values import number, type_name

# The environment of a closure: the call's budget, the variables, then the names that macros bind.
Env = list[Any]
Run = Callable[[Env], Any]
BUDGET: Final = 0
VARIABLES: Final = 1
LOCALS: Final = 2


class Path(NamedTuple):
    """A name and the fields to read below it."""

    slot: int  # index in `Env`: `VARIABLES` if the first key is a variable, else the slot of a local name
    keys: tuple[str, ...]
    at: tuple[Position, ...]  # the position of each key


def reader(path: Path) -> Run:
    """Return the closure that reads a path."""
    slot, keys, at = path
    if not keys:
        return lambda env: env[slot]
    if len(keys) == 1:
        return _read_one(slot, keys, at)
    if len(keys) == 2:
        return _read_two(slot, keys, at)
    if len(keys) == 3:
        return _read_three(slot, keys, at)
    *before, last = keys

    def read(env: Env) -> Any:
        try:
            value = env[slot]
            for key in before:
                value = value[key]
            value = value[last]
        except (KeyError, TypeError):
            raise _missing(env, slot, keys, at) from None
        return number(value) if type(value) is int else value

    return read


# These are `read` with the loop written out: they run for every node of a history.


def _read_one(slot: int, keys: tuple[str, ...], at: tuple[Position, ...]) -> Run:
    """Return a closure that reads one field of a variable. It is written out, because a loop over keys takes longer."""
    (first,) = keys

    def read(env: Env) -> Any:
        try:
            value = env[slot][first]
        except (KeyError, TypeError):
            raise _missing(env, slot, keys, at) from None
        return number(value) if type(value) is int else value

    return read


def _read_two(slot: int, keys: tuple[str, ...], at: tuple[Position, ...]) -> Run:
    """Return a closure that reads a field of a field; see `_read_one`."""
    first, second = keys

    def read(env: Env) -> Any:
        try:
            value = env[slot][first][second]
        except (KeyError, TypeError):
            raise _missing(env, slot, keys, at) from None
        return number(value) if type(value) is int else value

    return read


def _read_three(slot: int, keys: tuple[str, ...], at: tuple[Position, ...]) -> Run:
    """Return a closure that reads a field three levels below a variable; see `_read_one`."""
    first, second, third = keys

    def read(env: Env) -> Any:
        try:
            value = env[slot][first][second][third]
        except (KeyError, TypeError):
            raise _missing(env, slot, keys, at) from None
        return number(value) if type(value) is int else value

    return read


def tester(operand: Run, field: str, at: Position) -> Run:
    """Return the closure of `has(operand.field)`.

    It fails if the operand fails or is not a map.
    """

    def test(env: Env) -> bool:
        value = operand(env)
        if type(value) is not dict:
            raise _no_fields(value, field, at)
        return field in value

    return test


def selector(operand: Run, field: str, at: Position) -> Run:
    """Return the closure of `operand.field` for an operand that is computed."""

    def select(env: Env) -> Any:
        value = operand(env)
        if type(value) is not dict:
            raise _no_fields(value, field, at)
        if field not in value:
            raise EvaluationError(f"there is no field {field!r}", *at)
        return number(value[field])

    return select


def _missing(env: Env, slot: int, keys: tuple[str, ...], at: tuple[Position, ...]) -> EvaluationError:
    """Return the error that names the first of `keys` that could not be read."""
    value = env[slot]
    for index, (key, place) in enumerate(zip(keys, at, strict=True)):
        if slot == VARIABLES and index == 0:
            if key not in value:
                return EvaluationError(f"the variable {key!r} has no value", *place)
        elif not isinstance(value, dict):
            return _no_fields(value, key, place)
        elif key not in value:
            return EvaluationError(f"there is no field {key!r}", *place)
        value = value[key]
    return EvaluationError(f"{'.'.join(keys)} cannot be read", *at[-1])


def _no_fields(value: Any, field: str, at: Position) -> EvaluationError:
    return EvaluationError(f"{type_name(value)} has no fields, so no {field!r}", *at)


# Tests for fields of a map: `has(entity.data.a) && !has(entity.data.b)` as one closure. Most rules run such a test on
# every node. The map is read once and no part of the test is called; if anything is unusual, the ordinary closure runs,
# reports the error, and charges for it.

_PLAIN_KEYS = 2  # a variable and one field: `entity.data`


class Presence(NamedTuple):
    """A test of one map: which of its fields must be there (True) and which must not (False)."""

    path: Path
    wanted: tuple[tuple[str, bool], ...]

    def tester(self, ordinary: Run) -> Run:
        """Return the closure of the test; it calls `ordinary`, the general closure, for values that are not maps."""
        slot, (first, second), _ = self.path
        wanted = self.wanted

        def test(env: Env) -> bool:
            try:
                fields = env[slot][first][second]
            except (KeyError, TypeError):
                return bool(ordinary(env))
            if type(fields) is not dict:
                return bool(ordinary(env))
            for field, there in wanted:  # noqa: SIM110  # all() takes three times as long
                if (field in fields) is not there:
                    return False
            return True

        return test


def presence(path: Path | None, field: str) -> Presence | None:
    """Return the test of one field at a path; None if the path is not of the form `variable.field`."""
    return Presence(path, ((field, True),)) if path and len(path.keys) == _PLAIN_KEYS else None


def negated(test: Presence | None) -> Presence | None:
    """Return the opposite of a test of one field; None for any other test, or for None."""
    if test is None or len(test.wanted) > 1:
        return None
    ((field, there),) = test.wanted
    return Presence(test.path, ((field, not there),))


def joined(tests: Sequence[Presence | None]) -> Presence | None:
    """Return several tests as one; None if they are not all of the same map."""
    first, *others = tests
    if first is None or any(test is None or test.path[:2] != first.path[:2] for test in others):
        return None
    return Presence(first.path, tuple(pair for test in tests if test for pair in test.wanted))
