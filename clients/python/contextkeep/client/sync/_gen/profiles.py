# Generated from aio/_gen/profiles.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of profiles that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import context_windows_pb2 as context_windows_pb
from contextkeep.values import CompressionProfile, Learning


class Profiles(Noun):
    """Compression profiles."""

    def put(
        self, name: str, text: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> CompressionProfile:
        """Registers a profile of compression under a name of the tenant's, as data.

        The same content again is the same version; other content is a new one. The name stands for what was put last; a
        window keeps the version that it was opened with. An app puts its profile when it starts.

        Args:
            name: Up to 64 characters: a small letter, and small letters, digits, `_` and `-`.
            text: YAML, or JSON, of up to 256 KiB, as docs/windows.md says: `extends`, `high_importance`,
                `low_importance`, `preserve_verbatim`, `tool_output_trim`, `words`, `state`. Patterns are RE2's, up to
                400, of up to 20,000 instructions together; no anchors and no tags.
            request_id: The same one again changes nothing, and answers the same version.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the name is no name, or of a profile that comes with the service; the text is no profile,
                and where.
            LimitExceeded: `text`: 256 KiB; `profiles`: 100 of a tenant; `profile_versions`: 100 of a profile.
            PermissionDenied: the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.PutProfileRequest(
            name=name, text=text, request_id=messages.new_request_id(request_id)
        )
        answer: context_windows_pb.PutProfileResponse = self._call("PutProfile", request, timeout_s=timeout_s)
        return CompressionProfile.from_proto(answer.profile)

    def list(
        self,
        name: str = "",
        *,
        with_text: bool = False,
        with_evidence: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[CompressionProfile, None, None]:
        """Lists compression profiles by name, or all versions of one, the newest first.

        Profiles that come with the service are listed, too. Those that were learned are among the versions, to whoever
        may see their app.

        Args:
            name: Empty: all, each as it was put last. Else of this one all versions.
            with_text: With `text`; a page has up to 10 then.
            with_evidence: With the counts of which versions follow that were learned. Needs `admin`.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            PermissionDenied: `with_evidence` needs `admin`.
        """
        request = context_windows_pb.ListProfilesRequest(
            name=name, with_text=with_text, page_size=page_size, with_evidence=with_evidence
        )
        while True:
            page: context_windows_pb.ListProfilesResponse = self._call("ListProfiles", request, timeout_s=timeout_s)
            for one in page.profiles:
                yield CompressionProfile.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def set_learning(
        self,
        profile: str,
        app_id: str = "",
        *,
        is_frozen: bool | None = None,
        undo: bool = False,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Learning:
        """Freezes, resumes or undoes what windows with `learning` teach of a profile.

        After an undo, windows that are opened get the profile as it was put, and nothing is left of the counts. Windows
        that are open keep what they have. With nothing said but the profile and the app it answers what is known. Needs
        `admin`.

        Args:
            profile: "general", "coding", "research", "operations", or one that was put: "mine", as it was put last, or
                "mine@3".
            app_id: Of whose windows; empty: of those of no app.
            is_frozen: Nothing more is counted and learned. None: as it is.
            undo: Undoes what was learned, and forgets what was counted.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: there is no such profile.
            LimitExceeded: `learnings`: 1,000 profiles and apps of a tenant.
            PermissionDenied: the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.SetLearningRequest(
            profile=profile,
            app_id=app_id,
            is_frozen=is_frozen,
            undo=undo,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.SetLearningResponse = self._call("SetLearning", request, timeout_s=timeout_s)
        return Learning.from_proto(answer)
