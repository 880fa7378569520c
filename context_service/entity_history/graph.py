"""The border to the Entity Service for an entity's history: its node, its timeline and its edges, as events."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from google.protobuf.timestamp_pb2 import Timestamp

from context_service.entity_history.model import Event, EventKind, EventPage
from context_service.kernel.graph import EntityGraph
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import NodeNotFound


class GraphEvents:
    """Reads what happened to nodes, as the caller."""

    def __init__(self, graph: EntityGraph) -> None:
        self._graph = graph

    async def of_node(self, node_id: str) -> list[Event] | None:
        """Return the events of the node itself, oldest first, or None if there is no such node."""
        try:
            response: pb.GetNodeResponse = await self._graph.call("GetNode", pb.GetNodeRequest(node_id=node_id))
            io: pb.GetNodeIOResponse = await self._graph.call("GetNodeIO", pb.GetNodeIORequest(node_id=node_id))
        except NodeNotFound:
            return None
        node = response.node
        created: dict[str, object] = {
            "external_id": node.external_id,
            "graph_name": node.graph_name,
            "agent_bundle_id": node.agent_bundle_id,
            "general_type_name": node.general_type_name,
            "specific_type_name": node.specific_type_name,
            "name": node.name,
        }
        state = {
            "status": node.status,
            "is_archived": node.is_archived,
            "version": node.version,
            "data": orjson.Fragment(node.data_json),
        }
        unchanged = node.version == 1
        created_at_us, modified_at_us = _micros(node.created_at), _micros(node.modified_at)
        document = _json(created | state if unchanged else created)
        events = [Event(EventKind.NODE_CREATED, created_at_us, (created_at_us, 0), document, node.created_by)]
        if not unchanged:
            events.append(Event(EventKind.NODE_CHANGED, modified_at_us, (modified_at_us, 1), _json(state)))
        if io.HasField("modified_at"):
            set_at_us = _micros(io.modified_at)
            sides = {"input": io.input_json, "output": io.output_json}
            set_to = {side: orjson.Fragment(text) for side, text in sides.items() if text}
            events.append(Event(EventKind.IO_SET, set_at_us, (set_at_us, 2), _json(set_to)))
        return sorted(events, key=lambda event: event.key)

    async def envelopes(self, node_id: str, *, descending: bool, page_size: int, page_token: str) -> EventPage:
        """Return a page of the node's own timeline, by `seq`.

        Raises:
            NodeNotFound: there is no such node.
            InvalidPageToken: the token is of another list.
        """
        request = pb.ListProgressRequest(
            node_id=node_id, own_only=True, descending=descending, page_size=page_size, page_token=page_token
        )
        page: pb.ListProgressResponse = await self._graph.call("ListProgress", request)
        return EventPage(list(map(_envelope, page.envelopes)), page.next_page_token)

    async def edges(self, node_id: str, *, descending: bool, page_size: int, page_token: str) -> EventPage:
        """Return a page of the node's edges in both directions, by `created_at`, then id.

        Raises:
            NodeNotFound: there is no such node.
            InvalidPageToken: the token is of another list.
        """
        request = pb.ListEdgesRequest(
            node_id=node_id,
            direction=pb.DIRECTION_BOTH,
            descending=descending,
            page_size=page_size,
            page_token=page_token,
        )
        page: pb.ListEdgesResponse = await self._graph.call("ListEdges", request)
        return EventPage(list(map(_edge, page.edges)), page.next_page_token)


def _envelope(envelope: pb.Envelope) -> Event:
    """Return the event of an entry of the node's timeline; its document has only the fields that are set."""
    kind = EventKind.STATUS if envelope.type == pb.ENVELOPE_TYPE_STATUS else EventKind.PROGRESS
    document: dict[str, object] = {"type": pb.EnvelopeType.Name(envelope.type).removeprefix("ENVELOPE_TYPE_")}
    if kind is EventKind.STATUS or envelope.status:
        document["status"] = pb.EnvelopeStatus.Name(envelope.status).removeprefix("ENVELOPE_STATUS_")
    if envelope.sub_type:
        document["sub_type"] = envelope.sub_type
    if envelope.message:
        document["message"] = envelope.message
    for name, text in (("value", envelope.value_json), ("error", envelope.error_json)):
        if text:
            document[name] = orjson.Fragment(text)
    time_us = _micros(envelope.created_at)
    return Event(kind, time_us, (envelope.seq,), _json(document), envelope.created_by)


def _edge(edge: pb.Edge) -> Event:
    """Return the event "an edge was created" of an edge."""
    document = {
        "edge_type": edge.edge_type,
        "from_node_id": edge.from_node_id,
        "to_node_id": edge.to_node_id,
        "version": edge.version,
        "data": orjson.Fragment(edge.data_json),
    }
    time_us = _micros(edge.created_at)
    return Event(EventKind.EDGE_CREATED, time_us, (time_us, edge.id), _json(document), edge_id=edge.id)


def _json(document: Mapping[str, object]) -> str:
    return orjson.dumps(document).decode()


def _micros(timestamp: Timestamp) -> int:
    return timestamp.seconds * 1_000_000 + timestamp.nanos // 1000
