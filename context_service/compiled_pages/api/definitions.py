"""The proto service `Definitions`: parse, one call, render."""

from __future__ import annotations

from typing import cast

from context_service.compiled_pages.api.pages import KINDS, NUMBER_OF_KIND, tried_page
from context_service.compiled_pages.pure.definition import (
    DEPTH_DEFAULT,
    Definition,
    DefinitionRules,
    DefinitionState,
    FacetKind,
    FacetRules,
    FacetWalk,
)
from context_service.compiled_pages.rules.definitions import Definitions
from context_service.kernel.graph_values import Direction
from context_service.kernel.wire.imported import imported_of
from context_service.kernel.wire.node_names import NodeNames
from contextkeep.context.v1 import compiled_pages_pb2 as compiled_pages_pb
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.context.v1 import definitions_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.rpc.principal import GRAPH_DEFAULT
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied

_STATES = {
    pb.DEFINITION_STATE_DRAFT: DefinitionState.DRAFT,
    pb.DEFINITION_STATE_APPROVED: DefinitionState.APPROVED,
    pb.DEFINITION_STATE_RETIRED: DefinitionState.RETIRED,
}
_BY_STATE = {state: number for number, state in _STATES.items()}


class DefinitionsServicer(definitions_pb2_grpc.DefinitionsServicer):
    """Answers the RPCs of `Definitions`."""

    def __init__(self, definitions: Definitions, names: NodeNames) -> None:
        self._definitions = definitions
        self._names = names

    async def PutDefinition(self, request: pb.PutDefinitionRequest, context: object) -> pb.PutDefinitionResponse:
        """Write a draft of a definition."""

        def response(definition: Definition) -> pb.PutDefinitionResponse:
            return pb.PutDefinitionResponse(definition=_definition(definition))

        put = await self._definitions.put(
            request.name,
            _rules(request.rules),
            principal=calls.principal(),
            request=request_of("PutDefinition", request, response=response),
        )
        return response(put)

    async def ApproveDefinition(
        self, request: pb.ApproveDefinitionRequest, context: object
    ) -> pb.ApproveDefinitionResponse:
        """Approve a version of a definition, so that pages are compiled by it."""

        def response(approved: Definition) -> pb.ApproveDefinitionResponse:
            return pb.ApproveDefinitionResponse(definition=_definition(approved))

        write_request = request_of("ApproveDefinition", request, response=response)
        approved = await self._definitions.approve(
            request.name, request.version, principal=calls.principal(), request=write_request
        )
        return response(approved)

    async def RetireDefinition(
        self, request: pb.RetireDefinitionRequest, context: object
    ) -> pb.RetireDefinitionResponse:
        """Retire a version of a definition, so that no pages are compiled by it."""

        def response(retired: Definition) -> pb.RetireDefinitionResponse:
            return pb.RetireDefinitionResponse(definition=_definition(retired))

        write_request = request_of("RetireDefinition", request, response=response)
        retired = await self._definitions.retire(
            request.name, request.version, principal=calls.principal(), request=write_request
        )
        return response(retired)

    async def GetDefinition(self, request: pb.GetDefinitionRequest, context: object) -> pb.GetDefinitionResponse:
        """Read a version."""
        definition = await self._definitions.get(request.name, request.version, principal=calls.principal())
        return pb.GetDefinitionResponse(definition=_definition(definition))

    async def ListDefinitions(self, request: pb.ListDefinitionsRequest, context: object) -> pb.ListDefinitionsResponse:
        """List versions."""
        definitions, token = await self._definitions.page(
            PageRequest(size=request.page_size, token=request.page_token),
            [_state(f"states[{place}]", state) for place, state in enumerate(request.states)],
            principal=calls.principal(),
        )
        return pb.ListDefinitionsResponse(definitions=map(_definition, definitions), next_page_token=token)

    async def TestDefinition(self, request: pb.TestDefinitionRequest, context: object) -> pb.TestDefinitionResponse:
        """Compile the page of one node by the rules of the request, without storing it."""
        rules = _rules(request.rules)
        node_id = await self._names.id_of("node_id", request.node_id, request)
        compiled_node = await self._definitions.tried(rules, node_id, principal=calls.principal())
        return tried_page(rules, compiled_node)


def _rules(message: pb.DefinitionRules) -> DefinitionRules:
    """Parse the rules of a definition. Without a graph name they are about the default graph."""
    return copied(
        DefinitionRules,
        message,
        graph_name=message.graph_name or GRAPH_DEFAULT,
        facets=tuple(_facet(place, facet) for place, facet in enumerate(message.facets)),
    )


def _facet(place: int, facet: pb.FacetRules) -> FacetRules:
    """Return the rules of a facet of a request; `place` is its index in the definition, for errors."""
    walk = facet.walk
    return copied(
        FacetRules,
        facet,
        kind=kind_of(f"definition.facets[{place}].kind", facet.kind),
        walk=copied(
            FacetWalk,
            walk,
            direction=cast("Direction", walk.direction or "out"),
            depth_max=walk.depth_max or DEPTH_DEFAULT,
        )
        if facet.HasField("walk")
        else None,
    )


def kind_of(field: str, kind: compiled_pages_pb.FacetKind) -> FacetKind:
    """Return the kind of a facet that a request names.

    Raises:
        InvalidArgument: the kind is not set or unknown.
    """
    if kind not in KINDS:
        raise InvalidArgument(f"{field} is {kind}, which is not a known kind of facets", field=field)
    return KINDS[kind]


def _state(field: str, state: pb.DefinitionState) -> DefinitionState:
    if state not in _STATES:
        raise InvalidArgument(f"{field} is {state}, which is not a known state of definitions", field=field)
    return _STATES[state]


def _definition(definition: Definition) -> pb.Definition:
    """Return a version of a definition as protobuf."""
    return copied(
        pb.Definition,
        definition,
        state=_BY_STATE[definition.state],
        rules=_rules_message(definition.rules),
        imported=imported_of(definition.imported_json),
    )


def _rules_message(rules: DefinitionRules) -> pb.DefinitionRules:
    """Return the protobuf message of the rules of a definition."""
    return copied(
        pb.DefinitionRules,
        rules,
        facets=[
            copied(
                pb.FacetRules,
                facet,
                kind=NUMBER_OF_KIND[facet.kind],
                walk=None if facet.walk is None else copied(pb.FacetWalk, facet.walk),
            )
            for facet in rules.facets
        ],
    )
