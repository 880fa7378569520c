"""Wiki pages about a user."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import knowledge_pb2 as knowledge_pb
from contextkeep.values import PageSource, PageVersion, WikiPage


class Pages(Noun):
    """Wiki pages.

    They are always a user's: a key without a user names him in `subject_user_id`, for which it needs the scope
    `delegate`; else it is `SubjectRequired`. Another's page, and one that is not there at all, is `PageNotFound`.
    """

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
        expected_version: int | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> WikiPage:
        """Write a page of a user's wiki, whole, and return it without what it says.

        Args:
            title: Not blank, up to 200 characters.
            markdown: All that it says, up to 1 MiB. The same again is no new version: the page holds as of now.
            slug: By which it is known, such as "customers/acme". Empty: made of the title.
            aliases: What it is called besides.
            sources: What it was made of.
            memory_ids: Memories that it rests on: when one is changed, superseded or forgotten, the page is stale.
            fresh_until: Until when it is good, with its zone. None: as long as what it cites is.
            expected_version: What the writer has read; 0: there is no such page yet. None: whatever there is.
            app_id: Empty: the only one that the key is bound to, else none.
            agent_bundle_id: Likewise.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers the same version. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: it is no page; the field is named.
            PageNameTaken: its slug or an alias leads to another page.
            VersionConflict: there is another version than the one that is expected.
            MemoryNotFound: it would cite one that is not there.
            SubjectRequired: there is no user.
            LimitExceeded: it is too large, or the user has too many.
            PermissionDenied: the user, the app or the agent bundle is another one's.
        """
        request = knowledge_pb.PutPageRequest(
            page=knowledge_pb.PageInput(
                slug=slug,
                title=title,
                markdown=markdown,
                aliases=aliases,
                sources=[one.to_proto() for one in sources],
                memory_ids=map(messages.to_id, memory_ids),
                fresh_until=messages.to_timestamp("page.fresh_until", fresh_until),
                app_id=app_id,
                agent_bundle_id=agent_bundle_id,
            ),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: knowledge_pb.PutPageResponse = await self._call("PutPage", request, timeout_s=timeout_s)
        return WikiPage.from_proto(response.page)

    async def get(
        self,
        slug: str = "",
        *,
        page_id: Id = "",
        version: int = 0,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> WikiPage:
        """Return a page.

        Args:
            slug: Or an alias.
            page_id: Instead of them.
            version: One that is kept. 0: the newest.
            app_id: Where the slug is looked for. Empty: the only one that the key is bound to, else pages of none.
            agent_bundle_id: Likewise.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            PageNotFound: there is none, or it has not this version, or not any more.
        """
        request = knowledge_pb.GetPageRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            version=version,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            subject_user_id=subject_user_id,
        )
        response: knowledge_pb.GetPageResponse = await self._call("GetPage", request, timeout_s=timeout_s)
        return WikiPage.from_proto(response.page)

    async def list(
        self,
        slug_prefix: str = "",
        *,
        memory_id: Id = "",
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[WikiPage, None]:
        """Yield the pages of a user by slug, without what they say, following the pages of the list.

        Args:
            slug_prefix: Only those whose slug begins with it, such as "customers/".
            memory_id: Only those that cite this memory.
            subject_user_id: For which user a key without one calls.
            page_size: Of one call; 0: 100.
            timeout_s: Deadline of one call; None: the client's.
        """
        request = knowledge_pb.ListPagesRequest(
            slug_prefix=slug_prefix,
            memory_id=messages.to_id(memory_id),
            subject_user_id=subject_user_id,
            page_size=page_size,
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
        page_id: Id = "",
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[PageVersion, None]:
        """Yield the versions of a page that are kept, the newest first; its names are those of `get`.

        Raises:
            PageNotFound: there is no such page.
        """
        request = knowledge_pb.ListPageVersionsRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            subject_user_id=subject_user_id,
            page_size=page_size,
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
        page_id: Id = "",
        expected_version: int | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Remove a page, for good, with all its versions; its names are those of `get`.

        Raises:
            PageNotFound: there is no such page.
            VersionConflict: there is another version than the one that is expected.
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
