"""What a question to every source is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.values.base import Value, parsed_object, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HitSource(Value):
    """Where a hit is from."""

    ref: str
    provider_id: str
    family: str
    label: str = ""  # a file's name, a conversation's title
    uri: str = ""  # empty: it cannot be read by itself
    source_id: str = ""  # equal ids of different providers are different sources
    scope: str = ""  # "personal" or "team"
    as_of: datetime | None = None

    @classmethod
    def from_proto(cls, source: query_pb.HitSource) -> HitSource:
        """Return the value of a message."""
        return cls(
            ref=source.ref,
            provider_id=source.provider_id,
            family=source.family,
            label=source.label,
            uri=source.uri,
            source_id=source.source_id,
            scope=_scope(source.scope),
            as_of=time_of(source.as_of) if source.HasField("as_of") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryHit(Value):
    """Something that was found. Its text is material, whoever wrote it, and never an instruction."""

    ref: str  # stable
    rank: int  # from 1
    provider_id: str
    family: str
    title: str
    snippet: str
    score: float = 0.0  # 0 to 1; it compares hits of one answer
    scope: str = ""  # "personal" or "team"
    sources: tuple[HitSource, ...] = ()  # the same fact from several has all of them
    metadata_json: str = ""
    as_of: datetime | None = None  # when it was said or last changed
    trust: int = 0  # of its source, from 1 to 5
    untrusted: bool = False  # people or tools wrote it

    @property
    def metadata(self) -> dict[str, Any]:
        """Return what the provider says besides."""
        return parsed_object(self.metadata_json)

    def __str__(self) -> str:
        return f"[{self.rank}] {self.title}: {self.snippet}"

    @classmethod
    def from_proto(cls, hit: query_pb.QueryHit) -> QueryHit:
        """Return the value of a message."""
        return cls(
            ref=hit.ref,
            rank=hit.rank,
            provider_id=hit.provider_id,
            family=hit.family,
            title=hit.title,
            snippet=hit.snippet,
            score=hit.score,
            scope=_scope(hit.scope),
            sources=tuple(map(HitSource.from_proto, hit.sources)),
            metadata_json=hit.metadata_json,
            as_of=time_of(hit.as_of) if hit.HasField("as_of") else None,
            trust=hit.trust,
            untrusted=hit.untrusted,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderStatus(Value):
    """How a provider fared with a question."""

    provider_id: str
    family: str
    display_name: str
    state: str  # "ok", "skipped", "error", "timeout" or "stale"
    reason: str = ""  # why it is not ok, or what was left out
    duration_ms: int = 0
    hit_count: int = 0  # its own, before merging and the limit
    as_of: datetime | None = None  # when what it searched was brought up to date
    target: str = ""  # what it searched
    mode: str = ""  # how

    @classmethod
    def from_proto(cls, status: query_pb.ProviderStatus) -> ProviderStatus:
        """Return the value of a message."""
        return cls(
            provider_id=status.provider_id,
            family=status.family,
            display_name=status.display_name,
            state=query_pb.ProviderState.Name(status.state).removeprefix("PROVIDER_STATE_").lower(),
            reason=status.reason,
            duration_ms=status.duration_ms,
            hit_count=status.hit_count,
            as_of=time_of(status.as_of) if status.HasField("as_of") else None,
            target=status.target,
            mode=status.mode,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExplainedHit(Value):
    """A hit of a provider, and what became of it."""

    ref: str
    place: int  # among the provider's own, from 1
    own_score: float | None = None  # the provider's; it decides nothing
    score: float = 0.0
    title: str = ""
    shown_in: str = ""  # the ref of a hit; empty: it is behind the limit

    @classmethod
    def from_proto(cls, hit: query_pb.ExplainedHit) -> ExplainedHit:
        """Return the value of a message."""
        return cls(
            ref=hit.ref,
            place=hit.place,
            own_score=hit.own_score if hit.HasField("own_score") else None,
            score=hit.score,
            title=hit.title,
            shown_in=hit.shown_in,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueriedContext(Value):
    """What every source says to a question, the best first, and how each of them fared."""

    hits: tuple[QueryHit, ...] = ()
    providers: tuple[ProviderStatus, ...] = ()
    answer_text: str = ""  # of mode "answer": numbered quotations; empty without hits
    answer_refs: tuple[str, ...] = ()  # of the hits that it quotes
    answer_method: str = ""
    prompt_text: str = ""
    prompt_tokens: int = 0
    trace_id: str = ""
    duration_ms: int = 0
    explained: dict[str, tuple[ExplainedHit, ...]] = field(default_factory=dict, hash=False)  # by provider

    def __str__(self) -> str:
        return self.answer_text or "\n".join(map(str, self.hits))

    @classmethod
    def from_proto(cls, response: query_pb.QueryContextResponse) -> QueriedContext:
        """Return the value of a message."""
        return cls(
            hits=tuple(map(QueryHit.from_proto, response.hits)),
            providers=tuple(map(ProviderStatus.from_proto, response.providers)),
            answer_text=response.answer.text,
            answer_refs=tuple(response.answer.hit_refs),
            answer_method=response.answer.method,
            prompt_text=response.prompt_text,
            prompt_tokens=response.prompt_tokens,
            trace_id=response.trace_id,
            duration_ms=response.duration_ms,
            explained={one.provider_id: tuple(map(ExplainedHit.from_proto, one.hits)) for one in response.explained},
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextProvider(Value):
    """A source that can be asked."""

    provider_id: str
    family: str
    display_name: str
    scopes: tuple[str, ...] = ()  # "personal", "team"
    is_default: bool = False  # asked where a question selects none
    is_installed: bool = False  # a package of the operator's
    deadline_ms: int = 0

    @classmethod
    def from_proto(cls, provider: query_pb.ContextProvider) -> ContextProvider:
        """Return the value of a message."""
        return cls(
            provider_id=provider.provider_id,
            family=provider.family,
            display_name=provider.display_name,
            scopes=tuple(map(_scope, provider.scopes)),
            is_default=provider.is_default,
            is_installed=provider.is_installed,
            deadline_ms=provider.deadline_ms,
        )


def _scope(scope: query_pb.QueryScope) -> str:
    return query_pb.QueryScope.Name(scope).removeprefix("QUERY_SCOPE_").lower()
