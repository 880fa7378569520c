"""JSON documents and texts of callers, checked where they come in.

Documents travel as UTF-8 JSON text. A text that passes here can be stored as jsonb, parsed again by any reader, and
walked by recursive code: so NaN, lone surrogates, NUL characters and deep nesting are refused, each naming the field.

A parser holds the interpreter until it is done, in any thread. Its time depends on the number of values that it makes,
and lists and objects are the dear ones: a MiB of them takes 100 ms to make and to free, a MiB of texts two. So their
number is bounded, which bounds the cost for every reader of a document later; and where a message may hold
many documents, `beside_the_loop` checks them.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

import orjson

from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_size, limit_exceeded

NESTING_MAX = 100  # the depth that all recursive readers can take
CONTAINERS_MAX = 64 * 1024  # lists and objects of a document: 10 ms for a parser, at most
BESIDE_BYTES = 64 * 1024  # a smaller text takes a millisecond or two, and is parsed on the event loop

_P = ParamSpec("_P")
_T = TypeVar("_T")

# While a thread computes, a thread whose socket is ready also waits this long for the interpreter. A call waits for
# sockets a dozen times: with Python's own 5 ms each, it would wait for 60 ms.
_TURN_S = 0.001

# One thread: several would delay each other, and the event loop as often. It starts with the first large message.
_PARSER = ThreadPoolExecutor(1, thread_name_prefix="documents", initializer=sys.setswitchinterval, initargs=(_TURN_S,))
_PARSER_NESTING_MAX = 1024  # depth that orjson promises to parse

# Postgres stores a number exactly and shows it without exponent: six characters become 16,000. A number that a double
# takes for zero or infinity is refused (infinity by the parser). Others count with the digits that they will show.
_EXPONENT_MIN = -400
_SHORT_CHARS = 16 * 1024
_MAY_HOLD_EXPONENT = re.compile(r"\d[eE][+-]?\d")
_EXPONENT_CHARS = 4  # most characters of a match
# Texts are full of "e-". These two begin with plain letters, and so are ten times as fast as one that looks for both.
_MAY_HOLD_NEGATIVE = re.compile(r"e-(?<=\de-)\d")
_MAY_HOLD_NEGATIVE_UPPER = re.compile(r"E-(?<=\dE-)\d")
_EXPONENT_DIGITS_MAX = 10  # digits of an exponent that are looked at: a number with as many is out of range

_TEXT_ONLY = frozenset([str])

_POSITIVE_EXPONENT = re.compile(rf"[eE]\+?0*+(\d{{1,{_EXPONENT_DIGITS_MAX}}})")
_NEGATIVE_EXPONENT = re.compile(rf"[eE]-0*+(\d{{1,{_EXPONENT_DIGITS_MAX}}})")


async def beside_the_loop(size_bytes: int, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return the result of `work`. With more than `BESIDE_BYTES`, it runs in one thread that all callers share.

    Tenants, and their keys, take turns with the thread. If the caller leaves, the work stops: see
    `in_stoppable_thread`.

    Raises:
        The errors of `work`.
    """
    if size_bytes <= BESIDE_BYTES:
        return work(*args, **kwargs)
    from service_runtime.rpc.calls import parser_turn  # here: it imports `auth`, which imports this module

    async with parser_turn():
        return await in_stoppable_thread(_PARSER, work, *args, **kwargs)


class CallerLeftError(BaseException):
    """The caller of the work on this thread has left. No `except Exception` keeps the work going."""


class _Cancellation:
    """Whether a caller still waits for the work of a thread. The event loop writes it, the thread reads it."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


_wanted: ContextVar[_Cancellation | None] = ContextVar("wanted", default=None)


async def in_stoppable_thread(threads: Executor, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return the result of `work`, which runs in a thread.

    If the caller leaves, work that has not begun is dropped, and work under way ends at its next `check_wanted`: within
    `tests/hostile/test_computations.py`'s bound of CPU time.

    Raises:
        The errors of `work`.
    """
    context, wanted = copy_context(), _Cancellation()
    context.run(_wanted.set, wanted)
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, lambda: context.run(work, *args, **kwargs))
    finally:
        wanted.is_over = True


def check_wanted() -> None:
    """End the work on this thread if its caller has left; elsewhere, do nothing.

    Functions that long work consists of call it: for each document, piece of a text, message or row. It takes 50 ns.

    Raises:
        CallerLeftError: the caller has left.
    """
    wanted = _wanted.get()
    if wanted is not None and wanted.is_over:
        raise CallerLeftError


