"""The proto service `ContextQuery`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from enum import Enum
from typing import Any, TypeVar

import orjson

from context_service.contexts.wire.requests import ids_of, principal_of
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from context_service.query.model import DEADLINE_QUICK_S, MemoryMode
from context_service.query.providers import QueryScope, State
from context_service.query.pure.expand import ExpandedRef
from context_service.query.pure.fusion import Candidate, Fused
from context_service.query.pure.policy import Ruled, Setting
from context_service.query.pure.request import LIMIT_DEFAULT, Depth, Mode, QueryRequest, ScopeFilter, Selection
from context_service.query.rules.policies import Policies
from context_service.query.rules.query import ContextQueries, ProviderProgress, Queried, Status
from context_service.query.rules.source_tests import Last, SourceTests
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1 import context_query_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied

_E = TypeVar("_E")

# What callers say; unspecified is the default.
_MODES: Mapping[int, Mode] = {
    pb.QUERY_MODE_UNSPECIFIED: Mode.RESULTS,
    pb.QUERY_MODE_RESULTS: Mode.RESULTS,
    pb.QUERY_MODE_ANSWER: Mode.ANSWER,
}
_SCOPES: Mapping[int, ScopeFilter] = {
    pb.QUERY_SCOPE_UNSPECIFIED: ScopeFilter.AUTO,
    pb.QUERY_SCOPE_AUTO: ScopeFilter.AUTO,
    pb.QUERY_SCOPE_PERSONAL: ScopeFilter.PERSONAL,
    pb.QUERY_SCOPE_TEAM: ScopeFilter.TEAM,
}
_DEPTHS: Mapping[int, Depth] = {
    pb.QUERY_DEPTH_UNSPECIFIED: Depth.QUICK,
    pb.QUERY_DEPTH_QUICK: Depth.QUICK,
    pb.QUERY_DEPTH_DEEP: Depth.DEEP,
}
_MEMORY_MODES: Mapping[pb.MemoryQueryMode, MemoryMode | None] = {
    pb.MEMORY_QUERY_MODE_UNSPECIFIED: None,
    pb.MEMORY_QUERY_MODE_RECALL: MemoryMode.RECALL,
    pb.MEMORY_QUERY_MODE_REFLECT: MemoryMode.REFLECT,
}
# What the answer says of them.
_MEMORY_MODE = {mode: number for number, mode in _MEMORY_MODES.items()}
_MODE = {Mode.RESULTS: pb.QUERY_MODE_RESULTS, Mode.ANSWER: pb.QUERY_MODE_ANSWER}
_SCOPE = {
    ScopeFilter.AUTO: pb.QUERY_SCOPE_AUTO,
    ScopeFilter.PERSONAL: pb.QUERY_SCOPE_PERSONAL,
    ScopeFilter.TEAM: pb.QUERY_SCOPE_TEAM,
}
_DEPTH = {Depth.QUICK: pb.QUERY_DEPTH_QUICK, Depth.DEEP: pb.QUERY_DEPTH_DEEP}
_OWN = {QueryScope.PERSONAL: pb.QUERY_SCOPE_PERSONAL, QueryScope.TEAM: pb.QUERY_SCOPE_TEAM}
STATE_NUMBERS = {
    State.OK: pb.PROVIDER_STATE_OK,
    State.SKIPPED: pb.PROVIDER_STATE_SKIPPED,
    State.ERROR: pb.PROVIDER_STATE_ERROR,
    State.TIMEOUT: pb.PROVIDER_STATE_TIMEOUT,
    State.STALE: pb.PROVIDER_STATE_STALE,
}


class ContextQueryServicer(context_query_pb2_grpc.ContextQueryServicer):
    """Answers the RPCs of `ContextQuery`."""

    def __init__(self, queries: ContextQueries, policies: Policies, tests: SourceTests) -> None:
        self._queries = queries
        self._policies = policies
        self._tests = tests

    async def QueryContext(self, request: pb.QueryContextRequest, context: object) -> pb.QueryContextResponse:
        """Ask all providers a question."""
        principal = principal_of(request.subject_user_id)
        queried = await self._queries.query(question_of(request), principal=principal)
        return response_of(queried)

    async def StreamQueryContext(
        self, request: pb.QueryContextRequest, context: object
    ) -> AsyncIterator[pb.StreamQueryContextResponse]:
        """Ask all providers a question, and stream each provider's answer as it comes."""
        principal = principal_of(request.subject_user_id)
        async with aclosing(self._queries.stream(question_of(request), principal=principal)) as coming:
            async for event in coming:
                if isinstance(event, ProviderProgress):
                    yield pb.StreamQueryContextResponse(provider=_answered_provider(event))
                else:
                    yield pb.StreamQueryContextResponse(answer=response_of(event))

    async def ListContextProviders(
        self, request: pb.ListContextProvidersRequest, context: object
    ) -> pb.ListContextProvidersResponse:
        """List the providers."""
        policy = await self._policies.of(request.agent_id, principal=calls.principal())
        last = await self._tests.last(principal=calls.principal())
        providers = self._queries.providers.with_own(policy.own)
        return pb.ListContextProvidersResponse(
            providers=[_provider(policy.of(provider), last.get(provider.info.id)) for provider in providers.all]
        )

    async def GetQueryPolicy(self, request: pb.GetQueryPolicyRequest, context: object) -> pb.GetQueryPolicyResponse:
        """Answer the rules that apply to a query: which providers it may ask, and with what settings."""
        policy = await self._policies.of(request.agent_id, principal=principal_of(request.subject_user_id))
        ruled = [policy.of(entry) for entry in self._queries.providers.with_own(policy.own).all]
        target = policy.target
        return pb.GetQueryPolicyResponse(
            providers=[
                _provider_policy(ruling, policy.settings.get(ruling.entry.info.id, Setting())) for ruling in ruled
            ],
            target=pb.WorkspaceTarget(whose=target.whose, node_ids=map(str, target.node_ids)) if target else None,
            agent_id=policy.agent_id,
            template_id=policy.template_id,
        )

    async def UpdateProviderSetting(
        self, request: pb.UpdateProviderSettingRequest, context: object
    ) -> pb.UpdateProviderSettingResponse:
        """Change the tenant's settings for a provider."""

        def response(setting: Setting) -> pb.UpdateProviderSettingResponse:
            return pb.UpdateProviderSettingResponse(setting=_setting(setting_input.provider_id, setting))

        setting_input = request.setting
        setting = await self._policies.update(
            setting_input.provider_id,
            Setting(
                enabled=setting_input.enabled if setting_input.HasField("enabled") else None,
                is_default=setting_input.is_default if setting_input.HasField("is_default") else None,
                deadline_ms=setting_input.deadline_ms if setting_input.HasField("deadline_ms") else None,
                node_ids=ids_of("setting.workspace.node_ids", setting_input.workspace.node_ids)
                if setting_input.HasField("workspace")
                else None,
                memory_mode=_tenants_memory_mode(setting_input.memory) if setting_input.HasField("memory") else None,
            ),
            request.reset,
            principal=calls.principal(),
            request=request_of("UpdateProviderSetting", request, response=response),
        )
        return response(setting)


