"""The calls of memories that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Iterable
from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import memories_pb2 as memories_pb
from contextkeep.values import Experience, Memory, MemoryKind, MemorySource, RecalledMemory, Reflection


class Memories(Noun):
    """The calls of `client.memories` that are one RPC each."""

    async def retain(
        self,
        text: str,
        *,
        kind: MemoryKind = "fact",
        confidence: float | None = None,
        source: MemorySource | None = None,
        happened_at: datetime | None = None,
        key: str = "",
        experience: Experience | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Memory:
        """Store a statement about a user.

        After the answer, the memory is stored and a search by words finds it. If the service has an embedder, it makes
        the embedding in the background; `state` shows the progress.

        A `key` names the subject of a statement ("home_town"). Among the memories with the same key, app and agent
        bundle, the one with the latest `happened_at` is current. It supersedes the one before, which stays with its
        date and names its successor in `superseded_by`. Memories of one key that differ name each other in
        `contradicts`.

        Args:
            text: The statement: not blank, up to 8,000 characters.
            kind: The kind of memory. Default: a fact.
            confidence: Confidence in the statement, from 0 to 1. None: 1.
            source: Where the statement comes from.
            happened_at: When the statement became true. None: now.
            key: The subject of the statement, up to 200 characters. Newer memories of the same key supersede older
                ones. Empty: no other memory supersedes this one.
            experience: Only for the kind EXPERIENCE.
            app_id: The app that the memory belongs to. Empty: the app that the key is bound to if it is only one, else
                none.
            agent_bundle_id: The agent bundle that the memory belongs to. Empty: the bundle that the key is bound to,
                else none.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. A repeat with the same id answers the same memory and stores nothing.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the text is blank; the kind, confidence or quality is not valid; `experience` is set but
                the kind is another one.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = memories_pb.RetainMemoryRequest(
            memory=memories_pb.MemoryInput(
                text=text,
                kind=messages.choice_of("memory.kind", kind, memories_pb.MemoryKind),
                confidence=confidence,
                source=None if source is None else source.to_proto(),
                happened_at=messages.to_timestamp("memory.happened_at", happened_at),
                key=key,
                experience=None if experience is None else experience.to_proto(),
                app_id=app_id,
                agent_bundle_id=agent_bundle_id,
            ),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: memories_pb.RetainMemoryResponse = await self._call("RetainMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(answer.memory)

    async def recall(
        self,
        query: str,
        *,
        limit: int = 20,
        kinds: Iterable[MemoryKind] = (),
        key: str = "",
        holding_only: bool = False,
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> builtins.list[RecalledMemory]:
        """Find the memories that match a question, best first, each once.

        It searches by words, and also by meaning if the service has an embedder. The result includes superseded
        memories and marks them.

        Args:
            query: The question: not blank, up to 8,000 characters.
            limit: Number of memories to return, from 1 to 100. None: 20.
            kinds: Only memories of these kinds. Empty: all kinds.
            key: Only memories with this key. Empty: with any key or none.
            holding_only: Only current memories, without superseded ones.
            happened_from: Only memories with `happened_at` at or after this time.
            happened_to: Only memories with `happened_at` before this time.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the query is blank; the limit is not between 1 and 100.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = memories_pb.RecallMemoriesRequest(
            query=query,
            limit=limit,
            filter=memories_pb.MemoryFilter(
                kinds=messages.choices_of("filter.kinds", kinds, memories_pb.MemoryKind),
                key=key,
                holding_only=holding_only,
                happened_from=messages.to_timestamp("filter.happened_from", happened_from),
                happened_to=messages.to_timestamp("filter.happened_to", happened_to),
            ),
            subject_user_id=subject_user_id,
        )
        answer: memories_pb.RecallMemoriesResponse = await self._call("RecallMemories", request, timeout_s=timeout_s)
        return [RecalledMemory.from_proto(item) for item in answer.memories]

    async def reflect(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Iterable[MemoryKind] = (),
        key: str = "",
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Reflection:
        """Summarize the memories that match a question in one statement.

        The statement takes the best sentence of each matching memory, newest first, and repeats none. The answer names
        the memories that it rests on. Superseded memories are not part of the statement; the answer lists them
        separately.

        Args:
            query: The question: not blank, up to 8,000 characters.
            limit: Number of sentences of the statement, from 1 to 20. None: 8.
            kinds: Only memories of these kinds. Empty: all kinds.
            key: Only memories with this key. Empty: with any key or none.
            happened_from: Only memories with `happened_at` at or after this time.
            happened_to: Only memories with `happened_at` before this time.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the query is blank; the limit is not between 1 and 100.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = memories_pb.ReflectMemoriesRequest(
            query=query,
            limit=limit,
            filter=memories_pb.MemoryFilter(
                kinds=messages.choices_of("filter.kinds", kinds, memories_pb.MemoryKind),
                key=key,
                happened_from=messages.to_timestamp("filter.happened_from", happened_from),
                happened_to=messages.to_timestamp("filter.happened_to", happened_to),
            ),
            subject_user_id=subject_user_id,
        )
        answer: memories_pb.ReflectMemoriesResponse = await self._call("ReflectMemories", request, timeout_s=timeout_s)
        return Reflection.from_proto(answer)

    async def list(
        self,
        *,
        kinds: Iterable[MemoryKind] = (),
        key: str = "",
        holding_only: bool = False,
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Memory, None]:
        """List memories, the latest retained first.

        Args:
            kinds: Only memories of these kinds. Empty: all kinds.
            key: Only memories with this key. Empty: with any key or none.
            holding_only: Only current memories, without superseded ones.
            happened_from: Only memories with `happened_at` at or after this time.
            happened_to: Only memories with `happened_at` before this time.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Memories per page, at most 500. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
        """
        request = memories_pb.ListMemoriesRequest(
            filter=memories_pb.MemoryFilter(
                kinds=messages.choices_of("filter.kinds", kinds, memories_pb.MemoryKind),
                key=key,
                holding_only=holding_only,
                happened_from=messages.to_timestamp("filter.happened_from", happened_from),
                happened_to=messages.to_timestamp("filter.happened_to", happened_to),
            ),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: memories_pb.ListMemoriesResponse = await self._call("ListMemories", request, timeout_s=timeout_s)
            for item in page.memories:
                yield Memory.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def update(
        self,
        memory_id: Id,
        *,
        text: str | None = None,
        kind: MemoryKind | None = None,
        confidence: float | None = None,
        source: MemorySource | None = None,
        happened_at: datetime | None = None,
        key: str | None = None,
        experience: Experience | None = None,
        expected_version: int = 0,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Memory:
        """Correct a memory; the service keeps nothing of the old values.

        To record a change over time instead, retain a new memory with the same key.

        Args:
            memory_id: The memory to correct.
            text: The statement: not blank, up to 8,000 characters.
            kind: The kind of memory. Default: a fact.
            confidence: Confidence in the statement, from 0 to 1. None: 1.
            source: Where the statement comes from.
            happened_at: When the statement became true. None: now.
            key: The subject of the statement, up to 200 characters. Newer memories of the same key supersede older
                ones. Empty: no other memory supersedes this one.
            experience: Only for the kind EXPERIENCE.
            expected_version: Change the memory only if it has this version. 0: any version.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            MemoryNotFound: No memory that the caller may see has this id, or it was forgotten.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
            InvalidArgument: the text is blank; the kind, confidence or quality is not valid; `experience` is set but
                the kind is another one.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = memories_pb.UpdateMemoryRequest(
            memory_id=messages.to_id(memory_id),
            memory=memories_pb.MemoryInput(
                text=text,
                kind=messages.choice_of("memory.kind", kind, memories_pb.MemoryKind),
                confidence=confidence,
                source=None if source is None else source.to_proto(),
                happened_at=messages.to_timestamp("memory.happened_at", happened_at),
                key=key,
                experience=None if experience is None else experience.to_proto(),
            ),
            update_mask=messages.mask(
                text=text,
                kind=kind,
                confidence=confidence,
                source=source,
                happened_at=happened_at,
                key=key,
                experience=experience,
            ),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: memories_pb.UpdateMemoryResponse = await self._call("UpdateMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(answer.memory)

    async def forget(
        self, memory_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> None:
        """Delete a memory for good, with its index entries.

        If the memory superseded another one, the next memory of the key supersedes that one now, or it is current
        again.

        Args:
            memory_id: The memory to delete.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            MemoryNotFound: No memory that the caller may see has this id, or it was forgotten.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = memories_pb.ForgetMemoryRequest(
            memory_id=messages.to_id(memory_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        await self._call("ForgetMemory", request, timeout_s=timeout_s)
