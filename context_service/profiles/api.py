"""The proto service `CompressionProfiles`: parse, one call, render."""

from __future__ import annotations

from dataclasses import replace

from context_service.kernel.wire.imported import imported_of
from context_service.profiles.model import LearningState, StoredProfile
from context_service.profiles.pure.lookups import Counts
from context_service.profiles.rules.learning import Learning
from context_service.profiles.rules.profiles import OwnProfiles
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied


class CompressionProfilesServicer(context_windows_pb2_grpc.CompressionProfilesServicer):
    """Answers the RPCs of `CompressionProfiles`."""

    def __init__(
        self,
        profiles: OwnProfiles,
        learning: Learning,
    ) -> None:
        self._profiles = profiles
        self._learning = learning

    async def PutProfile(self, request: pb.PutProfileRequest, context: object) -> pb.PutProfileResponse:
        """Register a profile."""

        def response(profile: StoredProfile) -> pb.PutProfileResponse:
            return pb.PutProfileResponse(profile=_profile(replace(profile, text="")))

        profile = await self._profiles.put(
            request.name,
            request.text,
            principal=calls.principal(),
            request=request_of("PutProfile", request, response=response),
        )
        return response(profile)

    async def ListProfiles(self, request: pb.ListProfilesRequest, context: object) -> pb.ListProfilesResponse:
        """List profiles, or the versions of one."""
        if request.with_evidence:
            calls.require("admin")
        profiles, next_page_token = await self._profiles.page(
            request.name,
            PageRequest(size=request.page_size, token=request.page_token),
            principal=calls.principal(),
            with_text=request.with_text,
        )
        messages = [_profile(result, with_evidence=request.with_evidence) for result in profiles]
        return pb.ListProfilesResponse(profiles=messages, next_page_token=next_page_token)

    async def SetLearning(self, request: pb.SetLearningRequest, context: object) -> pb.SetLearningResponse:
        """Stop, resume or undo the learning of a profile."""

        def response(learning: LearningState) -> pb.SetLearningResponse:
            return copied(pb.SetLearningResponse, learning)

        learning = await self._learning.change(
            request.profile,
            request.app_id,
            is_frozen=request.is_frozen if request.HasField("is_frozen") else None,
            undoes=request.undo,
            principal=calls.principal(),
            request=request_of("SetLearning", request, response=response),
        )
        return response(learning)


def _profile(profile: StoredProfile, *, with_evidence: bool = False) -> pb.CompressionProfile:
    """Return a compression profile as protobuf. Profiles that come with the service have no version."""
    return copied(
        pb.CompressionProfile,
        profile,
        learned=_learned_message(profile, with_evidence=with_evidence),
        is_built_in=not profile.version,
        imported=imported_of(profile.imported_json),
    )


def _learned_message(profile: StoredProfile, *, with_evidence: bool) -> pb.LearnedProfile | None:
    """Return the factors that a profile learned, or None if it learned none.

    Args:
        profile: The profile.
        with_evidence: Whether the answer has the counts from which the factors were computed.
    """
    if profile.learned is None:
        return None
    counts = profile.evidence if with_evidence and profile.evidence else Counts()
    return copied(
        pb.LearnedProfile,
        profile,
        line_factors=profile.learned.lines,
        result_factors=profile.learned.results,
        line_counts={
            kind: pb.LearnedCount(seen=count.seen, asked=count.looked_up) for kind, count in counts.lines.items()
        },
        result_counts={
            rule: pb.LearnedCount(seen=count.seen, asked=count.looked_up) for rule, count in counts.results.items()
        },
    )
