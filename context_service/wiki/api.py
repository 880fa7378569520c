"""The proto service `Pages`: parse, one call, render."""

from __future__ import annotations

from typing import Protocol

from context_service.contexts.wire.requests import somebody_of
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from context_service.retrieval.model import WIKI
from context_service.wiki.model import Page, PageInput, PageName, PageSource
from context_service.wiki.rules.pages import Pages
from contextkeep.context.v1 import pages_pb2 as pb
from contextkeep.context.v1 import pages_pb2_grpc
from service_runtime.inputs.pages import PageRequest
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id


class PagesServicer(pages_pb2_grpc.PagesServicer):
    """Answers the RPCs of `Pages`."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def PutPage(self, request: pb.PutPageRequest, context: object) -> pb.PutPageResponse:
        """Write a page."""

        def response(page: Page) -> pb.PutPageResponse:
            return pb.PutPageResponse(page=_page(page))

        page = await self._pages.put(
            _input(request.page),
            expected_version=request.expected_version if request.HasField("expected_version") else None,
            principal=somebody_of(request.subject_user_id),
            request=request_of("PutPage", request, response=response),
        )
        return response(page)

    async def GetPage(self, request: pb.GetPageRequest, context: object) -> pb.GetPageResponse:
        """Read a page."""
        page = await self._pages.read(
            _name(request), version=request.version, principal=somebody_of(request.subject_user_id)
        )
        return pb.GetPageResponse(page=_page(page, whole=True))

    async def ListPages(self, request: pb.ListPagesRequest, context: object) -> pb.ListPagesResponse:
        """List the pages of a user."""
        pages, next_page_token = await self._pages.page(
            PageRequest(size=request.page_size, token=request.page_token),
            prefix=request.slug_prefix,
            memory_id=parse_optional_id("memory_id", request.memory_id),
            principal=somebody_of(request.subject_user_id),
        )
        return pb.ListPagesResponse(pages=map(_page, pages), next_page_token=next_page_token)

    async def ListPageVersions(
        self, request: pb.ListPageVersionsRequest, context: object
    ) -> pb.ListPageVersionsResponse:
        """List the versions of a page."""
        page_versions, next_page_token = await self._pages.versions(
            _name(request),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=somebody_of(request.subject_user_id),
        )
        versions = [
            copied(pb.PageVersion, version, written_by=version.created_by, imported=imported_of(version.imported_json))
            for version in page_versions
        ]
        return pb.ListPageVersionsResponse(versions=versions, next_page_token=next_page_token)

    async def DeletePage(self, request: pb.DeletePageRequest, context: object) -> pb.DeletePageResponse:
        """Remove a page."""
        await self._pages.delete(
            _name(request),
            expected_version=request.expected_version if request.HasField("expected_version") else None,
            principal=somebody_of(request.subject_user_id),
            request=request_of("DeletePage", request, response=lambda _: pb.DeletePageResponse()),
        )
        return pb.DeletePageResponse()


class _Names(Protocol):
    """A request that names a page."""

    page_id: str
    slug: str
    app_id: str
    agent_bundle_id: str


def _name(request: _Names) -> PageName:
    return copied(PageName, request, page_id=parse_optional_id("page_id", request.page_id))


def _input(message: pb.PageInput) -> PageInput:
    """Return the page that a request has.

    Raises:
        InvalidArgument: the id of a memory, or a time, is malformed.
    """
    return copied(
        PageInput,
        message,
        aliases=tuple(message.aliases),
        sources=[copied(PageSource, source) for source in message.sources],
        memory_ids=[
            parse_id(f"page.memory_ids[{number}]", memory_id) for number, memory_id in enumerate(message.memory_ids)
        ],
        fresh_until=times.time_of("page.fresh_until", message.fresh_until) if message.HasField("fresh_until") else None,
    )


def _page(page: Page, *, whole: bool = False) -> pb.Page:
    """Return the protobuf message of a page; only with `whole`, it has the text and the sources."""
    return copied(
        pb.Page,
        page,
        family=WIKI,
        markdown=page.markdown if whole else "",
        sources=[copied(pb.PageSource, source) for source in page.sources] if whole else (),
        state=pb.PAGE_STATE_STALE if page.stale else pb.PAGE_STATE_FRESH,
        imported=imported_of(page.imported_json),
    )
