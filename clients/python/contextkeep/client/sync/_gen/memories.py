# Generated from aio/_gen/memories.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of memories that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Iterable
from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import knowledge_pb2 as knowledge_pb
from contextkeep.values import Experience, Memory, MemoryKind, MemorySource, RecalledMemory, Reflection


class Memories(Noun):
    """The calls of `client.memories` that are one RPC each."""

    def retain(
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
        """Keeps a statement about a user.

        When this is answered, the memory is stored, and found by its words; with an embedder its vector follows, and
        `state` says how far that is.

        A `key` names what a statement is about ("home_town"): of those with the same key, app and agent bundle, the one
        that happened last holds, and supersedes the one before, which stays, with its date, and names what supersedes
        it. Those of one key that differ name each other in `contradicts`.

        Args:
            text: Not blank, up to 8,000 characters.
            kind: What the memory is: by default a fact.
            confidence: From 0 to 1. None: 1.
            source: Where the statement comes from.
            happened_at: None: now.
            key: What the statement is about, up to 200 characters. Empty: nothing that another one could supersede.
            experience: Only of kind EXPERIENCE.
            app_id: Empty: the only one that the key is bound to, else none.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers the same memory, and keeps nothing.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: no text; a kind, confidence or quality that is none; an `experience` of another kind of
                memory.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = knowledge_pb.RetainMemoryRequest(
            memory=knowledge_pb.MemoryInput(
                text=text,
                kind=messages.choice_of("memory.kind", kind, knowledge_pb.MemoryKind),
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
        answer: knowledge_pb.RetainMemoryResponse = self._call("RetainMemory", request, timeout_s=timeout_s)
        return Memory.from_proto(answer.memory)

    def recall(
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
        """Finds memories by the words of a question, the best first, each once.

        Where the service has an embedder, it finds them by meaning, too. Superseded ones are found, too, and say so.

        Args:
            query: Not blank. Up to 8,000 characters.
            limit: Memories to answer: 1 to 100. None: 20.
            kinds: Only of these kinds. Empty: of any.
            key: Only with this key. Empty: with any, or none.
            holding_only: Without those that are superseded.
            happened_from: From this time on.
            happened_to: Before it.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: a blank query; a limit outside of 1 to 100.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = knowledge_pb.RecallMemoriesRequest(
            query=query,
            limit=limit,
            filter=knowledge_pb.MemoryFilter(
                kinds=messages.choices_of("filter.kinds", kinds, knowledge_pb.MemoryKind),
                key=key,
                holding_only=holding_only,
                happened_from=messages.to_timestamp("filter.happened_from", happened_from),
                happened_to=messages.to_timestamp("filter.happened_to", happened_to),
            ),
            subject_user_id=subject_user_id,
        )
        answer: knowledge_pb.RecallMemoriesResponse = self._call("RecallMemories", request, timeout_s=timeout_s)
        return [RecalledMemory.from_proto(one) for one in answer.memories]

    def reflect(
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
        """Says in one statement what is remembered of a question, and on which memories it rests.

        The statement has the best sentence of each memory that matters, the newest first, each said once. What is
        superseded is no part of the statement, and is named beside it.

        Args:
            query: Not blank. Up to 8,000 characters.
            limit: Sentences of the statement: 1 to 20. None: 8.
            kinds: Only of these kinds. Empty: of any.
            key: Only with this key. Empty: with any, or none.
            happened_from: From this time on.
            happened_to: Before it.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: a blank query; a limit outside of 1 to 100.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = knowledge_pb.ReflectMemoriesRequest(
            query=query,
            limit=limit,
            filter=knowledge_pb.MemoryFilter(
                kinds=messages.choices_of("filter.kinds", kinds, knowledge_pb.MemoryKind),
                key=key,
                happened_from=messages.to_timestamp("filter.happened_from", happened_from),
                happened_to=messages.to_timestamp("filter.happened_to", happened_to),
            ),
            subject_user_id=subject_user_id,
        )
        answer: knowledge_pb.ReflectMemoriesResponse = self._call("ReflectMemories", request, timeout_s=timeout_s)
        return Reflection.from_proto(answer)

    def list(
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
    ) -> Generator[Memory, None, None]:
        """Lists memories, those that were retained last first.

        Args:
            kinds: Only of these kinds. Empty: of any.
            key: Only with this key. Empty: with any, or none.
            holding_only: Without those that are superseded.
            happened_from: From this time on.
            happened_to: Before it.
            subject_user_id: The user for whom a key without a user calls.
            page_size: 0: 100; 500 at most.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
        """
        request = knowledge_pb.ListMemoriesRequest(
            filter=knowledge_pb.MemoryFilter(
                kinds=messages.choices_of("filter.kinds", kinds, knowledge_pb.MemoryKind),
                key=key,
                holding_only=holding_only,
                happened_from=messages.to_timestamp("filter.happened_from", happened_from),
                happened_to=messages.to_timestamp("filter.happened_to", happened_to),
            ),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: knowledge_pb.ListMemoriesResponse = self._call("ListMemories", request, timeout_s=timeout_s)
            for one in page.memories:
                yield Memory.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def forget(
        self, memory_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> None:
        """Removes a memory for good, with all that finds it.

        What it superseded is superseded by the next one of the key, or holds again.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            MemoryNotFound: There is no memory with this id that the caller may see, or it was forgotten.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = knowledge_pb.ForgetMemoryRequest(
            memory_id=messages.to_id(memory_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        self._call("ForgetMemory", request, timeout_s=timeout_s)
