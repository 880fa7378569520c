"""Pages compiled by definitions."""

from __future__ import annotations

from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio._gen import compiled_pages as gen
from contextkeep.context.v1 import compiled_pages_pb2 as pb
from contextkeep.values import Facet, FacetKind


class CompiledPages(gen.CompiledPages):
    """Pages compiled by definitions."""

    async def put_facet(
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
        """Put a facet on a page, next to the compiled ones, and return it, or None if it was removed.

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
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            CompiledPageNotFound: there is none that you may see.
            InvalidArgument: something is missing, or malformed; the field is named.
            LimitExceeded: it is too long, or there are too many.
        """
        facet = pb.FacetInput(
            slug=slug,
            heading=heading,
            kind=messages.choice_of("facet.kind", kind, pb.FacetKind),
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
        response: pb.PutFacetResponse = await self._call("PutFacet", request, timeout_s=timeout_s)
        return Facet.from_proto(response.facet) if response.HasField("facet") else None
