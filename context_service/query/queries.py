"""Context query: a question goes to every provider at once, and what they answer becomes one list.

Select, ask, check, fuse: one step each, in that order. Nothing is written. A native provider acts for the caller,
behind his walls; what an installed one answers is checked as any text from outside.
"""

from __future__ import annotations

import inspect
import logging
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from context_service.query import answers
from context_service.query.answers import Answer
from context_service.query.checking import (
    LOOKED_AT_MAX,
    REASON_CHARS_MAX,
    SNIPPET_CHARS_MAX,
    Checked,
    Malformed,
    checked,
    line_of,
)
from context_service.query.fan_out import Busy, Late, Outcome, Reaper, ask_all, is_blocking
from context_service.query.fan_out import Question as Part
from context_service.query.fusion import Candidate, Fused, distinctive, fused
from context_service.query.meaning import HitsByMeaning
from context_service.query.providers import DEADLINE_DEEP_S, DEADLINE_QUICK_S, Answered, Asked, Entry, Providers, State
from context_service.query.questions import Depth, Mode, Question, Selected, selected
from context_service.tokens import TokenCounter
from contextkeep.errors import ContextKeepError, DeadlineExceeded, Overloaded
from service_runtime import calls
from service_runtime.auth import Principal
from service_runtime.calls import Call, answer_s, current_call, remaining_s
from service_runtime.documents import beside_the_loop

_log = logging.getLogger("query")

# Of what is left of a call, what is kept for scoring, beside what is kept for telling.
_SCORING = 0.9
_DEEPER_HITS = 3  # whose words the second pass of a deep question asks for, too
_SECOND_PASS_S_MIN = 0.05  # with less than that left there is none
# For `beside_the_loop`, which counts as parsers do: a character's word is looked up, stemmed and counted.
_SCORED_BYTES, _COUNTED_BYTES = 16, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a provider fared."""

    entry: Entry
    state: State
    reason: str = ""
    took_s: float = 0.0
    hit_count: int = 0  # before merging and the limit
    as_of: datetime | None = None
    target: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A hit of a provider, and what became of it."""

    candidate: Candidate
    score: float
    shown_in: str  # the ref of a hit; empty: it is behind the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Queried:
    """What is answered to a question."""

    question: Question
    hits: Sequence[Fused]
    statuses: Sequence[Status]
    answer: Answer | None
    prompt_text: str
    prompt_tokens: int
    took_s: float
    explained: Mapping[str, Sequence[Explained]]  # by provider; empty if it was not asked for


