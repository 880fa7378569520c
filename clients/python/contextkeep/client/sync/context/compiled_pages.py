# Generated from aio/context/compiled_pages.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Pages compiled by definitions."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from datetime import datetime
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, FacetKind, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.values import CompiledPage, CompileProgress, Facet


class CompiledPages(Noun):
    """Pages compiled by definitions."""

    def compile(
        self,
        *,
        definition_name: str = "",
        node_ids: Iterable[Id] = (),
        timeout_s: float | None = None,
    ) -> Generator[CompileProgress, None, None]:
        """Compile pages of the graph as you see it, and yield how far it is; the last one is done.

        Left early, what it counted is stored, and the next compile goes on.

        Args:
            definition_name: All pages of this definition.
            node_ids: The pages of these nodes, up to 1,000. Neither of the two: what changed since the last compile.
            timeout_s: Deadline of the whole; None: there is none, as long as it goes on.

        Raises:
            DefinitionNotFound: there is no such definition, or it is not approved.
            CompileUnderWay: another compile of keys with the same bounds is.
            PermissionDenied: the key lacks the scope compile, or cannot read the graph.
        """
        request = pb.CompilePagesRequest(
            definition_name=definition_name, node_ids=[messages.to_id(one) for one in node_ids]
        )
        with closing(self._stream("CompilePages", request, timeout_s=timeout_s)) as answers:
            for answer in answers:
                yield CompileProgress.from_proto(answer)

    def get(self, page_id: Id, *, timeout_s: float | None = None) -> CompiledPage:
        """Return a page with the facets that you may see.

        Raises:
            CompiledPageNotFound: there is none that you may see.
        """
        request = pb.GetCompiledPageRequest(page_id=messages.to_id(page_id))
        response: pb.GetCompiledPageResponse = self._call("GetCompiledPage", request, timeout_s=timeout_s)
        return CompiledPage.from_proto(response.page)

    def list(
        self,
        definition_name: str = "",
        *,
        node_id: Id | None = None,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[CompiledPage, None, None]:
        """Yield pages that you may see, without their facets, by the name of their definition, following the pages.

        Args:
            definition_name: Only those of this definition. Empty: all.
            node_id: Only those of this node. None: all.
            page_size: Pages of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: no node has the external id.
        """
        request = pb.ListCompiledPagesRequest(
            definition_name=definition_name, node_id=messages.to_id(node_id), page_size=page_size, **named
        )
        while True:
            page: pb.ListCompiledPagesResponse = self._call("ListCompiledPages", request, timeout_s=timeout_s)
            for one in page.pages:
                yield CompiledPage.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def put_facet(
        self,
        page_id: Id,
        slug: str,
        text: str,
        *,
        heading: str = "",
        kind: FacetKind | None = None,
        confidence: float = 1.0,
        as_of: datetime | None = None,
        fresh_until: datetime | None = None,
        source_label: str = "",
        source_uri: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Facet | None:
        """Put a facet on a page beside those that are compiled, and return it; None: it is gone.

        Args:
            page_id: The page.
            slug: What it is known by; the one that was put by this name is replaced.
            text: Up to 64 KiB. Empty: it goes, and the rest need not be said.
            heading: What stands above it.
            kind: What it is, and so how far it is trusted.
            confidence: How sure it is, 0 to 1.
            as_of: As of when it holds; None: now.
            fresh_until: Until when it is good; None: until it is put again.
            source_label: What it is from, or `source_uri`, or both.
            source_uri: Likewise.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            CompiledPageNotFound: there is none that you may see.
            InvalidArgument: something is missing, or malformed; the field is named.
            LimitExceeded: it is too long, or there are too many.
        """
        facet = pb.FacetInput(
            slug=slug,
            heading=heading,
            kind=None if kind is None else messages.choice("facet.kind", kind, messages.FACET_KINDS),
            text=text,
            confidence=confidence,
            as_of=messages.to_timestamp("facet.as_of", as_of),
            fresh_until=messages.to_timestamp("facet.fresh_until", fresh_until),
            source_label=source_label,
            source_uri=source_uri,
        )
        request = pb.PutFacetRequest(
            page_id=messages.to_id(page_id), facet=facet, request_id=messages.new_request_id(request_id)
        )
        response: pb.PutFacetResponse = self._call("PutFacet", request, timeout_s=timeout_s)
        return Facet.from_proto(response.facet) if response.HasField("facet") else None
