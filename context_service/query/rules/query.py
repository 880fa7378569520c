"""Context query: one query goes to all providers at once, and their answers become one list.

The steps are: read the policy, select providers, ask them, check their answers, merge the hits. Nothing is written. A
provider of the service acts for the caller, under the database's row-level security; the answer of an installed
provider is checked like any text from outside.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from context_service.context_settings.room import ContextSettings
from context_service.kernel.llm.reranking import RERANKED_MAX, Reranking
from context_service.kernel.llm.texts import Chat, ChatFailed
from context_service.kernel.tokens import TokenCounter
from context_service.query.model import CONTEXT, DEADLINE_DEEP_S, DEADLINE_QUICK_S, WORDS_ONLY, Expanded
from context_service.query.providers import Answered, Expanding, ProviderQuery, QueryScope, State
from context_service.query.pure import expand as expanding
from context_service.query.pure import model_answers, quotations
from context_service.query.pure.expand import ExpandedRef
from context_service.query.pure.fusion import SCORE_MIN, Candidate, Fused, distinctive, fused, merged_parts
from context_service.query.pure.hit_checks import (
    LOOKED_AT_MAX,
    REASON_CHARS_MAX,
    SNIPPET_CHARS_MAX,
    Checked,
    Malformed,
    checked_answer,
    line_of,
)
from context_service.query.pure.policy import Policy
from context_service.query.pure.provider_table import ProviderEntry, Providers
from context_service.query.pure.quotations import QuotedAnswer
from context_service.query.pure.request import Depth, Mode, QueryRequest, Selected, selected
from context_service.query.rules.fan_out import Busy, Late, ProviderResult, Reaper, ask_all, is_blocking
from context_service.query.rules.fan_out import ProviderCall as Part
from context_service.query.rules.meaning import HitsByMeaning
from context_service.query.rules.policies import Policies
from context_service.query.rules.reranking import HitReranking, refused_contexts
from context_service.retrieval.pure.citations import NotGrounded
from contextkeep.errors import ContextKeepError, DeadlineExceeded, InvalidArgument, Overloaded, Unavailable
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc import calls
from service_runtime.rpc.calls import Call, answer_s, current_call, remaining_s
from service_runtime.rpc.principal import Principal
from service_runtime.telemetry.metrics import Counted
from service_runtime.values.copying import copied

_log = logging.getLogger("query")

# The share of a call's remaining time in which providers are asked; the rest is for scoring their hits.
_SCORING = 0.9
# The id under which reading the policy is asked for, like a search of a provider. No provider can have an id with a
# space.
_POLICY = " policy"
# The share of the remaining time for reading the policy, which also never takes longer than a quick provider may.
_POLICY_SHARE = 0.5
_MORE_TO_FILTER = 4  # times as many hits are asked for where some are dropped for their metadata
_DEEPER_HITS = 3  # the second pass of a deep query also asks for words of this many best hits
_STREAM_S = 60.0  # the time of a stream without a deadline, which is the longest time that a call may take
_SECOND_PASS_S_MIN = 0.05  # a provider with less time left is not asked a second time
# `beside_the_loop` decides by a size in bytes whether work leaves the event loop, as if the bytes were parsed. Scoring
# a character takes as long as parsing this many bytes, and counting its tokens as long as the second number.
_SCORED_BYTES, _COUNTED_BYTES = 16, 8
# Answers up to this size are checked at once on the event loop; larger ones are checked in a task of their own.
_CHECKED_AT_ONCE_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The result of asking a provider."""

    entry: ProviderEntry
    state: State
    reason: str = ""
    took_s: float = 0.0
    hit_count: int = 0  # before merging and the limit
    as_of: datetime | None = None
    target: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A hit of a provider, and the hit of the answer that contains it."""

    candidate: Candidate
    score: float
    shown_in: str  # the ref of a hit; empty if the hit is below the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Queried:
    """The answer to a query."""

    question: QueryRequest
    hits: Sequence[Fused]
    statuses: Sequence[Status]
    answer: QuotedAnswer | None
    prompt_text: str
    prompt_tokens: int
    took_s: float
    explained: Mapping[str, Sequence[Explained]]  # by the provider's id; empty unless the query set `explain`
    expanded: Sequence[ExpandedRef] = ()
    below_score_min: int = 0  # hits that were left out because of their scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProgress:
    """The answer of one provider, while others are still running."""

    status: Status  # the status so far; a second pass may change it
    candidates: Sequence[Candidate]  # the hits in the provider's order; after a second pass only those that are new
    is_second_pass: bool = False


_Tell = Callable[[ProviderProgress], None]


class ContextQueries:
    """Answers queries: asks the providers and merges their hits. Each call acts for its principal.

    Args:
        providers: The providers that come with the service, and the installed ones.
        policies: Decides which providers a query may ask.
        reaper: Keeps the searches that miss their deadline, until they end.
        tokens: Counts the tokens of a prompt.
        by_meaning: Compares hits by embeddings; None to rank by words alone.
        reranking: Orders the first hits again; None to keep their order.
        fared: Records how long each provider took, by its `family` and its `state`.
        chat: The model that writes answers; None to quote hits.
        settings: Says whether texts of a context may be sent to a model.
    """

    def __init__(
        self,
        providers: Providers,
        policies: Policies,
        reaper: Reaper,
        tokens: TokenCounter,
        *,
        by_meaning: HitsByMeaning | None,
        reranking: HitReranking | None,
        fared: Counted,
        chat: Chat | None,
        settings: ContextSettings,
    ) -> None:
        self._fared = fared
        self._settings = settings
        self.providers = providers
        self.policies = policies
        self._reaper = reaper
        self._tokens = tokens
        self._by_meaning = by_meaning
        self._reranking = reranking
        self._chat = chat

    @property
    def has_embedder(self) -> bool:
        """Whether hits can be compared by embeddings."""
        return self._by_meaning is not None

    async def stream(
        self, question: QueryRequest, *, principal: Principal
    ) -> AsyncGenerator[ProviderProgress | Queried, None]:
        """Yield the answer of each provider as it comes, and last the result of `query`.

        A slow reader delays neither other callers nor the providers: unread events are buffered, and there are no more
        of them than the final answer contains. If the reader goes away, all searches are cancelled.

        Raises:
            InvalidArgument, LimitExceeded, AgentNotFound, ProviderNotAllowed: the query is refused, as in `query`. This
                comes before any element.
        """
        coming: asyncio.Queue[ProviderProgress | None] = asyncio.Queue()
        asking = calls.apart(
            partial(self.query, question, principal=principal, tell=coming.put_nowait), within_s=_STREAM_S
        )
        asking.add_done_callback(lambda _: coming.put_nowait(None))
        try:
            while (progress := await coming.get()) is not None:
                yield progress
            yield await asking
        finally:
            asking.cancel()
            await asyncio.wait({asking})
            if not asking.cancelled():
                asking.exception()  # reading the error keeps asyncio from logging that nothing has read it

    async def query(self, question: QueryRequest, *, principal: Principal, tell: _Tell | None = None) -> Queried:
        """Ask the providers, and return their merged answers within the time of the call.

        Args:
            question: The query of the caller.
            principal: The caller; providers return only what it may see.
            tell: Called with the answer of each provider as soon as it is checked.

        Raises:
            InvalidArgument: a field of the query is malformed, or it selects an unknown provider.
            LimitExceeded: a field of the query is too large.
            AgentNotFound: the query names an agent that does not exist.
            ProviderNotAllowed: the query selects a provider that the policy forbids.
        """
        tell = tell or _no_progress
        began = time.monotonic()
        question.check()
        at_hand = self.policies.at_hand(question.agent_id, principal=principal)
        policy = at_hand or await self._policy(question, principal)
        ruled = policy if isinstance(policy, Policy) else Policy()
        if ruled.agent_id:
            question = replace(question, agent_id=ruled.agent_id)
        try:
            chosen = _within_reach(selected(question, self.providers.with_own(ruled.own), ruled), principal)
        except InvalidArgument:
            if isinstance(policy, ProviderResult) and policy.error is not None and question.selection is not None:
                # The selected provider may be one that the tenant added, and its list could not be read.
                raise Unavailable(
                    "the tenant's policy cannot be read; try again", dependency="postgres"
                ) from policy.error
            raise
        expanded: Sequence[ExpandedRef] = ()
        if isinstance(policy, Policy):
            async with asyncio.TaskGroup() as at_once:
                if question.expand_refs:
                    expanding_refs = at_once.create_task(self._expand_refs(question, chosen, policy, principal))
                statuses, candidates = await self._ask(question, chosen, policy, principal, tell)
            if question.expand_refs:
                expanded = expanding_refs.result()
        else:
            statuses, candidates = _statuses_without_policy(chosen, policy), []
            for status in statuses:
                tell(ProviderProgress(status=status, candidates=()))
            refused = {choice.entry.info.id: "the tenant's policy cannot be read; try again" for choice in chosen}
            expanded = expanding.expanded_refs(question.expand_refs, {}, refused)
        hits, scores, words_only = await self._rank(question, candidates, principal)
        statuses = [_with_words_only(status, words_only, candidates) for status in statuses]
        if self._reranking and hits and not question.parts:  # the hits of parts are ranked for each part
            best = hits[:RERANKED_MAX]
            hits, reranking = await self._reranking.reranked(question.query, hits, principal)
            statuses = [_with_reranking(status, best, reranking) for status in statuses]
        relevant = [hit for hit in hits if hit.score >= _score_min(question)]
        shown_hits = relevant[: question.limit]
        answer, prompt, prompt_tokens = None, "", 0
        size_bytes = _COUNTED_BYTES * sum(len(shown_hit.best.hit.snippet) for shown_hit in shown_hits)
        if question.mode is Mode.ANSWER:
            answer = await self._answer(question, shown_hits, size_bytes, principal)
        if question.tokens_max:
            prompt, prompt_tokens = await beside_the_loop(
                size_bytes,
                quotations.prompt_text,
                shown_hits,
                tokens_max=question.tokens_max,
                count=self._tokens.count,
            )
        return Queried(
            question=question,
            hits=shown_hits,
            statuses=statuses,
            answer=answer,
            prompt_text=prompt,
            prompt_tokens=prompt_tokens,
            took_s=time.monotonic() - began,
            explained=_explanations(candidates, shown_hits, scores) if question.explain else {},
            expanded=expanded,
            below_score_min=len(hits) - len(relevant),
        )

    async def _expand_refs(
        self, question: QueryRequest, selection: Sequence[Selected], policy: Policy, principal: Principal
    ) -> Sequence[ExpandedRef]:
        """Return the whole texts of the hits that a query's `expand_refs` name."""
        request = _provider_query(question, policy, self.providers)
        named = expanding.refs_by_provider(question.expand_refs, selection)
        now, call_s = time.monotonic(), answer_s(remaining_s()) * _SCORING
        parts = []
        for entry in named.entries:
            deadline_s = max(min(entry.info.deadline_s or DEADLINE_QUICK_S, call_s), 0.001)
            search = partial(self._expand, entry, named.source_ids[entry.info.id], request, principal, now + deadline_s)
            parts.append(Part(provider_id=entry.info.id, deadline_s=deadline_s, search=search))
        outcomes = await ask_all(parts, self._reaper)
        results: dict[str, Expanded] = {}
        refused = dict(named.refused)
        for part in parts:
            outcome, provider_id = outcomes[part.provider_id], part.provider_id
            error: BaseException | None = outcome.error
            if error is None:
                try:
                    texts = await beside_the_loop(
                        expanding.BYTES_MAX,
                        expanding.checked_texts,
                        outcome.result,
                        named.source_ids[provider_id],
                        scopes=question.scope.scopes,
                    )
                    results |= {f"{provider_id}:{text.source_id}": text for text in texts}
                    continue
                except Exception as raised:
                    error = raised
            state, why = _failure(error, part.deadline_s)
            refused[provider_id] = f"its provider failed: {why}"
            extra = {"provider": provider_id, "state": state.value, "why": why, "where": _where(error)}
            _log.warning("provider did not expand a hit", extra=extra)
        return await beside_the_loop(
            expanding.BYTES_MAX, expanding.expanded_refs, question.expand_refs, results, refused
        )

    async def _expand(
        self,
        entry: ProviderEntry,
        source_ids: Sequence[str],
        request: ProviderQuery,
        principal: Principal,
        ends_at: float,
    ) -> object:
        """Let one provider return the whole texts of hits; this runs in a task of its own, as `_search` does."""
        current_call.set(_part_of(current_call.get(), ends_at))
        assert isinstance(entry.provider, Expanding)
        expand: Callable[[Sequence[str], ProviderQuery, Principal], object] = entry.provider.expand
        if is_blocking(expand):
            texts = await self._reaper.in_thread(entry.info.id, partial(expand, source_ids, request, principal))
        else:
            texts = expand(source_ids, request, principal)
        return await texts if inspect.isawaitable(texts) else texts

    async def _answer(
        self, question: QueryRequest, shown_hits: Sequence[Fused], size_bytes: int, principal: Principal
    ) -> QuotedAnswer:
        """Return the answer of the model; quote the hits instead if there is none, it fails, or it may not be asked."""
        reason = ""
        if self._chat is not None and shown_hits:
            calls.end_turn()  # only the model remains, which is slow
            try:
                await self._check_models(shown_hits, principal)
                text = await self._chat.text(
                    system=model_answers.INSTRUCTIONS,
                    user=model_answers.prompt_of(question.query, shown_hits),
                    tokens_max=model_answers.TOKENS_MAX,
                )
                return await beside_the_loop(
                    size_bytes, model_answers.grounded_answer, text, question.query, shown_hits
                )
            except (ChatFailed, NotGrounded) as error:
                reason = str(error)
        answer = await beside_the_loop(size_bytes, quotations.answer, question.query, shown_hits, question.parts)
        return replace(answer, reason=reason)

    async def _check_models(self, shown_hits: Sequence[Fused], principal: Principal) -> None:
        """Check that hits of contexts may be sent to a model.

        Raises:
            ChatFailed: models are switched off for a context.
        """
        for context_id in await refused_contexts(self._settings, shown_hits, principal):
            raise ChatFailed(f"models are switched off for context {context_id}")

    async def _policy(self, question: QueryRequest, principal: Principal) -> Policy | ProviderResult:
        """Read the policy of a query, which says which providers it may ask.

        Returns:
            The policy; if it cannot be read in time, a result with the error, and then no provider is asked.

        Raises:
            AgentNotFound: the query names an agent that does not exist, or that the caller may not name.
            InvalidArgument: the id of the agent is malformed.
            LimitExceeded: the id of the agent is too long.
        """
        call = current_call.get()
        deadline_s = min(DEADLINE_QUICK_S, answer_s(remaining_s()) * _POLICY_SHARE)
        ends_at = time.monotonic() + deadline_s

        async def read() -> Policy:
            current_call.set(_part_of(call, ends_at))
            return await self.policies.of(question.agent_id, principal=principal)

        part = Part(provider_id=_POLICY, deadline_s=deadline_s, search=read)
        outcome = (await ask_all([part], self._reaper))[_POLICY]
        if isinstance(outcome.result, Policy):
            return outcome.result
        assert outcome.error is not None, "it is a policy, or failed"
        if not isinstance(outcome.error, Late | Busy | Unavailable | DeadlineExceeded):
            raise outcome.error
        return outcome

    async def _ask(
        self, question: QueryRequest, selection: Sequence[Selected], policy: Policy, principal: Principal, tell: _Tell
    ) -> tuple[list[Status], list[Candidate]]:
        """Ask the selected providers, a second time if the query is deep.

        Returns:
            The statuses of the providers in the order of `selection`, and the hits of all of them.
        """
        request = _provider_query(question, policy, self.providers)
        call_ends_at = time.monotonic() + answer_s(remaining_s()) * _SCORING
        statuses = {
            choice.entry.info.id: Status(entry=choice.entry, state=State.SKIPPED, reason=choice.skipped)
            for choice in selection
            if choice.skipped
        }
        for status in statuses.values():
            tell(ProviderProgress(status=status, candidates=()))
        entries = [choice.entry for choice in selection if not choice.skipped]
        first_statuses, candidates = await self._pass(entries, request, principal, call_ends_at, tell)
        statuses |= first_statuses
        if request.is_deep and candidates:
            again = [entry for entry in entries if statuses[entry.info.id].state in (State.OK, State.STALE)]
            for text in await self._further_queries(question, candidates, principal) if again else ():
                deeper = replace(request, query=text, is_second_pass=True)
                statuses, candidates = await self._second_pass(
                    again, deeper, principal, call_ends_at, tell, statuses, candidates
                )
        return [statuses[choice.entry.info.id] for choice in selection], candidates

    async def _further_queries(
        self, question: QueryRequest, candidates: Sequence[Candidate], principal: Principal
    ) -> list[str]:
        """Return the texts that a deep query also searches for: its parts, or its words with those of the best hits."""
        if question.parts:
            return [part.search_text for part in question.parts]
        hits, _, _ = await self._fuse(question.query, candidates, principal)
        words = distinctive(question.query, hits[:_DEEPER_HITS])
        return [" ".join([question.query, *words])] if words else []

    async def _second_pass(
        self,
        entries: Sequence[ProviderEntry],
        request: ProviderQuery,
        principal: Principal,
        call_ends_at: float,
        tell: _Tell,
        statuses: Mapping[str, Status],
        candidates: Sequence[Candidate],
    ) -> tuple[dict[str, Status], list[Candidate]]:
        """Ask providers again in the time they have left, and add the new hits and statuses."""
        known = {candidate.ref for candidate in candidates}
        in_time = [
            entry
            for entry in entries
            if _deadline_s(entry, request, statuses[entry.info.id].took_s) > _SECOND_PASS_S_MIN
        ]
        parameters = {entry.info.id: statuses[entry.info.id].took_s for entry in in_time}
        merged = dict(statuses)

        def told(second: ProviderProgress) -> None:
            """Add the new hits of a provider's second answer to its status, and report both."""
            fresh = [candidate for candidate in second.candidates if candidate.ref not in known]
            status = merged[second.status.entry.info.id] = _with_second(
                statuses[second.status.entry.info.id], second.status, len(fresh)
            )
            tell(ProviderProgress(status=status, candidates=fresh, is_second_pass=True))

        _, more = await self._pass(in_time, request, principal, call_ends_at, told, taken=parameters)
        return merged, [*candidates, *(candidate for candidate in more if candidate.ref not in known)]

    async def _pass(
        self,
        entries: Sequence[ProviderEntry],
        request: ProviderQuery,
        principal: Principal,
        call_ends_at: float,
        tell: _Tell,
        *,
        taken: Mapping[str, float] | None = None,
    ) -> tuple[dict[str, Status], list[Candidate]]:
        """Ask providers once, and report each as it ends; `taken` says how much of their time they have used."""
        working = {other_entry.info.id for other_entry in entries if not other_entry.waits}
        if not working:
            calls.end_turn()  # the rest of the call waits for other services

        now = time.monotonic()
        parts: dict[str, Part] = {}
        calls_of: dict[float, Call | None] = {}  # by deadline, since most providers have the same one
        for entry in entries:
            own_s = _deadline_s(entry, request, (taken or {}).get(entry.info.id, 0.0))
            deadline_s = max(min(own_s, call_ends_at - now), 0.001)
            if deadline_s not in calls_of:
                calls_of[deadline_s] = _part_of(current_call.get(), now + deadline_s)
            search = partial(self._search, entry, _query_of(entry, request), principal, calls_of[deadline_s])
            parts[entry.info.id] = Part(provider_id=entry.info.id, deadline_s=deadline_s, search=search)
        by_id = {entry.info.id: entry for entry in entries}
        progress: dict[str, ProviderProgress] = {}
        async with (
            asyncio.TaskGroup() as checking
        ):  # concurrent with the searches, so that late ones are cancelled in time

            def tell_of(provider_id: str, outcome: ProviderResult, answer: Checked | BaseException) -> None:
                deadline_s = parts[provider_id].deadline_s
                progress[provider_id] = self._progress(by_id[provider_id], outcome, answer, request, deadline_s)
                tell(progress[provider_id])

            async def check(provider_id: str, outcome: ProviderResult, size_bytes: int) -> None:
                wanted, scopes = _wanted_of(by_id[provider_id], request), by_id[provider_id].info.scopes
                tell_of(provider_id, outcome, await beside_the_loop(size_bytes, _check_answer, outcome, wanted, scopes))

            def ended(provider_id: str, outcome: ProviderResult) -> None:
                """Check the answer of a provider and report it, in a task of its own if the answer is large.

                After the last provider that works in this process, the call gives up its turn in the queue of calls.
                """
                working.discard(provider_id)
                if not working:
                    calls.end_turn()
                size_bytes = _checking_bytes(outcome)
                if size_bytes <= _CHECKED_AT_ONCE_BYTES:
                    wanted, scopes = _wanted_of(by_id[provider_id], request), by_id[provider_id].info.scopes
                    tell_of(provider_id, outcome, _check_answer(outcome, wanted, scopes))
                else:
                    checking.create_task(check(provider_id, outcome, size_bytes))

            await ask_all(list(parts.values()), self._reaper, ended=ended)
        statuses = {provider_id: progress[provider_id].status for provider_id in parts}
        return statuses, [candidate for provider_id in parts for candidate in progress[provider_id].candidates]

    def _progress(
        self,
        entry: ProviderEntry,
        outcome: ProviderResult,
        answer: Checked | BaseException,
        request: ProviderQuery,
        deadline_s: float,
    ) -> ProviderProgress:
        """Return a provider's status and the hits that may be shown, and record how it fared."""
        candidates: list[Candidate] = []
        if isinstance(answer, Checked):
            status = copied(Status, answer, entry=entry, took_s=outcome.took_s, hit_count=len(answer.hits))
            candidates = [
                Candidate(
                    provider_id=entry.info.id,
                    place=place,
                    trust=entry.trust if entry.is_installed or hit.trust is None else hit.trust,
                    hit=hit,
                    # The cosine of an installed provider cannot be trusted, and that of a second pass compares the hit
                    # with another query.
                    cosine=None if entry.is_installed or request.is_second_pass else hit.cosine,
                )
                for place, hit in enumerate(answer.hits, 1)
            ]
        else:
            state, reason = _failure(answer, deadline_s)
            status = Status(entry=entry, state=state, reason=reason, took_s=outcome.took_s)
            _log.warning(
                "context provider failed",
                extra={
                    "provider": entry.info.id,
                    "state": state.value,
                    "why": reason,
                    "where": _where(answer),
                },
            )
        self._fared(outcome.took_s, family=entry.info.family, state=status.state.value)
        return ProviderProgress(status=status, candidates=candidates)

    async def _search(
        self, entry: ProviderEntry, request: ProviderQuery, principal: Principal, call: Call | None
    ) -> object:
        """Search with one provider, in a task of its own, so that the call's deadline can be the provider's."""
        current_call.set(call)
        search: Callable[[ProviderQuery, Principal], object] = entry.provider.search
        if is_blocking(search):
            results = await self._reaper.in_thread(entry.info.id, partial(search, request, principal))
        else:
            results = search(request, principal)
        return await results if inspect.isawaitable(results) else results

    async def _rank(
        self, question: QueryRequest, candidates: Sequence[Candidate], principal: Principal
    ) -> tuple[list[Fused], Mapping[str, float], str]:
        """Return the result of `_fuse`, merged of those of the question's parts if it has parts."""
        if not question.parts:
            return await self._fuse(question.query, candidates, principal)
        ranked = [await self._fuse(part.search_text, candidates, principal) for part in question.parts]
        hits, scores = merged_parts([(hits, scores) for hits, scores, _ in ranked])
        return hits, scores, next((error for _, _, error in ranked if error), "")

    async def _fuse(
        self, query: str, candidates: Sequence[Candidate], principal: Principal
    ) -> tuple[list[Fused], Mapping[str, float], str]:
        """Merge and rank the hits; compare them by embeddings too, if there is an embedder and it answers.

        Returns:
            The hits, best first; the score of each candidate by its ref; and why words alone were compared although
            there is an embedder, else an empty text.
        """
        size_bytes = _SCORED_BYTES * sum(len(candidate.hit.snippet) for candidate in candidates)
        hits, scores = await beside_the_loop(size_bytes, fused, query, candidates)
        if self._by_meaning is None or not candidates:
            return hits, scores, ""
        best = sorted(candidates, key=lambda candidate: (-scores[candidate.ref], candidate.ref))
        cosines, error = await self._by_meaning.cosines(query, best, tenant_id=principal.tenant_id)
        if cosines is None:
            return hits, scores, error
        hits, scores = await beside_the_loop(size_bytes, partial(fused, cosines=cosines), query, candidates)
        return hits, scores, ""


