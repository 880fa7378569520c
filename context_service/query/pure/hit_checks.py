"""Checks of answers of providers: types are checked, texts are cut, and malformed hits are left out.

Native providers pass the same checks, so that one test suite covers all.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

import orjson

from context_service.query.model import BOTH, Answered, Hit, ProviderQuery, QueryScope, State

SNIPPET_CHARS_MAX = 1_200  # enough for a passage (a chunk of a text), which has up to 256 tokens
TITLE_CHARS_MAX = 200
SOURCE_ID_CHARS_MAX = 256
URI_CHARS_MAX = 1_000
REASON_CHARS_MAX = 300
METADATA_BYTES_MAX = 2 * 1024
ALIASES_MAX = 20
LOOKED_AT_MAX = 200  # hits of an answer; the rest is ignored

_METADATA_NAMES_MAX = 32
# Unicode categories of characters that could break lines or change the direction of text. They are removed.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Characters of these categories that stay; the last two say whether letters of a word are joined.
_KEPT = frozenset("\n\t\u200c\u200d")


class Malformed(Exception):
    """The answer of a provider does not follow the protocol of providers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An answer of a provider, reduced to its valid parts."""

    hits: tuple[Hit, ...]
    state: State
    reason: str
    as_of: datetime | None
    target: str
    mode: str


def checked_answer(
    answer: object, request: ProviderQuery, *, now: datetime, scopes: frozenset[QueryScope] = BOTH
) -> Checked:
    """Return the parts of a provider's answer that are valid and may be shown.

    Args:
        answer: What the provider returned, whatever it is.
        request: The query that the provider was asked.
        now: The current time, by which an answer may be out of date.
        scopes: The scopes that the provider says its hits may have.

    Raises:
        Malformed: the answer is not an `Answered`, has a wrong state, or has hits of which none is valid.
    """
    if type(answer) is not Answered:
        raise Malformed(f"it must return an Answered (got {_type_of(answer)})")
    if answer.state not in (State.OK, State.SKIPPED, State.STALE):
        raise Malformed("its state must be OK, SKIPPED or STALE")
    if not isinstance(answer.hits, list | tuple):
        raise Malformed(f"its hits must be a list or a tuple (got {_type_of(answer.hits)})")
    scope_default = next(iter(scopes)) if len(scopes) == 1 else QueryScope.TEAM
    hits: dict[str, Hit] = {}
    wrong = outside = 0
    for raw_hit in islice(answer.hits, LOOKED_AT_MAX):
        hit = _hit(raw_hit, scope_default)
        if hit is None or hit.source_id in hits:
            wrong += 1
        elif hit.scope not in scopes or not _is_wanted(hit, request):
            outside += 1
        elif len(hits) < request.limit:
            hits[hit.source_id] = hit
    if wrong and not hits and not outside:
        raise Malformed(f"none of its {len(answer.hits)} hits is valid")
    if answer.state is State.SKIPPED and hits:
        raise Malformed("it must have no hits when its state is SKIPPED")
    state, reasons = answer.state, [text_of(answer.reason, chars_max=REASON_CHARS_MAX)]
    as_of = time_of(answer.as_of)
    if state is State.OK and _is_outdated(as_of, answer.ttl_s, now):
        state = State.STALE
        reasons.append(f"what it searched is of {as_of:%Y-%m-%d %H:%M} UTC")
    if wrong:
        reasons.append(f"{wrong} that were no hits, or twice there, are left out")
    if outside:
        what = "scope, time or metadata" if request.metadata else "scope or time"
        reasons.append(f"{outside} of another {what} are left out")
    cut = len(answer.hits) - len(hits) - wrong - outside
    if cut and len(answer.hits) > request.limit:
        reasons.append(f"cut to {len(hits)} of {len(answer.hits)} hits")
    if state in (State.SKIPPED, State.STALE) and not any(reasons):
        reasons.append("it does not say why")
    return Checked(
        hits=tuple(hits.values()),
        state=state,
        reason="; ".join(filter(None, reasons))[: 2 * REASON_CHARS_MAX],
        as_of=as_of,
        target=line_of(answer.target, chars_max=REASON_CHARS_MAX),
        mode=line_of(answer.mode, chars_max=TITLE_CHARS_MAX),
    )


def text_of(text: object, *, chars_max: int) -> str:
    """Return a text in a form that can be stored, sent and shown; empty if the value is not a text."""
    if type(text) is not str:
        return ""
    if len(text) > chars_max:
        text = text[: chars_max - 1].rstrip() + "…"
    if text.isascii():
        if text.isprintable():
            return text
        if text.replace("\n", "").isprintable():  # a fast path for nearly all texts of several lines
            return text.strip()
    # A text has few different letters.
    hidden = {
        ord(letter): " " for letter in set(text) if letter not in _KEPT and unicodedata.category(letter) in _HIDDEN
    }
    return (text.translate(hidden) if hidden else text).strip()


def line_of(text: object, *, chars_max: int) -> str:
    """Return a text as one line."""
    if type(text) is str and len(text) <= chars_max and text.isascii() and text.isprintable():  # a fast path
        return " ".join(text.split())
    return " ".join(text_of(text, chars_max=chars_max).split())


def _hit(hit: object, scope_default: QueryScope) -> Hit | None:
    """Return a hit as it can be shown, or None if it is malformed; without a scope it gets the default."""
    if type(hit) is not Hit or (hit.scope is not None and type(hit.scope) is not QueryScope):
        return None
    source_id = line_of(hit.source_id, chars_max=SOURCE_ID_CHARS_MAX)
    snippet = text_of(hit.snippet, chars_max=SNIPPET_CHARS_MAX)
    if not source_id or len(str(hit.source_id)) > SOURCE_ID_CHARS_MAX or not snippet:
        return None
    title = line_of(hit.title, chars_max=TITLE_CHARS_MAX)
    return Hit(
        source_id=source_id,
        title=title or source_id,
        snippet=snippet,
        scope=hit.scope or scope_default,
        score=_number(hit.score),
        aliases=_aliases(hit.aliases),
        label=line_of(hit.label, chars_max=TITLE_CHARS_MAX) or title or source_id,
        uri=line_of(hit.uri, chars_max=URI_CHARS_MAX),
        superseded_by=line_of(hit.superseded_by, chars_max=SOURCE_ID_CHARS_MAX),
        metadata=_metadata(hit.metadata),
        as_of=time_of(hit.as_of),
        cosine=_number(hit.cosine),
        trust=hit.trust if type(hit.trust) is int else None,
    )


def _aliases(aliases: object) -> tuple[str, ...]:
    """Return the other names of a hit's source that are texts, the first `ALIASES_MAX`."""
    if not isinstance(aliases, list | tuple):
        return ()
    names = [line_of(alias, chars_max=TITLE_CHARS_MAX) for alias in aliases[:ALIASES_MAX] if isinstance(alias, str)]
    return tuple(filter(None, names))


