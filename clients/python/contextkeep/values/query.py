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
class ExpandedRef(Value):
    """The whole of what a hit is from, as it is now. Its text is material, and never an instruction."""

    ref: str
    is_found: bool = False  # False: it is not there, or not for the caller
    text: str = ""
    is_cut: bool = False  # there is more of it
    reason: str = ""  # why it is not found, or what is left out
    title: str = ""
    scope: str = ""  # "personal" or "team"
    as_of: datetime | None = None
    untrusted: bool = False  # people or tools wrote it

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_proto(cls, one: query_pb.ExpandedRef) -> ExpandedRef:
        """Return the value of a message."""
        return cls(
            ref=one.ref,
            is_found=one.is_found,
            text=one.text,
            is_cut=one.is_cut,
            reason=one.reason,
            title=one.title,
            scope=_scope(one.scope) if one.is_found else "",
            as_of=time_of(one.as_of) if one.HasField("as_of") else None,
            untrusted=one.untrusted,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueriedContext(Value):
    """What every source says to a question, the best first, and how each of them fared."""

    hits: tuple[QueryHit, ...] = ()
    providers: tuple[ProviderStatus, ...] = ()
    answer_text: str = ""  # of mode "answer": numbered quotations, or what a model wrote; empty without hits
    answer_refs: tuple[str, ...] = ()  # of the hits that it quotes
    answer_method: str = ""  # "extractive" or "model"
    answer_reason: str = ""  # why no model wrote it, though there is one
    prompt_text: str = ""
    prompt_tokens: int = 0
    trace_id: str = ""
    duration_ms: int = 0
    explained: dict[str, tuple[ExplainedHit, ...]] = field(default_factory=dict, hash=False)  # by provider
    expanded: tuple[ExpandedRef, ...] = ()  # of each of `expand_refs`, in their order

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
            answer_reason=response.answer.reason,
            prompt_text=response.prompt_text,
            prompt_tokens=response.prompt_tokens,
            trace_id=response.trace_id,
            duration_ms=response.duration_ms,
            explained={one.provider_id: tuple(map(ExplainedHit.from_proto, one.hits)) for one in response.explained},
            expanded=tuple(map(ExpandedRef.from_proto, response.expanded)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SourceTest(Value):
    """A question that an operator asked, with what came back."""

    test_id: str
    created_at: datetime
    query: str = ""
    label: str = ""
    owner_user_id: str = ""  # on whose behalf it ran
    created_by: str = ""
    replay_of: str = ""
    warnings: tuple[str, ...] = ()  # where the mode that ran is not the one asked for
    hit_count: int = 0
    duration_ms: int = 0
    answer: QueriedContext | None = None  # None in lists

    @classmethod
    def from_proto(cls, test: query_pb.SourceTest) -> SourceTest:
        """Return the value of a message."""
        return cls(
            test_id=test.test_id,
            created_at=time_of(test.created_at),
            query=test.question.query,
            label=test.label,
            owner_user_id=test.owner_user_id,
            created_by=test.created_by,
            replay_of=test.replay_of,
            warnings=tuple(test.warnings),
            hit_count=test.hit_count,
            duration_ms=test.duration_ms,
            answer=QueriedContext.from_proto(test.answer) if test.HasField("answer") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedHit(Value):
    """A hit of either of two tests; rank 0: it is not there."""

    ref: str
    title: str
    rank: int = 0
    other_rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedProvider(Value):
    """How a provider fared in two tests; state "unspecified": it was not asked."""

    provider_id: str
    state: str
    other_state: str
    duration_ms: int = 0
    other_duration_ms: int = 0
    hit_count: int = 0
    other_hit_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedTests(Value):
    """What two tests differ in."""

    hits: tuple[ComparedHit, ...] = ()
    providers: tuple[ComparedProvider, ...] = ()

    @classmethod
    def from_proto(cls, compared: query_pb.CompareSourceTestsResponse) -> ComparedTests:
        """Return the value of a message."""
        return cls(
            hits=tuple(
                ComparedHit(ref=one.ref, title=one.title, rank=one.rank, other_rank=one.other_rank)
                for one in compared.hits
            ),
            providers=tuple(
                ComparedProvider(
                    provider_id=one.provider_id,
                    state=_state(one.state),
                    other_state=_state(one.other_state),
                    duration_ms=one.duration_ms,
                    other_duration_ms=one.other_duration_ms,
                    hit_count=one.hit_count,
                    other_hit_count=one.other_hit_count,
                )
                for one in compared.providers
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnsweredProvider(Value):
    """What one provider answered, before its hits are compared with those of others."""

    status: ProviderStatus
    hits: tuple[QueryHit, ...] = ()  # in its own order; `rank` is the place in it, and `score` is 0
    is_second_pass: bool = False  # of a deep question: hits are those that it had not before

    @classmethod
    def from_proto(cls, answered: query_pb.AnsweredProvider) -> AnsweredProvider:
        """Return the value of a message."""
        return cls(
            status=ProviderStatus.from_proto(answered.status),
            hits=tuple(map(QueryHit.from_proto, answered.hits)),
            is_second_pass=answered.is_second_pass,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryEvent(Value):
    """What is told of a question while it is answered: one of the two."""

    provider: AnsweredProvider | None = None
    answer: QueriedContext | None = None  # the last one: all of it

    @classmethod
    def from_proto(cls, response: query_pb.StreamQueryContextResponse) -> QueryEvent:
        """Return the value of a message."""
        which = response.WhichOneof("event")
        return cls(
            provider=AnsweredProvider.from_proto(response.provider) if which == "provider" else None,
            answer=QueriedContext.from_proto(response.answer) if which == "answer" else None,
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
    is_enabled: bool = False  # whether the tenant lets it be asked
    is_allowed: bool = False  # whether the agent and its template do

    last_state: str = ""  # in the last test that is kept of it; told to administrators
    last_duration_ms: int = 0

    @classmethod
    def from_proto(cls, provider: query_pb.ContextProvider) -> ContextProvider:
        """Return the value of a message."""
        return cls(
            last_state=_state(provider.last_test.state) if provider.HasField("last_test") else "",
            last_duration_ms=provider.last_test.duration_ms,
            provider_id=provider.provider_id,
            family=provider.family,
            display_name=provider.display_name,
            scopes=tuple(map(_scope, provider.scopes)),
            is_default=provider.is_default,
            is_installed=provider.is_installed,
            deadline_ms=provider.deadline_ms,
            is_enabled=provider.is_enabled,
            is_allowed=provider.is_allowed,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderSetting(Value):
    """What a tenant says of a provider. None: nothing, and it is as the provider has it."""

    provider_id: str
    enabled: bool | None = None
    is_default: bool | None = None
    deadline_ms: int | None = None
    node_ids: tuple[str, ...] | None = None  # of the workspace; empty: all records
    memory_mode: str | None = None  # of memories: "recall" or "reflect" where a question does not say it

    @classmethod
    def from_proto(cls, setting: query_pb.ProviderSetting) -> ProviderSetting:
        """Return the value of a message."""
        return cls(
            provider_id=setting.provider_id,
            enabled=setting.enabled if setting.HasField("enabled") else None,
            is_default=setting.is_default if setting.HasField("is_default") else None,
            deadline_ms=setting.deadline_ms if setting.HasField("deadline_ms") else None,
            node_ids=tuple(setting.workspace.node_ids) if setting.HasField("workspace") else None,
            memory_mode=_memory_mode(setting.memory.query_mode) if setting.HasField("memory") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderPolicy(Value):
    """What holds for a provider."""

    provider_id: str
    family: str
    is_enabled: bool = False
    is_default: bool = False  # asked where a question selects none
    deadline_ms: int = 0
    setting: ProviderSetting | None = None  # what the tenant says of it
    is_allowed: bool = False
    refused_by: str = ""  # who does not allow it, such as "agent reviewer"

    @classmethod
    def from_proto(cls, policy: query_pb.ProviderPolicy) -> ProviderPolicy:
        """Return the value of a message."""
        return cls(
            provider_id=policy.provider_id,
            family=policy.family,
            is_enabled=policy.is_enabled,
            is_default=policy.is_default,
            deadline_ms=policy.deadline_ms,
            setting=ProviderSetting.from_proto(policy.setting),
            is_allowed=policy.is_allowed,
            refused_by=policy.refused_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryPolicy(Value):
    """What holds for a question: who may be asked, who is by default, and where files are searched."""

    providers: tuple[ProviderPolicy, ...] = ()  # by id
    target_whose: str = ""  # who says where files are searched, such as "tenant"; empty: nobody, and all are
    target_node_ids: tuple[str, ...] = ()
    agent_id: str = ""  # for which it holds; empty: for none
    template_id: str = ""

    @classmethod
    def from_proto(cls, response: query_pb.GetQueryPolicyResponse) -> QueryPolicy:
        """Return the value of a message."""
        return cls(
            providers=tuple(map(ProviderPolicy.from_proto, response.providers)),
            target_whose=response.target.whose,
            target_node_ids=tuple(response.target.node_ids),
            agent_id=response.agent_id,
            template_id=response.template_id,
        )


def _scope(scope: query_pb.QueryScope) -> str:
    return query_pb.QueryScope.Name(scope).removeprefix("QUERY_SCOPE_").lower()


def _memory_mode(mode: query_pb.MemoryQueryMode) -> str:
    return query_pb.MemoryQueryMode.Name(mode).removeprefix("MEMORY_QUERY_MODE_").lower()


def _state(state: query_pb.ProviderState) -> str:
    return query_pb.ProviderState.Name(state).removeprefix("PROVIDER_STATE_").lower()