def _provider_query(question: QueryRequest, policy: Policy, providers: Providers) -> ProviderQuery:
    """Return the query that providers get: the caller's, narrowed by the policy. A deep query asks for more hits."""
    is_deep = question.depth is Depth.DEEP
    return ProviderQuery(
        query=question.query,
        limit=question.limit * 2 if is_deep else question.limit,
        scopes=question.scope.scopes,
        is_deep=is_deep,
        time_from=question.time_from,
        time_to=question.time_to,
        context_ids=question.context_ids,
        node_ids=question.node_ids,
        memory_mode=question.memory_mode or policy.memory_mode,
        metadata=question.metadata,
        agent_id=policy.agent_id,
        refused_ids=policy.refused_ids(providers.with_own(policy.own).all),
        target=policy.target,
        knowledge_bases=policy.knowledge_bases,
    )


def _query_of(entry: ProviderEntry, request: ProviderQuery) -> ProviderQuery:
    """Return the query for a provider; one that does not filter by metadata is asked for more hits."""
    if not request.metadata or entry.info.filters_metadata:
        return request
    return replace(request, limit=min(request.limit * _MORE_TO_FILTER, LOOKED_AT_MAX))


def _wanted_of(entry: ProviderEntry, request: ProviderQuery) -> ProviderQuery:
    """Return the query that a provider's hits are checked by, without metadata if it has filtered by them."""
    return replace(request, metadata={}) if entry.info.filters_metadata else request


