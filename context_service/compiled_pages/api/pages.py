"""The proto service `CompiledPages`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from context_service.compiled_pages.model import (
    CompiledNode,
    CompileRequest,
    Counts,
    FacetInput,
    FacetNode,
    KeptFacet,
    KeptPage,
    NamedSource,
    PageFacet,
    Problem,
)
from context_service.compiled_pages.pure.definition import NAME_CHARS_MAX, DefinitionRules, FacetKind
from context_service.compiled_pages.rules.compile import NODES_MAX, Compiling
from context_service.compiled_pages.rules.pages import CompiledPages
from context_service.kernel.wire import times
from context_service.kernel.wire.node_names import NodeNames
from contextkeep.context.v1 import compiled_pages_pb2 as pb
from contextkeep.context.v1 import compiled_pages_pb2_grpc
from contextkeep.context.v1 import definitions_pb2 as definitions_pb
from contextkeep.errors import AnswerTooLarge
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.checks import check_count, check_text
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

ANSWER_BYTES_MAX = 4 * 1024 * 1024 - 64 * 1024  # gRPC takes messages up to 4 MiB

KINDS = {
    pb.FACET_KIND_OPERATIONAL: FacetKind.OPERATIONAL,
    pb.FACET_KIND_RELATIONSHIP: FacetKind.RELATIONSHIP,
    pb.FACET_KIND_COMPILED: FacetKind.COMPILED,
    pb.FACET_KIND_ACTIVITY: FacetKind.ACTIVITY,
    pb.FACET_KIND_KB: FacetKind.KB,
    pb.FACET_KIND_EXTERNAL: FacetKind.EXTERNAL,
}
NUMBER_OF_KIND = {kind: number for number, kind in KINDS.items()}


class CompiledPagesServicer(compiled_pages_pb2_grpc.CompiledPagesServicer):
    """Answers the RPCs of `CompiledPages`."""

    def __init__(self, compiling: Compiling, compiled_pages: CompiledPages, names: NodeNames) -> None:
        self._compiling = compiling
        self._compiled = compiled_pages
        self._names = names

    async def CompilePages(
        self, request: pb.CompilePagesRequest, context: object
    ) -> AsyncIterator[pb.CompilePagesResponse]:
        """Compile pages, and stream the progress."""
        check_text("definition_name", request.definition_name, chars_max=NAME_CHARS_MAX)
        check_count("node_ids", len(request.node_ids), NODES_MAX)
        compile_request = CompileRequest(
            definition_name=request.definition_name,
            node_ids=tuple(str(parse_id(f"node_ids[{at}]", node_id)) for at, node_id in enumerate(request.node_ids)),
        )
        async with aclosing(self._compiling.run(compile_request, principal=calls.principal())) as coming:
            async for counts in coming:
                yield _progress(counts)

    async def GetCompiledPage(self, request: pb.GetCompiledPageRequest, context: object) -> pb.GetCompiledPageResponse:
        """Read a page."""
        page = await self._compiled.read(parse_id("page_id", request.page_id), principal=calls.principal())
        response = pb.GetCompiledPageResponse(page=_page(page))
        if (size_bytes := response.ByteSize()) > ANSWER_BYTES_MAX:
            raise AnswerTooLarge(f"the page does not fit one response of {ANSWER_BYTES_MAX} bytes (has {size_bytes})")
        return response

    async def ListCompiledPages(
        self, request: pb.ListCompiledPagesRequest, context: object
    ) -> pb.ListCompiledPagesResponse:
        """List pages."""
        compiled_pages, token = await self._compiled.page(
            PageRequest(size=request.page_size, token=request.page_token),
            definition_name=request.definition_name,
            node_id=await self._names.optional_id_of("node_id", request.node_id, request),
            principal=calls.principal(),
        )
        return pb.ListCompiledPagesResponse(pages=map(_page, compiled_pages), next_page_token=token)

    async def PutFacet(self, request: pb.PutFacetRequest, context: object) -> pb.PutFacetResponse:
        """Add a facet to a page, or replace or delete an added one."""

        def response(facet: KeptFacet | None) -> pb.PutFacetResponse:
            return pb.PutFacetResponse(facet=_facet(facet) if facet else None)

        facet_input = request.facet
        facet = await self._compiled.put_facet(
            parse_id("page_id", request.page_id),
            copied(
                FacetInput,
                facet_input,
                kind=KINDS.get(facet_input.kind),
                confidence=facet_input.confidence if facet_input.HasField("confidence") else 1.0,
                as_of=times.time_of("facet.as_of", facet_input.as_of) if facet_input.HasField("as_of") else None,
                fresh_until=times.time_of("facet.fresh_until", facet_input.fresh_until)
                if facet_input.HasField("fresh_until")
                else None,
                source=NamedSource(label=facet_input.source_label, uri=facet_input.source_uri),
            ),
            principal=calls.principal(),
            request=request_of("PutFacet", request, response=response),
        )
        return response(facet)


def tried_page(rules: DefinitionRules, compiled_node: CompiledNode) -> definitions_pb.TestDefinitionResponse:
    """Return the page that the rules under test made, or why they made none.

    Raises:
        AnswerTooLarge: the page does not fit one message.
    """
    response = definitions_pb.TestDefinitionResponse(
        problems=map(_problem, compiled_node.problems), problems_left_out=compiled_node.problems_left_out
    )
    if compiled_node.page is not None:
        node = compiled_node.page.node
        response.page.MergeFrom(
            pb.CompiledPage(
                node_id=node.node_id,
                node_type=node.entity["type"],
                title=compiled_node.page.title,
                aliases=compiled_node.page.aliases,
                facets=map(_facet_message, compiled_node.page.facets),
                graph_name=node.graph_name,
                agent_bundle_id=node.agent_bundle_id,
                app_id=rules.app_id,
            )
        )
    if (size_bytes := response.ByteSize()) > ANSWER_BYTES_MAX:
        raise AnswerTooLarge(f"the page does not fit one response of {ANSWER_BYTES_MAX} bytes (has {size_bytes})")
    return response


def _progress(counts: Counts) -> pb.CompilePagesResponse:
    """Return the protobuf message of a compile's progress."""
    return copied(
        pb.CompilePagesResponse,
        counts,
        pages_written=counts.written,
        pages_unchanged=counts.unchanged,
        pages_removed=counts.removed,
        pages_failed=counts.failed,
        problems=map(_problem, counts.problems),
    )


