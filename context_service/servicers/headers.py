"""The header of a context, as it travels."""

from __future__ import annotations

from context_service.contexts.model import Context
from context_service.servicers import wire
from context_service.servicers.imported_wire import imported_of
from context_service.servicers.records_wire import optional_id
from contextkeep.context.v1 import contexts_pb2 as pb


def header_of(context: Context) -> pb.Context:
    """Return the message of a header, without its index."""
    return pb.Context(
        context_id=str(context.context_id),
        title=context.title,
        external_ids=[pb.ExternalId(system=one.system, id=one.id) for one in context.external_ids],
        metadata_json=context.metadata_json,
        entity_node_id=optional_id(context.entity_node_id),
        agent_ids=context.agent_ids,
        app_id=context.app_id,
        agent_bundle_id=context.agent_bundle_id,
        owner_user_id=context.owner_user_id,
        created_by=context.created_by,
        created_at=wire.timestamp(context.created_at),
        updated_at=wire.timestamp(context.updated_at),
        expires_at=context.expires_at and wire.timestamp(context.expires_at),
        state=pb.CONTEXT_STATE_CLOSED if context.closed_at else pb.CONTEXT_STATE_OPEN,
        recall_profile=context.recall_profile,
        last_seq=context.last_seq,
        message_count=context.message_count,
        token_count=context.token_count,
        ancestor_ids=map(str, context.ancestors[:-1]),
        imported=imported_of(context.imported_json),
    )
