# Generated from aio/context/artifacts.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Artifacts: results of tasks."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync._gen import artifacts as gen
from contextkeep.client.sync.context.message_files import WithUploads
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.values import Artifact


class Artifacts(WithUploads, gen.Artifacts):
    """Artifacts of tasks.

    A task that belongs to another context, or does not exist, is `TaskNotFound`. A `context_id` that is left out is
    that of the task.
    """

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
            TaskNotFound: the context has no such task.
            ArtifactNotFound: the task has no such artifact, or not this version.
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
        """Return the version of an artifact that the ref of a recalled item names, such as "a3.0", with its parts.

        Raises:
            ContextNotFound: there is no such context.
            ArtifactNotFound: the task has no such artifact.
            InvalidArgument: the ref does not name an artifact.
        """
        request = artifacts_pb.GetArtifactRequest(
            context_id=messages.to_id(context_id), ref=ref, subject_user_id=subject_user_id
        )
        response: artifacts_pb.GetArtifactResponse = self._call("GetArtifact", request, timeout_s=timeout_s)
        return Artifact.from_proto(response.artifact)
