"""The operator's harness: a question asked as anybody would, kept with all that came back, to compare and ask again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from context_service.query.model import MEMORY
from context_service.query.providers import State
from context_service.query.pure.request import Mode, QueryRequest
from context_service.query.rules.query import ContextQueries, Queried
from context_service.query.store.source_tests import SourceTest, SourceTestRows
from contextkeep.errors import InvalidArgument, InvalidPageToken, PermissionDenied, SourceTestNotFound
from service_runtime import pages
from service_runtime.auth import Principal
from service_runtime.checks import check_text
from service_runtime.ids import new_id

ANSWER_BYTES_MAX = 1024 * 1024  # that are kept of one answer
LABEL_CHARS_MAX = 200
CUT = "what providers gave is cut: an answer is kept up to 1 MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """How a provider fared in the last test in which it was."""

    state: State
    duration_ms: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedHit:
    """A hit of either of two tests, with its ranks; 0: it is not there."""

    ref: str
    title: str
    rank: int
    other_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What two tests differ in.

    Attributes:
        hits: Of either, in the order of the first, and then those of the other alone.
        providers: By id, how each fared in both; None: it was not asked.
    """

    hits: Sequence[ComparedHit]
    providers: Mapping[str, tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]


class SourceTests:
    """Runs and keeps tests, of a principal who administers the tenant.

    Args:
        queries: Asks; as for everybody.
        rows: Keeps.
    """

    def __init__(self, queries: ContextQueries, rows: SourceTestRows) -> None:
        self._queries = queries
        self._rows = rows

    async def run(
        self,
        question: QueryRequest,
        *,
        said: bytes,
        label: str,
        replay_of: UUID | None,
        rendered: Callable[[Queried], bytes],
        asking: Principal,
        principal: Principal,
    ) -> SourceTest:
        """Ask a question, keep all that comes back, and return it.

        Args:
            question: What is asked; it is explained, whatever it says.
            said: The question as it came.
            label: What the operator calls it.
            replay_of: The test that is run again.
            rendered: Returns the bytes of an answer.
            asking: For whom it is asked.
            principal: Who tests.

        Raises:
            InvalidArgument, LimitExceeded and other errors of a question: it cannot be asked.
            PermissionDenied: the key is bound.
        """
        check_text("label", label, chars_max=LABEL_CHARS_MAX)
        if principal.bounds:
            raise PermissionDenied("the key is bound: sources are tested for the whole tenant")
        if question.expand_refs:
            raise InvalidArgument("a test of sources expands no refs", field="question.expand_refs")
        queried = await self._queries.query(replace(question, explain=True), principal=asking)
        answer, warnings = rendered(queried), warned(queried)
        most = max(map(len, queried.explained.values()), default=0)
        while len(answer) > ANSWER_BYTES_MAX and most:
            most //= 2
            shorter = {provider_id: hits[:most] for provider_id, hits in queried.explained.items()}
            answer = rendered(replace(queried, explained=shorter))
            warnings = [*[one for one in warnings if one != CUT], CUT]
        test = SourceTest(
            test_id=new_id(),
            replay_of=replay_of,
            context_ids=question.context_ids,
            owner_user_id=asking.user_id,
            created_by=principal.subject,
            label=label,
            warnings=warnings,
            outcome=outcome(queried),
            question=said,
            answer=answer,
        )
        return await self._rows.insert(test, principal=principal)

    async def read(self, test_id: UUID, *, principal: Principal) -> SourceTest:
        """Return a test with its answer.

        Raises:
            SourceTestNotFound: there is none.
        """
        test = await self._rows.read(test_id, principal=principal)
        if test is None:
            raise SourceTestNotFound(f"there is no test {test_id}")
        return test

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[SourceTest], str]:
        """Return tests without their answers, the newest first, and the token of the next page, empty at the end.

        Raises:
            InvalidArgument, InvalidPageToken: see the contract.
        """
        query = ("ListSourceTests", principal.tenant_id)
        key = pages.decode_token(query, page.token, parts=2)
        try:
            before = (datetime.fromisoformat(key[0]), UUID(key[1])) if key else None
        except (TypeError, ValueError):
            raise InvalidPageToken("page_token is malformed", field="page_token") from None
        count = pages.page_size(page.size)
        found = await self._rows.page(before=before, count=count + 1, principal=principal)
        return pages.cut(query, found, count, key=lambda test: (test.created_at, test.test_id))

    async def delete(self, test_id: UUID, *, principal: Principal) -> None:
        """Remove a test.

        Raises:
            SourceTestNotFound: there is none.
        """
        if not await self._rows.delete(test_id, principal=principal):
            raise SourceTestNotFound(f"there is no test {test_id}")

    async def last(self, *, principal: Principal) -> dict[str, Last]:
        """Return how each provider fared in the last test in which it was; nothing for who may not test."""
        if not principal.sees_all_users or principal.bounds:
            return {}
        return {
            one["id"]: Last(state=State(one["state"]), duration_ms=one["duration_ms"], at=at)
            for one, at in await self._rows.last(principal=principal)
        }


def outcome(queried: Queried) -> dict[str, Any]:
    """Return how a question went, as JSON."""
    return {
        "duration_ms": round(queried.took_s * 1000),
        "hits": [{"ref": one.best.ref, "title": one.best.hit.title} for one in queried.hits],
        "providers": [
            {
                "id": one.entry.info.id,
                "state": one.state.value,
                "duration_ms": round(one.took_s * 1000),
                "hit_count": one.hit_count,
                "mode": one.mode,
            }
            for one in queried.statuses
        ],
    }


def warned(queried: Queried) -> list[str]:
    """Return where what ran is not what was asked for."""
    question, warnings = queried.question, []
    for one in queried.statuses:
        if one.entry.info.id == MEMORY and question.memory_mode and not one.mode.startswith(question.memory_mode.name):
            ran = one.mode or f"nothing: {one.state.name}"
            warnings.append(f"memory was asked to {question.memory_mode.name}, and ran {ran}")
    if question.mode is Mode.ANSWER and queried.answer is None:
        warnings.append("an answer was asked for, and there is none: nothing was found")
    elif queried.answer is not None and queried.answer.reason:
        warnings.append(f"the answer is {queried.answer.method}: {queried.answer.reason}")
    return warnings


def compared(first: SourceTest, other: SourceTest) -> Compared:
    """Return what two tests differ in."""
    ranks, other_ranks = (
        {one["ref"]: (rank, one["title"]) for rank, one in enumerate(test.outcome["hits"], 1)}
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
    fared, other_fared = ({one["id"]: one for one in test.outcome["providers"]} for test in (first, other))
    return Compared(
        hits=hits,
        providers={name: (fared.get(name), other_fared.get(name)) for name in sorted({*fared, *other_fared})},
    )