def _no_progress(progress: ProviderProgress) -> None:
    """Drop a provider's progress, for callers that do not stream."""


def _within_reach(selection: Sequence[Selected], principal: Principal) -> Sequence[Selected]:
    """Return the providers that a query may ask.

    A key bound to a context may ask only the provider `context`, since the others do not check such keys.
    """
    if principal.context_id is None:
        return selection
    bound = "the key is bound to a context"
    return [
        choice
        if choice.entry.info.id == CONTEXT
        else replace(choice, skipped=bound if choice.only_expands else choice.skipped or bound, only_expands=False)
        for choice in selection
    ]


def _statuses_without_policy(selection: Sequence[Selected], outcome: ProviderResult) -> list[Status]:
    """Return the statuses of the providers for a query whose policy could not be read."""
    assert outcome.error is not None, "it could not be read"
    state, reason = _failure(outcome.error, outcome.took_s)
    return [
        Status(entry=choice.entry, state=State.SKIPPED, reason=choice.skipped)
        if choice.skipped
        else Status(entry=choice.entry, state=state, reason=f"the policy of the tenant cannot be read: {reason}")
        for choice in selection
    ]


def _part_of(call: Call | None, ends_at: float) -> Call | None:
    """Return the current call with an earlier deadline.

    It has no turn in the queue, because a search that outlives the call must not hold one.
    """
    return replace(call, deadline=min(call.deadline, ends_at), turn=None) if call else None


