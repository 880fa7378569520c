"""Writes and reads artifacts: the results of tasks, version by version and chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from context_service.contexts.model import ARTIFACT_ROLE, Artifact, ArtifactInput, MessageInput, NewArtifact
from context_service.contexts.pure.checks import MessageChecks, size_of
from context_service.contexts.pure.passages import passages_of_artifact
from context_service.contexts.pure.refs import place_of
from context_service.contexts.rules.message_files import MessageFiles, Store, stored_parts
from context_service.contexts.rules.messages import files_apart, not_found
from context_service.contexts.rules.references import References
from context_service.contexts.rules.tasks import Tasks
from context_service.contexts.store.artifacts import ARTIFACTS_MAX, ARTIFACTS_OF_TASK_MAX, ArtifactRows
from context_service.contexts.store.log import Log
from context_service.kernel.parts import texts_of
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.pure.terms import masks
from contextkeep.errors import ArtifactComplete, ArtifactNotFound, InvalidArgument, LimitExceeded
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text
from service_runtime.values.ids import new_id

PARTS_MAX = 1_000  # parts of a version at most
ID_CHARS_MAX = 200
NAME_CHARS_MAX = 200
DESCRIPTION_CHARS_MAX = 1_000
_CUTTING = 16  # cost of preparing an artifact, in parses of the same bytes
_VERSION_MAX = 2**31 - 1


class Artifacts:
    """Writes and reads artifacts; each call acts for its principal.

    Args:
        rows: The SQL statements on artifacts.
        log: The contexts that the artifacts belong to.
        tasks: The tasks that make the artifacts.
        references: Finds the context of a task.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        checks: Checks the sizes and forms of parts and metadata.
        files: Stores the files of parts, and checks the records that parts name.
        tokens: Counts the tokens of parts and passages.
    """

    def __init__(
        self,
        rows: ArtifactRows,
        *,
        log: Log,
        tasks: Tasks,
        references: References,
        requests: Requests,
        checks: MessageChecks,
        files: MessageFiles,
        tokens: TokenCounter,
    ) -> None:
        self._rows = rows
        self._log = log
        self._tasks = tasks
        self._references = references
        self._requests = requests
        self._checks = checks
        self._files = files
        self._tokens = tokens

    async def put(
        self,
        context_id: UUID | None,
        task_id: UUID,
        draft: ArtifactInput,
        *,
        principal: Principal,
        request: Request | None,
    ) -> Artifact:
        """Write the next version of an artifact, or a chunk of the newest one.

        Args:
            context_id: The id of the context; None takes the context of the task.
            task_id: The id of the task that makes the artifact.
            draft: The artifact or chunk, with at least one part.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            TaskNotFound: the context has no such task.
            ContextClosed: the context is closed.
            TaskEnded: the task has ended.
            ArtifactNotFound: the chunk names an artifact that does not exist.
            ArtifactComplete: the artifact has got its last chunk already.
            RecordNotFound: a part names a record that the caller may not read.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: the artifact is too large, or there are too many artifacts.
            RequestIdReused: the request id was used before, for another request.
        """
        (as_message,) = await files_apart([_as_message(draft)])
        draft = replace(draft, parts=as_message.parts)
        size_bytes = await self._check(draft)
        owning_context_id = context_id or await self._references.context_of(task_id, principal=principal)
        await self._log.take_room_for_records(principal.tenant_id, draft.parts)
        async with stored_parts(self._files, owning_context_id, draft.parts, principal=principal) as (parts, store):
            return await self._put(
                owning_context_id,
                task_id,
                replace(draft, parts=parts),
                size_bytes,
                store,
                principal=principal,
                request=request,
            )

    async def _put(
        self,
        owning_context_id: UUID,
        task_id: UUID,
        draft: ArtifactInput,
        size_bytes: int,
        store: Store | None,
        *,
        principal: Principal,
        request: Request | None,
    ) -> Artifact:
        """Write a checked artifact, and in the same transaction the files that `store` stores."""

        async def work(transaction: Transaction) -> Artifact | None:
            await self._tasks.going_on(transaction, owning_context_id, task_id)
            before = await self._rows.newest(transaction, owning_context_id, task_id, draft.artifact_id)
            if draft.append:
                _check_chunk(before, draft, size_bytes, self._checks.message_bytes_max)
            elif (
                before is None
                and await self._rows.count(transaction, owning_context_id, task_id) >= ARTIFACTS_OF_TASK_MAX
            ):
                raise _too_many("artifacts_of_task", ARTIFACTS_OF_TASK_MAX)
            new, numbers = await beside_the_loop(
                _CUTTING * size_bytes, self._new, owning_context_id, draft, size_bytes, before
            )
            artifact = await self._rows.put(
                transaction, owning_context_id, task_id, new, numbers, before=before, created_by=principal.subject
            )
            if artifact and store:
                await store(transaction)
            return artifact

        return await self._tasks.written(
            owning_context_id, work, principal, request=request, refused=lambda: _too_many("artifacts", ARTIFACTS_MAX)
        )

    async def read(
        self, context_id: UUID | None, task_id: UUID, artifact_id: str, *, version: int, principal: Principal
    ) -> Artifact:
        """Return a version of an artifact with its parts; 0 is the newest version.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            TaskNotFound: the context has no such task.
            ArtifactNotFound: the task has no such artifact, or not this version.
        """
        check_text("artifact_id", artifact_id, chars_max=ID_CHARS_MAX, required=True)
        if not 0 <= version <= _VERSION_MAX:
            raise InvalidArgument(f"version must be between 0 and {_VERSION_MAX} (got {version})", field="version")
        owning_context_id = context_id or await self._references.context_of(task_id, principal=principal, reads=True)
        versions = await self._rows.read(owning_context_id, task_id, artifact_id, version=version, principal=principal)
        if versions is None:
            await self._tasks.read(
                owning_context_id, task_id, principal=principal, history_length=0
            )  # raises if there is no such task
        for artifact in versions or ():
            return artifact
        raise _not_found(artifact_id)

    async def quoted(self, context_id: UUID, ref: str, *, principal: Principal) -> Artifact:
        """Return the version of an artifact that a ref of recall names, with its parts.

        Raises:
            InvalidArgument: the ref is malformed, or names a message.
            ContextNotFound: the context does not exist, or the caller may not see it.
            ArtifactNotFound: the context has no such artifact.
        """
        place = place_of(ref, field="ref")
        if place > 0:
            raise InvalidArgument(f"ref must name an artifact, such as a3.0 (got {ref[:100]!r})", field="ref")
        versions = await self._rows.read_at(context_id, place, principal=principal)
        if versions is None:
            raise not_found(context_id)
        for artifact in versions:
            return artifact
        raise ArtifactNotFound(f"the context has no artifact {ref}; it may have been replaced", ref=ref)

    async def of_task(self, context_id: UUID, task_id: UUID, *, principal: Principal) -> Sequence[Artifact]:
        """Return the newest versions of the artifacts of an existing task, without their parts, the oldest first."""
        return await self._rows.of_task(context_id, task_id, principal=principal)

    def _new(
        self, context_id: UUID, draft: ArtifactInput, size_bytes: int, before: Artifact | None
    ) -> tuple[NewArtifact, list[list[int]]]:
        """Return the artifact to write, and the numbers of the indexed terms of each of its passages."""
        count = self._tokens.count
        first = before if draft.append and before else None
        passages = passages_of_artifact(
            first.name if first else draft.name,
            draft.description,
            draft.parts,
            parts_before=first.part_count if first else 0,
            count=count,
        )
        tokens = sum(map(count, texts_of("", draft.parts)))
        new = NewArtifact(draft=draft, tokens=tokens, size_bytes=size_bytes, passages=passages)
        return new, [masks(context_id, passage.terms) for passage in passages]

    async def _check(self, draft: ArtifactInput) -> int:
        """Refuse an artifact that cannot be stored, and return its size in bytes."""
        for field, text, chars_max in (
            ("artifact_id", draft.artifact_id, ID_CHARS_MAX),
            ("name", draft.name, NAME_CHARS_MAX),
            ("description", draft.description, DESCRIPTION_CHARS_MAX),
        ):
            check_text(f"artifact.{field}", text, chars_max=chars_max, required=field == "artifact_id")
        if not draft.parts:
            raise InvalidArgument("artifact.parts must have at least one part", field="artifact.parts")
        as_message = _as_message(draft)
        size_bytes = size_of(as_message)
        await beside_the_loop(size_bytes, self._checks.check_message, as_message, size_bytes, path="artifact")
        return size_bytes


def _as_message(draft: ArtifactInput) -> MessageInput:
    """Return an artifact in the form of a message, for the checks that both share."""
    return MessageInput(message_id="", role=ARTIFACT_ROLE, parts=draft.parts, metadata_json=draft.metadata_json)


def named(said_id: str) -> str:
    """Return the artifact id that the caller gave, or a new one."""
    return said_id or str(new_id())


def _check_chunk(before: Artifact | None, draft: ArtifactInput, size_bytes: int, bytes_max: int) -> None:
    """Refuse a chunk of an artifact that does not exist, is complete, or would become too large.

    Args:
        before: The newest version of the artifact; None if there is none.
        draft: The chunk.
        size_bytes: The size of the chunk.
        bytes_max: The limit for the whole artifact.
    """
    if before is None:
        raise _not_found(draft.artifact_id)
    if before.is_complete:
        raise ArtifactComplete("the artifact is complete; write a new version", artifact_id=draft.artifact_id)
    for limit, value, value_max in (
        ("artifact.parts", before.part_count + len(draft.parts), PARTS_MAX),
        ("artifact", before.size_bytes + size_bytes, bytes_max),
    ):
        if value > value_max:
            raise LimitExceeded(
                f"{limit} may have up to {value_max} {'parts' if 'parts' in limit else 'bytes'} (would have {value})",
                field=limit,
                limit=limit,
                limit_max=value_max,
                value=value,
            )


def _too_many(limit: str, limit_max: int) -> LimitExceeded:
    """Return the error for an artifact above a limit of artifacts."""
    return LimitExceeded(
        f"there may be up to {limit_max} artifacts; begin another task or context",
        limit=limit,
        limit_max=limit_max,
        value=limit_max + 1,
    )


def _not_found(artifact_id: str) -> ArtifactNotFound:
    return ArtifactNotFound(
        f"the task has no artifact {artifact_id[:200]!r}, or not this version", artifact_id=artifact_id
    )
