"""The proto service `Memories`: parse, one call, render."""

from __future__ import annotations

from datetime import datetime

from context_service.contexts.wire.requests import somebody_of
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from context_service.memories.model import (
    LIMIT_DEFAULT,
    Consolidated,
    Experience,
    Memory,
    MemoryFilter,
    MemoryInput,
    MemoryKind,
    MemoryQuery,
    MemoryRevision,
    MemorySource,
    MemoryState,
)
from context_service.memories.rules.consolidate import Consolidating
from context_service.memories.rules.memories import Memories
from context_service.memories.rules.recall import SENTENCES_DEFAULT, STATEMENT_TOKENS_DEFAULT, MemoryRecalling
from context_service.memories.rules.written_reflection import WrittenReflection
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.context.v1 import memories_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import PageRequest
from service_runtime.statements.requests import RESPONSE, request_of, unpacked
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

_MEMORY_BYTES = 80  # rendering a memory or a source takes as long as parsing this many bytes

_KINDS = {
    MemoryKind.FACT: pb.MEMORY_KIND_FACT,
    MemoryKind.PREFERENCE: pb.MEMORY_KIND_PREFERENCE,
    MemoryKind.EXPERIENCE: pb.MEMORY_KIND_EXPERIENCE,
    MemoryKind.OBSERVATION: pb.MEMORY_KIND_OBSERVATION,
    MemoryKind.EVENT: pb.MEMORY_KIND_EVENT,
    MemoryKind.COMMITMENT: pb.MEMORY_KIND_COMMITMENT,
}
_STATES = {
    MemoryState.PENDING: pb.MEMORY_STATE_PENDING,
    MemoryState.INDEXED: pb.MEMORY_STATE_INDEXED,
    MemoryState.FAILED: pb.MEMORY_STATE_FAILED,
}


