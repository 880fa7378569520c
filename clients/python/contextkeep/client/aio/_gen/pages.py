"""The calls of pages that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import knowledge_pb2 as knowledge_pb
from contextkeep.values import PageSource, PageVersion, WikiPage


class Pages(Noun):
    """Wiki pages of a user: the key's, or `subject_user_id`, for which a key needs the scope `delegate`."""

    async def put(
        self,
        title: str,
        markdown: str,
        *,
        slug: str = "",
        aliases: Iterable[str] = (),
        sources: Iterable[PageSource] = (),
        memory_ids: Iterable[Id] = (),
        fresh_until: datetime | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        expected_version: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> WikiPage:
        """Writes a page of a user's wiki, whole: a new one, or the next version of the one that has its slug.

        When this is answered, the page is stored, and what it says is found by its words, section by section; what the
        version before said is found no more. The newest 50 versions are kept (of up to 16 MiB together). The same
        content again is no new version: the page then is said to hold as of now.

        A slug, and an alias in any case and spacing, leads to one page among those of its user, app and agent bundle:
        `PageNameTaken` if one of them leads to another.

        Of every RPC about pages: a page is always a user's, as memories are: `SubjectRequired` without one. A page of
        another user or tenant, outside of what the key is bound to, deleted, or invented is `PageNotFound`, all alike.

        Args:
            title: Not blank, up to 200 characters.
            markdown: Not blank, up to 1 MiB, with up to 2,000 headings (`#`).
            slug: Small letters and digits, with single marks (- _ . /) between, up to 128 characters: "customers/acme-
                corp". Empty: made of the title.
            aliases: What it is called besides, up to 20 of 200 characters: found with the page, and each leads to it.
            sources: What it was made of, up to 100.
            memory_ids: The memories that it rests on, up to 200.
            fresh_until: Until when it is good. None: as long as what it cites is.
            app_id: Empty: the only one that the key is bound to, else none.
            expected_version: What the writer has read; 0: there is no such page yet. None: whatever there is.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers the same version, and writes nothing.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the violation names the field: a slug that is none, a blank title or Markdown.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            PageNameTaken: A slug or an alias leads to another page: its `slug` in the metadata.
            VersionConflict: another version than `expected_version`.
            PageNotFound: one is expected, and there is none.
            MemoryNotFound: the page would cite one that is not there.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = knowledge_pb.PutPageRequest(
            page=knowledge_pb.PageInput(
                slug=slug,
                title=title,
                markdown=markdown,
                aliases=messages.texts("page.aliases", aliases),
                sources=[one.to_proto() for one in sources],
                memory_ids=messages.ids("page.memory_ids", memory_ids),
                fresh_until=messages.to_timestamp("page.fresh_until", fresh_until),
                app_id=app_id,
                agent_bundle_id=agent_bundle_id,
            ),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: knowledge_pb.PutPageResponse = await self._call("PutPage", request, timeout_s=timeout_s)
        return WikiPage.from_proto(answer.page)

    async def get(
        self,
        slug: str = "",
        *,
        page_id: Id | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        version: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> WikiPage:
        """Reads a page in its newest version, or in one that is kept.

        Args:
            slug: A slug or an alias.
            page_id: Either this, or `slug`.
            app_id: Where the slug is looked for. Empty: the only one that the key is bound to, else pages of none.
            version: 0: the newest.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: both `page_id` and `slug`, or neither.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            PageNotFound: also: it has not this version, or not any more.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = knowledge_pb.GetPageRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            version=version,
            subject_user_id=subject_user_id,
        )
        answer: knowledge_pb.GetPageResponse = await self._call("GetPage", request, timeout_s=timeout_s)
        return WikiPage.from_proto(answer.page)

    async def list(
        self,
        slug_prefix: str = "",
        *,
        memory_id: Id | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[WikiPage, None]:
        """Lists the pages of a user by slug, each in its newest version, without what it says.

        Args:
            slug_prefix: Only those whose slug begins with it: "customers/". Up to 128 characters.
            memory_id: Only those that cite this memory.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = knowledge_pb.ListPagesRequest(
            slug_prefix=slug_prefix,
            memory_id=messages.to_id(memory_id),
            page_size=page_size,
            subject_user_id=subject_user_id,
        )
        while True:
            page: knowledge_pb.ListPagesResponse = await self._call("ListPages", request, timeout_s=timeout_s)
            for one in page.pages:
                yield WikiPage.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def list_versions(
        self,
        slug: str = "",
        *,
        page_id: Id | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[PageVersion, None]:
        """Lists the versions of a page that are kept, the newest first.

        Args:
            page_id: As of `pages.get`.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            PageNotFound: There is no page of this id or name that the caller may see, or it has not this version, or
                not any more.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = knowledge_pb.ListPageVersionsRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            page_size=page_size,
            subject_user_id=subject_user_id,
        )
        while True:
            page: knowledge_pb.ListPageVersionsResponse = await self._call(
                "ListPageVersions", request, timeout_s=timeout_s
            )
            for one in page.versions:
                yield PageVersion.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(
        self,
        slug: str = "",
        *,
        page_id: Id | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        expected_version: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Removes a page, for good, with all its versions.

        Args:
            page_id: As of `pages.get`.
            expected_version: None: whatever it is.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            PageNotFound: There is no page of this id or name that the caller may see, or it has not this version, or
                not any more.
            VersionConflict: `expected_version` is not the current version: `version` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = knowledge_pb.DeletePageRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        await self._call("DeletePage", request, timeout_s=timeout_s)
