"""The common code of model endpoints: bounded answers, errors without keys, pauses after failures.

An error of an endpoint may repeat the text of the request. So its message goes only to the caller that sent the text.
Logs, records, and callers during a pause get only its status and, if it has one, its code.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import AsyncIterable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from service_runtime.inputs.documents import beside_the_loop

if TYPE_CHECKING:
    import aiohttp

_T = TypeVar("_T")

PAUSE_S = 1.0  # the pause after a first failure; each further pause is twice as long
PAUSE_S_MAX = 60.0

_READING = 2  # times as long as parsing, for `beside_the_loop`
_SHOWN_CHARS = 300  # characters of an endpoint's error that callers see
_ERROR_BYTES_MAX = 16 * 1024  # bytes of an error that are searched for a code
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_RETRY_AFTER_S_MAX = 300.0
# Failures that pass by themselves, in addition to all statuses of 500 and above.
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


async def read_bounded(body: AsyncIterable[bytes], *, bytes_max: int) -> bytes | None:
    """Return the whole of a body, or None if it has more than `bytes_max`; then the rest is not read."""
    answer = bytearray()
    async for chunk in body:
        answer += chunk
        if len(answer) > bytes_max:
            return None
    return bytes(answer)


async def post(
    session: aiohttp.ClientSession, url: str, body: bytes, *, headers: Mapping[str, str], bytes_max: int
) -> tuple[int, bytes | None, str]:
    """Send a request to an endpoint; return the status, the body, and the header `retry-after`.

    The body is None if it has more than `bytes_max`.
    """
    async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
        answer = await read_bounded(response.content.iter_any(), bytes_max=bytes_max)
        return response.status, answer, response.headers.get("retry-after", "")


async def parsed(answer: bytes, *, containers_max: int, load: Callable[[Any], _T]) -> _T:
    """Return the result of `load` for an answer's JSON, off the event loop if it is large.

    Raises:
        ValueError: it is not JSON, or holds more lists and objects than an honest answer.
        The errors of `load`.
    """
    if answer.count(b"{") + answer.count(b"[") > containers_max:
        raise ValueError(f"more than {containers_max} lists and objects")
    return await beside_the_loop(_READING * len(answer), lambda: load(orjson.loads(answer)))


def shown(answer: bytes, *, key: str) -> str:
    """Return the beginning of an endpoint's answer, without the key, because callers read it."""
    text = answer.decode(errors="replace").replace("\0", "")
    return (text.replace(key, "***") if key else text).strip()[:_SHOWN_CHARS]


def status_of(status: int, answer: bytes, *, key: str) -> str:
    """Return the public part of a failure: the status, and the code in OpenAI's form of errors."""
    try:
        error = orjson.loads(answer if len(answer) <= _ERROR_BYTES_MAX else b"")["error"]
        codes = [code for code in (error.get("code"), error.get("type")) if isinstance(code, str)]
    except (ValueError, TypeError, LookupError, AttributeError):
        codes = []
    code = next((code for code in codes if _CODE.fullmatch(code) and not (key and key in code)), "")
    return f"{status} ({code})" if code else str(status)


def passes(status: int) -> bool:
    """Return whether a failure with this HTTP status may be temporary."""
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def retry_after_s(header: str) -> float:
    """Return how many seconds an endpoint asks us to wait; 0 if it does not say.

    The header's other form, a date, is rare, and our clock is not theirs.
    """
    asked_s = float(header) if header.isascii() and header.isdigit() else 0.0
    return min(asked_s, _RETRY_AFTER_S_MAX)


class Pauses:
    """Pauses calls to an endpoint that failed, longer each time; calls during a pause get the last error at once.

    Attributes:
        failed_by: The last failure; empty if the last call succeeded.
    """

    def __init__(self) -> None:
        self.failed_by = ""
        self._failures = 0
        self._again_at = -math.inf

    @property
    def is_over(self) -> bool:
        """Whether the endpoint may be called again."""
        return time.monotonic() >= self._again_at

    def failed(self, by: str, *, asked_s: float = 0.0) -> float:
        """Begin a pause of at least `asked_s` seconds; return its length in seconds."""
        pause_s = max(asked_s, min(PAUSE_S * 2.0 ** min(self._failures, 20), PAUSE_S_MAX))
        self._failures += 1
        self._again_at = time.monotonic() + pause_s
        self.failed_by = by
        return pause_s

    def answered(self) -> None:
        """End the pause, after a call that succeeded."""
        self._failures = 0
        self.failed_by = ""
