"""Tests of queries for operators: a query runs as for any caller, and its whole answer is stored for comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from context_service.query.model import MEMORY, WORDS_ONLY
from context_service.query.providers import State
from context_service.query.pure.request import Mode, QueryRequest
from context_service.query.rules.query import ContextQueries, Queried
from context_service.query.store.source_tests import SourceTest, SourceTestRows
from contextkeep.errors import InvalidArgument, InvalidPageToken, PermissionDenied, SourceTestNotFound
from service_runtime.inputs import pages
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_text
from service_runtime.values.ids import new_id

ANSWER_BYTES_MAX = 1024 * 1024  # an answer is stored only up to this size
LABEL_CHARS_MAX = 200
CUT = "what providers gave is cut: an answer is kept up to 1 MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The result of a provider in the last test that asked it."""

    state: State
    duration_ms: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedHit:
    """A hit of either of two tests, with its rank in each; the rank is 0 in a test that does not have it."""

    ref: str
    title: str
    rank: int
    other_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The differences between two tests.

    Attributes:
        hits: The hits of both tests: first those of the first test, then those of the second alone.
        providers: The results in both tests, by provider id; None where the provider was not asked.
    """

    hits: Sequence[ComparedHit]
    providers: Mapping[str, tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]


class SourceTests:
    """Runs and stores tests of queries, for a principal that administers the tenant.

    Args:
        queries: Runs the queries, as for any caller.
        rows: The store of tests.
    """

    def __init__(self, queries: ContextQueries, rows: SourceTestRows) -> None:
        self._queries = queries
        self._rows = rows

    async def run(
        self,
        question: QueryRequest,
        *,
        request_bytes: bytes,
        label: str,
        replay_of: UUID | None,
        rendered: Callable[[Queried], bytes],
        asking: Principal,
        principal: Principal,
    ) -> SourceTest:
        """Run a query as a test, store its whole answer, and return the test.

        Args:
            question: The request; `explain` is always on.
            request_bytes: The request of the query, serialized.
            label: The name that the operator gives the test.
            replay_of: The id of the test that is repeated; None for a new test.
            rendered: Serializes an answer to the bytes that are stored.
            asking: The user or agent for whom it runs.
            principal: The administrator who runs the test.

        Raises:
            InvalidArgument: the query has `expand_refs`, or a field is malformed.
            LimitExceeded: the label or a field of the query is too long.
            PermissionDenied: the key is bound.
            AgentNotFound, ProviderNotAllowed, Unavailable: as in `ContextQueries.query`.
        """
        check_text("label", label, chars_max=LABEL_CHARS_MAX)
        if principal.bounds:
            raise PermissionDenied(
                "the key is bound, and sources are tested for the whole tenant; use a key without bounds"
            )
        if question.expand_refs:
            raise InvalidArgument(
                "question.expand_refs must be empty in a test of sources", field="question.expand_refs"
            )
        queried = await self._queries.query(replace(question, explain=True), principal=asking)
        answer, warnings = rendered(queried), warned(queried, has_embedder=self._queries.has_embedder)
        most = max(map(len, queried.explained.values()), default=0)
        while len(answer) > ANSWER_BYTES_MAX and most:
            most //= 2
            shorter = {provider_id: hits[:most] for provider_id, hits in queried.explained.items()}
            answer = rendered(replace(queried, explained=shorter))
            warnings = [*[warning for warning in warnings if warning != CUT], CUT]
        test = SourceTest(
            test_id=new_id(),
            replay_of=replay_of,
            context_ids=question.context_ids,
            owner_user_id=asking.user_id,
            created_by=principal.subject,
            label=label,
            warnings=warnings,
            outcome=outcome(queried),
            question=request_bytes,
            answer=answer,
        )
        return await self._rows.insert(test, principal=principal)

    async def read(self, test_id: UUID, *, principal: Principal) -> SourceTest:
        """Return a test with its answer.

        Raises:
            SourceTestNotFound: the test does not exist.
        """
        test = await self._rows.read(test_id, principal=principal)
        if test is None:
            raise SourceTestNotFound(f"test {test_id} does not exist")
        return test

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[SourceTest], str]:
        """Return tests without their answers, the newest first, and the token of the next page, empty at the end.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        query = ("ListSourceTests", principal.tenant_id)
        key = pages.decode_token(query, page.token, parts=2)
        try:
            before = (datetime.fromisoformat(key[0]), UUID(key[1])) if key else None
        except (TypeError, ValueError):
            raise InvalidPageToken("page_token is malformed", field="page_token") from None
        count = pages.page_size(page.size)
        rows = await self._rows.page(before=before, count=count + 1, principal=principal)
        return pages.cut(query, rows, count, key=lambda test: (test.created_at, test.test_id))

    async def delete(self, test_id: UUID, *, principal: Principal) -> None:
        """Remove a test.

        Raises:
            SourceTestNotFound: the test does not exist.
        """
        if not await self._rows.delete(test_id, principal=principal):
            raise SourceTestNotFound(f"test {test_id} does not exist")

    async def last(self, *, principal: Principal) -> dict[str, Last]:
        """Return the last result of each provider, by its id; empty if the caller may not run tests."""
        if not principal.sees_all_users or principal.bounds:
            return {}
        return {
            test["id"]: Last(state=State(test["state"]), duration_ms=test["duration_ms"], at=at)
            for test, at in await self._rows.last(principal=principal)
        }


