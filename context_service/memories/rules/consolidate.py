"""Consolidates memories: merges those that say the same, and promotes lessons of runs; a dry run comes first.

The id of a plan is the hash of all its changes. Applying makes the plan again under a lock, and does it only if the
hash is the same: so the caller gets exactly the changes that the dry run showed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from context_service.memories.model import (
    SOURCES_MAX,
    Consolidated,
    Memory,
    MemoryInput,
    MemoryKind,
    MemorySource,
    Merged,
    Promoted,
)
from context_service.memories.pure.checks import check_runs
from context_service.memories.pure.texts import statement_of
from context_service.memories.rules.memories import Memories
from context_service.memories.store.memories import MemoryRows, scope_of
from contextkeep.errors import InvalidArgument, PlanOutdated
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text

MERGES_MAX = 20  # groups of duplicates that one plan merges
MERGED_MAX = 50  # the most memories that are merged into one
LESSONS_MAX = 100  # the most experiences of runs that one plan considers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The changes of a consolidation, before they are applied."""

    merges: Sequence[Sequence[Memory]]  # groups of duplicates, each with the newest first, which stays
    lessons: Sequence[Sequence[Memory]]  # for each lesson, the experiences that taught it, in their order
    has_more: bool  # whether a limit left changes out, which another consolidation would make

    @property
    def id(self) -> str:
        """The hash of the whole plan; empty if there is nothing to do."""
        if not self.merges and not self.lessons:
            return ""
        said = [
            [[(str(memory.memory_id), memory.version) for memory in several] for several in groups]
            for groups in (self.merges, self.lessons)
        ]
        return hashlib.sha256(orjson.dumps(said)).hexdigest()

    def report(self, promoted: Sequence[UUID] | None = None) -> Consolidated:
        """Return the report of the plan. With the ids of the new observations, it is reported as applied."""
        is_dry = promoted is None
        return Consolidated(
            plan=self.id,
            merged=[
                Merged(
                    memory_id=kept.memory_id,
                    merged_ids=[memory.memory_id for memory in merged],
                    text=kept.text if is_dry else "",
                )
                for kept, *merged in self.merges
            ],
            promoted=[
                Promoted(
                    experience_ids=[memory.memory_id for memory in several],
                    memory_id=promoted[number] if promoted else None,
                    text=several[-1].text if is_dry else "",
                )
                for number, several in enumerate(self.lessons)
            ],
            has_more=self.has_more,
            is_applied=not is_dry,
        )


