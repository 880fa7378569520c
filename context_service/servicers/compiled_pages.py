"""Pages that were compiled of nodes, as they travel."""

from __future__ import annotations

from context_service.knowledge.definition import DefinitionRules, FacetKind
from context_service.knowledge.making import Made, MadeFacet
from context_service.servicers import wire
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.errors import AnswerTooLarge

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


def tried_page(rules: DefinitionRules, made: Made) -> pb.TestDefinitionResponse:
    """Return what came of rules that were tried.

    Raises:
        AnswerTooLarge: the page does not fit one message.
    """
    response = pb.TestDefinitionResponse(
        problems=[pb.RuleProblem(rule=one.rule, node_id=one.node_id, error=one.error) for one in made.problems],
        problems_left_out=made.problems_left_out,
    )
    if made.page is not None:
        node = made.page.node
        response.page.MergeFrom(
            pb.CompiledPage(
                node_id=node.node_id,
                node_type=node.entity["type"],
                title=made.page.title,
                aliases=made.page.aliases,
                facets=map(_made_facet, made.page.facets),
                graph_name=node.graph_name,
                agent_bundle_id=node.agent_bundle_id,
                app_id=rules.app_id,
            )
        )
    if response.ByteSize() > ANSWER_BYTES_MAX:
        raise AnswerTooLarge("the page does not fit one answer")
    return response


def _made_facet(facet: MadeFacet) -> pb.Facet:
    return pb.Facet(
        slug=facet.slug,
        heading=facet.heading,
        kind=NUMBER_OF_KIND[facet.kind],
        trust=facet.trust,
        text=facet.text,
        is_cut=facet.is_cut,
        confidence=facet.confidence,
        as_of=wire.timestamp(facet.as_of),
        fresh_until=wire.timestamp(facet.fresh_until) if facet.fresh_until else None,
        sources=[
            pb.FacetSource(
                node_id=one.node_id, node_version=one.node_version, edge_id=one.edge_id, edge_version=one.edge_version
            )
            for one in facet.sources
        ],
        agent_bundle_ids=facet.bundles,
        is_declassified=facet.is_declassified,
    )
