# Generated from aio/context/memories.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Memories about a user, across contexts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync._gen import memories as gen
from contextkeep.context.v1 import memories_pb2 as memories_pb
from contextkeep.values import Consolidation, Experience, Memory, MemoryKind, MemorySource


class Memories(gen.Memories):
    """Memories.

    They are always a user's: a key without a user names him in `subject_user_id`, for which it needs the scope
    `delegate`; else it is `SubjectRequired`. Another's memory, and one that is not there at all, is `MemoryNotFound`.
    """

    def update(
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
            timeout_s: Deadline in seconds. None means the client's.

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
        request = memories_pb.UpdateMemoryRequest(
            memory_id=messages.to_id(memory_id),
            memory=memories_pb.MemoryInput(
                text=text or "",
                kind=messages.choice_of("memory.kind", kind, memories_pb.MemoryKind),
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
        response: memories_pb.UpdateMemoryResponse = self._call("UpdateMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(response.memory)

    def consolidate(
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
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            PlanOutdated: memories changed since.
            SubjectRequired: there is no user.
        """
        request = memories_pb.ConsolidateMemoriesRequest(
            run_context_ids=messages.texts("run_context_ids", run_context_ids),
            apply=bool(plan),
            plan=plan,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id) if plan else "",
        )
        return Consolidation.from_proto(self._call("ConsolidateMemories", request, timeout_s=timeout_s))