def parse_json(field: str, text: str, *, size_bytes_max: int, nesting_max: int) -> Any:
    """Return the value of a JSON document after all checks.

    Args:
        field: Path of the field in its request, for the error.
        text: The document, as the caller sent it.
        size_bytes_max: Largest size of the text in UTF-8.
        nesting_max: Largest depth of open brackets; `NESTING_MAX` at most.

    Raises:
        InvalidArgument: it is not JSON, holds a NUL, or nests too deeply.
        LimitExceeded: it is too long, or holds more than `CONTAINERS_MAX` lists and objects.
    """
    check_wanted()
    check_size(field, text, size_bytes_max=size_bytes_max)
    brackets = _brackets(text)
    if brackets > CONTAINERS_MAX:
        check_containers(field, text)
    try:
        value = orjson.loads(text) if brackets <= nesting_max else _parse_nested(text, nesting_max)
    except orjson.JSONDecodeError as error:
        raise InvalidArgument(f"{field} is not valid JSON: {error}", field=field) from None
    except RecursionError:
        raise InvalidArgument(
            f"{field} must not nest deeper than {nesting_max}",
            field=field,
            limit=field,
            limit_max=nesting_max,
            value=nesting_max + 1,  # as deep as was looked
        ) from None
    # Postgres stores no NUL in a text. An escaped backslash may stand before "u0000". The character alone is found ten
    # times as fast.
    if "\\" in text and "\\u0000" in text and "\\u0000" in text.replace("\\\\", ""):
        raise InvalidArgument(f"{field} must not have a NUL character", field=field)
    if isinstance(value, dict) and _TEXT_ONLY.issuperset(map(type, value.values())):
        return value  # no number: so are most messages
    if _may_hold_exponent(text):
        _check_exponents(field, text, size_bytes_max=size_bytes_max)
    return value


def parse_object(field: str, text: str, *, size_bytes_max: int, nesting_max: int) -> dict[str, Any]:
    """Return a JSON object after all checks; empty text is an empty object.

    Raises:
        InvalidArgument: as `parse_json`, or it is JSON of another type.
        LimitExceeded: the text is too long.
    """
    value = parse_json(field, text or "{}", size_bytes_max=size_bytes_max, nesting_max=nesting_max)
    if not isinstance(value, dict):
        raise InvalidArgument(f"{field} must be a JSON object", field=field)
    return value


def check_containers(field: str, text: str, *, containers_max: int = CONTAINERS_MAX) -> None:
    """Refuse a JSON text with too many lists and objects; text that is not JSON may pass.

    Raises:
        LimitExceeded: the document has more.
    """
    if _brackets(text) <= containers_max:
        return
    outside = _outside_strings(text)
    containers = outside.count("[") + outside.count("{")
    if containers > containers_max:
        raise limit_exceeded(field, containers, containers_max, "lists and objects")


def _may_hold_exponent(text: str) -> bool:
    """Say whether a number may be longer than it looks: a short text cannot become long by positive exponents."""
    if len(text) <= _SHORT_CHARS:
        return bool(_MAY_HOLD_NEGATIVE.search(text) or _MAY_HOLD_NEGATIVE_UPPER.search(text))
    # Piece by piece: a search holds the interpreter as a parser does, and a MiB of digits takes 20 ms.
    return any(
        _MAY_HOLD_EXPONENT.search(text, start, start + _SHORT_CHARS + _EXPONENT_CHARS)
        for start in range(0, len(text), _SHORT_CHARS)
    )


def _check_exponents(field: str, text: str, *, size_bytes_max: int) -> None:
    """Refuse numbers too small for a double, and a text that is too long with its exponents written out.

    Raises:
        InvalidArgument: a number is too small.
        LimitExceeded: the text would be too long.
    """
    outside = _outside_strings(text)
    size_bytes, start = len(text), 0
    while start >= 0:
        end = outside.find(",", start + _SHORT_CHARS)  # after a number
        piece = start, len(outside) if end < 0 else end
        negative = list(map(int, _NEGATIVE_EXPONENT.findall(outside, *piece)))
        if negative and -max(negative) < _EXPONENT_MIN:
            raise InvalidArgument(f"{field} has a number too small for a double: it is too close to 0", field=field)
        size_bytes += sum(negative) + sum(map(int, _POSITIVE_EXPONENT.findall(outside, *piece)))
        start = end
    if size_bytes > size_bytes_max:
        raise limit_exceeded(field, size_bytes, size_bytes_max, "bytes, its numbers written out")


def _brackets(text: str) -> int:
    """Return how many brackets a text opens, with those in strings; of a small text with one or two, an estimate."""
    # To find a character that is hardly there costs a tenth of counting it.
    lists = text.count("[") if "[" in text else 0
    objects = text.count("{") if text.rfind("{") > text.find("{") else 1
    return lists + objects


def _outside_strings(text: str) -> str:
    """Return the parts of a JSON text that are not in a string."""
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")
    return "".join(text.split('"')[::2])


def _parse_nested(text: str, nesting_max: int) -> Any:
    """Return the value of a JSON document.

    The parser itself limits the nesting: the document is wrapped in so deep a list that it takes `nesting_max` more.

    Raises:
        orjson.JSONDecodeError: it is not JSON.
        RecursionError: the document nests deeper.
    """
    levels = _PARSER_NESTING_MAX - nesting_max
    try:
        value = orjson.loads("[" * levels + text + "]" * levels)
        for _ in range(levels):
            (value,) = value  # in a text such as "],[" there are two
    except ValueError:
        orjson.loads(text)
        raise RecursionError from None
    return value