def question_of(request: pb.QueryContextRequest) -> QueryRequest:
    """Return the query in a request, parsed and not yet checked."""
    options = request.provider_options
    return copied(
        QueryRequest,
        request,
        mode=_enum_member("mode", request.mode, _MODES),
        scope=_enum_member("scope", request.scope, _SCOPES),
        depth=_enum_member("depth", request.depth, _DEPTHS),
        limit=request.limit if request.HasField("limit") else LIMIT_DEFAULT,
        selection=Selection(ids=tuple(request.providers.ids), families=tuple(request.providers.families))
        if request.HasField("providers")
        else None,
        context_ids=ids_of("context_ids", request.context_ids),
        node_ids=ids_of("provider_options.workspace.node_ids", options.workspace.node_ids),
        has_workspace_options=options.HasField("workspace"),
        memory_mode=_enum_member("provider_options.memory.query_mode", options.memory.query_mode, _MEMORY_MODES),
        has_memory_options=options.HasField("memory"),
        score_min=request.score_min if request.HasField("score_min") else None,
        time_from=times.time_of("time_from", request.time_from) if request.HasField("time_from") else None,
        time_to=times.time_of("time_to", request.time_to) if request.HasField("time_to") else None,
    )


def _enum_member(field: str, number: int, values: Mapping[Any, _E]) -> _E:
    """Return the enum member that a protobuf number stands for.

    Raises:
        InvalidArgument: no member has this number.
    """
    if number not in values:
        names = ", ".join(dict.fromkeys(value.name for value in values.values() if isinstance(value, Enum)))
        raise InvalidArgument(f"{field} is {number}, which is not a known value; use one of {names}", field=field)
    return values[number]


