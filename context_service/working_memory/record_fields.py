"""What callers may ask of records by name: in conditions, and as the columns of a question.

The SQL is of a row `r` of `wm_record_of_tenant`.
"""

from __future__ import annotations

from service_runtime.conditions import Field, Fields, FieldType

ACTIVE = "(r.archived_at IS NULL AND coalesce(r.expires_at > now(), true))"

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
)
