"""Changes between messages and values."""

from __future__ import annotations

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from entity_service.model.changes import Change, ChangePage, ChangeQuery
from entity_service.wire.fields import fill_time
from service_runtime.inputs.pages import page_size


def change_query(request: pb.ListChangesRequest) -> ChangeQuery:
    """Return the query of ListChanges.

    Raises:
        InvalidArgument: the page size is negative.
    """
    return ChangeQuery(place=request.place, page_size=page_size(request.page_size))


def change_page(page: ChangePage) -> pb.ListChangesResponse:
    """Return a page as a message."""
    return pb.ListChangesResponse(
        changes=[_change(change) for change in page.changes], next_place=page.next_place, has_more=page.has_more
    )


def _change(change: Change) -> pb.Change:
    """Return the message of a change, which is about a node or an edge."""
    message = pb.Change(
        kind=pb.CHANGE_KIND_REMOVED if change.is_removed else pb.CHANGE_KIND_CHANGED,
        graph_name=change.graph_name,
    )
    fill_time(message.changed_at, change.changed_at)
    if change.from_node_id is None or change.to_node_id is None:
        message.node_id = change.id
        message.general_type_name = change.general_type_name
        message.specific_type_name = change.specific_type_name
    else:
        message.edge_id = change.id
        message.edge_type = change.general_type_name
        message.from_node_id = change.from_node_id
        message.to_node_id = change.to_node_id
    return message