class Consolidating:
    """Merges duplicate memories and promotes lessons; each call acts for its principal, which has a user.

    Args:
        database: The database that holds the memories.
        rows: The store of memories.
        memories: Writes and removes memories.
        requests: The store of idempotency keys and their answers.
    """

    def __init__(self, database: Database, rows: MemoryRows, memories: Memories, *, requests: Requests) -> None:
        self._database = database
        self._rows = rows
        self._memories = memories
        self._requests = requests

    async def dry_run(self, runs: Sequence[str], *, principal: Principal) -> Consolidated:
        """Return the plan of a consolidation, without applying it.

        Raises:
            InvalidArgument: the id of a run is malformed.
            LimitExceeded: the id of a run is too long, or there are too many runs.
        """
        check_runs(runs)
        return (await self._plan(self._database.of(principal), runs, principal)).report()

    async def apply(
        self, runs: Sequence[str], plan_id: str, *, principal: Principal, request: Request | None
    ) -> Consolidated:
        """Apply the plan that a dry run returned, and return the report.

        Raises:
            PlanOutdated: the memories have changed, so the plan would be different now.
            InvalidArgument: the plan's id is missing, or a run is malformed.
            LimitExceeded: there are too many runs, or the id is too long.
            RequestIdReused: another request had the same request id.
        """
        check_runs(runs)
        check_text("plan", plan_id, chars_max=100)
        if not plan_id:
            raise InvalidArgument(
                "plan is required with apply: call without apply first, and give the plan of its answer", field="plan"
            )

        async def work(transaction: Transaction) -> Consolidated:
            """Lock all groups of the plan, make the plan again, and apply it if it is still the same.

            Groups are locked in one order, to avoid deadlocks. Under the locks the plan cannot change any more.
            """
            before = await self._plan(transaction, runs, principal)
            whose = {
                (memory.app_id, memory.agent_bundle_id)
                for several in (*before.merges, *before.lessons)
                for memory in several
            }
            for app_id, agent_bundle_id in sorted(whose):
                turn = {"owner_user_id": principal.user_id, "app_id": app_id, "agent_bundle_id": agent_bundle_id}
                await self._rows.take_turn(transaction, turn, more=0)
            plan = await self._plan(transaction, runs, principal)
            if plan.id != plan_id:
                raise PlanOutdated("memories changed since the dry run; make another dry run")
            for kept, *merged in plan.merges:
                await self._merge(transaction, kept, merged)
            return plan.report(
                [await self._promote(transaction, experiences, principal) for experiences in plan.lessons]
            )

        about_id = scope_of(principal.tenant_id, principal.user_id).id
        return await self._database.of(principal).transaction(self._requests.once(request, work, about_id=about_id))

    async def _plan(self, connection: Tenant | Transaction, runs: Sequence[str], principal: Principal) -> _Plan:
        """Find the duplicates to merge, and the lessons of the named runs to promote.

        An experience that is merged into another memory teaches no lesson in the same plan, because it is removed.
        """
        user_id = principal.user_id
        groups = await self._rows.duplicates(connection, user_id, count=MERGES_MAX + 1)
        cut = [ids[: MERGED_MAX + 1] for ids in groups[:MERGES_MAX]]
        there = (
            await self._rows.read(connection, user_id, [memory_id for ids in cut for memory_id in ids]) if cut else {}
        )
        found = [[there[memory_id] for memory_id in ids if memory_id in there] for ids in cut]
        merges = [several for several in found if len(several) > 1]
        taught = await self._rows.of_runs(connection, user_id, runs, count=LESSONS_MAX + 1) if runs else []
        merged = {memory.memory_id for _, *others in merges for memory in others}
        left = [memory for memory in taught[:LESSONS_MAX] if memory.memory_id not in merged]
        has_more = (
            len(groups) > MERGES_MAX or any(len(ids) > MERGED_MAX + 1 for ids in groups) or len(taught) > LESSONS_MAX
        )
        return _Plan(merges=merges, lessons=await self._lessons(connection, left, user_id), has_more=has_more)

    async def _lessons(
        self, connection: Tenant | Transaction, taught: Sequence[Memory], user_id: str
    ) -> list[Sequence[Memory]]:
        """Group experiences by their lesson, without the lessons that are stored as observations already."""
        by_lesson: dict[tuple[str, str, bytes], list[Memory]] = {}
        for memory in taught:
            by_lesson.setdefault((memory.app_id, memory.agent_bundle_id, statement_of(memory.text, None)), []).append(
                memory
            )
        if not by_lesson:
            return []
        observed = await self._rows.observed(connection, user_id, [statement for _, _, statement in by_lesson])
        return [several for key, several in by_lesson.items() if key not in observed]

    async def _merge(self, transaction: Transaction, kept_memory: Memory, merged: Sequence[Memory]) -> None:
        """Remove duplicates of a memory, which gets their sources and the highest confidence of all of them."""
        for memory in merged:
            await self._memories.remove(transaction, memory)
        await self._rows.join(
            transaction,
            kept_memory.memory_id,
            sources=sources_of([kept_memory, *merged]),
            confidence=max(memory.confidence for memory in (kept_memory, *merged)),
            is_learned=all(memory.is_learned for memory in (kept_memory, *merged)),
        )

    async def _promote(self, transaction: Transaction, experiences: Sequence[Memory], principal: Principal) -> UUID:
        """Write a lesson that several experiences taught as an observation, and return the id of the new memory.

        Args:
            transaction: The transaction, which has locked the memories' group.
            experiences: The experiences with this lesson, at least one.
            principal: The caller, whose user gets the observation.
        """
        newest_first = sorted(experiences, key=lambda memory: (memory.happened_at, memory.seq), reverse=True)
        newest = newest_first[0]
        memory_input = MemoryInput(
            text=experiences[-1].text,
            kind=MemoryKind.OBSERVATION,
            confidence=max(memory.confidence for memory in experiences),
            happened_at=newest.happened_at,
            app_id=newest.app_id,
            agent_bundle_id=newest.agent_bundle_id,
        )
        kept, found = await self._memories.prepare(memory_input, principal=principal)
        kept = replace(kept, sources=sources_of(newest_first))
        await self._memories.insert(transaction, kept, found)
        return kept.memory_id


def sources_of(memories: Sequence[Memory]) -> list[MemorySource]:
    """Return the distinct sources of memories, in the order of the memories; at most `SOURCES_MAX`."""
    return list(dict.fromkeys(source for memory in memories for source in memory.sources))[:SOURCES_MAX]