def _deadline_s(entry: ProviderEntry, request: ProviderQuery, taken_s: float) -> float:
    """Return the seconds that a provider has left for a query, after the `taken_s` that it has used."""
    return (entry.info.deadline_s or (DEADLINE_DEEP_S if request.is_deep else DEADLINE_QUICK_S)) - taken_s


def _checking_bytes(outcome: ProviderResult) -> int:
    """Return the size in bytes that checking an answer counts as, for `beside_the_loop`."""
    hits = outcome.result.hits if type(outcome.result) is Answered else ()
    return SNIPPET_CHARS_MAX * min(len(hits), LOOKED_AT_MAX) if isinstance(hits, list | tuple) else 0


def _check_answer(
    outcome: ProviderResult, request: ProviderQuery, scopes: frozenset[QueryScope]
) -> Checked | BaseException:
    """Check the answer of a provider; return its valid parts, or the error if it failed or is malformed."""
    if outcome.error is not None:
        return outcome.error
    try:
        return checked_answer(outcome.result, request, now=datetime.now(UTC), scopes=scopes)
    except Exception as error:
        return error


def _failure(error: BaseException, deadline_s: float) -> tuple[State, str]:
    """Return the state and the reason for a provider that raised this error."""
    match error:
        case Late():
            return State.TIMEOUT, f"no answer within {deadline_s:.1f} s"
        case Busy():
            return State.ERROR, "overloaded: earlier searches of it have not ended"
        case Malformed():
            return State.ERROR, str(error)
        case Overloaded():
            return State.ERROR, "overloaded"
        case DeadlineExceeded() | TimeoutError():
            return State.TIMEOUT, "its source did not answer in time"
        case ContextKeepError():
            return State.ERROR, line_of(f"{error.reason}: {error.message}", chars_max=REASON_CHARS_MAX)
        case ConnectionError():
            return State.ERROR, f"its source cannot be reached ({type(error).__name__})"
        case _:  # the text of an unknown error may contain anything, such as a key, so only its type is shown
            return State.ERROR, line_of(f"it failed: {type(error).__name__}", chars_max=REASON_CHARS_MAX)