class ContextQueries:
    """Asks providers; each time for a principal.

    Args:
        providers: Whom.
        reaper: Keeps those that are late.
        tokens: Counts what goes into a prompt.
        by_meaning: Compares hits by what they mean; None: words are all.
    """

    def __init__(
        self, providers: Providers, reaper: Reaper, tokens: TokenCounter, *, by_meaning: HitsByMeaning | None
    ) -> None:
        self.providers = providers
        self._reaper = reaper
        self._tokens = tokens
        self._by_meaning = by_meaning

    async def query(self, question: Question, *, principal: Principal) -> Queried:
        """Return what the providers answer, within the time of the call.

        Raises:
            InvalidArgument, LimitExceeded: it cannot be asked; no provider was.
        """
        began = time.monotonic()
        question.check()
        chosen = selected(question, self.providers)
        statuses, candidates = await self._asked(question, chosen, principal)
        hits, scores = await self._fused(question, candidates)
        shown = hits[: question.limit]
        answer, prompt, prompt_tokens = None, "", 0
        size_bytes = _COUNTED_BYTES * sum(len(one.best.hit.snippet) for one in shown)
        if question.mode is Mode.ANSWER:
            answer = await beside_the_loop(size_bytes, answers.answer, question.query, shown)
        if question.tokens_max:
            prompt, prompt_tokens = await beside_the_loop(
                size_bytes,
                answers.prompt_text,
                shown,
                tokens_max=question.tokens_max,
                count=self._tokens.count,
            )
        return Queried(
            question=question,
            hits=shown,
            statuses=statuses,
            answer=answer,
            prompt_text=prompt,
            prompt_tokens=prompt_tokens,
            took_s=time.monotonic() - began,
            explained=_explained(candidates, shown, scores) if question.explain else {},
        )

    async def _asked(
        self, question: Question, chosen: Sequence[Selected], principal: Principal
    ) -> tuple[list[Status], list[Candidate]]:
        """Return the status of each provider, by id, and the hits of all."""
        is_deep = question.depth is Depth.DEEP
        asked = Asked(
            query=question.query,
            limit=question.limit * 2 if is_deep else question.limit,
            scopes=question.scope.scopes,
            is_deep=is_deep,
            time_from=question.time_from,
            time_to=question.time_to,
            context_ids=question.context_ids,
            node_ids=question.node_ids,
        )
        call_ends_at = time.monotonic() + answer_s(remaining_s()) * _SCORING
        statuses = {
            one.entry.info.id: Status(entry=one.entry, state=State.SKIPPED, reason=one.skipped)
            for one in chosen
            if one.skipped
        }
        entries = [one.entry for one in chosen if not one.skipped]
        first_statuses, candidates = await self._pass(entries, asked, principal, call_ends_at)
        statuses |= first_statuses
        if is_deep and candidates:
            hits, _ = await self._fused(question, candidates)
            words = distinctive(question.query, hits[:_DEEPER_HITS])
            again = [entry for entry in entries if statuses[entry.info.id].state is State.OK]
            if words and again:
                deeper = replace(asked, query=" ".join([question.query, *words]))
                statuses, candidates = await self._second_pass(
                    again, deeper, principal, call_ends_at, statuses, candidates
                )
        return [statuses[one.entry.info.id] for one in chosen], candidates

    async def _second_pass(
        self,
        entries: Sequence[Entry],
        asked: Asked,
        principal: Principal,
        call_ends_at: float,
        statuses: Mapping[str, Status],
        candidates: Sequence[Candidate],
    ) -> tuple[dict[str, Status], list[Candidate]]:
        """Return statuses and hits with what providers find that are asked once more, in the time they have left."""
        known = {one.ref for one in candidates}
        in_time = [one for one in entries if _deadline_s(one, asked, statuses[one.info.id].took_s) > _SECOND_PASS_S_MIN]
        taken = {one.info.id: statuses[one.info.id].took_s for one in in_time}
        second, more = await self._pass(in_time, asked, principal, call_ends_at, taken=taken)
        fresh = [one for one in more if one.ref not in known]
        merged = dict(statuses)
        for provider_id, status in second.items():
            first = statuses[provider_id]
            is_whole = status.state in (State.OK, State.STALE)
            merged[provider_id] = replace(
                first,
                took_s=first.took_s + status.took_s,
                hit_count=first.hit_count + sum(one.provider_id == provider_id for one in fresh),
                reason=first.reason if is_whole else "; ".join(filter(None, [first.reason, _of_second(status)])),
            )
        return merged, [*candidates, *fresh]

    async def _pass(
        self,
        entries: Sequence[Entry],
        asked: Asked,
        principal: Principal,
        call_ends_at: float,
        *,
        taken: Mapping[str, float] | None = None,
    ) -> tuple[dict[str, Status], list[Candidate]]:
        """Ask providers once; `taken` says how much of their time they have had."""
        native = {one.info.id for one in entries if not one.is_installed}
        if not native:
            calls.end_turn()  # what is left of the call waits for others

        def ended(provider_id: str) -> None:
            native.discard(provider_id)
            if not native:
                calls.end_turn()

        now = time.monotonic()
        parts = []
        for entry in entries:
            own_s = _deadline_s(entry, asked, (taken or {}).get(entry.info.id, 0.0))
            deadline_s = max(min(own_s, call_ends_at - now), 0.001)
            search = partial(self._search, entry, asked, principal, now + deadline_s)
            parts.append(Part(provider_id=entry.info.id, deadline_s=deadline_s, search=search))
        outcomes = await ask_all(parts, self._reaper, ended=ended)
        statuses: dict[str, Status] = {}
        candidates: list[Candidate] = []
        for entry, part in zip(entries, parts, strict=True):
            outcome = outcomes[entry.info.id]
            answered = await _checked(outcome, asked)
            if isinstance(answered, Checked):
                statuses[entry.info.id] = Status(
                    entry=entry,
                    state=answered.state,
                    reason=answered.reason,
                    took_s=outcome.took_s,
                    hit_count=len(answered.hits),
                    as_of=answered.as_of,
                    target=answered.target,
                    mode=answered.mode,
                )
                candidates += [
                    Candidate(provider_id=entry.info.id, place=place, trust=entry.trust, hit=hit)
                    for place, hit in enumerate(answered.hits, 1)
                ]
            else:
                state, reason = _failure(answered, part.deadline_s)
                statuses[entry.info.id] = Status(entry=entry, state=state, reason=reason, took_s=outcome.took_s)
                _log.warning(
                    "context provider failed",
                    extra={
                        "provider": entry.info.id,
                        "state": state.value,
                        "why": reason,
                        "where": _where(answered),
                    },
                )
        return statuses, candidates

    async def _search(self, entry: Entry, asked: Asked, principal: Principal, ends_at: float) -> object:
        """Search by one provider. It runs in a task of its own, so the call's deadline is the provider's for it."""
        call = current_call.get()
        current_call.set(_part_of(call, ends_at))
        search: Callable[[Asked, Principal], object] = entry.provider.search
        if is_blocking(search):
            found = await self._reaper.in_thread(entry.info.id, partial(search, asked, principal))
        else:
            found = search(asked, principal)
        return await found if inspect.isawaitable(found) else found

    async def _fused(
        self, question: Question, candidates: Sequence[Candidate]
    ) -> tuple[list[Fused], Mapping[str, float]]:
        size_bytes = _SCORED_BYTES * sum(len(one.hit.snippet) for one in candidates)
        hits, scores = await beside_the_loop(size_bytes, fused, question.query, candidates)
        if self._by_meaning is None or not candidates:
            return hits, scores
        best = sorted(candidates, key=lambda one: (-scores[one.ref], one.ref))
        cosines = await self._by_meaning.cosines(question.query, best)
        if cosines is None:
            return hits, scores
        return await beside_the_loop(size_bytes, partial(fused, cosines=cosines), question.query, candidates)


