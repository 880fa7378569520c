"""Compression profiles, and what windows teach of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.values import (
    CompressionProfile,
    Learning,
)


class Profiles(Noun):
    """Compression profiles."""

    async def put(
        self, name: str, text: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> CompressionProfile:
        """Register a profile of compression, and return it without its text.

        The same content again is the same version. The name stands for what was put last.

        Args:
            name: A small letter, and small letters, digits, `_` and `-`; none of a profile that comes with the service.
            text: YAML, or JSON, up to 256 KiB: docs/windows.md says of what form.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the name is no name, or the text no profile: it says where.
            LimitExceeded: it is too large, or there are too many.
        """
        request = windows_pb.PutProfileRequest(name=name, text=text, request_id=messages.new_request_id(request_id))
        response: windows_pb.PutProfileResponse = await self._call("PutProfile", request, timeout_s=timeout_s)
        return CompressionProfile.from_proto(response.profile)

    async def list(
        self,
        name: str = "",
        *,
        with_text: bool = False,
        with_evidence: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[CompressionProfile, None]:
        """Yield the profiles of compression by name, each as it was put last, following the pages.

        Args:
            name: Of this one all versions, the newest first, those that were learned, too. Empty: all.
            with_text: With what they say.
            with_evidence: With the counts of which those follow that were learned. Needs `admin`.
            page_size: Profiles of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = windows_pb.ListProfilesRequest(
            name=name, with_text=with_text, with_evidence=with_evidence, page_size=page_size
        )
        while True:
            page: windows_pb.ListProfilesResponse = await self._call("ListProfiles", request, timeout_s=timeout_s)
            for profile in page.profiles:
                yield CompressionProfile.from_proto(profile)
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
        """Freeze what windows teach of a profile, let them go on, or undo it, and return what is known then.

        Needs `admin`. Windows that are open keep the version that they have.

        Args:
            profile: "general", "coding", "research", "operations", or one that was put: "mine", or "mine@3".
            app_id: Of whose windows. Empty: of those of no app.
            is_frozen: Nothing more is counted and learned. None: as it is.
            undo: Undo what was learned, and forget what was counted.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: there is no such profile.
        """
        request = windows_pb.SetLearningRequest(
            profile=profile,
            app_id=app_id,
            is_frozen=is_frozen,
            undo=undo,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.SetLearningResponse = await self._call("SetLearning", request, timeout_s=timeout_s)
        return Learning.from_proto(response)