def outcome(queried: Queried) -> dict[str, Any]:
    """Return the results of a query's providers as JSON."""
    return {
        "duration_ms": round(queried.took_s * 1000),
        "hits": [{"ref": hit.best.ref, "title": hit.best.hit.title} for hit in queried.hits],
        "providers": [
            {
                "id": status.entry.info.id,
                "state": status.state.value,
                "duration_ms": round(status.took_s * 1000),
                "hit_count": status.hit_count,
                "mode": status.mode,
            }
            for status in queried.statuses
        ],
    }


def warned(queried: Queried, *, has_embedder: bool) -> list[str]:
    """Return warnings about options that the providers did not follow, and about texts compared by words only."""
    question, warnings = queried.question, []
    statuses = [status for status in queried.statuses if status.state in (State.OK, State.STALE)]
    if statuses and not has_embedder:
        warnings.append("words only: no embedder is configured")
    warnings += [f"{status.entry.info.id}: {status.reason}" for status in statuses if WORDS_ONLY in status.reason]
    for status in queried.statuses:
        if (
            status.entry.info.id == MEMORY
            and question.memory_mode
            and not status.mode.startswith(question.memory_mode.name)
        ):
            ran = status.mode or f"nothing: {status.state.name}"
            warnings.append(f"the memory mode was {question.memory_mode.name}, but {ran} ran")
    if question.mode is Mode.ANSWER and not (queried.answer and queried.answer.hit_refs):
        warnings.append("the mode is answer, but nothing was found")
    elif queried.answer is not None and queried.answer.reason:
        warnings.append(f"the answer is {queried.answer.method}: {queried.answer.reason}")
    return warnings


def compared(first: SourceTest, other: SourceTest) -> Compared:
    """Compare two tests, and return their differences."""
    ranks, other_ranks = (
        {hit["ref"]: (rank, hit["title"]) for rank, hit in enumerate(test.outcome["hits"], 1)}
        for test in (first, other)
    )
    hits = [
        ComparedHit(
            ref=ref,
            title=(ranks.get(ref) or other_ranks[ref])[1],
            rank=ranks.get(ref, (0, ""))[0],
            other_rank=other_ranks.get(ref, (0, ""))[0],
        )
        for ref in dict.fromkeys([*ranks, *other_ranks])
    ]
    fared, other_fared = (
        {provider["id"]: provider for provider in test.outcome["providers"]} for test in (first, other)
    )
    return Compared(
        hits=hits,
        providers={name: (fared.get(name), other_fared.get(name)) for name in sorted({*fared, *other_fared})},
    )
