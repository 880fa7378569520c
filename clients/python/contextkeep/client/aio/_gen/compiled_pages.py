"""The calls of compiled_pages that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import datetime
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import compiled_pages_pb2 as compiled_pages_pb
from contextkeep.values import CompileProgress, CompiledPage, Facet, FacetKind


class CompiledPages(Noun):
    """Pages compiled by definitions."""

    async def compile(
        self, *, definition_name: str = "", node_ids: Iterable[Id] = (), timeout_s: float | None = None
    ) -> AsyncGenerator[CompileProgress, None]:
        """Compile pages from the graph by the approved definitions.

        It sees the graph as the caller does. Each node whose type a definition names has a page. The stream reports the
        progress; everything that it counts is stored. Needs the scope `compile`, and `read` for the graph.

        Pages belong to an audience: the bounds of the key that compiled them. A key with other bounds compiles its own
        pages. Access to a facet does not depend on the key that compiled it: a caller sees the facet if it may see
        everything that was read for it.

        Without a definition or nodes, the compile continues after the last one: it reads the changes since then, and
        compiles only the pages that depend on them. It reads all nodes of a definition whose approved version was not
        compiled yet. It reads all nodes of all definitions if the change log is not kept or has expired. A page is
        deleted when the change log says that its node was removed, or when the compile reads the node and it has no
        page any more. If a compile of all nodes does not see the node of a page, the page stays and is marked as out of
        date.

        One compile per audience runs at a time. A compile that ends early has stored everything that it counted, and
        the next one continues there; no page is half written. A compile whose process died blocks others for one
        minute.

        Args:
            definition_name: Compile all pages of this definition, changed or not. Not together with `node_ids`.
            node_ids: Compile the pages of these nodes, up to 1,000. With neither this nor `definition_name`: the pages
                of everything that changed since the last compile by keys with the same bounds.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            DefinitionNotFound: there is no such definition, or it is not approved.
            CompileUnderWay: another compile of the audience runs, or this one made no progress for a minute and another
                one began.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            Unavailable: The service, or a dependency of it, does not answer.
        """
        request = compiled_pages_pb.CompilePagesRequest(
            definition_name=definition_name, node_ids=messages.ids("node_ids", node_ids)
        )
        async with aclosing(self._stream("CompilePages", request, timeout_s=timeout_s)) as answers:
            async for answer in answers:
                yield CompileProgress.from_proto(answer)

    async def get(self, page_id: Id, *, timeout_s: float | None = None) -> CompiledPage:
        """Read a compiled page, with the facets that the caller may see.

        Args:
            page_id: The page to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            CompiledPageNotFound: there is no such page, it is outside the key's bounds, or its definition is no longer
                approved.
        """
        request = compiled_pages_pb.GetCompiledPageRequest(page_id=messages.to_id(page_id))
        answer: compiled_pages_pb.GetCompiledPageResponse = await self._call(
            "GetCompiledPage", request, timeout_s=timeout_s
        )
        return CompiledPage.from_proto(answer.page)

    async def list(
        self,
        definition_name: str = "",
        *,
        node_id: Id | None = None,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[CompiledPage, None]:
        """List compiled pages, without their facets.

        Args:
            definition_name: Only pages of this definition. Empty: all.
            node_id: Only pages of this node. Empty: all.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            NodeNotFound: no node has this `external_id`.
            Unavailable: the Entity Service does not answer; only with an `external_id`.
        """
        request = compiled_pages_pb.ListCompiledPagesRequest(
            definition_name=definition_name, node_id=messages.to_id(node_id), page_size=page_size, **named
        )
        while True:
            page: compiled_pages_pb.ListCompiledPagesResponse = await self._call(
                "ListCompiledPages", request, timeout_s=timeout_s
            )
            for item in page.pages:
                yield CompiledPage.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def put_facet(
        self,
        page_id: Id,
        slug: str,
        text: str = "",
        *,
        heading: str = "",
        kind: FacetKind | None = None,
        confidence: float | None = None,
        as_of: datetime | None = None,
        fresh_until: datetime | None = None,
        source_label: str = "",
        source_uri: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Facet | None:
        """Add a facet by hand to a compiled page, or replace the added facet with the same slug.

        The facet has the access rules of the page, stays when the page is compiled again, and is deleted with the page.

        Args:
            page_id: The page to add the facet to.
            slug: The id of the facet, as in FacetRules. Facets of the definition may have the same slug.
            text: The text, up to 64 KiB. Empty: delete the facet.
            heading: Heading of the facet. Required, up to 200 characters.
            kind: The kind, which determines how far the facet is trusted.
            confidence: Confidence in the text, from 0 to 1. Absent: 1.
            as_of: When the text was true. Absent: now.
            fresh_until: When the facet becomes out of date. Absent: when it is put again.
            source_label: A label of the source, up to 500 characters. Required, unless `source_uri` is set or `text` is
                empty.
            source_uri: The address of the source, up to 2,000 characters. Required, unless `source_label` is set or
                `text` is empty.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            CompiledPageNotFound: No compiled page that the caller may see has this id, or its definition is no longer
                approved.
            LimitExceeded: also the limit `facets`: 32 added facets per page.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = compiled_pages_pb.PutFacetRequest(
            page_id=messages.to_id(page_id),
            facet=compiled_pages_pb.FacetInput(
                slug=slug,
                heading=heading,
                kind=messages.choice_of("facet.kind", kind, compiled_pages_pb.FacetKind),
                text=text,
                confidence=confidence,
                as_of=messages.to_timestamp("facet.as_of", as_of),
                fresh_until=messages.to_timestamp("facet.fresh_until", fresh_until),
                source_label=source_label,
                source_uri=source_uri,
            ),
            request_id=messages.new_request_id(request_id),
        )
        answer: compiled_pages_pb.PutFacetResponse = await self._call("PutFacet", request, timeout_s=timeout_s)
        return Facet.from_proto(answer.facet) if answer.HasField("facet") else None
