"""The proto service `EntityGraph`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, closing
from typing import Any, TypeVar

from google.protobuf.message import Message

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1 import entity_graph_pb2_grpc
from contextkeep.errors import InvalidArgument
from entity_service.model.edges import Edge
from entity_service.model.limits import Limits
from entity_service.model.nodes import Node
from entity_service.model.progress import Appended
from entity_service.model.writes import Answer, outcome
from entity_service.rules.change_edge import EdgeChanges
from entity_service.rules.change_node import NodeChanges
from entity_service.rules.delete import Removal
from entity_service.rules.erase_owned import OwnedNodes
from entity_service.rules.export_graph import GraphExport
from entity_service.rules.import_graph import GraphImport
from entity_service.rules.list_changes import ChangeFeed
from entity_service.rules.query_facets import FacetQueries
from entity_service.rules.search_nodes import Search
from entity_service.rules.traverse import Traversal
from entity_service.rules.write_graph import GraphWrites
from entity_service.store.counts import Counts
from entity_service.store.edges import EdgeStore
from entity_service.store.embeddings import EmbeddingStore
from entity_service.store.node_io import NodeIOStore
from entity_service.store.nodes import GraphStore
from entity_service.store.progress import Timelines
from entity_service.wire import changes as change_wire
from entity_service.wire import edges as edge_wire
from entity_service.wire import embeddings as embedding_wire
from entity_service.wire import facets as facet_wire
from entity_service.wire import fields as field_wire
from entity_service.wire import nodes as node_wire
from entity_service.wire import owned as owned_wire
from entity_service.wire import progress as progress_wire
from entity_service.wire import search as search_wire
from entity_service.wire import transfer as transfer_wire
from entity_service.wire import walks as traversal_wire
from entity_service.wire import writes as write_wire
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import page_size
from service_runtime.rpc.calls import principal
from service_runtime.statements.requests import RESPONSE, request_of, unpacked
from service_runtime.values.ids import parse_id

_T = TypeVar("_T")

Context = Any  # grpc.aio.ServicerContext

_M = TypeVar("_M", bound=Message)


class EntityGraphServicer(entity_graph_pb2_grpc.EntityGraphServicer):
    """Answers the RPCs of `EntityGraph`."""

    def __init__(
        self,
        *,
        writes: GraphWrites,
        changes: NodeChanges,
        edges: EdgeStore,
        edge_changes: EdgeChanges,
        removal: Removal,
        owned: OwnedNodes,
        node_io: NodeIOStore,
        timelines: Timelines,
        embeddings: EmbeddingStore,
        search: Search,
        facets: FacetQueries,
        graph_import: GraphImport,
        graph_export: GraphExport,
        counts: Counts,
        change_feed: ChangeFeed,
        store: GraphStore,
        traversal: Traversal,
        limits: Limits,
    ) -> None:
        """Take the rules and stores that answer the RPCs; `app` makes them."""
        self._writes = writes
        self._changes = changes
        self._edges = edges
        self._edge_changes = edge_changes
        self._removal = removal
        self._owned = owned
        self._node_io = node_io
        self._timelines = timelines
        self._embeddings = embeddings
        self._search = search
        self._facets = facets
        self._import = graph_import
        self._export = graph_export
        self._counts = counts
        self._change_feed = change_feed
        self._store = store
        self._traversal = traversal
        self._limits = limits

    async def CreateNode(self, request: pb.CreateNodeRequest, context: Context) -> pb.CreateNodeResponse:
        """Create a node, or return the existing one if the request asks for that."""
        write = await self._parse(write_wire.single_node, request)

        async def replay(stored: Any) -> pb.CreateNodeResponse:
            if RESPONSE in stored:  # the node existed already, and its whole response was stored
                return pb.CreateNodeResponse.FromString(unpacked(stored[RESPONSE]))
            node = await self._writes.node_of(principal(), write, outcome(write, stored))
            return pb.CreateNodeResponse(node=node_wire.node(node))

        if request.get_existing and write.nodes[0].external_id is not None:
            idempotency = request_of("CreateNode", request, response=_existing_response, replay=replay)
            node, existed = await self._writes.create_node_unless_there(principal(), write, idempotency)
            return _existing_response(node) if existed else pb.CreateNodeResponse(node=node_wire.node(node))

        idempotency = request_of("CreateNode", request, replay=replay)
        return pb.CreateNodeResponse(
            node=node_wire.node(await self._writes.create_node(principal(), write, idempotency))
        )

    async def CreateEdge(self, request: pb.CreateEdgeRequest, context: Context) -> pb.CreateEdgeResponse:
        """Write an edge."""
        write = await self._parse(write_wire.single_edge, request)

        async def replay(answer: Answer) -> pb.CreateEdgeResponse:
            return pb.CreateEdgeResponse(
                edge=edge_wire.edge(await self._writes.edge_of(principal(), write, outcome(write, answer)))
            )

        idempotency = request_of("CreateEdge", request, replay=replay)
        return pb.CreateEdgeResponse(
            edge=edge_wire.edge(await self._writes.create_edge(principal(), write, idempotency))
        )

    async def WriteGraph(self, request: pb.WriteGraphRequest, context: Context) -> pb.WriteGraphResponse:
        """Write nodes and edges together."""
        write = await self._parse(write_wire.graph_write, request)
        save = self._writes.write_missing if write_wire.on_existing_skip(request.on_existing) else self._writes.write
        idempotency = request_of(
            "WriteGraph", request, replay=lambda answer: write_wire.written(outcome(write, answer))
        )
        return write_wire.written(await save(principal(), write, idempotency))

    async def GetNode(self, request: pb.GetNodeRequest, context: Context) -> pb.GetNodeResponse:
        """Read a node."""
        node = await self._store.node(principal(), field_wire.id_of("node_id", request.node_id))
        return pb.GetNodeResponse(node=node_wire.node(node))

    async def BatchGetNodes(self, request: pb.BatchGetNodesRequest, context: Context) -> pb.BatchGetNodesResponse:
        """Read some nodes."""
        node_ids = field_wire.batch_ids("node_ids", request.node_ids)
        return node_wire.node_batch(node_ids, await self._store.nodes(principal(), node_ids))

    async def GetNodeByExternalId(
        self, request: pb.GetNodeByExternalIdRequest, context: Context
    ) -> pb.GetNodeByExternalIdResponse:
        """Read the node with the caller's own id."""
        node = await self._store.node_by_external_id(
            principal(),
            graph_name=field_wire.graph_name(request.graph_name, self._limits),
            external_id=field_wire.external_id(request, self._limits),
        )
        return pb.GetNodeByExternalIdResponse(node=node_wire.node(node))

    async def GetNodeByName(self, request: pb.GetNodeByNameRequest, context: Context) -> pb.GetNodeByNameResponse:
        """Read the newest node of a name."""
        node, matches = await self._store.newest_of_name(
            principal(),
            graph_name=field_wire.graph_name(request.graph_name, self._limits),
            name=field_wire.name(request.name, self._limits),
        )
        return pb.GetNodeByNameResponse(node=node_wire.node(node), matches=matches)

    async def UpdateNodeData(self, request: pb.UpdateNodeDataRequest, context: Context) -> pb.UpdateNodeDataResponse:
        """Change a node's data."""
        change = await self._parse(node_wire.node_data_change, request)

        def response(node: Node) -> pb.UpdateNodeDataResponse:
            return pb.UpdateNodeDataResponse(node=node_wire.node(node))

        idempotency = request_of("UpdateNodeData", request, replay=lambda answer: response(Node._make(answer)))
        return response(await self._changes.update_data(principal(), change, idempotency))

    async def UpdateNodeStatus(
        self, request: pb.UpdateNodeStatusRequest, context: Context
    ) -> pb.UpdateNodeStatusResponse:
        """Change a node's status."""
        node = await self._changes.update_status(principal(), node_wire.status_change(request, self._limits))
        return pb.UpdateNodeStatusResponse(node=node_wire.node(node))

    async def ArchiveNode(self, request: pb.ArchiveNodeRequest, context: Context) -> pb.ArchiveNodeResponse:
        """Archive a node, or bring it back."""
        node = await self._changes.archive(principal(), node_wire.archive_change(request))
        return pb.ArchiveNodeResponse(node=node_wire.node(node))

    async def ResetNode(self, request: pb.ResetNodeRequest, context: Context) -> pb.ResetNodeResponse:
        """Put a node back to before its run."""
        return pb.ResetNodeResponse(
            node=node_wire.node(await self._changes.reset(principal(), node_wire.reset(request)))
        )

    async def DeleteNode(self, request: pb.DeleteNodeRequest, context: Context) -> pb.DeleteNodeResponse:
        """Delete a node for good."""
        count = await self._removal.delete_node(
            principal(),
            field_wire.id_of("node_id", request.node_id),
            expected_version=field_wire.expected_version(request),
        )
        return pb.DeleteNodeResponse(edges_deleted=count)

    async def EraseOwned(self, request: pb.EraseOwnedRequest, context: Context) -> pb.EraseOwnedResponse:
        """Begin to erase the rows that a user owns."""
        erasure_id = parse_id("erasure_id", request.erasure_id)
        removed = await self._owned.erase(erasure_id, request.subject, principal=principal())
        return pb.EraseOwnedResponse(removed=owned_wire.owned(removed))

    async def GetOwned(self, request: pb.GetOwnedRequest, context: Context) -> pb.GetOwnedResponse:
        """Count the rows that a user owns, or read the progress of their erasure."""
        if bool(request.erasure_id) == bool(request.subject):
            raise InvalidArgument("give either erasure_id or subject", field="erasure_id")
        if request.subject:
            counts = await self._owned.count(request.subject, principal=principal())
        else:
            counts = await self._owned.receipt(parse_id("erasure_id", request.erasure_id), principal=principal())
        return pb.GetOwnedResponse(owned=owned_wire.owned(counts))

    async def SetNodeIO(self, request: pb.SetNodeIORequest, context: Context) -> pb.SetNodeIOResponse:
        """Set a node's input or output."""
        change = await self._parse(node_wire.io_change, request)
        return node_wire.io_set(await self._node_io.set(principal(), change))

    async def GetNodeIO(self, request: pb.GetNodeIORequest, context: Context) -> pb.GetNodeIOResponse:
        """Read a node's input and output."""
        return node_wire.node_io(await self._node_io.get(principal(), field_wire.id_of("node_id", request.node_id)))

    async def AppendProgress(self, request: pb.AppendProgressRequest, context: Context) -> pb.AppendProgressResponse:
        """Append an envelope."""
        envelope = await self._parse(progress_wire.new_envelope, request)
        idempotency = request_of(
            "AppendProgress", request, replay=lambda answer: progress_wire.appended(Appended._make(answer))
        )
        return progress_wire.appended(await self._timelines.append(principal(), envelope, idempotency))

    async def ListProgress(self, request: pb.ListProgressRequest, context: Context) -> pb.ListProgressResponse:
        """List the envelopes of a node and of the nodes that it calls."""
        query = progress_wire.timeline_query(request, self._limits)
        return progress_wire.timeline_page(await self._timelines.page(principal(), query))

    async def ClearProgress(self, request: pb.ClearProgressRequest, context: Context) -> pb.ClearProgressResponse:
        """Remove the envelopes of a node."""
        count = await self._timelines.clear(principal(), field_wire.id_of("node_id", request.node_id))
        return pb.ClearProgressResponse(envelopes_deleted=count)

    async def UpsertEmbedding(self, request: pb.UpsertEmbeddingRequest, context: Context) -> pb.UpsertEmbeddingResponse:
        """Write a named vector of a node."""
        new = embedding_wire.new_embedding(request, self._limits)
        return embedding_wire.upserted(await self._embeddings.upsert(principal(), new))

    async def DeleteEmbedding(self, request: pb.DeleteEmbeddingRequest, context: Context) -> pb.DeleteEmbeddingResponse:
        """Delete a named vector of a node."""
        node_id = field_wire.id_of("node_id", request.node_id)
        await self._embeddings.delete(principal(), node_id, embedding_wire.embedding_name(request.name, self._limits))
        return pb.DeleteEmbeddingResponse()

    async def ListEmbeddings(self, request: pb.ListEmbeddingsRequest, context: Context) -> pb.ListEmbeddingsResponse:
        """List the vectors of a node."""
        query = embedding_wire.embedding_query(request)
        return embedding_wire.embedding_page(await self._embeddings.page(principal(), query))

    async def SearchSimilar(self, request: pb.SearchSimilarRequest, context: Context) -> pb.SearchSimilarResponse:
        """Find the nodes that are most like a vector, or another node."""
        query = embedding_wire.similarity_query(request, self._limits)
        return embedding_wire.similar(await self._embeddings.nearest(principal(), query))

    async def SearchNodes(self, request: pb.SearchNodesRequest, context: Context) -> pb.SearchNodesResponse:
        """Find nodes."""
        search = await self._parse(search_wire.node_search, request)
        return search_wire.node_page(await self._search.page(principal(), search))

    async def CountNodes(self, request: pb.CountNodesRequest, context: Context) -> pb.CountNodesResponse:
        """Count nodes."""
        node_filter = await self._parse(search_wire.node_filter, request.filter)
        return pb.CountNodesResponse(count=await self._search.count(principal(), node_filter))

    async def ListFacets(self, request: pb.ListFacetsRequest, context: Context) -> pb.ListFacetsResponse:
        """List the fields of nodes by type."""
        graph_name, type_name = facet_wire.facets_of(request, self._limits)
        found = await self._facets.fields(principal(), graph_name=graph_name, type_name=type_name)
        return facet_wire.facet_list(found)

    async def QueryFacets(self, request: pb.QueryFacetsRequest, context: Context) -> pb.QueryFacetsResponse:
        """Answer a structured question about nodes."""
        query = await self._parse(facet_wire.facet_query, request)
        return facet_wire.facet_answer(query, await self._facets.answer(principal(), query))

    async def ListGraphs(self, request: pb.ListGraphsRequest, context: Context) -> pb.ListGraphsResponse:
        """List the graphs and how much is in them."""
        size = page_size(request.page_size)
        page = await self._counts.graphs(principal(), page_size=size, page_token=request.page_token)
        return search_wire.graph_page(page)

    async def ListEdgeTypes(self, request: pb.ListEdgeTypesRequest, context: Context) -> pb.ListEdgeTypesResponse:
        """List the edge types of a graph and how many edges there are of each."""
        page = await self._counts.edge_types(
            principal(),
            field_wire.graph_name(request.graph_name, self._limits),
            page_size=page_size(request.page_size),
            page_token=request.page_token,
        )
        return search_wire.edge_type_page(page)

    async def ImportGraph(
        self, requests: AsyncIterator[pb.ImportGraphRequest], context: Context
    ) -> pb.ImportGraphResponse:
        """Write a graph in."""
        with closing(transfer_wire.ImportLines(requests, self._limits)) as lines:
            await lines.open()
            async with aclosing(lines.batches()) as batches:
                done = await self._import.run(principal(), lines.graph_name, batches)
        return transfer_wire.imported(lines.graph_name, done)

    async def ExportGraph(
        self, request: pb.ExportGraphRequest, context: Context
    ) -> AsyncIterator[pb.ExportGraphResponse]:
        """Read a graph out."""
        query = transfer_wire.export_query(request, self._limits)
        async with aclosing(self._export.pages(principal(), query)) as pages:
            async for page in pages:
                yield transfer_wire.exported(page)

    async def GetEdge(self, request: pb.GetEdgeRequest, context: Context) -> pb.GetEdgeResponse:
        """Read an edge."""
        edge = await self._edges.edge(principal(), field_wire.id_of("edge_id", request.edge_id))
        return pb.GetEdgeResponse(edge=edge_wire.edge(edge))

    async def BatchGetEdges(self, request: pb.BatchGetEdgesRequest, context: Context) -> pb.BatchGetEdgesResponse:
        """Read some edges."""
        edge_ids = field_wire.batch_ids("edge_ids", request.edge_ids)
        return edge_wire.edge_batch(edge_ids, await self._edges.edges(principal(), edge_ids))

    async def UpdateEdgeData(self, request: pb.UpdateEdgeDataRequest, context: Context) -> pb.UpdateEdgeDataResponse:
        """Change an edge's data."""
        change = await self._parse(edge_wire.edge_data_change, request)

        def response(edge: Edge) -> pb.UpdateEdgeDataResponse:
            return pb.UpdateEdgeDataResponse(edge=edge_wire.edge(edge))

        idempotency = request_of("UpdateEdgeData", request, replay=lambda answer: response(Edge._make(answer)))
        return response(await self._edge_changes.update_data(principal(), change, idempotency))

    async def DeleteEdge(self, request: pb.DeleteEdgeRequest, context: Context) -> pb.DeleteEdgeResponse:
        """Delete an edge for good."""
        edge = await self._removal.delete_edge(
            principal(),
            edge_wire.edge_to_delete(request, self._limits),
            expected_version=field_wire.expected_version(request),
        )
        return pb.DeleteEdgeResponse(edge=edge_wire.edge(edge))

    async def ListEdges(self, request: pb.ListEdgesRequest, context: Context) -> pb.ListEdgesResponse:
        """List the edges of a node."""
        return edge_wire.edge_page(await self._store.edges(principal(), edge_wire.edge_query(request, self._limits)))

    async def Traverse(self, request: pb.TraverseRequest, context: Context) -> AsyncIterator[pb.TraverseResponse]:
        """Walk the graph."""
        walk = traversal_wire.walk(request, self._limits)
        first = True
        async with aclosing(self._traversal.walk(principal(), walk)) as pages:
            async for page in pages:
                for message in traversal_wire.walk_messages(page, columns=bool(walk.columns), first=first):
                    yield message
                first = False

    async def StartChanges(self, request: pb.StartChangesRequest, context: Context) -> pb.StartChangesResponse:
        """Start the change feed of the tenant."""
        return pb.StartChangesResponse(place=await self._change_feed.start(principal()))

    async def ListChanges(self, request: pb.ListChangesRequest, context: Context) -> pb.ListChangesResponse:
        """List changes after a place."""
        query = change_wire.change_query(request)
        return change_wire.change_page(await self._change_feed.page(principal(), query))

    async def _parse(self, parse: Callable[[_M, Limits], _T], message: _M) -> _T:
        """Return the result of `parse`; a message with large documents is parsed off the event loop."""
        return await beside_the_loop(message.ByteSize(), parse, message, self._limits)


def _existing_response(node: Node) -> pb.CreateNodeResponse:
    return pb.CreateNodeResponse(node=node_wire.node(node), existed=True)
