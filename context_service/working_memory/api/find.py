"""The RPCs of WorkingMemory that find records: parse, one call, render."""

from __future__ import annotations

from dataclasses import dataclass

from context_service.kernel.embedding import Embedding
from context_service.kernel.wire.node_names import NodeNames
from context_service.working_memory.rules.manifest import ManifestEntity, ManifestQuestion, Manifests
from context_service.working_memory.rules.query import Order, RecordQueries, RecordQuery
from context_service.working_memory.rules.search import Searches, SearchHit, SearchMode, SearchQuestion
from context_service.working_memory.wire import record_filter, record_message
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.context.v1 import working_memory_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.rpc import calls
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

_MODES: dict[int, SearchMode] = {
    pb.SEARCH_MODE_UNSPECIFIED: SearchMode.GIVEN,
    pb.SEARCH_MODE_TEXT: SearchMode.TEXT,
    pb.SEARCH_MODE_VECTOR: SearchMode.VECTOR,
    pb.SEARCH_MODE_FUSED: SearchMode.FUSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finders:
    """The rules that the RPCs of this servicer call."""

    manifests: Manifests
    queries: RecordQueries
    searches: Searches
    names: NodeNames


class FindingServicer(working_memory_pb2_grpc.WorkingMemoryServicer):
    """The part of the servicer that finds records."""

    def __init__(self, finders: Finders) -> None:
        self._finders = finders

    async def FetchWMManifest(self, request: pb.FetchWMManifestRequest, context: object) -> pb.FetchWMManifestResponse:
        """Page through the entities below a root and their records, grouped by memory type."""
        question = copied(
            ManifestQuestion,
            request,
            which=record_filter(
                request, entity_node_id=await self._finders.names.id_of("root_node_id", request.root_node_id, request)
            ),
            edge_types=tuple(request.edge_types),
        )
        entities, next_page_token = await self._finders.manifests.page(question, principal=calls.principal())
        return pb.FetchWMManifestResponse(entities=map(_entity, entities), next_page_token=next_page_token)

    async def SearchWMRecords(self, request: pb.SearchWMRecordsRequest, context: object) -> pb.SearchWMRecordsResponse:
        """Find records by words, by a vector, or by both."""
        question = copied(
            SearchQuestion,
            request,
            embedding=Embedding(values=tuple(request.embedding.values), model=request.embedding.model)
            if request.HasField("embedding")
            else None,
            mode=_mode(request.mode),
            entity_node_ids=[
                parse_id(f"entity_node_ids[{place}]", text) for place, text in enumerate(request.entity_node_ids)
            ],
            memory_types=tuple(request.memory_types),
            any_word=False,
        )
        hits = await self._finders.searches.search(question, principal=calls.principal())
        return pb.SearchWMRecordsResponse(hits=map(_hit, hits))

    async def QueryWMRecords(self, request: pb.QueryWMRecordsRequest, context: object) -> pb.QueryWMRecordsResponse:
        """Answer a question about records."""
        question = copied(
            RecordQuery,
            request,
            select=tuple(request.select),
            group_by=tuple(request.group_by),
            order_by=tuple(Order(column=key.column, descending=key.descending) for key in request.order_by),
        )
        answer = await self._finders.queries.answer(question, principal=calls.principal())
        return pb.QueryWMRecordsResponse(rows_json=answer.rows_json, has_more=answer.has_more)


def _entity(entity: ManifestEntity) -> pb.ManifestEntity:
    """Return the protobuf message of an entity of a manifest, with its groups of records."""
    node = entity.node
    return copied(
        pb.ManifestEntity,
        node,
        entity_node_id=node.node_id,
        specific_type_name=node.type,
        parent_node_id=node.parent_id,
        path=entity.path,
        groups=[copied(pb.ManifestGroup, group, records=map(record_message, group.records)) for group in entity.groups],
    )


def _mode(number: int) -> SearchMode:
    """Return the mode of a search that a request names.

    Raises:
        InvalidArgument: a newer client names a mode that this server does not know.
    """
    mode = _MODES.get(number)
    if mode is None:  # from a newer client
        known = ", ".join(map(pb.SearchMode.Name, _MODES))
        raise InvalidArgument(f"mode {number} is unknown; use one of {known}", field="mode")
    return mode


def _hit(hit: SearchHit) -> pb.SearchHit:
    return copied(pb.SearchHit, hit.match, record=record_message(hit.record))