def _part_of(call: Call | None, ends_at: float) -> Call | None:
    """Return the call under way with an earlier deadline, and no turn: who lingers behind it shall not take one."""
    return replace(call, deadline=min(call.deadline, ends_at), turn=None) if call else None


def _deadline_s(entry: Entry, asked: Asked, taken_s: float) -> float:
    return (entry.info.deadline_s or (DEADLINE_DEEP_S if asked.is_deep else DEADLINE_QUICK_S)) - taken_s


async def _checked(outcome: Outcome, asked: Asked) -> Checked | BaseException:
    if outcome.error is not None:
        return outcome.error
    hits = outcome.result.hits if type(outcome.result) is Answered else ()
    size_bytes = SNIPPET_CHARS_MAX * min(len(hits), LOOKED_AT_MAX) if isinstance(hits, list | tuple) else 0
    try:
        return await beside_the_loop(size_bytes, checked, outcome.result, asked, now=datetime.now(UTC))
    except Exception as error:
        return error


def _failure(error: BaseException, deadline_s: float) -> tuple[State, str]:
    """Return how a provider failed that raised this."""
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
        case _:  # what it says may hold anything, such as a key
            return State.ERROR, line_of(f"it failed: {type(error).__name__}", chars_max=REASON_CHARS_MAX)


def _where(error: BaseException) -> str:
    """Return where an error was raised. What it says is not logged: it may hold anything, such as a key."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _of_second(status: Status) -> str:
    return f"second pass: {status.state.name}: {status.reason}"


def _explained(
    candidates: Sequence[Candidate], shown: Sequence[Fused], scores: Mapping[str, float]
) -> dict[str, list[Explained]]:
    shown_in = {source.ref: one.best.ref for one in shown for source in one.sources}
    explained: dict[str, list[Explained]] = {}
    for one in sorted(candidates, key=lambda one: one.provider_id):
        row = Explained(candidate=one, score=scores[one.ref], shown_in=shown_in.get(one.ref, ""))
        explained.setdefault(one.provider_id, []).append(row)
    return explained
