"""The whole texts of hits of earlier answers, by their refs, as they are now and if the caller may read them. Pure.

Anyone can make up a ref, so a ref grants nothing: its provider checks access again. The answer is the same for a ref
whose text is gone, for one that belongs to someone else, and for a malformed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from context_service.query.model import Expanded, QueryScope
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
from service_runtime.values.copying import copied

BYTES_MAX = 1024 * 1024  # the most bytes of all texts of an answer together, in UTF-8

NOT_FOUND = "the ref does not exist, or may not be read"
_CANNOT = "its provider has no whole texts"
_NO_ROOM = f"the texts before have {BYTES_MAX} bytes already"
_CUT = f"cut: all texts of an answer have {BYTES_MAX} bytes at most"
_CUT_BY_PROVIDER = "cut: its provider returned only a part"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedRef:
    """The result of expanding a ref: the whole text, or the reason why there is none."""

    ref: str
    is_found: bool = False
    text: str = ""
    is_cut: bool = False
    reason: str = ""
    title: str = ""
    scope: QueryScope | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefsByProvider:
    """Refs, grouped by their providers."""

    source_ids: Mapping[str, Sequence[str]]  # by the id of a provider that can expand hits: the ids of its hits
    entries: Sequence[ProviderEntry]  # these providers, in the same order
    refused: Mapping[str, str]  # by the id of a provider that cannot expand hits: the reason


def refs_by_provider(refs: Iterable[str], selection: Sequence[Selected]) -> RefsByProvider:
    """Group refs by their providers. Refs of providers that the query does not select get a reason instead."""
    source_ids: dict[str, list[str]] = {}
    for ref in dict.fromkeys(refs):
        source_id = ref.partition(":")[2]
        if 0 < len(source_id) <= SOURCE_ID_CHARS_MAX:
            source_ids.setdefault(provider_of(ref), []).append(source_id)
    entries, refused = [], {}
    for choice in selection:
        if choice.entry.info.id not in source_ids:
            continue
        if choice.skipped and not choice.only_expands:
            refused[choice.entry.info.id] = f"its provider is not asked: {choice.skipped}"
        elif not isinstance(choice.entry.provider, Expanding):
            refused[choice.entry.info.id] = _CANNOT
        else:
            entries.append(choice.entry)
    return RefsByProvider(
        source_ids={entry.info.id: source_ids[entry.info.id] for entry in entries}, entries=entries, refused=refused
    )


def checked_texts(result: object, source_ids: Sequence[str], *, scopes: frozenset[QueryScope]) -> list[Expanded]:
    """Return the texts that a provider expanded, without malformed ones and those that were not asked for.

    Raises:
        Malformed: the provider did not return a list.
    """
    if not isinstance(result, list | tuple):
        raise Malformed("expand must return a list")
    wanted = set(source_ids)
    texts: dict[str, Expanded] = {}
    for answer in result[: 2 * len(source_ids)]:
        if type(answer) is not Expanded or type(answer.text) is not str or type(answer.source_id) is not str:
            continue
        if answer.source_id not in wanted or type(answer.scope) is not QueryScope or answer.scope not in scopes:
            continue
        texts[answer.source_id] = Expanded(
            source_id=answer.source_id,
            text=text_of(answer.text[: BYTES_MAX + 1], chars_max=BYTES_MAX),
            title=line_of(answer.title, chars_max=TITLE_CHARS_MAX) or answer.source_id,
            scope=answer.scope,
            as_of=time_of(answer.as_of),
            is_cut=answer.is_cut is True or len(answer.text) > BYTES_MAX,
        )
    return list(texts.values())


def expanded_refs(refs: Iterable[str], texts: Mapping[str, Expanded], refused: Mapping[str, str]) -> list[ExpandedRef]:
    """Return the result for each ref, once, in order. The first refs get the room for texts first.

    Args:
        refs: The refs that the caller asked for.
        texts: The texts of the refs that were expanded, by ref.
        refused: The reason why a provider expanded nothing, by the provider's id.
    """
    left_bytes = BYTES_MAX
    answer = []
    for ref in dict.fromkeys(refs):
        text_of_ref = texts.get(ref)
        if text_of_ref is None:
            answer.append(ExpandedRef(ref=ref, reason=refused.get(provider_of(ref), NOT_FOUND)))
            continue
        expanded_ref = copied(
            ExpandedRef, text_of_ref, ref=ref, is_found=True, reason=_CUT_BY_PROVIDER if text_of_ref.is_cut else ""
        )
        content = text_of_ref.text.encode(errors="replace")
        if len(content) > left_bytes:
            text = content[:left_bytes].decode(errors="ignore")
            expanded_ref = replace(expanded_ref, text=text, is_cut=True, reason=_CUT if text else _NO_ROOM)
        left_bytes -= len(expanded_ref.text.encode(errors="replace"))
        answer.append(expanded_ref)
    return answer