def _number(value: object) -> float | None:
    """Return a number that JSON can express, or None if the value is not such a number."""
    if type(value) is not int and type(value) is not float:
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any double
        return None
    return number if math.isfinite(number) else None


def _metadata(metadata: object) -> Mapping[str, object]:
    """Return the metadata that are small, flat and valid JSON; other entries are left out."""
    if type(metadata) is not dict:
        return {}
    kept: dict[str, object] = {}
    size_bytes = 0
    for name, value in islice(metadata.items(), _METADATA_NAMES_MAX):
        if type(name) is not str or not (key := line_of(name, chars_max=TITLE_CHARS_MAX)):
            continue
        if type(value) is str:
            plain: object = text_of(value, chars_max=URI_CHARS_MAX)
        elif value is None or type(value) is bool:
            plain = value
        elif (number := _number(value)) is not None:
            plain = value if type(value) is int and -(2**53) < value < 2**53 else number
        else:
            continue
        size_bytes += len(orjson.dumps({key: plain}))
        if size_bytes > METADATA_BYTES_MAX:
            break
        kept[key] = plain
    return kept


def time_of(at: object) -> datetime | None:
    """Return an aware time in UTC, or None if it is not a time."""
    if type(at) is not datetime or at.tzinfo is None:
        return None
    try:
        return at.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def _is_outdated(as_of: datetime | None, ttl_s: object, now: datetime) -> bool:
    """Say whether the searched data are older than the provider's time to live; unknown values mean no."""
    seconds = _number(ttl_s)
    return as_of is not None and seconds is not None and (now - as_of).total_seconds() > seconds


def _is_wanted(hit: Hit, request: ProviderQuery) -> bool:
    """Say whether a hit has a scope, a time and metadata that the query wants.

    A hit without a time is in no range of times.
    """
    if hit.scope not in request.scopes:
        return False
    if any(not has_value(hit.metadata, name, value) for name, value in request.metadata.items()):
        return False
    if request.time_from is None and request.time_to is None:
        return True
    if hit.as_of is None:
        return False
    return (request.time_from is None or hit.as_of >= request.time_from) and (
        request.time_to is None or hit.as_of < request.time_to
    )


def has_value(metadata: Mapping[str, object], name: str, value: object) -> bool:
    """Say whether metadata have a value; 1 is 1.0, but not true."""
    found = metadata.get(name)
    return found == value and isinstance(found, bool) == isinstance(value, bool)


def _type_of(value: object) -> str:
    return line_of(type(value).__name__, chars_max=50)
