"""The whole text of hits of earlier answers, by their refs: for whoever may read it now, as it is now. Pure.

A ref is made up as easily as it is kept: it opens nothing, the provider that it is of asks again whose it is. Of one
that is not there, is another's or is no ref at all, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from context_service.query.model import Expanded, Scope
from context_service.query.pure.hit_checks import (
    SOURCE_ID_CHARS_MAX,
    TITLE_CHARS_MAX,
    Malformed,
    line_of,
    text_of,
    time_of,
)
from context_service.query.pure.provider_table import Expanding, ProviderEntry
from context_service.query.pure.request import Selected, provider_of
from service_runtime.copying import copied

BYTES_MAX = 1024 * 1024  # of all texts of an answer, in UTF-8

NOT_FOUND = "there is nothing of this ref, or nothing that may be read"
_CANNOT = "its provider has no whole texts"
_NO_ROOM = f"the texts before have {BYTES_MAX} bytes already"
_CUT = f"cut: all texts of an answer have {BYTES_MAX} bytes at most"
_CUT_BY_PROVIDER = "cut: its provider gives no more of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedRef:
    """What became of a ref."""

    ref: str
    is_found: bool = False
    text: str = ""
    is_cut: bool = False
    reason: str = ""
    title: str = ""
    scope: Scope | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefsByProvider:
    """What refs are of."""

    source_ids: Mapping[str, Sequence[str]]  # by provider, of those that can be asked
    entries: Sequence[ProviderEntry]  # in the same order
    refused: Mapping[str, str]  # by provider, why it cannot


def named(refs: Iterable[str], chosen: Sequence[Selected]) -> RefsByProvider:
    """Return whom to ask for what. Who is not chosen for the question is not asked, and not told of."""
    source_ids: dict[str, list[str]] = {}
    for ref in dict.fromkeys(refs):
        source_id = ref.partition(":")[2]
        if 0 < len(source_id) <= SOURCE_ID_CHARS_MAX:
            source_ids.setdefault(provider_of(ref), []).append(source_id)
    entries, refused = [], {}
    for one in chosen:
        if one.entry.info.id not in source_ids:
            continue
        if one.skipped and not one.only_expands:
            refused[one.entry.info.id] = f"its provider is not asked: {one.skipped}"
        elif not isinstance(one.entry.provider, Expanding):
            refused[one.entry.info.id] = _CANNOT
        else:
            entries.append(one.entry)
    return RefsByProvider(
        source_ids={entry.info.id: source_ids[entry.info.id] for entry in entries}, entries=entries, refused=refused
    )


def given(result: object, source_ids: Sequence[str], *, scopes: frozenset[Scope]) -> list[Expanded]:
    """Return what a provider gave of what it was asked for, and what can be shown of it.

    Raises:
        Malformed: it gave no list.
    """
    if not isinstance(result, list | tuple):
        raise Malformed("it expanded refs to what is no list")
    wanted = set(source_ids)
    found: dict[str, Expanded] = {}
    for one in result[: 2 * len(source_ids)]:
        if type(one) is not Expanded or type(one.text) is not str or type(one.source_id) is not str:
            continue
        if one.source_id not in wanted or type(one.scope) is not Scope or one.scope not in scopes:
            continue
        found[one.source_id] = Expanded(
            source_id=one.source_id,
            text=text_of(one.text[: BYTES_MAX + 1], chars_max=BYTES_MAX),
            title=line_of(one.title, chars_max=TITLE_CHARS_MAX) or one.source_id,
            scope=one.scope,
            as_of=time_of(one.as_of),
            is_cut=one.is_cut is True or len(one.text) > BYTES_MAX,
        )
    return list(found.values())


def told(refs: Iterable[str], found: Mapping[str, Expanded], refused: Mapping[str, str]) -> list[ExpandedRef]:
    """Return what became of each ref, once, in their order; the first have their texts before the others.

    Args:
        refs: Those that were asked for.
        found: By ref.
        refused: By provider, why nothing of it is there.
    """
    left_bytes = BYTES_MAX
    answer = []
    for ref in dict.fromkeys(refs):
        one = found.get(ref)
        if one is None:
            answer.append(ExpandedRef(ref=ref, reason=refused.get(provider_of(ref), NOT_FOUND)))
            continue
        shown = copied(ExpandedRef, one, ref=ref, is_found=True, reason=_CUT_BY_PROVIDER if one.is_cut else "")
        content = one.text.encode(errors="replace")
        if len(content) > left_bytes:
            text = content[:left_bytes].decode(errors="ignore")
            shown = replace(shown, text=text, is_cut=True, reason=_CUT if text else _NO_ROOM)
        left_bytes -= len(shown.text.encode(errors="replace"))
        answer.append(shown)
    return answer
