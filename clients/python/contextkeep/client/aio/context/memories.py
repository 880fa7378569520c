"""Memories about a user, across contexts."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Iterable, Sequence
from datetime import datetime

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import MEMORY_KINDS, Id, MemoryKind
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import knowledge_pb2 as knowledge_pb
from contextkeep.values import Consolidation, Experience, Memory, MemorySource, RecalledMemory, Reflection


class Memories(Noun):
    """Memories.

    They are always a user's: a key without a user names him in `subject_user_id`, for which it needs the scope
    `delegate`; else it is `SubjectRequired`. Another's memory, and one that is not there at all, is `MemoryNotFound`.
    """

    async def retain(
        self,
        text: str,
        *,
        kind: MemoryKind = "fact",
        key: str = "",
        confidence: float | None = None,
        source: MemorySource | None = None,
        happened_at: datetime | None = None,
        experience: Experience | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Memory:
        """Keep a statement about a user, and return it: stored, and found by its words.

        Args:
            text: Not blank, up to 8,000 characters.
            kind: "fact", "preference", "experience" or "observation".
            key: What it is about. A newer one of the same key supersedes it, and both are kept.
            confidence: From 0 to 1. None: 1.
            source: Where it comes from.
            happened_at: With its zone. None: now.
            experience: Of the kind "experience": what was tried, and what came of it; `text` is the lesson.
            app_id: Empty: the only one that the key is bound to, else none.
            agent_bundle_id: Likewise.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers the same memory. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: it is no memory; the field is named.
            SubjectRequired: there is no user.
            LimitExceeded: it is too long, or the user has too many.
            PermissionDenied: the user, the app or the agent bundle is another one's.
        """
        request = knowledge_pb.RetainMemoryRequest(
            memory=knowledge_pb.MemoryInput(
                text=text,
                kind=messages.choice("memory.kind", kind, MEMORY_KINDS),
                key=key,
                confidence=confidence,
                source=source.to_proto() if source else None,
                happened_at=messages.to_timestamp("memory.happened_at", happened_at),
                experience=experience.to_proto() if experience else None,
                app_id=app_id,
                agent_bundle_id=agent_bundle_id,
            ),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: knowledge_pb.RetainMemoryResponse = await self._call("RetainMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(response.memory)

    async def recall(
        self,
        query: str,
        *,
        limit: int = 20,
        kinds: Sequence[MemoryKind] = (),
        key: str = "",
        holding_only: bool = False,
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> builtins.list[RecalledMemory]:
        """Return the memories that matter to a question, the best first.

        Args:
            query: Not blank, up to 8,000 characters.
            limit: Memories, 1 to 100.
            kinds: Of these kinds. Empty: of any.
            key: Only what is about this. Empty: about anything.
            holding_only: Without those that are superseded.
            happened_from: From this time on, with its zone.
            happened_to: Before this time.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the question is blank, or something in it is none; the field is named.
            SubjectRequired: there is no user.
        """
        request = knowledge_pb.RecallMemoriesRequest(
            query=query,
            limit=limit,
            filter=_filter(kinds, key, holding_only, happened_from, happened_to),
            subject_user_id=subject_user_id,
        )
        response: knowledge_pb.RecallMemoriesResponse = await self._call("RecallMemories", request, timeout_s=timeout_s)
        return list(map(RecalledMemory.from_proto, response.memories))

    async def reflect(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Sequence[MemoryKind] = (),
        key: str = "",
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Reflection:
        """Return what is remembered of a question as one statement, with the memories that it rests on.

        Args:
            query: Not blank, up to 8,000 characters.
            limit: Sentences, 1 to 20.
            kinds: Of these kinds. Empty: of any.
            key: Only what is about this. Empty: about anything.
            happened_from: From this time on, with its zone.
            happened_to: Before this time.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the question is blank, or something in it is none; the field is named.
            SubjectRequired: there is no user.
        """
        request = knowledge_pb.ReflectMemoriesRequest(
            query=query,
            limit=limit,
            filter=_filter(kinds, key, False, happened_from, happened_to),
            subject_user_id=subject_user_id,
        )
        return Reflection.from_proto(await self._call("ReflectMemories", request, timeout_s=timeout_s))

    async def list(
        self,
        *,
        kinds: Sequence[MemoryKind] = (),
        key: str = "",
        holding_only: bool = False,
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Memory, None]:
        """Yield memories, those that were retained last first, following the pages.

        Args:
            kinds: Of these kinds. Empty: of any.
            key: Only what is about this. Empty: about anything.
            holding_only: Without those that are superseded.
            happened_from: From this time on, with its zone.
            happened_to: Before this time.
            subject_user_id: For which user a key without one calls.
            page_size: Memories of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = knowledge_pb.ListMemoriesRequest(
            filter=_filter(kinds, key, holding_only, happened_from, happened_to),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: knowledge_pb.ListMemoriesResponse = await self._call("ListMemories", request, timeout_s=timeout_s)
            for memory in page.memories:
                yield Memory.from_proto(memory)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def update(
        self,
        memory_id: Id,
        *,
        text: str | None = None,
        kind: MemoryKind | None = None,
        key: str | None = None,
        confidence: float | None = None,
        source: MemorySource | None = None,
        happened_at: datetime | None = None,
        experience: Experience | None = None,
        expected_version: int = 0,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Memory:
        """Correct a memory, and return it. Nothing of what it said before is kept; what is None stays.

        Args:
            memory_id: Which.
            text: What it says.
            kind: What it is.
            key: What it is about; empty: nothing that another could supersede.
            confidence: From 0 to 1.
            source: Where it comes from, in place of all that it has.
            happened_at: With its zone.
            experience: What was tried, and what came of it.
            expected_version: Only if it is this one. 0: any.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            MemoryNotFound: there is none.
            VersionConflict: it has another version: `version` in the metadata.
            InvalidArgument: it is no memory then; the field is named.
        """
        given = {
            "text": text,
            "kind": kind,
            "key": key,
            "confidence": confidence,
            "source": source,
            "happened_at": happened_at,
            "experience": experience,
        }
        request = knowledge_pb.UpdateMemoryRequest(
            memory_id=messages.to_id(memory_id),
            memory=knowledge_pb.MemoryInput(
                text=text or "",
                kind=messages.choice("memory.kind", kind, MEMORY_KINDS) if kind else None,
                key=key or "",
                confidence=confidence,
                source=source.to_proto() if source else None,
                happened_at=messages.to_timestamp("memory.happened_at", happened_at),
                experience=experience.to_proto() if experience else None,
            ),
            update_mask=FieldMask(paths=[name for name, value in given.items() if value is not None]),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: knowledge_pb.UpdateMemoryResponse = await self._call("UpdateMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(response.memory)

    async def forget(
        self,
        memory_id: Id,
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Remove a memory for good. What it superseded holds again.

        Args:
            memory_id: Which.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            MemoryNotFound: there is none.
        """
        request = knowledge_pb.ForgetMemoryRequest(
            memory_id=messages.to_id(memory_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        await self._call("ForgetMemory", request, timeout_s=timeout_s)

    async def consolidate(
        self,
        *,
        plan: str = "",
        run_context_ids: Iterable[str] = (),
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Consolidation:
        """Say what there is to merge and to promote; with the `plan` of that, do it.

        Args:
            plan: What was said before, for the same runs. Empty: nothing is changed.
            run_context_ids: Runs whose lessons are promoted, up to 20.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            PlanOutdated: memories changed since.
            SubjectRequired: there is no user.
        """
        request = knowledge_pb.ConsolidateMemoriesRequest(
            run_context_ids=messages.texts("run_context_ids", run_context_ids),
            apply=bool(plan),
            plan=plan,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id) if plan else "",
        )
        return Consolidation.from_proto(await self._call("ConsolidateMemories", request, timeout_s=timeout_s))


def _filter(
    kinds: Sequence[MemoryKind],
    key: str,
    holding_only: bool,
    happened_from: datetime | None,
    happened_to: datetime | None,
) -> knowledge_pb.MemoryFilter:
    return knowledge_pb.MemoryFilter(
        kinds=[messages.choice("filter.kinds", kind, MEMORY_KINDS) for kind in kinds],
        key=key,
        holding_only=holding_only,
        happened_from=messages.to_timestamp("filter.happened_from", happened_from),
        happened_to=messages.to_timestamp("filter.happened_to", happened_to),
    )
