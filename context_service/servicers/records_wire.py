"""A record as a message, and messages as a filter of records."""

from __future__ import annotations

from uuid import UUID

from context_service.servicers import wire
from context_service.servicers.imported_wire import imported_of
from context_service.working_memory.fields import RecordFilter
from context_service.working_memory.record import Record
from contextkeep.context.v1 import working_memory_pb2 as pb


def record_message(record: Record) -> pb.WMRecord:
    """Return a record as a message."""
    return pb.WMRecord(
        working_memory_id=str(record.id),
        entity_node_id=optional_id(record.entity_node_id),
        memory_type=record.memory_type,
        subtype=record.subtype,
        semantic_purpose=record.semantic_purpose,
        name=record.name,
        description=record.description,
        reasoning=record.reasoning,
        content_type=record.content_type,
        metadata_json=record.metadata_json,
        content_json=record.content_json or "",
        content_text=record.content_text or "",
        provider=record.provider,
        blob_key=record.blob_key,
        size_bytes=record.size_bytes,
        sha256=record.sha256.hex(),
        status=pb.RECORD_STATUS_ARCHIVED if record.is_archived else pb.RECORD_STATUS_ACTIVE,
        tags=record.tags,
        graph_name=record.graph_name,
        agent_bundle_id=record.agent_bundle_id,
        app_id=record.app_id,
        context_id=optional_id(record.context_id),
        created_by=record.created_by,
        owner_user_id=record.owner_user_id,
        agent_id=record.agent_id,
        expires_at=record.expires_at and wire.timestamp(record.expires_at),
        created_at=wire.timestamp(record.created_at),
        updated_at=wire.timestamp(record.updated_at),
        version=record.version,
        index_state=f"INDEX_STATE_{record.index_state}",
        index_error=record.index_error,
        text_state=f"INDEX_STATE_{record.text_state}",
        text_error=record.text_error,
        imported=imported_of(record.imported_json),
    )


def optional_id(value: UUID | None) -> str:
    """Return an id as text; empty for none."""
    return str(value) if value else ""


def record_filter(
    request: pb.FetchWMRecordsByEntityRequest | pb.FetchWMManifestRequest, *, entity_node_id: UUID
) -> RecordFilter:
    """Return the filter that a request has for the records of an entity, or of those below it."""
    return RecordFilter(
        entity_node_id=entity_node_id,
        memory_types=tuple(request.memory_types),
        subtypes=tuple(request.subtypes),
        semantic_purposes=tuple(request.semantic_purposes),
        names=tuple(request.names),
        name_prefix=request.name_prefix,
        tags=tuple(request.tags),
        metadata_contains_json=request.metadata_contains_json or "{}",
        include_archived=request.include_archived,
    )
