"""The proto service `ContextQuery`: parse, one call, render."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

import orjson

from context_service.query.fusion import Candidate, Fused
from context_service.query.providers import DEADLINE_QUICK_S, Entry, Scope, State
from context_service.query.queries import ContextQueries, Queried, Status
from context_service.query.questions import LIMIT_DEFAULT, Depth, Mode, Question, ScopeAsked, Selection
from context_service.servicers import wire
from context_service.servicers.said import ids_of, principal_of
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1 import context_query_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime import calls

_E = TypeVar("_E", bound=Enum)

# What callers say; unspecified is the default.
_MODES: Mapping[int, Mode] = {
    pb.QUERY_MODE_UNSPECIFIED: Mode.RESULTS,
    pb.QUERY_MODE_RESULTS: Mode.RESULTS,
    pb.QUERY_MODE_ANSWER: Mode.ANSWER,
}
_SCOPES: Mapping[int, ScopeAsked] = {
    pb.QUERY_SCOPE_UNSPECIFIED: ScopeAsked.AUTO,
    pb.QUERY_SCOPE_AUTO: ScopeAsked.AUTO,
    pb.QUERY_SCOPE_PERSONAL: ScopeAsked.PERSONAL,
    pb.QUERY_SCOPE_TEAM: ScopeAsked.TEAM,
}
_DEPTHS: Mapping[int, Depth] = {
    pb.QUERY_DEPTH_UNSPECIFIED: Depth.QUICK,
    pb.QUERY_DEPTH_QUICK: Depth.QUICK,
    pb.QUERY_DEPTH_DEEP: Depth.DEEP,
}
# What they are told.
_MODE = {Mode.RESULTS: pb.QUERY_MODE_RESULTS, Mode.ANSWER: pb.QUERY_MODE_ANSWER}
_SCOPE = {
    ScopeAsked.AUTO: pb.QUERY_SCOPE_AUTO,
    ScopeAsked.PERSONAL: pb.QUERY_SCOPE_PERSONAL,
    ScopeAsked.TEAM: pb.QUERY_SCOPE_TEAM,
}
_DEPTH = {Depth.QUICK: pb.QUERY_DEPTH_QUICK, Depth.DEEP: pb.QUERY_DEPTH_DEEP}
_OWN = {Scope.PERSONAL: pb.QUERY_SCOPE_PERSONAL, Scope.TEAM: pb.QUERY_SCOPE_TEAM}
_STATE = {
    State.OK: pb.PROVIDER_STATE_OK,
    State.SKIPPED: pb.PROVIDER_STATE_SKIPPED,
    State.ERROR: pb.PROVIDER_STATE_ERROR,
    State.TIMEOUT: pb.PROVIDER_STATE_TIMEOUT,
    State.STALE: pb.PROVIDER_STATE_STALE,
}


class ContextQueryServicer(context_query_pb2_grpc.ContextQueryServicer):
    """Answers the RPCs of `ContextQuery`."""

    def __init__(self, queries: ContextQueries) -> None:
        self._queries = queries

    async def QueryContext(self, request: pb.QueryContextRequest, context: object) -> pb.QueryContextResponse:
        """Ask all providers a question."""
        principal = principal_of(request.subject_user_id)
        queried = await self._queries.query(_question(request), principal=principal)
        return _response(queried)

    async def ListContextProviders(
        self, request: pb.ListContextProvidersRequest, context: object
    ) -> pb.ListContextProvidersResponse:
        """List the providers."""
        return pb.ListContextProvidersResponse(providers=map(_provider, self._queries.providers.all))


def _question(request: pb.QueryContextRequest) -> Question:
    options = request.provider_options
    return Question(
        query=request.query,
        mode=_known("mode", request.mode, _MODES),
        scope=_known("scope", request.scope, _SCOPES),
        depth=_known("depth", request.depth, _DEPTHS),
        limit=request.limit if request.HasField("limit") else LIMIT_DEFAULT,
        selection=Selection(ids=tuple(request.providers.ids), families=tuple(request.providers.families))
        if request.HasField("providers")
        else None,
        context_ids=ids_of("context_ids", request.context_ids),
        node_ids=ids_of("provider_options.workspace.node_ids", options.workspace.node_ids),
        has_workspace_options=options.HasField("workspace"),
        tokens_max=request.tokens_max,
        time_from=wire.time_of("time_from", request.time_from) if request.HasField("time_from") else None,
        time_to=wire.time_of("time_to", request.time_to) if request.HasField("time_to") else None,
        explain=request.explain,
    )


def _known(field: str, number: int, values: Mapping[int, _E]) -> _E:
    """Return the value of an enum's number.

    Raises:
        InvalidArgument: it has none.
    """
    if number not in values:
        names = ", ".join(dict.fromkeys(one.name for one in values.values()))
        raise InvalidArgument(f"{field} is none of {names}", field=field)
    return values[number]


def _response(queried: Queried) -> pb.QueryContextResponse:
    question, call = queried.question, calls.current_call.get()
    families = {one.entry.info.id: one.entry.info.family for one in queried.statuses}
    assert call is not None, "a call is under way"
    return pb.QueryContextResponse(
        asked=pb.QueryAsked(
            query=question.query,
            mode=_MODE[question.mode],
            scope=_SCOPE[question.scope],
            depth=_DEPTH[question.depth],
            limit=question.limit,
            provider_ids=[one.entry.info.id for one in queried.statuses],
            context_ids=map(str, question.context_ids),
            node_ids=map(str, question.node_ids),
            tokens_max=question.tokens_max,
            time_from=wire.timestamp(question.time_from) if question.time_from else None,
            time_to=wire.timestamp(question.time_to) if question.time_to else None,
        ),
        hits=[_hit(one, rank, families) for rank, one in enumerate(queried.hits, 1)],
        providers=map(_status, queried.statuses),
        answer=pb.QueryAnswer(text=queried.answer.text, hit_refs=queried.answer.hit_refs, method=queried.answer.method)
        if queried.answer
        else None,
        prompt_text=queried.prompt_text,
        prompt_tokens=queried.prompt_tokens,
        trace_id=call.call_id,
        duration_ms=_ms(queried.took_s),
        explained=[
            pb.ProviderHits(
                provider_id=provider_id,
                hits=[
                    pb.ExplainedHit(
                        ref=one.candidate.ref,
                        place=one.candidate.place,
                        own_score=one.candidate.hit.score,
                        score=one.score,
                        title=one.candidate.hit.title,
                        shown_in=one.shown_in,
                    )
                    for one in explained
                ],
            )
            for provider_id, explained in queried.explained.items()
        ],
    )


def _hit(one: Fused, rank: int, families: Mapping[str, str]) -> pb.QueryHit:
    best = one.best
    return pb.QueryHit(
        ref=best.ref,
        rank=rank,
        provider_id=best.provider_id,
        family=families[best.provider_id],
        title=best.hit.title,
        snippet=best.hit.snippet,
        score=one.score,
        scope=_OWN[best.hit.scope],
        sources=[_source(source, families[source.provider_id]) for source in one.sources],
        metadata_json=orjson.dumps(best.hit.metadata).decode() if best.hit.metadata else "",
        as_of=wire.timestamp(best.hit.as_of) if best.hit.as_of else None,
        trust=best.trust,
        untrusted=True,  # all that there is to search so far is written by people and tools
    )


def _source(one: Candidate, family: str) -> pb.HitSource:
    return pb.HitSource(
        ref=one.ref,
        provider_id=one.provider_id,
        family=family,
        label=one.hit.label,
        uri=one.hit.uri,
        source_id=one.hit.source_id,
        scope=_OWN[one.hit.scope],
        as_of=wire.timestamp(one.hit.as_of) if one.hit.as_of else None,
    )


def _status(one: Status) -> pb.ProviderStatus:
    return pb.ProviderStatus(
        provider_id=one.entry.info.id,
        family=one.entry.info.family,
        display_name=one.entry.info.display_name,
        state=_STATE[one.state],
        reason=one.reason,
        duration_ms=_ms(one.took_s),
        hit_count=one.hit_count,
        as_of=wire.timestamp(one.as_of) if one.as_of else None,
        target=one.target,
        mode=one.mode,
    )


def _provider(entry: Entry) -> pb.ContextProvider:
    info = entry.info
    return pb.ContextProvider(
        provider_id=info.id,
        family=info.family,
        display_name=info.display_name,
        scopes=[_OWN[one] for one in Scope if one in info.scopes],
        is_default=info.is_default,
        is_installed=entry.is_installed,
        deadline_ms=_ms(info.deadline_s or DEADLINE_QUICK_S),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