def response_of(queried: Queried) -> pb.QueryContextResponse:
    """Return the protobuf message of an answer."""
    question, call = queried.question, calls.current_call.get()
    families = {status.entry.info.id: status.entry.info.family for status in queried.statuses}
    assert call is not None, "a call is under way"
    return pb.QueryContextResponse(
        asked=copied(
            pb.QueryAsked,
            question,
            mode=_MODE[question.mode],
            scope=_SCOPE[question.scope],
            depth=_DEPTH[question.depth],
            provider_ids=[status.entry.info.id for status in queried.statuses],
            memory_query_mode=_MEMORY_MODE[question.memory_mode],
        ),
        parts=[part.text for part in question.parts],
        hits=[_hit(hit, rank, families) for rank, hit in enumerate(queried.hits, 1)],
        providers=map(_status, queried.statuses),
        answer=copied(pb.QueryAnswer, queried.answer) if queried.answer else None,
        prompt_text=queried.prompt_text,
        prompt_tokens=queried.prompt_tokens,
        trace_id=call.call_id,
        duration_ms=_ms(queried.took_s),
        explained=[
            pb.ProviderHits(
                provider_id=provider_id,
                hits=[
                    pb.ExplainedHit(
                        ref=row.candidate.ref,
                        place=row.candidate.place,
                        own_score=row.candidate.hit.score,
                        score=row.score,
                        title=row.candidate.hit.title,
                        shown_in=row.shown_in,
                    )
                    for row in explained
                ],
            )
            for provider_id, explained in queried.explained.items()
        ],
        expanded=map(_expanded_message, queried.expanded),
        below_score_min_count=queried.below_score_min,
    )


def _expanded_message(expanded: ExpandedRef) -> pb.ExpandedRef:
    """Return the text of a ref as protobuf."""
    return copied(
        pb.ExpandedRef,
        expanded,
        scope=_OWN[expanded.scope] if expanded.scope else pb.QUERY_SCOPE_UNSPECIFIED,
        untrusted=expanded.is_found,
    )


def _answered_provider(progress: ProviderProgress) -> pb.AnsweredProvider:
    """Return the protobuf message of one provider's answer, for the stream."""
    families = {progress.status.entry.info.id: progress.status.entry.info.family}
    return pb.AnsweredProvider(
        status=_status(progress.status),
        hits=[
            _hit(Fused(best=candidate, score=0.0, sources=(candidate,)), candidate.place, families)
            for candidate in progress.candidates
        ],
        is_second_pass=progress.is_second_pass,
    )


