"""Timestamps and durations: exact to the nanosecond, in the ranges of the specification.

A timestamp is from the year 1 to the year 9999. A duration is what int64 holds
in nanoseconds, about 292 years, as the specification's reference has it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from context_service.kernel.cel.errors import EvaluationError

SECOND_NS: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP_MIN_NS: Final = -62_135_596_800 * SECOND_NS
_TIMESTAMP_MAX_NS: Final = 253_402_300_800 * SECOND_NS - 1
_DURATION_MAX_NS: Final = 2**63 - 1
_UNITS_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3600 * SECOND_NS,
}
_DURATION_PART = re.compile(r"([0-9]{0,20})(?:\.([0-9]{0,30}))?(ns|us|µs|μs|ms|s|m|h)")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,30}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_FIXED_ZONE = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")


class Timestamp:
    """A point in time. It compares with aware datetimes too, so both may be sorted together."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        """Take nanoseconds since 1970.

        Raises:
            EvaluationError: outside the years 1 to 9999.
        """
        if not _TIMESTAMP_MIN_NS <= ns <= _TIMESTAMP_MAX_NS:
            raise EvaluationError("the timestamp must be between the years 1 and 9999")
        self.ns = ns

    @classmethod
    def of(cls, value: datetime | Timestamp) -> Timestamp:
        """Return an aware datetime as a timestamp.

        Raises:
            EvaluationError: a datetime without a time zone is not a point in time.
        """
        return value if isinstance(value, Timestamp) else cls(_ns(value))

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Return the timestamp of an RFC 3339 text, cut to nanoseconds.

        Raises:
            EvaluationError: the text is not a time of RFC 3339, or the time is outside the range.
        """
        match = _RFC3339.fullmatch(text)
        if match is None:
            raise EvaluationError("the string is not an RFC 3339 timestamp such as 2026-01-31T12:00:00Z")
        fraction, sign, hours, minutes = match.group(7, 8, 9, 10)
        offset_s = 0
        if sign is not None:
            offset_s = int(hours) * 3600 + int(minutes) * 60
            if int(hours) > 23 or int(minutes) > 59:
                raise EvaluationError("the timestamp's offset must be between -23:59 and +23:59")
            if sign == "-":
                offset_s = -offset_s
        try:
            moment = datetime(*map(int, match.group(1, 2, 3, 4, 5, 6)), tzinfo=UTC)  # type: ignore[arg-type,misc]
        except ValueError as error:
            raise EvaluationError(f"the timestamp is invalid: {error}") from None
        nanos = int(fraction[:9].ljust(9, "0")) if fraction else 0
        return cls(_ns(moment) + nanos - offset_s * SECOND_NS)

    def at(self, zone: str | None) -> datetime:
        """Return the local date and time in `zone`, cut off at the microsecond; None is UTC.

        Raises:
            EvaluationError: the zone is unknown, or the local date is outside the years 1 to 9999.
        """
        moment = _EPOCH + timedelta(microseconds=self.ns // 1000)
        if zone is None:
            return moment
        try:
            return moment.astimezone(_zone(zone))
        except OverflowError:
            raise EvaluationError("the local time must be between the years 1 and 9999") from None

    def __str__(self) -> str:
        """RFC 3339, in UTC, with as many digits as it needs."""
        seconds, nanos = divmod(self.ns, SECOND_NS)
        moment = _EPOCH + timedelta(seconds=seconds)
        return f"{moment.replace(tzinfo=None).isoformat()}{_fraction(nanos)}Z"

    def __repr__(self) -> str:
        return f"Timestamp({self})"

    def __hash__(self) -> int:
        # Equal values have equal hashes; only whole microseconds can equal a datetime.
        return hash(self.at(None)) if self.ns % 1000 == 0 else hash(self.ns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Timestamp, datetime)):
            return NotImplemented
        return self.ns == _ns(other)

    def __lt__(self, other: datetime | Timestamp) -> bool:
        return self.ns < _ns(other)

    def __le__(self, other: datetime | Timestamp) -> bool:
        return self.ns <= _ns(other)

    def __gt__(self, other: datetime | Timestamp) -> bool:
        return self.ns > _ns(other)

    def __ge__(self, other: datetime | Timestamp) -> bool:
        return self.ns >= _ns(other)


class Duration:
    """A span of time."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        """Take nanoseconds.

        Raises:
            EvaluationError: more than int64 holds.
        """
        if not -_DURATION_MAX_NS - 1 <= ns <= _DURATION_MAX_NS:
            raise EvaluationError("the duration does not fit 64 bits of nanoseconds")
        self.ns = ns

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Return the duration of a text like `1h30m` or `-1.5s`.

        Raises:
            EvaluationError: not of this form, or outside the range.
        """
        body = text[1:] if text[:1] in ("+", "-") else text
        if body == "0":
            return cls(0)
        ns = offset = 0
        while offset < len(body) or not body:
            match = _DURATION_PART.match(body, offset)
            if match is None or not (match[1] or match[2]):
                raise EvaluationError("the string is not a duration such as 1h30m or 2.5s")
            unit_ns = _UNITS_NS[match[3]]
            ns += int(match[1] or 0) * unit_ns
            if match[2]:
                ns += int(match[2]) * unit_ns // 10 ** len(match[2])
            offset = match.end()
        return cls(-ns if text[0] == "-" else ns)

    def __str__(self) -> str:
        """Seconds with as many digits as it needs, and `s`."""
        seconds, nanos = divmod(abs(self.ns), SECOND_NS)
        return f"{'-' if self.ns < 0 else ''}{seconds}{_fraction(nanos)}s"

    def __repr__(self) -> str:
        return f"Duration({self})"

    def __hash__(self) -> int:
        return hash(self.ns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.ns == other.ns

    def __lt__(self, other: Duration) -> bool:
        return self.ns < other.ns

    def __le__(self, other: Duration) -> bool:
        return self.ns <= other.ns

    def __gt__(self, other: Duration) -> bool:
        return self.ns > other.ns

    def __ge__(self, other: Duration) -> bool:
        return self.ns >= other.ns


def truncated(ns: int, unit_ns: int) -> int:
    """Return whole units of a duration, towards zero."""
    return ns // unit_ns if ns >= 0 else -(-ns // unit_ns)


def _ns(value: datetime | Timestamp) -> int:
    """Return the nanoseconds since 1970.

    Raises:
        EvaluationError: the datetime has no time zone.
    """
    if isinstance(value, Timestamp):
        return value.ns
    if value.tzinfo is None:
        raise EvaluationError("a timestamp must have a time zone")
    since = value - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _fraction(nanos: int) -> str:
    return f".{nanos:09}".rstrip("0") if nanos else ""


# Bounded by the number of existing zones; texts that are not a zone are not kept.
@lru_cache(maxsize=1024)
def _zone(name: str) -> tzinfo:
    """Return the zone of a name or of a fixed offset like `-08:00` or `02:00`."""
    match = _FIXED_ZONE.fullmatch(name)
    if match is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset >= timedelta(days=1):
            raise EvaluationError("the time zone's offset must be less than a day")
        return timezone(-offset if match[1] == "-" else offset)
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError(f"there is no time zone {name[:64]!r}") from None