def _where(error: BaseException) -> str:
    """Return the place in the code where an error was raised. Its text is not logged, because it may contain a key."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _with_second(first: Status, second: Status, fresh_count: int) -> Status:
    """Return a status with what a second pass added to it."""
    is_whole = second.state in (State.OK, State.STALE)
    return replace(
        first,
        took_s=first.took_s + second.took_s,
        hit_count=first.hit_count + fresh_count,
        reason=first.reason if is_whole else "; ".join(filter(None, [first.reason, _of_second(second)])),
    )


def _with_words_only(status: Status, error: str, candidates: Sequence[Candidate]) -> Status:
    """Return the status of a provider, which says why its hits were compared with the query by words alone."""
    lacks_vectors = any(hit.provider_id == status.entry.info.id and hit.cosine is None for hit in candidates)
    if not error or not lacks_vectors or WORDS_ONLY in status.reason:
        return status
    return replace(status, state=State.STALE, reason="; ".join(filter(None, (status.reason, f"{WORDS_ONLY}{error}"))))


def _with_reranking(status: Status, best: Sequence[Fused], reranking: Reranking) -> Status:
    """Return the status of a provider, which says whether a reranker ordered its hits among the best ones."""
    has_hits = any(source.provider_id == status.entry.info.id for hit in best for source in hit.sources)
    if not has_hits:
        return status
    if reranking.error:
        reason = "; ".join(filter(None, (status.reason, f"not reranked: {reranking.error}")))
        return replace(status, state=State.STALE, reason=reason)
    return replace(status, mode=", ".join(filter(None, (status.mode, "reranked")))) if reranking.is_done else status


def _of_second(status: Status) -> str:
    return f"second pass: {status.state.name}: {status.reason}"


def _score_min(question: QueryRequest) -> float:
    """Return the least score of the hits that a query wants."""
    if question.score_min is not None:
        return question.score_min
    return SCORE_MIN if question.mode is Mode.ANSWER else 0.0


def _explanations(
    candidates: Sequence[Candidate], shown_hits: Sequence[Fused], scores: Mapping[str, float]
) -> dict[str, list[Explained]]:
    """Return the candidates of each provider, with the score and the hit of the answer that each was merged into."""
    shown_in = {source.ref: shown_hit.best.ref for shown_hit in shown_hits for source in shown_hit.sources}
    explained: dict[str, list[Explained]] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.provider_id):
        explanation = Explained(
            candidate=candidate, score=scores[candidate.ref], shown_in=shown_in.get(candidate.ref, "")
        )
        explained.setdefault(candidate.provider_id, []).append(explanation)
    return explained