def _hit(hit: Fused, rank: int, families: Mapping[str, str]) -> pb.QueryHit:
    """Return the protobuf message of a hit, with its rank and all its sources.

    Args:
        hit: The hit, merged from the providers that found it.
        rank: Its place in the answer, from 1.
        families: The family of each provider, by the provider's id.
    """
    best = hit.best
    return copied(
        pb.QueryHit,
        best,
        rank=rank,
        family=families[best.provider_id],
        title=best.hit.title,
        snippet=best.hit.snippet,
        score=hit.score,
        part_numbers=hit.part_numbers,
        scope=_OWN[best.hit.scope or QueryScope.TEAM],
        sources=[_source(source, families[source.provider_id]) for source in hit.sources],
        metadata_json=orjson.dumps(best.hit.metadata).decode() if best.hit.metadata else "",
        as_of=times.timestamp(best.hit.as_of) if best.hit.as_of else None,
        untrusted=True,  # all that there is to search so far is written by people and tools
    )


def _source(candidate: Candidate, family: str) -> pb.HitSource:
    """Return the protobuf message of one source of a hit."""
    return copied(
        pb.HitSource,
        candidate.hit,
        ref=candidate.ref,
        provider_id=candidate.provider_id,
        family=family,
        scope=_OWN[candidate.hit.scope or QueryScope.TEAM],
    )


def _status(status: Status) -> pb.ProviderStatus:
    """Return the protobuf message of a provider's status."""
    return copied(
        pb.ProviderStatus,
        status,
        provider_id=status.entry.info.id,
        family=status.entry.info.family,
        display_name=status.entry.info.display_name,
        state=STATE_NUMBERS[status.state],
        duration_ms=_ms(status.took_s),
    )


def _provider(ruled: Ruled, last: Last | None) -> pb.ContextProvider:
    """Return the protobuf message of a provider, as the caller's policy has it, with its last test, if any."""
    info = ruled.entry.info
    return copied(
        pb.ContextProvider,
        info,
        provider_id=info.id,
        scopes=[_OWN[scope] for scope in QueryScope if scope in info.scopes],
        is_installed=ruled.entry.is_installed,
        deadline_ms=_ms(info.deadline_s or DEADLINE_QUICK_S),
        is_enabled=ruled.is_enabled,
        is_allowed=not ruled.refused_by,
        last_test=pb.LastTest(
            state=STATE_NUMBERS[last.state], duration_ms=last.duration_ms, tested_at=times.timestamp(last.at)
        )
        if last
        else None,
    )


def _provider_policy(ruled: Ruled, setting: Setting) -> pb.ProviderPolicy:
    """Return the protobuf message of a provider with the policy applied, and with the tenant's setting for it."""
    info = ruled.entry.info
    return pb.ProviderPolicy(
        provider_id=info.id,
        family=info.family,
        is_enabled=ruled.is_enabled,
        is_default=info.is_default,
        deadline_ms=_ms(info.deadline_s or DEADLINE_QUICK_S),
        setting=_setting(info.id, setting),
        is_allowed=not ruled.refused_by,
        refused_by=ruled.refused_by,
        imported=imported_of(setting.imported_json),
    )


def _tenants_memory_mode(setting: pb.MemoryOptions) -> MemoryMode:
    """Return the tenant's mode for memories in a setting that has one.

    Raises:
        InvalidArgument: the mode is unspecified or unknown.
    """
    field = "setting.memory.query_mode"
    mode = _enum_member(field, setting.query_mode, _MEMORY_MODES)
    if mode is None:
        raise InvalidArgument(f"{field} is required; to take it back, name it in reset", field=field)
    return mode


def _setting(provider_id: str, setting: Setting) -> pb.ProviderSetting:
    """Return the setting of a provider as protobuf."""
    return copied(
        pb.ProviderSetting,
        setting,
        provider_id=provider_id,
        workspace=None if setting.node_ids is None else pb.WorkspaceOptions(node_ids=map(str, setting.node_ids)),
        memory=None if setting.memory_mode is None else pb.MemoryOptions(query_mode=_MEMORY_MODE[setting.memory_mode]),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
