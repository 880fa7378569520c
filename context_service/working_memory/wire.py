"""A record as a message, and messages as a filter of records."""

from __future__ import annotations

from uuid import UUID

from context_service.kernel.wire.imported import imported_of
from context_service.working_memory.pure.fields import RecordFilter
from context_service.working_memory.store.record_columns import Record
from contextkeep.context.v1 import working_memory_pb2 as pb
from service_runtime.values.copying import copied


def record_message(record: Record) -> pb.WMRecord:
    """Return a record as a protobuf message."""
    return copied(
        pb.WMRecord,
        record,
        working_memory_id=str(record.id),
        content_json=record.content_json or "",
        content_text=record.content_text or "",
        sha256=record.sha256.hex(),
        status=pb.RECORD_STATUS_ARCHIVED if record.is_archived else pb.RECORD_STATUS_ACTIVE,
        index_state=f"INDEX_STATE_{record.index_state}",
        text_state=f"INDEX_STATE_{record.text_state}",
        imported=imported_of(record.imported_json),
    )


def record_filter(
    request: pb.FetchWMRecordsByEntityRequest | pb.FetchWMManifestRequest, *, entity_node_id: UUID
) -> RecordFilter:
    """Return the filter of a request for the records of an entity, or of the entities below it."""
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
