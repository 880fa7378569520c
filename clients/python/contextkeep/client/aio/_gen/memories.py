"""The calls of memories that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import datetime
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import memories_pb2 as memories_pb, summaries_pb2 as summaries_pb
from contextkeep.values import Experience
from contextkeep.values import Memory
from contextkeep.values import MemoryKind
from contextkeep.values import MemoryRevision
from contextkeep.values import MemorySource
from contextkeep.values import RecalledMemory
from contextkeep.values import Reflection
from contextkeep.values import UserContext


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
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Memory:
        """Store a statement about a user.

        After the answer, the memory is stored and a search by words finds it. If the service has an embedder, it makes
        the embedding in the background; `state` shows the progress.

        A `key` names the subject of a statement ("home_town"). Among the memories with the same key, app and agent
        bundle, the one with the latest `valid_from` is current. It supersedes the one before, which stays with its
        dates and names its successor in `superseded_by`. Memories of one key that differ name each other in
        `contradicts`. Without a key, rules find the subject of facts and preferences in a few plain forms, such as "I
        moved from Bergen to Oslo in May" or "Kim's manager is Ola"; such memories supersede each other in the same way.
        Other texts have no subject.

        A statement that is stored already is not stored again: the call answers that memory, with one more source. The
        memory must have the same kind, key, app and agent bundle, its text may differ in case, spaces and final
        punctuation, and no other statement of its subject may lie between the two. Experiences are always new memories.

        Args:
            text: The statement: not blank, up to 8,000 characters.
            kind: The kind of memory. Default: a fact.
            confidence: Confidence in the statement, from 0 to 1. None: 1.
            source: Where the statement comes from.
            happened_at: When the statement was made, or when the event happened. None: `valid_from`, or now.
            key: The subject of the statement, up to 200 characters. Newer memories of the same key supersede older
                ones. Empty: no other memory supersedes this one.
            experience: Only for the kind EXPERIENCE.
            app_id: The app that the memory belongs to. Empty: the app that the key is bound to if it is only one, else
                none.
            agent_bundle_id: The agent bundle that the memory belongs to. Empty: the bundle that the key is bound to,
                else none.
            valid_from: Since when the statement holds. None: since the date that a text with a known subject names ("in
                May"), or `happened_at`.
            valid_to: Until when the statement holds, not included. None: until another memory supersedes it.
            expires_at: When the memory is deleted; must be in the future. From then on no call returns it. None: never.
            metadata: A JSON object of the caller's own, up to 8,192 bytes.
            tags: Labels, up to 32.
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
                valid_from=messages.to_timestamp("memory.valid_from", valid_from),
                valid_to=messages.to_timestamp("memory.valid_to", valid_to),
                expires_at=messages.to_timestamp("memory.expires_at", expires_at),
                metadata_json=messages.to_object("memory.metadata_json", metadata),
                tags=messages.texts("memory.tags", tags),
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
        as_of: datetime | None = None,
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        score_min: float | None = None,
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
            holding_only: Only current memories, without superseded ones and those whose `valid_to` has passed.
            happened_from: Only memories with `happened_at` at or after this time.
            happened_to: Only memories with `happened_at` before this time.
            as_of: Only memories that held at this time: `valid_from` is at or before it, and `valid_to` is unset or
                after it.
            tags: Only memories with all of these tags.
            metadata_contains: A JSON object. Only memories whose metadata contain it.
            score_min: Return only memories with this score or a higher one, 0 to 1. None means memories of any score.
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
                as_of=messages.to_timestamp("filter.as_of", as_of),
                tags=messages.texts("filter.tags", tags),
                metadata_contains_json=messages.to_object("filter.metadata_contains_json", metadata_contains),
            ),
            subject_user_id=subject_user_id,
            score_min=score_min,
        )
        answer: memories_pb.RecallMemoriesResponse = await self._call("RecallMemories", request, timeout_s=timeout_s)
        return [RecalledMemory.from_proto(item) for item in answer.memories]

    async def reflect(
        self,
        query: str,
        *,
        limit: int = 3,
        kinds: Iterable[MemoryKind] = (),
        key: str = "",
        happened_from: datetime | None = None,
        happened_to: datetime | None = None,
        as_of: datetime | None = None,
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        tokens_max: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Reflection:
        """Answer a question with sentences of memories, the most relevant first, each once.

        A memory is used if its words cover enough of the question. A word that all matching memories share, such as a
        name, counts next to nothing. The answer names the memories that it rests on. Superseded memories are not part
        of the statement, unless the filter has `as_of`; the answer lists them separately.

        Args:
            query: The question: not blank, up to 8,000 characters.
            limit: Number of sentences of the statement, from 1 to 20. None: 3.
            kinds: Only memories of these kinds. Empty: all kinds.
            key: Only memories with this key. Empty: with any key or none.
            happened_from: Only memories with `happened_at` at or after this time.
            happened_to: Only memories with `happened_at` before this time.
            as_of: Only memories that held at this time: `valid_from` is at or before it, and `valid_to` is unset or
                after it.
            tags: Only memories with all of these tags.
            metadata_contains: A JSON object. Only memories whose metadata contain it.
            tokens_max: Tokens of the statement, from 1 to 4,000. None: 400.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: `tokens_max` is not between 1 and 4,000.
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
                as_of=messages.to_timestamp("filter.as_of", as_of),
                tags=messages.texts("filter.tags", tags),
                metadata_contains_json=messages.to_object("filter.metadata_contains_json", metadata_contains),
            ),
            subject_user_id=subject_user_id,
            tokens_max=tokens_max,
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
        as_of: datetime | None = None,
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Memory, None]:
        """List memories, the latest retained first.

        Args:
            kinds: Only memories of these kinds. Empty: all kinds.
            key: Only memories with this key. Empty: with any key or none.
            holding_only: Only current memories, without superseded ones and those whose `valid_to` has passed.
            happened_from: Only memories with `happened_at` at or after this time.
            happened_to: Only memories with `happened_at` before this time.
            as_of: Only memories that held at this time: `valid_from` is at or before it, and `valid_to` is unset or
                after it.
            tags: Only memories with all of these tags.
            metadata_contains: A JSON object. Only memories whose metadata contain it.
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
                as_of=messages.to_timestamp("filter.as_of", as_of),
                tags=messages.texts("filter.tags", tags),
                metadata_contains_json=messages.to_object("filter.metadata_contains_json", metadata_contains),
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
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Iterable[str] | None = None,
        expected_version: int = 0,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Memory:
        """Correct a memory.

        The values before are kept, and `memories.list_revisions` returns them. To record a change over time instead,
        retain a new memory with the same key.

        Args:
            memory_id: The memory to correct.
            text: The statement: not blank, up to 8,000 characters.
            kind: The kind of memory. Default: a fact.
            confidence: Confidence in the statement, from 0 to 1. None: 1.
            source: Where the statement comes from.
            happened_at: When the statement was made, or when the event happened. None: `valid_from`, or now.
            key: The subject of the statement, up to 200 characters. Newer memories of the same key supersede older
                ones. Empty: no other memory supersedes this one.
            experience: Only for the kind EXPERIENCE.
            valid_from: Since when the statement holds. None: since the date that a text with a known subject names ("in
                May"), or `happened_at`.
            valid_to: Until when the statement holds, not included. None: until another memory supersedes it.
            expires_at: When the memory is deleted; must be in the future. From then on no call returns it. None: never.
            metadata: A JSON object of the caller's own, up to 8,192 bytes.
            tags: Labels, up to 32.
            expected_version: Change the memory only if it has this version. 0: any version.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            MemoryNotFound: No memory that the caller may see has this id, or it was forgotten.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
            LimitExceeded: the memory has 1,000 revisions.
            InvalidArgument: the text is blank; the kind, confidence or quality is not valid; `experience` is set but
                the kind is another one.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
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
                valid_from=messages.to_timestamp("memory.valid_from", valid_from),
                valid_to=messages.to_timestamp("memory.valid_to", valid_to),
                expires_at=messages.to_timestamp("memory.expires_at", expires_at),
                metadata_json=messages.to_object("memory.metadata_json", metadata),
                tags=None if tags is None else messages.texts("memory.tags", tags),
            ),
            update_mask=messages.mask(
                text=text,
                kind=kind,
                confidence=confidence,
                source=source,
                happened_at=happened_at,
                key=key,
                experience=experience,
                valid_from=valid_from,
                valid_to=valid_to,
                expires_at=expires_at,
                metadata_json=metadata,
                tags=tags,
            ),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: memories_pb.UpdateMemoryResponse = await self._call("UpdateMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(answer.memory)

    async def list_revisions(
        self, memory_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[MemoryRevision, None]:
        """List the earlier values of a memory, newest first.

        Each correction leaves one revision. Empty: the memory was never corrected.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Revisions per page, at most 500. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            MemoryNotFound: No memory that the caller may see has this id, or it was forgotten.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = memories_pb.ListMemoryRevisionsRequest(
            memory_id=messages.to_id(memory_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: memories_pb.ListMemoryRevisionsResponse = await self._call(
                "ListMemoryRevisions", request, timeout_s=timeout_s
            )
            for item in page.revisions:
                yield MemoryRevision.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def forget(
        self, memory_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> None:
        """Delete a memory for good, with its revisions and index entries.

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

    async def get_user_context(
        self, *, tokens_max: int | None = None, subject_user_id: str = "", timeout_s: float | None = None
    ) -> UserContext:
        """Return one text about a user, to put before a new conversation.

        The text has the memories that hold now, with their dates and origins, commitments, the last conversations, and
        the sentences of users in these that tell the most, within `tokens_max`. Each line has a ref, and `lines` says
        what it is the ref of. Without new memories and messages the text stays the same, so a vendor's prompt cache can
        keep it.

        It reads the user's newest 1,000 memories that hold, and up to 2,000 messages of the newest 100 contexts.
        Contexts that are not findable, that were opened with `learning` OFF, and forks are left out. The bounds of the
        key apply; a key of a context may not call it.

        Args:
            tokens_max: Tokens of the text, from 1 to 32,000. None: 2,000.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: `tokens_max` is not between 1 and 32,000.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = summaries_pb.GetUserContextRequest(subject_user_id=subject_user_id, tokens_max=tokens_max)
        answer: summaries_pb.GetUserContextResponse = await self._call("GetUserContext", request, timeout_s=timeout_s)
        return UserContext.from_proto(answer)