class MemoriesServicer(memories_pb2_grpc.MemoriesServicer):
    """Answers the RPCs of `Memories`."""

    def __init__(
        self,
        memories: Memories,
        remembering: MemoryRecalling,
        consolidating: Consolidating,
        writing: WrittenReflection | None,
    ) -> None:
        self._memories = memories
        self._writing = writing
        self._remembering = remembering
        self._consolidating = consolidating

    async def RetainMemory(self, request: pb.RetainMemoryRequest, context: object) -> pb.RetainMemoryResponse:
        """Keep a statement."""

        def without_text(memory: Memory) -> pb.RetainMemoryResponse:
            """Return the answer to store, without the memory's text, which the user may forget; retries add it."""
            response = pb.RetainMemoryResponse(memory=_memory(memory))
            for name in ("text", "key", "experience", "sources", "metadata_json", "tags"):
                response.memory.ClearField(name)
            return response

        def replay(answer: dict[str, str]) -> pb.RetainMemoryResponse:
            """Return the answer of the first call to a retry.

            The stored answer has no texts of the caller, so they are taken from the request, which is the same.
            """
            response = pb.RetainMemoryResponse.FromString(unpacked(answer[RESPONSE]))
            memory_input = request.memory
            response.memory.text, response.memory.key = memory_input.text, memory_input.key
            response.memory.metadata_json = memory_input.metadata_json or "{}"
            response.memory.tags.extend(memory_input.tags)
            if memory_input.HasField("experience"):
                response.memory.experience.CopyFrom(memory_input.experience)
            if memory_input.HasField("source"):
                response.memory.sources.append(memory_input.source)
            return response

        memory = await self._memories.retain(
            _input(request.memory),
            principal=somebody_of(request.subject_user_id),
            request=request_of("RetainMemory", request, response=without_text, replay=replay),
        )
        return pb.RetainMemoryResponse(memory=_memory(memory))

    async def RecallMemories(self, request: pb.RecallMemoriesRequest, context: object) -> pb.RecallMemoriesResponse:
        """Find memories."""
        query = MemoryQuery(
            query=request.query,
            limit=request.limit if request.HasField("limit") else LIMIT_DEFAULT,
            which=_filter(request.filter),
            score_min=request.score_min,
        )
        recalled = await self._remembering.recall(query, principal=somebody_of(request.subject_user_id))
        return pb.RecallMemoriesResponse(
            memories=[pb.RecalledMemory(memory=_memory(memory), score=score) for memory, score in recalled.memories],
            mode=recalled.mode,
            meaning_error=recalled.error,
        )

    async def ReflectMemories(self, request: pb.ReflectMemoriesRequest, context: object) -> pb.ReflectMemoriesResponse:
        """Answer a question with sentences of memories."""
        query = MemoryQuery(
            query=request.query,
            limit=request.limit if request.HasField("limit") else SENTENCES_DEFAULT,
            which=_filter(request.filter),
        )
        principal = somebody_of(request.subject_user_id)
        tokens_max = request.tokens_max if request.HasField("tokens_max") else STATEMENT_TOKENS_DEFAULT
        reflected = await self._remembering.reflect(query, tokens_max=tokens_max, principal=principal)
        if self._writing:
            reflected = await self._writing.write(query, reflected, tokens_max=tokens_max, principal=principal)
        return copied(
            pb.ReflectMemoriesResponse,
            reflected,
            memory_ids=[str(memory.memory_id) for memory in reflected.memories],
            mode=reflected.recalled.mode,
            meaning_error=reflected.recalled.error,
        )

    async def ListMemories(self, request: pb.ListMemoriesRequest, context: object) -> pb.ListMemoriesResponse:
        """List memories, page by page."""
        found, next_page_token = await self._memories.page(
            _filter(request.filter),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=somebody_of(request.subject_user_id),
        )
        size = sum(_MEMORY_BYTES * (1 + len(memory.sources)) for memory in found)
        memories = await beside_the_loop(size, lambda: list(map(_memory, found)))
        return pb.ListMemoriesResponse(memories=memories, next_page_token=next_page_token)

    async def ListMemoryRevisions(
        self, request: pb.ListMemoryRevisionsRequest, context: object
    ) -> pb.ListMemoryRevisionsResponse:
        """List the earlier values of a memory, page by page."""
        found, next_page_token = await self._memories.revisions(
            parse_id("memory_id", request.memory_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=somebody_of(request.subject_user_id),
        )
        size = sum(_MEMORY_BYTES * (1 + len(revision.sources)) for revision in found)
        revisions = await beside_the_loop(size, lambda: list(map(_revision, found)))
        return pb.ListMemoryRevisionsResponse(revisions=revisions, next_page_token=next_page_token)

    async def UpdateMemory(self, request: pb.UpdateMemoryRequest, context: object) -> pb.UpdateMemoryResponse:
        """Correct a memory."""

        def response(memory: Memory) -> pb.UpdateMemoryResponse:
            return pb.UpdateMemoryResponse(memory=_memory(memory))

        memory = await self._memories.update(
            parse_id("memory_id", request.memory_id),
            _input(request.memory),
            tuple(dict.fromkeys(request.update_mask.paths)),
            expected_version=request.expected_version,
            principal=somebody_of(request.subject_user_id),
            request=request_of("UpdateMemory", request, response=response),
        )
        return response(memory)

    async def ForgetMemory(self, request: pb.ForgetMemoryRequest, context: object) -> pb.ForgetMemoryResponse:
        """Remove a memory."""
        await self._memories.forget(
            parse_id("memory_id", request.memory_id),
            principal=somebody_of(request.subject_user_id),
            request=request_of("ForgetMemory", request, response=lambda _: pb.ForgetMemoryResponse()),
        )
        return pb.ForgetMemoryResponse()

    async def ConsolidateMemories(
        self, request: pb.ConsolidateMemoriesRequest, context: object
    ) -> pb.ConsolidateMemoriesResponse:
        """Merge duplicates, and promote lessons."""
        principal, runs = somebody_of(request.subject_user_id), tuple(dict.fromkeys(request.run_context_ids))
        if request.apply:
            once = request_of("ConsolidateMemories", request, response=_consolidation)
            done = await self._consolidating.apply(runs, request.plan, principal=principal, request=once)
        elif request.plan or request.request_id:
            field = "plan" if request.plan else "request_id"
            raise InvalidArgument(f"{field} must be empty without apply: this call is a dry run", field=field)
        else:
            done = await self._consolidating.dry_run(runs, principal=principal)
        return _consolidation(done)


def _consolidation(done: Consolidated) -> pb.ConsolidateMemoriesResponse:
    """Return the result of a consolidation as protobuf."""
    return copied(
        pb.ConsolidateMemoriesResponse,
        done,
        merged=[copied(pb.MergedMemories, merged) for merged in done.merged],
        promoted=[copied(pb.PromotedLesson, promoted) for promoted in done.promoted],
    )


def _input(message: pb.MemoryInput) -> MemoryInput:
    """Return the memory that a request describes, parsed and not yet checked.

    An unset confidence is 1, and an unset kind is a fact.

    Raises:
        InvalidArgument: the kind or the time is not valid.
    """
    source, experience = message.source, message.experience
    return copied(
        MemoryInput,
        message,
        kind=_kind("memory.kind", message.kind or pb.MEMORY_KIND_FACT),
        confidence=message.confidence if message.HasField("confidence") else 1.0,
        source=copied(MemorySource, source) if message.HasField("source") else None,
        happened_at=_time_of("memory", message, "happened_at"),
        experience=Experience(
            goal=experience.goal,
            outcome=experience.outcome,
            quality=experience.quality if experience.HasField("quality") else None,
        )
        if message.HasField("experience")
        else None,
        **{name: _time_of("memory", message, name) for name in ("valid_from", "valid_to", "expires_at")},
        tags=tuple(dict.fromkeys(message.tags)),
        is_learned=False,
    )


def _time_of(field: str, message: pb.MemoryInput | pb.MemoryFilter, name: str) -> datetime | None:
    """Return the time in a field of a message; None if it is unset.

    Raises:
        InvalidArgument: the time is not valid.
    """
    return times.time_of(f"{field}.{name}", getattr(message, name)) if message.HasField(name) else None


def _filter(message: pb.MemoryFilter) -> MemoryFilter:
    """Return the filter of a request.

    Raises:
        InvalidArgument: a kind or a time is not valid.
    """
    return MemoryFilter(
        kinds=frozenset(_kind(f"filter.kinds[{place}]", kind) for place, kind in enumerate(message.kinds)),
        key=message.key,
        holding_only=message.holding_only,
        happened_from=_time_of("filter", message, "happened_from"),
        happened_to=_time_of("filter", message, "happened_to"),
        as_of=_time_of("filter", message, "as_of"),
        tags=tuple(dict.fromkeys(message.tags)),
        metadata_contains_json=message.metadata_contains_json,
    )


def _kind(field: str, number: int) -> MemoryKind:
    """Return the memory kind of a protobuf number.

    Raises:
        InvalidArgument: the number is unknown, such as one of a newer client.
    """
    for kind, known in _KINDS.items():
        if known == number:
            return kind
    raise InvalidArgument(f"{field} is {number}, which is not a known kind", field=field)


def _revision(revision: MemoryRevision) -> pb.MemoryRevision:
    """Return the protobuf message of a revision."""
    return copied(
        pb.MemoryRevision,
        revision,
        kind=_KINDS[revision.kind],
        sources=[copied(pb.MemorySource, source) for source in revision.sources],
        experience=copied(pb.MemoryExperience, revision.experience) if revision.experience else None,
        imported=imported_of(revision.imported_json),
    )


def _memory(memory: Memory) -> pb.Memory:
    """Return the protobuf message of a memory."""
    return copied(
        pb.Memory,
        memory,
        kind=_KINDS[memory.kind],
        sources=[copied(pb.MemorySource, source) for source in memory.sources],
        experience=copied(pb.MemoryExperience, memory.experience) if memory.experience else None,
        state=_STATES[memory.state],
        imported=imported_of(memory.imported_json),
    )
