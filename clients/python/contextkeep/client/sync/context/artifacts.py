# Generated from aio/context/artifacts.py by tools/make_sync.py: change that file and run `make sync-client`.
"""What tasks make."""

from __future__ import annotations

from dataclasses import replace

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.inputs import ArtifactInput, PartInput
from contextkeep.values import Artifact


class Artifacts(Noun):
    """Artifacts of tasks.

    A task that is of another context, or not there at all, is `TaskNotFound`. Where a `context_id` may be left out, it
    is that of the task.
    """

    def put(
        self,
        task_id: Id,
        artifact: ArtifactInput | PartInput | str,
        *,
        append: bool = False,
        last_chunk: bool = False,
        context_id: Id | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Artifact:
        """Write the next version of an artifact, or a chunk of the newest one, and return it without its parts.

        When this returns, its texts are found by the next call, and those of the version before no more.

        Args:
            task_id: What makes it.
            artifact: An `ArtifactInput`; or a part, or a text, which is an artifact of its own.
            append: Add the parts after those of the newest version.
            last_chunk: Nothing more comes to this version.
            context_id: None: that of the task.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again writes nothing. None: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            TaskNotFound: the context has none.
            TaskEnded: it makes nothing any more.
            ArtifactNotFound: a chunk is of none.
            ArtifactComplete: a chunk follows the last one.
            RecordNotFound: a part names a record that the caller cannot read.
            LimitExceeded: it, or what there is of it together, is too large.
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
        response: artifacts_pb.PutArtifactResponse = self._call("PutArtifact", request, timeout_s=timeout_s)
        return replace(Artifact.from_proto(response.artifact), redacted_parts=tuple(response.redacted_parts))

    def get(
        self,
        task_id: Id,
        artifact_id: str,
        *,
        version: int = 0,
        context_id: Id | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Artifact:
        """Return a version of an artifact with its parts; 0 is the newest.

        Raises:
            TaskNotFound: the context has none.
            ArtifactNotFound: the task has none, or not this version.
        """
        request = artifacts_pb.GetArtifactRequest(
            context_id=messages.to_id(context_id),
            task_id=messages.to_id(task_id),
            artifact_id=artifact_id,
            version=version,
            subject_user_id=subject_user_id,
        )
        response: artifacts_pb.GetArtifactResponse = self._call("GetArtifact", request, timeout_s=timeout_s)
        return Artifact.from_proto(response.artifact)

    def get_at(
        self, context_id: Id, ref: str, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> Artifact:
        """Return what a recalled item is quoted from, as a prompt names it ("a3.0"): that version, with its parts.

        Raises:
            ContextNotFound: there is no such context.
            ArtifactNotFound: it has none there.
            InvalidArgument: the ref is none of an artifact.
        """
        request = artifacts_pb.GetArtifactRequest(
            context_id=messages.to_id(context_id), ref=ref, subject_user_id=subject_user_id
        )
        response: artifacts_pb.GetArtifactResponse = self._call("GetArtifact", request, timeout_s=timeout_s)
        return Artifact.from_proto(response.artifact)
