"""The calls of profiles that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import context_windows_pb2 as context_windows_pb
from contextkeep.values import CompressionProfile, Learning


class Profiles(Noun):
    """Compression profiles."""

    async def put(
        self, name: str, text: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> CompressionProfile:
        """Register a compression profile under a name of the tenant.

        A profile is data: it says which lines of a log are worth keeping. The same content again is the same version;
        other content creates a new version. The name means the newest version; a window keeps the version with which it
        was opened. An app can register its profile at every start.

        Args:
            name: Up to 64 characters: a lowercase letter, then lowercase letters, digits, `_` and `-`.
            text: YAML or JSON of up to 256 KiB, as in docs/windows.md: `extends`, `high_importance`, `low_importance`,
                `preserve_verbatim`, `tool_output_trim`, `tool_clearing`, `planning_tools`, `words`, `state`. Patterns
                use the syntax of RE2: up to 400 patterns with up to 20,000 instructions together. YAML anchors and tags
                are not allowed.
            request_id: The same id again changes nothing and returns the same version.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the name is malformed, or belongs to a built-in profile; the text is not a valid profile,
                with the position of the error.
            LimitExceeded: `text`: 256 KiB; `profiles`: 100 of a tenant; `profile_versions`: 100 of a profile.
            PermissionDenied: the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = context_windows_pb.PutProfileRequest(
            name=name, text=text, request_id=messages.new_request_id(request_id)
        )
        answer: context_windows_pb.PutProfileResponse = await self._call("PutProfile", request, timeout_s=timeout_s)
        return CompressionProfile.from_proto(answer.profile)

    async def list(
        self,
        name: str = "",
        *,
        with_text: bool = False,
        with_evidence: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[CompressionProfile, None]:
        """List compression profiles by name, or all versions of one profile, newest first.

        The list includes built-in profiles. Callers who may see the app of a learned version get that version too.

        Args:
            name: Empty means all profiles, each in its newest version. A name means all versions of this profile.
            with_text: Return `text` too. A page then has up to 10 profiles.
            with_evidence: Return the counts behind learned versions too. Needs `admin`.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            PermissionDenied: `with_evidence` needs `admin`.
        """
        request = context_windows_pb.ListProfilesRequest(
            name=name, with_text=with_text, page_size=page_size, with_evidence=with_evidence
        )
        while True:
            page: context_windows_pb.ListProfilesResponse = await self._call(
                "ListProfiles", request, timeout_s=timeout_s
            )
            for item in page.profiles:
                yield CompressionProfile.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def set_learning(
        self,
        profile: str,
        app_id: str = "",
        *,
        is_frozen: bool | None = None,
        undo: bool = False,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Learning:
        """Freeze, resume or undo the learning of a profile from windows with `learning`.

        After an undo, new windows get the profile as it was registered, and all counts are deleted. Open windows keep
        their version. A request with only the profile and the app changes nothing and returns the current state. Needs
        `admin`.

        Args:
            profile: "general", "coding", "research", "operations", or a profile of the tenant: "mine" for its newest
                version, or "mine@3".
            app_id: The app of the windows. Empty means windows without an app.
            is_frozen: True stops counting and learning. None means no change.
            undo: Undo what was learned, and delete all counts.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the profile does not exist.
            LimitExceeded: `learnings`: 1,000 profiles and apps of a tenant.
            PermissionDenied: the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = context_windows_pb.SetLearningRequest(
            profile=profile,
            app_id=app_id,
            is_frozen=is_frozen,
            undo=undo,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.SetLearningResponse = await self._call("SetLearning", request, timeout_s=timeout_s)
        return Learning.from_proto(answer)
