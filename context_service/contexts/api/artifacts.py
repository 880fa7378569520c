"""The proto service `Artifacts`: parse, one call, render."""

from __future__ import annotations

from context_service.contexts.model import Artifact, ArtifactInput
from context_service.contexts.rules.artifacts import Artifacts, named
from context_service.contexts.wire.requests import parts_of, principal_of
from context_service.contexts.wire.tasks import artifact_of
from context_service.history.wire import messages as message_wire
from contextkeep.context.v1 import artifacts_pb2 as pb
from contextkeep.context.v1 import artifacts_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id


class ArtifactsServicer(artifacts_pb2_grpc.ArtifactsServicer):
    """Answers the RPCs of `Artifacts`."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    async def PutArtifact(self, request: pb.PutArtifactRequest, context: object) -> pb.PutArtifactResponse:
        """Write a version of an artifact, or a chunk of one."""
        parts, redacted = await parts_of(request.artifact.parts)  # first: it takes the secrets out of the request
        draft = request.artifact

        def response(artifact: Artifact) -> pb.PutArtifactResponse:
            return pb.PutArtifactResponse(artifact=artifact_of(artifact), redacted_parts=redacted)

        artifact = await self._artifacts.put(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            copied(
                ArtifactInput,
                draft,
                artifact_id=named(draft.artifact_id),
                parts=parts,
                append=request.append,
                is_last=request.last_chunk,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("PutArtifact", request, response=response),
        )
        return response(artifact)

    async def GetArtifact(self, request: pb.GetArtifactRequest, context: object) -> pb.GetArtifactResponse:
        """Read a version of an artifact."""
        principal = principal_of(request.subject_user_id)
        if request.ref:
            if request.task_id or request.artifact_id or request.version:
                raise InvalidArgument("set either ref, or task_id with artifact_id and version", field="ref")
            context_id = parse_id("context_id", request.context_id)
            artifact = await self._artifacts.quoted(context_id, request.ref, principal=principal)
        else:
            artifact = await self._artifacts.read(
                parse_optional_id("context_id", request.context_id),
                parse_id("task_id", request.task_id),
                request.artifact_id,
                version=request.version,
                principal=principal,
            )
        response = pb.GetArtifactResponse(artifact=artifact_of(artifact))
        response.artifact.metadata_json = artifact.metadata_json
        for part in artifact.parts:
            message_wire.fill_part(response.artifact.parts.add(), part)
        return response