def _problem(problem: Problem) -> pb.RuleProblem:
    return copied(pb.RuleProblem, problem)


def _facet_message(facet: PageFacet) -> pb.Facet:
    """Return the protobuf message of a facet that a definition made."""
    return pb.Facet(
        slug=facet.slug,
        heading=facet.heading,
        kind=NUMBER_OF_KIND[facet.kind],
        trust=facet.trust,
        text=facet.text,
        is_cut=facet.is_cut,
        confidence=facet.confidence,
        as_of=times.timestamp(facet.as_of),
        fresh_until=times.timestamp(facet.fresh_until) if facet.fresh_until else None,
        sources=map(_source, facet.sources),
        agent_bundle_ids=facet.bundles,
        is_declassified=facet.is_declassified,
    )


def _page(page: KeptPage) -> pb.CompiledPage:
    return copied(pb.CompiledPage, page, facets=map(_facet, page.facets))


def _facet(facet: KeptFacet) -> pb.Facet:
    """Return the protobuf message of a facet; a facet that a caller added has no version of a definition."""
    return copied(
        pb.Facet,
        facet,
        kind=NUMBER_OF_KIND[facet.kind],
        sources=map(_source, facet.sources),
        agent_bundle_ids=facet.bundles,
        definition_version=facet.definition_version if facet.compile_id else 0,
    )


def _source(source: FacetNode | NamedSource) -> pb.FacetSource:
    """Return the protobuf message of a facet's source: a named one, or a node with the edge that led to it."""
    if isinstance(source, NamedSource):
        return pb.FacetSource(label=source.label, uri=source.uri)
    return pb.FacetSource(
        node_id=source.node_id,
        node_version=source.node_version,
        edge_id=source.edge_id,
        edge_version=source.edge_version,
    )
