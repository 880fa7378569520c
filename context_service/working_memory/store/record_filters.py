"""Filters of records, and the fields that conditions and questions may name.

The SQL refers to a row `r`: filters to one of `wm_record`, fields to one of its view `wm_record_of_tenant`.
"""

from __future__ import annotations

from context_service.working_memory.pure.fields import RecordFilter
from service_runtime.inputs.conditions import Field, Fields, FieldType
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
ACTIVE = SQL["active"]
FILTERED = SQL["filtered"]


RECORD_FIELDS = Fields(
    columns={
        "working_memory_id": Field(FieldType.ID, "r.id"),
        "entity_node_id": Field(FieldType.ID, "r.entity_node_id"),
        "context_id": Field(FieldType.ID, "r.context_id"),
        "memory_type": Field(FieldType.TEXT, "r.memory_type"),
        "subtype": Field(FieldType.TEXT, "r.subtype"),
        "semantic_purpose": Field(FieldType.TEXT, "r.semantic_purpose"),
        "name": Field(FieldType.TEXT, "r.name"),
        "description": Field(FieldType.TEXT, "r.description"),
        "reasoning": Field(FieldType.TEXT, "r.reasoning"),
        "content_type": Field(FieldType.TEXT, "r.content_type"),
        "provider": Field(FieldType.TEXT, "r.provider"),
        "blob_key": Field(FieldType.TEXT, "coalesce(r.blob_key, '')"),
        "size_bytes": Field(FieldType.NUMBER, "r.size_bytes"),
        "sha256": Field(FieldType.TEXT, "coalesce(encode(r.sha256, 'hex'), '')"),
        "status": Field(FieldType.TEXT, f"(CASE WHEN {ACTIVE} THEN 'active' ELSE 'archived' END)"),
        "tags": Field(FieldType.TEXTS, "r.tags"),
        "graph_name": Field(FieldType.TEXT, "r.graph_name"),
        "agent_bundle_id": Field(FieldType.TEXT, "r.agent_bundle_id"),
        "app_id": Field(FieldType.TEXT, "r.app_id"),
        "created_by": Field(FieldType.TEXT, "r.created_by"),
        "owner_user_id": Field(FieldType.TEXT, "r.owner_user_id"),
        "agent_id": Field(FieldType.TEXT, "r.agent_id"),
        "expires_at": Field(FieldType.TIME, "r.expires_at"),
        "created_at": Field(FieldType.TIME, "r.created_at"),
        "updated_at": Field(FieldType.TIME, "r.updated_at"),
        "version": Field(FieldType.NUMBER, "r.version"),
        "index_state": Field(FieldType.TEXT, "lower(r.index_state)"),
    },
    documents={"metadata": "r.metadata"},
    policy="r.is_visible",
)


def filter_parameters(which: RecordFilter) -> dict[str, object]:
    """Return the parameters of `FILTERED`."""
    return {
        "include_archived": which.include_archived,
        "memory_types": list(which.memory_types),
        "subtypes": list(which.subtypes),
        "semantic_purposes": list(which.semantic_purposes),
        "names": list(which.names),
        "name_prefix": which.name_prefix,
        "tags": list(which.tags),
        "metadata_contains_json": which.metadata_contains_json,
    }
