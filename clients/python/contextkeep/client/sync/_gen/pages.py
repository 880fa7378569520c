# Generated from aio/_gen/pages.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of pages that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import pages_pb2 as pages_pb
from contextkeep.values import PageSource, PageVersion, WikiPage


class Pages(Noun):
    """Wiki pages of a user: the key's, or `subject_user_id`, for which a key needs the scope `delegate`."""

    def put(
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
        """Write a whole page of a user's wiki: a new page, or the next version of the page with the same slug.

        After the answer, the page is stored and a search by words finds its sections; the text of the version before is
        not found any more. The service keeps the newest 50 versions, up to 16 MiB together. A put of unchanged content
        makes no new version; it only renews `as_of`.

        Among the pages of a user, app and agent bundle, each slug and each alias leads to one page; aliases ignore case
        and spacing. If another page has the slug or an alias, the call fails with `PageNameTaken`.

        Args:
            title: The title: not blank, up to 200 characters.
            markdown: The text: not blank, up to 1 MiB, with up to 2,000 headings (`#`).
            slug: Lowercase letters and digits, with single marks (- _ . /) between them, up to 128 characters:
                "customers/acme-corp". Empty: made from the title.
            aliases: Other names of the page, up to 20 of up to 200 characters each. A search for an alias finds the
                page, and `pages.get` accepts an alias in place of the slug.
            sources: Sources of the page, up to 100.
            memory_ids: The memories that the page rests on, up to 200.
            fresh_until: When the page becomes out of date. None: only when a memory that it cites changes.
            app_id: The app that the page belongs to. Empty: the app that the key is bound to if it is only one, else
                none.
            agent_bundle_id: The agent bundle that the page belongs to. Empty: the bundle that the key is bound to, else
                none.
            expected_version: Write only if the page has this version; 0: only if there is no such page yet. None: write
                in any case.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. A repeat with the same id answers the same version and writes nothing.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the violation names the field: the slug is not valid, the title or Markdown is blank.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PageNameTaken: Another page has this slug, as its own or as an alias.
            VersionConflict: the page has another version than `expected_version`.
            PageNotFound: `expected_version` is set, and there is no such page.
            MemoryNotFound: a cited memory does not exist.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = pages_pb.PutPageRequest(
            page=pages_pb.PageInput(
                slug=slug,
                title=title,
                markdown=markdown,
                aliases=messages.texts("page.aliases", aliases),
                sources=[item.to_proto() for item in sources],
                memory_ids=messages.ids("page.memory_ids", memory_ids),
                fresh_until=messages.to_timestamp("page.fresh_until", fresh_until),
                app_id=app_id,
                agent_bundle_id=agent_bundle_id,
            ),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: pages_pb.PutPageResponse = self._call("PutPage", request, timeout_s=timeout_s)
        return WikiPage.from_proto(answer.page)

    def get(
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
        """Read the newest version of a page, or an older version that is still kept.

        Args:
            slug: A slug or an alias.
            page_id: The page. Give either this or `slug`.
            app_id: The app to look up the slug in. Empty: the app that the key is bound to if it is only one, else
                pages without an app.
            agent_bundle_id: The agent bundle to look up the slug in. Empty: the bundle that the key is bound to, else
                pages without a bundle.
            version: The version to read. 0: the newest.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: both `page_id` and `slug`, or neither.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PageNotFound: there is no such page, or it does not have this version, or no longer has it.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = pages_pb.GetPageRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            version=version,
            subject_user_id=subject_user_id,
        )
        answer: pages_pb.GetPageResponse = self._call("GetPage", request, timeout_s=timeout_s)
        return WikiPage.from_proto(answer.page)

    def list(
        self,
        slug_prefix: str = "",
        *,
        memory_id: Id | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[WikiPage, None, None]:
        """List the newest versions of a user's pages by slug, without their Markdown.

        Args:
            slug_prefix: Only pages whose slug begins with this text, such as "customers/". Up to 128 characters.
            memory_id: Only pages that cite this memory.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = pages_pb.ListPagesRequest(
            slug_prefix=slug_prefix,
            memory_id=messages.to_id(memory_id),
            page_size=page_size,
            subject_user_id=subject_user_id,
        )
        while True:
            page: pages_pb.ListPagesResponse = self._call("ListPages", request, timeout_s=timeout_s)
            for item in page.pages:
                yield WikiPage.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list_versions(
        self,
        slug: str = "",
        *,
        page_id: Id | None = None,
        app_id: str = "",
        agent_bundle_id: str = "",
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[PageVersion, None, None]:
        """List the kept versions of a page, newest first.

        Args:
            slug: A slug or an alias.
            page_id: The page, as in `pages.get`: give either this or `slug`.
            app_id: The app to look up the slug in, as in `pages.get`.
            agent_bundle_id: The agent bundle to look up the slug in, as in `pages.get`.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PageNotFound: No page that the caller may see has this id or name, or the page no longer has this version.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = pages_pb.ListPageVersionsRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            page_size=page_size,
            subject_user_id=subject_user_id,
        )
        while True:
            page: pages_pb.ListPageVersionsResponse = self._call("ListPageVersions", request, timeout_s=timeout_s)
            for item in page.versions:
                yield PageVersion.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(
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
        """Delete a page for good, with all its versions.

        Args:
            slug: A slug or an alias.
            page_id: The page, as in `pages.get`: give either this or `slug`.
            app_id: The app to look up the slug in, as in `pages.get`.
            agent_bundle_id: The agent bundle to look up the slug in, as in `pages.get`.
            expected_version: Delete the page only if it has this version. None: any version.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PageNotFound: No page that the caller may see has this id or name, or the page no longer has this version.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = pages_pb.DeletePageRequest(
            page_id=messages.to_id(page_id),
            slug=slug,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        self._call("DeletePage", request, timeout_s=timeout_s)
