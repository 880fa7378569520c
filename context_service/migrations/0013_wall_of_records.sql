-- What a caller asks of records may run on those that it may see, and on no others: an expression can raise an error, or take
-- its time, over what it is not told of. Conditions of a view are asked in whatever order is cheap, so searches put the
-- caller's behind `CASE WHEN is_visible`, which is asked first.
CREATE OR REPLACE VIEW context.wm_record_of_tenant AS
SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
    version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
    graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
    content, search, name_search, is_visible
FROM (
    SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq,
        size_bytes, version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description,
        reasoning, content_type, graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state,
        index_error, tags, metadata, content, search, name_search,
        tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
            AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
                OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL AS is_visible
    FROM context.wm_record
) r
WHERE is_visible;
