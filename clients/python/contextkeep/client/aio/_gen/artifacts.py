"""The calls of artifacts that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client import _context_messages as contexts, _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.inputs import ArtifactInput, PartInput
from contextkeep.values import Artifact
from contextkeep.values.contexts import artifact_of


class Artifacts(Noun):
    """The calls of `client.artifacts` that are one RPC each."""

    async def put(
        self,
        task_id: Id,
        artifact: ArtifactInput | PartInput | str,
        *,
        context_id: Id | None = None,
        append: bool = False,
        last_chunk: bool = False,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Artifact:
        """Write an artifact, the result of a task.

        The same `artifact_id` again creates the next version. With `append`, the parts are added to the newest version
        as a chunk.

        When the call returns, the next call finds the texts of the artifact, as passages of the kind "artifact". It no
        longer finds the texts of the version before. An artifact belongs to one task, and is never listed with another.

        Repeating an `append` without a `request_id` appends the parts twice.

        Args:
            artifact: The artifact; or a part, or a text, which is an artifact of its own.
            context_id: Empty means the context of the task.
            append: Add the parts to the end of the newest version. Otherwise they are the next version.
            last_chunk: Complete this version: no more chunks can follow.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            TaskNotFound: The context has no task with this id.
            TaskEnded: The task has ended and cannot change.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            ArtifactNotFound: a chunk for an artifact that does not exist.
            ArtifactComplete: a chunk after the last one.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            RecordNotFound: a part names a record that the caller cannot read.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: A value exceeds a limit.
        """
        request = artifacts_pb.PutArtifactRequest(
            context_id=messages.to_id(context_id),
            task_id=messages.to_id(task_id),
            artifact=contexts.artifact_input(artifact),
            append=append,
            last_chunk=last_chunk,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: artifacts_pb.PutArtifactResponse = await self._call("PutArtifact", request, timeout_s=timeout_s)
        return artifact_of(answer)
