"""The calls of compiled_pages that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import definitions_pb2 as definitions_pb
from contextkeep.values import CompileProgress, CompiledPage


class CompiledPages(Noun):
    """The calls of `client.compiled_pages` that are one RPC each."""

    async def compile(
        self, *, definition_name: str = "", node_ids: Iterable[Id] = (), timeout_s: float | None = None
    ) -> AsyncGenerator[CompileProgress, None]:
        """Compiles pages of the graph by the definitions that are approved, as the caller sees the graph.

        Each node of their types has a page. Messages say how far it is; what they count is stored. Needs the scope
        `compile`, and `read` for the graph.

        Pages belong to the audience that compiled them, which is the bounds of the key: a key with other bounds
        compiles pages of its own. Who may see a facet is another matter: whoever may see all that was read for it,
        whoever compiled it.

        Without a definition or nodes it goes on behind the last one: it reads what changed since, and compiles the
        pages that depend on that, and no others. All nodes are read of a definition that was not compiled in its
        approved version yet, and of all definitions where changes are not kept or are forgotten. A page goes when its
        node is removed, as the list of changes says it, or when it was read and has none any more. One whose node a
        compile of all nodes does not see stays, and says that it is out of date.

        One compile of an audience is under way at a time. One that ends early has stored what it counted, and the next
        goes on: nothing is half written. One whose service died keeps others out for a minute.

        Args:
            definition_name: Of one definition, all pages, changed or not. Not beside `node_ids`.
            node_ids: The pages of these nodes, up to 1,000. Neither of the two: all that changed since the last compile
                of keys with the same bounds.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            DefinitionNotFound: also: it is not approved.
            CompileUnderWay: also: this one stood still for a minute, and another one began.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            Unavailable: A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again.
        """
        request = definitions_pb.CompilePagesRequest(
            definition_name=definition_name, node_ids=messages.ids("node_ids", node_ids)
        )
        async with aclosing(self._stream("CompilePages", request, timeout_s=timeout_s)) as answers:
            async for answer in answers:
                yield CompileProgress.from_proto(answer)

    async def get(self, page_id: Id, *, timeout_s: float | None = None) -> CompiledPage:
        """Reads a page that was compiled, with the facets that the caller may see.

        They have RPCs of their own: such a page is its tenant's, made of facets with walls each, and has no Markdown
        and no versions; a page of a wiki is a user's, and has no facets.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            CompiledPageNotFound: also: outside of the key's bounds, or its definition is not approved any more.
        """
        request = definitions_pb.GetCompiledPageRequest(page_id=messages.to_id(page_id))
        answer: definitions_pb.GetCompiledPageResponse = await self._call(
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
        """Lists pages that were compiled, without their facets.

        Args:
            definition_name: Empty: of all.
            node_id: Only those of this node. Empty: of all.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            NodeNotFound: No node has this id, external id or name.
            Unavailable: A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again.
        """
        request = definitions_pb.ListCompiledPagesRequest(
            definition_name=definition_name, node_id=messages.to_id(node_id), page_size=page_size, **named
        )
        while True:
            page: definitions_pb.ListCompiledPagesResponse = await self._call(
                "ListCompiledPages", request, timeout_s=timeout_s
            )
            for one in page.pages:
                yield CompiledPage.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
